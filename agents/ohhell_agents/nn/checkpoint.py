"""Checkpoints of networks: rules, layout and weights; for the files see ``checkpoint_io.py``."""

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
    """A network and what it was trained for."""

    network: Network
    rules: Rules
    layout_name: str = "default"
    """"default" or "universal"."""
    hand_size: int | None = None
    """The only hand size that it was trained with; None: those of the schedule."""
    part: str = WHOLE
    """What it learned: "both", "bids" or "cards". Such a part plays beside another player, see
    ``ohhell_agents.two_part``."""

    @property
    def layout(self) -> Layout:
        """The observation that the network reads."""
        return layout_of(self.rules, self.layout_name, self.hand_size)


def save_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint whole or not at all; an older one at the same place is replaced.

    Raises:
        CheckpointError: At the place there is something that is no checkpoint.
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
    """Returns the SHA-256 of a network's weights as they are saved."""
    return digest_of(_weights_of(network))


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Returns a checkpoint, on the CPU; nothing in its files is run.

    Raises:
        CheckpointError: Not a checkpoint, broken, of another version, or made for observations
            that this version of the library does not write.
    """
    path = as_path(path)
    card = read_metadata(path)
    if kind_of(card) != LEARNED:
        raise CheckpointError(
            f"{path / METADATA}: a player of kind {shown(kind_of(card))}, {LEARNED!r} is wanted"
        )
    try:
        return _assemble(path, card)
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path / METADATA}: is incomplete or broken ({error})") from None


def _assemble(path: Path, card: dict[str, Any]) -> Checkpoint:
    file = path / METADATA
    rules, layout = _rules_and_layout(file, card)
    hidden = _hidden(file, card["network"])
    weights = read_weights(path, card["weights_sha256"], tensor_sizes(layout, hidden))
    told = card["network"]["told_rules"]
    if type(told) is not bool:
        raise CheckpointError(f"{file}: told_rules {shown(told)}; true or false is allowed")
    network = Network(layout, hidden, fresh=False, rules=rules if told else None)
    network.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    network.requires_grad_(False)
    part = card.get("part", WHOLE)
    if part not in (WHOLE, BIDS, CARDS):
        raise CheckpointError(
            f"{file}: part {shown(part)}; {WHOLE!r}, {BIDS!r} or {CARDS!r} is allowed"
        )
    return Checkpoint(network, rules, layout.name, card["hand_size"], part)


def _rules_and_layout(file: Path, card: dict[str, Any]) -> tuple[Rules, Layout]:
    name, hand_size = card["layout"]["name"], card["hand_size"]
    if name not in LAYOUTS:
        raise CheckpointError(f"{file}: layout {shown(name)}; {' or '.join(LAYOUTS)} is allowed")
    if hand_size is not None and (type(hand_size) is not int or not 1 <= hand_size <= 26):
        raise CheckpointError(f"{file}: hand_size {shown(hand_size)}; 1 to 26 or null is allowed")
    try:
        rules = Rules.from_dict(card["rules"])
        layout = layout_of(rules, name, hand_size)
    except (OhHellError, RecursionError, OverflowError) as error:
        raise CheckpointError(f"{file}: its rules cannot be played: {error}") from None
    if layout.digest != card["layout"]["digest"]:
        raise CheckpointError(
            f"{file}: was trained on observations of the layout "
            f"{shown(card['layout']['digest'])}, this library (ohhell_env "
            f"{ohhell_env.__version__}) writes {layout.digest!r} for the same rules; train it "
            f"anew, or use ohhell_env {shown(card.get('ohhell_env'))}"
        )
    return rules, layout


def _hidden(file: Path, network: dict[str, Any]) -> tuple[int, ...]:
    if network["inputs"] != INPUTS:
        raise CheckpointError(
            f"{file}: its network reads inputs of the kind {shown(network['inputs'])}, this "
            f"library makes {INPUTS!r}; train it anew"
        )
    hidden = network["hidden"]
    fits = isinstance(hidden, list) and 1 <= len(hidden) <= _MAX_LAYERS
    if not fits or not all(type(width) is int and 1 <= width <= _MAX_WIDTH for width in hidden):
        raise CheckpointError(
            f"{file}: hidden layers {shown(hidden)}; 1 to {_MAX_LAYERS} widths of 1 to "
            f"{_MAX_WIDTH} are allowed"
        )
    return tuple(hidden)
