"""Players in the seats that an environment plays itself."""

# Calls players from users: the code checks types at run time.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import BID_BASE, action_name
from ohhell_env.asking import Actions, Asker, as_actions, shown_answer
from ohhell_env.engine import seat_loops
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import Phase, Rows
from ohhell_env.errors import IllegalActionError, RulesError, shown
from ohhell_env.game import cards_of
from ohhell_env.observation import LAYOUTS, Layout, layout_of
from ohhell_env.players import called, resolve
from ohhell_env.rules import Rules

OpponentsLike = Any
"""One player for all other seats, or a list with one for each, clockwise from the learner. A player
is anything that ``ohhell_env.players.resolve`` accepts."""


class Opponent(Asker):
    """A player in one or more of the other seats.

    Args:
        given: The player, in any form.
        rules: The rules.
        hand_size: A hand size outside the schedule that must also fit into its observations.
        deterministic: Whether it takes its most likely action, if it draws actions.
    """

    def __init__(
        self, given: Any, rules: Rules, hand_size: int | None, deterministic: bool
    ) -> None:
        # Random numbers come with each question, so the seed has no effect.
        super().__init__(resolve(given, 0 if _is_name(given) else None), deterministic)
        self._ours = _is_name(given)
        self.name = str(given) if _is_name(given) else called(given)
        layout = self.layout_name if self.layout_name in LAYOUTS else "default"
        self.layout: Layout = layout_of(rules, layout, hand_size)
        """The layout of its observations."""
        self._rules = rules

    def begin(self, seat: int | None) -> None:
        """Notifies the player that a game begins.

        Args:
            seat: Its seat; None if it has several seats or tables.
        """
        self.player.begin(self._rules, seat)

    def close(self) -> None:
        """Releases the player's resources, if it was given by name."""
        close = getattr(self.player, "close", None)
        if self._ours and callable(close):
            close()

    def ask(
        self,
        games: Rows,
        rules: Rows,
        tables: NDArray[np.int64],
        random_bits: NDArray[np.uint64],
    ) -> Actions:
        """Returns a legal action for the seat to act at each of some tables.

        Args:
            games: ``GAME`` rows (N,), unchanged by this.
            rules: ``RULES`` row.
            tables: int64 (B,), rows of ``games``.
            random_bits: uint64 (B,), the random number of each decision; the player may keep it.

        Returns:
            Action codes (B,).

        Raises:
            IllegalActionError: An answer is not legal, or the number of answers is wrong.
        """
        count, layout = len(tables), self.layout
        views, masks = new_buffer(count, layout.length), new_buffer(count, layout.num_actions)
        seat_loops.question(games, rules, layout.compiled(), tables, views, masks)
        own = views[:-MARGIN].reshape(count, -1), masks[:-MARGIN].reshape(count, -1)
        answers = self.answers(*own, random_bits, games["seat"][tables], self._rules)
        actions = as_actions(answers)
        if actions is None or len(actions) != count:
            raise IllegalActionError(
                f"opponent {shown(self.name)} answered {shown(answers)}; {count} questions need "
                f"{count} whole numbers"
            )
        place = int(seat_loops.first_illegal_of(games, tables, actions))
        if place >= 0:
            raise self._illegal(answers[place], games[tables[place] : tables[place] + 1])
        return actions

    def _illegal(self, answer: Any, game: Rows) -> IllegalActionError:
        """Returns the error for an illegal answer at a table (one ``GAME`` row)."""
        first = BID_BASE if int(game["phase"][0]) == int(Phase.BID) else 0
        codes = [first + place for place in cards_of(int(game["legal"][0]))]
        allowed = ", ".join(f"{code} ({action_name(code, self._rules.pack)})" for code in codes)
        return IllegalActionError(
            f"opponent {shown(self.name)} in seat {int(game['seat'][0])} answered "
            f"{shown_answer(answer)}; legal: {allowed}"
        )


class Opponents:
    """The players in all seats except the learner's.

    Args:
        given: One player, or a sequence with one for each other seat, clockwise from the learner.
            The same name, or the same object, is the same player in all its seats.
        rules: The rules.
        hand_size: A hand size outside the schedule that must also fit into observations.
        deterministic: Whether players that rate their actions take the best one.

    Raises:
        OhHellError: Not a player, or the wrong number of players.
    """

    def __init__(
        self,
        given: OpponentsLike,
        rules: Rules,
        hand_size: int | None = None,
        deterministic: bool = True,
    ) -> None:
        others = rules.players - 1
        several = isinstance(given, list | tuple)
        listed = cast("Sequence[Any]", given) if several else [given] * others
        if len(listed) != others:
            raise RulesError(
                f"opponents must be one player, or a list of {others}, one for each other seat "
                f"clockwise from the learner; got a list of {len(listed)}"
            )
        keys = [str(each) if _is_name(each) else id(each) for each in listed]
        self.players: list[Opponent] = []
        """The distinct players."""
        self.places: NDArray[np.int64] = np.zeros(others, np.int64)
        """(players - 1,): at i, the index in ``players`` of the seat i + 1 after the learner."""
        for distance, (key, each) in enumerate(zip(keys, listed, strict=True)):
            first = keys.index(key)
            if first == distance:
                self.places[distance] = len(self.players)
                self.players.append(Opponent(each, rules, hand_size, deterministic))
            else:
                self.places[distance] = self.places[first]
        self._seats = rules.players

    def begin(self, learner: int | None) -> None:
        """Notifies every player that a game begins.

        Args:
            learner: The learner's seat; None if there are many tables.
        """
        for number, opponent in enumerate(self.players):
            distances = np.flatnonzero(self.places == number)
            if learner is None or len(distances) > 1:
                opponent.begin(None)
            else:
                opponent.begin((learner + 1 + int(distances[0])) % self._seats)

    def ask(
        self,
        number: int,
        games: Rows,
        rules: Rows,
        tables: NDArray[np.int64],
        random_bits: NDArray[np.uint64],
    ) -> Actions:
        """Returns the actions of one of ``players``; see ``Opponent.ask``.

        Raises:
            IllegalActionError: An answer is not legal; the message asks for ``reset``.
        """
        try:
            return self.players[number].ask(games, rules, tables, random_bits)
        except IllegalActionError as error:
            raise IllegalActionError(f"{error}; call reset() to continue") from error

    def close(self) -> None:
        """Releases the resources of players given by name; the next ``begin`` restarts them.

        It closes all of them even if one raises, so that no program keeps running.
        """
        with contextlib.ExitStack() as every_player:
            for opponent in reversed(self.players):
                every_player.callback(opponent.close)


def _is_name(given: Any) -> bool:
    return isinstance(given, str | Path)
