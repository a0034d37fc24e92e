"""The report as Markdown for GitHub: the same as the page, without plots."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ohhell_env.records.notation import format_game
from ohhell_env.rules import Rules
from ohhell_env.rules.explain import explain_sections
from ohhell_train.tournament.pages import content
from ohhell_train.tournament.pages.content import Data, ReportTable
from ohhell_train.tournament.pages.samples import Sample


def markdown_page(
    data: Data,
    samples: Sequence[Sample] = (),
    timings: dict[str, Any] | None = None,
    title: str | None = None,
) -> str:
    """Returns the report of a tournament as Markdown.

    Args:
        data: The content of ``results.json``.
        samples: Sample games, see ``sample_games``.
        timings: The content of ``timings.json``; None leaves out the section "Times".
        title: Title of the report; None makes one from the rules.
    """
    parts = [
        f"# {escaped(title or content.the_title(data))}",
        escaped(content.verdict(data)),
        "\n".join(f"- **{term}**: {escaped(said)}" for term, said in content.what_was_played(data)),
        *_warnings(data),
        "## Standings",
        _table(content.standings_table(data)),
        "## Head to head",
        _table(content.matrix(data)),
        "## Comparisons",
        _table(content.comparisons(data)),
        "## Bids",
        *(_table(content.made_by(data, what, said)) for what, said, _ in content.MADE_BY),
        _table(content.off_by(data)),
    ]
    if timings is not None:
        said, table = content.times(data, timings)
        parts += ["## Times", f"This section depends on the clock. {said}", _table(table)]
    parts += [*_samples(data, samples), *_rules(data), *_reading(data)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Returns a text with all of Markdown's and HTML's special characters escaped."""
    text = re.sub(r":(?=\S)|(?<=www)\.", r"\\\g<0>", _plain(text))  # emoji and addresses
    return re.sub(r"^([0-9]*)([-+=.)])", r"\1\\\2", text)  # lists and underlined headings


def _plain(text: str) -> str:
    """Returns a number or one of our sentences, in which signs and colons can stay."""
    return re.sub(r"([\\`*_{}\[\]#|~$<>&@])", r"\\\1", re.sub(r"\s", " ", text))


def _table(table: ReportTable) -> str:
    heads = [_plain(column.heading) for column in table.columns]
    rules = [":--" if column.text else "--:" for column in table.columns]
    lines = [heads, rules]
    for row in table.rows:
        lines.append([_cell(cell.text, table.columns[at].text) for at, cell in enumerate(row)])
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{_plain(table.caption)}.\n\n{rows}"


def _cell(text: str, is_text: bool) -> str:
    return escaped(text) if is_text else _plain(text)


def _warnings(data: Data) -> Iterator[str]:
    said = content.warnings(data)
    if said:
        yield "## Warnings"
        yield "\n".join(f"- {escaped(text)}" for text in said)


def _samples(data: Data, samples: Sequence[Sample]) -> Iterator[str]:
    short = content.labels(data["entrants"])
    if samples:
        yield "## Sample games"
    for sample in samples:
        yield f"### {sample.title}"
        yield escaped(sample.caption)
        seats = [f"{seat} {short.get(name, name)}" for seat, name in enumerate(sample.seating)]
        yield f"Seats: {', '.join(map(escaped, seats))}."
        if sample.record is not None:
            yield f"```text\n{format_game(sample.record)}```"


def _rules(data: Data) -> Iterator[str]:
    yield "## The rules"
    for section in explain_sections(Rules.from_dict(data["rules"])):
        yield f"### {section.heading}"
        if section.sentences:
            yield "\n".join(f"- {_plain(sentence)}" for sentence in section.sentences)
        for table in section.tables:
            rows = [table.header, ("--:",) * len(table.header), *table.rows]
            cells = [[part if row is rows[1] else _plain(part) for part in row] for row in rows]
            lines = "\n".join(f"| {' | '.join(row)} |" for row in cells)
            yield f"{_plain(table.caption)}\n\n{lines}"


def _reading(data: Data) -> Iterator[str]:
    yield "## How to read this"
    yield "\n".join(f"- **{term}**: {_plain(said)}" for term, said in content.how_to_read(data))
    yield "## Play it again"
    yield f"```python\n{content.command(data)}```"
    yield _plain(content.repeat_note(data))
