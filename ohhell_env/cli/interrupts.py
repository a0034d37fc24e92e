"""Ctrl-C on the command line: the first one stops a command, later ones let it clean up.

A key pressed three times, or held down, would otherwise interrupt the clean-up that the first press
started: files being written, players being closed.
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
"""Seconds after a Ctrl-C before another one counts, in case a command does not end."""
_AGAIN = 0.05  # seconds until a Ctrl-C is repeated that came where nothing can be raised


class _State:
    """State of the running command."""

    since = -math.inf
    """Time of the last Ctrl-C that counted, by the monotonic clock."""
    said = False
    """Whether the command itself has reported what it leaves behind."""


def stop_once(number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
    """Raises KeyboardInterrupt, unless it has just done so; a handler of SIGINT."""
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
    """Returns whether LLVM is waiting for a Python function that it called.

    An exception raised there is printed and lost, and the compilation stays unfinished. A Ctrl-C
    during code generation arrives there, because Python checks signals only in its own functions.
    """
    while frame is not None:
        if frame.f_code.co_name.startswith("_raw_object_cache_"):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def heard_once(for_good: bool = False) -> Generator[None]:
    """Handles Ctrl-C with ``stop_once``, unless another handler is set.

    Args:
        for_good: Whether the process ends afterwards, so that the handler stays. After a Ctrl-C,
            all later ones are then ignored.
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
        elif _State.since > -math.inf:  # Python itself would remove the handler before it ends
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def note_closing() -> None:
    """Notes that a command has begun to end, so that another Ctrl-C has no effect."""
    _State.since = time.monotonic()


def note_begin() -> None:
    """Notes that a command begins; it has reported nothing yet."""
    _State.said = False


def note_said() -> None:
    """Notes that the stopped command has reported what it leaves behind."""
    _State.said = True


def say_stopped() -> None:
    """Prints that a command was stopped, unless it has reported it itself."""
    if not _State.said:
        print("stopped", file=sys.stderr)
