"""A plot of the standings of a tournament."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ohhell_env.errors import OhHellError, nearest, shown
from ohhell_train import charts
from ohhell_train.charts import Row
from ohhell_train.plots import sources
from ohhell_train.tournament.pages.content import ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = {
    "difference": ("difference_ci95", "points a {what} over the others at the table"),
    "mean_points": ("ci95", "points a {what}"),
    "made_rate": ("made_rate_ci95", "bids made"),
    "win_share": ("win_share_ci95", "share of the wins"),
}
"""What can be shown of an entrant: its interval in ``results.json``, and label."""
_SHARES = ("made_rate", "win_share")


def standings(source: Any, what: str = "difference", *, ax: Axes | None = None) -> Axes:
    """Draws the entrants of a tournament in their order, with 95 % intervals over blocks.

    Args:
        source: ``Results``, their plain data, ``results.json``, or its folder.
        what: "difference" (from the others at the table), "mean_points", "made_rate", "win_share".
        ax: The axes; None makes a new figure.

    Raises:
        OhHellError: The source is something else.
    """
    if what not in MEASURES:
        raise OhHellError(f"what: {nearest(what, MEASURES)}, got {shown(what)}")
    data = sources.tournament_of(source)
    rows = [_row(data, name, what) for name in ranking(data)]
    axes = charts.axes_or_new(ax, 6.4, 1.1 + 0.3 * len(rows))
    charts.lay_out_rows(axes, [row.name for row in rows])
    charts.draw_rows(axes, rows)
    axes.grid(axis="x", linewidth=0.6, alpha=0.4)
    game = data["episode"] == "game"
    label = MEASURES[what][1].format(what="game" if game else "deal")
    blocks = f"n = {data['blocks']:,} {'games' if game else 'deals'}, each in every seat"
    axes.set_xlabel(f"{label}\n({blocks}; 95 % intervals)")
    if what in _SHARES:
        charts.percent(axes.xaxis)
        axes.set_xlim(0.0, 1.0)
    return axes


def _row(data: dict[str, Any], name: str, what: str) -> Row:
    figures = data["entrants"][name]
    value, ends = figures[what], figures[MEASURES[what][0]]
    half = None if ends is None else (ends[1] - ends[0]) / 2
    if what in _SHARES:
        text = f"{value:.1%}" + ("" if half is None else f" ± {100 * half:.1f}")
    else:
        text = f"{value:+.2f}" + ("" if half is None else f" ± {half:.2f}")
    return Row(name, value, ends and tuple(ends), text.replace("-", "−"))
