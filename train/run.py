"""Running a training: from settings to a run directory, with progress, interruptible anywhere."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from stable_baselines3.common.callbacks import BaseCallback

from agents import make
from agents.checkpoint import Checkpoint
from agents.learned import LearnedAgent
from ohhell_env.errors import RulesError
from ohhell_env.observation import layout_of
from train.config import Config
from train.progress import Difference, measure
from train.rollout import LapTables
from train.run_directory import Counters, RunDirectory
from train.selfplay import SelfPlayPPO, keeping_global_chance

_MOST_MEMORY = 4 * 2**30
"""Bytes that a rollout may take."""
_OTHER_BYTES = 64
"""Bytes of a decision in a rollout beside its observation and mask, about."""
_LOSSES = {
    "policy_loss": "policy_gradient_loss",
    "value_loss": "value_loss",
    "entropy": "entropy_loss",
    "approx_kl": "approx_kl",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
    "learning_rate": "learning_rate",
}
"""Columns of the metrics, by MaskablePPO's names without "train/"."""


def train(run: RunDirectory, quiet: bool = False) -> Counters:
    """Trains a run, new or interrupted, to its end; does nothing if it is finished.

    Args:
        run: The run directory.
        quiet: Show no progress.

    Raises:
        InUseError: Another process trains in the same folder.
        CheckpointError: The saved state is broken.
        MetricsError: The metrics are damaged.
        DivergedError: The numbers went out of hand; what was saved before is unchanged.
    """
    counters = run.counters()
    if counters.finished:
        return counters
    with run.lock(), keeping_global_chance():
        run.recover()
        return _go_on(run, quiet)


def _go_on(run: RunDirectory, quiet: bool) -> Counters:
    counters, config = run.counters(), run.config()
    if counters.finished:  # by another process, just before this one came to it
        return counters
    torch.set_num_threads(1)  # with others on the machine, two threads are slower than one
    _check_size(config)
    ppo = SelfPlayPPO(config, _tables(config))
    run.restore_state(ppo)
    run.cut_metrics(counters.decisions)
    with _progress(quiet) as progress:
        task = progress.add_task(
            "training", total=config.decisions, completed=counters.decisions, score=""
        )
        if config.max_minutes is not None:
            ppo.hurry = counters.seconds / (60 * config.max_minutes)
        reporter = _Reporter(run, config, counters, progress, task)
        left = config.decisions - counters.decisions
        never = sys.maxsize  # its own log is not used
        ppo.learn(left, reporter, log_interval=never, reset_num_timesteps=False)
    return counters


def _check_size(config: Config) -> None:
    """Raises RulesError where the rollouts would not fit into memory."""
    rules = config.resolved_rules()
    layout = layout_of(rules, config.layout, config.hand_size)
    decisions = config.tables * rules.players * config.laps
    size = decisions * (layout.length + layout.num_actions + _OTHER_BYTES)
    if size > _MOST_MEMORY:
        raise RulesError(
            f"tables={config.tables}, laps={config.laps}: rollouts of {decisions:,} decisions "
            f"(tables * {rules.players} players * laps) take {size / 2**30:,.1f} GiB; "
            f"{_MOST_MEMORY / 2**30:.0f} GiB are allowed, lower one of them"
        )


def _tables(config: Config, number: int | None = None) -> LapTables:
    """Returns the tables of a run, or fewer of them."""
    shares = config.opponents.model_dump()
    opponents = [(make(name, 0), share) for name, share in shares.items() if share > 0]
    return LapTables(
        config.resolved_rules(),
        config.tables if number is None else number,
        config.seed,
        config.hand_size,
        config.layout,
        opponents,
    )


def _progress(quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} decisions"),
        TextColumn("{task.fields[score]}"),
        TimeRemainingColumn(),
        console=Console(file=sys.stdout),
        disable=quiet,
    )


