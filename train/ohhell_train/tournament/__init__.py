"""Tournaments on duplicate deals: the same cards for everybody, in every seat.

``run_tournament`` plays one (``runner.py``), ``Results`` computes and writes the figures
(``results.py``), ``cli_run`` does both for the command line, and ``open_store`` reads the tables
played (``store.py``).
"""

from __future__ import annotations

from ohhell_train.tournament.analysis.results import Results
from ohhell_train.tournament.cli import cli_run
from ohhell_train.tournament.config import TournamentConfig
from ohhell_train.tournament.runner import run_tournament
from ohhell_train.tournament.store import open_store

__all__ = ["Results", "TournamentConfig", "cli_run", "open_store", "run_tournament"]
