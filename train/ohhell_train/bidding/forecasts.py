"""A player's forecasts at its bids, as far as its ``explain`` gives them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.base import Agent
from ohhell_agents.explanation import Thought
from ohhell_agents.value.players import answer_all, question_all
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import BID_BASE, NUM_BIDS, Rows
from ohhell_train.tournament.entrants import Entrant
from ohhell_train.tournament.tables import Deals


class BidPositions(NamedTuple):
    """Tables whose bidding is replayed exactly."""

    deals: Deals
    games: Rows
    """Freshly dealt tables; the replay leaves them after the bidding."""
    bids: NDArray[np.int64]
    """(tables, seats)."""
    asked: NDArray[np.bool_]
    """(tables, seats): the seats whose bids the report needs."""
    keys: NDArray[np.uint64]
    """(tables, seats): the random keys with which the tables were played."""


def can_tell(player: Any) -> bool:
    """Returns whether a player can give forecasts for its bids."""
    return isinstance(player, Agent) and callable(getattr(player, "explain", None))


def forecasts_of(one: Entrant, bidding: BidPositions) -> dict[str, NDArray[np.float64]]:
    """Returns a player's forecasts for its bids.

    Forced bids are skipped.

    Args:
        one: The player, which has begun under the rules of the deals.
        bidding: The tables.

    Returns:
        "value" (B,), "prob" (B,) and "trick_probs" (B, NUM_BIDS) as in ``BIDS``; NaN for missing
        forecasts; empty if the player cannot explain itself. B goes through ``asked`` by tables,
        then seats.
    """
    if not can_tell(one.player):
        return {}
    games, asked, compiled = bidding.games.copy(), bidding.asked, bidding.deals.compiled
    value, prob = np.full((2, *asked.shape), np.nan)
    trick_probs = np.full((*asked.shape, NUM_BIDS), np.nan)
    everywhere = np.arange(len(games))
    for _ in range(asked.shape[1]):
        seats = games["seat"].astype(np.int64)
        bids = bidding.bids[everywhere, seats]
        choice = np.bitwise_count(games["legal"]) > 1
        for table, thought in _thoughts(one, bidding, games, asked[everywhere, seats] & choice):
            place, size = (table, seats[table]), int(games["hand_size"][table])
            points = compiled["points"][0][size, bids[table], : size + 1]
            forecast = _read(thought, int(bids[table]), points)
            value[place], prob[place], trick_probs[place] = forecast
        answer_all(games, everywhere, compiled, BID_BASE + bids)
    return {"value": value[asked], "prob": prob[asked], "trick_probs": trick_probs[asked]}


class _Forecast(NamedTuple):
    value: float
    prob: float
    trick_probs: NDArray[np.float64]


def _thoughts(
    one: Entrant, bidding: BidPositions, games: Rows, wanted: NDArray[np.bool_]
) -> list[tuple[int, tuple[Thought, str]]]:
    """Returns the player's thoughts about the bids at some tables, each with its unit."""
    tables = np.flatnonzero(wanted)
    layout, count = bidding.deals.layout(one.layout_name), len(tables)
    views, masks = new_buffer(count, layout.length), new_buffer(count, layout.num_actions)
    random_bits = np.empty(count, np.uint64)
    compiled = bidding.deals.compiled
    question_all(
        games, tables, compiled, layout.compiled(), bidding.keys, views, masks, random_bits
    )
    shown = views[:-MARGIN].reshape(count, -1), masks[:-MARGIN].reshape(count, -1)
    found = []
    for table, view, mask, bits in zip(tables.tolist(), *shown, random_bits.tolist(), strict=True):
        seen = {"observation": view, "action_mask": mask}
        explanation = one.player.explain(seen, random_bits=bits)
        code = BID_BASE + bidding.bids[table, games["seat"][table]]
        thought = next(each for each in explanation.thoughts if each.action == code)
        found.append((table, (thought, explanation.objective)))
    return found


def _read(explained: tuple[Thought, str], bid: int, points: NDArray[np.int32]) -> _Forecast:
    """Returns the forecast in a thought.

    Args:
        explained: The thought about the bid, and the unit of its value.
        bid: The bid.
        points: (hand size + 1,), the points of the bid by tricks won.
    """
    thought, objective = explained
    trick_probs = np.full(NUM_BIDS, np.nan)
    size = len(points) - 1
    if thought.tricks:
        trick_probs[: size + 1] = 0.0
        trick_probs[: len(thought.tricks)] = thought.tricks
        return _Forecast(
            float(trick_probs[: size + 1] @ points), float(trick_probs[bid]), trick_probs
        )
    if thought.value is None or objective != "points":
        return _Forecast(np.nan, np.nan, trick_probs)
    return _Forecast(thought.value, _implied_prob(thought.value, bid, points), trick_probs)


def _implied_prob(value: float, bid: int, points: NDArray[np.int32]) -> float:
    """Returns the probability of making a bid that follows from its expected points.

    It follows only if a missed bid costs the same however many tricks it is off; otherwise NaN.
    """
    missed = np.unique(np.delete(points, bid))
    if len(missed) != 1 or missed[0] == points[bid]:
        return np.nan
    return float(np.clip((value - missed[0]) / (points[bid] - missed[0]), 0.0, 1.0))
