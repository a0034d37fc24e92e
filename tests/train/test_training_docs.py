"""docs/training.md: the settings, recipes and files that it names exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ohhell_env.cli.rules import parse_changes
from ohhell_train.cli import QUICK
from ohhell_train.counterfactual.config import CounterfactualConfig
from ohhell_train.ppo.config import Config

ROOT = Path(__file__).parent.parent.parent
CONFIGS = ROOT / "configs" / "train"
TEXT = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
CHANGE = re.compile(r'--set\s+("[^"]+"|[^\s`]+)')


def test_every_setting_that_is_named_is_one() -> None:
    changes = [shlex.split(change)[0] for change in CHANGE.findall(TEXT)]
    assert len(changes) > 8
    for change in changes:
        name, _, value = change.partition("=")
        text = value.replace("runs/x/best", "heuristic")
        needed = {"more_players": ["layout=universal"], "ppo.pull": ["start=runs/x/best"]}
        settings = Config if name.partition(".")[0] in Config.model_fields else CounterfactualConfig
        settings.load(None, parse_changes([f"{name}={text}", *needed.get(name, [])]))
    for name in re.findall(r"`((?:opponents|pool|report|network|ppo)\.[a-z_]+)`", TEXT):
        section, _, field = name.partition(".")
        assert field in type(getattr(Config(), section)).model_fields, name


def test_every_recipe_that_is_named_exists_and_is_told() -> None:
    named = set(re.findall(r"configs/train/(\w+)\.yaml", TEXT))
    assert named <= {file.stem for file in CONFIGS.glob("*.yaml")}
    assert {"smoke", "counterfactual", "selfplay"} <= named
    assert all(f"`train/ohhell_train/recipes/{file.name}`" in TEXT for file in QUICK)


def test_files_that_are_named_exist() -> None:
    for name in re.findall(r"`(\w+\.py)`", TEXT):
        assert list((ROOT / "train" / "ohhell_train").rglob(name)), name
