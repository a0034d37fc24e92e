"""Determinised Monte Carlo: every action in the same worlds, played out to the end; compiled."""

# pyright: basic
from __future__ import annotations

import math

import numpy as np

from ohhell_agents.search.beliefs import next_world
from ohhell_agents.search.workspace import (
    MOST_ACTIONS,
    PLAYED,
    WORLD,
    move,
    note,
    open_world,
    play_out,
    worth,
)
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.worlds import HOLDERS

_LEAST = 8
"""Worlds before any action is dropped."""
_EVERY = 4
"""Worlds between two looks at the race."""


@entry
def search_worlds(games, rules, models, plan, hidden, belief, tally, worlds):
    """Compares the actions of a question in some more worlds.

    Args:
        games: ``GAME`` rows (NUM_ROWS,), the desk of the question.
        rules: ``RULES`` row.
        models: ``MODELS`` rows (2,): whose reckoning counts, and who plays the deals out.
        plan: ``PLAN`` row.
        hidden: ``HIDDEN`` row.
        belief: ``BELIEF`` row.
        tally: ``TALLY`` row, written in place.
        worlds: How many worlds at most.

    Returns:
        How many actions are still compared; with 1 there is nothing left to search.
    """
    hands, values = np.empty(HOLDERS, np.uint64), np.zeros(MOST_ACTIONS)
    told, row = tally[0], games[PLAYED]
    for _ in range(worlds):
        next_world(games, rules[0], models[0], plan[0], hidden[0], belief[0], hands)
        open_world(games, rules[0], models[1], plan[0], hidden[0], hands)
        for place in range(told.count):
            if told.alive[place]:
                games[PLAYED] = games[WORLD]
                move(row, rules[0], told.actions[place])
                play_out(row, rules[0], models[1], plan[0], hidden[0])
                values[place] = worth(row, rules[0], plan[0], 0)
                note(told, place, values[place], np.int64(row.tricks_won[0]))
        told.worlds += 1
        _add_gaps(told, values)
        due = plan[0].race > 0.0 and told.worlds >= _LEAST and told.worlds % _EVERY == 0
        if due and _drop(told, plan[0]) == 1:
            break
    return told.alive.sum()


@inline
def _add_gaps(tally, values):
    for one in range(tally.count):
        if tally.alive[one]:
            for two in range(one):
                if tally.alive[two]:
                    gap = values[one] - values[two]
                    tally.gaps[one, two] += gap * gap
                    tally.gaps[two, one] += gap * gap


@inline
def _mean(tally, place, prior):
    """Returns an action's mean value; what was expected of it counts as so many worlds."""
    visits = max(tally.visits[place] + prior, 1.0)
    return (tally.totals[place] + prior * tally.prior[place]) / visits


@inline
def best_place(tally, prior):
    """Returns the place of the action of the highest mean among those not dropped."""
    best, most = np.int64(0), -math.inf
    for place in range(tally.count):
        if tally.alive[place]:
            mean = _mean(tally, place, prior)
            if mean > most + 1e-9:
                best, most = np.int64(place), mean
    return best


@inline
def _error(tally, best, place, price):
    """Returns the standard error of the difference of two actions' means.

    One difference of the price of a missed bid is counted beside those seen: that a few worlds all
    end alike does not mean that all others do.
    """
    size = np.float64(tally.worlds)
    gap = (tally.totals[best] - tally.totals[place]) / size
    square = (tally.gaps[best, place] + price * price) / size
    return math.sqrt(max(square - gap * gap, 0.0) / max(size - 1.0, 1.0))


@inline
def _gap_error(tally, best, place, prior):
    """Returns the standard error of the difference of two actions' values; NaN in one world."""
    if tally.worlds < 2:
        return np.nan
    size = np.float64(tally.worlds)
    return _error(tally, best, place, 0.0) * size / (size + prior)  # what was expected has none


@inline
def _drop(tally, plan):
    """Drops the actions clearly behind the best, by paired differences; returns how many stay."""
    best, stay = best_place(tally, plan.prior), np.int64(0)
    for place in range(tally.count):
        if tally.alive[place]:
            gap = _mean(tally, best, plan.prior) - _mean(tally, place, plan.prior)
            behind = gap > plan.race * _error(tally, best, place, plan.price)
            if place != best and behind:
                tally.alive[place] = 0
                tally.behind[place] = gap
                tally.behind_error[place] = _gap_error(tally, best, place, plan.prior)
            else:
                stay += 1
    return stay


@entry
def gaps_to_best(tally, plan, gaps, errors):
    """Writes how far each action is behind the one that came out best; for explanations.

    An action that was dropped was last compared when that was decided, with the best one of then.

    Args:
        tally: ``TALLY`` row.
        plan: ``PLAN`` row.
        gaps: float64 (MOST_ACTIONS,), written in place, in units of the objective, 0 or more; NaN
            where nothing is known.
        errors: float64 (MOST_ACTIONS,), written in place: standard errors of these; NaN where there
            is none.
    """
    told, prior = tally[0], plan[0].prior
    best = best_place(told, prior)
    for place in range(told.count):
        gaps[place], errors[place] = told.behind[place], told.behind_error[place]
        if told.alive[place]:
            gaps[place] = max(_mean(told, best, prior) - _mean(told, place, prior), 0.0)
            errors[place] = np.nan if place == best else _gap_error(told, best, place, prior)


@entry
def best_action(tally, plan):
    """Returns the code of the action that came out best."""
    return tally[0].actions[best_place(tally[0], plan[0].prior)]
