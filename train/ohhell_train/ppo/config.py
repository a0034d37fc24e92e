"""The settings of PPO self-play: typed, checked, their defaults in this one place."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from ohhell_train.settings import (
    MOST_DECISIONS,
    PAST,
    NetworkSettings,
    OpponentSettings,
    PlayerName,
    ReportSettings,
    Settings,
    TableSettings,
)


class ActorCriticSettings(NetworkSettings):
    """The network."""

    critic: Literal["own_view", "oracle"] = "own_view"
    """What the critic reads in training: the same as the actor, or also the other seats' hands. It
    then stays with the run: a player that is saved has no use for it."""


class UpdateSettings(Settings):
    """The updates; what Stable-Baselines3 has a name for has that name."""

    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    """At the start of the run."""
    final_learning_rate: float = Field(default=0.0, ge=0, le=1)
    """At its end; in between it falls in a straight line."""
    ent_coef: float = Field(default=0.03, ge=0, le=1000)
    """Weight of the entropy in the loss."""
    clip_range: float = Field(default=0.2, gt=0, lt=1)
    """How far the probability of an action may move in one update."""
    n_epochs: int = Field(default=3, ge=1, le=1000)
    """How often an update goes through the rollout."""
    batch_size: int = Field(default=256, ge=2, le=65_536)
    """Decisions in one step of the optimiser."""
    gae_lambda: float = Field(default=0.95, ge=0, le=1)
    """Lambda of the advantages; the discount is 1, as points come at the end of a deal."""
    vf_coef: float = Field(default=0.5, ge=0, le=1000)
    """Weight of the critic's error in the loss."""
    max_grad_norm: float = Field(default=0.5, gt=0, le=1e6)
    """Largest norm of a gradient."""
    kl_coef: float = Field(default=0.0, ge=0, le=1000)
    """Weight in the loss of how far the policy is from ``start``: of the Kullback-Leibler
    divergence of the policy from it. The metric "entropy" then holds both terms, with weights."""
    bf16: bool = False
    """Multiply matrices in bfloat16; pays where the processor has instructions for it."""


class PoolSettings(Settings):
    """The pool of past selves; empty where "past" is no opponent."""

    every: int = Field(default=500_000, ge=1, le=MOST_DECISIONS)
    """Decisions between two copies of the learner."""
    size: int = Field(default=20, ge=1, le=100)
    """Most copies; the oldest makes room."""
    at_once: int = Field(default=2, ge=1, le=100)
    """Copies drawn for one rollout: the fewer, the faster."""
    draw: Literal["uniform", "pfsp"] = "uniform"
    """All alike, or the more often the less often the learner beats them."""


_LISTED = (
    "opponents as a list, such as [{player: heuristic, share: 0.1}, {player: past, share: 0.2}]"
)


class PpoConfig(TableSettings):
    """A run of PPO self-play."""

    renamed: ClassVar[dict[str, str]] = TableSettings.renamed | {
        "more_players": "players as a list, such as players=[3, 4, 5]",
        "laps": "rollout_laps",
        "learn": "part",
        "rest": "partner",
        "network.critic=all_hands": "network.critic=oracle",
        "opponents.random": _LISTED,
        "opponents.heuristic": _LISTED,
        "opponents.past": _LISTED,
        "opponents.others": _LISTED,
        "ppo.entropy": "ppo.ent_coef",
        "ppo.clip": "ppo.clip_range",
        "ppo.epochs": "ppo.n_epochs",
        "ppo.minibatch": "ppo.batch_size",
        "ppo.value_weight": "ppo.vf_coef",
        "ppo.pull": "ppo.kl_coef",
    }

    method: Literal["ppo"] = "ppo"  # type: ignore[mutable-override]
    """Tells these settings from those of other ways to train, see
    ``train/ohhell_train/methods.py``."""
    opponents: tuple[OpponentSettings, ...] = Field(
        default=(OpponentSettings(player="random", share=0.1),), max_length=20
    )
    """Who else sits at the tables, a list of ``{player: NAME, share: X}``. At its share of the
    tables an opponent takes one to all but one of the seats, drawn anew for each deal, so the
    learner plays from every seat. "past" is past selves, from the pool; until there are any, the
    newest self sits there, too. The random player shows the learner bids and plays that sensible
    players never make."""
    layout: Literal["default", "universal"] = "default"
    """Layout of the observation; several numbers of players need the universal one."""
    decisions: int = Field(default=1_000_000, ge=1, le=MOST_DECISIONS)
    """How many decisions of all seats to train on (forced ones counted), to the next rollout."""
    tables: int = Field(default=128, ge=2, le=100_000)
    """Tables played side by side."""
    rollout_laps: int = Field(default=16, ge=1, le=100_000)
    """Laps of all tables in one rollout: tables * players * laps decisions."""
    save_every: int = Field(default=250_000, ge=1, le=MOST_DECISIONS)
    """Decisions between two savings of the state from which a run can be resumed."""
    part: Literal["both", "bids", "cards"] = "both"
    """What the network decides and part; ``partner`` decides the rest."""
    partner: PlayerName = "heuristic"
    """Who decides what the network does not learn: what ``ohhell_agents.make`` makes a player from.
    Each checkpoint holds a copy of it."""
    start: PlayerName | None = None
    """Folder of a checkpoint that the network begins as; null: it begins from nothing."""
    network: ActorCriticSettings = ActorCriticSettings()
    pool: PoolSettings = PoolSettings()
    ppo: UpdateSettings = UpdateSettings()
    report: ReportSettings = ReportSettings(every=250_000)

    @model_validator(mode="after")
    def _one_network_reads_all(self) -> Self:
        if self.ppo.kl_coef > 0 and self.start is None:
            raise ValueError("ppo.kl_coef needs start, a checkpoint to stay near to")
        if isinstance(self.rules, tuple) or isinstance(self.hand_size, tuple):
            raise ValueError("rules and hand_size: one of each is allowed here")
        if isinstance(self.players, tuple) and len(self.players) > 1:
            if self.layout != "universal":
                raise ValueError("several numbers of players need layout=universal")
            if self.tables < len(self.players):
                raise ValueError("each number of players needs a table")
        return self

    def shares(self) -> dict[str, float]:
        """Returns the shares of the opponents that never change, by player."""
        return {each.player: each.share for each in self.opponents if each.player != PAST}

    def opponent_names(self) -> list[str]:
        """Returns the names of the opponents that stand outside the run, and of the partner."""
        partner = [] if self.part == "both" else [self.partner]
        return [*super().opponent_names(), *partner]

    def past_share(self) -> float:
        """Returns the share of the tables at which past selves sit."""
        return sum(each.share for each in self.opponents if each.player == PAST)
