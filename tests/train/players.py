"""Odd players for the tests of the tournament."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_agents import Agent, HeuristicAgent, RandomAgent

Views = NDArray[np.int8]


class AskedRandom(RandomAgent):
    """Random, but asked from outside the engine."""

    engine_player = None


class AskedHeuristic(HeuristicAgent):
    """The heuristic player, asked from outside the engine."""

    engine_player = None


class Highest(Agent):
    """Takes the highest legal action: the highest bid, the highest card."""

    kind = "highest"

    def choose(
        self, observations: Views, action_masks: Views, random_bits: Any, deterministic: bool
    ) -> NDArray[np.int64]:
        return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)


class Lowest(Agent):
    """Takes the lowest legal action."""

    kind = "lowest"

    def choose(
        self, observations: Views, action_masks: Views, random_bits: Any, deterministic: bool
    ) -> NDArray[np.int64]:
        return action_masks.argmax(axis=1)


class OnlyAct:
    """Has ``act`` and nothing else; takes the lowest legal action."""

    def act(self, observation: dict[str, Any]) -> int:
        return int(observation["action_mask"].argmax())


class CannotBegin(OnlyAct):
    """Fails when it is told the rules."""

    def begin(self, rules: Any, seat: int | None) -> None:
        raise ZeroDivisionError("no rules for me")


class Raises:
    """Cannot make up its mind."""

    def act_batch(self, observations: Views, action_masks: Views) -> NDArray[np.int64]:
        raise RuntimeError("no idea")


class RaisesSometimes(Lowest):
    """Raises where it would have to bid nil; otherwise the lowest legal action."""

    def choose(
        self, observations: Views, action_masks: Views, random_bits: Any, deterministic: bool
    ) -> NDArray[np.int64]:
        chosen = super().choose(observations, action_masks, random_bits, deterministic)
        if (chosen == 60).any():
            raise ValueError("never nil")
        return chosen


class Answers:
    """Always gives the same answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act_batch(self, observations: Views, action_masks: Views) -> Any:
        if callable(self.answer):
            return self.answer(len(observations))
        return self.answer
