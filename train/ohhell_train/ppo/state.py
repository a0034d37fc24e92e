"""The state of a resumed run: a learner and its tables as named tensors."""

from __future__ import annotations

from typing import Any

import torch

from ohhell_train.ppo.learner import SelfPlayPPO
from ohhell_train.ppo.rollout import LAP_FIELDS, Lap


def tensors_of(ppo: SelfPlayPPO) -> dict[str, torch.Tensor]:
    """Returns weights, optimiser, tables, pool and the lap played ahead, by name."""
    tensors = dict(ppo.policy.trained().state_dict())
    for number, values in ppo.policy.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
    tensors = {name: value.contiguous() for name, value in tensors.items()}
    tensors |= {f"tables.{k}": torch.from_numpy(v) for k, v in ppo.tables.state().items()}
    if ppo.tables.opponents.pool is not None:
        tensors["pool.beaten"] = torch.from_numpy(ppo.tables.opponents.pool.beaten)
    if ppo.following is not None:
        for name in LAP_FIELDS:
            tensors[f"lap.{name}"] = torch.from_numpy(getattr(ppo.following, name))
    return tensors


def put_back(ppo: SelfPlayPPO, tensors: dict[str, torch.Tensor], notes: dict[str, Any]) -> None:
    """Restores a new learner from a saved state; the run directory restores past selves.

    Raises:
        KeyError: Something is missing in the state; also TypeError, ValueError or RuntimeError if
            the state does not fit the learner.
    """

    def part(prefix: str) -> dict[str, torch.Tensor]:
        names = [name for name in tensors if name.startswith(prefix)]
        return {name.removeprefix(prefix): tensors[name] for name in names}

    trained = ppo.policy.trained()
    trained.load_state_dict({name: tensors[name] for name in trained.state_dict()})
    optimizer = ppo.policy.optimizer.state_dict()
    weights = [weight for group in ppo.policy.optimizer.param_groups for weight in group["params"]]
    for name, value in part("optimizer.").items():
        number, _, key = name.partition(".")
        like = weights[int(number)]
        fits = value.shape == like.shape
        # the memory order of the weights, because another order would round sums differently
        saved = torch.empty_like(like, requires_grad=False).copy_(value) if fits else value
        optimizer["state"].setdefault(int(number), {})[key] = saved
    ppo.policy.optimizer.load_state_dict(optimizer)
    ppo.tables.restore({name: value.numpy() for name, value in part("tables.").items()})
    lap = {name: value.numpy().copy() for name, value in part("lap.").items()}
    ppo.following = Lap(**lap) if lap else None
    ppo.tables.random.bit_generator.state = notes["random"]
    ppo.num_timesteps = notes["counters"]["decisions"]
    ppo._n_updates = notes["updates"]
