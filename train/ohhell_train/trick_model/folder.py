"""The folder of a fit of the trick models.

::

    runs/trick_model/
      config.yaml         the settings
      versions.json       versions of the libraries that fitted it
      state.safetensors   everything a resumed run needs between two rounds
      metrics.csv         one row for each round, rewritten from the state
      trick_model.json    the models after the newest round
      .lock               held by the process that fits, with its number
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ohhell_agents.value.trick_model import FILE, models_to_plain
from ohhell_env.engine.layout import Rows
from ohhell_env.files import write_whole
from ohhell_train.runs.base import RunFolder, how_many
from ohhell_train.runs.metrics import METRICS, Row, write_metrics
from ohhell_train.runs.state import Arrays, read_arrays, write_arrays
from ohhell_train.trick_model.config import TrickModelConfig

STATE = "state.safetensors"
_FREE = {"method", "rounds", "max_minutes", "report"}
"""Settings that may change before a run continues, because no round depends on them."""


class TrickModelRun(RunFolder[TrickModelConfig]):
    """A folder that holds a run; the module's docstring lists its files."""

    settings = TrickModelConfig

    def done(self) -> str:
        """Returns the number of finished rounds, in words."""
        rounds = len(self.rows())
        return how_many(rounds, "round") if rounds else ""

    def finished(self) -> bool:
        """Returns whether all rounds are done, including the one of random play."""
        return len(self.rows()) > self.config().rounds

    def summary(self) -> str:
        """Returns a short summary of the run."""
        rows = self.rows()
        if not rows:
            return "No round was fitted"
        cards = sum(int(row["cards"] or 0) for row in rows)
        minutes, cpu = (
            float(rows[-1]["seconds"] or 0) / 60,
            float(rows[-1]["cpu_seconds"] or 0) / 60,
        )
        return (
            f"Fitted to {cards:,.0f} cards of {self.done()} in {minutes:.1f} minutes "
            f"({cpu:.1f} CPU minutes)"
        )

    def result(self) -> Path:
        """Returns the file of the models."""
        return self.path / FILE.name

    def rows(self) -> list[Row]:
        """Returns the metrics of the finished rounds, in order.

        Raises:
            CheckpointError: The state is damaged, or belongs to other settings.
        """
        return self.state()[1]

    def state(self) -> tuple[Arrays, list[Row]]:
        """Returns the saved arrays and metrics; both are empty if there are none.

        Raises:
            CheckpointError: See ``rows``.
        """
        if not (self.path / STATE).exists():
            return {}, []
        arrays, text = read_arrays(self.path / STATE, "start the run again")
        notes = json.loads(text)
        self.check_unchanged(notes["made_with"], self._made_with(), f"{STATE} was written")
        return arrays, notes["rows"]

    def save(self, arrays: Arrays, rows: Sequence[Row], models: Rows) -> None:
        """Saves everything that a resumed run needs, and the models."""
        config = self.config()
        made = {
            "rounds": len(rows) - 1,
            "cards": config.cards,
            "epochs": config.fit.epochs,
            "seed": config.seed,
        }
        write_whole(self.result(), json.dumps({"made": made} | models_to_plain(models)) + "\n")
        notes = {"rows": rows, "made_with": self._made_with()}
        write_arrays(self.path / STATE, arrays, json.dumps(notes))
        write_metrics(self.path / METRICS, rows)

    def _made_with(self) -> dict[str, object]:
        return self.config().model_dump(mode="json", exclude=_FREE)
