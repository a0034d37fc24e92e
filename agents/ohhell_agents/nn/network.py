"""The network of a learned player: separate actor and critic over a sorted view.

What they read is in ``features.py``: the suits come in an order that does not depend on their
names, and the action probabilities are put back in place.

Needs torch, so nothing imports this module unless a network is really wanted.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import skip_init

from ohhell_agents.nn.feature_layout import num_inputs, sorted_actions
from ohhell_agents.nn.features import Inputs, read_inputs
from ohhell_agents.nn.sparse_linear import SparseLinear
from ohhell_env.cards import NUM_CARD_CODES
from ohhell_env.observation import Layout
from ohhell_env.rules import Rules

_NEVER = NUM_CARD_CODES
"""A hand size that no deal has."""
_MASKED = -1e8
"""Logit of an illegal action: its probability is exactly 0, and 0 * log 0 stays finite."""


def dealers_card_from(rules: Rules) -> int:
    """Returns the hand size from which on the shown card is the dealer's last.

    That card is in the dealer's hand until it is played; in smaller deals the shown card was turned
    from the stock, and stays out of play.
    """
    if rules.trump.method == "dealer_last_card":
        return 0
    return math.ceil(rules.pack.size / rules.players)  # nothing is left to turn


class Network(nn.Module):
    """Actor and critic, two multilayer perceptrons with ReLU that share nothing.

    Args:
        layout: The observations that it reads.
        hidden: Widths of the hidden layers, the same for actor and critic.
        fresh: Whether to set first weights; without, they are to be loaded.
        rules: The rules of the tables that it is trained at. They tell whether the shown card is
            the dealer's last, and may still come; None: it always counts as one of the stock.
    """

    actions: Tensor
    """int64 (orders, A): the place of each action among the sorted ones, by order of suits."""

    def __init__(
        self,
        layout: Layout,
        hidden: tuple[int, ...],
        fresh: bool = True,
        rules: Rules | None = None,
    ) -> None:
        super().__init__()
        self.rules = rules
        self.hidden = hidden
        self.layout = layout
        self.num_actions = layout.num_actions
        self.num_observed = layout.length
        inputs = num_inputs(layout)
        actions = torch.from_numpy(sorted_actions(layout))
        self.register_buffer("actions", actions, persistent=False)
        self.actor = _perceptron(inputs, hidden, layout.num_actions)
        self.critic = _perceptron(inputs, hidden, 1)
        if fresh:
            _set_orthogonal(self.actor, last_gain=0.01)  # at first, every action is as likely
            _set_orthogonal(self.critic, last_gain=1.0)

    @property
    def told_rules(self) -> bool:
        """Whether it has been told the rules that it is trained for."""
        return self.rules is not None

    def read(self, observations: Tensor, rules: Rules | None = None) -> Inputs:
        """Returns what the layers read.

        Args:
            observations: int8 (B, L).
            rules: The rules of the table, where they are others than those trained for. A network
                that was never told any does not use them.
        """
        dealers_from = _NEVER if self.rules is None else dealers_card_from(rules or self.rules)
        return read_inputs(self.layout, observations.numpy(), dealers_from)

    def log_probs(
        self, observations: Tensor, action_masks: Tensor, rules: Rules | None = None
    ) -> Tensor:
        """Returns the logarithm of each action's probability; illegal ones have probability 0.

        Args:
            observations: int8 (B, L).
            action_masks: int8, bool or float (B, A), with at least one legal action in each row.
            rules: As in ``read``.

        Returns:
            float32 (B, A).
        """
        return self.act(self.read(observations, rules), action_masks)

    def act(self, inputs: Inputs, action_masks: Tensor) -> Tensor:
        """As ``log_probs``, from what ``read`` returned."""
        logits = self.actor(inputs).float().gather(-1, self.actions[inputs.orders])
        return F.log_softmax(logits.masked_fill(action_masks == 0, _MASKED), dim=-1)

    def judge(self, inputs: Inputs) -> Tensor:
        """Returns the value for the seat (B,), from the inputs that ``read`` returned."""
        return self.critic(inputs).squeeze(-1)


def tensor_sizes(layout: Layout, hidden: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Returns name and size of every weight tensor of a network, without building it."""
    sizes: dict[str, tuple[int, ...]] = {}
    for part, outputs in (("actor", layout.num_actions), ("critic", 1)):
        inputs = num_inputs(layout)
        for layer, width in enumerate((*hidden, outputs)):
            sizes[f"{part}.{2 * layer}.weight"] = (width, inputs)
            sizes[f"{part}.{2 * layer}.bias"] = (width,)
            inputs = width
    return sizes


def _perceptron(inputs: int, hidden: tuple[int, ...], outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = [skip_init(SparseLinear, inputs, hidden[0]), nn.ReLU()]
    for before, width in itertools.pairwise(hidden):
        layers += [skip_init(nn.Linear, before, width), nn.ReLU()]
    return nn.Sequential(*layers, skip_init(nn.Linear, hidden[-1], outputs))


def _set_orthogonal(perceptron: nn.Sequential, last_gain: float) -> None:
    """Sets first weights: orthogonal, as is usual for PPO."""
    linear = [layer for layer in perceptron if isinstance(layer, nn.Linear)]
    for layer in linear:
        gain = last_gain if layer is linear[-1] else math.sqrt(2)
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)


def choose(log_probs: Tensor, words: NDArray[np.uint64] | None) -> NDArray[np.int64]:
    """Returns an action for each row; one of probability 0 is never chosen.

    Args:
        log_probs: float32 (B, A), as ``Network.log_probs`` gives them.
        words: uint64 (B,), the chance of each decision, to draw with the given probabilities;
            None: the likeliest action, of several the first.

    Returns:
        int64 (B,).
    """
    if words is None:
        return log_probs.argmax(dim=-1).numpy()
    up_to = log_probs.double().exp().cumsum(dim=-1)
    chance = torch.from_numpy((words >> np.uint64(24)) * 2.0**-40)  # in [0, 1), exact
    return (up_to <= chance.unsqueeze(-1) * up_to[:, -1:]).sum(dim=-1).numpy()
