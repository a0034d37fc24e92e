"""The folder of a run of counterfactual self-play.

::

    runs/strong/
      config.yaml        the settings, with what names stand for written out
      versions.json      of the libraries that trained it
      start/             the player that it began as, if it began as one
      rounds/1/ 2/ ...   the player after each round, whole or not there: what a run goes on from
      metrics.csv        one row for each round, made anew from the rounds
      best/  last/       the player that measured best, and the newest
      .lock              held by the process that trains, with its number
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ohhell_agents
from ohhell_agents.checkpoint_io import CARD
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.value.trick_model import fitted
from ohhell_env.engine.layout import Rows
from ohhell_env.errors import CheckpointError, OhHellError, RulesError, shown
from ohhell_env.files import write_whole
from ohhell_train.counterfactual.config import CounterfactualConfig
from ohhell_train.runs.base import CONFIG, START, RunFolder, clear_left_over, metrics_table

METRICS, ROUNDS = "metrics.csv", "rounds"
_FREE = {"method", "rounds", "max_minutes", "threads", "report"}
"""Settings that may change while a run is interrupted: no round depends on them."""
_LARGEST = 1e18
"""No number of a round's card is larger."""


class CounterfactualRun(RunFolder):
    """A folder with a run in it; see the module's docstring for what it holds."""

    settings = CounterfactualConfig

    def _bring(self, config: CounterfactualConfig) -> None:
        if config.start is not None:
            start_of(config.start).save(self.path / START)

    def others(self, config: CounterfactualConfig) -> list[str]:
        """Returns the names of the opponents that stand outside the run."""
        return config.opponent_names()

    def check_made_with(
        self, config: CounterfactualConfig, rounds: list[CounterfactualAgent]
    ) -> None:
        """Checks that the rounds were made with the settings of the run as they are now.

        Raises:
            CheckpointError: They were not: what comes after them would be no run of one recipe.
        """
        now = made_with(config)
        for number, player in enumerate(rounds, 1):
            then = player.about.get("made_with")
            if not isinstance(then, dict):  # an older version did not write it down
                continue
            changed = [name for name, value in now.items() if then.get(name) != value]
            if changed:
                raise CheckpointError(
                    f"{self.path / CONFIG}: {', '.join(changed)} changed since round {number} was "
                    "played; put back what was there, or begin the run anew"
                )

    def start(self, config: CounterfactualConfig) -> Rows:
        """Returns the models that the run begins with, a copy in its own folder.

        Raises:
            CheckpointError: The copy is broken.
        """
        return (
            fitted() if config.start is None else CounterfactualAgent.load(self.path / START).models
        )

    def rounds(self) -> list[CounterfactualAgent]:
        """Returns the players of the rounds that are done, in order.

        A kill leaves a round whole or not at all.

        Raises:
            CheckpointError: A round is damaged, or was made by another version: nothing that took
                hours is thrown away unasked.
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
                    f"{error} (move {folder} elsewhere to have that round played again)"
                ) from None
            players.append(player)

    def save_round(self, number: int, player: CounterfactualAgent) -> None:
        """Writes the player of a round, and what follows from it."""
        player.save(self.path / ROUNDS / str(number))
        self.write_derived()

    def write_derived(self) -> None:
        """Writes the metrics and the players that are chosen among the rounds."""
        players = self.rounds()
        if not players:
            return
        rows = [player.about for player in players]
        write_whole(self.path / METRICS, metrics_table([_flat(row) for row in rows]))
        best = max(range(len(rows)), key=lambda place: _total(rows[place]))
        players[best].save(self.path / "best")
        players[-1].save(self.path / "last")
        clear_left_over(self.path, self.path / ROUNDS)


def made_with(config: CounterfactualConfig) -> dict[str, Any]:
    """Returns the settings that a round depends on, as plain data."""
    return config.resolved().model_dump(mode="json", exclude=_FREE)


def start_of(name: str) -> CounterfactualAgent:
    """Returns the player that a run is to begin as.

    Raises:
        OhHellError: There is none, or it is of another kind.
    """
    try:
        player = ohhell_agents.make(name)
    except OhHellError as error:
        raise RulesError(f"start: {error}") from None
    if not isinstance(player, CounterfactualAgent):
        raise RulesError(f"start={shown(name)}: a checkpoint of this kind is wanted")
    return player


def _check_about(folder: Path, about: dict[str, Any]) -> None:
    """Refuses a round whose card does not say what this library writes about rounds."""
    numbers = [about.get(name) for name in ("round", "decisions", "seconds", "cpu_seconds")]
    scores = about.get("scores")
    sound = isinstance(scores, dict)
    for ends in scores.values() if isinstance(scores, dict) else ():
        sound = sound and isinstance(ends, list) and len(ends) == 3
        numbers += ends if isinstance(ends, list) else [None]
    if not sound or not all(map(_is_plain_number, numbers)):
        raise CheckpointError(f"{folder / CARD}: what it says of its training is broken")


def _is_plain_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < _LARGEST


def _total(about: dict[str, Any]) -> float:
    return sum(float(ends[0]) for ends in about.get("scores", {}).values())


def _flat(about: dict[str, Any]) -> dict[str, Any]:
    """Returns what is known of a round as one row."""
    row = {name: value for name, value in about.items() if isinstance(value, int | float | None)}
    for name, (mean, low, high) in about.get("scores", {}).items():
        row |= {f"over_{name}": mean, f"over_{name}_low": low, f"over_{name}_high": high}
    return row
