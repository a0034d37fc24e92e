"""Players for the seats that an environment plays itself.

``resolve`` is the only place in this package that imports ``ohhell_agents``, and only for a player
given by name. Functions and objects need nothing but ``ohhell_env``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from ohhell_env.errors import OhHellError, shown
from ohhell_env.rules import Rules

Chooser = Callable[[Any, Any], Any]
"""A function of observation and info that returns an action code."""


class Player(Protocol):
    """The interface of a player: it takes a seat and chooses actions."""

    def begin(self, rules: Rules, seat: int) -> None:
        """Takes a seat; called before each game."""
        ...

    def act(
        self, observation: Any, info: Mapping[str, Any] | None = None, deterministic: bool = True
    ) -> int:
        """Returns the action code of one decision."""
        ...


class FunctionPlayer:
    """A plain function as a player.

    Args:
        function: Called as ``function(observation, info)``; returns an action code.
    """

    def __init__(self, function: Chooser) -> None:
        self.function = function

    def begin(self, rules: Rules, seat: int) -> None:
        """Takes a seat; does nothing, because a function has no memory."""

    def act(
        self, observation: Any, info: Mapping[str, Any] | None = None, deterministic: bool = True
    ) -> int:
        """Returns the result of the function."""
        return self.function(observation, info)


def resolve(player: Any, seed: int | None = None) -> Player:
    """Returns a player given in any form.

    Args:
        player: An object with ``begin`` and ``act``, a function of observation and info, a name
            that ``ohhell_agents.make`` accepts, or a checkpoint's path.
        seed: Seeds the random numbers of a player given by name.

    Raises:
        OhHellError: Another kind of object, or an unknown name.
    """
    if isinstance(player, str | Path):
        return _make(player, seed)
    if not isinstance(player, type):
        if callable(getattr(player, "act", None)) and callable(getattr(player, "begin", None)):
            return player
        if callable(player):
            return FunctionPlayer(player)
    raise OhHellError(
        f"a player must be a name, a function of observation and info, or an object with begin() "
        f"and act(); got {shown(player)}"
    )


def called(player: Any) -> str:
    """Returns a player's own name, or the name of its function or class."""
    for attribute in ("name", "__name__"):
        name = getattr(player, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(player).__name__


class NamedPlayer(NamedTuple):
    """A player with a name."""

    name: str
    player: Any
    """A spec (the text that ``ohhell_agents.make`` accepts), or an object that plays."""

    @property
    def spec(self) -> str | None:
        """The player's spec; None for an object."""
        return self.player if isinstance(self.player, str) else None


def named_player(given: Any) -> NamedPlayer:
    """Returns the name and the player, given in any form.

    >>> named_player("mine=runs/x/best")
    NamedPlayer(name='mine', player='runs/x/best')
    >>> named_player("search:worlds=50").name
    'search:worlds=50'

    Args:
        given: A spec, alone (then it is also the name) or as "name=spec"; a pair (name, player); a
            dictionary with one item {name: player}; or an object that plays, named by `called`.

    Raises:
        OhHellError: None of these.
    """
    if isinstance(given, str):
        # A name has no ":" and no "/", so "search:worlds=50" and "runs/x=1/best" are specs.
        name, equals, spec = given.partition("=")
        return (
            NamedPlayer(name, spec)
            if equals and _NAME.fullmatch(name)
            else NamedPlayer(given, given)
        )
    if isinstance(given, Path):
        return NamedPlayer(str(given), str(given))
    pair: tuple[Any, ...] | None = None
    if isinstance(given, Mapping):
        items = [*cast("Mapping[Any, Any]", given).items()]
        pair = items[0] if len(items) == 1 else ()
    elif isinstance(given, tuple | list):
        pair = tuple(cast("Sequence[Any]", given))
    player: Any = cast("Any", given)
    if pair is None and callable(getattr(player, "act_batch", getattr(player, "act", None))):
        return NamedPlayer(called(player), player)
    if pair is not None and len(pair) == 2 and isinstance(pair[0], str):
        return NamedPlayer(pair[0], str(pair[1]) if isinstance(pair[1], Path) else pair[1])
    raise OhHellError(
        "a player must be SPEC, NAME=SPEC, name: player, a pair (name, player) or an object with "
        f"act() or act_batch(); got {shown(player)}"
    )


_NAME = re.compile(r"[\w.#+-]+")


def _make(name: str | Path, seed: int | None) -> Player:
    from ohhell_agents import make

    return make(name, seed=seed)
