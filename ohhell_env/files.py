"""Reads files from users with care, and writes files whole or not at all.

All records, rules and settings are read here, whichever program saved them and whatever the path
leads to. Folders, pipes and devices raise an error, because reading them might never end; so do
files that are far too large.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import stat
from pathlib import Path

from ohhell_env.errors import OhHellError, shown, shown_path

MOST_BYTES = 64 << 20
"""The largest file size to read; a whole game with a player's thoughts is far smaller."""
MOST_SETTINGS = 4 << 20
"""The largest size of a settings file."""
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""The encoding for each byte-order mark, which editors and shells on Windows write."""


def read_text(path: str | Path, most: int = MOST_BYTES) -> str:
    """Returns the text of a regular file, without a byte-order mark, with Unix line ends.

    The encoding is UTF-8, or that of the byte-order mark.

    Args:
        path: The file.
        most: The largest allowed size in bytes.

    Raises:
        OhHellError: The file cannot be read, is not a regular file, is too large, or is not text.
            The message is the reason alone; the caller adds the purpose of the file.
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
    # Checking the path before opening it is not enough: a pipe may replace the file afterwards.
    # O_NONBLOCK opens a pipe without waiting for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except PermissionError:
        if Path(path).is_dir():  # Windows opens no folder
            raise OhHellError("it is a folder") from None
        raise
    except ValueError:  # a character that file names cannot have
        raise OhHellError("it is not a file name") from None
    except TypeError:
        raise OhHellError(f"it must be a path, got {shown(path)}") from None
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
    """Writes a file whole; if the program is killed, the old file stays unchanged.

    Args:
        path: The file; missing folders are created.
        content: Bytes, or text that is written as UTF-8 with unchanged line ends.

    Raises:
        OSError: The file cannot be written; the error names it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    try:
        with beside.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            # Without this, a crash of the machine could leave an empty file.
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        if (
            error.filename is None or Path(error.filename) == beside
        ):  # None: a full disk, for example
            error.filename, error.filename2 = shown_path(path), None
        raise
    finally:
        with contextlib.suppress(OSError):  # an impossible name does not exist
            beside.unlink(missing_ok=True)
