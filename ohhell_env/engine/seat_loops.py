"""Loops over tables with one learner's seat each; compiled with the engine.

Each table has a row of ``SEATS`` with the learner's seat and the random stream of the other seats:
a key, and the number of random numbers drawn from it. So the play at one table does not depend on
other tables.
"""

# The rows are read by numba, not by the type checker.
# pyright: basic, reportAttributeAccessIssue=false
from __future__ import annotations

import numpy as np

from ohhell_env.engine import dealing, encode, kernel
from ohhell_env.engine.batch import write_rewards
from ohhell_env.engine.bits import ONE, ZERO, add, lowest, mix
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.layout import BID_BASE, MAX_SEATS, Event, Phase, Rows, engine_rows

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_DEAL, _END = 16 * int(Event.DEAL), 16 * int(Event.OVER)
_HALF = np.uint64(32)
_OWN = np.uint64(0xA0761D6478BD642F)  # separates these numbers from the streams that deal
_STEP = np.uint64(0x9E3779B97F4A7C15)

SEATS = np.dtype(
    [
        ("key", np.uint64),
        ("num_drawn", np.uint64),  # random numbers drawn so far
        ("learner", np.int64),  # the learner's seat
        ("reward", np.float64),  # the learner's reward in this step
        ("deals", np.int64),  # number of deals that ended in this step
        ("done", np.bool_),  # whether the episode ended in this step
    ],
    align=True,
)


def new_seats(count: int) -> Rows:
    """Returns zeroed rows of ``SEATS``."""
    return engine_rows(np.zeros(count, SEATS))


@inline
def _next_bits(seat):
    seat.num_drawn = add(seat.num_drawn, ONE)
    return mix(add(seat.key, mix(add(seat.num_drawn, _STEP))))


@entry
def seed_seats(seats, seed, first):
    """Starts the random streams: row i is table ``first + i`` of the seed (both uint64)."""
    for index in range(len(seats)):
        place = add(first, np.uint64(index))
        seats[index].key = mix(add(mix(seed ^ _OWN), mix(add(place, _OWN))))
        seats[index].num_drawn = ZERO


@entry
def draw_learner(seats, players):
    """Draws a new learner's seat for row 0, and returns it."""
    seats[0].learner = _drawn(seats[0], players)
    return seats[0].learner


@entry
def draw_bits(seats):
    """Returns the next random number of row 0."""
    return _next_bits(seats[0])


@inline
def _drawn(seat, players):
    return np.int64(((_next_bits(seat) >> _HALF) * np.uint64(players)) >> _HALF)


@entry
def begin_at(games, rules, seats, tables, learner):
    """Begins an episode at some tables.

    Args:
        games: ``GAME`` rows (N,).
        rules: ``RULES`` row.
        seats: ``SEATS`` rows (N,).
        tables: Whole numbers, the indices of the tables.
        learner: The learner's seat; -1: drawn for each table.
    """
    for index in tables:
        dealing.begin_episode(games[index], rules[0])
        seats[index].done = False
        seats[index].learner = _drawn(seats[index], rules[0].players) if learner < 0 else learner


@inline
def _act(row, rules, action, reward, seat, paid):
    """Plays an action; at the end of a deal, pays the learner and deals the next one."""
    code = kernel.apply(row, rules, action)
    if code < _DEAL:
        return
    paid[:] = 0
    write_rewards(row, rules, reward, paid)
    seat.reward += paid[seat.learner]
    seat.deals += 1
    if code >= _END:
        seat.done = True
    else:
        dealing.next_deal(row, rules)


@entry
def answer(games, rules, seats, tables, actions, reward):
    """Plays a legal action at each of some tables.

    Args:
        games: ``GAME`` rows (N,).
        rules: ``RULES`` row.
        seats: ``SEATS`` rows (N,); the learner's reward is added there.
        tables: Whole numbers (B,), the indices of the tables.
        actions: int64 (B,).
        reward: Index of the reward in ``REWARDS``.
    """
    paid = np.zeros(MAX_SEATS)
    for place in range(len(tables)):
        index = tables[place]
        _act(games[index], rules[0], actions[place], reward, seats[index], paid)


@inline
def only_action(row):
    """Returns the only legal action of the seat to act, or -1 if it has a choice."""
    if row.legal & (row.legal - ONE) != ZERO:
        return np.int64(-1)
    return lowest(row.legal) + BID_BASE if row.phase == _BID else lowest(row.legal)


@entry
def waiting(games, rules, seats, tables, reward, places, questions):
    """Plays the forced moves of the other seats, and finds the tables where one has a choice.

    Args:
        games: ``GAME`` rows (N,).
        rules: ``RULES`` row.
        seats: ``SEATS`` rows (N,).
        tables: Whole numbers (B,), the indices of the tables.
        reward: Index of the reward in ``REWARDS``.
        places: At i, the index of the opponent in the seat i + 1 after the learner.
        questions: Arrays of at least B rows, written in place: tables (int64), opponents (int64),
            random bits (uint64).

    Returns:
        The number of tables that wait for an opponent.
    """
    record = rules[0]
    paid = np.zeros(MAX_SEATS)
    found, owners, random_bits = questions
    count = 0
    for index in tables:
        row, seat = games[index], seats[index]
        while not seat.done and row.seat != seat.learner:
            action = only_action(row)
            if action < 0:
                found[count] = index
                distance = np.int64(row.seat) - seat.learner - 1
                owners[count] = places[distance if distance >= 0 else distance + record.players]
                random_bits[count] = _next_bits(seat)
                count += 1
                break
            _act(row, record, action, reward, seat, paid)
    return count


@entry
def question(games, rules, sections, tables, views, masks):
    """Writes views and masks (flat int8 buffers) of the seats to act at some tables."""
    for place in range(len(tables)):
        row = games[tables[place]]
        start, mask = place * sections[0].length, place * sections[0].num_actions
        encode.write_observation(row, rules[0], sections[0], np.int64(row.seat), views, start)
        encode.write_mask(row, masks, mask, True)


@entry
def show(games, rules, sections, seats, views, masks):
    """Writes the learner's view and mask of every table; masks of ended episodes are zero."""
    starts = sections[0]
    for index in range(len(games)):
        row, learner = games[index], seats[index].learner
        start, mask = index * starts.length, index * starts.num_actions
        encode.write_observation(row, rules[0], starts, learner, views, start)
        encode.write_mask(row, masks, mask, row.phase <= _PLAY and row.seat == learner)


@entry
def first_illegal_of(games, tables, actions):
    """Returns the position in ``tables`` of the first illegal action, or -1."""
    for place in range(len(tables)):
        if not kernel.is_legal(games[tables[place]], np.int64(actions[place])):
            return place
    return -1
