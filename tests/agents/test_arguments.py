"""What ``act``, ``act_batch``, ``begin``, ``make`` and ``load`` refuse, and what they convert."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ohhell_agents
from ohhell_agents import Agent, HeuristicAgent, RandomAgent
from ohhell_agents.base import Actions
from ohhell_env import BatchedOhHell, Rules
from ohhell_env.errors import CheckpointError, IllegalActionError, OhHellError

NAMES = ("random", "heuristic")


class Shown(Agent):
    """Keeps what it was asked."""

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool, /
    ) -> Actions:
        self.asked = observations, action_masks, random_bits
        return action_masks.argmax(axis=1)


def a_batch(tables: int = 4) -> BatchedOhHell:
    games = BatchedOhHell(tables, "oh_hell", seed=1)
    games.reset()
    return games


def begun(name: str) -> Agent:
    player = ohhell_agents.make(name, seed=1)
    player.begin("oh_hell")
    return player


# --------------------------------------------------------------------- views and masks

WHOLE = {
    "float64": lambda values: values * 1.0,
    "float16": lambda values: values.astype(np.float16),
    "int64": lambda values: values.astype(np.int64),
    "big-endian": lambda values: values.astype(">i4"),
    "lists": lambda values: values.tolist(),
    "torch": lambda values: torch.from_numpy(values.astype(np.float32)),
}


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("name", NAMES)
def test_whole_numbers_of_any_type_are_read(name: str, kind: str) -> None:
    games, change = a_batch(), WHOLE[kind]
    random_bits = np.arange(4, dtype=np.uint64) << np.uint64(60)
    views = games.observations.copy(), games.action_masks.copy()
    expected = begun(name).act_batch(*views, random_bits=random_bits)
    found = begun(name).act_batch(change(views[0]), change(views[1]), random_bits=random_bits)
    assert found.tolist() == expected.tolist()
    alone = {"observation": change(views[0][0]), "action_mask": change(views[1][0])}
    assert begun(name).act(alone) == begun(name).act(views[0][0], {"action_mask": views[1][0]})


def test_a_mask_of_truth_values_is_a_mask_and_players_see_int8() -> None:
    games, player = a_batch(), Shown(seed=1)
    as_floats: Any = games.observations * 1.0
    player.act_batch(as_floats, games.action_masks == 1)
    views, masks, random_bits = player.asked
    assert (views.dtype, masks.dtype, random_bits.dtype) == (np.int8, np.int8, np.uint64)
    assert (views == games.observations).all()
    assert (masks == games.action_masks).all()


def test_int8_is_handed_on_without_a_copy() -> None:
    games, player = a_batch(), Shown(seed=1)
    player.act_batch(games.observations, games.action_masks)
    assert np.shares_memory(player.asked[0], games.observations)
    assert np.shares_memory(player.asked[1], games.action_masks)


WRONG_VIEWS = {
    "half": (0.5, "got 0.5 at index \\(1, 3\\)"),
    "not a number": (float("nan"), "got nan"),
    "infinite": (float("inf"), "got inf"),
    "too large": (128, "must be whole numbers from -128 to 127, got 128"),
    "complex": (1j, "got complex128"),
    "text": ("x", "got <U"),
    "nothing": (None, "got object"),
    "ragged": ([1, 2], "must be an array of int8"),
}


@pytest.mark.parametrize("what", WRONG_VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_other_views_are_refused(name: str, what: str) -> None:
    value, message = WRONG_VIEWS[what]
    games = a_batch(2)
    views: list[list[Any]] = games.observations.tolist()
    views[1][3] = value
    player = begun(name)
    with pytest.raises(IllegalActionError, match=message):
        player.act_batch(views, games.action_masks)  # type: ignore[arg-type]
    with pytest.raises(IllegalActionError):
        player.act({"observation": views[1], "action_mask": games.action_masks[1]})


@pytest.mark.parametrize("value", [-1, 2, 0.5, 127, 256, float("nan")])
@pytest.mark.parametrize("name", NAMES)
def test_a_mask_holds_zeros_and_ones(name: str, value: float) -> None:
    games = a_batch(2)
    masks = games.action_masks.astype(type(value))
    masks[1, 7] = value
    player = begun(name)
    with pytest.raises(IllegalActionError, match=f"masks must be .* from 0 to 1, got {value}"):
        player.act_batch(games.observations, masks)
    with pytest.raises(IllegalActionError, match="from 0 to 1"):
        player.act(games.observations[1], {"action_mask": masks[1]})


@pytest.mark.parametrize("shape", [(), (70,), (1, 2, 70)])
def test_shapes_are_checked_before_anything_is_asked(shape: tuple[int, ...]) -> None:
    wrong = np.ones(shape, np.int8)
    for views in ((wrong, np.ones((1, 70), np.int8)), (np.ones((1, 70), np.int8), wrong)):
        with pytest.raises(IllegalActionError, match="got shapes"):
            RandomAgent(seed=1).act_batch(*views)


@pytest.mark.parametrize("info", [None, [], 5, {}])
def test_an_info_without_a_mask_is_explained(info: Any) -> None:
    with pytest.raises(IllegalActionError, match="needs a view and a mask"):
        RandomAgent(seed=1).act(a_batch().observations[0], info)


# --------------------------------------------------------------------- random bits

WRONG_BITS = {
    "too few": np.zeros(1, np.uint64),
    "too many": np.zeros(5, np.uint64),
    "two columns": np.zeros((4, 1), np.uint64),
    "signed": np.zeros(4, np.int64),
    "floats": np.zeros(4),
    "a list": [0, 0, 0, 0],
    "a number": 7,
}


@pytest.mark.parametrize("what", WRONG_BITS)
@pytest.mark.parametrize("name", NAMES)
def test_random_bits_are_one_uint64_for_each_decision(name: str, what: str) -> None:
    games = a_batch()
    with pytest.raises(IllegalActionError, match="random_bits must be an array of 4 uint64"):
        begun(name).act_batch(games.observations, games.action_masks, random_bits=WRONG_BITS[what])


# --------------------------------------------------------------------- seats


@pytest.mark.parametrize("seat", [-1, 4, 99, True, 1.0, "1", 2**70])
@pytest.mark.parametrize("name", NAMES)
def test_begin_takes_a_seat_of_the_table(name: str, seat: Any) -> None:
    player = begun(name)
    with pytest.raises(IllegalActionError, match="seat: 0 to 3 at this table, got"):
        player.begin(Rules.preset("oh_hell"), seat)
    assert (player.rules, player.seat) == (Rules.preset("oh_hell"), None)


def test_any_whole_number_type_is_a_seat() -> None:
    player = RandomAgent(seed=1)
    player.begin("oh_hell", np.int8(3))  # type: ignore[arg-type]
    assert (type(player.seat), player.seat) == (int, 3)


# --------------------------------------------------------------------- names and paths


@pytest.mark.parametrize("spec", ["", None, 5, b"random", ["random"], RandomAgent])
def test_make_wants_a_name(spec: Any) -> None:
    with pytest.raises(OhHellError, match="a player is a name"):
        ohhell_agents.make(spec)


@pytest.mark.parametrize("spec", ["x\0y", "x" * 5000, "\ud800", "./x\0y", "./" + "x" * 5000])
def test_a_name_that_no_file_has_is_an_unknown_player(spec: str) -> None:
    with pytest.raises(OhHellError, match=r"unknown player|no such checkpoint"):
        ohhell_agents.make(spec)


LOADERS = (ohhell_agents.load, RandomAgent.load, HeuristicAgent.load)


@pytest.mark.parametrize("path", [None, 5, "", "x\0y", b"x", ["x"], 1.5])
@pytest.mark.parametrize("load", LOADERS)
def test_load_wants_a_path(load: Any, path: Any) -> None:
    with pytest.raises(CheckpointError, match="needs a path"):
        load(path)


@pytest.mark.parametrize("path", ["nowhere", "x" * 5000, "\ud800", Path("no/where.json")])
@pytest.mark.parametrize("load", LOADERS)
def test_load_wants_a_file_that_is_there(load: Any, path: Any) -> None:
    with pytest.raises(CheckpointError, match=r"No such file|too long|not a possible file name"):
        load(path)


def test_save_wants_a_path() -> None:
    for path in (None, 5, "", "x\0y"):
        with pytest.raises(CheckpointError, match="needs a path"):
            RandomAgent(seed=1).save(path)  # type: ignore[arg-type]


# --------------------------------------------------------------------- closing


@pytest.mark.parametrize("name", NAMES)
def test_a_player_without_a_program_may_be_closed_and_goes_on(name: str) -> None:
    games = a_batch()
    with begun(name) as player:
        player.close()
        player.close()
    assert len(player.act_batch(games.observations, games.action_masks)) == 4
    assert player.fingerprint == ""
