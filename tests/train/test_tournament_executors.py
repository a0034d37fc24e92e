"""Workers beside this process: the same file for any number, and what happens when one dies."""

from __future__ import annotations

import asyncio
import faulthandler
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ohhell_agents import Agent, ProcessAgent
from ohhell_env.errors import OhHellError
from ohhell_train.tournament import TournamentConfig, open_store, run_tournament
from ohhell_train.tournament import store as store_module
from ohhell_train.tournament.executors.processes import Setup, play_in_processes
from ohhell_train.tournament.units import Unit, plan
from tests.agents.test_process import command, gone
from tests.children import alive, child_of
from tests.helpers import unix_only
from tests.train.players import Answers, AskedHeuristic, Lowest, RaisesSometimes

ENTRANTS: list[Any] = ["random", "heuristic", ("sometimes", RaisesSometimes())]


def play(workers: int, **changes: Any) -> Any:
    arguments: dict[str, Any] = {"entrants": ENTRANTS, "rules": "plump", "deals": 14}
    arguments |= {"seed": 3, "players": 3, "unit": 4, "workers": workers} | changes
    return run_tournament(**arguments)


def written(results: Any, folder: Path) -> bytes:
    return results.save(folder).read_bytes()


def setup(entrants: Sequence[Any] = ("random", "heuristic")) -> Setup:
    config = TournamentConfig(entrants=entrants, rules="plump", players=3, seed=1)
    return Setup.of(config.resolved())


def test_the_plan_of_a_field_covers_every_block_of_every_pair_once() -> None:
    units = plan("field", 3, 10, 4)
    blocks = [(u.challenger, u.field, b) for u in units for b in range(u.first, u.first + u.blocks)]
    assert len(blocks) == len(set(blocks)) == 6 * 10
    assert all(one != field for one, field, _ in blocks)
    assert units[0] == Unit(0, 0, 1, 4)
    assert units[-1] == Unit(8, 2, 1, 2)


def test_the_plan_of_mixed_tables_covers_every_block_once() -> None:
    units = plan("mixed", 50, 10, 4)
    assert [(u.first, u.blocks) for u in units] == [(0, 4), (4, 4), (8, 2)]


FIELD: dict[str, Any] = {}
GAMES = {"episode": "game", "deals": 5, "unit": 2}
MIXED = {"design": "mixed", "deals": 30, "unit": 4}
MIXED_GAMES = {"design": "mixed", "episode": "game", "deals": 8, "unit": 3}
slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("changes", "workers"),
    [
        pytest.param(FIELD, 2, id="field-2"),
        pytest.param(MIXED_GAMES, 2, id="mixed-games-2"),
        pytest.param(FIELD, 4, id="field-4", marks=slow),
        pytest.param(GAMES, 2, id="games-2", marks=slow),
        pytest.param(GAMES, 4, id="games-4", marks=slow),
        pytest.param(MIXED, 2, id="mixed-2", marks=slow),
        pytest.param(MIXED, 4, id="mixed-4", marks=slow),
        pytest.param(MIXED_GAMES, 4, id="mixed-games-4", marks=slow),
    ],
)
def test_any_number_of_workers_gives_the_same_file(
    tmp_path: Path, changes: dict[str, Any], workers: int
) -> None:
    entrants = [*ENTRANTS, ("asked", AskedHeuristic(seed=0))]
    one = play(1, entrants=entrants, **changes)
    many = play(workers, entrants=entrants, store=tmp_path / "t.sqlite", **changes)
    assert written(many, tmp_path / "many") == written(one, tmp_path / "one")
    assert list(many.outcomes) == list(one.outcomes)
    for pairing, blocks in one.outcomes.items():
        assert np.array_equal(many.outcomes[pairing], blocks)
    for there, here in zip(many.entrants, one.entrants, strict=True):
        assert (there.faults, there.first_fault) == (here.faults, here.first_fault)
        assert there.decisions == here.decisions
    assert one.entrants[2].faults > 0
    assert one.entrants[3].decisions > 0
    again = play(1, entrants=entrants, store=tmp_path / "t.sqlite", **changes)
    assert written(again, tmp_path / "again") == written(one, tmp_path / "one")


