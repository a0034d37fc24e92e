"""The value of each bid for the seat to act; compiled.

A bid's value is its expected points under the scoring of the table. They follow from the tricks
that the hand is likely to win if played for that bid (``trick_probs.py``), plus what the advantage
nets add, if any.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.advantage_nets import MOST_CHOICES, bid_advantages, new_features, price
from ohhell_agents.value.bit_features import suit_order, write_bit_features
from ohhell_agents.value.features import write_bid_choice, write_bid_situation
from ohhell_agents.value.slots import BID_CHOICE_SLOTS
from ohhell_agents.value.trick_model import BID_CHOICE, BID_SITUATION
from ohhell_agents.value.trick_probs import (
    bid_known,
    can_win_unled,
    expected,
    future_probs,
    look,
    start_future,
    sure_tricks,
    trick_distribution,
    unseen_cards,
    workspace,
)
from ohhell_env.engine.bits import has, lowest
from ohhell_env.engine.caching import inline, inner
from ohhell_env.engine.kernel import following, trump_known
from ohhell_env.engine.layout import NUM_BIDS

_NEAR = 3
"""Bids this close to the expected tricks are weighed with probabilities of their own."""
_ROOM = NUM_BIDS + 1


@inner
def bid_values(row, rules, models, values):
    """Writes the expected points of each bid, legal or not, for the seat to act in the bidding.

    Args:
        row: A table in the bidding.
        rules: Its rules record.
        models: ``MODELS`` record.
        values: float64 (NUM_BIDS,), written in place; beyond the hand size 0.

    Returns:
        Bounds of the tricks that the hand can win, the fewest and the most.
    """
    features = new_features(BID_SITUATION, BID_CHOICE)
    return weigh_bids(row, rules, models, values, features, models.has_advantages != 0)


@inner
def weigh_bids(row, rules, models, values, features, write_features):
    """Weighs bids as ``bid_values`` does, and writes their features for the advantage nets.

    Args:
        row: A table in the bidding.
        rules: Its rules record.
        models: ``MODELS`` record.
        values: As for ``bid_values``.
        features: See ``new_features``; written in place, a row for each bid. A blind deal writes
            nothing. If the trump suit is not known yet, the features left there are those of one
            of the suits.
        write_features: Whether to write the features.
    """
    values[:] = 0.0
    if row.blind:
        _blind_values(row, rules, values)
        return 0, 1
    fewest, most = NUM_BIDS, 0
    known = trump_known(row, rules)
    first = np.int64(row.trump) if known else 0
    last = first if known else rules.num_suits - 1
    work, space = workspace(), np.empty((3, _ROOM))
    for trump in range(first, last + 1):
        sight = look(row, rules, trump, np.int64(row.seat))
        fewest = min(fewest, sure_tricks(sight))
        may_lead = rules.highest_bidder_leads or _leads(row, rules, sight) > 0.0
        if may_lead or can_win_unled(sight, sight.hand):
            most = sight.left
        start_future(sight, row, rules, models, sight.left, work)
        _add_bids(row, rules, models, sight, work, space, features, write_features, values)
    if not known:
        values /= last - first + 1  # all suits are equally likely to be trump
    return fewest, most


@inline
def _add_bids(row, rules, models, sight, work, space, features, write_features, values):
    """Adds the expected points of each bid, for one trump suit."""
    probs, trick_probs, means = space[0], space[1], space[2]
    choices, size, lead = features.choices, sight.left, _leads(row, rules, sight)
    total, variance = _usual_tricks(models, sight, work, lead, probs)
    middle = np.int64(total + 0.5)
    low, high = max(middle - _NEAR, 0), min(middle + _NEAR, size)
    for place in range(size + 1):
        bid = _nth_bid(place, low, high)
        if low <= bid <= high:
            future_probs(models, work, size, bid, sight.wanted, size, lead, probs)
            trick_distribution(probs, size, trick_probs)
        means[bid] = expected(trick_probs, size, rules.points[size, bid], 0)
        if write_features:
            choices[bid, BID_CHOICE_SLOTS.made] = trick_probs[bid]
            choices[bid, BID_CHOICE_SLOTS.fewer] = 0.0
            for t in range(bid):
                choices[bid, BID_CHOICE_SLOTS.fewer] += trick_probs[t]
    if write_features:
        _write_bid_features(row, rules, models, sight, total, variance, means, features)
    for bid in range(size + 1):
        values[bid] += means[bid]


@inline
def _usual_tricks(models, sight, work, lead, probs):
    """Returns mean and variance of the hand's tricks if it bids about what it takes."""
    size = sight.left
    middle, total, variance = size // max(sight.players - 1, 1), 0.0, 0.0
    for _ in range(2):
        future_probs(models, work, size, middle, sight.wanted, size, lead, probs)
        total, variance = 0.0, 0.0
        for place in range(size):
            total += probs[place]
            variance += probs[place] * (1.0 - probs[place])
        middle = np.int64(total + 0.5)
    return total, variance


