"""Writes observations and states as int8 values from a table's record.

A ``SECTIONS`` record, which ``ohhell_env.observation`` builds from its section table, has the start
of each section; this module has no fixed offsets. A seat's view holds everything that the seat may
know and nothing else; its seats count clockwise from the observer. A state also holds everything
hidden, for a referee or a critic in training; its seats count from the dealer's left.

Sections are written in ascending order: card sections 64 bytes at a time, the others 8 (a byte per
seat or value). The next section overwrites any excess bytes, and the next table those past the end
of a row. So rows are also written in ascending order, and a buffer has ``MARGIN`` spare bytes after
the last one.
"""

from __future__ import annotations

import numpy as np

from ohhell_env.engine.bits import ONE, ZERO, bit, copy64, get8, has, put8, spread
from ohhell_env.engine.caching import inline
from ohhell_env.engine.kernel import following, trump_known
from ohhell_env.engine.layout import BID_BASE, NO_BID, NO_CARD, NO_TRUMP, NOBODY, TIE_BREAKS, Phase
from ohhell_env.engine.shown_rules import BLOCK, POINT_ROWS, WIDE_PAIR

CARD_SECTIONS = ("hand", "turned", "winning_card", "pack", "trick", "place", "open_cards", "played")
"""Sections with one value per card (``played``: per seat and card), in the order of writing."""
SMALL_SECTIONS = (
    "phase",
    "blind",
    "trump",
    "trump_source",
    "led_suit",
    "dealer",
    "leader",
    "winning_seat",
    "voids",
    "has_bid",
    "bids",
    "tricks_won",
    "needed",
    "hand_size",
    "trick_number",
    "bid_balance",
    "zero_streak",
    "scores",
    "tie_values",
    "deal",
    "deals_left",
    "extra_deals",
    "deals_ahead",
    "points",
    "rules",
)
"""Sections of few values, in the order of writing."""
STATE_CARD_SECTIONS = (
    "hands",
    "stock",
    "turned",
    "winning_card",
    "pack",
    "trick",
    "place",
    "played",
)
"""Sections of a state with one value per card (``hands``, ``played``: per seat and card)."""
STATE_SMALL_SECTIONS = (
    "phase",
    "blind",
    "trump",
    "trump_hidden",
    "trump_source",
    "led_suit",
    "actor",
    *SMALL_SECTIONS[SMALL_SECTIONS.index("leader") : SMALL_SECTIONS.index("points")],
    "rules",
)
"""Sections of a state of few values, in the order of writing."""
ABSENT = -1
"""Start of a section that a layout leaves out."""
MARGIN = 64
"""Bytes that the writer may overwrite after a row."""
PAIR = 16
"""Numbers too large for int8 are written as the pair (a, b) of ``16 * a + b``."""
_PAIR_MIN, _PAIR_MAX = -128 * PAIR, 128 * PAIR - 1

_NAMES = (*CARD_SECTIONS, *SMALL_SECTIONS, *STATE_CARD_SECTIONS, *STATE_SMALL_SECTIONS)
SECTIONS = np.dtype(
    [(name, np.int64) for name in dict.fromkeys(_NAMES)]
    + [
        ("card_width", np.int64),  # values per card section
        ("num_suits", np.int64),
        ("num_seats", np.int64),  # number of seats with room
        ("small_start", np.int64),  # first value after the card sections
        ("length", np.int64),  # values of an observation or state
        ("num_actions", np.int64),  # values of an action mask
    ]
)

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_MOST_EXACT = TIE_BREAKS.index("most_exact_bids")
_BID_TOTAL = TIE_BREAKS.index("largest_bid_total")
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_BYTE = np.uint64(0xFF)
_ONES = np.uint64(0x0101010101010101)
_SIGNS = np.uint64(0x8080808080808080)
_SPREAD_4, _ONES_4 = np.uint64(0x00204081), np.uint64(0x01010101)
_SEVEN, _EIGHT = np.uint64(7), np.uint64(8)


