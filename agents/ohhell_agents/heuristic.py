"""``heuristic``: a club player; ``value/policy.py`` makes its decisions."""

# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ohhell_agents.base import Actions, Agent, Bytes, RandomBits, split_observation
from ohhell_agents.explanation import (
    POINTS,
    Explanation,
    clipped,
    difference_text,
    explain_values,
    payable,
)
from ohhell_agents.value.bids import bid_values
from ohhell_agents.value.cards import card_values
from ohhell_agents.value.players import HEURISTIC
from ohhell_agents.value.policy import heuristic_action
from ohhell_agents.value.trick_model import fitted
from ohhell_env.engine.caching import entry
from ohhell_env.engine.decode import view_to_row
from ohhell_env.engine.layout import BID_BASE, NUM_BIDS, Phase, Rows, compile_rules, new_games
from ohhell_env.errors import IllegalActionError
from ohhell_env.observation import LAYOUTS, Layout, layout_of
from ohhell_env.rules import RulesLike, phrases, schedule
from ohhell_env.rules.schedule import MAX_HAND_SIZE

_BID = int(Phase.BID)


class HeuristicAgent(Agent):
    """Bids for the most expected points and plays for its bid; needs no training or randomness.

    The player must know the rules, above all the scoring: call ``begin`` first.

    >>> from ohhell_env import BatchedOhHell
    >>> tables = BatchedOhHell(2, "oh_hell", seed=1)
    >>> tables.reset()
    >>> agent = HeuristicAgent()
    >>> agent.begin("oh_hell")
    >>> (agent.act_batch(tables.observations, tables.action_masks) >= 60).tolist()  # both bid
    [True, True]
    """

    kind = "heuristic"
    engine_player = HEURISTIC

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self._row: Rows = new_games(1)

    @property
    def models(self) -> Rows:
        """The player's networks: a ``MODELS`` row."""
        return fitted()

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
        observations: Bytes,
        action_masks: Bytes,
        random_bits: RandomBits,
        deterministic: bool,
        /,
    ) -> Actions:
        """Returns an action for each row; see ``Agent.choose``."""
        if self.rules is None:
            raise IllegalActionError(
                f"the {self.kind} player must know the rules: call begin(rules, seat) before act()"
            )
        reader = self._reader(observations.shape[1])
        reader.check(observations, self.rules.players)
        chosen = np.empty(len(observations), np.int64)
        sizes = observations[:, reader.hand_size]
        scheduled = self._scheduled[sizes]
        views = (observations, action_masks, reader.sections)
        models = self.models
        _decide(*views, np.flatnonzero(scheduled), self._compiled, models, self._row, chosen)
        if not scheduled.all():
            for size in np.unique(sizes[~scheduled]).tolist():
                of_size = np.flatnonzero(sizes == size)
                _decide(*views, of_size, self._rules_for(size), models, self._row, chosen)
        return chosen

    def explain(
        self,
        observation: Any,
        info: Mapping[str, Any] | None = None,
        random_bits: int | None = None,
    ) -> Explanation:
        """Returns how far each legal action is behind the best one, and what ``act`` would do.

        The heuristic player's values are expected points. A player that corrects them reports no
        values, because its own are right only as differences.

        Args:
            observation: As in ``act``.
            info: As in ``act``.
            random_bits: Not used; this player is deterministic.

        Raises:
            IllegalActionError: As in ``act``.
        """
        vector, mask = split_observation(observation, info)
        action = int(self.act_batch(vector[np.newaxis], mask[np.newaxis])[0])
        assert self.rules is not None
        reader = self._reader(len(vector))
        size = int(vector[reader.hand_size])
        compiled = self._rules_for(size)
        legal, values = np.flatnonzero(mask).tolist(), np.full(64 + NUM_BIDS, np.nan)
        fewest, most = _weigh(
            vector, mask, reader.sections, compiled, self.models, self._row, values
        )
        notes = list[str]()
        missed = [code for code in legal if not fewest <= code - BID_BASE <= most]
        missed = [code for code in missed if values[code] > values[action]]
        if action >= BID_BASE and missed and fewest <= action - BID_BASE <= most:
            values[missed] = np.nan  # ruled out, whatever their values
            if fewest:
                notes.append(f"at least {phrases.count(fewest, 'trick')} for certain: no lower bid")
            else:
                notes.append(f"at most {phrases.count(most, 'trick')} for certain: no higher bid")
        weighed = {code: float(values[code]) for code in np.flatnonzero(~np.isnan(values)).tolist()}
        ends = payable(self._row[0], compiled["points"][0], legal)
        calibrated = not self.models["has_advantages"][0]
        if calibrated:
            expected = clipped(values[action], ends[action])
            notes.append(f"points expected of the best choice: {difference_text(expected, POINTS)}")
        return explain_values(weighed, self.rules, legal, action, ends, calibrated, notes)

    def _rules_for(self, size: int) -> Rows:
        """Returns the rules for a hand size; one outside the schedule has points of its own."""
        if self._scheduled[size]:
            return self._compiled
        assert self.rules is not None
        return compile_rules(self.rules, "deal", size)

    def _reader(self, length: int) -> _Reader:
        reader = self._readers.get(length)
        if reader is None:
            raise IllegalActionError(
                f"observations of {length} values do not fit the rules of begin(): expected "
                + " or ".join(f"{size} ({r.name})" for size, r in self._readers.items())
            )
        return reader


