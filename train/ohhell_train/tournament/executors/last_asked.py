"""A note in a file of the player being asked, which remains if the player ends the process.

A player is foreign Python code in our process: it can exit with ``os._exit``, or crash. None of our
code runs then, but the process that watches reads the note. Players inside the engine cannot do
this, and are not noted.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_IDLE, _ASKING, _DONE = b"i", b"a", b"d"
_LONGEST = 200  # most bytes of a name
_files: list[int] = []
"""The open descriptor of this process's note, if any."""


def keep(path: str | Path) -> None:
    """Keeps the note of this process in a file from now on."""
    _files[:] = [os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)]


class asking:  # noqa: N801 (stands behind `with`, and is made for every question)
    """Notes that an entrant is being asked, created, begun or closed, while the context lasts.

    A copy of the process that the entrant makes with ``os.fork`` ends with the context, because it
    must not continue the tournament in parallel.

    Args:
        name: Its name.
    """

    __slots__ = ("_name", "_process")

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = os.getpid()

    def __enter__(self) -> None:
        if _files:
            _write(_ASKING + self._name.encode("utf-8", "replace")[:_LONGEST] + b"\0")

    def __exit__(self, *_: object) -> None:
        if os.getpid() != self._process:
            os._exit(0)
        if _files:
            _write(_IDLE)


def done() -> None:
    """Notes that the process ends because its work is done."""
    if _files:
        _write(_DONE)


def _write(content: bytes) -> None:
    with contextlib.suppress(OSError):  # a full disk, or a player that closed the file
        os.lseek(_files[0], 0, os.SEEK_SET)
        os.write(_files[0], content)


def is_done(path: str | Path) -> bool:
    """Returns whether a process noted that its work was done."""
    return _read(path)[:1] == _DONE


def who(path: str | Path) -> str | None:
    """Returns the entrant being asked when a process ended, or None."""
    content = _read(path)
    if content[:1] != _ASKING:
        return None
    return content[1:].split(b"\0")[0].decode("utf-8", "replace")


def _read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
