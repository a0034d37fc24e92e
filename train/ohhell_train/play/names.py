"""Names for the seats: those that the user gives, and first names for all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from ohhell_env.cli.program import printable
from ohhell_env.errors import RulesError, shown
from ohhell_env.players import called, named_player
from ohhell_env.rules import Rules
from ohhell_train.play.events import YOU

PEOPLE = ("Ida", "Omar", "Mei", "Luca", "Nia", "Ravi", "Tove", "Kofi", "Ana", "Yuki")
"""Names for seats without one, clockwise from the person's. Short, in plain letters for every
terminal, and no two with the same initial."""


class Seated(NamedTuple):
    """Somebody at the table."""

    name: str
    """Different from all others at the table."""
    player: str
    """The player in this seat; empty for the person."""
    given: bool
    """Whether the user gave the name."""

    @property
    def label(self) -> str:
        """The name with the player: "Ida (heuristic)"."""
        return f"{self.name} ({self.player})" if self.player else self.name

    @property
    def recorded(self) -> str:
        """The name in a record: a name that the user gave stands alone."""
        return self.name if self.given else self.label


def names_by_seat(
    rules: Rules, seat: int, against: Sequence[Any], names: Sequence[str]
) -> list[Seated]:
    """Returns who sits in each seat.

    Args:
        rules: The rules.
        seat: The person's seat.
        against: One player for all other seats, or one for each, clockwise from the person's.
        names: The person's name, or one for each seat, or none.

    Raises:
        RulesError: Neither one name nor one for each seat, or a name that cannot be shown.
    """
    if len(names) not in (0, 1, rules.players):
        raise RulesError(
            f"--name: give your own name, or {rules.players} names, one for each seat; "
            f"got {len(names)}"
        )
    for each in names:
        if not each.strip() or not each.isprintable():
            raise RulesError(f"--name: a name needs printable letters; got {shown(each)}")
    others = list(against) * (1 if len(against) > 1 else rules.players - 1)
    order = [(seat + place) % rules.players for place in range(rules.players)]
    players = dict(zip(order, ["", *map(_player_text, others)], strict=True))
    own: dict[int, str | None]
    if len(names) == rules.players:
        own = dict(enumerate(names))
    else:
        wanted = [names[0] if names else YOU, *map(_own_name, others)]
        own = dict(zip(order, wanted, strict=True))
    for place in sorted(own):
        if own[place] == YOU and place != seat:
            raise RulesError(
                f"--name: {YOU!r} stands for you alone; give seat {place} another name"
            )
    given = _numbered({place: own[place] for place in sorted(own)})
    taken = {name.casefold() for name in given.values()}
    free = (name for name in PEOPLE if name.casefold() not in taken)
    chosen = given | {place: next(free) for place in order if place not in given}
    return [Seated(chosen[place], players[place], place in given) for place in range(rules.players)]


def _own_name(given: Any) -> str | None:
    """Returns the name in "NAME=PLAYER"; None where the player has none."""
    named = named_player(given)
    alone = named.name == given if isinstance(given, str) else named.player is given
    return None if alone else printable(named.name)


def _player_text(given: Any) -> str:
    player = named_player(given).player
    return printable(player if isinstance(player, str) else called(player))


def _numbered(names: Mapping[int, str | None]) -> dict[int, str]:
    """Returns the names that are there, by seat, with numbers after repeated ones."""
    given = {place: name for place, name in names.items() if name is not None}
    total, numbers = Counter(given.values()), {name: count(1) for name in given.values()}

    def distinct(name: str) -> str:
        if total[name] == 1:
            return name
        return next(each for n in numbers[name] if (each := f"{name} {n}") not in total)

    return {place: distinct(name) for place, name in given.items()}
