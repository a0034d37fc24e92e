"""The workspace of a search: reading a question, dealing worlds, playing out deals; compiled.

A question is one decision of one seat, which is seat 0 in every record here. ``SEARCH_PARAMS`` are
the parameters and ``ROOT_STATS`` the results. The rows of ``games`` are the view itself, a world, a
deal being played out, and each other seat's situation when it bid.
"""

# pyright: basic
from __future__ import annotations

import math

import numpy as np

from ohhell_agents.value.bids import bid_values
from ohhell_agents.value.cards import card_values
from ohhell_agents.value.players import HEURISTIC, uniform_action
from ohhell_agents.value.policy import heuristic_action
from ohhell_agents.value.trick_probs import distinct, look
from ohhell_env.engine import kernel
from ohhell_env.engine.bits import ONE, ZERO, bit, lowest
from ohhell_env.engine.caching import entry, inline, inner
from ohhell_env.engine.decode import view_to_row
from ohhell_env.engine.layout import BID_BASE, MAX_SEATS, NO_BID, NUM_BIDS, Phase
from ohhell_env.engine.rng import next_bits, seed_stream
from ohhell_env.engine.scoring import win_shares
from ohhell_env.engine.worlds import draw_trump, read_hidden

VIEW, WORLD, PLAYED, BIDDING = 0, 1, 2, 3
"""Rows of ``games``; the seats have one each from ``BIDDING`` on."""
NUM_ROWS = BIDDING + MAX_SEATS
MOST_ACTIONS = NUM_BIDS
"""The largest number of cards or bids to choose from."""

OBJECTIVES = ("points", "relative", "win")
_RELATIVE, _WIN = OBJECTIVES.index("relative"), OBJECTIVES.index("win")

_F8, _I8 = np.float64, np.int64
SEARCH_PARAMS = np.dtype(
    [
        ("player", _I8),  # the player of the play-outs: a number of value/players.py
        ("objective", _I8),  # place in OBJECTIVES
        ("spoil", _F8),  # weight of the others' mean points against own points; relative only
        ("inference", _I8),
        ("chains", _I8),
        ("swaps", _I8),
        ("temperature", _F8),  # in points of the current deal
        ("floor", _F8),
        ("race", _F8),  # an action this many standard errors behind is dropped; 0: never
        ("rest_sd", _F8),  # of a seat's points in the deals after this one; 0: no more deals
        ("prior", _F8),  # worlds that the policy's expectation of an action counts as
        ("price", _F8),  # of missing a usual bid by one trick, in units of the objective
        ("exploration", _F8),  # of the tree, in units of the objective
        ("others", _I8),  # 1: the tree branches at other seats too; 0: they play as in play-outs
    ],
    align=True,
)

ROOT_STATS = np.dtype(
    [
        ("count", _I8),  # actions
        ("actions", _I8, MOST_ACTIONS),  # their codes
        ("prior", _F8, MOST_ACTIONS),  # the policy's expectation of each action
        ("worlds", _I8),
        ("alive", _I8, MOST_ACTIONS),  # 0: not tried, or dropped from the race
        ("visits", _I8, MOST_ACTIONS),  # deals played out after an action
        ("totals", _F8, MOST_ACTIONS),  # sum of their values
        ("squares", _F8, MOST_ACTIONS),  # sum of the squares
        ("gaps", _F8, (MOST_ACTIONS, MOST_ACTIONS)),  # squares of differences in the same world
        ("tricks", _I8, (MOST_ACTIONS, NUM_BIDS)),  # how often each number of tricks was won
        # For an action that was dropped or not tried: how far it was behind the best one then, in
        # units of the objective, and the standard error. Only explanations read these.
        ("behind", _F8, MOST_ACTIONS),
        ("behind_error", _F8, MOST_ACTIONS),
    ],
    align=True,
)

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_HOPELESS = 1.0
"""A bid this many prices of a missed bid behind the best is hopeless."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_ROOT_HALF = math.sqrt(0.5)


@entry
def begin_question(views, masks, index, sections, rules, games, hidden, stats, random_bits):
    """Reads one question and lists the actions to compare.

    Args:
        views: int8 (B, L).
        masks: int8 (B, A).
        index: The row of the question.
        sections: ``SECTIONS`` row.
        rules: ``RULES`` row.
        games: ``GAME`` rows (NUM_ROWS,), written in place.
        hidden: ``HIDDEN`` row, written in place.
        stats: ``ROOT_STATS`` row, written in place.
        random_bits: uint64, starts the random stream.
    """
    row = games[VIEW]
    view_to_row(views[index], masks[index], sections[0], rules[0], row)
    read_hidden(row, rules[0], games[PLAYED], hidden[0])
    seed_stream(hidden[0], random_bits, ZERO)
    clear(stats[0])
    legal, base = row.legal, np.int64(BID_BASE)
    if row.phase == _PLAY:
        legal = distinct(legal, look(row, rules[0], np.int64(row.trump), np.int64(0)), row)
        base = np.int64(0)
    while legal != ZERO:
        stats[0].actions[stats[0].count] = base + lowest(legal)
        stats[0].alive[stats[0].count] = 1
        stats[0].count += 1
        legal = legal & (legal - ONE)


@inline
def clear(stats):
    """Resets the statistics."""
    stats.count, stats.worlds = 0, 0
    stats.prior[:] = 0.0
    stats.alive[:] = 0
    stats.visits[:] = 0
    stats.totals[:] = 0.0
    stats.squares[:] = 0.0
    stats.behind[:] = np.nan
    stats.behind_error[:] = np.nan
    for place in range(MOST_ACTIONS):
        stats.gaps[place, :] = 0.0
        stats.tricks[place, :] = 0


@entry
def policy_one(games, rules, models):
    """Returns the policy's action for the question."""
    return heuristic_action(games[VIEW], rules[0], models[0])


