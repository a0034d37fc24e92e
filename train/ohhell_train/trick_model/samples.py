"""What the heuristic player's models are fitted to: its own play, noted and labelled.

At each bid and at the beginning of each trick a card of a seat is drawn and its inputs are noted;
when the deal is over it is known whether the card won the trick in which it was played. The present
trick is noted wherever a card wins so far and others are still to play. Inputs are written by the
functions that the player itself uses (``chances.py``).
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.policy import heuristic_action
from ohhell_agents.value.trick_model import CARD, NOW_CARD, NOW_SITUATION, SITUATION, WANT
from ohhell_agents.value.trick_probs import (
    look,
    wins_so_far,
    write_card,
    write_now_card,
    write_now_situation,
    write_situation,
    write_want,
)
from ohhell_env.engine import kernel
from ohhell_env.engine.bits import ZERO, bit, count, has, nth
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.kernel import following, trump_known
from ohhell_env.engine.layout import BID_BASE, Phase
from ohhell_env.engine.rng import below

LATER, NOW = SITUATION + WANT + CARD, NOW_SITUATION + NOW_CARD
"""Numbers of inputs of the two models."""
_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_PARTS = 1 << 16


@inline
def happens(chooser, chance):
    """Returns whether something of such a chance happens."""
    return below(chooser, _PARTS) < chance * _PARTS


@entry
def explored(row, rules, models, chooser, noise, wild):
    """Returns the heuristic's action, or now and then a random card or a bid beside its own."""
    if (np.int64(wild) >> np.int64(row.seat)) & 1:
        chosen = nth(row.legal, below(chooser, count(row.legal)))
        return chosen if row.phase == _PLAY else chosen + BID_BASE
    if row.phase == _PLAY:
        if happens(chooser, noise[0]):
            return nth(row.legal, below(chooser, count(row.legal)))
        return heuristic_action(row, rules, models)
    if happens(chooser, noise[2]):
        return nth(row.legal, below(chooser, count(row.legal))) + BID_BASE
    action = heuristic_action(row, rules, models)
    if happens(chooser, noise[1]):
        beside = action - BID_BASE + (1 if below(chooser, 2) == 1 else -1)
        if beside >= 0 and has(row.legal, beside):
            return beside + BID_BASE
    return action


@inline
def _wild_seats(chooser, players, share):
    """Returns the seats (bits) of random players: at a share of the tables, each by a toss."""
    wild = np.int64(0)
    if happens(chooser, share):
        for seat in range(players):
            if below(chooser, 2) == 1:
                wild |= 1 << seat
    return wild


@entry
def _note_later(row, rules, chooser, seat, wants, lead, inputs):
    """Writes the inputs of one of a seat's cards, drawn; returns the card."""
    sight = look(row, rules, np.int64(row.trump), seat)
    card = nth(sight.hand, below(chooser, sight.left))
    write_situation(sight, rules, sight.left, inputs[:SITUATION])
    write_want(wants, sight.wanted, sight.left, lead, inputs[SITUATION : SITUATION + WANT])
    write_card(sight, row, card, inputs[SITUATION + WANT :])
    return card


@entry
def collect(games, rules, models, choosers, noise, later, later_won, now, now_won):
    """Plays one deal at each table and notes what the models are fitted to.

    Stops early where there is no room for another trick.

    Args:
        games: ``GAME`` rows, each dealt, of single deals that are not blind.
        rules: ``RULES`` row.
        models: ``MODELS`` row.
        choosers: ``GAME`` rows; the stream of row 0 makes all choices.
        noise: float64 (4,): chance of a random card, of a bid beside the own, of a random bid;
            share of the tables with random players (nothing is noted of them).
        later: float32 (N, LATER), written in place.
        later_won: int8 (N,), written in place: 1 where the card won its trick, else 0.
        now: float32 (M, NOW), written in place.
        now_won: int8 (M,), written in place.

    Returns:
        The number of rows written of each.
    """
    chooser, record = choosers[0], rules[0]
    laters, nows = 0, 0
    for index in range(len(games)):
        row = games[index]
        first, won = laters, ZERO
        wild = _wild_seats(chooser, record.players, noise[3])
        while row.phase == _BID:
            action = explored(row, record, models[0], chooser, noise, wild)
            if trump_known(row, record) and (wild >> np.int64(row.seat)) & 1 == 0:
                seat, wants = np.int64(row.seat), action - BID_BASE
                eldest = following(np.int64(row.dealer), record.players)
                lead = 1.0 if seat == eldest and not record.highest_bidder_leads else 0.0
                card = _note_later(row, record, chooser, seat, wants, lead, later[laters])
                later_won[laters] = card
                laters += 1
            kernel.apply(row, record, action)
        while row.phase == _PLAY:
            if laters + 2 * record.players > len(later) or nows + record.players > len(now):
                return first, nows
            for seat in range(record.players):
                if (wild >> seat) & 1:
                    continue
                wants = np.int64(row.bids[seat]) - np.int64(row.tricks_won[seat])
                lead = 1.0 if seat == row.seat else 0.0
                card = _note_later(row, record, chooser, seat, wants, lead, later[laters])
                later_won[laters] = card
                laters += 1
            card, nows = _play_trick(row, record, models, chooser, noise, wild, now, now_won, nows)
            won = won | bit(card)
        for place in range(first, laters):
            later_won[place] = has(won, np.int64(later_won[place]))
    return laters, nows


@entry
def _play_trick(row, rules, models, chooser, noise, wild, now, now_won, nows):
    """Plays a trick; returns the card that won it, and the number of rows about such cards."""
    first, winning = nows, np.int64(-1)
    for place in range(rules.players):
        seat = np.int64(row.seat)
        card = explored(row, rules, models[0], chooser, noise, wild)
        sight = look(row, rules, np.int64(row.trump), seat)
        if wins_so_far(row, sight, card):
            winning = card
            if place < rules.players - 1 and (wild >> seat) & 1 == 0:
                write_now_situation(sight, row, rules, now[nows, :NOW_SITUATION])
                write_now_card(sight, row, card, now[nows, NOW_SITUATION:])
                now_won[nows] = card
                nows += 1
        kernel.apply(row, rules, card)
    for noted in range(first, nows):
        now_won[noted] = now_won[noted] == winning
    return winning, nows
