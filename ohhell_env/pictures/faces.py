"""Card faces: ranks, suits with their symbols and shapes, and the order of a hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ohhell_env.cards import STANDARD_SUITS, Pack
from ohhell_env.phrases import suit_word

_SYMBOLS: dict[str, str] = dict(zip(STANDARD_SUITS, "♣♦♥♠", strict=True))
_CIRCLE = "a.215,.215 0 1 0 .43,0a.215,.215 0 1 0 -.43,0Z"
SHAPES: dict[str, str] = {
    "♣": f"M-.215,-.245{_CIRCLE}M-.465,.11{_CIRCLE}M.035,.11{_CIRCLE}"
    "M-.06,-.02L.06,-.02C.06,.26 .1,.42 .19,.48L-.19,.48C-.1,.42 -.06,.26 -.06,-.02Z",
    "♦": "M0,-.5L.38,0L0,.5L-.38,0Z",
    "♥": "M0,.46C-.1,.3 -.46,.08 -.46,-.2C-.46,-.38 -.34,-.46 -.23,-.46C-.11,-.46 -.02,-.38 0,-.26"
    "C.02,-.38 .11,-.46 .23,-.46C.34,-.46 .46,-.38 .46,-.2C.46,.08 .1,.3 0,.46Z",
    "♠": "M0,-.49C.1,-.31 .46,-.1 .46,.15C.46,.3 .35,.37 .25,.37C.15,.37 .08,.32 .05,.25"
    "C.05,.36 .1,.44 .18,.48L-.18,.48C-.1,.44 -.05,.36 -.05,.25C-.08,.32 -.15,.37 -.25,.37"
    "C-.35,.37 -.46,.3 -.46,.15C-.46,-.1 -.1,-.31 0,-.49Z",
}
"""Outlines of the suits as SVG paths, in a square of side 1 around the origin."""


class CardFace(NamedTuple):
    """A card to look at."""

    rank: str
    suit: str
    """Its symbol; a letter where the pack is no standard one."""
    number: int
    """Number of its suit in the pack, from 1."""


def face(name: str, pack: Pack) -> CardFace:
    """Returns the face of a named card.

    >>> face("TH", Pack())
    CardFace(rank='10', suit='♥', number=3)
    """
    rank = "10" if name[0] == "T" else name[0]
    return CardFace(rank, symbol(name[1], pack), pack.suits.index(name[1]) + 1)


def symbol(suit: str, pack: Pack) -> str:
    """Returns the symbol of a suit, or its letter where the pack is no standard one."""
    standard = set(pack.suits) <= set(STANDARD_SUITS)
    return _SYMBOLS[suit] if standard else suit


def suit_name(suit: str, pack: Pack) -> str:
    """Returns word and symbol of a suit ("hearts ♥"), or its letter where it has no word."""
    word = suit_word(suit, pack)
    return f"{word}\u00a0{symbol(suit, pack)}" if word != suit else suit


def as_held(hand: Iterable[str], trump: str | None, pack: Pack) -> list[str]:
    """Returns a hand as it is held: trumps first, then by suit, from high to low."""

    def order(name: str) -> tuple[bool, int, int]:
        return name[1] != trump, -pack.suits.index(name[1]), -pack.ranks.index(name[0])

    return sorted(hand, key=order)
