"""Where the figures of plots come from: result objects, or the files that were written of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from ohhell_env.errors import OhHellError
from train.bidding.calibration import calibration
from train.bidding.tables import bids_by_place
from train.tournament.results import RESULTS

BIDS_TABLE, CALIBRATION_TABLE = "bids.csv", "calibration.csv"


def is_tournament(source: Any) -> bool:
    """Returns whether figures are those of a tournament, rather than of one player's bids."""
    if isinstance(source, str | Path):
        path = Path(source)
        return path.suffix == ".json" or (path / RESULTS).is_file()
    return isinstance(source, dict) or hasattr(source, "to_dict")


def tournament_of(source: Any) -> dict[str, Any]:
    """Returns the content of ``results.json``.

    Args:
        source: ``Results``, their ``to_dict()``, the file, or the folder that it is in.

    Raises:
        OhHellError: There are no results.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        path = path / RESULTS if path.is_dir() else path
        try:
            source = json.loads(_text(path))
        except json.JSONDecodeError as error:
            raise OhHellError(f"{path}: is no JSON: {error}") from None
    data = source.to_dict() if hasattr(source, "to_dict") else source
    if not isinstance(data, dict) or not {"entrants", "pairs", "design"} <= data.keys():
        raise OhHellError(
            f"results of a tournament are wanted (an object, or the folder of {RESULTS}), got "
            f"{type(source).__name__}"
        )
    return data


def bids_table(source: Any) -> list[dict[str, Any]]:
    """Returns how often bids came up and were made, by hand size, place and bid.

    Args:
        source: A ``Report`` of ``train.bidding``, its ``BIDS`` rows, or the folder of its files.
    """
    if isinstance(source, str | Path):
        return _numbers(Path(source), BIDS_TABLE)
    return bids_by_place(bids_rows(source))


def calibration_table(source: Any) -> list[dict[str, Any]]:
    """Returns what was foretold and what happened.

    Args:
        source: As in ``bids_table``, or rows as ``train.bidding.calibration`` returns them.
    """
    if isinstance(source, str | Path):
        return _numbers(Path(source), CALIBRATION_TABLE)
    return source if isinstance(source, list) else calibration(bids_rows(source))


def bids_rows(source: Any) -> Any:
    """Returns ``BIDS`` rows.

    Raises:
        OhHellError: It is something else.
    """
    rows = getattr(source, "bids", source)
    if not isinstance(rows, np.ndarray) or "points_if_made" not in (rows.dtype.names or ()):
        raise OhHellError(
            "a player's bids are wanted (what train.bidding.cli.look returns), got "
            f"{type(source).__name__}"
        )
    if not len(rows):
        raise OhHellError("a player's bids are wanted, got none")
    return rows


def read_table(path: Path) -> list[dict[str, str]]:
    """Returns the rows of a CSV file.

    Raises:
        OhHellError: It cannot be read.
    """
    return list(csv.DictReader(_text(path).splitlines()))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise OhHellError(f"{path}: cannot be read: {why}") from None


def _numbers(path: Path, name: str) -> list[dict[str, Any]]:
    """Returns the rows of a table of a folder of ``train bidding``, numbers as numbers."""
    file = path / name if path.suffix != ".csv" else path
    return [{key: _number(value) for key, value in row.items()} for row in read_table(file)]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
