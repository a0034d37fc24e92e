"""Pictures of a player's bidding, as PNG."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ohhell_env.engine.layout import Rows
from train.bidding.calibration import CHANCE, POINTS, TRICKS, main_rows
from train.bidding.shares import share
from train.tournament.statistics import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 30
"""A mean of fewer hands is not drawn."""
_SIZES = 4
_OFF = 3
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # told apart by the colour-blind, too
_OFF_COLOURS = ("#08306b", "#2f79b5", "#9ecae1", "#4d9221", "#fdbe85", "#e6692b", "#8c2d04")
_MARKS = "osD^"
_SETTINGS: dict[Any, Any] = {
    "font.size": 10.0,
    "text.parse_math": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
}

Rate = tuple[float, float, float]
"""A value and the ends of its interval."""
CalibrationRows = Sequence[dict[str, Any]]


def made_rates(bids: Rows, title: str) -> bytes:
    """Returns how often bids are made, by hand size and by bid, with 95 % intervals."""

    def draw(figure: Figure) -> None:
        by_size, by_bid = figure.subplots(1, 2, sharey=True)
        for axes, column, label in (
            (by_size, "hand_size", "hand size (cards)"),
            (by_bid, "bid", "bid (tricks)"),
        ):
            keys = _common(bids, column)
            rates = [_made(bids[bids[column] == key]) for key in keys]
            _with_intervals(axes, keys, rates, _COLOURS[0], "o", "")
            axes.set_xlabel(label)
            _whole_numbers(axes, keys)
        by_size.set_ylabel("share of bids made")
        by_size.set_ylim(0.0, 1.0)

    return _drawn(title, draw)


def tricks(bids: Rows, title: str) -> bytes:
    """Returns the tricks won by bid, and how far off the bids are, by hand size."""

    def draw(figure: Figure) -> None:
        by_bid, off_by = figure.subplots(1, 2)
        sizes = _common(bids, "hand_size")
        chosen = [sizes[int(at)] for at in np.linspace(0, len(sizes) - 1, min(_SIZES, len(sizes)))]
        for place, size in enumerate(chosen):
            own = bids[bids["hand_size"] == size]
            keys = _common(own, "bid")
            means = [_mean(own["tricks"][own["bid"] == bid]) for bid in keys]
            label = f"{size} card{'s' if size > 1 else ''}"
            _with_intervals(by_bid, keys, means, _COLOURS[place], _MARKS[place], label)
        highest = max(by_bid.get_xlim()[1], 1.0)
        by_bid.plot((0, highest), (0, highest), color="0.4", linestyle="--", label="made")
        by_bid.set_xlabel("bid (tricks)")
        by_bid.set_ylabel("tricks won, mean")
        by_bid.set_ylim(bottom=0.0)
        by_bid.legend(frameon=False)
        _off_bars(off_by, bids, sizes)

    return _drawn(title, draw)


def calibration(rows: CalibrationRows, title: str) -> bytes:
    """Returns what was foretold against what happened, a panel for each kind of forecast.

    Args:
        rows: As ``calibration.calibration`` returns them; at least one.
        title: Of the picture.
    """
    kinds = [kind for kind in (CHANCE, POINTS, TRICKS) if main_rows(rows, kind)]
    units = {
        CHANCE: ("chance to make the bid, foretold", "share of bids made"),
        POINTS: ("points a deal, foretold", "points a deal, mean"),
        TRICKS: ("chance of a number of tricks, foretold", "share of hands that won so many"),
    }

    def draw(figure: Figure) -> None:
        for axes, kind in zip(np.ravel(figure.subplots(1, len(kinds))), kinds, strict=True):
            own = [row for row in main_rows(rows, kind) if row["low"] != ""]
            foretold = [row["predicted"] for row in own]
            seen = [(row["observed"], row["low"], row["high"]) for row in own]
            _with_intervals(axes, foretold, seen, _COLOURS[0], "o", "", line=kind != TRICKS)
            ends = [*foretold, *(row["observed"] for row in own)]
            span = (min(ends), max(ends))
            axes.plot(span, span, color="0.4", linestyle="--", label="as foretold")
            axes.set_xlabel(units[kind][0])
            axes.set_ylabel(units[kind][1])
            axes.legend(frameon=False)

    return _drawn(title, draw, max(len(kinds), 1.3))


def _common(bids: Rows, column: str) -> list[int]:
    """Returns the values of a column that came up often enough, or all if none did."""
    values, counts = np.unique(bids[column], return_counts=True)
    often = values[counts >= FEW]
    return (often if len(often) else values).tolist()


def _made(own: Rows) -> Rate:
    return share(int((own["bid"] == own["tricks"]).sum()), len(own))


def _mean(values: Any) -> Rate:
    mean, ends = interval(values.astype(np.float64))
    return (mean, *(ends or (mean, mean)))


def _with_intervals(
    axes: Axes,
    places: Sequence[float],
    rates: Sequence[Rate],
    colour: str,
    mark: str,
    label: str,
    line: bool = True,
) -> None:
    values, low, high = np.array(rates).reshape(-1, 3).T
    axes.errorbar(
        places,
        values,
        yerr=np.maximum((values - low, high - values), 0.0),
        fmt=f"{mark}-" if line else mark,
        color=colour,
        markersize=4.5,
        linewidth=1.2,
        capsize=2.5,
        label=label or None,
    )


def _off_bars(axes: Axes, bids: Rows, sizes: Sequence[int]) -> None:
    """Draws one bar for each hand size, divided by how far the tricks were from the bid."""
    off = np.clip(bids["tricks"].astype(np.int64) - bids["bid"], -_OFF, _OFF)
    lowest = np.zeros(len(sizes))
    for place, tricks_off in enumerate(range(-_OFF, _OFF + 1)):
        parts = np.array([(off[bids["hand_size"] == size] == tricks_off).mean() for size in sizes])
        axes.bar(
            sizes, parts, 0.8, bottom=lowest, color=_OFF_COLOURS[place], label=_off(tricks_off)
        )
        lowest += parts
    axes.set_xlabel("hand size (cards)")
    axes.set_ylabel("share of hands, by tricks off the bid")
    axes.set_ylim(0.0, 1.0)
    _whole_numbers(axes, sizes)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1], labels[::-1], frameon=False, loc="center left", bbox_to_anchor=(1, 0.5)
    )


def _off(tricks_off: int) -> str:
    if tricks_off == 0:
        return "made"
    more = " or more" if abs(tricks_off) == _OFF else ""
    return f"{abs(tricks_off)}{more} {'over' if tricks_off > 0 else 'under'}"


def _whole_numbers(axes: Axes, places: Sequence[int]) -> None:
    step = max(1, len(places) // 10)
    axes.set_xticks(places[::step])


def _drawn(title: str, draw: Callable[[Figure], None], panels: float = 2.0) -> bytes:
    """Returns a picture as PNG, drawn without a screen and without global settings."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(_SETTINGS):
        figure = Figure(figsize=(5.0 * panels, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        figure.suptitle(title, fontsize=10.5)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=130)
    return content.getvalue()
