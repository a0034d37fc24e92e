"""Checks that ship with the library: random rules, random games, and their invariants."""

from ohhell_env.testing.checks import (
    BrokenGameError,
    Refereed,
    check_game,
    check_records,
    load_referee,
    play_random,
    public_state,
    random_rules,
)

__all__ = [
    "BrokenGameError",
    "Refereed",
    "check_game",
    "check_records",
    "load_referee",
    "play_random",
    "public_state",
    "random_rules",
]
