"""The metrics of a run as CSV: one row for each rollout, round or epoch."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ohhell_env.errors import OhHellError
from ohhell_env.files import write_whole
from ohhell_train.evaluate import Difference

METRICS = "metrics.csv"
Row = dict[str, str | int | float | None]
"""One row, by column; "" and None are empty cells."""


def number_in(row: Mapping[str, object], column: str) -> float:
    """Returns the number in a column of a row; an empty cell is 0."""
    value = row[column]
    return float(value) if isinstance(value, int | float) else 0.0


class MetricsError(OhHellError):
    """The metrics of a run are damaged."""


def measured_columns(fields: Sequence[str], found: Mapping[str, Difference]) -> Row:
    """Returns the columns of measurements: for each field the mean and the ends of its interval.

    Args:
        fields: All fields of the run; those without a measurement have empty cells.
        found: The measurements.
    """
    row: Row = {}
    for name in fields:
        ends, column = found.get(name), f"over_{name.replace(',', ';')}"
        row[column] = round(ends.mean, 4) if ends else ""
        row[f"{column}_low"] = round(ends.low, 4) if ends else ""
        row[f"{column}_high"] = round(ends.high, 4) if ends else ""
    return row


def write_metrics(file: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Writes all rows of a run; the newest row gives the columns."""
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(rows[-1]), restval="", extrasaction="ignore", lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    write_whole(file, text.getvalue())


def add_metrics(file: Path, row: Row) -> None:
    """Appends a row to the metrics; the first row gives the columns."""
    new = not file.exists() or file.stat().st_size == 0
    with file.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def cut_metrics(file: Path, last: int) -> None:
    """Removes the rows that an interruption has lost.

    Args:
        file: The metrics, with "decisions" as first column.
        last: The decisions of the last row to keep.

    Raises:
        MetricsError: The file is damaged.
    """
    if not file.exists():
        return
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _damaged(file, "is not text") from None
    first = "decisions"  # a kill may have left only part of it
    if text[: len(first)] != first[: len(text)]:
        raise _damaged(file, f"begins with {text[:20]!r}")
    lines = [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
    kept = lines[:1]
    for number, line in enumerate(lines[1:], 2):
        cells = line.split(",")
        if len(cells) != len(lines[0].split(",")) or not re.fullmatch("[0-9]{1,18}", cells[0]):
            raise _damaged(file, f"has no row of its columns in line {number}")
        if int(cells[0]) <= last:
            kept.append(line)
    write_whole(file, "".join(kept))


def _damaged(file: Path, what: str) -> MetricsError:
    return MetricsError(
        f"{file}: {what}, so it is damaged; move it away and resume the run, which begins a new "
        "file (nothing else is lost)"
    )
