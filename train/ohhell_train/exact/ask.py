"""Collects a player's bids in one-card deals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.base import Agent
from ohhell_env.asking import Asker
from ohhell_env.engine import batch
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import BID_BASE, Rows, compile_rules, new_games
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from ohhell_train.exact.beginnings import Beginnings
from ohhell_train.exact.counts import CARDS

_UNASKED = -1.0
_AT_ONCE = 4096


class AskedBids:
    """A player's bids in one-card deals, each asked for once.

    Args:
        agent: The player; it takes its seats at a table of the deals' rules.
        deals: The one-card deals; seats are places in the bidding, and the last one deals.
    """

    def __init__(self, agent: Agent, deals: Beginnings) -> None:
        self._asker, self._deals = Asker(agent), deals
        players = deals.rules.players
        self._table = Game(deals.rules, seed=0, episode="deal", hand_size=1)
        self._compiled = compile_rules(deals.rules, "deal", 1)
        self._layout = layout_of(deals.rules, self._asker.layout_name, 1)
        shape = (len(deals.seen), players, 1 << (players - 1), CARDS)
        self._answers = np.full(shape, _UNASKED)

    def bids(self, place: int, wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Returns the bids of one place in the bidding.

        Args:
            place: 0 = eldest.
            wanted: bool (seen, bids before, card), whether there is a choice in a situation that
                can occur.

        Returns:
            float64 of the same shape: 1 for a bid of one, else 0. For situations not wanted, it is
            the only legal bid, or 0.
        """
        answers = self._answers[:, place, : 1 << place]
        self._asker.player.begin(self._deals.rules, place)
        questions = np.argwhere(wanted & (answers == _UNASKED))
        for start in range(0, len(questions), _AT_ONCE):
            some = questions[start : start + _AT_ONCE]
            answers[tuple(some.T)] = self._ask(place, some)
        forced = self._forced(place)[None, :, None]
        return np.where(wanted, answers, forced)

    def _forced(self, place: int) -> NDArray[np.float64]:
        """Returns 1 for the earlier bids that leave only a bid of one legal, else 0."""
        legal = [self._after(0, place, history)["legal"][0] for history in range(1 << place)]
        return np.array([float(mask == 2) for mask in legal])

    def _ask(self, place: int, questions: NDArray[np.int64]) -> NDArray[np.float64]:
        games = new_games(len(questions))
        previous, state = None, b""
        for index, (label, history, card) in enumerate(questions.tolist()):
            if (label, history) != previous:
                previous, state = (label, history), self._after(label, place, history).tobytes()
            games[index : index + 1].view(np.uint8)[:] = np.frombuffer(state, np.uint8)
            games["hands"][index, place] = np.uint64(1 << card)
        layout, count = self._layout, len(questions)
        views, masks = new_buffer(count, layout.length), new_buffer(count, layout.num_actions)
        batch.observe_all(games, self._compiled, layout.compiled(), views, masks)
        own = views[:-MARGIN].reshape(count, -1), masks[:-MARGIN].reshape(count, -1)
        answers = self._asker.legal_answers(*own)
        return (answers - BID_BASE).astype(np.float64)

    def _after(self, label: int, place: int, history: int) -> Rows:
        """Returns a table after some bids, with no cards dealt."""
        deals = self._deals
        beginning = deals.each[int(np.argmax(deals.label == label))]
        games = self._table.copy().state
        row = games[0]
        row["dealer"] = deals.rules.players - 1
        row["trump_source"], row["turned"] = beginning.source, beginning.turned
        row["trump"] = beginning.trump
        if beginning.place is not None:
            row["deal"] = row["plan"] = beginning.place
        row["hands"] = 0
        batch.open_one(games, self._compiled)
        for before in range(place):
            code = batch.step_one(games, self._compiled, BID_BASE + (history >> before & 1))
            assert code >= 0, "a bid of 0 or 1 before the last is legal"
        return games
