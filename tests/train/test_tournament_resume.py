"""Tournaments that stop early, broken off and taken up again: the same bytes in the end."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ohhell_train.tournament import Results, open_store, run_tournament
from ohhell_train.tournament import runner as runner_module
from ohhell_train.tournament import store as store_module
from ohhell_train.tournament.analysis.standings import Standings
from tests.helpers import house

RULES = house(3, 2, 1, tie_break="extra_deals", settlement="differences", bidding__hook="none")
FIELD = ["heuristic", "one=random", "two=random"]
MIXED = [*FIELD, "three=heuristic", "four=random"]
WAYS = [(design, episode) for design in ("field", "mixed") for episode in ("deal", "game")]
UNIT, BLOCKS = 25, 700
STOP = dict(zip(WAYS, (0.57, 0.87, 0.8, 1.33), strict=True))
"""Precisions at which a look after the first one settles it."""


class StopError(Exception):
    """Raised where a test stops a tournament."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FLUSH_SECONDS", 0.0)


def play(way: tuple[str, str], store: Path | None = None, **changes: Any) -> Results:
    design, episode = way
    arguments: dict[str, Any] = {"rules": RULES, "deals": BLOCKS, "seed": 8, "stop": STOP[way]}
    arguments |= {"entrants": FIELD if design == "field" else MIXED, "unit": UNIT}
    arguments |= {"design": design, "episode": episode, "store": store} | changes
    return run_tournament(**arguments)


def written(results: Results, folder: Path) -> bytes:
    return results.save(folder).read_bytes()


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], bytes]:
    found = {}
    for way in WAYS:
        results = play(way)
        assert 200 < results.blocks < BLOCKS, "it stops early, and not at the first look"
        found[way] = written(results, tmp_path_factory.mktemp("unbroken"))
    return found


def stop_after(calls: int) -> Any:
    left = [calls]

    def progress(standings: Standings) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise StopError

    return progress


@pytest.mark.parametrize("way", WAYS)
def test_interruptions_do_not_move_the_stop(
    way: tuple[str, str], tmp_path: Path, unbroken: dict[tuple[str, str], bytes]
) -> None:
    chance, stops, store = random.Random(3), 0, tmp_path / "t.sqlite"
    while True:
        try:
            # what is stored is told one by one, too
            stored = len(units_of(store))
            results = play(way, store, on_progress=stop_after(stored + chance.randint(0, 30)))
            break
        except StopError:
            stops += 1
    assert stops >= 1
    assert written(results, tmp_path) == unbroken[way]
    assert written(play(way, store), tmp_path) == unbroken[way], "finished, and asked again"


def units_of(store: Path) -> set[Any]:
    if not store.exists():
        return set()
    with open_store(store) as kept:
        return kept.units()


def test_two_workers_stop_at_the_same_block(
    tmp_path: Path, unbroken: dict[tuple[str, str], bytes]
) -> None:
    assert written(play(WAYS[3], workers=2), tmp_path) == unbroken[WAYS[3]]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_two_workers_that_are_interrupted_stop_at_the_same_block(
    way: tuple[str, str], tmp_path: Path, unbroken: dict[tuple[str, str], bytes]
) -> None:
    store = tmp_path / "t.sqlite"
    with pytest.raises(StopError):
        play(way, store, workers=2, on_progress=stop_after(12))
    assert written(play(way, store, workers=2), tmp_path) == unbroken[way]


def test_units_that_come_in_any_order_stop_at_the_same_block(
    tmp_path: Path, unbroken: dict[tuple[str, str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    inline = runner_module.play_inline

    for seed in range(2):
        chance = random.Random(seed)

        def shuffled(contest: Any, units: Any, chance: random.Random = chance) -> Any:
            order = list(units)
            while order:
                some = order[:20]
                chance.shuffle(some)
                order[:20] = some
                yield from inline(contest, [order.pop(0)])

        monkeypatch.setattr(runner_module, "play_inline", shuffled)
        for way in WAYS[:1] + WAYS[3:]:
            assert written(play(way), tmp_path) == unbroken[way]


@pytest.mark.parametrize(
    "way", [*(pytest.param(w, marks=pytest.mark.slow) for w in WAYS[:3]), WAYS[3]]
)
def test_another_precision_goes_on_from_the_same_store(
    way: tuple[str, str], tmp_path: Path, unbroken: dict[tuple[str, str], bytes]
) -> None:
    store = tmp_path / "t.sqlite"
    assert written(play(way, store), tmp_path) == unbroken[way]
    stored = units_of(store)
    finer = play(way, store, stop=0.1)
    assert finer.blocks == BLOCKS
    assert written(finer, tmp_path) == written(play(way, stop=0.1), tmp_path)
    assert units_of(store) > stored
    assert written(play(way, store), tmp_path) == unbroken[way], "as if it had stopped there"


# ------------------------------------------------------------------------------ kill -9


def command(way: tuple[str, str], out: Path, workers: int) -> list[str]:
    design, episode = way
    players = FIELD if design == "field" else MIXED
    words = [sys.executable, "-m", "ohhell_env", "tournament", *players, "--out", str(out)]
    words += ["--design", design, "--episode", episode, "--rules", "oh_well", "--players", "3"]
    words += ["--deals", "6000", "--unit", "100", "--stop", "1.0", "--no-report"]
    return [*words, "--workers", str(workers)]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_kill_9_at_random_moments(way: tuple[str, str], workers: int, tmp_path: Path) -> None:
    started = time.monotonic()
    root = Path(__file__).parents[2]
    subprocess.run(command(way, tmp_path / "whole", 1), check=True, capture_output=True, cwd=root)
    took = time.monotonic() - started
    chance, kills = random.Random(7), 0
    killed = command(way, tmp_path / "killed", workers)
    for _ in range(6):
        child = subprocess.Popen(killed, stdout=subprocess.DEVNULL, cwd=root)
        time.sleep(chance.uniform(0.2, 0.6) * took)
        child.kill()
        kills += child.wait() == -signal.SIGKILL
    assert kills >= 1
    subprocess.run(killed, check=True, capture_output=True, cwd=root)
    whole = (tmp_path / "whole" / "results.json").read_bytes()
    assert (tmp_path / "killed" / "results.json").read_bytes() == whole
