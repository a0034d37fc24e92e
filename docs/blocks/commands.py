"""Every command line, from what its ``--help`` is made of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from docs.blocks.markdown import prose, table, words
from ohhell_env.cli.commands import OHHELL
from ohhell_env.cli.program import Program

_HERE = f"{Path(__file__).resolve().parent.parent.parent}/"


def commands() -> str:
    """Every command: what it does, how it is called, what its arguments and options mean."""
    return "".join(_program(OHHELL))


def command_of(program: Program, name: str) -> Any:
    """Returns a command of a program as Typer's object."""
    return typer.main.get_command(program.build(name)).commands[name]  # type: ignore[attr-defined]


def _program(program: Program) -> Iterator[str]:
    for heading, names in program.groups.items():
        yield f"\n## {heading}\n"
        for name in names:
            yield f"\n### {program.name} {name}\n\n"
            yield from _command(program, name)


def _command(program: Program, name: str) -> Iterator[str]:
    command = command_of(program, name)
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"{_told(command.callback)}\n\n```\n{program.name} {name} {usage}\n```\n\n"
    records = (parameter.get_help_record(context) for parameter in command.params)
    rows = [_row(record) for record in records if record is not None]  # None: hidden
    if rows:
        yield table(("Argument or option", "Meaning"), rows)


def _told(function: Any) -> str:
    """Returns a docstring up to its sections, which are for callers in Python."""
    text = inspect.getdoc(function) or ""
    return words(re.split(r"\n\n(?:Args|Returns|Raises):\n", text)[0])


def _row(record: tuple[str, str]) -> tuple[str, str]:
    """Returns a line of ``--help``; defaults that are files are named from the clone on."""
    usage, meaning = (part.replace(_HERE, "") for part in record)
    return f"`{usage}`".replace("|", "\\|"), prose(re.sub(r"\[(.*)\]$", r"(\1)", meaning))