class _Reporter(BaseCallback):
    """Between two rollouts: counts, measures, saves, writes metrics and moves the bar."""

    model: SelfPlayPPO  # type: ignore[assignment]

    def __init__(
        self,
        run: RunDirectory,
        config: Config,
        counters: Counters,
        progress: Progress,
        task: TaskID,
    ) -> None:
        super().__init__()
        self.run, self.config, self.counters = run, config, counters
        self.progress, self.task = progress, task
        self._saved = counters.decisions
        self._began = time.monotonic() - counters.seconds
        self._stopped = False
        self._said_nothing_learned = False

    def _on_step(self) -> bool:
        return not self._stopped

    def _on_rollout_start(self) -> None:
        """Comes before the first rollout, and after each update that another one follows."""
        if self.model.num_timesteps > self.counters.decisions:
            self._after_update(last=False)
        limit = self.config.max_minutes
        self._stopped = limit is not None and self.counters.seconds >= 60 * limit

    def _on_training_end(self) -> None:
        if self.model.num_timesteps > self.counters.decisions:
            self._after_update(last=True)
        else:  # stopped by the clock
            self._finish()
            self._say(
                f"stopped by max_minutes={self.config.max_minutes} at "
                f"{self.counters.decisions:,} of {self.config.decisions:,} decisions"
            )

    def _after_update(self, last: bool) -> None:
        counters, config = self.counters, self.config
        counters.decisions = self.model.num_timesteps
        self._say_if_nothing_was_learned()
        due = last or counters.decisions - counters.measured >= config.report.every
        measured = self._measure() if due else {}
        counters.seconds = time.monotonic() - self._began
        if config.max_minutes is not None:
            self.model.hurry = counters.seconds / (60 * config.max_minutes)
        self.run.add_metrics(self._row(measured))
        self.progress.update(self.task, completed=counters.decisions)
        if last:
            self._finish()
        elif counters.decisions - self._saved >= config.save_every:
            self._save()

    def _say_if_nothing_was_learned(self) -> None:
        if self._said_nothing_learned or self.model.rollout_buffer.free.any():
            return
        self._said_nothing_learned = True
        self._say(
            f"after {self.counters.decisions:,} decisions: the rollout held none to learn from "
            "(all were forced, or what follows them is not known yet), so it changed nothing; "
            f"raise laps={self.config.laps} or tables={self.config.tables}"
        )

    def _finish(self) -> None:
        if self.counters.measured < self.counters.decisions:
            self._measure()
        self.counters.finished = True
        self._save()

    def _save(self) -> None:
        self._saved = self.counters.decisions
        self.run.save_player(self.model, self.config, f"checkpoints/{self._saved}")
        self.run.save_player(self.model, self.config, "last")
        self.run.save_state(self.model, self.counters)

    def _measure(self) -> dict[str, Difference]:
        """Plays against the fields; keeps the player as ``best`` if it never did better."""
        config, counters, report = self.config, self.counters, self.config.report
        rules, size = self.model.tables.tables.rules, config.hand_size
        checkpoint = Checkpoint(self.model.policy.network, rules, config.layout, size)
        player = LearnedAgent(checkpoint, seed=0)
        found = {
            name: measure(player, name, rules, report.deals, report.seed, size)
            for name in report.against
        }
        counters.measured = counters.decisions
        counters.scores = {name: [d.mean, d.low, d.high] for name, d in found.items()}
        total = sum(difference.mean for difference in found.values())
        if counters.best is None or total > counters.best:
            counters.best = total
            self.run.save_player(self.model, config, "best")
        text = ", ".join(f"{name} {difference}" for name, difference in found.items())
        self._say(f"after {counters.decisions:,} decisions, points a deal over {text}")
        self.progress.update(self.task, score=text.partition(",")[0])  # the bar is short
        return found

    def _say(self, text: str) -> None:
        if not self.progress.disable:
            self.progress.console.print(text, highlight=False, soft_wrap=True)

    def _row(self, measured: dict[str, Difference]) -> dict[str, Any]:
        counters, model = self.counters, self.model
        buffer = model.rollout_buffer
        logged = model.logger.name_to_value
        row: dict[str, Any] = {
            "decisions": counters.decisions,
            "seconds": round(counters.seconds, 2),
        }
        row["decisions_in_loss"] = int(buffer.free.sum())
        deals = buffer.rewards[buffer.ends & buffer.ours]
        row["points_a_deal"] = (
            round(float(deals.mean()) * model.tables.scale, 4) if len(deals) else ""
        )
        row |= {name: _written(logged.get(f"train/{key}")) for name, key in _LOSSES.items()}
        for name in self.config.report.against:
            ends = measured.get(name)
            row[f"over_{name}"] = round(ends.mean, 4) if ends else ""
            row[f"over_{name}_low"] = round(ends.low, 4) if ends else ""
            row[f"over_{name}_high"] = round(ends.high, 4) if ends else ""
        return row


def _written(value: float | None) -> str:
    """Returns a loss for the metrics: nothing where there is none, or none that says anything."""
    return "" if value is None or not math.isfinite(value) else f"{value:.6g}"


def check_settings(config: Config) -> None:
    """Checks all of the settings that can be checked without a run, at the tables, too.

    Raises:
        RulesError: They cannot be played.
    """
    _check_size(config)
    _tables(config, 2)


def begin(path: Path, config: Config, force: bool = False) -> RunDirectory:
    """Begins a run in a folder; with ``force``, what is there is moved aside first.

    Raises:
        RulesError: The settings cannot be played, or the folder is taken; nothing is written.
        InUseError: Another process trains in the folder.
    """
    check_settings(config)
    if force and path.exists():
        RunDirectory(path).set_aside()
    return RunDirectory.create(path, config)
