"""The players in the other seats: what they are asked, and how their failures are reported."""

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
    """A player in another seat did not answer, or answered something that is not legal."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))  # a program's own words may be in it


@dataclass(frozen=True)
class Question:
    """A decision of another seat, and the chance that belongs to it."""

    seat: int
    game: Game
    """The table at this moment; the player gets the seat's own view of it."""
    words: NDArray[np.uint64]
    """(1,)"""


class Others:
    """The players in all seats but the person's.

    Args:
        names: One name for all, or one for each seat clockwise from the person's.
        rules: The rules.
        seat: The person's seat.
        hand_size: A hand size outside the schedule that is to be played.

    Raises:
        OhHellError: Not a player, or not as many as there are other seats.
    """

    def __init__(
        self, names: Sequence[str], rules: Rules, seat: int, hand_size: int | None = None
    ) -> None:
        given = names[0] if len(names) == 1 else list(names)
        self._players = Opponents(given, rules, hand_size)
        self._seat, self._seats = seat, rules.players
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Sits the players down.

        Raises:
            PlayerError: One cannot begin.
        """
        try:
            self._players.begin(self._seat)
        except (OhHellError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise PlayerError(f"a player cannot begin: {described(error)}") from error

    def question(self, game: Game, move: int) -> Question:
        """Returns what the seat to act is to be asked.

        Args:
            game: The table.
            move: How many bids and cards were made before; chance depends on it and on the seed, so
                that the same game brings the same answers.
        """
        key = np.array([game.seed or 0, move], np.uint64)
        words = np.array([np.random.Philox(key=key).random_raw()], np.uint64)
        return Question(game.seat, game.copy(), words)

    def answer(self, question: Question) -> int:
        """Returns the action of a player; may take seconds, may be called in any thread.

        Raises:
            PlayerError: It failed.
        """
        game = question.game
        legal = game.legal_actions()
        if len(legal) == 1:
            return legal[0]
        player, words = self._player(question.seat), question.words.copy()
        try:
            with self._lock:  # one that was undone may still be thinking
                return int(player.ask(game.state, game.compiled, _TABLE, words)[0])
        except OhHellError as error:
            why = str(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # of a thread that ends by it nobody would hear again
            why = described(error)
        raise PlayerError(f"seat {question.seat} ({player.name}) failed: {why}")

    def _player(self, seat: int) -> Opponent:
        distance = (seat - self._seat - 1) % self._seats
        return self._players.players[int(self._players.places[distance])]

    def close(self) -> None:
        """Ends what the players hold, programs for instance; one that thinks is ended, too.

        Whatever a player raises at the end is ignored: the game is over.
        """
        try:
            self._players.close()
        except KeyboardInterrupt:
            raise
        except BaseException:  # others' code may raise what ends programs, too
            return


_TABLE = np.zeros(1, np.int64)  # the only one
