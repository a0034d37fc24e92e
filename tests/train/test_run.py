"""Run directories: what they hold, and that an interruption loses no more than an interval."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import ohhell_agents
from ohhell_env.errors import CheckpointError, RulesError
from ohhell_train.methods import train_run
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.folder import STATE, PpoRun
from ohhell_train.runs.metrics import METRICS
from ohhell_train.runs.trainer import BOARD
from tests.helpers import unix_only
from tests.train.runs import begin_ppo

SETTINGS: dict[str, Any] = {
    "decisions": 2000,
    "tables": 8,
    "rollout_laps": 4,
    "save_every": 500,
    "hand_size": 3,
    "network": {"hidden": [16]},
    "ppo": {"n_epochs": 1, "batch_size": 64},
    "report": {"every": 700, "deals": 10, "fields": ["random"]},
}


def rows(run: PpoRun) -> list[dict[str, str]]:
    with (run.path / METRICS).open(newline="") as file:
        return list(csv.DictReader(file))


def without_time(run: PpoRun) -> list[dict[str, str]]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows(run)]


def on_board(run: PpoRun) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows, by name: what an interruption lost is hidden."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TensorBoard's own imports
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(str(run.path / BOARD))
    events.Reload()
    return {
        name: [(event.step, event.value) for event in events.Scalars(name)]
        for name in events.Tags()["scalars"]
        if name != "training/seconds"
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> PpoRun:
    run = begin_ppo(tmp_path_factory.mktemp("runs") / "whole", PpoConfig.of(SETTINGS))
    train_run(run, quiet=True)
    return run


def test_a_run_explains_itself(finished: PpoRun) -> None:
    names = {file.name for file in finished.path.iterdir()}
    assert names == {
        "config.yaml",
        "versions.json",
        "metrics.csv",
        "state.safetensors",
        "checkpoints",
        "best",
        "last",
        "tensorboard",
    }
    assert finished.config() == PpoConfig.of(SETTINGS).resolved()
    counters = finished.counters()
    assert counters.finished and counters.decisions == 2048
    saved = sorted(int(folder.name) for folder in (finished.path / "checkpoints").iterdir())
    assert saved == [512, 1024, 1536, 2048]


def test_metrics_have_a_row_for_each_rollout(finished: PpoRun) -> None:
    table = rows(finished)
    assert [int(row["decisions"]) for row in table] == list(range(128, 2049, 128))
    measured = [int(row["decisions"]) for row in table if row["over_random"]]
    assert measured == [768, 1536, 2048]
    for row in table:
        assert 0 < int(row["decisions_in_loss"]) <= 128
        assert float(row["entropy"]) <= 0  # MaskablePPO logs the entropy's loss
    rates = [float(row["learning_rate"]) for row in table]
    assert rates == sorted(rates, reverse=True) and rates[-1] < 0.1 * rates[0]


def test_players_of_a_run_can_be_loaded(finished: PpoRun) -> None:
    last = ohhell_agents.load(finished.path / "last", seed=0)
    last.begin("oh_hell", 0)
    state = load_file(finished.path / STATE)
    network = last.checkpoint.network.state_dict()  # type: ignore[attr-defined]
    assert all(torch.equal(value, state[f"network.{name}"]) for name, value in network.items())


class Killed(BaseException):
    """As sudden as a kill: nothing catches it."""


def interrupted(path: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> PpoRun:
    """A run that is struck down in the middle of an update, after so many rollouts."""
    from ohhell_train.ppo.learner import SelfPlayPPO

    run = begin_ppo(path, PpoConfig.of(SETTINGS))
    update, done = SelfPlayPPO.train, [0]

    def struck(self: SelfPlayPPO) -> None:
        done[0] += 1
        if done[0] > after:
            raise Killed
        update(self)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SelfPlayPPO, "train", struck)
        train_run(run, quiet=True)
    return run


@pytest.mark.parametrize("after", [2, 4, 6])
def test_resumed_equals_uninterrupted(
    finished: PpoRun, tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = interrupted(tmp_path / "broken", after, monkeypatch)
    assert run.counters().decisions == 512 * (after // 4)
    train_run(run, quiet=True)
    counters = run.counters()
    assert counters.decisions == 2048 and counters.finished
    whole, resumed = load_file(finished.path / STATE), load_file(run.path / STATE)
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert without_time(run) == without_time(finished)


def test_what_an_interruption_lost_is_not_on_the_board(
    finished: PpoRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = interrupted(tmp_path / "broken", 6, monkeypatch)
    assert run.counters().decisions == 512
    time.sleep(1.1)  # TensorBoard tells files apart by the second in which they were begun
    train_run(run, quiet=True)
    assert on_board(run) == on_board(finished) != {}


def test_the_board_shows_what_the_metrics_hold(finished: PpoRun) -> None:
    shown = on_board(finished)
    for name, group in (("entropy", "training"), ("over_random", "progress")):
        cells = [(int(row["decisions"]), row[name]) for row in rows(finished) if row[name]]
        expected = [(decisions, pytest.approx(float(cell), rel=1e-5)) for decisions, cell in cells]
        assert shown[f"{group}/{name}"] == expected and len(cells) >= 3


def test_a_finished_run_is_left_as_it_is(finished: PpoRun) -> None:
    before = (finished.path / STATE).read_bytes()
    train_run(finished, quiet=True)
    assert finished.counters().decisions == 2048
    assert (finished.path / STATE).read_bytes() == before


def test_a_broken_state_is_refused(finished: PpoRun, tmp_path: Path) -> None:
    copy = PpoRun(Path(shutil.copytree(finished.path, tmp_path / "copy")))
    (copy.path / STATE).write_bytes((copy.path / STATE).read_bytes()[:1000])
    with pytest.raises(CheckpointError, match=r"is damaged .*start the run again"):
        train_run(copy, quiet=True)


def test_a_taken_folder_is_not_overwritten(tmp_path: Path) -> None:
    config = PpoConfig.of(SETTINGS)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RulesError, match=r"already exists.*resume"):
        begin_ppo(tmp_path / "x", config)
    begin_ppo(tmp_path / "x", config, force=True)
    assert (tmp_path / "x.old-1" / "notes.txt").read_text(encoding="utf-8") == "mine"
    begin_ppo(tmp_path / "x", config, force=True)
    assert (tmp_path / "x.old-2" / "config.yaml").is_file()


def test_rules_that_cannot_be_played_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RulesError, match="unknown variant"):
        begin_ppo(tmp_path / "x", PpoConfig.of(SETTINGS | {"rules": "bridge"}))
    assert not (tmp_path / "x").exists()


def test_progress_and_time_left_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = begin_ppo(tmp_path / "x", PpoConfig.of(SETTINGS | {"decisions": 700}))
    train_run(run)
    printed = capsys.readouterr().out
    assert re.search(r"after 768 decisions, points a deal over random [+-]\d\.\d\d ±", printed)
    assert "768 of 768 decisions" in printed and "0:00:00 left" in printed


def test_max_minutes_ends_a_run_early(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = SETTINGS | {"decisions": 10**9, "max_minutes": 0.01}
    run = begin_ppo(tmp_path / "x", PpoConfig.of(settings))
    train_run(run)
    counters = run.counters()
    assert f"stopped by max_minutes=0.01 at {counters.decisions:,} of" in capsys.readouterr().out
    assert [int(row["decisions"]) for row in rows(run)][-1] == counters.decisions
    assert counters.finished and 0 < counters.decisions < 10**6
    assert counters.differences.keys() == {"random"}
    rates = [float(row["learning_rate"]) for row in rows(run)]
    assert rates == sorted(rates, reverse=True) and rates[-1] < 0.5 * rates[0]
    assert (run.path / "best").is_dir() and (run.path / "last").is_dir()


@unix_only
@pytest.mark.slow
def test_kill_at_any_moment(tmp_path: Path) -> None:
    """Killed again and again, then resumed: it comes to its end with monotone metrics."""
    settings = SETTINGS | {"decisions": 20_000}
    run = begin_ppo(tmp_path / "x", PpoConfig.of(settings))
    for seconds in (5.0, 6.0, 7.5):
        child = subprocess.Popen([sys.executable, "-m", "ohhell_env", "resume", str(run.path)])
        time.sleep(seconds)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    train_run(run, quiet=True)
    assert run.counters().decisions >= 20_000
    decisions = [int(row["decisions"]) for row in rows(run)]
    assert decisions == list(range(128, decisions[-1] + 1, 128))