@inline
def write_mask(row, buffer, base, acting):
    """Writes the action mask: 64 bytes for the cards, then the bids; all zero if not acting.

    Args:
        row: A table.
        buffer: int8, ``MARGIN`` bytes longer than its rows, written in place.
        base: Start of the mask.
        acting: Whether the observing seat is to act.
    """
    cards = row.legal if acting and row.phase == _PLAY else ZERO
    bids = row.legal if acting and row.phase == _BID else ZERO
    spread(buffer, base, cards)
    spread(buffer, base + BID_BASE, bids)


@inline
def write_observation(row, rules, sections, seat, buffer, base):
    """Writes a seat's view of a table.

    Args:
        row: A table.
        rules: Its rules record.
        sections: A ``SECTIONS`` record of an observation.
        seat: The observing seat.
        buffer: int8, ``MARGIN`` bytes longer than its rows, written in place.
        base: Start of the observation.
    """
    hidden = row.blind and row.phase == _BID
    spread(buffer, base + sections.hand, ZERO if hidden else row.hands[seat])
    known = trump_known(row, rules)
    _write_table(row, rules, sections, seat, known, buffer, base)
    _write_deal(row, sections, known, buffer, base)
    if sections.trump_source != ABSENT:
        put8(buffer, base + sections.trump_source, _flag(np.int64(row.trump_source)))
    put8(buffer, base + sections.led_suit, _led_suit(row))
    put8(buffer, base + sections.dealer, _seat_flag(seat, row.dealer, rules.players))
    secret = rules.simultaneous and row.phase == _BID  # bids stay hidden until all are made
    _write_seats(row, rules, sections, seat, secret, buffer, base)
    _write_counts(row, sections, secret, buffer, base)
    _write_game(row, rules, sections, seat, buffer, base)
    if sections.points != ABSENT:
        bid = np.int64(row.bids[seat])
        block = np.int64(row.hand_size) * POINT_ROWS + (POINT_ROWS - 1 if bid == NO_BID else bid)
        copy64(buffer, base + sections.points, rules.point_rows, block * BLOCK)
    _write_rules(rules, sections, buffer, base)


@inline
def write_state(row, rules, sections, buffer, base):
    """Writes full information about a table; seats count from the dealer's left.

    Args:
        row: A table.
        rules: Its rules record.
        sections: A ``SECTIONS`` record of a state.
        buffer: int8, ``MARGIN`` bytes longer than its rows, written in place.
        base: Start of the state.
    """
    eldest = following(np.int64(row.dealer), rules.players)
    stock = rules.pack
    for seat in range(rules.players):
        stock = stock & ~(row.hands[seat] | row.played[seat])
    if row.turned != NO_CARD:
        stock = stock & ~bit(row.turned)
    _write_by_seat(row.hands, rules, sections, eldest, buffer, base + sections.hands)
    spread(buffer, base + sections.stock, stock)
    _write_table(row, rules, sections, eldest, True, buffer, base)
    _write_deal(row, sections, True, buffer, base)
    if sections.trump_hidden != ABSENT:
        put8(buffer, base + sections.trump_hidden, ZERO if trump_known(row, rules) else ONE)
    if sections.trump_source != ABSENT:
        put8(buffer, base + sections.trump_source, _flag(np.int64(row.trump_source)))
    put8(buffer, base + sections.led_suit, _led_suit(row))
    actor = ZERO if row.seat == NOBODY else _seat_flag(eldest, row.seat, rules.players)
    put8(buffer, base + sections.actor, actor)
    _write_seats(row, rules, sections, eldest, False, buffer, base)
    _write_counts(row, sections, False, buffer, base)
    _write_game(row, rules, sections, eldest, buffer, base)
    _write_rules(rules, sections, buffer, base)


@inline
def _write_table(row, rules, sections, seat, trump_shown, buffer, base):
    """Writes the sections of visible cards; seats count from ``seat``."""
    if sections.turned != ABSENT:
        shown = row.turned != NO_CARD and trump_shown
        spread(buffer, base + sections.turned, bit(row.turned) if shown else ZERO)
    best = row.best_card
    spread(buffer, base + sections.winning_card, bit(best) if best != NO_CARD else ZERO)
    if sections.pack != ABSENT:
        spread(buffer, base + sections.pack, rules.pack)
    _write_trick(row, buffer, base + sections.trick)
    copy64(buffer, base + sections.place, row.place, 0)
    if sections.open_cards != ABSENT:
        _write_open_cards(row, rules, seat, buffer, base + sections.open_cards)
    _write_by_seat(row.played, rules, sections, seat, buffer, base + sections.played)


