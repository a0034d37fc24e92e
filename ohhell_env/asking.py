"""``Asker``: the single place that asks players for decisions, in any form and for any purpose.

Environments (their opponents), tournaments (their entrants) and exact solutions all follow the same
rules: a player gets arrays of its own, which it may change and keep, and its answers are checked
against data that it never had.
"""

# Calls players from users: the code checks types at run time.
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
RandomBits = NDArray[np.uint64]
"""The random number of each decision (B,)."""

_LARGEST = 2**62


class Asker:
    """A player and its way of being asked: singly or in batches, with random numbers or without.

    The player's attributes are read only once, because they may run code of its own.

    Args:
        player: An object with ``act_batch``, or with ``act`` alone.
        deterministic: Whether it takes its most likely action, if it draws actions.
    """

    def __init__(self, player: Any, deterministic: bool = True) -> None:
        self.player = player
        self.deterministic = deterministic
        layout: Any = getattr(player, "layout_name", "default")
        self.layout_name: str = layout if isinstance(layout, str) else "default"
        """The layout of its observations; not checked."""
        fingerprint: Any = getattr(player, "fingerprint", "")
        self.fingerprint: str = fingerprint if isinstance(fingerprint, str) else ""
        self.needs_seat: bool = getattr(player, "needs_seat", False) is True
        """Whether it needs to know its seat before each decision."""
        self._act_batch: Any = getattr(player, "act_batch", None)
        wants_one = getattr(player, "one_by_one", False) is True
        self.one_by_one: bool = self._act_batch is None or wants_one or self.needs_seat
        # "random_bits" and "info" go only to players that accept them: players from
        # users may have the shortest signature that works.
        self._takes_random_bits = self._act_batch is not None and _takes_random_bits(
            self._act_batch
        )
        self._takes_info = self._act_batch is not None or _takes_info(getattr(player, "act", None))

    def answers(
        self,
        views: Views,
        masks: Views,
        random_bits: RandomBits | None = None,
        seats: NDArray[np.integer[Any]] | None = None,
        rules: Rules | None = None,
    ) -> Any:
        """Returns the player's answers, unchecked: they may be anything.

        Args:
            views: int8 (B, L). The player may keep and change the array, so never check answers
                against it.
            masks: int8 (B, A), like ``views``.
            random_bits: uint64 (B,), the random number of each decision, like ``views``; None: the
                player draws its own.
            seats: (B,), the seats to act; None: the player knows its seat.
            rules: The rules; needed with ``seats``.
        """
        if not self.one_by_one:
            return self._ask_batch(views, masks, random_bits)
        answers: list[Any] = []
        for row in range(len(views)):
            if seats is not None and self.needs_seat:
                self.player.begin(rules, int(seats[row]))
            if self._act_batch is None:
                answers.append(self._ask_one(views[row], masks[row]))
            else:
                part = slice(row, row + 1)
                own = None if random_bits is None else random_bits[part]
                answers += list(self._ask_batch(views[part], masks[part], own))
        return answers

    def padded_answers(
        self, views: Views, masks: Views, random_bits: RandomBits, size: int
    ) -> Actions:
        """Returns answers to a batch of fixed size, not checked for legality.

        The rounding of a network's matrix product depends on its number of rows, so copies of the
        first row fill up the batch.

        Args:
            views: int8 (B, L), unchanged: the player gets copies.
            masks: int8 (B, A), like ``views``.
            random_bits: uint64 (B,), like ``views``.
            size: Rows of the batch, B or more.

        Returns:
            int64 (B,).

        Raises:
            TypeError: The answers are not whole numbers, or their number is wrong.
        """
        rows = np.arange(size)
        rows[len(views) :] = 0
        answers = np.asarray(self.answers(views[rows], masks[rows], random_bits[rows]))
        if answers.dtype.kind not in "iu" or answers.shape != (size,):
            what = f"{answers.dtype} of shape {answers.shape}"
            raise TypeError(f"answered {what}, not {size} ints")
        return answers.astype(np.int64)[: len(views)]

    def legal_answers(self, views: Views, masks: Views) -> Actions:
        """Returns the player's actions in some positions, with its own random numbers.

        Args:
            views: int8 (B, L), observations of the seats to act; the player gets copies.
            masks: int8 (B, A), action masks, like ``views``.

        Returns:
            int64 (B,), a legal action code for each position.

        Raises:
            IllegalActionError: An answer is not legal, or the number of answers is wrong.
        """
        count = len(masks)
        answers = self.answers(views.copy(), masks.copy())
        actions = as_actions(answers)
        if actions is None or len(actions) != count:
            raise IllegalActionError(
                f"player {shown(called(self.player))} answered {shown(answers)}; {count} questions "
                f"need {count} whole numbers"
            )
        legal = are_legal(actions, masks)
        if not legal.all():
            wrong = int(np.argmin(legal))
            raise IllegalActionError(
                f"player {shown(called(self.player))} answered {shown_answer(answers[wrong])}; "
                f"legal: {', '.join(map(str, np.flatnonzero(masks[wrong])))}"
            )
        return actions

    def _ask_batch(self, views: Views, masks: Views, random_bits: RandomBits | None) -> Any:
        # True is the default, and some players have no such argument.
        how = () if self.deterministic else (False,)
        if random_bits is not None and self._takes_random_bits:
            return self._act_batch(views, masks, *how, random_bits=random_bits)
        return self._act_batch(views, masks, *how)

    def _ask_one(self, view: Views, mask: Views) -> Any:
        observation = {"observation": view.copy(), "action_mask": mask.copy()}
        info = {"action_mask": mask.copy()}
        if not self.deterministic:
            return self.player.act(observation, info, False)
        return self.player.act(observation, *((info,) if self._takes_info else ()))


def as_actions(answers: Any) -> Actions | None:
    """Returns answers as action codes, -1 for invalid ones; None if they are not a list."""
    if isinstance(answers, np.ndarray):
        array = cast("NDArray[Any]", answers)
        if array.ndim == 1 and array.dtype.kind in "iu":
            return array.astype(np.int64)
    try:
        numbers = [whole_number(answer) for answer in answers]
    except TypeError:  # a single number, or no answer at all
        return None
    right = [-1 if number is None or abs(number) > _LARGEST else number for number in numbers]
    return np.array(right, np.int64)


def are_legal(actions: Actions, masks: Views) -> NDArray[np.bool_]:
    """Returns whether each action (B,) is legal by its mask (B, A)."""
    inside = (actions >= 0) & (actions < masks.shape[1])
    return inside & (masks[np.arange(len(masks)), np.where(inside, actions, 0)] != 0)


def shown_answer(answer: Any) -> str:
    """Returns an answer as text for an error; NumPy's numbers as plain numbers."""
    return shown(cast("Any", answer).item() if isinstance(answer, np.generic) else answer)


def _takes_random_bits(act_batch: Any) -> bool:
    return "random_bits" in _parameters(act_batch)


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
