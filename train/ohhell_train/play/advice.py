"""Hints: what a player would do in the person's place, from the person's own view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.errors import OhHellError, described, shown
from ohhell_env.game import Game
from ohhell_env.observation import LAYOUTS, layout_of
from ohhell_env.players import resolve
from ohhell_env.records.thoughts import Thought, plain_thought
from ohhell_env.rules import Rules
from ohhell_train.play.sight import observe


@dataclass(frozen=True)
class Advice:
    """What the adviser would do, and why."""

    action: int
    """Code of what it would bid or play."""
    text: str
    """What it says, in its own words."""
    thought: Thought
    """The same as a record keeps it."""


Observation = dict[str, NDArray[np.int8]]
"""The person's own "observation" and "action_mask"."""


class Adviser:
    """A player that is asked for hints.

    Args:
        name: As ``ohhell_agents.make`` knows it; it must be able to explain itself.
        rules: The rules.
        seat: The person's seat.
        seed: Starts its own random numbers.
        hand_size: A hand size outside the schedule that is to be played.

    Raises:
        OhHellError: There is no such player, or it cannot explain itself.
    """

    def __init__(
        self, name: str, rules: Rules, seat: int, seed: int, hand_size: int | None = None
    ) -> None:
        self.name = name
        self._player: Any = resolve(name, seed)
        if not callable(getattr(self._player, "explain", None)):
            self.close()
            raise OhHellError(
                f"--adviser: player {shown(name)} cannot say what it thinks; heuristic, search and "
                "zoo:universal can"
            )
        self._player.begin(rules, seat)
        wanted = getattr(self._player, "layout_name", "default")
        self._layout = layout_of(rules, wanted if wanted in LAYOUTS else "default", hand_size)
        self._seat = seat

    def observation(self, game: Game) -> Observation:
        """Returns what the person may see, as the adviser reads it."""
        vector, mask = observe(game, self._layout, self._seat)
        return {"observation": vector, "action_mask": mask}

    def advise(self, observation: Observation) -> Advice:
        """Returns a hint; may take a while, may be called in any thread.

        Raises:
            OhHellError: The adviser failed.
        """
        try:
            explained = self._player.explain(observation)
            return Advice(int(explained.chosen), str(explained), plain_thought(explained))
        except (OhHellError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise OhHellError(f"{self.name} cannot say: {described(error)}") from error

    def close(self) -> None:
        """Ends what the player holds."""
        close = getattr(self._player, "close", None)
        if callable(close):
            close()
