"""``Asker``: the one place where players are asked, whatever their form and whoever asks them.

Environments (their opponents), tournaments (their entrants) and exact solutions all have players
decide, and all must hold to the same: a player gets arrays of its own, which it may write to and
keep; its answers are believed only after a check against something that it was never handed.
"""

# Asks what users hand over; types are checked here, not believed.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import whole_number
from ohhell_env.errors import IllegalActionError, shown
from ohhell_env.players import called
from ohhell_env.rules import Rules

Views = NDArray[np.int8]
"""Observations (B, L) or action masks (B, A)."""
Actions = NDArray[np.int64]
"""Action codes (B,)."""
Words = NDArray[np.uint64]
"""The chance of each decision (B,)."""

_LARGEST = 2**62


class Asker:
    """A player and how it is asked: one question at a time or many, with chance or without.

    How it wants to be asked is read here once, since its attributes may be code of its own.

    Args:
        player: An object with ``act_batch``, or with ``act`` alone.
        deterministic: Whether it is to take its best action where it weighs them.
    """

    def __init__(self, player: Any, deterministic: bool = True) -> None:
        self.player = player
        self.deterministic = deterministic
        layout: Any = getattr(player, "layout_name", "default")
        self.layout_name: str = layout if isinstance(layout, str) else "default"
        """The layout of the observations that it wants; not checked."""
        fingerprint: Any = getattr(player, "fingerprint", "")
        self.fingerprint: str = fingerprint if isinstance(fingerprint, str) else ""
        self.needs_seat: bool = getattr(player, "needs_seat", False) is True
        """Whether it must be told its seat before each decision."""
        self._act_batch: Any = getattr(player, "act_batch", None)
        wants_one = getattr(player, "one_by_one", False) is True
        self.one_by_one: bool = self._act_batch is None or wants_one or self.needs_seat
        # "words", the chance of each decision, and "info" are offered to those who take them:
        # players of other people's have the shortest signature that does.
        self._takes_words = self._act_batch is not None and _takes_words(self._act_batch)
        self._takes_info = self._act_batch is not None or _takes_info(getattr(player, "act", None))

    def answers(
        self,
        views: Views,
        masks: Views,
        words: Words | None = None,
        seats: NDArray[np.integer[Any]] | None = None,
        rules: Rules | None = None,
    ) -> Any:
        """Returns what the player answers, unchecked: it may be anything.

        Args:
            views: int8 (B, L), the player's own from now on: never what answers are checked
                against.
            masks: int8 (B, A), as ``views``.
            words: uint64 (B,), the chance of each decision, as ``views``; None: the player's own.
            seats: (B,), the seats that decide; None: the player knows its seat.
            rules: The rules; wanted with ``seats``.
        """
        if not self.one_by_one:
            return self._ask_batch(views, masks, words)
        answers: list[Any] = []
        for row in range(len(views)):
            if seats is not None and self.needs_seat:
                self.player.begin(rules, int(seats[row]))
            if self._act_batch is None:
                answers.append(self._ask_one(views[row], masks[row]))
            else:
                part = slice(row, row + 1)
                own = None if words is None else words[part]
                answers += list(self._ask_batch(views[part], masks[part], own))
        return answers

    def padded_answers(self, views: Views, masks: Views, words: Words, size: int) -> Actions:
        """Returns answers to a question of always the same size, not checked to be legal.

        A matrix product of a network depends on how many rows it has, so what is missing is filled
        up with copies of the first row.

        Args:
            views: int8 (B, L), unchanged by this: the player gets copies.
            masks: int8 (B, A), as ``views``.
            words: uint64 (B,), as ``views``.
            size: Rows of the question, B or more.

        Returns:
            int64 (B,).

        Raises:
            TypeError: The answers are no whole numbers, or more or fewer than the questions.
        """
        rows = np.arange(size)
        rows[len(views) :] = 0
        answers = np.asarray(self.answers(views[rows], masks[rows], words[rows]))
        if answers.dtype.kind not in "iu" or answers.shape != (size,):
            what = f"{answers.dtype} of shape {answers.shape}"
            raise TypeError(f"answered {what}, not {size} ints")
        return answers.astype(np.int64)[: len(views)]

    def legal_answers(self, views: Views, masks: Views) -> Actions:
        """Returns what the player does in some positions, by its own chance.

        Args:
            views: int8 (B, L), observations of the seats to act; the player gets copies.
            masks: int8 (B, A), action masks; as ``views``.

        Returns:
            int64 (B,), a legal action code for each position.

        Raises:
            IllegalActionError: It answers something else.
        """
        count = len(masks)
        answers = self.answers(views.copy(), masks.copy())
        actions = as_actions(answers)
        if actions is None or len(actions) != count:
            raise IllegalActionError(
                f"player {shown(called(self.player))} answered {shown(answers)}; {count} questions "
                f"want {count} whole numbers"
            )
        legal = are_legal(actions, masks)
        if not legal.all():
            wrong = int(np.argmin(legal))
            raise IllegalActionError(
                f"player {shown(called(self.player))} answered {shown_answer(answers[wrong])}; "
                f"legal: {', '.join(map(str, np.flatnonzero(masks[wrong])))}"
            )
        return actions

    def _ask_batch(self, views: Views, masks: Views, words: Words | None) -> Any:
        # True is what everybody takes for granted, and some take no such argument.
        how = () if self.deterministic else (False,)
        if words is not None and self._takes_words:
            return self._act_batch(views, masks, *how, words=words)
        return self._act_batch(views, masks, *how)

    def _ask_one(self, view: Views, mask: Views) -> Any:
        observation = {"observation": view.copy(), "action_mask": mask.copy()}
        info = {"action_mask": mask.copy()}
        if not self.deterministic:
            return self.player.act(observation, info, False)
        return self.player.act(observation, *((info,) if self._takes_info else ()))


def as_actions(answers: Any) -> Actions | None:
    """Returns answers as action codes, -1 for each that is no whole number; None for no list."""
    if isinstance(answers, np.ndarray):
        array = cast("NDArray[Any]", answers)
        if array.ndim == 1 and array.dtype.kind in "iu":
            return array.astype(np.int64)
    try:
        numbers = [whole_number(answer) for answer in answers]
    except TypeError:  # one number for all questions, or none at all
        return None
    right = [-1 if number is None or abs(number) > _LARGEST else number for number in numbers]
    return np.array(right, np.int64)


def are_legal(actions: Actions, masks: Views) -> NDArray[np.bool_]:
    """Returns which actions (B,) are legal by their masks (B, A)."""
    inside = (actions >= 0) & (actions < masks.shape[1])
    return inside & (masks[np.arange(len(masks)), np.where(inside, actions, 0)] != 0)


def shown_answer(answer: Any) -> str:
    """Returns an answer as it is shown in an error: a number of NumPy's as a number."""
    return shown(cast("Any", answer).item() if isinstance(answer, np.generic) else answer)


def _takes_words(act_batch: Any) -> bool:
    return "words" in _parameters(act_batch)


def _takes_info(act: Any) -> bool:
    parameters = _parameters(act).values()
    kinds = [each.kind for each in parameters]
    by_place = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_place += kinds.count(inspect.Parameter.POSITIONAL_ONLY)
    return by_place != 1 or inspect.Parameter.VAR_POSITIONAL in kinds


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # built in, or written in C
        return {}
