"""Shares with their intervals, and tables as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats import binomtest

_DIGITS = 4

Row = Mapping[str, Any]


def share(hits: int, count: int) -> tuple[float, float, float]:
    """Returns a share and its 95 % interval by Wilson's score.

    >>> [round(value, 3) for value in share(5, 10)]
    [0.5, 0.237, 0.763]

    Args:
        hits: Number of hits.
        count: Number of cases, at least 1.
    """
    found = binomtest(hits, count)
    ends = found.proportion_ci(0.95, method="wilson")
    return float(found.statistic), float(ends.low), float(ends.high)


def as_csv(rows: Sequence[Row]) -> str:
    """Returns rows with the same columns as CSV; floats have four digits after the point."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _rounded(value) for name, value in row.items()})
    return text.getvalue()


def _rounded(value: Any) -> Any:
    return f"{round(float(value), _DIGITS) + 0.0:g}" if isinstance(value, float) else value
