"""Saved players: whatever a file holds, it is a player that plays or a ``CheckpointError``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ohhell_agents
from ohhell_env import BatchedOhHell
from ohhell_env.errors import CheckpointError
from tests.helpers import unix_only

SAVED = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
EDGES = st.sampled_from([-1, 0, 1, 2, 4, 5, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64])
LEAVES = st.none() | st.booleans() | st.integers() | EDGES | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the way to every value inside a JSON value."""
    yield here
    keys = value if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    for key in keys:
        yield from places(value[key], (*here, key))


def with_value(whole: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Returns a JSON value with another value at a place."""
    if not place:
        return value
    copy = dict(whole) if isinstance(whole, dict) else list(whole)
    copy[place[0]] = with_value(whole[place[0]], place[1:], value)
    return copy


def saved(name: str, path: Path) -> dict[str, Any]:
    player = ohhell_agents.make(name, seed=1)
    player._random.integers(2**32, size=3, dtype=np.uint32)  # so that it keeps half a word
    player.save(path)
    return json.loads(path.read_text(encoding="utf-8"))


def plays(path: Path) -> bool:
    """Whether a file loads as a player, which then must play; False where it is refused."""
    try:
        player = ohhell_agents.load(path)
    except CheckpointError:
        return False
    games = BatchedOhHell(3, "oh_hell", seed=1)
    games.reset()
    player.begin("oh_hell")
    for _ in range(3):
        games.step(player.act_batch(games.observations, games.action_masks))
    player._random.random(9)
    return True


@pytest.mark.parametrize("name", list(ohhell_agents.AGENTS))
def test_any_value_at_any_place_is_refused_or_plays(name: str, tmp_path: Path) -> None:
    file = tmp_path / "player.json"
    state = saved(name, file)
    assert plays(file)
    outcomes: set[bool] = set()

    @SAVED
    @given(st.sampled_from(list(places(state))), EDGES | VALUES)
    def check(place: tuple[Any, ...], value: Any) -> None:
        file.write_text(json.dumps(with_value(state, place, value)), encoding="utf-8")
        outcomes.add(plays(file))

    check()
    assert outcomes == {True, False}, outcomes


@pytest.mark.parametrize("name", list(ohhell_agents.AGENTS))
def test_nothing_may_be_missing(name: str, tmp_path: Path) -> None:
    file = tmp_path / "player.json"
    state = saved(name, file)
    for place in places(state):
        if place and isinstance(place[-1], str):
            whole = json.loads(json.dumps(state))
            owner = whole
            for key in place[:-1]:
                owner = owner[key]
            del owner[place[-1]]
            file.write_text(json.dumps(whole), encoding="utf-8")
            assert not plays(file), place


WRONG_STATES = {
    "buffer of one": {"buffer": [1]},
    "buffer of five": {"buffer": [1] * 5},
    "buffer of floats": {"buffer": [1.0] * 4},
    "buffer of truth": {"buffer": [True] * 4},
    "buffer too large": {"buffer": [2**64] * 4},
    "buffer negative": {"buffer": [-1] * 4},
    "buffer nested": {"buffer": [[1], [1], [1], [1]]},
    "place before the buffer": {"buffer_pos": -1},
    "place behind the buffer": {"buffer_pos": 5},
    "place of truth": {"buffer_pos": True},
    "half words": {"has_uint32": 2},
    "half word too large": {"uinteger": 2**32},
    "half word negative": {"uinteger": -1},
    "short key": {"state": {"counter": [0] * 4, "key": [0]}},
    "long counter": {"state": {"counter": [0] * 5, "key": [0] * 2}},
    "another generator": {"bit_generator": "PCG64"},
}


@pytest.mark.parametrize("what", WRONG_STATES)
def test_a_state_of_chance_is_read_strictly(what: str, tmp_path: Path) -> None:
    file = tmp_path / "player.json"
    state = saved("random", file)
    state["random"] |= WRONG_STATES[what]
    file.write_text(json.dumps(state), encoding="utf-8")
    with pytest.raises(CheckpointError, match="random numbers is broken"):
        ohhell_agents.load(file)


def test_half_a_word_is_kept(tmp_path: Path) -> None:
    player = ohhell_agents.make("random", seed=1)
    player._random.integers(2**32, dtype=np.uint32)
    player.save(tmp_path / "player.json")
    again = ohhell_agents.load(tmp_path / "player.json")
    assert again._random.bit_generator.state["has_uint32"] == 1
    assert again._random.integers(2**32, size=9, dtype=np.uint32).tolist() == (
        player._random.integers(2**32, size=9, dtype=np.uint32).tolist()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1, "type": []}', "of type \\[\\]; allowed: random, heuristic, search"),
        ('{"format": 1, "type": "chess"}', "of type 'chess'"),
        ('{"format": 1}', "of type None"),
        ("[" * 100_000, "not a JSON file"),
        ("9" * 10_000, "not a JSON file"),
        (" " * (2 << 20), "more than 1048576 bytes"),
        ("", "not a JSON file"),
    ],
    ids=["list", "unknown", "none", "deep", "long", "large", "empty"],
)
def test_nonsense_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "player.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match=message):
        ohhell_agents.load(file)


@unix_only
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "player.json")
    with pytest.raises(CheckpointError, match="not a regular file"):
        ohhell_agents.load(tmp_path / "player.json")
    with pytest.raises(CheckpointError, match="not a regular file"):
        ohhell_agents.RandomAgent.load(tmp_path / "player.json")
