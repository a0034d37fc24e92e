"""What is certain about a bid in the last tricks, by trying every line of play; compiled.

Rules of thumb (``cards.py``) overlook how the last cards draw each other: an ace that pulls the
only king makes the queen good. Where few cards are unseen all lines are tried instead. A line deals
the unseen cards as it goes: a seat may play any of them, except those of a suit in which it has
shown void. That covers all deals that fit, and no others where no cards are left in the stock.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_env.engine.bits import ONE, ZERO, above, bit, count, lowest, suit_mask
from ohhell_env.engine.caching import inline, inner
from ohhell_env.engine.kernel import following
from ohhell_env.engine.layout import MAX_SEATS

CAN_MAKE, CAN_MISS = 1, 2
"""What lines of play lead to; their sum: there are both."""
_MOST_TRICKS = 3
_MOST_UNSEEN = 12  # all cards of the others when five players have three tricks left
_MOST_STEPS = 20_000
"""Cards to try at most: a question that takes more is left open."""
_POSITION = np.dtype(
    [
        ("hand", np.uint64),
        ("unseen", np.uint64),
        ("untried", np.uint64),  # cards that may be played next, and have not been tried (mask)
        ("voids", np.int64),  # four bits for each seat: the suits that it does not hold
        ("seat", np.int64),  # seat to play
        ("size", np.int64),  # cards in the trick
        ("led", np.int64),  # suit led
        ("best", np.int64),  # card that wins the trick so far
        ("winner", np.int64),  # its seat
        ("won", np.int64),  # tricks that the own seat wins from here on
    ],
    align=True,
)
"""The position before a card of a line."""


@inline
def is_ending(sight):
    """Returns whether so few cards are left that all lines can be tried."""
    return sight.left <= _MOST_TRICKS and count(sight.unseen) <= _MOST_UNSEEN


@inner
def outcomes(row, sight, card, wants):
    """Tries the lines of play after a card until one makes the bid and one misses it.

    Args:
        row: A table in play.
        sight: What the seat to act sees of it.
        card: The card that the seat plays now.
        wants: Tricks that it still wants, this one included.

    Returns:
        ``CAN_MAKE``, ``CAN_MISS``, or their sum if there are lines of both kinds. The duties to
        ruff and to beat are ignored: an extra line turns certain into open, never open into
        certain.
    """
    line = np.empty(_MOST_TRICKS * MAX_SEATS + 1, _POSITION)
    _start(row, sight, card, line[0])
    found, depth, steps = 0, 0, 0
    while depth >= 0:
        if line[depth].untried == ZERO:
            depth -= 1
            continue
        steps += 1
        if steps > _MOST_STEPS:
            return CAN_MAKE + CAN_MISS
        tried = lowest(line[depth].untried)
        line[depth].untried = line[depth].untried & ~bit(tried)
        before, after = line[depth], line[depth + 1]
        _play(sight, tried, before, after)
        if after.hand == ZERO and after.size == 0:
            found |= CAN_MAKE if after.won == wants else CAN_MISS
            if found == CAN_MAKE + CAN_MISS:
                return found
        else:
            depth += 1
    return found


@inline
def _start(row, sight, card, position):
    position.hand, position.unseen, position.untried = sight.hand, sight.unseen, bit(card)
    position.voids = 0
    for seat in range(sight.players):
        if seat != sight.seat:
            position.voids |= np.int64(row.voids[seat]) << (4 * seat)
    position.seat, position.size = sight.seat, np.int64(row.trick_size)
    position.led, position.best = np.int64(row.led_suit), np.int64(row.best_card)
    position.winner, position.won = np.int64(row.best_seat), 0


@inline
def _play(sight, card, before, after):
    """Writes the position after a card."""
    suit, own = card // 13, before.seat == sight.seat
    after.hand = before.hand & ~bit(card) if own else before.hand
    after.unseen = before.unseen if own else before.unseen & ~bit(card)
    after.voids, after.won = before.voids, before.won
    after.led, after.best, after.winner = before.led, before.best, before.winner
    if before.size == 0:
        after.led = suit
    elif suit != before.led and not own:
        after.voids |= 1 << (4 * before.seat + before.led)
    higher = card > before.best if suit == before.best // 13 else suit == sight.trump
    if before.size == 0 or higher:
        after.best, after.winner = card, before.seat
    after.size, after.seat = before.size + 1, following(before.seat, sight.players)
    if after.size == sight.players:
        after.won += after.winner == sight.seat
        after.size, after.seat = 0, after.winner
    _find_candidates(sight, after)


@inline
def _find_candidates(sight, position):
    """Writes which cards may be played; of cards that nothing comes between only the lowest."""
    own = position.seat == sight.seat
    cards = position.hand if own else position.unseen
    if own and position.size > 0 and cards & suit_mask(position.led) != ZERO:
        cards = cards & suit_mask(position.led)
    for suit in range(4):
        if not own and (position.voids >> (4 * position.seat + suit)) & 1:
            cards = cards & ~suit_mask(suit)
    others = position.unseen if own else position.hand
    if position.size > 0:
        others = others | bit(position.best)
    position.untried, last, rest = ZERO, np.int64(-13), cards
    while rest != ZERO:
        card = lowest(rest)
        rest = rest & (rest - ONE)
        between = above(last) & (bit(card) - ONE) if last >= 0 else ZERO
        if card // 13 != last // 13 or others & between != ZERO:
            position.untried = position.untried | bit(card)
        last = card
