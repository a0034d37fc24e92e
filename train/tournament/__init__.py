"""Tournaments on duplicate deals: the same cards for everybody, in every seat.

``run_tournament`` plays one (``runner.py``), ``Results`` reckons and writes (``results.py``),
``cli_run`` does both for the command line.
"""

from __future__ import annotations

from train.tournament.cli import cli_run
from train.tournament.results import Results
from train.tournament.runner import run_tournament

__all__ = ["Results", "cli_run", "run_tournament"]
