"""The report of a tournament for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from train.tournament.results import Results


def print_report(results: Results, console: Console | None = None) -> None:
    """Prints standings and differences, each with its 95 % interval."""
    console = console or Console()
    data = results.to_dict()
    size = results.hand_size
    cards = "hand sizes of the schedule" if size is None else f"{size} cards"
    console.print(
        f"{data['variant']}, {data['players']} players, {cards}: {data['blocks']} deal blocks, "
        f"seed {data['seed']}; every deal in every seat",
        highlight=False,
    )
    console.print(_standings(data["entrants"]))
    console.print(_differences(data["pairs"]))
    for entrant in results.entrants:
        if entrant.faults:
            out = "; disqualified, not asked any more" if entrant.disqualified else ""
            console.print(
                f"{entrant.name}: {entrant.faults} faults, each replaced by a random legal move"
                f"{out}; the first: {entrant.first_fault}",
                style="bold red",
                markup=False,
                highlight=False,
            )


def _standings(entrants: dict[str, Any]) -> Table:
    table = Table(title="Points a deal, alone against a field of each other entrant")
    table.add_column("entrant", overflow="fold")
    for heading in ("points, 95 %", "over the others", "made", "wins", "rating", "faults"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, row in sorted(entrants.items(), key=lambda item: -item[1]["difference"]):
        rating = row["rating"]
        table.add_row(
            name,
            f"{row['mean_points']:.2f}{_half(row['ci95'])}",
            f"{row['difference']:+.2f}{_half(row['difference_ci95'])}",
            f"{row['made_rate']:.3f}",
            f"{row['win_share']:.3f}",
            "-" if rating is None else f"{rating['mu']:.1f}",
            str(row["faults"]),
        )
    return table


def _differences(pairs: dict[str, Any]) -> Table:
    table = Table(title="Difference in points a deal: one seat against the rest of the table")
    for heading in ("one", "field of"):
        table.add_column(heading, overflow="fold")
    for heading in ("difference", "95 %", "made"):
        table.add_column(heading, justify="right", no_wrap=True)
    for names, row in pairs.items():
        difference, made = f"{row['difference']:+.3f}", f"{row['made_rate']:.3f}"
        table.add_row(*names.split("|"), difference, _span(row["ci95"]), made)
    return table


def _span(ci95: list[float] | None) -> str:
    return "-" if ci95 is None else " to ".join(f"{bound:+.2f}" for bound in ci95)


def _half(ci95: list[float] | None) -> str:
    return "" if ci95 is None else f" ± {(ci95[1] - ci95[0]) / 2:.2f}"
