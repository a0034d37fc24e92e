"""What happens between two rollouts: progress is measured, saved, written down and shown."""

from __future__ import annotations

import math
import time
import warnings
from datetime import timedelta
from typing import Any

from rich.progress import Progress, TaskID
from stable_baselines3.common.callbacks import BaseCallback

from ohhell_agents import make
from ohhell_agents.base import Agent
from ohhell_train.evaluate import Difference, averaged, measure, warn_of_faults
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.folder import CHECKPOINTS, Counters, PpoRun, checkpoint_in
from ohhell_train.ppo.learner import SelfPlayPPO
from ohhell_train.runs.tensorboard import Board
from ohhell_train.settings import PAST

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


class Reporter(BaseCallback):
    """Between two rollouts: counts, measures, saves, writes metrics and moves the bar."""

    model: SelfPlayPPO  # type: ignore[assignment]

    def __init__(
        self,
        run: PpoRun,
        config: PpoConfig,
        counters: Counters,
        progress: Progress,
        task: TaskID,
        board: Board,
    ) -> None:
        super().__init__()
        self.run, self.config, self.counters, self.board = run, config, counters, board
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
            self.model.time_fraction = counters.seconds / (60 * config.max_minutes)
        row = self._row(measured)
        self.run.add_metrics(row)
        self.board.add(row)
        self.progress.update(self.task, completed=counters.decisions, left=self._time_left())
        if last:
            self._finish()
        elif counters.decisions - self._saved >= config.save_every:
            self._save()

    def _time_left(self) -> str:
        """Returns how long it takes from here, measurements included, if the clock allows it."""
        counters, config = self.counters, self.config
        pace = counters.seconds / counters.decisions
        seconds = pace * max(0, config.decisions - counters.decisions)
        if config.max_minutes is not None:
            seconds = min(seconds, max(0, 60 * config.max_minutes - counters.seconds))
        return f"{timedelta(seconds=round(seconds))} left"

    def _say_if_nothing_was_learned(self) -> None:
        if self._said_nothing_learned or self.model.rollout_buffer.free.any():
            return
        self._said_nothing_learned = True
        self._say(
            f"after {self.counters.decisions:,} decisions: the rollout held none to learn from "
            "(all were forced, or what follows them is not known yet), so it changed nothing; "
            f"raise rollout_laps={self.config.rollout_laps} or tables={self.config.tables}"
        )

    def _finish(self) -> None:
        if self.counters.measured < self.counters.decisions:
            self._measure()
        self.counters.finished = True
        self._save()

    def _save(self) -> None:
        self._saved = self.counters.decisions
        network = self.model.policy.network
        self.run.save_network(network, self.config, f"{CHECKPOINTS}/{self._saved}")
        self.run.save_network(network, self.config, "last")
        self.run.save_state(self.model, self.counters)

    def _measure(self) -> dict[str, Difference]:
        """Plays against the fields; keeps the player as ``best`` if it never did better."""
        config, counters = self.config, self.counters
        network = self.model.policy.network
        found: dict[str, Difference] = {}
        for name in config.report.fields:
            field = self._field(name)
            if field is not None:
                with field:
                    found[name] = self._difference(self.run.player(network, config), field)
                warn_of_faults(name, found[name])
        counters.measured = counters.decisions
        counters.scores = {name: [d.mean, d.low, d.high] for name, d in found.items()}
        marks = [found[name].mean for name in found if name != PAST]  # that one moves itself
        if not marks or counters.best is None or sum(marks) > counters.best:
            counters.best = sum(marks)
            self.run.save_network(network, config, "best")
        text = ", ".join(f"{name} {difference}" for name, difference in found.items())
        self._say(f"after {counters.decisions:,} decisions, points a deal over {text}")
        self.progress.update(self.task, score=text.partition(",")[0])  # the bar is short
        return found

    def _field(self, name: str) -> Agent | None:
        if name != PAST:
            return make(name, self.config.report.seed)
        folder = self.run.past_self(self.counters.decisions // 2)
        if folder is None:
            return None
        return self.run.player(checkpoint_in(folder, self.config.part).network, self.config)

    def _difference(self, player: Agent, field: Agent) -> Difference:
        config, report = self.config, self.config.report
        slow = field.one_by_one or player.one_by_one
        deals = min(report.deals, report.slow_deals) if slow else report.deals
        kinds = config.table_kinds()
        with warnings.catch_warnings():
            if len(kinds) > 1:  # it was trained for all of them
                warnings.filterwarnings("ignore", "trained for", UserWarning)
            return averaged(
                [
                    measure(player, field, rules, deals, report.seed, hand_size)
                    for rules, hand_size in kinds
                ]
            )

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
        deals = (buffer.rewards * model.tables.scale)[buffer.ends & buffer.ours]
        row["points_a_deal"] = round(float(deals.mean()), 4) if len(deals) else ""
        row |= {name: _written(logged.get(f"train/{key}")) for name, key in _LOSSES.items()}
        for name in self.config.report.fields:
            ends, column = measured.get(name), f"over_{name.replace(',', ';')}"
            row[column] = round(ends.mean, 4) if ends else ""
            row[f"{column}_low"] = round(ends.low, 4) if ends else ""
            row[f"{column}_high"] = round(ends.high, 4) if ends else ""
        return row


def _written(value: float | None) -> str:
    """Returns a loss for the metrics: nothing where there is none, or none that says anything."""
    return "" if value is None or not math.isfinite(value) else f"{value:.6g}"
