"""What ``python -m train tournament`` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ohhell_env.rules import RulesLike
from train.tournament.entrants import EntrantLike
from train.tournament.report import print_report
from train.tournament.results import Results, check_writable
from train.tournament.runner import run_tournament


def _use_one_thread() -> None:
    """Keeps torch to one thread, whether it is loaded already or will be with the first network.

    With company on the machine two threads are ten times slower than one.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def cli_run(
    entrants: Sequence[EntrantLike],
    rules: RulesLike,
    players: int | None = None,
    deals: int = 1000,
    seed: int = 0,
    out: str | Path | None = None,
    hand_size: int | None = None,
    progress: bool = True,
) -> Results:
    """Runs a tournament with a progress bar, writes its files and prints the report.

    Args:
        entrants: As for ``run_tournament``.
        rules: Rules, the name of a variant, or the path of a YAML file.
        players: Overrides the number of players of the rules.
        deals: Number of deal blocks.
        seed: Decides the cards and all chance.
        out: Folder for ``results.json`` and ``timings.json``; None: they are not written.
        hand_size: The only hand size; None: as the schedule has them.
        progress: Whether to show a progress bar.

    Raises:
        OhHellError: Anything in the arguments that cannot be used.
    """
    if out is not None:
        check_writable(out)
    _use_one_thread()
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    bar = Progress(*columns, TimeRemainingColumn(), console=console, disable=not progress)
    with bar:
        task = bar.add_task("tournament", total=None)
        results = run_tournament(
            entrants,
            rules,
            deals,
            seed,
            hand_size=hand_size,
            players=players,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if out is not None:
        path = results.save(out)
        console.print(f"written: {path}", markup=False, highlight=False)
    print_report(results, console)
    return results
