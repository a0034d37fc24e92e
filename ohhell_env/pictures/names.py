"""What the seats of a picture are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ohhell_env.errors import RulesError


def seat_names(
    players: int, names: Sequence[str] | None, record: Mapping[str, Any] | None = None
) -> list[str]:
    """Returns a name for each seat.

    Args:
        players: How many seats there are.
        names: The names wanted; None: those of the record, else "seat 0", "seat 1" and so on.
        record: A record that has been checked; None: there is none.

    Raises:
        RulesError: There are not as many names as seats.
    """
    if names is None:
        kept: Sequence[str] | None = None if record is None else record.get("names")
        names = kept or [f"seat {seat}" for seat in range(players)]
    if len(names) != players:
        raise RulesError(f"names: one for each of {players} seats, got {len(names)}")
    return list(names)
