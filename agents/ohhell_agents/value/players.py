"""Players that exist inside the engine, by number, and the loop that plays their deals out.

Each decision has one random number, made from the seat's key and the number of the decision. So a
player's action at one table depends on nothing at another.
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
"""Numbers of the engine's players; ``OUTSIDE`` is a seat whose player is elsewhere. Players from
``HEURISTIC`` on use values, each with models of its own."""

_BID, _PLAY, _SCORED = int(Phase.BID), int(Phase.PLAY), int(Phase.SCORED)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_DECISIONS = np.uint64(64)  # more than a seat makes in one deal
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@inline
def random_bits_of(key, decision):
    """Returns the random number of a seat's decision, numbered from 0 (both uint64)."""
    return mix(add(key, mix(add(decision, _STEP))))


@inline
def uniform_place(random_bits, size):
    """Returns a number from 0 to ``size - 1``, uniform to 1 part in 2^32 / size."""
    return np.int64(((random_bits >> _HALF) * np.uint64(size)) >> _HALF)


@inline
def uniform_action(row, random_bits):
    """Returns a legal action code, all equally likely."""
    place = nth(row.legal, uniform_place(random_bits, count(row.legal)))
    return place + BID_BASE if row.phase == _BID else place


@inline
def engine_action(row, rules, models, player, random_bits):
    """Returns the action code of one of the engine's players for the seat to act.

    Args:
        row: A table in the bidding or in play.
        rules: Its rules record.
        models: ``MODELS`` rows: the first belongs to player ``HEURISTIC``, the next to the others.
        player: ``RANDOM``, or a player with values.
        random_bits: The random number of this decision, uint64.
    """
    if player >= HEURISTIC:
        return heuristic_action(row, rules, models[player - HEURISTIC])
    return uniform_action(row, random_bits)


@inline
def decision_number(row):
    """Returns the number of the seat's decision: in each deal 0 is the bid, then come the cards."""
    of_deal = np.uint64(1 + np.int64(row.trick_number)) if row.phase == _PLAY else ZERO
    return np.uint64(row.deal) * _DECISIONS + of_deal


@entry
def play_on(games, rules, models, players, keys, log):
    """Plays every table on until it is over, or until an outside seat has a choice.

    Args:
        games: ``GAME`` rows (N,), each dealt.
        rules: ``RULES`` row.
        models: ``MODELS`` rows, see ``engine_action``.
        players: int16 (N, seats), the engine's player in each seat, or ``OUTSIDE``.
        keys: uint64 (N, seats), the random key of each seat.
        log: int8 (N, deals, 2 + 2 * seats), written in place after each deal: hand size,
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
                random_bits = random_bits_of(keys[index, seat], decision_number(row))
                action = engine_action(row, rules[0], models, player, random_bits)
            kernel.apply(row, rules[0], action)
            decisions += 1
    return decisions


@inline
def write_deal(row, rules, log):
    """Writes the result of a finished deal into its line of a table's log."""
    line = log[np.int64(0) if rules.one_deal else np.int64(row.deal)]
    players = rules.players
    line[0], line[1] = row.hand_size, row.dealer
    for seat in range(players):
        line[2 + seat] = row.bids[seat]
        line[2 + players + seat] = row.tricks_won[seat]


@entry
def action_one(games, rules, models, player, key):
    """Returns the action of one of the engine's players at table 0, or the seat's only action.

    Args:
        games: ``GAME`` rows; only row 0 is used.
        rules: ``RULES`` row.
        models: ``MODELS`` rows, see ``engine_action``.
        player: Number of the engine's player, or ``OUTSIDE``.
        key: uint64, the random key of the seat to act.

    Returns:
        An action code; -1 if an ``OUTSIDE`` player has a choice.
    """
    row = games[0]
    if player == OUTSIDE:
        return only_action(row)
    return engine_action(row, rules[0], models, player, random_bits_of(key, decision_number(row)))


@entry
def results_all(games, rules, shares, paid):
    """Writes every table's win shares and settlement (float64 (N, seats) each) from its scores."""
    for index in range(len(games)):
        scoring.win_shares(games[index], rules[0], shares[index])
        scoring.settle(games[index], rules[0], paid[index])


@entry
def make_keys(seed, names, blocks, rotations, keys):
    """Writes the random key of every seat at many tables, from the players and deals there.

    Args:
        seed: uint64.
        names: uint64 (N, seats), a number for the player in each seat.
        blocks: uint64 (N,), number of the deal.
        rotations: uint64 (N,), number of the rotation in which it is played.
        keys: uint64 (N, seats), written in place.
    """
    for index in range(len(keys)):
        for seat in range(keys.shape[1]):
            key = random_bits_of(random_bits_of(seed, names[index, seat]), blocks[index])
            keys[index, seat] = random_bits_of(
                random_bits_of(key, rotations[index]), np.uint64(seat)
            )


@entry
def question_all(games, tables, rules, sections, keys, views, masks, random_bits):
    """Writes the questions to the seats to act at some tables: view, mask, random number.

    Args:
        games: ``GAME`` rows.
        tables: Whole numbers (B,), the tables in question, in any order.
        rules: ``RULES`` row.
        sections: ``SECTIONS`` row.
        keys: uint64 (N, seats), the random key of each seat.
        views: int8 buffer of B observations, written in place.
        masks: int8 buffer of B masks, written in place.
        random_bits: uint64 (B,), written in place.
    """
    for place in range(len(tables)):
        row = games[tables[place]]
        seat = np.int64(row.seat)
        encode.write_observation(
            row, rules[0], sections[0], seat, views, place * sections[0].length
        )
        encode.write_mask(row, masks, place * sections[0].num_actions, True)
        random_bits[place] = random_bits_of(keys[tables[place], seat], decision_number(row))


@entry
def answer_all(games, tables, rules, actions):
    """Applies a legal action at each of some tables."""
    for place in range(len(tables)):
        kernel.apply(games[tables[place]], rules[0], actions[place])
