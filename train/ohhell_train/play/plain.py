"""The game line by line, for pipes, scripts and screen readers: a thin layer over ``Session``."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from ohhell_env.cards import plain_name
from ohhell_env.errors import OhHellError, shown
from ohhell_env.rules.phrases import enumerate_words, suit_word
from ohhell_train.play.events import needs, result, roles, trick_line
from ohhell_train.play.keys import MEANINGS, working_keys
from ohhell_train.play.match import Match
from ohhell_train.play.others import PlayerError
from ohhell_train.play.session import Session
from ohhell_train.play.view import Choice, PersonView

_MORE = {"v": "the table", "?": "these commands"}
"""Commands that a table with a screen does not need."""
_WHY_NOT = {
    "h": "There is no hint: it is not your turn.",
    "u": "There is no move of yours to take back.",
    "x": "No player has failed.",
    "n": "This game is not over yet.",
    "t": "No trick is finished yet.",
    "s": "No deal is over yet.",
}
_NO_PRACTICE = "You can take moves back in practice only (--practice)."


class PlainGame:
    """Plays a session with lines of text.

    Args:
        session: The session, with its first game.
        read: Returns a line; raises EOFError at the end of the input.
        write: Writes a line.
    """

    def __init__(
        self,
        session: Session,
        read: Callable[[], str] = input,
        write: Callable[[str], None] = print,
    ) -> None:
        self.session, self._read, self._write = session, read, write
        self._printed = 0
        self._failed = False
        self._offered: list[str] = []
        self._actions: dict[str, Callable[[], None]] = {
            "h": self._hint,
            "u": self._undo,
            "x": self._ask_again,
            "n": self._play_again,
            "v": self._table,
            "t": self._last_trick,
            "s": self._sheet,
            "r": lambda: self._write(self.match.rules_text.rstrip()),
            "?": lambda: self._write(self._commands()),
        }

    @property
    def match(self) -> Match:
        """The present game."""
        return self.session.match

    def run(self) -> None:
        """Plays until the person quits or the input ends."""
        self._introduce()
        while True:
            self._advance()
            self._write_events()
            word = self._ask()
            if word in ("q", None):
                return
            self._obey(word)

    def _introduce(self) -> None:
        others = [each.label for each in self.match.seated if each.player]
        self._write(f"At the table with you: {enumerate_words(others)}.")

    def _advance(self) -> None:
        """Lets the other seats move until it is the person's turn, or one of them fails."""
        if self._failed:  # only x asks again
            return
        try:
            self.match.advance()
        except PlayerError as error:
            self._failed = True
            self._write_events()
            self._write(f"{error}")

    def _write_events(self) -> None:
        """Writes the events since the last time."""
        for line in self.match.events[self._printed :]:
            self._write(line)
        self._printed = len(self.match.events)
        if self.match.trouble:
            self._write(self.match.trouble)

    def _keys(self) -> dict[str, str]:
        """Returns the commands that work now, with their meanings."""
        keys = working_keys(self.match, self._failed)
        end = keys.pop("q")
        return keys | _MORE | {"q": end}

    def _commands(self) -> str:
        listed = ", ".join(f"{key}: {meaning}" for key, meaning in self._keys().items())
        move = "a bid (3), a card (TH or 10H), or " if self.match.mine else ""
        return f"Write {move}{listed}."

    def _ask(self) -> str | None:
        view = self.match.view
        if self.match.mine:
            for line in situation(view, self.match.names):
                self._write(line)
        if self._offered != list(self._keys()):
            self._offered = list(self._keys())
            self._write(self._commands())
        if self.match.over:
            prompt = "n plays again, q quits:"
        elif self._failed:
            prompt = f"x asks {self.match.names[view.table.actor]} again, q quits:"
        else:
            names = " ".join(choice.name for choice in view.choices if not choice.problem)
            prompt = f"Your {'bid' if view.table.bidding else 'card'} ({names}):"
        self._write(prompt)  # on a line of its own, so that output without a terminal reads well
        try:
            return self._read().strip()
        except EOFError:
            return None

    def _obey(self, word: str) -> None:
        key = word.lower()
        if key in self._keys():
            self._actions[key]()
        elif key in MEANINGS:
            outside_practice = key == "u" and not self.match.practice
            self._write(_NO_PRACTICE if outside_practice else _WHY_NOT[key])
        elif self._failed and not word:
            self._ask_again()
        else:
            self._choose(word)

    def _choose(self, word: str) -> None:
        wanted = plain_name(word, self.match.view.table.rules.pack)
        chosen = [each for each in self.match.view.choices if each.name == wanted]
        if not chosen:
            self._write(f"{shown(word)} is not a move or command here; ? lists the commands.")
        elif chosen[0].problem:
            self._write(f"{chosen[0].problem}.")
        else:
            self.match.choose(chosen[0].action)

    def _table(self) -> None:
        view = self.match.view
        for seat, each in enumerate(self.match.seated):
            parts = [
                f"bid {'-' if view.table.bids[seat] is None else view.table.bids[seat]}",
                f"won {view.table.tricks_won[seat]}",
                f"needs {needs(view.needed[seat])}",
                f"score {view.table.scores[seat]}",
                *roles(view, seat),
            ]
            self._write(f"{each.label}: {', '.join(parts)}")

    def _hint(self) -> None:
        try:
            advice = self.match.hint()
        except OhHellError as error:
            self._write(f"{error}")
            return
        if advice is not None:
            self._write(f"Hint from {self.match.adviser}: {advice.words}")
            self._write(advice.numbers)

    def _ask_again(self) -> None:
        self._failed = False

    def _undo(self) -> None:
        if self.match.undo():
            self._failed = False
            self._printed = len(self.match.events)
            self._write("Back at your last decision.")

    def _play_again(self) -> None:
        try:
            self.session.another()
        except (OhHellError, OSError) as error:
            self._write(f"The next game cannot begin: {error}")
            return
        self._printed = 0

    def _last_trick(self) -> None:
        last = self.match.last_trick
        if last is not None:
            self._write(trick_line(last, self.match.names))

    def _sheet(self) -> None:
        for row in self.match.sheet:
            self._write(f"Deal {row.deal + 1}, hand size {row.hand_size}, trump {row.trump}:")
            for seat, name in enumerate(self.match.names):
                self._write(f"  {name}: {result(row, seat)}")


def situation(view: PersonView, names: Sequence[str]) -> list[str]:
    """Returns what the person sees before a decision, in lines."""
    table = view.table
    seen = [(seat, cards) for seat, cards in table.hands.items() if seat != view.seat]
    shown = ", ".join(f"{names[seat]} holds {' '.join(cards)}" for seat, cards in sorted(seen))
    lines = [f"You see the cards of the others, not your own: {shown}"] if shown else []
    lines += [choice.problem for choice in view.bids if choice.problem]
    if view.hand:
        lines.append(f"Your hand: {'; '.join(_suit(view, suit) for suit in view.hand)}")
    return [textwrap.fill(line, 100, subsequent_indent="  ") for line in lines]


def _suit(view: PersonView, suit: Sequence[Choice]) -> str:
    word = suit_word(suit[0].name[1], view.table.rules.pack)
    return f"{word} {' '.join(choice.name for choice in suit)}"
