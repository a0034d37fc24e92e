"""The first layer of a network, whose inputs are nearly all zero.

Needs torch, so nothing imports this module unless a network is really wanted.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ohhell_agents.nn.features import Inputs


class SparseLinear(nn.Linear):
    """A linear layer that reads ``Inputs``: nothing is multiplied by zero.

    In memory its weights stand input by input, so that those of one input can be read in one go;
    by name, shape and value they are those of ``nn.Linear``.
    """

    def __init__(self, in_features: int, out_features: int, device: Any = None) -> None:
        super().__init__(in_features, out_features, device=device)
        self.weight = nn.Parameter(torch.empty(in_features, out_features, device=device).t())

    def forward(self, inputs: Inputs) -> Tensor:  # type: ignore[override]
        """Returns float32 (B, out_features)."""
        return _SparseProduct.apply(self.weight, inputs) + self.bias  # type: ignore[operator]


def _summed(rows: Tensor, which: Tensor, weights: Tensor, starts: Tensor) -> Tensor:
    """Returns for each list the sum of the rows it names, each with its weight."""
    return F.embedding_bag(
        which, rows, starts, mode="sum", per_sample_weights=weights, include_last_offset=True
    )


class _SparseProduct(torch.autograd.Function):
    """Inputs times weights, with PyTorch's fastest kernel for it in both directions."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, inputs: Inputs) -> Tensor:
        ctx.inputs = inputs
        return _summed(weight.t(), inputs.places, inputs.values, inputs.starts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        views, values, firsts = ctx.inputs.by_place
        return _summed(gradient.contiguous(), views, values, firsts).t(), None