class _Reader:
    """The places of values in the observations of one layout."""

    def __init__(self, layout: Layout) -> None:
        self.name = layout.name
        self.sections: Rows = layout.compiled()
        self.places = layout.slices()
        self.hand_size = self.places["hand_size"].start
        self.card_width = layout.card_width

    def check(self, views: Bytes, players: int) -> None:
        """Refuses views that do not fit the engine's arrays, since the engine does not check.

        Raises:
            IllegalActionError: No table of this number of players can show the view.
        """

        def part(name: str, width: int | None = None) -> Bytes:
            return views[:, self.places[name]][:, :width]

        size = part("hand_size")[:, 0]
        held = np.count_nonzero(part("hand"), axis=1)
        gone = np.count_nonzero(part("played", self.card_width), axis=1)
        blind = part("blind")[:, 0] != 0 if "blind" in self.places else np.zeros(len(views), bool)
        right = (size >= 1) & (size <= MAX_HAND_SIZE)
        right &= (held + gone == size) | (blind & (held == 0))
        for name in ("bids", "tricks_won"):
            counts = part(name, players)
            right &= ((counts >= 0) & (counts <= size[:, None])).all(axis=1)
        for name, most in (("trick", players), ("open_cards", players - 1)):
            if name in self.places:
                right &= ((part(name) >= 0) & (part(name) <= most)).all(axis=1)
        right &= np.count_nonzero(part("dealer", players), axis=1) == 1
        playing = part("phase")[:, 1] != 0
        right &= ~playing | (np.count_nonzero(part("leader", players), axis=1) == 1)
        if "rules" in self.places:  # the first value is the number of players
            right &= part("rules")[:, 0] == players
        if not right.all():
            raise IllegalActionError(
                f"observation {int(np.argmin(right))} of the batch is not a view of a table of "
                f"{players} players"
            )


@entry
def _weigh(view, mask, sections, rules, models, scratch, values):
    """Writes each action's points at its code.

    Returns:
        In the bidding, bounds of the tricks that the hand can win; else 0 and 0.
    """
    row = scratch[0]
    view_to_row(view, mask, sections[0], rules[0], row)
    if row.phase != _BID:
        card_values(row, rules[0], models[0], values[:64])
        return 0, 0
    bids = values[BID_BASE : BID_BASE + NUM_BIDS]
    return bid_values(row, rules[0], models[0], bids)


@entry
def _decide(observations, masks, sections, where, rules, models, scratch, chosen):
    for index in where:
        view_to_row(observations[index], masks[index], sections[0], rules[0], scratch[0])
        chosen[index] = heuristic_action(scratch[0], rules[0], models[0])
