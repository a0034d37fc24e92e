"""Experience of self-play, collected by laps of the table.

In Oh Hell every seat decides exactly once per *lap*: the bidding is one lap, and each trick is one
(a blind one-card deal has only the bidding). So tables with different hand sizes stay in step, and
a deal ends only at the end of a lap. One lap of all tables is one row of the rollout buffer. Each
(table, seat) is one column: what that seat saw, what it did, and its reward.
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

    observations: Bytes  # (C, L), followed by the hidden hands if the tables add them
    action_masks: Bytes  # (C, A)
    actions: NDArray[np.int64]  # (C,)
    log_probs: Floats  # (C,) of the actions, at the time of the choice
    values: Floats  # (C,) the critic's; 0 for forced moves and other players
    rewards: Floats  # (C,) paid at the end of the lap
    ends: Bools  # (C,) whether the deal ended with this lap
    ours: Bools  # (C,) whether the learner sat there, not an opponent
    free: Bools  # (C,) whether the learner had a choice: more than one legal action


OURS, _FORCED, _PAST = -1, -2, -3
LAP_FIELDS = tuple(field.name for field in fields(Lap))


def points_scale(rules: Rules) -> float:
    """Returns the number of points in one unit of reward.

    It is the average cost of missing a bid by one trick, over the schedule's hand sizes and the
    bids up to one above the fair share. Rewards therefore have about the same size under any
    scoring.

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


def hidden_hands(
    tables: BatchedOhHell, rows: NDArray[np.int64] | slice = slice(None)
) -> NDArray[np.uint64]:
    """Returns the hands that the seats to act do not see, as masks.

    Args:
        tables: The tables.
        rows: Some of them.

    Returns:
        uint64 (N, seats of the layout - 1), the other seats' hands, clockwise; 0 without a seat.
    """
    players = tables.rules.players
    turns = (tables.seats[rows, np.newaxis] + np.arange(1, players)) % players
    hands = np.zeros((len(turns), tables.layout.seats - 1), np.uint64)
    hands[:, : players - 1] = np.take_along_axis(tables.games["hands"][rows], turns, axis=1)
    return hands


@dataclass(frozen=True)
class TableOpponents:
    """The other players at the tables, apart from the learner's newest version.

    At most tables the learner sits in every seat. At a share of them an opponent takes between one
    seat and all but one; the seats are drawn again for each deal.
    """

    players: Sequence[tuple[Agent, float]] = ()
    """The players, each with its share of the tables."""
    pool: Pool | None = None
    """Past selves."""
    past: float = 0.0
    """The share of the tables with a past self as the opponent."""
    part: str = "both"
    """The part that the learner decides itself: "both", "bids" or "cards"."""
    partner: Agent | None = None
    """The player that decides the other part for the learner."""


