"""Temporary folders of a tournament, which are removed even after ``kill -9``.

A killed process removes nothing. So each folder has a lock file, which the system releases when its
process ends. Before creating a folder, a process removes all folders whose lock nobody holds.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ohhell_train.runs.lock import InUseError, only_here

PREFIX = "ohhell-"
_PLACE = (
    "/tmp" if os.name == "posix" else None
)  # names of Ray's sockets may have about 100 characters
_LOCK, _DOING = "in-use", "plays a tournament here"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Creates a temporary folder for this process, and removes it at the end."""
    clear_left_behind()
    made = tempfile.TemporaryDirectory(prefix=PREFIX, dir=_PLACE, ignore_cleanup_errors=True)
    with made as name, only_here(Path(name) / _LOCK, _DOING):
        yield Path(name)


def clear_left_behind() -> None:
    """Removes folders whose creator and its child processes have all ended."""
    if _PLACE is None:  # no locks here
        return
    with contextlib.suppress(OSError):
        for folder in Path(_PLACE).glob(f"{PREFIX}*"):
            if _is_left_behind(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left_behind(folder: Path) -> bool:
    try:
        if folder.lstat().st_uid != os.getuid() or folder.is_symlink():
            return False
        if not (folder / _LOCK).is_file() or _is_named_by_a_process(folder):
            return False
        with only_here(folder / _LOCK, _DOING):
            return True
    except (InUseError, OSError):
        return False


def _is_named_by_a_process(folder: Path) -> bool:
    """Returns whether a running process has the folder on its command line (known on Linux)."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in file.read_bytes():
                return True
    return False