@inline
def _write_by_seat(cards, rules, sections, seat, buffer, start):
    """Writes a section of cards for each seat, starting with ``seat``."""
    end = start + sections.num_seats * sections.card_width
    holder = np.int64(seat)
    for _ in range(rules.players):
        spread(buffer, start, cards[holder])
        start += sections.card_width
        holder = holder + 1 if holder + 1 < rules.players else 0
    while start < end:  # unused seats
        spread(buffer, start, ZERO)
        start += sections.card_width


@inline
def _write_trick(row, buffer, start):
    spread(buffer, start, ZERO)
    for place in range(row.trick_size):
        buffer[start + row.trick[place]] = place + 1


@inline
def _write_open_cards(row, rules, seat, buffer, start):
    """Writes each card of the other seats with its holder, in the bidding of a blind deal."""
    spread(buffer, start, ZERO)
    if row.blind and row.phase == _BID:
        for distance in range(1, rules.players):
            hand = row.hands[(seat + distance) % rules.players]
            for card in range(64):
                if has(hand, card):
                    buffer[start + card] = distance


@inline
def _flag(place):
    """Returns a word whose byte at ``place`` is 1."""
    return ONE << np.uint64(8 * place)


@inline
def _seat_flag(seat, other, players):
    """Returns a word whose byte at a seat's distance from the observer is 1."""
    away = np.int64(other) - np.int64(seat)
    return _flag(away if away >= 0 else away + players)


@inline
def _from_observer(word, seat, players):
    """Rotates a word of one byte per seat so that the observer comes first; clears the rest."""
    word = word & (_ALL >> np.uint64(64 - 8 * players))
    own_first = word >> np.uint64(8 * seat)
    others = (word << np.uint64(8 * (players - seat - 1))) << _EIGHT
    return (own_first | others) & (_ALL >> np.uint64(64 - 8 * players))


@inline
def _write_deal(row, sections, trump_shown, buffer, base):
    phase = np.int64(row.phase)
    put8(buffer, base + sections.phase, _flag(min(phase, 2)))
    if sections.blind != ABSENT:
        put8(buffer, base + sections.blind, np.uint64(row.blind))
    trump = ZERO
    if trump_shown:
        trump = _flag(sections.num_suits if row.trump == NO_TRUMP else np.int64(row.trump))
    put8(buffer, base + sections.trump, trump)


@inline
def _led_suit(row):
    """Returns a word whose byte at the led suit is 1; 0 before a card is led."""
    led = row.phase == _PLAY and row.trick_size > 0
    return _flag(np.int64(row.led_suit)) if led else ZERO


@inline
def _write_seats(row, rules, sections, seat, secret, buffer, base):
    """Writes each seat's voids, bid and tricks; of secret bids only the observer's own."""
    players = rules.players
    leader, winning = ZERO, ZERO
    if row.phase == _PLAY:
        leader = _seat_flag(seat, row.leader, players)
        if row.trick_size > 0:
            winning = _seat_flag(seat, row.best_seat, players)
    put8(buffer, base + sections.leader, leader)
    put8(buffer, base + sections.winning_seat, winning)
    _write_voids(_from_observer(get8(row.voids), seat, players), sections, buffer, base)
    bids = _from_observer(get8(row.bids), seat, players)
    won = _from_observer(get8(row.tricks_won), seat, players)
    known = _from_observer((~get8(row.bids) >> _SEVEN) & _ONES, seat, players)
    if secret:
        known = known & ONE
    shown = known * _BYTE
    put8(buffer, base + sections.has_bid, known)
    put8(buffer, base + sections.bids, bids & shown)
    put8(buffer, base + sections.tricks_won, won)
    # bids - won in each byte, without borrowing from the next
    needed = ((bids | _SIGNS) - (won & ~_SIGNS)) ^ ((bids ^ ~won) & _SIGNS)
    put8(buffer, base + sections.needed, needed & shown)


