"""Changed settings without effect, such as a settlement bonus in a game without a settlement.

Settings are free to combine, so a game may have some that it never uses. ``explain`` names them,
because the user who set them expects an effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ohhell_env.errors import RulesError
from ohhell_env.rules import schedule as plan
from ohhell_env.rules.rules import Rules
from ohhell_env.rules.schedule import TrumpSource

_HIDDEN = {TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD, TrumpSource.RANDOM_SUIT}
"""Trumps that are unknown until a card or chance decides them."""


def idle_settings(rules: Rules, base: Rules, changed: dict[str, Any]) -> dict[str, str]:
    """Returns the changed settings that have no effect on the game.

    Args:
        rules: The rules of the game.
        base: The rules before the changes.
        changed: The changed settings, as ``phrases.changes`` returns them.

    Returns:
        What each setting needs to take effect, by dotted name; "" if no single setting is missing.

    >>> rules = Rules(hard_score_bonus=10)
    >>> idle_settings(rules, Rules(), {"hard_score_bonus": 10})
    {'hard_score_bonus': 'needs settlement.kind = differences'}
    """
    idle: dict[str, str] = {}
    left = rules
    for key in changed:
        without = None if key == "players" else _with_old_value(left, base, key)
        if without is not None and _game(without) == _game(left):
            idle[key] = _wanted(rules, key)
            left = without  # of two settings with the same effect, only one is idle
    return idle


def _with_old_value(rules: Rules, base: Rules, key: str) -> Rules | None:
    old: Any = base.to_dict()
    for part in key.split("."):
        old = old[part]
    try:
        return rules.replace(**{key: old})
    except RulesError:  # the other settings need it
        return None


def _game(rules: Rules) -> tuple[Any, ...]:
    """Returns everything that a game depends on; rules that agree in it play the same game."""
    plans = plan.deal_plans(rules)
    sources = {one.trump for one in plans}
    sizes = {one.hand_size for one in plans}
    bidding, play, paid = rules.bidding, rules.play, rules.settlement
    hooked = {size for size in sizes if size >= bidding.hook_min_hand}
    choice = max(sizes) > 1  # a hand of one card is played under any duties
    trumps = any(one.hand_size > 1 and one.trump != TrumpSource.NO_TRUMP for one in plans)
    by_differences = paid.kind == "differences"
    points = tuple(_points(rules, sizes))
    return (
        (rules.players, rules.pack, rules.first_dealer),
        _once(plans) if rules.end.target is not None else plans,
        rules.trump.suit if TrumpSource.FIXED_SUIT in sources else None,
        rules.trump.rotation if TrumpSource.ROTATION in sources else None,
        rules.trump.revealed if sources & _HIDDEN else None,
        (bidding.order, bidding.announce, hooked if bidding.hook != "none" else set()),
        (play.first_lead, play.head_led_suit if choice else None),
        (play.trump_lead, play.void) if trumps else None,
        points,
        (rules.end.target if max(points) > 0 else None, _most_deals(rules), rules.tie_break),
        (paid.kind, (paid.rate, rules.hard_score_bonus) if by_differences else None),
        paid.ante if paid.kind == "pool" else None,
    )


def _once(plans: tuple[plan.DealPlan, ...]) -> tuple[plan.DealPlan, ...]:
    """Returns the shortest list of deals whose repetition gives ``plans``."""
    whole = len(plans)
    lengths = (length for length in range(1, whole + 1) if whole % length == 0)
    return next(plans[:n] for n in lengths if plans[:n] * (whole // n) == plans)


def _points(rules: Rules, sizes: set[int]) -> Iterator[int]:
    for size in sorted(sizes):
        for bid in range(size + 1):
            for won in range(size + 1):
                yield plan.points(rules.scoring, bid, won, size)


def _most_deals(rules: Rules) -> int:
    sure = plan.sure_number_of_deals(rules)
    return plan.num_deals(rules) if sure is None else min(sure, plan.num_deals(rules))


def _wanted(rules: Rules, key: str) -> str:
    if key in ("hard_score_bonus", "settlement.rate") and rules.settlement.kind != "differences":
        return "needs settlement.kind = differences"
    if key == "settlement.ante" and rules.settlement.kind != "pool":
        return "needs settlement.kind = pool"
    if key == "bidding.hook_min_hand" and rules.bidding.hook == "none":
        return "needs bidding.hook = last_bidder"
    if key.startswith("scoring.") and rules.scoring.table is not None:
        return "replaced by scoring.table"
    if key.startswith("schedule.") and rules.schedule.shape in ("explicit", "constant"):
        return f"not used with schedule.shape = {rules.schedule.shape}"
    return ""
