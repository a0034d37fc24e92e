"""Everything a seat sees of its deal as bits, for networks that find what matters themselves.

Except for the trump all suits are alike, so they have no names here: trumps come first, then the
led suit, then the others from the longest to the shortest in the seat's own hand. Seats count
clockwise from the seat itself. Compiled; one 64-bit word each:

0-4
    Own cards; unseen cards; the turned card; the current trick; the card that wins it so far.
5-11
    Cards that seats 1 to 7 have played.
12-15
    Two seats each, 32 bits a seat: tricks wanted (-1 or fewer to 6), bid (0 to 7 or more), shown
    voids, led, deals, has bid, wins the trick so far, is still to play.
16
    Hand size, cards left, cards in the trick, players, no-trump.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.trick_probs import bid_known
from ohhell_env.engine.bits import ONE, SUIT, ZERO, bit, count, suit_mask
from ohhell_env.engine.caching import inline, inner
from ohhell_env.engine.kernel import trump_known
from ohhell_env.engine.layout import NO_CARD, NO_TRUMP, Phase

_BID = int(Phase.BID)
_OTHERS, _SEATS, _NUMBERS = 5, 12, 16


@inner
def suit_order(sight, row, order):
    """Writes the suits in order: int64 (4,)."""
    weights = np.empty(4)
    for suit in range(4):
        held = sight.hand & suit_mask(suit)
        weights[suit] = 8192.0 * count(held) + np.float64(held >> np.uint64(13 * suit))
        if suit == sight.trump:
            weights[suit] += 1e9
        elif row.trick_size > 0 and suit == row.led_suit:
            weights[suit] += 1e8
    for place in range(4):
        best = 0
        for suit in range(1, 4):
            if weights[suit] > weights[best]:
                best = suit
        order[place] = best
        weights[best] = -1.0


@inline
def place_in_order(order, card):
    """Returns the place of a card in sorted suits."""
    for place in range(4):
        if order[place] == card // 13:
            return 13 * place + card % 13
    return card


@inline
def _sorted(cards, order):
    found = ZERO
    for place in range(4):
        suit = (cards >> np.uint64(13 * order[place])) & SUIT
        found = found | (suit << np.uint64(13 * place))
    return found


@inner
def write_bit_features(sight, row, rules, order, bits):
    """Writes the words of a decision.

    Args:
        sight: What the seat sees; its trump is the one used for the estimates.
        row: A table in the bidding or in play.
        rules: Its rules record.
        order: See ``suit_order``.
        bits: uint64 (BIT_WORDS,), written in place.
    """
    bits[:] = ZERO
    bits[0] = _sorted(sight.hand, order)
    bits[1] = _sorted(sight.unseen, order)
    if row.turned != NO_CARD and trump_known(row, rules):
        bits[2] = _sorted(bit(row.turned), order)
    trick = ZERO
    for place in range(row.trick_size):
        trick = trick | bit(row.trick[place])
    if row.trick_size > 0:
        bits[3] = _sorted(trick, order)
        bits[4] = _sorted(bit(row.best_card), order)
    other = sight.seat
    for distance in range(sight.players):
        if distance > 0:
            bits[_OTHERS - 1 + distance] = _sorted(row.played[other], order)
        seat = _seat_bits(sight, row, rules, other, distance, order)
        half = np.uint64(32 * (distance % 2))
        bits[_SEATS + distance // 2] = bits[_SEATS + distance // 2] | (seat << half)
        other = other + 1 if other + 1 < sight.players else 0
    bits[_NUMBERS] = bit(min(np.int64(row.hand_size), 13)) | bit(14 + min(sight.left, 13))
    bits[_NUMBERS] = bits[_NUMBERS] | bit(28 + row.trick_size) | bit(36 + sight.players)
    if sight.trump == NO_TRUMP:
        bits[_NUMBERS] = bits[_NUMBERS] | bit(45)


@inline
def _seat_bits(sight, row, rules, seat, distance, order):
    bits = ZERO
    if bid_known(row, rules, seat, sight.seat):
        bid = np.int64(row.bids[seat])
        wants = min(max(bid - np.int64(row.tricks_won[seat]), -1), 6)
        bits = bit(wants + 1) | bit(8 + min(bid, 7)) | bit(22)
    for place in range(4):
        if (np.int64(row.voids[seat]) >> order[place]) & 1:
            bits = bits | bit(16 + place)
    if row.phase != _BID:
        if row.leader == seat:
            bits = bits | bit(20)
        if row.trick_size > 0 and row.best_seat == seat:
            bits = bits | bit(23)
        if distance < sight.players - np.int64(row.trick_size):
            bits = bits | bit(24)
    if row.dealer == seat:
        bits = bits | bit(21)
    return bits & (bit(32) - ONE)
