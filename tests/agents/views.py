"""Views of a ``Game`` for players, and tables in the middle of random play."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ohhell_agents import Agent, make
from ohhell_env import BatchedOhHell
from ohhell_env.engine import batch
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules

View = dict[str, NDArray[np.int8]]


def view(game: Game, seat: int | None = None, layout_name: str = "default") -> View:
    """Returns what a seat (None: the one to act) sees, as the environment gives it."""
    layout = layout_of(game.rules, layout_name, game.hand_size)
    vector, mask = new_buffer(1, layout.length), new_buffer(1, layout.num_actions)
    looks = game.seat if seat is None else seat
    batch.observe_one(game.state, game.compiled, layout.compiled(), looks, vector, mask)
    return {"observation": vector[:-MARGIN], "action_mask": mask[:-MARGIN]}


def decide(game: Game, name: str = "heuristic") -> int:
    """Returns what a player does in the place of the seat to act."""
    agent = make(name, seed=1)
    agent.begin(game.rules, game.seat)
    return agent.act(view(game))


def states(
    rules: Rules, agent: Agent, steps: int = 30, tables: int = 8, layout: str = "default"
) -> Iterator[BatchedOhHell]:
    """Yields tables all along play that is half the agent's and half random."""
    played = BatchedOhHell(tables, rules, seed=11, layout=layout)
    played.reset()
    other, rng = make("random", seed=2), np.random.default_rng(3)
    agent.begin(rules)
    for _ in range(steps):
        yield played
        views = played.observations, played.action_masks
        mine, theirs = agent.act_batch(*views), other.act_batch(*views)
        played.step(np.where(rng.random(tables) < 0.5, mine, theirs))
