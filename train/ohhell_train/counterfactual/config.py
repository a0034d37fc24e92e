"""The settings of counterfactual self-play: typed, checked, their defaults in this one place."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from ohhell_train.settings import (
    FitSettings,
    NoiseSettings,
    OpponentSettings,
    ReportSettings,
    Share,
    TableSettings,
)

METHOD = "counterfactual"


class RoundFitSettings(FitSettings):
    """Fitting the networks of a round."""

    later_learning_rate: float = Field(default=1e-3, gt=0, le=1)
    """Instead of ``learning_rate``, in rounds that begin with networks fitted before."""


class CounterfactualConfig(TableSettings):
    """A run of counterfactual self-play."""

    renamed: ClassVar[dict[str, str]] = TableSettings.renamed | {
        "fields": "opponents",
        "fit.minibatch": "fit.batch_size",
    }

    method: Literal["counterfactual"] = METHOD  # type: ignore[mutable-override]
    """Tells these settings from those of other ways to train."""
    opponents: tuple[OpponentSettings, ...] = Field(default=(), max_length=20)
    """Who else sits at the tables, a list of ``{player: NAME, share: X}``. At its share of the
    tables the learner sits alone among copies of the opponent, which must live in the engine:
    "heuristic", "random", a checkpoint of this kind, or "past", one of the earlier rounds."""
    start: str | None = None
    """A checkpoint of this kind to begin with; null: the heuristic player."""
    rounds: int = Field(default=1, ge=1, le=10_000)
    """How often the player is labelled and fitted."""
    decisions: int = Field(default=2_000_000, ge=1, le=10**9)
    """Decisions that are labelled in each round."""
    bids: Share = 0.5
    """Share of the learner's bids that is labelled; 0: bids are not learned, and stay as they were
    in ``start`` or the heuristic player."""
    cards: Share = 0.5
    """Share of its cards with a choice that is labelled; 0: as for ``bids``."""
    relative: Share = 1.0
    """Share of the mean of the others' points that is taken off the own points: 1 maximises the
    difference, 0 the own points."""
    threads: int = Field(default=2, ge=1, le=256)
    """Threads that play; the labels are the same with any number."""
    noise: NoiseSettings = NoiseSettings()
    fit: RoundFitSettings = RoundFitSettings()
    report: ReportSettings = ReportSettings(deals=4000, fields=("heuristic", "random"))

    @model_validator(mode="after")
    def _something_is_learned(self) -> Self:
        if self.bids == self.cards == 0:
            raise ValueError("with bids=0 and cards=0 there is nothing to learn")
        return self
