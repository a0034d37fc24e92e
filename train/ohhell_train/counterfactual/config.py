"""The settings of counterfactual self-play: typed and checked, with all their defaults."""

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
    """The fit of the networks of a round."""

    later_learning_rate: float = Field(default=1e-3, gt=0, le=1)
    """Replaces ``learning_rate`` in rounds that begin with networks from an earlier fit."""


class CounterfactualConfig(TableSettings):
    """A run of counterfactual self-play."""

    renamed: ClassVar[dict[str, str]] = TableSettings.renamed | {
        "fields": "opponents",
        "fit.minibatch": "fit.batch_size",
    }

    method: Literal["counterfactual"] = METHOD  # type: ignore[mutable-override]
    """The training method."""
    opponents: tuple[OpponentSettings, ...] = Field(default=(), max_length=20)
    """Opponents at the tables, a list of ``{player: NAME, share: X}``. At its share of the tables
    the learner sits alone among copies of the opponent. An opponent must run inside the engine:
    "heuristic", "random", a checkpoint of this kind, or "past", one of the earlier rounds."""
    start: str | None = None
    """A checkpoint of this kind to start from; null: the heuristic player."""
    rounds: int = Field(default=1, ge=1, le=10_000)
    """Rounds of labelling and fitting."""
    decisions: int = Field(default=2_000_000, ge=1, le=10**9)
    """Decisions to label in each round."""
    bids: Share = 0.5
    """Share of the learner's bids to label; 0: bids are not learned, and stay as they were in
    ``start`` or the heuristic player."""
    cards: Share = 0.5
    """Share of the learner's cards to label, forced ones aside; 0: cards are not learned, as for
    ``bids``."""
    relative: Share = 1.0
    """How much of the others' mean points to subtract from the player's own: 1 maximises the
    difference, 0 the player's own points."""
    threads: int = Field(default=2, ge=1, le=256)
    """Threads that play; any number gives the same labels."""
    noise: NoiseSettings = NoiseSettings()
    fit: RoundFitSettings = RoundFitSettings()
    report: ReportSettings = ReportSettings(deals=4000, fields=("heuristic", "random"))

    @model_validator(mode="after")
    def _something_is_learned(self) -> Self:
        if self.bids == self.cards == 0:
            raise ValueError("bids=0 and cards=0 leave nothing to learn: set one of them above 0")
        return self
