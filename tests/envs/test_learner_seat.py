"""``LearnerTables``: one seat decides, the others are answered, and it is the same game."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest

from ohhell_env import Game, Rules
from ohhell_env.envs.learner_tables import AUTORESETS, LearnerTables
from ohhell_env.envs.opponents import Opponents
from ohhell_env.envs.rewards import worst_honest
from ohhell_env.errors import IllegalActionError, OhHellError, RulesError
from ohhell_env.observation import decode
from tests.envs.play import legal_of, look
from tests.helpers import house

SHORT = house(3, 1, 2, 3)


def lowest(observation: Any, info: Any) -> int:
    assert (observation["action_mask"] == info["action_mask"]).all()
    return int(info["action_mask"].argmax())


def choose(masks: Any, rng: random.Random) -> np.ndarray[Any, Any]:
    return np.array([rng.choice(legal_of(mask)) if mask.any() else 0 for mask in masks])


def everything(tables: LearnerTables) -> tuple[bytes, ...]:
    arrays = (tables.games, tables.observations, tables.action_masks, tables.rewards)
    arrays += (tables.dones, tables.learner_seats, tables.deal_ends)
    return tuple(array.tobytes() for array in arrays)


class Follow:
    """A game that is played beside table 0: the others take their lowest action."""

    def __init__(self, rules: Rules, seed: int, episode: str) -> None:
        self.game = Game(rules, seed, episode)

    def wait_for(self, seat: int) -> None:
        while not self.game.over and self.game.seat != seat:
            self.game.apply(self.game.legal_actions()[0])


@pytest.mark.parametrize("reward", ["points", "relative", "win", "settlement"])
@pytest.mark.parametrize("episode", ["game", "deal"])
def test_it_is_the_game_of_its_stream(episode: str, reward: str) -> None:
    if episode == "deal" and reward in ("win", "settlement"):
        return
    rules = house(3, 2, 1, 3, settlement="differences")
    tables = LearnerTables(
        3, rules, opponents=lowest, seed=4, episode=episode, reward=reward, autoreset="disabled"
    )
    tables.reset()
    beside = Follow(rules, 4, episode)
    rng = random.Random(1)
    episodes = 0
    while episodes < 12:
        seat = int(tables.learner_seats[0])
        beside.wait_for(seat)
        view = (tables.observations[0].tobytes(), tables.action_masks[0].tobytes())
        assert view == look(beside.game, seat)
        deals = len(beside.game.finished_deals)
        actions = choose(tables.action_masks, rng)
        tables.step(actions)
        beside.game.apply(int(actions[0]))
        beside.wait_for(seat)
        ended = len(beside.game.finished_deals) > deals
        assert tables.deal_ends[0] == ended and tables.dones[0] == beside.game.over
        assert tables.rewards[0] == pytest.approx(paid(beside.game, reward, seat, ended))
        if beside.game.over:
            last = (tables.observations[0].tobytes(), tables.action_masks[0].tobytes())
            assert last == look(beside.game, seat)
            assert tables.final_scores[0].tolist() == beside.game.scores
            episodes += 1
            beside.game.reset()
        tables.reset_tables(np.flatnonzero(tables.dones))


def paid(game: Game, reward: str, seat: int, ended: bool) -> float:
    if not ended or (reward in ("win", "settlement") and not game.over):
        return 0.0
    others = [points for other, points in enumerate(game.points) if other != seat]
    return {
        "points": game.points[seat],
        "relative": game.points[seat] - sum(others) / len(others),
        "win": game.win_shares()[seat],
        "settlement": game.settlement()[seat],
    }[reward]


def test_p26_the_next_view_is_that_of_the_next_own_decision() -> None:
    tables = LearnerTables(50, SHORT, opponents="random", seed=1, episode="game")
    tables.reset()
    rng = random.Random(1)
    for _ in range(60):
        assert (tables.games["seat"] == tables.learner_seats).all()
        assert tables.action_masks.any(axis=1).all()
        for row in range(0, 50, 7):
            view = decode(tables.observations[row], SHORT)
            assert view["phase"] in ("bid", "play")
            assert len(view["hand"]) == view["hand_size"] - view["trick_number"]
        tables.step(choose(tables.action_masks, rng))


@pytest.mark.parametrize("opponents", ["random", ["heuristic", "random"], lowest])
def test_tables_do_not_depend_on_their_number(opponents: Any) -> None:
    small, large = (LearnerTables(n, SHORT, opponents=opponents, seed=3) for n in (2, 40))
    shifted = LearnerTables(5, SHORT, opponents=opponents, seed=3, first_table=10)
    for tables in (small, large, shifted):
        tables.reset()
    for _ in range(30):
        assert small.observations.tobytes() == large.observations[:2].tobytes()
        assert small.rewards.tobytes() == large.rewards[:2].tobytes()
        assert shifted.games.tobytes() == large.games[10:15].tobytes()
        assert (shifted.learner_seats == large.learner_seats[10:15]).all()
        for tables in (small, large, shifted):
            tables.step(tables.action_masks.argmax(axis=1))


def test_seats_are_drawn_anew_for_each_episode_or_fixed() -> None:
    tables = LearnerTables(400, SHORT, opponents=lowest, seed=3)
    tables.reset()
    first = tables.learner_seats.copy()
    counts = np.bincount(first, minlength=3)
    assert counts.min() > 90, "each seat about 133 times"
    while not tables.dones.any():
        tables.step(tables.action_masks.argmax(axis=1))
    ended = np.flatnonzero(tables.dones)
    moved = tables.learner_seats[ended] != first[ended]
    assert 0.5 < moved.mean() < 0.85, "two of three land elsewhere"
    fixed = LearnerTables(20, SHORT, opponents=lowest, seed=3, seat=2)
    fixed.reset()
    for _ in range(20):
        assert (fixed.learner_seats == 2).all() and (fixed.games["seat"] == 2).all()
        fixed.step(fixed.action_masks.argmax(axis=1))


def test_resets() -> None:
    tables = LearnerTables(4, SHORT, opponents="random", seed=5)

    def run() -> list[tuple[bytes, ...]]:
        log = []
        for _ in range(15):
            log.append(everything(tables))
            tables.step(tables.action_masks.argmax(axis=1))
        return log

    tables.reset()
    first = run()
    tables.reset()
    assert run() == first
    tables.reset(seed=6)
    assert run() != first
    tables.reset(seed=5)
    assert run() == first


@pytest.mark.parametrize("way", [copy.deepcopy, lambda tables: pickle.loads(pickle.dumps(tables))])
def test_copies_play_on_alike_and_apart(way: Any) -> None:
    tables = LearnerTables(6, SHORT, opponents="random", seed=5, illegal="terminate")
    tables.reset()
    for _ in range(7):
        tables.step(tables.action_masks.argmax(axis=1))
    twin = way(tables)
    assert everything(twin) == everything(tables)
    before = everything(tables)
    for _ in range(9):
        twin.step(twin.action_masks.argmax(axis=1))
    assert everything(tables) == before != everything(twin)
    for _ in range(9):
        tables.step(tables.action_masks.argmax(axis=1))
    assert everything(tables) == everything(twin)


# ---------------------------------------------------------------- ends of episodes


def test_modes_of_autoreset_play_the_same_episodes() -> None:
    told = {mode: episodes_of(mode) for mode in AUTORESETS}
    assert len(told["same_step"]) > 8
    assert told["same_step"] == told["next_step"] == told["disabled"]


def episodes_of(mode: str) -> list[tuple[int, float, bytes, list[int]]]:
    """Table, reward, last view and scores of every episode, played by the lowest action."""
    tables = LearnerTables(3, SHORT, opponents="random", seed=2, autoreset=mode)
    tables.reset()
    found = []
    while len(found) < 30:
        before = tables.dones.copy()
        tables.step(tables.action_masks.argmax(axis=1))
        if mode == "next_step":
            assert not tables.dones[before].any() and not tables.rewards[before].any()
        for table in np.flatnonzero(tables.dones).tolist():
            last = tables.final_observations if mode == "same_step" else tables.observations
            assert tables.action_masks[table].any() == (mode == "same_step")
            scores = tables.final_scores[table].tolist()
            view = decode(last[table], SHORT)
            assert view["phase"] == "over"
            assert view["scores"][0] == tables.rewards[table]
            found.append((table, float(tables.rewards[table]), last[table].tobytes(), scores))
        if mode == "disabled" and tables.dones.any():
            with pytest.raises(IllegalActionError, match="reset_tables"):
                tables.step(tables.action_masks.argmax(axis=1))
            tables.reset_tables(np.flatnonzero(tables.dones))
    by_table = [[each for each in found if each[0] == table][:6] for table in range(3)]
    return [each for episodes in by_table for each in episodes]


# ---------------------------------------------------------------- bad input


def test_an_illegal_action_changes_nothing() -> None:
    tables = LearnerTables(3, SHORT, opponents=lowest, seed=2)
    with pytest.raises(IllegalActionError, match=r"call reset\(\)"):
        tables.step(np.zeros(3, np.int64))
    tables.reset()
    before = everything(tables)
    actions = tables.action_masks.argmax(axis=1)
    for wrong in (5, -1, 86, 10**12):
        with pytest.raises(IllegalActionError, match=r"table 1: .*nothing was applied"):
            tables.step(np.where(np.arange(3) == 1, wrong, actions))
    for strange in (actions[:2], actions.astype(float), [[1, 2, 3]]):
        with pytest.raises(IllegalActionError, match=r"shape \(3,\)"):
            tables.step(strange)
    assert everything(tables) == before


@pytest.mark.parametrize("mode", AUTORESETS)
@pytest.mark.parametrize("reward", ["points", "relative"])
def test_an_illegal_action_may_end_the_episode(reward: str, mode: str) -> None:
    settings: dict[str, Any] = {"opponents": lowest, "seed": 2, "reward": reward}
    tables = LearnerTables(3, SHORT, illegal="terminate", autoreset=mode, **settings)
    honest = LearnerTables(3, SHORT, autoreset=mode, **settings)
    for each in (tables, honest):
        each.reset()
    actions = tables.action_masks.argmax(axis=1)
    worst = worst_honest(tables.game(1), reward)
    honest.step(actions)
    tables.step(np.where(np.arange(3) == 1, 5, actions))
    assert tables.faults.tolist() == tables.dones.tolist() == [False, True, False]
    assert tables.rewards.tolist() == [0, worst, 0] and worst <= 0
    for row in (0, 2):
        assert tables.observations[row].tobytes() == honest.observations[row].tobytes()
    if mode == "disabled":
        tables.reset_tables([1])
    if mode == "next_step":
        assert not tables.action_masks[1].any()
    if mode != "disabled":
        tables.step(tables.action_masks.argmax(axis=1))
    assert not tables.dones[1] and not tables.faults.any()
    assert tables.games["seat"][1] == tables.learner_seats[1]


@pytest.mark.parametrize("answer", [5, -3, 99, 2**70, "AS", None, 60.5])
def test_an_opponent_that_breaks_the_rules_is_named(answer: Any) -> None:
    tables = LearnerTables(20, "oh_hell", opponents=lambda *_: answer, seed=2)
    with pytest.raises(IllegalActionError, match=r"opponent '<lambda>' in seat .*answered"):
        tables.reset()
    with pytest.raises(IllegalActionError, match=r"call reset\(\)"):
        tables.step(np.full(20, 60))


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_tables": 0},
        {"seat": 3},
        {"seat": "first"},
        {"illegal": "forgive"},
        {"autoreset": "never"},
        {"opponents": ["random"]},
        {"opponents": ["random"] * 3},
        {"opponents": 7},
        {"opponents": "heuristc"},
        {"reward": "win"},
        {"seed": -1},
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, Any]) -> None:
    settings = {"num_tables": 2, "rules": SHORT, "opponents": lowest} | wrong
    with pytest.raises(OhHellError):
        LearnerTables(**settings)
    tables = LearnerTables(2, SHORT, opponents=lowest)
    tables.reset()
    with pytest.raises(RulesError):
        tables.reset_tables([2])


# ---------------------------------------------------------------- who is asked


def test_a_list_names_the_others_clockwise_from_the_learner() -> None:
    rules = house(4, 2, bidding__hook="none")

    def bidder(bid: int) -> Any:
        return lambda observation, info: (
            60 + bid if info["action_mask"][60] else int(info["action_mask"].argmax())
        )

    tables = LearnerTables(40, rules, opponents=[bidder(0), bidder(1), bidder(2)], seed=1)
    tables.reset()
    tables.step(np.full(40, 60))
    for row in range(40):
        view = decode(tables.observations[row], rules)
        assert view["bids"] == [0, 0, 1, 2]


class Noted:
    """A player that notes how it was asked."""

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.asked: list[int] = []

    def begin(self, rules: Rules, seat: int | None) -> None:
        self.begun.append(seat)

    def act(self, observation: Any, info: Any = None, deterministic: bool = True) -> int:
        self.asked.append(1)
        return int(info["action_mask"].argmax())


class Batched(Noted):
    def act_batch(self, views: Any, masks: Any, deterministic: bool = True) -> Any:
        self.asked.append(len(views))
        assert (masks.sum(axis=1) > 1).all(), "nobody is asked where one action alone is legal"
        return masks.argmax(axis=1)


class Seated(Noted):
    needs_seat = True


def test_players_are_asked_as_they_can_be() -> None:
    one, many, seated = Noted(), Batched(), Seated()
    tables = LearnerTables(30, house(4, 3), opponents=[one, many, seated], seed=1, seat=1)
    tables.reset()
    for _ in range(12):
        tables.step(tables.action_masks.argmax(axis=1))
    assert one.begun == [None] and many.begun == [None]
    assert set(one.asked) == {1} and max(many.asked) > 1
    assert set(seated.begun) == {None, 0}, "three seats after the learner in seat 1"
    assert len(seated.begun) == 1 + len(seated.asked)


def test_opponents_keep_a_seat_where_they_have_one() -> None:
    players = [Noted(), Noted()]
    several = Opponents([players[0], players[1], players[1]], house(4, 2))
    several.begin(learner=3)
    assert players[0].begun == [0] and players[1].begun == [None]
    assert len(several.players) == 2
    assert len(Opponents("random", house(4, 2)).players) == 1
