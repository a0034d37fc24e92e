"""Runs a tournament: pairings, deals, order and the stopping rule."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ohhell_env.errors import OhHellError, nearest, shown
from ohhell_train.runs.lock import only_here
from ohhell_train.tournament.analysis import statistics
from ohhell_train.tournament.analysis.figures import Figures, Pairing
from ohhell_train.tournament.analysis.results import Results
from ohhell_train.tournament.analysis.standings import Standings
from ohhell_train.tournament.config import EntrantLike, TournamentConfig
from ohhell_train.tournament.design import FIELD, check_challenger, check_design, pairings
from ohhell_train.tournament.executors.processes import (
    Played,
    Setup,
    play_in_processes,
    play_inline,
)
from ohhell_train.tournament.given_up import Agenda, GivenUp
from ohhell_train.tournament.identity import fingerprints, identity
from ohhell_train.tournament.store import Store, set_aside
from ohhell_train.tournament.tables import Blocks, Inside
from ohhell_train.tournament.units import Part, Room, Unit, add_up, plan

CHUNK, SMALL_CHUNK = 256, 16
"""The default number of blocks in a unit of work; the smaller one is for players that are asked one
question at a time, as slow players are."""
OnProgress = Callable[[Standings], None]
"""Called now and then with the current standings."""


@dataclass(frozen=True)
class _Plan:
    """A checked tournament, before a card is dealt."""

    config: TournamentConfig
    """The settings as they are played: rules, unit and anchor resolved."""
    room: Room
    units: list[Unit]
    challenger: int | None
    """Place of the only entrant that sits alone; None: every entrant in turn."""

    @property
    def pairings(self) -> list[Pairing]:
        """The pairings to play."""
        return pairings(self.config.design, len(self.room.entrants), self.challenger)


def run_tournament(
    config: TournamentConfig | Sequence[EntrantLike] = (),
    *,
    store: str | Path | None = None,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Results:
    """Plays a tournament on duplicate deals.

    Each block is one deal (or one whole game), played once in every rotation of a line-up over the
    seats. Figures depend only on the seed, the rules, and the names and players of the entrants::

        run_tournament(TournamentConfig(entrants=["random", "heuristic"], deals=200, seed=5))
        run_tournament(["random", ("mine", player)], rules="oh_hell", players=3, deals=200)

    Args:
        config: The settings, or the entrants alone. A player passed as an object must keep no state
            between decisions, because it sits at many tables at once.
        store: File to store the tables played (see ``Store``); stored tables are not played again.
            None stores nothing. The settings ``out`` and ``report`` are for `cli_run`.
        fresh: Whether to rename an old store and start again.
        on_progress: Called now and then with the current standings.
        **settings: Settings by the names of `TournamentConfig`; they override ``config``.

    Returns:
        The results, with the settings as they were played.

    Raises:
        OtherTournamentError: The store holds another tournament.
        OhHellError: Settings or entrants cannot be used, or a worker died.
    """
    given = dict(config) if isinstance(config, TournamentConfig) else {"entrants": config}
    config = TournamentConfig.of(given | settings).resolved()
    executor = _check_executor(config)
    if config.episode == "game" and config.hand_size is not None:
        raise OhHellError(
            f"hand_size={config.hand_size}: whole games play all hand sizes of their schedule; "
            "leave it out, or play single deals"
        )
    with contextlib.closing(Room.of(config)) as room:
        planned = _planned(config, room)
        config = planned.config
        about = identity(config, room.deals.rules)
        marks = fingerprints(config.entrants, room.entrants)
        with _opened(store, about, config.deals, marks, fresh) as kept:

            def play(units: Agenda) -> Generator[Played]:
                if executor == "inline":
                    return play_inline(room, units)
                setup = Setup.of(config)
                if executor == "processes":
                    return play_in_processes(setup, units, config.workers)
                from ohhell_train.tournament.executors.ray import play_on_ray

                return play_on_ray(setup, units, config.workers, config.address)

            return _results(planned, _played(planned, kept, play, on_progress))


def _check_executor(config: TournamentConfig) -> str:
    """Returns the executor to use."""
    executor, workers, address = config.executor, config.workers, config.address
    if executor is None:
        executor = "inline" if workers == 1 else "processes"
    if executor == "inline" and workers > 1:
        raise OhHellError(f"executor 'inline' plays in this process only, got workers={workers}")
    if address is not None and executor != "ray":
        raise OhHellError(f"address={shown(address)} is for a Ray cluster; it needs executor 'ray'")
    return executor


def _planned(config: TournamentConfig, room: Room) -> _Plan:
    players, entrants = room.deals.rules.players, len(room.entrants)
    check_design(config.design, entrants, players)
    least = math.ceil(entrants / players) if config.design != FIELD else 1
    if config.deals < least:
        raise OhHellError(
            f"deals: {entrants} entrants at mixed tables of {players} need {least} blocks for "
            f"each to play once, got {config.deals}"
        )
    names, anchor = [entrant.name for entrant in room.entrants], config.anchor
    if anchor is not None and anchor not in names:
        raise OhHellError(f"anchor: {shown(anchor)} is not an entrant; {nearest(anchor, names)}")
    if anchor is None and "random" in names:
        anchor = "random"
    slow = any(getattr(each.player, "one_by_one", False) is True for each in room.entrants)
    unit = config.unit or (SMALL_CHUNK if slow else CHUNK)
    alone = check_challenger(config.challenger, names, config.design)
    units = plan(config.design, entrants, config.deals, unit, alone)
    played = config.model_copy(update={"anchor": anchor, "unit": unit})
    return _Plan(played, room, units, alone)


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
            raise OhHellError(f"{place}: cannot keep a store there: {why}") from None
        yield stack.enter_context(Store.go_on(path, about, blocks, entrants))


def _played(
    planned: _Plan,
    store: Store | None,
    play: Callable[[Agenda], Generator[Played]],
    on_progress: OnProgress | None,
) -> dict[Unit, Part]:
    """Returns all parts in the order of the plan, both new and stored ones."""
    standings = Standings(planned.room, planned.units, planned.config.challenger)
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
    report = on_progress or _no_report
    report(standings)
    judge = _Judge(planned)
    is_over = judge.is_over(so_far.parts)
    while not is_over and (agenda := so_far.agenda()):
        with contextlib.closing(play(agenda)) as played:
            for unit, part in played:
                if store is not None:
                    store.add(unit, part)
                for again in count(unit, part):
                    agenda.put_back(again)
                report(standings)
                if is_over := judge.is_over(so_far.parts):
                    break
    return {unit: so_far.parts[unit] for unit in planned.units if unit.first < judge.up_to}


def _no_report(standings: Standings) -> None:
    """Does nothing, in place of a progress report."""


class _Judge:
    """Decides when a tournament may stop.

    It looks after each wave, when all pairings have played the same number of blocks. So the
    decision depends on the tables played, not on which worker was faster.

    Args:
        planned: The tournament.
    """

    def __init__(self, planned: _Plan) -> None:
        self._planned = planned
        self.up_to = planned.config.deals
        """The number of blocks that count, for each pairing."""
        firsts = sorted({unit.first for unit in planned.units})
        self._waves = list(zip(firsts, [*firsts[1:], self.up_to], strict=True))
        self._seen = 0

    def is_over(self, parts: Mapping[Unit, Part]) -> bool:
        """Returns whether the complete waves settle the differences."""
        planned, stop = self._planned, self._planned.config.stop
        if stop is None:
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
            if statistics.settled(figures.strength, stop):
                self.up_to = end
                return True
        return False


def _figures(planned: _Plan, parts: Mapping[Unit, Part], blocks: int) -> Figures:
    entrants, joined = len(planned.room.entrants), _joined(planned, parts)
    return Figures(joined, entrants, blocks, planned.config.design == FIELD, planned.challenger)


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
    seconds = sum(part.seconds for part in parts.values())
    return Results(
        planned.config, room.deals, room.entrants, _joined(planned, parts), inside, seconds
    )
