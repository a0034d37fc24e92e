"""The place of each value of a seat's view among a network's inputs; see ``features.py``.

The tables made here have a row for every order of the suits: the input for each value of the view,
and the place of each action among the sorted actions.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ohhell_env.cards import NUM_CARD_CODES, RANKS_PER_SUIT
from ohhell_env.engine.encode import CARD_SECTIONS
from ohhell_env.observation import Layout

INPUTS = "sorted-suits-2"
"""Name of the arrangement of inputs, for checkpoints; a new arrangement needs a new name."""

_COUNTS = ("bids", "tricks_won", "needed", "hand_size", "trick_number", "bid_balance")
"""Sections that count tricks."""
_NOT_READ = ("scores", "tie_values", "deal", "deals_left", "extra_deals", "deals_ahead")
"""Sections that do not affect the points of a deal."""
ABSENT = -1
"""Start of a section that the layout does not have."""
_KINDS_OF_WISH = 4


def input_scale(layout: Layout) -> NDArray[np.float32]:
    """Returns the factor of each value of an observation before the first layer.

    Zeros and ones keep their values, and numbers are scaled to a similar range. The scores of the
    game are left out: a player that maximizes the points of a deal decides the same whatever the
    scores, so what it learned on single deals also applies in whole games.

    Returns:
        float32 (L,).
    """
    counts = 1 / math.sqrt(layout.largest_hand)
    scales = dict.fromkeys(_COUNTS, counts) | dict.fromkeys(_NOT_READ, 0.0)
    scales |= {
        "trick": 1 / layout.seats,
        "place": 1 / NUM_CARD_CODES,
        "open_cards": 1 / layout.seats,
        "rules": 1 / 16,
        "points": 1 / 16,
    }
    values = [np.full(length, scales.get(name, 1.0)) for name, _, length in layout.sections]
    return np.concatenate(values).astype(np.float32)


def sorted_width(layout: Layout) -> int:
    """Returns the length of a sorted card section: whole suits, even if the layout cuts one."""
    return max(layout.card_width, layout.suits * RANKS_PER_SUIT)


def num_hints(layout: Layout) -> int:
    """Returns the number of hints after the sorted view."""
    return 2 * layout.suits * RANKS_PER_SUIT + _KINDS_OF_WISH * layout.seats


def num_inputs(layout: Layout) -> int:
    """Returns the number of a network's inputs for observations of a layout."""
    rows = sum(
        name in CARD_SECTIONS and length // layout.card_width for name, _, length in layout.sections
    )
    wider = rows * (sorted_width(layout) - layout.card_width)
    return layout.length + wider + num_hints(layout)


def num_hand_inputs(layout: Layout) -> int:
    """Returns the number of inputs for the hands of all other seats."""
    return (layout.seats - 1) * sorted_width(layout)


def _sorted_cards(layout: Layout, order: tuple[int, ...]) -> NDArray[np.int64]:
    """Returns the place of each card (card_width,) in a sorted card section."""
    cards = np.arange(layout.card_width)
    suits, ranks = np.divmod(cards, RANKS_PER_SUIT)
    place_of_suit = np.argsort(order)
    plain = suits < layout.suits
    cards[plain] = place_of_suit[suits[plain]] * RANKS_PER_SUIT + ranks[plain]
    return cards


def _targets(layout: Layout, order: tuple[int, ...]) -> NDArray[np.int64]:
    """Returns the input for each value of an observation (L,)."""
    cards, suits = _sorted_cards(layout, order), np.argsort(order)
    targets: list[NDArray[np.int64]] = []
    start = 0
    for name, _, length in layout.sections:
        places, width = np.arange(length), length
        if name in CARD_SECTIONS:
            rows = np.arange(length // layout.card_width) * sorted_width(layout)
            places = (rows[:, None] + cards).ravel()
            width = len(rows) * sorted_width(layout)
        elif name in ("trump", "led_suit", "voids"):
            whole = length - length % layout.suits  # no-trump follows the suits
            rows = np.arange(0, whole, layout.suits)
            places[:whole] = (rows[:, None] + suits).ravel()
        targets.append(start + places)
        start += width
    return np.concatenate(targets)


def _actions(layout: Layout, order: tuple[int, ...]) -> NDArray[np.int64]:
    """Returns the place of each action (A,) among the sorted actions."""
    actions = np.arange(layout.num_actions)
    cards = _sorted_cards(layout, order)
    actions[: len(cards)] = cards
    return actions


class Tables(NamedTuple):
    """The compiled reader's data on a layout."""

    targets: Any  # int32 (orders, L): the input for each value
    scale: Any  # float32 (L,): 0 for values that are not read
    number: Any  # int64 (suits ** suits,): row of an order in the tables, by its digits
    pack: Any  # int8 (card_width,): 1 for each card of the pack, if no section contains this
    suits: Any
    seats: Any
    width: Any  # values in a card section
    hints: Any  # input of the first hint
    starts: Any  # int64: starts of the sections in READ, or ABSENT


READ = (
    "hand",
    "turned",
    "winning_card",
    "pack",
    "place",
    "trump",
    "led_suit",
    "has_bid",
    "needed",
    "hand_size",
    "trick_number",
)
"""Sections that determine the order of the suits and the hints."""


@functools.lru_cache(maxsize=16)
def tables_of(layout: Layout) -> Tables:
    """Returns the tables of a layout."""
    orders = list(itertools.permutations(range(layout.suits)))
    number = np.zeros(layout.suits**layout.suits, np.int64)
    number[np.array(orders) @ layout.suits ** np.arange(layout.suits)] = np.arange(len(orders))
    places = layout.slices()
    top = layout.card_width - RANKS_PER_SUIT * (layout.suits - 1)
    return Tables(
        targets=np.array([_targets(layout, order) for order in orders], np.int32),
        scale=input_scale(layout),
        number=number,
        pack=(np.arange(layout.card_width) % RANKS_PER_SUIT < top).astype(np.int8),
        suits=layout.suits,
        seats=layout.seats,
        width=layout.card_width,
        hints=num_inputs(layout) - num_hints(layout),
        starts=np.array([places[name].start if name in places else ABSENT for name in READ]),
    )


@functools.lru_cache(maxsize=16)
def sorted_actions(layout: Layout) -> NDArray[np.int64]:
    """Returns the place of each action among the sorted actions, by order of suits.

    Returns:
        int64 (orders, A).
    """
    orders = itertools.permutations(range(layout.suits))
    return np.array([_actions(layout, order) for order in orders])
