"""Entrants of a tournament: a name and the player behind it, and how it is asked.

Players are asked about many tables at once. One that raises or answers something illegal has made a
fault: the tournament makes a random legal move in its place, counts it, and goes on. From
``FAULT_LIMIT`` faults in one unit of work on it is disqualified there: it is not asked any more,
and every move made in its place is one more fault. Nobody is asked where one action alone is legal.

Whatever a player raises is a fault, also what is no ``Exception``: ``SystemExit``, and what tasks
and generators are ended with. Only ``KeyboardInterrupt`` is ours: it is Ctrl-C.
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
"""Rows in every question to a player outside the engine, so that a matrix product of a network does
not depend on how many tables happen to wait; what is missing is filled up with copies."""

FAULT_LIMIT = 25
"""Faults that disqualify an entrant for the rest of a unit of work."""

_LONGEST = 500  # characters kept of the message of a fault


@dataclass
class Entrant:
    """One entrant and what it did so far."""

    name: str
    asker: Asker
    """The player, and how it is asked."""
    engine_player: int = OUTSIDE
    """Number of its kind of player inside the engine, or ``OUTSIDE``."""
    faults: int = 0
    first_fault: str = ""
    decisions: int = 0
    """Decisions asked from outside the engine."""
    seconds: float = 0.0
    """Time that they took."""
    was_disqualified: bool = False
    """Whether it was disqualified in any unit of work."""
    given_up: bool = False
    """Whether it is not asked any more, for it failed all the time (see ``given_up.py``)."""
    ours: bool = False
    """Whether the tournament made the player, and closes it."""
    word: np.uint64 = field(init=False)
    """A number made from the name, for its random streams."""

    def __post_init__(self) -> None:
        digest = hashlib.sha256(self.name.encode()).digest()
        self.word = np.uint64(int.from_bytes(digest[:8], "little"))

    @classmethod
    def of(cls, name: str, player: Any, ours: bool = False) -> Self:
        """Returns an entrant whose player is asked how it wants to be asked.

        Args:
            name: Its name.
            player: An object with ``begin`` and ``act_batch`` (or ``act`` alone).
            ours: Whether whoever asks has made the player, and closes it.

        Raises:
            OhHellError: It cannot say, or wants a layout that there is not.
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
        """Whether it has made too many faults to be asked any more."""
        return self.given_up or disqualifies(self.faults)

    @property
    def layout_name(self) -> str:
        """Layout of the observations that the player reads."""
        return self.asker.layout_name

    @property
    def fingerprint(self) -> str:
        """What the player says of itself, to be told from others of its class."""
        return self.asker.fingerprint

    def close(self) -> None:
        """Ends what the player holds, a program for instance, if the tournament made it."""
        if not self.ours:
            return
        with contextlib.suppress(OhHellError), _named_in_errors(self.name, "cannot be closed"):
            getattr(self.player, "close", _nothing)()  # what was played counts all the same

    def ask(
        self,
        views: NDArray[np.int8],
        masks: NDArray[np.int8],
        words: NDArray[np.uint64],
        seats: NDArray[np.int8] | None = None,
    ) -> Actions:
        """Returns a legal action for every row, whatever the player does.

        Args:
            views: int8 (B, L).
            masks: int8 (B, A).
            words: uint64 (B,), one random word for each decision.
            seats: (B,), the seats that decide; needed by players that must know them.
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
                    actions[part] = self._ask_batch(views[part], masks[part], words[part], size)
            actions[part] = self._replace_illegal(actions[part], masks[part], words[part])
            if part.stop is None:
                break
        self.seconds += time.perf_counter() - started
        self.decisions += len(views)
        return actions

    def _sit(self, seat: int) -> None:
        """Tells the player its seat; one that cannot even begin will fail when it is asked."""
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
        words: NDArray[np.uint64],
        full: int,
    ) -> Actions:
        try:
            return self.asker.padded_answers(views, masks, words, full)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if full > 1:
                return self._ask_each(views, masks, words)
            self._note(error)
            return np.full(1, -1, np.int64)

    def _ask_each(
        self, views: NDArray[np.int8], masks: NDArray[np.int8], words: NDArray[np.uint64]
    ) -> Actions:
        """Asks one question at a time, until there are too many faults."""
        actions, left = np.full(len(views), -1, np.int64), FAULT_LIMIT - self.faults
        for row in range(len(views)):
            if left <= 0:
                break
            part = slice(row, row + 1)
            actions[part] = self._ask_batch(views[part], masks[part], words[part], 1)
            left -= actions[row] < 0
        return actions

    def _replace_illegal(
        self, actions: Actions, masks: NDArray[np.int8], words: NDArray[np.uint64]
    ) -> Actions:
        wrong = np.flatnonzero(~are_legal(actions, masks))
        if len(wrong):
            self.faults += len(wrong)
            first = f"answered {int(actions[wrong[0]])}, which is not legal"
            if not self.given_up:
                self.first_fault = self.first_fault or first
            substitute = ohhell_agents.RandomAgent(seed=0)
            actions[wrong] = substitute.choose(masks[wrong], masks[wrong], ~words[wrong], True)
        return actions


def engine_players(entrants: Sequence[Entrant]) -> tuple[NDArray[np.int16], Rows]:
    """Returns the number of each entrant inside the engine, and the models of the heuristic ones.

    Returns:
        Numbers int16 (entrants,) and ``MODELS`` rows, as ``ohhell_agents.value.players.play_on``
        wants.
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
    """Whether so many faults in one unit of work disqualify an entrant."""
    return faults >= FAULT_LIMIT


def _nothing() -> None:
    pass


def _described(error: BaseException) -> str:
    """Returns kind and message of an error, short and whatever it is."""
    return _printable(described(error))[:_LONGEST]


def _printable(text: str) -> str:
    """Returns a text that every terminal and file can take."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@contextlib.contextmanager
def _named_in_errors(name: str, what: str) -> Iterator[None]:
    """Turns whatever a player raises into an error that names it; its own ``OhHellError`` stays."""
    try:
        with asking(name):
            yield
    except (OhHellError, KeyboardInterrupt):
        raise
    except BaseException as error:
        why = _described(error)
        raise OhHellError(f"entrant {shown_path(name)!r} {what}: {why}") from None


def make_entrants(entrants: Sequence[EntrantLike], rules: Rules, seed: int) -> list[Entrant]:
    """Returns the entrants, which have begun under the rules.

    Raises:
        OhHellError: Fewer than two, an unknown player, two of one name, or a name with a "|".
        CheckpointError: A player that cannot play under these rules.
    """
    if not isinstance(entrants, list | tuple) or not 2 <= len(entrants) <= MOST_ENTRANTS:
        count = f"{len(entrants)}: " if isinstance(entrants, list | tuple) else ""
        raise OhHellError(
            f"a tournament is played by a list of 2 to {MOST_ENTRANTS} entrants, got "
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
    """Tells a player the rules, if it wants to know them, and returns it as an entrant.

    Args:
        name: Its name.
        player: The player.
        rules: The rules.
        ours: As in `Entrant.of`.

    Raises:
        OhHellError: It cannot.
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
