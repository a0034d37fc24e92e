"""The learner: log-probabilities, reproducibility, and that it learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback

from agents import make
from agents.checkpoint import Checkpoint
from agents.learned import LearnedAgent
from ohhell_env.rules import Rules
from train.config import Config
from train.progress import measure
from train.rollout import LapTables
from train.selfplay import DivergedError, SelfPlayPPO

TINY: dict[str, Any] = {
    "decisions": 1500,
    "tables": 8,
    "laps": 6,
    "network": {"hidden": [16]},
    "ppo": {"epochs": 2, "minibatch": 64},
    "opponents": {"random": 0.25},
}


def learner(**changes: Any) -> SelfPlayPPO:
    config = Config.of(TINY | changes)
    torch.set_num_threads(1)
    return SelfPlayPPO(config, LapTables(config.resolved_rules(), config.tables, config.seed))


def weights(ppo: SelfPlayPPO) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in ppo.policy.network.state_dict().items()}


class Recomputed(BaseCallback):
    """Compares stored and recomputed log-probabilities before the first step of each update."""

    model: SelfPlayPPO  # type: ignore[assignment]
    largest = 0.0
    cells = 0

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.cells:  # the first lap of later rollouts was played by the network before
            return
        for part in self.model.rollout_buffer.get(64):
            _, log_probs, entropy = self.model.policy.evaluate_actions(
                part.observations, part.actions.flatten(), part.action_masks
            )
            difference = (log_probs - part.old_log_prob).abs().max()
            self.largest = max(self.largest, float(difference.detach()))
            self.cells += len(log_probs)
            assert (part.action_masks.sum(dim=1) > 1).all(), "a forced move is in the loss"
            assert (entropy >= 0).all() and torch.isfinite(entropy).all()


def test_recomputed_log_probabilities_are_those_stored() -> None:
    ppo, check = learner(), Recomputed()
    ppo.learn(1, check)
    assert check.cells > 50
    assert check.largest < 1e-5


def test_the_same_seed_gives_the_same_weights() -> None:
    first, second, other = learner(), learner(), learner(seed=2)
    for ppo in (first, second, other):
        ppo.learn(1500)
    before, again, different = weights(first), weights(second), weights(other)
    assert all(torch.equal(before[name], again[name]) for name in before)
    assert not torch.equal(before["actor.0.weight"], different["actor.0.weight"])


def test_an_update_changes_actor_and_critic() -> None:
    ppo = learner()
    before = weights(ppo)
    ppo.learn(300)
    after = weights(ppo)
    assert all(not torch.equal(before[name], after[name]) for name in before)
    assert ppo.num_timesteps == 2 * (6 * 8 * 4)


def test_global_generators_do_not_matter() -> None:
    first, second = learner(), learner()
    first.learn(400)
    np.random.seed(99)
    torch.manual_seed(99)
    second.learn(400)
    assert torch.equal(weights(first)["actor.0.weight"], weights(second)["actor.0.weight"])


@pytest.mark.parametrize("size", [1e38, -1e38, 1e12])
def test_answers_that_say_nothing_end_the_training(size: float) -> None:
    """Weights may be finite and what the network makes of them not, or beyond the masks' logits."""
    ppo = learner()
    with torch.no_grad():
        ppo.policy.network.actor[-1].bias[:] = -abs(size)  # type: ignore[index]
        ppo.policy.network.actor[0].weight.mul_(size)  # type: ignore[operator]
    with pytest.raises(DivergedError, match=r"no longer gives usable .*ppo\.learning_rate"):
        ppo.learn(300)


def test_an_update_without_a_free_decision_changes_nothing() -> None:
    ppo = learner()
    ppo.learn(100)
    before, updates = weights(ppo), ppo._n_updates
    ppo.rollout_buffer.free[:] = False
    ppo.train()
    after = weights(ppo)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert ppo._n_updates == updates
    assert ppo.logger.name_to_value.keys() == {"train/learning_rate"}


@pytest.mark.slow
def test_learns_a_two_card_game() -> None:
    """Three players, two cards: above random by two points a deal, over 1,000 duplicate deals."""
    rules = Rules.preset("oh_hell", 3)
    config = Config.load(
        None,
        {
            "decisions": 150_000,
            "tables": 64,
            "laps": 12,
            "network.hidden": [64, 64],
        },
    )
    torch.set_num_threads(1)
    ppo = SelfPlayPPO(config, LapTables(rules, config.tables, 1, hand_size=2))
    ppo.learn(config.decisions)
    player = LearnedAgent(Checkpoint(ppo.policy.network, rules), seed=0)
    found = measure(player, make("random", 5), rules, 1000, seed=5, hand_size=2)
    assert found.low > 2.0, found
