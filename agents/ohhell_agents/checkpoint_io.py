"""The folders of players that learned: ``agent.json`` and ``weights.safetensors``.

The JSON says what kind of player it is, what it was trained for and its shape; the weights are
plain numbers. Nothing in either is ever run, so a stranger's checkpoint is safe to load: what does
not fit is refused with a ``CheckpointError``. Folders are written whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ohhell_env
from ohhell_agents.saved import AgentPath, as_path, naming, read_file
from ohhell_env.errors import CheckpointError, shown

FORMAT = "ohhell-agent"
VERSION = 1
"""Version of the format; another one is refused."""
LEARNED = "learned"
"""The kind of a network fitted by PPO or by distillation: the only one that needs torch."""
WHOLE, BIDS, CARDS = "both", "bids", "cards"
"""What a player decides: everything, or one of the two parts of the game."""
CARD, WEIGHTS = "agent.json", "weights.safetensors"
_HINT = f"; a checkpoint is a folder with {CARD} and {WEIGHTS}"
_MAX_CARD = 1 << 20  # bytes; a card needs a few thousand
_MAX_HEADER = 1 << 16  # bytes that names and shapes of tensors may take

Weights = dict[str, NDArray[np.float32]]
Sizes = Mapping[str, tuple[int, ...]]
"""Name and shape of every tensor."""


def _tensors() -> Any:
    """Returns the library ``safetensors``, which players without a checkpoint do without.

    Raises:
        CheckpointError: It is not installed.
    """
    try:
        import safetensors.numpy
    except ModuleNotFoundError as error:
        raise CheckpointError(
            f"the weights of players that learned need {error.name}: pip install safetensors"
        ) from None
    return safetensors


def digest_of(weights: Weights) -> str:
    """Returns the SHA-256 of weights as they are saved."""
    return hashlib.sha256(_packed(weights)).hexdigest()


def _packed(weights: Weights) -> bytes:
    return _tensors().numpy.save(
        {name: np.asarray(value, order="C") for name, value in weights.items()}
    )


def write_folder(path: AgentPath, kind: str, about: Mapping[str, Any], weights: Weights) -> None:
    """Writes a checkpoint whole or not at all; an older one at the same place is replaced.

    Args:
        path: The folder.
        kind: What kind of player it is, as in ``Agent.kind``.
        about: What else is to be known of it: plain data.
        weights: Its tensors by name.

    Raises:
        CheckpointError: At the place there is something that is no checkpoint.
    """
    packed = _packed(weights)
    digest = hashlib.sha256(packed).hexdigest()
    with replacing(path) as folder:
        _write(folder / WEIGHTS, packed)
        write_card(folder, kind, {**about, "weights_sha256": digest})


@contextlib.contextmanager
def replacing(path: AgentPath) -> Iterator[Path]:
    """Gives an empty folder to write a player into, and puts it at its place when that is done.

    An older player at that place is replaced; where writing fails, it stays.

    Args:
        path: The place.

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
        yield beside
        _swap(beside, path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_card(folder: Path, kind: str, about: Mapping[str, Any]) -> None:
    """Writes what a player says about itself into its folder.

    Args:
        folder: The folder.
        kind: What kind of player it is, as in ``Agent.kind``.
        about: What else is to be known of it: plain data.
    """
    card = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "ohhell_env": ohhell_env.__version__,
        **about,
    }
    _write(folder / CARD, (json.dumps(card, indent=1) + "\n").encode())


def _write(path: Path, content: bytes) -> None:
    with naming(path), path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _swap(beside: Path, path: Path) -> None:
    """Puts a finished folder at its place; folders cannot be replaced in one move."""
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    beside.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def read_card(path: Path) -> dict[str, Any]:
    """Returns what a checkpoint says about itself.

    Raises:
        CheckpointError: Not a checkpoint, broken, or of another version.
    """
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
            f"{file}: is of version {shown(card.get('version'))}, this library reads version "
            f"{VERSION}; train it anew, or use ohhell_env {shown(card.get('ohhell_env'))}"
        )
    return card


def kind_of(card: Mapping[str, Any]) -> Any:
    """Returns what kind of player a card says that it is; the first cards did not."""
    return card.get("kind", LEARNED)


def read_weights(path: Path, digest: Any, sizes: Sizes) -> Weights:
    """Returns the tensors of a checkpoint.

    Args:
        path: The folder.
        digest: SHA-256 that its card names.
        sizes: The tensors that are wanted.

    Raises:
        CheckpointError: They are missing, damaged, others, or not finite.
    """
    file = path / WEIGHTS
    needed = 4 * sum(math.prod(size) for size in sizes.values())
    content = read_file(file, needed + _MAX_HEADER, _HINT)
    if not needed <= len(content) <= needed + _MAX_HEADER:
        raise CheckpointError(
            f"{file}: of another size than the weights of the network in its {CARD} ({needed} "
            "bytes and a header)"
        )
    if hashlib.sha256(content).hexdigest() != digest:
        raise CheckpointError(f"{file}: is damaged, or belongs to another {CARD}")
    tensors = _tensors()
    try:
        weights = tensors.numpy.load(content)
    except (tensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{file}: holds no readable weights ({error}); tensors of float32 are wanted"
        ) from None
    _check_weights(file, weights, sizes)
    return weights


def _check_weights(file: Path, weights: Weights, sizes: Sizes) -> None:
    for name in sorted(sizes.keys() ^ weights.keys()):
        problem = "is missing" if name in sizes else "does not belong there"
        raise CheckpointError(f"{file}: the tensor {shown(name)} {problem}")
    for name, value in weights.items():
        if value.dtype != np.float32 or value.shape != tuple(sizes[name]):
            raise CheckpointError(
                f"{file}: {name} is {value.dtype} of shape {value.shape}, float32 of shape "
                f"{tuple(sizes[name])} is wanted"
            )
        if not np.isfinite(value).all():
            raise CheckpointError(f"{file}: {name} holds values that are not finite numbers")
