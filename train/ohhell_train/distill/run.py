"""Distillation as a run: play the games, fit, measure, save."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from ohhell_agents.nn.agent import LearnedAgent
from ohhell_train.distill.config import DistillConfig
from ohhell_train.distill.dataset import DistillDataset
from ohhell_train.distill.fit import StudentFit
from ohhell_train.distill.folder import DistillRun
from ohhell_train.distill.games import close, make_players, play_part
from ohhell_train.evaluate import Difference, check_fields
from ohhell_train.runs.metrics import Row, measured_columns
from ohhell_train.runs.network import start_network
from ohhell_train.runs.trainer import Trainer


class DistillTrainer(Trainer[DistillConfig]):
    """A run of distillation during training: a step is a part of the games, or an epoch."""

    run: DistillRun
    unit: ClassVar[str] = "epoch"

    @classmethod
    def check(cls, config: DistillConfig) -> None:
        """Checks the settings as far as possible without a run.

        Raises:
            OhHellError: The settings cannot be played, or a player does not exist.
        """
        close(make_players(config))
        kind = config.table_kinds()[0]
        if config.start is not None:
            start_network(Path(config.start), kind, config.layout, config.network.hidden)
        check_fields(config.report.fields, [kind.rules], config.report.seed)

    def restore(self) -> None:
        """Restores the finished epochs.

        Raises:
            CheckpointError: The state is damaged, or belongs to other settings.
        """
        self.rows = self.run.rows()
        self.run.write_derived(self.rows)
        self._row: Row = {}
        self._student: StudentFit | None = None

    @property
    def done(self) -> int:
        """The number of epochs done."""
        return len(self.rows) + bool(self._row)

    def finished(self) -> bool:
        """Returns whether all epochs are done."""
        return self.done >= self.config.fit.epochs

    def check_opponents(self) -> None:
        """Does nothing: the games check their players, and epochs need no other players."""

    def step(self) -> bool:
        """Plays or reads the missing games; once they are complete, fits an epoch."""
        if self._student is None:
            self._student = self._begin_fit(*self._games())
        size, before = len(self._student.dataset), self.done
        total = self.config.fit.epochs

        def on_progress(seen: int) -> None:
            self.show("fitting", before + seen / size, total)

        self._row = dict(self._student.epoch(before + 1, on_progress))
        return True

    def _begin_fit(self, held_out: DistillDataset, dataset: DistillDataset) -> StudentFit:
        student = StudentFit(self.config, dataset, held_out, self.run.start(self.config))
        self.run.restore(student)
        if self.rows:
            self.clock.start(
                float(self.rows[-1]["seconds"] or 0), float(self.rows[-1]["cpu_seconds"] or 0)
            )
        return student

    def _games(self) -> tuple[DistillDataset, DistillDataset]:
        """Returns the held-out decisions and those to learn from; plays the missing parts."""
        wanted, there = self.config.decisions, self.run.parts()
        parts: list[DistillDataset] = []
        found, teacher = 0, ""
        with contextlib.ExitStack() as later:
            players = []
            while found < wanted:
                number = len(parts)
                if number >= there:
                    if not players:
                        self.run.check_opponents(self.config)
                        players = make_players(self.config)
                        later.callback(close, players)
                    before = found

                    def on_progress(decisions: int, before: int = before) -> None:
                        self._show_games(before + decisions)

                    began = self.clock.seconds, self.clock.cpu_seconds
                    part = play_part(self.config, players, number, on_progress)
                    about = {
                        "teacher": f"{self.config.teacher} {players[0].player.fingerprint}",
                        "seconds": self.clock.seconds - began[0],
                        "cpu_seconds": self.clock.cpu_seconds - began[1],
                    }
                    self.run.save_part(number, part, about)
                part, about = self.run.load_part(number)
                if number < there:
                    self.clock.add(about["seconds"], about["cpu_seconds"])
                teacher = teacher or about["teacher"]
                self.run.check_teacher(number, about["teacher"], teacher)
                parts.append(part)
                found += len(part) if number else 0  # part 0 is held out
                self._show_games(found)
        return parts[0], DistillDataset.joined(parts[1:])

    def _show_games(self, decisions: int) -> None:
        wanted = self.config.decisions
        decisions = min(decisions, wanted)
        count = f"{decisions:,} of {wanted:,} decisions"
        self.display.show(f"games of {self.config.teacher}", decisions / wanted, count)

    def player(self) -> LearnedAgent:
        """Returns the newest player."""
        assert self._student is not None, "a step comes first"
        return LearnedAgent(self._student.checkpoint(), seed=0)

    def save(self, found: Mapping[str, Difference]) -> Row:
        """Saves the player of an epoch, and the state after it."""
        assert self._student is not None, "a step comes first"
        row: Row = {
            "epoch": self.done,
            "seconds": round(self.clock.seconds, 2),
            "cpu_seconds": round(self.clock.cpu_seconds, 2),
            **self._row,
            **measured_columns(self.config.report.fields, found),
        }
        self.rows.append(row)
        self._row = {}
        self.run.save_epoch(self._student, self.rows)
        return row
