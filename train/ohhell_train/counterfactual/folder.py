"""The folder of a run of counterfactual self-play.

::

    runs/strong/
      config.yaml        the settings, with the rules written out
      versions.json      versions of the libraries that trained it
      start/             the player that the run began as, if any
      rounds/1/ 2/ ...   the player after each round, complete or absent; a run continues from these
      metrics.csv        one row for each round, rewritten from the rounds
      best/  last/       the player that measured best, and the newest
      .lock              held by the process that trains, with its number
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ohhell_agents
from ohhell_agents.checkpoint_io import METADATA
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.value.trick_model import fitted
from ohhell_env.engine.layout import Rows
from ohhell_env.errors import CheckpointError, OhHellError, RulesError, shown
from ohhell_train.counterfactual.config import CounterfactualConfig
from ohhell_train.runs.base import START, RunFolder, clear_left_over, how_many
from ohhell_train.runs.metrics import METRICS, Row, write_metrics

ROUNDS = "rounds"
_FREE = {"method", "rounds", "max_minutes", "threads", "report"}
"""Settings that may change before a run continues, because no round depends on them."""
_LARGEST = 1e18
"""The largest number allowed in a round's metadata."""


class CounterfactualRun(RunFolder[CounterfactualConfig]):
    """A folder that holds a run; the module's docstring lists its files."""

    settings = CounterfactualConfig

    def _bring(self, config: CounterfactualConfig) -> None:
        if config.start is not None:
            start_of(config.start).save(self.path / START)

    def done(self) -> str:
        """Returns the number of finished rounds, in words."""
        rounds = len(self.rounds())
        return how_many(rounds, "round") if rounds else ""

    def finished(self) -> bool:
        """Returns whether all rounds are done."""
        return len(self.rounds()) >= self.config().rounds

    def summary(self) -> str:
        """Returns a short summary of the run."""
        rounds = [player.about for player in self.rounds()]
        if not rounds:
            return "No round was played"
        decisions = sum(about["decisions"] for about in rounds)
        minutes, cpu = rounds[-1]["seconds"] / 60, rounds[-1]["cpu_seconds"] / 60
        return (
            f"Trained on {decisions:,} labelled decisions of {self.done()} in {minutes:.1f} "
            f"minutes ({cpu:.1f} CPU minutes)"
        )

    def check_rounds(self, config: CounterfactualConfig, rounds: list[CounterfactualAgent]) -> None:
        """Checks that the rounds were made with the present settings of the run.

        Raises:
            CheckpointError: A setting has changed.
        """
        for number, player in enumerate(rounds, 1):
            then = player.about.get("made_with")
            self.check_unchanged(
                then if isinstance(then, dict) else {},
                made_with(config),
                f"round {number} was played",
            )

    def start(self, config: CounterfactualConfig) -> Rows:
        """Returns the models that the run starts from, read from its own copy.

        Raises:
            CheckpointError: The copy is damaged.
        """
        return (
            fitted() if config.start is None else CounterfactualAgent.load(self.path / START).models
        )

    def rounds(self) -> list[CounterfactualAgent]:
        """Returns the players of the finished rounds, in order.

        A kill leaves a complete round or none.

        Raises:
            CheckpointError: A round is damaged, or was made by another version. It is not deleted,
                because it may have taken hours.
        """
        players: list[CounterfactualAgent] = []
        while True:
            folder = self.path / ROUNDS / str(len(players) + 1)
            if not folder.exists():
                return players
            try:
                player = CounterfactualAgent.load(folder)
                _check_about(folder, player.about)
            except OhHellError as error:
                raise CheckpointError(
                    f"{error} (move {folder} away to play that round again)"
                ) from None
            players.append(player)

    def save_round(self, number: int, player: CounterfactualAgent) -> None:
        """Saves the player of a round, and the files derived from it."""
        player.save(self.path / ROUNDS / str(number))
        self.write_derived()

    def write_derived(self) -> None:
        """Writes the metrics, and the best and the newest player."""
        players = self.rounds()
        if not players:
            return
        rows = [player.about for player in players]
        write_metrics(self.path / METRICS, [metrics_of(row) for row in rows])
        best = max(range(len(rows)), key=lambda place: _total(rows[place]))
        players[best].save(self.path / "best")
        players[-1].save(self.path / "last")
        clear_left_over(self.path, self.path / ROUNDS)


def made_with(config: CounterfactualConfig) -> dict[str, Any]:
    """Returns the settings that a round depends on, as plain data."""
    return config.resolved().model_dump(mode="json", exclude=_FREE)


def start_of(name: str) -> CounterfactualAgent:
    """Returns the player to start a run from.

    Raises:
        OhHellError: The player does not exist, or is of another kind.
    """
    try:
        player = ohhell_agents.make(name)
    except OhHellError as error:
        raise RulesError(f"start: {error}") from None
    if not isinstance(player, CounterfactualAgent):
        raise RulesError(f"start={shown(name)}: must be a checkpoint of counterfactual self-play")
    return player


def _check_about(folder: Path, about: dict[str, Any]) -> None:
    """Refuses a round whose metadata is not in the form that this library writes."""
    numbers = [about.get(name) for name in ("round", "decisions", "seconds", "cpu_seconds")]
    differences = about.get("scores")
    sound = isinstance(differences, dict)
    for ends in differences.values() if isinstance(differences, dict) else ():
        sound = sound and isinstance(ends, list) and len(ends) == 3
        numbers += ends if isinstance(ends, list) else [None]
    if not sound or not all(map(_is_plain_number, numbers)):
        raise CheckpointError(f"{folder / METADATA}: its record of the training is damaged")


def _is_plain_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < _LARGEST


def _total(about: dict[str, Any]) -> float:
    """Returns the sum of a player's differences over all fields; unmeasured: minus infinity."""
    differences = about["scores"]
    if not differences:
        return float("-inf")
    return sum(float(ends[0]) for ends in differences.values())


def metrics_of(about: dict[str, Any]) -> Row:
    """Returns the metrics of a round as one row."""
    row: Row = {
        name: value for name, value in about.items() if isinstance(value, int | float | None)
    }
    for name, (mean, low, high) in about["scores"].items():
        column = f"over_{name.replace(',', ';')}"
        row |= {column: mean, f"{column}_low": low, f"{column}_high": high}
    return row
