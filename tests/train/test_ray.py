"""The executor "ray": the same bytes as inline, whatever is lost, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ohhell_agents import Agent, HeuristicAgent
from ohhell_env.errors import OhHellError
from ohhell_env.players import NamedPlayer
from ohhell_train.tournament import TournamentConfig, open_store, run_tournament
from ohhell_train.tournament import store as store_module
from ohhell_train.tournament.executors import ray as ray_executor
from ohhell_train.tournament.executors.processes import Setup
from ohhell_train.tournament.executors.ray import ATTEMPTS, PACKAGES, play_on_ray
from ohhell_train.tournament.executors.scratch import clear_left_behind
from ohhell_train.tournament.units import plan
from tests.children import child_of
from tests.train.players import Lowest, RaisesSometimes

ENTRANTS: list[Any] = ["random", "heuristic", ("sometimes", RaisesSometimes())]


def play(executor: str = "ray", **changes: Any) -> Any:
    arguments: dict[str, Any] = {"entrants": ENTRANTS, "rules": "plump", "deals": 14}
    arguments |= {"seed": 3, "players": 3, "unit": 2, "executor": executor} | changes
    return run_tournament(**arguments)


def written(results: Any, folder: Path) -> bytes:
    return results.save(folder).read_bytes()


def setup(entrants: Sequence[Any] = ("random", "heuristic")) -> Setup:
    config = TournamentConfig(entrants=entrants, rules="plump", players=3, seed=1)
    return Setup.of(config.resolved())


def ray_processes() -> set[int]:
    """Returns the processes of any Ray on this machine that run; dead ones may wait for burial."""
    command = ["ps", "-eo", "pid=,stat=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    words = ("raylet", "gcs_server", "ray::", "ray/_private", "ray/dashboard")
    return {int(p) for p, stat, args in rows if stat[0] != "Z" and any(w in args for w in words)}


def players(processes: set[int]) -> set[int]:
    """Returns those of some processes that play or that start others; two more only watch these."""
    commands = {pid: Path(f"/proc/{pid}/cmdline") for pid in processes & ray_processes()}
    watching = (b"ray::DashboardAgent", b"ray::RuntimeEnvAgent")
    found: set[int] = set()
    for pid, file in commands.items():
        with contextlib.suppress(FileNotFoundError):
            if not file.read_bytes().startswith(watching):
                found.add(pid)
    return found


def folders_of(processes: set[int]) -> set[Path]:
    """Returns the folders of a tournament's own Ray that some processes name: others may be there.

    Tests beside this one play tournaments, too, and each has a folder of that kind.
    """
    found: set[bytes] = set()
    for pid in processes:
        with contextlib.suppress(FileNotFoundError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            found |= set(re.findall(rb"/tmp/ohhell-[a-z0-9_]+", words))
    return {Path(os.fsdecode(each)) for each in found}


def eventually(is_true: Callable[[], Any], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_true():
            return True
        time.sleep(0.1)
    return bool(is_true())


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raises ``TimeoutError`` in what takes longer: Ray waits for ever for what never comes."""

    def give_up(number: int, frame: Any) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# Without Ray, or without a cluster.


def test_without_the_package_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        OhHellError, match=r'^executor .ray. needs .*: pip install -e "\.\[ray\]" in the clone$'
    ):
        play()


@pytest.mark.parametrize(
    "address",
    ["", "local", "rubbish", ":6379", "host:", "host:x", "host:²", "ray://", "host:70000"],
)
def test_what_is_no_address_is_named(address: str) -> None:
    pytest.importorskip("ray")
    with pytest.raises(OhHellError, match="address") as caught:
        play(address=address)
    assert repr(address) in str(caught.value)


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_where_nobody_listens_it_is_one_line_at_once(form: str) -> None:
    pytest.importorskip("ray")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        address = form.format(taken.getsockname()[1])
        started = time.monotonic()
        with pytest.raises(OhHellError, match="no Ray cluster answers at") as caught:
            play(address=address)
    assert time.monotonic() - started < 15.0
    assert address in str(caught.value)
    assert "\n" not in str(caught.value)


