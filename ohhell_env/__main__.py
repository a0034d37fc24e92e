"""The command line: ``python -m ohhell_env COMMAND``.

A command is a function in a module of its own, named in ``COMMANDS``; its module is imported only
when it is asked for. A user's mistake is one line on stderr and exit status 2, for every command.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import typer

from ohhell_env import __version__
from ohhell_env.errors import OhHellError, nearest

PROGRAM = "python -m ohhell_env"
USER_ERROR = 2
"""Exit status after a user's mistake."""
STOPPED = 130
"""Exit status after Ctrl-C, as shells have it."""


class Command(NamedTuple):
    """One command of the program."""

    function: str
    """Where its function is, as "module:function"; parameters are annotated as Typer wants them."""
    summary: str
    """What it does, in one line of help."""


COMMANDS: dict[str, Command] = {
    "rules": Command("ohhell_env.cli_rules:rules", "Explain a variant, or list all of them."),
    "deal": Command("ohhell_env.cli_records:deal", "Deal and play one game, and show it."),
    "replay": Command("ohhell_env.cli_records:replay", "Check a recorded game and show it."),
    "bench": Command("ohhell_env.bench:bench", "Measure speed here and beside other games."),
    "fuzz": Command("ohhell_env.cli_fuzz:fuzz", "Play random games over random rules, checked."),
}

# Bad options raise ClickException, which lives in click or, in newer versions, inside typer.
_BAD_USAGE = cast(type[Exception], typer.BadParameter.__mro__[2])


def main(args: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit status.

    Args:
        args: The arguments after the program's name; None: those of this process.
    """
    words = list(sys.argv[1:] if args is None else args)
    try:
        status = build(words[0] if words else None)(words, prog_name=PROGRAM, standalone_mode=False)
    except OhHellError as error:
        return _complain(str(error))
    except _BAD_USAGE as error:
        return _complain(_bad_usage(error))
    except OSError as error:
        if error.filename is None:  # no file that the user named
            raise
        return _complain(f"{error.filename}: {error.strerror}")
    except typer.Abort:
        return STOPPED
    return status if isinstance(status, int) else 0


def build(chosen: str | None) -> typer.Typer:
    """Returns the program with all its commands, of which only the chosen one is imported.

    Raises:
        OhHellError: There is no such command.
    """
    if chosen is not None and not chosen.startswith("-") and chosen not in COMMANDS:
        raise OhHellError(f"unknown command {chosen!r}: {nearest(chosen, COMMANDS)}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_program)
    for name, command in COMMANDS.items():
        function = _load(command.function) if name == chosen else _not_loaded
        app.command(name, help=command.summary)(function)
    return app


def _load(target: str) -> Callable[..., Any]:
    module, _, function = target.partition(":")
    return getattr(importlib.import_module(module), function)


def _not_loaded() -> None:
    raise AssertionError("only the chosen command runs, and that one is loaded")


def _program(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print it.")
) -> None:
    """Oh Hell, in all its variants."""
    if version:
        print(__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


def _bad_usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = PROGRAM if context is None else context.command_path
    return f"{error.format_message().rstrip('.')} (see {path} --help)"


def _complain(message: str) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return USER_ERROR


if __name__ == "__main__":
    sys.exit(main())
