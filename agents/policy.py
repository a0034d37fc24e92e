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
from agents.corrections import MOST_CHOICES, correct_bids, correct_cards, price
from agents.evidence import (
    write_bid_choice,
    write_bid_situation,
    write_card_choice,
    write_card_situation,
)
from agents.models import BID_CHOICE, BID_SITUATION, CARD_CHOICE, CARD_SITUATION, TABLE_WORDS
from agents.table_bits import place_in_order, suit_order, write_table_bits
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
    return sure


@inline
def _add_bids(row, rules, models, sight, work, space, notes, noted, values):
    """Adds the expected points of each bid, if a suit is trump."""
    chances, spread, worth = space[0], space[1], space[2]
    choices = notes[2]
    size, lead = sight.left, _leads(row, rules, sight)
    middle = size // max(rules.players - 1, 1)
    total = 0.0
    for _ in range(2):  # the tricks that the hand takes if it bids about what it takes
        later_chances(models, work, size, middle, sight.wanted, size, lead, chances)
        total = 0.0
        for place in range(size):
            total += chances[place]
        middle = np.int64(total + 0.5)
    variance = 0.0
    if noted:
        for place in range(size):
            variance += chances[place] * (1.0 - chances[place])
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
    notes = new_notes(CARD_SITUATION, CARD_CHOICE)
    return weigh_cards(row, rules, models, values, notes, models.corrected != 0)


@inline
def new_notes(situation, choice):
    """Returns room for what the corrections are told about one decision.

    Args:
        situation: Number of inputs that its choices share.
        choice: Number of inputs of a choice.

    Returns:
        Inputs float32 (situation,), bits of the table uint64 (TABLE_WORDS,), inputs float32
        (MOST_CHOICES, choice) and numbers int64 (MOST_CHOICES,) of the choices, one row each.
    """
    return (
        np.empty(situation, np.float32),
        np.empty(TABLE_WORDS, np.uint64),
        np.empty((MOST_CHOICES, choice), np.float32),
        np.empty(MOST_CHOICES, np.int64),
    )


@entry
def weigh_cards(row, rules, models, values, notes, noted):
    """As ``card_values``; notes what the corrections are told about the cards.

    Args:
        row: A table in play.
        rules: Its rules record.
        models: ``MODELS`` record.
        values: As for ``card_values``.
        notes: See ``new_notes``; written in place if noted, a row for each card that is weighed, in
            their order.
        noted: Whether to note.
    """
    situation, words, choices, numbers = notes
    values[:] = np.nan
    sight = look(row, rules, np.int64(row.trump), np.int64(row.seat))
    size, won = sight.left, np.int64(row.tricks_won[sight.seat])
    left, wants = size - 1, np.int64(row.bids[sight.seat]) - won
    work, space = workspace(), np.empty((5, _ROOM))
    chances, spread, rest = space[:2], space[2:4], space[4]
    start_later(sight, row, rules, models, left, work)
    totals = np.zeros(2)
    for wins in range(2):  # what the rest is worth after losing this trick, after winning it
        wanted = max(sight.wanted - (1 - wins), 0.0)  # who wins it instead, may have wanted to
        later_chances(models, work, size, wants - wins, wanted, left, float(wins), chances[wins])
        tricks_of(chances[wins], size, spread[wins])
        for place in range(size):
            totals[wins] += chances[wins, place]
    start_now(sight, row, rules, models, work)
    points = rules.points[row.hand_size, row.bids[sight.seat]]
    all_wanted = wants == size and not noted
    legal = distinct(_top_trump(row, sight) if all_wanted else row.legal, sight, row)
    spoil = _SPOIL if sight.wanted > left else -_SPOIL  # too many wanted: take them away
    best, most, place, hand = np.int64(-1), 0.0, 0, sight.hand
    last, last_now = np.int64(-13), -1.0
    weighed, made = 0, np.zeros(2)
    unit = price(rules, np.int64(row.hand_size)) if noted else 1.0
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
                made[wins] = rest[wants - wins] if 0 <= wants - wins <= left else 0.0
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
            if noted:
                reckoned = now, made[1], made[0], value / unit
                kept = chances[0, place], chances[1, place]
                write_card_choice(sight, row, card, reckoned, kept, choices[weighed])
                numbers[weighed] = card
                weighed += 1
        place += 1
    if noted:
        write_card_situation(sight, row, rules, unit, points, totals, situation)
        order = np.empty(4, np.int64)
        suit_order(sight, row, order)
        write_table_bits(sight, row, rules, order, words)
        for place in range(weighed):
            choices[place, 0] = max(choices[place, 0] - most / unit, -3.0)
            numbers[place] = place_in_order(order, numbers[place])
        if models.corrected:
            return _corrected_card(models, values, unit, notes, weighed)
    return best


@inline
def _corrected_card(models, values, unit, notes, weighed):
    """Adds the corrections to the values of the cards; returns the best card."""
    worth = np.empty(MOST_CHOICES, np.float32)
    situation, words, choices, numbers = notes
    correct_cards(models, situation, words, choices, numbers, weighed, worth)
    best, most, place = np.int64(-1), 0.0, 0
    for card in range(64):
        if not np.isnan(values[card]):
            values[card] += unit * worth[place]
            place += 1
            if best < 0 or values[card] > most + _SAME:
                best, most = card, values[card]
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
