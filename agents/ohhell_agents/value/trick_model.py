"""The heuristic player's models: two tiny networks that give a card its chance to win a trick.

Both were fitted in self-play, from random play on (``ohhell fit --set method=trick_model``). Their
weights are in ``trick_model.json``; ``slots.py`` names their features.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from ohhell_agents.value.slots import (
    BidChoice,
    BidSituation,
    CardChoice,
    CardSituation,
    CurrentCard,
    CurrentSituation,
    FutureCard,
    FutureSituation,
    FutureWants,
)
from ohhell_env.engine.layout import BID_BASE, NUM_BIDS, Rows, engine_rows
from ohhell_env.errors import CheckpointError, shown

FUTURE_SITUATION, FUTURE_WANTS, FUTURE_CARD = (
    len(FutureSituation._fields),
    len(FutureWants._fields),
    len(FutureCard._fields),
)
"""Numbers of features of the model of later tricks, by kind; see ``slots.py``."""
CURRENT_SITUATION, CURRENT_CARD = len(CurrentSituation._fields), len(CurrentCard._fields)
"""Numbers of features of the model of the present trick."""
HIDDEN = 16
CARD_SITUATION, CARD_CHOICE = len(CardSituation._fields), len(CardChoice._fields)
"""Numbers of features of a card's advantage net, by kind."""
BID_SITUATION, BID_CHOICE = len(BidSituation._fields), len(BidChoice._fields)
"""Numbers of features of a bid's advantage net."""
BIT_WORDS = 17
"""Words of 64 bits in which an advantage net sees the table; see ``bit_features.py``."""
HIDDEN1, HIDDEN2 = 64, 32
"""Widths of the hidden layers of the advantage nets."""
FILE = Path(__file__).with_name("trick_model.json")
FORMAT = 1


def _advantage_net(name: str, situation: int, choice: int, number: int) -> list[tuple[Any, ...]]:
    """Returns the fields of one advantage net: a network of two hidden layers."""
    f4 = np.float32
    return [
        (f"{name}_situation", f4, (situation, HIDDEN1)),
        (f"{name}_table", f4, (64 * BIT_WORDS, HIDDEN1)),
        (f"{name}_choice", f4, (choice, HIDDEN1)),
        (f"{name}_number", f4, (number, HIDDEN1)),
        (f"{name}_bias", f4, (HIDDEN1,)),
        (f"{name}_middle", f4, (HIDDEN1, HIDDEN2)),
        (f"{name}_middle_bias", f4, (HIDDEN2,)),
        (f"{name}_out", f4, (HIDDEN2,)),
    ]


MODELS = np.dtype(
    [
        # the chance of a held card to win the trick in which it will be played
        ("future_situation", np.float32, (FUTURE_SITUATION, HIDDEN)),
        ("future_wants", np.float32, (FUTURE_WANTS, HIDDEN)),
        ("future_card", np.float32, (FUTURE_CARD, HIDDEN)),
        ("future_bias", np.float32, (HIDDEN,)),
        ("future_out", np.float32, (HIDDEN,)),
        ("future_end", np.float32),
        # the chance of a card that wins so far to win the present trick
        ("current_situation", np.float32, (CURRENT_SITUATION, HIDDEN)),
        ("current_card", np.float32, (CURRENT_CARD, HIDDEN)),
        ("current_bias", np.float32, (HIDDEN,)),
        ("current_out", np.float32, (HIDDEN,)),
        ("current_end", np.float32),
        # the advantage nets: what is added to the expected value of a card, and of a bid
        ("has_advantages", np.int64),  # 0: nothing is
        *_advantage_net("card", CARD_SITUATION, CARD_CHOICE, BID_BASE),
        *_advantage_net("bid", BID_SITUATION, BID_CHOICE, NUM_BIDS),
    ],
    align=True,
)
"""Weights of the models, one row."""

_TENSOR_PREFIXES = {"future_": "later_", "current_": "now_"}
_NETS = tuple(name for name in MODELS.names or () if name != "has_advantages")


def tensor_name(field: str) -> str:
    """Returns the name in files of the weights of a field of ``MODELS``.

    Files keep the names that they were first written with: a digest of a file is an identity.
    """
    if field == "future_wants":
        return "later_want"
    for prefix, tensor in _TENSOR_PREFIXES.items():
        if field.startswith(prefix):
            return tensor + field.removeprefix(prefix)
    return field


TENSORS = {tensor_name(name): name for name in _NETS}
"""Field of ``MODELS`` by the name of its tensor in a file, in the order of the fields."""
_TRICK_MODEL = [
    (tensor, name) for tensor, name in TENSORS.items() if name.startswith(("future_", "current_"))
]
"""Those of the heuristic player; the others are zero there."""


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


def models_to_plain(models: Rows) -> dict[str, Any]:
    """Returns models as plain data."""
    weights = {
        tensor: np.round(models[0][name].astype(float), 5).tolist() for tensor, name in _TRICK_MODEL
    }
    return {"format": FORMAT, "weights": weights}


def from_plain(data: dict[str, Any]) -> Rows:
    """Returns models from what ``models_to_plain`` gave.

    Raises:
        ValueError, KeyError, TypeError: It is something else.
    """
    if data["format"] != FORMAT:
        raise ValueError(f"format {FORMAT} is wanted, got {shown(data['format'])}")
    models = new_models()
    for tensor, name in _TRICK_MODEL:
        weights = np.array(data["weights"][tensor], np.float32)
        if weights.shape != MODELS[name].shape or not np.isfinite(weights).all():
            raise ValueError(f"{tensor}: finite numbers of shape {MODELS[name].shape} are wanted")
        models[name][0] = weights
    return models
