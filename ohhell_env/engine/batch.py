"""The engine's entry points: whole arrays of tables in, nothing decided here.

Python passes arrays, never single records: unboxing a record costs ten times as much as a one-row
array. Functions named ``*_one`` work on row 0.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_env.engine import dealing, kernel, scoring
from ohhell_env.engine.bits import entry
from ohhell_env.engine.rng import seed_stream


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
    """Begins an episode, up to the choice of dealer and hand size; deals nothing."""
    dealing.prepare_episode(games[0], rules[0])


@entry
def open_one(games, rules):
    """Opens the bidding of a deal whose hands, turned card and trump are set already."""
    kernel.start_bidding(games[0], rules[0])


@entry
def trump_one(games, rules):
    """Sets the trump suit of a deal whose cards and turned card are set already."""
    dealing.set_trump(games[0], rules[0])


@entry
def deal_one(games, rules):
    """Deals the cards of a prepared deal and opens the bidding."""
    dealing.deal_cards(games[0], rules[0])


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
    """Makes an action if it is legal; returns ``16 * Event + next seat``, or ``ILLEGAL``."""
    return kernel.step(games[0], rules[0], action)


@entry
def refresh_one(games, rules):
    """Works out ``legal`` anew after hands were changed from outside."""
    row = games[0]
    if row.phase == 0:
        row.legal = kernel.legal_bids(row, rules[0])
    elif row.phase == 1:
        row.legal = kernel.legal_cards(row, rules[0])


@entry
def results_one(games, rules, shares, paid):
    """Writes win shares and settlement (float64 (players,) each) from the scores as they are."""
    scoring.win_shares(games[0], rules[0], shares)
    scoring.settle(games[0], rules[0], paid)


@entry
def trump_known_one(games, rules):
    """Returns whether the players know the trump suit of the present deal."""
    return kernel.trump_known(games[0], rules[0])
