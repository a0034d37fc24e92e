"""The screens above the table: a text, and the score sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import DataTable, Footer, Static

from ohhell_train.play.events import SheetRow
from ohhell_train.play.keys import MEANINGS
from ohhell_train.play.panels import cut

AGAIN = "again"
"""Result of a screen where the person asked for another game."""
_NAME = 11
"""Widest name above a column of the sheet."""


def _closing(meaning: str) -> list[BindingType]:
    """Returns the keys that close a screen; they go before those of the widgets on it."""
    keys = "enter,escape,space,q"
    return [Binding(keys, "dismiss", meaning, key_display="enter/space/esc/q", priority=True)]


class _Paper(ModalScreen[str | None]):
    """A frame above the table; if its content is too long, the frame names the keys that scroll."""

    BINDINGS: ClassVar[list[BindingType]] = _closing("back")

    def on_mount(self) -> None:
        """Looks whether the content fits, once it is laid out."""
        self.call_after_refresh(self._name_keys)

    def on_resize(self) -> None:
        """Looks again."""
        self.call_after_refresh(self._name_keys)

    def _name_keys(self) -> None:
        paper, content = self.query_one(".paper"), self.query_one(".scrolls")
        down, across = content.max_scroll_y > 0, content.max_scroll_x > 0
        keys = ["↑ ↓ page up/down"] * down + ["← →"] * across
        paper.border_subtitle = f"{' '.join(keys)} scroll" if keys else ""


class TextScreen(_Paper):
    """A text in a frame.

    Args:
        title: Title of the frame.
        text: The text, or a widget that shows it.
    """

    def __init__(self, title: str, text: str | Content | Widget) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Puts the text into its frame."""
        with VerticalScroll(classes="paper scrolls") as paper:
            paper.border_title = Content(self._title)  # a plain string would be read as markup
            text = self._text
            yield text if isinstance(text, Widget) else Static(text, markup=False)
        yield Footer()


class SheetScreen(_Paper):
    """The score sheet: bid, tricks won, points and score of each seat in each deal.

    Args:
        title: Title of the frame.
        rows: The finished deals.
        names: Names by seat.
        note: Text below the sheet.
    """

    def __init__(
        self, title: str, rows: Sequence[SheetRow], names: Sequence[str], note: str = ""
    ) -> None:
        super().__init__()
        self._title, self._rows, self._names, self._note = title, rows, names, note

    def compose(self) -> ComposeResult:
        """Puts the sheet into its frame."""
        with Vertical(classes="paper") as paper:
            paper.border_title = Content(self._title)
            yield Static("tricks won / bid, points, score", classes="faint")
            yield DataTable(
                fixed_columns=1, cursor_type="row", show_cursor=False, classes="scrolls"
            )
            yield Static(self._note, markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Fills the sheet in, and shows its end."""
        super().on_mount()
        table = self.query_one(DataTable)
        heads = [Text(name) for name in cut(self._names, _NAME)]
        table.add_columns("deal", "cards", "trump", *heads)
        for row in self._rows:
            cells = [sheet_cell(row, seat) for seat in range(len(self._names))]
            table.add_row(str(row.deal + 1), str(row.hand_size), row.suit, *cells)
        table.scroll_end(animate=False)
        table.focus()


class DealScreen(SheetScreen):
    """The score sheet between two deals."""

    BINDINGS: ClassVar[list[BindingType]] = _closing("next deal")


class EndScreen(SheetScreen, inherit_bindings=False):
    """The score sheet after the end of the game; its result is ``AGAIN`` for another game."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", f"dismiss('{AGAIN}')", MEANINGS["n"], priority=True),
        *_closing("back"),
    ]


def sheet_cell(row: SheetRow, seat: int) -> Text:
    """Returns a seat's result in short: "2/3 +2 14"; bold if it made its bid."""
    made = row.bids[seat] == row.tricks_won[seat]
    text = f"{row.tricks_won[seat]}/{row.bids[seat]} {row.points[seat]:+} {row.scores[seat]}"
    return Text(text, style="bold" if made else "")
