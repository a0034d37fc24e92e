"""The settings of distillation: typed, checked, their defaults in this one place."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ohhell_env.game import MAX_SEED
from ohhell_env.rules import Rules, as_rules
from ohhell_env.rules.schedule import MAX_HAND_SIZE
from ohhell_train.counterfactual import config as counterfactual
from ohhell_train.ppo.config import Config, Seats
from ohhell_train.ppo.config import NetworkSettings as PPONetworkSettings
from ohhell_train.settings import Settings

METHOD = "distill"
_Player = Annotated[str, Field(min_length=1)]
_Share = Annotated[float, Field(ge=0, le=1)]


class NoiseSettings(counterfactual.NoiseSettings):
    """How far the teacher's seats stray from its choices, to see more than its own habits.

    What is learned is its own choice all the same.
    """


class NetworkSettings(Settings):
    """The network."""

    hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        default=PPONetworkSettings().hidden, min_length=1, max_length=8
    )
    """Widths of the hidden layers of the policy, and of the critic."""


class FitSettings(Settings):
    """Fitting the network to the games."""

    epochs: int = Field(default=6, ge=1, le=1000)
    """Passes over the decisions."""
    learning_rate: float = Field(default=2e-3, gt=0, le=1)
    """At its highest, after a tenth of the steps; it falls to nothing."""
    minibatch: int = Field(default=512, ge=2, le=65_536)
    """Decisions in one step of the optimiser."""
    hands_weight: float = Field(default=0.03, ge=0, le=1000)
    """Weight in the loss of how badly the policy guesses the hidden hands; 0: it guesses none. The
    guesses are there in training only, the saved player does without."""


class ReportSettings(Settings):
    """Progress that is measured during the run."""

    every: int = Field(default=1, ge=1, le=1000)
    """Epochs between two measurements (the last one is measured, too)."""
    deals: int = Field(default=500, ge=2, le=1_000_000)
    """Duplicate deals of one measurement, each played once in every seat."""
    slow_deals: int = Field(default=100, ge=2, le=100_000)
    """The same against players that are asked one by one, such as "search"."""
    against: tuple[_Player, ...] = Field(default=("random", "heuristic"), min_length=1)
    """The fields of opponents, as in ``ohhell_agents.make``."""
    seed: int = Field(default=1_000_003, ge=0, le=MAX_SEED)
    """Seed of these deals: the same ones at every measurement, and none of the training's."""


class DistillConfig(Settings):
    """A run of distillation."""

    method: Literal["distill"] = METHOD
    """Tells these settings from those of other ways to train."""
    teacher: _Player = "zoo:universal"
    """Whose choices are learned: what ``ohhell_agents.make`` makes a player from."""
    rules: str | dict[str, Any] = "oh_hell"
    """Name of a variant, path of a YAML file, or the settings themselves."""
    players: Seats | None = None
    """Number of players; null: the variant's usual number."""
    hand_size: int | None = Field(default=None, ge=1, le=MAX_HAND_SIZE)
    """Learn with one hand size only; null: with those of the schedule."""
    layout: Literal["default", "universal"] = "default"
    """Layout of the observation."""
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Seed of the first weights, the deals and every choice."""
    decisions: int = Field(default=1_000_000, ge=1, le=50_000_000)
    """How many decisions of the teacher to learn from, to the next part; forced ones do not count.
    A million takes about 200 MB of the disk, and twice that of memory while it is read."""
    noise: NoiseSettings = NoiseSettings()
    guests: dict[str, _Share] = Field(default={}, max_length=20)
    """Shares of the tables at which another player takes one to all but one of the seats, by what
    ``ohhell_agents.make`` makes it from; the teacher has the rest. Guests' choices are not
    learned."""
    start: _Player | None = None
    """Folder of a checkpoint of this shape that the network begins as; null: it begins from
    nothing."""
    network: NetworkSettings = NetworkSettings()
    fit: FitSettings = FitSettings()
    report: ReportSettings = ReportSettings()

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if sum(self.guests.values()) > 1 + 1e-9:
            raise ValueError("the shares of the guests add up to more than 1")
        return self

    def resolved_rules(self) -> Rules:
        """Returns the rules of the run.

        Raises:
            RulesError: They cannot be played.
        """
        rules = self.rules if isinstance(self.rules, str) else Rules.from_dict(self.rules)
        return as_rules(rules, self.players)

    def as_ppo(self) -> Config:
        """Returns settings of PPO self-play for the same tables and a network of the same shape."""
        return Config(
            rules=self.rules,
            players=self.players,
            hand_size=self.hand_size,
            layout=self.layout,
            network=PPONetworkSettings(hidden=self.network.hidden),
        )

    def resolved(self) -> Self:
        """Returns the same settings with the rules that names and files stand for written out.

        Raises:
            RulesError: They cannot be played.
        """
        rules = self.resolved_rules()
        return self.model_copy(update={"rules": rules.to_dict(), "players": rules.players})
