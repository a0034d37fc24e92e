"""The possible beginnings of a one-card deal: trump, visible card, deck of the hands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ohhell_env.cards import card_name, suit_of
from ohhell_env.engine.layout import NO_CARD, NO_TRUMP
from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules, schedule
from ohhell_env.rules.schedule import DealPlan, TrumpSource

LATE = "late"
"""What players see of a trump that is revealed only after the bidding."""


@dataclass(frozen=True)
class Beginning:
    """One possible beginning of a one-card deal."""

    seen: str
    """What all players see: a card's name, a suit's letter, "NT" or ``LATE``."""
    chance: float
    trump: int
    turned: int = NO_CARD
    """The turned card, or the dealer's shown card."""
    dealer_holds: int = NO_CARD
    """The dealer's card, if it decides the trump."""
    source: TrumpSource = TrumpSource.NO_TRUMP
    place: int | None = None
    """The deal's place in the schedule; None if the schedule has no one-card deal."""


@dataclass(frozen=True)
class Beginnings:
    """All beginnings, as arrays with one entry for each (B,)."""

    rules: Rules
    each: tuple[Beginning, ...]
    seen: tuple[str, ...]
    """The different things that players can see."""
    label: NDArray[np.int64]
    """The index in ``seen`` for each beginning."""
    trump: NDArray[np.int64]
    deck: NDArray[np.uint64]
    """The cards that the hands are dealt from, as a mask; without ``dealer_holds``."""
    dealer_holds: NDArray[np.int64]
    chance: NDArray[np.float64]
    """The probability of each beginning, divided by the number of ways to deal the hands."""


def beginnings(rules: Rules) -> Beginnings:
    """Returns the possible beginnings of one-card deals.

    All one-card deals of a schedule count as one kind.

    Raises:
        RulesError: The deals cannot be solved here: the bids change who leads, or the deals are
            blind.
    """
    each = tuple(_all(rules))
    seen = tuple(dict.fromkeys(beginning.seen for beginning in each))
    pack = sum(1 << card for card in rules.pack.cards)
    decks = [pack & ~_bit(b.turned) & ~_bit(b.dealer_holds) for b in each]
    chances = [b.chance / _ways(rules, deck, b) for b, deck in zip(each, decks, strict=True)]
    return Beginnings(
        rules,
        each,
        seen,
        np.array([seen.index(b.seen) for b in each], np.int64),
        np.array([b.trump for b in each], np.int64),
        np.array(decks, np.uint64),
        np.array([b.dealer_holds for b in each], np.int64),
        np.array(chances),
    )


def _bit(card: int) -> int:
    return 0 if card == NO_CARD else 1 << card


def _ways(rules: Rules, deck: int, beginning: Beginning) -> float:
    """Returns the number of ways to deal the hands."""
    hands = rules.players - (beginning.dealer_holds != NO_CARD)
    size = deck.bit_count()
    return float(np.prod([size - dealt for dealt in range(hands)], dtype=np.float64))


def _all(rules: Rules) -> Iterator[Beginning]:
    if rules.play.first_lead == "highest_bidder":
        raise RulesError(
            "play.first_lead='highest_bidder': the bids change who leads, and such one-card deals "
            "cannot be solved; set it to 'eldest'"
        )
    plans: list[tuple[int | None, DealPlan]] = [
        (place, plan)
        for place, plan in enumerate(schedule.deal_plans(rules))
        if plan.hand_size == 1
    ] or [(None, schedule.plan_of_size(rules, 1, first=True))]
    if any(plan.blind for _, plan in plans):
        raise RulesError(
            f"blind_one_card={rules.blind_one_card!r}: blind deals cannot be solved; set it to "
            "'never' so that players see their own card"
        )
    for place, plan in plans:
        for beginning in _of_source(rules, plan.trump, place):
            chance = beginning.chance / len(plans)
            seen = LATE if _is_late(rules, plan.trump) else beginning.seen
            yield Beginning(
                seen,
                chance,
                beginning.trump,
                beginning.turned,
                beginning.dealer_holds,
                plan.trump,
                place,
            )


def _is_late(rules: Rules, source: TrumpSource) -> bool:
    by_card_or_chance = (
        TrumpSource.TURNED_CARD,
        TrumpSource.DEALER_CARD,
        TrumpSource.RANDOM_SUIT,
    )
    return rules.trump.revealed == "after_bidding" and source in by_card_or_chance


def _of_source(rules: Rules, source: TrumpSource, place: int | None) -> Iterator[Beginning]:
    """Yields the possible trumps of a deal; their probabilities add up to 1."""
    cards, suits = rules.pack.cards, rules.pack.suits
    if source in (TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD):
        for card in cards:
            held = card if source is TrumpSource.DEALER_CARD else NO_CARD
            yield Beginning(card_name(card, rules.pack), 1 / len(cards), suit_of(card), card, held)
    elif source is TrumpSource.RANDOM_SUIT:  # the suit of a card drawn from the whole pack
        for suit, letter in enumerate(suits):
            of_suit = sum(suit_of(card) == suit for card in cards)
            if of_suit:
                yield Beginning(letter, of_suit / len(cards), suit)
    else:
        letter = _letter(rules, source, place)
        yield Beginning(letter, 1.0, NO_TRUMP if letter == "NT" else suits.index(letter))


def _letter(rules: Rules, source: TrumpSource, place: int | None) -> str:
    if source is TrumpSource.FIXED_SUIT:
        assert rules.trump.suit is not None, "checked when the rules were made"
        return rules.trump.suit
    if source is TrumpSource.ROTATION:
        return rules.trump.rotation[(place or 0) % len(rules.trump.rotation)]
    return "NT"
