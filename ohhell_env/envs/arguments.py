"""Arguments that the single-agent environments share, checked as they come from a caller."""

from __future__ import annotations

from typing import Any

from ohhell_env.actions import whole_number
from ohhell_env.errors import RulesError, nearest, shown
from ohhell_env.rules import Rules

ILLEGAL_POLICIES = ("terminate", "raise")
"""What an illegal action of the learner does: end its episode, or raise and change nothing."""


def check_seat(seat: Any, rules: Rules) -> int | None:
    """Returns a seat at a table, or None; RulesError where there is no such seat."""
    number = whole_number(seat)
    if seat is not None and (number is None or not 0 <= number < rules.players):
        raise RulesError(
            f"seat: 0 to {rules.players - 1}, or None for a new one each episode; got {shown(seat)}"
        )
    return number


def check_one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Returns a setting that is one of a few words, or raises RulesError with the nearest."""
    if not isinstance(value, str) or value not in allowed:
        raise RulesError(f"{name}={shown(value)}: {nearest(value, allowed)}")
    return value
