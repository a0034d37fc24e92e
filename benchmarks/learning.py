"""Learning speed of PPO self-play and of stock MaskablePPO; part of ``make bench``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import CallbackList

from benchmarks.environment import Goal, Line, Work
from ohhell_env.adapters.sb3 import TableVecEnv
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.learner import SelfPlayPPO
from ohhell_train.ppo.run import make_tables

TABLES, LAPS = 256, 16
_COMMON = {
    "tables": TABLES,
    "rollout_laps": LAPS,
    "ppo.n_epochs": 2,
    "ppo.batch_size": 2048,
    "opponents": [],
}
_MADE = {
    "256": ("2x256", {"network.hidden": (256, 256)}),
    "256_bf16": ("2x256 bf16", {"network.hidden": (256, 256), "ppo.bf16": True}),
    "universal": ("2x256 universal", {"network.hidden": (256, 256), "layout": "universal"}),
    "64": ("2x64", {"network.hidden": (64, 64)}),
}
GOALS = (
    Goal("256_collect", 55e3),
    Goal("256_overall", 14e3),
    Goal("universal_collect", 35e3),
    Goal("universal_overall", 7.5e3),
    Goal("64_overall", 30e3),
    Goal("stock", 15e3),
)


def _learner(changes: dict[str, object]) -> SelfPlayPPO:
    config = PpoConfig.load(None, _COMMON | changes)
    ppo = SelfPlayPPO(config, make_tables(config))
    ppo.learn(1, log_interval=sys.maxsize)
    return ppo


def _part(ppo: SelfPlayPPO, updates: bool) -> Callable[[], int]:
    """Returns a function for one rollout, with or without update; it returns its decisions."""
    callback = CallbackList([])
    callback.init_callback(ppo)
    decisions = ppo.tables.num_columns * LAPS

    def part() -> int:
        ppo.collect_rollouts(ppo.env, callback, ppo.rollout_buffer, LAPS)  # type: ignore[arg-type]
        if updates:
            ppo.train()
        return decisions

    return part


def _work(part: Callable[[], int]) -> Work:
    def work(seconds: float) -> tuple[int, float]:
        count, started = 0, time.process_time()
        while (spent := time.process_time() - started) < seconds:
            count += part()
        return count, spent

    return work


def _stock() -> Callable[[], int]:
    """Returns a function for one rollout and update of sb3-contrib's own PPO, one seat a table."""
    tables = TableVecEnv(TABLES, opponents="heuristic", seed=1)
    model = MaskablePPO("MlpPolicy", tables, n_steps=32, batch_size=2048, n_epochs=4, seed=1)

    def part() -> int:
        before = model.num_timesteps
        model.learn(1, reset_num_timesteps=False, log_interval=None)  # type: ignore[arg-type]
        return model.num_timesteps - before

    return part


def lines() -> Iterator[Line]:
    """Yields the measurements, in learned decisions per second; for the tables, of all seats."""
    for key, (name, changes) in _MADE.items():
        ppo = _learner(changes)
        yield Line(f"{key}_collect", f"{name}, collection", _work(_part(ppo, updates=False)))
        yield Line(f"{key}_overall", f"{name}, 2 epochs, overall", _work(_part(ppo, updates=True)))
    yield Line("stock", "stock MaskablePPO 2x64, 4 epochs", _work(_stock()))


def memory() -> str:
    """Returns a text on the memory of a rollout."""
    ppo = _learner(_MADE["256"][1])
    arrays = [value for value in vars(ppo.rollout_buffer).values() if hasattr(value, "nbytes")]
    size, decisions = sum(array.nbytes for array in arrays), ppo.tables.num_columns * LAPS
    return (
        f"a rollout of {decisions:,} decisions takes {size / 2**20:.1f} MiB, "
        f"{size / decisions:.0f} bytes each"
    )
