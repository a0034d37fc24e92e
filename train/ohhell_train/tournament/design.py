"""The designs: which entrants sit together.

field
    Every ordered pair of entrants (A, B): A alone against copies of B. With a challenger only the
    pairs in which it is A.
mixed
    Every block has a line-up of different entrants, drawn so that all play equally often (the
    numbers differ by at most 1) and any of them may meet.

In both designs a line-up is played in all its rotations over the seats.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ohhell_env.errors import OhHellError, nearest, shown
from ohhell_env.game import check_seed
from ohhell_train.tournament.tables import Places

FIELD, MIXED = "field", "mixed"
DESIGNS = (FIELD, MIXED)
DRAWN = -1
"""Stands for the pairing of a mixed tournament, whose line-ups are drawn block by block."""


def check_design(design: str, entrants: int, players: int) -> str:
    """Returns the design.

    Raises:
        OhHellError: The design is unknown, or needs more entrants.
    """
    if design not in DESIGNS:
        raise OhHellError(f"design: must be 'field' or 'mixed', got {shown(design)}")
    if design == MIXED and entrants < players:
        raise OhHellError(
            f"a mixed table seats {players} different entrants, got {entrants}; name more (the "
            "same player again as second=NAME), choose fewer --players, or use the design 'field'"
        )
    return design


def check_challenger(challenger: str | None, names: Sequence[str], design: str) -> int | None:
    """Returns the place of the only entrant that sits alone; None: every entrant in turn.

    Raises:
        OhHellError: The name is not an entrant's, or the design is not "field".
    """
    if challenger is None:
        return None
    if design != FIELD:
        raise OhHellError(
            f"challenger={shown(challenger)} sits alone against fields; it needs the design "
            f"'field', got {shown(design)}"
        )
    if challenger not in names:
        hint = nearest(challenger, names)
        raise OhHellError(f"challenger: {shown(challenger)} is not an entrant; {hint}")
    return names.index(challenger)


def pairings(design: str, entrants: int, challenger: int | None = None) -> list[tuple[int, int]]:
    """Returns the pairings (one, field) of a design; a mixed design has a single drawn one.

    Args:
        design: One of ``DESIGNS``.
        entrants: Number of entrants.
        challenger: Place of the only entrant that sits alone; None: every entrant in turn.
    """
    if design == MIXED:
        return [(DRAWN, DRAWN)]
    found = itertools.permutations(range(entrants), 2)
    return [pair for pair in found if challenger in (None, pair[0])]


class Lineups:
    """The line-ups of a tournament.

    Args:
        names: Names of the entrants. Their order does not affect the draws.
        players: Number of players at a table.
        seed: Seed of the tournament.
    """

    def __init__(self, names: Sequence[str], players: int, seed: int) -> None:
        self._by_name = sorted(range(len(names)), key=lambda place: names[place])
        self._players = players
        key = np.array([check_seed(seed), 1], np.uint64)  # a plain list would go through floats
        self._random = np.random.Generator(np.random.Philox(key=key))
        self._left: list[int] = []
        self._drawn: list[list[int]] = []

    def of(self, pairing: tuple[int, int], first: int, count: int) -> Places:
        """Returns the line-ups (count, players) of some blocks of a pairing."""
        one, field = pairing
        if one == DRAWN:
            while len(self._drawn) < first + count:
                self._drawn.append(self._draw())
            return np.array(self._drawn[first : first + count], np.int16)
        return np.tile(np.array([one] + [field] * (self._players - 1), np.int16), (count, 1))

    def _draw(self) -> list[int]:
        """Returns the next line-up, from a shuffled list of all entrants, then from a new one."""
        if len(self._left) < self._players:
            self._left += self._shuffled(self._left)
        drawn, self._left = self._left[: self._players], self._left[self._players :]
        return [self._by_name[number] for number in drawn]

    def _shuffled(self, left: list[int]) -> list[int]:
        """Returns all entrants in random order, with those that must wait not at the start."""
        order = self._random.permutation(len(self._by_name)).tolist()
        early = [number for number in order if number not in left][: self._players - len(left)]
        return early + [number for number in order if number not in early]
