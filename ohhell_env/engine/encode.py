"""The observation writer: one for every door, from a table's record to int8 values.

Where each section starts stands in a ``SECTIONS`` record that ``ohhell_env.observation`` makes from
its section table; nothing here knows an offset. A seat's view holds all that the seat may know and
nothing else; seats count from the observer on, clockwise.

Sections are written in ascending order, card sections 64 bytes at a time, the others 8 (a byte per
seat or value): what is written past the end of one is overwritten by the next, and what is written
past the end of a table's row by the next table. So rows are written in ascending order, too, and a
buffer has ``MARGIN`` bytes to spare behind the last one.
"""

from __future__ import annotations

import numpy as np

from ohhell_env.engine.bits import ONE, ZERO, bit, copy64, get8, has, put8, spread
from ohhell_env.engine.caching import inline
from ohhell_env.engine.kernel import trump_known
from ohhell_env.engine.layout import BID_BASE, NO_CARD, NO_TRUMP, Phase

CARD_SECTIONS = ("hand", "turned", "winning_card", "pack", "trick", "place", "open_cards", "played")
"""Sections with one value per card (``played``: per seat and card), in the order of writing."""
SMALL_SECTIONS = (
    "phase",
    "blind",
    "trump",
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
    "scores",
    "deal",
    "deals_left",
    "rules",
)
"""Sections of few values, in the order of writing."""
ABSENT = -1
"""Start of a section that a layout leaves out."""
MARGIN = 64
"""Bytes that the writer may touch behind a row that it writes."""
PAIR = 16
"""Numbers that outgrow int8 are written as the pair (a, b) of ``16 * a + b``."""
_PAIR_MIN, _PAIR_MAX = -128 * PAIR, 128 * PAIR - 1

SECTIONS = np.dtype(
    [(name, np.int64) for name in (*CARD_SECTIONS, *SMALL_SECTIONS)]
    + [
        ("card_width", np.int64),  # values per card section
        ("num_suits", np.int64),
        ("small_start", np.int64),  # first value behind the card sections
        ("length", np.int64),  # values of an observation
        ("num_actions", np.int64),  # values of an action mask
    ]
)

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
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
        base: Where the mask starts.
        acting: Whether the seat that asks is the one to act.
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
        sections: A ``SECTIONS`` record.
        seat: The seat that looks.
        buffer: int8, ``MARGIN`` bytes longer than its rows, written in place.
        base: Where the observation starts.
    """
    _write_cards(row, rules, sections, seat, buffer, base)
    _write_deal(row, rules, sections, seat, buffer, base)
    _write_seats(row, rules, sections, seat, buffer, base)
    _write_counts(row, rules, sections, buffer, base)
    _write_scores(row, rules, sections, seat, buffer, base)
    _write_game(row, rules, sections, buffer, base)


@inline
def _write_cards(row, rules, sections, seat, buffer, base):
    hidden = row.blind and row.phase == _BID
    spread(buffer, base + sections.hand, ZERO if hidden else row.hands[seat])
    if sections.turned != ABSENT:
        shown = row.turned != NO_CARD and trump_known(row, rules)
        spread(buffer, base + sections.turned, bit(row.turned) if shown else ZERO)
    best = row.best_card
    spread(buffer, base + sections.winning_card, bit(best) if best != NO_CARD else ZERO)
    if sections.pack != ABSENT:
        spread(buffer, base + sections.pack, rules.pack)
    _write_trick(row, buffer, base + sections.trick)
    copy64(buffer, base + sections.place, row.place)
    if sections.open_cards != ABSENT:
        _write_open_cards(row, rules, seat, buffer, base + sections.open_cards)
    start = base + sections.played
    holder = np.int64(seat)
    for _ in range(rules.players):
        spread(buffer, start, row.played[holder])
        start += sections.card_width
        holder = holder + 1 if holder + 1 < rules.players else 0
    while start < base + sections.small_start:  # seats that this table does not have
        spread(buffer, start, ZERO)
        start += sections.card_width


@inline
def _write_trick(row, buffer, start):
    spread(buffer, start, ZERO)
    for place in range(row.trick_size):
        buffer[start + row.trick[place]] = place + 1


@inline
def _write_open_cards(row, rules, seat, buffer, start):
    """In the bidding of a blind deal: each card that others hold, with its holder's place."""
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
    """Turns a word of one byte per seat so that the observer comes first; no other bytes stay."""
    word = word & (_ALL >> np.uint64(64 - 8 * players))
    own_first = word >> np.uint64(8 * seat)
    others = (word << np.uint64(8 * (players - seat - 1))) << _EIGHT
    return (own_first | others) & (_ALL >> np.uint64(64 - 8 * players))


