"""The policy in the form that MaskablePPO uses, in acting and in the loss."""

from __future__ import annotations

import copy
from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from ohhell_agents.nn.features import Inputs
from ohhell_agents.nn.network import Network
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.oracle_critic import OracleCritic, silence
from ohhell_train.ppo.rollout import LapTables
from ohhell_train.ppo.table_groups import TableGroups

Tables = LapTables | TableGroups


class TablePolicy(MaskableActorCriticPolicy):
    """A policy for MaskablePPO around a ``Network``, which also plays without it."""

    network: Network
    oracle: OracleCritic | None
    """A critic that sees all hands, if the settings ask for one."""
    reference: Network | None
    """The network to stay close to, if any."""

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        config: PpoConfig,
        tables: Tables,
        start: Network | None = None,
    ) -> None:
        self._config, self._layout, self._rules = config, tables.layout, tables.rules
        self._start = None if start is None else start.state_dict()
        super().__init__(observation_space, action_space, lr_schedule)

    def _build(self, lr_schedule: Schedule) -> None:
        settings = self._config.network
        self.network = Network(self._layout, settings.hidden, rules=self._rules)
        self._begin_as(self._start)
        self.oracle = None
        if settings.critic == "oracle":
            self.oracle = OracleCritic(self._layout, settings.hidden)
            silence(self.network.critic)
        self.optimizer = self.optimizer_class(
            self.trained().parameters(),
            lr=lr_schedule(1.0),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    def _begin_as(self, start: dict[str, Tensor] | None) -> None:
        """Loads the start's weights, and keeps a copy of the network to stay close to."""
        self.reference = None
        if start is None:
            return
        self.network.load_state_dict(start)
        if self._config.ppo.kl_coef > 0:
            self.reference = copy.deepcopy(self.network).requires_grad_(False)

    def trained(self) -> torch.nn.ModuleDict:
        """Returns the trained parts, by their names in a saved state."""
        if self.oracle is None:
            return torch.nn.ModuleDict({"network": self.network})
        return torch.nn.ModuleDict({"network": self.network, "oracle": self.oracle})

    def weigh(self, views: Tensor, action_masks: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the log-probabilities of all actions (B, A) and values (B,).

        Args:
            views: int8 (B, width), in the form of ``LapTables``.
            action_masks: int8 (B, A).
        """
        return self._weigh(self._read(views), views, action_masks)

    def _read(self, views: Tensor) -> Inputs:
        return self.network.read(views[:, : self._layout.length])

    def _weigh(self, inputs: Inputs, views: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        with torch.autocast("cpu", torch.bfloat16, enabled=self._config.ppo.bf16):
            log_probs = self.network.act(inputs, masks)
            if self.oracle is None:
                values = self.network.judge(inputs)
            else:
                values = self.oracle(inputs, views[:, self._layout.length :])
        return log_probs.float(), values.float()

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Returns values, log-probabilities of actions, and a bonus for the objective, (B,) each.

        The bonus is the entropy. With ``kl_coef`` it is the weighted entropy less the weighted
        divergence from the reference, and MaskablePPO adds it with weight 1.
        """
        assert action_masks is not None, "every decision has a mask"
        inputs = self._read(obs)
        log_probs, values = self._weigh(inputs, obs, action_masks)
        taken = log_probs.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        chances = log_probs.exp()
        entropy = -(chances * log_probs).sum(dim=-1)
        if self.reference is None:
            return values, taken, entropy
        with torch.no_grad():
            wanted = self.reference.act(inputs, action_masks)
        apart = (chances * (log_probs - wanted)).sum(dim=-1)  # the Kullback-Leibler divergence
        ppo = self._config.ppo
        return values, taken, ppo.ent_coef * entropy - ppo.kl_coef * apart

    def forward(self, *_: Any, **__: Any) -> Any:
        """Not used: ``SelfPlayPPO.decide`` makes the decisions."""
        raise NotImplementedError("SelfPlayPPO.decide makes the decisions of self-play")

    def _predict(self, *_: Any, **__: Any) -> Tensor:
        raise NotImplementedError("save a checkpoint and play it with ohhell_agents.load(path)")
