"""The report of a tournament for the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ohhell_train.tournament.analysis.results import Results

_PAIRS = 30
_WARNINGS = 10
_NAME = 20  # columns for a name, so that figures are not cut
"""Pairs and warnings shown at most; the files have them all."""


def print_report(results: Results, console: Console | None = None) -> None:
    """Prints standings and differences, each with its 95 % interval, and warnings."""
    console = console or Console()
    data = results.to_dict()
    say = _Say(console)
    say(headline(data))
    for title, table in _tables(data):
        say(f"\n{title}", style="italic")
        console.print(table)
    for entrant in results.entrants:
        if entrant.faults:
            out = "; disqualified and not asked again" if entrant.was_disqualified else ""
            out = "; given up for the rest of the tournament" if entrant.given_up else out
            say(
                f"{entrant.name}: {entrant.faults} faults, each replaced by a random legal move"
                f"{out}; the first: {entrant.first_fault}",
                style="bold red",
            )
    notes = [text for text in data["warnings"] if "fault" not in text]
    for text in notes[:_WARNINGS]:
        say(text, style="yellow")
    if len(notes) > _WARNINGS:
        say(f"... and {len(notes) - _WARNINGS} more in results.json", style="yellow")


LONGEST_NAME = 32
"""The longest name in reports, except in their standings, which have full names."""


def labels(names: Iterable[str], longest: int = LONGEST_NAME) -> dict[str, str]:
    """Returns for each name a unique one that is short enough for a table.

    The order of the names does not matter. A path keeps its last parts, which distinguish it.

    >>> labels(["random", "/home/ann/runs/quick-oh_hell/best"], 20)
    {'/home/ann/runs/quick-oh_hell/best': '…/quick-oh_hell/best', 'random': 'random'}
    """
    names = sorted(names)
    found: dict[str, str] = {}
    taken = {name for name in names if len(name) <= longest}
    for number, name in enumerate(names, start=1):
        label = name if len(name) <= longest else _last_parts(name, longest)
        if not label or (name != label and label in taken):
            end = f"… ({number})"
            label = name[: longest - len(end)] + end
            while label in taken:
                label += "'"
        taken.add(label)
        found[name] = label
    return found


def _last_parts(path: str, longest: int) -> str:
    """Returns as many last parts of a path as fit, or "" if none fits."""
    parts = re.split(r"[/\\]", path)
    ends = (f"…/{'/'.join(parts[first:])}" for first in range(1, len(parts)))
    return next((end for end in ends if len(end) <= longest), "")


class _Say:
    """Prints plain sentences."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def headline(data: dict[str, Any]) -> str:
    """Returns the settings of a tournament in one line, from the content of ``results.json``."""
    size, game = data["hand_size"], data["episode"] == "game"
    cards = "whole games" if game else "hand sizes of the schedule"
    cards = cards if size is None else f"{size} card{'s' if size > 1 else ''}"
    mixed = "" if data["design"] == "field" else "mixed tables, "
    what = "game" if game else "deal"
    text = (
        f"{data['variant']}, {data['players']} players, {cards}: {mixed}{data['blocks']:,} {what} "
        f"blocks, seed {data['seed']}; every {what} in every seat"
    )
    if data["stop"] is None:
        return text
    when = "stopped early" if data["blocks"] < data["planned_blocks"] else "not settled"
    return f"{text}; {when}, intervals hold at any time"


Ends = tuple[float, float] | None
"""The ends of a 95 % interval; None without one."""


def over(data: dict[str, Any], name: str) -> tuple[float, Ends] | None:
    """Returns the figure that ranks an entrant, with its interval: its advantage over the others.

    With a challenger it is the advantage over the challenger, which sat alone against it, because
    the others at its table include its own copies. None: the challenger itself.
    """
    found, key, sign = _ranked_by(data, name)
    if found is None:
        return None
    ci95 = found[key]
    ends = None if ci95 is None else (sign * ci95[0] + 0.0, sign * ci95[1] + 0.0)
    return sign * found["difference"] + 0.0, ends if ends is None or sign > 0 else ends[::-1]