@inline
def _nth_bid(place, low, high):
    """Returns the bids in the order of computation, so that far ones follow near ones.

    First the lowest near bid, then those below it, the other near ones, and those above.
    """
    if place == 0:
        return low
    return place - 1 if place <= low else place


@inline
def _write_bid_features(row, rules, models, sight, total, variance, means, features):
    """Writes the features of the bids, and adds the advantages, if any."""
    situation, bits, choices, numbers = features
    order = np.empty(4, np.int64)
    suit_order(sight, row, order)
    write_bit_features(sight, row, rules, order, bits)
    size, unit = sight.left, price(rules, sight.left)
    most = means[0]
    for bid in range(1, size + 1):
        most = max(most, means[bid])
    write_bid_situation(sight, row, rules, unit, total, variance, situation)
    for bid in range(size + 1):
        behind = (means[bid] - most) / unit
        made, fewer = choices[bid, BID_CHOICE_SLOTS.made], choices[bid, BID_CHOICE_SLOTS.fewer]
        write_bid_choice(sight, row, rules, bid, (behind, made, fewer, total), choices[bid])
        numbers[bid] = bid
    if models.has_advantages:
        added = np.empty(MOST_CHOICES, np.float32)
        bid_advantages(models, situation, bits, choices, numbers, size + 1, added)
        for bid in range(size + 1):
            means[bid] += unit * added[bid]


@inline
def _leads(row, rules, sight):
    """Returns 1.0 if the bidding seat is eldest and so will lead, else 0.0."""
    eldest = following(np.int64(row.dealer), rules.players)
    return 1.0 if sight.seat == eldest and not rules.highest_bidder_leads else 0.0


@inline
def _blind_values(row, rules, values):
    """Writes the bid values of a blind one-card deal: the own card may be any unseen card."""
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
        prob = wins / max(cases, 1)
        values[bid] = prob * rules.points[1, bid, 1] + (1.0 - prob) * rules.points[1, bid, 0]


@inline
def _blind_leader(row, rules, seat, bid):
    """Returns the seat that will lead, from the known bids; later seats are assumed to bid nil."""
    eldest = following(np.int64(row.dealer), rules.players)
    if rules.highest_bidder_leads:
        for distance in range(rules.players):
            other = (eldest + distance) % rules.players
            known_bid = bid if other == seat else 0
            if other != seat and bid_known(row, rules, other, seat):
                known_bid = np.int64(row.bids[other])
            if known_bid > 0:
                return other
    return eldest


@inline
def _blind_winner(row, players, seat, card, leader, trump):
    """Returns the winner of the only trick if the seat's own card is ``card``."""
    best, winner = np.int64(-1), leader
    for distance in range(players):
        other = (leader + distance) % players
        played = card if other == seat else lowest(row.hands[other])
        higher = played > best if played // 13 == best // 13 else played // 13 == trump
        if distance == 0 or higher:
            best, winner = played, other
    return winner
