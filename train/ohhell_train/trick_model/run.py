"""The fit of the heuristic player's trick models as a run: play, fit, measure, save.

In every round the player plays with its newest models, and new models are fitted to its cards. The
first round plays at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch

from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.value.trick_model import new_models
from ohhell_env.engine.layout import engine_rows
from ohhell_train.evaluate import Difference, check_fields
from ohhell_train.runs.metrics import Row, measured_columns, number_in
from ohhell_train.runs.trainer import Trainer
from ohhell_train.trick_model.config import TrickModelConfig
from ohhell_train.trick_model.fit import (
    NOISE,
    RANDOM,
    TrickNet,
    fit_trick_net,
    play_and_note,
    put_weights,
)
from ohhell_train.trick_model.folder import TrickModelRun
from ohhell_train.trick_model.samples import CURRENT, FUTURE


class TrickModelTrainer(Trainer[TrickModelConfig]):
    """A fit of the trick models during training."""

    run: TrickModelRun
    unit: ClassVar[str] = "round"

    @classmethod
    def check(cls, config: TrickModelConfig) -> None:
        """Checks that the players of the measurements exist.

        Raises:
            OhHellError: A player does not exist.
        """
        rules = [kind.rules for kind in config.table_kinds()]
        check_fields(config.report.fields, rules, config.report.seed)

    def restore(self) -> None:
        """Restores the saved state, including torch's random state, if there is one.

        Raises:
            CheckpointError: The state is damaged, or belongs to other settings.
        """
        torch.manual_seed(self.config.seed)
        self.models = new_models()
        self.nets = torch.nn.ModuleDict({"future": TrickNet(FUTURE), "current": TrickNet(CURRENT)})
        self._row: Row = {}
        arrays, self.rows = self.run.state()
        if self.rows:
            rng = torch.from_numpy(arrays.pop("rng"))
            self.nets.load_state_dict({k: torch.from_numpy(v) for k, v in arrays.items()})
            torch.set_rng_state(rng)
            self._put()
            last = self.rows[-1]
            self.clock.start(number_in(last, "seconds"), number_in(last, "cpu_seconds"))

    def _put(self) -> None:
        future, current = self.nets["future"], self.nets["current"]
        assert isinstance(future, TrickNet) and isinstance(current, TrickNet)
        put_weights(future, current, self.models)

    @property
    def done(self) -> int:
        """The number of rounds done, including the one of random play."""
        return len(self.rows) + bool(self._row)

    def finished(self) -> bool:
        """Returns whether all rounds are done."""
        return self.done > self.config.rounds

    def step(self) -> bool:
        """Plays and fits a round."""
        config, number = self.config, self.done
        self.show("playing", number, config.rounds + 1)
        noise = NOISE if number else RANDOM
        seed = config.seed * 1000 + number
        future, future_won, current, current_won = play_and_note(
            self.models, config.cards, seed, noise
        )
        self.show("fitting", number + 0.5, config.rounds + 1)
        future_loss = fit_trick_net(self.nets["future"], future, future_won, config.fit)
        current_loss = fit_trick_net(self.nets["current"], current, current_won, config.fit)
        self._put()
        self._row = {
            "cards": len(future),
            "winning_cards": len(current),
            "future_loss": round(future_loss, 5),
            "current_loss": round(current_loss, 5),
        }
        return True

    def player(self) -> CounterfactualAgent:
        """Returns the heuristic player with the newest models."""
        return CounterfactualAgent(engine_rows(self.models.view(np.ndarray).copy()))

    def save(self, found: Mapping[str, Difference]) -> Row:
        """Saves the models and everything that a resumed run needs."""
        row: Row = {
            "round": self.done,
            "seconds": round(self.clock.seconds, 2),
            "cpu_seconds": round(self.clock.cpu_seconds, 2),
            **self._row,
            **measured_columns(self.config.report.fields, found),
        }
        self.rows.append(row)
        self._row = {}
        arrays = {name: value.detach().numpy() for name, value in self.nets.state_dict().items()}
        self.run.save(arrays | {"rng": torch.get_rng_state().numpy()}, self.rows, self.models)
        self.show("", self.done, self.config.rounds + 1)
        return row
