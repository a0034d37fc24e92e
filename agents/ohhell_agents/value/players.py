"""Players that live inside the engine, by number, and the loop that plays their deals out.

Chance at a decision is one random word, made from the seat's key and the number of its decision, so
that what a player does at one table depends on nothing at another.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.policy import heuristic_action
from ohhell_env.engine import dealing, encode, kernel, scoring
from ohhell_env.engine.bits import ZERO, add, count, mix, nth
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.layout import BID_BASE, Phase
from ohhell_env.engine.seat_loops import only_action

OUTSIDE, RANDOM, HEURISTIC = -1, 0, 1
"""Numbers of the engine's players; ``OUTSIDE`` is a seat whose player lives elsewhere. From
``HEURISTIC`` on they are those that reckon, each with models of its own."""

_BID, _PLAY, _SCORED = int(Phase.BID), int(Phase.PLAY), int(Phase.SCORED)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_DECISIONS = np.uint64(64)  # more than a seat makes in one deal
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@inline
def word_of(key, decision):
    """Returns the random word of a seat's decision, counted from 0 on (both uint64)."""
    return mix(add(key, mix(add(decision, _STEP))))


@inline
def uniform_place(word, size):
    """Returns a number from 0 to ``size - 1``, each equally likely to 1 part in 2^32 / size."""
    return np.int64(((word >> _HALF) * np.uint64(size)) >> _HALF)


@inline
def uniform_action(row, word):
    """Returns a legal action code, each equally likely."""
    place = nth(row.legal, uniform_place(word, count(row.legal)))
    return place + BID_BASE if row.phase == _BID else place


@inline
def engine_action(row, rules, models, player, word):
    """Returns the action code of one of the engine's players for the seat to act.

    Args:
        row: A table in the bidding or in play.
        rules: Its rules record.
        models: ``MODELS`` rows: the first is that of player ``HEURISTIC``, then come the others.
        player: ``RANDOM``, or a player that reckons.
        word: The random word of this decision, uint64.
    """
    if player >= HEURISTIC:
        return heuristic_action(row, rules, models[player - HEURISTIC])
    return uniform_action(row, word)


@inline
def decision_number(row):
    """Returns which decision the seat to act makes: of each deal 0 is the bid, then its cards."""
    of_deal = np.uint64(1 + np.int64(row.trick_number)) if row.phase == _PLAY else ZERO
    return np.uint64(row.deal) * _DECISIONS + of_deal


@entry
def play_on(games, rules, models, players, keys, log):
    """Plays every table on until it is over or a seat has a choice that is nobody's here.

    Args:
        games: ``GAME`` rows (N,), each dealt.
        rules: ``RULES`` row.
        models: ``MODELS`` rows, see ``engine_action``.
        players: int16 (N, seats), the engine's player in each seat, or ``OUTSIDE``.
        keys: uint64 (N, seats), the random key of each seat.
        log: int8 (N, deals, 2 + 2 * seats), written in place when a deal is over: hand size,
            dealer, bids by seat, tricks by seat.

    Returns:
        The number of decisions made.
    """
    decisions = 0
    for index in range(len(games)):
        row = games[index]
        while True:
            if row.phase > _PLAY:
                write_deal(row, rules[0], log[index])
                if row.phase != _SCORED:
                    break
                dealing.next_deal(row, rules[0])
            seat = np.int64(row.seat)
            player = players[index, seat]
            if player == OUTSIDE:
                action = only_action(row)
                if action < 0:
                    break
            else:
                word = word_of(keys[index, seat], decision_number(row))
                action = engine_action(row, rules[0], models, player, word)
            kernel.apply(row, rules[0], action)
            decisions += 1
    return decisions


@inline
def write_deal(row, rules, log):
    """Writes what became of a deal that is over into its line of a table's log."""
    line = log[np.int64(0) if rules.one_deal else np.int64(row.deal)]
    players = rules.players
    line[0], line[1] = row.hand_size, row.dealer
    for seat in range(players):
        line[2 + seat] = row.bids[seat]
        line[2 + players + seat] = row.tricks_won[seat]


@entry
def action_one(games, rules, models, player, key):
    """Returns what one of the engine's players does at table 0, or the seat's only action.

    Args:
        games: ``GAME`` rows; row 0 is meant.
        rules: ``RULES`` row.
        models: ``MODELS`` rows, see ``engine_action``.
        player: Number of the engine's player, or ``OUTSIDE``.
        key: uint64, the random key of the seat to act.

    Returns:
        An action code; -1 where an ``OUTSIDE`` player has a choice.
    """
    row = games[0]
    if player == OUTSIDE:
        return only_action(row)
    return engine_action(row, rules[0], models, player, word_of(key, decision_number(row)))


@entry
def results_all(games, rules, shares, paid):
    """Writes every table's win shares and settlement (float64 (N, seats) each) from its scores."""
    for index in range(len(games)):
        scoring.win_shares(games[index], rules[0], shares[index])
        scoring.settle(games[index], rules[0], paid[index])


@entry
def make_keys(seed, names, blocks, rotations, keys):
    """Writes the random key of every seat at many tables, from who plays which deal.

    Args:
        seed: uint64.
        names: uint64 (N, seats), a number for the player in each seat.
        blocks: uint64 (N,), number of the deal.
        rotations: uint64 (N,), which of the times that it is played.
        keys: uint64 (N, seats), written in place.
    """
    for index in range(len(keys)):
        for seat in range(keys.shape[1]):
            key = word_of(word_of(seed, names[index, seat]), blocks[index])
            keys[index, seat] = word_of(word_of(key, rotations[index]), np.uint64(seat))


@entry
def question_all(games, tables, rules, sections, keys, views, masks, words):
    """Writes what the seats to act at some tables are asked: view, mask, random word.

    Args:
        games: ``GAME`` rows.
        tables: Whole numbers (B,), the tables that are meant, in any order.
        rules: ``RULES`` row.
        sections: ``SECTIONS`` row.
        keys: uint64 (N, seats), the random key of each seat.
        views: int8 buffer of B observations, written in place.
        masks: int8 buffer of B masks, written in place.
        words: uint64 (B,), written in place.
    """
    for place in range(len(tables)):
        row = games[tables[place]]
        seat = np.int64(row.seat)
        encode.write_observation(
            row, rules[0], sections[0], seat, views, place * sections[0].length
        )
        encode.write_mask(row, masks, place * sections[0].num_actions, True)
        words[place] = word_of(keys[tables[place], seat], decision_number(row))


@entry
def answer_all(games, tables, rules, actions):
    """Makes a legal action at each of some tables."""
    for place in range(len(tables)):
        kernel.apply(games[tables[place]], rules[0], actions[place])
