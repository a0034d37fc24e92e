"""What ``python -m train tournament`` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ohhell_env.rules import RulesLike
from train.tournament.entrants import EntrantLike
from train.tournament.executors import use_one_thread
from train.tournament.report import print_report
from train.tournament.results import Results, check_writable
from train.tournament.runner import run_tournament
from train.tournament.standings import Standings
from train.tournament.store import STORE


def cli_run(
    entrants: Sequence[EntrantLike],
    rules: RulesLike,
    players: int | None = None,
    deals: int = 1000,
    seed: int = 0,
    out: str | Path | None = None,
    hand_size: int | None = None,
    progress: bool = True,
    workers: int = 1,
    unit: int | None = None,
    fresh: bool = False,
) -> Results:
    """Runs a tournament with a progress bar, writes its files and prints the report.

    Args:
        entrants: As for ``run_tournament``.
        rules: Rules, the name of a variant, or the path of a YAML file.
        players: Overrides the number of players of the rules.
        deals: Number of deal blocks.
        seed: Decides the cards and all chance.
        out: Folder for the store, ``results.json`` and ``timings.json``; what its store holds
            already is not played again. None: nothing is written.
        hand_size: The only hand size; None: as the schedule has them.
        progress: Whether to show a progress bar.
        workers: As for ``run_tournament``, like ``unit`` and ``fresh``.
        unit: Blocks that are played and kept at a time.
        fresh: Whether to give an old store another name and begin anew.

    Raises:
        OhHellError: Anything in the arguments that cannot be used.
    """
    if out is not None:
        check_writable(out)
    use_one_thread()
    console = Console()
    with _Watched(console, out, progress) as watched:
        results = run_tournament(
            entrants,
            rules,
            deals,
            seed,
            hand_size=hand_size,
            players=players,
            progress=watched,
            workers=workers,
            store=None if out is None else Path(out) / STORE,
            unit=unit,
            fresh=fresh,
        )
    if out is not None:
        path = results.save(out)
        console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)
    print_report(results, console)
    return results


class _Watched:
    """The progress bar, and what is said where the tournament is stopped.

    Args:
        console: Where to.
        out: Folder of the store.
        shown: Whether there is a bar.
    """

    def __init__(self, console: Console, out: str | Path | None, shown: bool) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        self._bar = Progress(*columns, TimeRemainingColumn(), console=console, disable=not shown)
        self._task = self._bar.add_task("tournament", total=None)
        self._console, self._out = console, out

    def __call__(self, standings: Standings) -> None:
        self._bar.update(self._task, completed=standings.done, total=standings.total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: object
    ) -> None:
        self._bar.stop()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            task = self._bar.tasks[0]
            played = f"stopped after {task.completed:,.0f} of {task.total or 0:,.0f} deals"
            kept = f"; they are kept in {self._out}, the same command goes on" if self._out else ""
            self._console.print(played + kept, markup=False, highlight=False, soft_wrap=True)
