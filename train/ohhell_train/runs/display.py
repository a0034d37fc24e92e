"""The progress of a run: a bar in a terminal, and a line for each measurement.

Without a terminal, as in ``make train > log``, one line a minute replaces the bar.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

LINE_SECONDS = 60.0
"""Seconds between two lines of progress without a terminal."""


class Display:
    """A bar that shows the activity, the progress, the strength and the time left.

    Args:
        quiet: Show nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[score]}"),
            TextColumn("{task.fields[left]}"),
            console=Console(file=sys.stdout),
            disable=quiet,
        )
        self._task = self._progress.add_task("training", total=1.0, count="", score="", left="")
        self._is_bar = self._progress.console.is_terminal
        self._left = ""
        self._said = time.monotonic()

    def show(self, doing: str, share: float, count: str) -> None:
        """Moves the bar.

        Args:
            doing: The activity, such as "playing".
            share: The completed part of the run, 0 to 1.
            count: The same in words, such as "round 1.5 of 3".
        """
        self._progress.update(self._task, description=doing, completed=share, count=count)
        if not self._is_bar and time.monotonic() - self._said >= LINE_SECONDS:
            self.say(", ".join(filter(None, (f"{doing}: {share:.0%}", count, self._left))))

    def note(self, *, score: str | None = None, left: str | None = None) -> None:
        """Shows the newest measurement or the time left, after the bar."""
        if score is not None:
            self._progress.update(self._task, score=score)
        if left is not None:
            self._left = left
            self._progress.update(self._task, left=left)

    def say(self, text: str) -> None:
        """Prints a line, above the bar if there is one."""
        if not self._progress.disable:
            self._progress.console.print(text, highlight=False, soft_wrap=True)
            self._progress.console.file.flush()  # a file would buffer it until the end
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        """Returns itself; the bar is shown until the ``with`` block ends."""
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._progress.disable:  # old versions of Rich end a bar that never was with a line
            self._progress.stop()
