"""The value of each card for the seat to act; compiled.

Each legal card is weighed one step ahead: the probability that it wins this trick, times the value
of the rest of the hand after that, and the same for losing the trick. Then the advantages, if any,
are added. So a seat that wants tricks wins them with the cards of least later use, and a seat that
wants none gets rid of dangerous cards. If its own points are the same whatever happens, it plays to
break the others.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.advantage_nets import MOST_CHOICES, card_advantages, new_features, price
from ohhell_agents.value.bit_features import place_in_order, suit_order, write_bit_features
from ohhell_agents.value.endings import is_ending, outcomes
from ohhell_agents.value.features import write_card_choice, write_card_situation
from ohhell_agents.value.trick_model import CARD_CHOICE, CARD_SITUATION
from ohhell_agents.value.trick_probs import (
    Sight,
    can_win_unled,
    current_prob,
    distinct,
    expected,
    future_probs,
    higher_unseen,
    leads_to_win,
    look,
    start_current,
    start_future,
    sure_tricks,
    trick_distribution,
    wins_for_certain,
    wins_so_far,
    without,
    workspace,
)
from ohhell_env.engine.bits import ONE, ZERO, bit, has, lowest, suit_mask
from ohhell_env.engine.caching import inline, inner
from ohhell_env.engine.layout import NO_TRUMP, NUM_BIDS

SAME = 1e-9
"""Expected points that differ by less than this count as equal."""
_SPOIL = 1e-3
"""Points that breaking another's bid for certain is worth."""
_ROOM = NUM_BIDS + 1
_NOW, _MADE_LOST, _MADE_WON, _KEPT_LOST, _KEPT_WON, _VALUE = range(6)
"""Columns of a card's estimates: the probability of winning now; of making the bid after losing and
after winning; of winning later if the card is kept, after losing and after winning; its expected
points."""

_MISSED, _OPEN, _MADE = range(3)
"""Certainties about the bid after a card."""
_FATES = np.array([_OPEN, _MADE, _MISSED, _OPEN])
"""The same, by what ``outcomes`` found."""


@inner
def card_values(row, rules, models, values):
    """Weighs the cards of the seat to act in play.

    Args:
        row: A table in play.
        rules: Its rules record.
        models: ``MODELS`` record.
        values: float64 (64,), written in place: the expected points at each weighed card; NaN at
            all others.

    Returns:
        The card with the most expected points; of equal ones, the lowest.
    """
    features = new_features(CARD_SITUATION, CARD_CHOICE)
    return weigh_cards(row, rules, models, values, features, models.has_advantages != 0)


@inner
def weigh_cards(row, rules, models, values, features, write_features):
    """Weighs cards as ``card_values`` does, and writes their features for the advantage nets.

    Args:
        row: A table in play.
        rules: Its rules record.
        models: ``MODELS`` record.
        values: As for ``card_values``.
        features: See ``new_features``; written in place, a row for each weighed card, in their
            order.
        write_features: Whether to write the features.
    """
    values[:] = np.nan
    sight = look(row, rules, np.int64(row.trump), np.int64(row.seat))
    points = rules.points[row.hand_size, row.bids[sight.seat]]
    work, estimates = workspace(), np.empty((MOST_CHOICES, 6))
    probs, trick_probs, totals = np.empty((2, _ROOM)), np.empty((2, _ROOM)), np.zeros(2)
    _future_tricks(sight, row, rules, models, work, probs, trick_probs, totals)
    start_current(sight, row, rules, models, work)
    rest = probs, trick_probs
    best = _value_cards(sight, row, models, points, work, rest, values, estimates, write_features)
    if write_features:
        unit = price(rules, np.int64(row.hand_size))
        write_card_situation(sight, row, rules, unit, points, totals, features.situation)
        weighed = _write_card_features(
            sight, row, rules, unit, values, values[best], estimates, features
        )
        if models.has_advantages:
            best = _add_advantages(
                sight, row, models, points, values, estimates, features, weighed, unit
            )
    return _keep_bid_alive(sight, row, points, values, best)


@inline
def _future_tricks(sight, row, rules, models, work, probs, trick_probs, totals):
    """Estimates the hand's later tricks after losing this trick (place 0) and winning it (1)."""
    size, left = sight.left, sight.left - 1
    wants = np.int64(row.bids[sight.seat]) - np.int64(row.tricks_won[sight.seat])
    start_future(sight, row, rules, models, left, work)
    for wins in range(2):
        wanted = max(sight.wanted - (1 - wins), 0.0)  # the winner may have wanted the trick
        future_probs(models, work, size, wants - wins, wanted, left, float(wins), probs[wins])
        trick_distribution(probs[wins], size, trick_probs[wins])
        for place in range(size):
            totals[wins] += probs[wins, place]


