"""Entrants that fail all the time, and are given up for the rest of the tournament.

The rule looks at the units in one fixed order: by first block, then by the names of the players
there. A unit counts against an entrant if it was disqualified or failed at every decision there. A
unit without a decision of the entrant is skipped. Faults in such units, one after the other, add
up, at most ``FAULT_LIMIT`` from each. From ``GIVE_UP`` times ``FAULT_LIMIT`` faults on, the entrant
is not asked in any later unit.

Many workers play units in any order, and some units come from a store whose tournament had fewer
entrants. So a unit may have been played with an entrant that should not have been asked, or without
one that should. Such a unit is played again. The result is what one worker would play from the
first unit to the last.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ohhell_train.tournament.entrants import FAULT_LIMIT, disqualifies
from ohhell_train.tournament.units import Counts, Unit, UnitResult

GIVE_UP = 3
"""The number of disqualifying units in a row after which an entrant is given up."""


class Agenda:
    """The units to play, each with the entrants that are not asked any more.

    Args:
        units: The units, in the order in which they are handed out.
        out: Places of the entrants not asked any more, which may grow during play; None uses those
            of the units.
    """

    def __init__(self, units: Iterable[Unit], out: Mapping[int, int] | None = None) -> None:
        self._units = deque(units)
        self._out = out

    @classmethod
    def of(cls, units: Agenda | Sequence[Unit]) -> Agenda:
        """Returns units as an agenda, or the agenda itself."""
        return units if isinstance(units, Agenda) else cls(units)

    def __len__(self) -> int:
        return len(self._units)

    def __iter__(self) -> Iterator[Unit]:
        while (unit := self.take()) is not None:
            yield unit

    def take(self) -> Unit | None:
        """Returns the next unit, or None if there is none for now."""
        if not self._units:
            return None
        unit = self._units.popleft()
        return unit if self._out is None else dataclasses.replace(unit, out=tuple(self._out))

    def put_back(self, unit: Unit) -> None:
        """Puts a unit in front of all others, to be played (again)."""
        self._units.appendleft(unit)


class GivenUp:
    """The units played so far, and the entrants given up because of them.

    Args:
        units: All units of the tournament.
        names: Names of the entrants.
    """

    def __init__(self, units: Sequence[Unit], names: Sequence[str]) -> None:
        def key(unit: Unit) -> tuple[int, str, str]:
            drawn = unit.challenger < 0
            return (
                unit.first,
                "" if drawn else names[unit.challenger],
                "" if drawn else names[unit.field],
            )

        self.order = sorted(units, key=key)
        """All units in the fixed order."""
        self._units = units
        self._next = 0
        self._results: dict[Unit, UnitResult] = {}
        self._in_a_row = [0] * len(names)
        self.out: dict[int, int] = {}
        """Places of entrants given up, each with the first block of the last unit that counted."""
        self.results: dict[Unit, UnitResult] = {}
        """The results that count: the start of the fixed order, up to the first missing unit."""

    def agenda(self) -> Agenda:
        """Returns the missing units, in the order of the plan."""
        return Agenda([unit for unit in self._units if unit not in self._results], self.out)

    def add(self, unit: Unit, result: UnitResult) -> list[tuple[Unit, UnitResult]]:
        """Adds a result.

        Returns:
            The units that must be played again, with their results, old or new.
        """
        self._results[unit] = result
        wrong: list[tuple[Unit, UnitResult]] = []
        while self._next < len(self.order):
            unit = self.order[self._next]
            found = self._results.get(unit)
            if found is None:
                break
            if self._is_wrong(found):
                wrong.append((unit, self._results.pop(unit)))
                break
            self._count(unit, found)
            self.results[unit] = found
            self._next += 1
        return wrong

    def _is_wrong(self, result: UnitResult) -> bool:
        """Returns whether an entrant given up was asked, or another one was not."""
        return any(
            counts.decisions > 0 and counts.was_given_up != (place in self.out)
            for place, counts in result.counts.items()
        )

    def _count(self, unit: Unit, result: UnitResult) -> None:
        for place, counts in result.counts.items():
            if place in self.out or not counts.decisions:
                continue
            self._in_a_row[place] += min(counts.faults, FAULT_LIMIT)
            if not _is_bad(counts):
                self._in_a_row[place] = 0
            if self._in_a_row[place] >= GIVE_UP * FAULT_LIMIT:
                self.out[place] = unit.first


def _is_bad(counts: Counts) -> bool:
    return disqualifies(counts.faults) or counts.faults == counts.decisions
