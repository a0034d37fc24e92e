"""``ohhell tournament``."""

from __future__ import annotations

import contextlib
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Self, get_args

import typer
from pydantic.fields import FieldInfo
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as BarProgress
from rich.table import Table

from ohhell_env.cli.interrupts import note_said
from ohhell_env.errors import OhHellError
from ohhell_train.runs.display import LINE_SECONDS
from ohhell_train.tournament.analysis.results import Results, check_writable
from ohhell_train.tournament.analysis.standings import Failing, Standings
from ohhell_train.tournament.config import TournamentConfig
from ohhell_train.tournament.executors import watch
from ohhell_train.tournament.executors.processes import use_one_thread
from ohhell_train.tournament.pages.terminal import labels, print_report
from ohhell_train.tournament.runner import run_tournament
from ohhell_train.tournament.store import STORE

_SHOWN = 12
"""The most entrants in the live standings, from the best on."""


_METAVARS = {
    "rules": "NAME|FILE.yaml",
    "challenger": "NAME",
    "anchor": "NAME",
    "stop": "POINTS",
    "out": "DIR",
}
"""The placeholders of options in the help, if their type does not show it."""
_PLAYERS = (
    "random, heuristic, search (search:worlds=100), zoo:NAME, the folder of a checkpoint, "
    "parts:bids=PLAYER,cards=PLAYER, module:Class, or process: and a command line in quotes; each "
    "with NAME= before it to give it another name."
)


