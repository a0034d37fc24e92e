"""``python -m benchmarks.compare OLD NEW``: whether a change makes play faster or slower.

OLD and NEW are commits or folders. Both play the same deals in turns, each in a process and with a
compile cache of its own, and CPU time is measured. So the load of the machine affects both alike,
and the ratio of a pair says more than two figures measured one after the other.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

KINDS = {  # who plays, at how many tables, and steps of the first try
    "random": ("random", 1024, 16),
    "heuristic": ("heuristic", 512, 8),
    "universal": ("zoo:universal", 512, 8),
    "search": ("search:worlds=16", 4, 4),
}
COLD = {"deal": "", "heuristic": "heuristic", "universal": "zoo:universal", "search": "search"}
_SEED = 20


class Side:
    """One of the two versions, as a running process that plays on request.

    Args:
        root: Folder of its clone.
        cache: Folder of its compiled functions.
    """

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self.cache = root, cache
        self._process = subprocess.Popen(
            _command(), env=_environment(root, cache), stdin=-1, stdout=-1, encoding="utf-8"
        )

    def play(self, kind: str, steps: int) -> float:
        """Plays some steps at every table, and returns the CPU seconds they took."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        print(kind, steps, file=stdin, flush=True)
        answer = stdout.readline()
        if not answer:
            raise SystemExit(f"{self.root}: the process ended while it played {kind!r}")
        return float(answer)

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", str(Path(__file__).resolve()), "--worker", *arguments]


def _environment(root: Path, cache: Path) -> dict[str, str]:
    # Older commits have their packages in the root folder, newer ones in subfolders.
    path = os.pathsep.join(str(root / each) for each in ("", "agents", "train"))
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    own = {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache), "OHHELL_QUIET": "1"}
    return os.environ | one_thread | own


@contextlib.contextmanager
def _checked_out(name: str) -> Iterator[Path]:
    """Yields the folder of a commit, checked out temporarily; a folder is used directly."""
    if Path(name).is_dir():
        yield Path(name).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "clone"
        git = ["git", "worktree"]
        made = [*git, "add", "--quiet", "--detach", str(place), name]
        if subprocess.run(made, check=False).returncode:
            raise SystemExit(f"{name!r}: neither a folder nor a commit of this clone")
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Returns the ends of an interval that contains the median with 95 % or more.

    Its ends are order statistics, so it assumes nothing about the distribution. With fewer than six
    values it spans all of them, and contains the median less often.
    """
    ordered, count = sorted(values), len(values)
    cut, outside = 0, 2.0 / 2**count
    while outside + 2.0 * math.comb(count, cut + 1) / 2**count <= 0.05:
        cut += 1
        outside += 2.0 * math.comb(count, cut) / 2**count
    return ordered[cut], ordered[-1 - cut]


def _steps_for(sides: Sequence[Side], kind: str, seconds: float) -> int:
    """Returns how many steps take this long, after both sides have compiled their functions."""
    steps = KINDS[kind][2]
    for side in sides:
        side.play(kind, steps)
    spent = max(side.play(kind, steps) for side in sides)
    return max(1, round(steps * seconds / spent))


def _compare_cold(roots: Sequence[Path]) -> None:
    try:
        import resource
    except ImportError:  # Windows
        raise SystemExit("--cold needs the CPU time of other processes: run it on Unix") from None
    print("CPU seconds to the first decision, nothing compiled before: old, new")
    for kind in COLD:
        spent: list[float] = []
        for root in roots:
            with tempfile.TemporaryDirectory() as cache:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                environment = _environment(root, Path(cache))
                subprocess.run(_command(kind), env=environment, check=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        print(f"  {kind:<10} {spent[0]:7.1f} {spent[1]:7.1f}", flush=True)


def compare(
    old: Annotated[str, typer.Argument(help="The old version: a commit or a folder.")],
    new: Annotated[str, typer.Argument(help="The new version: a commit or a folder.")],
    pairs: Annotated[int, typer.Option(min=1, help="Runs of each version, in turns.")] = 10,
    seconds: Annotated[float, typer.Option(help="Seconds per run.")] = 1.0,
    cold: Annotated[bool, typer.Option(help="Also time the first decision.")] = False,
) -> None:
    """Compares the speed of play of two versions: median of the ratios of CPU time, new to old."""
    with contextlib.ExitStack() as stack:
        roots = [stack.enter_context(_checked_out(name)) for name in (old, new)]
        if cold:
            _compare_cold(roots)
        caches = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in roots]
        sides = [Side(root, cache) for root, cache in zip(roots, caches, strict=True)]
        for side in sides:
            stack.callback(side.close)
        print(f"CPU time of new over old, median of {pairs} pairs [95 % interval]")
        for kind in KINDS:
            steps = _steps_for(sides, kind, seconds)
            ratios: list[float] = []
            for number in range(pairs):
                order = sides if number % 2 == 0 else sides[::-1]  # neither is always first
                spent = {id(side): side.play(kind, steps) for side in order}
                ratios.append(spent[id(sides[1])] / spent[id(sides[0])])
            low, high = interval(ratios)
            print(f"  {kind:<10} {statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]")


def _imported() -> Any:
    """Returns the package of the players, under its name in this version."""
    import ohhell_env

    root = os.environ["PYTHONPATH"].partition(os.pathsep)[0]
    assert Path(root) in Path(ohhell_env.__file__).parents, f"{ohhell_env.__file__}: not in {root}"
    try:
        return importlib.import_module("ohhell_agents")
    except ModuleNotFoundError:
        return importlib.import_module("agents")


def _play(make: Any, kind: str, steps: int) -> float:
    from ohhell_env import BatchedOhHell

    spec, count, _ = KINDS[kind]
    player, tables = make(spec, seed=_SEED), BatchedOhHell(count, "oh_hell", seed=_SEED)
    tables.reset()
    player.begin("oh_hell")
    started = time.process_time()
    for _ in range(steps):
        tables.step(player.act_batch(tables.observations, tables.action_masks))
    return time.process_time() - started


def _first_decision(kind: str) -> None:
    """Deals and decides once, like a command or script right after installation."""
    players = _imported()
    from ohhell_env import oh_hell_v0

    env = oh_hell_v0.env(rules="oh_hell", players=4)
    env.reset(seed=_SEED)
    player = players.make(COLD[kind] or "random", seed=_SEED)
    player.begin("oh_hell", 0)
    observation, _, _, _, info = env.last()
    env.step(player.act(observation, info))


def _work() -> None:
    make = _imported().make
    for line in sys.stdin:
        kind, steps = line.split()
        print(_play(make, kind, int(steps)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--worker"]:
        typer.run(compare)
    elif sys.argv[2:]:
        _first_decision(sys.argv[2])
    else:
        _work()
