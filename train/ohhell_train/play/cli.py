"""``ohhell play``."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from ohhell_env.cli.interrupts import note_said
from ohhell_env.cli.program import STOPPED, keep_unknown_letters_out, printable
from ohhell_env.cli.rules import parse_changes
from ohhell_env.envs.arguments import check_seat
from ohhell_env.errors import OhHellError, RulesError, shown
from ohhell_env.extras import what_is_missing
from ohhell_env.game import Game
from ohhell_env.players import named_player
from ohhell_env.rules import Rules, as_rules
from ohhell_train.play.advice import Adviser
from ohhell_train.play.match import Match
from ohhell_train.play.others import Others
from ohhell_train.play.telling import YOU

SHIPPED = "zoo:universal"
"""Who plays the other seats, and who gives hints, unless somebody else is named."""
_SLOWEST = 60


def play(
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="PLAYER...", help="More players, after --against.", hidden=True),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLAYER...",
            help="Who plays the other seats, as in a tournament: one name for all, or one for each "
            f"seat clockwise from yours. If left out: {SHIPPED}.",
        ),
    ] = None,
    rules: Annotated[
        str, typer.Option(metavar="NAME|FILE.yaml", help="The rules of the game.")
    ] = "oh_hell",
    players: Annotated[
        int | None, typer.Option(help="Number of players, 2 to 8. If left out: as many as named.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting: scoring=simple."),
    ] = None,
    seat: Annotated[int, typer.Option(help="Your seat, from 0 on.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Decides the cards and all chance.")] = None,
    episode: Annotated[str, typer.Option(metavar="game|deal", help="How much is played.")] = "game",
    hand_size: Annotated[int | None, typer.Option(help="Cards for each in a single deal.")] = None,
    practice: Annotated[bool, typer.Option("--practice", help="Moves can be taken back.")] = False,
    adviser: Annotated[
        str, typer.Option(metavar="PLAYER", help="Who gives hints; it must explain itself.")
    ] = SHIPPED,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Keep the game: written after every deal."),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Your name; or once for each seat, in order."),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Line by line, as where there is no terminal.")
    ] = False,
    pace: Annotated[
        float, typer.Option(help="Seconds from one move of the others to the next.")
    ] = 0.6,
) -> None:
    """Lets you play against the project's players, in the terminal."""
    if not 0 <= pace <= _SLOWEST:
        raise RulesError(f"--pace: seconds from 0 to {_SLOWEST}, got {pace}")
    named = [*(against or []), *(more or [])] or [SHIPPED]
    wanted = players if players is not None or len(named) == 1 else len(named) + 1
    chosen = as_rules(rules, wanted).replace(**parse_changes(changes or []))
    keep_unknown_letters_out()
    show = _line_by_line if plain or not _is_terminal() else _table(pace)
    match = set_up(
        chosen, named, seat, seed, episode, hand_size, practice, adviser, record, name or []
    )
    stopped = False
    try:
        with _ended_softly():
            show(match)
    except KeyboardInterrupt:
        stopped = True
    finally:
        match.close()
    for line in farewell(match):
        typer.echo(line)
    if stopped:
        note_said()
        raise typer.Exit(STOPPED)


