"""``TableView``: what to show of a table, to one seat or to the referee, in text and pictures.

A seat's view comes only from its decoded observation, so it contains only what that seat may know.
Seats are absolute here: the numbers of the agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ohhell_env.cards import Pack, card_name, parse_card
from ohhell_env.engine import batch
from ohhell_env.engine.encode import new_buffer
from ohhell_env.engine.layout import NO_TRUMP, NOBODY, Phase
from ohhell_env.observation import decode, layout_of
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import num_deals
from ohhell_env.rules.variants import VARIANTS

if TYPE_CHECKING:
    from ohhell_env.game import Game


@dataclass(frozen=True)
class TableView:
    """What to show of a table, with card names and absolute seats."""

    rules: Rules
    deal: int
    """Number of the deal in the game, from 0."""
    hand_size: int
    blind: bool
    trump: str
    """Suit letter, "NT" for no-trump, or "?" before the trump is revealed."""
    turned: str | None
    dealer: int
    actor: int
    """The seat to act; -1: none."""
    bids: Sequence[int | None]
    tricks_won: Sequence[int]
    scores: Sequence[int]
    hands: Mapping[int, Sequence[str]]
    """The visible hands, by seat."""
    counts: Sequence[int]
    """Cards that each seat holds, visible or not."""
    trick: Sequence[tuple[int, str]]
    """(seat, card) in the order of play."""
    winning: int
    """The seat whose card wins the trick so far; -1 before the lead."""
    trick_number: int
    bidding: bool
    over: bool
    looker: int | None
    """The seat whose view this is; None: the referee."""

    @property
    def variant(self) -> str:
        """The name of the game."""
        known = VARIANTS.get(self.rules.name)
        return known.title if known else "Oh Hell by own rules"

    @property
    def where(self) -> str:
        """Deal and hand size, as text."""
        blind = ", blind" if self.blind else ""
        return f"deal {self.deal + 1} of {num_deals(self.rules)}, hand size {self.hand_size}{blind}"

    @property
    def part(self) -> str:
        """The part of the deal, as text."""
        if self.over:
            return "the end"
        return "bidding" if self.bidding else f"trick {self.trick_number + 1}"

    @property
    def balance(self) -> str | None:
        """The bids compared to the hand size, as text; None before all have bid."""
        if self.bidding:
            return None
        total = sum(bid or 0 for bid in self.bids)
        off = total - self.hand_size
        word = f"over by {off}" if off > 0 else f"under by {-off}" if off < 0 else "even"
        return f"bids {total} of {self.hand_size}: {word}"


def seat_view(view: dict[str, Any], rules: Rules, seat: int, actor: int) -> TableView:
    """Returns the table as a seat sees it.

    Args:
        view: The seat's observation, decoded.
        rules: The rules.
        seat: The seat whose view this is.
        actor: The seat to act, which everybody knows; -1: none.
    """
    players = rules.players

    def absolute(distance: int) -> int:
        return (seat + distance) % players

    def by_seat(values: list[Any]) -> list[Any]:
        return [values[(other - seat) % players] for other in range(players)]

    shown = {absolute(distance): [card] for distance, card in view["open_cards"].items()}
    gone = [0] * players
    for distance, _ in view["plays"]:
        gone[absolute(distance)] += 1
    return TableView(
        rules=rules,
        deal=view["deal"],
        hand_size=view["hand_size"],
        blind=view["blind"],
        trump=view["trump"],
        turned=view["turned"],
        dealer=absolute(view["dealer"]),
        actor=actor,
        bids=by_seat(view["bids"]),
        tricks_won=by_seat(view["tricks_won"]),
        scores=by_seat(view["scores"]),
        hands=shown or {seat: view["hand"]},
        counts=[view["hand_size"] - played for played in gone],
        trick=[(absolute(distance), card) for distance, card in view["trick"]],
        winning=NOBODY if view["winning"] is None else absolute(view["winning"][0]),
        trick_number=view["trick_number"],
        bidding=view["phase"] == "bid",
        over=view["phase"] == "over",
        looker=seat,
    )


def referee_view(game: Game, actor: int | None = None) -> TableView:
    """Returns the table as the referee sees it, with all hands.

    Args:
        game: The table.
        actor: The seat to act, -1: none; None: the game's.
    """
    pack = game.rules.pack
    return TableView(
        rules=game.rules,
        deal=game.deal,
        hand_size=game.hand_size,
        blind=game.blind,
        trump="NT" if game.trump == NO_TRUMP else pack.suits[game.trump],
        turned=None if game.turned is None else card_name(game.turned, pack),
        dealer=game.dealer,
        actor=game.seat if actor is None else actor,
        bids=game.bids,
        tricks_won=game.tricks_won,
        scores=game.scores,
        hands={
            seat: [card_name(card, pack) for card in hand] for seat, hand in enumerate(game.hands)
        },
        counts=[len(hand) for hand in game.hands],
        trick=[(seat, card_name(card, pack)) for seat, card in game.trick],
        winning=int(game.state["best_seat"][0]) if game.trick else NOBODY,
        trick_number=len(game.tricks),
        bidding=game.phase is Phase.BID,
        over=game.over,
        looker=None,
    )


def view_of(game: Game, seat: int | None) -> TableView:
    """Returns a table as a seat sees it, or, for None, as the referee sees it."""
    if seat is None:
        return referee_view(game)
    layout = layout_of(game.rules, "default", game.chosen_size)
    buffers = new_buffer(1, layout.length), new_buffer(1, layout.num_actions)
    batch.observe_one(game.state, game.compiled, layout.compiled(), seat, *buffers)
    return seat_view(decode(buffers[0][: layout.length], game.rules), game.rules, seat, game.seat)


def in_order(names: Sequence[str], pack: Pack) -> list[list[str]]:
    """Returns a hand by suits, the last suit of the pack first, each from high to low."""
    cards = sorted((parse_card(name, pack) for name in names), reverse=True)
    suits: dict[str, list[str]] = {}
    for card in cards:
        name = card_name(card, pack)
        suits.setdefault(name[1], []).append(name)
    return list(suits.values())
