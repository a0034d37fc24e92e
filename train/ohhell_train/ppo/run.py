"""Running a training: from settings to a run directory, with progress, interruptible anywhere."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ohhell_agents import make
from ohhell_env.errors import RulesError
from ohhell_train.evaluate import check_fields
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.folder import BOARD, Counters, PpoRun, start_of
from ohhell_train.ppo.learner import SelfPlayPPO, keeping_global_rng
from ohhell_train.ppo.mixed_tables import MixedTables
from ohhell_train.ppo.pool import Pool
from ohhell_train.ppo.reporter import Reporter
from ohhell_train.ppo.rollout import LapTables, TableOpponents
from ohhell_train.runs.tensorboard import Board
from ohhell_train.settings import PAST

_MOST_MEMORY = 4 * 2**30
"""Bytes that a rollout may take."""
_OTHER_BYTES = 64
"""Bytes of a decision in a rollout beside its observation and mask, about."""


def train(run: PpoRun, quiet: bool = False) -> Counters:
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
    with run.lock(), keeping_global_rng():
        run.recover()
        return _go_on(run, quiet)


def _go_on(run: PpoRun, quiet: bool) -> Counters:
    counters, config = run.counters(), run.config()
    if counters.finished:  # by another process, just before this one came to it
        return counters
    torch.set_num_threads(1)  # with others on the machine, two threads are slower than one
    _check_size(config)
    run.check_others(config)
    ppo = SelfPlayPPO(config, make_tables(config), run.start(config))
    run.restore_state(ppo)
    run.cut_metrics(counters.decisions)
    board = Board(run.path / BOARD if config.report.tensorboard else None, counters.decisions)
    with _progress(quiet) as progress, board:
        done = counters.decisions
        total = _whole_rollouts(config.decisions - done, ppo) + done
        task = progress.add_task("training", total=total, completed=done, score="", left="")
        if config.max_minutes is not None:
            ppo.time_fraction = counters.seconds / (60 * config.max_minutes)
        reporter = Reporter(run, config, counters, progress, task, board)
        left = config.decisions - counters.decisions
        never = sys.maxsize  # its own log is not used
        ppo.learn(left, reporter, log_interval=never, reset_num_timesteps=False)
    return counters


def _whole_rollouts(decisions: int, ppo: SelfPlayPPO) -> int:
    """Returns how many decisions a number of them takes in whole rollouts."""
    size = ppo.n_steps * ppo.n_envs
    return -(-decisions // size) * size


def _check_size(config: PpoConfig) -> None:
    """Raises RulesError where the rollouts would not fit into memory."""
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
            f"{size / 2**30:,.1f} GiB; {_MOST_MEMORY / 2**30:.0f} GiB are allowed: lower one"
        )


def make_tables(config: PpoConfig, number: int | None = None) -> MixedTables:
    """Returns the tables of a run, or fewer of them.

    Raises:
        OhHellError: The rules cannot be played, or a player that should sit there is not found.
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
    return MixedTables(groups)


def _share(tables: int, groups: int, place: int) -> int:
    """Returns how many tables one of several groups gets, the first ones one more."""
    return tables // groups + (place < tables % groups)


def _opponents(config: PpoConfig, pool: Pool | None) -> TableOpponents:
    opponents = [(make(name, 0), share) for name, share in config.shares().items()]
    partner = None if config.part == "both" else make(config.partner, 0)
    return TableOpponents(opponents, pool, config.past_share(), config.part, partner)


def _progress(quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} decisions"),
        TextColumn("{task.fields[score]}"),
        TextColumn("{task.fields[left]}"),
        console=Console(file=sys.stdout),
        disable=quiet,
    )


def check_settings(config: PpoConfig) -> None:
    """Checks all of the settings that can be checked without a run, at the tables, too.

    Raises:
        OhHellError: They cannot be played, or one of the players is not found.
    """
    _check_size(config)
    if config.start is not None:
        start_of(Path(config.start), config)
    fields = [name for name in config.report.fields if name != PAST]
    check_fields(fields, [kind.rules for kind in config.table_kinds()], config.report.seed)


def begin(path: Path, config: PpoConfig, force: bool = False) -> PpoRun:
    """Begins a run in a folder; with ``force``, what is there is moved aside first.

    Raises:
        RulesError: The settings cannot be played, or the folder is taken; nothing is written.
        InUseError: Another process trains in the folder.
    """
    check_settings(config)
    return PpoRun.begin(path, config, force)
