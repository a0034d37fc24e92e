"""Worlds: random deals of the hidden cards that are consistent with what a seat knows.

All unseen cards take part, including the stock. A seat's play limits the cards that it may hold: if
a card would have been illegal with some other card in hand, the seat does not hold that other card.
The engine's own legality check decides this, so shown voids and the duties of every variant (to
head the trick, to trump, to overtrump, to hold trumps back) need no special cases.

Worlds are uniform over all consistent ones. Seats without restrictions get random cards. Restricted
seats get their cards first, the most restricted one before the others. The result is accepted with
a probability that balances the number of choices of each seat, which keeps the sampling exact. If
that fails too often, many exchanges of cards transform one consistent world into another.
"""

# pyright: basic
from __future__ import annotations

import math

import numpy as np

from ohhell_env.engine import kernel
from ohhell_env.engine.bits import ONE, ZERO, bit, count, has, lowest, nth, suit_mask
from ohhell_env.engine.caching import entry, inline, inner
from ohhell_env.engine.decode import view_to_row
from ohhell_env.engine.layout import CHOSEN_PLAN, MAX_SEATS, NO_CARD, NOBODY, Phase
from ohhell_env.engine.rng import below, next_bits, seed_stream
from ohhell_env.rules.schedule import TrumpSource

STOCK = MAX_SEATS
"""Index of the undealt cards, after the seats."""
HOLDERS = MAX_SEATS + 1

FITS, LOOSE, IMPOSSIBLE = 0, 1, 2
"""Whether worlds fit everything seen; or only the numbers of cards, not the shown duties; or no
world has the numbers of cards in the view."""

HIDDEN = np.dtype(
    [
        ("unseen", np.uint64),  # cards whose holder is unknown
        ("num_unseen", np.int64),
        ("known", np.uint64, HOLDERS),  # cards known to be in a hand
        ("need", np.int64, HOLDERS),  # number of unseen cards that a seat holds
        ("barred", np.uint64, HOLDERS),  # unseen cards that it cannot hold
        ("order", np.int64, HOLDERS),  # seats with need, the most restricted first
        ("num_order", np.int64),
        ("narrow", np.int64),  # how many of them are restricted
        ("most", np.float64),  # log of the most choices that these can have
        ("start", np.uint64, HOLDERS),  # one consistent deal of the unseen cards
        ("old", np.uint64, HOLDERS),  # the hands before the last exchange
        ("state", np.int64),  # FITS, LOOSE or IMPOSSIBLE
        ("trump_from", np.int64),  # TrumpSource of a hidden trump; -1: the trump is revealed
        ("stream", np.uint64),  # random stream, see engine/rng.py
        ("stream_step", np.uint64),
    ],
    align=True,
)

_TRIES = 64
"""Rejections in a row before exchanges of cards take over."""
_EXCHANGES = 8
"""Exchanges per unseen card after which a world counts as random."""
_LOG_FACTORIAL = np.array([math.lgamma(n + 1.0) for n in range(65)])
_UNIT = 2.0**-53
_ELEVEN = np.uint64(11)
_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_TURNED_CARD = int(TrumpSource.TURNED_CARD)
_DEALER_CARD = int(TrumpSource.DEALER_CARD)
_RANDOM_SUIT = int(TrumpSource.RANDOM_SUIT)


@inline
def uniform(stream):
    """Returns a random number in [0, 1) from a record's random stream."""
    return np.float64(next_bits(stream) >> _ELEVEN) * _UNIT


# ------------------------------------------------------------------- the unknowns of a view


@inner
def read_hidden(row, rules, scratch, hidden):
    """Finds the unknowns of a seat and the limits on them.

    Args:
        row: ``GAME`` record of a view (``view_to_row``); everything that the seat does not see is
            empty.
        rules: ``RULES`` record.
        scratch: ``GAME`` record, overwritten.
        hidden: ``HIDDEN`` record, written in place except for its random stream.
    """
    players = rules.players
    hidden.state = FITS
    hidden.barred[:] = ZERO
    _read_cards(row, rules, hidden)
    wanted = np.int64(0)
    for seat in range(players):
        wanted += hidden.need[seat]
        if hidden.need[seat] < 0:
            hidden.state = IMPOSSIBLE
    if wanted > hidden.num_unseen:
        hidden.state = IMPOSSIBLE
    if hidden.state != IMPOSSIBLE:
        if row.plays > 0:
            _read_duties(row, rules, scratch, hidden)
        if not _arrange(hidden, players):
            hidden.state = LOOSE
            hidden.barred[:] = ZERO
            _arrange(hidden, players)
    hidden.trump_from = _trump_from(row, rules)


