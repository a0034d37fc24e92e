"""The tables of a tournament: duplicate deals, and their play.

Block b of a tournament is the deal, or the whole game, of the engine's random stream (seed, b).
Cards, dealers and hand sizes are the same for every rotation and every line-up, however many blocks
are played at a time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.value.players import (
    action_one,
    answer_all,
    make_keys,
    play_on,
    question_all,
    results_all,
)
from ohhell_env.engine import batch
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import Phase, Rows, compile_rules, engine_rows, new_games
from ohhell_env.game import Game, check_episode
from ohhell_env.observation import Layout, layout_of
from ohhell_env.records.record import Record
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import MAX_EXTRA_DEALS, num_deals
from ohhell_train.tournament.entrants import Entrant, engine_players

_PLAY = int(Phase.PLAY)

Blocks = NDArray[np.void]
"""The results of some blocks: one row of ``block_dtype`` each."""
Places = NDArray[np.int16]
"""Entrants, by their places in the tournament's list."""


def block_dtype(seats: int, deals: int, settled: bool) -> np.dtype[np.void]:
    """Returns the dtype of a block, played once in each of ``seats`` rotations.

    In rotation r the entrant ``lineup[j]`` sits in seat ``(j + r) % seats``.

    Args:
        seats: Number of players.
        deals: The most deals of a table.
        settled: Whether the rules settle at the end.
    """
    tables, by_deal = (seats, seats), (seats, deals)
    fields = [
        ("block", "<i8"),
        ("lineup", "<i2", (seats,)),  # entrants, by their places in the tournament
        ("scores", "<i4", tables),  # (rotations, seats), of the deal or the whole game
        ("win_shares", "<f8", tables),
        ("hand_sizes", "i1", by_deal),  # (rotations, deals); 0: no such deal
        ("dealers", "i1", by_deal),
        ("bids", "i1", (seats, deals, seats)),  # (rotations, deals, seats)
        ("tricks", "i1", (seats, deals, seats)),
    ]
    if settled:
        fields.append(("paid", "<f8", tables))
    return np.dtype(fields)


class Deals:
    """The deals of a tournament.

    Args:
        rules: The rules.
        seed: The tournament's seed.
        hand_size: The only hand size; None draws it from the schedule, block by block.
        episode: "deal": every block is one deal; "game": a whole game.

    Raises:
        RulesError: The episode is unknown, or the hand size cannot be dealt.
    """

    def __init__(
        self, rules: Rules, seed: int, hand_size: int | None = None, episode: str = "deal"
    ) -> None:
        self.rules, self.seed, self.hand_size = rules, seed, hand_size
        self.episode = check_episode(episode)
        self.compiled: Rows = compile_rules(rules, episode, hand_size)

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """The dtype of a block."""
        game = self.episode == "game"
        settled = game and self.rules.settlement.kind != "none"
        deals = num_deals(self.rules) + MAX_EXTRA_DEALS if game else 1
        return block_dtype(self.rules.players, deals, settled)

    def dealt(self, first: int, count: int) -> Rows:
        """Returns freshly dealt records of ``count`` blocks, from block ``first`` on."""
        games = new_games(count)
        batch.seed_tables(games, np.uint64(self.seed), np.uint64(first))
        batch.begin_all(games, self.compiled)
        return games

    def layout(self, name: str) -> Layout:
        """Returns the layout of the observations."""
        return layout_of(self.rules, name, self.hand_size)


@dataclass(frozen=True)
class Inside:
    """The engine's own work at some tables: its players, forced moves, dealing, rules."""

    decisions: int
    seconds: float


def play_blocks(
    deals: Deals, entrants: Sequence[Entrant], lineups: Places, first: int
) -> tuple[Blocks, Inside]:
    """Plays blocks of one line-up each, once for every rotation over the seats.

    Args:
        deals: The deals.
        entrants: All entrants of the tournament.
        lineups: (blocks, seats), the entrant of each seat in rotation 0.
        first: First block.
    """
    count, seats = lineups.shape
    tables = _Tables(deals, entrants, lineups, first)
    tables.play_out()
    games, log = tables.games, tables.log
    shares, paid = np.zeros((2, len(games), seats))
    results_all(games, deals.compiled, shares, paid)
    blocks = np.zeros(count, deals.dtype)
    blocks["block"] = np.arange(first, first + count)
    blocks["lineup"] = lineups
    found = {
        "scores": games["scores"][:, :seats],
        "win_shares": shares,
        "paid": paid,
        "hand_sizes": log[:, :, 0],
        "dealers": log[:, :, 1],
        "bids": log[:, :, 2 : 2 + seats],
        "tricks": log[:, :, 2 + seats :],
    }
    for name in set(found) & set(deals.dtype.names or ()):
        values = found[name]
        blocks[name] = values.reshape(seats, count, *values.shape[1:]).swapaxes(0, 1)
    return blocks, tables.inside


