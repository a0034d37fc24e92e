"""Fits a player's advantage nets to labelled decisions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ohhell_agents.value.trick_model import BIT_WORDS, HIDDEN1, HIDDEN2
from ohhell_env.engine.layout import Rows
from ohhell_train.counterfactual.config import RoundFitSettings
from ohhell_train.counterfactual.dataset import AdvantageDataset


class AdvantageBatch(NamedTuple):
    """Labelled decisions as tensors for a network."""

    situations: Tensor
    """float32 (decisions, inputs)."""
    bits: Tensor
    """float32 (decisions, 64 * BIT_WORDS), the bits of their tables."""
    choices: Tensor
    """float32 (choices, inputs)."""
    numbers: Tensor
    """int64 (choices,), card or bid."""
    values: Tensor
    """float32 (choices,)."""
    decision: Tensor
    """int64 (choices,), the decision that each choice belongs to."""
    sizes: Tensor
    """float32 (decisions,), number of choices of each decision."""


class AdvantageNet(nn.Module):
    """One of the two advantage nets; ``agents/ohhell_agents/value/advantage_nets.py`` evaluates it.

    Args:
        situation: Number of inputs that the choices of a decision share.
        choice: Number of inputs of a choice.
        numbers: Number of different choices.
    """

    def __init__(self, situation: int, choice: int, numbers: int) -> None:
        super().__init__()
        self.situation = nn.Linear(situation, HIDDEN1)
        self.table = nn.Linear(64 * BIT_WORDS, HIDDEN1, bias=False)
        self.choice = nn.Linear(choice, HIDDEN1, bias=False)
        self.number = nn.Embedding(numbers, HIDDEN1)
        nn.init.normal_(self.number.weight, 0.0, 0.02)
        self.middle = nn.Linear(HIDDEN1, HIDDEN2)
        self.out = nn.Linear(HIDDEN2, 1, bias=False)
        nn.init.zeros_(self.out.weight)  # the untrained net corrects nothing

    def forward(self, part: AdvantageBatch) -> Tensor:
        """Returns the corrections of all choices, float32 in prices."""
        base = self.situation(part.situations) + self.table(part.bits)
        wide = base[part.decision] + self.choice(part.choices) + self.number(part.numbers)
        return self.out(F.relu(self.middle(F.relu(wide)))).squeeze(-1)

    def _parts(self) -> dict[str, Tensor]:
        """Returns the weights by their names in ``MODELS``."""
        return {
            "situation": self.situation.weight.T,
            "table": self.table.weight.T,
            "choice": self.choice.weight.T,
            "number": self.number.weight,
            "bias": self.situation.bias,
            "middle": self.middle.weight.T,
            "middle_bias": self.middle.bias,
            "out": self.out.weight[0],
        }

    def put(self, models: Rows, name: str) -> None:
        """Writes the weights into a ``MODELS`` row, as the advantage net of "card" or "bid"."""
        for part, weights in self._parts().items():
            models[f"{name}_{part}"][0] = weights.detach().numpy()
        models["has_advantages"] = 1

    @torch.no_grad()
    def take(self, models: Rows, name: str) -> None:
        """Reads the weights from a ``MODELS`` row."""
        for part, weights in self._parts().items():
            weights.copy_(torch.from_numpy(np.array(models[f"{name}_{part}"][0])))


def fit_advantage_net(
    network: AdvantageNet,
    dataset: AdvantageDataset,
    settings: RoundFitSettings,
    rate: float,
    seed: int,
    on_progress: Callable[[float], None] = lambda _: None,
) -> float:
    """Fits an advantage net to labelled decisions.

    The target is how much better or worse each choice is than the mean of its decision. It is
    fitted by the sum of the heuristic's estimate (input 0 of a choice) and its correction.
    Everything that all choices share, luck above all, cancels.

    Args:
        network: The advantage net, changed in place.
        dataset: The decisions; without any, nothing changes.
        settings: Settings of the fit.
        rate: The highest learning rate.
        seed: Seed of the order of the decisions.
        on_progress: Called with the completed share of the steps.

    Returns:
        The mean loss of the last pass (squared prices, summed over the choices of a decision).
    """
    if len(dataset.sizes) == 0:
        return math.nan
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    each = math.ceil(len(dataset.sizes) / settings.batch_size)
    steps = settings.epochs * each
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: _rise_and_fall(step, steps)
    )
    random = np.random.default_rng([seed, 0xF17])
    total = 0.0
    for epoch in range(settings.epochs):
        total = 0.0
        for number, part in enumerate(_batches(dataset, settings.batch_size, random)):
            estimated = part.choices[:, 0] + network(part)
            gap = _centred(estimated - part.values, part.decision, part.sizes)
            loss = (gap * gap).sum() / len(part.sizes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
            on_progress((epoch * each + number + 1) / steps)
    return total / each


def _rise_and_fall(step: int, steps: int) -> float:
    """Returns the share of the learning rate: it rises for a tenth of the steps, then falls."""
    rise = max(0.1 * steps, 1.0)
    if step < rise:
        return (step + 1) / (rise + 1)
    return 0.5 + 0.5 * math.cos(math.pi * (step - rise) / max(steps - rise, 1.0))


def _centred(values: Tensor, decision: Tensor, sizes: Tensor) -> Tensor:
    """Returns values less the mean of their decision."""
    means = torch.zeros(len(sizes)).index_add_(0, decision, values) / sizes
    return values - means[decision]


def _batches(
    dataset: AdvantageDataset, size: int, random: np.random.Generator
) -> Iterator[AdvantageBatch]:
    sizes = dataset.sizes.astype(np.int64)
    first = np.cumsum(sizes) - sizes
    order = random.permutation(len(sizes))
    for start in range(0, len(order), size):
        drawn = order[start : start + size]
        many = sizes[drawn]
        before = np.cumsum(many) - many
        rows = np.repeat(first[drawn] - before, many) + np.arange(many.sum())
        words = dataset.bits[drawn].astype("<u8").view(np.uint8)
        yield AdvantageBatch(
            torch.from_numpy(dataset.situations[drawn].astype(np.float32)),
            torch.from_numpy(np.unpackbits(words, axis=1, bitorder="little").astype(np.float32)),
            torch.from_numpy(dataset.choices[rows].astype(np.float32)),
            torch.from_numpy(dataset.numbers[rows].astype(np.int64)),
            torch.from_numpy(dataset.values[rows]),
            torch.from_numpy(np.repeat(np.arange(len(drawn)), many)),
            torch.from_numpy(many.astype(np.float32)),
        )