@inline
def _read_cards(row, rules, hidden):
    unseen = rules.pack
    hidden.known[:] = ZERO
    hidden.need[:] = 0
    for seat in range(rules.players):
        hidden.known[seat] = row.hands[seat]
        unseen = unseen & ~(row.hands[seat] | row.played[seat])
    if row.turned != NO_CARD:
        shown = bit(np.int64(row.turned))
        if row.trump_source == _DEALER_CARD and unseen & shown != ZERO:
            hidden.known[row.dealer] = hidden.known[row.dealer] | shown
        unseen = unseen & ~shown
    for seat in range(rules.players):
        gone = count(row.played[seat]) + count(hidden.known[seat])
        hidden.need[seat] = np.int64(row.hand_size) - gone
    hidden.unseen = unseen
    hidden.num_unseen = count(unseen)


@inline
def _read_duties(row, rules, scratch, hidden):
    """Replays the deal and bars, at each card, the cards that would have made it illegal."""
    order = np.full(65, NO_CARD, np.int64)
    for card in range(64):
        if row.place[card] > 0:
            order[row.place[card]] = card
    _rewind_play(row, rules, order[1], scratch)
    for place in range(1, np.int64(row.plays) + 1):
        card, seat = order[place], np.int64(scratch.seat)
        if card == NO_CARD or seat == NOBODY or not has(scratch.hands[seat], card):
            hidden.state = LOOSE  # such a play is impossible
            return
        if hidden.need[seat] > 0:
            _bar(scratch, rules, hidden, seat, card)
        kernel.apply(scratch, rules, card)
    for seat in range(rules.players):
        for suit in range(4):
            if (np.int64(row.voids[seat]) >> suit) & 1 != 0:
                hidden.barred[seat] = hidden.barred[seat] | suit_mask(suit)


@inline
def _rewind_play(row, rules, first_card, scratch):
    """Sets a record to the first lead, with the cards played from each hand in that hand."""
    scratch.hand_size, scratch.dealer = row.hand_size, row.dealer
    scratch.trump, scratch.trump_source = row.trump, row.trump_source
    scratch.turned, scratch.blind = row.turned, row.blind
    kernel.start_bidding(scratch, rules)
    scratch.phase = _PLAY
    scratch.hands[:] = ZERO
    for seat in range(rules.players):
        scratch.hands[seat] = row.played[seat]
        if first_card != NO_CARD and has(row.played[seat], first_card):
            scratch.leader = seat
            scratch.seat = seat


@inline
def _bar(scratch, rules, hidden, seat, card):
    """Bars the unseen cards that would have made the played card illegal."""
    own = scratch.hands[seat]
    rest = hidden.unseen & ~hidden.barred[seat]
    while rest != ZERO:
        other = bit(lowest(rest))
        rest = rest & (rest - ONE)
        scratch.hands[seat] = bit(card) | other
        if not has(kernel.legal_cards(scratch, rules), card):
            hidden.barred[seat] = hidden.barred[seat] | other
    scratch.hands[seat] = own


@inline
def by_chance(source):
    """Returns whether a card or chance decides the trump, so that it can be hidden."""
    return source in (_TURNED_CARD, _DEALER_CARD, _RANDOM_SUIT)


@inline
def planned_source(row, rules):
    """Returns the ``TrumpSource`` (a card or chance) of deals of this hand size, or -1."""
    for place in range(CHOSEN_PLAN + 1):
        planned = place < rules.num_plans or place == CHOSEN_PLAN
        source = np.int64(rules.plan_trump[place])
        if planned and by_chance(source) and rules.plan_size[place] == row.hand_size:
            return source
    return np.int64(-1)


@inline
def _trump_from(row, rules):
    """Returns the source of a hidden trump, or -1 if the trump is known."""
    if row.phase != _BID or not rules.trump_late or row.trump_source != _RANDOM_SUIT:
        return np.int64(-1)
    source = planned_source(row, rules)
    return source if source >= 0 else np.int64(_RANDOM_SUIT)


# ---------------------------------------------------------------------- one consistent world


@inline
def _arrange(hidden, players):
    """Orders the seats; finds a consistent world and the bound of choices. False: none exists."""
    hidden.num_order = 0
    hidden.narrow = 0
    for seat in range(players):
        hidden.barred[seat] = hidden.barred[seat] & hidden.unseen
        if hidden.need[seat] > 0:
            _insert(hidden, seat)
    hidden.start[:] = ZERO
    hidden.start[STOCK] = hidden.unseen
    for place in range(hidden.num_order):
        seat = hidden.order[place]
        for _ in range(hidden.need[seat]):
            if not _feed(hidden, seat, players):
                return False
    _bound(hidden)
    return True


@inline
def _slack(hidden, seat):
    """Returns the spare candidates for a seat's unseen cards; huge without a restriction."""
    if hidden.barred[seat] == ZERO:
        return np.int64(1000)
    return count(hidden.unseen & ~hidden.barred[seat]) - hidden.need[seat]


