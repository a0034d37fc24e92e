"""The folder of a training run, and all that is written there.

::

    runs/quick-oh_hell/
      config.yaml          the settings, with all that names stand for written out
      versions.json        of the libraries that trained it
      metrics.csv          one row for each rollout; progress where it was measured
      state.safetensors    all that a resumed run needs, replaced in one move
      checkpoints/250000/  a player each, after so many decisions
      best/  last/         the one that measured best, and the newest

Nothing here is pickled: tensors are safetensors, the rest is text.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

import ohhell_env
from agents.base import write_whole
from agents.checkpoint import Checkpoint, save_checkpoint
from ohhell_env.errors import CheckpointError, RulesError
from train.config import Config
from train.rollout import LAP_FIELDS, Lap
from train.selfplay import SelfPlayPPO

CONFIG, METRICS, STATE, VERSIONS = (
    "config.yaml",
    "metrics.csv",
    "state.safetensors",
    "versions.json",
)
_LIBRARIES = ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib", "safetensors")


@dataclass
class Counters:
    """What a run has behind it."""

    decisions: int = 0
    """Decisions collected and trained on."""
    seconds: float = 0.0
    """Spent, over all interruptions."""
    measured: int = 0
    """Decisions when progress was last measured."""
    best: float | None = None
    """Best difference measured so far, in points a deal."""
    finished: bool = False
    """Whether the run came to its end."""
    scores: dict[str, list[float]] = field(default_factory=dict)
    """Newest measurements: mean difference, lower and upper end of its interval by field."""


class RunDirectory:
    """A folder with a run in it; see the module's docstring for what it holds."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, config: Config) -> RunDirectory:
        """Begins a run in a new folder.

        Raises:
            RulesError: There is something at that place already.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RulesError(
                f"{path}: is there already; go on with `python -m train resume {path}`, choose "
                "another --out, or add --force to begin anew (the old folder is kept beside it)"
            )
        path.mkdir(parents=True, exist_ok=True)
        versions = {name: importlib.metadata.version(name) for name in _LIBRARIES}
        versions = {
            "python": platform.python_version(),
            "ohhell_env": ohhell_env.__version__,
        } | versions
        write_whole(path / VERSIONS, json.dumps(versions, indent=1) + "\n")
        write_whole(path / CONFIG, config.resolved().to_yaml())
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Returns the run that was begun in a folder.

        Raises:
            RulesError: There is none.
        """
        if not (path / CONFIG).is_file():
            raise RulesError(f"{path}: no training run here ({CONFIG} is missing)")
        return cls(path)

    def config(self) -> Config:
        """Returns the settings of the run."""
        return Config.load(self.path / CONFIG)

    def set_aside(self) -> Path:
        """Moves the whole folder to the next free name beside it, which is returned."""
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.old-{number}")).exists():
            number += 1
        return self.path.rename(aside)

    def add_metrics(self, row: Mapping[str, Any]) -> None:
        """Appends a row to the metrics; the first row gives the columns."""
        file = self.path / METRICS
        new = not file.exists()
        with file.open("a", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(row))
            if new:
                writer.writeheader()
            writer.writerow(row)

    def cut_metrics(self, decisions: int) -> None:
        """Removes the rows of what an interruption has lost: those after ``decisions``."""
        file = self.path / METRICS
        if not file.exists():
            return
        head, *rows = file.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [row for row in rows if row.endswith("\n") and int(row.split(",")[0]) <= decisions]
        write_whole(file, "".join([head, *kept]))

    def save_player(self, ppo: SelfPlayPPO, config: Config, name: str) -> None:
        """Writes the newest network as a player that ``agents.load`` reads."""
        rules = config.resolved_rules()
        checkpoint = Checkpoint(ppo.policy.network, rules, config.layout, config.hand_size)
        save_checkpoint(self.path / name, checkpoint)

    def save_state(self, ppo: SelfPlayPPO, counters: Counters) -> None:
        """Writes all that a resumed run needs; between two rollouts only."""
        notes = {
            "counters": vars(counters),
            "updates": ppo._n_updates,
            "random": ppo.tables.random.bit_generator.state,
        }
        beside = self.path / f"{STATE}.part"
        text = json.dumps(notes, default=lambda array: array.tolist())
        save_file(_tensors(ppo), beside, metadata={"notes": text})
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(self.path / STATE)

    def counters(self) -> Counters:
        """Returns what the run had behind it when its state was last saved."""
        if not (self.path / STATE).exists():
            return Counters()
        return Counters(**self._read_state()[1]["counters"])

    def restore_state(self, ppo: SelfPlayPPO) -> None:
        """Brings a new learner to the saved state, if there is one.

        Raises:
            CheckpointError: The state is broken.
        """
        if not (self.path / STATE).exists():
            return
        tensors, notes = self._read_state()
        try:
            _restore(ppo, tensors, notes)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{self.path / STATE}: does not fit its {CONFIG}: {error}"
            ) from None

    def _read_state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        file = self.path / STATE
        try:
            with safe_open(file, framework="pt", device="cpu") as opened:
                tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - no mapping
                return tensors, json.loads(opened.metadata()["notes"])
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{file}: the saved state is broken ({error}); begin the run anew"
            ) from None


def _tensors(ppo: SelfPlayPPO) -> dict[str, torch.Tensor]:
    tensors = {f"network.{k}": v for k, v in ppo.policy.network.state_dict().items()}
    for number, values in ppo.policy.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
    tensors |= {f"tables.{k}": torch.from_numpy(v) for k, v in ppo.tables.state().items()}
    if ppo.following is not None:
        for name in LAP_FIELDS:
            tensors[f"lap.{name}"] = torch.from_numpy(getattr(ppo.following, name))
    return tensors


def _restore(ppo: SelfPlayPPO, tensors: dict[str, torch.Tensor], notes: dict[str, Any]) -> None:
    def part(prefix: str) -> dict[str, torch.Tensor]:
        names = [name for name in tensors if name.startswith(prefix)]
        return {name.removeprefix(prefix): tensors[name] for name in names}

    ppo.policy.network.load_state_dict(part("network."))
    optimizer = ppo.policy.optimizer.state_dict()
    for name, value in part("optimizer.").items():
        number, _, key = name.partition(".")
        optimizer["state"].setdefault(int(number), {})[key] = value
    ppo.policy.optimizer.load_state_dict(optimizer)
    ppo.tables.restore({name: value.numpy() for name, value in part("tables.").items()})
    lap = {name: value.numpy().copy() for name, value in part("lap.").items()}
    ppo.following = Lap(**lap) if lap else None
    ppo.tables.random.bit_generator.state = notes["random"]
    ppo.num_timesteps = notes["counters"]["decisions"]
    ppo._n_updates = notes["updates"]