@pytest.mark.parametrize("design", ["field", "mixed"])
def test_the_size_of_a_unit_and_an_interruption_change_nothing_that_was_played(
    tmp_path: Path, design: str
) -> None:
    entrants = ["random", "heuristic", ("asked", AskedHeuristic(seed=0))]
    whole = play(1, entrants=entrants, design=design, unit=14)
    store = tmp_path / "t.sqlite"
    with pytest.raises(KeyboardInterrupt):
        play(2, entrants=entrants, design=design, unit=4, store=store, on_progress=Interrupts())
    with open_store(store) as kept:
        played = len(kept.units())
    assert 0 < played < len(plan(design, 3, 14, 4))
    rest = play(2, entrants=entrants, design=design, unit=4, store=store)
    for pairing, blocks in whole.outcomes.items():
        assert np.array_equal(rest.outcomes[pairing], blocks)
    inline = play(1, entrants=entrants, design=design, unit=4)
    assert written(rest, tmp_path / "rest") == written(inline, tmp_path / "inline")


class Interrupts:
    """Ctrl-C, where something has been played."""

    def __call__(self, standings: Any) -> None:
        if standings.done:
            raise KeyboardInterrupt


def test_no_worker_outlives_an_interruption() -> None:
    before = set(multiprocessing.active_children())
    with pytest.raises(KeyboardInterrupt):
        play(2, on_progress=Interrupts())
    assert not set(multiprocessing.active_children()) - before


class Dies(Lowest):
    """Takes its whole process with it, in a worker; elsewhere it plays."""

    def __init__(self, home: int) -> None:
        super().__init__(seed=0)
        self.home = home

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        if os.getpid() != self.home:
            os._exit(7)
        return super().choose(observations, action_masks, random_bits, deterministic)


def test_a_dying_worker_is_one_line_and_what_was_stored_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "FLUSH_SECONDS", 0.0)
    store = tmp_path / "t.sqlite"
    play(1, entrants=["random", "heuristic"], store=store)
    entrants = ["random", "heuristic", ("dies", Dies(os.getpid()))]
    with pytest.raises(OhHellError, match=r"a worker process died \(status 7\)") as caught:
        play(2, entrants=entrants, store=store)
    assert "while entrant 'dies' was asked" in str(caught.value)
    assert "\n" not in str(caught.value)
    with open_store(store) as kept:
        assert len(kept.units()) >= 8
    assert play(1, entrants=entrants, store=store).blocks == 14


class Ends(Lowest):
    """Ends its worker in one way or another."""

    def __init__(self, home: int, how: str) -> None:
        super().__init__(seed=0)
        self.home, self.how = home, how

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        if os.getpid() != self.home:
            match self.how:
                case "silently":
                    os._exit(0)
                case "kill -9":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "crash":
                    faulthandler._sigsegv()  # type: ignore[attr-defined]
        return super().choose(observations, action_masks, random_bits, deterministic)


@unix_only
@pytest.mark.parametrize(
    ("how", "said"),
    [("silently", "status 0"), ("kill -9", "by signal 9"), ("crash", "by signal 11")],
)
def test_who_ends_a_worker_is_named(how: str, said: str) -> None:
    entrants = ["random", ("low", Lowest(seed=0)), ("ends", Ends(os.getpid(), how))]
    with pytest.raises(OhHellError) as caught:
        play(2, entrants=entrants)
    wanted = f"a worker process died ({said}) while entrant 'ends' was asked"
    assert str(caught.value).startswith(wanted)
    assert "\n" not in str(caught.value)


class Raises(Lowest):
    """Raises what is no ``Exception``, in a worker."""

    def __init__(self, home: int, error: BaseException) -> None:
        super().__init__(seed=0)
        self.home, self.error = home, error

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        raise self.error


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError("now"), SystemExit(0), GeneratorExit("now")], ids=repr
)
def test_whatever_a_player_raises_is_a_fault_in_any_process(
    error: BaseException, tmp_path: Path
) -> None:
    entrants = ["random", ("raises", Raises(0, error))]
    many, one = play(2, entrants=entrants), play(1, entrants=entrants)
    assert one.entrants[1].faults == one.entrants[1].decisions > 0
    assert one.entrants[1].first_fault.startswith(type(error).__name__)
    assert written(many, tmp_path / "many") == written(one, tmp_path / "one")


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_in_a_player_is_ctrl_c(workers: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        play(workers, entrants=["random", ("raises", Raises(0, KeyboardInterrupt()))])


def test_programs_of_a_worker_end_with_it(tmp_path: Path) -> None:
    """They are deaf, and have started others; the player is an object, which nobody closes."""
    note = tmp_path / "pids"
    does = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(note)!r}, 'a').write(f'{{os.getpid()}} {{child.pid}} ')\n"
        "time.sleep(60)"
    )
    player = ProcessAgent(command(tmp_path, does), time_limit_ms=60_000)
    with pytest.raises(KeyboardInterrupt):
        play(2, entrants=["random", "heuristic", ("deaf", player)], on_progress=Waits(note))
    pids = [int(word) for word in note.read_text(encoding="utf-8").split()]
    assert len(pids) >= 2
    assert all(gone(pid) for pid in pids)


