"""Runs that meet bad settings, damaged files, a second process or a kill: told, or mended."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import ohhell_agents
from ohhell_env.cli import commands as cli
from ohhell_env.errors import CheckpointError, RulesError
from ohhell_train.methods import train_run
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.folder import STATE, PpoRun
from ohhell_train.ppo.learner import SelfPlayPPO
from ohhell_train.runs import lock as locks
from ohhell_train.runs.base import CONFIG, LOCK
from ohhell_train.runs.lock import InUseError
from ohhell_train.runs.metrics import METRICS, MetricsError
from ohhell_train.runs.trainer import DivergedError
from tests.helpers import unix_only
from tests.train.runs import begin_ppo
from tests.train.test_run import SETTINGS, Killed, rows, without_time

SHORT = SETTINGS | {"decisions": 1000, "report": SETTINGS["report"] | {"every": 300}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> PpoRun:
    """A short run, finished without an interruption."""
    run = begin_ppo(tmp_path_factory.mktemp("runs") / "whole", PpoConfig.of(SHORT))
    train_run(run, quiet=True)
    return run


@pytest.fixture(scope="module")
def _half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run, struck down after its first saved state."""
    run = begin_ppo(tmp_path_factory.mktemp("runs") / "half", PpoConfig.of(SHORT))
    save = PpoRun.save_state

    def struck(self: PpoRun, *args: Any) -> None:
        save(self, *args)
        raise Killed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(PpoRun, "save_state", struck)
        train_run(run, quiet=True)
    return run.path


@pytest.fixture
def half(_half: Path, tmp_path: Path) -> PpoRun:
    return PpoRun(Path(shutil.copytree(_half, tmp_path / "half")))


def same(one: PpoRun, other: PpoRun) -> bool:
    first, second = load_file(one.path / STATE), load_file(other.path / STATE)
    equal = all(torch.equal(first[name], second[name]) for name in first)
    return first.keys() == second.keys() and equal and without_time(one) == without_time(other)


# --- Two processes ------------------------------------------------------------------------------

