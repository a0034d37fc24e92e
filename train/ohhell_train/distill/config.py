"""The settings of distillation: typed and checked, with all their defaults."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from ohhell_train.settings import (
    PAST,
    FitSettings,
    NetworkSettings,
    NoiseSettings,
    OpponentSettings,
    PlayerName,
    ReportSettings,
    TableSettings,
)


class StudentFitSettings(FitSettings):
    """The fit of the network to the games."""

    hands_weight: float = Field(default=0.03, ge=0, le=1000)
    """Weight in the loss of the error in guessing the hidden hands; 0: no guesses. Only training
    uses the guesses; the saved player does not make them."""


class DistillConfig(TableSettings):
    """A run of distillation."""

    renamed: ClassVar[dict[str, str]] = TableSettings.renamed | {
        "guests": "opponents as a list, such as [{player: random, share: 0.1}]",
        "fit.minibatch": "fit.batch_size",
    }

    method: Literal["distill"] = "distill"  # type: ignore[mutable-override]
    """The training method."""
    teacher: PlayerName = "zoo:universal"
    """The player whose choices are learned: any that ``ohhell_agents.make`` accepts."""
    opponents: tuple[OpponentSettings, ...] = Field(default=(), max_length=20)
    """Opponents at the tables, a list of ``{player: NAME, share: X}``. At its share of the tables
    an opponent takes between one seat and all but one; the teacher takes the rest. The opponents'
    choices are not learned."""
    layout: Literal["default", "universal"] = "default"
    """Layout of the observation."""
    decisions: int = Field(default=1_000_000, ge=1, le=50_000_000)
    """Decisions of the teacher to learn from, rounded up to whole parts; forced moves do not count.
    A million takes about 200 MB on disk, and twice that in memory while it is read."""
    noise: NoiseSettings = NoiseSettings()
    """The network still learns the teacher's own choice."""
    start: PlayerName | None = None
    """Folder of a checkpoint of the same shape to start from; null: random weights."""
    network: NetworkSettings = NetworkSettings()
    fit: StudentFitSettings = StudentFitSettings(epochs=6, learning_rate=2e-3, batch_size=512)
    report: ReportSettings = ReportSettings()

    @model_validator(mode="after")
    def _one_kind_of_table(self) -> Self:
        if any(isinstance(each, tuple) for each in (self.rules, self.players, self.hand_size)):
            raise ValueError("rules, players and hand_size: distillation allows only one of each")
        if any(each.player == PAST for each in self.opponents):
            raise ValueError('opponents: distillation has no past selves, so leave "past" out')
        return self
