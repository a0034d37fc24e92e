"""The files of players: ``agent.json`` and ``weights.safetensors`` in a folder, or one JSON file.

The JSON contains the kind of player, what it was trained for, and its shape; the weights are plain
numbers. No code in either ever runs, so a stranger's checkpoint is safe to load: anything that does
not fit raises ``CheckpointError``. Folders are written completely or not at all.
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
from ohhell_env.errors import CheckpointError, shown, shown_path
from ohhell_env.files import write_whole

AgentPath = str | Path
STATE_FORMAT = 1
"""Version of the JSON files of saved players."""
_MAX_STATE = 1 << 20  # bytes; a saved player needs a few hundred
FORMAT = "ohhell-agent"
VERSION = 1
"""Version of the format; others are refused."""
LEARNED = "learned"
"""The kind of a network fitted by PPO or by distillation: the only one that needs torch."""
WHOLE, BIDS, CARDS = "both", "bids", "cards"
"""The decisions of a player: all, or one of the two parts of the game."""
METADATA, WEIGHTS = "agent.json", "weights.safetensors"
_HINT = f"; a checkpoint is a folder with {METADATA} and {WEIGHTS}"
_MAX_METADATA = 1 << 20  # bytes; metadata needs a few thousand
_MAX_HEADER = 1 << 16  # largest size of tensor names and shapes, in bytes

Weights = dict[str, NDArray[np.float32]]
Sizes = Mapping[str, tuple[int, ...]]
"""Name and shape of every tensor."""


def as_path(path: Any) -> Path:
    """Returns the path of a saved player.

    Raises:
        CheckpointError: The value is not a path.
    """
    if isinstance(path, str | Path) and str(path) and "\0" not in str(path):
        return Path(path)
    raise CheckpointError(
        f"a saved player needs a path (a string or a pathlib.Path), got {shown(path)}"
    )


def is_there(path: Path) -> bool:
    """Returns whether a path exists; False if no file can have the name."""
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, forbidden, or with a character no file name has
        return False


def read_file(file: Path, limit: int, hint: str = "") -> bytes:
    """Returns the content of a regular file, up to just over ``limit`` bytes.

    Args:
        file: The file.
        limit: Largest size in bytes.
        hint: Added to the message if the file cannot be read.

    Raises:
        CheckpointError: The file cannot be read, or is a folder, a pipe or a device.
    """
    try:
        if file.exists() and not file.is_file():
            raise CheckpointError(f"{shown_path(file)}: not a regular file")
        with file.open("rb") as stream:
            return stream.read(limit + 1)
    except OSError as error:
        why = error.strerror or error
        raise CheckpointError(f"{shown_path(file)}: cannot be read: {why}{hint}") from None
    except UnicodeError:
        raise CheckpointError(f"{shown_path(file)!r}: not a possible file name") from None


def read_state(path: AgentPath) -> dict[str, Any]:
    """Returns the content of a saved agent's JSON file.

    Raises:
        CheckpointError: The file is missing, not JSON, too large, or of another format.
    """
    content = read_file(as_path(path), _MAX_STATE)
    if len(content) > _MAX_STATE:
        raise CheckpointError(
            f"{shown_path(path)}: not a saved player (more than {_MAX_STATE} bytes)"
        )
    try:
        state = json.loads(content)
    except (ValueError, RecursionError):
        raise CheckpointError(f"{shown_path(path)}: not a saved player (not a JSON file)") from None
    if not isinstance(state, dict) or state.get("format") != STATE_FORMAT:
        raise CheckpointError(
            f"{shown_path(path)}: not a player saved in format {STATE_FORMAT}; save it again "
            "with this version"
        )
    return state


def plain_state(random: np.random.Generator) -> dict[str, Any]:
    """Returns the state of a generator as numbers, lists and strings."""
    state = random.bit_generator.state
    inner = {key: value.tolist() for key, value in state["state"].items()}
    return {**state, "state": inner, "buffer": state["buffer"].tolist()}


def restore(random: np.random.Generator, plain: Any, path: AgentPath) -> None:
    """Restores a saved state after a strict check: NumPy reads wherever "buffer_pos" points.

    Args:
        random: The generator, a Philox.
        plain: The result of ``plain_state``, or anything else from a file.
        path: The file, for the message.

    Raises:
        CheckpointError: The value is not a state of such a generator.
    """
    try:
        restored = {
            "bit_generator": "Philox",
            "state": {
                "counter": _numbers(plain["state"]["counter"], 4),
                "key": _numbers(plain["state"]["key"], 2),
            },
            "buffer": _numbers(plain["buffer"], 4),
            "buffer_pos": _number(plain["buffer_pos"], 4),
            "has_uint32": _number(plain["has_uint32"], 1),
            "uinteger": _number(plain["uinteger"], 2**32 - 1),
        }
        if plain["bit_generator"] != "Philox":
            raise ValueError("another generator")
    except (KeyError, TypeError, ValueError):
        raise CheckpointError(f"{path}: the state of its random numbers is broken") from None
    random.bit_generator.state = restored


def _numbers(values: Any, count: int) -> NDArray[np.uint64]:
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"expected {count} numbers")
    return np.array([_number(value, 2**64 - 1) for value in values], np.uint64)


def _number(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"expected a whole number from 0 to {most}")
    return value


# ---------------------------------------------------------------- folders with weights


def _tensors() -> Any:
    """Returns the library ``safetensors``; players without a checkpoint do not need it.

    Raises:
        CheckpointError: It is not installed.
    """
    try:
        import safetensors.numpy
    except ModuleNotFoundError as error:
        raise CheckpointError(
            f"the weights of trained players need {error.name}: pip install safetensors"
        ) from None
    return safetensors


def digest_of(weights: Weights) -> str:
    """Returns the SHA-256 of weights in their saved form."""
    return hashlib.sha256(_packed(weights)).hexdigest()


def _packed(weights: Weights) -> bytes:
    return _tensors().numpy.save(
        {name: np.asarray(value, order="C") for name, value in weights.items()}
    )


def write_folder(path: AgentPath, kind: str, about: Mapping[str, Any], weights: Weights) -> None:
    """Writes a checkpoint completely or not at all; replaces an older one at the same path.

    Args:
        path: The folder.
        kind: The kind of player, as in ``Agent.kind``.
        about: Other metadata, as plain data.
        weights: The tensors by name.

    Raises:
        CheckpointError: The path exists and is not a checkpoint.
    """
    packed = _packed(weights)
    digest = hashlib.sha256(packed).hexdigest()
    with replacing(path) as folder:
        write_whole(folder / WEIGHTS, packed)
        write_metadata(folder, kind, {**about, "weights_sha256": digest})


@contextlib.contextmanager
def replacing(path: AgentPath) -> Iterator[Path]:
    """Yields an empty folder to write a player into, and moves it to its path at the end.

    It replaces an older player at that path. If writing fails, the older player stays.

    Args:
        path: The final path.

    Raises:
        CheckpointError: The path exists and is not a checkpoint.
    """
    path = as_path(path)
    if path.exists() and not (path / METADATA).is_file():
        raise CheckpointError(f"{path}: exists already and is not a checkpoint; use another path")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new-{os.getpid()}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    try:
        yield beside
        _swap(beside, path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_metadata(folder: Path, kind: str, about: Mapping[str, Any]) -> None:
    """Writes a player's metadata into its folder.

    Args:
        folder: The folder.
        kind: The kind of player, as in ``Agent.kind``.
        about: Other metadata, as plain data.
    """
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "ohhell_env": ohhell_env.__version__,
        **about,
    }
    write_whole(folder / METADATA, json.dumps(metadata, indent=1) + "\n")


def _swap(beside: Path, path: Path) -> None:
    """Moves a finished folder to its path; folders cannot be replaced in one step."""
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    beside.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def read_metadata(path: Path) -> dict[str, Any]:
    """Returns the metadata of a checkpoint.

    Raises:
        CheckpointError: The folder is not a checkpoint, broken, or of another version.
    """
    file = path / METADATA
    content = read_file(file, _MAX_METADATA, _HINT)
    if len(content) > _MAX_METADATA:
        raise CheckpointError(
            f"{file}: larger than {_MAX_METADATA} bytes, so not the metadata of a checkpoint"
        )
    try:
        metadata = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: not JSON ({type(error).__name__})") from None
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise CheckpointError(f"{file}: does not describe a player (expected format {FORMAT!r})")
    if metadata.get("version") != VERSION:
        raise CheckpointError(
            f"{file}: has version {shown(metadata.get('version'))}, but this library reads version "
            f"{VERSION}; train it again, or use ohhell_env {shown(metadata.get('ohhell_env'))}"
        )
    return metadata


def kind_of(metadata: Mapping[str, Any]) -> Any:
    """Returns the kind of player in its metadata; the first checkpoints named none."""
    return metadata.get("kind", LEARNED)


def read_weights(path: Path, digest: Any, sizes: Sizes) -> Weights:
    """Returns the tensors of a checkpoint.

    Args:
        path: The folder.
        digest: The SHA-256 in its metadata.
        sizes: The expected tensors.

    Raises:
        CheckpointError: The tensors are missing, damaged, different, or not finite.
    """
    file = path / WEIGHTS
    needed = 4 * sum(math.prod(size) for size in sizes.values())
    content = read_file(file, needed + _MAX_HEADER, _HINT)
    if not needed <= len(content) <= needed + _MAX_HEADER:
        raise CheckpointError(
            f"{file}: the size does not fit the network in its {METADATA} ({needed} bytes and a "
            "header)"
        )
    if hashlib.sha256(content).hexdigest() != digest:
        raise CheckpointError(f"{file}: damaged, or belongs to another {METADATA}")
    tensors = _tensors()
    try:
        weights = tensors.numpy.load(content)
    except (tensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{file}: contains no readable weights ({error}); expected tensors of float32"
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
                f"{file}: {name} is {value.dtype} of shape {value.shape}; expected float32 of "
                f"shape {tuple(sizes[name])}"
            )
        if not np.isfinite(value).all():
            raise CheckpointError(f"{file}: {name} contains values that are not finite numbers")
