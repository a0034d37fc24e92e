"""The folder of a bidding report, written completely or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ohhell_env.errors import OhHellError
from ohhell_train.tournament.analysis.results import check_writable, unwritable

NAMES = (
    "settings.json",
    "bids.csv",
    "hands.csv",
    "calibration.csv",
    "made_rates.png",
    "tricks.png",
    "calibration.png",
)
"""All files of a report."""


def check_free(folder: Path) -> None:
    """Checks that a report can be written to a folder, before the cards are dealt.

    Raises:
        OhHellError: The folder holds something else, or cannot be written.
    """
    check_writable(folder.absolute().parent)
    try:
        others = {each.name for each in folder.iterdir()} - set(NAMES) if folder.exists() else set()
    except OSError as error:
        raise unwritable(folder, error) from None
    if others:
        raise OhHellError(
            f"{folder}: holds {min(others)!r}, which is not part of a bidding report; choose "
            "another folder with --out"
        )


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes the files of a report; an older report in the folder is replaced.

    Args:
        folder: The folder.
        files: Content by name, with names from ``NAMES``.

    Raises:
        OhHellError: The folder cannot be written.
    """
    folder = folder.absolute()
    check_free(folder)
    beside = folder.with_name(f".{folder.name}.new-{os.getpid()}")
    old = folder.with_name(f".{folder.name}.old-{os.getpid()}")
    try:
        beside.mkdir(parents=True)
        for name, content in files.items():
            raw = content.encode() if isinstance(content, str) else content
            (beside / name).write_bytes(raw)
        if folder.exists():
            folder.rename(old)
        beside.rename(folder)
    except OSError as error:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise unwritable(folder, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
