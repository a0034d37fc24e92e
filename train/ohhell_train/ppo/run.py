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
from ohhell_train.ppo.config import PAST, Config
from ohhell_train.ppo.folder import BOARD, Counters, RunDirectory, start_of
from ohhell_train.ppo.learner import SelfPlayPPO, keeping_global_chance
from ohhell_train.ppo.mixed_tables import MixedTables
from ohhell_train.ppo.pool import Pool
from ohhell_train.ppo.reporter import Reporter
from ohhell_train.ppo.rollout import Company, LapTables
from ohhell_train.runs.tensorboard import Board

_MOST_MEMORY = 4 * 2**30
"""Bytes that a rollout may take."""
_OTHER_BYTES = 64
"""Bytes of a decision in a rollout beside its observation and mask, about."""


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
    run.check_others(config)
    ppo = SelfPlayPPO(config, tables_of(config), run.start(config))
    run.restore_state(ppo)
    run.cut_metrics(counters.decisions)
    board = Board(run.path / BOARD if config.report.tensorboard else None, counters.decisions)
    with _progress(quiet) as progress, board:
        done = counters.decisions
        total = _whole_rollouts(config.decisions - done, ppo) + done
        task = progress.add_task("training", total=total, completed=done, score="", left="")
        if config.max_minutes is not None:
            ppo.hurry = counters.seconds / (60 * config.max_minutes)
        reporter = Reporter(run, config, counters, progress, task, board)
        left = config.decisions - counters.decisions
        never = sys.maxsize  # its own log is not used
        ppo.learn(left, reporter, log_interval=never, reset_num_timesteps=False)
    return counters


def _whole_rollouts(decisions: int, ppo: SelfPlayPPO) -> int:
    """Returns how many decisions a number of them takes in whole rollouts."""
    size = ppo.n_steps * ppo.n_envs
    return -(-decisions // size) * size


def _check_size(config: Config) -> None:
    """Raises RulesError where the rollouts would not fit into memory."""
    tables = tables_of(config, 2 * len(config.rules_of_tables()))
    decisions = config.laps * sum(
        _share(config.tables, len(tables.groups), number) * group.players
        for number, group in enumerate(tables.groups)
    )
    size = decisions * (tables.width + tables.layout.num_actions + _OTHER_BYTES)
    if size > _MOST_MEMORY:
        players = " or ".join(str(group.players) for group in tables.groups)
        raise RulesError(
            f"tables={config.tables}, laps={config.laps}: rollouts of {decisions:,} decisions "
            f"(tables * {players} players * laps) take {size / 2**30:,.1f} GiB; "
            f"{_MOST_MEMORY / 2**30:.0f} GiB are allowed, lower one of them"
        )


def tables_of(config: Config, number: int | None = None) -> MixedTables:
    """Returns the tables of a run, or fewer of them.

    Raises:
        OhHellError: The rules cannot be played, or a player that should sit there is not found.
    """
    random = np.random.Generator(np.random.Philox(config.seed))
    pool = Pool(config.pool) if config.opponents.past > 0 else None
    rules = config.rules_of_tables()
    groups = [
        LapTables(
            each,
            _share(config.tables if number is None else number, len(rules), place),
            config.seed,
            config.hand_size,
            config.layout,
            _company(config, pool),
            config.network.critic == "all_hands",
            random,
        )
        for place, each in enumerate(rules)
    ]
    return MixedTables(groups)


def _share(tables: int, groups: int, place: int) -> int:
    """Returns how many tables one of several groups gets, the first ones one more."""
    return tables // groups + (place < tables % groups)


def _company(config: Config, pool: Pool | None) -> Company:
    opponents = [(make(name, 0), share) for name, share in config.opponents.fixed().items()]
    partner = None if config.learn == "both" else make(config.rest, 0)
    return Company(opponents, pool, config.opponents.past, config.learn, partner)


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


def check_settings(config: Config) -> None:
    """Checks all of the settings that can be checked without a run, at the tables, too.

    Raises:
        OhHellError: They cannot be played, or one of the players is not found.
    """
    _check_size(config)
    if config.start is not None:
        start_of(config, Path(config.start))
    fields = [name for name in config.report.against if name != PAST]
    check_fields(fields, config.rules_of_tables(), config.report.seed)


def begin(path: Path, config: Config, force: bool = False) -> RunDirectory:
    """Begins a run in a folder; with ``force``, what is there is moved aside first.

    Raises:
        RulesError: The settings cannot be played, or the folder is taken; nothing is written.
        InUseError: Another process trains in the folder.
    """
    check_settings(config)
    return RunDirectory.begin(path, config, force)
