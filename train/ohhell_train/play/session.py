"""``Session``: one game after another at the same table, each with players that begin again."""

from __future__ import annotations

import threading
from itertools import count
from pathlib import Path
from typing import Protocol

import numpy as np

from ohhell_env.errors import OhHellError
from ohhell_env.game import Game
from ohhell_train.play.match import Match

_MOST_SEEDS = 1000
"""Seeds tried until the right seat deals first: far more than eight players need."""


class Begin(Protocol):
    """Returns a match of the session's table; its players have begun."""

    def __call__(self, *, seed: int | None, record: Path | None) -> Match:
        """Begins a game.

        Args:
            seed: Seed of the game; None draws one.
            record: File to write the game to, or None.
        """
        ...


class Session:
    """Games of one person at one table, one after another.

    Players do not live on between games: at the end of a game they are closed (programs end), and
    the next game begins with new ones. So a game depends on its seed alone.

    Args:
        begin: Begins a game of this table.
        seed: Seed of the first game; None draws one. The seeds of later games follow from it.
        record: File of the first game, or None. Later games get files with a number before the
            suffix: game-2.json, game-3.json.

    Raises:
        OhHellError: The first game cannot begin.
    """

    def __init__(self, begin: Begin, seed: int | None = None, record: Path | None = None) -> None:
        self._begin = begin
        self.match = begin(seed=seed, record=record)
        """The present game."""
        self._first_seed, self._record = self.match.game.seed or 0, record
        self.number = 1
        """Number of the present game, from 1."""
        self._last_number = 1  # of a file, which may be ahead where there were such files before
        self._lock = threading.Lock()
        self._next: Match | None = None
        self._closed = False
        self._ended: list[Match] = []

    @property
    def matches(self) -> list[Match]:
        """All games of the session, the present one last."""
        return [*self._ended, self.match]

    def prepare(self) -> None:
        """Ends the game that is over and begins the next; ``go_on`` then changes over to it.

        This may take seconds, if a player is a program. Any thread may call it, but one at a time.

        Raises:
            OhHellError: The game is not over, or a player cannot begin, or the next record cannot
                be written. You may try again.
        """
        if not self.match.over:
            raise OhHellError("the game is not over yet")
        self.match.close()
        number, path = self._next_file()
        match = self._begin(seed=self._next_seed(), record=path)
        with self._lock:
            if not self._closed:
                self._next, self._last_number = match, number
                return
        match.close()  # the person has left in the meantime

    def go_on(self) -> None:
        """Makes the prepared game the present one."""
        with self._lock:
            if self._next is not None:
                self._ended.append(self.match)
                self.match, self._next = self._next, None
                self.number += 1

    def another(self) -> None:
        """Begins the next game: ``prepare`` and ``go_on``.

        Raises:
            OhHellError: As ``prepare``.
        """
        self.prepare()
        self.go_on()

    def close(self) -> None:
        """Ends the session; the present game is written, if there is a file for it."""
        with self._lock:
            self._closed, prepared, self._next = True, self._next, None
        if prepared is not None:
            prepared.close()
        self.match.close()

    # ------------------------------------------------------------------ the next game

    def _next_seed(self) -> int:
        """Returns a seed with which the deal passes on: the seat on the last dealer's left deals.

        Where the rules name the first dealer, it is the first seed of the game.
        """
        game = self.match.game
        seeds = seeds_of_game(self._first_seed, self.number + 1)
        wanted = (game.dealer + 1) % game.players
        if isinstance(game.rules.first_dealer, int):
            return seeds[0]
        return next((seed for seed in seeds if self._first_dealer(seed) == wanted), seeds[0])

    def _first_dealer(self, seed: int) -> int:
        game = self.match.game
        return Game(game.rules, seed, game.episode, game.chosen_size).dealer

    def _next_file(self) -> tuple[int, Path | None]:
        """Returns the next free file, with its number; no file is ever written over."""
        if self._record is None:
            return self._last_number, None
        first = self._record
        numbered = (
            (number, first.with_name(f"{first.stem}-{number}{first.suffix}"))
            for number in count(self._last_number + 1)
        )
        return next((number, path) for number, path in numbered if not path.exists())


def seeds_of_game(first: int, number: int) -> list[int]:
    """Returns the seeds for a later game of a session; it takes the first one that fits.

    They are the 32-bit words of NumPy's ``SeedSequence([first, number])``, in order.

    Args:
        first: Seed of the first game.
        number: Number of the game, 2 for the second.
    """
    return np.random.SeedSequence([first, number]).generate_state(_MOST_SEEDS).tolist()
