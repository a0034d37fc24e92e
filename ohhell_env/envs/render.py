"""The table as text: what lies on it, from a seat's view or from the referee's.

A seat's view is made from the seat's decoded observation and nothing else, so it shows what that
seat may know. Seats are absolute here: the numbers of the agents.

::

    Oh Hell: deal 1 of 19, hand size 10, trump H (QH turned), trick 2
           bid won score
    seat 0   2   1     0  AS KS 7S  TH 2H  9C 8C 5C 4C   dealer
    seat 1   1   0     0
    seat 2   3   0     0
    seat 3   -   0     0                                 to act
    bids 8 of 10: under by 2
    trick: seat 0 led AS
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ohhell_env.cards import card_name, parse_card, suit_of
from ohhell_env.engine.layout import NO_TRUMP, NOBODY, Phase
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from ohhell_env.schedule import num_deals
from ohhell_env.variants import VARIANTS


@dataclass(frozen=True)
class _Table:
    """What is shown of a table; card names, absolute seats."""

    rules: Rules
    deal: int
    hand_size: int
    blind: bool
    trump: str
    """Suit letter, "NT", or "?" while not revealed."""
    turned: str | None
    dealer: int
    actor: int
    bids: list[int | None]
    tricks_won: list[int]
    scores: list[int]
    hands: Mapping[int, Sequence[str]]
    """The hands that are seen."""
    trick: list[tuple[int, str]]
    trick_number: int
    bidding: bool
    over: bool

    def text(self) -> str:
        lines = [self._title(), "       bid won score"]
        width = max([len(self._hand(seat)) for seat in range(self.rules.players)])
        for seat in range(self.rules.players):
            lines.append(self._seat(seat, width).rstrip())
        return "\n".join([*lines, *self._balance(), *self._trick()]) + "\n"

    def _title(self) -> str:
        rules = self.rules
        known = VARIANTS.get(rules.name)
        where = f"deal {self.deal + 1} of {num_deals(rules)}, hand size {self.hand_size}"
        turned = f" ({self.turned} turned)" if self.turned else ""
        trump = {"NT": "no trumps", "?": "trump not yet known"}.get(
            self.trump, f"trump {self.trump}{turned}"
        )
        part = f"trick {self.trick_number + 1}"
        if self.over:
            part = "the end"
        elif self.bidding:
            part = "bidding"
        blind = ", blind" if self.blind else ""
        name = known.title if known else "Oh Hell by own rules"
        return f"{name}: {where}{blind}, {trump}, {part}"

    def _seat(self, seat: int, width: int) -> str:
        bid = self.bids[seat]
        roles = ["dealer"] * (seat == self.dealer) + ["to act"] * (seat == self.actor)
        return (
            f"seat {seat} {'-' if bid is None else bid:>3} {self.tricks_won[seat]:>3} "
            f"{self.scores[seat]:>5}  {self._hand(seat):<{width}}  {', '.join(roles)}"
        )

    def _hand(self, seat: int) -> str:
        """The cards by suit, the last suit first, each from high to low."""
        names = self.hands.get(seat, ())
        cards = sorted((parse_card(name, self.rules.pack) for name in names), reverse=True)
        suits: dict[int, list[str]] = {}
        for card in cards:
            suits.setdefault(suit_of(card), []).append(card_name(card, self.rules.pack))
        return "  ".join(" ".join(suit) for suit in suits.values())

    def _balance(self) -> list[str]:
        if self.bidding:
            return []
        total = sum(bid or 0 for bid in self.bids)
        off = total - self.hand_size
        word = f"over by {off}" if off > 0 else f"under by {-off}" if off < 0 else "even"
        return [f"bids {total} of {self.hand_size}: {word}"]

    def _trick(self) -> list[str]:
        if not self.trick:
            return []
        (leader, led), *others = self.trick
        rest = "".join(f", seat {seat} {card}" for seat, card in others)
        return [f"trick: seat {leader} led {led}{rest}"]


def seat_text(view: dict[str, Any], rules: Rules, seat: int, actor: int) -> str:
    """Returns the table as a seat sees it.

    Args:
        view: The seat's observation, decoded.
        rules: The rules.
        seat: The seat that looks.
        actor: The seat to act, which everybody knows; -1 for none.
    """
    players = rules.players

    def absolute(distance: int) -> int:
        return (seat + distance) % players

    def by_seat(values: list[Any]) -> list[Any]:
        return [values[(other - seat) % players] for other in range(players)]

    shown = {absolute(distance): [card] for distance, card in view["open_cards"].items()}
    hands = shown or {seat: view["hand"]}
    table = _Table(
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
        hands=hands,
        trick=[(absolute(distance), card) for distance, card in view["trick"]],
        trick_number=view["trick_number"],
        bidding=view["phase"] == "bid",
        over=view["phase"] == "over",
    )
    return table.text()


def referee_text(game: Game, actor: int = NOBODY) -> str:
    """Returns the table as the referee sees it, with all hands.

    Args:
        game: The table.
        actor: The seat to act; -1 for none.
    """
    pack = game.rules.pack
    table = _Table(
        rules=game.rules,
        deal=game.deal,
        hand_size=game.hand_size,
        blind=game.blind,
        trump="NT" if game.trump == NO_TRUMP else pack.suits[game.trump],
        turned=None if game.turned is None else card_name(game.turned, pack),
        dealer=game.dealer,
        actor=actor,
        bids=game.bids,
        tricks_won=game.tricks_won,
        scores=game.scores,
        hands={
            seat: [card_name(card, pack) for card in hand] for seat, hand in enumerate(game.hands)
        },
        trick=[(seat, card_name(card, pack)) for seat, card in game.trick],
        trick_number=len(game.tricks),
        bidding=game.phase is Phase.BID,
        over=game.over,
    )
    return table.text()