@inline
def _write_voids(voids, sections, buffer, base):
    """Writes a byte per seat and suit from a word of one byte of suit bits per seat."""
    start = base + sections.voids
    end = base + sections.has_bid
    while start < end:
        suits = (voids & _BYTE) * _SPREAD_4 & _ONES_4  # four bits to four bytes
        put8(buffer, start, suits)
        voids = voids >> _EIGHT
        start += sections.num_suits


@inline
def _write_counts(row, sections, secret, buffer, base):
    put8(buffer, base + sections.hand_size, np.uint64(row.hand_size))
    put8(buffer, base + sections.trick_number, np.uint64(row.trick_number))
    balance = np.int64(0)
    if not secret:
        balance = np.int64(row.bid_sum) - np.int64(row.hand_size)
    put8(buffer, base + sections.bid_balance, np.uint64(balance & 255))


@inline
def _pair(value):
    """Returns a number's pair as two bytes of a word."""
    value = min(max(np.int64(value), _PAIR_MIN), _PAIR_MAX)
    return np.uint64((value >> 4) & 255 | (value & 15) << 8)


@inline
def _wide_pair(value):
    """Returns the wide pair of a non-negative number as two bytes of a word."""
    value = min(np.int64(value), WIDE_PAIR * WIDE_PAIR - 1)
    return np.uint64(value // WIDE_PAIR | value % WIDE_PAIR << 8)


@inline
def _write_scores(row, rules, sections, seat, buffer, base):
    start = base + sections.scores
    end = start + 2 * sections.num_seats
    other = np.int64(seat)
    for _ in range(rules.players):
        put8(buffer, start, _pair(row.scores[other]))
        other = other + 1 if other + 1 < rules.players else 0
        start += 2
    while start < end:  # unused seats
        put8(buffer, start, ZERO)
        start += 2


@inline
def _write_tie_values(row, rules, sections, seat, buffer, base):
    """Writes the values that break a tie at the end, if the rules count any."""
    start = base + sections.tie_values
    end = start + 2 * sections.num_seats
    if rules.tie_break == _MOST_EXACT or rules.tie_break == _BID_TOTAL:
        other = np.int64(seat)
        for _ in range(rules.players):
            exact = rules.tie_break == _MOST_EXACT
            value = np.int64(row.exact_bids[other] if exact else row.bid_totals[other])
            put8(buffer, start, _wide_pair(value))
            other = other + 1 if other + 1 < rules.players else 0
            start += 2
    while start < end:
        put8(buffer, start, ZERO)
        start += 8


@inline
def _write_game(row, rules, sections, seat, buffer, base):
    """Writes the state of the game; seats count from ``seat``."""
    if sections.zero_streak != ABSENT:
        put8(buffer, base + sections.zero_streak, ZERO)
    _write_scores(row, rules, sections, seat, buffer, base)
    if sections.tie_values != ABSENT:
        _write_tie_values(row, rules, sections, seat, buffer, base)
    deal = np.int64(row.deal)
    put8(buffer, base + sections.deal, _pair(deal))
    put8(buffer, base + sections.deals_left, _pair(max(rules.max_deals - deal - 1, 0)))
    if sections.extra_deals != ABSENT:
        put8(buffer, base + sections.extra_deals, np.uint64(row.extra))
    if sections.deals_ahead != ABSENT:
        copy64(buffer, base + sections.deals_ahead, rules.deals_ahead, np.int64(row.plan) * BLOCK)


@inline
def _write_rules(rules, sections, buffer, base):
    if sections.rules != ABSENT:
        copy64(buffer, base + sections.rules, rules.features, 0)
        copy64(buffer, base + sections.rules + BLOCK, rules.features, BLOCK)


def new_buffer(rows: int, length: int) -> np.ndarray:
    """Returns a zeroed flat int8 buffer for some rows, plus the writer's margin."""
    return np.zeros(rows * length + MARGIN, np.int8)
