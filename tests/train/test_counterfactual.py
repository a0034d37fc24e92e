"""Counterfactual self-play: its labels, its fits, its rounds, and that nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ohhell_agents
from ohhell_agents.value.advantage_nets import price
from ohhell_agents.value.players import HEURISTIC, RANDOM
from ohhell_agents.value.policy import heuristic_action
from ohhell_agents.value.trick_model import (
    BID_CHOICE,
    BID_SITUATION,
    BIT_WORDS,
    CARD_CHOICE,
    CARD_SITUATION,
    fitted,
)
from ohhell_env import Rules
from ohhell_env.cli.commands import main
from ohhell_env.engine import batch
from ohhell_env.engine.layout import BID_BASE, NUM_BIDS, Phase, compile_rules, new_games
from ohhell_env.errors import CheckpointError, OhHellError, RulesError
from ohhell_train.counterfactual.config import CounterfactualConfig, RoundFitSettings
from ohhell_train.counterfactual.dataset import (
    AdvantageDataset,
    EngineOpponent,
    EnginePlayers,
    LabelledDecisions,
    label,
)
from ohhell_train.counterfactual.fit import AdvantageNet, fit_advantage_net
from ohhell_train.counterfactual.folder import CounterfactualRun
from ohhell_train.counterfactual.rollouts import RolloutSettings, label_all
from ohhell_train.evaluate import measure
from ohhell_train.methods import train_run
from tests.agents.test_counterfactual import corrected
from tests.train.runs import begin_counterfactual

TINY: dict[str, Any] = {
    "rules": "escalating",
    "decisions": 3000,
    "rounds": 2,
    "fit": {"epochs": 1, "batch_size": 256},
    "report": {"deals": 20, "fields": ["heuristic"]},
}


def config_of(**changes: Any) -> CounterfactualConfig:
    return CounterfactualConfig.of(TINY | changes)


# ------------------------------------------------------------------ labels


def test_a_label_is_what_the_deal_brings() -> None:
    """Where nobody strays, the player's own choice is labelled with what the deal brought."""
    compiled, models = compile_rules(Rules.preset("escalating", 4), "deal", 5), corrected()
    checked = 0
    for table in range(12):
        games, chooser = new_games(1), new_games(1)
        batch.seed_tables(games, np.uint64(5), np.uint64(table))
        batch.seed_tables(chooser, np.uint64(6), np.uint64(table))
        batch.begin_all(games, compiled)
        start = games.copy()
        cards, bids = (
            AdvantageDataset.empty(CARD_SITUATION, CARD_CHOICE),
            AdvantageDataset.empty(BID_SITUATION, BID_CHOICE),
        )
        tables = games, new_games(1), np.full((1, 4), HEURISTIC, np.int16)
        settings = RolloutSettings(0.0, 0.0, 0.0, 1.0, 1.0, 1.0)
        at = label_all(tables, compiled, models, chooser, settings, cards, bids)
        expected = own_choices(start, compiled, models)
        found = [labels_of(dataset, count) for dataset, count in ((cards, at[0]), (bids, at[2]))]
        for phase in (0, 1):
            assert len(expected[phase]) == len(found[phase])
            for (size, worth), labels in zip(expected[phase], found[phase], strict=True):
                assert len(labels) == size
                assert min(abs(labels - worth)) < 1e-5
                checked += 1
    assert checked > 100


def labels_of(dataset: AdvantageDataset, decisions: int) -> list[np.ndarray]:
    sizes = dataset.sizes[:decisions].astype(int)
    return np.split(dataset.values[: sizes.sum()], np.cumsum(sizes)[:-1])


