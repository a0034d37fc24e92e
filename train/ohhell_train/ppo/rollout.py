"""Experience of self-play, collected by laps of the table.

In Oh Hell every seat decides exactly once per *lap*: the bidding is one lap, each trick is one (a
blind one-card deal has the bidding only). So tables of any hand sizes advance in lockstep, and a
deal ends at a table only when a lap does. One lap of all tables is one row of the rollout buffer,
each (table, seat) is one column: a column is what one seat saw, did and was paid, nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.base import Agent
from ohhell_env.actions import BID_BASE
from ohhell_env.engine.layout import GAME, Rows, compile_rules
from ohhell_env.envs.batched import BatchedOhHell
from ohhell_env.envs.opponents import Opponent
from ohhell_env.rules import Rules, schedule
from ohhell_train.ppo.pool import NOBODY, Pool

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]
Bools = NDArray[np.bool_]
Policy = Callable[[Bytes, Bytes], tuple[NDArray[np.int64], Floats, Floats]]
"""From observations (B, L) and masks (B, A) to actions, log-probabilities and values, (B,) each."""


@dataclass
class Lap:
    """One decision of every seat at every table: C columns, column = table * players + seat."""

    observations: Bytes  # (C, L), with hidden hands behind where the tables add them
    action_masks: Bytes  # (C, A)
    actions: NDArray[np.int64]  # (C,)
    log_probs: Floats  # (C,) of the actions, when they were chosen
    values: Floats  # (C,) the critic's; 0 where it was not asked
    rewards: Floats  # (C,) paid at the end of the lap
    ends: Bools  # (C,) the deal ended with this lap
    ours: Bools  # (C,) the learner sat there, not an opponent
    free: Bools  # (C,) the learner had a choice: more than one legal action


OURS, _FORCED, _PAST = -1, -2, -3
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


@dataclass(frozen=True)
class TableOpponents:
    """Who sits at the tables beside the learner's newest self.

    At most tables the learner sits in every seat. At a share of them it meets an opponent, who
    takes one to all but one of the seats, drawn anew for each deal.
    """

    players: Sequence[tuple[Agent, float]] = ()
    """Players, and the share of the tables that each of them sits at."""
    pool: Pool | None = None
    """Past selves."""
    past: float = 0.0
    """Share of the tables at which a past self is the opponent."""
    part: str = "both"
    """What the learner decides itself: "both", "bids" or "cards"."""
    partner: Agent | None = None
    """Who decides the rest for it."""


class LapTables:
    """Tables that are played by laps, a deal each, one deal after the other.

    Args:
        rules: The rules.
        num_tables: How many tables.
        seed: Seed of the deals and of every chance at the tables.
        hand_size: The only hand size; None: as the schedule has them.
        layout: "default" or "universal".
        opponents: Who else sits there.
        show_hands: Whether to add the other seats' hands behind each observation, eight bytes of
            mask each, clockwise, for a critic that sees them.
        random: Every chance but that of the deals; None: a generator of the seed's own.
    """

    def __init__(
        self,
        rules: Rules,
        num_tables: int,
        seed: int,
        hand_size: int | None = None,
        layout: str = "default",
        opponents: TableOpponents | None = None,
        show_hands: bool = False,
        random: np.random.Generator | None = None,
    ) -> None:
        self.tables = BatchedOhHell(
            num_tables, rules, seed=seed, layout=layout, hand_size=hand_size
        )
        self.rules, self.layout = self.tables.rules, self.tables.layout
        self.players = rules.players
        self._compiled = compile_rules(rules, "deal", hand_size)
        self.num_columns = num_tables * rules.players
        self.width = self.layout.length + 8 * (self.layout.seats - 1) * show_hands
        """Bytes of an observation, with the hidden hands that are shown to the critic."""
        self.scale = np.full(self.num_columns, points_scale(rules), np.float32)
        """(C,) points that make one unit of reward."""
        self.random = random or np.random.Generator(np.random.Philox(seed))
        """Every chance but that of the deals; the learner draws from it, too."""
        self.opponents = opponents or TableOpponents()
        self._actors = self._sit_down()
        self._visitor = _shared_out(
            [self.opponents.past, *(share for _, share in self.opponents.players)], num_tables
        )
        self.sitting = np.full((num_tables, rules.players), OURS, np.int8)
        """(N, players): place in the list of all players of who sits there, or ``OURS``."""
        self._first_column = np.arange(num_tables) * rules.players
        self.tables.reset()
        self._stagger()
        self._seat_opponents(np.ones(num_tables, np.bool_))

    def _sit_down(self) -> list[Opponent]:
        """Returns the players that sit here all the time: the opponents, then the partner."""
        agents = [opponent for opponent, _ in self.opponents.players]
        if self.opponents.partner is not None:
            agents.append(self.opponents.partner)
        actors = [Opponent(agent, self.rules, self.tables.hand_size, False) for agent in agents]
        for actor in actors:
            actor.begin(None)
        return actors

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
        opponents = self._visitor[where]
        past = opponents == _PAST
        if past.any():
            assert self.opponents.pool is not None, "past selves come from the pool"
            found = self.opponents.pool.at_tables(int(past.sum()), self.random)
            opponents[past] = np.where(found == NOBODY, OURS, found + len(self._actors))
        places = self.random.permuted(np.tile(np.arange(self.players), (len(where), 1)), axis=1)
        number = self.random.integers(1, self.players, (len(where), 1))
        self.sitting[where] = np.where(places < number, opponents[:, np.newaxis], OURS)

    def play(self, policy: Policy) -> Lap:
        """Plays one lap at every table and returns it. Forced moves are made without the policy."""
        lap = self._empty_lap()
        tables = self.tables
        for place in range(self.players):
            assert place == 0 or not tables.deal_ends.any(), "a deal ends only when a lap does"
            columns = self._first_column + tables.seats
            self._decide(lap, columns, policy)
            tables.step(lap.actions[columns])
        lap.rewards = tables.rewards.ravel() / self.scale
        lap.ends = tables.deal_ends.repeat(self.players)
        self._tell_pool(tables.deal_ends)
        self._seat_opponents(tables.deal_ends)
        return lap

    def _empty_lap(self) -> Lap:
        columns = self.num_columns
        return Lap(
            observations=np.empty((columns, self.width), np.int8),
            action_masks=np.empty((columns, self.layout.num_actions), np.int8),
            actions=np.full(columns, -1, np.int64),
            log_probs=np.zeros(columns, np.float32),
            values=np.zeros(columns, np.float32),
            rewards=np.zeros(columns, np.float32),
            ends=np.zeros(columns, np.bool_),
            ours=self.sitting.ravel() == OURS,
            free=np.zeros(columns, np.bool_),
        )

    def _views(self) -> Bytes:
        """Returns the observations (N, width), with hidden hands behind where they are shown."""
        observations = self.tables.observations
        if self.width == self.layout.length:
            return observations
        turns = (self.tables.seats[:, np.newaxis] + np.arange(1, self.players)) % self.players
        hands = np.zeros((len(turns), self.layout.seats - 1), np.uint64)
        hands[:, : self.players - 1] = np.take_along_axis(self.tables.games["hands"], turns, axis=1)
        return np.concatenate([observations, hands.view(np.int8)], axis=1)

    def _decide(self, lap: Lap, columns: NDArray[np.int64], policy: Policy) -> None:
        views, masks = self._views(), self.tables.action_masks
        lap.observations[columns] = views
        lap.action_masks[columns] = masks
        lap.actions[columns] = masks.argmax(axis=1)
        sitting = self._who_decides(columns, masks)
        free = sitting == OURS
        lap.free[columns] = free
        if free.any():
            chosen = columns[free]
            answers = policy(views[free], masks[free])
            lap.actions[chosen], lap.log_probs[chosen], lap.values[chosen] = answers
        for place in np.unique(sitting[sitting > OURS]).tolist():
            asked = np.flatnonzero(sitting == place)
            lap.actions[columns[asked]] = self._ask(place, asked)

    def _who_decides(self, columns: NDArray[np.int64], masks: Bytes) -> NDArray[np.int8]:
        """Returns who decides at each table (N,): ``OURS``, a player's place, or ``_FORCED``."""
        sitting = self.sitting.ravel()[columns]
        part = self.opponents.part
        if part != "both":
            bidding = masks[:, BID_BASE:].any(axis=1)
            selves = (sitting == OURS) | (sitting >= len(self._actors))
            others = selves & (bidding != (part == "bids"))
            sitting = np.where(others, len(self.opponents.players), sitting)
        return np.where(masks.sum(axis=1, dtype=np.int64) > 1, sitting, _FORCED).astype(np.int8)

    def _ask(self, place: int, asked: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns what one of the others does at each of some tables."""
        words = self.random.integers(2**64, size=len(asked), dtype=np.uint64)
        past = place - len(self._actors)
        if past >= 0:
            assert self.opponents.pool is not None, "past selves come from the pool"
            views, masks = self.tables.observations[asked], self.tables.action_masks[asked]
            return self.opponents.pool.ask(past, views, masks, words, self.rules)
        return self._actors[place].ask(self.tables.games, self._compiled, asked, words)

    def _tell_pool(self, ended: Bools) -> None:
        """Tells the pool how the learner did against past selves in the deals that ended."""
        pool = self.opponents.pool
        if pool is None:
            return
        opponents = self.sitting[ended].max(axis=1) - len(self._actors)
        for opponent in np.unique(opponents[opponents >= 0]).tolist():
            deals = opponents == opponent
            ours = self.sitting[ended][deals] == OURS
            points = self.tables.rewards[ended][deals]
            mine = np.average(points, axis=1, weights=ours)
            theirs = np.average(points, axis=1, weights=~ours)
            pool.note(opponent, (np.sign(mine - theirs) + 1) / 2)

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
    """Returns the opponent at each table (N,): ``_PAST``, its place among them, or ``OURS``."""
    ends = np.round(np.cumsum([0.0, *shares]) * num_tables).astype(int)
    visitor = np.full(num_tables, OURS, np.int8)
    for place, (first, end) in enumerate(itertools.pairwise(ends)):
        visitor[first:end] = place - 1 if place else _PAST
    return visitor
