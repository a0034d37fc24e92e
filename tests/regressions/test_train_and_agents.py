"""What once broke training, tournaments and players, each as the smallest case that shows it.

A case marked ``xfail(strict=True)`` is still broken; whoever repairs it takes the mark away.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ohhell_agents
from ohhell_env import BatchedOhHell, Rules
from ohhell_env.errors import CheckpointError, IllegalActionError, RulesError
from ohhell_train.methods import train_run
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.runs.metrics import METRICS, add_metrics, cut_metrics
from ohhell_train.tournament import run_tournament
from tests.train.runs import begin_ppo

STILL: dict[str, Any] = {"strict": True}
TINY = {
    "tables": 2,
    "rollout_laps": 2,
    "decisions": 64,
    "network.hidden": [8],
    "report.deals": 2,
    "report.fields": ["random"],
}


def _deal(tables: int = 4) -> tuple[BatchedOhHell, ohhell_agents.Agent]:
    games = BatchedOhHell(tables, "oh_hell", seed=1)
    games.reset()
    player = ohhell_agents.make("heuristic", seed=1)
    player.begin("oh_hell")
    return games, player


def test_a_view_with_52_own_cards_is_refused_and_writes_nowhere() -> None:
    code = """
import gc
import numpy as np, ohhell_agents
from ohhell_env import BatchedOhHell, Rules
from ohhell_env.errors import IllegalActionError
from ohhell_env.observation import sections
games = BatchedOhHell(64, "oh_hell", seed=1)
games.reset()
player = ohhell_agents.make("heuristic"); player.begin("oh_hell")
start = {name: first for name, first, _ in sections(Rules.preset("oh_hell"))}["hand"]
views = games.observations.copy(); views[:, start : start + 52] = 1
for _ in range(40):
    try: player.act_batch(views, games.action_masks)
    except IllegalActionError: pass
    else: raise SystemExit(1)
gc.collect(); [np.zeros(size, np.int8) for size in range(1, 5000)]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-400:]


def test_too_few_words_are_refused() -> None:
    games, _ = _deal()
    with pytest.raises(IllegalActionError, match="random_bits"):
        ohhell_agents.make("random", seed=1).act_batch(
            games.observations, games.action_masks, random_bits=np.zeros(1, np.uint64)
        )


def test_the_heuristic_reads_or_refuses_a_view_of_floats() -> None:
    games, player = _deal()
    view = {"observation": games.observations[0] * 1.0, "action_mask": games.action_masks[0]}
    try:
        action = player.act(view)
    except IllegalActionError:
        return
    assert games.action_masks[0, action]


class _Forger:
    """Asked alone it makes every action legal in the mask that it was given, and plays one."""

    def act_batch(self, views: Any, masks: Any) -> Any:
        if len(views) > 1:
            raise ValueError("one at a time")
        masks.fill(1)
        return np.array([51])


def test_a_player_that_writes_into_its_mask_has_made_a_fault() -> None:
    results = run_tournament(
        [("forger", _Forger()), "random"], rules="oh_hell", deals=3, seed=1, hand_size=5
    )
    assert all(outcome["bids"].min() >= 0 for outcome in results.outcomes.values())
    assert results.entrants[0].faults > 0


def test_a_rollout_of_few_decisions_leaves_the_weights_finite(tmp_path: Path) -> None:
    config = PpoConfig.load(None, TINY | {"ppo.batch_size": 2, "decisions": 400})
    run = begin_ppo(tmp_path / "run", config)
    train_run(run, quiet=True)
    assert run.finished()


@pytest.mark.parametrize("width", [0, -5, 4097])
def test_a_width_that_no_checkpoint_can_have_is_refused(width: int) -> None:
    with pytest.raises(RulesError, match=r"network\.hidden"):
        PpoConfig.load(None, TINY | {"network.hidden": [width]})


def test_settings_that_cannot_run_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RulesError):
        begin_ppo(tmp_path / "run", PpoConfig.load(None, TINY | {"hand_size": 99}))
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_from_empty_metrics(tmp_path: Path) -> None:
    run = begin_ppo(tmp_path / "run", PpoConfig.load(None, TINY))
    (run.path / "metrics.csv").touch()
    cut_metrics(run.path / METRICS, 0)
    add_metrics(run.path / METRICS, {"decisions": 1})
    assert (run.path / "metrics.csv").read_text(encoding="utf-8").split() == ["decisions", "1"]


@pytest.mark.parametrize(
    "text",
    ['{"format": 1, "type": []}', "[" * 100_000],
    ids=["type-is-a-list", "deep"],
)
def test_a_saved_player_of_nonsense_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "player.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError):
        ohhell_agents.load(file)


@pytest.mark.parametrize("broken", [{"buffer": [1]}, {"buffer_pos": -99}, {"buffer_pos": 99}])
def test_a_saved_state_of_chance_is_checked(tmp_path: Path, broken: dict[str, Any]) -> None:
    file = tmp_path / "player.json"
    ohhell_agents.make("random", seed=1).save(file)
    state = json.loads(file.read_text(encoding="utf-8"))
    state["random"] |= broken
    file.write_text(json.dumps(state), encoding="utf-8")
    with pytest.raises(CheckpointError):
        ohhell_agents.load(file)


@pytest.mark.parametrize("size", ["3", 2.5, True])
def test_a_hand_size_that_is_no_whole_number_is_refused(size: Any) -> None:
    with pytest.raises(RulesError, match="hand_size"):
        run_tournament(
            ["random", "heuristic"], rules=Rules.preset("oh_hell"), deals=2, seed=1, hand_size=size
        )
