"""The heuristic player inside the engine: one decision from a table's record, compiled.

The bid is the one with the most expected points under the scoring of the table, never below the
sure tricks. In play each legal card is weighed one step ahead: the chance that it wins this trick,
times what the rest of the hand is then worth, and the same for losing it. So a seat that wants
tricks wins them with what serves least later, and one that wants none gets rid of danger. Where the
own points are the same whatever happens, it plays to break the others.

``heuristic_action`` reads only what the seat to act may know, see ``chances.py``.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from agents.chances import (
    bid_known,
    chance_now,
    distinct,
    expected,
    later_chances,
    look,
    start_later,
    start_now,
    sure_tricks,
    tricks_of,
    unseen_cards,
    without,
    workspace,
)
from ohhell_env.engine.bits import ONE, ZERO, has, lowest, suit_mask
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.kernel import following, trump_known
from ohhell_env.engine.layout import BID_BASE, NO_TRUMP, NUM_BIDS, Phase

_BID = int(Phase.BID)
_SAME = 1e-9
"""Expected points that differ by less count as equal."""
_SPOIL = 1e-3
"""Points that are as good as breaking another's bid for certain."""
_NEAR = 3
"""Bids so far from the expected tricks are weighed with chances of their own."""
_ROOM = NUM_BIDS + 1


@entry
def heuristic_action(row, rules, models):
    """Returns the heuristic player's action code for the seat to act.

    Args:
        row: A table in the bidding or in play, ``legal`` not empty.
        rules: Its rules record.
        models: ``MODELS`` record.
    """
    if row.legal & (row.legal - ONE) == ZERO:
        only = lowest(row.legal)
        return only + BID_BASE if row.phase == _BID else only
    if row.phase != _BID:
        return card_values(row, rules, models, np.empty(64))
    values = np.empty(NUM_BIDS)
    sure = bid_values(row, rules, models, values)
    best = _best_bid(row.legal, values, sure)
    return BID_BASE + (best if best >= 0 else _best_bid(row.legal, values, 0))


@entry
def bid_values(row, rules, models, values):
    """Writes the expected points of each bid, legal or not, of the seat to act in the bidding.

    Args:
        row: A table in the bidding.
        rules: Its rules record.
        models: ``MODELS`` record.
        values: float64 (NUM_BIDS,), written in place; beyond the hand size 0.

    Returns:
        The number of sure tricks.
    """
    values[:] = 0.0
    if row.blind:
        _blind_values(row, rules, values)
        return 0
    sure = NUM_BIDS
    known = trump_known(row, rules)
    first = np.int64(row.trump) if known else 0
    last = first if known else rules.num_suits - 1
    work, space = workspace(), np.empty((2, _ROOM))
    chances, spread = space[0], space[1]
    for trump in range(first, last + 1):
        sight = look(row, rules, trump, np.int64(row.seat))
        sure = min(sure, sure_tricks(sight))
        start_later(sight, row, rules, models, sight.left, work)
        _add_bids(row, rules, models, sight, work, chances, spread, values)
    return sure


@inline
def _add_bids(row, rules, models, sight, work, chances, spread, values):
    """Adds the expected points of each bid, if a suit is trump."""
    size, lead = sight.left, _leads(row, rules, sight)
    middle = size // max(rules.players - 1, 1)
    for _ in range(2):  # the tricks that the hand takes if it bids about what it takes
        later_chances(models, work, size, middle, sight.wanted, size, lead, chances)
        total = 0.0
        for place in range(size):
            total += chances[place]
        middle = np.int64(total + 0.5)
    low, high = max(middle - _NEAR, 0), min(middle + _NEAR, size)
    for bid in range(low, high + 1):
        later_chances(models, work, size, bid, sight.wanted, size, lead, chances)
        tricks_of(chances, size, spread)
        values[bid] += expected(spread, size, rules.points[size, bid], 0)
        if bid == low:
            for far in range(low):
                values[far] += expected(spread, size, rules.points[size, far], 0)
    for far in range(high + 1, size + 1):
        values[far] += expected(spread, size, rules.points[size, far], 0)


@inline
def _leads(row, rules, sight):
    """Returns 1.0 if the seat that bids is eldest and so on lead, else 0.0."""
    eldest = following(np.int64(row.dealer), rules.players)
    return 1.0 if sight.seat == eldest and not rules.highest_bidder_leads else 0.0


@inline
def _best_bid(legal, values, least):
    best = -1
    for bid in range(least, NUM_BIDS):
        if has(legal, bid) and (best < 0 or values[bid] > values[best] + _SAME):
            best = bid
    return best


