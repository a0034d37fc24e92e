"""Entrants of a tournament: a name, the player behind it, and how it is asked.

Players are asked about many tables at once. A player that raises an exception or answers with an
illegal action commits a fault: a random legal move replaces its answer, and the tournament goes on.
After ``FAULT_LIMIT`` faults in one unit of work it is disqualified there: it is not asked again in
that unit, and every move made in its place is another fault. A player with only one legal action is
not asked.

Everything that a player raises is a fault, even if it is not an ``Exception``, such as
``SystemExit`` or what ends tasks and generators. The only exception is ``KeyboardInterrupt``, which
is Ctrl-C.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import ohhell_agents
from ohhell_agents.base import Agent
from ohhell_agents.value.players import HEURISTIC, OUTSIDE, RANDOM
from ohhell_agents.value.trick_model import new_models
from ohhell_env.asking import Actions, Asker, are_legal
from ohhell_env.engine.layout import Rows, engine_rows
from ohhell_env.errors import OhHellError, described, nearest, shown, shown_path
from ohhell_env.observation import LAYOUTS
from ohhell_env.players import NamedPlayer, named_player
from ohhell_env.rules import Rules
from ohhell_train.tournament.config import MOST_ENTRANTS, EntrantLike
from ohhell_train.tournament.executors.last_asked import asking

BATCH = 256
"""Rows of every question to a player outside the engine, filled up with copies. Otherwise a
network's matrix product would depend on how many tables happen to wait."""

FAULT_LIMIT = 25
"""The number of faults that disqualifies an entrant for the rest of a unit of work."""

_LONGEST = 500  # most characters of a fault's message


@dataclass
class Entrant:
    """One entrant and its counts so far."""

    name: str
    asker: Asker
    """The player, with the way it is asked."""
    engine_player: int = OUTSIDE
    """Number of its kind of player inside the engine, or ``OUTSIDE``."""
    faults: int = 0
    first_fault: str = ""
    decisions: int = 0
    """Decisions asked from outside the engine."""
    seconds: float = 0.0
    """Time of these decisions."""
    was_disqualified: bool = False
    """Whether it was disqualified in any unit of work."""
    given_up: bool = False
    """Whether it is not asked any more because it failed all the time (see ``given_up.py``)."""
    ours: bool = False
    """Whether the tournament created the player and must close it."""
    name_number: np.uint64 = field(init=False)
    """A number made from the name, for its random streams."""

    def __post_init__(self) -> None:
        digest = hashlib.sha256(self.name.encode()).digest()
        self.name_number = np.uint64(int.from_bytes(digest[:8], "little"))

    @classmethod
    def of(cls, name: str, player: Any, ours: bool = False) -> Self:
        """Returns an entrant whose player is asked in the way that it supports.

        Args:
            name: Its name.
            player: An object with ``begin`` and ``act_batch`` (or ``act`` alone).
            ours: Whether the caller created the player and must close it.

        Raises:
            OhHellError: The player's layout cannot be read, or does not exist.
        """
        with _named_in_errors(name, "cannot begin under these rules"):
            asker = Asker(player)
            number = player.engine_player if isinstance(player, Agent) else OUTSIDE
        if asker.layout_name not in LAYOUTS:
            raise OhHellError(
                f"entrant {shown_path(name)!r} wants the layout {shown(asker.layout_name)} of "
                f"observations; {nearest(asker.layout_name[:80], LAYOUTS)}"
            )
        inside = number if isinstance(number, int) and number in (RANDOM, HEURISTIC) else OUTSIDE
        return cls(name, asker, inside, ours=ours)

    @property
    def player(self) -> Any:
        """The object that plays."""
        return self.asker.player

    @property
    def disqualified(self) -> bool:
        """Whether it has committed too many faults to be asked again."""
        return self.given_up or disqualifies(self.faults)

    @property
    def layout_name(self) -> str:
        """Layout of the observations that the player reads."""
        return self.asker.layout_name

    @property
    def fingerprint(self) -> str:
        """The player's own fingerprint, which distinguishes it from others of its class."""
        return self.asker.fingerprint

    def close(self) -> None:
        """Releases the player's resources, such as a program, if the tournament created it."""
        if not self.ours:
            return
        with contextlib.suppress(OhHellError), _named_in_errors(self.name, "cannot be closed"):
            getattr(self.player, "close", _nothing)()  # the tables played count in any case

    def ask(
        self,
        views: NDArray[np.int8],
        masks: NDArray[np.int8],
        random_bits: NDArray[np.uint64],
        seats: NDArray[np.int8] | None = None,
    ) -> Actions:
        """Returns a legal action for every row, whatever the player does.

        Args:
            views: int8 (B, L).
            masks: int8 (B, A).
            random_bits: uint64 (B,), random bits for each decision.
            seats: (B,), the seats that decide, for players that need to know them.
        """
        size = 1 if self.asker.one_by_one else BATCH
        actions = np.full(len(views), -1, np.int64)
        started = time.perf_counter()
        for start in range(0, len(views), size):
            part = slice(start, start + size)
            if self.disqualified:
                part = slice(start, None)
            else:
                with asking(self.name):
                    if seats is not None and self.asker.needs_seat:
                        self._sit(int(seats[start]))
                    actions[part] = self._ask_batch(
                        views[part], masks[part], random_bits[part], size
                    )
            actions[part] = self._replace_illegal(actions[part], masks[part], random_bits[part])
            if part.stop is None:
                break
        self.seconds += time.perf_counter() - started
        self.decisions += len(views)
        return actions

    def _sit(self, seat: int) -> None:
        """Gives the player its seat; a failure here will show when the player is asked."""
        try:
            self.player.begin(self.player.rules, seat)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        self.first_fault = self.first_fault or _described(error)

    def _ask_batch(
        self,
        views: NDArray[np.int8],
        masks: NDArray[np.int8],
        random_bits: NDArray[np.uint64],
        full: int,
    ) -> Actions:
        try:
            return self.asker.padded_answers(views, masks, random_bits, full)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if full > 1:
                return self._ask_each(views, masks, random_bits)
            self._note(error)
            return np.full(1, -1, np.int64)

    def _ask_each(
        self, views: NDArray[np.int8], masks: NDArray[np.int8], random_bits: NDArray[np.uint64]
    ) -> Actions:
        """Asks one question at a time, until there are too many faults."""
        actions, left = np.full(len(views), -1, np.int64), FAULT_LIMIT - self.faults
        for row in range(len(views)):
            if left <= 0:
                break
            part = slice(row, row + 1)
            actions[part] = self._ask_batch(views[part], masks[part], random_bits[part], 1)
            left -= actions[row] < 0
        return actions

    def _replace_illegal(
        self, actions: Actions, masks: NDArray[np.int8], random_bits: NDArray[np.uint64]
    ) -> Actions:
        wrong = np.flatnonzero(~are_legal(actions, masks))
        if len(wrong):
            self.faults += len(wrong)
            first = f"answered {int(actions[wrong[0]])}, which is not legal"
            if not self.given_up:
                self.first_fault = self.first_fault or first
            substitute = ohhell_agents.RandomAgent(seed=0)
            actions[wrong] = substitute.choose(
                masks[wrong], masks[wrong], ~random_bits[wrong], True
            )
        return actions


