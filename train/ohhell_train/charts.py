"""The look of all plots: colours, axes and basic shapes.

The module knows nothing about bids or tournaments, and imports nothing else of the project.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

FEW = 30
"""Values of fewer cases are left out, or drawn hollow."""
OFF_BY = ("3 or more under", "2 under", "1 under", "made", "1 over", "2 over", "3 or more over")
"""The parts of a bar of tricks won less bid."""
MADE = OFF_BY.index("made")
# Okabe and Ito's colours remain distinct with colour blindness; the markers differ as well.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKS = "osD^vPX"
OFF_COLOURS = ("#08306b", "#2f79b5", "#9ecae1", "#4d9221", "#fdbe85", "#e6692b", "#8c2d04")
INK, SOFT, PAPER = "#111111", "#666666", "#ffffff"
_SHOWN_SHARE = 0.08
_LEGEND_WIDTH = 26
"""The longest line of a legend, in characters."""

Ends = tuple[float, float]
"""The ends of a 95 % interval."""


class Point(NamedTuple):
    """One value of a line."""

    x: float
    y: float
    cases: int
    """The number of cases behind the mean."""
    ends: Ends | None = None


class Row(NamedTuple):
    """One value with its interval, in a row of its own."""

    name: str
    value: float
    ends: Ends | None
    text: str
    """The text at its right."""


def axes_or_new(ax: Axes | None, width: float = 6.8, height: float = 3.6) -> Axes:
    """Returns the given axes, or the axes of a new figure.

    Args:
        ax: Axes, or None.
        width: Width of the new figure, in inches.
        height: Height of the new figure, in inches.
    """
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()


def bare(axes: Axes) -> None:
    """Removes the frame at the top and at the right."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=2.5)


def tidy(axes: Axes, grid: Any = "both") -> None:
    """Gives axes the look of all plots: a faint grid and no frame."""
    bare(axes)
    axes.set_axisbelow(True)
    axes.grid(axis=grid, linewidth=0.6, alpha=0.4)


def percent(axis: Any) -> None:
    """Formats the shares on an axis as percentages."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))


def whole_numbers(axes: Axes) -> None:
    """Puts ticks of the lower axis only at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    # Matplotlib prefers two ticks to whole numbers, for example with a single hand size
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def thousands(axes: Axes, whole: bool = False) -> None:
    """Puts few ticks on the lower axis, and commas into large numbers.

    Args:
        axes: The axes.
        whole: Whether all values are whole numbers.
    """
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    locator = MaxNLocator(5, integer=whole, min_n_ticks=1 if whole else 2)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))


def as_written(texts: Sequence[Text]) -> None:
    """Stops Matplotlib from reading mathematics into the names of players."""
    for text in texts:
        text.set_parse_math(False)


def legend(axes: Axes, **texts: Any) -> None:
    """Adds a legend at the right of the axes, with names exactly as written.

    There it covers neither the data nor a title. Long names are broken into lines, so that the axes
    keep their room.

    Args:
        axes: The axes.
        **texts: ``handles`` and ``labels``, if they are not those of the axes in their order.
    """
    found = axes.legend(
        frameon=False,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        fontsize="small",
        **texts,
    ).get_texts()
    as_written(found)
    for text in found:
        text.set_text(_broken(text.get_text()))


def _broken(label: str) -> str:
    """Returns a long label in lines, with the number of cases in a line of its own."""
    if len(label) <= _LEGEND_WIDTH:
        return label
    name, comma, cases = label.rpartition(", n ")
    lines = fill(name + comma[:1] if comma else label, _LEGEND_WIDTH)
    return f"{lines}\nn {cases}" if comma else lines


def common(points: Sequence[Point]) -> list[Point]:
    """Returns the values with enough cases, or all values if none has enough."""
    return [point for point in points if point.cases >= FEW] or list(points)


def with_gaps(points: Sequence[Point]) -> list[Point]:
    """Returns the values of ``common``, with NaN in place of those left out between them.

    The line then has a gap there.
    """
    kept = common(points)
    ends = (kept[0].x, kept[-1].x) if kept else (0.0, 0.0)
    between = [point for point in points if ends[0] <= point.x <= ends[1]]
    return [point if point in kept else Point(point.x, np.nan, 0) for point in between]


