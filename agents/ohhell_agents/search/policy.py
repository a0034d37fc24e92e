"""The policy behind a search: the heuristic player, or a trained player.

It weighs the bids in the worlds, gives the expectation of each action, and plays the deals out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ohhell_agents import zoo
from ohhell_agents.checkpoint_io import as_path, kind_of, read_metadata
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.value.trick_model import fitted
from ohhell_env.engine.layout import Rows, engine_rows
from ohhell_env.errors import CheckpointError, OhHellError, shown, shown_path

HEURISTIC_POLICY = "heuristic"


@dataclass(frozen=True)
class SearchPolicy:
    """A policy of the search; two with the same weights are equal."""

    fingerprint: str
    """The player's fingerprint; empty for the heuristic player."""
    name: str = field(compare=False)
    """Name for people."""
    models: Rows = field(compare=False, repr=False)
    """``MODELS`` rows (2,), read-only: of the values that count, and of the play-outs."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restores a pickled policy; NumPy forgets that the models are read-only."""
        self.__dict__.update(state)
        self.models.flags.writeable = False  # otherwise all their readers would compile again


def find_policy(setting: str, playout: str = "policy") -> SearchPolicy:
    """Returns the policy that the search settings name.

    Args:
        setting: "heuristic", "zoo:NAME", or the path of a checkpoint.
        playout: "heuristic" if the heuristic player plays the deals out.

    Raises:
        CheckpointError: The player does not exist, or cannot play deals out.
    """
    if setting == HEURISTIC_POLICY:
        return SearchPolicy("", "the heuristic player", _pair(fitted(), fitted()))
    try:
        player = _load(setting)
    except OhHellError as error:
        raise CheckpointError(f"search: policy={shown_path(setting)}: {error}") from None
    second = fitted() if playout == "heuristic" else player.models
    return SearchPolicy(player.fingerprint, setting, _pair(player.models, second))


def _load(setting: str) -> CounterfactualAgent:
    place = zoo.zoo_folder(setting) if setting.startswith(zoo.PREFIX) else as_path(setting)
    kind = kind_of(read_metadata(place))
    if kind != CounterfactualAgent.kind:
        raise CheckpointError(
            f"a player of kind {shown(kind)} is too slow to play deals out; use a checkpoint of "
            f"kind {CounterfactualAgent.kind!r}, or {HEURISTIC_POLICY!r}"
        )
    return CounterfactualAgent.load(place)


def _pair(first: Rows, second: Rows) -> Rows:
    models = engine_rows(np.concatenate([first.view(np.ndarray), second.view(np.ndarray)]))
    models.flags.writeable = False
    return models
