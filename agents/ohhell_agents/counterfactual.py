"""The heuristic player plus advantage nets, which add trained values to its expected points.

Counterfactual self-play trains it (``ohhell fit``). It runs inside the engine, and plays every
variant, number of players and hand size in a few microseconds per decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ohhell_agents.checkpoint_io import (
    METADATA,
    AgentPath,
    Weights,
    as_path,
    digest_of,
    kind_of,
    read_metadata,
    read_weights,
    write_folder,
)
from ohhell_agents.heuristic import HeuristicAgent
from ohhell_agents.value.trick_model import MODELS, TENSORS, new_models
from ohhell_env.engine.layout import Rows
from ohhell_env.errors import CheckpointError, shown

INPUTS = "reckoning-1"
"""Name of the networks' features; change it when ``slots.py`` or a writer of features changes."""
_SIZES = {tensor: MODELS[name].shape for tensor, name in TENSORS.items()}
_LARGEST_INPUT = 1e6
"""No input of the networks comes near this: most are shares and counts."""
_OVERFLOW = float(np.finfo(np.float32).max)
_LARGEST_SQUARABLE = _OVERFLOW**0.5
"""Largest output of the trick model that ``trick_probs`` can square within a float32."""


class CounterfactualAgent(HeuristicAgent):
    """Takes the action with the best value and advantage; uses no randomness.

    Args:
        models: ``MODELS`` row with advantage nets.
        about: The rules and the method of its training, as plain data for its model card.
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
        """Restores a pickled player; pickles forget that arrays are read-only.

        Compiled functions distinguish read-only arrays, and would be compiled again for others.
        """
        vars(self).update(state)
        self._models.flags.writeable = False

    @property
    def models(self) -> Rows:
        """The player's networks: a ``MODELS`` row."""
        return self._models

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of its weights, as in the checkpoint's ``agent.json``."""
        return f"sha256:{digest_of(_weights_of(self._models))}"

    def save(self, path: AgentPath) -> None:
        """Writes the player as a folder, completely or not at all."""
        about = {"inputs": INPUTS, "trained": self.about}
        write_folder(path, self.kind, about, _weights_of(self._models))

    @classmethod
    def load(cls, path: AgentPath, seed: int | None = None) -> Self:
        """Returns the player of a folder; no code in its files runs.

        Raises:
            CheckpointError: The folder has no such player, or one that is broken, of another
                version, or with weights so large that its networks can overflow.
        """
        path = as_path(path)
        card = read_metadata(path)
        if kind_of(card) != cls.kind:
            raise CheckpointError(
                f"{path / METADATA}: contains a player of kind {shown(kind_of(card))}; expected "
                f"{cls.kind!r}"
            )
        if card.get("inputs") != INPUTS:
            raise CheckpointError(
                f"{path / METADATA}: the networks read features {shown(card.get('inputs'))}, but "
                f"this version computes {INPUTS!r}; train the player again"
            )
        about = card.get("trained")
        weights = read_weights(path, card.get("weights_sha256"), _SIZES)
        _check_bounds(path, weights)
        return cls(_models_of(weights), about if isinstance(about, dict) else None, seed)


def _weights_of(models: Rows) -> Weights:
    return {tensor: np.asarray(models[0][name], np.float32) for tensor, name in TENSORS.items()}


def _check_bounds(path: AgentPath, weights: Weights) -> None:
    """Refuses weights with which a network's sums can exceed the range of a float32.

    The engine does not check again: if sums are not numbers, none is the best, and the player would
    always bid 0. The check uses the largest sum that is possible at all.
    """
    most = {name: np.abs(value).astype(np.float64) for name, value in weights.items()}
    seen = _LARGEST_INPUT
    bounds: list[tuple[str, float, float]] = []  # network, largest sum, its limit
    for name in ("card", "bid"):
        choice, number = most[f"{name}_choice"].sum(axis=0), most[f"{name}_number"].max(axis=0)
        base = most[f"{name}_situation"].sum(axis=0) * seen + most[f"{name}_table"].sum(axis=0)
        wide = base + most[f"{name}_bias"] + choice * seen + number
        narrow = wide @ most[f"{name}_middle"] + most[f"{name}_middle_bias"]
        out = narrow @ most[f"{name}_out"]
        largest = float(max(wide.max(), narrow.max(), out))
        bounds.append((f"advantage net of {name}s", largest, _OVERFLOW))
    for name, inputs in (("later", ("situation", "want", "card")), ("now", ("situation", "card"))):
        sums = [most[f"{name}_{each}"].sum(axis=0) * seen for each in inputs]
        hidden = np.sum(sums, axis=0) + most[f"{name}_bias"]
        out = hidden @ most[f"{name}_out"] + most[f"{name}_end"]
        bounds.append(("chances of cards", float(max(hidden.max(), out)), _LARGEST_SQUARABLE))
    for name, largest, limit in bounds:
        if not largest < limit:
            raise CheckpointError(
                f"{path}: the weights are so large that its {name} can overflow a float32, so they "
                "are broken; load another checkpoint, or train the player again"
            )


def _models_of(weights: Weights) -> Rows:
    models = new_models()
    for tensor, name in TENSORS.items():
        models[name][0] = weights[tensor]
    models["has_advantages"] = 1
    models.flags.writeable = False
    return models