HOLDER = """
import sys, time
from pathlib import Path
from ohhell_train.ppo.folder import PpoRun
with PpoRun(Path(sys.argv[1])).lock():
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(half: PpoRun) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of ``half``."""
    command = [sys.executable, "-c", HOLDER, str(half.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == "held\n"
            yield child
        finally:
            child.kill()


@unix_only
def test_a_second_process_is_told_who_trains_there(
    half: PpoRun,
    whole: PpoRun,
    holder: subprocess.Popen[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = {file: file.stat().st_mtime_ns for file in half.path.rglob("*")}
    assert cli.main(["resume", str(half.path)]) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1 and f"process {holder.pid} is training here" in error[0]
    with pytest.raises(InUseError, match=f"process {holder.pid} .*another --out"):
        train_run(half, quiet=True)
    with pytest.raises(InUseError):
        begin_ppo(half.path, PpoConfig.of(SHORT), force=True)
    assert before == {file: file.stat().st_mtime_ns for file in half.path.rglob("*")}

    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (half.path / LOCK).exists(), "a killed process leaves the file, but no lock"
    train_run(half, quiet=True)
    assert half.counters().finished
    assert same(half, whole)
    assert not (half.path / LOCK).exists()


def test_the_lock_ends_with_the_training_however_it_ends(half: PpoRun) -> None:
    with pytest.raises(Killed), half.lock():
        with pytest.raises(InUseError, match=f"process {os.getpid()} "), half.lock():
            pass
        raise Killed
    with half.lock():
        assert int((half.path / LOCK).read_text(encoding="utf-8")) == os.getpid()
    assert not (half.path / LOCK).exists()


def test_a_lock_that_was_removed_is_worth_nothing(
    half: PpoRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its holder ends between the opening of the file and the lock on it: a new file is locked."""
    stands_at, asked = locks._stands_at, [0]

    def removed_once(file: Any, place: Path) -> bool:
        asked[0] += 1
        if asked[0] == 1:
            place.unlink()
        return stands_at(file, place)

    monkeypatch.setattr(locks, "_stands_at", removed_once)
    with half.lock():
        assert asked[0] == 2 and (half.path / LOCK).exists()
        with pytest.raises(InUseError), half.lock():
            pass


@pytest.mark.parametrize("missing", ["module", "file system"])
def test_where_there_are_no_locks_training_goes_on_without(
    half: PpoRun, whole: PpoRun, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: Any) -> None:
        raise OSError(95, "not supported")

    if missing == "module":
        monkeypatch.setattr(locks, "fcntl", None)
    else:
        monkeypatch.setattr(locks.fcntl, "flock", no_locks)
    train_run(half, quiet=True)
    assert half.counters().finished
    assert same(half, whole)


def test_a_folder_that_is_moved_aside_takes_no_lock_with_it(half: PpoRun) -> None:
    aside = half.set_aside()
    assert (aside / STATE).exists() and not (aside / LOCK).exists() and not half.path.exists()


def test_what_a_kill_left_of_a_beginning_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in (LOCK, "versions.json", "config.yaml.part"):
        (tmp_path / "run" / name).write_text("1\n", encoding="utf-8")
    run = begin_ppo(tmp_path / "run", PpoConfig.of(SHORT))
    assert run.config() == PpoConfig.of(SHORT).resolved()


# --- A kill while a player is replaced ----------------------------------------------------------


def leave(run: PpoRun, name: str, *left: str) -> bytes:
    """Takes a player away and leaves copies of it beside its place; returns its weights."""
    place = run.path / name
    weights = (place / "weights.safetensors").read_bytes()
    for kind in left:
        shutil.copytree(place, place.with_name(f".{place.name}.{kind.removesuffix('!')}-77"))
        if kind.endswith("!"):  # incomplete
            (place.with_name(f".{place.name}.{kind[:-1]}-77") / "agent.json").unlink()
    shutil.rmtree(place)
    return weights


def left_over(run: PpoRun) -> list[str]:
    return [file.name for file in run.path.rglob(".*")]


@pytest.mark.parametrize("name", ["best", "last", "checkpoints/512"])
@pytest.mark.parametrize("left", [["old", "new"], ["new"], ["old", "new!"], ["old!", "new"]])
def test_a_player_between_two_folders_is_put_back(half: PpoRun, name: str, left: list[str]) -> None:
    weights = leave(half, name, *left)
    opened = PpoRun.open(half.path)
    assert (opened.path / name / "weights.safetensors").read_bytes() == weights
    assert ohhell_agents.load(opened.path / name) is not None
    assert left_over(opened) == []


def test_of_two_players_the_old_one_is_put_back(half: PpoRun) -> None:
    leave(half, "last", "old", "new")
    (half.path / ".last.old-77" / "mark").touch()
    assert (PpoRun.open(half.path).path / "last" / "mark").exists()


def test_what_is_left_beside_a_whole_player_is_removed(half: PpoRun) -> None:
    best = half.path / "best"
    shutil.copytree(best, half.path / ".best.old-77")
    (half.path / ".best.new-78").mkdir()
    (half.path / ".mine").mkdir()
    (best / "mark").touch()
    PpoRun.open(half.path)
    assert left_over(half) == [".mine"] and (best / "mark").exists()


def test_training_mends_too_and_nothing_is_mended_under_a_running_training(
    half: PpoRun, whole: PpoRun
) -> None:
    leave(half, "best", "old")
    with half.lock():
        PpoRun.open(half.path)
        assert not (half.path / "best").exists(), "another process may be about to put it there"
    train_run(half, quiet=True)
    assert same(half, whole) and left_over(half) == []
    assert (half.path / "best").is_dir()


# --- Damaged files ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "deci", "decisions,seconds"])
def test_metrics_without_a_whole_line_are_begun_anew(half: PpoRun, text: str) -> None:
    (half.path / METRICS).write_text(text, encoding="utf-8")
    train_run(half, quiet=True)
    assert [int(row["decisions"]) for row in rows(half)] == [640, 768, 896, 1024]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "garbage",
        lambda text: "garbage\n" + text,
        lambda text: text.replace("\n128,", "\nmany,"),
        lambda text: text.replace("\n128,", "\n" + "9" * 5000 + ","),
        lambda text: text.replace("\n128,", "\n128\n"),
        lambda text: text.replace("\n128,", "\n\n128,"),
        lambda text: text.replace("\n128,", "\n\0\0,"),
        lambda text: b"\xff" + text.encode(),
    ],
)
def test_damaged_metrics_are_named_with_the_remedy(
    half: PpoRun, damage: Callable[[str], str | bytes]
) -> None:
    file = half.path / METRICS
    damaged = damage(file.read_text(encoding="utf-8"))
    file.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
    before = file.read_bytes()
    with pytest.raises(MetricsError, match=r"metrics\.csv: .*damaged; move it .* resume"):
        train_run(half, quiet=True)
    assert file.read_bytes() == before
    file.unlink()  # the remedy
    train_run(half, quiet=True)
    assert half.counters().finished


def notes_of(file: Path) -> dict[str, str]:
    with safe_open(file, framework="pt") as opened:
        return opened.metadata()


def _change_notes(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        about, tensors = notes_of(file), load_file(file)
        notes = json.loads(about["notes"])
        change(notes)
        save_file(tensors, file, about | {"notes": json.dumps(notes)})

    return damage


def _change_tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        about, tensors = notes_of(file), load_file(file)
        change(tensors)
        save_file(tensors, file, about)

    return damage


def _no_notes(file: Path) -> None:
    save_file(load_file(file), file)


def _deep_notes(file: Path) -> None:
    save_file(load_file(file), file, notes_of(file) | {"notes": "[" * 100_000})


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "no-notes": _no_notes,
    "deep-notes": _deep_notes,
    "empty": lambda file: file.write_bytes(b""),
    "no-counters": _change_notes(lambda notes: notes.pop("counters")),
    "a-counter-less": _change_notes(lambda notes: notes["counters"].pop("best")),
    "a-counter-more": _change_notes(lambda notes: notes["counters"].update(more=1)),
    "text-for-a-number": _change_notes(lambda notes: notes["counters"].update(decisions="x")),
    "no-updates": _change_notes(lambda notes: notes.pop("updates")),
    "random-is-a-list": _change_notes(lambda notes: notes.update(random=[1])),
    "buffer-of-chance": _change_notes(lambda notes: notes["random"].update(buffer_pos=-99)),
    "no-games": _change_tensors(lambda tensors: tensors.pop("tables.0.games")),
    "one-game": _change_tensors(
        lambda tensors: tensors.update({"tables.0.games": tensors["tables.0.games"][:1].clone()})
    ),
    "games-of-noise": _change_tensors(lambda tensors: tensors["tables.0.games"].fill_(77)),
    "nobody-sits-there": _change_tensors(lambda tensors: tensors["tables.0.sitting"].fill_(99)),
    "sitting-is-text": _change_tensors(
        lambda tensors: tensors.update({"tables.0.sitting": torch.zeros(3)})
    ),
    "no-optimizer": _change_tensors(lambda tensors: tensors.pop("optimizer.0.exp_avg")),
    "strange-tensor": _change_tensors(lambda t: t.update({"optimizer.x.y": torch.zeros(1)})),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_state_is_named_with_the_remedy(
    half: PpoRun, damage: Callable[[Path], Any]
) -> None:
    damage(half.path / STATE)
    with pytest.raises(CheckpointError, match=rf"{STATE}: .*; start the run again"):
        train_run(half, quiet=True)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("hand_size: 3", "hand_size: 4", "hand_size changed"),
        ("tables: 8", "tables: 9", "tables changed"),
        ("share: 0.1", "share: 0.2", "opponents changed"),
        ("hidden: [16]", "hidden: [17]", "network changed"),
    ],
)
def test_a_state_is_not_used_with_other_settings(
    half: PpoRun, old: str, new: str, expected: str
) -> None:
    file = half.path / CONFIG
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(CheckpointError, match=rf"config\.yaml: {expected} .*restore the old"):
        train_run(half, quiet=True)


# --- Settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"hand_size": 99},
        {"hand_size": 14},
        {"players": 9},
        {"tables": 100_000, "rollout_laps": 1000},
        {"rules": {"schedule": {"high": 20, "overflow": "error"}}},
        {"layout": "universal", "hand_size": 26},
        {"report": {"fields": ["nobody"]}},
        {"report": {"fields": ["tests.train.players:CannotBegin"]}},
    ],
)
def test_settings_that_cannot_run_leave_all_as_it_was(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(RulesError):
        begin_ppo(tmp_path / "new", PpoConfig.of(SHORT | changes))
    run = begin_ppo(tmp_path / "run", PpoConfig.of(SHORT))
    with pytest.raises(RulesError):
        begin_ppo(run.path, PpoConfig.of(SHORT | changes), force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_quick_does_not_move_an_old_run_for_settings_that_cannot_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin_ppo(tmp_path / "run", PpoConfig.of(SHORT))
    args = ["quick", "--out", str(tmp_path / "run"), "--fresh", "--set", "hand_size=14"]
    assert cli.main(args) == 2
    assert "14" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_rollouts_beyond_all_memory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RulesError, match=r"tables=100000, rollout_laps=100000: .* GiB.*4 GiB are allowed"
    ):
        begin_ppo(
            tmp_path / "run", PpoConfig.of(SHORT | {"tables": 100_000, "rollout_laps": 100_000})
        )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tables", 999_999_999_999),
        ("rollout_laps", 10**4000),
        ("decisions", 10**400),
        ("save_every", 2**63),
        ("max_minutes", 1e300),
        ("players", 10**30),
        ("ppo.learning_rate", 1e300),
        ("ppo.learning_rate", 1e5),
        ("ppo.final_learning_rate", 1e300),
        ("ppo.ent_coef", 1e300),
        ("ppo.n_epochs", 10**12),
        ("ppo.batch_size", 10**12),
        ("ppo.vf_coef", 1e300),
        ("ppo.max_grad_norm", 1e300),
        ("report.every", 10**20),
        ("report.deals", 10**9),
        ("report.seed", 2**64),
    ],
)
def test_numbers_have_bounds(name: str, value: float) -> None:
    expected = rf"{name}: (input should be less than .*|2 to 8 are allowed), got "
    with pytest.raises(RulesError, match=expected) as caught:
        PpoConfig.load(None, {name: value})
    assert len(str(caught.value)) < 200


def test_a_number_that_python_does_not_write_out_is_refused() -> None:
    with pytest.raises(RulesError, match=r"laps: .*thousands of digits"):
        PpoConfig.load(None, {"rollout_laps": 10**5000})


def test_every_number_of_the_settings_has_an_upper_bound() -> None:
    schema = PpoConfig.model_json_schema()
    models = [schema, *schema["$defs"].values()]
    fields = [field for model in models for field in model["properties"].items()]
    kinds = [(name, kind) for name, field in fields for kind in field.get("anyOf", [field])]
    numbers = [(name, kind) for name, kind in kinds if kind.get("type") in ("integer", "number")]
    assert len(numbers) > 20
    for name, kind in numbers:
        assert {"maximum", "exclusiveMaximum"} & kind.keys(), name
        assert {"minimum", "exclusiveMinimum"} & kind.keys(), name


def test_the_largest_seeds_work(tmp_path: Path) -> None:
    seeds = {"seed": 2**32 - 1, "report": SETTINGS["report"] | {"seed": 2**64 - 1}}
    run = begin_ppo(tmp_path / "run", PpoConfig.of(SHORT | seeds))
    train_run(run, quiet=True)
    assert run.finished()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("rules: " + "[" * 100_000, "nested too deep"), ("tables: 4\ntables: 8\n", "duplicate key")],
)
def test_settings_are_read_as_strictly_as_rules(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(RulesError, match=f"cannot read settings from .*{expected}"):
        PpoConfig.load(tmp_path / "c.yaml")


# --- Numbers that go out of hand ----------------------------------------------------------------

WILD: dict[str, Any] = SHORT | {
    "decisions": 100_000,
    "network": {"hidden": [64] * 8},
    "ppo": {"learning_rate": 1.0, "final_learning_rate": 1.0, "batch_size": 64},
}


def test_a_learning_rate_that_is_too_high_is_named(tmp_path: Path) -> None:
    run = begin_ppo(
        tmp_path / "run", PpoConfig.of(WILD | {"save_every": 1, "report": {"every": 10**9}})
    )
    with pytest.raises(DivergedError, match=r"learning rate is too high.*ppo\.learning_rate"):
        train_run(run, quiet=True)
    saved = load_file(run.path / STATE)
    assert all(bool(value.float().isfinite().all()) for value in saved.values())
    assert run.counters().decisions == int(rows(run)[-1]["decisions"]) > 0
    assert not (run.path / LOCK).exists()


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_end_the_training(
    half: PpoRun, bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (half.path / STATE).read_bytes()
    update = SelfPlayPPO._update_learning_rate

    def spoil(self: SelfPlayPPO, optimizer: Any) -> None:
        update(self, optimizer)
        with torch.no_grad():
            self.policy.network.critic[0].bias[0] = bad  # type: ignore[index]

    monkeypatch.setattr(SelfPlayPPO, "_update_learning_rate", spoil)
    with pytest.raises(DivergedError, match="weights are no longer finite"):
        train_run(half, quiet=True)
    assert (half.path / STATE).read_bytes() == before


# --- Nothing to learn from ----------------------------------------------------------------------


def test_rollouts_without_a_free_decision_change_nothing_and_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one card, one lap a rollout: what follows a bid is forced, so its worth is not known."""
    run = begin_ppo(tmp_path / "run", PpoConfig.of(SHORT | {"hand_size": 1, "rollout_laps": 1}))
    train_run(run)
    counters = run.counters()
    assert counters.finished and counters.decisions == 1024
    assert capsys.readouterr().out.count("held no decision to learn from") == 1
    table = rows(run)
    assert {row["decisions_in_loss"] for row in table} == {"0"}
    assert "nan" not in (run.path / METRICS).read_text(encoding="utf-8")
    assert all(row["policy_loss"] == "" and float(row["learning_rate"]) >= 0 for row in table)
    first = load_file(run.path / "checkpoints" / "512" / "weights.safetensors")
    last = load_file(run.path / "last" / "weights.safetensors")
    assert all(torch.equal(first[name], last[name]) for name in first)
    assert all(bool(value.isfinite().all()) for value in last.values())


# --- The process around it ----------------------------------------------------------------------


def test_training_leaves_the_global_chance_of_the_process_alone(
    half: PpoRun, whole: PpoRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def global_chance() -> list[float]:
        return [random.random(), float(np.random.random()), float(torch.rand(()))]

    def seed() -> None:
        random.seed(5)
        np.random.seed(5)
        torch.manual_seed(5)

    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        seed()
        expected = global_chance()
        seed()
        train_run(half, quiet=True)
        assert global_chance() == expected
        assert same(half, whole), "what the process drew before does not matter"

        def broken(self: SelfPlayPPO) -> None:
            raise Killed

        seed()
        monkeypatch.setattr(SelfPlayPPO, "train", broken)
        with pytest.raises(Killed):
            train_run(begin_ppo(half.path.parent / "other", PpoConfig.of(SHORT)), quiet=True)
        assert global_chance() == expected, "not after an error, either"
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
        torch.set_rng_state(kept[2])


@pytest.mark.slow
def test_kill_while_players_are_replaced(tmp_path: Path) -> None:
    """Killed again and again where nearly all time goes into replacing players."""
    settings = SHORT | {"decisions": 40_000, "save_every": 1}
    run = begin_ppo(tmp_path / "run", PpoConfig.of(settings))
    for number in range(6):
        child = subprocess.Popen([sys.executable, "-m", "ohhell_env", "resume", str(run.path)])
        time.sleep(5.0 + 0.37 * number)
        child.kill()
        child.wait()
        opened = PpoRun.open(run.path)
        assert left_over(opened) in ([], [LOCK])
        if (run.path / STATE).exists():
            ohhell_agents.load(run.path / "last")
    train_run(run, quiet=True)
    assert run.counters().finished
