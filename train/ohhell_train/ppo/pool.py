"""The pool of past selves: frozen copies of the learner that it meets again at some tables.

Playing the newest self only, a learner can forget what beat an older one. The pool holds a bounded
number of copies, the oldest makes room. For each rollout some of them are drawn; a table that
begins a deal takes one of those.
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
"""Answer of an empty pool that is asked for guests."""
_MEMORY = 0.99
"""Share of an older estimate that a new deal leaves."""
_LEAST = 0.05
"""What is added to a weight of PFSP, so that nobody is forgotten."""


class Pool:
    """Past selves, by slot.

    Args:
        settings: How many, how often, drawn how.
    """

    def __init__(self, settings: PoolSettings) -> None:
        self.settings = settings
        self.networks: list[Network] = []
        self.decisions: list[int] = []
        """After how many decisions each of them was taken."""
        self.beaten: NDArray[np.float64] = np.full(settings.size, 0.5)
        """(size,): the learner's share of the deals in which it did better than that self."""
        self._guests: NDArray[np.int64] = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.networks)

    def is_due(self, decisions: int) -> bool:
        """Returns whether it is time to take a copy."""
        return decisions - max(self.decisions, default=0) >= self.settings.every

    def add(self, network: Network, decisions: int) -> None:
        """Takes a copy of the learner; in a full pool it takes the slot of the oldest."""
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
        """Returns how likely each slot is drawn (n,), for n past selves.

        Prioritised fictitious self-play (Vinyals et al. 2019, doi:10.1038/s41586-019-1724-z) asks
        those more often that the learner beats less often.
        """
        if self.settings.draw == "uniform":
            return np.full(len(self), 1 / max(1, len(self)))
        weights = (1 - self.beaten[: len(self)]) ** 2 + _LEAST
        return weights / weights.sum()

    def draw(self, random: np.random.Generator) -> None:
        """Draws those who may sit down from now on."""
        if len(self):
            number = min(self.settings.at_once, len(self))
            self._guests = random.choice(len(self), number, replace=False, p=self.weights())

    def at_tables(self, count: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Returns who sits down at each of some tables: slots (count,), or ``NOBODY``."""
        if not len(self._guests):
            return np.full(count, NOBODY)
        return random.choice(self._guests, count)

    def ask(
        self,
        slot: int,
        observations: NDArray[np.int8],
        masks: NDArray[np.int8],
        words: NDArray[np.uint64],
        rules: Rules,
    ) -> NDArray[np.int64]:
        """Returns the actions of a past self, drawn with its probabilities.

        Args:
            slot: Which one.
            observations: int8 (B, L).
            masks: int8 (B, A).
            words: uint64 (B,), the chance of each decision.
            rules: Of the tables.

        Returns:
            int64 (B,).
        """
        with torch.no_grad():
            log_probs = self.networks[slot].log_probs(
                torch.from_numpy(observations), torch.from_numpy(masks), rules
            )
        return choose(log_probs, words)

    def note(self, slot: int, results: NDArray[np.float64]) -> None:
        """Notes deals (d,) against a past self: 1 = the learner did better, 0 = worse, or 0.5."""
        share = _MEMORY ** len(results)
        self.beaten[slot] = share * self.beaten[slot] + (1 - share) * results.mean()

    def restore(
        self, networks: Sequence[Network], decisions: Sequence[int], beaten: NDArray[np.float64]
    ) -> None:
        """Takes back what was saved, slot by slot."""
        self.networks, self.decisions = list(networks), list(decisions)
        self.beaten[:] = beaten
