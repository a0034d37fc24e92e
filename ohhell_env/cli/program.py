"""The command line as a program of many commands, with its handling of users' mistakes.

A command is a function in a module of its own, imported only when the command runs. For every
command, a user's mistake gives one line on stderr and exit status 2.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

import typer
from typer.core import TyperGroup

from ohhell_env.cli.interrupts import heard_once, note_begin, say_stopped
from ohhell_env.errors import OhHellError, nearest, shown, shown_path
from ohhell_env.extras import what_is_missing

USER_ERROR = 2
"""Exit status after a user's mistake."""
STOPPED = 130
"""Exit status after Ctrl-C, as in shells."""
_LONGEST_WORD = 1000
"""Words longer than this are cut in messages; no path is that long."""

# Bad options raise ClickException, which lives in click or, in newer versions, inside typer.
_BAD_USAGE = cast(type[Exception], typer.BadParameter.__mro__[2])


_owns_process = False


def owns_process() -> bool:
    """Returns whether this process was started to run a command, not by another program."""
    return _owns_process


class Command(NamedTuple):
    """One command of a program."""

    function: str
    """Its function, as "module:function", with parameters annotated for Typer."""
    summary: str
    """One line of help: what the command does."""


@dataclass(frozen=True)
class Program:
    """A program of several commands."""

    name: str
    """The word to type: "ohhell"."""
    summary: str
    """One line of help: what the program is."""
    version: str
    groups: dict[str, dict[str, Command]]
    """The commands, by their group in ``--help``."""

    @property
    def commands(self) -> dict[str, Command]:
        """All commands by name, in the order of the groups."""
        return {name: each for group in self.groups.values() for name, each in group.items()}

    def run(self, args: Sequence[str] | None = None) -> int:
        """Runs a command and returns the exit status.

        Args:
            args: The arguments after the program's name; None: this process's.
        """
        note_begin()
        with heard_once():
            status = self._run(list(sys.argv[1:] if args is None else args))
            if status == STOPPED:
                say_stopped()
            return status

    def end(self) -> NoReturn:
        """Runs this process's command, and ends the process with its status."""
        global _owns_process  # noqa: PLW0603 (a fact about the process, not about a program)
        _owns_process = True
        keep_unknown_letters_out()
        _find_own_modules()
        with heard_once(for_good=True):
            sys.exit(self.run())

    def _run(self, words: list[str]) -> int:
        try:
            app = self.build(words[0] if words else None)
            status = app(words, prog_name=self.name, standalone_mode=False)
            sys.stdout.flush()  # report here what cannot be written, not at interpreter exit
        except OhHellError as error:
            return _complain(str(error))
        except ModuleNotFoundError as error:
            if needed := what_is_missing(error):
                return _complain(f"{self.name} {words[0]} {needed}")
            raise
        except _BAD_USAGE as error:
            return _complain(self._bad_usage(error))
        except OSError as error:
            if error.filename is None:  # not a file of the user's, but the output
                if error.errno not in (errno.ENOSPC, errno.EPIPE, errno.EIO):
                    raise
                return _lose_output(error)
            return _complain(f"{shown_path(error.filename)}: {error.strerror}")
        except (typer.Abort, KeyboardInterrupt):
            return STOPPED
        return status if isinstance(status, int) else 0

    def build(self, chosen: str | None) -> typer.Typer:
        """Returns the program with all its commands; only the chosen one is imported.

        Raises:
            OhHellError: The command does not exist.
        """
        if chosen is not None and not chosen.startswith("-") and chosen not in self.commands:
            raise OhHellError(f"unknown command {shown(chosen)}: {nearest(chosen, self.commands)}")
        app = typer.Typer(
            cls=_grouped(self.groups),
            add_completion=False,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
        )
        app.callback(invoke_without_command=True, help=self.summary)(self._bare)
        for name, command in self.commands.items():
            function = _load(command.function) if name == chosen else _not_loaded
            app.command(name, help=command.summary)(function)
        return app

    def _bare(
        self,
        context: typer.Context,
        version: bool = typer.Option(False, "--version", help="Print the version."),
    ) -> None:
        if version:
            print(self.version)
        elif context.invoked_subcommand is None:
            print(context.get_help())

    def _bad_usage(self, error: Any) -> str:
        context = getattr(error, "ctx", None)
        path = self.name if context is None else context.command_path
        return f"{error.format_message().rstrip('.')} (see {path} --help)"


def _grouped(groups: Mapping[str, Iterable[str]]) -> type[TyperGroup]:
    """Returns a Typer group whose help lists commands under headings; Typer's own needs Rich."""

    class Grouped(TyperGroup):
        def format_commands(self, ctx: Any, formatter: Any) -> None:
            for heading, names in groups.items():
                with formatter.section(heading):
                    formatter.write_dl([(name, self.commands[name].help or "") for name in names])

    return Grouped


def _load(target: str) -> Callable[..., Any]:
    module, _, function = target.partition(":")
    return getattr(importlib.import_module(module), function)


def _not_loaded() -> None:
    raise AssertionError("only the chosen command runs, and that one is loaded")


def _lose_output(error: OSError) -> int:
    """Reports that standard output cannot be written, and keeps Python from repeating it."""
    with contextlib.suppress(OSError, ValueError):  # not a real file: Python will not repeat it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _complain(f"cannot write the output: {error.strerror}")


def _find_own_modules() -> None:
    """Lets players be imported from the current folder, as ``python -m`` would.

    The folder comes last: a file of the user's must not hide an installed module.
    """
    with contextlib.suppress(OSError):  # a folder that has been removed
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)


def keep_unknown_letters_out() -> None:
    """Reads and prints "?" for letters that the encoding of a stream lacks, instead of failing.

    A pipe on Windows often has cp1252, which has no suit symbols; a C locale may have ASCII.
    """
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def printable(text: str) -> str:
    """Returns a text on one line, with control characters written as codes."""
    line = " ".join(text.split())
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in line)


def _short_word(word: str) -> str:
    """Returns a word, cut if it is far too long: Typer's messages repeat the whole word."""
    return word if len(word) <= _LONGEST_WORD else f"{word[:77]}..."


def _complain(message: str) -> int:
    short = " ".join(_short_word(word) for word in message.split())
    print(f"error: {printable(short)}", file=sys.stderr)  # may contain text from others
    return USER_ERROR
