"""Ratings for many players at a table: OpenSkill's Plackett-Luce."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ohhell_env.errors import OhHellError, nearest, shown

DECIMALS = 9
"""Scores of a block that agree so far are ties."""

Rating = dict[str, float | None]


def rate(
    names: list[str], scores: NDArray[np.float64], anchor: str | None = None
) -> dict[str, Rating | None]:
    """Returns a rating for each entrant, from the order in which they finished each block.

    A block is one game among the entrants that played in it, ranked by their scores; equal ones
    tie, and fewer than two make no game. The order of the entrants plays no part: they are rated by
    name. New players start at mu 25, sigma 25/3; skills are taken not to change (tau 0).

    Plackett-Luce knows differences of skills only, and where mu comes to lie depends on who else is
    there. An anchor, a player that other tournaments have too, is the zero of a common scale.

    Args:
        names: Names of the entrants.
        scores: float64 (blocks, entrants), NaN where the entrant did not play.
        anchor: Name of the entrant whose skill is the zero of ``above_anchor``.

    Returns:
        By name {"mu", "sigma", "above_anchor", "above_anchor_sigma"}, the last two None without an
        anchor; None for each where the package openskill is not installed.

    Raises:
        OhHellError: If the anchor is not one of the names.
    """
    if anchor is not None and anchor not in names:
        hint = nearest(anchor, names)
        raise OhHellError(f"anchor: {shown(anchor)} is none of the entrants; {hint}")
    try:
        from openskill.models import PlackettLuce
    except ModuleNotFoundError:
        return dict.fromkeys(names)
    order = sorted(range(len(names)), key=lambda place: names[place])
    model = PlackettLuce(tau=0.0)
    ratings = [model.rating() for _ in order]
    for block in np.round(scores[:, order], DECIMALS):
        here = np.flatnonzero(~np.isnan(block))
        if len(here) < 2:
            continue
        ranks = [float((block > block[place]).sum()) for place in here]
        rated = model.rate([[ratings[place]] for place in here], ranks=ranks)
        for place, team in zip(here, rated, strict=True):
            ratings[place] = team[0]
    found = {
        names[place]: (float(rating.mu), float(rating.sigma))
        for place, rating in zip(order, ratings, strict=True)
    }
    return {name: _row(name, found, anchor) for name in found}


def _row(name: str, found: dict[str, tuple[float, float]], anchor: str | None) -> Rating:
    """Returns one entrant's figures; the errors of its skill and the anchor's taken independent."""
    mu, sigma = found[name]
    above: tuple[float | None, float | None] = (None, None)
    if anchor is not None:
        zero, width = found[anchor]
        above = (0.0, 0.0) if name == anchor else (mu - zero, math.hypot(sigma, width))
    return {"mu": mu, "sigma": sigma, "above_anchor": above[0], "above_anchor_sigma": above[1]}
