"""A lock for a folder, which the system releases when the process ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from ohhell_env.errors import OhHellError

try:
    import fcntl
except ImportError:  # Windows has no such locks, so two processes can use one folder there
    fcntl = None


class InUseError(OhHellError):
    """Another process uses the folder."""


@contextlib.contextmanager
def only_here(lock: Path, doing: str) -> Iterator[None]:
    """Keeps other processes away from what a lock file guards; removes the file at the end.

    On a system or file system without locks, this does nothing.

    Args:
        lock: The lock file, next to what it guards. It holds the number of the process.
        doing: The activity, for the message: "is training here".

    Raises:
        InUseError: Another process holds the lock.
    """
    if fcntl is None:
        yield
        return
    with _locked(lock, doing) as file:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            if _stands_at(file, lock):  # otherwise the folder was moved
                lock.unlink()


def _locked(lock: Path, doing: str) -> TextIO:
    assert fcntl is not None
    while True:
        file = lock.open("a+", encoding="utf-8", errors="replace")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            with file:
                raise InUseError(_in_use(lock, file, doing)) from None
        except OSError:  # a file system without locks
            pass
        if _stands_at(file, lock):
            return file
        file.close()  # its holder removed it after we opened it, so this lock guards nothing


def _in_use(lock: Path, file: TextIO, doing: str) -> str:
    file.seek(0)
    holder = file.read(20).strip()
    who = f"process {holder}" if holder.isdecimal() else "another process"
    return (
        f"{lock.parent}: {who} {doing}; wait until it ends, stop it with Ctrl-C, or choose "
        "another --out"
    )


def _stands_at(file: TextIO, place: Path) -> bool:
    """Returns whether an open file is still the file at its path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), place.stat())
    except FileNotFoundError:
        return False
