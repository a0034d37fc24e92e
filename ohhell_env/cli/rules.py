"""``ohhell rules``: prints a variant as text or as settings, or lists all variants."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ohhell_env.errors import RulesError, shown
from ohhell_env.rules import as_rules
from ohhell_env.rules.explain import explain, title
from ohhell_env.rules.variants import VARIANTS
from ohhell_env.rules.yaml_text import read_yaml


def rules(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE.yaml", help="A variant or a file. Default: list all."),
    ] = None,
    players: Annotated[int | None, typer.Option(help="Number of players, 2 to 8.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting: bidding.hook=none."),
    ] = None,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print the settings as YAML.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the settings as JSON.")] = False,
) -> None:
    """Prints the rules of a game in plain words, or its settings for you to save and edit."""
    if as_yaml and as_json:
        raise RulesError("--yaml and --json: choose one of them")
    if name is None:
        if players is not None or changes or as_yaml or as_json:
            raise RulesError("options need a variant or a YAML file, as in: rules oh_hell --yaml")
        print(variant_list(), end="")
        return
    chosen = as_rules(name, players)
    chosen = chosen.replace(**parse_changes(changes or []))
    if as_json:
        print(json.dumps(chosen.to_dict(), indent=2))
    elif as_yaml:
        print(f"# {title(chosen)}. What each setting means: docs/rules.md.")
        print(chosen.to_yaml(), end="")
    else:
        print(explain(chosen), end="")


def parse_changes(texts: list[str]) -> dict[str, Any]:
    """Returns settings from "key=value" texts, each value read as YAML.

    >>> parse_changes(["bidding.hook=none", "schedule.sizes=[3, 2, 1]"])
    {'bidding.hook': 'none', 'schedule.sizes': [3, 2, 1]}

    Raises:
        RulesError: A text is not of this form.
    """
    changes: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise RulesError(f"--set {shown(text)}: write key=value, as in --set bidding.hook=none")
        try:
            changes[key.strip()] = read_yaml(value)
        except RulesError as error:
            raise RulesError(f"--set {shown(text)}: not a YAML value: {error}") from None
    return changes


def variant_list() -> str:
    """Returns one line for each variant: name, usual players, title, source."""
    rows = [("name", "players", "title", "source")]
    for name, variant in VARIANTS.items():
        low, high = variant.usual
        rows.append((name, f"{low}-{high}", variant.title, variant.source))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines) + "\n"
