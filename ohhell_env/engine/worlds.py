"""Worlds: all that a seat does not know, drawn at random so that it fits what the seat knows.

Every unseen card takes part, those of the stock too. What another seat may hold is read from its
own play: a card that it could not have played with some other card in its hand proves that it does
not hold that card. The engine's own rules of legality decide that, so shown voids and the duties of
every variant (to head the trick, to trump, to overtrump, to hold trumps back) are one case.

Worlds are uniform over all that fit. Seats that may hold every unseen card are dealt to at random.
Where some seats may not, they are dealt to first, the most restricted one before the others, and
the whole is accepted with a chance that evens out how many choices each had: exact again. Where
that fails too often, a world is reached from one that fits by many exchanges of cards.
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
from ohhell_env.engine.rng import below, next_word, seed_stream
from ohhell_env.rules.schedule import TrumpSource

STOCK = MAX_SEATS
"""Place of the undealt cards, behind the seats."""
HOLDERS = MAX_SEATS + 1

FITS, LOOSE, IMPOSSIBLE = 0, 1, 2
"""Whether worlds fit all that was seen; or not the duties shown, only the numbers of cards; or no
world has as many cards as the view says."""

HIDDEN = np.dtype(
    [
        ("unseen", np.uint64),  # cards whose place is not known
        ("num_unseen", np.int64),
        ("known", np.uint64, HOLDERS),  # cards known to be in a hand
        ("need", np.int64, HOLDERS),  # unseen cards that a seat holds
        ("barred", np.uint64, HOLDERS),  # unseen cards that it does not hold
        ("order", np.int64, HOLDERS),  # seats with need, the most restricted first
        ("num_order", np.int64),
        ("narrow", np.int64),  # how many of them are restricted at all
        ("most", np.float64),  # log of the most choices that these can have
        ("start", np.uint64, HOLDERS),  # one division of the unseen cards that fits
        ("old", np.uint64, HOLDERS),  # the hands before the last exchange
        ("state", np.int64),  # FITS, LOOSE or IMPOSSIBLE
        ("trump_from", np.int64),  # TrumpSource of a trump that is not revealed yet; -1: it is
        ("stream", np.uint64),  # random stream, see engine/rng.py
        ("stream_step", np.uint64),
    ],
    align=True,
)

_TRIES = 64
"""Worlds that may be rejected in a row before exchanges of cards take over."""
_EXCHANGES = 8
"""Exchanges for each unseen card, until a world counts as drawn at random."""
_LOG_FACTORIAL = np.array([math.lgamma(n + 1.0) for n in range(65)])
_UNIT = 2.0**-53
_ELEVEN = np.uint64(11)
_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_TURNED_CARD = int(TrumpSource.TURNED_CARD)
_DEALER_CARD = int(TrumpSource.DEALER_CARD)
_RANDOM_SUIT = int(TrumpSource.RANDOM_SUIT)


@inline
def uniform(stream):
    """Returns a number from 0 to 1, 1 excluded, from a record's random stream."""
    return np.float64(next_word(stream) >> _ELEVEN) * _UNIT


# ------------------------------------------------------------------- what a view leaves open


@inner
def read_hidden(row, rules, scratch, hidden):
    """Notes what a seat does not know and what may be there.

    Args:
        row: ``GAME`` record of a view (``view_to_row``): what the seat does not see is empty.
        rules: ``RULES`` record.
        scratch: ``GAME`` record, overwritten.
        hidden: ``HIDDEN`` record, written in place, its random stream apart.
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
    """Plays the deal once more and bars, at each card, what would have made it illegal."""
    order = np.full(65, NO_CARD, np.int64)
    for card in range(64):
        if row.place[card] > 0:
            order[row.place[card]] = card
    _rewind_play(row, rules, order[1], scratch)
    for place in range(1, np.int64(row.plays) + 1):
        card, seat = order[place], np.int64(scratch.seat)
        if card == NO_CARD or seat == NOBODY or not has(scratch.hands[seat], card):
            hidden.state = LOOSE  # no such play can have been
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
    """Sets a record to the first lead, each hand being the cards that were played from it."""
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
    """Bars the unseen cards with which in hand the card could not have been played now."""
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
    """Returns whether a card or chance decides a trump, so that it can be kept from the players."""
    return source in (_TURNED_CARD, _DEALER_CARD, _RANDOM_SUIT)


@inline
def planned_source(row, rules):
    """Returns the ``TrumpSource`` by card or chance of deals of this hand size, or -1."""
    for place in range(CHOSEN_PLAN + 1):
        planned = place < rules.num_plans or place == CHOSEN_PLAN
        source = np.int64(rules.plan_trump[place])
        if planned and by_chance(source) and rules.plan_size[place] == row.hand_size:
            return source
    return np.int64(-1)


@inline
def _trump_from(row, rules):
    """Returns where a trump comes from that is not revealed yet, or -1 if the trump is known."""
    if row.phase != _BID or not rules.trump_late or row.trump_source != _RANDOM_SUIT:
        return np.int64(-1)
    source = planned_source(row, rules)
    return source if source >= 0 else np.int64(_RANDOM_SUIT)


# ------------------------------------------------------------------------ one world that fits


@inline
def _arrange(hidden, players):
    """Orders the seats, finds one world that fits and the bound of choices; False: none fits."""
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
    """Returns how many cards more a seat may hold than it does; huge without a restriction."""
    if hidden.barred[seat] == ZERO:
        return np.int64(1000)
    return count(hidden.unseen & ~hidden.barred[seat]) - hidden.need[seat]


@inline
def _insert(hidden, seat):
    """Puts a seat in its place in the order."""
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
    """Gives a seat one more card in ``start``, others passing cards on where need be.

    A search in breadth over the seats that would each take a card from the next one, as in any
    bipartite matching; False: no card can be had.
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
    """Gives a card to a seat, its own card to the seat that it gives to, and so on to the last."""
    hidden.start[taker] = hidden.start[taker] | bit(card)
    while taker != last:
        passed = bit(gives[taker])
        hidden.start[taker] = hidden.start[taker] & ~passed
        taker = giver_to[taker]
        hidden.start[taker] = hidden.start[taker] | passed


