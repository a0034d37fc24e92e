"""Information-set tree search, a fresh world in every iteration; compiled.

A node is what a seat has seen since the question: the actions made. Each iteration descends the
tree in one world. Among the actions that are legal there, it chooses by upper confidence bounds
that count how often an action could have been chosen (Cowling, Powley and Whitehouse, "Information
Set Monte Carlo Tree Search", 2012). It tries the play-out player's own action first. From a new
node on, the deal is played out.
"""

# pyright: basic
from __future__ import annotations

import math

import numpy as np

from ohhell_agents.search.beliefs import next_world
from ohhell_agents.search.workspace import (
    PLAYED,
    VIEW,
    WORLD,
    allowed,
    deal_value,
    move,
    note,
    open_world,
    play_out,
    policy_action,
)
from ohhell_agents.value.players import uniform_place
from ohhell_env.engine.bits import ZERO, bit, count, has, nth
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.layout import BID_BASE, Phase
from ohhell_env.engine.rng import next_bits
from ohhell_env.engine.worlds import HOLDERS

NODE = np.dtype(
    [
        ("action", np.int64),  # that leads to the node
        ("mover", np.int64),  # seat that makes the action
        ("child", np.int64),  # first child; 0: none
        ("sister", np.int64),  # next child of the same parent; 0: none
        ("visits", np.int64),
        ("seen", np.int64),  # iterations in which it could have been chosen
        ("total", np.float64),  # value for the mover
    ],
    align=True,
)

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_DEPTH = 256
"""More actions than a deal has."""


@entry
def search_tree(games, rules, models, params, hidden, belief, stats, nodes, used, iterations):
    """Grows the tree of a question by more iterations.

    Args:
        games: ``GAME`` rows (NUM_ROWS,), the workspace of the question.
        rules: ``RULES`` row.
        models: ``MODELS`` rows (2,): of the values that count, and of the play-outs.
        params: ``SEARCH_PARAMS`` row.
        hidden: ``HIDDEN`` row.
        belief: ``BELIEF`` row.
        stats: ``ROOT_STATS`` row, written in place: results of each action of the question.
        nodes: ``NODE`` rows; row 0 is the question, all zero at the start.
        used: Number of nodes in use, at least 1. A full tree does not grow.
        iterations: Number of iterations.

    Returns:
        Number of nodes in use.
    """
    hands, path = np.empty(HOLDERS, np.uint64), np.empty(_DEPTH, np.int64)
    root, row = stats[0], games[PLAYED]
    first = allowed(games[VIEW], root)
    for _ in range(iterations):
        next_world(games, rules[0], models[0], params[0], hidden[0], belief[0], hands)
        open_world(games, rules[0], models[1], params[0], hidden[0], hands)
        games[PLAYED] = games[WORLD]
        row.legal = first
        depth, used = _descend(row, rules[0], models[1], params[0], hidden[0], nodes, used, path)
        play_out(row, rules[0], models[1], params[0], hidden[0])
        for step in range(depth):
            node = nodes[path[step]]
            node.visits += 1
            node.total += deal_value(row, rules[0], params[0], node.mover)
        for place in range(root.count):
            if root.actions[place] == nodes[path[0]].action:
                value = deal_value(row, rules[0], params[0], 0)
                note(root, place, value, np.int64(row.tricks_won[0]))
        root.worlds += 1
    return used


@inline
def _descend(row, rules, models, params, hidden, nodes, used, path):
    """Descends to a new node; returns the number of nodes on the path and in the tree."""
    at, depth = np.int64(0), np.int64(0)
    growing = True
    while growing and row.phase <= _PLAY:
        seat = np.int64(row.seat)
        if seat == 0 or params.others:
            node, action = _select(row, nodes, at, params.exploration)
            if node < 0:
                action = _untried(row, rules, models, params, hidden, nodes, at)
                growing = False
        else:
            action = policy_action(row, rules, models, params, hidden)
            node = _child(nodes, at, action)
        if node < 0:
            if used == len(nodes):
                # No room: the rest is a play-out. The root's actions always have room.
                return depth, used
            node = _add(nodes, used, at, action, seat)
            used += 1
        move(row, rules, action)
        path[depth] = node
        depth += 1
        at = node
    return depth, used


@inline
def _base(row):
    return np.int64(BID_BASE) if row.phase == _BID else np.int64(0)


@inline
def _select(row, nodes, at, exploration):
    """Returns the best legal child and its action; -1 if a legal action is yet to be tried."""
    best, most, action = np.int64(-1), -math.inf, np.int64(-1)
    base, tried = _base(row), ZERO
    node = nodes[at].child
    while node > 0:
        child = nodes[node]
        if has(row.legal, child.action - base):
            tried = tried | bit(child.action - base)
            child.seen += 1
            bound = math.inf
            if child.visits > 0:
                wide = math.sqrt(math.log(child.seen) / child.visits)
                bound = child.total / child.visits + exploration * wide
            if bound > most:
                best, most, action = node, bound, child.action
        node = child.sister
    if row.legal & ~tried != ZERO:
        return np.int64(-1), action
    return best, action


@inline
def _untried(row, rules, models, params, hidden, nodes, at):
    """Returns a legal action without a child: the policy's own, or else any."""
    base, left = _base(row), row.legal
    node = nodes[at].child
    while node > 0:
        action = nodes[node].action - base
        if has(left, action):
            left = left & ~bit(action)
        node = nodes[node].sister
    own = policy_action(row, rules, models, params, hidden) - base
    if has(left, own):
        return own + base
    return nth(left, uniform_place(next_bits(hidden), count(left))) + base


@inline
def _child(nodes, at, action):
    node = nodes[at].child
    while node > 0 and nodes[node].action != action:
        node = nodes[node].sister
    return node if node > 0 else np.int64(-1)


@inline
def _add(nodes, new, parent, action, mover):
    node = nodes[new]
    node.action, node.mover = action, mover
    node.child, node.visits, node.seen, node.total = 0, 0, 1, 0.0
    node.sister = nodes[parent].child
    nodes[parent].child = new
    return new


@entry
def most_visited(stats):
    """Returns the code of the action tried most often; of equal ones, the better one."""
    root, best = stats[0], np.int64(0)
    for place in range(root.count):
        more = root.visits[place] > root.visits[best]
        equal = root.visits[place] == root.visits[best]
        if more or (equal and root.totals[place] > root.totals[best]):
            best = np.int64(place)
    return root.actions[best]
