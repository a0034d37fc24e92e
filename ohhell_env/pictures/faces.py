"""Card faces: ranks, suits with their symbols and shapes, and the order of a hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ohhell_env.cards import SPANISH_SUITS, STANDARD_SUITS, Pack
from ohhell_env.rules.phrases import suit_word

_SYMBOLS: dict[str, str] = dict(zip(STANDARD_SUITS, "♣♦♥♠", strict=True))
_CIRCLE = "a.215,.215 0 1 0 .43,0a.215,.215 0 1 0 -.43,0Z"
_STANDARD_SHAPES: dict[str, str] = {
    "C": f"M-.215,-.245{_CIRCLE}M-.465,.11{_CIRCLE}M.035,.11{_CIRCLE}"
    "M-.06,-.02L.06,-.02C.06,.26 .1,.42 .19,.48L-.19,.48C-.1,.42 -.06,.26 -.06,-.02Z",
    "D": "M0,-.5L.38,0L0,.5L-.38,0Z",
    "H": "M0,.46C-.1,.3 -.46,.08 -.46,-.2C-.46,-.38 -.34,-.46 -.23,-.46C-.11,-.46 -.02,-.38 0,-.26"
    "C.02,-.38 .11,-.46 .23,-.46C.34,-.46 .46,-.38 .46,-.2C.46,.08 .1,.3 0,.46Z",
    "S": "M0,-.49C.1,-.31 .46,-.1 .46,.15C.46,.3 .35,.37 .25,.37C.15,.37 .08,.32 .05,.25"
    "C.05,.36 .1,.44 .18,.48L-.18,.48C-.1,.44 -.05,.36 -.05,.25C-.08,.32 -.15,.37 -.25,.37"
    "C-.35,.37 -.46,.3 -.46,.15C-.46,-.1 -.1,-.31 0,-.49Z",
}
_SPANISH_SHAPES: dict[str, str] = {
    "O": "M-.48,0a.48,.48 0 1 0 .96,0a.48,.48 0 1 0 -.96,0Z"
    "M-.34,0a.34,.34 0 1 1 .68,0a.34,.34 0 1 1 -.68,0ZM-.2,0a.2,.2 0 1 0 .4,0a.2,.2 0 1 0 -.4,0Z",
    "C": "M-.36,-.46H.36C.36,-.05 .2,.1 .07,.13V.32C.2,.34 .26,.4 .28,.48H-.28"
    "C-.26,.4 -.2,.34 -.07,.32V.13C-.2,.1 -.36,-.05 -.36,-.46Z",
    "E": "M0,-.5L.08,-.38V.14H.28V.24H.06V.5H-.06V.24H-.28V.14H-.08V-.38Z",
    "B": "M.14,-.5L.4,-.36L-.1,.46C-.16,.54 -.36,.44 -.32,.34Z",
}
TWO_COLOURS = ("#22282b", "#b3261e", "#b3261e", "#22282b")
FOUR_COLOURS = ("#1c7a3d", "#1d5fae", "#b3261e", "#22282b")
SPANISH_COLOURS = ("#96660b", "#b3261e", "#1d5fae", "#1c7a3d")
"""Colours of the suits, in the order of the pack."""


class CardFace(NamedTuple):
    """A card as drawn."""

    rank: str
    suit: str
    """The suit's symbol; its letter if the pack is not a standard one."""
    number: int
    """Number of the suit in the pack, from 1."""


def face(name: str, pack: Pack) -> CardFace:
    """Returns the face of a named card.

    >>> face("TH", Pack())
    CardFace(rank='10', suit='♥', number=3)
    """
    rank = "10" if name[0] == "T" else name[0]
    return CardFace(rank, symbol(name[1], pack), pack.suits.index(name[1]) + 1)


def symbol(suit: str, pack: Pack) -> str:
    """Returns the symbol of a suit, or its letter if the pack is not a standard one."""
    standard = set(pack.suits) <= set(STANDARD_SUITS)
    return _SYMBOLS[suit] if standard else suit


def suit_name(suit: str, pack: Pack) -> str:
    """Returns the word and symbol of a suit ("hearts ♥"), or its letter if it has no word."""
    word = suit_word(suit, pack)
    return f"{word}\u00a0{symbol(suit, pack)}" if word != suit else suit


def as_held(hand: Iterable[str], trump: str | None, pack: Pack) -> list[str]:
    """Returns a hand as it is held: trumps first, then by suit, from high to low."""

    def order(name: str) -> tuple[bool, int, int]:
        return name[1] != trump, -pack.suits.index(name[1]), -pack.ranks.index(name[0])

    return sorted(hand, key=order)


def shape(suit: str, pack: Pack) -> str | None:
    """Returns the outline of a suit as an SVG path, in a square of side 1 around the origin.

    Returns None if the pack has suits of its own.
    """
    for letters, shapes in ((STANDARD_SUITS, _STANDARD_SHAPES), (SPANISH_SUITS, _SPANISH_SHAPES)):
        if set(pack.suits) <= set(letters):
            return shapes[suit]
    return None


def colours(pack: Pack, four: bool) -> tuple[str, ...]:
    """Returns the colours of a pack's suits; Spanish suits always have four."""
    if tuple(pack.suits) == SPANISH_SUITS:
        return SPANISH_COLOURS
    return FOUR_COLOURS if four else TWO_COLOURS