class Waits:
    """Ctrl-C, where a file has been written; something else is played until then."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, standings: Any) -> None:
        deadline = time.monotonic() + 30
        while standings.done and not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        if self.file.exists():
            raise KeyboardInterrupt


def test_a_player_that_cannot_travel_is_named() -> None:
    entrants = ["random", ("here", Answers(lambda count: [0] * count))]
    with pytest.raises(OhHellError, match=r"entrant 'here' cannot be sent"):
        play(2, entrants=entrants)


class NotThere(Agent):
    """Cannot begin anywhere but at home."""

    def begin(self, rules: Any, seat: int | None = None) -> None:
        raise OhHellError("this player stays at home")

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        return action_masks.argmax(axis=1)


def test_what_a_worker_complains_of_is_said_here() -> None:
    played = play_in_processes(setup(["random", ("not", NotThere())]), plan("field", 2, 3, 1), 1)
    with pytest.raises(OhHellError, match=r"^this player stays at home$"):
        list(played)


def test_workers_end_with_the_tournament() -> None:
    before = set(multiprocessing.active_children())
    played = play_in_processes(setup(), plan("field", 2, 9, 1), 1)
    next(played)
    assert len(set(multiprocessing.active_children()) - before) == 1
    played.close()
    assert not set(multiprocessing.active_children()) - before


def test_no_more_workers_start_than_there_are_units() -> None:
    before = set(multiprocessing.active_children())
    played = play_in_processes(setup(), plan("field", 2, 1, 1), 8)
    next(played)
    assert len(set(multiprocessing.active_children()) - before) == 2
    assert len(list(played)) == 1


def test_a_worker_that_is_killed_is_one_line() -> None:
    before = set(multiprocessing.active_children())
    units = plan("field", 2, 4000, 1)
    played = play_in_processes(setup(), units, 2)
    next(played)
    victim = min(set(multiprocessing.active_children()) - before, key=lambda child: child.pid or 0)
    victim.kill()
    with pytest.raises(OhHellError, match=r"a worker process died \(by signal 9\)"):
        list(played)
    assert not set(multiprocessing.active_children()) - before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"executor": "threads"}, "executor: input should be 'inline', 'processes' or 'ray', got"),
        ({"executor": "inline", "workers": 2}, "plays in this process only, got workers=2"),
        ({"executor": "processes", "address": "auto"}, "address='auto' .* needs executor 'ray'"),
        ({"address": "10.0.0.1:6379"}, "needs executor 'ray'"),
    ],
)
def test_executors_and_addresses_must_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(OhHellError, match=message):
        play(**{"workers": 1, **changes})


def test_one_process_gives_the_same_file_as_none(tmp_path: Path) -> None:
    beside = play(1, executor="processes")
    assert written(beside, tmp_path / "beside") == written(play(1), tmp_path / "inline")


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", None])
def test_workers_are_counted(workers: Any) -> None:
    with pytest.raises(OhHellError, match=r"^workers: .*, got "):
        play(workers)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another thing there")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_ends_everything_and_keeps_what_was_played(tmp_path: Path, workers: str) -> None:
    command = [sys.executable, "-m", "ohhell_env", "tournament", "random", "heuristic", "--deals"]
    command += ["1000000", "--workers", workers, "--out", str(tmp_path)]
    with child_of(command) as child:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not stored(tmp_path):
            time.sleep(0.2)
        os.killpg(child.pid, signal.SIGINT)
        out, errors = child.communicate(timeout=30)
        assert child.returncode == 130
        assert "the same command continues" in out
        assert "Traceback" not in out + errors
        assert stored(tmp_path)
        deadline = time.monotonic() + 10
        while alive(child.pid) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not alive(child.pid)


def stored(folder: Path) -> int:
    try:
        with open_store(folder) as kept:
            return len(kept.units())
    except OhHellError:
        return 0
