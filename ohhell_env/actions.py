"""Action codes: one number for every card, bid and trump suit, the same under all rules.

A card is its own number (0 to 59), and a bid of b is ``60 + b``. Codes 87 to 91 are reserved for
naming trumps (four suits and no-trump), which no rules use yet.
"""

# Reads input from users: the code checks types at run time.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import operator
from typing import Any

from ohhell_env.cards import NUM_CARD_CODES, STANDARD_PACK, Pack, card_name, parse_card
from ohhell_env.errors import NotationError, shown
from ohhell_env.rules.schedule import MAX_HAND_SIZE

Action = int
BID_BASE = NUM_CARD_CODES
"""Action code of a bid of nil."""
TRUMP_BASE = BID_BASE + MAX_HAND_SIZE + 1
"""Action code of naming the first suit trump; reserved, no rules use it yet."""
_MOST_SUITS = 4
NUM_ACTIONS = TRUMP_BASE + _MOST_SUITS + 1
"""Number of action codes, 92: the size of the universal action space."""


def card_action(card: str, pack: Pack = STANDARD_PACK) -> Action:
    """Returns the action of playing a named card, in any form that ``parse_card`` accepts.

    >>> card_action("TH"), card_action("10♥")
    (34, 34)

    Raises:
        NotationError: The text is not a card of the pack.
    """
    return parse_card(card, pack)


def bid_action(bid: int) -> Action:
    """Returns the action of a bid.

    >>> bid_action(3)
    63

    Raises:
        NotationError: The bid is not a whole number from 0 to 26.
    """
    number = whole_number(bid)
    if number is None or not 0 <= number <= MAX_HAND_SIZE:
        raise NotationError(
            f"bid must be a whole number from 0 to {MAX_HAND_SIZE}, got {shown(bid)}"
        )
    return BID_BASE + number


def trump_action(suit: str, pack: Pack = STANDARD_PACK) -> Action:
    """Returns the action of naming the trump suit; reserved, no rules use it yet.

    >>> trump_action("H"), trump_action("NT")
    (89, 91)

    Raises:
        NotationError: The text is neither a suit of the pack nor "NT".
    """
    name = suit.strip().upper() if isinstance(suit, str) else ""
    if name == "NT":
        return TRUMP_BASE + _MOST_SUITS
    if name not in pack.suits:
        raise NotationError(
            f"{shown(suit)} is not a trump suit; allowed: {', '.join(pack.suits)}, NT"
        )
    return TRUMP_BASE + pack.suits.index(name)


def action_name(action: Action, pack: Pack = STANDARD_PACK) -> str:
    """Returns the name of an action: a card's name, "bid 3" or "trump H".

    Raises:
        NotationError: The number is not an action code.
    """
    number = whole_number(action)
    if number is None or not 0 <= number < NUM_ACTIONS:
        raise NotationError(
            f"action must be a whole number from 0 to {NUM_ACTIONS - 1}, got {shown(action)}"
        )
    if number >= TRUMP_BASE:
        return f"trump {_trump_name(number - TRUMP_BASE, pack)}"
    return f"bid {number - BID_BASE}" if number >= BID_BASE else card_name(number, pack)


def _trump_name(place: int, pack: Pack) -> str:
    if place == _MOST_SUITS:
        return "NT"
    if place >= len(pack.suits):
        raise NotationError(f"suit number {place} is not in the pack of {', '.join(pack.suits)}")
    return pack.suits[place]


def whole_number(value: Any) -> int | None:
    """Returns a whole number of any integer type (also NumPy's and torch's), else None.

    Booleans, floats, text, and objects that raise on conversion give None.
    """
    if type(value) is int:
        return value
    try:
        if isinstance(value, bool | str | bytes) or getattr(value, "dtype", None) in _BOOLS:
            return None
        return operator.index(value)
    except Exception:  # a foreign object's own __index__ may raise anything
        return None


class _Bools:
    """Equal to the boolean dtypes of NumPy and torch, without importing either."""

    def __contains__(self, dtype: object) -> bool:
        return str(dtype) in ("bool", "torch.bool")


_BOOLS = _Bools()
