"""The report as one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ohhell_env.records.record import to_json
from ohhell_env.rules import Rules
from ohhell_env.rules.explain import explain_sections
from ohhell_train.charts import FEW, OFF_BY, Point, Row, off_shares
from ohhell_train.tournament.pages import content, plots
from ohhell_train.tournament.pages.content import Column, Data, ReportTable
from ohhell_train.tournament.pages.games import DealView, deal_views
from ohhell_train.tournament.pages.samples import Sample

OPEN_COMPARISONS = 40
OPEN_WARNINGS = 8
"""Warnings shown at once; the rest must be opened."""
_WIDE = 12
"""The most entrants with names on the matrix's columns."""
_PLOT_NAME = 19
"""The most characters of a name next to a plot."""


@dataclass(frozen=True)
class _Figure:
    """A plot, with its figures as a table."""

    title: str
    svg: str
    note: str
    table: ReportTable
    legend: list[tuple[str, str]] = field(default_factory=list)
    """Pieces of line, each with its entrant."""
    keys: bool = False
    """Whether the legend is for the parts of bars."""


@dataclass(frozen=True)
class _Game:
    """A sample game."""

    sample: Sample
    deals: list[DealView]
    link: str


def html_page(
    data: Data,
    samples: Sequence[Sample] = (),
    timings: dict[str, Any] | None = None,
    title: str | None = None,
) -> str:
    """Returns the report of a tournament as HTML.

    Args:
        data: The content of ``results.json``.
        samples: Sample games, see ``sample_games``.
        timings: The content of ``timings.json``; None leaves out the section "Times".
        title: Title of the page; None makes one from the rules.
    """
    compared, warnings = content.comparisons(data), content.warnings(data)
    return _template().render(
        content=content,
        data=data,
        title=title or content.the_title(data),
        rules=explain_sections(Rules.from_dict(data["rules"])),
        warnings=warnings[:OPEN_WARNINGS],
        more_warnings=warnings[OPEN_WARNINGS:],
        standings=content.standings_table(data),
        forest=_forest(data),
        matrix=_matrix(data),
        wide=len(data["entrants"]) > _WIDE,
        compared=_part(compared, 0, OPEN_COMPARISONS),
        more_compared=_part(compared, OPEN_COMPARISONS, None),
        figures=_figures(data),
        times=None if timings is None else content.times(data, timings),
        games=[_game(data, sample) for sample in samples],
        off_by=OFF_BY,
    )


def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ohhell_train.tournament.pages", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2")


def _part(table: ReportTable, start: int, end: int | None) -> ReportTable:
    rows = table.rows[start:end]
    return ReportTable(table.caption, table.columns, rows, table.head, table.kind)


def _matrix(data: Data) -> ReportTable:
    """Returns the matrix, with names on its columns if there is room."""
    table = content.matrix(data)
    if len(data["entrants"]) > _WIDE:
        return table
    heads = [Column(f"{head.heading}. {head.title}") for head in table.columns[1:]]
    return ReportTable(table.caption, [table.columns[0], *heads], table.rows, kind=table.kind)


def _numbered(data: Data) -> list[tuple[str, str]]:
    """Returns the entrants by rank: name, and number with a shortened name for a plot."""
    room = _PLOT_NAME - len(f"{len(data['entrants'])} ")
    short = content.labels(data["entrants"], room)
    ranked = enumerate(content.ranking(data), start=1)
    return [(name, f"{number} {short[name]}") for number, name in ranked]


def _forest(data: Data) -> str:
    rows = []
    for name, label in _numbered(data):
        value, ci95 = content.over(data, name) or (0.0, None)
        text = content.over_text(data, name).replace("-", "−")
        rows.append(Row(label, value, ci95, text))
    said = "; ".join(f"{row.name}: {row.text}" for row in rows[:20])
    what = "a game" if data["episode"] == "game" else "a deal"
    whom, where = "the others", "the others at the table"
    if data["challenger"] is not None:
        whom = where = "the challenger"
    label = f"Points over {whom} with 95 % intervals. {said}"
    return plots.forest("forest", label, rows, f"points {what} over {where}")


def _figures(data: Data) -> list[_Figure]:
    found = [_curves(data, *each) for each in content.MADE_BY]
    rows = [
        (label, off_shares(data["entrants"][name]["off_by"])) for name, label in _numbered(data)
    ]
    svg = plots.off_by_bars("off", "Bars: how far the tricks were from the bid. " + _TABLE, rows)
    table = content.off_by(data)
    found.append(_Figure("How far from the bid", svg, "", table, keys=True))
    return found


_TABLE = "The figures are in the table below the plot."


def _curves(data: Data, what: str, heading: str, axis: str) -> _Figure:
    names = content.ranking(data)[: plots.SERIES]
    rows = [data["entrants"][name][f"made_by_{what}"] for name in names]
    lines = [
        [Point(int(key), row[key]["made_rate"], row[key]["deals"]) for key in sorted(row, key=int)]
        for row in rows
    ]
    ticks = None
    if what == "seat":
        seats = range(1, data["players"] + 1)
        ticks = {float(seat): content.made_key(data, what, seat) for seat in seats}
    svg = plots.curves(f"made-{what}", f"Lines: {heading.lower()}. {_TABLE}", lines, axis, ticks)
    few = any(point.cases < FEW for points in lines for point in points)
    notes = [f"Hollow: fewer than {FEW} deals."] if few else []
    if len(data["entrants"]) > len(names):
        notes.append(f"Only the first {len(names)} of the standings; the table has all.")
    short = content.labels(data["entrants"])
    legend = [(plots.swatch(n), f"{n + 1} {short[name]}") for n, name in enumerate(names)]
    return _Figure(heading, svg, " ".join(notes), content.made_by(data, what, heading), legend)


def _game(data: Data, sample: Sample) -> _Game:
    if sample.record is None:
        return _Game(sample, [], "")
    short = content.labels(data["entrants"])
    names = [short.get(name, name) for name in sample.seating]
    code = base64.b64encode(to_json(sample.record).encode()).decode("ascii")
    link = f"data:application/json;base64,{code}"
    return _Game(sample, deal_views(sample.record, names), link)
