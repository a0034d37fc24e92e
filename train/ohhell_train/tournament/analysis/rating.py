"""Ratings for many players at a table: OpenSkill's Bradley-Terry, each entrant against every other.

Duplicate deals tie often, and ties decide which model is suitable. Plackett-Luce models who is
first, then who is first of the rest. If several share first place, each gets a part of the win and
the full loss, and whoever finished just behind is rated above them. Bradley-Terry looks at two
entrants at a time, and a tie draws the two together. Among OpenSkill's models with that property,
the one that compares all pairs kept the order of the points most often in simulated tables full of
ties, and its sigmas matched the distances between equal players. The model that compares only
neighbours missed small differences. Thurstone-Mosteller became overconfident from seven entrants
on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.errors import OhHellError, nearest, shown

DECIMALS = 9
"""Scores of a block that agree to this many decimals are ties."""
_PASSES = 4
"""Orders of the blocks whose ratings are averaged, because a single order leaves about one sigma of
noise. There are fewer if all pairs in all blocks would take minutes."""
_PAIRS = 500_000

Rating = dict[str, float | None]


def rate(
    names: list[str], scores: NDArray[np.float64], anchor: str | None = None
) -> dict[str, Rating | None]:
    """Returns a rating for each entrant, from the order in which they finished each block.

    A block is one game among the entrants that played in it, ranked by their scores. Equal scores
    tie, and fewer than two entrants make no game. Only the order counts, not the margin in points.
    The order of the entrants and that of the blocks do not matter. New players start at mu 25,
    sigma 25/3; skills are assumed constant (tau 0).

    The model knows only differences of skill, and the level of mu depends on who else plays. An
    anchor, a player that other tournaments have too, is the zero of a common scale.

    Args:
        names: Names of the entrants.
        scores: float64 (blocks, entrants), NaN if the entrant did not play.
        anchor: Name of the entrant whose skill is the zero of ``above_anchor``.

    Returns:
        By name {"mu", "sigma", "above_anchor", "above_anchor_sigma"}, the last two None without an
        anchor.

    Raises:
        OhHellError: The anchor is not one of the names.
    """
    if anchor is not None and anchor not in names:
        raise OhHellError(f"anchor: {shown(anchor)} is not an entrant; {nearest(anchor, names)}")
    from openskill.models import BradleyTerryFull  # slow to import, and only ratings need it

    order = sorted(range(len(names)), key=lambda place: names[place])
    blocks = np.round(scores[:, order], DECIMALS)
    model = BradleyTerryFull(tau=0.0)
    figures = np.mean([_after(model, shuffled) for shuffled in _shuffled(blocks)], axis=0)
    found = {
        names[place]: (mu, sigma)
        for place, (mu, sigma) in zip(order, figures.tolist(), strict=True)
    }
    return {name: _row(name, found, anchor) for name in found}


def _shuffled(blocks: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yields the blocks in orders that depend on their content, not on how they came.

    They are shuffled because a rating moves with each game: sorted, all losses would come first.
    """
    here = (~np.isnan(blocks)).sum(axis=1)
    pairs = int((here * (here - 1)).sum()) // 2
    by_content = blocks[np.lexsort(blocks.T)]
    for seed in range(max(1, min(_PASSES, _PAIRS // max(pairs, 1)))):
        yield np.random.Generator(np.random.Philox(seed)).permutation(by_content)


def _after(model: Any, blocks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns mu and sigma of each entrant, (entrants, 2), after all blocks."""
    ratings = [model.rating() for _ in range(blocks.shape[1])]
    for block in blocks:
        here = np.flatnonzero(~np.isnan(block))
        if len(here) < 2:
            continue
        ranks = [float((block > block[place]).sum()) for place in here]
        rated = model.rate([[ratings[place]] for place in here], ranks=ranks)
        for place, team in zip(here, rated, strict=True):
            ratings[place] = team[0]
    return np.array([[rating.mu, rating.sigma] for rating in ratings]).round(DECIMALS)


def _row(name: str, found: dict[str, tuple[float, float]], anchor: str | None) -> Rating:
    """Returns one entrant's figures, assuming independent errors of its skill and the anchor's."""
    mu, sigma = found[name]
    above: tuple[float | None, float | None] = (None, None)
    if anchor is not None:
        zero, width = found[anchor]
        above = (0.0, 0.0) if name == anchor else (mu - zero, math.hypot(sigma, width))
    return {"mu": mu, "sigma": sigma, "above_anchor": above[0], "above_anchor_sigma": above[1]}
