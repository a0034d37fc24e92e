"""PPO self-play as a run: rollout, update, measure, save."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from ohhell_agents import make
from ohhell_agents.base import Agent
from ohhell_env.errors import RulesError
from ohhell_train.evaluate import Difference, check_fields
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.folder import CHECKPOINTS, PpoRun
from ohhell_train.ppo.learner import SelfPlayPPO
from ohhell_train.ppo.pool import Pool
from ohhell_train.ppo.rollout import LapTables, TableOpponents
from ohhell_train.ppo.table_groups import TableGroups
from ohhell_train.runs.metrics import METRICS, Row, add_metrics, cut_metrics, measured_columns
from ohhell_train.runs.network import checkpoint_in, start_network
from ohhell_train.runs.trainer import Trainer
from ohhell_train.settings import PAST

_MOST_MEMORY = 4 * 2**30
"""The most bytes of a rollout."""
_OTHER_BYTES = 64
"""About how many bytes a decision needs apart from its observation and mask."""
_LOSSES = {
    "policy_loss": "policy_gradient_loss",
    "value_loss": "value_loss",
    "entropy": "entropy_loss",
    "approx_kl": "approx_kl",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
    "learning_rate": "learning_rate",
}
"""MaskablePPO's names of the losses, without "train/", by column of the metrics."""


