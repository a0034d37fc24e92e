"""The ways to train, by the name that settings give in ``method``.

A new way is a folder with its settings, what it keeps (``RunFolder``) and what it does
(``Trainer``), and one line in ``METHODS``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ohhell_env.errors import RulesError, nearest, shown
from ohhell_train.runs.base import CONFIG, RunFolder
from ohhell_train.settings import RunSettings, read_settings_file

Run = RunFolder[Any]


class Method(NamedTuple):
    """A way to train, as "module:class"; loaded when it is asked for, since not all need torch."""

    config: str
    """Its settings, a ``RunSettings``."""
    run_folder: str
    """What it keeps, a ``RunFolder``."""
    run_trainer: str
    """What it does, a ``Trainer``."""

    @property
    def settings(self) -> type[RunSettings]:
        """The class of its settings."""
        return _load(self.config)

    @property
    def folder(self) -> type[Run]:
        """The class of its folders."""
        return _load(self.run_folder)


def _load(name: str) -> Any:
    module, _, member = name.partition(":")
    return getattr(importlib.import_module(f"ohhell_train.{module}"), member)


METHODS: dict[str, Method] = {
    "ppo": Method("ppo.config:PpoConfig", "ppo.folder:PpoRun", "ppo.run:PpoTrainer"),
    "counterfactual": Method(
        "counterfactual.config:CounterfactualConfig",
        "counterfactual.folder:CounterfactualRun",
        "counterfactual.run:CounterfactualTrainer",
    ),
    "distill": Method(
        "distill.config:DistillConfig", "distill.folder:DistillRun", "distill.run:DistillTrainer"
    ),
    "trick_model": Method(
        "trick_model.config:TrickModelConfig",
        "trick_model.folder:TrickModelRun",
        "trick_model.run:TrickModelTrainer",
    ),
}
USUAL = "counterfactual"
"""The method of settings without a file that name none."""


def load_settings(path: Path | None, changes: Mapping[str, Any]) -> RunSettings:
    """Returns the settings of a YAML file, with changes, of whichever way to train it names.

    Args:
        path: The file; None: the defaults.
        changes: By setting, dotted where it stands in a section.

    Raises:
        RulesError: As for ``Settings.load``, or there is no such way to train.
    """
    usual = USUAL if path is None else read_settings_file(path).get("method", "ppo")
    name = changes.get("method", usual)
    if not isinstance(name, str) or name not in METHODS:
        where = "" if path is None else f"{path}: "
        raise RulesError(f"{where}method: {nearest(str(name), METHODS)}, got {shown(name)}")
    return METHODS[name].settings.load(path, changes)


def check_run(config: RunSettings) -> None:
    """Checks settings, as far as that can be done without a run.

    Raises:
        OhHellError: They cannot be played, or one of the players is not found.
    """
    _load(METHODS[config.method].run_trainer).check(config)


def begin_run(path: Path, config: RunSettings, force: bool = False) -> Run:
    """Begins a run in a folder.

    Args:
        path: The folder.
        config: The settings; they say how it trains.
        force: Move aside what is there first.

    Raises:
        OhHellError: The settings cannot be played, or the folder is taken; nothing is written.
        InUseError: Another process trains in the folder.
    """
    check_run(config)
    return METHODS[config.method].folder.begin(path, config, force)


def open_run(path: Path) -> Run:
    """Returns the run of a folder.

    Raises:
        RulesError: There is none, or its settings are none of this version.
    """
    if not (path / CONFIG).is_file():
        raise RulesError(f"{path}: no training run here ({CONFIG} is missing)")
    if not read_settings_file(path / CONFIG):
        raise RulesError(f"{path / CONFIG}: is empty: it is damaged, put back what was there")
    return METHODS[load_settings(path / CONFIG, {}).method].folder.open(path)


def train_run(run: Run, quiet: bool = False) -> None:
    """Trains a run, new or interrupted, to its end; does nothing if it is finished.

    Args:
        run: The run.
        quiet: Show nothing.

    Raises:
        OhHellError: As for ``ohhell_train.runs.trainer.train``.
    """
    from ohhell_train.runs.trainer import train  # needs torch, which settings alone do not

    train(_load(METHODS[run.config().method].run_trainer), run, quiet)