def set_up(
    rules: Rules,
    against: Sequence[str],
    seat: int = 0,
    seed: int | None = None,
    episode: str = "game",
    hand_size: int | None = None,
    practice: bool = False,
    adviser: str = SHIPPED,
    record: Path | None = None,
    names: Sequence[str] = (),
) -> Match:
    """Returns a match with everybody at the table.

    Args:
        rules: The rules.
        against: One player for all other seats, or one for each, clockwise from the person's.
        seat: The person's seat.
        seed: Decides the cards and all chance; None: taken from the system.
        episode: "game" or "deal".
        hand_size: With episode "deal", the hand size; None: drawn from the schedule.
        practice: Whether moves can be taken back.
        adviser: Who gives hints.
        record: File to keep the game in; it must not be there yet. None: the game is not kept.
        names: The person's name, or one for each seat; empty: made from the players.

    Raises:
        OhHellError: Anything that cannot be used.
    """
    check_seat(seat, rules)
    if len(against) not in (1, rules.players - 1):
        raise RulesError(
            f"--against: give 1 name or {rules.players - 1}, one for each other seat; "
            f"got {len(against)}: {' '.join(against)}"
        )
    if hand_size is not None and episode == "game":
        raise RulesError("--hand-size is for a single deal; add --episode deal")
    players = [named_player(each) for each in against]
    called = names_by_seat(rules, seat, [each.name for each in players], names)
    if record is not None and record.exists():
        raise OhHellError(f"--record: {str(record)!r} is there already; name a new file")
    game = Game(rules, seed, episode, hand_size)
    with contextlib.ExitStack() as undone:
        others = Others([each.player for each in players], rules, seat, hand_size)
        undone.callback(others.close)
        hints = Adviser(adviser, rules, seat, (game.seed or 0), hand_size)
        undone.callback(hints.close)
        match = Match(game, seat, others, called, hints, practice, record)
        undone.pop_all()
    return match


def names_by_seat(
    rules: Rules, seat: int, against: Sequence[str], names: Sequence[str]
) -> list[str]:
    """Returns a name for each seat, different for each.

    Raises:
        RulesError: Not one name, nor one for each seat, or one that cannot be shown.
    """
    if len(names) not in (0, 1, rules.players):
        raise RulesError(
            f"--name: give yours, or {rules.players}, one for each seat; got {len(names)}"
        )
    for each in names:
        if not each.strip() or not each.isprintable():
            raise RulesError(f"--name: a name of printable letters is wanted, got {shown(each)}")
    others = list(against) * (1 if len(against) > 1 else rules.players - 1)
    clockwise = [names[0] if names else YOU, *map(printable, others)]
    called = [clockwise[(place - seat) % rules.players] for place in range(rules.players)]
    called = _told_apart(list(names) if len(names) == rules.players else called)
    if YOU in called and called.index(YOU) != seat:
        raise RulesError(f"--name: {YOU!r} is you alone; give seat {called.index(YOU)} a name")
    return called


def _told_apart(names: list[str]) -> list[str]:
    """Returns names with numbers behind those that stand more than once."""
    total, numbers = Counter(names), {name: count(1) for name in names}
    found: list[str] = []
    for name in names:
        free = (f"{name} {number}" for number in numbers[name])
        name_here = next(each for each in free if each not in total) if total[name] > 1 else name
        found.append(name_here)
    return found


def _is_terminal() -> bool:
    seen = sys.stdin.isatty() and sys.stdout.isatty()
    kind = os.environ.get("TERM", "" if os.name == "posix" else "unnamed")  # Windows sets no TERM
    return seen and kind not in ("dumb", "") and _has_symbols()


def _has_symbols() -> bool:
    """Whether the output has the letters that the table is drawn with."""
    try:
        "♣♦♥♠│…".encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def _ended_softly() -> Iterator[None]:
    """Lets a signal, as of a window that is closed, end the game as quitting does."""

    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _line_by_line(match: Match) -> None:
    from ohhell_train.play.plain import PlainGame

    PlainGame(match).run()


def _table(pace: float) -> Callable[[Match], None]:
    """Returns what shows the table; asked for before anything begins, since Textual may lack."""
    try:
        from ohhell_train.play.app import PlayApp, any_bytes
    except ModuleNotFoundError as error:
        raise OhHellError(f"the table {what_is_missing(error)}; or add --plain") from None

    def show(match: Match) -> None:
        with any_bytes():
            PlayApp(match, pace).run()

    return show


def farewell(match: Match) -> list[str]:
    """Returns what is said at the end: how it ended, and where the game is kept."""
    lines = [match.events[-1]] if match.over else ["Stopped before the end of the game."]
    if match.trouble:
        return [*lines, match.trouble]
    if match.path is not None:
        kept = shlex.quote(str(match.path))
        lines.append(f"The game is in {match.path}; a page of it:")
        lines.append(f"ohhell replay {kept} --html game.html")
    return lines
