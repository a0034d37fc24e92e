"""No number is read that nobody wrote: work arrays begin as garbage here, of two kinds.

Rows that begin as ``np.empty`` hold what was in memory before. A writer that leaves a hole in one
gives other decisions in other processes, and teaches noise. So every writer of inputs, labels and
samples is given rows full of NaN and of large numbers, at tables of 2 to 8 players, and all players
decide in fresh processes whose memory is garbage.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ohhell_agents.nn.features import read_inputs
from ohhell_agents.value.players import HEURISTIC
from ohhell_agents.value.trick_model import (
    BID_CHOICE,
    BID_SITUATION,
    CARD_CHOICE,
    CARD_SITUATION,
    fitted,
)
from ohhell_env import BatchedOhHell, Rules
from ohhell_env.engine import batch
from ohhell_env.engine.layout import Rows, compile_rules, engine_rows, new_games
from ohhell_env.observation import layout_of
from ohhell_train.counterfactual.dataset import AdvantageDataset
from ohhell_train.counterfactual.rollouts import RolloutSettings, label_all
from ohhell_train.trick_model.samples import CURRENT, FUTURE, Noise, collect
from tests.agents.decisions import GARBAGE, RULES
from tests.agents.test_counterfactual import corrected

KINDS = tuple(GARBAGE)
SEATS = range(2, 9)


def garbage(array: NDArray[Any], kind: str) -> NDArray[Any]:
    """Returns an array full of garbage of a kind."""
    number, whole = GARBAGE[kind]
    array.fill(number if array.dtype.kind == "f" else whole)
    return array


def dealt(rules: Rules, size: int, tables: int = 24) -> tuple[Rows, Rows]:
    """Returns tables at which a deal begins, and their compiled rules."""
    compiled, games = compile_rules(rules, "deal", size), new_games(tables)
    batch.seed_tables(games, np.uint64(3), np.uint64(0))
    batch.begin_all(games, compiled)
    return games, compiled


def models_of_training(*, correct: bool) -> Rows:
    """Returns models that may be written to, as training has them: others are compiled anew."""
    return corrected() if correct else engine_rows(fitted().view(np.ndarray).copy())


def chooser() -> Rows:
    rows = new_games(1)
    batch.seed_tables(rows, np.uint64(5), np.uint64(0))
    return rows


def labelled(rules: Rules, size: int, kind: str, models: Rows) -> list[NDArray[Any]]:
    """Returns all that is noted of one deal at each table, written into garbage."""
    games, compiled = dealt(rules, size)
    cards, bids = (
        AdvantageDataset.empty(CARD_SITUATION, CARD_CHOICE),
        AdvantageDataset.empty(BID_SITUATION, BID_CHOICE),
    )
    for notes in (cards, bids):
        for array in notes:
            garbage(array, kind)
    players = np.full((len(games), rules.players), HEURISTIC, np.int16)
    tables = games, new_games(1), players
    settings = RolloutSettings(0.1, 0.1, 0.1, 1.0, 1.0, 0.25)
    ends = label_all(tables, compiled, models, chooser(), settings, cards, bids)
    filled = [
        array[: ends[place + of_choices]]
        for place, notes in ((0, cards), (2, bids))
        for array, of_choices in zip(notes, (0, 0, 1, 1, 1, 0), strict=True)
    ]
    return filled


@pytest.mark.parametrize("rules", [name for name in RULES if name != "blind"])
@pytest.mark.parametrize("players", SEATS)
def test_labels_fill_every_row(players: int, rules: str) -> None:
    for correct in (False, True):
        models = models_of_training(correct=correct)
        found = [
            labelled(Rules(players=players).replace(**RULES[rules]), 4, kind, models)
            for kind in KINDS
        ]
        assert len(found[0][0]) > 20, "cards are noted"
        for one, other in zip(*found, strict=True):
            assert np.isfinite(one).all()
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("players", SEATS)
def test_samples_for_the_heuristic_models_fill_every_row(players: int) -> None:
    noise = Noise(0.1, 0.1, 0.1, 0.0)
    found: list[list[NDArray[Any]]] = []
    for kind in KINDS:
        games, compiled = dealt(Rules(players=players), 4)
        room = 2000
        future = garbage(np.zeros((room, FUTURE), np.float32), kind)
        current = garbage(np.zeros((room, CURRENT), np.float32), kind)
        won = [garbage(np.zeros(room, np.int8), kind) for _ in range(2)]
        models = models_of_training(correct=False)
        ends = collect(games, compiled, models, chooser(), noise, future, won[0], current, won[1])
        found.append([future[: ends[0]], won[0][: ends[0]], current[: ends[1]], won[1][: ends[1]]])
    assert len(found[0][0]) > 100
    for one, other in zip(*found, strict=True):
        assert np.isfinite(one).all()
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("layout", ["default", "universal"])
@pytest.mark.parametrize("players", SEATS)
def test_a_networks_inputs_fill_every_list(
    players: int, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, real = Rules(players=players), np.empty
    tables = BatchedOhHell(16, rules, seed=2, hand_size=4, layout=layout)
    tables.reset()
    read_inputs(layout_of(rules, layout, 4), tables.observations, 9)  # compiled with NumPy's own
    for _ in range(players * 3):
        found: list[Any] = []
        for kind in KINDS:
            fill = lambda *args, kind=kind: garbage(real(*args), kind)  # noqa: E731
            monkeypatch.setattr(np, "empty", fill)
            found.append(read_inputs(layout_of(rules, layout, 4), tables.observations, 9))
            monkeypatch.setattr(np, "empty", real)
        for name in ("places", "values", "starts", "orders"):
            one, other = (getattr(inputs, name).numpy() for inputs in found)
            assert one.tobytes() == other.tobytes()
        tables.step(tables.action_masks.argmax(axis=1))


def told(*arguments: str, **settings: str) -> dict[str, list[Any]]:
    """Returns what players decide in a fresh process."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.agents.decisions", *arguments]
    root = Path(__file__).parents[2]
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | settings,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


PLAYERS = (
    "heuristic",
    "zoo:universal",
    "network",
    "search:worlds=4",
    "search:worlds=4,policy=zoo:universal",
    "search:method=tree,iterations=20",
)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot fill fresh memory")
def test_all_players_decide_alike_whatever_was_in_memory() -> None:
    """The C library of Linux (glibc) fills what it hands out where the environment asks it to."""
    found = [
        told(*PLAYERS, GLIBC_TUNABLES=f"glibc.malloc.perturb={byte}:glibc.malloc.tcache_count=0")
        for byte in (1, 85, 170)
    ]
    assert set(found[0]) == set(PLAYERS)
    for player in PLAYERS:
        assert len(found[0][player]) > 200
        assert found[0][player] == found[1][player] == found[2][player], player


def test_nothing_unwritten_is_read_where_each_array_begins_as_garbage() -> None:
    """Interpreted, so that every array inside of a decision is filled, those reused as well."""
    arguments = ("--tables", "1", "--tricks", "1", "heuristic", "zoo:universal")
    one, other = (told("--fill", kind, *arguments, NUMBA_DISABLE_JIT="1") for kind in KINDS)
    assert one == other
    assert all(len(decisions) > 200 for decisions in one.values())
