"""``random``: every legal action is equally likely."""

# The compiled loop is read by numba, not by the type checker.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import numpy as np

from ohhell_agents.base import Actions, Agent, Bytes, RandomBits
from ohhell_agents.value.players import RANDOM, uniform_place
from ohhell_env.engine.caching import entry


class RandomAgent(Agent):
    """Plays any legal action, all with the same probability.

    >>> import numpy as np
    >>> mask = np.array([[0, 1, 1, 0]], np.int8)
    >>> int(RandomAgent(seed=3).act_batch(mask, mask)[0]) in (1, 2)
    True
    """

    kind = "random"
    engine_player = RANDOM

    def choose(
        self,
        observations: Bytes,
        action_masks: Bytes,
        random_bits: RandomBits,
        deterministic: bool,
        /,
    ) -> Actions:
        """Returns an action for each row; see ``Agent.choose``."""
        chosen = np.empty(len(action_masks), np.int64)
        _draw(action_masks, random_bits, chosen)
        return chosen


@entry
def _draw(masks, random_bits, chosen):
    for row in range(len(masks)):
        legal = 0
        for action in range(masks.shape[1]):
            legal += masks[row, action] != 0
        place = uniform_place(random_bits[row], legal)
        for action in range(masks.shape[1]):
            if masks[row, action] != 0:
                if place == 0:
                    chosen[row] = action
                place -= 1
