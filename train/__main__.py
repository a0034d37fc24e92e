"""The command line: ``python -m train COMMAND``.

A user's mistake is one line on stderr and exit status 2, as for ``python -m ohhell_env``. A run
that is stopped with Ctrl-C ends with status 130 and can be resumed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import typer

from ohhell_env.__main__ import STOPPED, USER_ERROR, Command
from ohhell_env.errors import OhHellError, nearest

PROGRAM = "python -m train"

COMMANDS: dict[str, Command] = {
    "quick": Command("train.cli:quick", "Train for minutes, then play a tournament."),
    "fit": Command("train.cli:fit", "Train a player by self-play."),
    "resume": Command("train.cli:resume", "Go on with a run that was interrupted."),
    "tournament": Command("train.cli:tournament", "Play players against each other."),
}

_BAD_USAGE = cast(type[Exception], typer.BadParameter.__mro__[2])


def main(args: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit status.

    Args:
        args: The arguments after the program's name; None: those of this process.
    """
    words = list(sys.argv[1:] if args is None else args)
    try:
        build(words[0] if words else None)(words, prog_name=PROGRAM, standalone_mode=False)
    except OhHellError as error:
        return _complain(str(error))
    except _BAD_USAGE as error:
        return _complain(_bad_usage(error))
    except OSError as error:
        if error.filename is None:  # no file that the user named
            raise
        return _complain(f"{error.filename}: {error.strerror}")
    except (typer.Abort, KeyboardInterrupt):
        return STOPPED
    return 0


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


def _program(context: typer.Context) -> None:
    """Training by self-play, and tournaments on duplicate deals."""
    if context.invoked_subcommand is None:
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
