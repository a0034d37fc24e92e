"""What follows from the rules before any card is dealt: hand sizes, trumps, points, length.

Plain arithmetic over ``Rules``, with the formulas of ``docs/rules.md``. The engine gets the results
as tables; shapes, presets and scoring formulas stay here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from ohhell_env.errors import RulesError, shown

if TYPE_CHECKING:
    from ohhell_env.rules.axes import Schedule, Scoring
    from ohhell_env.rules.rules import Rules

MAX_SCHEDULE = 256
"""The most deals in a schedule."""
MAX_HAND_SIZE = 26
"""The largest hand: 52 cards dealt to two players."""
MAX_EXTRA_DEALS = 10
"""The most extra deals after a tie; then the win is shared."""


class TrumpSource(IntEnum):
    """Where the trump of one deal comes from."""

    NO_TRUMP = 0
    TURNED_CARD = 1
    DEALER_CARD = 2
    FIXED_SUIT = 3
    ROTATION = 4
    RANDOM_SUIT = 5


@dataclass(frozen=True)
class DealPlan:
    """One deal of a schedule."""

    hand_size: int
    trump: TrumpSource
    blind: bool


def largest_hand(rules: Rules, leave_card: bool) -> int:
    """Returns the largest hand size that the pack allows, ``floor((D - u) / n)``.

    Args:
        rules: The rules.
        leave_card: Whether a card must be left to turn (u = 1).
    """
    return (rules.pack.size - int(leave_card)) // rules.players


def _must_leave_card(rules: Rules) -> bool:
    trump = rules.trump
    forbids = trump.method == "turn_up" and trump.exhausted == "forbid"
    return forbids and trump.no_trump_deals != "largest"


@functools.lru_cache(maxsize=1024)
def hand_sizes(rules: Rules) -> tuple[int, ...]:
    """Returns the hand size of each deal of the schedule, in order.

    >>> from ohhell_env.rules import Rules
    >>> hand_sizes(Rules.preset("nomination_whist"))
    (7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7)

    Raises:
        RulesError: The schedule needs more cards than the pack has.
    """
    if _must_leave_card(rules) and rules.trump.no_trump_deals == "final":
        sizes = _build(rules, largest_hand(rules, False))
        if all(size * rules.players < rules.pack.size for size in sizes[:-1]):
            return sizes
    return _build(rules, largest_hand(rules, _must_leave_card(rules)))


def _build(rules: Rules, cap: int) -> tuple[int, ...]:
    schedule = rules.schedule
    if schedule.shape == "explicit":
        sizes = _served(rules, list(schedule.sizes), cap)
    elif schedule.shape == "constant":
        size = cap if schedule.high == "max" else schedule.high
        sizes = _served(rules, [size] * (schedule.deals or 1), cap)
    else:
        sizes = _ladder(rules, cap)
    each = _repeat(schedule.repeat_each, rules.players)
    sizes = [size for size in sizes for _ in range(each)]
    return tuple(sizes[: schedule.max_deals])


def _served(rules: Rules, sizes: list[int], cap: int) -> list[int]:
    if cap < 1:
        raise RulesError(
            f"schedule: {rules.pack.size} cards are too few to deal {rules.players} players one "
            "card each and leave one to turn (trump.exhausted='forbid')"
        )
    too_large = [size for size in sizes if size > cap]
    if too_large:
        raise RulesError(
            f"schedule: {rules.players} hands of {shown(too_large[0])} cards cannot be dealt from "
            f"{rules.pack.size} cards; the largest hand size is {cap}"
        )
    return sizes


def _ladder(rules: Rules, cap: int) -> list[int]:
    schedule = rules.schedule
    peak = _peak(rules, cap)
    rising = list(range(schedule.low, peak + 1, schedule.step))
    low = [rising[0]] * _repeat(schedule.repeat_low, rules.players)
    high = [rising[-1]] * _repeat(schedule.repeat_high, rules.players)
    sizes = _shape(schedule, rising, low, high)
    return [min(size, cap) for size in sizes]


def _shape(schedule: Schedule, rising: list[int], low: list[int], high: list[int]) -> list[int]:
    if len(rising) == 1:  # the peak is the lowest size: one run, the longer of the two
        return max(low, high, key=len)
    middle = rising[1:-1]
    falling = middle[::-1]
    return {
        "up": low + middle + high,
        "down": high + falling + low,
        "up_down": low + middle + high + falling + low,
        "down_up": high + falling + low + middle + high,
    }[schedule.shape]


def _peak(rules: Rules, cap: int) -> int:
    schedule = rules.schedule
    if schedule.low > cap:
        raise RulesError(
            f"schedule.low={schedule.low}: {rules.players} players can be dealt {cap} cards at most"
        )
    high = cap if schedule.high == "max" else schedule.high
    fits = high <= cap
    if not fits and schedule.overflow == "error":
        raise RulesError(
            f"schedule.high={high}: {rules.players} players can get at most {cap} cards each from "
            f"{rules.pack.size}; lower it, or set schedule.overflow to 'scale' or 'plateau'"
        )
    if schedule.high == "max" or (not fits and schedule.overflow == "scale"):
        return schedule.low + schedule.step * ((min(high, cap) - schedule.low) // schedule.step)
    return high


def _repeat(times: int | str, players: int) -> int:
    return players if isinstance(times, str) else times


@functools.lru_cache(maxsize=1024)
def deal_plans(rules: Rules) -> tuple[DealPlan, ...]:
    """Returns the plan of each deal of the schedule, in order."""
    sizes = hand_sizes(rules)
    blind = _blind_deals(rules, sizes)
    last = len(sizes) - 1
    final = rules.trump.no_trump_deals == "final"
    return tuple(
        DealPlan(size, _trump_source(rules, size, final and deal == last), deal in blind)
        for deal, size in enumerate(sizes)
    )


def plan_of_size(rules: Rules, hand_size: int, first: bool) -> DealPlan:
    """Returns the plan of a deal outside the schedule: an extra deal, or one of a chosen size.

    Args:
        rules: The rules.
        hand_size: Cards for each seat.
        first: Whether it replaces the game's first deal.

    Raises:
        RulesError: The hand size is not allowed.
    """
    _served(rules, [hand_size], min(largest_hand(rules, False), MAX_HAND_SIZE))
    if hand_size < 1:
        raise RulesError(f"hand_size must be at least 1, got {shown(hand_size)}")
    blinds = ("always", "first") if first else ("always",)
    blind = hand_size == 1 and rules.blind_one_card in blinds
    # Only a last deal declared no-trump may use up the pack, so an extra deal of its size is
    # played like it.
    must_turn = rules.trump.method == "turn_up" and rules.trump.exhausted == "forbid"
    like_last = not first and must_turn and hand_size * rules.players == rules.pack.size
    return DealPlan(hand_size, _trump_source(rules, hand_size, like_last), blind)


def _blind_deals(rules: Rules, sizes: tuple[int, ...]) -> set[int]:
    ones = [deal for deal, size in enumerate(sizes) if size == 1]
    chosen = {"never": [], "always": ones, "first": ones[:1], "last": ones[-1:]}
    return set(chosen[rules.blind_one_card])


def _trump_source(rules: Rules, hand_size: int, declared: bool) -> TrumpSource:
    trump = rules.trump
    top = hand_size == max(hand_sizes(rules))
    if declared or (top and trump.no_trump_deals == "largest") or (top and _spent(rules)):
        return TrumpSource.NO_TRUMP
    if trump.method != "turn_up":
        return _SOURCES[trump.method]
    if hand_size * rules.players < rules.pack.size:
        return TrumpSource.TURNED_CARD
    if trump.exhausted == "forbid":
        raise RulesError(
            f"trump.exhausted='forbid': {rules.players} hands of {hand_size} cards leave none to "
            f"turn; the largest hand size is {largest_hand(rules, True)}"
        )
    return _SOURCES[trump.exhausted]


def _spent(rules: Rules) -> bool:
    """Returns whether a deal of the largest size has no trump because no card is left to turn.

    That happens if the last deal is declared no-trump. An extra deal after a tie has the same size.
    """
    trump = rules.trump
    forbids = trump.method == "turn_up" and trump.exhausted == "forbid"
    full = max(hand_sizes(rules)) * rules.players == rules.pack.size
    return forbids and trump.no_trump_deals == "final" and full


_SOURCES = {
    "dealer_last_card": TrumpSource.DEALER_CARD,
    "fixed": TrumpSource.FIXED_SUIT,
    "rotation": TrumpSource.ROTATION,
    "random_suit": TrumpSource.RANDOM_SUIT,
    "none": TrumpSource.NO_TRUMP,
    "no_trump": TrumpSource.NO_TRUMP,
}


def points(scoring: Scoring, bid: int, tricks_won: int, hand_size: int) -> int:
    """Returns the points of one seat for one deal.

    A ``table`` gives them directly. Otherwise a made bid b scores
    ``exact_bonus + exact_per_trick * b + exact_per_trick_sq * b²``. A bid missed by d with t tricks
    scores ``miss_per_trick * t - miss_per_diff * d - miss_per_diff_sq * d² - miss_per_diff_tri *
    (1 + ... + d) - miss_constant``. For a nil, ``nil_made`` and ``nil_missed`` replace the score.

    >>> from ohhell_env.rules.axes import SCORINGS
    >>> [points(SCORINGS["common"], 2, won, 3) for won in range(4)]
    [0, 1, 12, 3]
    """
    if scoring.table is not None:
        return scoring.table[hand_size - 1][bid][tricks_won]
    made = bid == tricks_won
    nil = scoring.nil_made if made else scoring.nil_missed
    if bid == 0 and nil is not None:
        return nil.base + nil.per_card * hand_size
    if made:
        per_trick = scoring.exact_per_trick + scoring.exact_per_trick_sq * tricks_won
        return scoring.exact_bonus + per_trick * tricks_won
    off = abs(bid - tricks_won)
    return (
        scoring.miss_per_trick * tricks_won
        - scoring.miss_per_diff * off
        - scoring.miss_per_diff_sq * off * off
        - scoring.miss_per_diff_tri * (off * (off + 1) // 2)
        - scoring.miss_constant
    )


def sure_number_of_deals(rules: Rules) -> int | None:
    """Returns the number of deals after which a game to a target score is certainly over.

    If every trick scores at least c > 0 points and no deal costs points, the scores of n seats rise
    by at least c * h in each deal of h cards. So one of them reaches the target after at most
    ``floor((target - 1) * n / (c * h)) + 1`` deals.

    Returns:
        The number of deals, or None if scores need not rise or there is no target.
    """
    target = rules.end.target
    if target is None:
        return None
    sizes = set(hand_sizes(rules))
    gain = min(_least_gain(rules.scoring, size) for size in sizes)
    if gain <= 0:
        return None
    return (target - 1) * rules.players // (gain * min(sizes)) + 1


def _least_gain(scoring: Scoring, hand_size: int) -> Fraction:
    bids = range(hand_size + 1)
    if any(points(scoring, bid, 0, hand_size) < 0 for bid in bids):
        return Fraction(0)
    won = range(1, hand_size + 1)
    return min(Fraction(points(scoring, bid, t, hand_size), t) for bid in bids for t in won)


def num_deals(rules: Rules) -> int:
    """Returns the most deals that a game can have, not counting extra deals after a tie."""
    if rules.end.target is None:
        return len(hand_sizes(rules))
    sure = rules.end.max_deals or sure_number_of_deals(rules)
    assert sure is not None, "checked on creation of the rules"
    return sure
