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
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ohhell_agents
from ohhell_agents.base import Agent
from ohhell_agents.value.players import HEURISTIC, OUTSIDE, RANDOM
from ohhell_agents.value.trick_model import new_models
from ohhell_env.engine.layout import Rows, engine_rows
from ohhell_env.errors import OhHellError, described, nearest, shown, shown_path
from ohhell_env.observation import LAYOUTS
from ohhell_env.rules import Rules
from ohhell_train.tournament.executors.last_asked import asking

BATCH = 256
"""Rows in every question to a player outside the engine, so that a matrix product of a network does
not depend on how many tables happen to wait; what is missing is filled up with copies."""

FAULT_LIMIT = 25
"""Faults that disqualify an entrant for the rest of a unit of work."""

MOST_ENTRANTS = 1000
"""Entrants of one tournament at most."""
_LONGEST = 500  # characters kept of the message of a fault

EntrantLike = str | tuple[str, Any]
"""A player's name or path (``ohhell_agents.make``), ``name=`` before it to call it otherwise, or a
pair of name and player."""

Actions = NDArray[np.int64]


@dataclass
class Entrant:
    """One entrant and what it did so far."""

    name: str
    player: Any
    """An object with ``begin`` and ``act_batch`` (or ``act`` alone)."""
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
    ways: Ways | None = None
    """How it wants to be asked; None: found out."""
    word: np.uint64 = field(init=False)
    """A number made from the name, for its random streams."""

    def __post_init__(self) -> None:
        digest = hashlib.sha256(self.name.encode()).digest()
        self.word = np.uint64(int.from_bytes(digest[:8], "little"))
        if self.ways is None:
            self.ways = _ways(self.name, self.player)

    @property
    def engine_player(self) -> int:
        """Number of its kind of player inside the engine, or ``OUTSIDE``."""
        assert self.ways is not None
        return self.ways.engine_player

    @property
    def disqualified(self) -> bool:
        """Whether it has made too many faults to be asked any more."""
        return self.given_up or disqualifies(self.faults)

    @property
    def layout_name(self) -> str:
        """Layout of the observations that the player reads."""
        assert self.ways is not None
        return self.ways.layout_name

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
        assert self.ways is not None
        size = 1 if self.ways.one_by_one else BATCH
        actions = np.full(len(views), -1, np.int64)
        started = time.perf_counter()
        for start in range(0, len(views), size):
            part = slice(start, start + size)
            if self.disqualified:
                part = slice(start, None)
            else:
                with asking(self.name):
                    if seats is not None and self.ways.needs_seat:
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
        size = len(views)
        if full == 1:
            return np.array([self._ask_one(views[0], masks[0], words[0])])
        rows = np.arange(full)
        rows[size:] = 0
        try:
            return _answers(self.player, views[rows], masks[rows], words[rows])[:size]
        except KeyboardInterrupt:
            raise
        except BaseException:
            return self._ask_each(views, masks, words)

    def _ask_each(
        self, views: NDArray[np.int8], masks: NDArray[np.int8], words: NDArray[np.uint64]
    ) -> Actions:
        """Asks one question at a time, until there are too many faults."""
        actions, left = np.full(len(views), -1, np.int64), FAULT_LIMIT - self.faults
        for row in range(len(views)):
            if left <= 0:
                break
            actions[row] = self._ask_one(views[row], masks[row], words[row])
            left -= actions[row] < 0
        return actions

    def _ask_one(self, view: NDArray[np.int8], mask: NDArray[np.int8], word: np.uint64) -> int:
        words = np.array([word], np.uint64)
        try:
            own = view[np.newaxis].copy(), mask[np.newaxis].copy()  # it may write to them
            return int(_answers(self.player, *own, words)[0])
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._note(error)
            return -1

    def _replace_illegal(
        self, actions: Actions, masks: NDArray[np.int8], words: NDArray[np.uint64]
    ) -> Actions:
        inside = (actions >= 0) & (actions < masks.shape[1])
        rows = np.arange(len(actions))
        legal = inside & (masks[rows, np.where(inside, actions, 0)] != 0)
        wrong = np.flatnonzero(~legal)
        if len(wrong):
            self.faults += len(wrong)
            first = f"answered {int(actions[wrong[0]])}, which is not legal"
            if not self.given_up:
                self.first_fault = self.first_fault or first
            substitute = ohhell_agents.RandomAgent(seed=0)
            actions[wrong] = substitute.choose(masks[wrong], masks[wrong], ~words[wrong], True)
        return actions


