"""The samples for the trick models: cards from the heuristic player's own play, with labels.

At each bid and at the start of each trick, one card of a seat is drawn and its inputs are recorded.
At the end of the deal it is known whether the card won its trick. Samples for the present trick are
recorded whenever a card is winning and others are still to play. The player's own functions write
the inputs (``trick_probs.py``).
"""

# pyright: basic
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ohhell_agents.value.policy import heuristic_action
from ohhell_agents.value.trick_model import (
    CURRENT_CARD,
    CURRENT_SITUATION,
    FUTURE_CARD,
    FUTURE_SITUATION,
    FUTURE_WANTS,
)
from ohhell_agents.value.trick_probs import (
    look,
    wins_so_far,
    write_card,
    write_current_card,
    write_current_situation,
    write_situation,
    write_wants,
)
from ohhell_env.engine import kernel
from ohhell_env.engine.bits import ZERO, bit, count, has, nth
from ohhell_env.engine.caching import entry, inline, inner
from ohhell_env.engine.kernel import following, trump_known
from ohhell_env.engine.layout import BID_BASE, Phase
from ohhell_env.engine.rng import below

FUTURE, CURRENT = FUTURE_SITUATION + FUTURE_WANTS + FUTURE_CARD, CURRENT_SITUATION + CURRENT_CARD
"""Numbers of inputs of the two models."""
_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_PARTS = 1 << 16


class Noise(NamedTuple):
    """Random deviations from the players' best choices, so that all kinds of play occur."""

    card: float
    """Probability of a random card."""
    bid_beside: float
    """Probability of a bid one higher or lower than the player's own."""
    bid: float
    """Probability of a random bid."""
    tables: float
    """Share of the tables with some random players, whose cards are not recorded."""


@inline
def happens(chooser, prob):
    """Returns True with this probability."""
    return below(chooser, _PARTS) < prob * _PARTS


@inner
def explored(row, rules, models, chooser, noise, wild):
    """Returns the heuristic's action, or sometimes a random card or a bid one off its own."""
    if (np.int64(wild) >> np.int64(row.seat)) & 1:
        chosen = nth(row.legal, below(chooser, count(row.legal)))
        return chosen if row.phase == _PLAY else chosen + BID_BASE
    if row.phase == _PLAY:
        if happens(chooser, noise.card):
            return nth(row.legal, below(chooser, count(row.legal)))
        return heuristic_action(row, rules, models)
    if happens(chooser, noise.bid):
        return nth(row.legal, below(chooser, count(row.legal))) + BID_BASE
    action = heuristic_action(row, rules, models)
    if happens(chooser, noise.bid_beside):
        beside = action - BID_BASE + (1 if below(chooser, 2) == 1 else -1)
        if beside >= 0 and has(row.legal, beside):
            return beside + BID_BASE
    return action


@inline
def _wild_seats(chooser, players, share):
    """Returns the seats (bits) of random players: at a share of the tables, about half of them."""
    wild = np.int64(0)
    if happens(chooser, share):
        for seat in range(players):
            if below(chooser, 2) == 1:
                wild |= 1 << seat
    return wild


@inner
def _note_future(row, rules, chooser, seat, wants, lead, inputs):
    """Writes the inputs of a random card of a seat; returns the card."""
    sight = look(row, rules, np.int64(row.trump), seat)
    card = nth(sight.hand, below(chooser, sight.left))
    write_situation(sight, rules, sight.left, inputs[:FUTURE_SITUATION])
    write_wants(
        wants,
        sight.wanted,
        sight.left,
        lead,
        inputs[FUTURE_SITUATION : FUTURE_SITUATION + FUTURE_WANTS],
    )
    write_card(sight, row, card, inputs[FUTURE_SITUATION + FUTURE_WANTS :])
    return card


@entry
def collect(games, rules, models, choosers, noise, future, future_won, current, current_won):
    """Plays one deal at each table and records samples for the models.

    Stops early if the samples of another trick may not fit.

    Args:
        games: ``GAME`` rows, each dealt, of single deals that are not blind.
        rules: ``RULES`` row.
        models: ``MODELS`` row.
        choosers: ``GAME`` rows; the stream of row 0 makes all random choices.
        noise: ``Noise``.
        future: float32 (N, FUTURE), written in place.
        future_won: int8 (N,), written in place: 1 if the card won its trick, else 0.
        current: float32 (M, CURRENT), written in place.
        current_won: int8 (M,), written in place.

    Returns:
        The numbers of rows written for the two models.
    """
    chooser, record = choosers[0], rules[0]
    futures, currents = 0, 0
    for index in range(len(games)):
        row = games[index]
        first, won = futures, ZERO
        wild = _wild_seats(chooser, record.players, noise.tables)
        while row.phase == _BID:
            action = explored(row, record, models[0], chooser, noise, wild)
            if trump_known(row, record) and (wild >> np.int64(row.seat)) & 1 == 0:
                seat, wants = np.int64(row.seat), action - BID_BASE
                eldest = following(np.int64(row.dealer), record.players)
                lead = 1.0 if seat == eldest and not record.highest_bidder_leads else 0.0
                card = _note_future(row, record, chooser, seat, wants, lead, future[futures])
                future_won[futures] = card
                futures += 1
            kernel.apply(row, record, action)
        while row.phase == _PLAY:
            if futures + 2 * record.players > len(future) or currents + record.players > len(
                current
            ):
                return first, currents
            for seat in range(record.players):
                if (wild >> seat) & 1:
                    continue
                wants = np.int64(row.bids[seat]) - np.int64(row.tricks_won[seat])
                lead = 1.0 if seat == row.seat else 0.0
                card = _note_future(row, record, chooser, seat, wants, lead, future[futures])
                future_won[futures] = card
                futures += 1
            card, currents = _play_trick(
                row, record, models, chooser, noise, wild, current, current_won, currents
            )
            won = won | bit(card)
        for place in range(first, futures):
            future_won[place] = has(won, np.int64(future_won[place]))
    return futures, currents


@inner
def _play_trick(row, rules, models, chooser, noise, wild, current, current_won, currents):
    """Plays a trick; returns the card that won it, and the number of rows about winning cards."""
    first, winning = currents, np.int64(-1)
    for place in range(rules.players):
        seat = np.int64(row.seat)
        card = explored(row, rules, models[0], chooser, noise, wild)
        sight = look(row, rules, np.int64(row.trump), seat)
        if wins_so_far(row, sight, card):
            winning = card
            if place < rules.players - 1 and (wild >> seat) & 1 == 0:
                write_current_situation(sight, row, rules, current[currents, :CURRENT_SITUATION])
                write_current_card(sight, row, card, current[currents, CURRENT_SITUATION:])
                current_won[currents] = card
                currents += 1
        kernel.apply(row, rules, card)
    for noted in range(first, currents):
        current_won[noted] = current_won[noted] == winning
    return winning, currents
