"""What each bid is worth to the seat to act; compiled.

A bid is worth the expected points under the scoring of the table: the tricks that the hand is
likely to win if it is played for that bid, as ``chances.py`` reckons them, and what the corrections
add where there are any.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.advantage_nets import MOST_CHOICES, correct_bids, new_notes, price
from ohhell_agents.value.bit_features import suit_order, write_table_bits
from ohhell_agents.value.features import write_bid_choice, write_bid_situation
from ohhell_agents.value.trick_model import BID_CHOICE, BID_SITUATION
from ohhell_agents.value.trick_probs import (
    bid_known,
    expected,
    later_chances,
    look,
    start_later,
    sure_tricks,
    tricks_of,
    unseen_cards,
    workspace,
)
from ohhell_env.engine.bits import has, lowest
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.kernel import following, trump_known
from ohhell_env.engine.layout import NUM_BIDS

_NEAR = 3
"""Bids so far from the expected tricks are weighed with chances of their own."""
_ROOM = NUM_BIDS + 1


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
    notes = new_notes(BID_SITUATION, BID_CHOICE)
    return weigh_bids(row, rules, models, values, notes, models.corrected != 0)


@entry
def weigh_bids(row, rules, models, values, notes, noted):
    """As ``bid_values``; notes what the corrections are told about the bids.

    Args:
        row: A table in the bidding.
        rules: Its rules record.
        models: ``MODELS`` record.
        values: As for ``bid_values``.
        notes: See ``new_notes``; written in place if noted, a row for each bid. Nothing is written
            in a blind deal; where the trump suit is not known yet, what is left there is about one
            of the suits.
        noted: Whether to note.
    """
    values[:] = 0.0
    if row.blind:
        _blind_values(row, rules, values)
        return 0
    sure = NUM_BIDS
    known = trump_known(row, rules)
    first = np.int64(row.trump) if known else 0
    last = first if known else rules.num_suits - 1
    work, space = workspace(), np.empty((3, _ROOM))
    for trump in range(first, last + 1):
        sight = look(row, rules, trump, np.int64(row.seat))
        sure = min(sure, sure_tricks(sight))
        start_later(sight, row, rules, models, sight.left, work)
        _add_bids(row, rules, models, sight, work, space, notes, noted, values)
    if not known:
        values /= last - first + 1  # each suit is as likely to be trump
    return sure


@inline
def _add_bids(row, rules, models, sight, work, space, notes, noted, values):
    """Adds the expected points of each bid, if a suit is trump."""
    chances, spread, worth = space[0], space[1], space[2]
    choices, size, lead = notes[2], sight.left, _leads(row, rules, sight)
    total, variance = _usual_tricks(models, sight, work, lead, chances)
    middle = np.int64(total + 0.5)
    low, high = max(middle - _NEAR, 0), min(middle + _NEAR, size)
    for place in range(size + 1):
        bid = _nth_bid(place, low, high)
        if low <= bid <= high:
            later_chances(models, work, size, bid, sight.wanted, size, lead, chances)
            tricks_of(chances, size, spread)
        worth[bid] = expected(spread, size, rules.points[size, bid], 0)
        if noted:
            choices[bid, 1] = spread[bid]
            choices[bid, 2] = 0.0
            for t in range(bid):
                choices[bid, 2] += spread[t]
    if noted:
        _note_bids(row, rules, models, sight, total, variance, worth, notes)
    for bid in range(size + 1):
        values[bid] += worth[bid]


@inline
def _usual_tricks(models, sight, work, lead, chances):
    """Returns the tricks that the hand takes if it bids about what it takes: mean and variance."""
    size = sight.left
    middle, total, variance = size // max(sight.players - 1, 1), 0.0, 0.0
    for _ in range(2):
        later_chances(models, work, size, middle, sight.wanted, size, lead, chances)
        total, variance = 0.0, 0.0
        for place in range(size):
            total += chances[place]
            variance += chances[place] * (1.0 - chances[place])
        middle = np.int64(total + 0.5)
    return total, variance


@inline
def _nth_bid(place, low, high):
    """Returns the bids in the order in which they are reckoned, so that far ones follow near ones.

    The lowest near bid, those below it, the other near ones, those above.
    """
    if place == 0:
        return low
    return place - 1 if place <= low else place


@inline
def _note_bids(row, rules, models, sight, total, variance, worth, notes):
    """Notes what the corrections are told, and makes them if there are any."""
    situation, words, choices, numbers = notes
    order = np.empty(4, np.int64)
    suit_order(sight, row, order)
    write_table_bits(sight, row, rules, order, words)
    size, unit = sight.left, price(rules, sight.left)
    most = worth[0]
    for bid in range(1, size + 1):
        most = max(most, worth[bid])
    write_bid_situation(sight, row, rules, unit, total, variance, situation)
    for bid in range(size + 1):
        behind, made, fewer = (worth[bid] - most) / unit, choices[bid, 1], choices[bid, 2]
        write_bid_choice(sight, row, rules, bid, (behind, made, fewer, total), choices[bid])
        numbers[bid] = bid
    if models.corrected:
        added = np.empty(MOST_CHOICES, np.float32)
        correct_bids(models, situation, words, choices, numbers, size + 1, added)
        for bid in range(size + 1):
            worth[bid] += unit * added[bid]


@inline
def _leads(row, rules, sight):
    """Returns 1.0 if the seat that bids is eldest and so on lead, else 0.0."""
    eldest = following(np.int64(row.dealer), rules.players)
    return 1.0 if sight.seat == eldest and not rules.highest_bidder_leads else 0.0


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
