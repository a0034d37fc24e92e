"""``copy.copy`` of every kind of environment: a table of its own, never half of another one's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from ohhell_env import BatchedOhHell, Game, oh_hell_v0
from ohhell_env.adapters.sb3 import TableVecEnv
from ohhell_env.envs.learner_tables import LearnerTables
from ohhell_env.envs.registration import ID
from tests.helpers import house

RULES = house(3, 2, 3)


class Counts:
    """A player with a state of its own: it counts its decisions."""

    def __init__(self) -> None:
        self.asked = 0

    def begin(self, rules: Any, seat: int | None) -> None:
        """Takes a seat."""

    def act(self, observation: Any, info: Any = None, deterministic: bool = True) -> int:
        self.asked += 1
        legal = np.flatnonzero(observation["action_mask"])
        return int(legal[self.asked % len(legal)])


def turn(env: Any) -> bytes:
    """Makes a decision of a PettingZoo environment; returns the table after it."""
    env.step(int(env.last()[0]["action_mask"].argmax()))
    return env.unwrapped.game.state.tobytes()


def single(env: Any) -> bytes:
    if not env.action_masks().any():
        env.reset()
    env.step(int(env.action_masks().argmax()))
    return env.game.state.tobytes()


def many(env: Any) -> bytes:
    tables = env if hasattr(env, "games") else env.tables
    env.step(tables.action_masks.argmax(axis=1))
    return tables.games.tobytes() + tables.rewards.tobytes()


def begun(env: Any, **settings: Any) -> Any:
    env.reset(**settings)
    return env


ENVIRONMENTS: dict[str, tuple[Callable[[], Any], Callable[[Any], bytes]]] = {
    "oh_hell_v0.env": (lambda: begun(oh_hell_v0.env(RULES), seed=3), turn),
    "oh_hell_v0.raw_env": (lambda: begun(oh_hell_v0.raw_env(RULES), seed=3), turn),
    "terminate": (lambda: begun(oh_hell_v0.env(RULES, illegal="terminate"), seed=3), turn),
    "gymnasium.make": (
        lambda: begun(gymnasium.make(ID, rules=RULES, opponents=Counts()).unwrapped, seed=3),
        single,
    ),
    "gymnasium.make_vec": (
        lambda: begun(gymnasium.make_vec(ID, 4, rules=RULES, opponents=Counts()), seed=3),
        many,
    ),
    "TableVecEnv": (lambda: begun(TableVecEnv(4, RULES, opponents=Counts(), seed=3)), many),
    "LearnerTables": (lambda: begun(LearnerTables(4, RULES, opponents=Counts(), seed=3)), many),
    "BatchedOhHell": (lambda: begun(BatchedOhHell(4, RULES, seed=3)), many),
    "Game": (
        lambda: Game(RULES, seed=3),
        lambda game: (game.apply(game.legal_actions()[0]), game.state.tobytes())[1],
    ),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_copy_plays_alike_and_apart(name: str) -> None:
    make, step = ENVIRONMENTS[name]
    env, undisturbed = make(), make()
    for each in (env, undisturbed):
        step(each)
    twin = copy.copy(env)
    assert type(twin) is type(env)
    expected = [step(undisturbed) for _ in range(5)]
    assert [step(twin) for _ in range(5)] == expected, "the copy goes on where the other stood"
    assert [step(env) for _ in range(5)] == expected, "and has left it there"
