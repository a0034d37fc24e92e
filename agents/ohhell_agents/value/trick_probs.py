"""A club player's estimates: probabilities of winning tricks, and the expected points.

Everything comes from one seat's view. ``look`` is the only function that reads a table's record for
cards, and takes only what the seat may know: its hand, the cards played, the turned card once it is
public, and known bids. Compiled; every function works on one decision.

The probabilities come from the two models of ``trick_model.py``. Their features are counts, scaled
to about 1, with names in ``slots.py``:

situation
    Players, cards left in hand, share of the unseen cards that others hold, share of their bids
    known, trumps, whether it is the bidding, the duty of a void seat.
want
    Tricks the seat wants, tricks the others want, and whether the seat leads to the next trick.
card
    Trump or not, higher and lower cards unseen and in hand, length of the suit in other hands,
    shown voids, trumps against it.
now
    For a card that wins the trick so far: the seats to come, what they want and may hold, and what
    can beat the card.
"""

# pyright: basic
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ohhell_agents.value.slots import (
    CURRENT_CARD_SLOTS,
    CURRENT_SITUATION_SLOTS,
    FUTURE_CARD_SLOTS,
    FUTURE_SITUATION_SLOTS,
    FUTURE_WANTS_SLOTS,
)
from ohhell_agents.value.trick_model import (
    CURRENT_CARD,
    CURRENT_SITUATION,
    FUTURE_CARD,
    FUTURE_SITUATION,
    FUTURE_WANTS,
    HIDDEN,
)
from ohhell_env.engine.bits import ONE, ZERO, above, bit, count, lowest, suit_mask
from ohhell_env.engine.caching import inline
from ohhell_env.engine.kernel import trump_known
from ohhell_env.engine.layout import NO_BID, NO_CARD, NO_TRUMP, Phase
from ohhell_env.rules.schedule import TrumpSource

_BID = int(Phase.BID)
_TURNED_CARD = int(TrumpSource.TURNED_CARD)
LANES = 16
"""Cards computed side by side; no hand has more than twice this number."""
_SPACE = 32 + HIDDEN + FUTURE_CARD * LANES + 2 * HIDDEN * LANES + LANES
NONE, HALF, ALL = np.float32(0.0), np.float32(0.5), np.float32(1.0)


class Sight(NamedTuple):
    """A seat's view of its deal, in the numbers that the estimates need."""

    seat: Any
    hand: Any
    """Cards in hand (mask)."""
    unseen: Any
    """Cards that may be in other hands (mask)."""
    left: Any
    """Number of cards in hand, including the one to play."""
    trump: Any
    """Suit, or ``NO_TRUMP``."""
    share: Any
    """Probability that a given unseen card is in a given other hand."""
    wanted: Any
    """Tricks that the others still want; unknown bids count as average."""
    known: Any
    """Share of the other seats' bids that are known."""
    bidding: Any
    """1 in the bidding, else 0."""
    players: Any


@inline
def bid_known(row, rules, seat, viewer):
    """Returns whether another seat knows a seat's bid."""
    secret = rules.simultaneous and row.phase == _BID and seat != viewer
    return row.bids[seat] != NO_BID and not secret


@inline
def unseen_cards(row, rules, seat):
    """Returns the cards that may be in other hands, from a seat's view.

    They include the dealer's shown last card, but not a card turned from the stock.
    """
    unseen = rules.pack & ~row.hands[seat]
    for other in range(rules.players):
        unseen = unseen & ~row.played[other]
    turned = row.turned != NO_CARD and trump_known(row, rules)
    if turned and row.trump_source == _TURNED_CARD:
        unseen = unseen & ~bit(row.turned)
    return unseen


