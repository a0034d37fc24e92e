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
    Setup,
    UnitPlayed,
    play_in_processes,
    play_inline,
)
from ohhell_train.tournament.given_up import Agenda, GivenUp
from ohhell_train.tournament.identity import fingerprints, identity
from ohhell_train.tournament.store import Store, set_aside
from ohhell_train.tournament.tables import Blocks, Inside
from ohhell_train.tournament.units import Contest, Unit, UnitResult, add_up, plan

UNIT_BLOCKS, SLOW_UNIT_BLOCKS = 256, 16
"""The default number of blocks in a unit of work; the smaller one is for players that are asked one
question at a time, as slow players are."""
OnProgress = Callable[[Standings], None]
"""Called now and then with the current standings."""


@dataclass(frozen=True)
class _Plan:
    """A checked tournament, before a card is dealt."""

    config: TournamentConfig
    """The settings as they are played: rules, unit and anchor resolved."""
    contest: Contest
    units: list[Unit]
    challenger: int | None
    """Place of the only entrant that sits alone; None: every entrant in turn."""

    @property
    def pairings(self) -> list[Pairing]:
        """The pairings to play."""
        return pairings(self.config.design, len(self.contest.entrants), self.challenger)


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
    with contextlib.closing(Contest.of(config)) as contest:
        planned = _planned(config, contest)
        config = planned.config
        about = identity(config, contest.deals.rules)
        marks = fingerprints(config.entrants, contest.entrants)
        with _opened(store, about, config.deals, marks, fresh) as kept:

            def play(units: Agenda) -> Generator[UnitPlayed]:
                if executor == "inline":
                    return play_inline(contest, units)
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


def _planned(config: TournamentConfig, contest: Contest) -> _Plan:
    players, entrants = contest.deals.rules.players, len(contest.entrants)
    check_design(config.design, entrants, players)
    least = math.ceil(entrants / players) if config.design != FIELD else 1
    if config.deals < least:
        raise OhHellError(
            f"deals: {entrants} entrants at mixed tables of {players} need {least} blocks for "
            f"each to play once, got {config.deals}"
        )
    names, anchor = [entrant.name for entrant in contest.entrants], config.anchor
    if anchor is not None and anchor not in names:
        raise OhHellError(f"anchor: {shown(anchor)} is not an entrant; {nearest(anchor, names)}")
    if anchor is None and "random" in names:
        anchor = "random"
    slow = any(getattr(each.player, "one_by_one", False) is True for each in contest.entrants)
    unit = config.unit or (SLOW_UNIT_BLOCKS if slow else UNIT_BLOCKS)
    alone = check_challenger(config.challenger, names, config.design)
    units = plan(config.design, entrants, config.deals, unit, alone)
    played = config.model_copy(update={"anchor": anchor, "unit": unit})
    return _Plan(played, contest, units, alone)


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
    play: Callable[[Agenda], Generator[UnitPlayed]],
    on_progress: OnProgress | None,
) -> dict[Unit, UnitResult]:
    """Returns all results in the order of the plan, both new and stored ones."""
    standings = Standings(planned.contest, planned.units, planned.config.challenger)
    so_far = GivenUp(planned.units, [entrant.name for entrant in planned.contest.entrants])

    def count(unit: Unit, result: UnitResult) -> list[Unit]:
        standings.add(unit, result)
        wrong = so_far.add(unit, result)
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
    is_over = judge.is_over(so_far.results)
    while not is_over and (agenda := so_far.agenda()):
        with contextlib.closing(play(agenda)) as played:
            for unit, result in played:
                if store is not None:
                    store.add(unit, result)
                for again in count(unit, result):
                    agenda.put_back(again)
                report(standings)
                if is_over := judge.is_over(so_far.results):
                    break
    return {unit: so_far.results[unit] for unit in planned.units if unit.first < judge.up_to}


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

    def is_over(self, results: Mapping[Unit, UnitResult]) -> bool:
        """Returns whether the complete waves settle the differences."""
        planned, stop = self._planned, self._planned.config.stop
        if stop is None:
            return False
        while self._seen < len(self._waves):
            first, end = self._waves[self._seen]
            wave = [unit for unit in planned.units if unit.first == first]
            if any(unit not in results for unit in wave):
                return False
            self._seen += 1
            if end < statistics.MIN_BLOCKS:
                continue
            figures = _figures(
                planned, {u: results[u] for u in planned.units if u.first < end}, end
            )
            if statistics.settled(figures.strength, stop):
                self.up_to = end
                return True
        return False


def _figures(planned: _Plan, results: Mapping[Unit, UnitResult], blocks: int) -> Figures:
    entrants, joined = len(planned.contest.entrants), _joined(planned, results)
    return Figures(joined, entrants, blocks, planned.config.design == FIELD, planned.challenger)


def _joined(planned: _Plan, results: Mapping[Unit, UnitResult]) -> dict[Pairing, Blocks]:
    found: dict[Pairing, list[Blocks]] = {pairing: [] for pairing in planned.pairings}
    for unit, result in results.items():
        found[unit.pairing].append(result.blocks)
    return {pairing: np.concatenate(blocks) for pairing, blocks in found.items()}


def _results(planned: _Plan, results: Mapping[Unit, UnitResult]) -> Results:
    contest = planned.contest
    for result in results.values():
        add_up(contest.entrants, result)
    inside = Inside(
        sum(result.inside.decisions for result in results.values()),
        sum(result.inside.seconds for result in results.values()),
    )
    seconds = sum(result.seconds for result in results.values())
    return Results(
        planned.config, contest.deals, contest.entrants, _joined(planned, results), inside, seconds
    )
