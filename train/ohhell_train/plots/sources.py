"""The data of plots: result objects, or the files written from them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ohhell_agents.checkpoint_io import is_there
from ohhell_env.errors import OhHellError, shown, shown_path
from ohhell_env.files import read_text
from ohhell_train.bidding.calibration import calibration_rows
from ohhell_train.bidding.tables import bids_by_place
from ohhell_train.tournament.analysis.results import RESULTS

BIDS_TABLE, CALIBRATION_TABLE = "bids.csv", "calibration.csv"
_COUNTED = ("hand_size", "place", "bid", "hands", "made_rate")
_FORETOLD = ("hands", "predicted", "observed", "low", "high")
"""The columns of a calibration plot."""
_MOST_BYTES = 1 << 30
"""Room for the results of a tournament of a thousand entrants."""
_OF_TOURNAMENT = {"entrants", "pairs", "design"}


def is_tournament(source: Any) -> bool:
    """Returns whether the data is that of a tournament, and not of one player's bids."""
    if isinstance(source, str | Path):
        path = Path(source)
        return path.suffix == ".json" or is_there(path / RESULTS)
    return isinstance(source, dict) or hasattr(source, "to_dict")


def tournament_of(source: Any) -> dict[str, Any]:
    """Returns the content of ``results.json``.

    Args:
        source: ``Results``, their ``to_dict()``, the file, or its folder.

    Raises:
        OhHellError: There are no results.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        path = path / RESULTS if is_there(path) and path.is_dir() else path
        try:
            source = json.loads(_text(path))
        except (ValueError, RecursionError) as error:
            raise OhHellError(f"{path}: is not JSON: {error}") from None
    data = source.to_dict() if hasattr(source, "to_dict") else source
    if not _are_results(data):
        raise OhHellError(
            f"must be results of a tournament (an object, or the folder of {RESULTS}), got "
            f"{type(source).__name__}"
        )
    return data


def _are_results(data: Any) -> bool:
    if not isinstance(data, dict) or not data.keys() >= _OF_TOURNAMENT:
        return False
    entrants = data["entrants"]
    return (
        isinstance(entrants, dict)
        and bool(entrants)
        and all(isinstance(row, dict) and "difference" in row for row in entrants.values())
    )


def bids_table(source: Any) -> list[dict[str, Any]]:
    """Returns how often bids occurred and were made, by hand size, place and bid.

    Args:
        source: A ``Report`` of ``ohhell_train.bidding``, its ``BIDS`` rows, or the folder of its
            files.

    Raises:
        OhHellError: The source is something else.
    """
    if isinstance(source, str | Path):
        rows = _numbers(Path(source), BIDS_TABLE, _COUNTED)
        if not rows:
            raise OhHellError(f"{source}: must hold a player's bids, got none")
        return rows
    return bids_by_place(bids_rows(source))


def calibration_table(source: Any) -> list[dict[str, Any]]:
    """Returns forecasts and results.

    Args:
        source: As for ``bids_table``, or rows of ``ohhell_train.bidding.calibration``.

    Raises:
        OhHellError: The source is something else.
    """
    if isinstance(source, str | Path):
        return _numbers(Path(source), CALIBRATION_TABLE, _FORETOLD, ("quantity", "hand_size"))
    if not isinstance(source, list):
        return calibration_rows(bids_rows(source))
    wanted = {"quantity", "hand_size", *_FORETOLD}
    if not all(isinstance(row, dict) and row.keys() >= wanted for row in source):
        raise OhHellError("must be rows from ohhell_train.bidding.calibration, got others")
    return source


def bids_rows(source: Any) -> Any:
    """Returns ``BIDS`` rows.

    Raises:
        OhHellError: The source is something else.
    """
    rows = getattr(source, "bids", source)
    if not isinstance(rows, np.ndarray) or "points_if_made" not in (rows.dtype.names or ()):
        raise OhHellError(
            "must be a player's bids from ohhell_train.bidding.cli.bidding_report, "
            f"got {type(source).__name__}"
        )
    if not len(rows):
        raise OhHellError("must be a player's bids, got none")
    return rows


def read_table(path: Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """Returns the rows of a CSV file.

    Args:
        path: The file.
        columns: Columns that must exist.

    Raises:
        OhHellError: The file cannot be read, or lacks a column.
    """
    reader = csv.DictReader(_text(path).splitlines(), restval="")
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        raise OhHellError(f"{path}: has no column {missing[0]!r}; is it another table?")
    return list(reader)


def number_of(row: Mapping[str, str], column: str, path: Path) -> float:
    """Returns the number in a column of a row.

    Raises:
        OhHellError: The cell does not hold a number.
    """
    text = row.get(column, "")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise OhHellError(f"{path}: {column}: must be a number, got {shown(text)}")
    return number


def _text(path: Path) -> str:
    try:
        return read_text(path, _MOST_BYTES)
    except OhHellError as error:
        raise OhHellError(f"{shown_path(path)}: cannot be read: {error}") from None


def _numbers(
    path: Path, name: str, columns: tuple[str, ...], others: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Returns the rows of a table in a folder of ``ohhell bidding``, with numbers as numbers."""
    file = path / name if path.suffix != ".csv" else path
    rows: list[dict[str, Any]] = []
    for row in read_table(file, (*columns, *others)):
        kept = {key: _plain(row[key]) for key in others}
        rows.append(kept | {key: _value(row, key, file) for key in columns})
    return rows


def _value(row: Mapping[str, str], column: str, file: Path) -> float | int | str:
    """Returns a number; the ends of an interval may be missing."""
    if column in ("low", "high") and row[column] == "":
        return ""
    value = number_of(row, column, file)
    if column == "hands" and value < 1:
        raise OhHellError(f"{file}: {column}: must be at least 1, got {shown(row[column])}")
    return int(value) if value.is_integer() else value


def _plain(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
