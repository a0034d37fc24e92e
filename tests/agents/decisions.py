"""Prints what players decide at tables of 2 to 8, as JSON: a program for tests in fresh processes.

``python -m tests.agents.decisions [--fill a|b] [--tables N] [--tricks N] PLAYER ...``. With
``--fill``, for the interpreted engine, every array that begins as ``np.empty`` holds garbage of
that kind, NaN or large numbers. A player that reads what nobody wrote then decides otherwise, or
shows other values. PLAYER is a name, or "network" for a network of random weights.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ohhell_agents import Agent
    from ohhell_env import Rules

GARBAGE = {"a": (np.nan, 113), "b": (-3e7, 91)}
"""By kind: what fills arrays of floats, and of whole numbers."""
SIZES = {2: (1, 7), 3: (2, 6), 4: (1, 5), 5: (3, 4), 6: (2, 3), 7: (1, 4), 8: (1, 3)}
"""Hand sizes by number of players."""
RULES = {
    "hook": {},
    "penalties": {"scoring": "escalating"},
    "blind": {"blind_one_card": "always"},
    "at once": {"bidding": {"order": "simultaneous", "hook": "none"}},
    "late trumps": {"trump": {"revealed": "after_bidding"}},
}
"""What the tables play, one after the other."""


def fill_empty_arrays(kind: str) -> None:
    """Has ``np.empty`` return garbage of a kind from now on."""
    real, (number, whole) = np.empty, GARBAGE[kind]

    def filled(*args: Any, **settings: Any) -> Any:
        array = real(*args, **settings)
        if array.dtype.kind == "f":
            array.fill(number)
        elif array.dtype.kind in "iu":
            array.fill(whole)
        return array

    np.empty = filled


def decided(spec: str, tables: int, tricks: int) -> list[Any]:
    """Returns all decisions of a player, and the values that it shows of some."""
    import ohhell_agents
    from ohhell_env import BatchedOhHell, Rules

    found: list[Any] = []
    for players, sizes in SIZES.items():
        for name, changes in RULES.items():
            rules = Rules(players=players).replace(**changes)
            size = 1 if name == "blind" else sizes[len(found) % 2]
            played = BatchedOhHell(tables, rules, seed=players, hand_size=size)
            played.reset()
            player = new_network(rules) if spec == "network" else ohhell_agents.make(spec, seed=7)
            player.begin(played.rules)
            for step in range(players * (min(size, tricks) + 1)):
                views = played.observations.copy(), played.action_masks.copy()
                actions = player.act_batch(*views)
                found.append(actions.tolist())
                explain = getattr(player, "explain", None)
                if explain is not None and step % 3 == 0:
                    view = {"observation": views[0][0], "action_mask": views[1][0]}
                    found.append(str(explain(view).to_dict()))
                played.step(actions)
    return found


def new_network(rules: Rules) -> Agent:
    """Returns a player of random weights for some rules."""
    import torch

    from ohhell_agents.nn.agent import LearnedAgent
    from ohhell_agents.nn.checkpoint import Checkpoint
    from ohhell_agents.nn.network import Network
    from ohhell_env.observation import layout_of

    torch.manual_seed(1)
    network = Network(layout_of(rules, "default"), (16, 16), rules=rules)
    torch.nn.init.normal_(network.actor[-1].weight, 0.0, 0.5)  # type: ignore[arg-type]
    return LearnedAgent(Checkpoint(network, rules, "default"), seed=7)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fill", choices=sorted(GARBAGE))
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--tricks", type=int, default=13)
    parser.add_argument("players", nargs="+")
    wanted = parser.parse_args()
    if wanted.fill:
        fill_empty_arrays(wanted.fill)
    told = {spec: decided(spec, wanted.tables, wanted.tricks) for spec in wanted.players}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
