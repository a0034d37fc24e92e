"""Runs a tournament: all pairings of the entrants on the same deals."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ohhell_env.actions import whole_number
from ohhell_env.errors import OhHellError
from ohhell_env.first_deal import check_hand_size
from ohhell_env.game import check_seed
from ohhell_env.rules import RulesLike, as_rules
from train.tournament.entrants import EntrantLike, make_entrants
from train.tournament.executors import play_in_processes, play_inline
from train.tournament.identity import fingerprints
from train.tournament.results import Results, versions
from train.tournament.store import Store, set_aside
from train.tournament.tables import Deals, Outcome
from train.tournament.units import Part, Unit, add_up, plan

CHUNK = 256
"""Blocks in a unit of work, unless another number is asked for."""

Progress = Callable[[int, int], None]
"""Called with the number of deals played so far and of all deals."""


def run_tournament(
    entrants: Sequence[EntrantLike],
    rules: RulesLike,
    blocks: int,
    seed: int,
    design: str = "field",
    hand_size: int | None = None,
    players: int | None = None,
    progress: Progress | None = None,
    workers: int = 1,
    store: str | Path | None = None,
    unit: int | None = None,
    fresh: bool = False,
) -> Results:
    """Plays a tournament on duplicate deals.

    For each ordered pair of entrants (A, B) and each block, A sits once in every seat against
    copies of B in all the others, on the same cards with the same dealer. Figures depend on seed,
    rules, and names and players of the entrants only.

    Args:
        entrants: Names, paths, or pairs (name, player); a player keeps nothing from one decision to
            the next, for it sits at many tables at once.
        rules: Rules, the name of a variant, or the path of a YAML file.
        blocks: Number of deal blocks.
        seed: Decides the cards and all chance.
        design: "field".
        hand_size: The only hand size; None: each block's is drawn from the schedule.
        players: Overrides the number of players of the rules.
        progress: Called now and then.
        workers: 1: all is played in this process; more: in so many worker processes.
        store: File that keeps what is played (see ``Store``); what it holds already is not played
            again. None: nothing is kept.
        unit: Blocks that are played and kept at a time; None: 256. Fewer are better for players
            that take their time, more for networks.
        fresh: Whether to give an old store another name and begin anew.

    Raises:
        OtherTournamentError: The store holds another tournament.
        OhHellError: Entrants, rules or numbers that cannot be used, or a worker that died.
    """
    if design != "field":
        raise OhHellError(f"design: 'field' is the only one yet, got {design!r}")
    number, at_a_time = (
        _from_one("blocks", blocks),
        _from_one("unit", CHUNK if unit is None else unit),
    )
    processes = _from_one("workers", workers)
    rules = as_rules(rules, players)
    deals = Deals(rules, check_seed(seed), check_hand_size(hand_size))
    field = make_entrants(entrants, rules, deals.seed)
    units = plan(len(field), number, at_a_time)
    if store is not None and fresh:
        set_aside(store)
    with _opened(store, _about(deals, at_a_time), number, fingerprints(entrants, field)) as kept:
        stored = set() if kept is None else kept.units()
        missing = [each for each in units if each not in stored]
        if processes == 1:
            played = play_inline(deals, field, missing)
        else:
            played = play_in_processes(deals, entrants, missing, processes)
        parts = _collect(played, units, kept, _Count(units, missing, rules.players, progress))
    for each in units:
        add_up(field, each, parts[each])
    seconds = sum(part.seconds for part in parts.values())
    return Results(rules, deals.seed, hand_size, field, _joined(units, parts), seconds)


def _from_one(name: str, value: Any) -> int:
    number = whole_number(value)
    if number is None or number < 1:
        raise OhHellError(f"{name}: a whole number from 1 on is wanted, got {value!r}")
    return number


def _about(deals: Deals, unit: int) -> dict[str, Any]:
    """Returns what makes this tournament, but for its entrants and the number of blocks."""
    return {
        "design": "field",
        "variant": deals.rules.name,
        "seed": deals.seed,
        "hand_size": deals.hand_size,
        "unit": unit,
        "rules": deals.rules.to_dict(),
        "versions": versions(),
    }


@contextlib.contextmanager
def _opened(
    path: str | Path | None, about: dict[str, Any], blocks: int, entrants: dict[str, str]
) -> Iterator[Store | None]:
    if path is None:
        yield None
        return
    with Store.go_on(path, about, blocks, entrants) as store:
        yield store


class _Count:
    """Counts the deals for a progress bar."""

    def __init__(
        self, units: list[Unit], missing: list[Unit], seats: int, progress: Progress | None
    ) -> None:
        self._seats, self._progress = seats, progress
        self._total = seats * sum(unit.blocks for unit in units)
        self._done = self._total - seats * sum(unit.blocks for unit in missing)
        self._show()

    def add(self, unit: Unit) -> None:
        self._done += self._seats * unit.blocks
        self._show()

    def _show(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)


def _collect(
    played: Generator[tuple[Unit, Part]], units: list[Unit], store: Store | None, count: _Count
) -> dict[Unit, Part]:
    """Returns all parts in the order of the plan: those played now, those stored before."""
    parts: dict[Unit, Part] = {}
    with contextlib.closing(played):
        for unit, part in played:
            parts[unit] = part
            if store is not None:
                store.add(unit, part)
            count.add(unit)
    if store is not None:
        parts |= {unit: store.load(unit) for unit in units if unit not in parts}
    return {unit: parts[unit] for unit in units}


def _joined(units: list[Unit], parts: dict[Unit, Part]) -> dict[tuple[int, int], Outcome]:
    outcomes: dict[tuple[int, int], list[Outcome]] = {}
    for unit in units:
        outcomes.setdefault((unit.one, unit.field), []).append(parts[unit].outcome)
    return {pair: _one_outcome(chosen) for pair, chosen in outcomes.items()}


def _one_outcome(parts: list[Outcome]) -> Outcome:
    names = ("points", "bids", "tricks", "hand_sizes")
    return Outcome(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
