"""Plots of what the project measures, one function for each plot.

Each function takes result objects or the files written from them. It draws on ``ax`` or on a new
figure, and returns the axes. The functions change nothing global: no settings, no ``pyplot``.
"""

from ohhell_train.charts import Point, draw_line
from ohhell_train.plots.bids import bid_calibration, made_rates, tricks_by_bid, tricks_off
from ohhell_train.plots.learning import learning_curves
from ohhell_train.plots.standings import standings

__all__ = [
    "Point",
    "bid_calibration",
    "draw_line",
    "learning_curves",
    "made_rates",
    "standings",
    "tricks_by_bid",
    "tricks_off",
]
