"""Files: those that people made are read with care, ours are written whole or not at all.

Records, rules and settings are all read here, whatever program saved them and whatever the path
names. A folder, a pipe or a device is refused, because reading it could take for ever, and so is a
file that is far too large.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import stat
from pathlib import Path

from ohhell_env.errors import OhHellError, shown, shown_path

MOST_BYTES = 64 << 20
"""The largest file that is read; a whole game with a player's thoughts has far less."""
MOST_SETTINGS = 4 << 20
"""The largest file of settings."""
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte-order marks, as editors and shells on Windows write them, and what each stands for."""


def read_text(path: str | Path, most: int = MOST_BYTES) -> str:
    """Returns the text of a regular file, without a byte-order mark, all line ends alike.

    The encoding is UTF-8, or what the byte-order mark says.

    Args:
        path: The file.
        most: Bytes that it may have.

    Raises:
        OhHellError: It cannot be read, is no regular file, is too large, or is no text. The message
            is the reason alone; the caller adds what the file should have been.
    """
    try:
        content = _read(path, most)
    except OSError as error:
        raise OhHellError(error.strerror or str(error)) from None
    mark = next((mark for mark in _MARKS if content.startswith(mark)), b"")
    try:
        text = content[len(mark) :].decode(_MARKS.get(mark, "utf-8"))
    except UnicodeDecodeError:
        raise OhHellError("it is not UTF-8 text") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read(path: str | Path, most: int) -> bytes:
    # A look at the path before it is opened would not do: a pipe may take its place afterwards.
    # O_NONBLOCK opens a pipe without waiting for somebody to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except PermissionError:
        if Path(path).is_dir():  # Windows opens no folder
            raise OhHellError("it is a folder") from None
        raise
    except ValueError:  # a letter that no file's name has
        raise OhHellError("it is no name of a file") from None
    except TypeError:
        raise OhHellError(f"a path is wanted, got {shown(path)}") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise OhHellError("it is a folder")
        if not stat.S_ISREG(mode):
            raise OhHellError("it is a pipe or a device, not a file")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            content = stream.read(most + 1)
    finally:
        os.close(descriptor)
    if len(content) > most:
        raise OhHellError(f"it is larger than {most >> 20} MiB")
    return content


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file so that it is whole or, if the program is killed, as it was before.

    Args:
        path: The file; missing folders are made.
        content: Text is written as UTF-8, line ends as they are.

    Raises:
        OSError: It cannot be written; the error names the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    try:
        with beside.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            # Without it, a crash of the machine could leave the new name with nothing in it.
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        if error.filename is None or Path(error.filename) == beside:  # None: as of a full disk
            error.filename, error.filename2 = shown_path(path), None
        raise
    finally:
        with contextlib.suppress(OSError):  # a name that cannot be is not there
            beside.unlink(missing_ok=True)