class PpoTrainer(Trainer[PpoConfig]):
    """A run of PPO self-play during training."""

    run: PpoRun
    unit: ClassVar[str] = "decision"

    @classmethod
    def check(cls, config: PpoConfig) -> None:
        """Checks the settings as far as possible without a run, including the tables.

        Raises:
            OhHellError: The settings cannot be played, or a player does not exist.
        """
        _check_size(config)
        kinds = config.table_kinds()
        if config.start is not None:
            hidden = config.network.hidden
            start_network(Path(config.start), kinds[0], config.layout, hidden, config.part)
        fields = [name for name in config.report.fields if name != PAST]
        check_fields(fields, [kind.rules for kind in kinds], config.report.seed)

    def restore(self) -> None:
        """Restores the saved state, if there is one.

        Raises:
            CheckpointError: The state is damaged, or belongs to other settings.
            MetricsError: The metrics are damaged.
        """
        config = self.config
        self.counters = self.run.counters()
        if self.counters.finished:
            return
        _check_size(config)
        self.run.check_opponents(config)  # before they sit down
        self.ppo = SelfPlayPPO(config, make_tables(config), self.run.start(config))
        self.ppo.planned = config.decisions
        self.run.restore_state(self.ppo)
        cut_metrics(self.run.path / METRICS, self.done)
        self.clock.start(self.counters.seconds, 0.0)
        self._saved = self.done
        self._said_nothing_learned = False

    @property
    def done(self) -> int:
        """The number of decisions done."""
        return self.counters.decisions

    def finished(self) -> bool:
        """Returns whether all decisions are done, or the time limit has ended the run."""
        return self.counters.finished or self.done >= self.config.decisions

    def step(self) -> bool:
        """Plays a rollout and makes an update."""
        if self.config.max_minutes is not None:
            self.ppo.time_fraction = self.clock.seconds / (60 * self.config.max_minutes)
        # Asking for one decision plays exactly one rollout; MaskablePPO's own log is not used.
        self.ppo.learn(1, log_interval=sys.maxsize, reset_num_timesteps=False)
        self.counters.decisions = self.ppo.num_timesteps
        if not self.ppo.rollout_buffer.free.any() and not self._said_nothing_learned:
            self._said_nothing_learned = True
            self.display.say(
                f"after {self.done:,} decisions: the rollout held no decision to learn from (all "
                "were forced, or what follows them is not known yet), so the update changed "
                f"nothing; raise rollout_laps={self.config.rollout_laps} or "
                f"tables={self.config.tables}"
            )
        return True

    def player(self) -> Agent:
        """Returns the newest player."""
        return self.run.player(self.ppo.policy.network, self.config)

    def is_due(self) -> bool:
        """Returns whether the newest player is due for a measurement."""
        since = self.done - self.counters.measured
        return self.finished() or since >= self.config.report.every

    def field(self, name: str) -> Agent | None:
        """Returns the player of a field; "past" was saved when the run was half as far."""
        if name != PAST:
            return super().field(name)
        folder = self.run.past_self(self.done // 2)
        if folder is None:
            return None
        return self.run.player(checkpoint_in(folder, self.config.part).network, self.config)

    def measure(self) -> dict[str, Difference]:
        """Measures against the fields; saves the player as ``best`` if it is the best so far."""
        found, counters = super().measure(), self.counters
        counters.measured = self.done
        counters.differences = {name: [d.mean, d.low, d.high] for name, d in found.items()}
        marks = [found[name].mean for name in found if name != PAST]  # "past" itself gets stronger
        if not marks or counters.best is None or sum(marks) > counters.best:
            counters.best = sum(marks)
            self.run.save_network(self.ppo.policy.network, self.config, "best")
        return found

    def save(self, found: Mapping[str, Difference]) -> Row:
        """Writes the metrics, and the state when due."""
        self.counters.seconds = self.clock.seconds
        row = self._row(found)
        add_metrics(self.run.path / METRICS, row)
        planned = max(self.config.decisions, self.done)
        self.show("training", self.done, planned)
        self.show_time_left(planned)
        self.counters.finished = self.finished()
        if self.finished() or self.done - self._saved >= self.config.save_every:
            self._save()
        return row

    def stop(self) -> None:
        """Ends the run for good, because the learning rate has fallen with the clock."""
        if self.counters.measured < self.done:
            self.measure()
        self.counters.finished = True
        self._save()
        self.display.say(
            f"stopped by max_minutes={self.config.max_minutes} at {self.done:,} of "
            f"{self.config.decisions:,} decisions"
        )

    def _save(self) -> None:
        self._saved = self.done
        network = self.ppo.policy.network
        self.run.save_network(network, self.config, f"{CHECKPOINTS}/{self._saved}")
        self.run.save_network(network, self.config, "last")
        self.run.save_state(self.ppo, self.counters)

    def _row(self, found: Mapping[str, Difference]) -> Row:
        buffer, logged = self.ppo.rollout_buffer, self.ppo.logger.name_to_value
        deals = (buffer.rewards * self.ppo.tables.scale)[buffer.ends & buffer.ours]
        row: Row = {
            "decisions": self.done,
            "seconds": round(self.counters.seconds, 2),
            "decisions_in_loss": int(buffer.free.sum()),
            "points_a_deal": round(float(deals.mean()), 4) if len(deals) else "",
        }
        row |= {name: _written(logged.get(f"train/{key}")) for name, key in _LOSSES.items()}
        return row | measured_columns(self.config.report.fields, found)


def _written(value: float | None) -> str:
    """Returns a loss for the metrics; empty if it is missing or not finite."""
    return "" if value is None or not math.isfinite(value) else f"{value:.6g}"


def _check_size(config: PpoConfig) -> None:
    """Raises RulesError if the rollouts do not fit into memory."""
    tables = make_tables(config, 2 * len(config.table_kinds()))
    decisions = config.rollout_laps * sum(
        _share(config.tables, len(tables.groups), number) * group.players
        for number, group in enumerate(tables.groups)
    )
    size = decisions * (tables.width + tables.layout.num_actions + _OTHER_BYTES)
    if size > _MOST_MEMORY:
        players = " or ".join(str(group.players) for group in tables.groups)
        raise RulesError(
            f"tables={config.tables}, rollout_laps={config.rollout_laps}: rollouts of "
            f"{decisions:,} decisions (tables * {players} players * laps) take "
            f"{size / 2**30:,.1f} GiB; at most {_MOST_MEMORY / 2**30:.0f} GiB are allowed: lower "
            "one of them"
        )


def make_tables(config: PpoConfig, number: int | None = None) -> TableGroups:
    """Returns the tables of a run, or a smaller number of them.

    Raises:
        OhHellError: The rules cannot be played, or a player at the tables does not exist.
    """
    random = np.random.Generator(np.random.Philox(config.seed))
    pool = Pool(config.pool) if config.past_share() > 0 else None
    kinds = config.table_kinds()
    groups = [
        LapTables(
            rules,
            _share(config.tables if number is None else number, len(kinds), place),
            config.seed,
            hand_size,
            config.layout,
            _opponents(config, pool),
            config.network.critic == "oracle",
            random,
        )
        for place, (rules, hand_size) in enumerate(kinds)
    ]
    return TableGroups(groups)


def _share(tables: int, groups: int, place: int) -> int:
    """Returns the number of tables of one of several groups; the first groups get one more."""
    return tables // groups + (place < tables % groups)


def _opponents(config: PpoConfig, pool: Pool | None) -> TableOpponents:
    opponents = [(make(name, 0), share) for name, share in config.shares().items()]
    partner = None if config.part == "both" else make(config.partner, 0)
    return TableOpponents(opponents, pool, config.past_share(), config.part, partner)
