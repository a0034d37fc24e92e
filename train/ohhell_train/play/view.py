"""``PersonView``: everything that the person at the table may see and do.

It is made from the observation of the person's seat. The table and the lines show nothing else, so
hidden cards cannot reach the screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import BID_BASE, action_name
from ohhell_env.cards import parse_card
from ohhell_env.engine import batch
from ohhell_env.engine.encode import new_buffer
from ohhell_env.game import Game
from ohhell_env.illegal import explain_illegal
from ohhell_env.observation import Layout, decode, layout_of
from ohhell_env.pictures.view import TableView, in_order, seat_view

_LETTERS = "abcdefgijkmnpvwyz"
"""Letters for cards. The others are keys of the table while cards are chosen, or look like digits.
``n`` is both: it starts another game, but only after the end, when no card can be chosen."""
CARD_KEYS = "123456789" + _LETTERS
BID_KEYS = "0123456789" + _LETTERS

Play = tuple[int, str]
"""A seat and the card that it played."""


@dataclass(frozen=True)
class Choice:
    """A card of the person's hand, or a bid."""

    action: int
    """Its action code."""
    name: str
    """The name that people write: "TH", or the number of a bid."""
    key: str
    """The key that chooses it."""
    problem: str
    """The reason why it is not allowed now; empty where it is allowed."""


@dataclass(frozen=True)
class PersonView:
    """The table as the person sees it."""

    table: TableView
    seat: int
    """The person's seat."""
    mine: bool
    """Whether it is the person's turn."""
    needed: Sequence[int | None]
    """Bid minus tricks won, by seat; None while the bid is unknown."""
    leader: int | None
    """The seat that leads or has led the trick; None in the bidding."""
    plays: Sequence[Play]
    """Every card of the deal, in the order of play."""
    bids: Sequence[Choice]
    """All bids, at the person's own bid; empty at any other time."""
    hand: Sequence[Sequence[Choice]]
    """The person's cards, by suit."""

    @property
    def eldest(self) -> int:
        """The seat on the dealer's left."""
        return (self.table.dealer + 1) % self.table.rules.players

    @property
    def choices(self) -> list[Choice]:
        """The bids or cards to choose from, forbidden ones too; empty at another seat's turn."""
        if not self.mine:
            return []
        return list(self.bids) or [choice for suit in self.hand for choice in suit]


def observe(game: Game, layout: Layout, seat: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Returns the observation and the action mask of a seat."""
    buffers = new_buffer(1, layout.length), new_buffer(1, layout.num_actions)
    batch.observe_one(game.state, game.compiled, layout.compiled(), seat, *buffers)
    return buffers[0][: layout.length].copy(), buffers[1][: layout.num_actions].copy()


def person_view(game: Game, seat: int) -> PersonView:
    """Returns the table as a seat sees it."""
    layout = layout_of(game.rules, "default", game.chosen_size)
    seen = decode(observe(game, layout, seat)[0], game.rules)
    table = seat_view(seen, game.rules, seat, game.seat)
    mine = game.seat == seat

    def absolute(distance: int) -> int:
        return (seat + distance) % game.players

    return PersonView(
        table=table,
        seat=seat,
        mine=mine,
        needed=[seen["needed"][(other - seat) % game.players] for other in range(game.players)],
        leader=None if seen["leader"] is None else absolute(seen["leader"]),
        plays=[(absolute(distance), card) for distance, card in seen["plays"]],
        bids=_bids(game, table) if mine and table.bidding else (),
        hand=_hand(game, seen, mine and not table.bidding),
    )


def _bids(game: Game, table: TableView) -> list[Choice]:
    """Returns every bid from 0 to the hand size; the engine decides which ones are legal."""
    legal = set(game.legal_actions())
    codes = sorted(legal | {BID_BASE + number for number in range(table.hand_size + 1)})
    return [
        Choice(
            code,
            action_name(code, game.rules.pack).removeprefix("bid "),
            BID_KEYS[place],
            "" if code in legal else _problem(game, code),
        )
        for place, code in enumerate(codes)
    ]


def _hand(game: Game, seen: dict[str, Any], asked: bool) -> list[list[Choice]]:
    """Returns the cards held; each keeps the key that it had when the cards were dealt."""
    pack, held = game.rules.pack, set(seen["hand"])
    own = [card for distance, card in seen["plays"] if distance == 0]
    dealt = in_order([*held, *own], pack)
    places = {name: place for place, name in enumerate(name for suit in dealt for name in suit)}
    legal = set(game.legal_actions()) if asked else set()

    def choice(name: str) -> Choice:
        code = parse_card(name, pack)
        problem = "" if code in legal else _problem(game, code) if asked else "It is not your turn"
        return Choice(code, name, CARD_KEYS[places[name]], problem)

    suits = [[choice(name) for name in suit if name in held] for suit in dealt]
    return [suit for suit in suits if suit]


def _problem(game: Game, action: int) -> str:
    return problem_of(explain_illegal(game, action))


def problem_of(error: Exception) -> str:
    """Returns why an action is not allowed, without the list of those that are."""
    text = str(error).partition("; legal ")[0]
    return f"{text[:1].upper()}{text[1:]}"
