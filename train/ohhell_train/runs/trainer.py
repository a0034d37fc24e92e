"""The main loop of all ways to train, and what each of them must give.

The loop holds the lock, restores what was saved last, steps until the end, measures where it is
due, saves and shows. It can be stopped or killed anywhere: what was saved last is whole, and a run
that goes on from there ends as an unbroken one.
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
    """The weights, or what the network makes of them, are no longer finite numbers."""


class Clock:
    """The time that a run took, over all interruptions: of the wall and of the processor."""

    def __init__(self) -> None:
        self.start(0.0, 0.0)

    def start(self, seconds: float, cpu_seconds: float) -> None:
        """Goes on from a time."""
        self._began = time.monotonic() - seconds
        self._cpu_began = time.process_time() - cpu_seconds

    def add(self, seconds: float, cpu_seconds: float) -> None:
        """Adds time that is not this process's."""
        self.start(self.seconds + seconds, self.cpu_seconds + cpu_seconds)

    @property
    def seconds(self) -> float:
        """Of the wall."""
        return time.monotonic() - self._began

    @property
    def cpu_seconds(self) -> float:
        """Of the processor."""
        return time.process_time() - self._cpu_began


class Trainer(ABC, Generic[C]):
    """A run while it trains: what a way to train must give.

    Args:
        run: The folder of the run; held by the caller.
        config: Its settings.
        display: Where progress is shown.
    """

    unit: ClassVar[str]
    """What is counted, in the singular: "decision", "round", "epoch"."""

    def __init__(self, run: Any, config: C, display: Display) -> None:
        self.run, self.config, self.display = run, config, display
        self.clock = Clock()

    @classmethod
    @abstractmethod
    def check(cls, config: C) -> None:
        """Checks all of the settings that can be checked without a run.

        Raises:
            OhHellError: They cannot be played, or one of the players is not found.
        """

    @abstractmethod
    def restore(self) -> None:
        """Takes up what was saved last, and starts the clock from there.

        Raises:
            CheckpointError: It is damaged, or belongs to other settings.
        """

    @property
    @abstractmethod
    def done(self) -> int:
        """How many of its units are done."""

    @abstractmethod
    def finished(self) -> bool:
        """Returns whether nothing is left to do."""

    @abstractmethod
    def step(self) -> bool:
        """Trains a little: a rollout and its update, a round, a part of the games, an epoch.

        Returns:
            Whether that made a new player, to be measured and saved.
        """

    @abstractmethod
    def player(self) -> Agent:
        """Returns the newest player."""

    @abstractmethod
    def save(self, found: Mapping[str, Difference]) -> Row:
        """Saves what a step came to, or notes it to be saved later.

        Args:
            found: The newest player's measurements by field; none: it was not measured.

        Returns:
            The row of metrics.
        """

    def is_due(self) -> bool:
        """Returns whether the newest player is to be measured."""
        return self.finished() or self.done % self.config.report.every == 0

    def deals(self) -> int:
        """Returns how many deals a measurement has at each kind of table."""
        return self.config.report.deals

    def field(self, name: str) -> Agent | None:
        """Returns the player of a field that is measured against; None: there is none yet."""
        return ohhell_agents.make(name, self.config.report.seed)

    def check_opponents(self) -> None:
        """Checks that the players that the run trains with are those that it began with.

        Raises:
            CheckpointError: One has changed.
        """
        self.run.check_opponents(self.config)

    def measure(self) -> dict[str, Difference]:
        """Plays the newest player against the fields, and says how it did."""
        found = measure_fields(
            self.player(), self.config.report, self.config.table_kinds(), self.deals(), self.field
        )
        text = ", ".join(f"{name} {difference}" for name, difference in found.items())
        self.display.say(f"after {how_many(self.done, self.unit)}, points a deal over {text}")
        self.display.note(score=text.partition(",")[0])  # the bar is short
        return found

    def stop(self) -> None:
        """Ends a run that the clock stops; it is resumed where it is."""

    def show(self, doing: str, done: float, total: float) -> None:
        """Shows how far the run is, in its units."""
        number = f"{done:,.0f}" if done == int(done) else f"{done:,.1f}"
        self.display.show(doing, done / total, f"{number} of {total:,.0f} {self.unit}s")

    def show_time_left(self, total: float) -> None:
        """Shows how long it takes from here, measurements included, if the clock allows it."""
        seconds = self.clock.seconds / self.done * max(0.0, total - self.done)
        if self.config.max_minutes is not None:
            seconds = min(seconds, max(0.0, 60 * self.config.max_minutes - self.clock.seconds))
        self.display.note(left=f"{timedelta(seconds=round(seconds))} left")


def train(kind: type[Trainer[C]], run: RunFolder[C], quiet: bool = False) -> None:
    """Trains a run, new or interrupted, to its end; does nothing if it is finished.

    Args:
        kind: How it trains.
        run: Its folder.
        quiet: Show nothing.

    Raises:
        InUseError: Another process trains in the same folder.
        CheckpointError: What is there is damaged, or belongs to other settings or players.
        DivergedError: The numbers went out of hand; what was saved before is unchanged.
    """
    with run.lock(), keeping_global_rng(), Display(quiet) as display:
        torch.set_num_threads(1)  # with others on the machine, two threads are slower than one
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
    """Leaves the global random states of Python, NumPy and torch as they were.

    Stable-Baselines3 seeds all three when a learner is made.
    """
    python, numbers, tensors = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)
        torch.set_rng_state(tensors)
