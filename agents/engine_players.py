"""Players that live inside the engine, by number, and the loop that plays their deals out.

Chance at a decision is one random word, made from the seat's key and the number of its decision, so
that what a player does at one table depends on nothing at another.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from agents.policy import heuristic_action
from ohhell_env.engine import kernel
from ohhell_env.engine.bits import ZERO, add, count, mix, nth
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.layout import BID_BASE, Phase

RANDOM, HEURISTIC = 0, 1
"""Numbers of the engine's players."""

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@inline
def word_of(key, decision):
    """Returns the random word of a seat's decision, counted from 0 on (both uint64)."""
    return mix(add(key, mix(add(decision, _STEP))))


@inline
def place_of(word, size):
    """Returns a number from 0 to ``size - 1``, each equally likely to 1 part in 2^32 / size."""
    return np.int64(((word >> _HALF) * np.uint64(size)) >> _HALF)


@inline
def random_action(row, word):
    """Returns a legal action code, each equally likely."""
    place = nth(row.legal, place_of(word, count(row.legal)))
    return place + BID_BASE if row.phase == _BID else place


@inline
def engine_action(row, rules, player, word):
    """Returns the action code of one of the engine's players for the seat to act.

    Args:
        row: A table in the bidding or in play.
        rules: Its rules record.
        player: ``RANDOM`` or ``HEURISTIC``.
        word: The random word of this decision, uint64.
    """
    if player == HEURISTIC:
        return heuristic_action(row, rules)
    return random_action(row, word)


@entry
def play_deals(games, rules, players, keys):
    """Plays the present deal of every table to its end; all seats are the engine's players.

    Args:
        games: ``GAME`` rows (N,), each dealt; left as the last card leaves them.
        rules: ``RULES`` row.
        players: int8 (N, seats), the player in each seat.
        keys: uint64 (N, seats), the random key of each seat.

    Returns:
        The number of decisions made.
    """
    decisions = 0
    for index in range(len(games)):
        row = games[index]
        while row.phase == _BID or row.phase == _PLAY:
            seat = np.int64(row.seat)
            made = np.uint64(1 + row.trick_number) if row.phase == _PLAY else ZERO
            action = engine_action(
                row, rules[0], players[index, seat], word_of(keys[index, seat], made)
            )
            kernel.apply(row, rules[0], action)
            decisions += 1
    return decisions
