"""Laps, the rollout buffer, and advantages against a closed form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from ohhell_agents import HeuristicAgent, make
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules, schedule
from ohhell_env.rules.variants import VARIANTS, variants
from ohhell_train.ppo.buffer import LapBuffer
from ohhell_train.ppo.rollout import Lap, LapTables, TableOpponents, points_scale

LAMBDA = 0.9


class Chance:
    """A policy that chooses any legal action; the value of a cell is its number."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.asked = 0
        self.masks: list[NDArray[np.int8]] = []

    def __call__(self, observations: NDArray[np.int8], masks: NDArray[np.int8]):
        self.masks.append(masks)
        actions = (masks * self.rng.random(masks.shape)).argmax(axis=1)
        count = len(masks)
        values = np.arange(self.asked, self.asked + count, dtype=np.float32)
        self.asked += count
        return actions, np.full(count, -1.0, np.float32), values


def seats_of(name: str) -> list[int]:
    return list(range(VARIANTS[name].usual[0], VARIANTS[name].usual[1] + 1))


@pytest.mark.parametrize("name", variants())
def test_every_seat_decides_once_per_lap(name: str) -> None:
    for players in seats_of(name):
        tables = LapTables(Rules.preset(name, players), 5, seed=players)
        policy = Chance()
        longest = max(schedule.hand_sizes(tables.tables.rules)) + 1
        for _ in range(2 * longest + 2):
            lap = tables.play(policy)
            assert (lap.actions >= 0).all(), "a seat was left out"
            assert lap.action_masks[np.arange(len(lap.actions)), lap.actions].all()
            assert (lap.free == (lap.action_masks.sum(axis=1) > 1)).all()


def test_every_seat_is_paid_for_its_own_bid_and_tricks() -> None:
    """Of the last trick's view: one seat wins that trick, and each is paid by the rules."""
    rules = Rules.preset("oh_hell")
    tables = LapTables(rules, 8, seed=3)
    places = tables.tables.layout.slices()
    policy, ended = Chance(), 0
    for _ in range(30):
        lap = tables.play(policy)
        ends = lap.ends.reshape(8, 4)
        assert (ends.all(axis=1) == ends.any(axis=1)).all(), "a deal ends for all its seats"
        assert not lap.rewards[~lap.ends].any()
        winners = 0
        for column in np.flatnonzero(lap.ends):
            view = lap.observations[column].astype(int)
            bid, won, size = (view[places[k]][0] for k in ("bids", "tricks_won", "hand_size"))
            paid = round(float(lap.rewards[column]) * tables.scale[column])
            lost, gained = (schedule.points(rules.scoring, bid, won + i, size) for i in (0, 1))
            assert paid in (lost, gained)
            winners += paid == gained and paid != lost
        assert winners == int(ends[:, 0].sum())
        ended += winners
    assert ended > 8


def test_a_column_is_one_seat_from_deal_to_deal() -> None:
    """What a seat holds in a lap is what it held before, less the card that it played."""
    tables = LapTables(Rules.preset("oh_hell"), 6, seed=1)
    hand = tables.tables.layout.slices()["hand"]
    policy, compared = Chance(), 0
    before = tables.play(policy)
    for _ in range(25):
        lap = tables.play(policy)
        same_deal = ~before.ends
        expected = before.observations[:, hand].copy()
        played = before.actions < 60
        expected[np.flatnonzero(played), before.actions[played]] = 0
        assert (lap.observations[same_deal, hand] == expected[same_deal]).all()
        compared += int(same_deal.sum())
        before = lap
    assert compared > 100


def test_forced_moves_are_not_asked_for() -> None:
    tables = LapTables(Rules.preset("oh_hell"), 8, seed=5)
    policy = Chance()
    free = sum(int(tables.play(policy).free.sum()) for _ in range(20))
    assert free == policy.asked
    assert all((masks.sum(axis=1) > 1).all() for masks in policy.masks)
    assert 0.55 < free / (20 * 32) < 0.75


def test_tables_start_at_different_laps() -> None:
    tables = LapTables(Rules.preset("oh_hell"), 24, seed=0, hand_size=5)
    policy = Chance()
    ended = [int(tables.play(policy).ends.reshape(24, 4)[:, 0].sum()) for _ in range(6)]
    assert ended == [4] * 6


def test_opponents_sit_at_their_tables_and_change_with_each_deal() -> None:
    tables = LapTables(
        Rules.preset("oh_hell"),
        40,
        seed=0,
        opponents=TableOpponents([(make("random", 0), 0.5)]),
        hand_size=2,
    )
    policy, seats = Chance(), np.zeros(4)
    before = tables.play(policy)
    for _ in range(40):
        lap = tables.play(policy)
        same_deal = ~before.ends
        assert (lap.ours[same_deal] == before.ours[same_deal]).all(), "nobody moves within a deal"
        assert not (lap.free & ~lap.ours).any(), "what opponents decide is not learned from"
        ours = lap.ours.reshape(40, 4)
        assert (ours.sum(axis=1)[:20] % 4 != 0).all() and ours[20:].all()
        seats += ours[:20][before.ends.reshape(40, 4)[:20, 0]].sum(axis=0)
        before = lap
    assert seats.min() > 0.85 * seats.mean(), "the learner sits in every seat as often"


