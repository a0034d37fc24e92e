"""Units of work: some blocks of one pairing, played and kept as a whole.

What happens in a unit depends on the tournament and on nothing else: not on who plays it, when, or
after what. That is what makes results equal for any number of workers and after any interruption.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from dataclasses import dataclass

from train.tournament.entrants import Entrant
from train.tournament.tables import Deals, Outcome, play_pairing


@dataclass(frozen=True, order=True)
class Unit:
    """Some blocks of a pairing."""

    first: int
    """First block."""
    one: int
    """Place of the entrant that sits alone."""
    field: int
    """Place of the entrant in all other seats."""
    blocks: int
    """Number of blocks."""


@dataclass(frozen=True)
class Asked:
    """What became of an entrant's decisions in a unit; see ``Entrant``."""

    faults: int
    first_fault: str
    decisions: int
    seconds: float


@dataclass(frozen=True)
class Part:
    """What happened in a unit."""

    outcome: Outcome
    one: Asked
    field: Asked
    seconds: float
    """Time that it took."""


def plan(entrants: int, blocks: int, size: int) -> list[Unit]:
    """Returns the units of a tournament, in the order in which they are joined.

    Args:
        entrants: Number of entrants.
        blocks: Number of deal blocks.
        size: Blocks in a unit; the last ones may be smaller.
    """
    pairs = list(itertools.permutations(range(entrants), 2))
    return [
        Unit(first, one, other, min(size, blocks - first))
        for first in range(0, blocks, size)
        for one, other in pairs
    ]


def play_unit(deals: Deals, entrants: list[Entrant], unit: Unit) -> Part:
    """Plays a unit; the entrants' own counts stay as they are."""
    one, field = (_fresh(entrants[place]) for place in (unit.one, unit.field))
    started = time.perf_counter()
    outcome = play_pairing(deals, one, field, unit.first, unit.blocks)
    seconds = time.perf_counter() - started
    return Part(outcome, _asked(one), _asked(field), seconds)


def add_up(entrants: list[Entrant], unit: Unit, part: Part) -> None:
    """Adds what became of a unit's decisions to the counts of its two entrants."""
    for place, asked in ((unit.one, part.one), (unit.field, part.field)):
        entrant = entrants[place]
        entrant.faults += asked.faults
        entrant.first_fault = entrant.first_fault or asked.first_fault
        entrant.decisions += asked.decisions
        entrant.seconds += asked.seconds


def _fresh(entrant: Entrant) -> Entrant:
    return dataclasses.replace(entrant, faults=0, first_fault="", decisions=0, seconds=0.0)


def _asked(entrant: Entrant) -> Asked:
    return Asked(entrant.faults, entrant.first_fault, entrant.decisions, entrant.seconds)
