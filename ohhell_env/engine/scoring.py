"""Points of a deal, end of the game, winners and settlement on one row, compiled.

The points are a table in the rules record, filled from ``schedule.points``.
"""

from __future__ import annotations

import numpy as np

from ohhell_env.engine.caching import inline
from ohhell_env.engine.layout import SETTLEMENTS, TIE_BREAKS
from ohhell_env.rules.schedule import MAX_EXTRA_DEALS

_EXTRA_DEALS = TIE_BREAKS.index("extra_deals")
_MOST_EXACT = TIE_BREAKS.index("most_exact_bids")
_BID_TOTAL = TIE_BREAKS.index("largest_bid_total")
_DIFFERENCES = SETTLEMENTS.index("differences")
_POOL = SETTLEMENTS.index("pool")


@inline
def score_deal(row, rules):
    """Scores a finished deal; returns whether the episode is over."""
    for seat in range(rules.players):
        bid, won = np.int64(row.bids[seat]), np.int64(row.tricks_won[seat])
        points = rules.points[row.hand_size, bid, won]
        row.points[seat] = points
        row.scores[seat] += points
        row.bid_totals[seat] += bid
        if bid == won:
            row.exact_bids[seat] += 1
    return rules.one_deal != 0 or _game_over(row, rules)


@inline
def _game_over(row, rules):
    best = _top(row.scores, rules.players)
    at_target = rules.target > 0 and best >= rules.target
    # An extra deal can take the leaders below the target, but then only a tie continues the game.
    if row.extra == 0 and row.deal + 1 < rules.max_deals and not at_target:
        return False
    if rules.tie_break != _EXTRA_DEALS or row.extra >= MAX_EXTRA_DEALS:
        return True
    leaders = 0
    for seat in range(rules.players):
        if row.scores[seat] == best:
            leaders += 1
    if leaders > 1:
        row.extra += 1
    return leaders == 1


@inline
def _top(values, players):
    best = np.int64(values[0])
    for seat in range(1, players):
        best = max(best, np.int64(values[seat]))
    return best


@inline
def win_shares(row, rules, shares):
    """Writes each seat's share of the win: 1 / number of winners for winners, else 0.

    Args:
        row: A table; its current scores count.
        rules: The rules record.
        shares: float64 (players or more,), written in place.
    """
    players = rules.players
    best = _top(row.scores, players)
    tie_break = rules.tie_break
    decider = np.int64(-1)
    for seat in range(players):
        if row.scores[seat] == best:
            decider = max(decider, _tie_value(row, tie_break, seat))
    winners = 0
    for seat in range(players):
        wins = row.scores[seat] == best and _tie_value(row, tie_break, seat) == decider
        shares[seat] = 1.0 if wins else 0.0
        winners += 1 if wins else 0
    for seat in range(players):
        shares[seat] /= winners


@inline
def _tie_value(row, tie_break, seat):
    if tie_break == _MOST_EXACT:
        return np.int64(row.exact_bids[seat])
    if tie_break == _BID_TOTAL:
        return np.int64(row.bid_totals[seat])
    return np.int64(0)


@inline
def settle(row, rules, paid):
    """Writes the payment to each seat at the end of a game; negative if the seat pays.

    Differences: ``rate * (n * s - sum of scores)``, after adding the hard score bonus to each
    winner. Pool: each seat pays the ante, and the winners share the pool.

    Args:
        row: A table.
        rules: The rules record.
        paid: float64 (players or more,), written in place; sums to 0.
    """
    players = rules.players
    win_shares(row, rules, paid)
    if rules.settlement == _DIFFERENCES:
        total = 0.0
        for seat in range(players):
            bonus = rules.hard_score_bonus if paid[seat] > 0.0 else 0
            paid[seat] = float(row.scores[seat] + bonus)
            total += paid[seat]
        for seat in range(players):
            paid[seat] = rules.rate * (players * paid[seat] - total)
    else:
        ante = rules.ante if rules.settlement == _POOL else 0.0
        for seat in range(players):
            paid[seat] = ante * (players * paid[seat] - 1.0) + 0.0  # never minus zero
