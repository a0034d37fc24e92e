"""``ohhell tournament``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from ohhell_env.cli.interrupts import note_said
from ohhell_env.errors import OhHellError
from ohhell_train.tournament.analysis.results import Results, check_writable
from ohhell_train.tournament.analysis.standings import Failing, Standings
from ohhell_train.tournament.config import TournamentConfig
from ohhell_train.tournament.entrants import EntrantLike
from ohhell_train.tournament.executors import watch
from ohhell_train.tournament.executors.processes import use_one_thread
from ohhell_train.tournament.pages.terminal import print_report
from ohhell_train.tournament.runner import run_tournament
from ohhell_train.tournament.store import STORE

_SHOWN = 12
"""Entrants in the live standings at most, from the best on."""
_EVERY = 30.0
"""Seconds between two lines of progress where there is no terminal."""


def _of_settings(name: str) -> str:
    """Returns the description of a setting, as help of its option."""
    field = TournamentConfig.model_fields[name]
    text = " ".join((field.description or "").split()).replace("null: ", "if left out: ")
    default = field.default
    shown = default is not None and not isinstance(default, bool | tuple)
    return f"{text} [{default}]" if shown else text


def _option(name: str, *flags: str, **more: Any) -> Any:
    return typer.Option(*flags, help=_of_settings(name), show_default=False, **more)


def tournament(
    entrants: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PLAYER...",
            show_default=False,
            help="random, heuristic, search (search:worlds=100), the folder of a checkpoint, "
            "parts:bids=PLAYER,cards=PLAYER, module:Class, or process: and a command line in "
            "quotes; each with NAME= before it to call it otherwise.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="Settings, as a YAML file; options given here win.", show_default=False),
    ] = None,
    rules: Annotated[str | None, _option("rules", metavar="NAME|FILE.yaml")] = None,
    players: Annotated[int | None, _option("players")] = None,
    design: Annotated[str | None, _option("design", metavar="field|mixed")] = None,
    challenger: Annotated[str | None, _option("challenger", metavar="NAME")] = None,
    episode: Annotated[str | None, _option("episode", metavar="deal|game")] = None,
    hand_size: Annotated[int | None, _option("hand_size")] = None,
    deals: Annotated[int | None, _option("deals")] = None,
    seed: Annotated[int | None, _option("seed")] = None,
    stop: Annotated[float | None, _option("stop", metavar="POINTS")] = None,
    anchor: Annotated[str | None, _option("anchor", metavar="NAME")] = None,
    unit: Annotated[int | None, _option("unit")] = None,
    workers: Annotated[int | None, _option("workers")] = None,
    executor: Annotated[str | None, _option("executor", metavar="inline|processes|ray")] = None,
    address: Annotated[str | None, _option("address")] = None,
    out: Annotated[str | None, _option("out", metavar="DIR")] = None,
    report: Annotated[bool | None, _option("report", "--report/--no-report")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew; what was kept stays beside it.")
    ] = False,
) -> None:
    """Plays players against each other on duplicate deals; goes on where it was stopped."""
    options = dict(locals())
    given = {name: options[name] for name in TournamentConfig.model_fields}
    changes = {name: value for name, value in given.items() if value not in (None, [])}
    settings = TournamentConfig.load(config, changes)
    if watch.is_wanted(settings.wishes()):
        status = watch.run_again(settings.out)
        if status:
            raise typer.Exit(status)
    else:
        cli_run(settings, fresh=fresh)


def cli_run(
    config: TournamentConfig,
    entrants: Sequence[EntrantLike] | None = None,
    fresh: bool = False,
    progress: bool = True,
) -> Results:
    """Runs a tournament with a progress bar, writes its files and prints the report.

    Args:
        config: The settings.
        entrants: The players; None: those of the settings.
        fresh: Whether to give an old store another name and begin anew.
        progress: Whether to show how it goes.

    Raises:
        OhHellError: Anything in the settings that cannot be used.
    """
    was_there = config.out.exists()
    check_writable(config.out)
    use_one_thread()
    console = Console()
    with (
        _no_empty_folder(config.out, was_there),
        _Watched(console, config.out, progress) as watched,
    ):
        results = run_tournament(
            config.wishes() if entrants is None else entrants,
            config.resolved_rules(),
            config.deals,
            config.seed,
            design=config.design,
            episode=config.episode,
            hand_size=config.hand_size,
            stop=config.stop,
            anchor=config.anchor,
            progress=watched,
            workers=config.workers,
            executor=config.executor,
            address=config.address,
            challenger=config.challenger,
            store=config.out / STORE,
            unit=config.unit,
            fresh=fresh,
        )
    written = [results.save(config.out)]
    if config.report:
        from ohhell_train.tournament.pages import write_pages

        written += write_pages(results, config.out)
    print_report(results, console)
    for path in written[:2]:
        console.print(f"written: {path}", markup=False, highlight=False, soft_wrap=True)
    return results


@contextlib.contextmanager
def _no_empty_folder(folder: Path, was_there: bool) -> Iterator[None]:
    """Removes a folder that was made for a tournament which was refused."""
    try:
        yield
    except OhHellError:
        with contextlib.suppress(OSError):
            if not was_there:
                folder.rmdir()
        raise


def fault_line(name: str, failing: Failing) -> str:
    """Returns what is said of an entrant that makes faults, or is given up."""
    asked = failing.asked
    if failing.given_up:
        return (
            f"{name} fails all the time and is given up: it is not asked any more, and random "
            f"legal moves are made in its place. Its first fault: {asked.first_fault}"
        )
    return (
        f"{name}: {asked.faults:,} faults in {asked.decisions:,} decisions of {failing.blocks:,} "
        f"blocks, in {asked.seconds:.0f} seconds; the first: {asked.first_fault}"
    )


class _Watched:
    """The progress bar with live standings, and what is said where the tournament is stopped.

    Args:
        console: Where to.
        out: Folder of the store.
        shown: Whether anything is shown while it is played.
    """

    def __init__(self, console: Console, out: Path, shown: bool) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        self._bar = Progress(*columns, TimeRemainingColumn(), console=console)
        self._task = self._bar.add_task("tournament", total=None)
        self._console, self._out, self._shown = console, out, shown
        self._standings: Standings | None = None
        self._told: set[tuple[str, bool]] = set()
        self._live: Live | None = None
        self._started = self._said = time.monotonic()
        self._before = 0

    def __call__(self, standings: Standings) -> None:
        if self._standings is None:
            self._before = standings.done
        self._standings = standings
        self._bar.update(self._task, completed=standings.done, total=standings.total)
        if self._shown:
            self._tell_of_faults(standings)
        if self._shown and self._live is None and time.monotonic() - self._said > _EVERY:
            self._said = time.monotonic()
            self._say(self._line(standings))

    def _tell_of_faults(self, standings: Standings) -> None:
        """Says, once each, who makes faults and who is given up."""
        for name, failing in standings.failing.items():
            if (name, failing.given_up) in self._told:
                continue
            self._told |= {(name, False), (name, failing.given_up)}
            said = fault_line(name, failing)
            self._say(f"{said}; {self._time_left(standings)}")

    def _time_left(self, standings: Standings) -> str:
        played = standings.done - self._before
        if not played:
            return "the time left is not known yet"
        passed = time.monotonic() - self._started
        left = (standings.total - standings.done) * passed / played
        return f"about {left / 60:.0f} minutes left"

    def _line(self, standings: Standings) -> str:
        """Returns the progress in one line, for logs."""
        best = ", ".join(f"{s.name} {s.difference:+.2f}" for s in standings.now()[:3])
        share = standings.done / standings.total
        return f"{share:.0%}, {self._time_left(standings)}; {best}"

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _render(self) -> Group:
        if self._standings is None:
            return Group(self._bar)
        return Group(_live_table(self._standings), self._bar)

    def __enter__(self) -> Self:
        if self._shown and self._console.is_terminal:
            self._live = Live(get_renderable=self._render, console=self._console, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: object
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            done, total = 0, 0
            if self._standings is not None:
                done, total = self._standings.done, self._standings.total
            self._say(
                f"stopped after {done:,} of {total:,} tables; they are kept in {self._out}, the "
                "same command goes on"
            )
            note_said()


def _live_table(standings: Standings) -> Table:
    table = Table(box=None)
    table.add_column("so far", overflow="ellipsis", no_wrap=True, min_width=12)
    for heading in ("over the others", "±", "blocks"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in standings.now()[:_SHOWN]:
        half = "" if each.half_width is None else f"{each.half_width:.2f}"
        table.add_row(each.name, f"{each.difference:+.2f}", half, f"{each.blocks:,}")
    return table