def play_pairing(deals: Deals, one: Entrant, field: Entrant, first: int, count: int) -> Blocks:
    """Plays one entrant against a field of copies of another, once in every seat.

    Args:
        deals: The deals.
        one: Sits alone, in seat r of rotation r; entrant 0 of the line-ups.
        field: Sits in all other seats; entrant 1.
        first: First block.
        count: Number of blocks.
    """
    lineup = [0] + [1] * (deals.rules.players - 1)
    blocks, _ = play_blocks(
        deals, (one, field), np.tile(np.array(lineup, np.int16), (count, 1)), first
    )
    return blocks


class _Tables:
    """The tables of some blocks during play: all of rotation 0 first, then rotation 1 and so on.

    Args:
        deals: The deals.
        entrants: All entrants of the tournament.
        lineups: (blocks, seats).
        first: First block.
    """

    def __init__(
        self, deals: Deals, entrants: Sequence[Entrant], lineups: Places, first: int
    ) -> None:
        count, seats = lineups.shape
        self.deals, self.entrants = deals, entrants
        self.inside = Inside(0, 0.0)
        dealt = deals.dealt(first, count)
        self.games = engine_rows(np.concatenate([dealt.view(np.ndarray)] * seats))
        self.owners = np.concatenate([np.roll(lineups, r, axis=1) for r in range(seats)])
        """(tables, seats): the entrant in each seat."""
        names = np.array([entrant.name_number for entrant in entrants], np.uint64)
        players, self.models = engine_players(entrants)
        self.players = players[self.owners]
        blocks = np.tile(np.arange(first, first + count, dtype=np.uint64), seats)
        rotation = np.repeat(np.arange(seats, dtype=np.uint64), count)
        self.keys = np.empty((len(self.games), seats), np.uint64)
        make_keys(np.uint64(deals.seed), names[self.owners], blocks, rotation, self.keys)
        self.log = np.zeros((len(self.games), deals.dtype["bids"].shape[1], 2 + 2 * seats), np.int8)

    def play_out(self) -> None:
        """Plays all tables to their end.

        The engine plays until every table waits for a player from outside. Each of these players is
        then asked for all its tables at once.
        """
        games = self.games
        while True:
            self._play_inside()
            waiting = np.flatnonzero(games["phase"] <= _PLAY)
            if not len(waiting):
                return
            turn = self.owners[waiting, games["seat"][waiting]]
            for place in np.unique(turn):
                self._ask(self.entrants[place], waiting[turn == place])

    def _play_inside(self) -> None:
        started = time.perf_counter()
        rules = self.deals.compiled
        decisions = play_on(self.games, rules, self.models, self.players, self.keys, self.log)
        seconds = self.inside.seconds + time.perf_counter() - started
        self.inside = Inside(self.inside.decisions + decisions, seconds)

    def _ask(self, entrant: Entrant, tables: NDArray[np.int64]) -> None:
        actions = _asked(self.deals, entrant, self.games, tables, self.keys)
        answer_all(self.games, tables, self.deals.compiled, actions)


def _asked(
    deals: Deals,
    entrant: Entrant,
    games: Rows,
    tables: NDArray[np.int64],
    keys: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """Returns an entrant's actions for the seats to act at some tables."""
    layout, count = deals.layout(entrant.layout_name), len(tables)
    views = new_buffer(count, layout.length)
    masks = new_buffer(count, layout.num_actions)
    random_bits = np.empty(count, np.uint64)
    question_all(games, tables, deals.compiled, layout.compiled(), keys, views, masks, random_bits)
    shown = views[:-MARGIN].reshape(count, -1), masks[:-MARGIN].reshape(count, -1)
    return entrant.ask(*shown, random_bits, games["seat"][tables])


def replay_table(
    deals: Deals, entrants: Sequence[Entrant], lineup: Sequence[int], block: int, rotation: int
) -> Record:
    """Plays one table of a tournament again, and returns its record.

    Args:
        deals: The deals.
        entrants: All entrants of the tournament.
        lineup: The line-up of the block, as places in ``entrants``.
        block: Number of the block.
        rotation: Rotation of the table.
    """
    tables = _Tables(deals, entrants, np.array([lineup], np.int16), block)
    keys, players = tables.keys[rotation : rotation + 1], tables.players[rotation]
    game = Game(deals.rules, deals.seed, deals.episode, deals.hand_size)
    game.state[:] = tables.games[rotation : rotation + 1]
    if block > 0:
        game.seed = None  # a seed would mean the first of its streams
    only = np.zeros(1, np.int64)
    while not game.over:
        seat = game.seat
        action = action_one(game.state, deals.compiled, tables.models, players[seat], keys[0, seat])
        if action < 0:
            entrant = entrants[tables.owners[rotation, seat]]
            action = _asked(deals, entrant, game.state, only, keys)[0]
        game.apply(int(action))
    return game.record()
