"""What experience adds to the reckoning: networks that correct the worth of cards and of bids.

A correction is a network of two hidden layers with ReLU. It is asked once for each choice; what the
choices of a decision share (the situation) is worked out once. Its output is in prices, see
``price``. The networks are fitted by counterfactual self-play (``ohhell fit``).
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.trick_model import (
    BID_CHOICE,
    BID_SITUATION,
    CARD_CHOICE,
    CARD_SITUATION,
    NARROW,
    TABLE_WORDS,
    WIDE,
)
from ohhell_env.engine.bits import ONE, ZERO, lowest
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.simd import row_adder

MOST_CHOICES = 32
"""Room for the choices of a decision."""
_NONE = np.float32(0.0)


@inline
def price(rules, hand_size):
    """Returns what it costs to miss a usual bid by one trick, in points; 1 if it costs nothing.

    Args:
        rules: ``RULES`` record.
        hand_size: Cards dealt to each.
    """
    points = rules.points[hand_size]
    usual = min(np.int64(hand_size / rules.players + 0.5), hand_size)
    missed = points[usual, usual - 1] if usual > 0 else points[usual, usual + 1]
    if usual > 0 and usual < hand_size:
        missed = 0.5 * (points[usual, usual - 1] + points[usual, usual + 1])
    cost = np.float64(points[usual, usual]) - missed
    return cost if cost > 0.0 else 1.0


@entry
def price_under(rules, hand_size):
    """Returns ``price`` to Python.

    Args:
        rules: ``RULES`` row.
        hand_size: Cards dealt to each.
    """
    return price(rules[0], hand_size)


_add_row = row_adder(1, WIDE)
_add_wide = row_adder(WIDE, NARROW)
_ALL = np.ones(1, np.float32)


@inline
def new_notes(situation, choice):
    """Returns room for what the corrections are told about one decision.

    Args:
        situation: Number of inputs that its choices share.
        choice: Number of inputs of a choice.

    Returns:
        Inputs float32 (situation,), bits of the table uint64 (TABLE_WORDS,), inputs float32
        (MOST_CHOICES, choice) and numbers int64 (MOST_CHOICES,) of the choices, one row each.
    """
    return (
        np.empty(situation, np.float32),
        np.empty(TABLE_WORDS, np.uint64),
        np.empty((MOST_CHOICES, choice), np.float32),
        np.empty(MOST_CHOICES, np.int64),
    )


def _network(situation_size, choice_size):
    """Returns a function that weighs the choices of a decision by a network of such sizes."""
    add_situation, add_choice = row_adder(situation_size, WIDE), row_adder(choice_size, WIDE)

    @inline
    def weigh(first, middle, asked, count, worth):
        situation_weights, table_weights, choice_weights, number_weights, bias = first
        middle_weights, middle_bias, out = middle
        situation, words, choices, numbers = asked
        base, wide = np.empty(WIDE, np.float32), np.empty(WIDE, np.float32)
        narrow = np.empty(NARROW, np.float32)
        base[:] = bias
        add_situation(situation_weights, situation, base)
        for place in range(TABLE_WORDS):
            rest = words[place]
            while rest != ZERO:
                row = 64 * place + lowest(rest)
                rest = rest & (rest - ONE)
                _add_row(table_weights[row], _ALL, base)
        for place in range(count):
            wide[:] = base
            add_choice(choice_weights, choices[place], wide)
            _add_row(number_weights[numbers[place]], _ALL, wide)
            for j in range(WIDE):
                wide[j] = max(wide[j], _NONE)
            narrow[:] = middle_bias
            _add_wide(middle_weights, wide, narrow)
            total = _NONE
            for k in range(NARROW):
                total += max(narrow[k], _NONE) * out[k]
            worth[place] = total

    return weigh


_weigh_cards = _network(CARD_SITUATION, CARD_CHOICE)
_weigh_bids = _network(BID_SITUATION, BID_CHOICE)


@entry
def correct_cards(models, situation, words, choices, numbers, count, worth):
    """Writes the corrections of the cards to choose from.

    Args:
        models: ``MODELS`` record.
        situation: float32 (CARD_SITUATION,), see ``evidence.py``.
        words: uint64 (TABLE_WORDS,), see ``table_bits.py``.
        choices: float32 (MOST_CHOICES, CARD_CHOICE), one row for each card.
        numbers: int64 (MOST_CHOICES,), the place of each card where suits are in order.
        count: How many.
        worth: float32 (MOST_CHOICES,), written in place, in prices.
    """
    tables = models.card_situation, models.card_table, models.card_choice, models.card_number
    middle = models.card_middle, models.card_middle_bias, models.card_out
    first = (*tables, models.card_bias)
    _weigh_cards(first, middle, (situation, words, choices, numbers), count, worth)


@entry
def correct_bids(models, situation, words, choices, numbers, count, worth):
    """Writes the corrections of the bids to choose from; see ``correct_cards``."""
    tables = models.bid_situation, models.bid_table, models.bid_choice, models.bid_number
    middle = models.bid_middle, models.bid_middle_bias, models.bid_out
    first = (*tables, models.bid_bias)
    _weigh_bids(first, middle, (situation, words, choices, numbers), count, worth)
