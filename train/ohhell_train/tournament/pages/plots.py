"""Plots of a report: SVG for a page whose style sheet sets the colours.

Matplotlib draws in colours that stand for variables of the page (``--ink``, ``--series-1`` ...), so
that one drawing serves light and dark. Names of entrants never pass through Matplotlib, which would
read mathematics into them: ``@@3@@`` stands for the fourth until the drawing is done. Equal data
give equal text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from ohhell_env.extras import what_is_missing
from ohhell_train.charts import (
    OFF_BY,
    Point,
    Row,
    bare,
    draw_line,
    draw_parts,
    draw_rows,
    lay_out_rows,
    percent,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SERIES = 10
"""The most lines in one plot, because more would look too similar."""

_INK, _SOFT, _GRID, _PAPER = "#010101", "#020202", "#030303", "#040404"
_LINES = [f"#0505{number:02x}" for number in range(SERIES)]
_PARTS = [f"#0606{number:02x}" for number in range(len(OFF_BY))]
_VARIABLES = {
    _INK: "--ink",
    _SOFT: "--soft",
    _GRID: "--grid",
    _PAPER: "--paper",
    **{color: f"--series-{number}" for number, color in enumerate(_LINES, start=1)},
    **{color: f"--off-{number}" for number, color in enumerate(_PARTS, start=1)},
}
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
_WIDTH = 5.2  # inches; as wide as a phone, so that the text keeps its size there
_POINTS = 72.0
_ROW = 0.25  # inches
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 9.0,
    "text.parse_math": False,
    "text.color": _INK,
    "axes.edgecolor": _SOFT,
    "axes.labelcolor": _SOFT,
    "axes.facecolor": "none",
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "grid.color": _GRID,
    "figure.facecolor": "none",
}


def forest(key: str, label: str, rows: Sequence[Row], axis: str) -> str:
    """Returns values with their intervals, one row each, from the top.

    Args:
        key: Short name of the plot, for its ids.
        label: Description for readers who cannot see it.
        rows: The values.
        axis: Label of the axis.
    """

    def draw(figure: Figure) -> None:
        axes = _rows_axes(figure, len(rows), left=0.32, right=0.76)
        draw_rows(axes, rows, _LINES[0], _INK, _SOFT)
        axes.set_xlabel(axis)

    return _drawn(key, label, _rows_height(len(rows)), draw, [row.name for row in rows])


def off_by_bars(key: str, label: str, rows: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Returns one bar for each entrant, divided by tricks won less bid.

    Args:
        key: Short name of the plot.
        label: Description for readers who cannot see it.
        rows: Names, and the shares of `OFF_BY`.
    """

    def draw(figure: Figure) -> None:
        axes = _rows_axes(figure, len(rows), left=0.32, right=0.94)
        shares = [parts for _, parts in rows]
        draw_parts(axes, range(len(rows)), shares, sideways=True, colours=_PARTS, paper=_PAPER)
        axes.set_xlabel("share of the deals")

    return _drawn(key, label, _rows_height(len(rows)), draw, [name for name, _ in rows])


def curves(
    key: str,
    label: str,
    lines: Sequence[Sequence[Point]],
    axis: str,
    ticks: dict[float, str] | None = None,
) -> str:
    """Returns made rates as lines, numbered at their ends as in the standings.

    Args:
        key: Short name of the plot.
        label: Description for readers who cannot see it.
        lines: The points of each line, at most `SERIES` lines.
        axis: Label of the axis.
        ticks: Names of places on the axis; None shows whole numbers.
    """

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.145, 0.16, 0.8, 0.8))
        for number, points in enumerate(lines):
            dash = _DASHES[number % len(_DASHES)]
            draw_line(axes, points, _LINES[number], dash=dash, paper=_PAPER)
        _number_ends(axes, lines)
        places = [point.x for points in lines for point in points]
        axes.set_xlim(min(places) - 0.4, max(places) + 0.4)
        axes.set_ylim(-0.02, 1.02)
        axes.grid(axis="y", linewidth=0.6)
        if ticks is None:
            whole_numbers(axes)
        else:
            axes.set_xticks(list(ticks), list(ticks.values()))
        percent(axes.yaxis)
        bare(axes)
        axes.set_xlabel(axis)
        axes.set_ylabel("bids made")

    return _drawn(key, label, 3.1, draw, [])


