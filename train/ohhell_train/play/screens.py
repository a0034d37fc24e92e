"""The screens above the table: a text to read, and the score sheet."""

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

from ohhell_train.play.panels import short
from ohhell_train.play.telling import SheetRow

_NAME = 11
"""Characters of a name above its column, as wide as what stands in it."""
CLOSE: list[BindingType] = [
    Binding("escape,enter,space,q", "dismiss", "back", key_display="enter", priority=True),
]
"""Before the keys of a widget, since a table of cells has its own use for Enter."""


class TextScreen(ModalScreen[None]):
    """A text in a frame, which scrolls.

    Args:
        title: What it is, on the frame.
        text: The text, or what shows it.
    """

    BINDINGS: ClassVar[list[BindingType]] = CLOSE

    def __init__(self, title: str, text: str | Content | Widget) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Puts the text into its frame."""
        with VerticalScroll(classes="paper") as paper:
            paper.border_title = Content(self._title)  # a plain string would be read as markup
            text = self._text
            yield text if isinstance(text, Widget) else Static(text, markup=False)
        yield Footer()


class SheetScreen(ModalScreen[None]):
    """The score sheet: what each seat bid and won in each deal, its points and its score.

    Args:
        title: What it is, on the frame.
        rows: The finished deals.
        names: Names by seat.
        note: What stands below.
    """

    BINDINGS: ClassVar[list[BindingType]] = CLOSE

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
            yield DataTable(fixed_columns=1, cursor_type="row", show_cursor=False)
            yield Static(self._note, markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Fills the sheet in, and shows its end."""
        table = self.query_one(DataTable)
        heads = [Text(short(name, _NAME)) for name in self._names]
        table.add_columns("deal", "cards", "trump", *heads)
        for row in self._rows:
            cells = [sheet_cell(row, seat) for seat in range(len(self._names))]
            table.add_row(str(row.deal + 1), str(row.hand_size), row.suit, *cells)
        table.scroll_end(animate=False)
        table.focus()


def sheet_cell(row: SheetRow, seat: int) -> Text:
    """Returns what a seat made of a deal, in short: "2/3 +2 14"; bold where the bid was made."""
    made = row.bids[seat] == row.tricks_won[seat]
    text = f"{row.tricks_won[seat]}/{row.bids[seat]} {row.points[seat]:+} {row.scores[seat]}"
    return Text(text, style="bold" if made else "")
