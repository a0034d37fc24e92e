"""The table in the terminal, with Textual: a thin face over ``Match``.

The others think in a thread of their own, one question at a time; what they answer comes back as a
message, so that the match is touched by the app's own thread alone.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Footer, Markdown, RichLog, Static

from ohhell_env.cli.interrupts import note_closing
from ohhell_env.errors import OhHellError
from ohhell_env.rules.explain import title
from ohhell_train.play import panels
from ohhell_train.play.advice import Advice, Observation
from ohhell_train.play.match import Match
from ohhell_train.play.others import PlayerError, Question
from ohhell_train.play.screens import SheetScreen, TextScreen
from ohhell_train.play.telling import trick_line


@dataclass
class Answered(Message):
    """A player has decided, or failed."""

    question: Question
    action: int
    failure: str


@dataclass
class Advised(Message):
    """The adviser has spoken, or failed."""

    observation: Observation
    advice: Advice | None
    failure: str


class PlayApp(App[None]):
    """The table.

    Args:
        match: The game.
        pace: Seconds from one move of another seat to the next, twice as many after a trick.
    """

    CSS_PATH = "play.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "hint", "hint"),
        Binding("u", "undo", "undo"),
        Binding("t", "last_trick", "last trick"),
        Binding("s", "sheet", "score sheet"),
        Binding("r", "rules", "rules"),
        Binding("x", "again", "ask again"),
        Binding("q", "leave", "quit"),
        Binding("ctrl+q,ctrl+c", "leave", "quit", show=False),
    ]

    def __init__(self, match: Match, pace: float = 0.6) -> None:
        super().__init__()
        self.match, self._pace = match, pace
        self._asked: Question | None = None
        self._asked_at = 0.0
        self._failure = self._warning = ""
        self._advising = self._leaving = False
        self._deals_shown = 0
        self._written: list[str] = []

    def compose(self) -> ComposeResult:
        """Lays the table."""
        yield Static(id="title", markup=False)
        with Horizontal(id="middle"):
            yield Static(id="seats", markup=False)
            yield Static(id="trick", markup=False)
        log = RichLog(id="log", wrap=True, min_width=20)
        log.can_focus = False
        yield log
        yield Static(id="message", markup=False)
        for name in ("hand", "bids"):
            choices = Static(id=name, markup=False)
            choices.auto_links = False  # cards keep the colours of their suits
            yield choices
        yield Footer()

    def on_mount(self) -> None:
        """Begins."""
        self.title = "Oh Hell"
        self._go_on()

    # ------------------------------------------------------------------ what is shown

    def _show(self) -> None:
        match = self.match
        sight, names = match.sight, match.names
        parts = {
            "title": panels.table_title(sight, match.practice),
            "seats": panels.seats(sight, names),
            "trick": panels.trick(sight, names, match.last_trick),
            "hand": panels.hand_panel(sight),
            "bids": panels.bids(sight),
            "message": self._message(),
        }
        table = self.screen_stack[0]
        for name, content in parts.items():
            table.query_one(f"#{name}", Static).update(content)
        message = table.query_one("#message", Static)
        message.set_class(bool(self._failure or match.trouble), "trouble")
        self._write_log(table.query_one("#log", RichLog))
        self.refresh_bindings()

    def _message(self) -> str:
        if self._failure:
            sight = self.match.sight
            return f"{self.match.names[sight.table.actor]} failed. x asks again, q quits."
        said = [self.match.trouble, self._warning, panels.asked(self.match.sight, self.match.names)]
        return "\n".join(line for line in said if line)

    def _write_log(self, log: RichLog) -> None:
        lines = self.match.events
        if lines[: len(self._written)] != self._written:  # moves were taken back
            log.clear()
            self._written = []
        for line in lines[len(self._written) :]:
            log.write(line)
        self._written = list(lines)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tells which keys can be used now: None is greyed, False is left out."""
        match = self.match
        if action == "undo":
            return (match.can_undo or None) if match.practice else False
        if action == "hint":
            return (match.mine and not self._advising) or None
        if action == "last_trick":
            return match.last_trick is not None or None
        return bool(self._failure) if action == "again" else True

    # ------------------------------------------------------------------ the game goes on

    def _go_on(self) -> None:
        """Shows the table, then waits for whoever is to act."""
        match = self.match
        self._show()
        if len(match.sheet) > self._deals_shown:
            self._deals_shown = len(match.sheet)
            self._show_sheet(after=lambda _: self._go_on())
            return
        question = match.question()
        if question is not None and question is not self._asked:
            self._asked, self._asked_at = question, time.monotonic()
            self._apart(lambda: self._ask(question))

    def _apart(self, work: Callable[[], Message]) -> None:
        """Does slow work in a thread that quitting does not wait for; posts what comes of it."""

        def run() -> None:
            message = work()
            with contextlib.suppress(RuntimeError):  # the table is gone in the meantime
                self.post_message(message)

        threading.Thread(target=run, daemon=True).start()

    def _show_sheet(self, after: Callable[[None], None] | None = None) -> None:
        match, rows = self.match, self.match.sheet
        notes = [trick_line(rows[-1].last_trick, match.names)] if rows and after else []
        notes += [match.events[-1]] if match.over else []
        title = "The game is over" if match.over else "Score sheet"
        self.push_screen(SheetScreen(title, rows, match.names, "\n".join(notes)), after)

    def _ask(self, question: Question) -> Answered:
        try:
            return Answered(question, self.match.think(question), "")
        except PlayerError as error:
            return Answered(question, -1, str(error))

    def on_answered(self, message: Answered) -> None:
        """Makes a player's move when it is time."""
        if message.question is not self._asked:
            return
        if message.failure:
            self._failure = message.failure
            self._show()
            self.push_screen(TextScreen("A player failed", message.failure))
            return
        pause = self._pace * (1 if self.match.sight.table.trick or self.match.moves == 0 else 2)
        left = self._asked_at + pause - time.monotonic()
        if left > 0:
            self.set_timer(left, lambda: self._make(message))
        else:
            self._make(message)

    def _make(self, message: Answered) -> None:
        if self.match.answer(message.question, message.action):
            self._go_on()

    # ------------------------------------------------------------------ what the person does

    def on_key(self, event: events.Key) -> None:
        """Takes the card or bid of a key."""
        if len(self.screen_stack) > 1 or event.character is None:
            return
        for choice in self.match.sight.choices:
            if choice.key == event.character:
                event.stop()
                self.action_take(choice.action)
                return

    def action_take(self, action: int) -> None:
        """Takes a card or a bid, or says why it may not be taken."""
        if len(self.screen_stack) > 1:
            return
        self._leaving, self._warning = False, ""
        try:
            self.match.choose(action)
        except OhHellError as error:
            self._warning = str(error).partition("; legal ")[0]
            self._show()
        else:
            self._go_on()

    def action_hint(self) -> None:
        """Asks the adviser."""
        observation = self.match.observation()
        if observation is not None:
            self._advising = True
            self.refresh_bindings()
            self._apart(lambda: self._advise(observation))

    def _advise(self, observation: Observation) -> Advised:
        try:
            return Advised(observation, self.match.advise(observation), "")
        except OhHellError as error:
            return Advised(observation, None, str(error))

    def on_advised(self, message: Advised) -> None:
        """Shows a hint, unless the game has gone on in the meantime."""
        self._advising = False
        if message.failure:
            self._warning = message.failure
        elif message.advice and self._asks_for(message.observation):
            self.match.keep(message.advice)
            title = f"Hint by {self.match.adviser}"
            self.push_screen(TextScreen(title, message.advice.text))
        self._show()

    def _asks_for(self, observation: Observation) -> bool:
        """Whether a view is that of the present decision; it holds all that happened before."""
        present = self.match.observation()
        return present is not None and all(
            np.array_equal(present[key], observation[key]) for key in present
        )

    def action_undo(self) -> None:
        """Goes back to the person's last decision."""
        if self.match.undo():
            self._failure = self._warning = ""
            self._asked = None
            self._deals_shown = len(self.match.sheet)
            self._go_on()

    def action_again(self) -> None:
        """Asks a player again that failed."""
        self._failure, self._asked = "", None
        self._go_on()

    def action_last_trick(self) -> None:
        """Shows the last trick."""
        last = self.match.last_trick
        if last is not None:
            text = panels.finished_trick(self.match.sight, self.match.names, last)
            self.push_screen(TextScreen("Last trick", text))

    def action_sheet(self) -> None:
        """Shows the score sheet."""
        self._show_sheet()

    def action_rules(self) -> None:
        """Shows the rules in plain words."""
        rules = self.match.game.rules
        self.push_screen(TextScreen(title(rules), Markdown(panels.rules_page(rules))))

    def action_leave(self) -> None:
        """Quits; asks first where the game would be lost."""
        if self.match.path is None and not self.match.over and not self._leaving:
            self._leaving = True
            self._warning = "The game is not kept (no --record). q again quits."
            self._show()
            return
        note_closing()  # a key that was pressed once more must not break into it
        self.match.close()  # also ends a program that still thinks
        self.exit()


@contextlib.contextmanager
def any_bytes() -> Iterator[None]:
    """Keeps bytes that are no UTF-8, in a paste for instance, from ending the table.

    Textual reads the terminal with a decoder that raises an error, in a thread of its own.
    """
    try:
        from textual.drivers import linux_driver as driver
    except ImportError:  # on Windows there are no bytes to be decoded
        yield
        return
    strict = getattr(driver, "getincrementaldecoder", None)
    if strict is None:
        yield
        return

    def lenient(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
        return functools.partial(strict(encoding), "replace")

    driver.getincrementaldecoder = lenient  # pyright: ignore[reportPrivateImportUsage]
    try:
        yield
    finally:
        driver.getincrementaldecoder = strict  # pyright: ignore[reportPrivateImportUsage]
