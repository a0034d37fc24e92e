"""Cards and packs: numbering, names, and the pack as an axis of the rules.

A card is the number ``suit * 13 + rank``, where ``suit`` and ``rank`` count through ``Pack.suits``
and ``Pack.ranks`` (low to high). In the standard pack, 0 is the two of clubs and 51 the ace of
spades. A removed card leaves a gap: the others keep their numbers. Numbers 52 to 59 are reserved
for cards outside the suits (Wizards and Jesters).

The name of a card is its rank, then its suit: ``"TH"`` is the ten of hearts. ``parse_card`` also
accepts ``"10H"``, ``"th"`` and ``"T♥"``.
"""

# Reads input from users: the code checks types at run time.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Literal

from ohhell_env.errors import NotationError, RulesError, shown

Card = int
"""A card number, ``suit * 13 + rank``."""

RANKS_PER_SUIT = 13
NUM_CARD_CODES = 60
"""Card numbers go up to 59: four suits of 13, and room for eight cards outside the suits."""

STANDARD_SUITS = ("C", "D", "H", "S")
STANDARD_RANKS = ("2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A")
SPANISH_SUITS = ("O", "C", "E", "B")
"""Oros (coins), copas (cups), espadas (swords), bastos (clubs)."""
SPANISH_RANKS = ("2", "4", "5", "6", "7", "S", "C", "K", "3", "A")
"""Sota (S), caballo (C), rey (K); three and ace rank above the king."""


@dataclass(frozen=True)
class Pack:
    """The cards in play.

    >>> Pack().size
    52
    >>> Pack(removed=("2C",)).size
    51
    """

    suits: tuple[str, ...] = STANDARD_SUITS
    """One letter per suit, one to four of them."""
    ranks: tuple[str, ...] = STANDARD_RANKS
    """One letter per rank from low to high, up to thirteen of them."""
    removed: tuple[str, ...] = ()
    """Names of cards removed from the pack; all players know them."""
    specials: Literal["none"] = "none"
    """Cards outside the suits; none yet."""

    def __post_init__(self) -> None:
        for label, letters, most in (("suits", self.suits, 4), ("ranks", self.ranks, 13)):
            _check_letters(f"pack.{label}", letters, most)
        numbers = [_read_removed(self, name) for name in self.removed]
        twice = next((card for card in numbers if numbers.count(card) > 1), None)
        if twice is not None:
            raise RulesError(f"pack.removed lists {card_name(twice, self)} twice")
        ordered = tuple(card_name(card, self) for card in sorted(numbers))
        object.__setattr__(self, "removed", ordered)

    @property
    def cards(self) -> tuple[Card, ...]:
        """The card numbers of the pack, ascending."""
        out = {parse_card(name, self) for name in self.removed}
        numbers = (
            suit * RANKS_PER_SUIT + rank
            for suit in range(len(self.suits))
            for rank in range(len(self.ranks))
        )
        return tuple(card for card in numbers if card not in out)

    @property
    def size(self) -> int:
        """The number of cards in the pack."""
        return len(self.suits) * len(self.ranks) - len(self.removed)


_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _check_letters(where: str, letters: tuple[str, ...], most: int) -> None:
    if not 1 <= len(letters) <= most:
        raise RulesError(f"{where}: 1 to {most} letters are allowed, got {len(letters)}")
    for letter in letters:
        if not isinstance(letter, str) or len(letter) != 1 or letter not in _LETTERS:
            raise RulesError(
                f"{where}: each must be one capital letter or digit, got {shown(letter)}"
            )
    if len(set(letters)) != len(letters):
        raise RulesError(f"{where}: letters must not repeat, got {letters!r}")


def _read_removed(pack: Pack, name: str) -> Card:
    try:
        return parse_card(name, pack)
    except NotationError as error:
        raise RulesError(f"pack.removed: {error}") from None


STANDARD_PACK = Pack()


def suit_of(card: Card) -> int:
    """Returns the suit index of a card."""
    return card // RANKS_PER_SUIT


def rank_of(card: Card) -> int:
    """Returns the rank index of a card, 0 = lowest."""
    return card % RANKS_PER_SUIT


def card_name(card: Card, pack: Pack = STANDARD_PACK) -> str:
    """Returns the name of a card, rank then suit.

    >>> card_name(34)
    'TH'

    Raises:
        NotationError: The number is not a card of the pack before removals.
    """
    try:
        suit, rank = divmod(operator.index(card), RANKS_PER_SUIT)
    except TypeError:
        raise NotationError(f"card must be a card's number, got {shown(card)}") from None
    if not (0 <= suit < len(pack.suits) and 0 <= rank < len(pack.ranks)):
        raise NotationError(f"card number {shown(card)} is not in the pack {_spell(pack)}")
    return pack.ranks[rank] + pack.suits[suit]


def parse_card(text: str, pack: Pack = STANDARD_PACK) -> Card:
    """Returns the number of a named card, rank before suit.

    It also accepts lower-case letters, 10 for T, and suit symbols (♣ ♦ ♥ ♠, filled or not). The
    symbols mean suits of the standard pack; the Spanish C is a different suit.

    >>> parse_card("TH"), parse_card("as")
    (34, 51)
    >>> parse_card("10H"), parse_card("10♥"), parse_card("t♡")
    (34, 34, 34)

    Raises:
        NotationError: The text is not a card of the pack before removals.
    """
    name = _letters(text, pack) if isinstance(text, str) else ""
    if len(name) != 2 or name[0] not in pack.ranks or name[1] not in pack.suits:
        raise NotationError(
            f"{shown(text)} is not a card: write a rank ({''.join(pack.ranks)}) "
            f"and a suit ({''.join(pack.suits)}), as in {pack.ranks[-1] + pack.suits[-1]!r}"
        )
    return pack.suits.index(name[1]) * RANKS_PER_SUIT + pack.ranks.index(name[0])


_SYMBOLS = dict(zip("♣♧♦♢♥♡♠♤", "CCDDHHSS", strict=True))
_EMOJI = "\N{VARIATION SELECTOR-16}"
"""Phones append it to a suit symbol to show it in colour."""
_LONGEST_NAME = 16
"""A longer text cannot be a card."""


def _letters(text: str, pack: Pack) -> str:
    """Returns a card's name in two capital letters, given in another form."""
    name = text.strip() if len(text) <= _LONGEST_NAME else ""
    name = name.removesuffix(_EMOJI)
    if name[-1:] in _SYMBOLS and set(pack.suits) <= set(STANDARD_SUITS):
        name = name[:-1] + _SYMBOLS[name[-1]]
    if len(name) == 3 and name.startswith("10"):
        name = "T" + name[2]
    return name.upper() if name.isascii() else ""  # some non-ASCII letters have ASCII capitals


def plain_name(text: str, pack: Pack = STANDARD_PACK) -> str:
    """Returns the standard name of a card; any other text stays unchanged.

    >>> plain_name("10♥"), plain_name("trump")
    ('TH', 'trump')
    """
    try:
        return card_name(parse_card(text, pack), pack)
    except NotationError:
        return text


def _spell(pack: Pack) -> str:
    return f"of ranks {''.join(pack.ranks)} and suits {''.join(pack.suits)}"
