"""Runs of each way to train, with the type of their folder."""

from __future__ import annotations

from pathlib import Path

from ohhell_train.counterfactual.config import CounterfactualConfig
from ohhell_train.counterfactual.folder import CounterfactualRun
from ohhell_train.distill.config import DistillConfig
from ohhell_train.distill.folder import DistillRun
from ohhell_train.methods import begin_run
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.ppo.folder import PpoRun


def begin_ppo(path: Path, config: PpoConfig, force: bool = False) -> PpoRun:
    """Begins a run of PPO self-play."""
    run = begin_run(path, config, force)
    assert isinstance(run, PpoRun)
    return run


def begin_counterfactual(path: Path, config: CounterfactualConfig) -> CounterfactualRun:
    """Begins a run of counterfactual self-play."""
    run = begin_run(path, config)
    assert isinstance(run, CounterfactualRun)
    return run


def begin_distill(path: Path, config: DistillConfig) -> DistillRun:
    """Begins a run of distillation."""
    run = begin_run(path, config)
    assert isinstance(run, DistillRun)
    return run