def own_choices(games: Any, compiled: Any, models: Any) -> list[list[tuple[int, float]]]:
    """Plays a deal out; returns what each free decision brought in the end, cards then bids.

    Distinct choices are counted as the player counts them: its values tell which it weighed.
    """
    from ohhell_agents.value.cards import card_values

    row, made = games[0], []
    while row["phase"] <= Phase.PLAY:
        legal = int(row["legal"])
        if legal & (legal - 1):
            values = np.full(64, np.nan)
            count = legal.bit_count()
            if row["phase"] == Phase.PLAY:
                card_values(row, compiled[0], models[0], values)
                count = int((~np.isnan(values)).sum())
            if count > 1:
                made.append((int(row["phase"] == Phase.BID), count, int(row["seat"])))
        batch.step_one(games, compiled, heuristic_action(row, compiled[0], models[0]))
        row = games[0]
    points = row["points"][:4].astype(float)
    unit = price(compiled[0], int(row["hand_size"]))
    found: list[list[tuple[int, float]]] = [[], []]
    for phase, count, seat in made:
        others = (points.sum() - points[seat]) / 3
        found[phase].append((count, (points[seat] - others) / unit))
    return found


def test_labels_are_the_same_with_any_number_of_threads() -> None:
    players = EnginePlayers(corrected(), (EngineOpponent((RANDOM,), 0.2),))
    one, two = (label(config_of(threads=threads), players, 1) for threads in (1, 3))
    assert one.decisions >= 3000
    assert all_equal(one, two)
    assert not all_equal(one, label(config_of(threads=1), players, 2))


def all_equal(one: LabelledDecisions, two: LabelledDecisions) -> bool:
    pairs = [(a, b) for x, y in zip(one, two, strict=True) for a, b in zip(x, y, strict=True)]
    return all(np.array_equal(a, b) for a, b in pairs)


def test_labels_stay_within_what_float16_holds() -> None:
    rules = ["escalating", "pocha", "oh_pshaw", "nomination_whist", "plump", "british_oh_hell"]
    dataset = label(
        config_of(rules=rules, players=[2, 3, 4, 5, 6, 7, 8]), EnginePlayers(corrected()), 1
    )
    for part in dataset:
        assert np.isfinite(part.situations).all() and np.isfinite(part.choices).all()
        assert np.abs(part.situations).max() <= 8 and np.abs(part.choices).max() <= 8
        assert (part.sizes >= 2).all() and part.sizes.sum() == len(part.values)
    assert (dataset.bids.numbers >= 0).all() and dataset.bids.numbers.max() < NUM_BIDS
    assert (dataset.cards.numbers >= 0).all() and dataset.cards.numbers.max() < BID_BASE


# ------------------------------------------------------------------ fits


def made_up(decisions: int) -> AdvantageDataset:
    """Returns decisions in which the second input of a choice, and one bit of the table, decide."""
    drawn = np.random.default_rng(1)
    sizes = drawn.integers(2, 6, size=decisions).astype(np.int8)
    choices = drawn.normal(size=(sizes.sum(), CARD_CHOICE)).astype(np.float32)
    bits = np.zeros((decisions, BIT_WORDS), np.uint64)
    bits[:, 3] = drawn.integers(2, size=decisions)
    sign = np.repeat(np.where(bits[:, 3] & np.uint64(1), 1.0, -1.0), sizes)
    worth = choices[:, 0] + sign * choices[:, 1] + drawn.normal(0, 0.1, sizes.sum())
    luck = np.repeat(drawn.normal(0, 5, decisions), sizes)  # shared by all choices: must not matter
    numbers = drawn.integers(52, size=sizes.sum())
    situations = drawn.normal(size=(decisions, CARD_SITUATION)).astype(np.float32)
    return AdvantageDataset(
        situations, bits, choices, numbers, (worth + luck).astype(np.float32), sizes
    )