def test_opponents_make_their_own_choices() -> None:
    heuristic = make("heuristic", 0)
    tables = LapTables(
        Rules.preset("oh_hell"), 10, seed=0, opponents=TableOpponents([(heuristic, 1.0)])
    )
    policy, compared = Chance(), 0
    for _ in range(12):
        lap = tables.play(policy)
        theirs = ~lap.ours & (lap.action_masks.sum(axis=1) > 1)
        answers = heuristic.act_batch(lap.observations[theirs], lap.action_masks[theirs])
        assert (answers == lap.actions[theirs]).all()
        compared += len(answers)
    assert compared > 50


class Reading(HeuristicAgent):
    """A heuristic player that wants to be shown a certain layout."""

    def __init__(self, layout_name: str) -> None:
        super().__init__(0)
        self._reads = layout_name
        self.lengths: set[int] = set()

    @property
    def layout_name(self) -> str:
        return self._reads

    def choose(self, observations: Any, *others: Any) -> Any:
        self.lengths.add(observations.shape[1])
        return super().choose(observations, *others)


@pytest.mark.parametrize(("layout", "other"), [("default", "universal"), ("universal", "default")])
def test_a_guest_is_shown_the_layout_that_it_reads(layout: str, other: str) -> None:
    """At tables of the other layout, too: its own seat's view, and it answers for that."""
    guest, plain = Reading(other), make("heuristic", 0)
    plain.begin("oh_hell")
    company = TableOpponents([(guest, 1.0)])
    tables = LapTables(Rules.preset("oh_hell"), 10, seed=0, layout=layout, opponents=company)
    for _ in range(12):
        lap = tables.play(Chance())
        theirs = ~lap.ours & (lap.action_masks.sum(axis=1) > 1)
        answers = plain.act_batch(lap.observations[theirs], lap.action_masks[theirs])
        assert (answers == lap.actions[theirs]).all()
    assert guest.lengths == {layout_of(tables.rules, other).length}


def test_a_restored_state_goes_on_the_same() -> None:
    tables = LapTables(Rules.preset("pocha"), 4, seed=0)
    state = tables.state()
    policy, same_policy = Chance(), Chance()
    first = [tables.play(policy) for _ in range(12)]
    other = LapTables(Rules.preset("pocha"), 4, seed=99)
    other.restore(state)
    again = [other.play(same_policy) for _ in range(12)]
    for lap, same in zip(first, again, strict=True):
        assert (lap.observations == same.observations).all()
        assert (lap.rewards == same.rewards).all()


def test_a_unit_of_reward_is_what_a_missed_bid_costs() -> None:
    assert points_scale(Rules.preset("british_oh_hell")) == 10.0
    tables = LapTables(Rules.preset("british_oh_hell"), 8, seed=2)
    policy, seen = Chance(), set[float]()
    for _ in range(20):
        seen |= set(tables.play(policy).rewards.tolist())
    assert seen == {0.0, 1.0}


# --- The buffer ---------------------------------------------------------------------------------


def lap_of(values: list[float], rewards: list[float], ends: list[int], free: list[int]) -> Lap:
    """A lap with one observation value and two actions."""
    count = len(values)
    return Lap(
        observations=np.arange(count, dtype=np.int8)[:, np.newaxis],
        action_masks=np.ones((count, 2), np.int8),
        actions=np.zeros(count, np.int64),
        log_probs=np.zeros(count, np.float32),
        values=np.array(values, np.float32),
        rewards=np.array(rewards, np.float32),
        ends=np.array(ends, np.bool_),
        ours=np.ones(count, np.bool_),
        free=np.array(free, np.bool_),
    )


def buffer_of(laps: list[Lap], following: Lap) -> LapBuffer:
    columns = len(laps[0].values)
    buffer = LapBuffer(
        len(laps),
        spaces.Box(-128, 127, laps[0].observations.shape[1:], np.int8),
        spaces.Discrete(laps[0].action_masks.shape[1]),
        device="cpu",
        gae_lambda=LAMBDA,
        gamma=1.0,
        n_envs=columns,
    )
    buffer.rng = np.random.default_rng(0)
    for lap in laps:
        buffer.add_lap(lap)
    buffer.finish(following)
    return buffer


def test_advantages_of_a_whole_deal_have_the_closed_form() -> None:
    """Three free decisions, then the deal pays 2: A_t = sum of (lambda^k) * delta_(t+k)."""
    values = [0.5, 0.25, -1.0]
    laps = [lap_of([v], [0.0], [0], [1]) for v in values[:2]] + [lap_of([-1.0], [2.0], [1], [1])]
    buffer = buffer_of(laps, lap_of([77.0], [0.0], [0], [1]))
    deltas = [0.25 - 0.5, -1.0 - 0.25, 2.0 - -1.0]
    expected = [
        deltas[0] + LAMBDA * deltas[1] + LAMBDA**2 * deltas[2],
        deltas[1] + LAMBDA * deltas[2],
        deltas[2],
    ]
    assert np.allclose(buffer.advantages[:, 0], expected)
    assert np.allclose(buffer.returns[:, 0], np.add(expected, values))


