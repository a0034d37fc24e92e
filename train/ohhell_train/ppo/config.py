"""The settings of a training run: typed, checked, their defaults in this one place.

A YAML file overrides the defaults, ``--set key=value`` overrides the file; what came out is saved
in the run directory.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ohhell_env.game import MAX_SEED
from ohhell_env.rules import Rules, as_rules
from ohhell_env.rules.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.rules.schedule import MAX_HAND_SIZE
from ohhell_env.rules.variants import variants
from ohhell_train.settings import Settings

PAST = "past"
"""Name of the run's own past self among the fields of its measurements."""
_MOST_DECISIONS = 10**12
"""Of a run: a year of it on a fast machine."""


class NetworkSettings(Settings):
    """The network."""

    hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        default=(256, 256), min_length=1, max_length=8
    )
    """Widths of the hidden layers of the actor, and of the critic."""
    critic: Literal["own_view", "all_hands"] = "own_view"
    """What the critic reads in training: the same as the actor, or also the other seats' hands. It
    then stays with the run: a player that is saved has no use for it."""


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
    pull: float = Field(default=0.0, ge=0, le=1000)
    """Weight in the loss of how far the policy is from ``start``: of the Kullback-Leibler
    divergence of the policy from it. The metric "entropy" then holds both terms, with weights."""
    bf16: bool = False
    """Multiply matrices in bfloat16; pays where the processor has instructions for it."""


class OpponentSettings(Settings):
    """Shares of the tables at which a guest takes some of the seats; at the rest all are learners.

    The learner's seats are drawn anew for each deal, so it plays from every seat.
    """

    random: float = Field(default=0.1, ge=0, le=1)
    """The random player: shows the learner bids and plays that sensible players never make."""
    heuristic: float = Field(default=0.0, ge=0, le=1)
    """The heuristic player."""
    past: float = Field(default=0.0, ge=0, le=1)
    """Past selves, from the pool; until there are any, the newest self sits there, too."""
    others: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default={}, max_length=20)
    """Other players, by what ``ohhell_agents.make`` makes them from, such as the path of a
    checkpoint."""

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if sum(self.fixed().values()) + self.past > 1 + 1e-9:
            raise ValueError("the shares of the tables add up to more than 1")
        return self

    def fixed(self) -> dict[str, float]:
        """Returns the share of every player that never changes, where there is any."""
        shares = {"random": self.random, "heuristic": self.heuristic} | self.others
        return {name: share for name, share in shares.items() if share > 0}


class PoolSettings(Settings):
    """The pool of past selves; empty where ``opponents.past`` is 0."""

    every: int = Field(default=500_000, ge=1, le=_MOST_DECISIONS)
    """Decisions between two copies of the learner."""
    size: int = Field(default=20, ge=1, le=100)
    """Most copies; the oldest makes room."""
    at_once: int = Field(default=2, ge=1, le=100)
    """Copies drawn for one rollout: the fewer, the faster."""
    draw: Literal["uniform", "pfsp"] = "uniform"
    """All alike, or the more often the less often the learner beats them."""


class ReportSettings(Settings):
    """Progress that is measured during the run."""

    every: int = Field(default=250_000, ge=1, le=_MOST_DECISIONS)
    """Decisions between two measurements (the end of the run is measured, too)."""
    deals: int = Field(default=500, ge=2, le=100_000)
    """Duplicate deals of one measurement, each played once in every seat."""
    slow_deals: int = Field(default=100, ge=2, le=100_000)
    """The same against players that are asked one by one, such as "search:worlds=10"."""
    against: tuple[Annotated[str, Field(min_length=1)], ...] = ("random", "heuristic")
    """The fields of opponents, one measurement each: what ``ohhell_agents.make`` makes players
    from, or ``PAST``: the player that the run had saved when it was half as far."""
    tensorboard: bool = True
    """Whether to write the metrics for TensorBoard, too."""
    seed: int = Field(default=1_000_003, ge=0, le=MAX_SEED)
    """Seed of these deals: the same ones at every measurement, and none of the training's."""


Seats = Annotated[int, Field(ge=MIN_PLAYERS, le=MAX_PLAYERS)]


class Config(Settings):
    """A training run."""

    method: Literal["ppo"] = "ppo"
    """Tells these settings from those of other ways to train, see
    ``train/ohhell_train/methods.py``."""
    rules: str | dict[str, Any] = "oh_hell"
    """Name of a variant, path of a YAML file, or the settings themselves."""
    players: Seats | None = None
    """Number of players; null: the variant's usual number."""
    more_players: tuple[Seats, ...] = ()
    """Further numbers of players to train for at the same time; needs the universal layout."""
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
    learn: Literal["both", "bids", "cards"] = "both"
    """What the network decides and learns; the rest is up to ``rest``."""
    rest: Annotated[str, Field(min_length=1)] = "heuristic"
    """Who decides what the network does not learn: what ``ohhell_agents.make`` makes a player from.
    Each checkpoint holds a copy of it."""
    start: Annotated[str, Field(min_length=1)] | None = None
    """Folder of a checkpoint that the network begins as; null: it begins from nothing."""
    network: NetworkSettings = NetworkSettings()
    opponents: OpponentSettings = OpponentSettings()
    pool: PoolSettings = PoolSettings()
    ppo: PPOSettings = PPOSettings()
    report: ReportSettings = ReportSettings()

    @model_validator(mode="after")
    def _room_for_all(self) -> Self:
        if self.ppo.pull > 0 and self.start is None:
            raise ValueError("ppo.pull needs start, a checkpoint to be pulled to")
        if self.more_players:
            if self.layout != "universal":
                raise ValueError("more_players needs layout=universal")
            if self.tables <= len(self.more_players):
                raise ValueError("more_players needs a table for each number of players")
        return self

    def rules_of_tables(self) -> tuple[Rules, ...]:
        """Returns the rules for each number of players that the run trains for.

        Raises:
            RulesError: They cannot be played.
        """
        rules = self.rules if isinstance(self.rules, str) else Rules.from_dict(self.rules)
        return tuple(as_rules(rules, players) for players in (self.players, *self.more_players))

    def resolved_rules(self) -> Rules:
        """Returns the rules of the run, for the first number of players.

        Raises:
            RulesError: They cannot be played.
        """
        return self.rules_of_tables()[0]

    def resolved(self) -> Self:
        """Returns the same settings with all that names stand for written out.

        A variant for several numbers of players keeps its name: it may not be the same for all.
        """
        rules = self.resolved_rules()
        changes: dict[str, Any] = {"players": rules.players}
        if not (self.more_players and self.rules in variants()):
            changes["rules"] = rules.to_dict()
        return self.model_copy(update=changes)
