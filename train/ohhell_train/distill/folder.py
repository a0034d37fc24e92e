"""The folder of a run of distillation.

::

    runs/student/
      config.yaml               the settings, with what names stand for written out
      versions.json             of the libraries that trained it
      games/0.safetensors ...   the teacher's decisions in parts; part 0 is not learned from
      start/                    the player that it began as, if it began as one
      state.safetensors         all that a resumed run needs between two epochs
      epochs/1/ 2/ ...          the player after each epoch
      metrics.csv               one row for each epoch, made anew from the state
      best/  last/              the player that measured best, and the newest
      .lock                     held by the process that trains, with its number

Each file and each player is there whole or not at all, and what is made from others comes after
them: a run that was killed goes on with the part or the epoch that was lost.
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
"""Settings that the games depend on."""
_FITTED_WITH = _PLAYED_WITH | {"decisions", "start", "network", "fit"}
"""Settings that the fit depends on."""
_FIT_ANEW = f"move {STATE} elsewhere to have the epochs fitted again"


class DistillRun(RunFolder[DistillConfig]):
    """A folder with a run in it; see the module's docstring for what it holds."""

    settings = DistillConfig

    def _bring(self, config: DistillConfig) -> None:
        if config.start is not None:
            save_checkpoint(self.path / START, checkpoint_in(Path(config.start), WHOLE))

    def done(self) -> str:
        """Returns how many epochs, or else parts of the games, are kept, in words."""
        epochs, parts = len(self.rows()), self.parts()
        if epochs:
            return how_many(epochs, "epoch")
        return f"{how_many(parts, 'part')} of the games" if parts else ""

    def finished(self) -> bool:
        """Returns whether all epochs are fitted."""
        return len(self.rows()) >= self.config().fit.epochs

    def summary(self) -> str:
        """Returns what the run did, in a few words."""
        config, rows = self.config(), self.rows()
        if not rows:
            return "No epoch was fitted"
        minutes, cpu = number_in(rows[-1], "seconds") / 60, number_in(rows[-1], "cpu_seconds") / 60
        return (
            f"Fitted to {config.decisions:,} decisions of {config.teacher} in {minutes:.1f} "
            f"minutes ({cpu:.1f} of the processor)"
        )

    def start(self, config: DistillConfig) -> Network | None:
        """Returns what the network of the run begins as, from the copy in its own folder.

        Raises:
            CheckpointError: The copy is broken, or of another shape.
        """
        if config.start is None:
            return None
        folder, kind = self.path / START, config.table_kinds()[0]
        return start_network(folder, kind, config.layout, config.network.hidden)

    def parts(self) -> int:
        """Returns how many parts of the games are there, from part 0 on."""
        number = 0
        while self._part(number).exists():
            number += 1
        return number

    def _part(self, number: int) -> Path:
        return self.path / GAMES / f"{number}.safetensors"

    def save_part(self, number: int, dataset: DistillDataset, about: Mapping[str, Any]) -> None:
        """Writes a part of the games; ``about`` is plain data that tells how it was played."""
        notes = {**about, "part": number, "played_with": self._made_with(_PLAYED_WITH)}
        write_arrays(self._part(number), dataset.arrays(), json.dumps(notes))

    def load_part(self, number: int) -> tuple[DistillDataset, dict[str, Any]]:
        """Returns a part of the games, and what is known of it.

        Raises:
            CheckpointError: It is damaged, or was played with other settings.
        """
        file = self._part(number)
        arrays, text = read_arrays(file, "move it elsewhere to have it played again")
        notes = json.loads(text)
        self._check(file, notes.get("played_with", {}), _PLAYED_WITH)
        if (then := notes.get("part", number)) != number:
            raise CheckpointError(
                f"{file}: is part {then}; move it elsewhere to have it played again"
            )
        return DistillDataset(**{name: arrays[name] for name in NAMES}), notes

    def check_teacher(self, number: int, teacher: str, first: str) -> None:
        """Checks that a part was played by the same teacher as the parts before it.

        Raises:
            CheckpointError: It was not: the files that it was made from have changed.
        """
        if teacher != first:
            raise CheckpointError(
                f"{self._part(number)}: was played by {teacher!r}, the parts before it by "
                f"{first!r}: the teacher's files have changed; put back what was there, or begin "
                "the run anew"
            )

    @functools.cached_property
    def _plain(self) -> dict[str, Any]:
        """The settings of the run as plain data."""
        return self.config().resolved().model_dump(mode="json")

    def _made_with(self, names: set[str]) -> dict[str, Any]:
        return {name: self._plain[name] for name in sorted(names)}

    def _check(self, file: Path, then: Mapping[str, Any], names: set[str]) -> None:
        since = f"{file.relative_to(self.path)} was written"
        self.check_unchanged(then, self._made_with(names), since)

    def rows(self) -> list[Row]:
        """Returns the metrics of the epochs that are done, in order.

        Raises:
            CheckpointError: The state is damaged, or belongs to other settings.
        """
        return self._read_state()[1] if (self.path / STATE).exists() else []

    def restore(self, fitting: StudentFit) -> None:
        """Brings a new fitting to the saved state, if there is one.

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
        """Writes the player of an epoch, the state after it, and what follows from them.

        Args:
            fitting: As it is after the epoch.
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
        """Writes the metrics and the players that are chosen among the epochs."""
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
    """Returns by how much the player of an epoch was better than all fields; unmeasured: never."""
    ends = ("_low", "_high")
    names = [name for name in row if name.startswith("over_") and not name.endswith(ends)]
    if not names or any(row[name] == "" for name in names):
        return float("-inf")
    return sum(number_in(row, name) for name in names)
