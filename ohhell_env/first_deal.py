"""Fixes the first deal: a chosen dealer, hand size, hands, turned card or trump suit."""

# Reads input from users: the code checks types at run time.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ohhell_env.actions import whole_number
from ohhell_env.cards import Card, card_name, parse_card
from ohhell_env.engine import batch
from ohhell_env.engine.layout import NO_CARD, NO_TRUMP, Rows
from ohhell_env.errors import OhHellError, RulesError, nearest, shown
from ohhell_env.rules import Rules, schedule
from ohhell_env.rules.schedule import TrumpSource

CardLike = str | int
"""A card by name ("TH") or by number."""


@dataclass(frozen=True)
class FirstDeal:
    """A caller's choices for the first deal; None leaves a choice to chance."""

    dealer: int | None = None
    """Seat that deals."""
    hand_size: int | None = None
    hands: Sequence[Sequence[CardLike]] | None = None
    """The cards of all seats, from seat 0 on, equally many each."""
    turned: CardLike | None = None
    """The turned card; if the rules show the dealer's last card, one of the dealer's cards."""
    trump: str | None = None
    """A suit's letter or "NT", if the rules turn no card."""

    @classmethod
    def from_options(cls, options: dict[str, Any] | None) -> FirstDeal:
        """Returns the choices of ``reset(options=...)``; an unknown option raises RulesError."""
        names = [field.name for field in fields(cls)]
        for key in options or {}:
            if key not in names:
                raise RulesError(f"reset: unknown option {shown(key)}: {nearest(key, names)}")
        return cls(**(options or {}))

    @property
    def is_free(self) -> bool:
        """Whether every choice is left to chance."""
        return (
            self.dealer is None  # comparing whole objects would fail on NumPy arrays
            and self.hand_size is None
            and self.hands is None
            and self.turned is None
            and self.trump is None
        )


def check_hand_size(hand_size: Any) -> int | None:
    """Returns a hand size as a whole number of at least 1, or None; else raises RulesError.

    ``schedule.plan_of_size`` checks whether the rules can deal it.
    """
    if hand_size is None:
        return None
    size = whole_number(hand_size)
    if size is None or size < 1:
        raise RulesError(f"hand_size must be a whole number of at least 1, got {shown(hand_size)}")
    return size


def lay_out(games: Rows, compiled: Rows, rules: Rules, wishes: FirstDeal) -> None:
    """Deals the first deal of a prepared episode as chosen, and opens the bidding.

    Open choices come from the table's random stream. After an error the record may be incomplete,
    so pass a copy.

    Raises:
        RulesError: The rules or the other choices make a choice impossible.
    """
    row = games[0]
    hands = None if wishes.hands is None else _read_hands(rules, wishes.hands)
    size = _hand_size(rules, wishes, hands) or int(row["hand_size"])
    dealer = _dealer(rules, wishes.dealer, int(row["dealer"]))
    plan = _choose_plan(row, rules, size, bool(compiled[0]["one_deal"]))
    turned = _turned(rules, plan, wishes, hands, dealer)
    trump = _trump(rules, plan, int(row["deal"]), wishes.trump)
    row["dealer"] = dealer
    row["hand_size"], row["trump_source"], row["blind"] = plan.hand_size, plan.trump, plan.blind
    hands, turned = _complete(games, rules, plan, dealer, hands, turned)
    for seat, hand in enumerate(hands):
        row["hands"][seat] = _mask(hand)
    row["turned"] = NO_CARD if turned is None else turned
    batch.trump_one(games, compiled)
    if trump is not None:
        row["trump"] = trump
    row["fixed"] = 1
    batch.open_one(games, compiled)


def _mask(cards: Iterable[Card]) -> np.uint64:
    return np.uint64(sum(1 << card for card in cards))


def _choose_plan(row: np.void, rules: Rules, size: int, one_deal: bool) -> schedule.DealPlan:
    """Returns the plan of the first deal; in single-deal episodes also sets its deal number."""
    if size == row["hand_size"]:
        return schedule.DealPlan(size, TrumpSource(int(row["trump_source"])), bool(row["blind"]))
    sizes = schedule.hand_sizes(rules)
    if one_deal and size in sizes:
        row["deal"] = row["plan"] = sizes.index(size)
        return schedule.deal_plans(rules)[sizes.index(size)]
    return schedule.plan_of_size(rules, size, first=True)


def _read_card(rules: Rules, card: Any, where: str) -> Card:
    try:
        number = whole_number(card)
        if number is None:
            number = parse_card(card, rules.pack)  # raises with the reason for anything but a name
        if number not in rules.pack.cards:
            raise RulesError(f"{card_name(number, rules.pack)} is not in the pack")
    except OhHellError as error:
        raise RulesError(f"{where}: {error}") from None
    return number