def engine_players(entrants: Sequence[Entrant]) -> tuple[NDArray[np.int16], Rows]:
    """Returns the number of each entrant inside the engine, and the models of those that reckon.

    Returns:
        Numbers int16 (entrants,) and ``MODELS`` rows, as ``ohhell_agents.engine_players.play_on``
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


@dataclass(frozen=True)
class Ways:
    """How a player wants to be asked: read once, for its attributes are code of its own."""

    engine_player: int
    layout_name: str
    one_by_one: bool
    needs_seat: bool
    fingerprint: str


def _ways(name: str, player: Any) -> Ways:
    """Returns how a player wants to be asked.

    Raises:
        OhHellError: It cannot say, or names a layout that there is not.
    """
    with _named_in_errors(name, "cannot begin under these rules"):
        layout = getattr(player, "layout_name", "default")
        fingerprint = getattr(player, "fingerprint", "")
        number = player.engine_player if isinstance(player, Agent) else None
        ways = Ways(
            number if isinstance(number, int) and number in (RANDOM, HEURISTIC) else OUTSIDE,
            layout if isinstance(layout, str) else "default",
            not hasattr(player, "act_batch") or getattr(player, "one_by_one", False) is True,
            getattr(player, "needs_seat", False) is True,
            fingerprint if isinstance(fingerprint, str) else "",
        )
    if ways.layout_name not in LAYOUTS:
        raise OhHellError(
            f"entrant {shown_path(name)!r} wants the layout "
            f"{shown(ways.layout_name)} of observations; "
            f"{nearest(ways.layout_name[:80], LAYOUTS)}"
        )
    return ways


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


def _answers(
    player: Any, views: NDArray[np.int8], masks: NDArray[np.int8], words: NDArray[np.uint64]
) -> Actions:
    if isinstance(player, Agent):
        answer = player.act_batch(views, masks, words=words)
    elif hasattr(player, "act_batch"):
        answer = player.act_batch(views, masks)
    else:
        rows = zip(views, masks, strict=True)
        answer = [player.act({"observation": view, "action_mask": mask}) for view, mask in rows]
    numbers = np.asarray(answer)
    if numbers.dtype.kind not in "iu" or numbers.shape != (len(views),):
        raise TypeError(f"answered {numbers.dtype} of shape {numbers.shape}, not {len(views)} ints")
    return numbers.astype(np.int64)


def make_entrants(entrants: Sequence[EntrantLike], rules: Rules, seed: int) -> list[Entrant]:
    """Returns the entrants, each told the rules.

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
    for wish in entrants:
        name, player = _named(wish, seed)
        _check_name(name, made)
        begin(name, player, rules)
        made.append(Entrant(name, player, ours=isinstance(wish, str) or isinstance(wish[1], str)))
    return made


def begin(name: str, player: Any, rules: Rules) -> None:
    """Tells a player the rules, if it wants to know them, and finds out whether it can be asked.

    Raises:
        OhHellError: It cannot.
    """
    with _named_in_errors(name, "cannot begin under these rules"):
        own = getattr(player, "begin", None)
        if own is not None:
            own(rules, None)
    _ways(name, player)


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


def spec_of(wish: EntrantLike) -> Any:
    """Returns the player of an entrant as it was asked for, in words or as an object."""
    return _split(wish)[1] if isinstance(wish, str) else wish[1]


def _split(wish: str) -> tuple[str, str]:
    """Returns name and player of "name=player", or the player as both."""
    called, spec = re.fullmatch(r"(?:([\w.#+-]+)=)?(.*)", wish, re.DOTALL).groups()  # type: ignore[union-attr]
    return called or spec, spec


def _named(wish: EntrantLike, seed: int) -> tuple[str, Any]:
    if isinstance(wish, str):
        name, spec = _split(wish)
        with asking(name):
            return name, ohhell_agents.make(spec, seed=seed)
    is_pair = isinstance(wish, tuple) and len(wish) == 2 and isinstance(wish[0], str)
    if not is_pair:
        raise OhHellError(
            f"an entrant is a player's name or a pair (name, player), got {shown(wish)}"
        )
    name, player = wish
    if isinstance(player, str):
        with asking(name):
            return name, ohhell_agents.make(player, seed=seed)
    with _named_in_errors(name, "cannot be asked"):
        if not callable(getattr(player, "act_batch", getattr(player, "act", None))):
            raise OhHellError(
                f"entrant {shown_path(name)!r}: {shown(player)} has neither act_batch() nor act()"
            )
    return name, player
