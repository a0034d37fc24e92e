"""A player's forecasts at its bids, against the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.engine.layout import Rows
from ohhell_train.bidding.shares import share
from ohhell_train.tournament.analysis.statistics import interval

CHANCE, POINTS, TRICKS = "chance to make the bid", "expected points", "share of tricks"
"""The quantities of forecasts."""
BINS = 10
ALL = ""
"""Stands for all hand sizes."""

Floats = NDArray[np.float64]


def calibration_rows(bids: Rows) -> list[dict[str, Any]]:
    """Returns forecasts and results, in bins.

    Args:
        bids: ``BIDS`` rows.

    Returns:
        Rows with "quantity", "hand_size" (empty: all), "from" and "to", "hands", the mean
        "predicted" value, and the "observed" value with its 95 % interval "low" and "high". Chances
        are in bins of ten per cent. Expected points are in ten bins with about equally many hands,
        for all hand sizes and for each. Tricks have a row for each hand size and number of tricks.
        There are no rows for quantities without forecasts.
    """
    forecast = bids[~np.isnan(bids["value"])]
    rows = _chances(bids[~np.isnan(bids["prob"])])
    rows += _points(forecast, ALL)
    for size in np.unique(forecast["hand_size"]).tolist():
        rows += _points(forecast[forecast["hand_size"] == size], size)
    return rows + _tricks(bids[~np.isnan(bids["trick_probs"][:, 0])])


def mean_gap(rows: list[dict[str, Any]], quantity: str) -> tuple[float, int] | None:
    """Returns the mean distance between forecasts and results.

    Args:
        rows: The rows of ``calibration_rows``.
        quantity: ``CHANCE``, ``POINTS`` (over the bins of all hand sizes) or ``TRICKS``.

    Returns:
        The mean distance of the rows, weighted by hands, and the number of hands; None without
        forecasts.
    """
    own = main_rows(rows, quantity)
    if not own:
        return None
    gaps = [abs(row["predicted"] - row["observed"]) for row in own]
    hands = [row["hands"] for row in own]
    first = {
        row["hand_size"]: row["hands"] for row in own
    }  # all trick rows of a hand size have the same number
    total = sum(first.values()) if quantity == TRICKS else sum(hands)
    return float(np.average(gaps, weights=hands)), total


def main_rows(rows: Sequence[dict[str, Any]], quantity: str) -> list[dict[str, Any]]:
    """Returns the rows of a quantity; for expected points, those of all hand sizes together."""
    return [
        row
        for row in rows
        if row["quantity"] == quantity and (quantity != POINTS or row["hand_size"] == ALL)
    ]


def _row(
    quantity: str,
    size: int | str,
    ends: tuple[float, float],
    hands: int,
    predicted: float,
    observed: tuple[float, float | None, float | None],
) -> dict[str, Any]:
    mean, low, high = observed
    return {
        "quantity": quantity,
        "hand_size": size,
        "from": ends[0],
        "to": ends[1],
        "hands": hands,
        "predicted": predicted,
        "observed": mean,
        "low": "" if low is None else low,
        "high": "" if high is None else high,
    }


def _chances(bids: Rows) -> list[dict[str, Any]]:
    rows = []
    place = np.minimum((bids["prob"] * BINS).astype(np.int64), BINS - 1)
    for number in np.unique(place).tolist():
        own = bids[place == number]
        made = share(int((own["bid"] == own["tricks"]).sum()), len(own))
        ends = number / BINS, (number + 1) / BINS
        rows.append(_row(CHANCE, ALL, ends, len(own), float(own["prob"].mean()), made))
    return rows


def _points(bids: Rows, size: int | str) -> list[dict[str, Any]]:
    if not len(bids):
        return []
    edges = np.unique(np.quantile(bids["value"], np.linspace(0.0, 1.0, BINS + 1)))
    place = np.clip(np.searchsorted(edges, bids["value"], side="right") - 1, 0, None)
    place = np.minimum(place, max(len(edges) - 2, 0))
    rows = []
    for number in np.unique(place).tolist():
        own = bids[place == number]
        mean, ends = interval(own["points"].astype(np.float64))
        low, high = (None, None) if ends is None else ends
        span = float(edges[number]), float(edges[min(number + 1, len(edges) - 1)])
        rows.append(
            _row(POINTS, size, span, len(own), float(own["value"].mean()), (mean, low, high))
        )
    return rows


def _tricks(bids: Rows) -> list[dict[str, Any]]:
    rows = []
    for size in np.unique(bids["hand_size"]).tolist():
        own = bids[bids["hand_size"] == size]
        predicted = own["trick_probs"].mean(axis=0)
        for tricks in range(size + 1):
            seen = share(int((own["tricks"] == tricks).sum()), len(own))
            ends = float(tricks), float(tricks)
            rows.append(_row(TRICKS, size, ends, len(own), float(predicted[tricks]), seen))
    return rows