def swatch(number: int) -> str:
    """Returns a piece of an entrant's line, for a legend; numbers count from 0."""
    dash = _DASHES[number % len(_DASHES)]
    pattern = "" if dash == "-" else " ".join(f"{2 * length:g}" for length in dash[1])
    return (
        '<svg class="swatch" viewBox="0 0 34 8" aria-hidden="true"><line x1="1" y1="4" x2="33" '
        f'y2="4" style="stroke: var(--series-{number + 1}); stroke-width: 3; '
        f'stroke-dasharray: {pattern or "none"}"/></svg>'
    )


def _number_ends(axes: Axes, lines: Sequence[Sequence[Point]]) -> None:
    """Writes the number of each line next to its last point, without overlaps."""
    apart = 0.052
    ends = sorted((line[-1].y, number) for number, line in enumerate(lines) if line)
    heights: list[float] = []
    for rate, _ in ends:
        heights.append(max(rate, heights[-1] + apart) if heights else rate)
    above = max(0.0, heights[-1] - 1.0) if heights else 0.0
    right = max((line[-1].x for line in lines if line), default=0.0)
    for (rate, number), height in zip(ends, heights, strict=True):
        end = lines[number][-1].x
        at = max(min(height - above, 1.0), rate - 0.3)
        offset = (6.0 if end == right else 4.0, 0.0)
        axes.annotate(
            str(number + 1),
            (end, at),
            offset,
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            fontweight="bold",
            color=_LINES[number],
        )


def _rows_height(rows: int) -> float:
    return rows * _ROW + 0.62


def _rows_axes(figure: Figure, rows: int, left: float, right: float) -> Axes:
    """Returns axes with one row for each name, with the names on the left."""
    height = _rows_height(rows)
    axes = figure.add_axes((left, 0.5 / height, right - left, rows * _ROW / height))
    lay_out_rows(axes, [f"@@{place}@@" for place in range(rows)], _INK)
    return axes


# ------------------------------------------------------------------------------ SVG


def _drawn(
    key: str, label: str, height: float, draw: Callable[[Figure], None], names: Sequence[str]
) -> str:
    """Returns the drawing of a figure; its text has the size of the page's text, if it fits.

    Without Matplotlib it returns a sentence, because a report is useful without plots, and every
    plot has its table.
    """
    try:
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        return f'<p class="soft">No plot here: it {escape(what_is_missing(error))}.</p>'

    with _settings(key):
        figure = Figure(figsize=(_WIDTH, height))
        FigureCanvasSVG(figure)
        draw(figure)
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=nothing)
    return _inline(buffer.getvalue(), key, label, height, names)


@contextmanager
def _settings(key: str) -> Iterator[None]:
    """Draws with this module's settings, and restores the user's afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in {**_SETTINGS, "svg.hashsalt": key}.items():
            matplotlib.rcParams[name] = value
        yield


def _inline(text: str, key: str, label: str, height: float, names: Sequence[str]) -> str:
    """Returns a drawing as an element of a page: no head, unique ids, page colours and font."""
    body = text[text.index("<svg") :].partition(">")[2]
    body = re.sub(r"<style.*?</style>|<metadata.*?</metadata>|<!--.*?-->", "", body, flags=re.S)
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    body = re.sub(r'\bid="', f'id="{key}-', body)
    body = re.sub(r'xlink:href="#', f'href="#{key}-', body).replace("url(#", f"url(#{key}-")
    body = re.sub(r"font: ((?:bold )?)([0-9.]+px)[^;\"]*", _font, body)
    body = re.sub(r"font-family: [^;\"]*; ", "", body)
    body = re.sub("|".join(_VARIABLES), lambda match: f"var({_VARIABLES[match[0]]})", body)
    body = re.sub("@@([0-9]+)@@", lambda match: escape(names[int(match[1])]), body)
    body = re.sub(r"\n\s*", "\n", body)
    size = f"0 0 {_WIDTH * _POINTS:g} {height * _POINTS:g}"
    head = f'<svg class="plot" role="img" aria-label="{escape(label)}" viewBox="{size}">'
    return head + body.strip()


def _font(match: re.Match[str]) -> str:
    weight = "; font-weight: bold" if match[1] else ""
    return f"font-size: {match[2]}{weight}"
