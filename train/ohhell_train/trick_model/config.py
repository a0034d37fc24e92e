"""The settings of the trick model's fit: typed and checked, with all their defaults."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ohhell_train.settings import FitSettings, ReportSettings, RunSettings


class TrickModelConfig(RunSettings):
    """A fit of the heuristic player's trick model from scratch.

    The tables are always the same: many variants, numbers of players and hand sizes.
    """

    method: Literal["trick_model"] = "trick_model"  # type: ignore[mutable-override]
    """The training method."""
    rounds: int = Field(default=5, ge=1, le=1000)
    """Refits, after the first fit to random play."""
    cards: int = Field(default=1_500_000, ge=1000, le=10**9)
    """Cards recorded in each round, rounded up to whole tables."""
    fit: FitSettings = FitSettings(learning_rate=5e-3, batch_size=4096)
    report: ReportSettings = ReportSettings(fields=("heuristic", "random"))
