"""The heuristic player's models: two tiny networks for a card's probability of winning a trick.

Both were fitted in self-play, starting from random play (``ohhell fit --set method=trick_model``).
Their weights are in ``trick_model.json``; ``slots.py`` names their features.
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
"""Numbers of features of the model of the current trick."""
HIDDEN = 16
CARD_SITUATION, CARD_CHOICE = len(CardSituation._fields), len(CardChoice._fields)
"""Numbers of features of a card's advantage net, by kind."""
BID_SITUATION, BID_CHOICE = len(BidSituation._fields), len(BidChoice._fields)
"""Numbers of features of a bid's advantage net."""
BIT_WORDS = 17
"""64-bit words in which an advantage net sees the table; see ``bit_features.py``."""
HIDDEN1, HIDDEN2 = 64, 32
"""Widths of the hidden layers of the advantage nets."""
FILE = Path(__file__).with_name("trick_model.json")
FORMAT = 1


def _advantage_net(name: str, situation: int, choice: int, number: int) -> list[tuple[Any, ...]]:
    """Returns the fields of one advantage net, a network with two hidden layers."""
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
        # The probability that a held card wins the trick in which it will be played.
        ("future_situation", np.float32, (FUTURE_SITUATION, HIDDEN)),
        ("future_wants", np.float32, (FUTURE_WANTS, HIDDEN)),
        ("future_card", np.float32, (FUTURE_CARD, HIDDEN)),
        ("future_bias", np.float32, (HIDDEN,)),
        ("future_out", np.float32, (HIDDEN,)),
        ("future_end", np.float32),
        # The probability that a card that wins the current trick so far wins it in the end.
        ("current_situation", np.float32, (CURRENT_SITUATION, HIDDEN)),
        ("current_card", np.float32, (CURRENT_CARD, HIDDEN)),
        ("current_bias", np.float32, (HIDDEN,)),
        ("current_out", np.float32, (HIDDEN,)),
        ("current_end", np.float32),
        # The advantage nets: corrections to the expected values of a card and of a bid.
        ("has_advantages", np.int64),  # 0: no corrections
        *_advantage_net("card", CARD_SITUATION, CARD_CHOICE, BID_BASE),
        *_advantage_net("bid", BID_SITUATION, BID_CHOICE, NUM_BIDS),
    ],
    align=True,
)
"""Weights of the models, one row."""

_TENSOR_PREFIXES = {"future_": "later_", "current_": "now_"}
_NETS = tuple(name for name in MODELS.names or () if name != "has_advantages")


def tensor_name(field: str) -> str:
    """Returns the name of a ``MODELS`` field's weights in files.

    Files keep the names of their first version, because a file's digest is an identity.
    """
    if field == "future_wants":
        return "later_want"
    for prefix, tensor in _TENSOR_PREFIXES.items():
        if field.startswith(prefix):
            return tensor + field.removeprefix(prefix)
    return field


TENSORS = {tensor_name(name): name for name in _NETS}
"""Fields of ``MODELS`` by the name of their tensor in files, in the order of the fields."""
_TRICK_MODEL = [
    (tensor, name) for tensor, name in TENSORS.items() if name.startswith(("future_", "current_"))
]
"""The heuristic player's tensors; its others are zero."""


def new_models() -> Rows:
    """Returns models that give every card a probability of one half."""
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
    """Returns models from the result of ``models_to_plain``.

    Raises:
        ValueError, KeyError, TypeError: The data is something else.
    """
    if data["format"] != FORMAT:
        raise ValueError(f"expected format {FORMAT}, got {shown(data['format'])}")
    models = new_models()
    for tensor, name in _TRICK_MODEL:
        weights = np.array(data["weights"][tensor], np.float32)
        if weights.shape != MODELS[name].shape or not np.isfinite(weights).all():
            raise ValueError(f"{tensor}: expected finite numbers of shape {MODELS[name].shape}")
        models[name][0] = weights
    return models
