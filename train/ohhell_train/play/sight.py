"""``PersonView``: all that the person at the table may see and do, from their seat's observation.

The faces know nothing but this, so that hidden cards cannot reach them.
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
"""Without those that ask for something else, and those that look like figures."""
CARD_KEYS = "123456789" + _LETTERS
BID_KEYS = "0123456789" + _LETTERS

Play = tuple[int, str]
"""A seat and the card that it played."""


@dataclass(frozen=True)
class Choice:
    """A card of the own hand, or a bid."""

    action: int
    """Its code."""
    name: str
    """As people write it: "TH", or the number of a bid."""
    key: str
    """The key that takes it."""
    problem: str
    """Why it may not be taken now; empty where it may."""


@dataclass(frozen=True)
class PersonView:
    """The table as the person sees it."""

    table: TableView
    seat: int
    """The person's seat."""
    mine: bool
    """Whether the person is to act."""
    needed: Sequence[int | None]
    """Bid less tricks won, by seat; None where no bid is known."""
    leader: int | None
    """The seat that leads or led the trick; None in the bidding."""
    plays: Sequence[Play]
    """Every card of the deal in the order of play."""
    bids: Sequence[Choice]
    """The bids to choose from; empty but at the person's own bid."""
    hand: Sequence[Sequence[Choice]]
    """The cards held, by suit."""

    @property
    def eldest(self) -> int:
        """The seat on the dealer's left."""
        return (self.table.dealer + 1) % self.table.rules.players

    @property
    def choices(self) -> list[Choice]:
        """What is to be chosen from, forbidden ones too; empty where others are to act."""
        if not self.mine:
            return []
        return list(self.bids) or [choice for suit in self.hand for choice in suit]


def observe(game: Game, layout: Layout, seat: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Returns observation and action mask of a seat."""
    buffers = new_buffer(1, layout.length), new_buffer(1, layout.num_actions)
    batch.observe_one(game.state, game.compiled, layout.compiled(), seat, *buffers)
    return buffers[0][: layout.length].copy(), buffers[1][: layout.num_actions].copy()


def person_view(game: Game, seat: int) -> PersonView:
    """Returns the table as a seat sees it."""
    layout = layout_of(game.rules, "default", game.chosen_size)
    view = decode(observe(game, layout, seat)[0], game.rules)
    table = seat_view(view, game.rules, seat, game.seat)
    mine = game.seat == seat

    def absolute(distance: int) -> int:
        return (seat + distance) % game.players

    return PersonView(
        table=table,
        seat=seat,
        mine=mine,
        needed=[view["needed"][(other - seat) % game.players] for other in range(game.players)],
        leader=None if view["leader"] is None else absolute(view["leader"]),
        plays=[(absolute(distance), card) for distance, card in view["plays"]],
        bids=_bids(game, table) if mine and table.bidding else (),
        hand=_hand(game, view, mine and not table.bidding),
    )


def _bids(game: Game, table: TableView) -> list[Choice]:
    """Returns every number up to the hand size; which of them may be bid, the engine says."""
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


def _hand(game: Game, view: dict[str, Any], asked: bool) -> list[list[Choice]]:
    """Returns the cards held; each keeps the key that it had when the cards were dealt."""
    pack, held = game.rules.pack, set(view["hand"])
    own = [card for distance, card in view["plays"] if distance == 0]
    dealt = in_order([*held, *own], pack)
    places = {name: place for place, name in enumerate(name for suit in dealt for name in suit)}
    legal = set(game.legal_actions()) if asked else set()

    def choice(name: str) -> Choice:
        code = parse_card(name, pack)
        problem = "" if code in legal else _problem(game, code) if asked else "it is not your turn"
        return Choice(code, name, CARD_KEYS[places[name]], problem)

    suits = [[choice(name) for name in suit if name in held] for suit in dealt]
    return [suit for suit in suits if suit]


def _problem(game: Game, action: int) -> str:
    """Returns in short why an action of the seat to act is not legal."""
    return str(explain_illegal(game, action)).partition("; legal ")[0]
