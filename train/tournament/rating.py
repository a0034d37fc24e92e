"""Ratings for many players at a table: OpenSkill's Plackett-Luce."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DECIMALS = 9
"""Scores of a block that agree so far are ties."""


def rate(names: list[str], scores: NDArray[np.float64]) -> dict[str, dict[str, float] | None]:
    """Returns a rating for each entrant, from the order in which they finished each block.

    A block is one game among all entrants, ranked by their mean difference to the fields that they
    met on its cards; equal ones tie. The order of the entrants plays no part: they are rated by
    name. New players start at mu 25, sigma 25/3; skills are taken not to change (tau 0).

    Args:
        names: Names of the entrants.
        scores: float64 (blocks, entrants).

    Returns:
        By name {"mu", "sigma"}; None where the package openskill is not installed.
    """
    try:
        from openskill.models import PlackettLuce
    except ModuleNotFoundError:
        return dict.fromkeys(names)
    order = sorted(range(len(names)), key=lambda place: names[place])
    model = PlackettLuce(tau=0.0)
    ratings = [model.rating() for _ in order]
    for block in np.round(scores[:, order], DECIMALS):
        ranks = [float((block > score).sum()) for score in block]
        ratings = [team[0] for team in model.rate([[player] for player in ratings], ranks=ranks)]
    return {
        names[place]: {"mu": float(rating.mu), "sigma": float(rating.sigma)}
        for place, rating in zip(order, ratings, strict=True)
    }
