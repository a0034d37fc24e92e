"""One process for a folder: a lock that the system ends with its process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from ohhell_env.errors import OhHellError

try:
    import fcntl
except ImportError:  # Windows: nothing keeps two processes from one folder there
    fcntl = None


class InUseError(OhHellError):
    """Another process works in the folder."""


@contextlib.contextmanager
def only_here(lock: Path, doing: str) -> Iterator[None]:
    """Keeps other processes from what belongs to a lock file; the file goes when it ends.

    On a system, or a file system, without locks nothing is kept.

    Args:
        lock: The lock file, beside what it guards. Holds the number of the process.
        doing: What the process does there, for the message: "is training here".

    Raises:
        InUseError: Another process holds it.
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
            if _stands_at(file, lock):  # else the folder was moved
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
        file.close()  # removed by who held it, after it was opened: a lock of no worth


def _in_use(lock: Path, file: TextIO, doing: str) -> str:
    file.seek(0)
    holder = file.read(20).strip()
    who = f"process {holder}" if holder.isdecimal() else "another process"
    return (
        f"{lock.parent}: {who} {doing}; wait until it ends, stop it with Ctrl-C, or choose "
        "another --out"
    )


def _stands_at(file: TextIO, place: Path) -> bool:
    """Returns whether an open file is still the one at its place."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), place.stat())
    except FileNotFoundError:
        return False
