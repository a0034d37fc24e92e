"""A network's inputs from a seat's view, as lists of the inputs that are not zero.

Except for the trump all suits are alike, so networks never see them by name. Each view is sorted:
trumps come first, then the led suit, then the others from the longest to the shortest in the seat's
own hand. So one deal also teaches about all deals that differ only in the names of the suits.

After the sorted view come *hints*, which a player reads off the cards at a glance. For each card in
hand: whether it beats the trick so far, and how many cards that may still come are higher in its
suit (the dealer's shown last card may come, a card turned from the stock may not). For each seat:
whether it wants more tricks, has just enough, has too many, or needs all that are left.

Nine of ten inputs are zero, so compiled code reads a view into the places and values of the others.
The first layer of a network (``sparse_linear.py``) reads only these.

This module needs torch, so nothing imports it before a network is used.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ohhell_agents.nn.feature_layout import (
    ABSENT,
    READ,
    num_hand_inputs,
    num_hints,
    num_inputs,
    sorted_width,
    tables_of,
)
from ohhell_env.cards import RANKS_PER_SUIT
from ohhell_env.engine.bits import has
from ohhell_env.engine.caching import entry, inline
from ohhell_env.observation import Layout

(
    _HAND,
    _TURNED,
    _WINNING,
    _PACK,
    _PLACE,
    _TRUMP,
    _LED,
    _HAS_BID,
    _NEEDED,
    _HAND_SIZE,
    _TRICK_NUMBER,
) = range(len(READ))
_RANKS = RANKS_PER_SUIT
_WORD = 8


@inline
def _number_of_order(view, tables, keys, order):
    """Finds the order of a view's suits and returns its row in the tables.

    Trump precedes the led suit, which precedes length in hand, which precedes high ranks. Of two
    equal suits, the first one comes first.

    Args:
        view: int8 (L,).
        tables: ``Tables``.
        keys: int64 (suits,), working memory.
        order: int64 (suits,), written in place: the suits in their order.
    """
    starts, suits = tables.starts, tables.suits
    for suit in range(suits):
        key = np.int64(0)
        if view[starts[_TRUMP] + suit] != 0:
            key += 1 << 20
        if view[starts[_LED] + suit] != 0:
            key += 1 << 19
        for card in range(suit * _RANKS, min((suit + 1) * _RANKS, tables.width)):
            if view[starts[_HAND] + card] != 0:
                key += (1 << 14) + (1 << (card - suit * _RANKS))
        place = suit
        while place > 0 and keys[place - 1] < key:
            keys[place], order[place] = keys[place - 1], order[place - 1]
            place -= 1
        keys[place], order[place] = key, suit
    digits, base = np.int64(0), np.int64(1)
    for place in range(suits):
        digits += order[place] * base
        base *= suits
    return tables.number[digits]


@inline
def _find_out(view, tables, from_stock, out):
    """Writes 1 for each card that may still come from another seat, else 0."""
    starts = tables.starts
    hand, place, pack = starts[_HAND], starts[_PLACE], starts[_PACK]
    for card in range(tables.width):
        in_pack = tables.pack[card] if pack == ABSENT else view[pack + card]
        out[card] = (in_pack != 0) & (view[hand + card] == 0) & (view[place + card] == 0)
    if from_stock and starts[_TURNED] != ABSENT:
        for card in range(tables.width):
            out[card] &= view[starts[_TURNED] + card] == 0


@inline
def _read_card_hints(view, tables, order, out, places, values, size):
    """Appends the hints of the cards in hand; returns the new number of inputs."""
    starts, suits = tables.starts, tables.suits
    best = np.int64(-1)
    for card in range(min(tables.width, suits * _RANKS)):
        if view[starts[_WINNING] + card] != 0:
            best = np.int64(card)
    has_trump = view[starts[_TRUMP] + order[0]] != 0
    for place in range(suits):
        first = order[place] * _RANKS
        in_best_suit = first <= best < first + _RANKS
        ruffs = has_trump and place == 0 and best >= 0 and not in_best_suit
        higher = np.int64(0)
        for card in range(min(first + _RANKS, tables.width) - 1, first - 1, -1):
            higher += out[card]
            if view[starts[_HAND] + card] == 0:
                continue
            hint = tables.hints + place * _RANKS + card - first
            if ruffs or (in_best_suit and card > best):
                places[size], values[size] = hint, np.float32(1.0)
                size += 1
            if higher > 0:
                places[size] = hint + suits * _RANKS
                values[size] = np.float32(higher) / np.float32(4.0)
                size += 1
    return size


@inline
def _read_wishes(view, tables, places, values, size):
    """Appends the hints of the seats; returns the new number of inputs."""
    starts, seats = tables.starts, tables.seats
    first = tables.hints + 2 * tables.suits * _RANKS
    left = np.int64(view[starts[_HAND_SIZE]]) - np.int64(view[starts[_TRICK_NUMBER]])
    for seat in range(seats):
        known = view[starts[_HAS_BID] + seat]
        if known == 0:
            continue
        needed = np.int64(view[starts[_NEEDED] + seat])
        kind = 0 if needed > 0 else (1 if needed == 0 else 2)
        places[size], values[size] = first + kind * seats + seat, np.float32(1.0)
        size += 1
        if needed == left:
            places[size], values[size] = first + 3 * seats + seat, np.float32(1.0)
            size += 1
    return size


@entry
def _read_views(views, tables, dealers_from, places, values, starts, orders):
    """Reads views into lists of inputs; returns their number.

    Args:
        views: int8 (B, L).
        tables: ``Tables``.
        dealers_from: Smallest hand size for which the shown card is the dealer's last.
        places: int32, long enough, written in place: the inputs that are not zero.
        values: float32, as long, written in place: their values.
        starts: int32 (B + 1,), written in place: the start of each view's list, and the end.
        orders: int64 (B,), written in place: row of each view's order of suits.
    """
    keys, order = np.empty(tables.suits, np.int64), np.empty(tables.suits, np.int64)
    out = np.empty(tables.width, np.int8)
    view = np.zeros(len(tables.scale) + _WORD - len(tables.scale) % _WORD, np.int8)
    words = view.view(np.uint64)  # skips eight zeros at a time
    size = 0
    starts[0] = 0
    for index in range(len(views)):
        for place in range(len(tables.scale)):
            view[place] = views[index, place]
        number = _number_of_order(view, tables, keys, order)
        for word in range(len(words)):
            if words[word] == 0:
                continue
            for place in range(_WORD * word, min(_WORD * word + _WORD, len(tables.scale))):
                if view[place] != 0 and tables.scale[place] != 0:
                    places[size] = tables.targets[number, place]
                    values[size] = np.float32(view[place]) * tables.scale[place]
                    size += 1
        from_stock = view[tables.starts[_HAND_SIZE]] < dealers_from
        _find_out(view, tables, from_stock, out)
        size = _read_card_hints(view, tables, order, out, places, values, size)
        size = _read_wishes(view, tables, places, values, size)
        starts[index + 1] = size
        orders[index] = number
    return size


@entry
def _read_hands(hands, cards, suit_width, orders, places, values, starts):
    """Reads hidden hands into lists of inputs; returns their number.

    Args:
        hands: uint64 (B, others), masks.
        cards: int32 (orders, card_width): place of each card in a sorted section.
        suit_width: Length of a sorted section.
        orders: int64 (B,), row of each view's order of suits.
        places: As in ``_read_views``.
        values: As in ``_read_views``.
        starts: As in ``_read_views``.
    """
    size = 0
    starts[0] = 0
    for index in range(len(hands)):
        for other in range(hands.shape[1]):
            for card in range(cards.shape[1]):
                if has(hands[index, other], card):
                    places[size] = other * suit_width + cards[orders[index], card]
                    values[size] = np.float32(1.0)
                    size += 1
        starts[index + 1] = size
    return size


@entry
def _by_place(places, values, starts, firsts, views, sorted_values):
    """Turns lists by view into lists by input.

    Args:
        places: int32 (n,).
        values: float32 (n,).
        starts: int32 (B + 1,).
        firsts: int32 (inputs + 1,) of zeros, written in place: the start of each input's list.
        views: int32 (n,), written in place: the views in which the input is not zero.
        sorted_values: float32 (n,), written in place: its values there.
    """
    for entry_ in range(len(places)):
        firsts[places[entry_] + 1] += 1
    for place in range(len(firsts) - 1):
        firsts[place + 1] += firsts[place]
    next_ = firsts[:-1].copy()
    for view in range(len(starts) - 1):
        for entry_ in range(starts[view], starts[view + 1]):
            target = next_[places[entry_]]
            next_[places[entry_]] = target + 1
            views[target], sorted_values[target] = view, values[entry_]


@dataclass(frozen=True)
class Inputs:
    """The inputs of B views: for each view, a list of the inputs that are not zero."""

    places: Tensor
    """int32 (n,): numbers of the inputs."""
    values: Tensor
    """float32 (n,)."""
    starts: Tensor
    """int32 (B + 1,): the start of each view's list, and the end of the last."""
    orders: Tensor
    """int64 (B,): row of each view's order of suits in a network's tables."""
    width: int
    """Number of inputs, zeros included."""

    def __len__(self) -> int:
        return len(self.orders)

    def dense(self) -> Tensor:
        """Returns the inputs with all zeros, float32 (B, width)."""
        table = torch.zeros(len(self), self.width)
        rows = torch.arange(len(self)).repeat_interleave(self.starts.diff())
        return table.index_put_((rows, self.places.long()), self.values)

    @functools.cached_property
    def by_place(self) -> tuple[Tensor, Tensor, Tensor]:
        """The same by input: views, values, and the start of each input's list."""
        firsts = np.zeros(self.width + 1, np.int32)
        views = np.empty(len(self.places), np.int32)
        values = np.empty(len(self.places), np.float32)
        given = (self.places.numpy(), self.values.numpy(), self.starts.numpy())
        _by_place(*given, firsts, views, values)
        return torch.from_numpy(views), torch.from_numpy(values), torch.from_numpy(firsts)


