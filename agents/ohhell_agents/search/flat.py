"""Determinized Monte Carlo: every action in the same worlds, played out to the end; compiled."""

# pyright: basic
from __future__ import annotations

import math

import numpy as np

from ohhell_agents.search.beliefs import next_world
from ohhell_agents.search.workspace import (
    MOST_ACTIONS,
    PLAYED,
    WORLD,
    deal_value,
    move,
    note,
    open_world,
    play_out,
)
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.worlds import HOLDERS

_LEAST = 8
"""Worlds before any action is dropped."""
_EVERY = 4
"""Worlds between two checks of the race."""


@entry
def search_worlds(games, rules, models, params, hidden, belief, stats, worlds):
    """Compares the actions of a question in more worlds.

    Args:
        games: ``GAME`` rows (NUM_ROWS,), the workspace of the question.
        rules: ``RULES`` row.
        models: ``MODELS`` rows (2,): of the values that count, and of the play-outs.
        params: ``SEARCH_PARAMS`` row.
        hidden: ``HIDDEN`` row.
        belief: ``BELIEF`` row.
        stats: ``ROOT_STATS`` row, written in place.
        worlds: Largest number of worlds.

    Returns:
        Number of actions still compared; with 1 there is nothing left to search.
    """
    hands, values = np.empty(HOLDERS, np.uint64), np.zeros(MOST_ACTIONS)
    root, row = stats[0], games[PLAYED]
    for _ in range(worlds):
        next_world(games, rules[0], models[0], params[0], hidden[0], belief[0], hands)
        open_world(games, rules[0], models[1], params[0], hidden[0], hands)
        for place in range(root.count):
            if root.alive[place]:
                games[PLAYED] = games[WORLD]
                move(row, rules[0], root.actions[place])
                play_out(row, rules[0], models[1], params[0], hidden[0])
                values[place] = deal_value(row, rules[0], params[0], 0)
                note(root, place, values[place], np.int64(row.tricks_won[0]))
        root.worlds += 1
        _add_gaps(root, values)
        due = params[0].race > 0.0 and root.worlds >= _LEAST and root.worlds % _EVERY == 0
        if due and _drop(root, params[0]) == 1:
            break
    return root.alive.sum()


@inline
def _add_gaps(stats, values):
    for one in range(stats.count):
        if stats.alive[one]:
            for two in range(one):
                if stats.alive[two]:
                    gap = values[one] - values[two]
                    stats.gaps[one, two] += gap * gap
                    stats.gaps[two, one] += gap * gap


@inline
def _mean(stats, place, prior):
    """Returns an action's mean value; its prior expectation counts as ``prior`` worlds."""
    visits = max(stats.visits[place] + prior, 1.0)
    return (stats.totals[place] + prior * stats.prior[place]) / visits


@inline
def best_place(stats, prior):
    """Returns the place of the action with the highest mean among those not dropped."""
    best, most = np.int64(0), -math.inf
    for place in range(stats.count):
        if stats.alive[place]:
            mean = _mean(stats, place, prior)
            if mean > most + 1e-9:
                best, most = np.int64(place), mean
    return best


@inline
def _error(stats, best, place, price):
    """Returns the standard error of the difference of two actions' means.

    It adds one difference of the price of a missed bid to those seen: if a few worlds all end
    alike, others need not.
    """
    size = np.float64(stats.worlds)
    gap = (stats.totals[best] - stats.totals[place]) / size
    square = (stats.gaps[best, place] + price * price) / size
    return math.sqrt(max(square - gap * gap, 0.0) / max(size - 1.0, 1.0))


@inline
def _gap_error(stats, best, place, prior):
    """Returns the standard error of the difference of two actions' values; NaN in one world."""
    if stats.worlds < 2:
        return np.nan
    size = np.float64(stats.worlds)
    return _error(stats, best, place, 0.0) * size / (size + prior)  # the prior has no error


@inline
def _drop(stats, params):
    """Drops the actions clearly behind the best, by paired differences; returns how many remain."""
    best, stay = best_place(stats, params.prior), np.int64(0)
    for place in range(stats.count):
        if stats.alive[place]:
            gap = _mean(stats, best, params.prior) - _mean(stats, place, params.prior)
            behind = gap > params.race * _error(stats, best, place, params.price)
            if place != best and behind:
                stats.alive[place] = 0
                stats.behind[place] = gap
                stats.behind_error[place] = _gap_error(stats, best, place, params.prior)
            else:
                stay += 1
    return stay


@entry
def gaps_to_best(stats, params, gaps, errors):
    """Writes how far each action is behind the best one, for explanations.

    A dropped action was last compared when it was dropped, with the best one at that time.

    Args:
        stats: ``ROOT_STATS`` row.
        params: ``SEARCH_PARAMS`` row.
        gaps: float64 (MOST_ACTIONS,), written in place, in units of the objective, 0 or more; NaN
            if unknown.
        errors: float64 (MOST_ACTIONS,), written in place: standard errors of the gaps; NaN if
            unknown.
    """
    root, prior = stats[0], params[0].prior
    best = best_place(root, prior)
    for place in range(root.count):
        gaps[place], errors[place] = root.behind[place], root.behind_error[place]
        if root.alive[place]:
            gaps[place] = max(_mean(root, best, prior) - _mean(root, place, prior), 0.0)
            errors[place] = np.nan if place == best else _gap_error(root, best, place, prior)


@entry
def best_action(stats, params):
    """Returns the code of the best action."""
    return stats[0].actions[best_place(stats[0], params[0].prior)]