def _ranked_by(data: dict[str, Any], name: str) -> tuple[dict[str, Any] | None, str, int]:
    """Returns the row with the difference of `over`, the key of its interval, and its sign."""
    challenger = data["challenger"]
    if challenger is None:
        return data["entrants"][name], "difference_ci95", 1
    if name == challenger:
        return None, "", 1
    pair = data["pairs"].get(f"{challenger}|{name}")
    return (data["entrants"][name], "difference_ci95", 1) if pair is None else (pair, "ci95", -1)


def ranking(data: dict[str, Any]) -> list[str]:
    """Returns the names of the entrants, the best first; see `over`."""

    def key(name: str) -> tuple[float, str]:
        found, _, sign = _ranked_by(data, name)
        return (0.0 if found is None else -sign * found["difference"]), name

    return sorted(data["entrants"], key=key)


def _tables(data: dict[str, Any]) -> Iterator[tuple[str, Table]]:
    """Yields each table with its title, which may be wider."""
    yield _standings(data)
    if len(data["pairs"]) <= _PAIRS:
        yield _differences(data)


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)


def _standings(data: dict[str, Any]) -> tuple[str, Table]:
    game = data["episode"] == "game"
    what = "Score of a game" if game else "Points a deal"
    how = "alone against a field of each other entrant" if data["design"] == "field" else "mixed"
    if data["challenger"] is not None:
        how = f"{data['challenger']} alone against a field of each other entrant"
    table = _table()
    table.add_column("entrant", overflow="ellipsis", no_wrap=True, min_width=9, max_width=_NAME)
    rows = [(name, data["entrants"][name]) for name in ranking(data)]
    short = labels(data["entrants"], _NAME)
    digits = 1 if game else 2
    others = "over others" if data["challenger"] is None else "over challenger"
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "points": lambda row: f"{row['mean_points']:.{digits}f}{_half(row['ci95'], digits)}",
        others: lambda row: _signed(row["over"], digits),
        "made": lambda row: f"{row['made_rate']:.3f}",
        "wins": lambda row: (
            f"{row['win_share']:.{digits + 1}f}" + _half(row["win_share_ci95"]) * game
        ),
    }
    if any("settlement" in row for _, row in rows):
        columns["paid"] = lambda row: f"{row['settlement']:+.0f}{_half(row['settlement_ci95'], 0)}"
    columns["rating"] = lambda row: rating_text(row["rating"])
    if any(row["faults"] for _, row in rows):
        columns["faults"] = lambda row: str(row["faults"])
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, row in rows:
        whole = row | {"over": over(data, name)}
        table.add_row(Text(short[name]), *(cell(whole) for cell in columns.values()))
    return f"{what}, {how}; ± 95 %", table


def rating_text(rating: dict[str, float | None] | None) -> str:
    """Returns a rating with twice its sigma: skill over the anchor if there is one, else mu."""
    if rating is None:
        return "-"
    if rating["above_anchor"] is None:
        return f"{rating['mu']:.1f} ± {2 * (rating['sigma'] or 0.0):.1f}"
    return f"{rating['above_anchor']:+.1f} ± {2 * (rating['above_anchor_sigma'] or 0.0):.1f}"


def _differences(data: dict[str, Any]) -> tuple[str, Table]:
    field = data["design"] == "field"
    what = "one seat against the rest of the table" if field else "of two at one table"
    table = _table()
    short = labels(data["entrants"], _NAME)
    for heading in ("one", "field of" if field else "and"):
        table.add_column(heading, overflow="ellipsis", no_wrap=True, min_width=9, max_width=_NAME)
    for heading in ("difference", "95 %", "blocks"):
        table.add_column(heading, justify="right", no_wrap=True)
    for names, row in data["pairs"].items():
        difference, blocks = f"{row['difference']:+.3f}", f"{row['blocks']:,}"
        pair = [Text(short[name]) for name in names.split("|")]
        table.add_row(*pair, difference, _span(row["ci95"]), blocks)
    return f"Points over it: {what}", table


def _span(ci95: list[float] | None) -> str:
    return "-" if ci95 is None else " to ".join(f"{bound:+.2f}" for bound in ci95)


def _signed(found: tuple[float, Ends] | None, digits: int) -> str:
    return "-" if found is None else f"{found[0]:+.{digits}f}{_half(found[1], digits)}"


def _half(ci95: Sequence[float] | None, digits: int = 2) -> str:
    return "" if ci95 is None else f" ± {(ci95[1] - ci95[0]) / 2:.{digits}f}"
