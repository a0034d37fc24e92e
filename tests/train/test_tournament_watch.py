"""Players that end the process they play in: the command says who it was, and fails."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from ohhell_train.tournament import open_store
from ohhell_train.tournament.executors import last_asked
from ohhell_train.tournament.executors.scratch import PREFIX, clear_left_behind, scratch_folder
from tests.agents.test_process import gone
from tests.children import child_of, of_session

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are other things there")

BOTS = """
import ctypes, os, signal, threading, time

class Good:
    asked = 0

    def act(self, observation, info):
        type(self).asked += 1
        if self.asked > 20:
            self.end()
        return int(observation["action_mask"].argmax())

    def end(self):
        pass

class Leaves(Good):
    def end(self):
        os._exit(0)

class Killed(Good):
    def end(self):
        os.kill(os.getpid(), signal.SIGKILL)

class Crashes(Good):
    def end(self):
        ctypes.string_at(0)

class NotMade(Good):
    def __init__(self):
        os._exit(0)

class Closes(Good):
    def close(self):
        os._exit(0)

class Forks(Good):
    forked = False

    def end(self):
        if not self.forked:
            type(self).forked = True
            os.fork()

class LeavesThreads(Good):
    started = False

    def end(self):
        if not self.started:
            type(self).started = True
            threading.Thread(target=time.sleep, args=(600,)).start()

class Hangs(Good):
    def end(self):
        open("hangs", "w").write(str(os.getpid()))
        time.sleep(600)
