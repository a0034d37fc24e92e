"""A player that reckons as the heuristic player does, and corrects it by what it has learned.

It is trained by counterfactual self-play (``train/counterfactual``) and lives in the engine: it
plays every variant, number of players and hand size, at some microseconds a decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from agents.folders import (
    CARD,
    Weights,
    digest_of,
    kind_of,
    read_card,
    read_weights,
    write_folder,
)
from agents.heuristic import HeuristicAgent
from agents.models import MODELS, new_models
from agents.saved import AgentPath, as_path
from ohhell_env.engine.layout import Rows
from ohhell_env.errors import CheckpointError

INPUTS = "reckoning-1"
"""Name of what the models are told; when ``chances.py`` or ``evidence.py`` change, so must it."""
_NETS = tuple(name for name in MODELS.names or () if name != "corrected")
_SIZES = {name: MODELS[name].shape for name in _NETS}


class CounterfactualAgent(HeuristicAgent):
    """Plays what its corrected reckoning finds best; leaves nothing to chance.

    Args:
        models: ``MODELS`` row, corrected.
        about: What it was trained for and how, plain data for its card.
        seed: As for every agent.
    """

    kind: ClassVar[str] = "counterfactual"

    def __init__(
        self, models: Rows, about: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        super().__init__(seed)
        self._models = models
        self.about = dict(about or {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes over what was pickled; pickles forget that arrays are read-only.

        Compiled functions tell read-only arrays from others, and would be compiled once more.
        """
        vars(self).update(state)
        self._models.flags.writeable = False

    @property
    def models(self) -> Rows:
        """What it reckons with: a ``MODELS`` row."""
        return self._models

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of its weights, as in the checkpoint's ``agent.json``."""
        return f"sha256:{digest_of(_weights_of(self._models))}"

    def save(self, path: AgentPath) -> None:
        """Writes the player as a folder, whole or not at all."""
        about = {"inputs": INPUTS, "trained": self.about}
        write_folder(path, self.kind, about, _weights_of(self._models))

    @classmethod
    def load(cls, path: AgentPath, seed: int | None = None) -> Self:
        """Returns the player of a folder; nothing in its files is run.

        Raises:
            CheckpointError: Not such a player, broken, or of another version.
        """
        path = as_path(path)
        card = read_card(path)
        if kind_of(card) != cls.kind:
            raise CheckpointError(
                f"{path / CARD}: a player of kind {str(kind_of(card))[:80]!r}, {cls.kind!r} is "
                "wanted"
            )
        if card.get("inputs") != INPUTS:
            raise CheckpointError(
                f"{path / CARD}: its networks are told {str(card.get('inputs'))[:80]!r}, this "
                f"library tells {INPUTS!r}; train it anew"
            )
        about = card.get("trained")
        weights = read_weights(path, card.get("weights_sha256"), _SIZES)
        return cls(_models_of(weights), about if isinstance(about, dict) else None, seed)


def _weights_of(models: Rows) -> Weights:
    return {name: np.asarray(models[0][name], np.float32) for name in _NETS}


def _models_of(weights: Weights) -> Rows:
    models = new_models()
    for name in _NETS:
        models[name][0] = weights[name]
    models["corrected"] = 1
    models.flags.writeable = False
    return models