@inline
def _write_deal(row, rules, sections, seat, buffer, base):
    phase, players = np.int64(row.phase), rules.players
    put8(buffer, base + sections.phase, _flag(min(phase, 2)))
    if sections.blind != ABSENT:
        put8(buffer, base + sections.blind, np.uint64(row.blind))
    trump = ZERO
    if trump_known(row, rules):
        trump = _flag(sections.num_suits if row.trump == NO_TRUMP else np.int64(row.trump))
    put8(buffer, base + sections.trump, trump)
    led, leader, winning = ZERO, ZERO, ZERO
    if phase == _PLAY:
        leader = _seat_flag(seat, row.leader, players)
        if row.trick_size > 0:
            led = _flag(np.int64(row.led_suit))
            winning = _seat_flag(seat, row.best_seat, players)
    put8(buffer, base + sections.led_suit, led)
    put8(buffer, base + sections.dealer, _seat_flag(seat, row.dealer, players))
    put8(buffer, base + sections.leader, leader)
    put8(buffer, base + sections.winning_seat, winning)


@inline
def _write_seats(row, rules, sections, seat, buffer, base):
    players = rules.players
    _write_voids(_from_observer(get8(row.voids), seat, players), sections, buffer, base)
    bids = _from_observer(get8(row.bids), seat, players)
    won = _from_observer(get8(row.tricks_won), seat, players)
    known = _from_observer((~get8(row.bids) >> _SEVEN) & _ONES, seat, players)
    if rules.simultaneous and row.phase == _BID:
        known = known & ONE  # nobody sees another's bid before all have bid
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
def _write_counts(row, rules, sections, buffer, base):
    put8(buffer, base + sections.hand_size, np.uint64(row.hand_size))
    put8(buffer, base + sections.trick_number, np.uint64(row.trick_number))
    balance = np.int64(0)
    if row.phase != _BID or not rules.simultaneous:
        balance = np.int64(row.bid_sum) - np.int64(row.hand_size)
    put8(buffer, base + sections.bid_balance, np.uint64(balance & 255))


@inline
def _pair(value):
    """Returns a number's pair as two bytes of a word."""
    value = min(max(np.int64(value), _PAIR_MIN), _PAIR_MAX)
    return np.uint64((value >> 4) & 255 | (value & 15) << 8)


@inline
def _write_scores(row, rules, sections, seat, buffer, base):
    start, end = base + sections.scores, base + sections.deal
    other = np.int64(seat)
    for _ in range(rules.players):
        put8(buffer, start, _pair(row.scores[other]))
        other = other + 1 if other + 1 < rules.players else 0
        start += 2
    while start < end:  # seats that this table does not have
        put8(buffer, start, ZERO)
        start += 2


@inline
def _write_game(row, rules, sections, buffer, base):
    deal = np.int64(row.deal)
    put8(buffer, base + sections.deal, _pair(deal))
    put8(buffer, base + sections.deals_left, _pair(max(rules.max_deals - deal - 1, 0)))
    if sections.rules != ABSENT:
        copy64(buffer, base + sections.rules, rules.features)


def new_buffer(rows: int, length: int) -> np.ndarray:
    """Returns a zeroed flat int8 buffer for some rows, with the writer's margin behind them."""
    return np.zeros(rows * length + MARGIN, np.int8)
