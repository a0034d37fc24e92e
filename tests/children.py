"""Processes that tests start: with signals of their own, and ended in any case."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


@contextlib.contextmanager
def child_of(
    command: Sequence[str], folder: Path = ROOT, stdin: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    """A process with a session of its own, that hears Ctrl-C whoever started the tests.

    In the background of a shell Ctrl-C is ignored, and a child would go on ignoring it.

    Args:
        command: Its words.
        folder: Where it starts.
        stdin: What it reads, as ``subprocess.Popen`` has it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        child = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(child.pid, signal.SIGKILL)
            else:
                child.kill()
        child.communicate()


def alive(group: int) -> list[str]:
    """Returns the processes of a group that still run; dead ones may wait to be buried."""
    return [args for found, args in _running("pgid") if found == group]


def of_session(session: int) -> list[str]:
    """Returns the processes of a session that still run."""
    return [args for found, args in _running("sess") if found == session]


def _running(what: str) -> Iterator[tuple[int, str]]:
    command = ["ps", "-eo", f"{what}=,stat=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        number, status, args = line.split(maxsplit=2)
        if not status.startswith("Z"):
            yield int(number), args
