"""What a club player reckons: the chance of a card to win its trick, and what that is worth.

All of it from one seat's view. ``look`` is the only function that reads a table's record for cards,
and takes from it what the seat may know: its hand, what has been played, the turned card once it
is public, known bids. Compiled; every function works for one decision.

The formulas are made by hand; their constants were set by play: each in turn was moved as long as
one seat with the change gained points over a field without it, on duplicate deals of 1 to 10 cards
under three scorings.
"""

# pyright: basic
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ohhell_env.engine.bits import ONE, ZERO, above, bit, count, lowest, suit_mask
from ohhell_env.engine.caching import inline
from ohhell_env.engine.kernel import following, trump_known
from ohhell_env.engine.layout import NO_BID, NO_CARD, NO_TRUMP, Phase
from ohhell_env.schedule import TrumpSource

_BID = int(Phase.BID)
_TURNED_CARD = int(TrumpSource.TURNED_CARD)

LOW_TRUMP = 0.93
"""A trump that is not the highest still wins so often ..."""
HIGHER_TRUMP = 0.31
"""... and less with every higher trump in other hands, by this."""
UNDER_ONE = 0.33
"""A side card with one higher card against it still wins so often, with two the square of it."""
PRESSURE = 1.0
"""How far the others' wants lower the odds of each card, for every trick wanted in excess."""
MOST_PRESSURE = 0.35
"""Wants in excess that count at most: whoever bids at random is not to be believed."""
WANTS, HAS_ENOUGH = 0.59, 0.45
"""How often an opponent who can beat a card does so: one who wants tricks, one who does not."""
LEADS, ELDEST_LEADS = 0.30, 0.48
"""Chance to be on lead when a suit should be led; the same for eldest, in the bidding."""


class Sight(NamedTuple):
    """What a seat sees of its deal, in the numbers that its reckoning needs."""

    seat: Any
    hand: Any
    """Own cards (mask)."""
    unseen: Any
    """Cards that may be in other hands (mask)."""
    num_unseen: Any
    left: Any
    """Own cards, the one to be played included."""
    trump: Any
    """Suit, or ``NO_TRUMP``."""
    share: Any
    """Chance that a certain unseen card is in a certain other hand."""
    wanted: Any
    """Tricks that the others still want, unknown bids taken as average."""
    lead: Any
    """Chance to be on lead when a suit should be led."""
    players: Any
    suits: Any


@inline
def bid_known(row, rules, seat):
    """Returns whether the seat to act knows a seat's bid."""
    secret = rules.simultaneous and row.phase == _BID and seat != row.seat
    return row.bids[seat] != NO_BID and not secret


@inline
def unseen_cards(row, rules, seat):
    """Returns the cards that may be in other hands, seen from a seat.

    The dealer's shown last card is one of them, a card turned from the stock is not.
    """
    unseen = rules.pack & ~row.hands[seat]
    for other in range(rules.players):
        unseen = unseen & ~row.played[other]
    turned = row.turned != NO_CARD and trump_known(row, rules)
    if turned and row.trump_source == _TURNED_CARD:
        unseen = unseen & ~bit(row.turned)
    return unseen


@inline
def _others_wants(row, rules, seat, left):
    wanted = 0.0
    for other in range(rules.players):
        if other != seat:
            if bid_known(row, rules, other):
                wants = np.int64(row.bids[other]) - np.int64(row.tricks_won[other])
                wanted += min(max(wants, 0), left)
            else:
                wanted += left / rules.players
    return wanted


