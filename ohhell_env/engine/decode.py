"""Converts an observation back to a record: the view of one seat as a ``GAME`` row.

The observing seat becomes seat 0, and everything that it cannot see stays empty. The engine's
functions, and players inside the engine, then run on that row as on any other.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_env.engine.bits import ZERO, bit, suit_mask
from ohhell_env.engine.caching import inline
from ohhell_env.engine.encode import ABSENT, PAIR
from ohhell_env.engine.layout import BID_BASE, NO_BID, NO_CARD, NO_TRUMP, NOBODY, NUM_BIDS, Phase
from ohhell_env.rules.schedule import TrumpSource

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_NO_TRUMP_SOURCE = int(TrumpSource.NO_TRUMP)
_TURNED_CARD = int(TrumpSource.TURNED_CARD)
_DEALER_CARD = int(TrumpSource.DEALER_CARD)
_RANDOM_SUIT = int(TrumpSource.RANDOM_SUIT)
_FIXED_SUIT = int(TrumpSource.FIXED_SUIT)


@inline
def view_to_row(view, mask, sections, rules, row):
    """Writes a seat's view into a record.

    Args:
        view: int8 (L,), an observation in the bidding or in play.
        mask: int8 (A,), its action mask.
        sections: ``SECTIONS`` record of its layout.
        rules: ``RULES`` record.
        row: ``GAME`` record, written in place. Other hands are empty, except for open cards in the
            bidding of a blind deal; unknown bids are ``NO_BID``; the random stream stays unchanged.
    """
    row.seat = 0
    row.phase = _BID if view[sections.phase] else _PLAY
    row.blind = view[sections.blind] if sections.blind != ABSENT else 0
    row.hand_size = view[sections.hand_size]
    row.trick_number = view[sections.trick_number]
    _read_legal(mask, row)
    _read_cards(view, sections, rules, row)
    _read_seats(view, sections, rules, row)
    _read_trump(view, sections, rules, row)
    row.deal = PAIR * np.int64(view[sections.deal]) + view[sections.deal + 1]


@inline
def _read_legal(mask, row):
    first = BID_BASE if row.phase == _BID else 0
    end = min(len(mask), BID_BASE + NUM_BIDS) if row.phase == _BID else BID_BASE
    legal = ZERO
    for action in range(first, end):
        if mask[action] != 0:
            legal = legal | bit(action - first)
    row.legal = legal


@inline
def _mask_of(view, start, width):
    cards = ZERO
    for card in range(width):
        if view[start + card] != 0:
            cards = cards | bit(card)
    return cards


@inline
def _first_of(view, start, width):
    """Returns the first index that is not zero, or -1."""
    for place in range(width):
        if view[start + place] != 0:
            return place
    return -1


@inline
def _read_cards(view, sections, rules, row):
    width = sections.card_width
    row.hands[:] = ZERO
    row.played[:] = ZERO
    row.place[:] = 0
    row.hands[0] = _mask_of(view, sections.hand, width)
    row.plays, row.trick_size = 0, 0
    for card in range(width):
        place = view[sections.place + card]
        row.place[card] = place
        row.plays += place != 0
        in_trick = view[sections.trick + card]
        if in_trick != 0:
            row.trick[in_trick - 1] = card
            row.trick_size += 1
        if sections.open_cards != ABSENT and view[sections.open_cards + card] != 0:
            holder = view[sections.open_cards + card]
            row.hands[holder] = row.hands[holder] | bit(card)
    for seat in range(rules.players):
        row.played[seat] = _mask_of(view, sections.played + seat * width, width)
    row.turned = NO_CARD
    if sections.turned != ABSENT:
        row.turned = _first_of(view, sections.turned, width)
    row.best_card = _first_of(view, sections.winning_card, width)
    row.led_suit = _first_of(view, sections.led_suit, sections.num_suits)


@inline
def _read_seats(view, sections, rules, row):
    players = rules.players
    row.dealer = _first_of(view, sections.dealer, players)
    row.leader = _first_of(view, sections.leader, players)
    if row.phase == _BID:  # in the bidding, the record has eldest as the leader
        row.leader = (row.dealer + 1) % players
    row.best_seat = (
        NOBODY if row.trick_size == 0 else _first_of(view, sections.winning_seat, players)
    )
    row.bids[:] = NO_BID
    row.num_bids, row.bid_sum = 0, 0
    for seat in range(players):
        if view[sections.has_bid + seat] != 0:
            bid = view[sections.bids + seat]
            row.bids[seat] = bid
            row.num_bids += 1
            row.bid_sum += bid
        row.tricks_won[seat] = view[sections.tricks_won + seat]
        score = sections.scores + 2 * seat
        row.scores[seat] = PAIR * np.int64(view[score]) + view[score + 1]
        voids = 0
        for suit in range(sections.num_suits):
            if view[sections.voids + seat * sections.num_suits + suit] != 0:
                voids |= 1 << suit
        row.voids[seat] = voids


@inline
def _read_trump(view, sections, rules, row):
    """Reads the trump suit, and its source as far as that matters."""
    suit = _first_of(view, sections.trump, sections.num_suits + 1)
    row.trump = NO_TRUMP if suit == sections.num_suits else suit
    row.broken = 0
    if suit < 0:  # not revealed yet, so it comes from a card or from chance
        row.trump, row.trump_source = NO_TRUMP, _RANDOM_SUIT
    elif row.turned != NO_CARD:
        row.trump_source = _card_source(rules, np.int64(row.hand_size))
    else:
        row.trump_source = _NO_TRUMP_SOURCE if row.trump == NO_TRUMP else _FIXED_SUIT
    if row.trump != NO_TRUMP:
        for seat in range(rules.players):
            if row.played[seat] & suit_mask(np.int64(row.trump)) != ZERO:
                row.broken = 1


@inline
def _card_source(rules, hand_size):
    """Returns whether the shown card was turned from the stock or is the dealer's last."""
    if rules.players * hand_size == rules.num_cards:
        return _DEALER_CARD
    for place in range(rules.num_plans):
        if rules.plan_size[place] * rules.players < rules.num_cards:
            source = rules.plan_trump[place]
            if source != _NO_TRUMP_SOURCE:
                return source
    return _TURNED_CARD
