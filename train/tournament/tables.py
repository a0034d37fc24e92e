"""The tables of a tournament: duplicate deals, and playing them out.

Block b of a tournament is the deal of random stream (seed, b) of the engine: cards, dealer and hand
size are the same for every rotation and every pairing, however many blocks are played at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.engine_players import answer_all, make_keys, play_on, question_all
from ohhell_env.engine import batch
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import Phase, Rows, compile_rules, engine_rows, new_games
from ohhell_env.observation import Layout, layout_of
from ohhell_env.rules import Rules
from train.tournament.entrants import Entrant

_PLAY = int(Phase.PLAY)


@dataclass(frozen=True)
class Outcome:
    """What happened at the tables of one pairing."""

    points: NDArray[np.int32]
    """(blocks, rotations, seats): points of the deal."""
    bids: NDArray[np.int8]
    """(blocks, rotations, seats)."""
    tricks: NDArray[np.int8]
    """(blocks, rotations, seats): tricks won."""
    hand_sizes: NDArray[np.int8]
    """(blocks,)."""


class Deals:
    """The deals of a tournament.

    Args:
        rules: The rules.
        seed: The tournament's seed.
        hand_size: The only hand size; None: drawn from the schedule, block by block.

    Raises:
        RulesError: A hand size that cannot be dealt.
    """

    def __init__(self, rules: Rules, seed: int, hand_size: int | None = None) -> None:
        self.rules, self.seed, self.hand_size = rules, seed, hand_size
        self.compiled: Rows = compile_rules(rules, "deal", hand_size)

    def dealt(self, first: int, count: int) -> Rows:
        """Returns freshly dealt records of ``count`` blocks, from block ``first`` on."""
        games = new_games(count)
        batch.seed_tables(games, np.uint64(self.seed), np.uint64(first))
        batch.begin_all(games, self.compiled)
        return games

    def layout(self, name: str) -> Layout:
        """Returns the layout of the observations."""
        return layout_of(self.rules, name, self.hand_size)


def play_pairing(deals: Deals, one: Entrant, field: Entrant, first: int, count: int) -> Outcome:
    """Plays one entrant against a field of copies of another, once in every seat.

    Args:
        deals: The deals.
        one: Sits alone, in seat r of rotation r.
        field: Sits in all other seats.
        first: First block.
        count: Number of blocks.
    """
    seats = deals.rules.players
    dealt = deals.dealt(first, count)
    games = engine_rows(np.concatenate([dealt.view(np.ndarray)] * seats))
    rotation = np.repeat(np.arange(seats), count)
    alone = rotation[:, np.newaxis] == np.arange(seats)
    names = np.where(alone, one.word, field.word)
    keys = np.empty((len(games), seats), np.uint64)
    blocks = np.tile(np.arange(first, first + count, dtype=np.uint64), seats)
    make_keys(np.uint64(deals.seed), names, blocks, rotation.astype(np.uint64), keys)
    players = np.where(alone, one.engine_player, field.engine_player).astype(np.int8)
    _play_out(deals, games, players, keys, {True: one, False: field}, alone)

    def shaped(name: str) -> NDArray[np.int8]:
        return games[name][:, :seats].reshape(seats, count, seats).swapaxes(0, 1).copy()

    points = shaped("points").astype(np.int32)
    return Outcome(points, shaped("bids"), shaped("tricks_won"), dealt["hand_size"].copy())


def _play_out(
    deals: Deals,
    games: Rows,
    players: NDArray[np.int8],
    keys: NDArray[np.uint64],
    entrants: dict[bool, Entrant],
    alone: NDArray[np.bool_],
) -> None:
    """Plays all tables to the end of their deals.

    The engine plays until every table waits for a player from outside; these are asked for all
    their tables at once.
    """
    rules = deals.compiled
    while True:
        play_on(games, rules, players, keys)
        waiting = np.flatnonzero(games["phase"] <= _PLAY)
        if not len(waiting):
            return
        turn_of_one = alone[waiting, games["seat"][waiting]]
        for which in (True, False):
            tables = waiting[turn_of_one == which]
            if len(tables):
                asked = entrants[which]
                questions = _questions(deals, asked.layout_name, games, tables, keys)
                seats = games["seat"][tables]
                answer_all(games, tables, rules, asked.ask(*questions, seats))


def _questions(
    deals: Deals,
    layout_name: str,
    games: Rows,
    tables: NDArray[np.int64],
    keys: NDArray[np.uint64],
) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.uint64]]:
    """Returns views, masks and random words of the seats to act at some tables."""
    layout, count = deals.layout(layout_name), len(tables)
    views = new_buffer(count, layout.length)
    masks = new_buffer(count, layout.num_actions)
    words = np.empty(count, np.uint64)
    question_all(games, tables, deals.compiled, layout.compiled(), keys, views, masks, words)
    return (
        views[:-MARGIN].reshape(count, -1),
        masks[:-MARGIN].reshape(count, -1),
        words,
    )