@inline
def look(row, rules, trump):
    """Returns the ``Sight`` of the seat to act.

    Args:
        row: A table with a seat to act.
        rules: Its rules record.
        trump: The trump suit to reckon with (a seat that does not know it tries all).
    """
    seat = np.int64(row.seat)
    hand = row.hands[seat]
    unseen = unseen_cards(row, rules, seat)
    left = count(hand)
    share = min(left / max(count(unseen), 1), 1.0 / (rules.players - 1))
    lead = LEADS
    eldest = following(np.int64(row.dealer), rules.players)
    if row.phase == _BID and seat == eldest and not rules.highest_bidder_leads:
        lead = ELDEST_LEADS if left > 1 else 1.0
    return Sight(
        seat,
        hand,
        unseen,
        count(unseen),
        left,
        trump,
        share,
        _others_wants(row, rules, seat, left),
        lead,
        rules.players,
        rules.num_suits,
    )


@inline
def _none_in(share, cards):
    """Returns the chance that a hand holds none of so many unseen cards."""
    return (1.0 - share) ** cards


@inline
def higher_unseen(sight, card):
    """Returns how many unseen cards of its suit beat a card."""
    return count(sight.unseen & suit_mask(card // 13) & above(card))


@inline
def _trump_later(sight, card):
    higher = higher_unseen(sight, card)
    if higher == 0:
        return 1.0
    out = (sight.players - 1) * sight.share
    alone = _none_in(out, higher)
    ruffs = LOW_TRUMP / (1.0 + HIGHER_TRUMP * out * higher)
    return alone + (1.0 - alone) * ruffs * (1.0 - 1.0 / sight.left)


@inline
def _short_of(sight, unseen, rounds):
    """Returns the chance that one hand cannot follow to a suit so often."""
    void = _none_in(sight.share, unseen)
    if rounds > 1 and sight.share < 1.0:
        void *= 1.0 + unseen * sight.share / (1.0 - sight.share)
    return min(void, 1.0)


@inline
def _side_card_later(sight, card):
    suit = suit_mask(card // 13)
    higher = higher_unseen(sight, card)
    out = (sight.players - 1) * sight.share
    alone = _none_in(out, higher)
    high = alone + (1.0 - alone) * UNDER_ONE**higher * (1.0 - 1.0 / sight.left)
    safe = 1.0
    if sight.trump != NO_TRUMP:
        rounds = 1 + count(sight.hand & suit & above(card))
        short = _short_of(sight, count(sight.unseen & suit), rounds)
        trumps = count(sight.unseen & suit_mask(sight.trump))
        safe = (1.0 - short * (1.0 - _none_in(sight.share, trumps))) ** (sight.players - 1)
    led = 1.0 - (1.0 - 1.0 / sight.suits) ** sight.left * (1.0 - sight.lead)
    return high * safe * led


@inline
def later_chances(sight, chances):
    """Writes the chance of each held card to win the trick in which it will be played.

    The more tricks others want beside what this hand promises, the less each card is worth.

    Args:
        sight: What the seat sees.
        chances: float64 (64,), written at the places of the held cards.
    """
    total = 0.0
    rest = sight.hand
    while rest != ZERO:
        card = lowest(rest)
        rest = rest & (rest - ONE)
        if card // 13 == sight.trump:
            chances[card] = _trump_later(sight, card)
        else:
            chances[card] = _side_card_later(sight, card)
        total += chances[card]
    excess = (sight.wanted + total - sight.left) / max(sight.left, 1)
    odds = math.exp(PRESSURE * min(max(excess, -MOST_PRESSURE), MOST_PRESSURE))
    rest = sight.hand
    while rest != ZERO:
        card = lowest(rest)
        rest = rest & (rest - ONE)
        chances[card] = chances[card] / (chances[card] + (1.0 - chances[card]) * odds)


@inline
def sure_tricks(sight):
    """Returns how many tricks are certain: trumps that no unseen trump beats."""
    sure = 0
    if sight.trump != NO_TRUMP:
        rest = sight.hand & suit_mask(sight.trump)
        while rest != ZERO:
            sure += higher_unseen(sight, lowest(rest)) == 0
            rest = rest & (rest - ONE)
    return sure


@inline
def tricks_of(cards, chances, spread):
    """Writes the distribution of the tricks that a set of cards will win, as if independent.

    Args:
        cards: Mask.
        chances: float64 (64,), chance of each card.
        spread: float64 (at least number of cards + 1,), written in place: spread[t] = P(t tricks).

    Returns:
        The number of cards.
    """
    size = 0
    spread[0] = 1.0
    while cards != ZERO:
        chance = chances[lowest(cards)]
        cards = cards & (cards - ONE)
        spread[size + 1] = spread[size] * chance
        for t in range(size, 0, -1):
            spread[t] = spread[t] * (1.0 - chance) + spread[t - 1] * chance
        spread[0] *= 1.0 - chance
        size += 1
    return size


@inline
def without(spread, size, chance, rest):
    """Takes one card out of a distribution of tricks.

    Starts from the end at which the division is safe, so that rounding does not grow.

    Args:
        spread: float64, P(t tricks) of ``size`` cards.
        size: Number of cards.
        chance: Chance of the card to be taken out.
        rest: float64, written in place: the distribution of the other cards.
    """
    if chance <= 0.5:
        lost = 0.0
        for t in range(size):
            lost = (spread[t] - chance * lost) / (1.0 - chance)
            rest[t] = lost
    else:
        won = 0.0
        for t in range(size - 1, -1, -1):
            won = (spread[t + 1] - (1.0 - chance) * won) / chance
            rest[t] = won


@inline
def expected(spread, size, points, won):
    """Returns the mean of ``points[won + t]`` under a distribution of t = 0 to ``size``."""
    total = 0.0
    for t in range(size + 1):
        total += spread[t] * points[won + t]
    return total


@inline
def _beats(row, rules, sight, other, card):
    """Returns the chance that a seat yet to play beats a card that wins the trick so far."""
    wants = np.int64(row.bids[other]) > np.int64(row.tricks_won[other])
    will = WANTS if wants else HAS_ENOUGH
    suit = card // 13
    led = np.int64(row.led_suit) if row.trick_size > 0 else suit
    voids = np.int64(row.voids[other])
    void = 1.0
    if (voids >> led) & 1 == 0:
        void = _none_in(sight.share, count(sight.unseen & suit_mask(led)))
    over = 0.0
    if (voids >> suit) & 1 == 0:
        over = 1.0 - _none_in(sight.share, higher_unseen(sight, card))
    if suit == sight.trump:
        follows = 1.0 if led == suit else void
        return follows * over * will
    ruffs = 0.0
    if sight.trump != NO_TRUMP and (voids >> sight.trump) & 1 == 0:
        trumps = count(sight.unseen & suit_mask(sight.trump))
        duty = 1.0 if rules.void != 0 else will
        ruffs = void * (1.0 - _none_in(sight.share, trumps)) * duty
    return over * (1.0 if rules.head else will) + ruffs


@inline
def chance_now(row, rules, sight, card):
    """Returns the chance that a card wins the current trick if it is played now."""
    if row.trick_size > 0:
        best, suit = np.int64(row.best_card), card // 13
        better = card > best if suit == best // 13 else suit == sight.trump
        if not better:
            return 0.0
    chance = 1.0
    other = sight.seat
    for _ in range(sight.players - 1 - row.trick_size):
        other = other + 1 if other + 1 < sight.players else 0
        chance *= 1.0 - min(_beats(row, rules, sight, other, card), 1.0)
    return chance


@inline
def distinct(cards, sight, row):
    """Returns a set of held cards without those that are as good as the next lower one.

    Two cards of a suit are equal if no card between them is unseen or lies in the trick.
    """
    between = sight.unseen
    if row.trick_size > 0:
        between = between | bit(row.best_card)
    kept, rest, last = ZERO, cards, np.int64(-13)
    while rest != ZERO:
        card = lowest(rest)
        rest = rest & (rest - ONE)
        apart = card // 13 != last // 13 or between & above(last) & (bit(card) - ONE) != ZERO
        if last < 0 or apart:
            kept = kept | bit(card)
        last = card
    return kept