@inline
def _choices(cards, size):
    """Returns the log of the number of ways to choose so many of some cards."""
    return _LOG_FACTORIAL[cards] - _LOG_FACTORIAL[size] - _LOG_FACTORIAL[cards - size]


@inline
def _bound(hidden):
    """Notes the log of the most choices that the restricted seats can have, dealt to in order."""
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
    """Draws a world, each that fits equally likely.

    Args:
        hidden: ``HIDDEN`` record, not ``IMPOSSIBLE``; its random stream goes on.
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
    """Deals the unseen cards; False if a restricted seat cannot be dealt to, or by rejection."""
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
    """Exchanges unseen cards between two or three holders if that fits; ``old`` keeps the hands.

    A step of a random walk over all worlds that fit: each step is as likely as its reverse. Three
    holders take part now and then, for there are worlds that no exchange between two connects.

    Args:
        hidden: ``HIDDEN`` record.
        players: Number of players.
        hands: uint64 (HOLDERS,), a world that fits, changed in place.

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
    """Moves a card from each of three holders to the next one, if that fits."""
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
    """Moves two cards, each from a holder to another, if that fits."""
    if has(hidden.barred[to_one], first) or has(hidden.barred[to_two], second):
        return ZERO
    hands[one] = hands[one] & ~bit(first)
    hands[two] = hands[two] & ~bit(second)
    hands[to_one] = hands[to_one] | bit(first)
    hands[to_two] = hands[to_two] | bit(second)
    return bit(one) | bit(two)


@inline
def draw_trump(row, rules, hidden, hands):
    """Draws the trump of a world in which it is not revealed yet, and sets it in a record.

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
def read_all(views, masks, sections, rules, games, hidden, words):
    """Reads views: what each leaves open.

    Args:
        views: int8 (B, L).
        masks: int8 (B, A).
        sections: ``SECTIONS`` row.
        rules: ``RULES`` row.
        games: ``GAME`` rows (B + 1,), written in place; the last one is scratch.
        hidden: ``HIDDEN`` rows (B,), written in place.
        words: uint64 (B,), they start the random streams.
    """
    for index in range(len(views)):
        view_to_row(views[index], masks[index], sections[0], rules[0], games[index])
        read_hidden(games[index], rules[0], games[len(views)], hidden[index])
        seed_stream(hidden[index], words[index], ZERO)


@entry
def draw_all(hidden, rules, worlds):
    """Draws worlds of view 0 (uint64 (N, HOLDERS)), written in place."""
    for index in range(len(worlds)):
        draw_world(hidden[0], rules[0].players, worlds[index])


@entry
def walk_all(hidden, rules, worlds):
    """Fills worlds of view 0 by exchanges alone, from ``start`` on, as ``draw_world`` at need."""
    players = rules[0].players
    for index in range(len(worlds)):
        worlds[index][:] = hidden[0].start
        for _ in range(_EXCHANGES * hidden[0].num_unseen):
            exchange(hidden[0], players, worlds[index])
        for seat in range(players):
            worlds[index][seat] = worlds[index][seat] | hidden[0].known[seat]


@entry
def trump_all(hidden, rules, worlds, rows):
    """Sets the trump of each of some worlds of view 0, as drawn where it is not revealed yet."""
    for index in range(len(worlds)):
        draw_trump(rows[index], rules[0], hidden[0], worlds[index])