def test_an_unfinished_deal_ends_in_the_value_of_the_next_decision() -> None:
    laps = [lap_of([1.0], [0.0], [0], [1]), lap_of([2.0], [0.0], [0], [1])]
    buffer = buffer_of(laps, lap_of([5.0], [0.0], [0], [1]))
    assert np.allclose(buffer.advantages[:, 0], [1.0 + LAMBDA * 3.0, 3.0])


def test_a_forced_move_is_no_decision() -> None:
    """The free decision before it follows on directly, to the pay of the deal."""
    laps = [
        lap_of([1.0], [0.0], [0], [1]),
        lap_of([0.0], [0.0], [0], [0]),
        lap_of([4.0], [0.0], [0], [1]),
        lap_of([0.0], [6.0], [1], [0]),
    ]
    buffer = buffer_of(laps, lap_of([9.0], [0.0], [0], [1]))
    assert np.allclose(buffer.advantages[:, 0], [3.0 + LAMBDA * 2.0, 0.0, 2.0, 0.0])
    assert buffer.free[:, 0].tolist() == [True, False, True, False]


def test_the_last_decision_is_left_out_where_the_next_is_not_known() -> None:
    laps = [lap_of([1.0], [0.0], [0], [1]), lap_of([2.0], [0.0], [0], [1])]
    buffer = buffer_of(laps, lap_of([0.0], [0.0], [0], [0]))
    assert buffer.free[:, 0].tolist() == [True, False]
    assert np.allclose(buffer.advantages[:, 0], [1.0, 0.0])


def test_advantages_of_played_deals_have_the_closed_form() -> None:
    """Seat by seat: the free decisions of a deal, and what its end pays, nothing else."""
    company = TableOpponents([(make("heuristic", 0), 0.3)])
    tables = LapTables(Rules.preset("oh_hell"), 12, seed=0, hand_size=4, opponents=company)
    policy = Chance()
    laps = [tables.play(policy) for _ in range(14)]
    following = tables.play(policy)
    buffer, compared = buffer_of(laps, following), 0
    for column in range(tables.num_columns):
        deal: list[tuple[int, float]] = []
        for row, lap in enumerate(laps):
            if lap.free[column]:
                deal.append((row, float(lap.values[column])))
            if lap.ends[column] and deal:
                next_values = [value for _, value in deal[1:]] + [float(lap.rewards[column])]
                deltas = [n - v for n, (_, v) in zip(next_values, deal, strict=True)]
                for start, (free_row, _) in enumerate(deal):
                    expected = sum(LAMBDA**k * d for k, d in enumerate(deltas[start:]))
                    assert buffer.advantages[free_row, column] == pytest.approx(expected, abs=1e-3)
                    compared += 1
                deal = []
    assert compared > 200


def test_nothing_leaks_between_deals_or_seats() -> None:
    rng = np.random.default_rng(4)

    def some_lap(ends: list[int]) -> Lap:
        free = rng.integers(0, 2, 3).tolist()
        return lap_of(rng.normal(size=3).tolist(), rng.normal(size=3).tolist(), ends, free)

    laps = [some_lap([0, 0, 0]), some_lap([0, 1, 0]), some_lap([0, 0, 0]), some_lap([0, 0, 1])]
    following = some_lap([0, 0, 0])
    before = buffer_of(laps, following).advantages.copy()

    other_deal = replace(
        laps[2], rewards=laps[2].rewards + np.array([0, 50, 0]), values=laps[2].values * 3
    )
    changed = buffer_of([*laps[:2], other_deal, laps[3]], following).advantages
    assert (changed[:2, 1] == before[:2, 1]).all(), "a later deal reached back over its end"

    other_seat = replace(laps[3], rewards=laps[3].rewards + np.array([0, 0, 50]))
    changed = buffer_of([*laps[:3], other_seat], following).advantages
    assert (changed[:, :2] == before[:, :2]).all(), "a seat was paid for another"


def test_every_free_cell_is_drawn_once() -> None:
    rng = np.random.default_rng(2)
    free = rng.integers(0, 2, (7, 11))
    laps = [lap_of([float(row)] * 11, [1.0] * 11, [1] * 11, free[row].tolist()) for row in range(7)]
    buffer = buffer_of(laps, laps[0])
    parts = list(buffer.get(10))
    sizes = [len(part.actions) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    drawn = {
        (int(value), int(column))
        for part in parts
        for value, column in zip(part.old_values, part.observations[:, 0], strict=True)
    }
    assert drawn == {(row, column) for row, column in np.argwhere(free)}
    assert sum(sizes) == int(free.sum())
    assert all(part.actions.dtype == torch.int64 for part in parts)
