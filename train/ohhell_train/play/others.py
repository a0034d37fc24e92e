"""The players in the other seats: questions to them, answers, and reports of failures."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ohhell_env.cli.program import printable
from ohhell_env.envs.opponents import Opponent, Opponents
from ohhell_env.errors import OhHellError, described
from ohhell_env.game import Game
from ohhell_env.rules import Rules


class PlayerError(OhHellError):
    """A player in another seat gave no answer, or an illegal one."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))  # it may contain a program's output


@dataclass(frozen=True)
class Question:
    """A decision of another seat."""

    seat: int
    game: Game
    """The game at this moment; the player gets the seat's own view of it."""
    random_bits: NDArray[np.uint64]
    """Random bits for this decision, shape (1,)."""


class Others:
    """The players in all seats but the person's.

    Args:
        given: One player for all seats, or one for each, clockwise from the person's.
        rules: The rules.
        seat: The person's seat.
        hand_size: A hand size outside the schedule that will be played.

    Raises:
        OhHellError: One of them is not a player, or the number of players is wrong.
    """

    def __init__(
        self, given: Sequence[str], rules: Rules, seat: int, hand_size: int | None = None
    ) -> None:
        self._players = Opponents(given[0] if len(given) == 1 else [*given], rules, hand_size)
        self._seat, self._seats = seat, rules.players
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Begins a game with every player.

        Raises:
            PlayerError: A player cannot begin.
        """
        try:
            self._players.begin(self._seat)
        except (OhHellError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise PlayerError(f"a player cannot begin: {described(error)}") from error

    def question(self, game: Game, move: int) -> Question:
        """Returns the question for the seat to act.

        Args:
            game: The game.
            move: Number of bids and cards before it. The random bits depend on it and on the seed,
                so the same game brings the same answers.
        """
        key = np.array([game.seed or 0, move], np.uint64)
        random_bits = np.array([np.random.Philox(key=key).random_raw()], np.uint64)
        return Question(game.seat, game.copy(), random_bits)

    def answer(self, question: Question) -> int:
        """Returns the action of a player. This may take seconds; any thread may call it.

        Raises:
            PlayerError: The player failed.
        """
        game = question.game
        legal = game.legal_actions()
        if len(legal) == 1:
            return legal[0]
        player, random_bits = self._player(question.seat), question.random_bits.copy()
        try:
            with self._lock:  # after an undo, the old question may still be open
                return int(player.ask(game.state, game.compiled, _TABLE, random_bits)[0])
        except OhHellError as error:
            why = str(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it would end the thread, and nobody would know why
            why = described(error)
        raise PlayerError(f"seat {question.seat} ({player.name}) failed: {why}")

    def _player(self, seat: int) -> Opponent:
        distance = (seat - self._seat - 1) % self._seats
        return self._players.players[int(self._players.places[distance])]

    def close(self) -> None:
        """Ends the players, programs for instance, even while they think.

        Errors of a player at the end are ignored: the game is over.
        """
        try:
            self._players.close()
        except KeyboardInterrupt:
            raise
        except BaseException:  # a player's code may raise SystemExit, too
            return


_TABLE = np.zeros(1, np.int64)  # the only one
