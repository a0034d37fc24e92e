"""Players in the seats that an environment answers by itself, and how they are asked."""

# Asks what users hand over; types are checked here, not believed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import action_name, whole_number
from ohhell_env.errors import IllegalActionError, RulesError
from ohhell_env.observation import LAYOUTS, Layout, layout_of
from ohhell_env.players import Player, resolve
from ohhell_env.rules import Rules

Views = NDArray[np.int8]
"""Observations (B, L) or action masks (B, A)."""
Actions = NDArray[np.int64]
"""Action codes (B,)."""

OpponentsLike = Any
"""One player for all other seats, or a list of them, one for each, clockwise from the learner. A
player is whatever ``ohhell_env.players.resolve`` takes."""


class Opponent:
    """A player in one or more of the other seats.

    Args:
        given: The player, in any of its forms.
        rules: The rules.
        hand_size: A hand size outside the schedule that its observations must have room for.
        deterministic: Whether it is to take its best action where it weighs them.
    """

    def __init__(
        self, given: Any, rules: Rules, hand_size: int | None, deterministic: bool
    ) -> None:
        # Whatever chance a player needs comes with each question, so the seed decides nothing.
        self.player: Player = resolve(given, 0 if _is_name(given) else None)
        self._ours = _is_name(given)
        self.name = str(given) if _is_name(given) else _called(given)
        self.deterministic = deterministic
        layout = getattr(self.player, "layout_name", "default")
        self.layout: Layout = layout_of(
            rules, layout if layout in LAYOUTS else "default", hand_size
        )
        """The layout of the observations that it reads."""
        self._rules = rules
        self._needs_seat = bool(getattr(self.player, "needs_seat", False))
        self._one_by_one = bool(getattr(self.player, "one_by_one", False)) or self._needs_seat
        self._batch: Any = getattr(self.player, "act_batch", None)
        self._takes_words = self._batch is not None and _has_words(self._batch)

    def begin(self, seat: int | None) -> None:
        """Tells the player that a game begins.

        Args:
            seat: Its seat; None where it sits in more than one, or at more than one table.
        """
        self.player.begin(self._rules, cast("int", seat))

    def close(self) -> None:
        """Ends what the player holds, if it was given by name."""
        close = getattr(self.player, "close", None)
        if self._ours and callable(close):
            close()

    def ask(
        self,
        views: Views,
        masks: Views,
        words: NDArray[np.uint64],
        seats: NDArray[np.int64],
    ) -> Actions:
        """Returns a legal action for each row.

        Args:
            views: int8 (B, L), in the layout that the player reads.
            masks: int8 (B, A).
            words: uint64 (B,), the chance of each decision.
            seats: int64 (B,), the seats that decide.

        Raises:
            IllegalActionError: The player answered something that is not legal.
        """
        if self._batch is not None and not self._one_by_one:
            return self._checked(self._ask_batch(views, masks, words), masks, seats)
        answers: list[Any] = []
        for row, seat in enumerate(seats.tolist()):
            if self._needs_seat:
                self.begin(seat)
            part = slice(row, row + 1)
            if self._batch is not None:
                answers += list(self._ask_batch(views[part], masks[part], words[part]))
            else:
                answers.append(self._ask_one(views[row], masks[row]))
        return self._checked(answers, masks, seats)

    def _ask_batch(self, views: Views, masks: Views, words: NDArray[np.uint64]) -> Any:
        if self._takes_words:
            return self._batch(views, masks, self.deterministic, words=words)
        return self._batch(views, masks, self.deterministic)

    def _ask_one(self, view: Views, mask: Views) -> Any:
        observation = {"observation": view.copy(), "action_mask": mask.copy()}
        info = {"action_mask": mask.copy()}
        if self.deterministic:
            return self.player.act(observation, info)
        return self.player.act(observation, info, False)

    def _checked(self, answers: Any, masks: Views, seats: NDArray[np.int64]) -> Actions:
        if len(answers) != len(masks):
            raise IllegalActionError(
                f"opponent {self.name!r} gave {len(answers)} answers to {len(masks)} questions"
            )
        actions = _whole_numbers(answers)
        inside = (actions >= 0) & (actions < masks.shape[1])
        legal = inside & (masks[np.arange(len(masks)), np.where(inside, actions, 0)] != 0)
        if not legal.all():
            row = int(np.argmin(legal))
            codes = np.flatnonzero(masks[row]).tolist()
            allowed = ", ".join(f"{code} ({action_name(code, self._rules.pack)})" for code in codes)
            raise IllegalActionError(
                f"opponent {self.name!r} in seat {seats[row]} answered {answers[row]!r}; legal: "
                f"{allowed}; call reset() to go on"
            )
        return actions


class Opponents:
    """The players in all seats but the learner's.

    Args:
        given: One player, or a sequence with one for each other seat, clockwise from the learner.
            The same name, or the same object, is the same player in all its seats.
        rules: The rules.
        hand_size: A hand size outside the schedule that observations must have room for.
        deterministic: Whether players that weigh their actions take the best one.

    Raises:
        OhHellError: Not a player, or not as many as there are other seats.
    """

    def __init__(
        self,
        given: OpponentsLike,
        rules: Rules,
        hand_size: int | None = None,
        deterministic: bool = True,
    ) -> None:
        others = rules.players - 1
        several = isinstance(given, list | tuple)
        listed = cast("Sequence[Any]", given) if several else [given] * others
        if len(listed) != others:
            raise RulesError(
                f"opponents: one player, or a list of {others}, one for each other seat clockwise "
                f"from the learner; got a list of {len(listed)}"
            )
        keys = [str(each) if _is_name(each) else id(each) for each in listed]
        self.players: list[Opponent] = []
        """The different players."""
        self.places: NDArray[np.int64] = np.zeros(others, np.int64)
        """(players - 1,): who of ``players`` sits so many seats (and one) after the learner."""
        for distance, (key, each) in enumerate(zip(keys, listed, strict=True)):
            first = keys.index(key)
            if first == distance:
                self.places[distance] = len(self.players)
                self.players.append(Opponent(each, rules, hand_size, deterministic))
            else:
                self.places[distance] = self.places[first]
        self._seats = rules.players

    def begin(self, learner: int | None) -> None:
        """Tells every player that a game begins.

        Args:
            learner: The learner's seat; None where there are many tables.
        """
        for number, opponent in enumerate(self.players):
            distances = np.flatnonzero(self.places == number)
            if learner is None or len(distances) > 1:
                opponent.begin(None)
            else:
                opponent.begin((learner + 1 + int(distances[0])) % self._seats)

    def close(self) -> None:
        """Ends what those hold that were given by name; the next ``begin`` starts it anew."""
        for opponent in self.players:
            opponent.close()


def _is_name(given: Any) -> bool:
    return isinstance(given, str | Path)


def _called(given: Any) -> str:
    return getattr(given, "__name__", None) or type(given).__name__


def _has_words(function: Any) -> bool:
    try:
        return "words" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # built in, or written in C
        return False


def _whole_numbers(answers: Any) -> Actions:
    """Returns answers as action codes, -1 for each that is no whole number."""
    if isinstance(answers, np.ndarray):
        array = cast("NDArray[Any]", answers)
        if array.dtype.kind in "iu":
            return array.astype(np.int64)
    numbers = [whole_number(answer) for answer in answers]
    right = [-1 if number is None or abs(number) > _LARGEST else number for number in numbers]
    return np.array(right, np.int64)


_LARGEST = 2**62
