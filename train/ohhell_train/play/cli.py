"""``ohhell play``."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ohhell_env.cli.interrupts import note_said
from ohhell_env.cli.program import STOPPED, keep_unknown_letters_out
from ohhell_env.cli.rules import parse_changes
from ohhell_env.envs.arguments import check_seat
from ohhell_env.errors import OhHellError, RulesError, shown_path
from ohhell_env.extras import what_is_missing
from ohhell_env.game import Game
from ohhell_env.players import named_player
from ohhell_env.rules import Rules, as_rules
from ohhell_train.play.advice import Adviser
from ohhell_train.play.match import Match
from ohhell_train.play.names import names_by_seat
from ohhell_train.play.others import Others
from ohhell_train.play.session import Session

SHIPPED = "zoo:universal"
"""The player in the other seats, and the adviser, if the user names no other."""
_SLOWEST = 60
"""Longest ``--pace``, in seconds."""


def play(
    more: Annotated[
        list[str] | None,
        typer.Argument(metavar="PLAYER...", help="More players, after --against.", hidden=True),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLAYER...",
            help="Players in the other seats: one for all, or one for each seat clockwise from "
            f"yours. Default: {SHIPPED}.",
        ),
    ] = None,
    rules: Annotated[
        str, typer.Option(metavar="NAME|FILE.yaml", help="Rules of the game.")
    ] = "oh_hell",
    players: Annotated[
        int | None,
        typer.Option(
            help="Number of players, 2 to 8. Default: you and all players of --against; if there "
            "is only one, as in the rules."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting: scoring=simple."),
    ] = None,
    seat: Annotated[int, typer.Option(help="Your seat, from 0.")] = 0,
    seed: Annotated[int | None, typer.Option(help="Seed of the cards and of all chance.")] = None,
    episode: Annotated[
        str, typer.Option(metavar="game|deal", help="Length: a whole game or a single deal.")
    ] = "game",
    hand_size: Annotated[int | None, typer.Option(help="Hand size of a single deal.")] = None,
    practice: Annotated[bool, typer.Option("--practice", help="Allow taking moves back.")] = False,
    adviser: Annotated[
        str, typer.Option(metavar="PLAYER", help="Player that gives hints.")
    ] = SHIPPED,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Write the game to this file after every deal; later games to FILE-2.json, ...",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Your name; or one name for each seat, repeated."),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Play line by line: for pipes, scripts, screen readers.")
    ] = False,
    pace: Annotated[float, typer.Option(help="Seconds between moves of the other seats.")] = 0.6,
) -> None:
    """Play against the project's players in the terminal."""
    if not 0 <= pace <= _SLOWEST:
        raise RulesError(f"--pace: needs seconds from 0 to {_SLOWEST}, got {pace}")
    named = [*(against or []), *(more or [])] or [SHIPPED]
    wanted = players if players is not None or len(named) == 1 else len(named) + 1
    chosen = as_rules(rules, wanted).replace(**parse_changes(changes or []))
    keep_unknown_letters_out()
    show = _line_by_line if plain or not _is_terminal() else _table(pace)
    begin = partial(
        set_up,
        chosen,
        named,
        seat,
        episode=episode,
        hand_size=hand_size,
        practice=practice,
        adviser=adviser,
        names=name or [],
    )
    session = Session(begin, seed, record)
    stopped = False
    try:
        with _ended_softly():
            show(session)
    except KeyboardInterrupt:
        stopped = True
    finally:
        session.close()
    for line in farewell(session):
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
    """Returns a match whose players have begun.

    Args:
        rules: The rules.
        against: One player for all other seats, or one for each, clockwise from the person's.
        seat: The person's seat.
        seed: Seed of the cards and of all chance; None draws one.
        episode: "game" or "deal".
        hand_size: With episode "deal", the hand size; None draws one from the schedule.
        practice: Whether the person can take moves back.
        adviser: The player that gives hints.
        record: File to write the game to; it must not exist yet. None writes nothing.
        names: The person's name, or one for each seat; without names, see ``names_by_seat``.

    Raises:
        OhHellError: An argument cannot be used, or a player cannot begin.
    """
    check_seat(seat, rules)
    if len(against) not in (1, rules.players - 1):
        raise RulesError(
            f"--against: give 1 player, or {rules.players - 1}, one for each other seat; "
            f"got {len(against)}: {' '.join(against)}"
        )
    if hand_size is not None and episode == "game":
        raise RulesError("--hand-size needs a single deal; add --episode deal")
    seated = names_by_seat(rules, seat, against, names)
    players = [named_player(each).player for each in against]
    if record is not None and record.exists():
        raise OhHellError(f"--record: {shown_path(record)!r} exists already; name a new file")
    game = Game(rules, seed, episode, hand_size)
    with contextlib.ExitStack() as undone:
        others = Others(players, rules, seat, hand_size)
        undone.callback(others.close)
        hints = Adviser(adviser, rules, seat, (game.seed or 0), hand_size)
        undone.callback(hints.close)
        match = Match(game, seat, others, seated, hints, practice, record)
        undone.pop_all()
    return match


def _is_terminal() -> bool:
    seen = sys.stdin.isatty() and sys.stdout.isatty()
    kind = os.environ.get("TERM", "" if os.name == "posix" else "unnamed")  # Windows sets no TERM
    return seen and kind not in ("dumb", "") and _has_symbols()


def _has_symbols() -> bool:
    """Whether the output can show the suits and the other symbols of the table."""
    try:
        "♣♦♥♠│…".encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def _ended_softly() -> Iterator[None]:
    """Lets signals, for instance of a closed window, end the game in the same way as quitting."""

    def leave(number: int, frame: object) -> None:
        sys.exit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _line_by_line(session: Session) -> None:
    from ohhell_train.play.plain import PlainGame

    PlainGame(session).run()


def _table(pace: float) -> Callable[[Session], None]:
    """Returns the function that shows the table; it fails early if Textual is missing."""
    try:
        from ohhell_train.play.app import PlayApp, any_bytes
    except ModuleNotFoundError as error:
        raise OhHellError(f"the table {what_is_missing(error)}; or add --plain") from None

    def show(session: Session) -> None:
        with any_bytes():
            PlayApp(session, pace).run()

    return show


def farewell(session: Session) -> list[str]:
    """Returns the last lines of the command: the result, and the files of the games."""
    match = session.match
    lines = [match.events[-1]] if match.over else ["You stopped before the end of the game."]
    lines += [each.trouble for each in session.matches if each.trouble]
    kept = [each.path for each in session.matches if each.path is not None and not each.trouble]
    if not kept:
        return lines
    if len(kept) == 1:
        lines.append(f"The game is in {kept[0]}. To make a page of it:")
    else:
        lines.append(f"The games are in {', '.join(map(str, kept))}. To make a page of the last:")
    return [*lines, f"ohhell replay {shlex.quote(str(kept[-1]))} --html game.html"]
