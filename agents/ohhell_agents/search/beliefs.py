"""Worlds weighted by the likelihood of the bids made in them; compiled.

A seat is assumed to bid by its expected points, the better the likelier (a softmax), with a small
probability of any bid. With many hidden cards, importance weights would leave only a handful of
worlds. So each chain of worlds walks by exchanging cards, and accepts or rejects each exchange by
the likelihood of the bids it affects (Metropolis, Rosenbluth et al. 1953).
"""

# pyright: basic
from __future__ import annotations

import math

import numpy as np

from ohhell_agents.search.workspace import BIDDING, VIEW
from ohhell_agents.value.bids import bid_values
from ohhell_env.engine import kernel
from ohhell_env.engine.bits import ZERO, bit, has
from ohhell_env.engine.caching import entry, inline, inner
from ohhell_env.engine.layout import MAX_SEATS, NO_BID, NO_TRUMP, NUM_BIDS, Phase
from ohhell_env.engine.worlds import (
    HOLDERS,
    by_chance,
    draw_world,
    exchange,
    planned_source,
    uniform,
)

MOST_CHAINS = 32

BELIEF = np.dtype(
    [
        ("informed", np.uint64),  # mask of the other seats whose bid is known
        ("started", np.int64),
        ("next", np.int64),  # the chain that gives the next world
        ("hands", np.uint64, (MOST_CHAINS, HOLDERS)),  # the current world of each chain
        ("logs", np.float64, (MOST_CHAINS, MAX_SEATS)),  # log likelihood of each bid in it
        ("asked", np.int64),  # exchanges that affected a bid
        ("taken", np.int64),  # ... and were accepted
    ],
    align=True,
)

_STARTS = 6
"""Uniform worlds per chain; one of them, drawn by the likelihood of its bids, starts the chain."""
_BID = int(Phase.BID)


@entry
def begin_beliefs(games, rules, belief):
    """Finds the seats whose bids are informative, and sets each to the moment of its bid."""
    view, players = games[VIEW], rules[0].players
    belief[0].informed = ZERO
    belief[0].started, belief[0].next = 0, 0
    belief[0].asked, belief[0].taken = 0, 0
    for seat in range(1, players):
        if view.bids[seat] != NO_BID:
            games[BIDDING + seat] = games[VIEW]
            row = games[BIDDING + seat]
            _rewind_bid(view, row, rules[0], seat)
            if has(row.legal, np.int64(view.bids[seat])):
                belief[0].informed = belief[0].informed | bit(seat)


@inline
def _rewind_bid(view, row, rules, seat):
    """Sets a record to the moment before a seat's bid; the seat's hand is left out."""
    if rules.trump_late and row.trump != NO_TRUMP:  # the origin of the trump was not visible
        source = planned_source(view, rules)
        row.trump_source = source if by_chance(source) else row.trump_source
    kernel.start_bidding(row, rules)
    while row.seat != seat:
        other = np.int64(row.seat)
        if not rules.simultaneous:
            row.bids[other] = view.bids[other]
            row.bid_sum += view.bids[other]
        row.num_bids += 1
        row.seat = kernel.following(other, rules.players)
    row.legal = kernel.legal_bids(row, rules)


@inner
def _bid_log(games, rules, models, params, hands, seat, values):
    """Returns the log likelihood of a seat's bid, given its cards in a world."""
    view, row = games[VIEW], games[BIDDING + seat]
    if row.blind:
        for other in range(rules.players):
            row.hands[other] = hands[other]
    row.hands[seat] = hands[seat] | view.played[seat]
    bid_values(row, rules, models, values)
    made, total = np.int64(view.bids[seat]), 0.0
    for bid in range(NUM_BIDS):
        if has(row.legal, bid):
            total += math.exp(min((values[bid] - values[made]) / params.temperature, 50.0))
    return math.log(params.floor + (1.0 - params.floor) / total)


@inner
def next_world(games, rules, models, params, hidden, belief, hands):
    """Writes the next world (uint64 (HOLDERS,)): a chain's, or a uniform one without beliefs."""
    if not params.inference or belief.informed == ZERO:
        draw_world(hidden, rules.players, hands)
        return
    values = np.empty(NUM_BIDS)
    if not belief.started:
        for chain in range(params.chains):
            _start_chain(games, rules, models, params, hidden, belief, chain, hands, values)
        belief.started = 1
    chain = belief.next
    belief.next = (chain + 1) % params.chains
    for _ in range(params.swaps):
        _walk(games, rules, models, params, hidden, belief, chain, values)
    hands[:] = belief.hands[chain]


@inline
def _start_chain(games, rules, models, params, hidden, belief, chain, hands, values):
    """Starts a chain at one of a few uniform worlds, drawn by the likelihood of its bids."""
    total, logs = 0.0, np.zeros(MAX_SEATS)
    for _ in range(_STARTS):
        draw_world(hidden, rules.players, hands)
        weight = 0.0
        for seat in range(1, rules.players):
            if has(belief.informed, seat):
                logs[seat] = _bid_log(games, rules, models, params, hands, seat, values)
                weight += logs[seat]
        total += math.exp(weight)
        if uniform(hidden) * total < math.exp(weight):
            belief.hands[chain, :] = hands
            belief.logs[chain, :] = logs


@inline
def _walk(games, rules, models, params, hidden, belief, chain, values):
    """Exchanges cards in a chain's world, unless the bids make this too unlikely."""
    hands, fresh = belief.hands[chain], np.zeros(MAX_SEATS)
    changed = exchange(hidden, rules.players, hands)
    if changed == ZERO:
        return
    if games[VIEW].blind:
        changed = ~ZERO  # all seats see all other seats' cards
    gain = 0.0
    for seat in range(1, rules.players):
        if has(changed & belief.informed, seat):
            fresh[seat] = _bid_log(games, rules, models, params, hands, seat, values)
            gain += fresh[seat] - belief.logs[chain, seat]
    belief.asked += 1
    if gain < 0.0 and uniform(hidden) >= math.exp(gain):
        hands[:] = hidden.old
        return
    belief.taken += 1
    for seat in range(1, rules.players):
        if has(changed & belief.informed, seat):
            belief.logs[chain, seat] = fresh[seat]
