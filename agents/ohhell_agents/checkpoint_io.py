"""The files of players: ``agent.json`` and ``weights.safetensors`` in a folder, or one JSON file.

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
from ohhell_env.errors import CheckpointError, shown, shown_path
from ohhell_env.files import write_whole

AgentPath = str | Path
STATE_FORMAT = 1
"""Version of the JSON files that players save themselves in."""
_MAX_STATE = 1 << 20  # bytes; a saved player needs a few hundred
FORMAT = "ohhell-agent"
VERSION = 1
"""Version of the format; another one is refused."""
LEARNED = "learned"
"""The kind of a network fitted by PPO or by distillation: the only one that needs torch."""
WHOLE, BIDS, CARDS = "both", "bids", "cards"
"""What a player decides: everything, or one of the two parts of the game."""
METADATA, WEIGHTS = "agent.json", "weights.safetensors"
_HINT = f"; a checkpoint is a folder with {METADATA} and {WEIGHTS}"
_MAX_METADATA = 1 << 20  # bytes; metadata needs a few thousand
_MAX_HEADER = 1 << 16  # bytes that names and shapes of tensors may take

Weights = dict[str, NDArray[np.float32]]
Sizes = Mapping[str, tuple[int, ...]]
"""Name and shape of every tensor."""


def as_path(path: Any) -> Path:
    """Returns the place of a saved player.

    Raises:
        CheckpointError: It is no path.
    """
    if isinstance(path, str | Path) and str(path) and "\0" not in str(path):
        return Path(path)
    raise CheckpointError(
        f"the place of a saved player is a path (a text or a pathlib.Path), got {shown(path)}"
    )


def is_there(path: Path) -> bool:
    """Returns whether there is anything at a path; a name that cannot be is not there."""
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, forbidden, or a letter that no file name has
        return False


def read_file(file: Path, limit: int, hint: str = "") -> bytes:
    """Returns the content of a regular file, or a little more than ``limit`` bytes of it.

    Args:
        file: The file.
        limit: Bytes that it may have.
        hint: What to add to the message if it cannot be read.

    Raises:
        CheckpointError: It cannot be read, or is a folder, a pipe or a device.
    """
    try:
        if file.exists() and not file.is_file():
            raise CheckpointError(f"{shown_path(file)}: is not a file")
        with file.open("rb") as stream:
            return stream.read(limit + 1)
    except OSError as error:
        why = error.strerror or error
        raise CheckpointError(f"{shown_path(file)}: cannot be read: {why}{hint}") from None
    except UnicodeError:
        raise CheckpointError(f"{shown_path(file)!r}: is no name that a file can have") from None


def read_state(path: AgentPath) -> dict[str, Any]:
    """Returns the content of a saved agent's JSON file.

    Raises:
        CheckpointError: No such file, no JSON, too large, or of another format.
    """
    content = read_file(as_path(path), _MAX_STATE)
    if len(content) > _MAX_STATE:
        raise CheckpointError(
            f"{shown_path(path)}: is no saved player (more than {_MAX_STATE} bytes)"
        )
    try:
        state = json.loads(content)
    except (ValueError, RecursionError):
        raise CheckpointError(f"{shown_path(path)}: is no saved player (not a JSON file)") from None
    if not isinstance(state, dict) or state.get("format") != STATE_FORMAT:
        raise CheckpointError(
            f"{shown_path(path)}: is no player saved in format {STATE_FORMAT}; save it again "
            "with this version"
        )
    return state


def plain_state(random: np.random.Generator) -> dict[str, Any]:
    """Returns the state of a generator as numbers, lists and texts."""
    state = random.bit_generator.state
    inner = {key: value.tolist() for key, value in state["state"].items()}
    return {**state, "state": inner, "buffer": state["buffer"].tolist()}


def restore(random: np.random.Generator, plain: Any, path: AgentPath) -> None:
    """Puts a saved state back, after a strict look: NumPy reads wherever "buffer_pos" points.

    Args:
        random: The generator, a Philox.
        plain: What ``plain_state`` returned, or anything else that stood in a file.
        path: The file, for the message.

    Raises:
        CheckpointError: It is no state of such a generator.
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
        raise ValueError(f"{count} numbers are wanted")
    return np.array([_number(value, 2**64 - 1) for value in values], np.uint64)


def _number(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"a whole number from 0 to {most} is wanted")
    return value


# ---------------------------------------------------------------- folders with weights


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
        write_whole(folder / WEIGHTS, packed)
        write_metadata(folder, kind, {**about, "weights_sha256": digest})


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
    if path.exists() and not (path / METADATA).is_file():
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


def write_metadata(folder: Path, kind: str, about: Mapping[str, Any]) -> None:
    """Writes what a player says about itself into its folder.

    Args:
        folder: The folder.
        kind: What kind of player it is, as in ``Agent.kind``.
        about: What else is to be known of it: plain data.
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
    """Puts a finished folder at its place; folders cannot be replaced in one move."""
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    beside.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def read_metadata(path: Path) -> dict[str, Any]:
    """Returns what a checkpoint says about itself.

    Raises:
        CheckpointError: Not a checkpoint, broken, or of another version.
    """
    file = path / METADATA
    content = read_file(file, _MAX_METADATA, _HINT)
    if len(content) > _MAX_METADATA:
        raise CheckpointError(
            f"{file}: larger than {_MAX_METADATA} bytes; it is no checkpoint's metadata"
        )
    try:
        metadata = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: is not JSON ({type(error).__name__})") from None
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise CheckpointError(f"{file}: does not describe a player (format {FORMAT!r} is wanted)")
    if metadata.get("version") != VERSION:
        raise CheckpointError(
            f"{file}: is of version {shown(metadata.get('version'))}, this library reads version "
            f"{VERSION}; train it anew, or use ohhell_env {shown(metadata.get('ohhell_env'))}"
        )
    return metadata


def kind_of(metadata: Mapping[str, Any]) -> Any:
    """Returns what kind of player its metadata says that it is; the first ones did not."""
    return metadata.get("kind", LEARNED)


def read_weights(path: Path, digest: Any, sizes: Sizes) -> Weights:
    """Returns the tensors of a checkpoint.

    Args:
        path: The folder.
        digest: SHA-256 that its metadata names.
        sizes: The tensors that are wanted.

    Raises:
        CheckpointError: They are missing, damaged, others, or not finite.
    """
    file = path / WEIGHTS
    needed = 4 * sum(math.prod(size) for size in sizes.values())
    content = read_file(file, needed + _MAX_HEADER, _HINT)
    if not needed <= len(content) <= needed + _MAX_HEADER:
        raise CheckpointError(
            f"{file}: of another size than the weights of the network in its {METADATA} ({needed} "
            "bytes and a header)"
        )
    if hashlib.sha256(content).hexdigest() != digest:
        raise CheckpointError(f"{file}: is damaged, or belongs to another {METADATA}")
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
