"""Runs that learn bids or cards alone: what they save is the whole player that they measure."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import ohhell_agents
from ohhell_agents import TwoPartAgent
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.nn.checkpoint import load_checkpoint, save_checkpoint, weights_digest
from ohhell_env import Rules
from ohhell_env.cli.commands import main
from ohhell_env.errors import CheckpointError, OhHellError, RulesError
from ohhell_train.evaluate import Difference, measure
from ohhell_train.methods import train_run
from ohhell_train.model_card import facts
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.folder import PpoRun
from ohhell_train.ppo.learner import SelfPlayPPO
from ohhell_train.runs.base import CONFIG, PLAYERS
from tests.agents.test_counterfactual import corrected
from tests.agents.test_two_part import network
from tests.train.runs import begin_counterfactual, begin_distill, begin_ppo
from tests.train.test_counterfactual import config_of
from tests.train.test_distill import config_of as student_of
from tests.train.test_run import SETTINGS, Killed, without_time

RULES = Rules.preset("oh_hell")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def settings(**changes: Any) -> PpoConfig:
    plain = {"decisions": 800, "save_every": 300, "part": "bids", "hand_size": 3}
    return PpoConfig.of(SETTINGS | plain | changes)


@pytest.fixture(scope="module")
def bids_run(tmp_path_factory: pytest.TempPathFactory) -> PpoRun:
    """A run that learned the bids, beside the cards of the heuristic player."""
    run = begin_ppo(tmp_path_factory.mktemp("runs") / "bids", settings())
    train_run(run, quiet=True)
    return run


@pytest.mark.parametrize("learn", ["bids", "cards"])
@pytest.mark.parametrize("rest", ["heuristic", "random", "zoo:universal", "checkpoint", "pair"])
def test_a_checkpoint_plays_as_it_was_measured(tmp_path: Path, learn: str, rest: str) -> None:
    """Also where it was moved, and where the player of the other part is gone."""
    if rest == "checkpoint":
        CounterfactualAgent(corrected()).save(tmp_path / "rest")
    if rest == "pair":
        ohhell_agents.make("parts:bids=random,cards=heuristic", 1).save(tmp_path / "rest")
    name = str(tmp_path / "rest") if rest in ("checkpoint", "pair") else rest
    config = settings(part=learn, partner=name, report={"every": 10**6, "deals": 20})
    run = begin_ppo(tmp_path / "run", config)
    train_run(run, quiet=True)
    measured = run.counters().differences
    shutil.move(run.path, tmp_path / "moved")
    shutil.rmtree(tmp_path / "rest", ignore_errors=True)
    for folder in ("best", "last", f"checkpoints/{run_end(tmp_path / 'moved')}"):
        player = ohhell_agents.make(tmp_path / "moved" / folder)
        assert isinstance(player, TwoPartAgent)
        other = next(each for each in ("bids", "cards") if each != learn)
        assert player.names == {learn: "", other: name}
        assert player.parts[learn].kind == "learned"
        for field, ends in measured.items():
            found = measure(player, ohhell_agents.make(field, 0), RULES, 20, config.report.seed, 3)
            assert [found.mean, found.low, found.high] == pytest.approx(ends, abs=1e-12)


def run_end(path: Path) -> int:
    return PpoRun.open(path).counters().decisions


def test_a_run_of_one_part_can_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With past selves, who have two parts, too."""
    config = settings(
        opponents=[{"player": "random", "share": 0.1}, {"player": "past", "share": 0.5}],
        pool={"every": 150, "size": 3},
    )
    whole, broken = begin_ppo(tmp_path / "a", config), begin_ppo(tmp_path / "b", config)
    train_run(whole, quiet=True)
    update, done = SelfPlayPPO.train, [0]

    def struck(self: SelfPlayPPO) -> None:
        done[0] += 1
        if done[0] > 5:
            raise Killed
        update(self)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SelfPlayPPO, "train", struck)
        train_run(broken, quiet=True)
    assert 0 < broken.counters().decisions < 800
    resumed = PpoRun.open(broken.path)
    train_run(resumed, quiet=True)
    assert without_time(whole) == without_time(resumed)
    ends = [ohhell_agents.load(run.path / "last").fingerprint for run in (whole, resumed)]
    assert ends[0] == ends[1]
    for past in (whole.path / "pool").iterdir():
        assert ohhell_agents.load(past).kind == "two_parts"


