"""Experience of self-play, collected by laps of the table.

In Oh Hell every seat decides exactly once per *lap*: the bidding is one lap, each trick is one (a
blind one-card deal has the bidding only). So tables of any hand sizes advance in lockstep, and a
deal ends at a table only when a lap does. One lap of all tables is one row of the rollout buffer,
each (table, seat) is one column: a column is what one seat saw, did and was paid, nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples

from agents.base import Agent
from ohhell_env import schedule
from ohhell_env.actions import BID_BASE
from ohhell_env.engine.layout import GAME, Rows
from ohhell_env.envs.batched import BatchedOhHell
from ohhell_env.rules import Rules

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]
Bools = NDArray[np.bool_]
Policy = Callable[[Bytes, Bytes], tuple[NDArray[np.int64], Floats, Floats]]
"""From observations (B, L) and masks (B, A) to actions, log-probabilities and values, (B,) each."""


@dataclass
class Lap:
    """One decision of every seat at every table: C columns, column = table * players + seat."""

    observations: Bytes  # (C, L)
    action_masks: Bytes  # (C, A)
    actions: NDArray[np.int64]  # (C,)
    log_probs: Floats  # (C,) of the actions, when they were chosen
    values: Floats  # (C,) the critic's; 0 where it was not asked
    rewards: Floats  # (C,) paid at the end of the lap
    ends: Bools  # (C,) the deal ended with this lap
    ours: Bools  # (C,) the learner sat there, not an opponent
    free: Bools  # (C,) it had a choice: more than one legal action


OURS, _NOBODY = -1, -2
LAP_FIELDS = tuple(field.name for field in fields(Lap))


def points_scale(rules: Rules) -> float:
    """Returns the points that make one unit of reward.

    It is what missing a bid by one trick costs on average, over the schedule's hand sizes and the
    bids up to one above the fair share; so rewards are of about the same size under any scoring.

    >>> points_scale(Rules.preset("british_oh_hell"))
    10.0
    """
    costs: list[int] = []
    for size in set(schedule.hand_sizes(rules)):
        for bid in range(min(size, size // rules.players + 1) + 1):
            made = schedule.points(rules.scoring, bid, bid, size)
            near = [won for won in (bid - 1, bid + 1) if 0 <= won <= size]
            costs += [abs(made - schedule.points(rules.scoring, bid, won, size)) for won in near]
    return max(1.0, float(np.mean(costs)))


class LapTables:
    """Tables that are played by laps, a deal each, one deal after the other.

    At most tables the learner sits in every seat. At a share of them it meets opponents: they
    take one to all but one of the seats, drawn anew for each deal.

    Args:
        rules: The rules.
        num_tables: How many tables.
        seed: Seed of the deals and of every chance at the tables.
        hand_size: The only hand size; None: as the schedule has them.
        layout: "default" or "universal".
        opponents: Players and the share of the tables that each of them sits at.
    """

    def __init__(
        self,
        rules: Rules,
        num_tables: int,
        seed: int,
        hand_size: int | None = None,
        layout: str = "default",
        opponents: Sequence[tuple[Agent, float]] = (),
    ) -> None:
        self.tables = BatchedOhHell(
            num_tables, rules, seed=seed, layout=layout, hand_size=hand_size
        )
        self.players = rules.players
        self.num_columns = num_tables * rules.players
        self.scale = points_scale(rules)
        self.random = np.random.Generator(np.random.Philox(seed))
        """Every chance but that of the deals; the learner draws from it, too."""
        self.opponents = [opponent for opponent, _ in opponents]
        for opponent in self.opponents:
            opponent.begin(rules, None)
        self._visitor = _shared_out([share for _, share in opponents], num_tables)
        self.sitting = np.full((num_tables, rules.players), OURS, np.int8)
        """(N, players): place in ``opponents`` of who sits there, or ``OURS``."""
        self._first_column = np.arange(num_tables) * rules.players
        self.tables.reset()
        self._stagger()
        self._seat_opponents(np.ones(num_tables, np.bool_))

    def _stagger(self) -> None:
        """Brings the tables to different laps, so that even a short rollout sees deals end."""
        tables = self.tables
        laps = int(tables.games["hand_size"].max()) + 1
        start = tables.games.copy()
        for lap in range(laps):
            start[lap::laps] = tables.games[lap::laps]
            for _ in range(self.players):
                chances = tables.action_masks * self.random.random(tables.action_masks.shape)
                tables.step(chances.argmax(axis=1))
        self._set_games(start)

    def _seat_opponents(self, new: Bools) -> None:
        """Draws who sits where at those of the tables that begin a deal and have opponents."""
        where = np.flatnonzero(new & (self._visitor != OURS))
        places = self.random.permuted(np.tile(np.arange(self.players), (len(where), 1)), axis=1)
        number = self.random.integers(1, self.players, (len(where), 1))
        self.sitting[where] = np.where(places < number, self._visitor[where, np.newaxis], OURS)

    def play(self, policy: Policy) -> Lap:
        """Plays one lap at every table and returns it. Forced moves are made without the policy."""
        lap = self._empty_lap()
        tables = self.tables
        for place in range(self.players):
            assert place == 0 or not tables.deal_ends.any(), "a deal ends only when a lap does"
            columns = self._first_column + tables.seats
            self._decide(lap, columns, policy)
            tables.step(lap.actions[columns])
        lap.rewards = tables.rewards.ravel() / np.float32(self.scale)
        lap.ends = tables.deal_ends.repeat(self.players)
        self._seat_opponents(tables.deal_ends)
        return lap

    def _empty_lap(self) -> Lap:
        columns, layout = self.num_columns, self.tables.layout
        return Lap(
            observations=np.empty((columns, layout.length), np.int8),
            action_masks=np.empty((columns, layout.num_actions), np.int8),
            actions=np.full(columns, -1, np.int64),
            log_probs=np.zeros(columns, np.float32),
            values=np.zeros(columns, np.float32),
            rewards=np.zeros(columns, np.float32),
            ends=np.zeros(columns, np.bool_),
            ours=self.sitting.ravel() == OURS,
            free=np.zeros(columns, np.bool_),
        )

    def _decide(self, lap: Lap, columns: NDArray[np.int64], policy: Policy) -> None:
        observations, masks = self.tables.observations, self.tables.action_masks
        lap.observations[columns] = observations
        lap.action_masks[columns] = masks
        lap.actions[columns] = masks.argmax(axis=1)
        choice = masks.sum(axis=1, dtype=np.int64) > 1
        sitting = np.where(choice, self.sitting.ravel()[columns], _NOBODY)
        free = sitting == OURS
        lap.free[columns] = free
        if free.any():
            chosen = columns[free]
            answers = policy(observations[free], masks[free])
            lap.actions[chosen], lap.log_probs[chosen], lap.values[chosen] = answers
        for place, opponent in enumerate(self.opponents):
            asked = sitting == place
            words = self.random.integers(2**64, size=int(asked.sum()), dtype=np.uint64)
            if len(words):
                lap.actions[columns[asked]] = opponent.act_batch(
                    observations[asked], masks[asked], deterministic=False, words=words
                )

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns all that is needed to go on from here, but the state of ``random``."""
        games = np.ascontiguousarray(self.tables.games).view(np.uint8)
        return {"games": games.copy(), "sitting": self.sitting.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes on from a ``state`` of as many tables under the same rules."""
        self._set_games(state["games"].view(GAME))
        self.sitting[:] = state["sitting"]

    def _set_games(self, games: Rows) -> None:
        self.tables.games[:] = games
        self.tables.refresh()


def _shared_out(shares: Sequence[float], num_tables: int) -> NDArray[np.int8]:
    """Returns which opponent comes to each table (N,), or ``OURS``."""
    ends = np.round(np.cumsum([0.0, *shares]) * num_tables).astype(int)
    visitor = np.full(num_tables, OURS, np.int8)
    for place, (first, end) in enumerate(itertools.pairwise(ends)):
        visitor[first:end] = place
    return visitor


class LapBuffer(MaskableRolloutBuffer):
    """The rollout buffer of sb3-contrib with laps as rows and seats as columns.

    Only *free* cells are drawn for the loss. A forced move is no decision: it takes no part in
    the advantages either, what follows it follows the seat's last free decision. The cells of
    opponents are not free.
    """

    rng: np.random.Generator
    """Order in which the cells are drawn; set by the owner."""

    def reset(self) -> None:
        """Empties the buffer."""
        super().reset()
        shape = (self.buffer_size, self.n_envs)
        self.action_masks = np.zeros((*shape, self.mask_dims), np.int8)
        self.ends = np.zeros(shape, np.bool_)
        self.ours = np.zeros(shape, np.bool_)
        self.free = np.zeros(shape, np.bool_)

    def add_lap(self, lap: Lap) -> None:
        """Adds one row."""
        for name in LAP_FIELDS:
            value = getattr(lap, name)
            getattr(self, name)[self.pos] = value[:, None] if name == "actions" else value
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def finish(self, following: Lap) -> None:
        """Works out advantages and returns, with the lap that follows the last row.

        Generalised advantage estimation over each column's free cells (Schulman et al. 2016,
        arXiv:1506.02438). Where the next free decision of a deal is not known yet, because the
        lap that follows is forced, the column's last decision is left out of the loss.
        """
        known = following.free.copy()
        next_value = np.where(known, following.values, 0).astype(np.float32)
        advantage = np.zeros(self.n_envs, np.float32)
        pay = np.zeros(self.n_envs, np.float32)
        for row in reversed(range(self.buffer_size)):
            ends, free = self.ends[row], self.free[row].copy()
            next_value[ends] = advantage[ends] = pay[ends] = 0
            known |= ends
            pay += self.rewards[row]
            delta = pay + self.gamma * next_value - self.values[row]
            found = np.where(known, delta + self.gamma * self.gae_lambda * advantage, 0)
            advantage = np.where(free, found, advantage)
            self.advantages[row] = np.where(free, found, 0)
            self.free[row] &= known
            next_value = np.where(free, self.values[row], next_value)
            pay[free] = 0
            known |= free
        self.returns = self.advantages + self.values

    def get(
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Yields the free cells in random order, in minibatches of equal size (within one).

        Args:
            batch_size: The size wanted; the nearest that shares the cells out evenly is taken,
                since a small rest would make a noisy step.
        """
        assert self.full, "finish the rollout first"
        rows, columns = np.nonzero(self.free)
        advantages = self._by_phase(rows, columns)
        order = self.rng.permutation(len(rows))
        if len(order) == 1:
            order = order.repeat(2)  # advantages are normalised: one alone has no spread
        parts = max(1, min(round(len(order) / (batch_size or len(order))), len(order) // 2))
        for part in np.array_split(order, parts):
            yield self._cells(rows[part], columns[part], advantages[part])

    def _by_phase(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
        """Returns advantages brought to mean 0 and spread 1 for bids and for cards apart.

        A bid decides about more points than a card; together, the cards would hardly count.
        """
        advantages = self.advantages[rows, columns]
        bids = self.actions[rows, columns, 0] >= BID_BASE
        for phase in (bids, ~bids):
            if phase.any():
                part = advantages[phase]
                advantages[phase] = (part - part.mean()) / (part.std() + 1e-8)
        return advantages

    def _cells(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], advantages: Floats
    ) -> MaskableRolloutBufferSamples:
        def pick(values: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(values[rows, columns])

        return MaskableRolloutBufferSamples(
            observations=pick(self.observations),
            actions=pick(self.actions),
            old_values=pick(self.values),
            old_log_prob=pick(self.log_probs),
            advantages=torch.from_numpy(advantages),
            returns=pick(self.returns),
            action_masks=pick(self.action_masks),
        )