def test_where_something_else_listens_it_is_one_line_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(ray_executor, "_JOIN", 4.0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(OhHellError, match=r"no Ray cluster answers .* within 4 s") as caught:
            play(address=address)
    assert time.monotonic() - started < 15.0
    assert "\n" not in str(caught.value)


def test_nothing_to_play_starts_nothing() -> None:
    assert list(play_on_ray(setup(), [], 2, None)) == []


def test_checkpoints_travel_and_keep_their_names(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    saved = tmp_path / "saved.json"
    HeuristicAgent(seed=4).save(saved)
    wishes = ["random", str(saved), f"other={saved}", ("third", str(saved))]
    packed = ray_executor._packed(ray, setup(wishes), away=True)
    at_home = setup(wishes).made()
    saved.unlink()
    elsewhere = ray_executor._unpacked(packed, tmp_path / "elsewhere").made()
    names = [entrant.name for entrant in at_home.entrants]
    assert names == ["random", str(saved), "other", "third"]
    assert [entrant.name for entrant in elsewhere.entrants] == names
    kinds = [type(entrant.player) for entrant in elsewhere.entrants]
    assert kinds == [type(entrant.player) for entrant in at_home.entrants]


def test_a_folder_travels_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "best"
    (folder / "deep").mkdir(parents=True)
    (folder / "agent.json").write_text("card", encoding="utf-8")
    (folder / "deep" / "weights").write_bytes(b"\0\1")
    packed = ray_executor._with_files(NamedPlayer("b", str(folder)))
    assert isinstance(packed, ray_executor._Saved)
    name, path = packed.unpacked(tmp_path / "there")
    assert name == "b"
    assert Path(path).name == "best"
    assert (Path(path) / "agent.json").read_text(encoding="utf-8") == "card"
    assert (Path(path) / "deep" / "weights").read_bytes() == b"\0\1"


# On this machine.


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"design": "mixed", "deals": 20, "entrants": [*ENTRANTS, ("lowest", Lowest(seed=0))]},
        {"episode": "game", "deals": 6},
    ],
    ids=["field", "mixed", "game"],
)
def test_any_number_of_workers_gives_the_same_file(
    tmp_path: Path, workers: int, changes: dict[str, Any]
) -> None:
    pytest.importorskip("ray")
    before = ray_processes()
    one = play("inline", **changes)
    many = play(workers=workers, store=tmp_path / "t.sqlite", **changes)
    assert written(many, tmp_path / "many") == written(one, tmp_path / "one")
    assert many.entrants[2].faults == one.entrants[2].faults > 0
    assert many.entrants[2].first_fault == one.entrants[2].first_fault
    again = play("inline", store=tmp_path / "t.sqlite", **changes)
    assert written(again, tmp_path / "again") == written(one, tmp_path / "one")
    assert ray_processes() <= before


def left_behind() -> set[Path]:
    """Returns what Ray might leave of this process: others may use Ray, too."""
    sessions = Path("/tmp/ray").glob(f"session_*_{os.getpid()}")
    return {*sessions, *Path.home().glob(".ray/*")}


def listening(pid: int) -> set[str]:
    """Returns the addresses, as hexadecimal words, where a process waits for connections."""
    inodes: set[str] = set()
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.add(str(entry.readlink()).removeprefix("socket:[").removesuffix("]"))
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text(encoding="utf-8").splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                found.add(words[1].partition(":")[0])
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/net/tcp6").exists(), reason="Linux says who listens where")
def test_our_own_ray_is_for_this_machine_alone_and_leaves_nothing() -> None:
    ray = pytest.importorskip("ray")
    before, environment = ray_processes(), dict(os.environ)
    handler, left = signal.getsignal(signal.SIGTERM), left_behind()
    played = play_on_ray(setup(), plan("field", 2, 40, 1), 2, None)
    next(played)
    started = ray_processes() - before
    assert started
    (folder,) = folders_of(started)
    addresses = {address for pid in started for address in listening(pid)}
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert addresses
    assert addresses <= loopback
    played.close()
    assert not ray.is_initialized()
    assert eventually(lambda: not ray_processes() & started)
    assert dict(os.environ) == environment
    assert signal.getsignal(signal.SIGTERM) is handler
    assert not folder.exists()
    assert left_behind() == left


@pytest.mark.slow
def test_a_ray_in_use_is_left_alone() -> None:
    ray = pytest.importorskip("ray")
    with ray_executor._own_ray(ray, 1):
        with pytest.raises(OhHellError, match="already uses Ray"):
            play()
        assert ray.is_initialized()


class NotThere(Agent):
    """Cannot begin anywhere but at home."""

    def __init__(self) -> None:
        super().__init__(seed=0)
        self.home = os.getpid()

    def begin(self, rules: Any, seat: int | None = None) -> None:
        if os.getpid() != self.home:
            raise OhHellError("this player stays at home")
        super().begin(rules, seat)

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        return action_masks.argmax(axis=1)