def test_a_player_that_a_kill_left_between_two_folders_is_put_back(
    bids_run: PpoRun, tmp_path: Path
) -> None:
    shutil.copytree(bids_run.path, tmp_path / "run")
    (tmp_path / "run" / "best").rename(tmp_path / "run" / ".best.old-7")
    run = PpoRun.open(tmp_path / "run")
    assert ohhell_agents.load(run.path / "best").kind == "two_parts"


def test_it_comes_in_by_every_door(
    bids_run: PpoRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = str(bids_run.path / "best")
    out = tmp_path / "out"
    words = ["tournament", f"mine={best}", "heuristic", "--rules", "oh_hell", "--players", "4"]
    assert main([*words, "--deals", "4", "--hand-size", "3", "--out", str(out)]) == 0
    found = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert found["entrants"]["mine"]["faults"] == 0
    words = ["bidding", best, "--rules", "oh_hell", "--players", "4", "--deals", "20"]
    assert main([*words, "--out", str(tmp_path / "bids")]) == 0
    words = [
        "model-card",
        best,
        "--deals",
        "2",
        "--players",
        "4",
        "--out",
        str(tmp_path / "CARD.md"),
    ]
    assert main(words) == 0
    text = (tmp_path / "CARD.md").read_text(encoding="utf-8")
    assert "- The bids: learned" in text and "- The cards: `heuristic`, heuristic" in text
    assert "`oh_hell`" in text
    capsys.readouterr()


@pytest.mark.parametrize("door", ["rest", "others", "teacher", "guest", "field"])
def test_it_sits_in_other_runs(bids_run: PpoRun, tmp_path: Path, door: str) -> None:
    best = str(bids_run.path / "best")
    if door in ("teacher", "guest"):
        fit = {"epochs": 1, "batch_size": 256}
        mine: dict[str, Any] = (
            {"teacher": best}
            if door == "teacher"
            else {"opponents": [{"player": best, "share": 0.5}]}
        )
        student = student_of(rules="oh_hell", decisions=300, fit=fit, **mine)
        train_run(begin_distill(tmp_path / "run", student), quiet=True)
    elif door == "field":
        config = config_of(report={"deals": 4, "fields": [best]}, rounds=1, rules="oh_hell")
        train_run(begin_counterfactual(tmp_path / "run", config), quiet=True)
    else:
        changes: dict[str, Any] = {"part": "cards", "partner": best}
        if door == "others":
            changes = {"part": "both", "opponents": [{"player": best, "share": 0.5}]}
        train_run(begin_ppo(tmp_path / "run", settings(decisions=200, **changes)), quiet=True)
    assert ohhell_agents.load(tmp_path / "run" / "best").kind != ""


# ------------------------------------------------------------------ beginning as a part


def test_a_run_begins_as_the_part_that_it_learns(bids_run: PpoRun, tmp_path: Path) -> None:
    best = bids_run.path / "best"
    for number, start in enumerate((best, best / "bids")):
        run = begin_ppo(tmp_path / str(number), settings(start=str(start), decisions=200))
        network_then = load_checkpoint(best / "bids").network
        network_now = run.start(run.config())
        assert network_now is not None
        assert weights_digest(network_now) == weights_digest(network_then)
        train_run(run, quiet=True)


@pytest.mark.parametrize(
    ("learn", "start", "expected"),
    [
        ("both", "best", "player of two parts.*part=bids or part=cards"),
        ("cards", "best", "no network decides its cards"),
        ("both", "best/bids", "learned only the bids, but this run learns bids and cards"),
        ("cards", "best/bids", "learned only the bids, but this run learns the cards"),
    ],
)
def test_a_run_does_not_begin_as_a_part_that_never_learned_it(
    bids_run: PpoRun, tmp_path: Path, learn: str, start: str, expected: str
) -> None:
    config = settings(start=str(bids_run.path / start), part=learn)
    with pytest.raises(CheckpointError, match=expected):
        begin_ppo(tmp_path / "run", config)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("start", ["best", "best/bids"])
def test_a_student_does_not_begin_as_a_part(bids_run: PpoRun, tmp_path: Path, start: str) -> None:
    config = student_of(rules="oh_hell", start=str(bids_run.path / start))
    with pytest.raises(CheckpointError, match=r"two parts|only the bids"):
        begin_distill(tmp_path / "run", config)


def test_foreign_code_as_the_rest_is_named_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cards_by_hand.py").write_text(
        "class Lowest:\n"
        "    def act_batch(self, observations, action_masks):\n"
        "        return action_masks.argmax(axis=1)\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    run = begin_ppo(tmp_path / "run", settings(partner="cards_by_hand:Lowest", decisions=200))
    train_run(run, quiet=True)
    del sys.modules["cards_by_hand"]
    with pytest.raises(CheckpointError, match=r"'cards_by_hand:Lowest' plays the cards.*parts:"):
        ohhell_agents.make(run.path / "best")
    assert "cards_by_hand" not in sys.modules
    spec = f"parts:bids={run.path / 'best' / 'bids'},cards=cards_by_hand:Lowest"
    found = measure(
        ohhell_agents.make(spec), ohhell_agents.make("random", 0), RULES, 10, 1_000_003, 3
    )
    assert [found.mean, found.low, found.high] == run.counters().differences["random"]


# ------------------------------------------------------------------ players that change


def test_players_that_changed_end_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that goes on with other players than it began with is no run of one recipe."""
    other = tmp_path / "other"
    CounterfactualAgent(corrected(1)).save(other)
    named = str(other)
    ppo = begin_ppo(tmp_path / "ppo", settings(opponents=[{"player": named, "share": 0.5}]))
    rest = begin_ppo(tmp_path / "rest", settings(partner=named))
    opponents = [{"player": named, "share": 0.5}]
    rounds = begin_counterfactual(tmp_path / "rounds", config_of(opponents=opponents))
    student = begin_distill(tmp_path / "student", student_of(opponents=opponents))
    assert json.loads((ppo.path / PLAYERS).read_text(encoding="utf-8")).keys() == {named}
    CounterfactualAgent(corrected(2)).save(other)
    for run in (ppo, rest, rounds, student):
        with pytest.raises(CheckpointError, match=r"is not the same player.*start the run again"):
            train_run(run, quiet=True)  # type: ignore[operator]
    CounterfactualAgent(corrected(1)).save(other)
    train_run(rest, quiet=True)
    (ppo.path / PLAYERS).write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match="damaged"):
        train_run(ppo, quiet=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", 7),
        ("rules", "oh_hell"),
        ("players", 3),
        ("hand_size", 2),
        ("relative", 0.5),
        ("noise", {"card": 0.5}),
        ("fit", {"epochs": 2}),
    ],
)
def test_a_round_is_not_followed_by_one_of_other_settings(
    tmp_path: Path, name: str, value: Any
) -> None:
    run = begin_counterfactual(tmp_path / "run", config_of(decisions=300, rounds=1))
    train_run(run, quiet=True)
    file = run.path / CONFIG
    plain = yaml.safe_load(file.read_text(encoding="utf-8"))
    file.write_text(yaml.safe_dump(plain | {"rounds": 2, "threads": 1}), encoding="utf-8")
    before = (run.path / "rounds" / "1" / "agent.json").read_bytes()
    wrong = plain | {"rounds": 2, name: value}
    file.write_text(yaml.safe_dump(wrong), encoding="utf-8")
    with pytest.raises(CheckpointError, match=f"{name} changed since round 1 was played"):
        train_run(run, quiet=True)
    assert not (run.path / "rounds" / "2").exists()
    assert (run.path / "rounds" / "1" / "agent.json").read_bytes() == before


def test_more_rounds_and_other_fields_of_a_measurement_are_no_other_recipe(tmp_path: Path) -> None:
    run = begin_counterfactual(tmp_path / "run", config_of(decisions=300, rounds=1))
    train_run(run, quiet=True)
    file = run.path / CONFIG
    changed = {"rounds": 2, "threads": 1, "report": {"deals": 4, "fields": ["random"]}}
    file.write_text(
        yaml.safe_dump(yaml.safe_load(file.read_text(encoding="utf-8")) | changed), encoding="utf-8"
    )
    train_run(run, quiet=True)
    assert len(run.rounds()) == 2


@pytest.mark.parametrize("part", ["bids", "cards"])
def test_a_counterfactual_run_of_one_part_plays_as_it_was_measured(
    tmp_path: Path, part: str
) -> None:
    """What it does not learn, the heuristic player decides, or the player that it began as."""
    CounterfactualAgent(corrected(3)).save(tmp_path / "start")
    for number, start in enumerate((None, str(tmp_path / "start"))):
        config = config_of(decisions=300, rounds=1, start=start, **{part: 0})
        run = begin_counterfactual(tmp_path / str(number), config)
        train_run(run, quiet=True)
        player = ohhell_agents.make(run.path / "best")
        assert isinstance(player, CounterfactualAgent)
        rules, size = config.table_kinds()[0]
        seed = config.report.seed
        found = measure(player, ohhell_agents.make("heuristic"), rules, 20, seed, size)
        ends = player.about["scores"]["heuristic"]
        assert [round(end, 4) for end in (found.mean, found.low, found.high)] == ends
        before = corrected(3)[0] if start else None
        out = f"{part[:-1]}_out"
        left_alone = player.models[0][out]
        assert (left_alone == (before[out] if before is not None else 0)).all()


# ------------------------------------------------------------------ fields that make mistakes


class Fails:
    """A player that cannot make up its mind."""

    def act_batch(self, observations: Any, action_masks: Any) -> Any:
        raise RuntimeError("no idea")


@pytest.mark.parametrize("method", ["ppo", "distill", "counterfactual"])
def test_a_field_that_makes_mistakes_is_reported(tmp_path: Path, method: str) -> None:
    """Random moves in its place are not its own: whoever reads the figures must know."""
    name = f"{__name__}:Fails"
    expected = "the field made mistakes, and random moves replaced them.*no idea"
    report = {"deals": 4, "fields": [name]}
    with pytest.warns(UserWarning, match=expected):
        if method == "ppo":
            run = begin_ppo(tmp_path / "run", settings(decisions=100, part="both", report=report))
            train_run(run, quiet=True)
        elif method == "distill":
            fit = {"epochs": 1, "batch_size": 256}
            student = begin_distill(
                tmp_path / "run", student_of(decisions=300, fit=fit, report=report)
            )
            train_run(student, quiet=True)
        else:
            config = config_of(decisions=300, rounds=1, players=[3, 4], report=report)
            train_run(begin_counterfactual(tmp_path / "run", config), quiet=True)


def test_a_measurement_without_mistakes_warns_of_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = measure(
            ohhell_agents.make("random", 1), ohhell_agents.make("random", 2), RULES, 4, 1, 2
        )
    assert isinstance(found, Difference) and found.fault == "" and not found.by_field


def test_a_part_is_described(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "bids", network(part="bids"))
    lines = facts(ohhell_agents.make(f"parts:bids={tmp_path / 'bids'},cards=zoo:universal"))
    assert lines[0] == "Kind: two_parts"
    assert f"The bids: `{tmp_path / 'bids'}`, learned" in lines
    assert any(line.startswith("The bids, trained for: `oh_hell`") for line in lines)
    assert "The cards: `zoo:universal`, counterfactual" in lines
    with pytest.raises((OhHellError, RulesError), match="names no rules"):
        from ohhell_train.model_card import _tables

        _tables(ohhell_agents.make("parts:bids=random,cards=heuristic"), None, None)
