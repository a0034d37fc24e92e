"""The metrics of a run for TensorBoard, the same numbers as in the CSV file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class Board:
    """Writes rows of metrics as TensorBoard's scalars.

    Args:
        folder: The folder of its files; None writes nothing.
        done: Where the run continues; later entries were lost in an interruption.
    """

    def __init__(self, folder: Path | None, done: int) -> None:
        self._writer: Any = None
        if folder is not None:
            with warnings.catch_warnings():  # from its own dependencies
                warnings.simplefilter("ignore")
                from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(folder), purge_step=done + 1)

    def add(self, row: Mapping[str, Any], done: int) -> None:
        """Adds a row of metrics at a point of the run; empty cells are left out."""
        if self._writer is None:
            return
        for name, value in row.items():
            if value not in ("", None, done):
                group = "progress" if name.startswith("over_") else "training"
                self._writer.add_scalar(f"{group}/{name}", float(value), done)
        self._writer.flush()

    def __enter__(self) -> Self:
        """Returns the board; the end of the ``with`` block closes its file."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.close()
