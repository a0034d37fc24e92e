"""The value of later deals in a whole game, for a player that wants to win it.

In the model, all seats gain the same on average in every later deal, plus a normal variable of
their own, independent of other seats and of the scores. The variance of the gains is estimated from
games that the policy of the search plays against itself.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.search.policy import SearchPolicy
from ohhell_agents.value.players import HEURISTIC, play_on
from ohhell_env.engine import batch
from ohhell_env.engine.layout import compile_rules, new_games
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import MAX_EXTRA_DEALS, num_deals

_DEALS = 1500
"""Deals to play at least, in whole games."""
_SEED = 20

Floats = NDArray[np.float64]


@functools.lru_cache(maxsize=64)
def _played(rules: Rules, policy: SearchPolicy) -> tuple[Floats, Floats]:
    """Returns the mean and the variance of gains from self-play, by place in the schedule.

    The variance is that of a seat's own variable: the variance of points less the mean of the
    table, times n / (n - 1).
    """
    players, deals = rules.players, num_deals(rules)
    tables = max(8, _DEALS // deals)
    compiled = compile_rules(rules)
    games = new_games(tables)
    batch.seed_tables(games, np.uint64(_SEED), np.uint64(0))
    batch.begin_all(games, compiled)
    log = np.zeros((tables, deals + MAX_EXTRA_DEALS, 2 + 2 * players), np.int8)
    seats = np.full((tables, players), HEURISTIC, np.int16)
    play_on(games, compiled, policy.models, seats, np.zeros((tables, players), np.uint64), log)
    table = compiled["points"][0]
    means, variances = np.zeros(deals), np.zeros(deals)
    for deal in range(deals):
        lines = log[:, deal][log[:, deal, 0] > 0].astype(np.int64)
        if len(lines):
            bids, won = lines[:, 2 : 2 + players], lines[:, 2 + players :]
            points = table[lines[:, :1], bids, won].astype(np.float64)
            apart = points - points.mean(axis=1, keepdims=True)
            means[deal] = points.mean()
            variances[deal] = (apart**2).mean() * players / (players - 1)
    return means, variances


class RestOfGame:
    """The spread of a seat's points in the remaining deals.

    Args:
        rules: The rules of the game.
        policy: The policy whose games give the variance of gains.
    """

    def __init__(self, rules: Rules, policy: SearchPolicy) -> None:
        self._players, self._target = rules.players, rules.end.target
        self._means, self._variances = _played(rules, policy)

    def deviation(self, deal: int, scores: NDArray[np.int32]) -> float:
        """Returns the standard deviation of a seat's points after the current deal.

        If a target score ends the game, only the deals that the leader is likely to need are
        counted.

        Args:
            deal: Deals finished before the current one.
            scores: Scores before it, by seat.
        """
        left = self._variances[deal + 1 :]
        if self._target:
            played = self._variances > 0.0  # later deals are hardly ever reached
            mean = max(float(self._means[played].mean()), 1e-9)
            needed = (self._target - int(scores[: self._players].max())) / mean - 1.0
            left = self._variances[played].mean() * np.ones(len(left))[: max(0, round(needed))]
        return float(np.sqrt(left.sum()))
