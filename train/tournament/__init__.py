"""Tournaments on duplicate deals: the same cards for everybody, in every seat.

``run_tournament`` plays one (``runner.py``), ``Results`` reckons and writes (``results.py``),
``cli_run`` does both for the command line, ``open_store`` reads what was kept (``store.py``).
"""

from __future__ import annotations

from train.tournament.cli import cli_run
from train.tournament.config import TournamentConfig
from train.tournament.results import Results
from train.tournament.runner import run_tournament
from train.tournament.store import open_store

__all__ = ["Results", "TournamentConfig", "cli_run", "open_store", "run_tournament"]
