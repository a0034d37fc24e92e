"""Tables for the rules page: variants, hand sizes, scorings, every setting."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import types
import typing
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

from docs.blocks.markdown import prose, table, written
from ohhell_env.cards import Pack
from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules
from ohhell_env.rules import schedule as plan
from ohhell_env.rules.axes import SCORINGS, Bidding, End, Play, Schedule, Scoring, Settlement, Trump
from ohhell_env.rules.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.rules.explain import explain
from ohhell_env.rules.phrases import (
    changes,
    compact,
    made_words,
    missed_words,
    nil_words,
    removed_words,
    scoring_name,
)
from ohhell_env.rules.settings import field_types, to_plain
from ohhell_env.rules.variants import VARIANTS

_AXES: dict[str, type] = {
    "": Rules,
    "pack": Pack,
    "schedule": Schedule,
    "trump": Trump,
    "bidding": Bidding,
    "play": Play,
    "scoring": Scoring,
    "end": End,
    "settlement": Settlement,
}
_PLAYERS = range(MIN_PLAYERS, MAX_PLAYERS + 1)


def variants_table() -> str:
    """Returns the table of variants: names, players, source, and changes from the defaults."""
    names = ("Name", "At the table", "Also known as")
    return table((*names, "Players", "Differs from the defaults", "Source"), _rows())


def _rows() -> Iterator[tuple[str, ...]]:
    for name, variant in VARIANTS.items():
        rules = Rules.preset(name)
        differing = _changed(rules) or "nothing"
        low, high = variant.usual
        also = ", ".join(f"`{other}`" for other in variant.also) or "-"
        yield f"`{name}`", variant.title, also, f"{low} to {high}", differing, variant.source


def _changed(rules: Rules) -> str:
    found = changes(rules, Rules(players=rules.players))
    removed = found.pop("pack.removed", None)
    words = [f"`{key}: {written(value)}`" for key, value in found.items()]
    if removed is not None:
        words.insert(0, f"removed: {removed_words(rules.pack)}")
    return ", ".join(words)


def hand_sizes_table() -> str:
    """Returns the table of hand sizes, by variant and number of players."""
    header = ("Variant", *(f"{players} players" for players in _PLAYERS))
    rows = ((f"`{name}`", *(_sizes(name, players) for players in _PLAYERS)) for name in VARIANTS)
    return table(header, rows)


def _sizes(name: str, players: int) -> str:
    try:
        rules = Rules.preset(name, players)
    except RulesError:
        return "-"
    sizes = compact(plan.hand_sizes(rules))
    if rules.end.target is not None:
        return f"always {sizes} (at most {plan.num_deals(rules)})"
    return f"{sizes} ({plan.num_deals(rules)})"


def scorings_table() -> str:
    """Returns the table of named scorings, with the variants that use them."""
    header = ("Name", "A made bid", "A missed bid", "A nil", "Used by")
    return table(header, (_scoring_row(name, one) for name, one in SCORINGS.items()))


def _scoring_row(name: str, scoring: Scoring) -> tuple[str, ...]:
    nils = [
        f"{label} {nil_words(nil)}"
        for label, nil in (("made:", scoring.nil_made), ("missed:", scoring.nil_missed))
        if nil is not None
    ]
    users = [f"`{v}`" for v in VARIANTS if scoring_name(Rules.preset(v).scoring) == name]
    return (
        f"`{name}`",
        made_words(scoring),
        missed_words(scoring),
        "; ".join(nils) or "as any bid",
        ", ".join(users) or "no variant",
    )


def axes_table() -> str:
    """Returns the tables of settings, one for each axis: allowed values, default, meaning."""
    parts: list[str] = []
    for prefix, cls in _AXES.items():
        if prefix:
            about = prose((inspect.getdoc(cls) or "").splitlines()[0])
            parts.append(f"\n**`{prefix}`**: {about}\n\n")
        parts.append(table(("Setting", "Allowed", "Default", "Meaning"), _settings(prefix, cls)))
    return "".join(parts)


def _settings(prefix: str, cls: type) -> Iterator[tuple[str, ...]]:
    meanings, defaults = field_docs(cls), to_plain(cls())
    for key, annotation in field_types(cls).items():
        if not dataclasses.is_dataclass(annotation):
            name = f"{prefix}.{key}" if prefix else key
            default = written(defaults[key])
            yield f"`{name}`", allowed(annotation), f"`{default}`", prose(meanings.get(key, ""))


def field_docs(cls: type) -> dict[str, str]:
    """Returns the docstring under each field of a dataclass, on one line."""
    source = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(source, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, after in pairwise(source.body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=text)):
                docs[name] = " ".join(str(text).split())
    return docs


def allowed(annotation: Any) -> str:
    """Returns the allowed values of a setting in words, from its annotation."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(allowed(part) for part in parts)
    if origin is tuple:
        items = allowed(parts[0]).removeprefix("a ")
        return "list of " + (items if "numbers" in items else items.replace("number", "numbers"))
    words = {int: "a whole number", float: "a number", bool: "`true`, `false`", str: "text"}
    if annotation is types.NoneType:
        return "`null`"
    if dataclasses.is_dataclass(annotation):
        return f"`{{{', '.join(field_types(typing.cast(type, annotation)))}}}`"
    return words[annotation]


def example() -> str:
    """Returns the output of ``rules`` for a game with several kinds of trumps."""
    return f"```\n{explain(Rules.preset('spruce', 3))}```\n"
