"""The rollout buffer: laps as rows, seats as columns, advantages seat by seat."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples

from ohhell_env.actions import BID_BASE
from ohhell_train.ppo.rollout import LAP_FIELDS, Floats, Lap


class LapBuffer(MaskableRolloutBuffer):
    """The rollout buffer of sb3-contrib with laps as rows and seats as columns.

    The loss uses only *free* cells, those with a choice of the learner. A forced move is not a
    decision, so it is not in the advantages either: a seat's next free decision directly follows
    its last one. The cells of opponents are not free.
    """

    rng: np.random.Generator
    """The generator of the order of the cells; the owner sets it."""

    def reset(self) -> None:
        """Empties the buffer."""
        super().reset()
        shape = (self.buffer_size, self.n_envs)
        self.action_masks = np.zeros((*shape, self.mask_dims), np.int8)
        self.ends = np.zeros(shape, np.bool_)
        self.ours = np.zeros(shape, np.bool_)
        self.free = np.zeros(shape, np.bool_)

    def add_lap(self, lap: Lap) -> None:
        """Adds one row."""
        for name in LAP_FIELDS:
            value = getattr(lap, name)
            getattr(self, name)[self.pos] = value[:, None] if name == "actions" else value
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def finish(self, following: Lap) -> None:
        """Computes advantages and returns, with the lap that follows the last row.

        This is generalised advantage estimation over each column's free cells (Schulman et al.
        2016, arXiv:1506.02438). If the following lap is forced, the next free decision of the deal
        is not known yet, and the column's last decision is left out of the loss.
        """
        known = following.free.copy()
        next_value = np.where(known, following.values, 0).astype(np.float32)
        advantage = np.zeros(self.n_envs, np.float32)
        pay = np.zeros(self.n_envs, np.float32)
        for row in reversed(range(self.buffer_size)):
            ends, free = self.ends[row], self.free[row].copy()
            next_value[ends] = advantage[ends] = pay[ends] = 0
            known |= ends
            pay += self.rewards[row]
            delta = pay + self.gamma * next_value - self.values[row]
            found = np.where(known, delta + self.gamma * self.gae_lambda * advantage, 0)
            advantage = np.where(free, found, advantage)
            self.advantages[row] = np.where(free, found, 0)
            self.free[row] &= known
            next_value = np.where(free, self.values[row], next_value)
            pay[free] = 0
            known |= free
        self.returns = self.advantages + self.values

    def get(
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Yields the free cells in random order, in minibatches of equal size (within one).

        Args:
            batch_size: The preferred size. The actual size is the nearest that divides the cells
                evenly, because a small last minibatch would make a noisy step.
        """
        assert self.full, "finish the rollout first"
        rows, columns = np.nonzero(self.free)
        advantages = self._by_phase(rows, columns)
        order = self.rng.permutation(len(rows))
        if len(order) == 1:
            order = order.repeat(2)  # advantages are normalised, and a single one has no variance
        parts = max(1, min(round(len(order) / (batch_size or len(order))), len(order) // 2))
        for part in np.array_split(order, parts):
            yield self._cells(rows[part], columns[part], advantages[part])

    def _by_phase(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
        """Returns advantages with mean 0 and standard deviation 1, separately for bids and cards.

        A bid decides more points than a card, so together the advantages of cards would hardly
        count.
        """
        advantages = self.advantages[rows, columns]
        bids = self.actions[rows, columns, 0] >= BID_BASE
        for phase in (bids, ~bids):
            if phase.any():
                part = advantages[phase]
                advantages[phase] = (part - part.mean()) / (part.std() + 1e-8)
        return advantages

    def _cells(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], advantages: Floats
    ) -> MaskableRolloutBufferSamples:
        def pick(values: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(values[rows, columns])

        return MaskableRolloutBufferSamples(
            observations=pick(self.observations),
            actions=pick(self.actions),
            old_values=pick(self.values),
            old_log_prob=pick(self.log_probs),
            advantages=torch.from_numpy(advantages),
            returns=pick(self.returns),
            action_masks=pick(self.action_masks),
        )
