"""Checks for the arguments that the single-agent environments share."""

from __future__ import annotations

from typing import Any

from ohhell_env.actions import whole_number
from ohhell_env.errors import RulesError, nearest, shown
from ohhell_env.rules import Rules

ILLEGAL_POLICIES = ("terminate", "raise")
"""Effects of the learner's illegal action: end the episode, or raise and change nothing."""


def check_seat(seat: Any, rules: Rules) -> int | None:
    """Returns a seat, or None for a random one; raises RulesError if it does not exist."""
    number = whole_number(seat)
    if seat is not None and (number is None or not 0 <= number < rules.players):
        raise RulesError(
            f"seat must be 0 to {rules.players - 1}, or None to draw one for each episode; "
            f"got {shown(seat)}"
        )
    return number


def check_one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Returns a setting with fixed choices, or raises RulesError with the nearest choice."""
    if not isinstance(value, str) or value not in allowed:
        raise RulesError(f"{name}={shown(value)}: {nearest(value, allowed)}")
    return value
