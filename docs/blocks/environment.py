"""The environment's manual, from the docstring in which it stands, and the observation's tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docs.blocks.markdown import prose, table, words
from ohhell_env import state
from ohhell_env.actions import BID_BASE, NUM_ACTIONS, TRUMP_BASE, action_name, card_action
from ohhell_env.cards import STANDARD_PACK
from ohhell_env.observation import layout_of, rule_features_table, section_table
from ohhell_env.rules import Rules

MANUAL = Path(__file__).resolve().parent.parent.parent / "ohhell_env" / "envs" / "aec.py"
_SECTION = re.compile(r"^(\w[\w ]*):\n((?:    .*\n|\n)+)", re.MULTILINE)
_ARGUMENT = re.compile(r"^(\w+) {2,}(.*(?:\n {2,}.*)*)", re.MULTILINE)
_LITERAL = re.compile(r"::\n\n((?:    .*\n|\n)+)")


def manual() -> str:
    """The docstring of the environment's module, a heading for each of its sections."""
    text = ast.get_docstring(ast.parse(MANUAL.read_text(encoding="utf-8"))) or ""
    start = next(_SECTION.finditer(text)).start()
    _, _, opening = text[:start].partition("\n\n")
    shown = _LITERAL.sub(
        lambda found: f":\n\n```python\n{_dedent(found[1])}```\n\n", words(opening)
    )
    return shown + "".join(_sections(text[start:] + "\n"))


def _sections(text: str) -> Iterator[str]:
    for title, body in _SECTION.findall(text):
        told = words(_dedent(body))
        if title == "Arguments":
            rows = ((f"`{name}`", prose(meaning)) for name, meaning in _ARGUMENT.findall(told))
            told = table(("Argument", "Meaning"), rows)
        yield f"## {title}\n\n{told.rstrip()}\n\n"


def _dedent(text: str) -> str:
    return re.sub(r"^    ", "", text, flags=re.MULTILINE).rstrip() + "\n"


def action_codes() -> str:
    """Which codes are cards and which are bids."""
    return table(("Codes", "Actions"), _codes())


def _codes() -> Iterator[tuple[str, str]]:
    for suit in STANDARD_PACK.suits:
        lowest, highest = (f"{rank}{suit}" for rank in (STANDARD_PACK.ranks[0], "A"))
        yield f"{card_action(lowest)} to {card_action(highest)}", f"`{lowest}` to `{highest}`"
    yield f"{card_action('AS') + 1} to {BID_BASE - 1}", "no card yet"
    bids = f"`{action_name(BID_BASE)}` to `{action_name(TRUMP_BASE - 1)}`"
    yield f"{BID_BASE} to {TRUMP_BASE - 1}", f"{bids}, as far as the largest hand goes"
    trumps = f"`{action_name(TRUMP_BASE)}` to `{action_name(NUM_ACTIONS - 1)}`"
    yield f"{TRUMP_BASE} to {NUM_ACTIONS - 1}", f"{trumps}: reserved, in the universal layout only"


def default_layout() -> str:
    """The sections of the default layout for Oh Hell with four players."""
    return _layout("default")


def universal_layout() -> str:
    """The sections of the universal layout."""
    return _layout("universal")


def rule_features() -> str:
    """What the section ``rules`` of the universal layout holds."""
    return f"{rule_features_table()}\n"


def default_state() -> str:
    """The sections of the state for Oh Hell with four players."""
    rules = Rules.preset("oh_hell", 4)
    length = state.state_layout_of(rules).length
    return f"{length} values.\n\n{state.state_table(rules)}\n"


def _layout(name: str) -> str:
    rules = Rules.preset("oh_hell", 4)
    layout = layout_of(rules, name)
    told = f"{layout.length} values, {layout.num_actions} action codes."
    return f"{told}\n\n{section_table(rules, name)}\n"
