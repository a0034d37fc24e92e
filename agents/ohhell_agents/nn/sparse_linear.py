"""The first layer of a network, whose inputs are nearly all zero.

This module needs torch, so nothing imports it before a network is used.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ohhell_agents.nn.features import Inputs


class SparseLinear(nn.Linear):
    """A linear layer that reads ``Inputs`` and skips zeros.

    In memory its weights are ordered by input, so that those of one input are contiguous. Their
    name, shape and values are those of ``nn.Linear``.
    """

    def __init__(self, in_features: int, out_features: int, device: Any = None) -> None:
        super().__init__(in_features, out_features, device=device)
        self.weight = nn.Parameter(torch.empty(in_features, out_features, device=device).t())

    def forward(self, inputs: Inputs) -> Tensor:  # type: ignore[override]
        """Returns float32 (B, out_features)."""
        return _SparseProduct.apply(self.weight, inputs) + self.bias  # type: ignore[operator]


def _summed(rows: Tensor, which: Tensor, weights: Tensor, starts: Tensor) -> Tensor:
    """Returns for each list the weighted sum of its rows."""
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
