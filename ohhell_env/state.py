"""The state of a table: full information, hidden from agents.

``env.state()`` and ``BatchedOhHell.states`` return it for a referee, or for a critic that sees all
hands in training. It is a vector of int8 like the observation. The order of seats does not depend
on an observer: place 0 is eldest (the dealer's left), the others follow clockwise, and the dealer
comes last. A seat's place is ``(seat - dealer - 1) % players``.

The engine writes it (``engine/encode.py``) by the section table of this module, and
``decode_state`` reads by it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from ohhell_env.engine.encode import STATE_CARD_SECTIONS, STATE_SMALL_SECTIONS
from ohhell_env.observation import (
    LAYOUTS,
    SECTION_MEANINGS,
    Layout,
    Reader,
    check_layout,
    fitted_layout,
    layout_among,
    markdown_table,
    not_needed,
    read_vector,
    universal_layout,
)
from ohhell_env.rules import Rules, RulesLike, as_rules

_NAMES = (*STATE_CARD_SECTIONS, *STATE_SMALL_SECTIONS)

SECTION_MEANINGS_OF_STATES: dict[str, str] = {
    **SECTION_MEANINGS,
    "hands": "for each seat: 1 for each card in its hand",
    "stock": "1 for each card that was neither dealt nor turned",
    "turned": "1 at the turned card, or the dealer's shown last card, public or not",
    "trump": "one of: the suits, no-trump; also before it is revealed",
    "trump_hidden": "1 until the trump is revealed",
    "actor": "1 at the seat to act",
    "has_bid": "1 for each seat that has bid, even while the bids are secret",
    "bids": "bid of each seat; also 0 if not made yet (see has_bid)",
    "bid_balance": "bids made minus hand size, even while the bids are secret",
}
"""The meaning of the values of each section. Seats count clockwise from eldest (0)."""


def state_layout_of(rules: Rules, name: str = "default", hand_size: int | None = None) -> Layout:
    """Returns the layout of states under some rules.

    Args:
        rules: The rules.
        name: "default", as small as the rules allow, or "universal", one for all rules.
        hand_size: A hand size outside the schedule that must also fit.

    Raises:
        RulesError: Unknown name.
    """
    return _universal() if check_layout(name) == "universal" else _default(rules, hand_size)


@functools.lru_cache(maxsize=256)
def _default(rules: Rules, hand_size: int | None) -> Layout:
    left_out = {"pack", "trump_source", "zero_streak", "deals_ahead", "rules", *not_needed(rules)}
    if rules.trump.revealed == "before_bidding":
        left_out.add("trump_hidden")
    if rules.tie_break not in ("most_exact_bids", "largest_bid_total"):
        left_out.add("tie_values")
    if rules.tie_break != "extra_deals":
        left_out.add("extra_deals")
    return fitted_layout(rules, hand_size, [name for name in _NAMES if name not in left_out])


@functools.cache
def _universal() -> Layout:
    return universal_layout(_NAMES)


def state_sections(rules: RulesLike, layout: str = "default") -> list[tuple[str, int, int]]:
    """Returns ``(name, start, length)`` of every section of the state, in order.

    Args:
        rules: Rules, a variant's name or a YAML path.
        layout: "default" or "universal".
    """
    return list(state_layout_of(as_rules(rules), layout).sections)


def state_table(rules: RulesLike, layout: str = "default") -> str:
    """Returns the section table as Markdown, with the meaning of each section."""
    return markdown_table(state_sections(rules, layout), SECTION_MEANINGS_OF_STATES)


def decode_state(vector: Iterable[int], rules: RulesLike) -> dict[str, Any]:
    """Returns the content of a state by name.

    Args:
        vector: A state of either layout (recognized by its length).
        rules: The rules of the game.

    Returns:
        The keys of ``ohhell_env.observation.decode``, with everything that is hidden from agents.
        Seats count clockwise from eldest (0), and the dealer comes last. Instead of "hand",
        "dealer" and "open_cards" it has "hands" (card names by seat), "stock" (card names),
        "trump_hidden", and "actor" (None at the end).

    Raises:
        NotationError: The vector fits neither layout, or does not hold whole numbers from -128 to
            127.
    """
    rules = as_rules(rules)
    values = read_vector(vector, "a state")
    layouts = [state_layout_of(rules, name) for name in LAYOUTS]
    return _Table(values, rules, layout_among(layouts, len(values), rules, "a state")).state()


class _Table(Reader):
    """Reads a state."""

    def state(self) -> dict[str, Any]:
        """Returns the whole content by name."""
        return self.table() | {
            "hands": self._cards_by_seat("hands"),
            "stock": self._cards("stock"),
            "trump_hidden": bool(self._number("trump_hidden")),
            "actor": self._seat("actor"),
        }
