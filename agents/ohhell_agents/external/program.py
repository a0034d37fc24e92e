"""A program that answers lines: started without a shell, asked with a time limit, always ended.

This module knows nothing of the game: a line goes in and a line comes out, or a ``ProgramError``
reports what the program did instead. A program that fails once is ended, so that no late answer is
taken for another one.

Each program has a process group of its own, and the whole group is ended, not only the process. A
program may start others and exit, and they would live on and hold its pipes.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import sys
import time
import weakref

from ohhell_env.errors import OhHellError, shown_path

MAX_LINE = 64 * 1024
"""Longest answer in bytes."""
LAST_WORDS = 600
"""How much of the program's standard error an error message shows, in bytes."""
QUIT_GRACE = 0.5
"""Seconds that a program has to exit after the request to quit."""
_READ = 64 * 1024
_LOOK = 0.05  # seconds between two checks that the program is still there
_QUIT = b'{"type": "quit"}\n'
_groups: set[int] = set()
"""Process groups of this process's programs that are not yet ended."""


class ProgramError(OhHellError):
    """A program that plays did something other than answer; the message describes it."""


class LineProgram:
    """A running program.

    Args:
        command: The command line, split as in a shell; no shell is started.

    Raises:
        ProgramError: The program cannot be started.
    """

    def __init__(self, command: str) -> None:
        self.command = command
        self._process = _start(command)
        self._heard = b""
        self._said = b""
        self._streams = [self._process.stdin, self._process.stdout, self._process.stderr]
        stdin, stdout, stderr = (stream.fileno() for stream in self._streams if stream)
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        for descriptor in (stdin, stdout, stderr):
            os.set_blocking(descriptor, False)
        self._end = weakref.finalize(self, _end, self._process, os.getpid())

    @property
    def pid(self) -> int:
        """ID of the program's process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it can be asked: neither closed, nor ended after a failure."""
        return self._end.alive

    def ask(self, line: bytes, limit_ms: int) -> bytes:
        """Sends a line and returns the line that comes back, both without the newline.

        Raises:
            ProgramError: No line came within the limit, the line is too long, or the program has
                ended; it is not running afterwards.
        """
        deadline = time.monotonic() + limit_ms / 1000
        waiting = line + b"\n"
        while b"\n" not in self._heard and len(self._heard) <= MAX_LINE:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self.failure(f"gave no answer within {limit_ms} ms")
            waiting = self._exchange(waiting, min(left, _LOOK))
        answer, _, self._heard = self._heard.partition(b"\n")
        if len(answer) > MAX_LINE:
            raise self.failure(f"wrote a line of more than {MAX_LINE} bytes")
        return answer

    def _exchange(self, waiting: bytes, seconds: float) -> bytes:
        """Sends and reads what is possible now, or within some seconds; returns the unsent rest."""
        hears = [self._stdout] if self._stderr < 0 else [self._stdout, self._stderr]
        wants = [self._stdin] if waiting else []
        gone = self._process.poll() is not None  # before reading: the last line counts
        readable, writable, _ = select.select(hears, wants, [], 0.0 if gone else seconds)
        if self._stderr in readable and not self._hear_errors():
            self._stderr = -1  # closed by the program, which is allowed
        if writable:
            waiting = self._send(waiting)
        if self._stdout in readable:
            heard = os.read(self._stdout, _READ)
            if not heard:
                raise self.failure(self._why_silent())
            self._heard += heard
        elif gone:  # what the program started may hold the pipe open, and would never answer
            raise self.failure(self._why_silent())
        return waiting

    def _send(self, waiting: bytes) -> bytes:
        try:
            return waiting[os.write(self._stdin, waiting) :]
        except BlockingIOError:
            return waiting
        except BrokenPipeError:  # it may have ended; its output will show
            return b""

    def _hear_errors(self) -> bool:
        """Reads the program's standard error; returns False at its end."""
        try:
            said = os.read(self._stderr, _READ)
        except BlockingIOError:
            return True
        self._said = (self._said + said)[-LAST_WORDS:]
        return bool(said)

    def _why_silent(self) -> str:
        try:
            status = self._process.wait(QUIT_GRACE)
        except subprocess.TimeoutExpired:
            return "closed its standard output"
        if status < 0:
            return f"was ended by signal {signal.Signals(-status).name}"
        return f"has ended with exit status {status}"

    def failure(self, what: str) -> ProgramError:
        """Ends the program and returns the error that explains why."""
        if self._stderr >= 0 and self.running:
            self._hear_errors()
        _kill_group(self.pid)
        self.close()
        said = self._said.decode("utf-8", "replace").split()
        last = f"; its last output on standard error: {' '.join(said)}" if said else ""
        return ProgramError(f"program {shown_path(self.command)!r} {what}{last}")

    def close(self) -> None:
        """Asks the program to quit, and ends it if it does not; you may call it twice."""
        self._end()


def words_of(command: str) -> list[str]:
    """Returns the words of a command line, split as in a shell.

    Raises:
        ProgramError: The command is empty or has an unclosed quote.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ProgramError(f"program {shown_path(command)!r} cannot be started: {error}") from None
    if not words:
        raise ProgramError("a program player needs a command, such as process:./my_bot --level 3")
    return words


def _start(command: str) -> subprocess.Popen[bytes]:
    if sys.platform == "win32":
        raise ProgramError("program players need pipes with time limits, which Windows lacks")
    words = words_of(command)
    pipe = subprocess.PIPE
    try:  # a group of its own: its children end with it, and Ctrl-C is ours to handle
        process = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ProgramError(
            f"program {shown_path(command)!r} cannot be started: {shown_path(words[0])!r}: {why} "
            f"(relative paths start in {os.getcwd()})"  # noqa: PTH109
        ) from None
    _groups.add(process.pid)
    return process


def end_all() -> None:
    """Kills all programs of this process with their groups, before the process itself ends."""
    for group in list(_groups):
        _kill_group(group)


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Ends a program, politely first; also when its ``LineProgram`` is dropped, and at exit."""
    try:
        if os.getpid() == owner and process.poll() is None:  # in a fork, it is the parent's program
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                os.write(process.stdin.fileno(), _QUIT)
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(QUIT_GRACE)
    finally:  # also after a Ctrl-C during the wait
        if os.getpid() == owner:
            _kill_group(process.pid)
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _kill_group(group: int) -> None:
    """Kills a program and what it started, which may live on after the program has ended.

    Only once: the group's ID stays theirs only as long as one of them lives.
    """
    if group in _groups:
        _groups.discard(group)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