@pytest.mark.slow
def test_what_a_worker_complains_of_is_said_here() -> None:
    pytest.importorskip("ray")
    before = ray_processes()
    with pytest.raises(OhHellError, match=r"^this player stays at home$"):
        play(entrants=["random", ("not", NotThere())])
    assert ray_processes() <= before


class Dies(Lowest):
    """Takes its process with it, so many times, wherever it is not at home."""

    def __init__(self, folder: Path, times: int) -> None:
        super().__init__(seed=0)
        self.home, self.folder, self.times = os.getpid(), folder, times

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        if os.getpid() != self.home:
            for time_ in range(self.times):
                with contextlib.suppress(FileExistsError):
                    (self.folder / f"death{time_}").touch(exist_ok=False)
                    os._exit(7)
        return super().choose(observations, action_masks, random_bits, deterministic)


@pytest.mark.slow
def test_what_lost_workers_did_is_done_by_others(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    entrants = ["random", ("dies", Dies(tmp_path, ATTEMPTS - 1))]
    many = play(entrants=entrants, workers=2)
    assert len(list(tmp_path.glob("death*"))) == ATTEMPTS - 1
    assert written(many, tmp_path / "many") == written(
        play("inline", entrants=entrants), tmp_path / "one"
    )


@pytest.mark.slow
def test_a_unit_that_kills_every_worker_is_one_line_and_what_was_stored_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(store_module, "FLUSH_SECONDS", 0.0)
    store, before = tmp_path / "t.sqlite", ray_processes()
    play("inline", entrants=["random", "heuristic"], store=store)
    entrants = ["random", "heuristic", ("dies", Dies(tmp_path, 1000))]
    with pytest.raises(OhHellError, match=f"have cost {ATTEMPTS} workers on Ray") as caught:
        play(entrants=entrants, store=store)
    assert "while entrant 'dies' was asked" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ray_processes() <= before
    with open_store(store) as kept:
        assert len(kept.units()) >= 14
    again = play("inline", entrants=entrants, store=store)
    assert written(again, tmp_path / "again") == written(
        play("inline", entrants=entrants), tmp_path / "one"
    )


class Cancels(Lowest):
    """Raises what is no ``Exception``."""

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        raise asyncio.CancelledError("enough")


@pytest.mark.slow
def test_whatever_a_player_raises_on_ray_is_a_fault_and_it_is_given_up(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    entrants = ["random", ("cancels", Cancels(seed=0)), ("low", Lowest(seed=0))]
    many = play(entrants=entrants, workers=2, deals=30)
    assert many.entrants[1].first_fault == "CancelledError: enough"
    assert many.entrants[1].given_up
    inline = play("inline", entrants=entrants, deals=30)
    assert written(many, tmp_path / "many") == written(inline, tmp_path / "one")


_OF_THE_MAIN_PROGRAM = """
import sys
from ohhell_agents import Agent
from ohhell_train.tournament import run_tournament

class Mine(Agent):
    def choose(self, observations, action_masks, random_bits, deterministic):
        return action_masks.argmax(axis=1)

if __name__ == "__main__":
    for executor in ("inline", "ray"):
        entrants = ["random", ("mine", Mine(seed=0))]
        results = run_tournament(
            entrants, rules="plump", deals=6, seed=3, players=3, unit=2, executor=executor
        )
        results.save(f"{sys.argv[1]}/{executor}")
"""


@pytest.mark.slow
def test_classes_of_the_main_program_travel(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    program = tmp_path / "program.py"
    program.write_text(_OF_THE_MAIN_PROGRAM, encoding="utf-8")
    command = [sys.executable, str(program), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    inline, on_ray = (tmp_path / name / "results.json" for name in ("inline", "ray"))
    assert inline.read_bytes() == on_ray.read_bytes()


_ENDLESS = """
import sys
from ohhell_train.tournament import run_tournament
run_tournament(["random", "heuristic"], rules="plump", deals=1000000, seed=3, players=3,
               workers=2, executor="ray", store=sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="Linux says what runs")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_the_program_is_the_end_of_its_ray(tmp_path: Path, number: int) -> None:
    pytest.importorskip("ray")
    before = ray_processes()
    with child_of([sys.executable, "-c", _ENDLESS, str(tmp_path / "t.sqlite")]) as child:
        assert eventually(lambda: stored(tmp_path), 90.0)
        started = ray_processes() - before
        (folder,) = folders_of(started)
        if number == signal.SIGINT:
            os.killpg(child.pid, number)  # what a terminal does
        else:
            child.send_signal(number)
        _, errors = child.communicate(timeout=60)
        assert child.returncode
        if number == signal.SIGINT:
            assert errors.rstrip().endswith("KeyboardInterrupt")
        assert eventually(lambda: not players(started))
        assert stored(tmp_path)
    assert not (number == signal.SIGINT and folder.exists())
    for pid in started & ray_processes():  # they would go by themselves, within minutes
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not started & ray_processes())
    clear_left_behind()
    assert not folder.exists()


def stored(folder: Path) -> int:
    try:
        with open_store(folder / "t.sqlite") as kept:
            return len(kept.units())
    except OhHellError:
        return 0


# On a cluster: two nodes of one CPU each, on this machine.


class Marks(Lowest):
    """Writes down on which node it plays, with which packages; and takes its time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(seed=0)
        self.home, self.folder = os.getpid(), folder

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        if os.getpid() != self.home:
            ray = importlib.import_module("ray")
            node = ray.get_runtime_context().get_node_id()
            here = importlib.import_module(PACKAGES[0].__name__).__file__
            (self.folder / f"node-{node}").write_text(str(Path(str(here)).parent), encoding="utf-8")
            time.sleep(0.02)
        return super().choose(observations, action_masks, random_bits, deterministic)


def marked(folder: Path) -> dict[str, Path]:
    """Returns the nodes that have played, each with the folder of its ``ohhell_env``."""
    found = folder.glob("node-*")
    return {
        file.name.removeprefix("node-"): Path(file.read_text(encoding="utf-8")) for file in found
    }


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One for all tests, for its machines compile the engine anew in their copy of the packages.

    That is most of what the first test takes: a CPU minute each, so much longer beside other tests.
    The last test takes one of them away.
    """
    pytest.importorskip("ray")
    cluster_utils = importlib.import_module("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Ray's workers give way to all others: beside other tests they compile for many minutes.
        patch.setenv("RAY_worker_niceness", "0")
        node = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 80_000_000}
        cluster = cluster_utils.Cluster(
            initialize_head=True, head_node_args={**node, "include_dashboard": False}
        )
        try:
            cluster.add_node(**node)
            yield cluster
        finally:
            cluster.shutdown()


@pytest.mark.slow
def test_every_machine_of_a_cluster_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Any
) -> None:
    HeuristicAgent(seed=0).save(tmp_path / "saved.json")
    monkeypatch.chdir(tmp_path)  # the path of the player is no path for the workers
    entrants = ["random", "saved=saved.json", ("marks", Marks(tmp_path))]
    with within(900):
        many = play(entrants=entrants, workers=3, deals=40, address=cluster.address)
    nodes = marked(tmp_path)
    assert set(nodes) == {node.node_id for node in cluster.list_all_nodes()}
    at_home = Path(str(PACKAGES[0].__file__)).parent
    assert at_home not in nodes.values()
    folder = next(iter(nodes.values()))
    assert folder.name == at_home.name
    assert (folder / "engine" / "kernel.py").is_file()
    sent = [file for file in folder.rglob("*") if "__pycache__" not in file.parts]
    assert sum(file.stat().st_size for file in sent if file.is_file()) < 10e6
    inline = play("inline", entrants=entrants, deals=40)
    assert written(many, tmp_path / "many") == written(inline, tmp_path / "one")


@pytest.mark.slow
def test_a_machine_that_goes_is_done_without(tmp_path: Path, cluster: Any) -> None:
    entrants = ["random", "heuristic", ("marks", Marks(tmp_path))]
    away = max(cluster.list_all_nodes(), key=lambda node: not node.head)
    removed: list[int] = []

    def watch(standings: Any) -> None:
        if len(marked(tmp_path)) == 2 and not removed:
            removed.append(standings.done)
            cluster.remove_node(away, allow_graceful=False)

    arguments: dict[str, Any] = {"entrants": entrants, "deals": 60}
    with within(900):
        many = play(**arguments, workers=2, address=cluster.address, on_progress=watch)
    assert removed
    assert removed[0] < 6 * 60
    inline = play("inline", **arguments)
    assert written(many, tmp_path / "many") == written(inline, tmp_path / "one")
