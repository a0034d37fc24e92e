"""A player's bidding as files, and as a short report for the terminal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import ohhell_env
from ohhell_env.engine.layout import Rows
from ohhell_env.rules import Rules
from ohhell_env.rules.explain import title
from ohhell_train.bidding import calibration, pictures
from ohhell_train.bidding.shares import as_csv, share
from ohhell_train.bidding.tables import bidding_table, bids_by_place
from ohhell_train.tournament.analysis.statistics import interval


@dataclass(frozen=True)
class Report:
    """The bids of a player, and the settings behind them."""

    bids: Rows
    """``BIDS`` rows."""
    rules: Rules
    player: str
    field: str
    """The player in the other seats, or "self"."""
    hand_size: int | None
    deals: int
    seed: int
    least: int
    """Fewest hands of a row in the bidding table."""
    faults: int = 0
    """Random moves that replaced a failed or illegal answer of the player."""

    def headline(self) -> str:
        """Returns the settings of the report, in one line."""
        cards = "hand sizes of the schedule"
        if self.hand_size is not None:
            cards = f"{self.hand_size} card{'s' if self.hand_size > 1 else ''}"
        company = "in every seat"
        if self.field != "self":
            company = f"in each seat in turn, {self.field} in the others"
        return (
            f"{self.player} {company}: {title(self.rules)}, {cards}, {self.deals:,} deals, seed "
            f"{self.seed}"
        )

    def files(self) -> dict[str, str | bytes]:
        """Returns the files by name; those about forecasts only if there are forecasts."""
        settings = json.dumps(self._settings(), indent=1) + "\n"
        found: dict[str, str | bytes] = {"settings.json": settings}
        found["bids.csv"] = as_csv(bids_by_place(self.bids))
        if hands := bidding_table(self.bids, self.rules, self.least):
            found["hands.csv"] = as_csv(hands)
        found["made_rates.png"] = pictures.draw_made_rates(self.bids, self.headline())
        found["tricks.png"] = pictures.draw_tricks(self.bids, self.headline())
        if rows := calibration.calibration_rows(self.bids):
            found["calibration.csv"] = as_csv(rows)
            found["calibration.png"] = pictures.draw_calibration(rows, self.headline())
        return found

    def show(self, console: Console) -> None:
        """Prints the report."""

        def say(text: str, style: str | None = None) -> None:
            console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

        say(self.headline())
        console.print(self._table())
        for line in self._forecasts():
            say(line)
        if self.faults:
            say(f"{self.faults} faults, each replaced by a random legal move", "bold red")

    def _settings(self) -> dict[str, Any]:
        return {
            "ohhell_env": ohhell_env.__version__,
            "player": self.player,
            "field": self.field,
            "rules": self.rules.to_dict(),
            "hand_size": self.hand_size,
            "deals": self.deals,
            "seed": self.seed,
            "least": self.least,
        }

    def _table(self) -> Table:
        table = Table(box=SIMPLE_HEAD)
        for name in ("cards", "bids", "bid", "tricks", "made", "points a deal"):
            table.add_column(name, justify="right", no_wrap=True)
        for size in np.unique(self.bids["hand_size"]).tolist():
            own = self.bids[self.bids["hand_size"] == size]
            table.add_row(
                str(size),
                f"{len(own):,}",
                f"{own['bid'].mean():.2f}",
                f"{own['tricks'].mean():.2f}",
                _made_rate(own),
                _points(own),
            )
        return table

    def _forecasts(self) -> list[str]:
        """Returns the accuracy of the forecasts, one line each."""
        rows = calibration.calibration_rows(self.bids)
        words = {
            calibration.CHANCE: ("chances to make the bid", "{:.1%}"),
            calibration.POINTS: ("expected points", "{:.2f} points"),
            calibration.TRICKS: ("chances of numbers of tricks", "{:.1%}"),
        }
        lines = []
        for kind, (name, form) in words.items():
            if gap_and_hands := calibration.mean_gap(rows, kind):
                gap, hands = gap_and_hands
                lines.append(f"{name}, of {hands:,} bids: off by {form.format(gap)} on average")
            elif kind == calibration.CHANCE and rows:
                lines.append(f"{name}: none given, and none follow from the expected points")
        return lines or ["the player gives no forecasts, so there is no calibration"]


def _made_rate(own: Rows) -> str:
    """Returns the share of the bids that were made, with its 95 % interval: "50.0% (24 to 76)"."""
    rate, low, high = share(int((own["bid"] == own["tricks"]).sum()), len(own))
    return f"{rate:.1%} ({100 * low:.1f} to {100 * high:.1f})"


def _points(own: Rows) -> str:
    """Returns the mean points and half their 95 % interval; a deal counts as one observation."""
    mean, ends = interval(by_deal(own, own["points"]))
    half = "" if ends is None else f" ±{(ends[1] - ends[0]) / 2:.2f}"
    return f"{mean:.2f}{half}"


def by_deal(own: Rows, values: Any) -> Any:
    """Returns means over the bids of each deal: float64 (deals,)."""
    _, place = np.unique(own["block"], return_inverse=True)
    return np.bincount(place, weights=values) / np.bincount(place)
