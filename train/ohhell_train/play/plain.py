"""The game line by line, for pipes, scripts and screen readers: a thin face over ``Match``."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from ohhell_env.cards import plain_name
from ohhell_env.errors import OhHellError, shown
from ohhell_env.rules.phrases import suit_word
from ohhell_train.play.match import Match
from ohhell_train.play.others import PlayerError
from ohhell_train.play.sight import Choice, PersonView
from ohhell_train.play.telling import needs, result, roles, trick_line

HELP = (
    "Write a card (TH or 10H) or a bid (3). v: the table, h: hint, u: undo (in practice), t: last "
    "trick, s: score sheet, r: rules, q: quit, ?: this help."
)


class PlainGame:
    """Plays a match with lines of text.

    Args:
        match: The game.
        read: Returns a line; raises EOFError at the end of the input.
        write: Says a line.
    """

    def __init__(
        self,
        match: Match,
        read: Callable[[], str] = input,
        write: Callable[[str], None] = print,
    ) -> None:
        self.match, self._read, self._write = match, read, write
        self._printed = 0
        self._commands: dict[str, Callable[[], None]] = {
            "v": self._table,
            "h": self._hint,
            "u": self._undo,
            "t": self._last_trick,
            "s": self._sheet,
            "r": lambda: self._write(self.match.rules_text.rstrip()),
            "?": lambda: self._write(HELP),
        }

    def run(self) -> None:
        """Plays until the game is over or the person quits."""
        self._write(HELP)
        while True:
            ready = self._advance()
            self._tell()
            if self.match.over and not self.match.practice:
                return
            word = self._ask() if ready else self._ask_again()
            if word in ("q", None):
                return
            if ready:
                self._obey(word)

    def _advance(self) -> bool:
        """Lets the others move; returns whether none of them failed."""
        try:
            self.match.advance()
        except PlayerError as error:
            self._tell()
            self._write(f"{error}")
            return False
        return True

    def _tell(self) -> None:
        """Says what has happened since the last time."""
        for line in self.match.events[self._printed :]:
            self._write(line)
        self._printed = len(self.match.events)
        if self.match.trouble:
            self._write(self.match.trouble)

    def _line(self, prompt: str) -> str | None:
        self._write(prompt)  # on a line of its own, so that output without a terminal reads well
        try:
            return self._read().strip()
        except EOFError:
            return None

    def _ask_again(self) -> str | None:
        return self._line("Enter asks again, q quits:")

    def _ask(self) -> str | None:
        sight = self.match.sight
        if self.match.over:
            return self._line("u goes back, q quits:")
        for line in situation(sight, self.match.names):
            self._write(line)
        what = "bid" if sight.table.bidding else "card"
        names = " ".join(choice.name for choice in sight.choices if not choice.problem)
        return self._line(f"Your {what} ({names}):")

    def _obey(self, word: str) -> None:
        command = self._commands.get(word.lower())
        if command is not None:
            command()
            return
        wanted = plain_name(word, self.match.sight.table.rules.pack)
        chosen = [each for each in self.match.sight.choices if each.name == wanted]
        if not chosen:
            self._write(f"{shown(word)} is no move or command here; ? lists the commands.")
        elif chosen[0].problem:
            self._write(f"{chosen[0].problem}.")
        else:
            self.match.choose(chosen[0].action)

    def _table(self) -> None:
        sight = self.match.sight
        for seat, name in enumerate(self.match.names):
            parts = [
                f"bid {'-' if sight.table.bids[seat] is None else sight.table.bids[seat]}",
                f"won {sight.table.tricks_won[seat]}",
                f"needs {needs(sight.needed[seat])}",
                f"score {sight.table.scores[seat]}",
                *roles(sight, seat),
            ]
            self._write(f"{name}: {', '.join(parts)}")

    def _hint(self) -> None:
        try:
            advice = self.match.hint()
        except OhHellError as error:
            self._write(f"{error}")
            return
        if advice is not None:
            self._write(f"{self.match.adviser}: {advice.text}")

    def _undo(self) -> None:
        if not self.match.practice:
            self._write("Moves are taken back in practice only (--practice).")
        elif self.match.undo():
            self._printed = len(self.match.events)
            self._write("Back at your last decision.")
        else:
            self._write("There is nothing to take back.")

    def _last_trick(self) -> None:
        last = self.match.last_trick
        if last is None:
            self._write("No trick has been played yet.")
            return
        self._write(trick_line(last, self.match.names))

    def _sheet(self) -> None:
        if not self.match.sheet:
            self._write("No deal is over yet.")
        for row in self.match.sheet:
            self._write(f"Deal {row.deal + 1}, hand size {row.hand_size}, trump {row.trump}:")
            for seat, name in enumerate(self.match.names):
                self._write(f"  {name}: {result(row, seat)}")


def situation(sight: PersonView, names: Sequence[str]) -> list[str]:
    """Returns what the person sees before a decision, in lines."""
    table = sight.table
    seen = [(seat, cards) for seat, cards in table.hands.items() if seat != sight.seat]
    shown = ", ".join(f"{names[seat]} holds {' '.join(cards)}" for seat, cards in sorted(seen))
    lines = [f"You see the cards of the others, not your own: {shown}"] if shown else []
    lines += [choice.problem for choice in sight.bids if choice.problem]
    if sight.hand:
        lines.append(f"Your hand: {'; '.join(_suit(sight, suit) for suit in sight.hand)}")
    return [textwrap.fill(line, 100, subsequent_indent="  ") for line in lines]


def _suit(sight: PersonView, suit: Sequence[Choice]) -> str:
    word = suit_word(suit[0].name[1], sight.table.rules.pack)
    return f"{word} {' '.join(choice.name for choice in suit)}"
