"""Self-play with MaskablePPO from sb3-contrib: every seat's decisions are training data.

``LapTables.play`` (rollout.py) plays laps, with the newest network in all seats.
``SelfPlayPPO.collect_rollouts`` puts the laps into a ``LapBuffer``, which computes advantages seat
by seat. MaskablePPO's own ``learn`` and ``train`` do the rest, unchanged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.common.vec_env import VecEnv

from ohhell_agents.nn.network import Network, choose
from ohhell_train.ppo.buffer import LapBuffer
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.policy import TablePolicy, Tables
from ohhell_train.ppo.rollout import Bytes, Floats, Lap
from ohhell_train.runs.trainer import DivergedError


class _Columns(VecEnv):
    """The (table, seat) columns as an environment for MaskablePPO; only sizes and spaces matter."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(
            tables.num_columns,
            spaces.Box(-128, 127, (tables.width,), np.int8),
            spaces.Discrete(tables.layout.num_actions),
        )

    def reset(self) -> Bytes:
        """Returns zeros, because the owner of the tables starts them."""
        shape = self.observation_space.shape
        assert shape is not None
        return np.zeros((self.num_envs, *shape), np.int8)

    def step_async(self, actions: NDArray[Any]) -> None:
        raise NotImplementedError("tables are played by laps: LapTables.play")

    def step_wait(self) -> Any:
        raise NotImplementedError("tables are played by laps: LapTables.play")

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError("tables are set through LapTables")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        raise NotImplementedError("tables are played by laps: LapTables.play")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


class SelfPlayPPO(MaskablePPO):
    """MaskablePPO that learns from every seat of every table.

    Args:
        config: The resolved settings of the run.
        tables: The tables to play at.
        start: The network to start from and to stay close to; None starts from random weights.
    """

    policy: TablePolicy  # type: ignore[assignment]
    rollout_buffer: LapBuffer  # type: ignore[assignment]

    def __init__(self, config: PpoConfig, tables: Tables, start: Network | None = None) -> None:
        ppo = config.ppo
        super().__init__(
            TablePolicy,
            _Columns(tables),
            learning_rate=_falling(ppo.learning_rate, ppo.final_learning_rate),
            n_steps=config.rollout_laps,
            batch_size=ppo.batch_size,
            n_epochs=ppo.n_epochs,
            gamma=1.0,
            gae_lambda=ppo.gae_lambda,
            clip_range=ppo.clip_range,
            ent_coef=1.0 if ppo.kl_coef > 0 else ppo.ent_coef,  # see TablePolicy.evaluate_actions
            vf_coef=ppo.vf_coef,
            max_grad_norm=ppo.max_grad_norm,
            rollout_buffer_class=LapBuffer,
            policy_kwargs={"config": config, "tables": tables, "start": start},
            seed=config.seed,
            device="cpu",
        )
        self.config = config
        self.tables = tables
        self.following: Lap | None = None
        """The first lap of the next rollout, already played: its values end the last rollout."""
        self.planned: int | None = None
        """Decisions of the whole run; None treats each call of ``learn`` as a separate run."""
        self.time_fraction = 0.0
        """The share of the time limit that is used up; 0 without a limit."""
        self.rollout_buffer.rng = tables.random
        self.set_logger(Logger(folder=None, output_formats=[]))

    @torch.no_grad()
    def decide(self, observations: Bytes, masks: Bytes) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Samples an action for each row; see ``rollout.Policy``."""
        log_probs, values = (
            answer.numpy()
            for answer in self.policy.weigh(torch.from_numpy(observations), torch.from_numpy(masks))
        )
        random_bits = self.tables.random.integers(2**64, size=len(masks), dtype=np.uint64)
        actions = choose(torch.from_numpy(log_probs), random_bits)
        rows = np.arange(len(actions))
        taken = log_probs[rows, actions]
        # Finite weights can be so large that their products are infinite, or that a legal action
        # becomes less likely than an illegal one.
        if not (np.isfinite(taken + values) & (masks[rows, actions] == 1)).all():
            raise self._diverged("the network no longer gives usable probabilities and values")
        return actions, taken, values

    def train(self) -> None:
        """Makes an update, which changes nothing if the rollout has no free decision.

        Raises:
            DivergedError: The update left weights that are not finite.
        """
        self.logger.name_to_value.clear()  # a skipped update has no losses to report
        if not self.rollout_buffer.free.any():
            self._update_learning_rate(self.policy.optimizer)
            return
        with np.errstate(over="ignore", invalid="ignore"):  # reported below, once and plainly
            super().train()
        if not all(bool(torch.isfinite(value).all()) for value in self.policy.parameters()):
            raise self._diverged("the weights are no longer finite numbers")

    def _diverged(self, what: str) -> DivergedError:
        rate = self.policy.optimizer.param_groups[0]["lr"]
        return DivergedError(
            f"after {self.num_timesteps:,} decisions {what}; most likely the learning rate is too "
            f"high: ppo.learning_rate began at {self.config.ppo.learning_rate:g} and is "
            f"{rate:g} now; start the run again with a lower one (the last saved state is "
            "unchanged)"
        )

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        """Lowers the learning rate with the clock if that is ahead of the decisions."""
        done = max(num_timesteps / (self.planned or total_timesteps), self.time_fraction)
        self._current_progress_remaining = 1.0 - min(done, 1.0)

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """Fills the buffer with laps; returns False if the callback ends the training."""
        buffer = self.rollout_buffer
        callback.on_rollout_start()  # first, because it reports the last rollout
        buffer.reset()
        self._refresh_pool()
        lap = self.following or self.tables.play(self.decide)
        for _ in range(n_rollout_steps):
            if not callback.on_step():
                return False
            buffer.add_lap(lap)
            self.num_timesteps += self.tables.num_columns
            lap = self.tables.play(self.decide)
        self.following = lap
        buffer.finish(lap)
        callback.on_rollout_end()
        return True

    def _refresh_pool(self) -> None:
        """Copies the learner into the pool when due, and draws past selves for the next rollout."""
        pool = self.tables.opponents.pool
        if pool is None:
            return
        if pool.is_due(self.num_timesteps):
            pool.add(self.policy.network, self.num_timesteps)
        pool.draw(self.tables.random)


def _falling(first: float, last: float) -> Schedule:
    """Returns a linear schedule; ``left`` falls from 1 to 0 over the run."""
    return lambda left: last + left * (first - last)
