"""Means with their 95 % intervals."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
"""How sure the intervals are."""


@functools.cache
def student_quantile(degrees: int, level: float = LEVEL) -> float:
    """Returns the t with ``P(|T| <= t) = level`` of Student's distribution.

    >>> [round(student_quantile(degrees), 3) for degrees in (1, 2, 10, 1999)]
    [12.706, 4.303, 2.228, 1.961]

    Args:
        degrees: Degrees of freedom, from 1 on.
        level: Between 0 and 1.
    """
    low, high = 0.0, 1.0
    while _within(high, degrees) < level:
        low, high = high, 2.0 * high
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _within(middle, degrees) < level else (low, middle)
    return (low + high) / 2.0


def _within(t: float, degrees: int) -> float:
    """Returns ``P(|T| <= t)``: the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(degrees))
    odd = degrees % 2
    term = total = math.cos(angle) if odd else 1.0
    for k in range(1 + odd, degrees - 2, 2):
        term *= math.cos(angle) ** 2 * k / (k + 1)
        total += term
    if not odd:
        return math.sin(angle) * total
    return 2.0 / math.pi * (angle + math.sin(angle) * (total if degrees > 1 else 0.0))


def interval(values: NDArray[np.float64]) -> tuple[float, tuple[float, float] | None]:
    """Returns the mean of independent values and its 95 % interval (None for a single value).

    Args:
        values: float64 (B,), one value per deal block.
    """
    mean = float(values.mean())
    if len(values) < 2:
        return mean, None
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = student_quantile(len(values) - 1) * error
    return mean, (mean - half, mean + half)
