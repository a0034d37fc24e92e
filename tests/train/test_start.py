"""Runs that begin as a checkpoint, and are pulled to it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ohhell_agents
from ohhell_agents.nn.checkpoint import Checkpoint, load_checkpoint, save_checkpoint, weights_digest
from ohhell_agents.nn.network import Network
from ohhell_env.errors import CheckpointError, RulesError
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from ohhell_train.methods import train_run
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.folder import PpoRun
from ohhell_train.ppo.learner import SelfPlayPPO
from ohhell_train.ppo.run import make_tables
from ohhell_train.runs.base import START
from ohhell_train.runs.trainer import keeping_global_rng
from tests.train.runs import begin_ppo
from tests.train.test_run import SETTINGS, Killed

RULES = Rules.preset("oh_hell")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint with a will of its own."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        network = Network(layout_of(RULES), (16,), rules=RULES)
        network.actor[-1].weight.data *= 300  # type: ignore[operator,union-attr]
    save_checkpoint(tmp_path / "strong", Checkpoint(network, RULES))
    return tmp_path / "strong"


def settings(folder: Path, **changes: Any) -> PpoConfig:
    plain = SETTINGS | {"start": str(folder), "hand_size": None, "decisions": 600} | changes
    return PpoConfig.of(plain)


def test_a_run_begins_as_the_checkpoint(folder: Path) -> None:
    config = settings(folder)
    start = load_checkpoint(folder).network
    with keeping_global_rng():
        ppo = SelfPlayPPO(config, make_tables(config), start)
    assert weights_digest(ppo.policy.network) == weights_digest(start)
    ppo.learn(600)
    assert weights_digest(ppo.policy.network) != weights_digest(start)
    assert weights_digest(start) == weights_digest(load_checkpoint(folder).network)


def divergence(ppo: SelfPlayPPO, start: Network) -> float:
    """How far the policy is from the start, over a lap of its tables (nats)."""
    lap = ppo.tables.play(ppo.decide)
    views, masks = torch.from_numpy(lap.observations), torch.from_numpy(lap.action_masks)
    with torch.no_grad():
        mine, theirs = ppo.policy.weigh(views, masks)[0], start.log_probs(views, masks, RULES)
        return float((mine.exp() * (mine - theirs)).sum(dim=-1).mean())


def test_a_pull_keeps_the_policy_near(folder: Path) -> None:
    apart: dict[float, float] = {}
    for pull in (0.0, 0.5, 50.0):
        ppo_settings = {"n_epochs": 4, "batch_size": 64, "learning_rate": 0.003, "kl_coef": pull}
        config = settings(folder, decisions=3000, tables=32, ppo=ppo_settings)
        with keeping_global_rng():
            ppo = SelfPlayPPO(config, make_tables(config), load_checkpoint(folder).network)
        assert divergence(ppo, load_checkpoint(folder).network) == pytest.approx(0, abs=1e-5)
        ppo.learn(3000)
        apart[pull] = divergence(ppo, load_checkpoint(folder).network)
    assert apart[0.0] > 1.5 * apart[0.5] > 1.5 * apart[50.0] > 0


def test_the_gradient_is_that_of_entropy_and_divergence(folder: Path) -> None:
    """What MaskablePPO adds to its aim is ``entropy * H - pull * KL``, and nothing else."""
    config = settings(folder, ppo={"ent_coef": 0.03, "kl_coef": 0.5, "batch_size": 64})
    start = load_checkpoint(folder).network
    with keeping_global_rng():
        ppo = SelfPlayPPO(config, make_tables(config), start)
    ppo.policy.network.actor[-1].weight.data *= 0.5  # type: ignore[operator,union-attr]
    lap = ppo.tables.play(ppo.decide)
    rows = np.flatnonzero(lap.free)
    views, masks = (torch.from_numpy(v[rows]) for v in (lap.observations, lap.action_masks))
    actions = torch.from_numpy(lap.actions[rows])
    added = ppo.policy.evaluate_actions(views, actions, masks)[2]
    mine, theirs = ppo.policy.weigh(views, masks)[0], start.log_probs(views, masks, RULES)
    legal = masks.bool()
    for row in range(len(rows)):
        p, q = mine[row][legal[row]], theirs[row][legal[row]]
        expected = -0.03 * (p.exp() * p).sum() - 0.5 * (p.exp() * (p - q)).sum()
        assert float(added[row].detach()) == pytest.approx(float(expected.detach()), abs=1e-5)
    assert ppo.ent_coef == 1.0


def test_a_run_keeps_what_it_began_as(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may go away once the run has begun; a resumed run is pulled to the same."""
    config = settings(folder, ppo={"kl_coef": 0.5, "n_epochs": 1, "batch_size": 64}, save_every=200)
    whole, broken = begin_ppo(tmp_path / "a", config), begin_ppo(tmp_path / "b", config)
    shutil.rmtree(folder)
    train_run(whole, quiet=True)
    update, done = SelfPlayPPO.train, [0]

    def struck(self: SelfPlayPPO) -> None:
        done[0] += 1
        if done[0] > 3:
            raise Killed
        update(self)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SelfPlayPPO, "train", struck)
        train_run(broken, quiet=True)
    assert 0 < broken.counters().decisions < 600
    train_run(broken, quiet=True)
    ends = [weights_digest(load_checkpoint(run.path / "last").network) for run in (whole, broken)]
    assert ends[0] == ends[1]
    ohhell_agents.load(whole.path / START)


def test_what_does_not_fit_is_told_before_anything_is_written(folder: Path, tmp_path: Path) -> None:
    for changes, message in (
        ({"network": {"hidden": [8]}}, r"hidden layers of \[16\].*set network.hidden"),
        ({"players": 3}, "does not fit the tables of this run"),
        ({"start": str(tmp_path / "nothing")}, "checkpoint is a folder"),
    ):
        with pytest.raises(CheckpointError, match=message):
            begin_ppo(tmp_path / "run", settings(folder, **changes))
        assert not (tmp_path / "run").exists()
    with pytest.raises(RulesError, match=r"ppo\.kl_coef needs start"):
        PpoConfig.load(None, {"ppo.kl_coef": 1})


def test_a_kill_before_the_settings_were_written_leaves_room(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "run" / START)
    run = begin_ppo(tmp_path / "run", settings(folder))
    assert PpoRun.open(run.path).start(run.config()) is not None
