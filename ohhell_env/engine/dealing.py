"""Dealing on one row, compiled: the first dealer, the shuffle, the turned card.

``docs/rules.md`` has the rules for the first dealer under "First dealer".
"""

from __future__ import annotations

import numpy as np

from ohhell_env.engine.bits import ONE, ZERO, bit, count, has, lowest, nth
from ohhell_env.engine.caching import inline
from ohhell_env.engine.kernel import following, start_bidding
from ohhell_env.engine.layout import EXTRA_PLAN, FIRST_DEALERS, NO_CARD, NO_TRUMP
from ohhell_env.engine.rng import below
from ohhell_env.rules.schedule import TrumpSource

_RANDOM = FIRST_DEALERS["random"]
_FIRST_JACK = FIRST_DEALERS["first_jack"]
_TURNED_CARD = int(TrumpSource.TURNED_CARD)
_DEALER_CARD = int(TrumpSource.DEALER_CARD)
_FIXED_SUIT = int(TrumpSource.FIXED_SUIT)
_ROTATION = int(TrumpSource.ROTATION)
_RANDOM_SUIT = int(TrumpSource.RANDOM_SUIT)


@inline
def draw(row, stock, size):
    """Returns a random card of a stock (a mask of ``size`` cards), each equally likely."""
    return nth(stock, below(row, size))


@inline
def first_jack_seat(row, rules, start):
    """Returns the seat that gets the first jack when the pack is dealt face up from a seat."""
    seat, stock, left = start, rules.pack, rules.num_cards
    card = draw(row, stock, left)
    while not has(rules.jacks, card):
        stock, left = stock & ~bit(card), left - 1
        seat = following(seat, rules.players)
        card = draw(row, stock, left)
    return seat


@inline
def best_draws(drawn, seats):
    """Returns the seats that drew the highest rank, as a mask.

    Args:
        drawn: Card by seat.
        seats: Mask of the seats that drew.
    """
    best, winners = -1, ZERO
    for seat in range(8):
        if has(seats, seat):
            rank = drawn[seat] % 13
            if rank > best:
                best, winners = rank, ZERO
            if rank == best:
                winners = winners | bit(seat)
    return winners


@inline
def _high_card_seat(row, rules):
    """Returns the drawer of the highest card; ties draw again from the remaining cards."""
    stock, left = rules.pack, rules.num_cards
    drawn = np.zeros(8, np.int8)
    seats = bit(rules.players) - ONE
    while seats & (seats - ONE) != ZERO:
        if left < count(seats):  # a tiny pack has run out: draw a seat at random
            return nth(seats, below(row, count(seats)))
        for seat in range(rules.players):
            if has(seats, seat):
                drawn[seat] = draw(row, stock, left)
                stock, left = stock & ~bit(drawn[seat]), left - 1
        seats = best_draws(drawn, seats)
    return lowest(seats)


@inline
def draw_first_dealer(row, rules):
    """Returns the seat that deals first."""
    if rules.first_dealer >= 0:
        return rules.first_dealer
    if rules.first_dealer == _RANDOM:
        return below(row, rules.players)
    if rules.first_dealer == _FIRST_JACK:
        return first_jack_seat(row, rules, below(row, rules.players))
    return _high_card_seat(row, rules)


@inline
def set_plan(row, rules, place):
    """Sets hand size, trump source and blindness of the deal from its schedule position."""
    row.plan = place
    row.hand_size = rules.plan_size[place]
    row.trump_source = rules.plan_trump[place]
    row.blind = rules.plan_blind[place]
    if rules.blind_once and row.deal >= rules.num_plans:
        row.blind = 0


@inline
def set_trump(row, rules):
    """Sets the trump suit of a deal whose cards and turned card are known."""
    source = row.trump_source
    row.trump = NO_TRUMP
    if source == _TURNED_CARD or source == _DEALER_CARD:
        row.trump = row.turned // 13
    elif source == _FIXED_SUIT:
        row.trump = rules.fixed_suit
    elif source == _ROTATION:
        row.trump = rules.rotation[row.deal % rules.num_rotation]
    elif source == _RANDOM_SUIT:
        row.trump = draw(row, rules.pack, rules.num_cards) // 13


@inline
def deal_cards(row, rules):
    """Shuffles, deals one by one from eldest, turns a card if needed, opens the bidding."""
    for seat in range(rules.players):
        row.hands[seat] = ZERO
    stock, left, card = rules.pack, rules.num_cards, np.int64(NO_CARD)
    seat = np.int64(row.dealer)
    for _ in range(rules.players * np.int64(row.hand_size)):
        seat = following(seat, rules.players)
        card = draw(row, stock, left)
        stock, left = stock & ~bit(card), left - 1
        row.hands[seat] = row.hands[seat] | bit(card)
    row.turned = NO_CARD
    if row.trump_source == _TURNED_CARD:
        row.turned = draw(row, stock, left)
    elif row.trump_source == _DEALER_CARD:
        row.turned = card
    set_trump(row, rules)
    row.fixed = 0
    start_bidding(row, rules)


@inline
def next_deal(row, rules):
    """Deals the next deal of a game, with the dealer one seat to the left."""
    row.deal += 1
    row.dealer = (row.dealer + 1) % rules.players
    place = EXTRA_PLAN if row.extra > 0 else row.deal % rules.num_plans
    set_plan(row, rules, place)
    deal_cards(row, rules)


@inline
def prepare_episode(row, rules):
    """Clears the scores, draws the first dealer and chooses the first deal, without dealing."""
    for seat in range(8):
        row.scores[seat] = 0
        row.points[seat] = 0
        row.exact_bids[seat] = 0
        row.bid_totals[seat] = 0
    row.extra = 0
    dealer = draw_first_dealer(row, rules)
    place = np.int64(0)
    if rules.one_deal:
        place = np.int64(rules.choices[below(row, rules.num_choices)])
    row.deal = place if place < rules.num_plans else 0
    row.dealer = (dealer + row.deal) % rules.players
    set_plan(row, rules, place)


@inline
def begin_episode(row, rules):
    """Begins a game (or a single deal, depending on the rules record) and deals."""
    prepare_episode(row, rules)
    deal_cards(row, rules)