@inline
def _value_cards(sight, row, models, points, work, rest, values, estimates, all_legal):
    """Writes the expected points of each card; returns the best card."""
    won, left = np.int64(row.tricks_won[sight.seat]), sight.left - 1
    wants = np.int64(row.bids[sight.seat]) - won
    needs_all = wants == sight.left and not all_legal
    legal = distinct(_top_trump(row, sight) if needs_all else row.legal, sight, row)
    spoil = _SPOIL if sight.wanted > left else -_SPOIL  # too many wanted: take tricks away
    best, most, last, last_now = np.int64(-1), 0.0, np.int64(-13), -1.0
    place, weighed, hand, space = 0, 0, sight.hand, np.empty(_ROOM)
    while hand != ZERO:
        card = lowest(hand)
        hand = hand & (hand - ONE)
        if has(legal, card):
            line = estimates[weighed]
            now = current_prob(row, models, sight, card, work)
            value = spoil * now + _expected_points(
                now, place, rest, left, points, won, wants, space, line
            )
            if now * (1.0 - now) == 0.0 and now == last_now and card // 13 == last // 13:
                keep = _better_kept(points, won + np.int64(now), wants - np.int64(now), left)
                value = _beside(value, values[last], keep)
            values[card], line[_VALUE] = value, value
            last, last_now = card, now
            weighed += 1
            if best < 0 or value > most + SAME:
                best, most = card, value
        place += 1
    return best


@inline
def _expected_points(now, place, rest, left, points, won, wants, space, line):
    """Returns the expected points of a card; fills its line except for the last column."""
    probs, trick_probs = rest
    line[_NOW], value = now, 0.0
    for wins in range(2):
        without(trick_probs[wins], left + 1, probs[wins, place], space)
        prob = now if wins else 1.0 - now
        value += prob * expected(space, left, points, won + wins)
        line[_MADE_LOST + wins] = space[wants - wins] if 0 <= wants - wins <= left else 0.0
        line[_KEPT_LOST + wins] = probs[wins, place]
    return value


@inline
def _write_card_features(sight, row, rules, unit, values, most, estimates, features):
    """Writes the features of the cards; returns the number of weighed cards."""
    _, bits, choices, numbers = features
    order, weighed = np.empty(4, np.int64), 0
    suit_order(sight, row, order)
    write_bit_features(sight, row, rules, order, bits)
    for card in range(64):
        if not np.isnan(values[card]):
            line = estimates[weighed]
            told = line[_NOW], line[_MADE_WON], line[_MADE_LOST], (line[_VALUE] - most) / unit
            kept = line[_KEPT_LOST], line[_KEPT_WON]
            write_card_choice(sight, row, card, told, kept, choices[weighed])
            numbers[weighed] = place_in_order(order, card)
            weighed += 1
    return weighed


@inline
def _add_advantages(sight, row, models, points, values, estimates, features, weighed, unit):
    """Adds the advantages to the values of the cards; returns the best card."""
    advantages = np.empty(MOST_CHOICES, np.float32)
    situation, bits, choices, numbers = features
    card_advantages(models, situation, bits, choices, numbers, weighed, advantages)
    best, most, place = np.int64(-1), 0.0, 0
    last, last_now = np.int64(-13), -1.0
    won, left = np.int64(row.tricks_won[sight.seat]), sight.left - 1
    wants = np.int64(row.bids[sight.seat]) - won
    for card in range(64):
        if not np.isnan(values[card]):
            values[card] += unit * advantages[place]
            now = estimates[place, _NOW]
            if now * (1.0 - now) == 0.0 and now == last_now and card // 13 == last // 13:
                keep = _better_kept(points, won + np.int64(now), wants - np.int64(now), left)
                values[card] = _beside(values[card], values[last], keep)
            last, last_now = card, now
            place += 1
            if best < 0 or values[card] > most + SAME:
                best, most = card, values[card]
    return best