def test_a_fit_finds_what_decides() -> None:
    torch.manual_seed(1)
    network = AdvantageNet(CARD_SITUATION, CARD_CHOICE, BID_BASE)
    dataset, settings = made_up(6000), RoundFitSettings(epochs=1, batch_size=256)
    first = fit_advantage_net(network, dataset, settings, 3e-3, 1)
    last = fit_advantage_net(network, dataset, RoundFitSettings(epochs=12, batch_size=256), 3e-3, 2)
    assert first > 1.5 and last < 0.3 * first


def test_weights_go_into_models_and_back() -> None:
    models = corrected()
    network = AdvantageNet(BID_SITUATION, BID_CHOICE, NUM_BIDS)
    network.take(models, "bid")
    other = corrected(seed=9)
    network.put(other, "bid")
    assert np.array_equal(other["bid_table"], models["bid_table"])
    assert np.array_equal(other["bid_out"], models["bid_out"])
    assert not np.array_equal(other["card_out"], models["card_out"])


def test_no_decisions_change_nothing() -> None:
    network = AdvantageNet(BID_SITUATION, BID_CHOICE, NUM_BIDS)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    empty = AdvantageDataset.empty(BID_SITUATION, BID_CHOICE).compact(0, 0)
    assert np.isnan(fit_advantage_net(network, empty, RoundFitSettings(), 1e-3, 1))
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_nothing_to_label_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ohhell_train.counterfactual.dataset._IN_VAIN", 2)
    config = config_of(bids=0, hand_size=1)
    with pytest.raises(RulesError, match="no decision was labelled in 512 deals"):
        label(config, EnginePlayers(fitted()), 1)


# ------------------------------------------------------------------ runs


