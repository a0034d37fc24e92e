"""Checkpoints of networks: rules, layout and weights. ``checkpoint_io.py`` handles the files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import ohhell_env
from ohhell_agents.checkpoint_io import (
    BIDS,
    CARDS,
    LEARNED,
    METADATA,
    WEIGHTS,
    WHOLE,
    Weights,
    as_path,
    digest_of,
    kind_of,
    read_metadata,
    read_weights,
    write_folder,
)
from ohhell_agents.nn.feature_layout import INPUTS
from ohhell_agents.nn.network import Network, tensor_sizes
from ohhell_env.errors import CheckpointError, OhHellError, shown
from ohhell_env.observation import LAYOUTS, Layout, layout_of
from ohhell_env.rules import Rules

__all__ = [
    "METADATA",
    "WEIGHTS",
    "Checkpoint",
    "load_checkpoint",
    "save_checkpoint",
    "weights_digest",
]

_MAX_WIDTH, _MAX_LAYERS = 4096, 8


@dataclass(frozen=True)
class Checkpoint:
    """A network and its training setup."""

    network: Network
    rules: Rules
    layout_name: str = "default"
    """"default" or "universal"."""
    hand_size: int | None = None
    """The only hand size in training; None: those of the schedule."""
    part: str = WHOLE
    """The decisions that the network learned: "both", "bids" or "cards". A part plays together with
    another player, see ``ohhell_agents.two_part``."""

    @property
    def layout(self) -> Layout:
        """The observation that the network reads."""
        return layout_of(self.rules, self.layout_name, self.hand_size)


def save_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint completely or not at all; replaces an older one at the same path.

    Raises:
        CheckpointError: The path exists and is not a checkpoint.
    """
    about: dict[str, Any] = {
        "rules": checkpoint.rules.to_dict(),
        "hand_size": checkpoint.hand_size,
        "layout": {"name": checkpoint.layout_name, "digest": checkpoint.layout.digest},
        "network": {
            "inputs": INPUTS,
            "hidden": list(checkpoint.network.hidden),
            "told_rules": checkpoint.network.told_rules,
        },
    }
    if checkpoint.part != WHOLE:
        about["part"] = checkpoint.part
    write_folder(path, LEARNED, about, _weights_of(checkpoint.network))


def _weights_of(network: Network) -> Weights:
    return {name: value.cpu().numpy() for name, value in network.state_dict().items()}


def weights_digest(network: Network) -> str:
    """Returns the SHA-256 of a network's weights in their saved form."""
    return digest_of(_weights_of(network))


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Returns a checkpoint, on the CPU; no code in its files runs.

    Raises:
        CheckpointError: The folder is not a checkpoint, broken, of another version, or made for
            observations that this version of the library does not write.
    """
    path = as_path(path)
    card = read_metadata(path)
    if kind_of(card) != LEARNED:
        raise CheckpointError(
            f"{path / METADATA}: contains a player of kind {shown(kind_of(card))}; expected "
            f"{LEARNED!r}"
        )
    try:
        return _assemble(path, card)
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path / METADATA}: incomplete or broken ({error})") from None


def _assemble(path: Path, card: dict[str, Any]) -> Checkpoint:
    file = path / METADATA
    rules, layout = _rules_and_layout(file, card)
    hidden = _hidden(file, card["network"])
    weights = read_weights(path, card["weights_sha256"], tensor_sizes(layout, hidden))
    told = card["network"]["told_rules"]
    if type(told) is not bool:
        raise CheckpointError(f"{file}: told_rules {shown(told)}; allowed: true, false")
    network = Network(layout, hidden, fresh=False, rules=rules if told else None)
    network.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    network.requires_grad_(False)
    part = card.get("part", WHOLE)
    if part not in (WHOLE, BIDS, CARDS):
        raise CheckpointError(
            f"{file}: part {shown(part)}; allowed: {WHOLE!r}, {BIDS!r}, {CARDS!r}"
        )
    return Checkpoint(network, rules, layout.name, card["hand_size"], part)


def _rules_and_layout(file: Path, card: dict[str, Any]) -> tuple[Rules, Layout]:
    name, hand_size = card["layout"]["name"], card["hand_size"]
    if name not in LAYOUTS:
        raise CheckpointError(f"{file}: layout {shown(name)}; allowed: {', '.join(LAYOUTS)}")
    if hand_size is not None and (type(hand_size) is not int or not 1 <= hand_size <= 26):
        raise CheckpointError(f"{file}: hand_size {shown(hand_size)}; allowed: 1 to 26 or null")
    try:
        rules = Rules.from_dict(card["rules"])
        layout = layout_of(rules, name, hand_size)
    except (OhHellError, RecursionError, OverflowError) as error:
        raise CheckpointError(f"{file}: its rules cannot be played: {error}") from None
    if layout.digest != card["layout"]["digest"]:
        raise CheckpointError(
            f"{file}: the player was trained on observations of layout "
            f"{shown(card['layout']['digest'])}, but this library (ohhell_env "
            f"{ohhell_env.__version__}) writes {layout.digest!r} for the same rules; train it "
            f"again, or use ohhell_env {shown(card.get('ohhell_env'))}"
        )
    return rules, layout


def _hidden(file: Path, network: dict[str, Any]) -> tuple[int, ...]:
    if network["inputs"] != INPUTS:
        raise CheckpointError(
            f"{file}: the network reads inputs of kind {shown(network['inputs'])}, but this "
            f"library computes {INPUTS!r}; train it again"
        )
    hidden = network["hidden"]
    fits = isinstance(hidden, list) and 1 <= len(hidden) <= _MAX_LAYERS
    if not fits or not all(type(width) is int and 1 <= width <= _MAX_WIDTH for width in hidden):
        raise CheckpointError(
            f"{file}: hidden layers {shown(hidden)}; allowed: 1 to {_MAX_LAYERS} widths of 1 to "
            f"{_MAX_WIDTH}"
        )
    return tuple(hidden)
