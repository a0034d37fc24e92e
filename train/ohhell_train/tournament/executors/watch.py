"""Runs a command with third-party Python classes in a process that they can safely end.

A foreign player runs in the process that asks it, from its import on. If it calls ``os._exit(0)``,
the command would end silently with status 0. So the command runs itself again in another process,
waits, and reports who was being asked when that process ended.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from ohhell_agents.checkpoint_io import is_there
from ohhell_agents.external.imported import is_import
from ohhell_agents.external.program import end_all
from ohhell_agents.two_part import PREFIX as TWO_PARTS
from ohhell_agents.two_part import read_parts
from ohhell_env.cli.interrupts import note_closing, note_said
from ohhell_env.cli.program import owns_process
from ohhell_env.errors import OhHellError, shown_path
from ohhell_train.tournament.executors import last_asked
from ohhell_train.tournament.executors.processes import end_with_parent, how_ended
from ohhell_train.tournament.executors.scratch import scratch_folder

_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP")


def is_wanted(specs: Iterable[str | None]) -> bool:
    """Returns whether this process is the command itself, and a player is a foreign class.

    Args:
        specs: The specs of the players; None for an object.
    """
    if not owns_process() or multiprocessing.parent_process() is not None or os.name != "posix":
        return False
    return any(spec is not None and _is_foreign(spec) for spec in specs)


def _is_foreign(spec: str) -> bool:
    """Returns whether a player, or one of its parts, is a foreign class."""
    if spec.startswith(TWO_PARTS):
        with contextlib.suppress(OhHellError):  # the error is reported when the player is created
            return any(map(_is_foreign, read_parts(spec.removeprefix(TWO_PARTS)).values()))
    return is_import(spec) and not is_there(Path(spec))


def run_again(work: str, kept: str = "") -> int:
    """Runs this command in another process and returns its exit status.

    Args:
        work: The activity of the command, for the message: "tournament".
        kept: The part of it that is saved, for the message.

    Raises:
        OhHellError: The process ended before its work was done.
    """
    with scratch_folder() as folder:
        note = folder / "asked"
        process = multiprocessing.get_context("spawn").Process(target=_run, args=(str(note),))
        with _passed_on(process) as passed:
            process.join()
        status = process.exitcode
        if last_asked.is_done(note):
            return status or 0
        if status is not None and -status in passed:
            return 128 - status
        name = last_asked.who(note)
    whom = "" if name is None else f" while entrant {shown_path(name)!r} was asked"
    raise OhHellError(
        f"the {work} ended ({how_ended(status)}){whom}: a player ended the process, or memory ran "
        f"out{kept and '; '}{kept}"
    )


def _run(note: str) -> None:
    """Runs the command with this process's arguments, which are those of the watching process."""
    with contextlib.suppress(OSError):  # Ctrl-C comes once, from the watching process
        os.setpgid(0, 0)
    end_with_parent()
    last_asked.keep(note)
    from ohhell_env.cli.commands import OHHELL

    status = OHHELL.run()
    last_asked.done()
    _end(status)


def _end(status: int) -> NoReturn:
    """Ends this process at once, because a player's threads may never end."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # a player closed it
            stream.flush()
    end_all()
    os._exit(status)


@contextlib.contextmanager
def _passed_on(process: Any) -> Iterator[set[int]]:
    """Starts a process and passes on signals that end a command; yields their numbers."""
    passed: set[int] = set()

    def pass_on(number: int, _: FrameType | None) -> None:
        passed.add(number)
        if (
            number == signal.SIGINT
        ):  # the other process stops, and reports it; nothing is left to do here
            note_said()
            note_closing()
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)

    before = {}
    process.start()
    for name in _PASSED_ON:
        number = getattr(signal, name)
        if (
            signal.getsignal(number) is not signal.SIG_IGN
        ):  # a shell ignores it for background commands
            before[number] = signal.signal(number, pass_on)
    try:
        yield passed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
