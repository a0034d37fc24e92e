"""Fitting the heuristic player's models: what is noted, and that it serves.

Most of it is slow: what plays and notes takes half a minute to compile.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ohhell_agents.value.trick_model import MODELS, fitted, from_plain, models_to_plain, new_models
from ohhell_env.cli.commands import main
from ohhell_env.engine import batch
from ohhell_env.engine.layout import compile_rules, new_games
from ohhell_env.rules import Rules
from ohhell_train.trick_model.fit import play_and_note, training_rules
from ohhell_train.trick_model.folder import TrickModelRun
from ohhell_train.trick_model.samples import CURRENT, FUTURE, Noise, collect

CALM = Noise(0.0, 0.0, 0.0, 0.0)


def noted(rules: Rules, tables: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns rows of deals of one size: inputs and labels of future, labels of current."""
    compiled = compile_rules(rules, "deal", size)
    games, choosers = new_games(tables), new_games(1)
    batch.seed_tables(games, np.uint64(4), np.uint64(0))
    batch.seed_tables(choosers, np.uint64(5), np.uint64(0))
    batch.begin_all(games, compiled)
    room = tables * rules.players * (size + 3)
    future, future_won = np.zeros((room, FUTURE), np.float32), np.zeros(room, np.int8)
    current, current_won = np.zeros((room, CURRENT), np.float32), np.zeros(room, np.int8)
    counts = collect(
        games, compiled, fitted(), choosers, CALM, future, future_won, current, current_won
    )
    return future[: counts[0]], future_won[: counts[0]], current_won[: counts[1]]


@pytest.mark.slow
def test_of_a_single_trick_one_card_is_noted_as_won() -> None:
    """Each seat has one card: noted at its bid and before the trick, and one of three wins."""
    future, won, current_won = noted(Rules.preset("oh_hell", 3), 40, 1)
    assert len(future) == 40 * 6
    assert (won.reshape(40, 2, 3).sum(axis=2) == 1).all()
    assert set(current_won.tolist()) == {0, 1}
    assert np.isfinite(future).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 7])
def test_as_many_notes_as_seats_and_tricks(size: int) -> None:
    future, won, _ = noted(Rules.preset("oh_hell", 4), 30, size)
    assert len(future) == 30 * 4 * (1 + size)
    last_trick = won.reshape(30, 1 + size, 4)[:, -1]
    assert (last_trick.sum(axis=1) == 1).all(), "before the last trick each seat has one card"


def test_the_tables_are_of_many_kinds() -> None:
    rules = [training_rules(number) for number in range(200)]
    assert {each.players for each in rules} == set(range(2, 9))
    assert {each.trump.method for each in rules} > {"none"}
    assert len({each.scoring for each in rules}) > 5
    assert {each.play.void for each in rules} == {"any", "must_trump"}


def test_models_are_read_as_they_were_written() -> None:
    models = fitted()
    again = from_plain(json.loads(json.dumps(models_to_plain(models))))
    for name in MODELS.names or ():
        assert np.allclose(again[name], models[name], atol=1e-5)
    assert not models.flags.writeable
    with pytest.raises(ValueError, match="later_card"):
        plain = models_to_plain(models)
        plain["weights"]["later_card"][0][0] = float("nan")
        from_plain(plain)


@pytest.mark.slow
def test_fitted_models_tell_more_than_even_ones() -> None:
    """On fresh play the chances agree with what happened: sums by tenths are close."""
    future, won, _, _ = play_and_note(fitted(), 20_000, 99, CALM)
    model = fitted()[0]
    weights = [model["later_situation"], model["later_want"], model["later_card"]]
    hidden = np.maximum(future @ np.concatenate(weights) + model["later_bias"], 0.0)
    output = hidden @ model["later_out"] + model["later_end"]
    chances = 0.5 + 0.5 * output / np.sqrt(1.0 + output**2)
    error = np.mean((chances - won) ** 2)
    assert error < 0.75 * np.mean((won.mean() - won) ** 2)
    for tenth in range(10):
        inside = (chances >= tenth / 10) & (chances < (tenth + 1) / 10)
        if inside.sum() > 500:
            assert won[inside].mean() == pytest.approx(chances[inside].mean(), abs=0.05)


@pytest.mark.slow
def test_a_run_writes_models_that_load_and_an_interrupted_one_ends_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--set", "method=trick_model", "--set", "cards=8200", "--set", "rounds=1"]
    words += ["--set", "fit.epochs=1", "--seed", "3", "--set", "report.deals=10"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert main(["fit", "--out", str(whole), *words]) == 0
    assert "cards of 2 rounds in" in capsys.readouterr().out
    text = (whole / "trick_model.json").read_text(encoding="utf-8")
    models = from_plain(json.loads(text))
    assert any((models[name] != new_models()[name]).any() for name in MODELS.names or ())
    with (whole / "metrics.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["round"] for row in rows] == ["1", "2"]
    assert all(row["over_heuristic"] and row["over_random"] for row in rows)

    save = TrickModelRun.save

    def struck(self: TrickModelRun, *args: Any) -> None:
        save(self, *args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TrickModelRun, "save", struck)
        assert main(["fit", "--out", str(broken), *words]) == 130
    assert "1 round kept" in capsys.readouterr().out
    assert (broken / "trick_model.json").read_text(encoding="utf-8") != text
    assert main(["resume", str(broken)]) == 0
    assert (broken / "trick_model.json").read_text(encoding="utf-8") == text
    settings = (broken / "config.yaml").read_text(encoding="utf-8")
    (broken / "config.yaml").write_text(
        settings.replace("cards: 8200", "cards: 8300"), encoding="utf-8"
    )
    assert main(["resume", str(broken)]) == 2
    assert "cards changed since state.safetensors was written" in capsys.readouterr().err