@inline
def _keep_bid_alive(sight, row, points, values, best):
    """Returns the best of the cards that keep the bid safest: made for certain, open, missed.

    An advantage is right on average, not in each position. Without this rule, networks that needed
    both of two tricks discarded where a ruff could win, in up to 36 of 156 hands. Cards that are
    ruled out get a value below the best of the others, so that values and choice agree. If a miss
    pays as much as the bid, nothing changes.
    """
    won, left = np.int64(row.tricks_won[sight.seat]), sight.left
    wants = np.int64(row.bids[sight.seat]) - won
    sight = _without_shown_voids(sight, row)
    sure, ending = sure_tricks(sight), is_ending(sight)
    within_reach = 0 <= wants <= left
    if not within_reach or (0 < wants < left and sure < wants and left > 2 and not ending):
        return best  # nothing is certain yet
    for tricks in range(won, won + left + 1):
        if tricks != won + wants and points[tricks] >= points[won + wants]:
            return best
    rest, fate, kept = row.legal, np.int64(_MISSED), np.int64(-1)
    behind = ZERO
    while rest != ZERO:
        card = lowest(rest)
        rest = rest & (rest - ONE)
        if np.isnan(values[card]):
            continue
        if ending:
            found = _FATES[outcomes(row, sight, card, wants)]
        else:
            found = _fate(sight, row, card, wants, sure)
        if kept < 0 or found > fate:
            behind = behind | (row.legal & (bit(card) - ONE))
            fate, kept = found, card
        elif found < fate:
            behind = behind | bit(card)
        elif values[card] > values[kept] + SAME:
            kept = card
    while behind != ZERO:
        card = lowest(behind)
        behind = behind & (behind - ONE)
        if not np.isnan(values[card]):
            values[card] = min(values[card], values[kept] - 2.0 * SAME)
    return kept


@inline
def _fate(sight, row, card, wants, sure):
    """Returns whether the bid is certainly made, certainly missed, or open after a card."""
    trump = card // 13 == sight.trump
    kept_sure = sure - 1 if trump and higher_unseen(sight, card) == 0 else sure
    if not wins_so_far(row, sight, card):
        return _fate_after(sight, card, wants, kept_sure, False)
    if wins_for_certain(row, sight, card):
        return _fate_after(sight, card, wants - 1, kept_sure, True)
    lost = _fate_after(sight, card, wants, kept_sure, False)
    won = _fate_after(sight, card, wants - 1, kept_sure, True)
    return lost if lost == won else np.int64(_OPEN)


@inline
def _fate_after(sight, card, wants, sure, leads):
    """Returns what is certain of the bid after a trick, given the hand's sure tricks."""
    left = sight.left - 1
    least, most = sure, left
    if not leads and not can_win_unled(sight, sight.hand & ~bit(card)):
        most = np.int64(0)
    if left == 1 and leads:
        last = lowest(sight.hand & ~bit(card))
        if leads_to_win(sight, last):
            least = np.int64(1)
    if wants < least or wants > most:
        return np.int64(_MISSED)
    return np.int64(_MADE) if least == most else np.int64(_OPEN)


@inline
def _without_shown_voids(sight, row):
    """Returns a sight without the unseen cards of suits in which all others have shown voids."""
    unseen, shown = sight.unseen, np.int64(15)
    for other in range(sight.players):
        if other != sight.seat:
            shown = shown & np.int64(row.voids[other])
    for suit in range(4):
        if (shown >> suit) & 1:
            unseen = unseen & ~suit_mask(suit)
    return Sight(
        sight.seat,
        sight.hand,
        unseen,
        sight.left,
        sight.trump,
        sight.share,
        sight.wanted,
        sight.known,
        sight.bidding,
        sight.players,
    )


@inline
def _better_kept(points, won, wants, left):
    """Returns which of two cards of a suit to keep, if both have the same effect now.

    Returns:
        1: the higher one (the seat wants all remaining tricks); -1: the lower one (none is); 0: it
        depends.
    """
    if wants == 0 and points[won] >= points[won + 1]:
        return -1
    if wants == left and points[won + left] > points[won + left - 1]:
        return 1
    return 0


@inline
def _beside(value, lower, keep):
    """Returns a card's value, adjusted to that of the next lower one with the same effect now."""
    if keep < 0:
        return max(value, lower + 2.0 * SAME)
    return min(value, lower) if keep > 0 else value


@inline
def _top_trump(row, sight):
    """Returns the highest trump that may be led, as a mask; all legal cards if there is none.

    A seat that needs every trick draws trumps from the top, before a low one is left alone against
    the others'.
    """
    if row.trick_size > 0 or sight.trump == NO_TRUMP:
        return row.legal
    trumps = row.legal & suit_mask(sight.trump)
    if trumps == ZERO:
        return row.legal
    while trumps & (trumps - ONE) != ZERO:
        trumps = trumps & (trumps - ONE)
    return trumps
