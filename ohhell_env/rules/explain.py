"""The rules of a game in plain words, generated from the settings alone.

``sentences.py`` writes the sentences; this module lays them out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from ohhell_env.errors import RulesError
from ohhell_env.rules.idle_settings import idle_settings
from ohhell_env.rules.phrases import changes
from ohhell_env.rules.rules import Rules
from ohhell_env.rules.sentences import BUILDERS, Table
from ohhell_env.rules.variants import VARIANTS

_WIDTH = 92
_LONGEST_VALUE = 60
"""Longer values of changed settings (a table of points) are cut."""


class Section(NamedTuple):
    """One part of the rules: sentences, then tables."""

    heading: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]


def explain(rules: Rules) -> str:
    """Returns the rules of a game in plain words, with its schedule and score table.

    >>> print(explain(Rules.preset("nomination_whist")).splitlines()[0])
    Nomination Whist, Contract Whist; 4 players
    """
    lines = [title(rules)]
    for sentence in _source(rules):
        lines += textwrap.wrap(sentence, _WIDTH)
    for section in explain_sections(rules):
        lines += ["", section.heading]
        for sentence in section.sentences:
            lines += _bullet(sentence)
        for table in section.tables:
            lines += ["", *_format_table(table)]
    return "\n".join(lines) + "\n"


def explain_sections(rules: Rules) -> tuple[Section, ...]:
    """Returns the text of ``explain`` part by part, without the parts that do not apply."""
    sections: list[Section] = []
    for heading, builder in BUILDERS:
        parts = list(builder(rules))
        if parts:
            sentences = tuple(part for part in parts if isinstance(part, str))
            tables = tuple(part for part in parts if isinstance(part, Table))
            sections.append(Section(heading, sentences, tables))
    return tuple(sections)


def title(rules: Rules) -> str:
    """Returns the headline: the variant's name at the table and the number of players."""
    variant = VARIANTS.get(rules.name)
    name = "Custom rules" if variant is None else variant.title
    return f"{name}; {rules.players} players"


def _source(rules: Rules) -> Iterator[str]:
    variant = VARIANTS.get(rules.name)
    if variant is not None:
        yield f"Variant: {rules.name}. Source: {variant.source}."
    try:
        base = Rules(players=rules.players) if variant is None else _preset(rules)
    except RulesError:  # the unchanged variant does not allow this number of players
        return
    changed = changes(rules, base)
    if variant is not None and changed:
        pairs = [f"{key} = {_shortened(value)}" for key, value in changed.items()]
        yield f"Changed here: {'; '.join(pairs)}."
    idle = idle_settings(rules, base, changed)
    if idle:
        pairs = [
            f"{key} = {_shortened(changed[key])}{f' ({wanted})' if wanted else ''}"
            for key, wanted in idle.items()
        ]
        yield f"No effect in this game: {'; '.join(pairs)}."


def _preset(rules: Rules) -> Rules:
    return Rules.preset(rules.name, rules.players)


def _shortened(value: object) -> str:
    return textwrap.shorten(str(value), _LONGEST_VALUE, placeholder=" ...")


def _bullet(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, _WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _format_table(table: Table) -> list[str]:
    rows = (table.header, *table.rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.header))]
    lines = [
        "    " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return [f"  {table.caption}", *lines]
