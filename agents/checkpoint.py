"""Saved players that learned: a folder with ``agent.json`` and ``weights.safetensors``.

The JSON holds what the network was trained for (rules, layout of the observation) and its shape;
the weights are plain numbers. Nothing in either is ever run, so a stranger's checkpoint is safe to
load: what does not fit is refused with a ``CheckpointError``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

import ohhell_env
from agents.arrangement import INPUTS
from agents.network import Network, tensor_sizes
from agents.saved import as_path, read_file
from ohhell_env.errors import CheckpointError, OhHellError
from ohhell_env.observation import LAYOUTS, Layout, layout_of
from ohhell_env.rules import Rules

FORMAT = "ohhell-agent"
VERSION = 1
"""Version of the format; another one is refused."""
CARD, WEIGHTS = "agent.json", "weights.safetensors"
_HINT = f"; a checkpoint is a folder with {CARD} and {WEIGHTS}"
_MAX_CARD = 1 << 20  # bytes; a card needs a few thousand
_MAX_HEADER = 1 << 16  # bytes that names and shapes of tensors may take
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

    @property
    def layout(self) -> Layout:
        """The observation that the network reads."""
        return layout_of(self.rules, self.layout_name, self.hand_size)


def save_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint whole or not at all; an older one at the same place is replaced.

    Raises:
        CheckpointError: At the place there is something that is no checkpoint.
    """
    path = as_path(path)
    if path.exists() and not (path / CARD).is_file():
        raise CheckpointError(f"{path}: is there already and no checkpoint; choose another place")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new-{os.getpid()}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    try:
        _write_files(beside, checkpoint)
        _swap(beside, path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _write_files(folder: Path, checkpoint: Checkpoint) -> None:
    weights = _weights_of(checkpoint.network)
    card = json.dumps(_card(checkpoint, weights), indent=1) + "\n"
    for name, content in ((WEIGHTS, weights), (CARD, card.encode())):
        with (folder / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _weights_of(network: Network) -> bytes:
    return save({name: value.cpu().contiguous() for name, value in network.state_dict().items()})


def weights_digest(network: Network) -> str:
    """Returns the SHA-256 of a network's weights as they are saved."""
    return hashlib.sha256(_weights_of(network)).hexdigest()


def _card(checkpoint: Checkpoint, weights: bytes) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "ohhell_env": ohhell_env.__version__,
        "rules": checkpoint.rules.to_dict(),
        "hand_size": checkpoint.hand_size,
        "layout": {"name": checkpoint.layout_name, "digest": checkpoint.layout.digest},
        "network": {
            "inputs": INPUTS,
            "hidden": list(checkpoint.network.hidden),
            "told_rules": checkpoint.network.told_rules,
        },
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
    }


def _swap(beside: Path, path: Path) -> None:
    """Puts a finished folder at its place; folders cannot be replaced in one move."""
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    beside.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Returns a checkpoint, on the CPU; nothing in its files is run.

    Raises:
        CheckpointError: Not a checkpoint, broken, of another version, or made for observations
            that this version of the library does not write.
    """
    path = as_path(path)
    card = _read_card(path)
    try:
        return _assemble(path, card)
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path / CARD}: is incomplete or broken ({error})") from None


def _read_card(path: Path) -> dict[str, Any]:
    file = path / CARD
    content = read_file(file, _MAX_CARD, _HINT)
    if len(content) > _MAX_CARD:
        raise CheckpointError(f"{file}: larger than {_MAX_CARD} bytes; it is no checkpoint's card")
    try:
        card = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: is not JSON ({type(error).__name__})") from None
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise CheckpointError(f"{file}: does not describe a player (format {FORMAT!r} is wanted)")
    if card.get("version") != VERSION:
        raise CheckpointError(
            f"{file}: is of version {card.get('version')!r}, this library reads version "
            f"{VERSION}; train it anew, or use ohhell_env {card.get('ohhell_env')!r}"
        )
    return card


def _assemble(path: Path, card: dict[str, Any]) -> Checkpoint:
    file = path / CARD
    rules, layout = _rules_and_layout(file, card)
    hidden = _hidden(file, card["network"])
    weights = _read_weights(path / WEIGHTS, card["weights_sha256"], tensor_sizes(layout, hidden))
    told = card["network"]["told_rules"]
    if type(told) is not bool:
        raise CheckpointError(f"{file}: told_rules {str(told)[:80]!r}; true or false is allowed")
    network = Network(layout, hidden, fresh=False, rules=rules if told else None)
    network.load_state_dict(weights)
    network.requires_grad_(False)
    return Checkpoint(network, rules, layout.name, card["hand_size"])


def _rules_and_layout(file: Path, card: dict[str, Any]) -> tuple[Rules, Layout]:
    name, hand_size = card["layout"]["name"], card["hand_size"]
    if name not in LAYOUTS:
        raise CheckpointError(f"{file}: layout {name!r}; {' or '.join(LAYOUTS)} is allowed")
    if hand_size is not None and (type(hand_size) is not int or not 1 <= hand_size <= 26):
        raise CheckpointError(f"{file}: hand_size {hand_size!r}; 1 to 26 or null is allowed")
    try:
        rules = Rules.from_dict(card["rules"])
        layout = layout_of(rules, name, hand_size)
    except (OhHellError, RecursionError, OverflowError) as error:
        raise CheckpointError(f"{file}: its rules cannot be played: {error}") from None
    if layout.digest != card["layout"]["digest"]:
        raise CheckpointError(
            f"{file}: was trained on observations of the layout {card['layout']['digest']!r}, this "
            f"library (ohhell_env {ohhell_env.__version__}) writes {layout.digest!r} for the same "
            f"rules; train it anew, or use ohhell_env {card.get('ohhell_env')!r}"
        )
    return rules, layout


def _hidden(file: Path, network: dict[str, Any]) -> tuple[int, ...]:
    if network["inputs"] != INPUTS:
        raise CheckpointError(
            f"{file}: its network reads inputs of the kind {network['inputs']!r}, this library "
            f"makes {INPUTS!r}; train it anew"
        )
    hidden = network["hidden"]
    fits = isinstance(hidden, list) and 1 <= len(hidden) <= _MAX_LAYERS
    if not fits or not all(type(width) is int and 1 <= width <= _MAX_WIDTH for width in hidden):
        raise CheckpointError(
            f"{file}: hidden layers {str(hidden)[:80]!r}; 1 to {_MAX_LAYERS} widths of 1 to "
            f"{_MAX_WIDTH} are allowed"
        )
    return tuple(hidden)


def _read_weights(file: Path, digest: Any, sizes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    needed = 4 * sum(math.prod(size) for size in sizes.values())
    content = read_file(file, needed + _MAX_HEADER, _HINT)
    if not needed <= len(content) <= needed + _MAX_HEADER:
        raise CheckpointError(
            f"{file}: of another size than the weights of the network in its {CARD} ({needed} "
            "bytes and a header)"
        )
    if hashlib.sha256(content).hexdigest() != digest:
        raise CheckpointError(f"{file}: is damaged, or belongs to another {CARD}")
    try:
        weights = load(content)
    except (SafetensorError, ValueError, KeyError, RuntimeError) as error:
        raise CheckpointError(f"{file}: holds no readable weights ({error})") from None
    _check_weights(file, weights, sizes)
    return weights


def _check_weights(
    file: Path, weights: dict[str, Tensor], sizes: dict[str, tuple[int, ...]]
) -> None:
    for name in sorted(sizes.keys() ^ weights.keys()):
        problem = "is missing" if name in sizes else "does not belong there"
        raise CheckpointError(f"{file}: the tensor {name[:80]!r} {problem}")
    for name, value in weights.items():
        if value.dtype != torch.float32 or tuple(value.shape) != sizes[name]:
            raise CheckpointError(
                f"{file}: {name} is {value.dtype} of shape {tuple(value.shape)}, torch.float32 of "
                f"shape {sizes[name]} is wanted"
            )
        if not torch.isfinite(value).all():
            raise CheckpointError(f"{file}: {name} holds values that are not finite numbers")