def _read_hands(rules: Rules, hands: Any) -> list[list[Card]]:
    if not _is_list(hands) or len(hands) != rules.players:
        raise RulesError(f"hands must be a list of {rules.players} hands, got {shown(hands)}")
    read: list[list[Card]] = []
    holder: dict[Card, int] = {}
    for seat, hand in enumerate(hands):
        if not _is_list(hand):
            raise RulesError(f"hands[{seat}] must be a list of cards, got {shown(hand)}")
        read.append([_read_card(rules, card, f"hands[{seat}]") for card in hand])
        for card in read[-1]:
            if card in holder:
                raise RulesError(_twice(card_name(card, rules.pack), holder[card], seat))
            holder[card] = seat
    sizes = sorted({len(hand) for hand in read})
    if len(sizes) > 1 or sizes[0] == 0:
        raise RulesError(
            f"hands: all seats need equally many cards, at least one; got "
            f"{[len(hand) for hand in read]}"
        )
    return read


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _twice(name: str, seat: int, other: int) -> str:
    if seat == other:
        return f"hands[{seat}] has {name} twice"
    return f"hands: {name} is in hands {seat} and {other}"


def _hand_size(rules: Rules, wishes: FirstDeal, hands: list[list[Card]] | None) -> int | None:
    size = check_hand_size(wishes.hand_size)
    if hands is not None:
        if size is not None and size != len(hands[0]):
            raise RulesError(f"hand_size={shown(size)}, but the hands have {len(hands[0])} cards")
        size = len(hands[0])
    table = rules.scoring.table
    if size is not None and table is not None and size > len(table):
        raise RulesError(f"hand_size={shown(size)}: scoring.table ends at hand size {len(table)}")
    return size


def _dealer(rules: Rules, dealer: Any, drawn: int) -> int:
    if dealer is None:
        return drawn
    seat = whole_number(dealer)
    if seat is None or not 0 <= seat < rules.players:
        raise RulesError(f"dealer must be a seat, 0 to {rules.players - 1}, got {shown(dealer)}")
    return seat


def _turned(
    rules: Rules,
    plan: schedule.DealPlan,
    wishes: FirstDeal,
    hands: list[list[Card]] | None,
    dealer: int,
) -> Card | None:
    if wishes.turned is None:
        return None
    card = _read_card(rules, wishes.turned, "turned")
    name = card_name(card, rules.pack)
    if plan.trump not in (TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD):
        raise RulesError(f"turned={name!r}: no card is turned in this deal ({plan.trump.name})")
    holders = [seat for seat, hand in enumerate(hands or []) if card in hand]
    if plan.trump is TrumpSource.TURNED_CARD and holders:
        raise RulesError(
            f"turned={name!r} is in the hand of seat {holders[0]}; the turned card must not be in "
            "any hand"
        )
    if plan.trump is TrumpSource.DEALER_CARD and hands is not None and holders != [dealer]:
        raise RulesError(
            f"turned={name!r} must be a card of the dealer (seat {dealer}), whose last card is "
            "turned"
        )
    return card


def _trump(rules: Rules, plan: schedule.DealPlan, deal: int, wish: str | None) -> int | None:
    if wish is None:
        return None
    suits = {letter: suit for suit, letter in enumerate(rules.pack.suits)} | {"NT": NO_TRUMP}
    if not isinstance(wish, str) or wish.upper() not in suits:
        raise RulesError(f"trump must be one of {', '.join(suits)}, got {shown(wish)}")
    suit = suits[wish.upper()]
    if plan.trump in (TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD):
        raise RulesError(f"trump={shown(wish)}: a card is turned in this deal; use turned= instead")
    rotation = rules.trump.rotation
    due = {
        TrumpSource.NO_TRUMP: "NT",
        TrumpSource.FIXED_SUIT: rules.trump.suit,
        TrumpSource.ROTATION: rotation[deal % len(rotation)] if rotation else None,
    }.get(plan.trump)
    if due is not None and suit != suits[due]:
        raise RulesError(f"trump={shown(wish)}: the rules fix {due} for this deal")
    if due is None and suit == NO_TRUMP:
        raise RulesError("trump='NT': the rules draw a suit for this deal, so there must be one")
    return suit


def _complete(
    games: Rows,
    rules: Rules,
    plan: schedule.DealPlan,
    dealer: int,
    hands: list[list[Card]] | None,
    turned: Card | None,
) -> tuple[list[list[Card]], Card | None]:
    """Returns hands and turned card, drawing what is open from the rest of the pack."""
    stock = set(rules.pack.cards)
    if turned is not None:
        stock.discard(turned)
    own_turned = turned is not None and plan.trump is TrumpSource.DEALER_CARD

    def draw() -> Card:
        card = int(batch.draw_one(games, _mask(stock), len(stock)))
        stock.discard(card)
        return card

    if hands is None:
        hands = [[] for _ in range(rules.players)]
        if own_turned and turned is not None:
            hands[dealer].append(turned)
        for place in range(plan.hand_size):
            for seat in range(rules.players):
                if len(hands[seat]) <= place:
                    hands[seat].append(draw())
    stock -= {card for hand in hands for card in hand}
    if turned is None and plan.trump is TrumpSource.TURNED_CARD:
        turned = draw()
    if turned is None and plan.trump is TrumpSource.DEALER_CARD:
        turned = int(batch.draw_one(games, _mask(hands[dealer]), len(hands[dealer])))
    return hands, turned
