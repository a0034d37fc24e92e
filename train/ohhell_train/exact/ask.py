"""Asking a player what it does: in positions written out, and for its bids in one-card deals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.base import Agent
from ohhell_env.engine import batch
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import BID_BASE, Rows, compile_rules, new_games
from ohhell_env.errors import IllegalActionError, shown
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from ohhell_env.players import called
from ohhell_train.exact.beginnings import Beginnings
from ohhell_train.exact.counts import CARDS

_UNASKED = -1.0
_AT_ONCE = 4096


def legal_answers(
    agent: Agent, views: NDArray[np.int8], masks: NDArray[np.int8]
) -> NDArray[np.int64]:
    """Returns what a player does in some positions.

    The player gets copies, so that nothing that it writes to them makes an answer legal.

    Args:
        agent: The player; it has taken its seat.
        views: int8 (B, L), observations of the seats to act.
        masks: int8 (B, A), action masks.

    Returns:
        int64 (B,), a legal action code for each position.

    Raises:
        IllegalActionError: It answers something else.
    """
    answers = np.asarray(agent.act_batch(views.copy(), masks.copy()))
    if answers.dtype.kind not in "iu" or answers.shape != (len(masks),):
        raise IllegalActionError(
            f"player {shown(called(agent))} answered {shown(answers)}; {len(masks)} questions want "
            f"{len(masks)} whole numbers"
        )
    inside = (answers >= 0) & (answers < masks.shape[1])
    legal = inside & (masks[np.arange(len(masks)), np.where(inside, answers, 0)] != 0)
    if not legal.all():
        wrong = int(np.argmin(legal))
        raise IllegalActionError(
            f"player {shown(called(agent))} answered {answers[wrong]}; legal: "
            f"{', '.join(map(str, np.flatnonzero(masks[wrong])))}"
        )
    return answers.astype(np.int64)


class Asker:
    """Asks a player for its bids and remembers the answers.

    Args:
        agent: The player; it takes its seats at a table of the deals' rules.
        deals: The one-card deals; seats are places in the bidding, the last one deals.
    """

    def __init__(self, agent: Agent, deals: Beginnings) -> None:
        self._agent, self._deals = agent, deals
        players = deals.rules.players
        self._table = Game(deals.rules, seed=0, episode="deal", hand_size=1)
        self._compiled = compile_rules(deals.rules, "deal", 1)
        self._layout = layout_of(deals.rules, agent.layout_name, 1)
        shape = (len(deals.seen), players, 1 << (players - 1), CARDS)
        self._answers = np.full(shape, _UNASKED)

    def bids(self, place: int, wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Returns the bids of one place in the bidding.

        Args:
            place: 0 = eldest.
            wanted: bool (seen, bids before, card), where there is a choice that can come up.

        Returns:
            float64, of the same shape: 1 where one is bid, else 0; where it is not wanted, what
            the rules leave to bid, or 0.
        """
        answers = self._answers[:, place, : 1 << place]
        self._agent.begin(self._deals.rules, place)
        questions = np.argwhere(wanted & (answers == _UNASKED))
        for start in range(0, len(questions), _AT_ONCE):
            some = questions[start : start + _AT_ONCE]
            answers[tuple(some.T)] = self._ask(place, some)
        forced = self._forced(place)[None, :, None]
        return np.where(wanted, answers, forced)

    def _forced(self, place: int) -> NDArray[np.float64]:
        """Returns 1 for the bids before after which only one is legal, else 0."""
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
        shown = views[:-MARGIN].reshape(count, -1), masks[:-MARGIN].reshape(count, -1)
        answers = legal_answers(self._agent, *shown)
        return (answers - BID_BASE).astype(np.float64)

    def _after(self, label: int, place: int, history: int) -> Rows:
        """Returns a table at which some bids have been made and nobody holds a card."""
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
