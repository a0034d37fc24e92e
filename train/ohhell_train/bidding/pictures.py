"""Pictures of a player's bidding, as PNG: the plots of ``ohhell_train.plots`` side by side."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ohhell_env.engine.layout import Rows
from ohhell_train import plots
from ohhell_train.bidding.calibration import CHANCE, POINTS, TRICKS, main_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SETTINGS: dict[Any, Any] = {"font.size": 10.0, "text.parse_math": False}

CalibrationRows = Sequence[dict[str, Any]]


def draw_made_rates(bids: Rows, title: str) -> bytes:
    """Returns a picture of the made rates by hand size and by bid, with 95 % intervals."""

    def draw(figure: Figure) -> None:
        by_size, by_bid = figure.subplots(1, 2, sharey=True)
        plots.made_rates(bids, "hand_size", ax=by_size)
        plots.made_rates(bids, "bid", ax=by_bid)

    return _drawn(title, draw)


def draw_tricks(bids: Rows, title: str) -> bytes:
    """Returns a picture of tricks won by bid, and of how far off the bids are, by hand size."""

    def draw(figure: Figure) -> None:
        by_bid, off_by = figure.subplots(1, 2)
        plots.tricks_by_bid(bids, ax=by_bid)
        plots.tricks_off(bids, ax=off_by)

    return _drawn(title, draw)


def draw_calibration(rows: CalibrationRows, title: str) -> bytes:
    """Returns a picture of forecasts against results, a panel for each kind of forecast.

    Args:
        rows: The rows of ``calibration_rows``, at least one.
        title: Title of the picture.
    """
    kinds = [kind for kind in (CHANCE, POINTS, TRICKS) if main_rows(rows, kind)]

    def draw(figure: Figure) -> None:
        for axes, kind in zip(np.ravel(figure.subplots(1, len(kinds))), kinds, strict=True):
            plots.bid_calibration(list(rows), kind, ax=axes)

    return _drawn(title, draw, max(len(kinds), 1.3))


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
