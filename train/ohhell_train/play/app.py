"""The table in the terminal, with Textual: a thin layer over ``Session`` and ``Match``.

Other players think in a thread of their own, one question at a time. Their answers come back as
messages, so only the app's own thread changes the match.
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
from ohhell_env.cli.program import printable
from ohhell_env.errors import OhHellError, described
from ohhell_env.rules.explain import title
from ohhell_train.play import panels
from ohhell_train.play.advice import Advice, Observation
from ohhell_train.play.events import trick_line
from ohhell_train.play.keys import MEANINGS, working_keys
from ohhell_train.play.match import Match
from ohhell_train.play.others import PlayerError, Question
from ohhell_train.play.screens import AGAIN, DealScreen, EndScreen, SheetScreen, TextScreen
from ohhell_train.play.session import Session
from ohhell_train.play.view import problem_of

_NARROW = 72
"""Columns of a terminal in which the keys stand closer together."""


@dataclass
class Answered(Message):
    """A player has answered, or failed."""

    question: Question
    action: int
    failure: str


@dataclass
class Advised(Message):
    """The adviser has answered, or failed."""

    observation: Observation
    advice: Advice | None
    failure: str


@dataclass
class Prepared(Message):
    """The next game is ready, or could not begin."""

    failure: str


class PlayApp(App[None]):
    """The table.

    Args:
        session: The session, with its first game.
        pace: Seconds between two moves of other seats; twice as many after a trick.
    """

    CSS_PATH = "play.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"press('{key}')", meaning) for key, meaning in MEANINGS.items()),
        Binding("ctrl+q,ctrl+c", "press('q')", MEANINGS["q"], show=False),
    ]

    def __init__(self, session: Session, pace: float = 0.6) -> None:
        super().__init__()
        self.session, self._pace = session, pace
        self._actions: dict[str, Callable[[], None]] = {
            "h": self._hint,
            "u": self._undo,
            "x": self._ask_again,
            "n": self._play_again,
            "t": self._show_trick,
            "s": self._show_sheet,
            "r": self._show_rules,
            "q": self._leave,
        }
        self._advising = self._preparing = False
        self._written: list[str] = []
        self._start()

    def _start(self) -> None:
        """Forgets the game before."""
        self._asked: Question | None = None
        self._asked_at = 0.0
        self._failure = self._warning = ""
        self._leaving = False
        self._deals_shown = 0

    @property
    def match(self) -> Match:
        """The present game."""
        return self.session.match

    def compose(self) -> ComposeResult:
        """Sets up the table."""
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
        """Begins the game."""
        self.title = "Oh Hell"
        self._go_on()

    # ------------------------------------------------------------------ what is shown

    def _show(self) -> None:
        match = self.match
        view, names = match.view, match.names
        parts = {
            "title": panels.table_title(view, match.practice),
            "seats": panels.seats(view, match.seated, self.size.width),
            "trick": panels.trick(view, names, match.last_trick),
            "hand": panels.hand_panel(view),
            "bids": panels.bids(view),
            "message": self._message(),
        }
        table = self.screen_stack[0]
        for name, content in parts.items():
            table.query_one(f"#{name}", Static).update(content)
        message = table.query_one("#message", Static)
        message.set_class(bool(self._failure or match.trouble), "trouble")
        self._write_log(table.query_one("#log", RichLog))
        self.refresh_bindings()

    def on_resize(self) -> None:
        """Shows the table again: its columns depend on the width."""
        table = self.screen_stack[0]
        if table.query("#seats"):
            table.query_one(Footer).compact = self.size.width < _NARROW
            self._show()

    def _message(self) -> str:
        match = self.match
        if self._failure:
            failed = match.seated[match.view.table.actor].label
            said = [f"{failed} failed. Press x to ask again, q to quit."]
        elif self._preparing:
            said = ["The next game begins …"]
        elif self._advising and match.mine:
            said = [f"{match.adviser} is thinking about a hint …"]
        else:
            said = [panels.asked(match.view, match.names)]
        return "\n".join(line for line in [match.trouble, self._warning, *said] if line)

    def _write_log(self, log: RichLog) -> None:
        lines = self.match.events
        if lines[: len(self._written)] != self._written:  # after an undo, or in another game
            log.clear()
            self._written = []
        for line in lines[len(self._written) :]:
            log.write(line)
        self._written = list(lines)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Returns whether a key works now; the footer leaves out those that do not."""
        if action != "press":
            return True
        key = str(parameters[0])
        if self._preparing:
            return key in "tsrq" and key in working_keys(self.match, failed=False)
        if self._advising and key == "h":
            return False
        return key in working_keys(self.match, bool(self._failure))

    # ------------------------------------------------------------------ the game goes on

    def _go_on(self) -> None:
        """Shows the table, then waits for the seat to act."""
        match = self.match
        self._show()
        if len(match.sheet) > self._deals_shown:
            self._deals_shown = len(match.sheet)
            self._show_sheet(between=True)
            return
        question = match.question()
        if question is not None and question is not self._asked:
            self._asked, self._asked_at = question, time.monotonic()
            self._apart(lambda: self._ask(question))

    def _apart(self, work: Callable[[], Message]) -> None:
        """Does slow work in a thread, and posts its message; quitting does not wait for it."""

        def run() -> None:
            message = work()
            with contextlib.suppress(RuntimeError):  # the app has ended in the meantime
                self.post_message(message)

        threading.Thread(target=run, daemon=True).start()

    def _show_sheet(self, between: bool = False) -> None:
        """Shows the score sheet.

        Args:
            between: Whether a deal has just ended, so that the game goes on when it is closed.
        """
        match, rows = self.match, self.match.sheet

        def closed(result: str | None) -> None:
            if result == AGAIN:
                self._play_again()
            elif between:
                self._go_on()

        notes = [trick_line(rows[-1].last_trick, match.names)] if rows and between else []
        if match.over:
            screen, title = EndScreen, "The game is over"
            notes.append(match.events[-1])
        else:
            screen, title = DealScreen if between else SheetScreen, "Score sheet"
        self.push_screen(screen(title, rows, match.names, "\n".join(notes)), closed)

    def _ask(self, question: Question) -> Answered:
        try:
            return Answered(question, self.match.think(question), "")
        except PlayerError as error:
            return Answered(question, -1, str(error))

    def on_answered(self, message: Answered) -> None:
        """Makes a player's move, when its time has come."""
        if message.question is not self._asked:
            return
        if message.failure:
            self._failure = message.failure
            self._show()
            label = self.match.seated[message.question.seat].label
            self.push_screen(TextScreen(f"{label} failed", message.failure))
            return
        pause = self._pace * (1 if self.match.view.table.trick or self.match.moves == 0 else 2)
        left = self._asked_at + pause - time.monotonic()
        if left > 0:
            self.set_timer(left, lambda: self._make(message))
        else:
            self._make(message)

    def _make(self, message: Answered) -> None:
        if self.match.answer(message.question, message.action):
            self._go_on()

    # ------------------------------------------------------------------ the person's keys

    def on_key(self, event: events.Key) -> None:
        """Takes the card or bid of a key."""
        if len(self.screen_stack) > 1 or event.character is None:
            return
        for choice in self.match.view.choices:
            if choice.key == event.character:
                event.stop()
                self.action_take(choice.action)
                return

    def action_take(self, action: int) -> None:
        """Takes a card or a bid, or says why it is not allowed."""
        if len(self.screen_stack) > 1:
            return
        self._leaving, self._warning = False, ""
        try:
            self.match.choose(action)
        except OhHellError as error:
            self._warning = f"{problem_of(error)}."
            self._show()
        else:
            self._go_on()

    def action_press(self, key: str) -> None:
        """Does what a key of the table means."""
        if key != "q" and self._leaving:
            self._leaving, self._warning = False, ""
            self._show()
        self._actions[key]()

    def _hint(self) -> None:
        observation = self.match.observation()
        if observation is not None:
            self._advising = True
            self._show()
            match = self.match
            self._apart(lambda: self._advise(match, observation))

    def _advise(self, match: Match, observation: Observation) -> Advised:
        try:
            return Advised(observation, match.advise(observation), "")
        except OhHellError as error:
            return Advised(observation, None, str(error))

    def on_advised(self, message: Advised) -> None:
        """Shows a hint, unless the game has gone on in the meantime."""
        self._advising = False
        if message.failure:
            self._warning = message.failure
        elif message.advice and self._asks_for(message.observation):
            self.match.keep(message.advice)
            title = f"Hint from {self.match.adviser}"
            self.push_screen(TextScreen(title, message.advice.text))
        self._show()

    def _asks_for(self, observation: Observation) -> bool:
        """Whether an observation is that of the present decision: it holds the whole deal."""
        present = self.match.observation()
        return present is not None and all(
            np.array_equal(present[key], observation[key]) for key in present
        )

    def _undo(self) -> None:
        if self.match.undo():
            self._failure = self._warning = ""
            self._asked = None
            self._deals_shown = len(self.match.sheet)
            self._go_on()

    def _ask_again(self) -> None:
        self._failure, self._asked = "", None
        self._go_on()

    def _play_again(self) -> None:
        if self._preparing or not self.match.over:
            return
        self._preparing, self._warning = True, ""
        self.match.close()
        self._show()
        self._apart(self._prepare)

    def _prepare(self) -> Prepared:
        try:
            self.session.prepare()
        except BaseException as error:  # a player's code may raise anything; do not wait for ever
            known = isinstance(error, OhHellError | OSError)
            return Prepared(str(error) if known else described(error))
        return Prepared("")

    def on_prepared(self, message: Prepared) -> None:
        """Changes over to the next game."""
        self._preparing = False
        if message.failure:
            self._warning = printable(f"The next game cannot begin: {message.failure}")
            self._show()
            return
        self.session.go_on()
        self._start()
        self._go_on()

    def _show_trick(self) -> None:
        last = self.match.last_trick
        if last is not None:
            text = panels.finished_trick(self.match.view, self.match.names, last)
            self.push_screen(TextScreen("Last trick", text))

    def _show_rules(self) -> None:
        rules = self.match.game.rules
        self.push_screen(TextScreen(title(rules), Markdown(panels.rules_page(rules))))

    def _leave(self) -> None:
        """Quits; if the game would be lost, it asks first."""
        if self.match.path is None and not self.match.over and not self._leaving:
            self._leaving = True
            self._warning = "The game is not kept (no --record). Press q again to quit."
            self._show()
            return
        note_closing()  # a second press of Ctrl-C must not interrupt what follows
        self.session.close()  # ends a program even while it thinks
        self.exit()


@contextlib.contextmanager
def any_bytes() -> Iterator[None]:
    """Keeps bytes that are not UTF-8 from ending the table; a paste may contain some.

    Textual reads the terminal in a thread of its own, with a decoder that raises an error.
    """
    try:
        from textual.drivers import linux_driver as driver
    except ImportError:  # on Windows there are no bytes to decode
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
