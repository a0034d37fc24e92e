"""Mistakes of the environments and of ``Game`` that were made once, each in its smallest form."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ohhell_env import BatchedOhHell, Game, Rules, oh_hell_v0
from ohhell_env.actions import whole_number
from ohhell_env.engine.layout import Phase
from ohhell_env.envs.batched import MAX_TABLES
from ohhell_env.errors import (
    IllegalActionError,
    NotationError,
    NotResetError,
    OhHellError,
    RulesError,
)
from ohhell_env.observation import decode, layout_of
from ohhell_env.records.replay import replay

LENGTH = layout_of(Rules.preset("oh_hell")).length
Copier = Callable[[BatchedOhHell], BatchedOhHell]


class NoNumber:
    """Fails when asked for its number."""

    def __index__(self) -> int:
        raise RuntimeError("no number here")


def first_legal(tables: BatchedOhHell) -> NDArray[np.int64]:
    return tables.action_masks.argmax(axis=1)


def batch(count: int, rules: str = "oh_hell", **settings: Any) -> BatchedOhHell:
    tables = BatchedOhHell(count, rules, seed=1, **settings)
    tables.reset()
    return tables


def pickled(tables: BatchedOhHell) -> BatchedOhHell:
    return pickle.loads(pickle.dumps(tables))


COPIERS = [copy.copy, copy.deepcopy, pickled]
ARRAYS = ("observations", "action_masks", "seats", "rewards", "deal_ends", "dones", "games")


@pytest.mark.parametrize("twin_of", COPIERS)
def test_a_copied_batch_sees_its_own_steps(twin_of: Copier) -> None:
    tables = batch(3)
    while not tables.dones.any():
        tables.step(first_legal(tables))
    twin = twin_of(tables)
    for _ in range(50):
        for name in ARRAYS:
            assert getattr(twin, name).tobytes() == getattr(tables, name).tobytes(), name
        actions = first_legal(tables)
        tables.step(actions)
        twin.step(actions)


@pytest.mark.parametrize("twin_of", COPIERS)
def test_a_copied_batch_leaves_the_first_one_alone(twin_of: Copier) -> None:
    tables = batch(3)
    before = {name: getattr(tables, name).tobytes() for name in ARRAYS}
    twin = twin_of(tables)
    for _ in range(60):
        twin.step(first_legal(twin))
    assert {name: getattr(tables, name).tobytes() for name in ARRAYS} == before


@pytest.mark.parametrize("twin_of", COPIERS)
def test_a_batch_copied_before_reset_deals_the_same(twin_of: Copier) -> None:
    tables = BatchedOhHell(2, "oh_hell", seed=5)
    twin = twin_of(tables)
    with pytest.raises(IllegalActionError, match="before reset"):
        twin.step(np.array([60, 60]))
    tables.reset()
    twin.reset()
    assert np.array_equal(twin.observations, tables.observations)


@pytest.mark.parametrize("size", [2.5, 5.0, True, float("nan"), "5", [5], 5 + 0j, 0, -1])
def test_a_hand_size_that_is_no_whole_number_is_refused(size: Any) -> None:
    for make in (oh_hell_v0.env, oh_hell_v0.raw_env):
        with pytest.raises(RulesError, match="hand_size"):
            make("oh_hell", episode="deal", hand_size=size)
    with pytest.raises(RulesError, match="hand_size"):
        BatchedOhHell(2, "oh_hell", seed=1, hand_size=size)
    with pytest.raises(RulesError, match="hand_size"):
        Game("oh_hell", 1, "deal", size)


def test_a_hand_size_may_be_numpys_number() -> None:
    size: Any = np.int16(5)
    assert Game("oh_hell", 1, "deal", size).hand_size == 5
    assert batch(1, hand_size=size).game(0).hand_size == 5
    env = oh_hell_v0.raw_env("oh_hell", episode="deal", hand_size=size)
    env.reset(seed=1)
    assert env.game.hand_size == 5


@pytest.mark.parametrize("key", ["hands", "dealer", "turned", "hand_size", "trump"])
def test_arrays_as_reset_options_are_refused_in_our_words(key: str) -> None:
    env = oh_hell_v0.env("oh_hell")
    env.reset(seed=1)
    before = env.unwrapped.record()
    with pytest.raises(RulesError, match=key):
        env.reset(seed=2, options={key: np.array([[0, 1], [2, 3], [4, 5], [6, 7]])})
    assert env.unwrapped.record() == before


def test_an_array_in_place_of_the_reset_options_is_refused() -> None:
    options: Any = np.zeros((2, 2))
    with pytest.raises(RulesError, match="options"):
        oh_hell_v0.env("oh_hell").reset(seed=1, options=options)


def test_an_info_that_a_caller_wrote_to_does_not_come_back() -> None:
    env = oh_hell_v0.env("oh_hell")
    env.reset(seed=1)
    idle = next(agent for agent in env.agents if agent != env.agent_selection)
    env.infos[idle]["action_mask"][:] = 1
    env.infos[idle]["mine"] = 1
    while env.agent_selection != idle:
        env.step(int(env.last()[0]["action_mask"].argmax()))
    env.step(int(env.last()[0]["action_mask"].argmax()))
    assert env.infos[idle]["action_mask"].sum() == env.observe(idle)["action_mask"].sum() == 0
    assert "mine" not in env.infos[idle]


def test_the_infos_of_two_agents_share_nothing() -> None:
    env = oh_hell_v0.env("oh_hell", episode="deal", hand_size=1)
    env.reset(seed=1)
    while not any(env.terminations.values()):
        masks = [info["action_mask"] for info in env.infos.values()]
        assert len({mask.ctypes.data for mask in masks}) == len(masks)
        env.step(int(env.last()[0]["action_mask"].argmax()))
    first, second = list(env.infos.values())[:2]
    first["action_mask"][:] = 1
    assert second["action_mask"].sum() == 0


def test_a_record_is_the_callers_own() -> None:
    game = Game("nomination_whist", seed=1)
    while len(game.finished_deals) < 1:
        game.apply(game.legal_actions()[0])
    record = game.record()
    record["deals"][0]["points"] = "scribble"
    record["deals"][0]["bids"][0][1] = "scribble"
    assert "scribble" not in str(game.record())


def test_a_table_of_a_batch_in_its_first_deal_has_a_record() -> None:
    tables = batch(1, "nomination_whist", episode="game")
    tables.step(first_legal(tables))
    record = tables.game(0).record()
    assert record["deals"][0]["bids"]
    assert replay(record).record() == record


def test_a_table_of_a_batch_in_mid_game_has_no_false_record() -> None:
    tables = batch(1, "nomination_whist", episode="game")
    while tables.games["deal"][0] < 2:
        tables.step(first_legal(tables))
    game = tables.game(0)
    with pytest.raises(NotationError, match="2 deals of this game are over"):
        game.record()
    while not game.over:
        game.apply(game.legal_actions()[0])
    with pytest.raises(NotationError, match="no record"):
        game.record()
    game.reset()
    assert len(game.record()["deals"]) == 1


def test_a_single_deal_late_in_the_schedule_has_a_record() -> None:
    tables = batch(20)
    late = int(tables.games["deal"].argmax())
    game = tables.game(late)
    assert game.deal > 0
    assert len(game.record()["deals"]) == 1
    while game.phase is not Phase.OVER:
        game.apply(game.legal_actions()[0])
    assert replay(game.record()).scores == game.scores


@pytest.mark.parametrize("number", [-1, 2, "x", 1.5, None, True])
def test_a_table_that_is_not_in_the_batch_is_refused(number: Any) -> None:
    with pytest.raises(RulesError, match="table must be 0 to 1"):
        batch(2).game(number)


def test_there_is_no_table_before_reset() -> None:
    with pytest.raises(NotResetError):
        BatchedOhHell(2, "oh_hell", seed=1).game(0)


def test_only_the_first_table_of_a_family_has_its_seed() -> None:
    tables = batch(2)
    assert tables.game(0).seed == 1
    assert tables.game(1).seed is None
    assert batch(2, first_table=1).game(0).seed is None
    assert Game("oh_hell", tables.game(0).seed, "deal").hands == tables.game(0).hands


@pytest.mark.parametrize("argument", ["episode", "layout", "reward", "illegal", "render_mode"])
@pytest.mark.parametrize("value", [["deal"], {"deal": 1}, np.array(["deal", "game"]), 1])
def test_something_else_where_a_word_is_wanted_is_refused(argument: str, value: Any) -> None:
    with pytest.raises(RulesError, match=argument):
        oh_hell_v0.env("oh_hell", **{argument: value})
    if argument in ("episode", "layout", "reward"):
        with pytest.raises(RulesError, match=argument):
            BatchedOhHell(2, "oh_hell", seed=1, **{argument: value})


def test_an_unhashable_agent_is_no_agent() -> None:
    env = oh_hell_v0.env("oh_hell")
    env.reset(seed=1)
    agent: Any = ["player_0"]
    for ask in (env.observe, env.observation_space, env.action_space):
        with pytest.raises(RulesError, match="unknown agent"):
            ask(agent)


@pytest.mark.parametrize(
    "vector",
    [
        *(None, "x", [[1], [2, 3]], {}, [1, 2, 3]),
        *([value] * LENGTH for value in ("1", None, 1.5, float("nan"), float("inf"), 128, 10**30)),
    ],
)
def test_what_is_no_observation_is_not_decoded(vector: Any) -> None:
    with pytest.raises(NotationError, match="observation"):
        decode(vector, "oh_hell")


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32])
def test_an_observation_of_any_number_type_is_decoded(dtype: Any) -> None:
    vector = batch(1).observations[0]
    assert decode(vector.astype(dtype), "oh_hell") == decode(vector.tolist(), "oh_hell")


def test_ragged_actions_of_a_batch_are_illegal() -> None:
    tables = batch(4)
    actions: Any = [60, [60], 60, 60]
    with pytest.raises(IllegalActionError, match="nothing was applied"):
        tables.step(actions)


def test_an_unsigned_action_is_told_as_it_was_given() -> None:
    tables = batch(1)
    with pytest.raises(IllegalActionError, match=str(2**64 - 1)):
        tables.step(np.array([2**64 - 1], np.uint64))


@pytest.mark.parametrize("count", [MAX_TABLES + 1, 10**30, 0])
def test_the_tables_of_a_batch_have_a_bound(count: int) -> None:
    with pytest.raises(RulesError, match=f"whole number from 1 to {MAX_TABLES}, got"):
        BatchedOhHell(count, "oh_hell", seed=1)


def test_a_bad_first_table_is_called_by_its_name() -> None:
    with pytest.raises(RulesError, match="first_table must be"):
        BatchedOhHell(2, "oh_hell", seed=1, first_table=-1)


def test_an_object_that_fails_as_a_number_is_none() -> None:
    nothing: Any = NoNumber()
    assert whole_number(nothing) is None
    env = oh_hell_v0.env("oh_hell")
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match="not a whole number"):
        env.step(nothing)
    with pytest.raises(RulesError, match="seed"):
        Game("oh_hell", nothing)


def test_a_card_twice_in_one_hand_is_told_so() -> None:
    game = Game("oh_hell", seed=1)
    with pytest.raises(RulesError, match=r"hands\[0\] has QH twice"):
        game.reset(hands=[["QH", "QH"], ["2C", "3C"], ["4C", "5C"], ["6C", "7C"]])
    with pytest.raises(RulesError, match="QH is in hands 0 and 3"):
        game.reset(hands=[["QH", "AH"], ["2C", "3C"], ["4C", "5C"], ["6C", "QH"]])


def test_bytes_are_neither_hands_nor_cards() -> None:
    game = Game("oh_hell", seed=1)
    hand: Any = b"\x00\x01"  # two numbers, if it were a list
    with pytest.raises(RulesError, match=r"hands\[0\] must be a list of cards"):
        game.reset(hands=[hand, ["2D", "3D"], ["4D", "5D"], ["6D", "7D"]])
    card: Any = b"QH"
    with pytest.raises(RulesError, match=r"hands\[0\]: b'QH' is not a card: write a rank"):
        game.reset(hands=[[card], ["2D"], ["4D"], ["6D"]])


def test_the_refusal_of_a_parallel_form_names_only_what_there_is() -> None:
    with pytest.raises(OhHellError, match="BatchedOhHell") as refusal:
        oh_hell_v0.parallel_env()
    assert "ohhell/" not in str(refusal.value)
