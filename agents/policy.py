"""The heuristic player inside the engine: one decision from a table's record, compiled.

The bid is the one with the most expected points under the scoring of the table, never below the
sure tricks. In play each legal card is weighed one step ahead: the chance that it wins this trick,
times what the rest of the hand is then worth, and the same for losing it. So a seat that wants
tricks wins them with what serves least later, and one that wants none gets rid of danger.

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
    sure_tricks,
    tricks_of,
    unseen_cards,
    without,
)
from ohhell_env.engine.bits import ONE, ZERO, has, lowest, suit_mask
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.kernel import following, trump_known
from ohhell_env.engine.layout import BID_BASE, NO_TRUMP, NUM_BIDS, Phase

_BID = int(Phase.BID)
_SAME = 1e-9
"""Expected points that differ by less count as equal."""


@entry
def heuristic_action(row, rules):
    """Returns the heuristic player's action code for the seat to act.

    Args:
        row: A table in the bidding or in play, ``legal`` not empty.
        rules: Its rules record.
    """
    if row.legal & (row.legal - ONE) == ZERO:
        only = lowest(row.legal)
        return only + BID_BASE if row.phase == _BID else only
    if row.phase != _BID:
        return _card(row, rules)
    if row.blind:
        return BID_BASE + _blind_bid(row, rules)
    return BID_BASE + _bid(row, rules)


@inline
def _bid(row, rules):
    """Returns the legal bid of the most expected points, at least the sure tricks if it can be."""
    values = np.zeros(NUM_BIDS)
    chances, spread = np.empty(64), np.empty(NUM_BIDS + 1)
    hand_size, sure = np.int64(row.hand_size), NUM_BIDS
    known = trump_known(row, rules)
    first = np.int64(row.trump) if known else 0
    last = first if known else rules.num_suits - 1
    for trump in range(first, last + 1):
        sight = look(row, rules, trump)
        sure = min(sure, sure_tricks(sight))
        later_chances(sight, chances)
        size = tricks_of(sight.hand, chances, spread)
        for bid in range(hand_size + 1):
            values[bid] += expected(spread, size, rules.points[hand_size, bid], 0)
    best = _best_bid(row.legal, values, sure)
    return best if best >= 0 else _best_bid(row.legal, values, 0)


@inline
def _best_bid(legal, values, least):
    best = -1
    for bid in range(least, NUM_BIDS):
        if has(legal, bid) and (best < 0 or values[bid] > values[best] + _SAME):
            best = bid
    return best


@inline
def _card(row, rules):
    """Returns the legal card of the most expected points; of equal ones the lowest."""
    chances, spread = np.empty(64), np.empty(NUM_BIDS + 1)
    rest = np.empty(NUM_BIDS + 1)
    sight = look(row, rules, np.int64(row.trump))
    later_chances(sight, chances)
    left, won = sight.left, np.int64(row.tricks_won[sight.seat])
    tricks_of(sight.hand, chances, spread)
    points = rules.points[row.hand_size, row.bids[sight.seat]]
    best, most = np.int64(-1), 0.0
    needs_all = row.bids[sight.seat] - won == left
    legal = distinct(_top_trump(row, sight) if needs_all else row.legal, sight, row)
    while legal != ZERO:
        card = lowest(legal)
        legal = legal & (legal - ONE)
        without(spread, left, chances[card], rest)
        now = chance_now(row, rules, sight, card)
        value = now * expected(rest, left - 1, points, won + 1)
        value += (1.0 - now) * expected(rest, left - 1, points, won)
        if best < 0 or value > most + _SAME:
            best, most = card, value
    return best


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
def _blind_bid(row, rules):
    """Returns the bid of a blind one-card deal: the own card may be any that is not seen."""
    seat, players = np.int64(row.seat), rules.players
    unseen = unseen_cards(row, rules, seat) | row.hands[seat]
    for other in range(players):
        if other != seat:
            unseen = unseen & ~row.hands[other]
    known = trump_known(row, rules)
    first = np.int64(row.trump) if known else 0
    last = first if known else rules.num_suits - 1
    values = np.zeros(NUM_BIDS)
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
    return _best_bid(row.legal, values, 0)


@inline
def _blind_leader(row, rules, seat, bid):
    """Returns who will lead, as far as the bids tell: later seats are taken to bid nil."""
    eldest = following(np.int64(row.dealer), rules.players)
    if rules.highest_bidder_leads:
        for distance in range(rules.players):
            other = (eldest + distance) % rules.players
            made = bid if other == seat else 0
            if other != seat and bid_known(row, rules, other):
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
