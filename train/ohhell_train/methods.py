"""The ways to train, by the name that settings give in ``method``, behind one set of functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ohhell_env.errors import RulesError, nearest, shown
from ohhell_env.rules import Rules
from ohhell_train.counterfactual import run as counterfactual
from ohhell_train.counterfactual.config import METHOD, CounterfactualConfig
from ohhell_train.counterfactual.folder import CounterfactualRun
from ohhell_train.distill import run as distill
from ohhell_train.distill.config import METHOD as DISTILL
from ohhell_train.distill.config import DistillConfig
from ohhell_train.distill.folder import DistillRun
from ohhell_train.ppo import run as ppo
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.folder import PpoRun
from ohhell_train.runs.base import CONFIG, RunFolder
from ohhell_train.settings import Settings, read_settings


class Method(ABC):
    """A way to train: what the command line needs of it."""

    settings: type[PpoConfig] | type[CounterfactualConfig] | type[DistillConfig]
    folder: type[RunFolder]
    """What a run of it is kept in."""
    module: Any
    """Where its ``begin``, ``check_settings`` and ``train`` are."""

    def begin(self, path: Path, config: Any, force: bool = False) -> Any:
        """Begins a run in a folder; with ``force``, what is there is moved aside first."""
        return self.module.begin(path, config, force)

    def open(self, path: Path) -> Any:
        """Returns the run of a folder."""
        return self.folder.open(path)

    def check(self, config: Any) -> None:
        """Checks settings, as far as that can be done without a run."""
        self.module.check_settings(config)

    def train(self, run: Any) -> None:
        """Trains a run to its end."""
        self.module.train(run)

    @abstractmethod
    def done(self, run: Any) -> str:
        """Returns how far a run is, such as "2 rounds"; empty where nothing is kept yet."""

    @abstractmethod
    def finished(self, run: Any) -> bool:
        """Returns whether a run came to its end."""

    @abstractmethod
    def summary(self, run: Any) -> str:
        """Returns what a run did, in a few words."""

    @abstractmethod
    def table(self, config: Any) -> tuple[Rules, int | None]:
        """Returns the rules, and the only hand size if there is one, to measure its player at."""


class _PPO(Method):
    settings, folder, module = PpoConfig, PpoRun, ppo

    def done(self, run: PpoRun) -> str:
        decisions = run.counters().decisions
        return f"{decisions:,} decisions" if decisions else ""

    def finished(self, run: PpoRun) -> bool:
        return run.counters().finished

    def summary(self, run: PpoRun) -> str:
        counters = run.counters()
        speed = counters.decisions / max(counters.seconds, 1e-9)
        return (
            f"Trained on {counters.decisions:,} decisions in {counters.seconds / 60:.1f} minutes "
            f"({speed:,.0f}/s)"
        )

    def table(self, config: PpoConfig) -> tuple[Rules, int | None]:
        return config.table_kinds()[0]


class _Counterfactual(Method):
    settings, folder, module = CounterfactualConfig, CounterfactualRun, counterfactual

    def done(self, run: CounterfactualRun) -> str:
        rounds = len(run.rounds())
        return f"{rounds} round{'s' if rounds > 1 else ''}" if rounds else ""

    def finished(self, run: CounterfactualRun) -> bool:
        return len(run.rounds()) >= run.config().rounds

    def summary(self, run: CounterfactualRun) -> str:
        rounds = [player.about for player in run.rounds()]
        if not rounds:
            return "No round was played"
        decisions = sum(about["decisions"] for about in rounds)
        minutes, cpu = rounds[-1]["seconds"] / 60, rounds[-1]["cpu_seconds"] / 60
        return (
            f"Trained on {decisions:,} labelled decisions of {self.done(run)} in {minutes:.1f} "
            f"minutes ({cpu:.1f} of the processor)"
        )

    def table(self, config: CounterfactualConfig) -> tuple[Rules, int | None]:
        return config.table_kinds()[0]


class _Distill(Method):
    settings, folder, module = DistillConfig, DistillRun, distill

    def done(self, run: DistillRun) -> str:
        epochs, parts = len(run.rows()), run.parts()
        if epochs:
            return f"{epochs} epoch{'s' if epochs > 1 else ''}"
        return f"{parts} part{'s' if parts > 1 else ''} of the games" if parts else ""

    def finished(self, run: DistillRun) -> bool:
        return len(run.rows()) >= run.config().fit.epochs

    def summary(self, run: DistillRun) -> str:
        config, rows = run.config(), run.rows()
        minutes, cpu = rows[-1]["seconds"] / 60, rows[-1]["cpu_seconds"] / 60
        return (
            f"Fitted to {config.decisions:,} decisions of {config.teacher} in {minutes:.1f} "
            f"minutes ({cpu:.1f} of the processor)"
        )

    def table(self, config: DistillConfig) -> tuple[Rules, int | None]:
        return config.table_kinds()[0]


METHODS: dict[str, Method] = {"ppo": _PPO(), METHOD: _Counterfactual(), DISTILL: _Distill()}


def method_of(settings: Settings) -> Method:
    """Returns how settings train."""
    return METHODS[settings.method]  # type: ignore[attr-defined]


USUAL = METHOD
"""The method of settings without a file that name none."""


def load_settings(path: Path | None, changes: Mapping[str, Any]) -> Any:
    """Returns the settings of a YAML file, with changes, of whichever way to train it names.

    Args:
        path: The file; None: the defaults.
        changes: By setting, dotted where it stands in a section.

    Raises:
        RulesError: As for ``Settings.load``, or there is no such way to train.
    """
    usual = USUAL if path is None else read_settings(path).get("method", "ppo")
    name = changes.get("method", usual)
    if not isinstance(name, str) or name not in METHODS:
        where = "" if path is None else f"{path}: "
        raise RulesError(f"{where}method: {nearest(str(name), METHODS)}, got {shown(name)}")
    return METHODS[name].settings.load(path, changes)


def open_run(path: Path) -> tuple[Method, Any]:
    """Returns the run of a folder, and the way in which it trains.

    Raises:
        RulesError: There is none.
    """
    if not (path / CONFIG).is_file():
        raise RulesError(f"{path}: no training run here ({CONFIG} is missing)")
    if not read_settings(path / CONFIG):
        raise RulesError(f"{path / CONFIG}: is empty: it is damaged, put back what was there")
    method = method_of(load_settings(path / CONFIG, {}))
    return method, method.open(path)
