"""The files of saved players: read with care, written whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.errors import CheckpointError, shown, shown_path

AgentPath = str | Path
FORMAT = 1
"""Version of the JSON files that players save themselves in."""
_MAX_STATE = 1 << 20  # bytes; a saved player needs a few hundred


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file whole or not at all: beside its place first, then moved there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    try:
        with naming(path), beside.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Puts the name of a file into an error of the system that has none, as of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


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
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(
            f"{shown_path(path)}: is no player saved in format {FORMAT}; save it again with this "
            "version"
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
