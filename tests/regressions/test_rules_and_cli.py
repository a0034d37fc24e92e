"""Mistakes in rules, settings, YAML and the command line that must not come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from ohhell_env import Rules
from ohhell_env.cli.commands import main
from ohhell_env.errors import RulesError
from ohhell_env.rules.axes import Bidding
from ohhell_env.rules.explain import explain


def test_scores_that_the_engine_cannot_hold_are_refused() -> None:
    off = {"miss_per_trick": 0, "miss_per_diff_sq": 10_000, "miss_per_diff_tri": 10_000}
    with pytest.raises(RulesError, match="exceed the largest possible score"):
        Rules.from_dict(
            {
                "players": 2,
                "schedule": {"shape": "constant", "high": 26},
                "bidding": {"hook": "none"},
                "scoring": off,
                "end": {"target": 10_000, "max_deals": 10_000},
            }
        )


def test_a_named_axis_and_a_dotted_field_in_one_call() -> None:
    rules = Rules().replace(settlement="differences", **{"settlement.rate": 0.5})
    assert (rules.settlement.kind, rules.settlement.rate) == ("differences", 0.5)
    scoring = Rules.from_dict({"scoring": "simple", "scoring.exact_bonus": 5}).scoring
    assert (scoring.miss_per_trick, scoring.exact_bonus) == (0, 5)


@pytest.mark.parametrize(
    "text",
    [
        "players: 2020-13-45",
        "players: " + "9" * 5000,
        "players: " + "[" * 3000 + "]" * 3000,
        "preset: [oh_hell]",
        "players: !!bool x",
        "players: !!timestamp x",
        "preset: {a: 1}",
        "players: 4\nplayers: 5",
        "{bidding: {hook: none, hook: none}}",
    ],
)
def test_yaml_of_every_wrong_kind_is_a_rules_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RulesError):
        Rules.from_yaml(path)


@pytest.mark.parametrize("value", ["2020-13-45", "9" * 5000, "[" * 5000])
def test_set_values_of_every_wrong_kind_are_one_line(value: str, capsys: Any) -> None:
    assert main(["rules", "oh_hell", "--set", f"players={value}"]) == 2
    assert capsys.readouterr().err.startswith("error:")


def test_an_empty_file_name_is_one_line(capsys: Any) -> None:
    assert main(["deal", "--out", ""]) == 2
    assert capsys.readouterr().err.startswith("error:")


def test_paths_that_cannot_be() -> None:
    for path in ("a\0.yaml", None, 5):
        with pytest.raises(RulesError):
            Rules.from_yaml(path)  # type: ignore[arg-type]


def test_numpy_numbers_are_whole_numbers_in_rules_too() -> None:
    assert Rules(players=np.int64(5)) == Rules(players=5)  # type: ignore[arg-type]
    assert Rules.preset("rikiki", np.int64(5)) == Rules.preset("rikiki", 5)  # type: ignore[arg-type]


def test_blind_first_in_a_game_to_a_target_is_told_as_it_is_played() -> None:
    rules = Rules.from_dict(
        {"schedule.shape": "up", "schedule.high": 2, "blind_one_card": "first", "end.target": 50}
    )
    assert "is blind the first time through" in " ".join(explain(rules).split())


def test_the_tables_of_settings_are_spelled_right() -> None:
    page = Path(__file__).parents[2] / "docs" / "rules.md"
    assert "numberss" not in page.read_text(encoding="utf-8")


def test_letters_of_a_pack_are_plain() -> None:
    for letter in ("\u0663", "\u00b2"):
        with pytest.raises(RulesError):
            Rules(pack={"suits": ["C", letter]})  # type: ignore[arg-type]


def test_an_axis_made_by_hand_is_checked_too() -> None:
    with pytest.raises(RulesError, match="hook"):
        Rules(bidding=Bidding(hook="foo"))  # type: ignore[arg-type]


def test_numbers_without_measure_and_foreign_texts() -> None:
    with pytest.raises(RulesError, match="at most 16 digits"):
        Rules(players=10**5000)
    rules = Rules().replace(name=np.str_("x"))
    assert Rules.from_dict(yaml.safe_load(rules.to_yaml())) == rules