def engine_players(entrants: Sequence[Entrant]) -> tuple[NDArray[np.int16], Rows]:
    """Returns the number of each entrant inside the engine, and the models of heuristic players.

    Returns:
        Numbers int16 (entrants,) and ``MODELS`` rows, in the form for
        ``ohhell_agents.value.players.play_on``.
    """
    numbers, models = [], []
    for entrant in entrants:
        number = entrant.engine_player
        if number == HEURISTIC:
            own = entrant.player.models
            place = next((i for i, other in enumerate(models) if other is own), len(models))
            models[place:] = models[place:] or [own]
            number += place
        numbers.append(number)
    rows = np.concatenate([one.view(np.ndarray) for one in models or [new_models()]])
    return np.array(numbers, np.int16), engine_rows(rows)


def disqualifies(faults: int) -> bool:
    """Returns whether this number of faults in one unit of work disqualifies an entrant."""
    return faults >= FAULT_LIMIT


def _nothing() -> None:
    pass


def _described(error: BaseException) -> str:
    """Returns the kind and message of an error, short and for any error."""
    return _printable(described(error))[:_LONGEST]


def _printable(text: str) -> str:
    """Returns a text that every terminal and file accepts."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@contextlib.contextmanager
def _named_in_errors(name: str, what: str) -> Iterator[None]:
    """Turns everything a player raises into an error that names it; an ``OhHellError`` stays."""
    try:
        with asking(name):
            yield
    except (OhHellError, KeyboardInterrupt):
        raise
    except BaseException as error:
        why = _described(error)
        raise OhHellError(f"entrant {shown_path(name)!r} {what}: {why}") from None


def make_entrants(entrants: Sequence[EntrantLike], rules: Rules, seed: int) -> list[Entrant]:
    """Returns the entrants, ready to play under the rules.

    Raises:
        OhHellError: There are fewer than two entrants, an unknown player, two with one name, or a
            name with a "|".
        CheckpointError: A player cannot play under these rules.
    """
    if not isinstance(entrants, list | tuple) or not 2 <= len(entrants) <= MOST_ENTRANTS:
        count = f"{len(entrants)}: " if isinstance(entrants, list | tuple) else ""
        raise OhHellError(
            f"a tournament needs a list of 2 to {MOST_ENTRANTS} entrants, got "
            f"{count}{shown(entrants)}"
        )
    made: list[Entrant] = []
    for given in entrants:
        named = named_player(given)
        player = _made(named, seed)
        _check_name(named.name, made)
        made.append(begin_entrant(named.name, player, rules, ours=named.spec is not None))
    return made


def begin_entrant(name: str, player: Any, rules: Rules, ours: bool = False) -> Entrant:
    """Gives a player the rules, if it accepts them, and returns it as an entrant.

    Args:
        name: Its name.
        player: The player.
        rules: The rules.
        ours: See `Entrant.of`.

    Raises:
        OhHellError: The player cannot play under the rules.
    """
    with _named_in_errors(name, "cannot begin under these rules"):
        own = getattr(player, "begin", None)
        if own is not None:
            own(rules, None)
    return Entrant.of(name, player, ours)


def _check_name(name: str, made: list[Entrant]) -> None:
    if any(name == other.name for other in made):
        raise OhHellError(
            f"two entrants are called {shown_path(name)!r}; give one another name: "
            f"second={shown_path(name)}"
        )
    if "|" in name or not name or not name.isprintable():
        raise OhHellError(
            f"an entrant's name must be printable, not empty, and without '|', got "
            f"{shown_path(name)!r}"
        )


def _made(named: NamedPlayer, seed: int) -> Any:
    name, player = named
    if named.spec is not None:
        with asking(name):
            return ohhell_agents.make(named.spec, seed=seed)
    with _named_in_errors(name, "cannot be asked"):
        if not callable(getattr(player, "act_batch", getattr(player, "act", None))):
            raise OhHellError(
                f"entrant {shown_path(name)!r}: {shown(player)} has neither act_batch() nor act()"
            )
    return player
