"""Plots of bids: how often they are made, how far off they are, and the forecasts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ohhell_env.errors import OhHellError, nearest, shown
from ohhell_train import charts
from ohhell_train.bidding.calibration import CHANCE, POINTS, TRICKS, main_rows, mean_gap
from ohhell_train.bidding.shares import share
from ohhell_train.charts import COLOURS, MARKS, OFF_BY, Point
from ohhell_train.plots import sources
from ohhell_train.tournament.analysis.statistics import interval
from ohhell_train.tournament.pages.content import ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BY = {
    "hand_size": ("hand_size", "hand size (cards)"),
    "seat": ("place", "place in the bidding (1 = eldest)"),
    "bid": ("bid", "bid (tricks)"),
}
"""What bids can be grouped by: column of their table, and label."""
_UNITS = {
    CHANCE: ("chance to make the bid, forecast", "bids made"),
    POINTS: ("points a deal, forecast", "points a deal, mean"),
    TRICKS: ("chance of a number of tricks, forecast", "hands that won that number"),
}
_SIZES = 4
_OFF = charts.MADE


def made_rates(
    source: Any, by: str = "hand_size", *, ax: Axes | None = None, label: str = ""
) -> Axes:
    """Draws how often bids are made, with 95 % intervals.

    The intervals are Wilson's. In a tournament the same hand is played against several fields; it
    counts once in the interval, which errs on the safe side. Rates of fewer than 30 bids are left
    out, and the line has a gap there.

    Args:
        source: The bids of a player (a report of ``ohhell_train.bidding``, its rows, its folder)
            for one line, or a tournament (``Results``, their plain data, a file or folder) for a
            line for each entrant.
        by: "hand_size", "seat" (1 = eldest) or "bid".
        ax: The axes, which may already have lines; None makes a new figure.
        label: Name of the player of the bids.

    Raises:
        OhHellError: The source is something else, or there are more lines than colours.
    """
    if by not in BY:
        raise OhHellError(f"by: {nearest(by, BY)}, got {shown(by)}")
    if sources.is_tournament(source):
        lines = _tournament_lines(source, by)
    else:
        lines = {label: _bid_points(sources.bids_table(source), BY[by][0])}
    axes = charts.axes_or_new(ax)
    first = len(axes.containers)
    if first + len(lines) > len(COLOURS):
        raise OhHellError(f"a plot has colours for {len(COLOURS)} lines, got {first + len(lines)}")
    for place, (name, points) in enumerate(lines.items(), start=first):
        drawn = charts.with_gaps(points)
        said = _with_count(name, sum(point.cases for point in drawn))
        charts.draw_line(axes, drawn, COLOURS[place], MARKS[place], label=said)
    axes.set_xlabel(BY[by][1])
    axes.set_ylabel("bids made")
    axes.set_ylim(0.0, 1.0)
    charts.percent(axes.yaxis)
    charts.whole_numbers(axes)
    charts.tidy(axes)
    charts.legend(axes)
    return axes


def _with_count(name: str, bids: int) -> str:
    return f"{name}, n = {bids:,} bids" if name else f"n = {bids:,} bids"


def _bid_points(table: Sequence[dict[str, Any]], column: str) -> list[Point]:
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for row in table:
        counts[row[column]][0] += round(row["made_rate"] * row["hands"])
        counts[row[column]][1] += row["hands"]
    return [_share_point(key, *counts[key]) for key in sorted(counts)]


def _share_point(x: float, hits: int, count: int) -> Point:
    rate, low, high = share(hits, count)
    return Point(x, rate, count, (low, high))


def _tournament_lines(source: Any, by: str) -> dict[str, list[Point]]:
    data = sources.tournament_of(source)
    return {name: _entrant_points(data, name, by) for name in ranking(data)}


def _entrant_points(data: dict[str, Any], name: str, by: str) -> list[Point]:
    again = _times_played(data, name)
    points = []
    for key, row in data["entrants"][name][f"made_by_{by}"].items():
        rate, hands = row["made_rate"], max(1, round(row["deals"] / again))
        _, low, high = share(round(rate * hands), hands)
        points.append(Point(int(key), rate, row["deals"], (min(low, rate), max(high, rate))))
    return sorted(points)


def _times_played(data: dict[str, Any], name: str) -> int:
    """Returns how often an entrant plays the same hand in the same seat."""
    if data["design"] != "field":
        return 1
    if data["challenger"] not in (None, name):
        return data["players"] - 1  # in all seats but the challenger's, which rotates
    return len(data["entrants"]) - 1  # alone against each other entrant


def tricks_by_bid(source: Any, *, ax: Axes | None = None) -> Axes:
    """Draws the tricks won by bid, for up to four hand sizes, with 95 % intervals by Student's t.

    Means of fewer than 30 hands are left out, and the line has a gap there.

    Args:
        source: A report of ``ohhell_train.bidding``, or its rows.
        ax: The axes; None makes a new figure.

    Raises:
        OhHellError: The source is something else.
    """
    bids = sources.bids_rows(source)
    axes = charts.axes_or_new(ax)
    sizes = _common_sizes(bids)
    chosen = [sizes[int(at)] for at in np.linspace(0, len(sizes) - 1, min(_SIZES, len(sizes)))]
    for place, size in enumerate(chosen):
        own = bids[bids["hand_size"] == size]
        points = [
            _mean_point(bid, own["tricks"][own["bid"] == bid]) for bid in np.unique(own["bid"])
        ]
        label = f"{size} card{'s' if size > 1 else ''}, n = {len(own):,} bids"
        charts.draw_line(axes, charts.with_gaps(points), COLOURS[place], MARKS[place], label=label)
    highest = max(axes.get_xlim()[1], 1.0)
    axes.plot((0, highest), (0, highest), color="0.4", linestyle="--", label="made")
    axes.set_xlabel("bid (tricks)")
    axes.set_ylabel("tricks won, mean")
    axes.set_ylim(bottom=0.0)
    charts.whole_numbers(axes)
    charts.tidy(axes)
    charts.legend(axes)
    return axes


def _mean_point(x: Any, values: Any) -> Point:
    mean, ends = interval(values.astype(np.float64))
    return Point(int(x), mean, len(values), ends)


def _common_sizes(bids: Any) -> list[int]:
    """Returns the hand sizes with enough bids, or all if none has enough."""
    values, counts = np.unique(bids["hand_size"], return_counts=True)
    often = values[counts >= charts.FEW]
    return (often if len(often) else values).tolist()


def tricks_off(source: Any, *, ax: Axes | None = None) -> Axes:
    """Draws how far the tricks were from the bids, in divided bars.

    Args:
        source: The bids of a player (a report of ``ohhell_train.bidding``, or its rows) for a bar
            for each hand size, or a tournament (``Results``, their plain data, a file or folder)
            for a bar for each entrant.
        ax: The axes; None makes a new figure.

    Raises:
        OhHellError: The source is something else.
    """
    tournament = sources.is_tournament(source)
    axes = _off_by_entrant(source, ax) if tournament else _off_by_size(source, ax)
    handles, labels = axes.get_legend_handles_labels()
    order = slice(None) if tournament else slice(None, None, -1)  # the order of the parts
    charts.legend(axes, handles=handles[order], labels=labels[order])
    return axes


def _off_by_entrant(source: Any, ax: Axes | None) -> Axes:
    data = sources.tournament_of(source)
    rows = {name: data["entrants"][name] for name in ranking(data)}
    axes = charts.axes_or_new(ax, 6.4, 1.3 + 0.3 * len(rows))
    shares = [charts.off_shares(row["off_by"]) for row in rows.values()]
    charts.draw_parts(axes, range(len(rows)), shares, sideways=True)
    names = [f"{name}, n = {row['deals']:,}" for name, row in rows.items()]
    charts.lay_out_rows(axes, names)
    axes.set_xlabel("deals, by tricks off the bid")
    return axes


def _off_by_size(source: Any, ax: Axes | None) -> Axes:
    bids = sources.bids_rows(source)
    axes = charts.axes_or_new(ax, 6.4)
    sizes = _common_sizes(bids)
    off = np.clip(bids["tricks"].astype(np.int64) - bids["bid"], -_OFF, _OFF)
    shares = [
        [(off[bids["hand_size"] == size] == number - _OFF).mean() for number in range(len(OFF_BY))]
        for size in sizes
    ]
    charts.draw_parts(axes, sizes, shares)
    axes.set_xlabel("hand size (cards)")
    count = int(np.isin(bids["hand_size"], sizes).sum())
    axes.set_ylabel(f"hands, by tricks off the bid (n = {count:,})")
    charts.whole_numbers(axes)
    charts.bare(axes)
    return axes


def bid_calibration(
    source: Any, quantity: str | None = None, *, ax: Axes | None = None, label: str = ""
) -> Axes:
    """Draws a player's forecasts against the results, with 95 % intervals.

    Args:
        source: The bids of a player (a report of ``ohhell_train.bidding``, its rows, its folder),
            or rows of ``ohhell_train.bidding.calibration``.
        quantity: ``CHANCE``, ``POINTS`` or ``TRICKS`` of ``ohhell_train.bidding.calibration``; None
            takes the first of these with forecasts.
        ax: The axes, which may already have points; None makes a new figure.
        label: Name of the player.

    Raises:
        OhHellError: The player has no such forecasts.
    """
    rows = sources.calibration_table(source)
    kinds = [kind for kind in _UNITS if main_rows(rows, kind)]
    chosen = quantity if quantity is not None else (kinds or [CHANCE])[0]
    if chosen not in kinds:
        raise OhHellError(
            f"quantity: the player forecasts {' and '.join(map(repr, kinds)) or 'nothing'}, got "
            f"{shown(quantity)}"
        )
    axes = charts.axes_or_new(ax)
    place = len(axes.containers) % len(COLOURS)  # the next colour, if the axes already have points
    own = [row for row in main_rows(rows, chosen) if row["low"] != ""]
    points = [
        Point(row["predicted"], row["observed"], row["hands"], (row["low"], row["high"]))
        for row in own
    ]
    gap = mean_gap(rows, chosen)
    charts.draw_line(
        axes,
        points,
        COLOURS[place],
        MARKS[place],
        dash="" if chosen == TRICKS else "-",
        label=_with_count(label, gap[1] if gap else 0),
    )
    _diagonal(axes, points, chosen)
    charts.tidy(axes)
    charts.legend(axes)
    return axes


def _diagonal(axes: Axes, points: Sequence[Point], quantity: str) -> None:
    """Draws the diagonal of perfect forecasts over the range of the points, and labels the axes."""
    ends = [end for point in points for end in (point.x, point.y)]
    span = (min(ends, default=0.0), max(ends, default=1.0))
    first = len(axes.containers) == 1
    axes.plot(span, span, color="0.4", linestyle="--", label="as forecast" if first else None)
    forecast, seen = _UNITS[quantity]
    axes.set_xlabel(forecast)
    axes.set_ylabel(seen)
    if quantity != POINTS:
        charts.percent(axes.xaxis)
        charts.percent(axes.yaxis)
