"""Distillation: its dataset, its fit, its runs, and that nothing is lost or leaks."""

from __future__ import annotations

import csv
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import ohhell_agents
from ohhell_agents.nn.agent import LearnedAgent
from ohhell_agents.nn.checkpoint import load_checkpoint, weights_digest
from ohhell_agents.nn.features import read_hands
from ohhell_agents.nn.network import Network
from ohhell_env import BatchedOhHell
from ohhell_env.actions import BID_BASE
from ohhell_env.cli.commands import main
from ohhell_env.errors import CheckpointError, OhHellError
from ohhell_env.observation import layout_of
from ohhell_train.distill import games
from ohhell_train.distill.config import DistillConfig
from ohhell_train.distill.dataset import DistillDataset
from ohhell_train.distill.fit import StudentFit
from ohhell_train.distill.folder import GAMES, STATE, DistillRun
from ohhell_train.distill.games import make_players, play_part
from ohhell_train.distill.student import Student
from ohhell_train.evaluate import measure
from ohhell_train.methods import train_run
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.rollout import points_scale
from ohhell_train.tournament.entrants import Entrant
from tests.helpers import unix_only
from tests.train.runs import begin_distill, begin_ppo

ROOT = Path(__file__).parent.parent.parent
CONFIGS = ROOT / "configs" / "train"
TINY: dict[str, Any] = {
    "teacher": "heuristic",
    "rules": "escalating",
    "players": 4,
    "hand_size": 3,
    "decisions": 1000,
    "network": {"hidden": [16]},
    "fit": {"epochs": 3, "batch_size": 256},
    "report": {"deals": 10, "fields": ["random"]},
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setattr(games, "TABLES", 64)


def config_of(**changes: Any) -> DistillConfig:
    return DistillConfig.of(TINY | changes)


def lessons_of(config: DistillConfig, part: int = 0) -> DistillDataset:
    return play_part(config, make_players(config), part)


def whole(dataset: DistillDataset, config: DistillConfig) -> Any:
    layout = layout_of(config.resolved_rules(), config.layout, config.table_kinds()[0].hand_size)
    return dataset.batch(np.arange(len(dataset)), layout)


# ------------------------------------------------------------------ games


@pytest.mark.parametrize("teacher", ["heuristic", "zoo:universal"])
@pytest.mark.parametrize("layout", ["default", "universal"])
def test_labels_are_the_teachers_own_choice(teacher: str, layout: str) -> None:
    noise = {"card": 0.3, "bid_beside": 0.3, "bid": 0.3}
    config = config_of(
        teacher=teacher, layout=layout, noise=noise, opponents=[{"player": "random", "share": 0.5}]
    )
    part = whole(lessons_of(config), config)
    player = ohhell_agents.make(teacher, 5)
    player.begin(config.resolved_rules())
    again = player.act_batch(part.views.numpy(), part.masks.numpy())
    assert len(again) > 200
    assert np.array_equal(again, part.chosen.numpy())
    assert (part.masks.sum(dim=1) > 1).all(), "forced moves are left out"


def test_chance_of_a_teacher_is_its_words() -> None:
    """A player that draws is asked with words of its own, so a part is the same each time."""
    config = config_of(teacher="random")
    first, second = lessons_of(config), lessons_of(config)
    assert all(np.array_equal(first.arrays()[k], second.arrays()[k]) for k in first.arrays())
    bids = first.chosen[first.chosen >= BID_BASE]
    assert len(set(bids.tolist())) == 4


def test_parts_differ_and_so_do_seeds() -> None:
    first, second = lessons_of(config_of(), 0), lessons_of(config_of(), 1)
    other = lessons_of(config_of(seed=2), 0)
    for one in (second, other):
        assert one.hands.shape != first.hands.shape or (one.hands != first.hands).any()


def test_worth_is_what_the_deal_paid_the_seat() -> None:
    """Without noise, a heuristic table can be played again and its points compared."""
    quiet = {"card": 0, "bid_beside": 0, "bid": 0}
    config = config_of(noise=quiet, hand_size=None)
    dataset, rules = lessons_of(config), config.resolved_rules()
    tables = games._tables(config, 0, games.TABLES)
    player = ohhell_agents.make("heuristic", 0)
    player.begin(rules)
    points = np.zeros((games.TABLES, 4))
    going = np.ones(games.TABLES, np.bool_)
    moments: list[tuple[np.ndarray, np.ndarray]] = []
    while going.any():
        free = np.flatnonzero(going & (tables.action_masks.sum(axis=1, dtype=int) > 1))
        if len(free):
            moments.append((free, tables.seats[free].copy()))
        tables.step(player.act_batch(tables.observations, tables.action_masks))
        ended = going & tables.deal_ends
        points[ended] = tables.rewards[ended]
        going &= ~ended
    where = [np.concatenate(each) for each in zip(*moments, strict=True)]
    expected = points[where[0], where[1]] / points_scale(rules)
    assert len(expected) == len(dataset) and len(set(expected)) > 5
    np.testing.assert_allclose(dataset.returns, expected, rtol=1e-6)


def test_noise_and_guests_change_what_is_done_not_who_is_learned_from() -> None:
    quiet = {"card": 0, "bid_beside": 0, "bid": 0}
    plain = lessons_of(config_of(noise=quiet))
    noisy = lessons_of(config_of(noise={"card": 1.0, "bid_beside": 0, "bid": 1.0}))
    guests = lessons_of(config_of(noise=quiet, opponents=[{"player": "random", "share": 1.0}]))
    assert len(guests) < 0.8 * len(plain)  # guests' decisions are not there
    assert noisy.returns.mean() < plain.returns.mean() - 0.1  # who plays at random is paid less


def test_a_stray_bid_is_beside_and_legal(monkeypatch: pytest.MonkeyPatch) -> None:
    masks = np.zeros((4000, BID_BASE + 5), np.int8)
    masks[:, BID_BASE : BID_BASE + 4] = 1
    masks[:, BID_BASE + 2] = 0  # the hook
    chosen = np.repeat([BID_BASE, BID_BASE + 3], 2000)
    noise = DistillConfig().noise.model_copy(update={"bid_beside": 0.4, "bid": 0.1})
    done = games._strayed(chosen, masks, noise, np.random.default_rng(1))
    assert (masks[np.arange(4000), done] == 1).all()
    low = np.bincount(done[:2000] - BID_BASE, minlength=4) / 2000
    assert low[1] == pytest.approx(0.4 / 2 + 0.1 / 3, abs=0.04)  # half of "beside" is below nil
    assert done[2000:].tolist().count(BID_BASE + 3) > 1600  # what is beside is forbidden


def test_hidden_hands_reach_the_target_alone() -> None:
    """Cards that change hands behind a seat's back change what it is to guess, no input."""
    config = config_of(hand_size=5)
    rules = config.resolved_rules()
    tables = BatchedOhHell(64, rules, seed=3, hand_size=5)
    tables.reset()
    for _ in range(9):  # into the cards
        tables.step(tables.action_masks.argmax(axis=1))
    rows, network = np.arange(64), Network(tables.layout, (8,), rules=rules)

    def seen() -> tuple[torch.Tensor, torch.Tensor, DistillDataset]:
        decisions = games._decisions(tables, rows, tables.action_masks.argmax(axis=1))
        part = decisions.batch(rows, tables.layout)
        inputs = network.read(part.views)
        hidden = read_hands(tables.layout, part.hands, inputs.orders).dense()
        return inputs.dense(), hidden, decisions

    inputs, hidden, decisions = seen()
    hands = tables.games["hands"]
    for table in range(64):
        one, other = (int(tables.seats[table]) + 1) % 4, (int(tables.seats[table]) + 2) % 4
        hands[table, one], hands[table, other] = hands[table, other], hands[table, one]
    tables.refresh()
    after, moved, again = seen()
    assert torch.equal(inputs, after)
    assert np.array_equal(decisions.places, again.places)
    assert not torch.equal(hidden, moved)
    assert torch.equal(hidden.sum(dim=0) > -1, moved.sum(dim=0) > -1)
    assert float(hidden.sum()) == float(moved.sum()) > 64 * 3 * 3


# ------------------------------------------------------------------ the fit


def fitted(config: DistillConfig, epochs: int) -> tuple[StudentFit, list[dict[str, float]]]:
    fitting = StudentFit(config, lessons_of(config, 1), lessons_of(config, 0))
    return fitting, [fitting.epoch(number + 1) for number in range(epochs)]


def test_a_fit_learns_choices_outcomes_and_hands() -> None:
    fit = {"epochs": 12, "batch_size": 32, "hands_weight": 0.1, "learning_rate": 0.005}
    fitting, rows = fitted(config_of(fit=fit, network={"hidden": [32]}), 12)
    first, last = rows[0], rows[-1]
    assert last["policy_loss"] < 0.5 * first["policy_loss"]
    assert last["value_loss"] < 0.8 * first["value_loss"]
    assert last["hands_loss"] < 0.93 * first["hands_loss"]
    assert last["held_out_same_choice"] > 0.5
    assert fitting.student.head is not None


def test_the_head_moves_the_policy_and_is_not_saved(tmp_path: Path) -> None:
    weights: dict[float, dict[str, torch.Tensor]] = {}
    for weight in (0.0, 0.5):
        fit = {"epochs": 1, "batch_size": 128, "hands_weight": weight}
        fitting, rows = fitted(config_of(fit=fit), 1)
        weights[weight] = fitting.network.state_dict()
        assert (rows[0]["hands_loss"] > 0) == (weight > 0)
    without, with_head = weights[0.0], weights[0.5]
    assert with_head.keys() == without.keys() == Network(fitting.layout, (16,)).state_dict().keys()
    assert not torch.equal(without["actor.0.weight"], with_head["actor.0.weight"])
    assert torch.equal(without["critic.0.weight"], with_head["critic.0.weight"])


def test_the_head_reads_what_the_policy_thought_of_the_same_view() -> None:
    config = config_of()
    fitting, _ = fitted(config, 1)
    student, part = fitting.student, whole(fitting.held_out, config)
    assert isinstance(student, Student) and student.head is not None
    with torch.no_grad():
        losses, log_probs, values = student.losses(part)
        inputs = fitting.network.read(part.views)
        expected = student.head(fitting.network.actor[:-1](inputs))
    hands = read_hands(fitting.layout, part.hands, inputs.orders).dense()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(expected, hands, reduction="sum")
    assert float(losses.hands) == pytest.approx(float(loss / hands.sum()), rel=1e-5)
    assert torch.equal(log_probs, fitting.network.log_probs(part.views, part.masks))
    assert values.shape == part.returns.shape


@pytest.mark.parametrize("steps", [1, 2, 10, 11, 20])
def test_the_learning_rate_rises_and_falls_in_any_number_of_steps(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(fit={"epochs": 1, "batch_size": 65_536})
    dataset = lessons_of(config)
    size = -(-len(dataset) // steps)
    config = config_of(fit={"epochs": 1, "batch_size": size, "learning_rate": 0.01})
    fitting, rates = StudentFit(config, dataset, dataset), list[float]()
    real = fitting._step

    def recorded(part: Any) -> Any:
        rates.append(fitting.optimizer.param_groups[0]["lr"])
        return real(part)

    monkeypatch.setattr(fitting, "_step", recorded)
    fitting.epoch(1)
    assert len(rates) == steps and all(0 < rate <= 0.01 for rate in rates)
    if steps > 2:
        assert rates[0] < max(rates) == pytest.approx(0.01) and rates[-1] < 1e-4


def test_numbers_out_of_hand_are_told() -> None:
    config = config_of(fit={"epochs": 2, "batch_size": 16, "learning_rate": 1.0})
    fitting = StudentFit(config, lessons_of(config, 1), lessons_of(config, 0))
    with torch.no_grad():
        fitting.network.critic[-1].weight.fill_(1e30)  # type: ignore[operator,union-attr]
    with pytest.raises(OhHellError, match=r"fit\.learning_rate=1 is too high"):
        fitting.epoch(1)


# ------------------------------------------------------------------ runs


def table_of(run: DistillRun) -> list[dict[str, str]]:
    with (run.path / "metrics.csv").open(newline="") as file:
        return [
            {k: v for k, v in row.items() if not k.endswith("seconds")}
            for row in csv.DictReader(file)
        ]


def digests(run: DistillRun) -> list[str]:
    players = [*sorted((run.path / "epochs").iterdir()), run.path / "best", run.path / "last"]
    return [weights_digest(load_checkpoint(folder).network) for folder in players]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> DistillRun:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(games, "TABLES", 64)
        run = begin_distill(tmp_path_factory.mktemp("runs") / "a", config_of())
        train_run(run, quiet=True)
    return run


def test_a_run_explains_itself(finished: DistillRun) -> None:
    names = {file.name for file in finished.path.iterdir()}
    assert names == {
        "config.yaml",
        "versions.json",
        "games",
        "state.safetensors",
        "epochs",
        "metrics.csv",
        "tensorboard",
        "best",
        "last",
    }
    assert finished.config() == config_of().resolved()
    rows = table_of(finished)
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert all(float(row["over_random_low"]) < float(row["over_random_high"]) for row in rows)
    parts = [len(finished.load_part(number)[0]) for number in range(finished.parts())]
    assert sum(parts[1:-1]) < 1000 <= sum(parts[1:])
    assert finished.finished() and finished.done() == "3 epochs"
    assert "1,000 decisions of heuristic" in finished.summary()


def test_the_saved_player_plays_and_carries_no_head(finished: DistillRun) -> None:
    player = ohhell_agents.load(finished.path / "best", seed=0)
    assert isinstance(player, LearnedAgent)
    network = player.checkpoint.network
    expected = Network(network.layout, (16,)).state_dict()
    assert {k: v.shape for k, v in network.state_dict().items()} == {
        k: v.shape for k, v in expected.items()
    }
    assert not network.actor[-1]._forward_pre_hooks
    rules = finished.config().resolved_rules()
    player.begin(rules)
    tables = BatchedOhHell(64, rules, seed=9, hand_size=3)
    tables.reset()
    for deterministic in (True, False):
        for _ in range(40):  # step() refuses what is illegal
            tables.step(player.act_batch(tables.observations, tables.action_masks, deterministic))


def test_the_same_seed_is_the_same_player(finished: DistillRun, tmp_path: Path) -> None:
    torch.manual_seed(99)  # of no consequence
    chance = torch.get_rng_state()
    again = begin_distill(tmp_path / "b", config_of())
    train_run(again, quiet=True)
    assert torch.equal(torch.get_rng_state(), chance)
    assert digests(again) == digests(finished)
    assert table_of(again) == table_of(finished)
    other = begin_distill(tmp_path / "c", config_of(seed=2))
    train_run(other, quiet=True)
    assert digests(other)[0] != digests(finished)[0]


class Killed(BaseException):
    """As sudden as a kill: nothing catches it."""


@pytest.mark.parametrize("where", ["part", "epoch", "before state", "after state", "derived"])
def test_a_run_that_was_stopped_ends_as_an_unbroken_one(
    finished: DistillRun, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ohhell_train.distill.run as running
    from ohhell_train.distill import folder

    owner, name = {
        "part": (running, "play_part"),
        "epoch": (StudentFit, "epoch"),
        "before state": (folder, "write_arrays"),
        "after state": (DistillRun, "write_derived"),
        "derived": (folder, "write_metrics"),
    }[where]
    calls, real = [0], getattr(owner, name)
    after = {"before state": finished.parts() + 1, "after state": 2}.get(where, 1)

    def struck(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] > after:
            raise Killed
        return real(*given, **named)

    run = begin_distill(tmp_path / "broken", config_of())
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(owner, name, struck)
        train_run(run, quiet=True)
    assert not run.finished()
    resumed = DistillRun.open(run.path)
    train_run(resumed, quiet=True)
    assert digests(resumed) == digests(finished)
    assert table_of(resumed) == table_of(finished)
    assert not [file for file in run.path.rglob("*") if file.name.startswith(".")]


def test_half_a_file_is_not_there(finished: DistillRun, tmp_path: Path) -> None:
    """A kill in the middle of writing leaves the part beside its place, which is overwritten."""
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    shutil.rmtree(copy / "epochs")
    (copy / STATE).rename(copy / f"{STATE}.part")
    last = copy / GAMES / f"{finished.parts() - 1}.safetensors"
    last.with_name(f"{last.name}.part").write_bytes(last.read_bytes()[:100])
    last.unlink()
    again = DistillRun.open(copy)
    train_run(again, quiet=True)
    assert digests(again) == digests(finished)
    assert not list(copy.rglob("*.part"))


@pytest.mark.parametrize("name", ["games/1.safetensors", STATE])
@pytest.mark.parametrize("how", ["cut", "changed"])
def test_a_damaged_file_is_told_and_kept(
    finished: DistillRun, tmp_path: Path, name: str, how: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    if name != STATE:
        (copy / STATE).unlink()
    content = bytearray((copy / name).read_bytes())
    content[-9] ^= 0xFF
    (copy / name).write_bytes(bytes(content) if how == "changed" else content[:200])
    kept = (copy / name).read_bytes()
    with pytest.raises(CheckpointError, match=r"safetensors: (is|has) .*move"):
        train_run(DistillRun.open(copy), quiet=True)
    assert (copy / name).read_bytes() == kept


def test_a_part_in_the_place_of_another_is_told(finished: DistillRun, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    (copy / STATE).unlink()
    shutil.copy(copy / "games" / "1.safetensors", copy / "games" / "0.safetensors")
    with pytest.raises(CheckpointError, match=r"games/0\.safetensors: is part 1; move it"):
        train_run(DistillRun.open(copy), quiet=True)


def test_a_player_of_an_epoch_that_is_gone_is_told_with_the_remedy(
    finished: DistillRun, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    epochs = sorted(folder.name for folder in (copy / "epochs").iterdir())
    for name in epochs:
        shutil.rmtree(copy / "epochs" / name)
    with pytest.raises(CheckpointError, match=f"move {STATE} away"):
        train_run(DistillRun.open(copy), quiet=True)
    (copy / STATE).unlink()
    train_run(DistillRun.open(copy), quiet=True)
    assert sorted(folder.name for folder in (copy / "epochs").iterdir()) == epochs


@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_one_line_that_names_the_file(
    finished: DistillRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: int,
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)

    def full(number: int) -> None:
        raise OSError(kind, os.strerror(kind))

    wanted = {"metrics.csv": copy, "weights.safetensors": copy, "1.safetensors": copy / "games"}
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        for name in wanted:
            if name == "weights.safetensors":
                patch.setattr("ohhell_train.distill.folder.write_metrics", lambda *_: None)
            if name == "1.safetensors":
                (copy / STATE).unlink()
                (copy / "games" / name).unlink()
            assert main(["resume", str(copy)]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert name in line and os.strerror(kind) in line
    left = [
        file.name for file in copy.rglob("*") if file.name.endswith(".part") or ".new" in file.name
    ]
    assert left == []


def test_settings_changed_under_a_run_are_told(finished: DistillRun, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    plain = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
    plain["fit"]["epochs"] = 5
    (copy / "config.yaml").write_text(yaml.safe_dump(plain), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"config.yaml: fit changed since state"):
        train_run(DistillRun.open(copy), quiet=True)
    (copy / STATE).unlink()
    plain["noise"]["card"] = 0.5
    (copy / "config.yaml").write_text(yaml.safe_dump(plain), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"config.yaml: noise changed since games"):
        train_run(DistillRun.open(copy), quiet=True)


def test_it_can_begin_as_another_player(finished: DistillRun, tmp_path: Path) -> None:
    fit = {"epochs": 1, "batch_size": 256, "learning_rate": 1e-9}  # it stays what it was
    start = str(finished.path / "best")
    run = begin_distill(tmp_path / "next", config_of(start=start, fit=fit))
    train_run(run, quiet=True)
    before, after = (load_checkpoint(each).network for each in (start, run.path / "best"))
    for name, weights in before.state_dict().items():
        torch.testing.assert_close(after.state_dict()[name], weights, atol=1e-5, rtol=0)
    assert weights_digest(load_checkpoint(run.path / "start").network) == weights_digest(before)
    with pytest.raises(CheckpointError, match="hidden layers"):
        begin_distill(tmp_path / "x", config_of(start=start, network={"hidden": [8]}))


def test_another_teacher_of_the_same_name_is_told(
    finished: DistillRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    (copy / STATE).unlink()
    (copy / GAMES / f"{finished.parts() - 1}.safetensors").unlink()
    monkeypatch.setattr(ohhell_agents.HeuristicAgent, "fingerprint", "sha256:other")
    with pytest.raises(CheckpointError, match=r"was played by .*other.* teacher's files have ch"):
        train_run(DistillRun.open(copy), quiet=True)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rules": "oh_hel"}, "oh_hell"),
        ({"players": 9}, "players"),
        ({"hand_size": 0}, "hand_size"),
        ({"teachr": "search"}, "unknown setting 'teachr': did you mean 'teacher'"),
        ({"teacher": "hueristic"}, "did you mean 'heuristic'"),
        ({"teacher": "search:world=3"}, "worlds"),
        ({"teacher": "runs/none/best"}, "no such checkpoint"),
        ({"teacher": "tests.train.players:Raises"}, "no idea"),
        ({"teacher": "tests.train.players:CannotBegin"}, "cannot begin under these rules"),
        ({"start": "runs/none/best"}, "cannot be read"),
        ({"opponents": [{"player": "nobody", "share": 0.5}]}, "unknown player 'nobody'"),
        (
            {"opponents": [{"player": each, "share": 0.6} for each in ("random", "heuristic")]},
            "more than 1",
        ),
        ({"opponents": [{"player": "past", "share": 0.6}]}, "has no past selves"),
        ({"fit": {"epoch": 3}}, "did you mean 'fit.epochs'"),
        ({"fit": {"hands_weight": -1}}, "fit.hands_weight"),
        ({"network": {"hidden": []}}, "network.hidden"),
        ({"report": {"fields": ["nobody"]}}, "report.fields: unknown player 'nobody'"),
        ({"report": {"fields": ["process:/nowhere"]}}, "cannot be started"),
        ({"method": "ppo"}, "method"),
    ],
)
def test_settings_that_cannot_be_are_told_and_leave_nothing(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    with pytest.raises(OhHellError, match=re.escape(expected)) as told:
        begin_distill(tmp_path / "x", config_of(**changes))
    assert "\n" not in str(told.value)
    assert not (tmp_path / "x").exists()


def test_a_teacher_that_makes_a_mistake_is_told() -> None:
    config = config_of()
    players = make_players(config)

    class Wrong(ohhell_agents.RandomAgent):
        engine_player = None

        def choose(self, observations: Any, action_masks: Any, *_: Any) -> Any:
            return np.full(len(observations), 3)

    players[0] = Entrant.of("heuristic", Wrong(0))
    with pytest.raises(OhHellError, match=r"'heuristic' cannot play .* not legal"):
        play_part(config, players, 0)


def test_the_command_line_trains_resumes_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "tiny.yaml", tmp_path / "run"
    file.write_text(config_of(fit={"epochs": 1}).to_yaml(), encoding="utf-8")
    assert main(["fit", "--config", str(file), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "points a deal over random" in text and "1,000 decisions of heuristic" in text
    assert main(["resume", str(out)]) == 0
    assert "is finished" in capsys.readouterr().out
    assert main(["fit", "--config", str(file), "--out", str(out)]) == 2
    assert "already exists" in capsys.readouterr().err
    changed = ["fit", "--config", str(file), "--out", str(tmp_path / "y"), "--set", "teacher=nobdy"]
    assert main(changed) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and "unknown player 'nobdy'" in error


def test_the_recipe_is_one() -> None:
    config = DistillConfig.load(CONFIGS / "distill.yaml")
    assert config.method == "distill" and config.teacher == "zoo:universal"


def test_ppo_goes_on_from_it(finished: DistillRun, tmp_path: Path) -> None:
    settings = {
        "rules": "escalating",
        "players": 4,
        "hand_size": 3,
        "decisions": 500,
        "tables": 8,
        "rollout_laps": 4,
        "start": str(finished.path / "best"),
        "network": {"hidden": [16]},
        "ppo": {"n_epochs": 1, "batch_size": 64, "kl_coef": 0.1},
        "report": {"deals": 10, "fields": ["random"], "tensorboard": False},
    }
    run = begin_ppo(tmp_path / "ppo", PpoConfig.of(settings))
    train_run(run, quiet=True)
    assert run.counters().decisions >= 500
    started = load_checkpoint(run.path / "start").network
    assert weights_digest(started) == weights_digest(
        load_checkpoint(finished.path / "best").network
    )


@unix_only
@pytest.mark.slow
def test_kills_at_any_moment_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # parts of the usual size, as the child plays them
    config = config_of(decisions=40_000, hand_size=None)
    whole = begin_distill(tmp_path / "whole", config)
    train_run(whole, quiet=True)
    run = begin_distill(tmp_path / "broken", config)
    for place in ("games/2.safetensors", "epochs/2"):
        child = subprocess.Popen(
            [sys.executable, "-m", "ohhell_env", "resume", str(run.path)], cwd=ROOT
        )
        while not (run.path / place).exists():
            assert child.poll() is None
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() != 0
    train_run(run, quiet=True)
    assert digests(run) == digests(whole)
    assert table_of(run) == table_of(whole)


@pytest.mark.slow
def test_a_short_distillation_of_heuristic_beats_random(tmp_path: Path) -> None:
    config = config_of(
        hand_size=None, decisions=60_000, network={"hidden": [128, 128]}, fit={"epochs": 5}
    )
    run = begin_distill(tmp_path / "run", config)
    train_run(run, quiet=True)
    rules, player = config.resolved_rules(), ohhell_agents.load(run.path / "best", seed=0)
    ahead = measure(player, ohhell_agents.make("random", 1), rules, 500, 7)
    teacher = measure(
        ohhell_agents.make("heuristic", 1), ohhell_agents.make("random", 1), rules, 500, 7
    )
    assert ahead.low > 0.7 * teacher.mean > 5
