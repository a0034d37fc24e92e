"""A recorded game as a page shows it: who held what, what was bid, every trick, the points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ohhell_env.cards import STANDARD_SUITS, Pack
from ohhell_env.phrases import suit_word
from ohhell_env.record import Record
from ohhell_env.replay import check
from ohhell_env.rules import Rules

_SYMBOLS: dict[str, str] = dict(zip(STANDARD_SUITS, "♣♦♥♠", strict=True))


class CardFace(NamedTuple):
    """A card to look at."""

    rank: str
    suit: str
    """Its symbol; a letter where the pack is no standard one."""
    number: int
    """Number of its suit in the pack, from 1."""


class Played(NamedTuple):
    """A card on the table."""

    face: CardFace
    leads: bool
    wins: bool


@dataclass(frozen=True)
class SeatView:
    """A seat in a deal."""

    seat: int
    name: str
    role: str
    """"dealer", "eldest" or nothing."""
    hand: list[CardFace]
    bid: int | None
    won: int
    points: int
    score: int


@dataclass(frozen=True)
class DealView:
    """A deal."""

    number: int
    hand_size: int
    blind: bool
    trump: str
    turned: CardFace | None
    seats: list[SeatView]
    tricks: list[list[Played | None]]
    """By trick, then by seat."""
    winners: list[int]


def deal_views(record: Record, names: list[str]) -> list[DealView]:
    """Returns the deals of a finished game.

    Args:
        record: The game.
        names: Names by seat.

    Raises:
        NotationError: The record is no game by its rules.
    """
    checked = check(record)
    pack = Rules.from_dict(record["rules"]).pack
    shown = zip(record["deals"], checked.winners, checked.scores, strict=True)
    return [_deal_view(deal, winners, scores, names, pack) for deal, winners, scores in shown]


def _deal_view(
    deal: dict[str, Any], winners: list[int], scores: list[int], names: list[str], pack: Pack
) -> DealView:
    bids = dict(deal["bids"])
    roles = {(deal["dealer"] + 1) % len(names): "eldest", deal["dealer"]: "dealer"}
    seats = [
        SeatView(
            seat,
            name,
            roles.get(seat, ""),
            _sorted(deal["hands"][seat], deal["trump"], pack),
            bids.get(seat),
            winners.count(seat),
            deal["points"][seat],
            scores[seat],
        )
        for seat, name in enumerate(names)
    ]
    turned, trump = deal["turned"], deal["trump"]
    return DealView(
        deal["deal"] + 1,
        deal["hand_size"],
        deal["blind"],
        "no trumps" if trump is None else _trump(trump, pack),
        None if turned is None else _face(turned, pack),
        seats,
        [_trick(*each, len(names), pack) for each in zip(deal["tricks"], winners, strict=True)],
        winners,
    )


def _trump(suit: str, pack: Pack) -> str:
    word = suit_word(suit, pack)
    return f"{word}\u00a0{_symbol(suit, pack)}" if word != suit else suit


def _symbol(suit: str, pack: Pack) -> str:
    standard = set(pack.suits) <= set(STANDARD_SUITS)
    return _SYMBOLS[suit] if standard else suit


def _face(name: str, pack: Pack) -> CardFace:
    rank = "10" if name[0] == "T" else name[0]
    return CardFace(rank, _symbol(name[1], pack), pack.suits.index(name[1]) + 1)


def _sorted(hand: list[str], trump: str | None, pack: Pack) -> list[CardFace]:
    """Returns a hand as it is held: trumps first, then by suit, from high to low."""

    def order(name: str) -> tuple[bool, int, int]:
        return name[1] != trump, -pack.suits.index(name[1]), -pack.ranks.index(name[0])

    return [_face(name, pack) for name in sorted(hand, key=order)]


def _trick(plays: list[list[Any]], winner: int, seats: int, pack: Pack) -> list[Played | None]:
    found: list[Played | None] = [None] * seats
    for place, (seat, card) in enumerate(plays):
        found[seat] = Played(_face(card, pack), place == 0, seat == winner)
    return found
