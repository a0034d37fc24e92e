"""Settings of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules
from ohhell_train.methods import load_settings
from ohhell_train.ppo.config import Config

CONFIGS = Path(__file__).parents[2] / "configs" / "train"


def test_a_file_overrides_defaults_and_changes_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("tables: 12\nppo: {epochs: 7, entropy: 0.5}\n")
    config = Config.load(file, {"ppo.epochs": 2, "network.hidden": [8, 8]})
    assert (config.tables, config.ppo.epochs, config.ppo.entropy) == (12, 2, 0.5)
    assert config.network.hidden == (8, 8)
    assert config.laps == Config.load(None).laps


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"ppo.epoch": 2}, "unknown setting 'ppo.epoch': did you mean 'ppo.epochs'"),
        ({"table": 2}, "unknown setting 'table': did you mean 'tables'"),
        ({"tables": 0}, "tables: .*greater than or equal to 2, got 0"),
        ({"ppo.clip": "wide"}, "ppo.clip: .*number.*'wide'"),
        ({"ppo": 3}, "ppo: "),
        ({"layout": "cosy"}, "layout: .*'default' or 'universal', got 'cosy'"),
        ({"ppo.learning_rate": float("nan")}, "ppo.learning_rate"),
        ({"report.against": [3]}, "report.against.0: "),
        ({"opponents.others": {"heuristic": 2}}, "opponents.others.heuristic: .*less than or eq"),
        ({"opponents.past": 0.95}, "add up to more than 1"),
        ({"more_players": [3]}, "more_players needs layout=universal"),
        ({"opponents.random": 0.7, "opponents.heuristic": 0.6}, "add up to more than 1"),
    ],
)
def test_wrong_settings_are_named(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(RulesError, match=expected):
        Config.load(None, changes)


@pytest.mark.parametrize(
    ("text", "expected"), [("- 1\n", "by name"), ("a: [", "cannot read"), ("\x00", "cannot read")]
)
def test_files_that_are_no_settings(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(RulesError, match=expected):
        Config.load(tmp_path / "c.yaml")
    with pytest.raises(RulesError, match="cannot read"):
        Config.load(tmp_path / "missing.yaml")


def test_settings_cannot_be_changed_later() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Config.load(None).tables = 3  # type: ignore[misc]


def test_resolved_settings_come_back_from_their_text(tmp_path: Path) -> None:
    config = Config.load(None, {"rules": "pocha", "players": 3, "ppo.learning_rate": 3e-4})
    resolved = config.resolved()
    (tmp_path / "c.yaml").write_text(resolved.to_yaml())
    again = Config.load(tmp_path / "c.yaml")
    assert again == resolved
    assert again.resolved_rules() == Rules.preset("pocha", 3)
    assert again.resolved() == resolved


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_settings_are_right_and_say_nothing_twice(file: Path) -> None:
    config = load_settings(file, {})
    default = type(config).load(None)
    config.resolved()
    for key, value in yaml.safe_load(file.read_text()).items():
        assert key in type(config).model_fields, key
        assert value is not None
    assert (config == default) == (file.stem == "counterfactual")  # it writes the defaults out
