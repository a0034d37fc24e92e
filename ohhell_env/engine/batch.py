"""The engine's entry points for Python: loops over arrays of tables, without rules of their own.

Python passes arrays, never single records, because unboxing a record costs ten times as much as a
one-row array. Functions named ``*_one`` work on row 0.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ohhell_env.engine import dealing, encode, kernel, scoring
from ohhell_env.engine.caching import COMPILED, entry, inline
from ohhell_env.engine.layout import REWARDS, Event, Phase
from ohhell_env.engine.rng import seed_stream

_DEAL, _END = 16 * int(Event.DEAL), 16 * int(Event.OVER)
_BID, _PLAY, _, _OVER = (int(phase) for phase in Phase)
_POINTS, _RELATIVE, _WIN, _SETTLEMENT = range(len(REWARDS))


@entry
def seed_tables(games, seed, first):
    """Starts the random streams of tables: row i gets stream ``first + i`` of the seed.

    Args:
        games: ``GAME`` rows (N,).
        seed: uint64.
        first: uint64, index of row 0.
    """
    for index in range(len(games)):
        seed_stream(games[index], seed, np.uint64(first + np.uint64(index)))


@entry
def begin_all(games, rules):
    """Begins an episode at every table and deals."""
    for index in range(len(games)):
        dealing.begin_episode(games[index], rules[0])


@entry
def prepare_one(games, rules):
    """Begins an episode and chooses dealer and hand size, without dealing."""
    dealing.prepare_episode(games[0], rules[0])


@entry
def open_one(games, rules):
    """Opens the bidding of a deal whose hands, turned card and trump are already set."""
    kernel.start_bidding(games[0], rules[0])


@entry
def trump_one(games, rules):
    """Sets the trump suit of a deal whose cards and turned card are already set."""
    dealing.set_trump(games[0], rules[0])


@entry
def next_deal_one(games, rules):
    """Deals the next deal of the game."""
    dealing.next_deal(games[0], rules[0])


@entry
def draw_one(games, stock, size):
    """Returns a random card of a stock (uint64 mask of ``size`` cards) from the table's stream."""
    return dealing.draw(games[0], stock, size)


@entry
def step_one(games, rules, action):
    """Plays an action if it is legal; returns ``16 * Event + next seat``, or ``ILLEGAL``."""
    return kernel.step(games[0], rules[0], action)


@entry
def refresh_one(games, rules):
    """Recomputes ``legal`` after a change of hands from outside."""
    row = games[0]
    if row.phase == _BID:
        row.legal = kernel.legal_bids(row, rules[0])
    elif row.phase == _PLAY:
        row.legal = kernel.legal_cards(row, rules[0])


@entry
def results_one(games, rules, shares, paid):
    """Writes win shares and settlement (float64 (players,) each) from the current scores."""
    scoring.win_shares(games[0], rules[0], shares)
    scoring.settle(games[0], rules[0], paid)


@entry
def trump_known_one(games, rules):
    """Returns whether the players know the trump suit of the current deal."""
    return kernel.trump_known(games[0], rules[0])


@entry
def observe_one(games, rules, sections, seat, observation, mask):
    """Writes the view of a seat and its action mask (all zero unless it is the seat to act).

    Args:
        games: ``GAME`` rows; only row 0 is used.
        rules: ``RULES`` row.
        sections: ``SECTIONS`` row.
        seat: The observing seat.
        observation: int8 buffer of one row plus margin.
        mask: int8 buffer of one mask plus margin.
    """
    row = games[0]
    encode.write_observation(row, rules[0], sections[0], seat, observation, 0)
    encode.write_mask(row, mask, 0, seat == row.seat)


@entry
def observe_all(games, rules, sections, observations, masks):
    """Writes the acting seat's view and mask of every table; see ``observe_one``."""
    record, starts = rules[0], sections[0]
    for index in range(len(games)):
        row, seat = games[index], np.int64(games[index].seat)
        place, mask = index * starts.length, index * starts.num_actions
        encode.write_observation(row, record, starts, seat, observations, place)
        encode.write_mask(row, masks, mask, True)


