"""A recorded game for a page: hands, bids, every trick, and points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ohhell_env.cards import Pack
from ohhell_env.pictures.faces import CardFace, as_held, face, suit_name
from ohhell_env.records.record import Record
from ohhell_env.records.replay import check
from ohhell_env.rules import Rules


class CardPlayed(NamedTuple):
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
    """"dealer", "eldest" or empty."""
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
    tricks: list[list[CardPlayed | None]]
    """By trick, then by seat."""
    winners: list[int]


def deal_views(record: Record, names: list[str]) -> list[DealView]:
    """Returns the deals of a finished game.

    Args:
        record: The game.
        names: Names by seat.

    Raises:
        NotationError: The record is not a game by its rules.
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
            [face(card, pack) for card in as_held(deal["hands"][seat], deal["trump"], pack)],
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
        "no trumps" if trump is None else suit_name(trump, pack),
        None if turned is None else face(turned, pack),
        seats,
        [_trick(*each, len(names), pack) for each in zip(deal["tricks"], winners, strict=True)],
        winners,
    )


def _trick(plays: list[list[Any]], winner: int, seats: int, pack: Pack) -> list[CardPlayed | None]:
    found: list[CardPlayed | None] = [None] * seats
    for place, (seat, card) in enumerate(plays):
        found[seat] = CardPlayed(face(card, pack), place == 0, seat == winner)
    return found
