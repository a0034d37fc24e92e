"""The settings of PPO self-play: typed and checked, with all their defaults."""

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
    """The critic's input in training: "own_view" as for the actor, or "oracle" with the other
    seats' hands too. An oracle critic stays with the run, because a saved player cannot use it."""


class UpdateSettings(Settings):
    """The updates, under Stable-Baselines3's names where it has them."""

    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    """Learning rate at the start of the run."""
    final_learning_rate: float = Field(default=0.0, ge=0, le=1)
    """Learning rate at the end of the run; it falls in a straight line."""
    ent_coef: float = Field(default=0.03, ge=0, le=1000)
    """Weight of the entropy in the loss."""
    clip_range: float = Field(default=0.2, gt=0, lt=1)
    """How far the probability of an action may move in one update."""
    n_epochs: int = Field(default=3, ge=1, le=1000)
    """Passes of an update over the rollout."""
    batch_size: int = Field(default=256, ge=2, le=65_536)
    """Decisions in one step of the optimiser."""
    gae_lambda: float = Field(default=0.95, ge=0, le=1)
    """Lambda of the advantages; the discount is 1, because points come at the end of a deal."""
    vf_coef: float = Field(default=0.5, ge=0, le=1000)
    """Weight of the critic's error in the loss."""
    max_grad_norm: float = Field(default=0.5, gt=0, le=1e6)
    """Largest norm of a gradient."""
    kl_coef: float = Field(default=0.0, ge=0, le=1000)
    """Weight in the loss of the Kullback-Leibler divergence of the policy from ``start``. The
    metric "entropy" then holds both terms, with their weights."""
    bf16: bool = False
    """Multiply matrices in bfloat16; faster on processors with instructions for it."""


class PoolSettings(Settings):
    """The pool of past selves; empty unless "past" is an opponent."""

    every: int = Field(default=500_000, ge=1, le=MOST_DECISIONS)
    """Decisions between two copies of the learner."""
    size: int = Field(default=20, ge=1, le=100)
    """Most copies to keep; the oldest makes room."""
    at_once: int = Field(default=2, ge=1, le=100)
    """Copies drawn for one rollout; fewer are faster."""
    draw: Literal["uniform", "pfsp"] = "uniform"
    """How to draw copies: "uniform" evenly, "pfsp" more often the less often the learner beats
    them."""


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
    """The training method; see ``train/ohhell_train/methods.py``."""
    opponents: tuple[OpponentSettings, ...] = Field(
        default=(OpponentSettings(player="random", share=0.1),), max_length=20
    )
    """Opponents at the tables, a list of ``{player: NAME, share: X}``. At its share of the tables
    an opponent takes between one seat and all but one. The seats are drawn again for each deal, so
    the learner plays from every seat. "past" stands for past selves from the pool; while the pool
    is empty, the newest version sits there too. The random player shows the learner bids and plays
    that sensible players never make."""
    layout: Literal["default", "universal"] = "default"
    """Layout of the observation; several numbers of players need the universal one."""
    decisions: int = Field(default=1_000_000, ge=1, le=MOST_DECISIONS)
    """Decisions of all seats to train on, rounded up to whole rollouts; forced moves count."""
    tables: int = Field(default=128, ge=2, le=100_000)
    """Tables played in parallel."""
    rollout_laps: int = Field(default=16, ge=1, le=100_000)
    """Laps of all tables in one rollout: tables * players * laps decisions."""
    save_every: int = Field(default=250_000, ge=1, le=MOST_DECISIONS)
    """Decisions between two saves of the state from which a run resumes."""
    part: Literal["both", "bids", "cards"] = "both"
    """The part of the game that the network learns and decides; ``partner`` decides the rest."""
    partner: PlayerName = "heuristic"
    """The player that decides the part that the network does not learn: any that
    ``ohhell_agents.make`` accepts. Each checkpoint holds a copy of it."""
    start: PlayerName | None = None
    """Folder of a checkpoint to start from; null: random weights."""
    network: ActorCriticSettings = ActorCriticSettings()
    pool: PoolSettings = PoolSettings()
    ppo: UpdateSettings = UpdateSettings()
    report: ReportSettings = ReportSettings(every=250_000)

    @model_validator(mode="after")
    def _one_network_reads_all(self) -> Self:
        if self.ppo.kl_coef > 0 and self.start is None:
            raise ValueError("ppo.kl_coef needs start, a checkpoint to stay close to")
        if isinstance(self.rules, tuple) or isinstance(self.hand_size, tuple):
            raise ValueError("rules and hand_size: PPO allows only one of each")
        if isinstance(self.players, tuple) and len(self.players) > 1:
            if self.layout != "universal":
                raise ValueError("several numbers of players need layout=universal")
            if self.tables < len(self.players):
                raise ValueError("each number of players needs a table")
        return self

    def shares(self) -> dict[str, float]:
        """Returns the shares of all opponents but past selves, by player."""
        return {each.player: each.share for each in self.opponents if each.player != PAST}

    def opponent_names(self) -> list[str]:
        """Returns the names of the opponents from outside the run, and of the partner."""
        partner = [] if self.part == "both" else [self.partner]
        return [*super().opponent_names(), *partner]

    def past_share(self) -> float:
        """Returns the share of the tables at which past selves sit."""
        return sum(each.share for each in self.opponents if each.player == PAST)
