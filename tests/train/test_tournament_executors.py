"""Workers beside this process: the same file for any number, and what happens when one dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agents import Agent
from ohhell_env.errors import OhHellError
from ohhell_env.rules import as_rules
from tests.train.players import Answers, Lowest, RaisesSometimes
from train.tournament import open_store, run_tournament
from train.tournament import store as store_module
from train.tournament.executors import play_in_processes
from train.tournament.tables import Deals
from train.tournament.units import Unit, plan

ENTRANTS: list[Any] = ["random", "heuristic", ("sometimes", RaisesSometimes())]


def play(workers: int, **changes: Any) -> Any:
    arguments: dict[str, Any] = {"entrants": ENTRANTS, "rules": "plump", "blocks": 14}
    arguments |= {"seed": 3, "players": 3, "unit": 4, "workers": workers} | changes
    return run_tournament(**arguments)


def test_the_plan_covers_every_block_of_every_pair_once() -> None:
    units = plan(3, 10, 4)
    blocks = [(u.one, u.field, b) for u in units for b in range(u.first, u.first + u.blocks)]
    assert len(blocks) == len(set(blocks)) == 6 * 10
    assert all(one != field for one, field, _ in blocks)
    assert units[0] == Unit(0, 0, 1, 4)
    assert units[-1] == Unit(8, 2, 1, 2)


@pytest.mark.parametrize("workers", [2, 4])
def test_any_number_of_workers_gives_the_same_file(tmp_path: Path, workers: int) -> None:
    one = play(1)
    many = play(workers, store=tmp_path / "t.sqlite")
    assert many.save(tmp_path / "many").read_bytes() == one.save(tmp_path / "one").read_bytes()
    assert many.entrants[2].faults == one.entrants[2].faults > 0
    assert many.entrants[2].first_fault == one.entrants[2].first_fault
    assert many.entrants[2].decisions == one.entrants[2].decisions
    again = play(1, store=tmp_path / "t.sqlite").save(tmp_path / "again")
    assert again.read_bytes() == (tmp_path / "one" / "results.json").read_bytes()


class Dies(Lowest):
    """Takes its whole process with it, in a worker; elsewhere it plays."""

    def __init__(self, home: int) -> None:
        super().__init__(seed=0)
        self.home = home

    def choose(self, observations: Any, action_masks: Any, words: Any, deterministic: bool) -> Any:
        if os.getpid() != self.home:
            os._exit(7)
        return super().choose(observations, action_masks, words, deterministic)


def test_a_dying_worker_is_one_line_and_what_was_stored_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "FLUSH_SECONDS", 0.0)
    store = tmp_path / "t.sqlite"
    play(1, entrants=["random", "heuristic"], store=store)
    entrants = ["random", "heuristic", ("dies", Dies(os.getpid()))]
    with pytest.raises(OhHellError, match=r"a worker process died \(status 7\)") as caught:
        play(2, entrants=entrants, store=store)
    assert "\n" not in str(caught.value)
    with open_store(store) as kept:
        assert len(kept.units()) >= 8
    assert play(1, entrants=entrants, store=store).blocks == 14


def test_a_player_that_cannot_travel_is_named() -> None:
    entrants = ["random", ("here", Answers(lambda count: [0] * count))]
    with pytest.raises(OhHellError, match=r"entrant \('here', .* cannot be sent"):
        play(2, entrants=entrants)


class NotThere(Agent):
    """Cannot begin anywhere but at home."""

    def begin(self, rules: Any, seat: int | None = None) -> None:
        raise OhHellError("this player stays at home")

    def choose(self, observations: Any, action_masks: Any, words: Any, deterministic: bool) -> Any:
        return action_masks.argmax(axis=1)


def test_what_a_worker_complains_of_is_said_here() -> None:
    deals = Deals(as_rules("plump", 3), 1)
    played = play_in_processes(deals, ["random", ("not", NotThere())], plan(2, 3, 1), 1)
    with pytest.raises(OhHellError, match=r"^this player stays at home$"):
        list(played)


def test_workers_end_with_the_tournament() -> None:
    deals = Deals(as_rules("plump", 3), 1)
    before = set(multiprocessing.active_children())
    played = play_in_processes(deals, ["random", "heuristic"], plan(2, 9, 1), 1)
    next(played)
    assert len(set(multiprocessing.active_children()) - before) == 1
    played.close()
    assert not set(multiprocessing.active_children()) - before


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", None])
def test_workers_are_counted(workers: Any) -> None:
    with pytest.raises(OhHellError, match="workers: a whole number from 1 on"):
        play(workers)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is another thing there")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_ends_everything_and_keeps_what_was_played(tmp_path: Path, workers: str) -> None:
    command = [sys.executable, "-m", "train", "tournament", "random", "heuristic", "--deals"]
    command += ["1000000", "--workers", workers, "--out", str(tmp_path)]
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not stored(tmp_path):
        time.sleep(0.2)
    os.killpg(child.pid, signal.SIGINT)
    out, errors = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "the same command goes on" in out
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


def alive(group: int) -> list[str]:
    """Returns the processes of a group that still run; dead ones may wait to be buried."""
    listed = subprocess.run(
        ["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return [row[2] for row in rows if int(row[0]) == group and not row[1].startswith("Z")]