@entry
def card_values(row, rules, models, values):
    """Weighs the cards of the seat to act in play.

    Args:
        row: A table in play.
        rules: Its rules record.
        models: ``MODELS`` record.
        values: float64 (64,), written at the cards that are weighed: the expected points; NaN at
            all others.

    Returns:
        The card of the most expected points; of equal ones the lowest.
    """
    values[:] = np.nan
    sight = look(row, rules, np.int64(row.trump), np.int64(row.seat))
    size, won = sight.left, np.int64(row.tricks_won[sight.seat])
    left, wants = size - 1, np.int64(row.bids[sight.seat]) - won
    work, space = workspace(), np.empty((5, _ROOM))
    chances, spread, rest = space[:2], space[2:4], space[4]
    start_later(sight, row, rules, models, left, work)
    for wins in range(2):  # what the rest is worth after losing this trick, after winning it
        wanted = max(sight.wanted - (1 - wins), 0.0)  # who wins it instead, may have wanted to
        later_chances(models, work, size, wants - wins, wanted, left, float(wins), chances[wins])
        tricks_of(chances[wins], size, spread[wins])
    start_now(sight, row, rules, models, work)
    points = rules.points[row.hand_size, row.bids[sight.seat]]
    legal = distinct(_top_trump(row, sight) if wants == size else row.legal, sight, row)
    spoil = _SPOIL if sight.wanted > left else -_SPOIL  # too many wanted: take them away
    best, most, place, hand = np.int64(-1), 0.0, 0, sight.hand
    last, last_now = np.int64(-13), -1.0
    while hand != ZERO:
        card = lowest(hand)
        hand = hand & (hand - ONE)
        if has(legal, card):
            now = chance_now(row, models, sight, card, work)
            value = spoil * now
            for wins in range(2):
                without(spread[wins], size, chances[wins, place], rest)
                chance = now if wins else 1.0 - now
                value += chance * expected(rest, left, points, won + wins)
            certain = now * (1.0 - now) == 0.0
            if certain and now == last_now and card // 13 == last // 13:
                keep = _better_kept(points, won + np.int64(now), wants - np.int64(now), left)
                if keep < 0:
                    value = max(value, values[last] + 2.0 * _SAME)
                elif keep > 0:
                    value = min(value, values[last])
            values[card] = value
            last, last_now = card, now
            if best < 0 or value > most + _SAME:
                best, most = card, value
        place += 1
    return best


@inline
def _better_kept(points, won, wants, left):
    """Returns which of two cards of a suit is better kept where both do the same now.

    Returns:
        1 the higher one (all that is left is wanted), -1 the lower one (nothing is), 0 it depends.
    """
    if wants == 0 and points[won] >= points[won + 1]:
        return -1
    if wants == left and points[won + left] > points[won + left - 1]:
        return 1
    return 0


@inline
def _top_trump(row, sight):
    """Returns the highest trump that may be led, as a mask; all legal cards if there is none.

    Whoever needs every trick draws trumps from the top, before a low one is left alone against
    them.
    """
    if row.trick_size > 0 or sight.trump == NO_TRUMP:
        return row.legal
    trumps = row.legal & suit_mask(sight.trump)
    if trumps == ZERO:
        return row.legal
    while trumps & (trumps - ONE) != ZERO:
        trumps = trumps & (trumps - ONE)
    return trumps


@inline
def _blind_values(row, rules, values):
    """Writes the values of a blind one-card deal's bids: the own card may be any not seen."""
    seat, players = np.int64(row.seat), rules.players
    unseen = unseen_cards(row, rules, seat) | row.hands[seat]
    for other in range(players):
        if other != seat:
            unseen = unseen & ~row.hands[other]
    known = trump_known(row, rules)
    first = np.int64(row.trump) if known else 0
    last = first if known else rules.num_suits - 1
    for bid in range(2):
        wins, cases = 0, 0
        leader = _blind_leader(row, rules, seat, bid)
        for trump in range(first, last + 1):
            for card in range(64):
                if has(unseen, card):
                    cases += 1
                    wins += _blind_winner(row, players, seat, card, leader, trump) == seat
        chance = wins / max(cases, 1)
        values[bid] = chance * rules.points[1, bid, 1] + (1.0 - chance) * rules.points[1, bid, 0]


@inline
def _blind_leader(row, rules, seat, bid):
    """Returns who will lead, as far as the bids tell: later seats are taken to bid nil."""
    eldest = following(np.int64(row.dealer), rules.players)
    if rules.highest_bidder_leads:
        for distance in range(rules.players):
            other = (eldest + distance) % rules.players
            made = bid if other == seat else 0
            if other != seat and bid_known(row, rules, other, seat):
                made = np.int64(row.bids[other])
            if made > 0:
                return other
    return eldest


@inline
def _blind_winner(row, players, seat, card, leader, trump):
    """Returns who wins the only trick if the seat's own card is ``card``."""
    best, winner = np.int64(-1), leader
    for distance in range(players):
        other = (leader + distance) % players
        played = card if other == seat else lowest(row.hands[other])
        higher = played > best if played // 13 == best // 13 else played // 13 == trump
        if distance == 0 or higher:
            best, winner = played, other
    return winner
