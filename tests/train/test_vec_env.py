"""Stock MaskablePPO on many tables: what the adapter gives it, and that it runs as documented."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

import ohhell_agents
from ohhell_env.adapters.sb3 import TableVecEnv
from ohhell_env.envs.learner_tables import LearnerTables
from ohhell_env.errors import IllegalActionError, OhHellError
from ohhell_train.runs.trainer import keeping_global_rng


@pytest.fixture(autouse=True)
def _alone() -> Any:
    torch.set_num_threads(1)
    with keeping_global_rng():
        yield


def chance(env: VecEnv, rng: np.random.Generator) -> np.ndarray:
    masks = get_action_masks(env)
    return (masks * rng.random(masks.shape)).argmax(axis=1)


def tables(number: int = 8, **settings: Any) -> TableVecEnv:
    return TableVecEnv(number, seed=3, **({"hand_size": 3, "opponents": "random"} | settings))


@pytest.mark.parametrize("wrap", [lambda env: env, VecMonitor, VecNormalize])
def test_masks_are_found_through_any_wrapper(wrap: Any) -> None:
    env = wrap(tables())
    env.reset()
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert masks.shape == (8, env.action_space.n) and masks.dtype == np.bool_
    assert masks.any(axis=1).all()
    assert (np.stack(env.env_method("action_masks", indices=[2, 5])) == masks[[2, 5]]).all()


def test_steps_are_those_of_the_tables() -> None:
    """Views, pay and ends are the learner's own, and what was handed out stays as it was."""
    env, plain = tables(), LearnerTables(8, opponents="random", seed=3, hand_size=3)
    plain.reset()
    before: Any = env.reset()
    rng, ended = np.random.default_rng(0), 0
    for _ in range(30):
        assert (before == plain.observations).all()
        actions = chance(env, rng)
        views, rewards, dones, infos = env.step(actions)
        kept = before.copy()
        plain.step(actions)
        assert (rewards == plain.rewards).all() and (dones == plain.dones).all()
        assert (before == kept).all() and rewards.dtype == np.float32
        for table in range(8):
            assert ("terminal_observation" in infos[table]) == dones[table]
        for table in np.flatnonzero(dones):
            info = infos[table]
            assert (info["terminal_observation"] == plain.final_observations[table]).all()
            assert info["TimeLimit.truncated"] is False
            assert info["score"] == rewards[table], "a deal's points, where a deal is an episode"
            ended += 1
        before = views
    assert ended > 40


def test_the_learner_sits_in_every_seat_as_often() -> None:
    env = tables(100, hand_size=1)
    env.reset()
    rng, seats = np.random.default_rng(0), np.zeros(4)
    for _ in range(60):
        for info in env.step(chance(env, rng))[3]:
            seats[info.get("seat", 0)] += "seat" in info
    assert seats.sum() > 2500 and abs(seats / seats.sum() - 0.25).max() < 0.03


def test_a_seed_begins_again_and_no_seed_goes_on() -> None:
    env = tables()
    first: Any = env.reset()
    assert (env.reset() != first).any()
    env.seed(11)
    again: Any = env.reset()
    env.seed(11)
    assert (env.reset() == again).all() and (again != first).any()


def test_an_illegal_action_is_told() -> None:
    env = tables()
    env.reset()
    with pytest.raises(IllegalActionError, match="nothing was applied"):
        env.step(np.zeros(8, np.int64))


def test_what_the_tables_cannot_do_is_said() -> None:
    env = tables()
    with pytest.raises(OhHellError, match="make a new TableVecEnv"):
        env.set_attr("seat", 2)
    with pytest.raises(OhHellError, match="only action_masks"):
        env.env_method("render")
    with pytest.raises(AttributeError):
        env.get_attr("colour")
    assert not env.has_attr("colour") and env.env_is_wrapped(VecMonitor) == [False] * 8


def test_stock_maskable_ppo_learns_by_the_documented_call() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = VecMonitor(tables(16, hand_size=2, opponents="heuristic"))
        model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=64, n_epochs=2, seed=1)
        model.learn(500, MaskableEvalCallback(VecMonitor(tables(4)), eval_freq=12, verbose=0))
    assert model.num_timesteps == 512
    assert len(model.ep_info_buffer or ()) > 50, "episodes are counted"
    assert np.isfinite(mean_points(model, tables(4)))


def test_the_same_seed_gives_the_same_model() -> None:
    found = []
    for _ in range(2):
        model = MaskablePPO("MlpPolicy", tables(), n_steps=8, batch_size=32, n_epochs=1, seed=4)
        model.learn(128)
        found.append(model.policy.state_dict()["mlp_extractor.policy_net.0.weight"])
    assert torch.equal(*found)


def test_a_player_that_was_loaded_is_an_opponent() -> None:
    """It gets its own view and mask, and is asked in batches."""
    heuristic, sizes = ohhell_agents.make("heuristic", 0), list[int]()
    ask = heuristic.act_batch

    def listening(observations: Any, masks: Any, *rest: Any, **more: Any) -> Any:
        sizes.append(len(observations))
        assert (masks.sum(axis=1) > 1).all()
        return ask(observations, masks, *rest, **more)

    heuristic.act_batch = listening  # type: ignore[method-assign]
    env = tables(16, opponents=heuristic)
    env.reset()
    rng = np.random.default_rng(0)
    for _ in range(10):
        env.step(chance(env, rng))
    assert max(sizes) > 8


def mean_points(model: MaskablePPO, env: TableVecEnv) -> float:
    points, _ = evaluate_policy(model, env, 30 * env.num_envs, warn=False)
    assert isinstance(points, float)
    return points


@pytest.mark.slow
def test_it_learns_one_card_deals() -> None:
    """Three players, one card: a point a deal above random play, against random players."""
    env = tables(64, players=3, hand_size=1)
    env.reset()
    rng, paid = np.random.default_rng(0), list[float]()
    for _ in range(100):
        _, rewards, dones, _ = env.step(chance(env, rng))
        paid += rewards[dones].tolist()
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=32, batch_size=512, n_epochs=4, learning_rate=2e-3, seed=1
    )
    model.learn(100_000)
    learned = mean_points(model, tables(64, players=3, hand_size=1))
    assert learned > np.mean(paid) + 1, (learned, np.mean(paid))
