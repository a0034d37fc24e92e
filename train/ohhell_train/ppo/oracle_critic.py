"""An oracle critic: it reads the seat's view and the hands that the seat cannot see.

It makes advantages less noisy (Yang et al. 2022, arXiv:2203.16406). Only training uses it; a saved
player does not contain it.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch
from torch import Tensor, nn

from ohhell_agents.nn.feature_layout import num_hand_inputs, num_inputs
from ohhell_agents.nn.features import Inputs, read_hands
from ohhell_agents.nn.sparse_linear import SparseLinear
from ohhell_env.observation import Layout


class OracleCritic(nn.Module):
    """A multilayer perceptron with ReLU over the view and the other seats' hands.

    Args:
        layout: The layout of the observations.
        hidden: Widths of the hidden layers.
    """

    def __init__(self, layout: Layout, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.layout = layout
        self.view = SparseLinear(num_inputs(layout), hidden[0])
        self.hands = SparseLinear(num_hand_inputs(layout), hidden[0])
        layers: list[nn.Module] = [nn.ReLU()]
        for before, width in itertools.pairwise(hidden):
            layers += [nn.Linear(before, width), nn.ReLU()]
        self.rest = nn.Sequential(*layers, nn.Linear(hidden[-1], 1))
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                last = layer is self.rest[-1]
                nn.init.orthogonal_(layer.weight, 1.0 if last else math.sqrt(2))
                nn.init.zeros_(layer.bias)

    def forward(self, inputs: Inputs, hidden_hands: Tensor) -> Tensor:
        """Returns the value for the seat (B,).

        Args:
            inputs: The views, as ``Network.read`` returns them.
            hidden_hands: int8 (B, 8 * (seats - 1)), the masks that ``LapTables`` appends to a view.
        """
        masks = np.ascontiguousarray(hidden_hands.numpy()).view(np.uint64)
        hands = read_hands(self.layout, masks, inputs.orders)
        return self.rest(self.view(inputs) + self.hands(hands)).squeeze(-1)


def silence(critic: nn.Sequential) -> None:
    """Makes a network's own critic return 0 for everything, because an oracle replaces it."""
    with torch.no_grad():
        for values in critic.parameters():
            values.zero_()
