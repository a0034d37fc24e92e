"""Checks for rules that cannot be played, with messages that say what would work."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ohhell_env.errors import RulesError, shown
from ohhell_env.rules import schedule as plan

if TYPE_CHECKING:
    from ohhell_env.rules.axes import Scoring
    from ohhell_env.rules.rules import Rules

MIN_PLAYERS, MAX_PLAYERS = 2, 8
_LARGEST_SCORE = 2**31 - 1
_LIMIT = 10_000
"""Largest size of any number in a scoring or bonus: scores stay far from overflow."""
_LONGEST_NAME = 80
"""Messages cut the name of rules, which may have any length, to this many characters."""


def check_rules(rules: Rules) -> None:
    """Raises RulesError if the rules cannot be played."""
    for check in (
        _players,
        _schedule_numbers,
        _dealer,
        _trump,
        _bidding,
        _scoring,
        _served,
        _end,
        _room,
        _settlement,
    ):
        for problem in check(rules):
            name = rules.name[:_LONGEST_NAME]
            raise RulesError(problem if name == "custom" else f"{name}: {problem}")


def _players(rules: Rules) -> Iterator[str]:
    if not MIN_PLAYERS <= rules.players <= MAX_PLAYERS:
        yield f"players must be {MIN_PLAYERS} to {MAX_PLAYERS}, got {rules.players}"
    if rules.players > rules.pack.size:
        yield (
            f"players={rules.players}: a pack of {rules.pack.size} cards is too small for one card "
            "each; use fewer players or a larger pack"
        )


def _schedule_numbers(rules: Rules) -> Iterator[str]:
    schedule = rules.schedule
    for name in ("low", "step", "high", "repeat_low", "repeat_high", "repeat_each"):
        value = getattr(schedule, name)
        if isinstance(value, int) and value < 1:
            yield f"schedule.{name} must be at least 1, got {value}"
    for name in ("deals", "max_deals"):
        value = getattr(schedule, name)
        if value is not None and not 1 <= value <= plan.MAX_SCHEDULE:
            yield f"schedule.{name} must be 1 to {plan.MAX_SCHEDULE}, got {value}"
    yield from _schedule_shape(rules)
    yield from _schedule_length(rules)


def _schedule_shape(rules: Rules) -> Iterator[str]:
    schedule = rules.schedule
    explicit, constant = schedule.shape == "explicit", schedule.shape == "constant"
    if explicit and not schedule.sizes:
        yield "schedule.shape='explicit' needs schedule.sizes, a list of hand sizes"
    if not explicit and schedule.sizes:
        yield f"schedule.sizes needs schedule.shape='explicit', got {schedule.shape!r}"
    for size in schedule.sizes:
        if size < 1:
            yield f"schedule.sizes: each must be at least 1, got {size}"
    if constant and rules.end.target is None and schedule.deals is None:
        yield "schedule.shape='constant' needs schedule.deals, or end.target, to end the game"
    if not constant and schedule.deals is not None:
        yield f"schedule.deals needs schedule.shape='constant', got {schedule.shape!r}"
    if constant and rules.end.target is not None and schedule.deals is not None:
        yield "schedule.deals does not apply with end.target; set end.max_deals instead"
    if not explicit and not constant and isinstance(schedule.high, int):
        yield from _ladder(schedule.low, schedule.high, schedule.step)


def _ladder(low: int, high: int, step: int) -> Iterator[str]:
    if low > high:
        yield f"schedule.low={low} is more than schedule.high={high}"
    elif (high - low) % step:
        fits = low + step * ((high - low) // step)
        yield (
            f"schedule: steps of {step} do not lead from {low} to {high}; "
            f"set schedule.high to {fits} or {fits + step}"
        )


def _schedule_length(rules: Rules) -> Iterator[str]:
    schedule, most = rules.schedule, plan.MAX_SCHEDULE
    for name in ("repeat_low", "repeat_high", "repeat_each"):
        value = getattr(schedule, name)
        if isinstance(value, int) and value > most:
            yield f"schedule.{name} must be at most {most}, got {value}"
    if isinstance(schedule.high, int) and schedule.high > 60:
        yield f"schedule.high must be at most 60 (or 'max'), got {schedule.high}"


def _dealer(rules: Rules) -> Iterator[str]:
    dealer = rules.first_dealer
    if isinstance(dealer, int) and not 0 <= dealer < rules.players:
        yield f"first_dealer: a seat is 0 to {rules.players - 1}, got {dealer}"
    jacks = [card for card in rules.pack.cards if _rank_letter(rules, card) == "J"]
    if dealer == "first_jack" and not jacks:
        yield "first_dealer='first_jack': the pack has no jack; use 'random' or 'high_card'"


def _rank_letter(rules: Rules, card: int) -> str:
    from ohhell_env.cards import rank_of

    return rules.pack.ranks[rank_of(card)]


def _trump(rules: Rules) -> Iterator[str]:
    trump, suits = rules.trump, rules.pack.suits
    if trump.method == "fixed" and trump.suit not in suits:
        allowed = ", ".join(suits)
        yield f"trump.method='fixed' needs trump.suit, one of {allowed}; got {shown(trump.suit)}"
    if trump.method != "fixed" and trump.suit is not None:
        yield f"trump.suit={shown(trump.suit)} needs trump.method='fixed', got {trump.method!r}"
    if trump.method == "rotation" and not 1 <= len(trump.rotation) <= 16:
        yield "trump.method='rotation' needs trump.rotation, a list of 1 to 16 suits or 'NT'"
    if trump.method != "rotation" and trump.rotation:
        yield f"trump.rotation needs trump.method='rotation', got {trump.method!r}"
    for suit in trump.rotation:
        if suit not in (*suits, "NT"):
            allowed = ", ".join((*suits, "NT"))
            yield f"trump.rotation: {shown(suit)} is not in the pack; allowed: {allowed}"
    if trump.no_trump_deals == "final" and rules.end.target is not None:
        yield (
            "trump.no_trump_deals='final' clashes with end.target: the last deal is not known in "
            "advance; use 'none' or 'largest', or remove end.target"
        )


def _bidding(rules: Rules) -> Iterator[str]:
    bidding = rules.bidding
    if bidding.order == "simultaneous" and bidding.hook != "none":
        yield (
            "bidding.order='simultaneous' clashes with bidding.hook='last_bidder': there is no "
            "last bidder; set bidding.hook to 'none' or bidding.order to 'sequential'"
        )
    if not 1 <= bidding.hook_min_hand <= _LIMIT:
        yield f"bidding.hook_min_hand must be 1 to {_LIMIT}, got {bidding.hook_min_hand}"
    if rules.blind_one_card == "last" and rules.end.target is not None:
        yield (
            "blind_one_card='last' clashes with end.target: the last deal is not known in advance; "
            "use 'first' or 'always'"
        )


def _scoring(rules: Rules) -> Iterator[str]:
    scoring = rules.scoring
    numbers = {name: value for name, value in vars(scoring).items() if isinstance(value, int)} | {
        "hard_score_bonus": rules.hard_score_bonus
    }
    for nil in ("nil_made", "nil_missed"):
        score = getattr(scoring, nil)
        if score is not None:
            numbers |= {f"{nil}.base": score.base, f"{nil}.per_card": score.per_card}
    for name, value in numbers.items():
        if abs(value) > _LIMIT:
            yield f"scoring: {name} must be within ±{_LIMIT}, got {value}"


def _served(rules: Rules) -> Iterator[str]:
    sizes = plan.hand_sizes(rules)
    if len(sizes) > plan.MAX_SCHEDULE:
        yield (
            f"schedule: {len(sizes)} deals are too many; at most {plan.MAX_SCHEDULE} are allowed. "
            "Set schedule.max_deals, or lower the repeats"
        )
    if max(sizes) > plan.MAX_HAND_SIZE:
        yield f"schedule: hand sizes must be at most {plan.MAX_HAND_SIZE}, got {max(sizes)}"
    if rules.scoring.table is not None:
        yield from _table(rules, max(sizes))
    plan.deal_plans(rules)


def _table(rules: Rules, largest: int) -> Iterator[str]:
    table = rules.scoring.table
    assert table is not None
    if len(table) < largest:
        yield f"scoring.table has {len(table)} hand sizes; the schedule needs 1 to {largest}"
    for hand_size, rows in enumerate(table, start=1):
        if len(rows) != hand_size + 1 or any(len(row) != hand_size + 1 for row in rows):
            yield (
                f"scoring.table[{hand_size - 1}]: hand size {hand_size} needs "
                f"{hand_size + 1} bids by {hand_size + 1} numbers of tricks"
            )
        if any(abs(value) > _LIMIT for row in rows for value in row):
            yield f"scoring.table[{hand_size - 1}]: points must be within ±{_LIMIT}"


def _end(rules: Rules) -> Iterator[str]:
    end = rules.end
    if end.target is None:
        if end.max_deals is not None:
            yield "end.max_deals needs end.target; to cut a schedule, set schedule.max_deals"
        return
    if not 1 <= end.target <= _LIMIT:
        yield f"end.target must be 1 to {_LIMIT}, got {end.target}"
    if end.max_deals is not None and not 1 <= end.max_deals <= _LIMIT:
        yield f"end.max_deals must be 1 to {_LIMIT}, got {end.max_deals}"
    if end.max_deals is None and plan.sure_number_of_deals(rules) is None:
        yield (
            f"end.target={end.target} needs end.max_deals: scores need not rise under this "
            "scoring, so the game might never end"
        )


def _room(rules: Rules) -> Iterator[str]:
    """Scores are 32-bit numbers in the engine."""
    sizes = set(plan.hand_sizes(rules))
    most = max(_largest_points(rules.scoring, size) for size in sizes)
    deals = plan.num_deals(rules) + plan.MAX_EXTRA_DEALS
    if most * deals > _LARGEST_SCORE:
        yield (
            f"scoring: {deals} deals of up to {most} points exceed the largest possible score "
            f"({_LARGEST_SCORE}); lower the points or the number of deals"
        )


@functools.lru_cache(maxsize=4096)
def _largest_points(scoring: Scoring, size: int) -> int:
    numbers = range(size + 1)
    return max(abs(plan.points(scoring, bid, won, size)) for bid in numbers for won in numbers)


def _settlement(rules: Rules) -> Iterator[str]:
    for name in ("rate", "ante"):
        value = getattr(rules.settlement, name)
        if not 0 < value <= _LIMIT:
            yield f"settlement.{name} must be more than 0 and at most {_LIMIT}, got {value}"
