"""The network of a trained player: separate actor and critic over a sorted view.

``features.py`` defines their inputs: the suits are sorted, independent of their names, and the
action probabilities are put back in place.

This module needs torch, so nothing imports it before a network is used.
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
"""A hand size that never occurs."""
_MASKED = -1e8
"""Logit of an illegal action: its probability is exactly 0, and 0 * log 0 stays finite."""


def dealers_card_from(rules: Rules) -> int:
    """Returns the smallest hand size for which the shown card is the dealer's last.

    That card stays in the dealer's hand until it is played. In smaller deals the shown card was
    turned from the stock, and stays out of play.
    """
    if rules.trump.method == "dealer_last_card":
        return 0
    return math.ceil(rules.pack.size / rules.players)  # no card is left to turn


class Network(nn.Module):
    """Actor and critic: two multilayer perceptrons with ReLU and no shared weights.

    Args:
        layout: Layout of the observations.
        hidden: Widths of the hidden layers, the same for actor and critic.
        fresh: Whether to set initial weights; otherwise the caller loads them.
        rules: The rules of the training tables. They decide whether the shown card is the dealer's
            last, and may still come; None: it always counts as a card of the stock.
    """

    actions: Tensor
    """int64 (orders, A): the place of each action among the sorted actions, by order of suits."""

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
            _set_orthogonal(self.actor, last_gain=0.01)  # at first, all actions are equally likely
            _set_orthogonal(self.critic, last_gain=1.0)

    @property
    def told_rules(self) -> bool:
        """Whether it has the rules that it is trained for."""
        return self.rules is not None

    def read(self, observations: Tensor, rules: Rules | None = None) -> Inputs:
        """Returns the inputs of the layers.

        Args:
            observations: int8 (B, L).
            rules: The rules of the table, if they differ from the training rules. A network without
                training rules ignores them.
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
        """Returns the same as ``log_probs``, from the inputs that ``read`` returned."""
        logits = self.actor(inputs).float().gather(-1, self.actions[inputs.orders])
        return F.log_softmax(logits.masked_fill(action_masks == 0, _MASKED), dim=-1)

    def judge(self, inputs: Inputs) -> Tensor:
        """Returns the value for the seat (B,), from the inputs that ``read`` returned."""
        return self.critic(inputs).squeeze(-1)


def tensor_sizes(layout: Layout, hidden: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Returns the name and shape of every weight tensor of a network, without building it."""
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
    """Sets initial weights: orthogonal, as is usual for PPO."""
    linear = [layer for layer in perceptron if isinstance(layer, nn.Linear)]
    for layer in linear:
        gain = last_gain if layer is linear[-1] else math.sqrt(2)
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)


def choose(log_probs: Tensor, random_bits: NDArray[np.uint64] | None) -> NDArray[np.int64]:
    """Returns an action for each row; one of probability 0 is never chosen.

    Args:
        log_probs: float32 (B, A), from ``Network.log_probs``.
        random_bits: uint64 (B,), one random number per decision, to draw with the given
            probabilities; None: the likeliest action, or the first of several.

    Returns:
        int64 (B,).
    """
    if random_bits is None:
        return log_probs.argmax(dim=-1).numpy()
    up_to = log_probs.double().exp().cumsum(dim=-1)
    chance = torch.from_numpy((random_bits >> np.uint64(24)) * 2.0**-40)  # in [0, 1), exact
    return (up_to <= chance.unsqueeze(-1) * up_to[:, -1:]).sum(dim=-1).numpy()
