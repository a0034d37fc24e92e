"""The training methods, by their name in the setting ``method``.

A new method needs its settings, a ``RunFolder``, a ``Trainer``, and one line in ``METHODS``.
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
    """A training method: its classes, as "module:class", and how to read its metrics.

    The classes are loaded on first use, because not every method needs torch.
    """

    config: str
    """Its settings, a ``RunSettings``."""
    run_folder: str
    """Its files, a ``RunFolder``."""
    run_trainer: str
    """Its training loop, a ``Trainer``."""
    steps_repeat: bool = False
    """Whether each step goes through all ``decisions`` of the settings again, as an epoch does.
    Otherwise the metrics have a column ``decisions``: those of the step if there is a column
    ``round``, or else all so far."""
    deals_repeat: bool = False
    """Whether a measurement plays ``report.deals`` for each number of players in a list."""

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
    "ppo": Method(
        "ppo.config:PpoConfig", "ppo.folder:PpoRun", "ppo.run:PpoTrainer", deals_repeat=True
    ),
    "counterfactual": Method(
        "counterfactual.config:CounterfactualConfig",
        "counterfactual.folder:CounterfactualRun",
        "counterfactual.run:CounterfactualTrainer",
    ),
    "distill": Method(
        "distill.config:DistillConfig",
        "distill.folder:DistillRun",
        "distill.run:DistillTrainer",
        steps_repeat=True,
    ),
    "trick_model": Method(
        "trick_model.config:TrickModelConfig",
        "trick_model.folder:TrickModelRun",
        "trick_model.run:TrickModelTrainer",
    ),
}
USUAL = "counterfactual"
"""The method if there is no settings file and no other setting names one."""


def method_of(settings: Mapping[str, Any]) -> Method | None:
    """Returns the method that unchecked settings name; None if they name none."""
    name = settings.get("method")
    return METHODS.get(name) if isinstance(name, str) else None


def load_settings(path: Path | None, changes: Mapping[str, Any]) -> RunSettings:
    """Returns the settings of a YAML file, with changes, for the training method that it names.

    Args:
        path: The file; None uses the defaults.
        changes: Settings by dotted name, such as ``{"ppo.n_epochs": 2}``.

    Raises:
        RulesError: The method is unknown, or see ``Settings.load``.
    """
    usual = USUAL if path is None else read_settings_file(path).get("method", "ppo")
    name = changes.get("method", usual)
    if not isinstance(name, str) or name not in METHODS:
        where = "" if path is None else f"{path}: "
        raise RulesError(f"{where}method: {nearest(str(name), METHODS)}, got {shown(name)}")
    return METHODS[name].settings.load(path, changes)


def check_run(config: RunSettings) -> None:
    """Checks settings as far as possible without a run.

    Raises:
        OhHellError: The settings cannot be played, or a player does not exist.
    """
    _load(METHODS[config.method].run_trainer).check(config)


def begin_run(path: Path, config: RunSettings, force: bool = False) -> Run:
    """Begins a run in a folder.

    Args:
        path: The folder.
        config: The settings, including the training method.
        force: Move the folder's present content aside first.

    Raises:
        OhHellError: The settings cannot be played, or the folder is not empty; nothing is written.
        InUseError: Another process trains in the folder.
    """
    check_run(config)
    return METHODS[config.method].folder.begin(path, config, force)


def open_run(path: Path) -> Run:
    """Returns the run of a folder.

    Raises:
        RulesError: The folder holds no run, or its settings do not fit this version.
    """
    if not (path / CONFIG).is_file():
        raise RulesError(f"{path}: no training run here ({CONFIG} is missing)")
    if not read_settings_file(path / CONFIG):
        raise RulesError(f"{path / CONFIG} is empty: it is damaged, restore it from a copy")
    return METHODS[load_settings(path / CONFIG, {}).method].folder.open(path)


def train_run(run: Run, quiet: bool = False) -> None:
    """Trains a new or interrupted run to its end; does nothing if it is finished.

    Args:
        run: The run.
        quiet: Show nothing.

    Raises:
        OhHellError: See ``ohhell_train.runs.trainer.train``.
    """
    from ohhell_train.runs.trainer import train  # needs torch, which settings alone do not

    train(_load(METHODS[run.config().method].run_trainer), run, quiet)
