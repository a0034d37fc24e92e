"""Counts one-card deals: how many fit the bids, and in how many of these a card wins; compiled.

Each earlier bidder holds any card with the weight of its bid (1 or 0 for players without
randomness). A sum over all deals of distinct cards to some seats is built card by card: for each
set of seats, the sum over the ways to have dealt them cards so far. Cards come in order of rank,
given a led suit and a trump. The sums before a card are therefore those of the deals that it beats.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_env.engine.bits import has
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.layout import NO_CARD

CARDS = 60
_SUITS, _RANKS = 4, 13


@inline
def _falling(count, times):
    """Returns the number of ways to deal a card each to ``times`` seats from ``count`` cards."""
    ways = 1.0
    for dealt in range(times):
        ways *= max(count - dealt, 0)
    return ways


@inline
def _give(sums, weights, seats, card):
    """Adds to the sums the deals in which one of the seats holds a card."""
    for some in range(
        (1 << seats) - 1, 0, -1
    ):  # downwards, so that the sums of subsets are still old
        for seat in range(seats):
            if some >> seat & 1:
                sums[some] += sums[some ^ (1 << seat)] * weights[seat, card]


@inline
def _without(sums, weights, seats, card):
    """Returns the sum of the deals to all seats in which none of them holds a card.

    Removing a card from the sums means dividing by 1 + s, where s is the sum of its seats and the
    square of a seat is 0: 1 - s + s² - ..., and s^k is k! times all products of k seats.
    """
    everybody = (1 << seats) - 1
    total = 0.0
    for some in range(everybody + 1):
        factor, taken = 1.0, 0
        for seat in range(seats):
            if some >> seat & 1:
                taken += 1
                factor *= -taken * weights[seat, card]
        total += factor * sums[everybody ^ some]
    return total


@inline
def _weigh(chances, history, seats, heard, weights):
    """Writes how well each card fits the bid of each earlier bidder."""
    for seat in range(seats):
        before = history & ((1 << seat) - 1)
        for card in range(CARDS):
            one = chances[seat, before, card]
            weights[seat, card] = one if history >> seat & 1 else 1.0 - one
            if not heard:
                weights[seat, card] = 1.0


@inline
def _chances_to_hold(deal, position, weights, out):
    """Adds, for each own card, the probability of holding it when these bids have been made."""
    deck, players, held, chance = deal
    sums = np.zeros(1 << position)
    sums[0] = 1.0
    size = 0
    for card in range(CARDS):
        if has(deck, card):
            size += 1
            _give(sums, weights, position, card)
    if held != NO_CARD and position == players - 1:
        out[held] += chance * sums[-1]
        return
    later = players - 1 - position - (held != NO_CARD)
    ways = chance * _falling(size - 1 - position, later)
    for card in range(CARDS):
        if has(deck, card):
            out[card] += ways * _without(sums, weights, position, card)


@inline
def _chances_to_win(deal, trump, led, position, weights, out):
    """Adds, for each own card, the probability of holding it and winning when a suit is led."""
    deck, players, held, chance = deal
    sums = np.zeros(1 << position)
    sums[0] = 1.0
    is_dealer = position == players - 1
    later = players - 1 - position - (held != NO_CARD and not is_dealer)
    beaten = 0
    beats_held = held == NO_CARD
    for level in range(3):  # discards, the led suit, trumps
        for card in range(CARDS):
            suit = card // _RANKS
            counts = 2 if suit == trump else 1 if suit == led else 0
            if counts != level:
                continue
            if level > 0 and (position > 0 or suit == led):
                own = card == held if held != NO_CARD and is_dealer else has(deck, card)
                if own and (beats_held or is_dealer):
                    out[card] += chance * sums[-1] * _falling(beaten - position, later)
            beats_held = beats_held or card == held
            if has(deck, card):
                beaten += 1
                _give(sums, weights, position, card)


@entry
def count_wins(decks, trumps, labels, holds, shares, players, chances, position, heard, hold, win):
    """Computes, for one bidder, the probabilities of each card and of winning with it.

    Args:
        decks: uint64 (B,), as all arrays of ``Beginnings``.
        trumps: int64 (B,).
        labels: int64 (B,).
        holds: int64 (B,).
        shares: float64 (B,).
        players: Number of seats.
        chances: float64 (labels, players, 2^(players - 1), 60): the probability that a bidder bids
            one trick, by what is seen, place in the bidding, bids before (bit k: the bid of place
            k) and card.
        position: Place in the bidding, 0 = eldest.
        heard: bool (labels, 2^position), whether the bids before carry information about the cards.
        hold: float64 (labels, 2^position, 60), added to: the probability that these bids are made
            and this card is held.
        win: As ``hold``: the probability that the card also wins.
    """
    weights, led_weights = np.ones((position, CARDS)), np.ones((position, CARDS))
    for index in range(len(decks)):
        label = labels[index]
        deal = (decks[index], players, holds[index], shares[index])
        for history in range(1 << position):
            _weigh(chances[label], history, position, heard[label, history], weights)
            _chances_to_hold(deal, position, weights, hold[label, history])
            for led in range(_SUITS):
                led_weights[:] = weights
                if position > 0:
                    led_weights[0, : _RANKS * led] = 0.0
                    led_weights[0, _RANKS * (led + 1) :] = 0.0
                _chances_to_win(
                    deal, trumps[index], led, position, led_weights, win[label, history]
                )
