"""The rounds of counterfactual self-play: label, fit, measure, save."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

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
from ohhell_train.counterfactual.fit import AdvantageNet, fit_advantage_net
from ohhell_train.counterfactual.folder import (
    CounterfactualRun,
    made_with,
    metrics_of,
    start_of,
)
from ohhell_train.evaluate import Difference, check_fields
from ohhell_train.runs.metrics import Row
from ohhell_train.runs.trainer import Trainer
from ohhell_train.settings import PAST

_NET_SIZES = {
    "card": (CARD_SITUATION, CARD_CHOICE, BID_BASE),
    "bid": (BID_SITUATION, BID_CHOICE, NUM_BIDS),
}
"""Sizes of the networks, see ``AdvantageNet``."""


class CounterfactualTrainer(Trainer[CounterfactualConfig]):
    """A run of counterfactual self-play during training.

    A round depends only on the settings and on the player before it. A stopped run therefore
    repeats the lost round, and ends like an unbroken one.
    """

    run: CounterfactualRun
    unit: ClassVar[str] = "round"

    @classmethod
    def check(cls, config: CounterfactualConfig) -> None:
        """Checks the settings as far as possible without a run.

        Raises:
            OhHellError: The settings cannot be played, or a player does not exist.
        """
        kinds = config.table_kinds()
        for rules, size in kinds:
            try:
                compile_rules(rules, "deal", size)
            except OhHellError as error:
                raise RulesError(
                    f"hand_size={size}: {error}" if size else f"rules: {error}"
                ) from None
        if config.bids == 0 and all(set(_hand_sizes(rules, size)) == {1} for rules, size in kinds):
            raise RulesError(
                "bids=0: deals of one card have nothing else to learn; set bids above 0"
            )
        learner = fitted() if config.start is None else start_of(config.start).models
        _players(config, learner, [])
        check_fields(config.report.fields, [rules for rules, _ in kinds], config.report.seed)

    def restore(self) -> None:
        """Restores the finished rounds.

        Raises:
            CheckpointError: A round is damaged, or was played with other settings.
        """
        self.rounds = self.run.rounds()
        self.run.check_rounds(self.config, self.rounds)
        self.run.write_derived()
        if self.rounds:
            about = self.rounds[-1].about
            self.clock.start(about["seconds"], about["cpu_seconds"])

    @property
    def done(self) -> int:
        """The number of rounds done."""
        return len(self.rounds)

    def finished(self) -> bool:
        """Returns whether all rounds are done."""
        return self.done >= self.config.rounds

    def step(self) -> bool:
        """Plays a round: labels decisions and fits both networks to them."""
        config = self.config
        before = self.rounds[-1].models if self.rounds else self.run.start(config)
        self._show("playing", 0.0)
        players = _players(config, before, self.rounds)
        dataset = label(config, players, self.done + 1, self._labelled)
        models = _copy(before)
        about: dict[str, Any] = {
            "method": METHOD,
            "made_with": made_with(config),
            "round": self.done + 1,
            "decisions": dataset.decisions,
            "bids": len(dataset.bids.sizes),
            "card_loss": self._fit(models, "card", dataset.cards, 0.5),
            "bid_loss": self._fit(models, "bid", dataset.bids, 0.8),
        }
        self._show("measuring", 0.9)
        self.rounds.append(CounterfactualAgent(models, about))
        return True

    def player(self) -> CounterfactualAgent:
        """Returns the player of the newest round."""
        return CounterfactualAgent(self.rounds[-1].models)

    def deals(self) -> int:
        """Returns the number of deals at each kind of table, which share those of a measurement."""
        return max(2, self.config.report.deals // len(self.config.table_kinds()))

    def save(self, found: Mapping[str, Difference]) -> Row:
        """Saves the player of a round with its metrics."""
        kinds = self.config.table_kinds()
        about = self.rounds[-1].about | {
            "scores": {
                name: [round(end, 4) for end in (one.mean, one.low, one.high)]
                for name, one in found.items()
            },
            "cpu_seconds": round(self.clock.cpu_seconds, 1),
            "seconds": round(self.clock.seconds, 1),
            "rules": sorted({rules.name for rules, _ in kinds}),
            "players": sorted({rules.players for rules, _ in kinds}),
        }
        self.rounds[-1] = CounterfactualAgent(self.rounds[-1].models, about)
        self.run.save_round(self.done, self.rounds[-1])
        self.show("", self.done, self.config.rounds)
        return metrics_of(about)

    def _fit(
        self, models: Rows, name: str, dataset: AdvantageDataset, share: float
    ) -> float | None:
        """Fits one of the networks; returns its loss, or None if there was nothing to learn."""
        seed = self.config.seed * 1000 + self.done + 1
        torch.manual_seed(seed)
        network, settings = AdvantageNet(*_NET_SIZES[name]), self.config.fit
        rate = settings.learning_rate
        if models[f"{name}_out"].any():  # fitted before; a network of zeros would never learn
            network.take(models, name)
            rate = settings.later_learning_rate
        self._show(f"fitting {name}s", share)
        loss = fit_advantage_net(network, dataset, settings, rate, seed)
        network.put(models, name)
        return None if math.isnan(loss) else round(loss, 5)

    def _labelled(self, decisions: int) -> None:
        self._show("playing", 0.5 * min(decisions / self.config.decisions, 1.0))

    def _show(self, doing: str, share: float) -> None:
        self.show(doing, self.done + share, self.config.rounds)


def _copy(models: Rows) -> Rows:
    return engine_rows(models.view(np.ndarray).copy())


def _players(
    config: CounterfactualConfig, learner: Rows, done: list[CounterfactualAgent]
) -> EnginePlayers:
    """Returns the players of a round: the learner, and its opponents."""
    stack, opponents = [learner], list[EngineOpponent]()
    for opponent in config.opponents:
        players = done[:-1] or done if opponent.player == PAST else [_met(opponent.player)]
        numbers: list[int] = []
        for player in players:
            if player.engine_player == RANDOM:
                numbers.append(RANDOM)
                continue
            _check_lives_inside(opponent.player, player)
            numbers.append(HEURISTIC + len(stack))
            stack.append(player.models)  # type: ignore[attr-defined]
        if numbers:  # the first round has no past selves
            opponents.append(EngineOpponent(tuple(numbers), opponent.share))
    models = np.concatenate([rows.view(np.ndarray) for rows in stack])
    return EnginePlayers(engine_rows(models), tuple(opponents))


def _met(name: str) -> ohhell_agents.Agent:
    try:
        return ohhell_agents.make(name, seed=0)
    except OhHellError as error:
        raise RulesError(f"opponents: {error}") from None


def _check_lives_inside(name: str, player: ohhell_agents.Agent) -> None:
    if player.engine_player != HEURISTIC:
        raise RulesError(
            f"opponents: {shown(name)} does not run inside the engine; use heuristic, random, past "
            "or a checkpoint of counterfactual self-play"
        )


def _hand_sizes(rules: Rules, size: int | None) -> Sequence[int]:
    """Returns the hand sizes of a kind of table."""
    return hand_sizes(rules) if size is None else [size]