class LapTables:
    """Tables that play one deal after the other, lap by lap.

    Args:
        rules: The rules.
        num_tables: Number of tables.
        seed: Seed of the deals and of all random choices at the tables.
        hand_size: The only hand size; None uses those of the schedule.
        layout: "default" or "universal".
        opponents: The other players at the tables.
        show_hands: Whether to append the other seats' hands to each observation, as masks of eight
            bytes, clockwise, for a critic that sees them.
        random: The generator of all random choices but the deals; None makes one from the seed.
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
        """Bytes of an observation, including the hidden hands for the critic."""
        self.scale = np.full(self.num_columns, points_scale(rules), np.float32)
        """(C,) points in one unit of reward."""
        self.random = random or np.random.Generator(np.random.Philox(seed))
        """The generator of all random choices but the deals; the learner uses it too."""
        self.opponents = opponents or TableOpponents()
        self._permanent = self._make_permanent()
        self._opponent_at = _shared_out(
            [self.opponents.past, *(share for _, share in self.opponents.players)], num_tables
        )
        self.sitting = np.full((num_tables, rules.players), OURS, np.int8)
        """(N, players): the player at each seat, as a place in the list of all players, or
        ``OURS``."""
        self._first_column = np.arange(num_tables) * rules.players
        self.tables.reset()
        self._stagger()
        self._seat_opponents(np.ones(num_tables, np.bool_))

    def _make_permanent(self) -> list[Opponent]:
        """Returns the permanent players, each as an opponent: the opponents, then the partner."""
        agents = [opponent for opponent, _ in self.opponents.players]
        if self.opponents.partner is not None:
            agents.append(self.opponents.partner)
        permanent = [Opponent(agent, self.rules, self.tables.hand_size, False) for agent in agents]
        for opponent in permanent:
            opponent.begin(None)
        return permanent

    def _stagger(self) -> None:
        """Moves the tables to different laps, so that even a short rollout sees deals end."""
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
        """Draws the seats at those tables that begin a deal and have opponents."""
        where = np.flatnonzero(new & (self._opponent_at != OURS))
        opponents = self._opponent_at[where]
        past = opponents == _PAST
        if past.any():
            assert self.opponents.pool is not None, "past selves come from the pool"
            found = self.opponents.pool.at_tables(int(past.sum()), self.random)
            opponents[past] = np.where(found == NOBODY, OURS, found + len(self._permanent))
        places = self.random.permuted(np.tile(np.arange(self.players), (len(where), 1)), axis=1)
        number = self.random.integers(1, self.players, (len(where), 1))
        self.sitting[where] = np.where(places < number, opponents[:, np.newaxis], OURS)

    def play(self, policy: Policy) -> Lap:
        """Plays one lap at every table and returns it; forced moves skip the policy."""
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
        """Returns the observations (N, width), followed by the hidden hands if they are shown."""
        observations = self.tables.observations
        if self.width == self.layout.length:
            return observations
        hands = hidden_hands(self.tables)
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
        """Returns the decider at each table (N,): ``OURS``, a player's place, or ``_FORCED``."""
        sitting = self.sitting.ravel()[columns]
        part = self.opponents.part
        if part != "both":
            bidding = masks[:, BID_BASE:].any(axis=1)
            selves = (sitting == OURS) | (sitting >= len(self._permanent))
            others = selves & (bidding != (part == "bids"))
            sitting = np.where(others, len(self.opponents.players), sitting)
        return np.where(masks.sum(axis=1, dtype=np.int64) > 1, sitting, _FORCED).astype(np.int8)

    def _ask(self, place: int, asked: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the actions of one of the other players at some tables."""
        random_bits = self.random.integers(2**64, size=len(asked), dtype=np.uint64)
        past = place - len(self._permanent)
        if past >= 0:
            assert self.opponents.pool is not None, "past selves come from the pool"
            views, masks = self.tables.observations[asked], self.tables.action_masks[asked]
            return self.opponents.pool.ask(past, views, masks, random_bits, self.rules)
        return self._permanent[place].ask(self.tables.games, self._compiled, asked, random_bits)

    def _tell_pool(self, ended: Bools) -> None:
        """Reports to the pool how the learner did against past selves in the deals that ended."""
        pool = self.opponents.pool
        if pool is None:
            return
        opponents = self.sitting[ended].max(axis=1) - len(self._permanent)
        for opponent in np.unique(opponents[opponents >= 0]).tolist():
            deals = opponents == opponent
            ours = self.sitting[ended][deals] == OURS
            points = self.tables.rewards[ended][deals]
            mine = np.average(points, axis=1, weights=ours)
            theirs = np.average(points, axis=1, weights=~ours)
            pool.note(opponent, (np.sign(mine - theirs) + 1) / 2)

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns everything needed to continue from here, except the state of ``random``."""
        games = np.ascontiguousarray(self.tables.games).view(np.uint8)
        return {"games": games.copy(), "sitting": self.sitting.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continues from a ``state`` of the same number of tables under the same rules."""
        self._set_games(state["games"].view(GAME))
        self.sitting[:] = state["sitting"]

    def _set_games(self, games: Rows) -> None:
        self.tables.games[:] = games
        self.tables.refresh()


def _shared_out(shares: Sequence[float], num_tables: int) -> NDArray[np.int8]:
    """Returns the opponent at each table (N,): ``_PAST``, its place in the list, or ``OURS``."""
    ends = np.round(np.cumsum([0.0, *shares]) * num_tables).astype(int)
    opponent_at = np.full(num_tables, OURS, np.int8)
    for place, (first, end) in enumerate(itertools.pairwise(ends)):
        opponent_at[first:end] = place - 1 if place else _PAST
    return opponent_at
