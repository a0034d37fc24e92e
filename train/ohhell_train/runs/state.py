"""The saved state of a run: named arrays with a text and a digest, in one safetensors file.

The file is written completely or not at all, and nothing in it is pickled. The digest keeps a
damaged state away from the engine, which does not check it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ohhell_env.errors import CheckpointError
from ohhell_env.files import write_whole

Arrays = dict[str, NDArray[Any]]


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], notes: str) -> None:
    """Writes arrays and a text completely or not at all."""
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_whole(path, save(plain, {"notes": notes, "sha256": _digest(plain, notes)}))


def read_arrays(path: Path, remedy: str) -> tuple[Arrays, str]:
    """Returns the arrays and the text of a file; nothing in it is executed.

    Args:
        path: The file.
        remedy: The remedy for a damaged file, as the end of the message.

    Raises:
        CheckpointError: The file is damaged.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
            about = file.metadata()
        notes, digest = about["notes"], about["sha256"]
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: is damaged ({error}); {remedy}") from None
    if _digest(arrays, notes) != digest:
        raise CheckpointError(f"{path}: has changed since it was saved; {remedy}")
    return arrays, notes


def _digest(arrays: Mapping[str, NDArray[Any]], notes: str) -> str:
    found = hashlib.sha256(notes.encode())
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()
