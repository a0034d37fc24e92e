"""The rounds of counterfactual self-play: label, fit, measure, save; interruptible anywhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

import ohhell_agents
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.value.players import HEURISTIC, RANDOM
from ohhell_agents.value.trick_model import (
    BID_CHOICE,
    BID_SITUATION,
    CARD_CHOICE,
    CARD_SITUATION,
    fitted,
)
from ohhell_env.engine.layout import BID_BASE, NUM_BIDS, Rows, compile_rules, engine_rows
from ohhell_env.errors import OhHellError, RulesError, shown
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import hand_sizes
from ohhell_train.counterfactual.config import METHOD, CounterfactualConfig
from ohhell_train.counterfactual.dataset import (
    AdvantageDataset,
    EngineOpponent,
    EnginePlayers,
    label,
)
from ohhell_train.counterfactual.fit import AdvantageNet, fit
from ohhell_train.counterfactual.folder import CounterfactualRun, made_with, start_of
from ohhell_train.evaluate import Difference, averaged, check_fields, measure, warn_of_faults
from ohhell_train.settings import PAST

_SIZES = {
    "card": (CARD_SITUATION, CARD_CHOICE, BID_BASE),
    "bid": (BID_SITUATION, BID_CHOICE, NUM_BIDS),
}
"""Of the networks, see ``AdvantageNet``."""


def train(run: CounterfactualRun, quiet: bool = False) -> list[CounterfactualAgent]:
    """Trains a run, new or interrupted, to its end; returns the players of its rounds.

    A round depends on the settings and on the player before it alone, so a run that was stopped
    anywhere goes on with the round that was lost, and ends as an unbroken one.

    Args:
        run: The folder of the run.
        quiet: Show no progress.

    Raises:
        InUseError: Another process trains in the same folder.
        CheckpointError: The settings, or the players of the fields, are others than those of the
            rounds that are done.
    """
    config = run.config()
    with run.lock(), torch.random.fork_rng(devices=[]):
        torch.set_num_threads(1)  # with others on the machine, two threads are slower than one
        done = run.rounds()
        run.check_made_with(config, done)
        if len(done) < config.rounds:
            run.check_others(config)
        run.write_derived()
        began = time.monotonic() - (float(done[-1].about["seconds"]) if done else 0.0)
        with _progress(quiet) as progress:
            task = progress.add_task("", total=config.rounds, completed=len(done))
            while len(done) < config.rounds and not _late(config, began):
                done.append(_Round(run, config, done, progress, task).play(began))
                run.save_round(len(done), done[-1])
                progress.update(task, description="", completed=len(done))
                _say(progress, done[-1])
    return done


def _late(config: CounterfactualConfig, began: float) -> bool:
    limit = config.max_minutes
    return limit is not None and time.monotonic() - began >= 60 * limit


def _progress(quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("round {task.completed:.1f} of {task.total}"),
        TimeRemainingColumn(),
        console=Console(file=sys.stdout),
        disable=quiet,
    )


def _say(progress: Progress, player: CounterfactualAgent) -> None:
    if not progress.disable:
        about = player.about
        fields = ", ".join(f"{name} {Difference(*ends)}" for name, ends in about["scores"].items())
        text = f"round {about['round']}: points a deal over {fields}"
        progress.console.print(text, highlight=False, soft_wrap=True)


class _Round:
    """One round of a run.

    Args:
        run: The folder of the run.
        config: Its settings.
        done: The players of the rounds before.
        progress: Where progress is shown.
        task: The bar.
    """

    def __init__(
        self,
        run: CounterfactualRun,
        config: CounterfactualConfig,
        done: list[CounterfactualAgent],
        progress: Progress,
        task: TaskID,
    ) -> None:
        self.run, self.config, self.progress, self.task = run, config, progress, task
        self.done = done
        self.number = len(done) + 1

    def play(self, began: float) -> CounterfactualAgent:
        """Returns the player of the round."""
        config = self.config
        cpu = time.process_time()
        before = self.done[-1].models if self.done else self.run.start(config)
        self._show("playing", 0.0)
        notes = label(config, _company(config, before, self.done), self.number, self._labelled)
        models = _copy(before)
        losses = {
            "card_loss": self._fit(models, "card", notes.cards, 0.5),
            "bid_loss": self._fit(models, "bid", notes.bids, 0.8),
        }
        self._show("measuring", 0.9)
        about: dict[str, Any] = {
            "method": METHOD,
            "made_with": made_with(config),
            "round": self.number,
            "decisions": notes.decisions,
            "bids": len(notes.bids.sizes),
            **losses,
            "scores": self._measured(CounterfactualAgent(models)),
        }
        earlier = self.done[-1].about if self.done else {}
        about["cpu_seconds"] = round(earlier.get("cpu_seconds", 0) + time.process_time() - cpu, 1)
        about["seconds"] = round(time.monotonic() - began, 1)
        about["rules"] = sorted({rules.name for rules, _ in config.table_kinds()})
        about["players"] = sorted({rules.players for rules, _ in config.table_kinds()})
        return CounterfactualAgent(models, about)

    def _fit(self, models: Rows, name: str, notes: AdvantageDataset, done: float) -> float | None:
        """Fits one of the networks; returns its loss, None where there was nothing to learn."""
        torch.manual_seed(self.config.seed * 1000 + self.number)
        network, settings = AdvantageNet(*_SIZES[name]), self.config.fit
        rate = settings.learning_rate
        if models[f"{name}_out"].any():  # fitted before; all zeros would never move again
            network.take(models, name)
            rate = settings.later_learning_rate
        self._show(f"fitting {name}s", done)
        seed = self.config.seed * 1000 + self.number
        loss = fit(network, notes, settings, rate, seed)
        network.put(models, name)
        return None if math.isnan(loss) else round(loss, 5)

    def _measured(self, player: CounterfactualAgent) -> dict[str, list[float]]:
        """Returns the difference to each field over all tables of the run, mean and interval."""
        report, cells = self.config.report, self.config.table_kinds()
        deals = max(2, report.deals // len(cells))
        scores: dict[str, list[float]] = {}
        for field in report.fields:
            with ohhell_agents.make(field, report.seed) as other:
                one = averaged(
                    [
                        measure(player, other, rules, deals, report.seed, size)
                        for rules, size in cells
                    ]
                )
            warn_of_faults(field, one)
            scores[field] = [round(end, 4) for end in (one.mean, one.low, one.high)]
        return scores

    def _labelled(self, decisions: int) -> None:
        self._show("playing", 0.5 * min(decisions / self.config.decisions, 1.0))

    def _show(self, doing: str, part: float) -> None:
        done = self.number - 1 + part
        self.progress.update(self.task, description=doing, completed=done)


def _copy(models: Rows) -> Rows:
    return engine_rows(models.view(np.ndarray).copy())


def _company(
    config: CounterfactualConfig, learner: Rows, done: list[CounterfactualAgent]
) -> EnginePlayers:
    """Returns who plays in a round: the learner, and those that it meets."""
    stack, fields = [learner], list[EngineOpponent]()
    for wish in config.opponents:
        players = done[:-1] or done if wish.player == PAST else [_met(wish.player)]
        numbers: list[int] = []
        for player in players:
            if player.engine_player == RANDOM:
                numbers.append(RANDOM)
                continue
            _check_lives_inside(wish.player, player)
            numbers.append(HEURISTIC + len(stack))
            stack.append(player.models)  # type: ignore[attr-defined]
        if numbers:  # before the second round there is no past
            fields.append(EngineOpponent(tuple(numbers), wish.share))
    models = np.concatenate([rows.view(np.ndarray) for rows in stack])
    return EnginePlayers(engine_rows(models), tuple(fields))


def _met(name: str) -> ohhell_agents.Agent:
    try:
        return ohhell_agents.make(name, seed=0)
    except OhHellError as error:
        raise RulesError(f"opponents: {error}") from None


def _check_lives_inside(name: str, player: ohhell_agents.Agent) -> None:
    if player.engine_player != HEURISTIC:
        raise RulesError(
            f"opponents: {shown(name)} does not live in the engine; heuristic, random, past or a "
            "checkpoint of counterfactual self-play can be met"
        )


def check_settings(config: CounterfactualConfig) -> None:
    """Checks all of the settings that can be checked without a run.

    Raises:
        OhHellError: They cannot be played.
    """
    cells = config.table_kinds()
    for rules, size in cells:
        try:
            compile_rules(rules, "deal", size)
        except OhHellError as error:
            raise RulesError(f"hand_size={size}: {error}" if size else f"rules: {error}") from None
    if config.bids == 0 and all(set(_sizes(rules, size)) == {1} for rules, size in cells):
        raise RulesError("bids=0: in deals of one card there is nothing else to learn")
    learner = fitted() if config.start is None else start_of(config.start).models
    _company(config, learner, [])
    check_fields(config.report.fields, [rules for rules, _ in cells], config.report.seed)


def _sizes(rules: Rules, size: int | None) -> Sequence[int]:
    return hand_sizes(rules) if size is None else [size]


def begin(path: Path, config: CounterfactualConfig, force: bool = False) -> CounterfactualRun:
    """Begins a run in a folder; with ``force``, what is there is moved aside first.

    Raises:
        OhHellError: The settings cannot be played, or the folder is taken; nothing is written.
    """
    check_settings(config)
    return CounterfactualRun.begin(path, config, force)
