"""``ohhell model-card``: what a card says is what was measured."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch

import ohhell_agents
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.heuristic import HeuristicAgent
from ohhell_agents.nn.checkpoint import Checkpoint, save_checkpoint
from ohhell_agents.nn.network import Network
from ohhell_agents.value.trick_model import fitted
from ohhell_env.cli.commands import main
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from ohhell_train.bidding.cli import bidding_report
from ohhell_train.evaluate import measure
from ohhell_train.model_card import Measuring, _training_notes, facts, written
from ohhell_train.tournament.tables import Deals

Output = pytest.CaptureFixture[str]
ABOUT = {
    "round": 3,
    "decisions": 4000730,
    "bids": 964811,
    "cpu_seconds": 570.0,
    "rules": ["oh_pshaw"],
    "players": [3],
}
RULES = Rules.preset("oh_pshaw", 3)


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CounterfactualAgent:
    """A player in the folder ``runs/mine/best``; the tests run beside ``runs``."""
    monkeypatch.chdir(tmp_path)
    models = HeuristicAgent().models.copy()
    models["has_advantages"] = 1
    CounterfactualAgent(models, ABOUT).save("runs/mine/best")
    return CounterfactualAgent.load("runs/mine/best")


def grid(text: str, heading: str) -> list[list[str]]:
    """Returns the cells of the table below a line that begins so."""
    below = text.split(heading, 1)[1].split("\n\n")[1]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in below.splitlines()]


def test_facts_of_a_counterfactual_player(trained: CounterfactualAgent) -> None:
    assert facts(trained) == [
        "Kind: counterfactual",
        f"Weights: `{trained.fingerprint}`",
        "Trained for: `oh_pshaw`",
        "Numbers of players: 3",
        "Labelled decisions: 4,000,730 in round 3, 964,811 of them bids",
        "Training time up to this round: 9.5 CPU minutes",
    ]


def test_facts_that_are_missing_are_left_out() -> None:
    models = HeuristicAgent().models
    lines = facts(CounterfactualAgent(models))
    assert [line.partition(":")[0] for line in lines] == ["Kind", "Weights"]
    assert facts(ohhell_agents.make("random")) == ["Kind: random"]


def test_figures_are_those_of_the_tournament(trained: CounterfactualAgent) -> None:
    text = written(trained, "mine", [[RULES]], Measuring(4, 9), None)
    head, _, row = grid(text, "over a field of `heuristic`")
    assert head == ["players", "all", "1 card", "3 cards", "5 cards", "8 cards", "10 cards"]
    for cell, size in ((1, None), (4, 5)):
        other = ohhell_agents.make("heuristic")
        assert row[cell] == str(measure(trained, other, RULES, 4, 9, size))
    made = grid(text, "Share of bids made")[2]
    bids = bidding_report(trained, "self", Deals(RULES, 9, 5), 4).bids
    assert made[4].split(" ")[0] == f"{(bids['bid'] == bids['tricks']).mean():.1%}"
    assert "4 duplicate deals, seed 9" in text and "Training command" not in text


def test_sizes_that_are_not_dealt_stay_empty(trained: CounterfactualAgent) -> None:
    tables = [RULES, Rules.preset("oh_pshaw", 6)]
    head, _, _, six = grid(written(trained, "mine", [tables], Measuring(2, 9), None), "`random`")
    assert head[-1] == "10 cards" and six[0] == "6"
    assert six[-1] == "" and all(six[:-1])


def test_the_command_writes_the_same_card_again(
    trained: CounterfactualAgent, capsys: Output
) -> None:
    words = ["model-card", "runs/mine/best", "--players", "3", "--deals", "3", "--seed", "2"]
    words += ["--recipe", "ohhell fit --set rounds=3", "--out", "CARD.md"]
    assert main(words) == 0
    assert capsys.readouterr().out == "written: CARD.md\n"
    text = Path("CARD.md").read_text(encoding="utf-8")
    assert text.startswith("# mine\n") and "## Oh Pshaw (`oh_pshaw`)" in text
    assert "```\nohhell fit --set rounds=3\n```" in text
    command = re.findall(r"```\nohhell (model-card .*)\n```\n$", text)
    assert [shlex.split(each) for each in command] == [words]
    assert main(words) == 0 and Path("CARD.md").read_text(encoding="utf-8") == text


def test_a_network_is_measured_at_the_tables_of_its_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(1)
    rules = Rules.preset("oh_pshaw", 3).replace(**{"schedule.high": 3})
    network = Network(layout_of(rules), (16, 8))
    save_checkpoint(tmp_path / "net", Checkpoint(network, rules))
    assert main(["model-card", "net", "--deals", "2"]) == 0
    text = Path("CARD.md").read_text(encoding="utf-8")
    assert "- Network: 16x8, layout `default`" in text and "- Kind: " in text
    assert [row[0] for row in grid(text, "`heuristic`")[2:]] == ["3"]
    assert grid(text, "`heuristic`")[0] == ["players", "all", "1 card", "3 cards"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["heuristic"], "names no rules; add --rules"),
        (["heuristic", "--rules", "oh_hel"], "did you mean 'oh_hell'"),
        (["heuristic", "--rules", "oh_hell", "--players", "9"], "players"),
        (["heuristic", "--rules", "oh_hell", "--deals", "1"], "--deals must be 2 or more"),
        (["heuristic", "--rules", "oh_hell", "--out", "."], "is a folder"),
        (["nowhere/best"], "no such checkpoint"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
    words: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["model-card", *words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and expected in lines[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "trained",
    [
        {"rules": 3, "players": 4},
        {"rules": "oh_hell"},
        {"rules": [["oh_hell"]], "decisions": None},
        {"decisions": 3, "bids": "x", "cpu_seconds": [1]},
    ],
)
def test_what_no_run_writes_is_left_out_of_a_card(trained: dict[str, Any]) -> None:
    player = CounterfactualAgent(fitted(), trained)
    assert set(_training_notes(player)) <= {"decisions"}


@pytest.mark.parametrize(
    ("player", "expected"),
    [
        ("CannotBegin", "cannot begin under these rules: ZeroDivisionError: no rules for me"),
        ("Raises", "the player committed a fault under oh_hell: RuntimeError: no idea"),
    ],
)
def test_a_player_that_fails_is_told_in_a_line_and_has_no_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], player: str, expected: str
) -> None:
    out = tmp_path / "CARD.md"
    words = ["--rules", "oh_hell", "--players", "3", "--deals", "2", "--out", str(out)]
    assert main(["model-card", f"tests.train.players:{player}", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert expected in line
    assert not out.exists()
