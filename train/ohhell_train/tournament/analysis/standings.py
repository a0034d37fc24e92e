"""The standings of a running tournament: quick figures for the progress display."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ohhell_train.tournament.analysis.figures import Pairing, by_line, counted, less_others
from ohhell_train.tournament.design import DRAWN
from ohhell_train.tournament.units import Contest, Counts, Unit, UnitResult


class Standing(NamedTuple):
    """The standing of one entrant."""

    name: str
    blocks: int
    """Blocks counted so far, over all its pairings."""
    difference: float
    """Points over the others so far."""
    half_width: float | None
    """About half the width of its 95 % interval (blocks of different pairings count as
    independent)."""


class Failing(NamedTuple):
    """An entrant that commits faults."""

    counts: Counts
    """The counts of its decisions in the first unit with a counted fault."""
    blocks: int
    """Blocks of that unit."""
    given_up: bool = False
    """Whether it is not asked any more."""


class Standings:
    """The sums so far.

    Args:
        contest: The tournament.
        units: All units to play.
        challenger: The only entrant that counts; None: all do.
    """

    def __init__(
        self,
        contest: Contest,
        units: Sequence[Unit],
        challenger: str | None = None,
    ) -> None:
        self.challenger = challenger
        self._names = [entrant.name for entrant in contest.entrants]
        self._tables = contest.deals.rules.players
        self.total = self._tables * sum(unit.blocks for unit in units)
        """Tables to be played."""
        self.done = 0
        """Tables played."""
        self.seconds = 0.0
        """Seconds of the units, over all workers together."""
        self._blocks_left = Counter[Pairing]()
        for unit in units:
            self._blocks_left[unit.pairing] += unit.blocks
        self._pace: dict[Pairing, float] = {}  # seconds a block, of the latest unit
        self._sums = np.zeros((len(self._names), 3))  # blocks, sum, sum of squares
        self.failing: dict[str, Failing] = {}
        """The entrants with faults, by name."""

    def add(self, unit: Unit, result: UnitResult) -> None:
        """Counts a unit."""
        self._count(unit, result, 1)
        self.seconds += result.seconds
        self._pace[unit.pairing] = result.seconds / unit.blocks
        for place, counts in result.counts.items():
            if counts.first_fault:
                name = self._names[place]
                self.failing.setdefault(name, Failing(counts, unit.blocks))

    def take_back(self, unit: Unit, result: UnitResult) -> None:
        """Removes a unit from the counts, because it is played again."""
        self._count(unit, result, -1)

    def give_up(self, places: Iterable[int]) -> None:
        """Records that entrants are not asked any more."""
        for place in places:
            failing = self.failing[self._names[place]]
            if not failing.given_up:
                self.failing[self._names[place]] = failing._replace(given_up=True)
                # It may have taken most of the time so far, and takes none any more.
                self._pace = {pair: pace for pair, pace in self._pace.items() if place not in pair}

    @property
    def seconds_left(self) -> float | None:
        """The estimated seconds of the rest, over all workers together; None if unknown.

        Pairings differ: a block with a search takes a thousand times as long as one without. So
        each pairing counts with the pace of its own latest unit (the first may have waited for a
        compiler), or before that with the mean of the others.
        """
        if not self._pace:
            return None
        mean = sum(self._pace.values()) / len(self._pace)
        return sum(
            blocks * self._pace.get(pairing, mean) for pairing, blocks in self._blocks_left.items()
        )

    def _count(self, unit: Unit, result: UnitResult, sign: int) -> None:
        self.done += sign * self._tables * unit.blocks
        self._blocks_left[unit.pairing] -= sign * unit.blocks
        who = counted(result.blocks, unit.challenger != DRAWN)
        line = less_others(by_line(result.blocks["scores"])).mean(axis=1)[:, : who.shape[1]]
        for power in range(3):
            np.add.at(self._sums[:, power], who, sign * line**power)

    def now(self) -> list[Standing]:
        """Returns the standings of all entrants, the best first."""
        found = [
            self._standing(name, *row)
            for name, row in zip(self._names, self._sums, strict=True)
            if self.challenger is None or name == self.challenger
        ]
        return sorted(found, key=lambda standing: -standing.difference)

    @staticmethod
    def _standing(name: str, blocks: float, total: float, squares: float) -> Standing:
        if blocks < 1.0:
            return Standing(name, 0, 0.0, None)
        mean = total / blocks
        half = None
        if blocks > 1.0:
            variance = max(squares - blocks * mean * mean, 0.0) / (blocks - 1.0)
            half = 1.96 * math.sqrt(variance / blocks)
        return Standing(name, int(blocks), mean, half)