@inline
def _insert(hidden, seat):
    """Inserts a seat into the order."""
    place = hidden.num_order
    while place > 0 and _slack(hidden, hidden.order[place - 1]) > _slack(hidden, seat):
        hidden.order[place] = hidden.order[place - 1]
        place -= 1
    hidden.order[place] = seat
    hidden.num_order += 1
    if hidden.barred[seat] != ZERO:
        hidden.narrow += 1


@inline
def _feed(hidden, seat, players):
    """Gives a seat one more card in ``start``; other seats pass cards on if necessary.

    A breadth-first search over seats that would each take a card from the next one, as in bipartite
    matching. False: no card is available.
    """
    queue = np.empty(HOLDERS, np.int64)
    giver_to = np.full(HOLDERS, -1, np.int64)
    gives = np.zeros(HOLDERS, np.int64)
    queue[0], head, tail = seat, 0, 1
    giver_to[seat] = seat
    while head < tail:
        taker = queue[head]
        head += 1
        may = hidden.unseen & ~hidden.barred[taker]
        if may & hidden.start[STOCK] != ZERO:
            card = lowest(may & hidden.start[STOCK])
            hidden.start[STOCK] = hidden.start[STOCK] & ~bit(card)
            _pass_on(hidden, giver_to, gives, taker, card, seat)
            return True
        for other in range(players):
            if giver_to[other] < 0 and may & hidden.start[other] != ZERO:
                giver_to[other] = taker
                gives[other] = lowest(may & hidden.start[other])
                queue[tail] = other
                tail += 1
    return False


@inline
def _pass_on(hidden, giver_to, gives, taker, card, last):
    """Gives a card to a seat, which passes a card on to the next, and so on to the last."""
    hidden.start[taker] = hidden.start[taker] | bit(card)
    while taker != last:
        passed = bit(gives[taker])
        hidden.start[taker] = hidden.start[taker] & ~passed
        taker = giver_to[taker]
        hidden.start[taker] = hidden.start[taker] | passed


@inline
def _choices(cards, size):
    """Returns the log of the number of ways to choose ``size`` of ``cards`` cards."""
    return _LOG_FACTORIAL[cards] - _LOG_FACTORIAL[size] - _LOG_FACTORIAL[cards - size]


@inline
def _bound(hidden):
    """Sets the log of the most choices that the restricted seats, in order, can have."""
    hidden.most = 0.0
    before, sizes = ZERO, np.int64(0)
    for place in range(hidden.narrow):
        seat = hidden.order[place]
        may = hidden.unseen & ~hidden.barred[seat]
        surely_gone = max(sizes - count(before & ~may), 0)
        hidden.most += _choices(count(may) - surely_gone, hidden.need[seat])
        before = before | may
        sizes += hidden.need[seat]


# ------------------------------------------------------------------------------ drawing worlds


@inner
def draw_world(hidden, players, hands):
    """Draws a world; each consistent world is equally likely.

    Args:
        hidden: ``HIDDEN`` record, not ``IMPOSSIBLE``; its random stream advances.
        players: Number of players.
        hands: uint64 (HOLDERS,), written in place: the cards of each seat, then the stock.
    """
    accepted = False
    for _ in range(_TRIES):
        accepted = _try_world(hidden, hands)
        if accepted:
            break
    if not accepted:
        hands[:] = hidden.start
        for _ in range(_EXCHANGES * hidden.num_unseen):
            exchange(hidden, players, hands)
    for seat in range(players):
        hands[seat] = hands[seat] | hidden.known[seat]


@inline
def _try_world(hidden, hands):
    """Deals the unseen cards; False if a restricted seat lacks cards, or by rejection."""
    left, size = hidden.unseen, hidden.num_unseen
    hands[:] = ZERO
    choices = -hidden.most
    for place in range(hidden.num_order):
        seat = hidden.order[place]
        need = hidden.need[seat]
        pool, among = left, size
        if place < hidden.narrow:
            pool = left & ~hidden.barred[seat]
            among = count(pool)
            if among < need:
                return False
            choices += _choices(among, need)
        rest = pool
        for _ in range(need):
            rest = rest & ~bit(nth(rest, below(hidden, among)))
            among -= 1
        hands[seat] = pool & ~rest
        left = left & ~hands[seat]
        size -= need
    hands[STOCK] = left
    return hidden.narrow < 2 or choices > -1e-9 or uniform(hidden) < math.exp(choices)


@inline
def _holder(hands, players, card):
    for seat in range(players):
        if has(hands[seat], card):
            return np.int64(seat)
    return np.int64(STOCK)


