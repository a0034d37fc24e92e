"""Ctrl-C on the command line: the first one stops a command, the next ones let it put things away.

A key that is pressed three times, or held down, would otherwise break into what the first press has
set off: files that are being written, players that are being ended.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from functools import partial
from types import FrameType

_PATIENCE = 2.0
"""Seconds after a Ctrl-C before another one counts, for a command that does not come to its end."""
_AGAIN = 0.05  # seconds after which a Ctrl-C that came where nothing can be raised comes again


class _State:
    """What is known of the command that runs."""

    since = -math.inf
    """When the last Ctrl-C that counted came, by the monotonic clock."""
    said = False
    """Whether the command itself has said what it leaves behind."""


def stop_once(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """Raises KeyboardInterrupt, unless it did so just before; a handler of SIGINT."""
    if _is_called_by_compiler(frame):
        send = partial(os.kill, os.getpid()) if os.name == "posix" else signal.raise_signal
        again = threading.Timer(_AGAIN, send, (number,))  # os.kill would end a process of Windows
        again.daemon = True
        again.start()
        return
    now = time.monotonic()
    if now - _State.since >= _PATIENCE:
        _State.since = now
        raise KeyboardInterrupt


def _is_called_by_compiler(frame: FrameType | None) -> bool:
    """Returns whether LLVM waits for a Python function that it has called.

    What is raised there is printed and lost, and what it was compiling stays half done. A Ctrl-C
    while machine code is made is heard there, as Python looks at signals in its own functions only.
    """
    while frame is not None:
        if frame.f_code.co_name.startswith("_raw_object_cache_"):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def heard_once(for_good: bool = False) -> Generator[None]:
    """Handles Ctrl-C by ``stop_once``; where something else handles it, nothing changes.

    Args:
        for_good: Whether the process ends with it, so that nothing is put back; one that was
            stopped hears no Ctrl-C from then on.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _State.since = -math.inf
    signal.signal(signal.SIGINT, stop_once)
    try:
        yield
    finally:
        if not for_good:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        elif _State.since > -math.inf:  # Python itself would take the handler away before it ends
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def note_closing() -> None:
    """Notes that a command has begun to end: a Ctrl-C that comes now is one too many."""
    _State.since = time.monotonic()


def note_begin() -> None:
    """Notes that a command begins, which has said nothing yet."""
    _State.said = False


def note_said() -> None:
    """Notes that the command that is stopped has said what it leaves behind."""
    _State.said = True


def say_stopped() -> None:
    """Says that a command was stopped, unless it has said more about it."""
    if not _State.said:
        print("stopped", file=sys.stderr)
