"""The settings of distillation: typed, checked, their defaults in this one place."""

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

METHOD = "distill"


class StudentFitSettings(FitSettings):
    """StudentFit the network to the games."""

    hands_weight: float = Field(default=0.03, ge=0, le=1000)
    """Weight in the loss of how badly the policy guesses the hidden hands; 0: it guesses none. The
    guesses are there in training only, the saved player does without."""


class DistillConfig(TableSettings):
    """A run of distillation."""

    renamed: ClassVar[dict[str, str]] = TableSettings.renamed | {
        "guests": "opponents as a list, such as [{player: random, share: 0.1}]",
        "fit.minibatch": "fit.batch_size",
    }

    method: Literal["distill"] = METHOD  # type: ignore[mutable-override]
    """Tells these settings from those of other ways to train."""
    teacher: PlayerName = "zoo:universal"
    """Whose choices are learned: what ``ohhell_agents.make`` makes a player from."""
    opponents: tuple[OpponentSettings, ...] = Field(default=(), max_length=20)
    """Who else sits at the tables, a list of ``{player: NAME, share: X}``. At its share of the
    tables an opponent takes one to all but one of the seats; the teacher has the rest. What
    opponents choose is not learned."""
    layout: Literal["default", "universal"] = "default"
    """Layout of the observation."""
    decisions: int = Field(default=1_000_000, ge=1, le=50_000_000)
    """How many decisions of the teacher to learn from, to the next part; forced ones do not count.
    A million takes about 200 MB of the disk, and twice that of memory while it is read."""
    noise: NoiseSettings = NoiseSettings()
    """The teacher's own choice is learned all the same."""
    start: PlayerName | None = None
    """Folder of a checkpoint of this shape that the network begins as; null: it begins from
    nothing."""
    network: NetworkSettings = NetworkSettings()
    fit: StudentFitSettings = StudentFitSettings(epochs=6, learning_rate=2e-3, batch_size=512)
    report: ReportSettings = ReportSettings()

    @model_validator(mode="after")
    def _one_kind_of_table(self) -> Self:
        if any(isinstance(each, tuple) for each in (self.rules, self.players, self.hand_size)):
            raise ValueError("rules, players and hand_size: one of each is allowed here")
        if any(each.player == PAST for each in self.opponents):
            raise ValueError("opponents: a run of distillation has no past selves")
        return self
