"""Folders for the time of a tournament, which are cleared up even after ``kill -9``.

A process that is killed clears nothing up. So each folder has a lock file that the system lets go
with its process, and whoever needs a folder first removes those whose lock nobody holds.
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
_PLACE = "/tmp" if os.name == "posix" else None  # names of Ray's sockets have about 100 letters
_LOCK, _DOING = "in-use", "plays a tournament here"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder of this process's own, with nothing of use in it afterwards."""
    clear_left_behind()
    made = tempfile.TemporaryDirectory(prefix=PREFIX, dir=_PLACE, ignore_cleanup_errors=True)
    with made as name, only_here(Path(name) / _LOCK, _DOING):
        yield Path(name)


def clear_left_behind() -> None:
    """Removes folders that no living process owns: not its maker, nor what that has started."""
    if _PLACE is None:  # there are no locks there
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
