"""The network to fit; during training only, it also guesses the hidden hands."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ohhell_agents.nn.feature_layout import num_hand_inputs
from ohhell_agents.nn.features import Inputs, read_hands
from ohhell_agents.nn.network import Network
from ohhell_train.distill.dataset import DistillBatch


class Losses(NamedTuple):
    """The student's losses, as means over a minibatch."""

    policy: Tensor
    """Cross-entropy of the teacher's choices (nats)."""
    value: Tensor
    """Squared error of the critic (squared units of reward)."""
    hands: Tensor
    """Cross-entropy of the hidden hands (nats a hidden card); 0 without guesses."""


class Student(nn.Module):
    """A network, with a head on its policy's last hidden layer that guesses hidden hands.

    The head makes the policy's layers learn where the hidden cards probably are. It is not part of
    the network, so a saved player does not contain it.

    Args:
        network: The network of the player.
        guesses: Whether to guess.
    """

    def __init__(self, network: Network, guesses: bool) -> None:
        super().__init__()
        self.network = network
        self.head: nn.Linear | None = None
        self._last: Tensor | None = None
        if guesses:
            self.head = nn.Linear(network.hidden[-1], num_hand_inputs(network.layout))
            network.actor[-1].register_forward_pre_hook(self._keep_last)

    def _keep_last(self, _: nn.Module, given: tuple[Any, ...]) -> None:
        """Keeps the output of the last hidden layer, for the head to read."""
        self._last = given[0]

    def losses(self, part: DistillBatch) -> tuple[Losses, Tensor, Tensor]:
        """Returns losses, the log-probabilities of all actions (B, A), and values (B,)."""
        inputs = self.network.read(part.views)
        log_probs, values = self.network.act(inputs, part.masks), self.network.judge(inputs)
        losses = Losses(
            policy=F.nll_loss(log_probs, part.chosen),
            value=F.mse_loss(values, part.returns),
            hands=self._hands_loss(inputs, part),
        )
        return losses, log_probs, values

    def _hands_loss(self, inputs: Inputs, part: DistillBatch) -> Tensor:
        if self.head is None:
            return torch.zeros(())
        assert self._last is not None, "the policy was asked before"
        hands = read_hands(self.network.layout, part.hands, inputs.orders).dense()
        guesses = self.head(self._last)
        error = F.binary_cross_entropy_with_logits(guesses, hands, reduction="sum")
        return error / hands.sum().clamp(min=1)
