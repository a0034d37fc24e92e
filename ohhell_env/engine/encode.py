"""The observation writer: one for every door, from a table's record to int8 values.

Where each section starts stands in a ``SECTIONS`` record that ``ohhell_env.observation`` makes from
its section table; nothing here knows an offset. A seat's view holds all that the seat may know and
nothing else; seats count from the observer on, clockwise.

Card sections are written first, ascending, 64 bytes at a time: what is written past the end of one
is overwritten by the next. Buffers therefore have ``MARGIN`` bytes to spare behind each row.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_env.engine.bits import ZERO, bit, copy64, has, inline, spread
from ohhell_env.engine.kernel import trump_known
from ohhell_env.engine.layout import BID_BASE, NO_BID, NO_CARD, NO_TRUMP, NOBODY, Phase

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
"""Bytes that the writer may touch behind a row."""
PAIR = 16
"""Numbers that outgrow int8 are written as the pair (a, b) of ``16 * a + b``."""
_PAIR_MIN, _PAIR_MAX = -128 * PAIR, 128 * PAIR - 1

SECTIONS = np.dtype(
    [(name, np.int64) for name in (*CARD_SECTIONS, *SMALL_SECTIONS)]
    + [
        ("card_width", np.int64),  # values per card section
        ("num_suits", np.int64),
        ("small_start", np.int64),  # first value behind the card sections
        ("length", np.int64),
        ("stride", np.int64),  # bytes from one row to the next
        ("mask_stride", np.int64),
    ]
)

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)


@inline
def write_mask(row, buffer, base, acting):
    """Writes the action mask: 64 bytes for the cards, then the bids; all zero if not acting.

    Args:
        row: A table.
        buffer: int8 (at least ``base + 124``,), written in place.
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
        buffer: int8 (at least ``base + length + MARGIN``,), written in place.
        base: Where the observation starts.
    """
    _write_cards(row, rules, sections, seat, buffer, base)
    for start in range(base + sections.small_start, base + sections.length, 64):
        spread(buffer, start, ZERO)
    _write_deal(row, rules, sections, seat, buffer, base)
    _write_seats(row, rules, sections, seat, buffer, base)
    _write_game(row, rules, sections, seat, buffer, base)


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
def _distance(seat, other, players):
    """Returns how far a seat sits clockwise from the observer."""
    away = np.int64(other) - np.int64(seat)
    return away if away >= 0 else away + players


@inline
def _write_deal(row, rules, sections, seat, buffer, base):
    phase = np.int64(row.phase)
    buffer[base + sections.phase + min(phase, 2)] = 1
    if trump_known(row, rules):
        suit = np.int64(row.trump)
        buffer[base + sections.trump + (sections.num_suits if suit == NO_TRUMP else suit)] = 1
    players = rules.players
    buffer[base + sections.dealer + _distance(seat, row.dealer, players)] = 1
    if phase == _PLAY:
        buffer[base + sections.leader + _distance(seat, row.leader, players)] = 1
        if row.best_seat != NOBODY:
            buffer[base + sections.led_suit + row.led_suit] = 1
            buffer[base + sections.winning_seat + _distance(seat, row.best_seat, players)] = 1
    if sections.blind != ABSENT:
        buffer[base + sections.blind] = row.blind
    buffer[base + sections.hand_size] = row.hand_size
    buffer[base + sections.trick_number] = row.trick_number
    if phase != _BID or not rules.simultaneous:
        buffer[base + sections.bid_balance] = row.bid_sum - row.hand_size


@inline
def _write_seats(row, rules, sections, seat, buffer, base):
    secret = rules.simultaneous and row.phase == _BID
    other = np.int64(seat)
    for distance in range(rules.players):
        bid, won = np.int64(row.bids[other]), np.int64(row.tricks_won[other])
        if bid != NO_BID and (distance == 0 or not secret):
            buffer[base + sections.has_bid + distance] = 1
            buffer[base + sections.bids + distance] = bid
            buffer[base + sections.needed + distance] = bid - won
        buffer[base + sections.tricks_won + distance] = won
        _write_voids(row.voids[other], sections, distance, buffer, base)
        _write_pair(row.scores[other], buffer, base + sections.scores + 2 * distance)
        other = other + 1 if other + 1 < rules.players else 0


@inline
def _write_voids(voids, sections, distance, buffer, base):
    start = base + sections.voids + distance * sections.num_suits
    for suit in range(sections.num_suits):
        buffer[start + suit] = (voids >> suit) & 1


@inline
def _write_pair(value, buffer, start):
    value = min(max(np.int64(value), _PAIR_MIN), _PAIR_MAX)
    buffer[start] = value >> 4
    buffer[start + 1] = value & (PAIR - 1)


@inline
def _write_game(row, rules, sections, seat, buffer, base):
    deal = np.int64(row.deal)
    _write_pair(deal, buffer, base + sections.deal)
    _write_pair(max(rules.max_deals - deal - 1, 0), buffer, base + sections.deals_left)
    if sections.rules != ABSENT:
        copy64(buffer, base + sections.rules, rules.features)


def new_buffer(rows: int, stride: int) -> np.ndarray:
    """Returns a zeroed flat int8 buffer of ``rows`` rows with room for the writer's margin."""
    return np.zeros(rows * stride + MARGIN, np.int8)