@entry
def write_states(games, rules, sections, states):
    """Writes the state of every table.

    Args:
        games: ``GAME`` rows (N,).
        rules: ``RULES`` row.
        sections: ``SECTIONS`` row of a state.
        states: int8 buffer of N rows plus margin, written in place.
    """
    for index in range(len(games)):
        place = index * sections[0].length
        encode.write_state(games[index], rules[0], sections[0], states, place)


@entry
def first_illegal(games, actions):
    """Returns the first table with an illegal action, or -1."""
    for index in range(len(games)):
        if not kernel.is_legal(games[index], np.int64(actions[index])):
            return index
    return -1


@entry
def step_all(games, rules, sections, actions, reward, arrays):
    """Plays one legal action at every table, and deals again after a deal or an episode.

    Args:
        games: ``GAME`` rows (N,).
        rules: ``RULES`` row.
        sections: ``SECTIONS`` row.
        actions: Whole numbers (N,), checked by ``first_illegal``.
        reward: Index of the reward in ``REWARDS``.
        arrays: Buffers of observations and masks, then seats (N,), rewards (N, players),
            deal_ends (N,) and dones (N,), all written in place.
    """
    observations, masks, seats, rewards, deal_ends, dones = arrays
    record, starts = rules[0], sections[0]
    for index in range(len(games)):
        row = games[index]
        code = kernel.apply(row, record, np.int64(actions[index]))
        rewards[index, :] = 0  # every time, because users may have written to the array
        ended = code >= _DEAL
        deal_ends[index] = ended
        dones[index] = code >= _END
        if ended:
            write_rewards(row, record, reward, rewards[index])
            if code >= _END:
                dealing.begin_episode(row, record)
            else:
                dealing.next_deal(row, record)
        seats[index] = row.seat
        # as in observe_all, but inlined: a function of its own costs a fifth more
        place, mask = index * starts.length, index * starts.num_actions
        encode.write_observation(row, record, starts, np.int64(row.seat), observations, place)
        encode.write_mask(row, masks, mask, True)


@inline
def write_rewards(row, rules, reward, rewards):
    """Writes each seat's reward for a deal that was just scored (float (players,))."""
    players = rules.players
    if reward == _POINTS or reward == _RELATIVE:
        total = 0.0
        for seat in range(players):
            rewards[seat] = row.points[seat]
            total += row.points[seat]
        if reward == _RELATIVE:
            for seat in range(players):
                rewards[seat] = (players * row.points[seat] - total) / (players - 1)
    elif row.phase == _OVER:
        results = np.zeros(players)
        if reward == _WIN:
            scoring.win_shares(row, rules, results)
        else:
            scoring.settle(row, rules, results)
        for seat in range(players):
            rewards[seat] = results[seat]


@entry
def rewards_one(games, rules, reward, rewards):
    """Writes each seat's reward for the deal that was just scored at table 0."""
    write_rewards(games[0], rules[0], reward, rewards)


@entry
def play_one(games, rules, sections, action, observation, mask):
    """Plays an action at table 0 and writes the next seat's view and mask.

    Returns:
        ``16 * Event + next seat``, or ``ILLEGAL``. It writes nothing after an illegal action or at
        the end of a deal: the caller files that deal, deals the next one, and observes.
    """
    row = games[0]
    code = kernel.step(row, rules[0], action)
    if 0 <= code < _DEAL:
        encode.write_observation(row, rules[0], sections[0], row.seat, observation, 0)
        encode.write_mask(row, mask, 0, True)
    return code


def direct(function: Any, *arguments: Any) -> Any:
    """Returns the compiled code of an entry point, for calls without numba's dispatch.

    That saves two thirds of a call (0.8 of 1.2 µs) but skips the type check, so all calls must use
    the same argument types.

    Args:
        function: One of the functions above.
        *arguments: Arguments of the types of the later calls.
    """
    if not COMPILED:
        return function
    return function.compile(tuple(numba.typeof(argument) for argument in arguments))
