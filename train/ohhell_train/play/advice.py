"""Hints: what a player would do in the person's place, from the person's own view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.value.advantage_nets import price_for
from ohhell_env.engine.layout import compile_rules
from ohhell_env.errors import OhHellError, described, shown
from ohhell_env.game import Game
from ohhell_env.observation import LAYOUTS, layout_of
from ohhell_env.players import resolve
from ohhell_env.records.thoughts import Thought, plain_thought
from ohhell_env.rules import Rules
from ohhell_train.play.hints import hint_words
from ohhell_train.play.view import observe


@dataclass(frozen=True)
class Advice:
    """A hint: what the adviser would do, and why."""

    action: int
    """Action code of the bid or card that it would choose."""
    words: str
    """The hint in a few sentences."""
    numbers: str
    """The adviser's own table: how far each choice is behind the best one."""
    thought: Thought
    """The same as data, as a record keeps it."""

    @property
    def text(self) -> str:
        """The words, and the numbers below."""
        return f"{self.words}\n\n{self.numbers}"


Observation = dict[str, NDArray[np.int8]]
"""The person's own "observation" and "action_mask"."""


class Adviser:
    """A player that gives hints.

    Args:
        name: Name of the player, as for ``ohhell_agents.make``. It must have ``explain``.
        rules: The rules.
        seat: The person's seat.
        seed: Seed of the player's own random numbers.
        hand_size: A hand size outside the schedule that will be played.

    Raises:
        OhHellError: The player does not exist, or has no ``explain``.
    """

    def __init__(
        self, name: str, rules: Rules, seat: int, seed: int, hand_size: int | None = None
    ) -> None:
        self.name = name
        self._player: Any = resolve(name, seed)
        if not callable(getattr(self._player, "explain", None)):
            self.close()
            raise OhHellError(
                f"--adviser: player {shown(name)} cannot explain its choices; heuristic, search "
                "and zoo:universal can"
            )
        self._player.begin(rules, seat)
        wanted = getattr(self._player, "layout_name", "default")
        self._layout = layout_of(rules, wanted if wanted in LAYOUTS else "default", hand_size)
        self._compiled = compile_rules(rules, "game" if hand_size is None else "deal", hand_size)
        self._pack, self._seat = rules.pack, seat

    def observation(self, game: Game) -> Observation:
        """Returns what the person may see, in the adviser's layout."""
        vector, mask = observe(game, self._layout, self._seat)
        return {"observation": vector, "action_mask": mask}

    def advise(self, observation: Observation) -> Advice:
        """Returns a hint. This may take seconds; any thread may call it.

        Raises:
            OhHellError: The adviser failed.
        """
        try:
            explained = self._player.explain(observation)
            thought, chosen = plain_thought(explained), int(explained.chosen)
            size = int(observation["observation"][self._layout.slices()["hand_size"].start])
            price = float(price_for(self._compiled, size))
            words = hint_words(thought, self._pack, price)
            return Advice(chosen, words, str(explained), thought)
        except (OhHellError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise OhHellError(f"{self.name} gives no hint: {described(error)}") from error

    def close(self) -> None:
        """Ends the player, a program for instance."""
        close = getattr(self._player, "close", None)
        if callable(close):
            close()
