"""Advantage nets: networks that add trained corrections to the values of cards and bids.

Each has two hidden layers with ReLU and runs once for each choice. The part that the choices of a
decision share (the situation) is computed once. The output is in prices, see ``price``. The
networks are fitted by counterfactual self-play (``ohhell fit``).
"""

# pyright: basic
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ohhell_agents.value.trick_model import (
    BID_CHOICE,
    BID_SITUATION,
    BIT_WORDS,
    CARD_CHOICE,
    CARD_SITUATION,
    HIDDEN1,
    HIDDEN2,
)
from ohhell_env.engine.bits import ONE, ZERO, lowest
from ohhell_env.engine.caching import entry, inline, inner
from ohhell_env.engine.simd import add_matvec

MOST_CHOICES = 32
"""Room for the choices of a decision."""
_NONE = np.float32(0.0)


@inline
def price(rules, hand_size):
    """Returns the cost of missing a usual bid by one trick, in points; 1 if it costs nothing.

    Args:
        rules: ``RULES`` record.
        hand_size: Cards dealt to each seat.
    """
    points = rules.points[hand_size]
    usual = min(np.int64(hand_size / rules.players + 0.5), hand_size)
    missed = points[usual, usual - 1] if usual > 0 else points[usual, usual + 1]
    if usual > 0 and usual < hand_size:
        missed = 0.5 * (points[usual, usual - 1] + points[usual, usual + 1])
    cost = np.float64(points[usual, usual]) - missed
    return cost if cost > 0.0 else 1.0


@entry
def price_for(rules, hand_size):
    """Returns ``price`` for callers in Python.

    Args:
        rules: ``RULES`` row.
        hand_size: Cards dealt to each seat.
    """
    return price(rules[0], hand_size)


_add_row = add_matvec(1, HIDDEN1)
_add_wide = add_matvec(HIDDEN1, HIDDEN2)
_ALL = np.ones(1, np.float32)


class Features(NamedTuple):
    """The inputs of the advantage nets for one decision."""

    situation: Any
    """float32 (inputs,), shared by the choices."""
    bits: Any
    """uint64 (BIT_WORDS,), the table as bits, see ``bit_features.py``."""
    choices: Any
    """float32 (MOST_CHOICES, inputs), a row for each choice."""
    numbers: Any
    """int64 (MOST_CHOICES,), the place of the card in sorted suits, or the bid."""


@inline
def new_features(situation, choice):
    """Returns arrays for the features of one decision.

    Args:
        situation: Number of inputs that its choices share.
        choice: Number of inputs of a choice.

    Returns:
        ``Features``, still unwritten.
    """
    return Features(
        np.empty(situation, np.float32),
        np.empty(BIT_WORDS, np.uint64),
        np.empty((MOST_CHOICES, choice), np.float32),
        np.empty(MOST_CHOICES, np.int64),
    )


def _network(situation_size, choice_size):
    """Returns a function that weighs the choices of a decision with a network of these sizes."""
    add_situation, add_choice = (
        add_matvec(situation_size, HIDDEN1),
        add_matvec(choice_size, HIDDEN1),
    )

    @inline
    def weigh(first, middle, asked, count, advantages):
        situation_weights, table_weights, choice_weights, number_weights, bias = first
        middle_weights, middle_bias, out = middle
        situation, bits, choices, numbers = asked
        base, wide = np.empty(HIDDEN1, np.float32), np.empty(HIDDEN1, np.float32)
        narrow = np.empty(HIDDEN2, np.float32)
        for j in range(HIDDEN1):
            base[j] = bias[j]
        add_situation(situation_weights, situation, base)
        for place in range(BIT_WORDS):
            rest = bits[place]
            while rest != ZERO:
                row = 64 * place + lowest(rest)
                rest = rest & (rest - ONE)
                _add_row(table_weights[row], _ALL, base)
        for place in range(count):
            for j in range(HIDDEN1):
                wide[j] = base[j]
            add_choice(choice_weights, choices[place], wide)
            _add_row(number_weights[numbers[place]], _ALL, wide)
            for j in range(HIDDEN1):
                wide[j] = max(wide[j], _NONE)
            for k in range(HIDDEN2):
                narrow[k] = middle_bias[k]
            _add_wide(middle_weights, wide, narrow)
            total = _NONE
            for k in range(HIDDEN2):
                total += max(narrow[k], _NONE) * out[k]
            advantages[place] = total

    return weigh


_weigh_cards = _network(CARD_SITUATION, CARD_CHOICE)
_weigh_bids = _network(BID_SITUATION, BID_CHOICE)


@inner
def card_advantages(models, situation, bits, choices, numbers, count, advantages):
    """Writes the advantages of the cards to choose from.

    Args:
        models: ``MODELS`` record.
        situation: float32 (CARD_SITUATION,), see ``slots.py``.
        bits: uint64 (BIT_WORDS,), see ``bit_features.py``.
        choices: float32 (MOST_CHOICES, CARD_CHOICE), one row for each card.
        numbers: int64 (MOST_CHOICES,), the place of each card in sorted suits.
        count: Number of cards.
        advantages: float32 (MOST_CHOICES,), written in place, in prices.
    """
    tables = models.card_situation, models.card_table, models.card_choice, models.card_number
    middle = models.card_middle, models.card_middle_bias, models.card_out
    first = (*tables, models.card_bias)
    _weigh_cards(first, middle, (situation, bits, choices, numbers), count, advantages)


@inner
def bid_advantages(models, situation, bits, choices, numbers, count, advantages):
    """Writes the advantages of the bids to choose from; see ``card_advantages``."""
    tables = models.bid_situation, models.bid_table, models.bid_choice, models.bid_number
    middle = models.bid_middle, models.bid_middle_bias, models.bid_out
    first = (*tables, models.bid_bias)
    _weigh_bids(first, middle, (situation, bits, choices, numbers), count, advantages)
