"""The settings of a training run: typed, checked, their defaults in this one place.

A YAML file overrides the defaults, ``--set key=value`` overrides the file; what came out is saved
in the run directory.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ohhell_env.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.game import MAX_SEED
from ohhell_env.rules import Rules, as_rules
from ohhell_env.schedule import MAX_HAND_SIZE
from train.settings import Settings

_MOST_DECISIONS = 10**12
"""Of a run: a year of it on a fast machine."""


class NetworkSettings(Settings):
    """The network."""

    hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        default=(256, 256), min_length=1, max_length=8
    )
    """Widths of the hidden layers of the actor, and of the critic."""


class PPOSettings(Settings):
    """The updates."""

    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    """At the start of the run."""
    final_learning_rate: float = Field(default=0.0, ge=0, le=1)
    """At its end; in between it falls in a straight line."""
    entropy: float = Field(default=0.03, ge=0, le=1000)
    """Weight of the entropy in the loss."""
    clip: float = Field(default=0.2, gt=0, lt=1)
    """How far the probability of an action may move in one update."""
    epochs: int = Field(default=3, ge=1, le=1000)
    """How often an update goes through the rollout."""
    minibatch: int = Field(default=256, ge=2, le=65_536)
    """Decisions in one step of the optimiser."""
    gae_lambda: float = Field(default=0.95, ge=0, le=1)
    """Lambda of the advantages; the discount is 1, as points come at the end of a deal."""
    value_weight: float = Field(default=0.5, ge=0, le=1000)
    """Weight of the critic's error in the loss."""
    max_grad_norm: float = Field(default=0.5, gt=0, le=1e6)
    """Largest norm of a gradient."""


class OpponentSettings(Settings):
    """Shares of the tables at which others take some of the seats; at the rest all are learners."""

    random: float = Field(default=0.1, ge=0, le=1)
    """The random player: shows the learner bids and plays that sensible players never make."""
    heuristic: float = Field(default=0.0, ge=0, le=1)
    """The heuristic player."""

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if self.random + self.heuristic > 1:
            raise ValueError("the shares of the tables add up to more than 1")
        return self


class ReportSettings(Settings):
    """Progress that is measured during the run."""

    every: int = Field(default=250_000, ge=1, le=_MOST_DECISIONS)
    """Decisions between two measurements (the end of the run is measured, too)."""
    deals: int = Field(default=500, ge=2, le=100_000)
    """Duplicate deals of one measurement, each played once in every seat."""
    against: tuple[Literal["random", "heuristic"], ...] = ("random", "heuristic")
    """The fields of opponents, one measurement each."""
    seed: int = Field(default=1_000_003, ge=0, le=MAX_SEED)
    """Seed of these deals: the same ones at every measurement, and none of the training's."""


class Config(Settings):
    """A training run."""

    rules: str | dict[str, Any] = "oh_hell"
    """Name of a variant, path of a YAML file, or the settings themselves."""
    players: int | None = Field(default=None, ge=MIN_PLAYERS, le=MAX_PLAYERS)
    """Number of players; null: the variant's usual number."""
    hand_size: int | None = Field(default=None, ge=1, le=MAX_HAND_SIZE)
    """Train with one hand size only; null: with those of the schedule."""
    layout: Literal["default", "universal"] = "default"
    """Layout of the observation."""
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Seed of the first weights, the deals and every choice."""
    decisions: int = Field(default=1_000_000, ge=1, le=_MOST_DECISIONS)
    """How many decisions of all seats to train on (forced ones counted), to the next rollout."""
    max_minutes: float | None = Field(default=None, gt=0, le=1_000_000)
    """Stop after so many minutes even if decisions are left; null: never. Where the clock is ahead
    of the decisions, the learning rate falls with the clock; such a run is not reproducible."""
    tables: int = Field(default=128, ge=2, le=100_000)
    """Tables played side by side."""
    laps: int = Field(default=16, ge=1, le=100_000)
    """Laps of all tables in one rollout: tables * players * laps decisions."""
    save_every: int = Field(default=250_000, ge=1, le=_MOST_DECISIONS)
    """Decisions between two savings of the state from which a run can be resumed."""
    network: NetworkSettings = NetworkSettings()
    opponents: OpponentSettings = OpponentSettings()
    ppo: PPOSettings = PPOSettings()
    report: ReportSettings = ReportSettings()

    def resolved_rules(self) -> Rules:
        """Returns the rules of the run.

        Raises:
            RulesError: They cannot be played.
        """
        if isinstance(self.rules, str):
            return as_rules(self.rules, self.players)
        return as_rules(Rules.from_dict(self.rules), self.players)

    def resolved(self) -> Self:
        """Returns the same settings with all that names stand for written out."""
        rules = self.resolved_rules()
        return self.model_copy(update={"rules": rules.to_dict(), "players": rules.players})