def _option(name: str, field: FieldInfo) -> Any:
    """Returns the type of a setting's option, with its help."""
    text = " ".join((field.description or "").split()).replace("null: ", "if left out: ")
    if field.default is not None and not isinstance(field.default, bool):
        text = f"{text} [{field.default}]"
    kinds = [kind for kind in get_args(field.annotation) or (field.annotation,) if kind]
    choices = [choice for kind in kinds for choice in get_args(kind) or (kind,)]
    words = [choice for choice in choices if isinstance(choice, str)]
    kind = next((kind for kind in (bool, int, float) if kind in choices), str)
    flags = [f"--{name}/--no-{name}"] if kind is bool else []
    metavar = _METAVARS.get(name) or ("|".join(words) or None)
    return Annotated[
        kind | None, typer.Option(*flags, help=text, metavar=metavar, show_default=False)
    ]


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command an option of the right type for each setting of a tournament."""
    entrants = typer.Argument(metavar="PLAYER...", show_default=False, help=_PLAYERS)
    types: dict[str, Any] = {"entrants": Annotated[list[str] | None, entrants]}
    fixed = inspect.signature(command, eval_str=True).parameters
    types["config"] = fixed["config"].annotation
    for name, field in TournamentConfig.model_fields.items():
        types.setdefault(name, _option(name, field))
    types["fresh"] = fixed["fresh"].annotation
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(
            name, keyword, default=False if name == "fresh" else None, annotation=kind
        )
        for name, kind in types.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = types
    return command


@_with_options
def tournament(
    *,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with settings; options override it.", show_default=False),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start again; the old store is kept under another name.")
    ] = False,
    **options: Any,
) -> None:
    """Plays players against each other on duplicate deals; continues a stopped tournament."""
    changes = {name: value for name, value in options.items() if value not in (None, [])}
    settings = TournamentConfig.load(config, changes)
    if watch.is_wanted(entrant.spec for entrant in settings.entrants):
        kept = f"the tables played are kept in {settings.out}"
        raise typer.Exit(watch.run_again("tournament", kept))
    cli_run(settings, fresh=fresh)


def cli_run(
    config: TournamentConfig, *, fresh: bool = False, show_progress: bool = True
) -> Results:
    """Runs a tournament with a progress bar, writes its files and prints the report.

    Args:
        config: The settings.
        fresh: Whether to rename an old store and start again.
        show_progress: Whether to show progress.

    Raises:
        OhHellError: A setting cannot be used.
    """
    was_there = config.out.exists()
    check_writable(config.out)
    use_one_thread()
    console = Console()
    with (
        _no_empty_folder(config.out, was_there),
        _Progress(console, config.out, show_progress) as progress,
    ):
        results = run_tournament(
            config, store=config.out / STORE, fresh=fresh, on_progress=progress
        )
    written = [results.save(config.out)]
    if config.report:
        from ohhell_train.tournament.pages import write_pages

        written += write_pages(results, config.out)
    print_report(results, console)

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    for path in written[:2]:
        say(f"written: {path}")
    if config.report:
        say(f"Next: open {written[1]} in a browser")
    return results


@contextlib.contextmanager
def _no_empty_folder(folder: Path, was_there: bool) -> Iterator[None]:
    """Removes a folder that was created for a tournament which was then refused."""
    try:
        yield
    except OhHellError:
        with contextlib.suppress(OSError):
            if not was_there:
                folder.rmdir()
        raise


def fault_line(name: str, failing: Failing) -> str:
    """Returns the line about an entrant that commits faults, or is given up."""
    counts = failing.counts
    if failing.given_up:
        return (
            f"{name} fails all the time and is given up: it is not asked any more, and random "
            f"legal moves replace its answers. Its first fault: {counts.first_fault}"
        )
    return (
        f"{name}: {counts.faults:,} faults in {counts.decisions:,} decisions of {failing.blocks:,} "
        f"blocks, in {counts.seconds:.0f} seconds; the first: {counts.first_fault}"
    )


class _Progress:
    """The progress bar with live standings, and the message if the tournament is stopped.

    Args:
        console: The console to print to.
        out: Folder of the store.
        is_shown: Whether to show anything during play.
    """

    def __init__(self, console: Console, out: Path, is_shown: bool) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        self._bar = BarProgress(*columns, TextColumn("{task.fields[left]}"), console=console)
        self._task = self._bar.add_task("tournament", total=None, left="")
        self._console, self._out, self._is_shown = console, out, is_shown
        self._standings: Standings | None = None
        self._named: set[tuple[str, bool]] = set()
        """Entrants already named for faults, and whether as given up."""
        self._live: Live | None = None
        self._lines: threading.Thread | None = None
        self._ended = threading.Event()
        self._calls = 0
        self._since, self._before = time.monotonic(), 0.0
        self._end: float | None = None
        """The estimated end of the tournament; None if it is unknown."""

    def __call__(self, standings: Standings) -> None:
        self._calls, self._standings, now = self._calls + 1, standings, time.monotonic()
        if self._calls <= 2:  # the first unit has waited for the workers to start
            self._since, self._before = now, standings.seconds
        played, left = standings.seconds - self._before, standings.seconds_left
        self._end = None
        if played > 0.0 and left is not None:
            self._end = now + left * (now - self._since) / played
        self._bar.update(self._task, completed=standings.done, total=standings.total)
        if self._is_shown:
            self._name_faulty(standings)

    def _name_faulty(self, standings: Standings) -> None:
        """Reports once each player that commits faults, and each that is given up."""
        for name, failing in standings.failing.items():
            if (name, failing.given_up) in self._named:
                continue
            self._named |= {(name, False), (name, failing.given_up)}
            said = fault_line(name, failing)
            self._say(f"{said}; {self._time_left()}")

    def _time_left(self) -> str:
        if self._end is None:
            return "time left not known yet"
        return f"about {duration(self._end - time.monotonic())} left"

    def _say_lines(self) -> None:
        """Prints the progress every minute, also during a single longer unit."""
        while not self._ended.wait(LINE_SECONDS):
            standings = self._standings
            self._say("no table finished yet" if standings is None else self._line(standings))

    def _line(self, standings: Standings) -> str:
        """Returns the progress in one line, for logs."""
        now = standings.now()
        short = labels(each.name for each in now)
        best = ", ".join(f"{short[each.name]} {each.difference:+.2f}" for each in now[:3])
        share = standings.done / standings.total
        return f"{share:.0%}, {self._time_left()}; {best}"

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _render(self) -> Group:
        if self._standings is None:
            return Group(self._bar)
        self._bar.update(self._task, left=self._time_left())
        return Group(_live_table(self._standings), self._bar)

    def __enter__(self) -> Self:
        if self._is_shown and self._console.is_terminal:
            self._live = Live(get_renderable=self._render, console=self._console, transient=True)
            self._live.start()
        elif self._is_shown:
            self._lines = threading.Thread(target=self._say_lines, daemon=True)
            self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: object
    ) -> None:
        if self._live is not None:
            self._live.stop()
        self._ended.set()
        if self._lines is not None:
            self._lines.join()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            done, total = 0, 0
            if self._standings is not None:
                done, total = self._standings.done, self._standings.total
            self._say(
                f"stopped after {done:,} of {total:,} tables; they are kept in {self._out}, and "
                "the same command continues"
            )
            note_said()


def duration(seconds: float) -> str:
    """Returns a length of time in words, with useful precision.

    >>> duration(42), duration(100), duration(3840)
    ('40 seconds', '2 minutes', '64 minutes')
    """
    if seconds < 90:
        return f"{max(10, 10 * round(seconds / 10))} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"


def _live_table(standings: Standings) -> Table:
    table = Table(box=None)
    table.add_column("so far", overflow="ellipsis", no_wrap=True, min_width=12)
    for heading in ("over the others", "±", "blocks"):
        table.add_column(heading, justify="right", no_wrap=True)
    now = standings.now()
    short = labels((each.name for each in now), 20)
    for each in now[:_SHOWN]:
        half = "" if each.half_width is None else f"{each.half_width:.2f}"
        table.add_row(short[each.name], f"{each.difference:+.2f}", half, f"{each.blocks:,}")
    return table
