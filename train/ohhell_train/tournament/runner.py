"""Runs a tournament: who plays whom, on which deals, in which order, and until when."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ohhell_env.actions import whole_number
from ohhell_env.errors import OhHellError, nearest, shown
from ohhell_env.first_deal import check_hand_size
from ohhell_env.game import check_seed
from ohhell_env.rules import RulesLike, as_rules
from ohhell_train.runs.lock import only_here
from ohhell_train.tournament.analysis import statistics
from ohhell_train.tournament.analysis.figures import Figures, Pairing
from ohhell_train.tournament.analysis.results import Results, versions
from ohhell_train.tournament.analysis.standings import Standings
from ohhell_train.tournament.config import MOST_BLOCKS
from ohhell_train.tournament.design import FIELD, check_challenger, check_design, pairings
from ohhell_train.tournament.entrants import EntrantLike, make_entrants
from ohhell_train.tournament.executors.processes import (
    Played,
    Setup,
    play_in_processes,
    play_inline,
)
from ohhell_train.tournament.given_up import Agenda, GivenUp
from ohhell_train.tournament.identity import fingerprints
from ohhell_train.tournament.store import Store, set_aside
from ohhell_train.tournament.tables import Blocks, Deals, Inside
from ohhell_train.tournament.units import Part, Room, Unit, add_up, plan

CHUNK, SMALL_CHUNK = 256, 16
"""Blocks in a unit of work, unless another number is asked for: the smaller one where a player is
asked one question at a time, as those are that think long."""
EXECUTORS = ("inline", "processes", "ray")

Progress = Callable[[Standings], None]
"""Called with how the tournament stands, now and then."""


@dataclass(frozen=True)
class _Plan:
    """A tournament that has been checked, before a card is dealt."""

    room: Room
    design: str
    blocks: int
    units: list[Unit]
    stop: float | None
    anchor: str | None
    challenger: int | None

    @property
    def pairings(self) -> list[Pairing]:
        """The pairings that are played."""
        return pairings(self.design, len(self.room.entrants), self.challenger)

    @property
    def challenger_name(self) -> str | None:
        """Name of the only entrant that sits alone; None: each does in its turn."""
        return None if self.challenger is None else self.room.entrants[self.challenger].name


def run_tournament(
    entrants: Sequence[EntrantLike],
    rules: RulesLike,
    blocks: int,
    seed: int,
    design: str = FIELD,
    hand_size: int | None = None,
    players: int | None = None,
    progress: Progress | None = None,
    workers: int = 1,
    store: str | Path | None = None,
    unit: int | None = None,
    fresh: bool = False,
    episode: str = "deal",
    stop: float | None = None,
    anchor: str | None = None,
    executor: str | None = None,
    address: str | None = None,
    challenger: str | None = None,
) -> Results:
    """Plays a tournament on duplicate deals.

    Each block is one deal (or one whole game), played once in every rotation of a line-up over the
    seats. Figures depend on seed, rules, and names and players of the entrants only.

    Args:
        entrants: Names, paths, or pairs (name, player); a player keeps nothing from one decision to
            the next, for it sits at many tables at once.
        rules: Rules, the name of a variant, or the path of a YAML file.
        blocks: Number of deal blocks: of each pairing in a field, of the whole if mixed.
        seed: Decides the cards and all chance.
        design: "field": each entrant alone against copies of each other; "mixed": line-ups of
            different entrants, drawn.
        hand_size: The only hand size, with episode "deal"; None: drawn from the schedule.
        players: Overrides the number of players of the rules.
        progress: Called now and then.
        workers: Number of worker processes.
        store: File that keeps what is played (see ``Store``); what it holds already is not played
            again. None: nothing is kept.
        unit: Blocks that are played and kept at a time; None: 256, or 16 where a player is asked
            one question at a time. Fewer are better for players that take their time.
        fresh: Whether to give an old store another name and begin anew.
        episode: "deal", or "game" for whole games.
        stop: Whether to stop before all blocks are played: as soon as every two entrants are known
            to differ, or to differ by no more than so many points. All intervals are then such that
            hold at any time. None: no.
        anchor: Entrant that is the zero of the ratings; None: the one called "random", if any.
        executor: "inline" (this process), "processes" or "ray"; None: by the number of workers.
        address: Of the Ray cluster, "auto", "host:port" or "ray://host:port"; None: a Ray of its
            own on this machine. See docs/cluster.md.
        challenger: The only entrant that sits alone, against a field of each other one; None: each
            does in its turn.

    Raises:
        OtherTournamentError: The store holds another tournament.
        OhHellError: Entrants, rules or numbers that cannot be used, or a worker that died.
    """
    number, processes = _from_one("blocks", blocks, MOST_BLOCKS), _from_one("workers", workers)
    if unit is not None:
        _from_one("unit", unit)
    how = _check_executor(executor, processes, address)
    rules = as_rules(rules, players)
    if episode == "game" and hand_size is not None:
        raise OhHellError(
            f"hand_size={shown(hand_size)}: whole games have all hand sizes of their schedule; "
            "leave it out, or play single deals"
        )
    deals = Deals(rules, check_seed(seed), check_hand_size(hand_size), episode)
    with contextlib.closing(Room(deals, make_entrants(entrants, rules, deals.seed))) as room:
        slow = any(getattr(each.player, "one_by_one", False) is True for each in room.entrants)
        at_a_time = unit or (SMALL_CHUNK if slow else CHUNK)
        planned = _planned(room, design, number, at_a_time, stop, anchor, challenger)
        about = _about(deals, design, at_a_time)
        marks = fingerprints(entrants, room.entrants)
        with _opened(store, about, number, marks, fresh) as kept:

            def play(units: Agenda) -> Generator[Played]:
                if how == "inline":
                    return play_inline(room, units)
                setup = Setup.of(deals, entrants)
                if how == "processes":
                    return play_in_processes(setup, units, processes)
                from ohhell_train.tournament.executors.ray import play_on_ray

                return play_on_ray(setup, units, processes, address)

            return _results(planned, _played(planned, kept, play, progress))


def _from_one(name: str, value: Any, most: int | None = None) -> int:
    number = whole_number(value)
    if number is None or number < 1 or (most is not None and number > most):
        top = "on" if most is None else f"to {most:,}"
        raise OhHellError(f"{name}: a whole number from 1 {top} is wanted, got {shown(value)}")
    return number


def _check_executor(executor: str | None, workers: int, address: str | None) -> str:
    if executor is None:
        executor = "inline" if workers == 1 else "processes"
    if executor not in EXECUTORS:
        raise OhHellError(
            f"executor: 'inline', 'processes' or 'ray' is wanted, got {shown(executor)}; "
            f"{nearest(executor, EXECUTORS)}"
        )
    if executor == "inline" and workers > 1:
        raise OhHellError(f"executor 'inline' plays in this process, got workers={workers}")
    if address is not None and executor != "ray":
        raise OhHellError(
            f"address={shown(address)} is that of a Ray cluster; it needs executor 'ray'"
        )
    return executor


def _planned(
    room: Room,
    design: str,
    blocks: int,
    unit: int,
    stop: float | None,
    anchor: str | None,
    challenger: str | None,
) -> _Plan:
    players, entrants = room.deals.rules.players, len(room.entrants)
    check_design(design, entrants, players)
    least = math.ceil(entrants / players) if design != FIELD else 1
    if blocks < least:
        raise OhHellError(
            f"blocks: {entrants} entrants at mixed tables of {players} need {least} blocks for "
            f"each to sit down once, got {blocks}"
        )
    is_number = isinstance(stop, int | float) and not isinstance(stop, bool)
    if stop is not None and not (is_number and 0.0 <= stop < math.inf):
        raise OhHellError(f"stop: a precision in points, 0 or more, is wanted, got {shown(stop)}")
    names = [entrant.name for entrant in room.entrants]
    if anchor is not None and anchor not in names:
        raise OhHellError(
            f"anchor: {shown(anchor)} is none of the entrants; {nearest(anchor, names)}"
        )
    if anchor is None and "random" in names:
        anchor = "random"
    alone = check_challenger(challenger, names, design)
    units = plan(design, entrants, blocks, unit, alone)
    return _Plan(room, design, blocks, units, stop, anchor, alone)


def _about(deals: Deals, design: str, unit: int) -> dict[str, Any]:
    """Returns what makes this tournament, but for its entrants and the number of blocks."""
    return {
        "design": design,
        "episode": deals.episode,
        "variant": deals.rules.name,
        "seed": deals.seed,
        "hand_size": deals.hand_size,
        "unit": unit,
        "rules": deals.rules.to_dict(),
        "versions": versions(),
    }


@contextlib.contextmanager
def _opened(
    path: str | Path | None,
    about: dict[str, Any],
    blocks: int,
    entrants: dict[str, str],
    fresh: bool,
) -> Iterator[Store | None]:
    if path is None:
        yield None
        return
    lock = Path(path).with_name(f".{Path(path).name}.lock")
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(only_here(lock, "plays a tournament here"))
            if fresh:
                set_aside(path)
        except OSError as error:
            place, why = error.filename or path, error.strerror or error
            raise OhHellError(f"{place}: no store can be kept there: {why}") from None
        yield stack.enter_context(Store.go_on(path, about, blocks, entrants))


def _played(
    planned: _Plan,
    store: Store | None,
    play: Callable[[Agenda], Generator[Played]],
    progress: Progress | None,
) -> dict[Unit, Part]:
    """Returns all parts in the order of the plan: those played now, those stored before."""
    standings = Standings(
        planned.room, planned.design, planned.blocks, planned.units, planned.challenger_name
    )
    so_far = GivenUp(planned.units, [entrant.name for entrant in planned.room.entrants])

    def count(unit: Unit, part: Part) -> list[Unit]:
        standings.add(unit, part)
        wrong = so_far.add(unit, part)
        for again, was in wrong:
            standings.take_back(again, was)
        standings.give_up(so_far.out)
        return [again for again, _ in wrong]

    if store is not None:
        stored = store.units()
        for unit in so_far.order:
            if unit in stored:
                count(unit, store.load(unit))
    _tell(progress, standings)
    judge = _Judge(planned)
    is_over = judge.is_over(so_far.parts)
    while not is_over and (agenda := so_far.agenda()):
        with contextlib.closing(play(agenda)) as played:
            for unit, part in played:
                if store is not None:
                    store.add(unit, part)
                for again in count(unit, part):
                    agenda.put_back(again)
                _tell(progress, standings)
                if is_over := judge.is_over(so_far.parts):
                    break
    return {unit: so_far.parts[unit] for unit in planned.units if unit.first < judge.up_to}


def _tell(progress: Progress | None, standings: Standings) -> None:
    if progress is not None:
        progress(standings)


class _Judge:
    """Says when a tournament may stop.

    It looks after each wave: when all pairings have played as many blocks. So the answer depends on
    what was played, not on which worker was faster.

    Args:
        planned: The tournament.
    """

    def __init__(self, planned: _Plan) -> None:
        self._planned = planned
        self.up_to = planned.blocks
        """Blocks that count, of each pairing."""
        firsts = sorted({unit.first for unit in planned.units})
        self._waves = list(zip(firsts, [*firsts[1:], planned.blocks], strict=True))
        self._seen = 0

    def is_over(self, parts: Mapping[Unit, Part]) -> bool:
        """Returns whether the differences are settled by the waves that are complete."""
        planned = self._planned
        if planned.stop is None:
            return False
        while self._seen < len(self._waves):
            first, end = self._waves[self._seen]
            wave = [unit for unit in planned.units if unit.first == first]
            if any(unit not in parts for unit in wave):
                return False
            self._seen += 1
            if end < statistics.MIN_BLOCKS:
                continue
            figures = _figures(planned, {u: parts[u] for u in planned.units if u.first < end}, end)
            if statistics.settled(figures.strength, planned.stop):
                self.up_to = end
                return True
        return False


def _figures(planned: _Plan, parts: Mapping[Unit, Part], blocks: int) -> Figures:
    entrants, joined = len(planned.room.entrants), _joined(planned, parts)
    return Figures(joined, entrants, blocks, planned.design == FIELD, planned.challenger)


def _joined(planned: _Plan, parts: Mapping[Unit, Part]) -> dict[Pairing, Blocks]:
    found: dict[Pairing, list[Blocks]] = {pairing: [] for pairing in planned.pairings}
    for unit, part in parts.items():
        found[unit.pairing].append(part.blocks)
    return {pairing: np.concatenate(blocks) for pairing, blocks in found.items()}


def _results(planned: _Plan, parts: Mapping[Unit, Part]) -> Results:
    room = planned.room
    for part in parts.values():
        add_up(room.entrants, part)
    inside = Inside(
        sum(part.inside.decisions for part in parts.values()),
        sum(part.inside.seconds for part in parts.values()),
    )
    return Results(
        room.deals,
        planned.design,
        room.entrants,
        _joined(planned, parts),
        inside,
        sum(part.seconds for part in parts.values()),
        planned.anchor,
        planned.stop,
        planned.blocks,
        max(unit.blocks for unit in planned.units),
        planned.challenger_name,
    )