@entry
def expect(games, rules, models, params, stats):
    """Stores the policy's expectation of each action, and removes actions that it finds hopeless.

    A bid that is certain to be missed is hopeless too, whatever the advantage nets add to it. If
    the policy does not weigh all actions because one is obvious, its expectation does not count.
    """
    values, root, most = np.empty(BID_BASE + NUM_BIDS), stats[0], -math.inf
    first, last = 0, BID_BASE + NUM_BIDS
    if games[VIEW].phase == _BID:
        fewest, most_tricks = bid_values(games[VIEW], rules[0], models[0], values[BID_BASE:])
        for place in range(root.count):
            if fewest <= root.actions[place] - BID_BASE <= most_tricks:  # or the hook leaves none
                first, last = BID_BASE + fewest, BID_BASE + most_tricks
    else:
        card_values(games[VIEW], rules[0], models[0], values[:BID_BASE])
    for place in range(root.count):
        root.prior[place] = values[root.actions[place]]
        if np.isnan(root.prior[place]):
            root.prior[:] = 0.0
            params[0].prior = 0.0
            return
        if first <= root.actions[place] <= last:
            most = max(most, root.prior[place])
    for place in range(root.count):
        behind = most - root.prior[place]
        possible = first <= root.actions[place] <= last
        if behind > _HOPELESS * params[0].price or not possible:
            root.alive[place] = 0
            root.behind[place] = max(behind, 0.0)


@inner
def move(row, rules, action):
    """Applies a legal action; one function, compiled once, for all loops of the search."""
    kernel.apply(row, rules, action)


@inner
def policy_action(row, rules, models, params, hidden):
    """Returns the play-out player's action code for the seat to act."""
    if params.player == HEURISTIC:
        return heuristic_action(row, rules, models)
    return uniform_action(row, next_bits(hidden))


@inner
def open_world(games, rules, models, params, hidden, hands):
    """Writes a world to the record ``WORLD`` of the workspace, with seat 0 to act.

    If bids are simultaneous, the seats before seat 0 bid as in play-outs, since their bids are
    unknown.
    """
    games[WORLD] = games[VIEW]
    row = games[WORLD]
    for seat in range(rules.players):
        row.hands[seat] = hands[seat]
    draw_trump(row, rules, hidden, hands)
    if rules.simultaneous and row.phase == _BID:
        row.bids[:] = NO_BID
        row.num_bids, row.bid_sum = 0, 0
        row.seat = kernel.following(np.int64(row.dealer), rules.players)
        row.legal = kernel.legal_bids(row, rules)
        while row.seat != 0:
            move(row, rules, policy_action(row, rules, models, params, hidden))


@inner
def play_out(row, rules, models, params, hidden):
    """Plays a deal to its end."""
    while row.phase <= _PLAY:
        move(row, rules, policy_action(row, rules, models, params, hidden))


@inline
def deal_value(row, rules, params, seat):
    """Returns the value of a finished deal for a seat, under the objective of the search."""
    if params.objective == _WIN:
        return win_probability(row, rules, params.rest_sd, seat)
    own = np.float64(row.points[seat])
    if params.objective != _RELATIVE:
        return own
    others = 0.0
    for other in range(rules.players):
        if other != seat:
            others += row.points[other]
    return own - params.spoil * others / (rules.players - 1)


@inline
def win_probability(row, rules, rest_sd, seat):
    """Returns a seat's probability of winning the game after a finished deal.

    Each final score is the current one plus a normal variable of its own, with mean 0 and the same
    standard deviation (all seats are assumed to gain alike in later deals). The integral over the
    seat's own variable is Gauss-Hermite quadrature with 16 nodes.
    """
    over = rest_sd <= 0.0
    if rules.target > 0:
        for other in range(rules.players):
            over = over or row.scores[other] >= rules.target
    if over:
        shares = np.empty(MAX_SEATS)
        win_shares(row, rules, shares)
        return shares[seat]
    total = 0.0
    for node in range(len(_NODES)):
        product = _WEIGHTS[node]
        for other in range(rules.players):
            if other != seat:
                lead = (row.scores[seat] - row.scores[other]) / rest_sd + _NODES[node]
                product *= 0.5 * math.erfc(-lead * _ROOT_HALF)
        total += product
    return total


@inline
def note(stats, place, value, tricks):
    """Adds one deal played out after an action to the statistics."""
    stats.visits[place] += 1
    stats.totals[place] += value
    stats.squares[place] += value * value
    stats.tricks[place, tricks] += 1


@inline
def allowed(row, stats):
    """Returns the actions of the question as a mask of bids or cards, as in ``row.legal``."""
    base = np.int64(BID_BASE) if row.phase == _BID else np.int64(0)
    mask = ZERO
    for place in range(stats.count):
        if stats.alive[place]:
            mask = mask | bit(stats.actions[place] - base)
    return mask
