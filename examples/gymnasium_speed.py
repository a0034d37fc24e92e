"""Learner's decisions per CPU second of the Gymnasium environments, single and vector.

python examples/gymnasium_speed.py
"""

from __future__ import annotations

import time

import gymnasium
import numpy as np

import ohhell_env  # noqa: F401 (registers the environment)

ID = "ohhell/OhHell-v0"
SECONDS = 4.0


def single(opponents: str) -> float:
    """Returns decisions per CPU second of one table."""
    env = gymnasium.make(ID, opponents=opponents)
    _, info = env.reset(seed=1)
    decisions, start = 0, time.process_time()
    while time.process_time() - start < SECONDS:
        for _ in range(50):
            _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
            if over:
                _, info = env.reset()
        decisions += 50
    return decisions / (time.process_time() - start)


def many(opponents: str, tables: int) -> float:
    """Returns decisions per CPU second of many tables."""
    envs = gymnasium.make_vec(ID, num_envs=tables, opponents=opponents, copy=False)
    _, infos = envs.reset(seed=1)
    random = np.random.default_rng(1)
    decisions, playing = 0, 0.0
    while playing < SECONDS:
        masks = infos["action_mask"]
        actions = (masks * random.random(masks.shape)).argmax(axis=1)
        start = time.process_time()
        _, _, _, _, infos = envs.step(actions)
        playing += time.process_time() - start
        decisions += tables
    return decisions / playing


def main() -> None:
    """Prints the table of docs/gymnasium.md."""
    for opponents in ("random", "heuristic"):
        found = [single(opponents), *(many(opponents, tables) for tables in (64, 1024))]
        print(opponents, *(f"{rate:,.0f}" for rate in found), sep=" | ")


if __name__ == "__main__":
    main()