def fingerprints(run: CounterfactualRun) -> list[str]:
    return [player.fingerprint for player in run.rounds()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> CounterfactualRun:
    opponents = [{"player": "random", "share": 0.1}, {"player": "past", "share": 0.2}]
    run = begin_counterfactual(
        tmp_path_factory.mktemp("runs") / "a", config_of(opponents=opponents)
    )
    train_run(run, quiet=True)
    return run


def test_a_run_explains_itself(finished: CounterfactualRun) -> None:
    names = {file.name for file in finished.path.iterdir()}
    texts = {"config.yaml", "versions.json", "metrics.csv"}
    assert names == texts | {"rounds", "best", "last", "tensorboard"}
    lines = (finished.path / "metrics.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 3 and lines[0].startswith("round,decisions")
    assert "over_heuristic_low" in lines[0]
    player = ohhell_agents.load(finished.path / "best")
    assert player.kind == "counterfactual"
    assert finished.config().rounds == 2


def test_a_run_that_was_stopped_ends_as_an_unbroken_one(
    finished: CounterfactualRun, tmp_path: Path
) -> None:
    whole = fingerprints(finished)
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    shutil.rmtree(copy / "rounds" / "2")
    (copy / "metrics.csv").unlink()
    shutil.rmtree(copy / "best")
    again = CounterfactualRun.open(copy)
    assert len(again.rounds()) == 1
    train_run(again, quiet=True)
    assert fingerprints(again) == whole
    assert (copy / "metrics.csv").exists() and (copy / "best").is_dir()


@pytest.mark.parametrize(
    ("file", "before", "after", "expected"),
    [
        ("weights.safetensors", b"", b"x", "does not fit the network"),
        ("agent.json", b"reckoning-1", b"reckoning-0", "train the player again"),
        ("agent.json", b'"seconds":', b'"secs":', "its record of the training is damaged"),
        ("agent.json", b'"scores": {', b'"scores": {"x": "ab",', "the training is damaged"),
        ("agent.json", b'"scores": {', b'"scores": {"x": [NaN, 0, 0],', "the training is damaged"),
        ("agent.json", b'"seconds":', b'"seconds": 1e999, "x":', "the training is damaged"),
    ],
)
def test_a_damaged_round_is_told_and_nothing_is_played_over_it(
    finished: CounterfactualRun,
    tmp_path: Path,
    file: str,
    before: bytes,
    after: bytes,
    expected: str,
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    place = copy / "rounds" / "1" / file
    content = place.read_bytes()
    place.write_bytes(content.replace(before, after) if before else content[:1000])
    kept = place.read_bytes()
    with pytest.raises(CheckpointError, match=expected):
        train_run(CounterfactualRun.open(copy), quiet=True)
    assert place.read_bytes() == kept and (copy / "rounds" / "2").is_dir()


def test_an_empty_settings_file_is_told(
    finished: CounterfactualRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    for text, expected in (("", "is empty"), ("method: [a]\n", "method")):
        (copy / "config.yaml").write_text(text, encoding="utf-8")
        assert main(["resume", str(copy)]) == 2
        assert expected in capsys.readouterr().err


def test_cards_and_bids_are_both_learned_in_every_round(finished: CounterfactualRun) -> None:
    first, second = (player.models for player in finished.rounds())
    for name in ("card_out", "bid_out", "card_table", "bid_table", "bid_situation"):
        assert np.abs(first[name]).max() > 0, name
        assert not np.array_equal(first[name], second[name]), name


def test_another_seed_is_another_player(finished: CounterfactualRun, tmp_path: Path) -> None:
    run = begin_counterfactual(tmp_path / "b", config_of(seed=2, rounds=1))
    train_run(run, quiet=True)
    assert fingerprints(run)[0] != fingerprints(finished)[0]
    train_run(run, quiet=True)
    assert run.rounds()[0].fingerprint == fingerprints(run)[0]  # nothing is left to do


def test_it_can_begin_with_another_player(finished: CounterfactualRun, tmp_path: Path) -> None:
    first = shutil.copytree(finished.path / "best", tmp_path / "first")
    config = config_of(rounds=1, start=str(first))
    run = begin_counterfactual(tmp_path / "c", config)
    shutil.rmtree(first)  # the run has a copy of its own
    train_run(run, quiet=True)
    assert fingerprints(run)[0] not in fingerprints(finished)
    with pytest.raises(RulesError, match="must be a checkpoint of counterfactual self-play"):
        begin_counterfactual(tmp_path / "d", config_of(start="heuristic"))
    assert not (tmp_path / "d").exists()


def test_a_run_needs_the_files_of_its_rules_no_more(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        Rules.preset("kachuful", 4).replace(scoring="simple").to_yaml(), encoding="utf-8"
    )
    config = config_of(rules=(str(own), "oh_hell"), players=(3, 4))
    before = config.table_kinds()
    run = begin_counterfactual(tmp_path / "run", config)
    own.unlink()
    rules = run.config().rules
    assert isinstance(rules, tuple) and rules[1] == "oh_hell"
    assert run.config().table_kinds() == before


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rules": "oh_hel"}, "oh_hell"),
        ({"players": 9}, "2 to 8"),
        ({"players": [3, 1]}, "2 to 8"),
        ({"hand_size": 0}, "^hand_size: 1 to 26"),
        ({"hand_size": 20}, "hand_size=20: schedule: 4 hands of 20"),
        ({"hand_size": 1, "bids": 0}, "bids=0: deals of one card have nothing else to learn"),
        ({"start": "nobody"}, "start: unknown player"),
        ({"rounds": 0}, "rounds"),
        ({"round": 3}, "unknown setting 'round': did you mean 'rounds'"),
        ({"opponents": [{"player": "heuristic", "share": 1.5}]}, "share"),
        (
            {"opponents": [{"player": "random", "share": 0.6}, {"player": "past", "share": 0.5}]},
            "more than 1",
        ),
        ({"opponents": [{"player": "nobody", "share": 0.1}]}, "opponents: unknown player"),
        ({"opponents": [{"player": "search", "share": 0.1}]}, "does not run inside the engine"),
        (
            {"bids": 0, "cards": 0},
            "^bids=0 and cards=0 leave nothing to learn: set one of them above 0$",
        ),
        ({"rules": []}, "rules: give at least one"),
        ({"players": []}, "players: give at least one"),
        ({"report": {"fields": []}}, "at least 1"),
        ({"report": {"fields": ["nobody"]}}, "report.fields: unknown player"),
        ({"report": {"fields": ["tests.train.players:CannotBegin"]}}, "fields: .*cannot begin"),
        ({"report": {"fields": ["process:/nowhere"]}}, "report.fields: .*cannot be started"),
        ({"method": "ppo"}, "method"),
    ],
)
def test_settings_that_cannot_be_are_told_and_leave_nothing(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    with pytest.raises(OhHellError, match=expected):
        begin_counterfactual(tmp_path / "x", config_of(**changes))
    assert not (tmp_path / "x").exists()


def test_a_field_that_cannot_play_these_rules_is_told_before_the_first_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: ohhell_agents.Agent, rules: Rules, seat: int | None = None) -> None:
        raise CheckpointError("not these")

    monkeypatch.setattr(ohhell_agents.RandomAgent, "begin", refuse)
    with pytest.raises(RulesError, match=r"report\.fields: not these"):
        begin_counterfactual(tmp_path / "x", config_of(report={"fields": ["random"]}))
    assert not (tmp_path / "x").exists()


def test_deals_of_one_card_hold_no_card_to_learn(tmp_path: Path) -> None:
    run = begin_counterfactual(tmp_path / "a", config_of(hand_size=1, decisions=100))
    (run.path / "rounds" / ".1.new-123").mkdir(parents=True)  # as a kill leaves it
    train_run(run, quiet=True)
    assert "NaN" not in (run.path / "best" / "agent.json").read_text(encoding="utf-8")
    head, first, _ = (run.path / "metrics.csv").read_text(encoding="utf-8").splitlines()
    row = dict(zip(head.split(","), first.split(","), strict=True))
    assert row["card_loss"] == "" and float(row["bid_loss"]) >= 0
    assert {folder.name for folder in (run.path / "rounds").iterdir()} == {"1", "2"}


def test_of_several_rules_those_are_taken_that_go_together() -> None:
    kinds = config_of(rules=["escalating", "plump"], players=[2, 6]).table_kinds()
    assert [(rules.name, rules.players) for rules, _ in kinds] == [
        ("escalating", 6),
        ("plump", 2),
    ] or {(rules.name, rules.players) for rules, _ in kinds} >= {("plump", 2), ("escalating", 6)}


def test_the_command_line_trains_resumes_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "tiny.yaml", tmp_path / "run"
    file.write_text(config_of(rounds=1).to_yaml(), encoding="utf-8")
    assert main(["fit", "--config", str(file), "--out", str(out)]) == 0
    assert "labelled decisions of 1 round in" in capsys.readouterr().out
    assert main(["resume", str(out)]) == 0
    assert "is finished" in capsys.readouterr().out
    assert main(["fit", "--config", str(file), "--out", str(out)]) != 0
    assert "already exists" in capsys.readouterr().err
    file.write_text("method: guessing\n", encoding="utf-8")
    assert main(["fit", "--config", str(file), "--out", str(tmp_path / "y")]) != 0
    error = capsys.readouterr().err
    assert "method" in error and "counterfactual" in error and "Traceback" not in error


@pytest.mark.slow
def test_it_learns_to_beat_the_heuristic_player(tmp_path: Path) -> None:
    config = config_of(decisions=250_000, rounds=1, fit={"epochs": 4}, hand_size=8)
    run = begin_counterfactual(tmp_path / "run", config)
    train_run(run, quiet=True)
    player = run.rounds()[-1]
    found = measure(
        player, ohhell_agents.make("heuristic"), Rules.preset("escalating", 4), 2000, 7, 8
    )
    assert found.low > 0.8
    assert fitted()["has_advantages"][0] == 0  # the heuristic player itself is as it was
