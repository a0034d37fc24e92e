"""The heuristic player's models: two tiny networks that give a card its chance to win a trick.

Both were fitted in self-play, from random play on (``ohhell fit --set method=trick_model``). Their
weights are in ``heuristic.json``; what their inputs are is in ``chances.py``.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from ohhell_env.engine.layout import BID_BASE, NUM_BIDS, Rows, engine_rows
from ohhell_env.errors import CheckpointError, shown

SITUATION, WANT, CARD = 9, 7, 10
"""Numbers of inputs of the later model, by kind."""
NOW_SITUATION, NOW_CARD = 12, 6
"""Numbers of inputs of the model of the present trick."""
HIDDEN = 16
CARD_SITUATION, CARD_CHOICE = 52, 32
"""Numbers of inputs of the correction of a card, by kind; see ``evidence.py``."""
BID_SITUATION, BID_CHOICE = 32, 14
"""Numbers of inputs of the correction of a bid."""
TABLE_WORDS = 17
"""Words of 64 bits in which a correction sees the table; see ``table_bits.py``."""
WIDE, NARROW = 64, 32
"""Widths of the hidden layers of the corrections."""
FILE = Path(__file__).with_name("trick_model.json")
FORMAT = 1
_CHANCES = 11
"""Fields of ``MODELS`` that make up the heuristic player; the others are zero there."""


def _correction(name: str, situation: int, choice: int, number: int) -> list[tuple[Any, ...]]:
    """Returns the fields of one correction: a network of two hidden layers."""
    f4 = np.float32
    return [
        (f"{name}_situation", f4, (situation, WIDE)),
        (f"{name}_table", f4, (64 * TABLE_WORDS, WIDE)),
        (f"{name}_choice", f4, (choice, WIDE)),
        (f"{name}_number", f4, (number, WIDE)),
        (f"{name}_bias", f4, (WIDE,)),
        (f"{name}_middle", f4, (WIDE, NARROW)),
        (f"{name}_middle_bias", f4, (NARROW,)),
        (f"{name}_out", f4, (NARROW,)),
    ]


MODELS = np.dtype(
    [
        # the chance of a held card to win the trick in which it will be played
        ("later_situation", np.float32, (SITUATION, HIDDEN)),
        ("later_want", np.float32, (WANT, HIDDEN)),
        ("later_card", np.float32, (CARD, HIDDEN)),
        ("later_bias", np.float32, (HIDDEN,)),
        ("later_out", np.float32, (HIDDEN,)),
        ("later_end", np.float32),
        # the chance of a card that wins so far to win the present trick
        ("now_situation", np.float32, (NOW_SITUATION, HIDDEN)),
        ("now_card", np.float32, (NOW_CARD, HIDDEN)),
        ("now_bias", np.float32, (HIDDEN,)),
        ("now_out", np.float32, (HIDDEN,)),
        ("now_end", np.float32),
        # what is added to the reckoned worth of a card, and of a bid
        ("corrected", np.int64),  # 0: nothing is
        *_correction("card", CARD_SITUATION, CARD_CHOICE, BID_BASE),
        *_correction("bid", BID_SITUATION, BID_CHOICE, NUM_BIDS),
    ],
    align=True,
)
"""Weights of the models, one row."""


def new_models() -> Rows:
    """Returns models that give every card an even chance."""
    return engine_rows(np.zeros(1, MODELS))


@functools.cache
def fitted() -> Rows:
    """Returns the fitted models as the one-row array that the engine's players read.

    Raises:
        CheckpointError: The file is missing or broken.
    """
    try:
        models = from_plain(json.loads(FILE.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{FILE}: the heuristic player's models are broken: {error}"
        ) from None
    models.flags.writeable = False
    return models


def to_plain(models: Rows) -> dict[str, Any]:
    """Returns models as plain data."""
    names = (MODELS.names or ())[:_CHANCES]
    weights = {name: np.round(models[0][name].astype(float), 5).tolist() for name in names}
    return {"format": FORMAT, "weights": weights}


def from_plain(data: dict[str, Any]) -> Rows:
    """Returns models from what ``to_plain`` gave.

    Raises:
        ValueError, KeyError, TypeError: It is something else.
    """
    if data["format"] != FORMAT:
        raise ValueError(f"format {FORMAT} is wanted, got {shown(data['format'])}")
    models = new_models()
    for name in (MODELS.names or ())[:_CHANCES]:
        weights = np.array(data["weights"][name], np.float32)
        if weights.shape != MODELS[name].shape or not np.isfinite(weights).all():
            raise ValueError(f"{name}: finite numbers of shape {MODELS[name].shape} are wanted")
        models[name][0] = weights
    return models
