"""Names of the seats in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ohhell_env.errors import RulesError


def seat_names(
    players: int, names: Sequence[str] | None, record: Mapping[str, Any] | None = None
) -> list[str]:
    """Returns a name for each seat.

    Args:
        players: Number of seats.
        names: The names; None: the record's, else "seat 0", "seat 1" and so on.
        record: A checked record; None: no record.

    Raises:
        RulesError: The number of names is not the number of seats.
    """
    if names is None:
        kept: Sequence[str] | None = None if record is None else record.get("names")
        names = kept or [f"seat {seat}" for seat in range(players)]
    if len(names) != players:
        raise RulesError(f"names: give one for each of the {players} seats, got {len(names)}")
    return list(names)