def read_inputs(layout: Layout, observations: NDArray[np.int8], dealers_from: int) -> Inputs:
    """Returns a network's inputs from some views.

    Args:
        layout: Layout of the observations.
        observations: int8 (B, L).
        dealers_from: Smallest hand size for which the shown card is the dealer's last.
    """
    views, tables = np.ascontiguousarray(observations), tables_of(layout)
    most = np.count_nonzero(views) + len(views) * num_hints(layout)
    places, values = np.empty(most, np.int32), np.empty(most, np.float32)
    starts, orders = np.empty(len(views) + 1, np.int32), np.empty(len(views), np.int64)
    size = _read_views(views, tables, dealers_from, places, values, starts, orders)
    return Inputs(
        torch.from_numpy(places[:size]),
        torch.from_numpy(values[:size]),
        torch.from_numpy(starts),
        torch.from_numpy(orders),
        num_inputs(layout),
    )


def read_hands(layout: Layout, hands: NDArray[np.uint64], orders: Tensor) -> Inputs:
    """Returns hidden hands as inputs: a sorted card section for each of the other seats.

    No player may see them. They are for a critic that sees all hands during training.

    Args:
        layout: Layout of the observations.
        hands: uint64 (B, seats - 1), masks of the other seats' cards, clockwise.
        orders: int64 (B,), of the same views.
    """
    most = int(np.bitwise_count(hands).sum())
    places, values = np.empty(most, np.int32), np.empty(most, np.float32)
    starts, width = np.empty(len(hands) + 1, np.int32), sorted_width(layout)
    cards = tables_of(layout).targets[:, layout.slices()["hand"]]
    size = _read_hands(hands, cards, width, orders.numpy(), places, values, starts)
    return Inputs(
        torch.from_numpy(places[:size]),
        torch.from_numpy(values[:size]),
        torch.from_numpy(starts),
        orders,
        num_hand_inputs(layout),
    )