def draw_line(
    axes: Axes,
    points: Sequence[Point],
    colour: str = COLOURS[0],
    mark: str = "o",
    dash: Any = "-",
    label: str = "",
    paper: str = PAPER,
) -> None:
    """Draws values with their intervals; values of fewer than ``FEW`` cases are hollow.

    Args:
        axes: The axes.
        points: The values, in order; NaN is a gap in the line.
        colour: Colour of line, marks and intervals.
        mark: Marker of the values.
        dash: Style of the line between them; "" for no line.
        label: Text for the legend; empty for none.
        paper: Colour inside hollow marks.
    """
    xs, ys = [point.x for point in points], [point.y for point in points]
    axes.errorbar(
        xs,
        ys,
        yerr=_distances(points),
        color=colour,
        marker=mark,
        markersize=4.0,
        markeredgewidth=1.2,
        linestyle=dash or "none",
        linewidth=1.7,
        elinewidth=1.2,
        capsize=2.5,
        label=label or None,
        zorder=3,
    )
    few = [point for point in points if point.cases < FEW and np.isfinite(point.y)]
    axes.plot(
        [point.x for point in few],
        [point.y for point in few],
        mark,
        markersize=4.0,
        markerfacecolor=paper,
        markeredgecolor=colour,
        markeredgewidth=1.2,
        zorder=4,
    )


def _distances(points: Sequence[Point]) -> Any:
    """Returns the lengths of the bars below and above, or None if no value has an interval."""
    if all(point.ends is None for point in points):
        return None
    ends = np.array([point.ends or (np.nan, np.nan) for point in points])
    values = np.array([point.y for point in points])
    return np.maximum((values - ends[:, 0], ends[:, 1] - values), 0.0)


def lay_out_rows(axes: Axes, names: Sequence[str], ink: str = INK) -> None:
    """Gives axes one row for each name from the top, with the names on the left."""
    bare(axes)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    as_written(axes.get_yticklabels())
    axes.tick_params(axis="y", length=0.0, labelcolor=ink)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)


def draw_rows(
    axes: Axes, rows: Sequence[Row], colour: str = COLOURS[0], ink: str = INK, soft: str = SOFT
) -> None:
    """Draws values with their intervals, one row each; see ``lay_out_rows``."""
    axes.axvline(0.0, color=soft, linewidth=0.8, zorder=1)
    for place, row in enumerate(rows):
        if row.ends is not None:
            axes.plot(row.ends, (place, place), color=colour, linewidth=2.0, zorder=2)
        axes.plot(row.value, place, "o", color=ink, markersize=4.5, zorder=3)
        axes.text(
            1.03, place, row.text, ha="left", va="center", transform=axes.get_yaxis_transform()
        )
    axes.grid(axis="x", linewidth=0.6)


def draw_parts(
    axes: Axes,
    places: Sequence[float],
    shares: ArrayLike,
    sideways: bool = False,
    colours: Sequence[str] = OFF_COLOURS,
    paper: str = PAPER,
) -> None:
    """Draws bars divided by tricks won less bid.

    Args:
        axes: The axes.
        places: Positions of the bars.
        shares: (bars, ``OFF_BY``).
        sideways: Whether the bars are horizontal.
        colours: Colours of the parts.
        paper: Colour between the parts, and of the text in them.
    """
    parts = np.asarray(shares, dtype=np.float64)
    starts = np.cumsum(parts, axis=1) - parts
    for number, name in enumerate(OFF_BY):
        how = {"color": colours[number], "edgecolor": paper, "linewidth": 0.5, "label": name}
        if sideways:
            axes.barh(places, parts[:, number], 0.72, left=starts[:, number], **how)
        else:
            axes.bar(places, parts[:, number], 0.8, bottom=starts[:, number], **how)
    for place, start, share in zip(places, starts[:, MADE], parts[:, MADE], strict=True):
        if sideways and share > _SHOWN_SHARE:  # upright bars are too narrow
            at = start + share / 2, place
            axes.text(*at, f"{share:.0%}", ha="center", va="center", fontsize=8, color=paper)
    ends, axis = (axes.set_xlim, axes.xaxis) if sideways else (axes.set_ylim, axes.yaxis)
    ends(0.0, 1.0)
    percent(axis)


def off_shares(off_by: Mapping[str, float]) -> list[float]:
    """Returns the shares of ``OFF_BY`` from shares by tricks won less bid."""
    shares = [0.0] * len(OFF_BY)
    for key, part in off_by.items():
        shares[MADE + max(-MADE, min(MADE, int(key)))] += part
    return shares
