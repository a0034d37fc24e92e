"""The pool of past selves: frozen copies of the learner that it meets at some tables.

A learner that plays only its newest version can forget what beat an older one. The pool holds a
bounded number of copies, and the oldest makes room. For each rollout some of them are drawn; a
table that begins a deal takes one of those.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ohhell_agents.nn.network import Network, choose
from ohhell_env.rules import Rules
from ohhell_train.ppo.config import PoolSettings

NOBODY = -1
"""The answer of an empty pool."""
_MEMORY = 0.99
"""The weight of the older estimate after one more deal."""
_LEAST = 0.05
"""A minimum weight in PFSP, so that no copy is forgotten."""


class Pool:
    """Past selves, by slot.

    Args:
        settings: The size of the pool, the interval between copies, and how to draw them.
    """

    def __init__(self, settings: PoolSettings) -> None:
        self.settings = settings
        self.networks: list[Network] = []
        self.decisions: list[int] = []
        """The number of decisions at which each copy was taken."""
        self.beaten: NDArray[np.float64] = np.full(settings.size, 0.5)
        """(size,): the share of the deals in which the learner did better than each copy."""
        self._drawn: NDArray[np.int64] = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.networks)

    def is_due(self, decisions: int) -> bool:
        """Returns whether a copy of the learner is due."""
        return decisions - max(self.decisions, default=0) >= self.settings.every

    def add(self, network: Network, decisions: int) -> None:
        """Adds a copy of the learner; in a full pool it replaces the oldest."""
        frozen = copy.deepcopy(network).requires_grad_(False)
        if len(self) < self.settings.size:
            slot = len(self)
            self.networks.append(frozen)
            self.decisions.append(decisions)
        else:
            slot = int(np.argmin(self.decisions))
            self.networks[slot], self.decisions[slot] = frozen, decisions
        self.beaten[slot] = 0.5

    def weights(self) -> NDArray[np.float64]:
        """Returns the probabilities of the slots (n,), for n past selves.

        Prioritised fictitious self-play (Vinyals et al. 2019, doi:10.1038/s41586-019-1724-z)
        prefers those that the learner beats less often.
        """
        if self.settings.draw == "uniform":
            return np.full(len(self), 1 / max(1, len(self)))
        weights = (1 - self.beaten[: len(self)]) ** 2 + _LEAST
        return weights / weights.sum()

    def draw(self, random: np.random.Generator) -> None:
        """Draws the past selves that may sit down from now on."""
        if len(self):
            number = min(self.settings.at_once, len(self))
            self._drawn = random.choice(len(self), number, replace=False, p=self.weights())

    def at_tables(self, count: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Returns the past self to sit at each of some tables: slots (count,), or ``NOBODY``."""
        if not len(self._drawn):
            return np.full(count, NOBODY)
        return random.choice(self._drawn, count)

    def ask(
        self,
        slot: int,
        observations: NDArray[np.int8],
        masks: NDArray[np.int8],
        random_bits: NDArray[np.uint64],
        rules: Rules,
    ) -> NDArray[np.int64]:
        """Returns the actions of a past self, sampled from its probabilities.

        Args:
            slot: The slot of the past self.
            observations: int8 (B, L).
            masks: int8 (B, A).
            random_bits: uint64 (B,), the random bits of each decision.
            rules: The rules of the tables.

        Returns:
            int64 (B,).
        """
        with torch.no_grad():
            log_probs = self.networks[slot].log_probs(
                torch.from_numpy(observations), torch.from_numpy(masks), rules
            )
        return choose(log_probs, random_bits)

    def note(self, slot: int, results: NDArray[np.float64]) -> None:
        """Records deals (d,) against a past self: 1 = the learner did better, 0 = worse, or 0.5."""
        share = _MEMORY ** len(results)
        self.beaten[slot] = share * self.beaten[slot] + (1 - share) * results.mean()

    def restore(
        self, networks: Sequence[Network], decisions: Sequence[int], beaten: NDArray[np.float64]
    ) -> None:
        """Restores the saved copies, slot by slot."""
        self.networks, self.decisions = list(networks), list(decisions)
        self.beaten[:] = beaten
