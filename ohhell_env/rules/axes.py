"""The axes of the rules: one frozen dataclass each, with the pagat game's values as defaults.

The docstring of each field is its meaning. ``checks.py`` finds settings that clash, and
``schedule.py`` computes the hand sizes and trumps that follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Repeat = int | Literal["players"]


@dataclass(frozen=True)
class Schedule:
    """Hand sizes over the game."""

    shape: Literal["constant", "up", "down", "up_down", "down_up", "explicit"] = "down_up"
    """How the hand size changes from deal to deal."""
    sizes: tuple[int, ...] = ()
    """The hand sizes; for the shape "explicit" only."""
    deals: int | None = None
    """Number of deals; for the shape "constant" in a game without a target score."""
    low: int = 1
    """Smallest hand size."""
    high: int | Literal["max"] = 10
    """Largest hand size; "max" is the most that the pack allows."""
    step: int = 1
    """Difference between neighbouring hand sizes."""
    repeat_low: Repeat = 1
    """How many times in a row the smallest hand is dealt; "players": once for each player."""
    repeat_high: Repeat = 1
    """How many times in a row the largest hand is dealt."""
    repeat_each: Repeat = 1
    """How many times in a row each entry of the finished list is dealt."""
    overflow: Literal["scale", "plateau", "error"] = "scale"
    """If the pack does not allow ``high``: lower the peak, cap each deal, or raise an error."""
    max_deals: int | None = None
    """Cut the schedule after this number of deals."""


@dataclass(frozen=True)
class Trump:
    """Where the trump suit comes from."""

    method: Literal["turn_up", "dealer_last_card", "fixed", "rotation", "random_suit", "none"] = (
        "turn_up"
    )
    """The next card, the dealer's last card, a fixed suit, a list of suits, chance, or no trump."""
    suit: str | None = None
    """The suit's letter; for the method "fixed" only."""
    rotation: tuple[str, ...] = ()
    """Suit letters from deal 1 on, "NT" for no-trump; for the method "rotation" only."""
    exhausted: Literal["no_trump", "dealer_last_card", "random_suit", "forbid"] = "no_trump"
    """What "turn_up" does in a deal that leaves no card to turn."""
    no_trump_deals: Literal["none", "final", "largest"] = "none"
    """Deals without trumps or a turned card: none, the last, or all of the largest size."""
    revealed: Literal["before_bidding", "after_bidding"] = "before_bidding"
    """When the players learn a trump suit that depends on a card or on chance."""


@dataclass(frozen=True)
class Bidding:
    """How bids are made. Each player makes one final bid, from 0 to the hand size."""

    order: Literal["sequential", "simultaneous"] = "sequential"
    """In turn from eldest, or all at once."""
    hook: Literal["none", "last_bidder"] = "last_bidder"
    """Whether the last bidder is barred from making the bids total the hand size."""
    hook_min_hand: int = 1
    """The smallest hand size in which the hook applies."""
    announce: bool = False
    """Whether the scorekeeper announces over, under or even after the bidding. This changes only
    the printed rules: bids are public, and tables and pictures always show the total."""


@dataclass(frozen=True)
class Play:
    """What a player must play and may lead. Following suit is always obligatory."""

    first_lead: Literal["eldest", "highest_bidder"] = "eldest"
    """Who leads to the first trick; among several highest bidders, the first in bidding order."""
    trump_lead: Literal["anytime", "after_first_trick", "after_broken", "when_forced"] = "anytime"
    """When a seat that also holds another suit may lead a trump; "broken" means played."""
    head_led_suit: bool = False
    """Whether a seat that follows suit must beat the best card of that suit if it can, unless the
    trick has been ruffed."""
    void: Literal["any", "must_trump", "must_overtrump_else_trump", "must_overtrump_else_free"] = (
        "any"
    )
    """What a seat without the led suit must play."""


@dataclass(frozen=True)
class NilScore:
    """Points of a nil bid: ``base + per_card * hand_size``."""

    base: int = 0
    per_card: int = 0


@dataclass(frozen=True)
class Scoring:
    """Points of a deal, from bid, tricks won and hand size; see ``schedule.points``."""

    exact_bonus: int = 10
    """Points of a made bid."""
    exact_per_trick: int = 1
    """Added for each trick won with a made bid."""
    exact_per_trick_sq: int = 0
    """Added to a made bid, times the square of the tricks won."""
    miss_per_trick: int = 1
    """Points for each trick won with a missed bid."""
    miss_per_diff: int = 0
    """Subtracted for each trick over or under the bid."""
    miss_per_diff_sq: int = 0
    """Subtracted, times the square of the tricks over or under the bid."""
    miss_per_diff_tri: int = 0
    """Subtracted, times 1 + 2 + ... up to the number of tricks over or under the bid."""
    miss_constant: int = 0
    """Subtracted from any missed bid."""
    nil_made: NilScore | None = None
    """Replaces the whole score of a made nil."""
    nil_missed: NilScore | None = None
    """Replaces the whole score of a missed nil."""
    table: tuple[tuple[tuple[int, ...], ...], ...] | None = None
    """Points by [hand size - 1][bid][tricks won]; replaces everything above."""


@dataclass(frozen=True)
class End:
    """When the game ends: after the schedule, or at a target score."""

    target: int | None = None
    """The game ends after the deal in which a score reaches this; None: after the schedule."""
    max_deals: int | None = None
    """The most deals in a game with a target."""


@dataclass(frozen=True)
class Settlement:
    """Payments at the end of a game; they sum to zero."""

    kind: Literal["none", "differences", "pool"] = "none"
    """Nothing, the score difference between each pair, or a pool for the winner."""
    rate: float = 1.0
    """Payment for each point of difference."""
    ante: float = 1.0
    """Payment of each player into the pool."""


SCORINGS: dict[str, Scoring] = {
    "common": Scoring(),
    "simple": Scoring(miss_per_trick=0),
    "bonus_only": Scoring(exact_per_trick=0, miss_per_trick=0),
    "off_bid": Scoring(miss_per_trick=0, miss_per_diff=1),
    "hoerr": Scoring(miss_per_trick=0, miss_per_diff=1, miss_constant=10),
    "squares": Scoring(
        exact_per_trick=0, exact_per_trick_sq=1, miss_per_trick=0, miss_per_diff_sq=1
    ),
    "escalating": Scoring(
        exact_per_trick=0, exact_per_trick_sq=1, miss_per_trick=0, miss_per_diff_tri=5
    ),
    "progressive": Scoring(exact_per_trick=0, exact_per_trick_sq=1),
    "wizard": Scoring(exact_bonus=20, exact_per_trick=10, miss_per_trick=0, miss_per_diff=10),
    "pocha": Scoring(exact_per_trick=5, miss_per_trick=0, miss_per_diff=5),
    "romanian": Scoring(exact_bonus=5, miss_per_trick=0, miss_per_diff=1),
    "podrida": Scoring(exact_per_trick=3, miss_per_trick=0, miss_per_diff=3),
    "plump": Scoring(miss_per_trick=0, nil_made=NilScore(5, 0)),
    "judgement_x10": Scoring(
        exact_bonus=0,
        exact_per_trick=10,
        miss_per_trick=0,
        miss_per_diff=10,
        nil_made=NilScore(10, 0),
    ),
    "skull_king": Scoring(
        exact_bonus=0,
        exact_per_trick=20,
        miss_per_trick=0,
        miss_per_diff=10,
        nil_made=NilScore(0, 10),
        nil_missed=NilScore(0, -10),
    ),
}
"""The named scorings, with the numbers of their sources (see ``docs/rules.md``)."""
