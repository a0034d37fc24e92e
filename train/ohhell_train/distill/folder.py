"""The folder of a run of distillation.

::

    runs/student/
      config.yaml               the settings, with the rules written out
      versions.json             versions of the libraries that trained it
      games/0.safetensors ...   the teacher's decisions in parts; part 0 is held out
      start/                    the player that the run began as, if any
      state.safetensors         everything a resumed run needs between two epochs
      epochs/1/ 2/ ...          the player after each epoch
      metrics.csv               one row for each epoch, rewritten from the state
      best/  last/              the player that measured best, and the newest
      .lock                     held by the process that trains, with its number

Each file and each player is written completely or not at all, and derived files are written last.
After a kill a run continues with the part or the epoch that was lost.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ohhell_agents.checkpoint_io import WHOLE
from ohhell_agents.nn.checkpoint import load_checkpoint, save_checkpoint
from ohhell_agents.nn.network import Network
from ohhell_env.errors import CheckpointError
from ohhell_train.distill.config import DistillConfig
from ohhell_train.distill.dataset import NAMES, DistillDataset
from ohhell_train.distill.fit import StudentFit
from ohhell_train.runs.base import CONFIG, START, RunFolder, clear_left_over, how_many
from ohhell_train.runs.metrics import METRICS, Row, number_in, write_metrics
from ohhell_train.runs.network import checkpoint_in, start_network
from ohhell_train.runs.state import read_arrays, write_arrays

STATE, GAMES, EPOCHS = "state.safetensors", "games", "epochs"
_PLAYED_WITH = {"rules", "players", "hand_size", "layout", "seed", "teacher", "noise", "opponents"}
"""The settings that the games depend on."""
_FITTED_WITH = _PLAYED_WITH | {"decisions", "start", "network", "fit"}
"""The settings that the fit depends on."""
_FIT_ANEW = f"move {STATE} away to fit the epochs again"


class DistillRun(RunFolder[DistillConfig]):
    """A folder that holds a run; the module's docstring lists its files."""

    settings = DistillConfig

    def _bring(self, config: DistillConfig) -> None:
        if config.start is not None:
            save_checkpoint(self.path / START, checkpoint_in(Path(config.start), WHOLE))

    def done(self) -> str:
        """Returns the number of finished epochs, or else of parts of the games, in words."""
        epochs, parts = len(self.rows()), self.parts()
        if epochs:
            return how_many(epochs, "epoch")
        return f"{how_many(parts, 'part')} of the games" if parts else ""

    def finished(self) -> bool:
        """Returns whether all epochs are done."""
        return len(self.rows()) >= self.config().fit.epochs

    def summary(self) -> str:
        """Returns a short summary of the run."""
        config, rows = self.config(), self.rows()
        if not rows:
            return "No epoch was fitted"
        minutes, cpu = number_in(rows[-1], "seconds") / 60, number_in(rows[-1], "cpu_seconds") / 60
        return (
            f"Fitted to {config.decisions:,} decisions of {config.teacher} in {minutes:.1f} "
            f"minutes ({cpu:.1f} CPU minutes)"
        )

    def start(self, config: DistillConfig) -> Network | None:
        """Returns the network that the run starts from, read from its own copy.

        Raises:
            CheckpointError: The copy is damaged or has another shape.
        """
        if config.start is None:
            return None
        folder, kind = self.path / START, config.table_kinds()[0]
        return start_network(folder, kind, config.layout, config.network.hidden)

    def parts(self) -> int:
        """Returns the number of complete parts of the games, from part 0 on."""
        number = 0
        while self._part(number).exists():
            number += 1
        return number

    def _part(self, number: int) -> Path:
        return self.path / GAMES / f"{number}.safetensors"

    def save_part(self, number: int, dataset: DistillDataset, about: Mapping[str, Any]) -> None:
        """Saves a part of the games; ``about`` is plain data about how it was played."""
        notes = {**about, "part": number, "played_with": self._made_with(_PLAYED_WITH)}
        write_arrays(self._part(number), dataset.arrays(), json.dumps(notes))

    def load_part(self, number: int) -> tuple[DistillDataset, dict[str, Any]]:
        """Returns a part of the games, and the data about it.

        Raises:
            CheckpointError: The part is damaged, or was played with other settings.
        """
        file = self._part(number)
        arrays, text = read_arrays(file, "move it away to play it again")
        notes = json.loads(text)
        self._check(file, notes.get("played_with", {}), _PLAYED_WITH)
        if (then := notes.get("part", number)) != number:
            raise CheckpointError(f"{file}: is part {then}; move it away to play it again")
        return DistillDataset(**{name: arrays[name] for name in NAMES}), notes

    def check_teacher(self, number: int, teacher: str, first: str) -> None:
        """Checks that a part was played by the same teacher as the parts before it.

        Raises:
            CheckpointError: The teacher's files have changed.
        """
        if teacher != first:
            raise CheckpointError(
                f"{self._part(number)}: was played by {teacher!r}, the parts before it by "
                f"{first!r}, because the teacher's files have changed; restore them, or start the "
                "run again"
            )

    @functools.cached_property
    def _plain(self) -> dict[str, Any]:
        """Returns the settings of the run as plain data."""
        return self.config().resolved().model_dump(mode="json")

    def _made_with(self, names: set[str]) -> dict[str, Any]:
        return {name: self._plain[name] for name in sorted(names)}

    def _check(self, file: Path, then: Mapping[str, Any], names: set[str]) -> None:
        since = f"{file.relative_to(self.path)} was written"
        self.check_unchanged(then, self._made_with(names), since)

    def rows(self) -> list[Row]:
        """Returns the metrics of the finished epochs, in order.

        Raises:
            CheckpointError: The state is damaged, or belongs to other settings.
        """
        return self._read_state()[1] if (self.path / STATE).exists() else []

    def restore(self, fitting: StudentFit) -> None:
        """Restores a new fit from the saved state, if there is one.

        Raises:
            CheckpointError: The state is damaged, or belongs to other settings.
        """
        if not (self.path / STATE).exists():
            return
        tensors, _, schedule = self._read_state()
        try:
            fitting.restore(tensors, schedule)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{self.path / STATE}: does not fit {CONFIG} ({error}); {_FIT_ANEW}"
            ) from None

    def _read_state(self) -> tuple[dict[str, torch.Tensor], list[Row], dict[str, Any]]:
        file = self.path / STATE
        arrays, text = read_arrays(file, _FIT_ANEW)
        notes = json.loads(text)
        self._check(file, notes.get("fitted_with", {}), _FITTED_WITH)
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        return tensors, notes["rows"], notes["schedule"]

    def save_epoch(self, fitting: StudentFit, rows: list[Row]) -> None:
        """Saves the player of an epoch, the state after it, and the derived files.

        Args:
            fitting: The fit after the epoch.
            rows: The metrics of all epochs up to this one.
        """
        save_checkpoint(self._epoch(len(rows)), fitting.checkpoint())
        tensors, schedule = fitting.state()
        notes = {
            "rows": rows,
            "schedule": schedule,
            "fitted_with": self._made_with(_FITTED_WITH),
        }
        arrays = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
        write_arrays(self.path / STATE, arrays, json.dumps(notes))
        self.write_derived(rows)

    def _epoch(self, number: int) -> Path:
        return self.path / EPOCHS / str(number)

    def write_derived(self, rows: list[Row]) -> None:
        """Writes the metrics, and the best and the newest player."""
        if not rows:
            return
        write_metrics(self.path / METRICS, rows)
        totals = [_total(row) for row in rows]
        for name, number in (("best", totals.index(max(totals))), ("last", len(totals) - 1)):
            try:
                player = load_checkpoint(self._epoch(number + 1))
            except CheckpointError as error:
                raise CheckpointError(f"{error} ({_FIT_ANEW})") from None
            save_checkpoint(self.path / name, player)
        clear_left_over(self.path, self.path / EPOCHS)


def _total(row: Row) -> float:
    """Returns the sum of a player's differences over all fields; unmeasured: minus infinity."""
    ends = ("_low", "_high")
    names = [name for name in row if name.startswith("over_") and not name.endswith(ends)]
    if not names or any(row[name] == "" for name in names):
        return float("-inf")
    return sum(number_in(row, name) for name in names)
