"""``BatchedOhHell``: many tables at once are many single tables."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ohhell_env import BatchedOhHell, Game, Rules
from ohhell_env.engine.layout import REWARDS
from ohhell_env.errors import IllegalActionError, RulesError
from tests.envs.play import EVERY_TABLE, legal_of, look, some_rules
from tests.helpers import house

SHORT = house(3, 1, 2, 3)


def choose(masks: Any, rng: random.Random) -> np.ndarray[Any, Any]:
    """A random legal action for each mask."""
    return np.array([rng.choice(legal_of(mask)) for mask in masks])


def lowest(masks: Any) -> np.ndarray[Any, Any]:
    """The lowest legal action of each mask: the same choice whatever the size of the batch."""
    return masks.argmax(axis=1)


def everything(tables: BatchedOhHell) -> tuple[bytes, ...]:
    arrays = (tables.games, tables.observations, tables.action_masks, tables.seats)
    arrays += (tables.rewards, tables.deal_ends, tables.dones)
    return tuple(array.tobytes() for array in arrays)


def run(tables: BatchedOhHell, steps: int) -> list[tuple[bytes, ...]]:
    log = []
    for _ in range(steps):
        log.append(everything(tables))
        tables.step(lowest(tables.action_masks))
    return log


# ---------------------------------------------------------------- the arrays


def test_arrays() -> None:
    tables = BatchedOhHell(5, "oh_hell", seed=1)
    tables.reset()
    assert tables.observations.dtype == np.int8 and tables.observations.shape[0] == 5
    assert tables.action_masks.dtype == np.int8 and tables.action_masks.shape == (5, 71)
    assert tables.seats.shape == (5,)
    assert tables.rewards.dtype == np.float32 and tables.rewards.shape == (5, 4)
    assert tables.deal_ends.dtype == tables.dones.dtype == np.bool_
    assert set(np.unique(tables.action_masks)) == {0, 1}


def test_arrays_are_written_in_place_and_are_strided_views() -> None:
    tables = BatchedOhHell(5, SHORT, seed=1)
    tables.reset()
    names = ["observations", "action_masks", "seats", "rewards", "deal_ends", "dones", "games"]
    before = [getattr(tables, name) for name in names]
    run(tables, 20)
    tables.reset(seed=2)
    assert all(getattr(tables, name) is array for name, array in zip(names, before, strict=True))
    for array in (tables.observations, tables.action_masks):
        row, _ = array.strides
        assert row >= array.shape[1] and array.base is not None
    assert "copy what you" in (BatchedOhHell.__doc__ or "")


# ---------------------------------------------------------------- the same as single tables


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("episode", ["game", "deal"])
def test_against_games_of_the_same_streams(episode: str, reward: str) -> None:
    rules = house(3, 2, 1, 3, settlement="differences", hard_score_bonus=10)
    if episode == "deal" and reward in ("win", "settlement"):
        with pytest.raises(RulesError, match="episode='game'"):
            BatchedOhHell(1, rules, episode=episode, reward=reward)
        return
    tables = BatchedOhHell(4, rules, seed=3, episode=episode, reward=reward)
    tables.reset()
    games = [tables.game(row) for row in range(4)]
    rng = random.Random(3)
    for _ in range(120):
        actions = choose(tables.action_masks, rng)
        tables.step(actions)
        for row, (game, action) in enumerate(zip(games, actions, strict=True)):
            deals = len(game.finished_deals)
            game.apply(int(action))
            ended = len(game.finished_deals) > deals
            assert tables.deal_ends[row] == ended and tables.dones[row] == game.over
            assert tables.rewards[row].tolist() == pytest.approx(paid(game, reward, ended))
            if game.over:
                game.reset()
            assert tables.seats[row] == game.seat
            assert (
                tables.observations[row].tobytes(),
                tables.action_masks[row].tobytes(),
            ) == look(game, game.seat)


def paid(game: Game, reward: str, ended: bool) -> list[float]:
    if not ended or (reward in ("win", "settlement") and not game.over):
        return [0.0] * game.players
    if reward == "relative":
        total = sum(game.points)
        return [p - (total - p) / (game.players - 1) for p in game.points]
    results = {"points": game.points, "win": game.win_shares(), "settlement": game.settlement()}
    return results[reward]


@pytest.mark.parametrize("name,players", EVERY_TABLE[1::3])
def test_row_0_is_the_game_of_the_seed(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    tables = BatchedOhHell(2, rules, seed=players, episode="game")
    tables.reset()
    game = Game(rules, seed=players)
    for _ in range(60):
        assert tables.games[:1].tobytes() == game.state.tobytes()
        action = int(lowest(tables.action_masks)[0])
        tables.step(lowest(tables.action_masks))
        game.apply(action)
        if game.over:
            game.reset()


def test_rows_do_not_depend_on_the_size_of_the_batch() -> None:
    for number, rules in enumerate([SHORT, *some_rules(6, 4)]):
        small, large = (BatchedOhHell(n, rules, seed=number, episode="game") for n in (1, 100))
        small.reset()
        large.reset()
        for _ in range(40):
            assert small.games.tobytes() == large.games[:1].tobytes()
            assert small.observations.tobytes() == large.observations[:1].tobytes()
            assert small.action_masks.tobytes() == large.action_masks[:1].tobytes()
            assert small.rewards.tobytes() == large.rewards[:1].tobytes()
            small.step(lowest(small.action_masks))
            large.step(lowest(large.action_masks))


def test_first_table_shares_out_the_rows() -> None:
    whole = BatchedOhHell(10, SHORT, seed=6)
    parts = [BatchedOhHell(4, SHORT, seed=6), BatchedOhHell(6, SHORT, seed=6, first_table=4)]
    for tables in (whole, *parts):
        tables.reset()
    for _ in range(60):
        both = np.concatenate([tables.games for tables in parts])
        assert whole.games.tobytes() == both.tobytes()
        for tables in (whole, *parts):
            tables.step(lowest(tables.action_masks))


def test_rows_are_different_tables() -> None:
    tables = BatchedOhHell(500, "oh_hell", seed=1, hand_size=5)
    tables.reset()
    assert len({row.tobytes() for row in tables.games["hands"]}) == 500
    assert set(tables.seats.tolist()) == {0, 1, 2, 3}


def test_resets() -> None:
    tables = BatchedOhHell(3, SHORT, seed=5)
    tables.reset()
    first = run(tables, 30)
    tables.reset()
    assert run(tables, 30) == first, "without a seed: the same tables again"
    tables.reset(seed=6)
    assert tables.seed == 6
    assert run(tables, 30) != first
    tables.reset(seed=5)
    assert run(tables, 30) == first
    drawn = {BatchedOhHell(1, SHORT).seed for _ in range(3)}
    assert len(drawn) == 3


# ---------------------------------------------------------------- new deals


def test_ended_deals_are_followed_by_new_ones() -> None:
    tables = BatchedOhHell(50, "oh_hell", seed=2)
    tables.reset()
    rng = random.Random(2)
    ends, sizes = 0, set()
    for _ in range(100):
        tables.step(choose(tables.action_masks, rng))
        assert tables.action_masks.any(axis=1).all()
        assert (tables.deal_ends == tables.dones).all(), "an episode is one deal"
        assert (tables.rewards[~tables.deal_ends] == 0).all()
        ends += int(tables.dones.sum())
        sizes |= set(tables.games["hand_size"].tolist())
    assert ends > 100
    assert sizes == set(range(1, 11)), "hand sizes of all kinds side by side"


def test_episode_game_runs_through_the_schedule() -> None:
    tables = BatchedOhHell(3, SHORT, seed=2, episode="game")
    tables.reset()
    rng = random.Random(2)
    sizes: list[int] = []
    while len(sizes) < 6:
        tables.step(choose(tables.action_masks, rng))
        if tables.deal_ends[0]:
            sizes.append(int(tables.games["hand_size"][0]))
            assert tables.dones[0] == (len(sizes) % 3 == 0)
    assert sizes == [2, 3, 1, 2, 3, 1]


def test_hand_size() -> None:
    tables = BatchedOhHell(20, "oh_hell", seed=2, players=3, hand_size=12)
    tables.reset()
    run(tables, 50)
    assert set(tables.games["hand_size"].tolist()) == {12}
    assert tables.action_masks.shape == (20, 61 + 12)


def test_refresh_and_game() -> None:
    tables = BatchedOhHell(3, SHORT, seed=8)
    tables.reset()
    game = tables.game(1)
    assert look(game, game.seat)[0] == tables.observations[1].tobytes()
    game.apply(game.legal_actions()[0])
    assert game.state.tobytes() != tables.games[1:2].tobytes(), "a copy"
    tables.games[1:2] = game.state
    tables.refresh()
    assert tables.seats[1] == game.seat
    assert look(game, game.seat)[1] == tables.action_masks[1].tobytes()


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("table", [0, 3, 6])
@pytest.mark.parametrize("bad", [-1, 0, 64, 87, 127, 10**12, -(10**12)])
def test_one_illegal_action_and_nothing_is_applied(table: int, bad: int) -> None:
    tables = BatchedOhHell(7, house(3, 2, 3), seed=1)
    tables.reset()
    before = everything(tables)
    actions = lowest(tables.action_masks)
    actions[table] = bad
    with pytest.raises(IllegalActionError, match=f"table {table}:.*nothing was applied"):
        tables.step(actions)
    assert everything(tables) == before
    tables.step(lowest(tables.action_masks))
    assert everything(tables) != before


def test_the_message_is_that_of_a_single_table() -> None:
    tables = BatchedOhHell(2, SHORT, seed=1, hand_size=2)
    tables.reset()
    with pytest.raises(IllegalActionError, match=r"table 0: illegal bid 3: the hand size is 2"):
        tables.step(np.array([63, 60]))


@pytest.mark.parametrize(
    "actions",
    [
        np.full(3, 60.0),
        np.full(3, True),
        np.full((3, 1), 60),
        np.full(2, 60),
        np.array(60),
        np.array(["60"] * 3),
        [60, 60],
        [60.0, 60, 60],
        [None, 60, 60],
        None,
        60,
        "abc",
        [2**70, 60, 60],
        np.array([2**64 - 4, 60, 60], np.uint64),
    ],
    ids=repr,
)
def test_actions_of_a_wrong_kind(actions: Any) -> None:
    tables = BatchedOhHell(3, SHORT, seed=1)
    tables.reset()
    before = everything(tables)
    with pytest.raises(IllegalActionError):
        tables.step(actions)
    assert everything(tables) == before


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])
def test_integers_of_every_kind_are_right(dtype: Any) -> None:
    tables = BatchedOhHell(3, SHORT, seed=1)
    tables.reset()
    tables.step(np.full(3, 60, dtype))
    assert (tables.games["num_bids"] == 1).all()
    tables.step([60, 60, 60])  # type: ignore[arg-type]
    assert (tables.games["num_bids"] == 2).all()


def test_a_step_before_reset() -> None:
    with pytest.raises(IllegalActionError, match=r"reset\(\)"):
        BatchedOhHell(2, SHORT, seed=1).step(np.array([60, 60]))


@pytest.mark.parametrize(
    "settings,message",
    [
        ({"num_tables": 0}, "num_tables"),
        ({"num_tables": 1.5}, "num_tables"),
        ({"rules": "nominatin_whist"}, "nomination_whist"),
        ({"seed": -1}, "seed"),
        ({"episode": "match"}, "episode"),
        ({"reward": "tricks"}, "reward"),
        ({"layout": "small"}, "layout"),
        ({"players": 9}, "players"),
        ({"hand_size": 13}, "hand size"),
        ({"hand_size": 3, "episode": "game"}, "episode='deal'"),
        ({"first_table": -1}, "whole number"),
    ],
)
def test_arguments(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(RulesError, match=message):
        BatchedOhHell(**{"num_tables": 2, "rules": "escalating", **settings})