@inner
def exchange(hidden, players, hands):
    """Exchanges unseen cards between two or three holders if that stays consistent.

    A step of a random walk over all consistent worlds, as likely as its reverse. Sometimes three
    holders take part, because exchanges between two do not connect all worlds. ``old`` keeps the
    hands before the step.

    Args:
        hidden: ``HIDDEN`` record.
        players: Number of players.
        hands: uint64 (HOLDERS,), a consistent world, changed in place.

    Returns:
        The holders whose cards changed, as a mask of seats and stock; empty if none did.
    """
    hidden.old[:] = hands
    if hidden.narrow >= 2 and below(hidden, 4) == 0:
        return _rotate(hidden, players, hands)
    dealt = hidden.unseen & ~hands[STOCK]
    if dealt == ZERO:
        return ZERO
    first = nth(dealt, below(hidden, count(dealt)))
    one = _holder(hands, players, first)
    others = hidden.unseen & ~hands[one]
    if others == ZERO:
        return ZERO
    second = nth(others, below(hidden, count(others)))
    two = _holder(hands, players, second)
    return _move(hidden, hands, first, one, two, second, two, one)


@inline
def _rotate(hidden, players, hands):
    """Moves a card from each of three holders to the next one, if that is consistent."""
    size = hidden.num_unseen
    first = nth(hidden.unseen, below(hidden, size))
    second = nth(hidden.unseen, below(hidden, size))
    third = nth(hidden.unseen, below(hidden, size))
    one, two = _holder(hands, players, first), _holder(hands, players, second)
    three = _holder(hands, players, third)
    if one == two or three in (one, two) or has(hidden.barred[one], third):
        return ZERO
    changed = _move(hidden, hands, first, one, two, second, two, three)
    if changed == ZERO:
        return ZERO
    hands[three] = hands[three] & ~bit(third)
    hands[one] = hands[one] | bit(third)
    return changed | bit(three)


@inline
def _move(hidden, hands, first, one, to_one, second, two, to_two):
    """Moves two cards, each from one holder to another, if that is consistent."""
    if has(hidden.barred[to_one], first) or has(hidden.barred[to_two], second):
        return ZERO
    hands[one] = hands[one] & ~bit(first)
    hands[two] = hands[two] & ~bit(second)
    hands[to_one] = hands[to_one] | bit(first)
    hands[to_two] = hands[to_two] | bit(second)
    return bit(one) | bit(two)


@inline
def draw_trump(row, rules, hidden, hands):
    """Draws the trump of a world if it is still hidden, and sets it in a record.

    Args:
        row: ``GAME`` record, written in place.
        rules: ``RULES`` record.
        hidden: ``HIDDEN`` record.
        hands: uint64 (HOLDERS,), the world.
    """
    if hidden.trump_from < 0:
        return
    cards = rules.pack
    if hidden.trump_from == _TURNED_CARD:
        cards = hands[STOCK]
    elif hidden.trump_from == _DEALER_CARD:
        cards = hands[row.dealer]
    card = nth(cards, below(hidden, count(cards)))
    row.trump_source = hidden.trump_from
    row.trump = card // 13
    row.turned = NO_CARD if hidden.trump_from == _RANDOM_SUIT else card


# ---------------------------------------------------------------------------------- from Python


@entry
def read_all(views, masks, sections, rules, games, hidden, random_bits):
    """Finds the unknowns of some views.

    Args:
        views: int8 (B, L).
        masks: int8 (B, A).
        sections: ``SECTIONS`` row.
        rules: ``RULES`` row.
        games: ``GAME`` rows (B + 1,), written in place; the last one is scratch.
        hidden: ``HIDDEN`` rows (B,), written in place.
        random_bits: uint64 (B,), the seeds of the random streams.
    """
    for index in range(len(views)):
        view_to_row(views[index], masks[index], sections[0], rules[0], games[index])
        read_hidden(games[index], rules[0], games[len(views)], hidden[index])
        seed_stream(hidden[index], random_bits[index], ZERO)


@entry
def draw_all(hidden, rules, worlds):
    """Draws worlds of view 0 (uint64 (N, HOLDERS)), written in place."""
    for index in range(len(worlds)):
        draw_world(hidden[0], rules[0].players, worlds[index])


@entry
def walk_all(hidden, rules, worlds):
    """Draws worlds of view 0 by exchanges alone, the fallback of ``draw_world``."""
    players = rules[0].players
    for index in range(len(worlds)):
        worlds[index][:] = hidden[0].start
        for _ in range(_EXCHANGES * hidden[0].num_unseen):
            exchange(hidden[0], players, worlds[index])
        for seat in range(players):
            worlds[index][seat] = worlds[index][seat] | hidden[0].known[seat]


@entry
def trump_all(hidden, rules, worlds, rows):
    """Sets the trump in some worlds of view 0, drawing it if it is still hidden."""
    for index in range(len(worlds)):
        draw_trump(rows[index], rules[0], hidden[0], worlds[index])
