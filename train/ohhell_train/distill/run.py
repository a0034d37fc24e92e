"""A run of distillation: play, fit, measure, save; interruptible anywhere."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

import ohhell_agents
from ohhell_agents.nn.agent import LearnedAgent
from ohhell_train.distill.config import DistillConfig
from ohhell_train.distill.dataset import DistillDataset
from ohhell_train.distill.fit import StudentFit
from ohhell_train.distill.folder import DistillRun, Row
from ohhell_train.distill.games import close, make_players, play
from ohhell_train.evaluate import Difference, check_fields, measure, warn_of_faults
from ohhell_train.ppo.folder import start_of
from ohhell_train.tournament.entrants import Entrant


def train(run: DistillRun, quiet: bool = False) -> list[Row]:
    """Trains a run, new or interrupted, to its end; returns the metrics of its epochs.

    Args:
        run: The folder of the run.
        quiet: Show no progress.

    Raises:
        InUseError: Another process trains in the same folder.
        CheckpointError: What is there is damaged, or belongs to other settings.
        DivergedError: The numbers went out of hand; what was saved before is unchanged.
    """
    config = run.config()
    with run.lock(), torch.random.fork_rng(devices=[]):
        torch.set_num_threads(1)  # with others on the machine, two threads are slower than one
        rows = run.rows()
        run.write_derived(rows)
        if len(rows) < config.fit.epochs:
            with _progress(quiet) as progress:
                _Training(run, config, rows, progress).go_on()
    return rows


def _progress(quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} decisions"),
        TimeRemainingColumn(),
        console=Console(file=sys.stdout),
        disable=quiet,
    )


class _Clock:
    """Seconds since it was last read, of the wall and of the processor."""

    def __init__(self) -> None:
        self._then = time.monotonic(), time.process_time()

    def read(self) -> dict[str, float]:
        now = time.monotonic(), time.process_time()
        wall, cpu = (b - a for a, b in zip(self._then, now, strict=True))
        self._then = now
        return {"seconds": wall, "cpu_seconds": cpu}


class _Training:
    """What is left of a run.

    Args:
        run: The folder of the run.
        config: Its settings.
        rows: The metrics of the epochs that are done; those of others are added.
        progress: Where progress is shown.
    """

    def __init__(
        self, run: DistillRun, config: DistillConfig, rows: list[Row], progress: Progress
    ) -> None:
        self.run, self.config, self.rows, self.progress = run, config, rows, progress
        self.clock = _Clock()
        self.spent = {"seconds": 0.0, "cpu_seconds": 0.0}
        """By all that is kept of the run."""

    def go_on(self) -> None:
        """Plays what is missing of the games, then fits the epochs that are missing."""
        held_out, dataset = self._games()
        fitting = StudentFit(self.config, dataset, held_out, self.run.start(self.config))
        self.run.restore(fitting)
        self.clock.read()
        if self.rows:
            self.spent = {name: self.rows[-1][name] for name in self.spent}
        size, epochs, done = len(dataset), self.config.fit.epochs, len(self.rows)
        task = self.progress.add_task("fitting", total=epochs * size, completed=done * size)
        for number in range(done + 1, epochs + 1):
            before = (number - 1) * size

            def on_progress(seen: int, before: int = before) -> None:
                self.progress.update(task, completed=before + seen)

            self._finish(number, fitting, fitting.epoch(number, on_progress))

    def _games(self) -> tuple[DistillDataset, DistillDataset]:
        """Returns the decisions held out and those to learn from; plays those that are missing."""
        wanted, there = self.config.decisions, self.run.parts()
        task = self.progress.add_task(f"games of {self.config.teacher}", total=wanted)
        parts: list[DistillDataset] = []
        found, teacher = 0, ""
        with contextlib.ExitStack() as later:
            players: list[Entrant] = []
            while found < wanted:
                number = len(parts)
                if number >= there:
                    players = players or self._invite(later)
                    self._play(players, number, functools.partial(self._seen, task, found))
                dataset, about = self.run.load_part(number)
                self._spend(about)
                teacher = teacher or about["teacher"]
                self.run.check_teacher(number, about["teacher"], teacher)
                parts.append(dataset)
                found += len(dataset) if number else 0  # part 0 is held out
                self._seen(task, found, 0)
        return parts[0], DistillDataset.joined(parts[1:])

    def _invite(self, later: contextlib.ExitStack) -> list[Entrant]:
        self.run.check_others(self.config)
        players = make_players(self.config)
        later.callback(close, players)
        return players

    def _spend(self, more: Mapping[str, float]) -> None:
        self.spent = {name: round(spent + more[name], 2) for name, spent in self.spent.items()}

    def _seen(self, task: TaskID, before: int, decisions: int) -> None:
        self.progress.update(task, completed=min(before + decisions, self.config.decisions))

    def _play(
        self, players: list[Entrant], number: int, on_progress: Callable[[int], None]
    ) -> None:
        self.clock.read()
        dataset = play(self.config, players, number, on_progress if number else lambda _: None)
        teacher = f"{self.config.teacher} {players[0].player.fingerprint}"
        self.run.save_part(number, dataset, {"teacher": teacher, **self.clock.read()})

    def _finish(self, number: int, fitting: StudentFit, row: Row) -> None:
        """Measures and saves what came out of an epoch."""
        last = number == self.config.fit.epochs
        if last or number % self.config.report.every == 0:
            row |= self._measured(fitting, number)
        self._spend(self.clock.read())
        self.rows.append({"epoch": number, **self.spent, **row})
        self.run.save_epoch(fitting, self.rows)

    def _measured(self, fitting: StudentFit, number: int) -> Row:
        """Returns the difference to each field, with the ends of its interval."""
        report, config = self.config.report, self.config
        player = LearnedAgent(fitting.checkpoint(), seed=0)
        rules, hand_size = config.table_kinds()[0]
        row: Row = {}
        texts: list[str] = []
        for name in report.fields:
            with ohhell_agents.make(name, report.seed) as other:
                deals = min(report.deals, report.slow_deals) if other.one_by_one else report.deals
                found = measure(player, other, rules, deals, report.seed, hand_size)
            warn_of_faults(name, found)
            row |= _columns(f"over_{name}", found)
            texts.append(f"{name} {found}")
        self._say(f"epoch {number}: points a deal over {', '.join(texts)}")
        return row

    def _say(self, text: str) -> None:
        if not self.progress.disable:
            self.progress.console.print(text, highlight=False, soft_wrap=True)


def _columns(name: str, found: Difference) -> Row:
    ends = {"": found.mean, "_low": found.low, "_high": found.high}
    return {f"{name}{end}": round(value, 4) for end, value in ends.items()}


def check_settings(config: DistillConfig) -> None:
    """Checks all of the settings that can be checked without a run.

    Raises:
        OhHellError: They cannot be played, or one of the players is not found.
    """
    close(make_players(config))
    if config.start is not None:
        start_of(Path(config.start), config)
    check_fields(config.report.fields, [config.resolved_rules()], config.report.seed)


def begin(path: Path, config: DistillConfig, force: bool = False) -> DistillRun:
    """Begins a run in a folder; with ``force``, what is there is moved aside first.

    Raises:
        OhHellError: The settings cannot be played, or the folder is taken; nothing is written.
    """
    check_settings(config)
    return DistillRun.begin(path, config, force)
