"""The main loop of all training methods, and the interface that each method implements.

The loop holds the lock, restores the last save, steps until the end, measures when due, saves and
shows progress. It can be stopped or killed at any time: the last save is complete, and a run that
continues from it ends like an unbroken one.
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, ClassVar, Generic

import numpy as np
import torch

import ohhell_agents
from ohhell_agents.base import Agent
from ohhell_env.errors import OhHellError
from ohhell_train.evaluate import Difference, measure_fields
from ohhell_train.runs.base import C, RunFolder, how_many
from ohhell_train.runs.display import Display
from ohhell_train.runs.metrics import Row
from ohhell_train.runs.tensorboard import Board

BOARD = "tensorboard"


class DivergedError(OhHellError):
    """The weights or the network's outputs are no longer finite numbers."""


class Clock:
    """The wall-clock and processor time of a run, over all interruptions."""

    def __init__(self) -> None:
        self.start(0.0, 0.0)

    def start(self, seconds: float, cpu_seconds: float) -> None:
        """Continues from a given time."""
        self._began = time.monotonic() - seconds
        self._cpu_began = time.process_time() - cpu_seconds

    def add(self, seconds: float, cpu_seconds: float) -> None:
        """Adds time that another process spent."""
        self.start(self.seconds + seconds, self.cpu_seconds + cpu_seconds)

    @property
    def seconds(self) -> float:
        """The wall-clock time."""
        return time.monotonic() - self._began

    @property
    def cpu_seconds(self) -> float:
        """The processor time."""
        return time.process_time() - self._cpu_began


class Trainer(ABC, Generic[C]):
    """A run during training: the interface of a training method.

    Args:
        run: The folder of the run; the caller holds its lock.
        config: Its settings.
        display: Shows the progress.
    """

    unit: ClassVar[str]
    """The unit of progress, in the singular: "decision", "round", "epoch"."""

    def __init__(self, run: Any, config: C, display: Display) -> None:
        self.run, self.config, self.display = run, config, display
        self.clock = Clock()

    @classmethod
    @abstractmethod
    def check(cls, config: C) -> None:
        """Checks the settings as far as possible without a run.

        Raises:
            OhHellError: The settings cannot be played, or a player does not exist.
        """

    @abstractmethod
    def restore(self) -> None:
        """Restores the last save, and starts the clock from there.

        Raises:
            CheckpointError: The save is damaged, or belongs to other settings.
        """

    @property
    @abstractmethod
    def done(self) -> int:
        """The number of units done."""

    @abstractmethod
    def finished(self) -> bool:
        """Returns whether nothing is left to do."""

    @abstractmethod
    def step(self) -> bool:
        """Trains one step: a rollout and its update, a round, a part of the games, or an epoch.

        Returns:
            Whether there is a new player to measure and save.
        """

    @abstractmethod
    def player(self) -> Agent:
        """Returns the newest player."""

    @abstractmethod
    def save(self, found: Mapping[str, Difference]) -> Row:
        """Saves the result of a step, or keeps it to be saved later.

        Args:
            found: The newest player's measurements by field; empty if it was not measured.

        Returns:
            The row of metrics.
        """

    def is_due(self) -> bool:
        """Returns whether the newest player is due for a measurement."""
        return self.finished() or self.done % self.config.report.every == 0

    def deals(self) -> int:
        """Returns the number of deals of a measurement at each kind of table."""
        return self.config.report.deals

    def field(self, name: str) -> Agent | None:
        """Returns the player of a field, or None if it does not exist yet."""
        return ohhell_agents.make(name, self.config.report.seed)

    def check_opponents(self) -> None:
        """Checks that the other players of the run have not changed since it began.

        Raises:
            CheckpointError: A player has changed.
        """
        self.run.check_opponents(self.config)

    def measure(self) -> dict[str, Difference]:
        """Plays the newest player against the fields, and shows the result."""
        found = measure_fields(
            self.player(), self.config.report, self.config.table_kinds(), self.deals(), self.field
        )
        text = ", ".join(f"{name} {difference}" for name, difference in found.items())
        self.display.say(f"after {how_many(self.done, self.unit)}, points a deal over {text}")
        self.display.note(score=text.partition(",")[0])  # the bar is short
        return found

    def stop(self) -> None:
        """Ends a run at its time limit; by default it can be resumed."""

    def show(self, doing: str, done: float, total: float) -> None:
        """Shows the progress of the run, in its units."""
        number = f"{done:,.0f}" if done == int(done) else f"{done:,.1f}"
        self.display.show(doing, done / total, f"{number} of {total:,.0f} {self.unit}s")

    def show_time_left(self, total: float) -> None:
        """Shows the estimated time left, measurements included, up to the time limit."""
        seconds = self.clock.seconds / self.done * max(0.0, total - self.done)
        if self.config.max_minutes is not None:
            seconds = min(seconds, max(0.0, 60 * self.config.max_minutes - self.clock.seconds))
        self.display.note(left=f"{timedelta(seconds=round(seconds))} left")


def train(kind: type[Trainer[C]], run: RunFolder[C], quiet: bool = False) -> None:
    """Trains a new or interrupted run to its end; does nothing if it is finished.

    Args:
        kind: The trainer of its method.
        run: Its folder.
        quiet: Show nothing.

    Raises:
        InUseError: Another process trains in the same folder.
        CheckpointError: The saved data is damaged, or belongs to other settings or players.
        DivergedError: The numbers are no longer finite; the last save is unchanged.
    """
    with run.lock(), keeping_global_rng(), Display(quiet) as display:
        torch.set_num_threads(1)  # with other programs running, two threads are slower than one
        run.recover()
        config = run.config()
        trainer = kind(run, config, display)
        trainer.restore()
        if trainer.finished():
            return
        trainer.check_opponents()
        limit = math.inf if config.max_minutes is None else 60 * config.max_minutes
        with Board(run.path / BOARD if config.report.tensorboard else None, trainer.done) as board:
            while not trainer.finished():
                if trainer.clock.seconds >= limit:
                    trainer.stop()
                    return
                if trainer.step():
                    row = trainer.save(trainer.measure() if trainer.is_due() else {})
                    board.add(row, trainer.done)


@contextlib.contextmanager
def keeping_global_rng() -> Iterator[None]:
    """Restores the global random states of Python, NumPy and torch at the end.

    Stable-Baselines3 seeds all three when it creates a learner.
    """
    python, numbers, tensors = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)
        torch.set_rng_state(tensors)
