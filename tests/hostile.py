"""Players that write to whatever they are handed, for the tests of every door that asks players."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Polite:
    """Takes the lowest legal action, and writes to nothing; notes what it was shown."""

    def __init__(self) -> None:
        self.shown: list[bytes] = []

    def begin(self, rules: Any, seat: int | None) -> None:
        """Takes a seat."""

    def act(self, observation: Any, info: Any = None, deterministic: bool = True) -> int:
        view, mask = observation["observation"], observation["action_mask"]
        return int(self.act_batch(view[np.newaxis], mask[np.newaxis])[0])

    def act_batch(self, views: Array, masks: Array, deterministic: bool = True) -> Any:
        rows = zip(views, masks, strict=True)
        self.shown += [view.tobytes() + mask.tobytes() for view, mask in rows]
        lowest = masks.argmax(axis=1)
        return self.answer(views, masks, lowest)

    def answer(self, views: Array, masks: Array, lowest: Array) -> Any:
        return lowest


class OpensTheMask(Polite):
    """Makes every action legal in the mask that it holds, and takes the highest."""

    def answer(self, views: Array, masks: Array, lowest: Array) -> Any:
        masks[:] = 1
        return np.full(len(masks), masks.shape[1] - 1)


class NarrowsTheMask(Polite):
    """Makes one wrong action the only legal one in the mask that it holds, and takes it."""

    def answer(self, views: Array, masks: Array, lowest: Array) -> Any:
        wrong = (masks == 0).argmax(axis=1)
        masks[:] = 0
        masks[np.arange(len(masks)), wrong] = 1
        return wrong


class Scribbles(Polite):
    """Answers by the rules, after it has filled all that it holds with rubbish."""

    def answer(self, views: Array, masks: Array, lowest: Array) -> Any:
        views[:], masks[:] = -7, 0
        masks[:, 0] = 1
        return lowest


class KeepsAll(Polite):
    """Answers by the rules, and writes to whatever it was handed in all earlier questions."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[Array, Array]] = []

    def answer(self, views: Array, masks: Array, lowest: Array) -> Any:
        self.kept.append((views, masks))
        for old, legal in self.kept:
            old[:], legal[:] = 3, 1
        return lowest


class AnswersInPlace(Polite):
    """Answers by the rules, in the memory that it was handed: its observations."""

    def answer(self, views: Array, masks: Array, lowest: Array) -> Any:
        views[:, 0] = lowest
        return views[:, 0]


class AnswersInOneArray(Polite):
    """Answers by the rules, in one array that it writes to at every question."""

    own = np.zeros(4096, np.int64)

    def answer(self, views: Array, masks: Array, lowest: Array) -> Any:
        self.own[:] = 51
        self.own[: len(lowest)] = lowest
        return self.own[: len(lowest)]


BREAKS_THE_RULES = (OpensTheMask, NarrowsTheMask)
KEEPS_THE_RULES = (Scribbles, KeepsAll, AnswersInPlace, AnswersInOneArray)


class OneByOne:
    """The same behaviour behind ``act``: one observation and one info at a time."""

    def __init__(self, behind: Polite) -> None:
        self.name = type(behind).__name__
        self.behind = behind

    def begin(self, rules: Any, seat: int | None) -> None:
        """Takes a seat."""

    def act(self, observation: Any, info: Any = None, deterministic: bool = True) -> int:
        answer = self.behind.act(observation, info)
        if type(self.behind) is not Polite:
            for array in (info or {}).values():
                if isinstance(array, np.ndarray):
                    array[:] = 1
        return answer


def as_function(behind: Polite) -> Callable[[Any, Any], int]:
    """Returns the same behaviour as a plain function of observation and info."""

    def act(observation: Any, info: Any) -> int:
        return OneByOne(behind).act(observation, info)

    act.__name__ = type(behind).__name__
    return act


FORMS: dict[str, Callable[[type[Polite]], Any]] = {
    "object": lambda kind: kind(),
    "one by one": lambda kind: OneByOne(kind()),
    "function": lambda kind: as_function(kind()),
    "name": lambda kind: f"tests.hostile:{kind.__name__}",
}
"""The forms in which players are given."""
