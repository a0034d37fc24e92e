"""Units of work: some blocks of one pairing, played and stored as a whole.

The result of a unit depends only on the tournament, not on who plays it, when, or after what. So
results are equal for any number of workers and after any interruption.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ohhell_train.tournament.config import TournamentConfig
from ohhell_train.tournament.design import Lineups, pairings
from ohhell_train.tournament.entrants import Entrant, disqualifies, make_entrants
from ohhell_train.tournament.tables import Blocks, Deals, Inside, play_blocks


@dataclass(frozen=True, order=True)
class Unit:
    """Some blocks of a pairing."""

    first: int
    """First block."""
    challenger: int
    """Place of the entrant that sits alone, or ``DRAWN``."""
    field: int
    """Place of the entrant in all other seats, or ``DRAWN``."""
    blocks: int
    """Number of blocks."""
    out: tuple[int, ...] = dataclasses.field(default=(), compare=False)
    """Places of the entrants that are not asked any more (see ``given_up.py``)."""

    @property
    def pairing(self) -> tuple[int, int]:
        """The pairing (challenger, field)."""
        return self.challenger, self.field


@dataclass(frozen=True)
class Counts:
    """The counts of an entrant's decisions in a unit; see ``Entrant``."""

    faults: int
    first_fault: str
    decisions: int
    seconds: float

    @property
    def was_given_up(self) -> bool:
        """Whether it was not asked at all: then there are faults, but no message of the first."""
        return self.faults > 0 and not self.first_fault


@dataclass(frozen=True)
class UnitResult:
    """The result of a unit."""

    blocks: Blocks
    counts: Mapping[int, Counts]
    """By the entrant's place, for all entrants at these tables."""
    inside: Inside
    seconds: float
    """Seconds of play."""


@dataclass
class Contest:
    """The entrants and the deals that units are played with."""

    deals: Deals
    entrants: list[Entrant]
    lineups: Lineups = dataclasses.field(init=False)

    @classmethod
    def of(cls, config: TournamentConfig) -> Contest:
        """Returns the deals and entrants of a tournament.

        Raises:
            OhHellError: Entrants or hand sizes cannot be used.
        """
        rules = config.resolved_rules()
        deals = Deals(rules, config.seed, config.hand_size, config.episode)
        return cls(deals, make_entrants(config.entrants, rules, config.seed))

    def __post_init__(self) -> None:
        names = [entrant.name for entrant in self.entrants]
        self.lineups = Lineups(names, self.deals.rules.players, self.deals.seed)

    def play(self, unit: Unit) -> UnitResult:
        """Plays a unit; the entrants' own counts do not change."""
        lineups = self.lineups.of(unit.pairing, unit.first, unit.blocks)
        present = sorted(set(lineups.ravel().tolist()))
        fresh = {"faults": 0, "first_fault": "", "decisions": 0, "seconds": 0.0}
        sitting = [
            dataclasses.replace(entrant, **fresh, given_up=place in unit.out)
            for place, entrant in enumerate(self.entrants)
        ]
        started = time.perf_counter()
        blocks, inside = play_blocks(self.deals, sitting, lineups, unit.first)
        seconds = time.perf_counter() - started
        return UnitResult(
            blocks, {place: _counts_of(sitting[place]) for place in present}, inside, seconds
        )

    def close(self) -> None:
        """Releases the entrants' resources; they can be asked again."""
        for entrant in self.entrants:
            entrant.close()


def plan(
    design: str, entrants: int, blocks: int, size: int, challenger: int | None = None
) -> list[Unit]:
    """Returns the units of a tournament, in the order in which they are joined.

    Args:
        design: One of ``DESIGNS``.
        entrants: Number of entrants.
        blocks: Number of deal blocks.
        size: Blocks in a unit; the last units may be smaller.
        challenger: Place of the only entrant that sits alone; None: every entrant in turn.
    """
    return [
        Unit(first, one, other, min(size, blocks - first))
        for first in range(0, blocks, size)
        for one, other in pairings(design, entrants, challenger)
    ]


def add_up(entrants: Sequence[Entrant], result: UnitResult) -> None:
    """Adds the counts of a unit's decisions to its entrants."""
    for place, counts in result.counts.items():
        entrant = entrants[place]
        entrant.was_disqualified |= disqualifies(counts.faults)
        entrant.given_up |= counts.was_given_up
        entrant.faults += counts.faults
        entrant.first_fault = entrant.first_fault or counts.first_fault
        entrant.decisions += counts.decisions
        entrant.seconds += counts.seconds


def _counts_of(entrant: Entrant) -> Counts:
    return Counts(entrant.faults, entrant.first_fault, entrant.decisions, entrant.seconds)