"""


def command(folder: Path, *words: str) -> list[str]:
    (folder / "bots.py").write_text(BOTS, encoding="utf-8")
    fixed = ["--deals", "8", "--hand-size", "2", "--unit", "2", "--no-report", "--out", "out"]
    return [sys.executable, "-m", "ohhell_env", "tournament", "random", *words, *fixed]


def ran(folder: Path, *words: str) -> tuple[int, str, str]:
    with child_of(command(folder, *words), folder) as child:
        out, errors = child.communicate(timeout=120)
        return child.returncode, out, errors


@pytest.mark.parametrize(
    ("bot", "how", "workers"),
    [
        ("Leaves", "status 0", "1"),
        pytest.param("Killed", "by signal 9", "1", marks=pytest.mark.slow),
        pytest.param("Crashes", "by signal 11", "1", marks=pytest.mark.slow),
        pytest.param("NotMade", "status 0", "1", marks=pytest.mark.slow),
        pytest.param("Closes", "status 0", "1", marks=pytest.mark.slow),
        pytest.param("Leaves", "status 0", "2", marks=pytest.mark.slow),
        pytest.param("NotMade", "status 0", "2", marks=pytest.mark.slow),
    ],
)
def test_who_ends_the_command_is_named(bot: str, how: str, workers: str, tmp_path: Path) -> None:
    """In words on the command line or in a file, by the name it has in the tournament."""
    status, _, errors = ran(tmp_path, f"bad=bots:{bot}", "good=bots:Good", "--workers", workers)
    assert status == 2
    lines = errors.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert f"({how})" in lines[0]
    assert "entrant 'bad' was asked" in lines[0]


@pytest.mark.parametrize(
    "spec",
    [
        "parts:bids=heuristic,cards=bots:Leaves",
        "parts:bids=heuristic,cards=[parts:bids=random,cards=python:bots:Leaves]",
    ],
)
def test_parts_of_players_are_watched_too(spec: str, tmp_path: Path) -> None:
    status, _, errors = ran(tmp_path, f"bad={spec}")
    assert status == 2
    assert "(status 0) while entrant 'bad' was asked" in errors


@pytest.mark.parametrize(
    ("words", "work"),
    [
        (["bidding", "bots:Leaves", "--deals", "20"], "look at the bidding"),
        (
            ["bidding", "heuristic", "--field", "bots:Leaves", "--deals", "20"],
            "look at the bidding",
        ),
        (
            ["model-card", "bots:Leaves", "--deals", "9", "--rules", "plump", "--players", "3"],
            "measuring",
        ),
    ],
)
def test_other_commands_are_watched_too(words: list[str], work: str, tmp_path: Path) -> None:
    (tmp_path / "bots.py").write_text(BOTS, encoding="utf-8")
    with child_of([sys.executable, "-m", "ohhell_env", *words], tmp_path) as child:
        _, errors = child.communicate(timeout=120)
    assert child.returncode == 2
    assert errors.startswith(f"error: the {work} ended (status 0)")
    assert len(errors.splitlines()) == 1


@pytest.mark.slow
def test_a_file_of_settings_is_watched_too(tmp_path: Path) -> None:
    (tmp_path / "league.yaml").write_text(
        "entrants: [heuristic, {bad: 'python:bots:Leaves'}]\n", encoding="utf-8"
    )
    words = command(tmp_path, "--config", "league.yaml")
    words.remove("random")
    with child_of(words, tmp_path) as child:
        _, errors = child.communicate(timeout=120)
    assert child.returncode == 2
    assert "entrant 'bad' was asked" in errors


def test_a_player_that_ends_nothing_plays_as_ever(tmp_path: Path) -> None:
    status, out, errors = ran(tmp_path, "good=bots:Good")
    assert (status, errors) == (0, "")
    assert "written: out/results.json" in out
    status, _, errors = ran(tmp_path, "good=bots:Goood")
    assert status == 2
    assert errors.startswith("error: player 'bots:Goood': bots has no class 'Goood'")
    assert len(errors.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("bot", "workers"),
    [
        ("Forks", "1"),
        ("LeavesThreads", "1"),
        pytest.param("Forks", "2", marks=pytest.mark.slow),
        pytest.param("LeavesThreads", "2", marks=pytest.mark.slow),
    ],
)
def test_copies_and_threads_that_a_player_leaves_change_nothing(
    bot: str, workers: str, tmp_path: Path
) -> None:
    """A copy of the process does not go on with the tournament, and no thread is waited for."""
    results = tmp_path / "out" / "results.json"
    written = []
    for name in ("Good", bot):
        words = (f"other=bots:{name}", "heuristic", "--workers", workers, "--fresh")
        status, out, errors = ran(tmp_path, *words)
        assert (status, errors) == (0, "")
        assert out.count("written: ") == 1
        written.append(results.read_bytes())
    assert written[0] == written[1]


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_the_end_of_the_command_is_the_end_of_a_player_that_hangs(
    number: int, status: int, workers: str, tmp_path: Path
) -> None:
    words = command(tmp_path, "hangs=bots:Hangs", "--workers", workers)
    with child_of(words, tmp_path) as child:
        deadline = time.monotonic() + 100
        while not (tmp_path / "hangs").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.2)
        child.send_signal(number)
        out, errors = child.communicate(timeout=30)
        assert child.returncode == status
        assert "Traceback" not in errors
        if number == signal.SIGINT:
            assert "the same command continues" in out
            assert "was asked" not in errors
        assert gone(int((tmp_path / "hangs").read_text(encoding="utf-8")))
        deadline = time.monotonic() + 10
        while of_session(child.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not of_session(child.pid)


@pytest.mark.slow
def test_what_was_played_is_kept(tmp_path: Path) -> None:
    status, _, errors = ran(tmp_path, "heuristic", "bad=bots:Leaves", "--workers", "1")
    assert status == 2
    assert "the tables played are kept in out" in errors
    with open_store(tmp_path / "out") as kept:
        assert set(kept.entrants) == {"random", "heuristic", "bad"}


# ------------------------------------------------------------------------ notes, folders


def test_a_note_says_who_is_being_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = tmp_path / "note"
    assert last_asked.who(note) is None
    monkeypatch.setattr(last_asked, "_files", [])
    with last_asked.asking("nobody notes it"):
        assert last_asked.who(note) is None
    last_asked.keep(note)
    for name in ("one", "a longer name", "ä", "x" * 5000):
        with last_asked.asking(name):
            assert last_asked.who(note) == name[:200]
        assert last_asked.who(note) is None
    assert not last_asked.is_done(note)
    last_asked.done()
    assert last_asked.is_done(note)
    os.close(last_asked._files[0])
    with last_asked.asking("a player has closed it"):
        pass


def test_folders_of_the_dead_are_cleared_and_those_of_the_living_stay(tmp_path: Path) -> None:
    held = (
        "import time\n"
        "from ohhell_train.tournament.executors.scratch import scratch_folder\n"
        "with scratch_folder() as folder:\n"
        "    print(folder, flush=True)\n"
        "    time.sleep(600)\n"
    )
    with scratch_folder() as mine, child_of([sys.executable, "-c", held]) as child:
        assert child.stdout is not None
        other = Path(child.stdout.readline().strip())
        foreign = Path(f"{mine.parent}/{PREFIX}foreign-{os.getpid()}")
        foreign.mkdir()
        try:
            clear_left_behind()
            assert mine.exists()
            assert other.exists()
            assert foreign.exists(), "nothing says that it is ours"
        finally:
            foreign.rmdir()
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        clear_left_behind()  # or another test's tournament, meanwhile
        assert not other.exists()
        assert mine.exists()
    assert not mine.exists()
