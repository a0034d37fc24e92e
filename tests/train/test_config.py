"""Settings of a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules
from ohhell_train.methods import load_settings
from ohhell_train.ppo.config import PpoConfig

CONFIGS = Path(__file__).parents[2] / "configs" / "train"


def test_a_file_overrides_defaults_and_changes_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("tables: 12\nppo: {n_epochs: 7, ent_coef: 0.5}\n", encoding="utf-8")
    config = PpoConfig.load(file, {"ppo.n_epochs": 2, "network.hidden": [8, 8]})
    assert (config.tables, config.ppo.n_epochs, config.ppo.ent_coef) == (12, 2, 0.5)
    assert config.network.hidden == (8, 8)
    assert config.rollout_laps == PpoConfig.load(None).rollout_laps


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"ppo.epoch": 2}, "unknown setting 'ppo.epoch': did you mean 'ppo.n_epochs'"),
        ({"table": 2}, "unknown setting 'table': did you mean 'tables'"),
        ({"tables": 0}, "tables: .*greater than or equal to 2, got 0"),
        ({"ppo.clip_range": "wide"}, "ppo.clip_range: .*number.*'wide'"),
        ({"ppo": 3}, "ppo: "),
        ({"layout": "cosy"}, "layout: .*'default' or 'universal', got 'cosy'"),
        ({"ppo.learning_rate": float("nan")}, "ppo.learning_rate"),
        ({"report.fields": [3]}, "report.fields.0: "),
        (
            {"opponents": [{"player": "heuristic", "share": 2}]},
            "opponents.0.share: .*less than or eq",
        ),
        ({"opponents": [{"player": "heuristic"}]}, "opponents.0.share: field required"),
        ({"opponents": [{"player": "past", "share": 0.1}] * 2}, "the list names a player twice"),
        ({"players": [4, 3]}, "several numbers of players need layout=universal"),
        (
            {
                "opponents": [
                    {"player": "past", "share": 0.7},
                    {"player": "heuristic", "share": 0.6},
                ]
            },
            "add up to more than 1",
        ),
    ],
)
def test_wrong_settings_are_named(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(RulesError, match=expected):
        PpoConfig.load(None, changes)


OLD = {
    "ppo": {
        "laps": (8, "write rollout_laps"),
        "learn": ("bids", "write part"),
        "rest": ("heuristic", "write partner"),
        "more_players": ([3], r"write players as a list, such as players=\[3, 4, 5\]"),
        "opponents.random": (0.1, r"write opponents as a list, such as \[{player: "),
        "opponents.others": ({"random": 0.1}, "write opponents as a list"),
        "network.critic": ("all_hands", "write network.critic=oracle"),
        "ppo.entropy": (0.1, "write ppo.ent_coef"),
        "ppo.clip": (0.1, "write ppo.clip_range"),
        "ppo.epochs": (2, "write ppo.n_epochs"),
        "ppo.minibatch": (64, "write ppo.batch_size"),
        "ppo.value_weight": (0.5, "write ppo.vf_coef"),
        "ppo.pull": (0.1, "write ppo.kl_coef"),
        "report.against": (["random"], "write report.fields"),
    },
    "counterfactual": {
        "fields": ([], "write opponents"),
        "fit.minibatch": (64, "write fit.batch_size"),
        "report.against": (["random"], "write report.fields"),
    },
    "distill": {
        "guests": ({"random": 0.1}, "write opponents as a list"),
        "fit.minibatch": (64, "write fit.batch_size"),
        "report.against": (["random"], "write report.fields"),
    },
}


@pytest.mark.parametrize(
    ("method", "name"), [(method, name) for method, names in OLD.items() for name in names]
)
def test_an_old_name_is_refused_with_the_new_one(method: str, name: str, tmp_path: Path) -> None:
    value, expected = OLD[method][name]
    expected = f"{re.escape(name)}.* was renamed: {expected}"
    with pytest.raises(RulesError, match=f"^{expected}"):
        load_settings(None, {"method": method, name: value})
    section, _, inner = name.partition(".")
    text = yaml.safe_dump({"method": method, section: {inner: value} if inner else value})
    (tmp_path / "old.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(RulesError, match=f"old.yaml: {expected}"):
        load_settings(tmp_path / "old.yaml", {})


def test_a_group_keeps_the_defaults_of_its_method() -> None:
    one, other = (load_settings(None, {"method": name}) for name in ("ppo", "counterfactual"))
    assert one.report.every == 250_000 and other.report.every == 1
    changed = load_settings(None, {"method": "counterfactual", "report.seed": 5})
    assert changed.report == other.report.model_copy(update={"seed": 5})


@pytest.mark.parametrize(
    ("text", "expected"), [("- 1\n", "by name"), ("a: [", "cannot read"), ("\x00", "cannot read")]
)
def test_files_that_are_no_settings(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(RulesError, match=expected):
        PpoConfig.load(tmp_path / "c.yaml")
    with pytest.raises(RulesError, match="cannot read"):
        PpoConfig.load(tmp_path / "missing.yaml")


def test_settings_cannot_be_changed_later() -> None:
    with pytest.raises(ValueError, match="frozen"):
        PpoConfig.load(None).tables = 3  # type: ignore[misc]


def test_resolved_settings_come_back_from_their_text(tmp_path: Path) -> None:
    config = PpoConfig.load(None, {"rules": "pocha", "players": 3, "ppo.learning_rate": 3e-4})
    resolved = config.resolved()
    (tmp_path / "c.yaml").write_text(resolved.to_yaml(), encoding="utf-8")
    again = PpoConfig.load(tmp_path / "c.yaml")
    assert again == resolved
    assert again.resolved_rules() == Rules.preset("pocha", 3)
    assert again.resolved() == resolved


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_settings_are_right_and_say_nothing_twice(file: Path) -> None:
    config = load_settings(file, {})
    default = type(config).load(None)
    config.resolved()
    for key, value in yaml.safe_load(file.read_text(encoding="utf-8")).items():
        assert key in type(config).model_fields, key
        assert value is not None
    assert (config == default) == (file.stem == "counterfactual")  # it writes the defaults out