@inline
def look(row, rules, trump, seat):
    """Returns the ``Sight`` of a seat.

    Args:
        row: A table in the bidding or in play.
        rules: Its rules record.
        trump: The trump suit to assume (a seat that does not know it tries all).
        seat: The seat whose view it is.
    """
    hand = row.hands[seat]
    unseen = unseen_cards(row, rules, seat)
    left = count(hand)
    wanted, known = 0.0, 0.0
    for other in range(rules.players):
        if other != seat:
            if bid_known(row, rules, other, seat):
                known += 1.0
                wants = np.int64(row.bids[other]) - np.int64(row.tricks_won[other])
                wanted += min(max(wants, 0), left)
            else:
                wanted += left / rules.players
    others = rules.players - 1
    return Sight(
        seat,
        hand,
        unseen,
        left,
        trump,
        min(left / max(count(unseen), 1), 1.0 / others),
        wanted,
        known / others,
        1.0 if row.phase == _BID else 0.0,
        rules.players,
    )


@inline
def higher_unseen(sight, card):
    """Returns the number of unseen cards of its suit that beat a card."""
    return count(sight.unseen & suit_mask(card // 13) & above(card))


@inline
def _trumps(sight, cards):
    return 0 if sight.trump == NO_TRUMP else count(cards & suit_mask(sight.trump))


@inline
def write_situation(sight, rules, left, inputs):
    """Writes the features of the situation, ``left`` tricks before the end (float32 array)."""
    slots = FUTURE_SITUATION_SLOTS
    inputs[slots.players] = (sight.players - 2) / 6
    inputs[slots.cards_left] = left / 8
    inputs[slots.unseen_held] = sight.share * (sight.players - 1)
    inputs[slots.bids_known] = sight.known
    inputs[slots.no_trump] = 1.0 if sight.trump == NO_TRUMP else 0.0
    inputs[slots.own_trumps] = _trumps(sight, sight.hand) / max(sight.left, 1)
    inputs[slots.unseen_trumps] = _trumps(sight, sight.unseen) * sight.share / 2
    inputs[slots.bidding] = sight.bidding
    inputs[slots.void_duty] = 1.0 if rules.void != 0 else 0.0


@inline
def write_wants(wants, wanted, left, lead, inputs):
    """Writes the features of what a seat and the others want, and whether it leads."""
    slots = FUTURE_WANTS_SLOTS
    inputs[slots.wants_share] = min(max(wants / max(left, 1), -0.5), 1.5)
    inputs[slots.wants_none] = 1.0 if wants <= 0 else 0.0
    inputs[slots.overshot] = 1.0 if wants < 0 else 0.0
    inputs[slots.wants_all] = 1.0 if wants >= left else 0.0
    inputs[slots.wants_one] = 1.0 if wants == 1 else 0.0
    inputs[slots.leads] = lead
    inputs[slots.demand] = wanted / max(left, 1) - 1.0


@inline
def write_card(sight, row, card, inputs):
    """Writes the features of a held card."""
    slots = FUTURE_CARD_SLOTS
    suit = suit_mask(card // 13)
    trump = card // 13 == sight.trump
    higher = higher_unseen(sight, card)
    unseen = count(sight.unseen & suit)
    out = sight.share * (sight.players - 1)
    shown = 0
    for other in range(sight.players):
        if other != sight.seat:
            shown += (np.int64(row.voids[other]) >> (card // 13)) & 1
    inputs[slots.trump] = 1.0 if trump else 0.0
    inputs[slots.higher_out] = higher * out / 3
    inputs[slots.boss] = 1.0 if higher == 0 else 0.0
    inputs[slots.one_higher] = 1.0 if higher == 1 else 0.0
    inputs[slots.lower_out] = (unseen - higher) * out / 4
    inputs[slots.own_higher] = count(sight.hand & suit & above(card)) / 3
    inputs[slots.own_lower] = count(sight.hand & suit & (bit(card) - ONE)) / 3
    inputs[slots.suit_out] = unseen * sight.share / 2
    inputs[slots.shown_voids] = shown / (sight.players - 1)
    inputs[slots.trumps_out] = 0.0 if trump else _trumps(sight, sight.unseen) * sight.share / 2


@inline
def write_current_situation(sight, row, rules, inputs):
    """Writes the features of the current trick, before the seat plays."""
    slots = CURRENT_SITUATION_SLOTS
    to_come = sight.players - 1 - np.int64(row.trick_size)
    want_more, have_enough, wanted, void_trump = 0, 0, 0, 0
    other = sight.seat
    for _ in range(to_come):
        other = other + 1 if other + 1 < sight.players else 0
        wants = np.int64(row.bids[other]) - np.int64(row.tricks_won[other])
        want_more += wants > 0
        have_enough += wants == 0
        wanted += max(wants, 0)
        if sight.trump != NO_TRUMP:
            void_trump += (np.int64(row.voids[other]) >> sight.trump) & 1
    wants = np.int64(row.bids[sight.seat]) - np.int64(row.tricks_won[sight.seat])
    inputs[slots.to_come] = to_come / 4
    inputs[slots.behind_want] = want_more / 3
    inputs[slots.behind_enough] = have_enough / 3
    inputs[slots.behind_wanted] = wanted / sight.left
    inputs[slots.trump_voids] = void_trump / 2
    inputs[slots.leads] = 1.0 if row.trick_size == 0 else 0.0
    inputs[slots.wants_share] = min(max(wants / sight.left, -0.5), 1.5)
    inputs[slots.wants_more] = 1.0 if wants > 0 else 0.0
    inputs[slots.cards_left] = sight.left / 8
    inputs[slots.void_duty] = 1.0 if rules.void != 0 else 0.0
    inputs[slots.no_trump] = 1.0 if sight.trump == NO_TRUMP else 0.0
    inputs[slots.head_duty] = 1.0 if rules.head else 0.0


@inline
def write_current_card(sight, row, card, inputs):
    """Writes the features of a card that would win the current trick so far."""
    slots = CURRENT_CARD_SLOTS
    suit, trump = card // 13, card // 13 == sight.trump
    led = np.int64(row.led_suit) if row.trick_size > 0 else suit
    to_come = sight.players - 1 - np.int64(row.trick_size)
    void_led, other = 0, sight.seat
    for _ in range(to_come):
        other = other + 1 if other + 1 < sight.players else 0
        void_led += (np.int64(row.voids[other]) >> led) & 1
    higher = higher_unseen(sight, card)
    inputs[slots.higher_out] = higher * sight.share * to_come / 2
    inputs[slots.boss] = 1.0 if higher == 0 else 0.0
    inputs[slots.trump] = 1.0 if trump else 0.0
    inputs[slots.trumps_out] = (
        0.0 if trump else _trumps(sight, sight.unseen) * sight.share * to_come / 2
    )
    inputs[slots.suit_out] = count(sight.unseen & suit_mask(led)) * sight.share / 2
    inputs[slots.led_voids] = void_led / 2


def _adder(size):
    """Returns a function that adds ``size`` inputs times weights (size, HIDDEN) to sums (HIDDEN,).

    If the compiler knows the length, the loop over the hidden values becomes a few wide
    instructions, and five times as fast.
    """

    @inline
    def add(weights, inputs, sums):
        for j in range(HIDDEN):
            total = sums[j]
            for i in range(size):
                total += inputs[i] * weights[i, j]
            sums[j] = total

    return add


_add_situation, _add_wants = _adder(FUTURE_SITUATION), _adder(FUTURE_WANTS)
_add_current_situation, _add_current_card = _adder(CURRENT_SITUATION), _adder(CURRENT_CARD)


@inline
def _squashed(x):
    """Returns the probability for a model's output: (1 + x / sqrt(1 + x²)) / 2."""
    return HALF + HALF * x / np.sqrt(ALL + x * x)


@inline
def start_future(sight, row, rules, models, left, work):
    """Computes the later model's sums for the situation and for each held card.

    Args:
        sight: What the seat sees.
        row: The table.
        rules: Its rules record.
        models: ``MODELS`` record.
        left: Tricks before the end, in the model's view.
        work: Working memory, see ``workspace``; receives the sums for ``future_probs``.
    """
    inputs, base, matrix, sums, _ = work
    for j in range(HIDDEN):
        base[j] = models.future_bias[j]
    write_situation(sight, rules, left, inputs)
    _add_situation(models.future_situation, inputs, base)
    rest, place = sight.hand, 0
    while rest != ZERO:
        card = lowest(rest)
        rest = rest & (rest - ONE)
        write_card(sight, row, card, matrix[:, place % LANES])
        place += 1
        if place % LANES == 0 or rest == ZERO:
            block = sums[(place - 1) // LANES]
            for j in range(HIDDEN):
                for lane in range(LANES):
                    total = base[j]
                    for i in range(FUTURE_CARD):
                        total += matrix[i, lane] * models.future_card[i, j]
                    block[j, lane] = total


@inline
def future_probs(models, work, size, wants, wanted, left, lead, probs):
    """Writes each held card's probability of winning the trick in which it will be played.

    Args:
        models: ``MODELS`` record.
        work: Working memory from ``start_future``.
        size: Number of held cards.
        wants: Tricks that the seat wants.
        wanted: Tricks that the others want.
        left: Tricks before the end.
        lead: 1.0 if the seat leads the next trick it plays to, else 0.0.
        probs: float64 (at least ``size``,), written in place, in the order of the cards.
    """
    inputs, shift, _, sums, outputs = work
    write_wants(wants, wanted, left, lead, inputs)
    shift[:] = 0.0
    _add_wants(models.future_wants, inputs, shift)
    for start in range(0, size, LANES):
        block = sums[start // LANES]
        for lane in range(LANES):
            output = models.future_end
            for j in range(HIDDEN):
                output += max(block[j, lane] + shift[j], NONE) * models.future_out[j]
            outputs[lane] = _squashed(output)
        for place in range(start, min(size, start + LANES)):
            probs[place] = outputs[place - start]


@inline
def workspace():
    """Returns working memory for a decision: inputs, hidden values, card inputs, sums, outputs.

    It is one array in parts, because each array saved saves 30 ns.
    """
    whole = np.empty(_SPACE, np.float32)
    inputs, hidden = whole[:32], whole[32 : 32 + HIDDEN]
    start = 32 + HIDDEN
    matrix = whole[start : start + FUTURE_CARD * LANES].reshape(FUTURE_CARD, LANES)
    start += FUTURE_CARD * LANES
    sums = whole[start : start + 2 * HIDDEN * LANES].reshape(2, HIDDEN, LANES)
    return inputs, hidden, matrix, sums, whole[start + 2 * HIDDEN * LANES :]


@inline
def wins_so_far(row, sight, card):
    """Returns whether a card would win the current trick so far."""
    if row.trick_size == 0:
        return True
    best = np.int64(row.best_card)
    return card > best if card // 13 == best // 13 else card // 13 == sight.trump


@inline
def wins_for_certain(row, sight, card):
    """Returns whether a card wins the current trick whatever is played after it."""
    if not wins_so_far(row, sight, card):
        return False
    if row.trick_size == sight.players - 1:
        return True
    if row.trick_size > 0 and card // 13 != np.int64(row.led_suit):
        return higher_unseen(sight, card) == 0  # it is a trump, or it would not win so far
    return leads_to_win(sight, card)


@inline
def leads_to_win(sight, card):
    """Returns whether a card certainly wins if it is led."""
    trump = card // 13 == sight.trump
    return higher_unseen(sight, card) == 0 and (trump or _trumps(sight, sight.unseen) == 0)


@inline
def start_current(sight, row, rules, models, work):
    """Computes the sums of the current trick's model, for ``current_prob``."""
    inputs, base = work[0], work[1]
    write_current_situation(sight, row, rules, inputs)
    for j in range(HIDDEN):
        base[j] = models.current_bias[j]
    _add_current_situation(models.current_situation, inputs, base)


@inline
def current_prob(row, models, sight, card, work):
    """Returns the probability that a card wins the current trick if it is played now."""
    if not wins_so_far(row, sight, card):
        return 0.0
    if row.trick_size == sight.players - 1:
        return 1.0
    inputs, hidden = work[0], work[4]
    write_current_card(sight, row, card, inputs)
    for j in range(HIDDEN):
        hidden[j] = work[1][j]
    _add_current_card(models.current_card, inputs, hidden)
    a, b, c, d = models.current_end, NONE, NONE, NONE
    out = models.current_out
    for j in range(0, HIDDEN, 4):  # four sums, so that no addition waits for the previous one
        a += max(hidden[j], NONE) * out[j]
        b += max(hidden[j + 1], NONE) * out[j + 1]
        c += max(hidden[j + 2], NONE) * out[j + 2]
        d += max(hidden[j + 3], NONE) * out[j + 3]
    return np.float64(_squashed((a + b) + (c + d)))


@inline
def sure_tricks(sight):
    """Returns the number of certain tricks: trumps that no unseen trump beats."""
    sure = 0
    if sight.trump != NO_TRUMP:
        rest = sight.hand & suit_mask(sight.trump)
        while rest != ZERO:
            sure += higher_unseen(sight, lowest(rest)) == 0
            rest = rest & (rest - ONE)
    return sure


@inline
def can_win_unled(sight, hand):
    """Returns whether one of these cards can win a trick that another seat leads.

    A card that is not a trump can only beat a lower one of its suit.
    """
    rest = hand
    while rest != ZERO:
        card = lowest(rest)
        rest = rest & (rest - ONE)
        suit = card // 13
        if suit == sight.trump or sight.unseen & suit_mask(suit) & (bit(card) - ONE) != ZERO:
            return True
    return False


@inline
def trick_distribution(probs, size, trick_probs):
    """Writes the distribution of the tricks that ``size`` cards win, as if independent.

    Args:
        probs: float64, each card's probability.
        size: Number of cards.
        trick_probs: float64 (at least size + 1,), written in place: trick_probs[t] = P(t tricks).
    """
    trick_probs[0] = 1.0
    for place in range(size):
        prob = probs[place]
        trick_probs[place + 1] = trick_probs[place] * prob
        for t in range(place, 0, -1):
            trick_probs[t] = trick_probs[t] * (1.0 - prob) + trick_probs[t - 1] * prob
        trick_probs[0] *= 1.0 - prob


@inline
def without(trick_probs, size, prob, rest):
    """Removes one card from a distribution of tricks.

    It starts from the end where the division is safe, so that rounding errors do not grow.

    Args:
        trick_probs: float64, P(t tricks) of ``size`` cards.
        size: Number of cards.
        prob: Probability of the removed card.
        rest: float64, written in place: the distribution of the other cards.
    """
    if prob <= 0.5:
        lost = 0.0
        for t in range(size):
            lost = (trick_probs[t] - prob * lost) / (1.0 - prob)
            rest[t] = lost
    else:
        won = 0.0
        for t in range(size - 1, -1, -1):
            won = (trick_probs[t + 1] - (1.0 - prob) * won) / prob
            rest[t] = won


@inline
def expected(trick_probs, size, points, won):
    """Returns the mean of ``points[won + t]`` under a distribution of t = 0 to ``size``."""
    total = 0.0
    for t in range(size + 1):
        total += trick_probs[t] * points[won + t]
    return total


@inline
def distinct(cards, sight, row):
    """Returns a set of held cards without those that equal the next lower one.

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
