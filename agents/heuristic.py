"""``heuristic``: a club player; its decisions are made by ``policy.py``."""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent
from agents.engine_players import HEURISTIC
from agents.policy import heuristic_action
from agents.view import view_to_row
from ohhell_env import schedule
from ohhell_env.engine.caching import entry
from ohhell_env.engine.layout import Rows, compile_rules, new_games
from ohhell_env.errors import IllegalActionError
from ohhell_env.observation import LAYOUTS, Layout, layout_of
from ohhell_env.rules import RulesLike


class HeuristicAgent(Agent):
    """Bids the most expected points, plays for its bid; needs no training and no chance.

    It must know the rules (the scoring above all): call ``begin`` first.

    >>> from ohhell_env import BatchedOhHell
    >>> tables = BatchedOhHell(2, "oh_hell", seed=1)
    >>> tables.reset()
    >>> agent = HeuristicAgent()
    >>> agent.begin("oh_hell")
    >>> agent.act_batch(tables.observations, tables.action_masks).tolist()
    [62, 62]
    """

    kind = "heuristic"
    engine_player = HEURISTIC

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self._row: Rows = new_games(1)

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat at a table; see ``Agent.begin``."""
        super().begin(rules, seat)
        assert self.rules is not None
        layouts = [layout_of(self.rules, name) for name in LAYOUTS]
        self._readers = {layout.length: _Reader(layout) for layout in layouts}
        self._scheduled = np.zeros(128, np.bool_)
        self._scheduled[list(schedule.hand_sizes(self.rules))] = True
        self._compiled = compile_rules(self.rules)

    def choose(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        words: NDArray[np.uint64],
        deterministic: bool,
    ) -> NDArray[np.int64]:
        """Returns an action for each row; see ``Agent.choose``."""
        if self.rules is None:
            raise IllegalActionError(
                "the heuristic player must know the rules: call begin(rules, seat) before act()"
            )
        reader = self._reader(observations.shape[1])
        chosen = np.empty(len(observations), np.int64)
        sizes = observations[:, reader.hand_size]
        scheduled = self._scheduled[sizes]
        views = (observations, action_masks, reader.sections)
        _decide(*views, np.flatnonzero(scheduled), self._compiled, self._row, chosen)
        if not scheduled.all():
            for size in np.unique(sizes[~scheduled]).tolist():  # such a size has its own points
                compiled = compile_rules(self.rules, "deal", size)
                _decide(*views, np.flatnonzero(sizes == size), compiled, self._row, chosen)
        return chosen

    def _reader(self, length: int) -> _Reader:
        reader = self._readers.get(length)
        if reader is None:
            raise IllegalActionError(
                f"observations of {length} values are no view under the rules of begin(): "
                + " or ".join(f"{size} ({r.name})" for size, r in self._readers.items())
            )
        return reader


class _Reader:
    """Where things stand in the observations of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.name = layout.name
        self.sections: Rows = layout.compiled()
        self.hand_size = layout.slices()["hand_size"].start


@entry
def _decide(observations, masks, sections, where, rules, scratch, chosen):
    for index in where:
        view_to_row(observations[index], masks[index], sections[0], rules[0], scratch[0])
        chosen[index] = heuristic_action(scratch[0], rules[0])
