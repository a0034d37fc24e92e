"""Tables and games as pieces of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ohhell_env.errors import NotationError
from ohhell_env.pictures.faces import suit_name
from ohhell_env.pictures.names import seat_names
from ohhell_env.pictures.page import replay_page
from ohhell_env.pictures.svg import draw_table
from ohhell_env.pictures.view import view_of
from ohhell_env.records.record import Record
from ohhell_env.records.replay import Checked, check

if TYPE_CHECKING:
    from ohhell_env.game import Game

_CELL = "padding:3px 9px;text-align:right;border-bottom:1px solid #8884"
_MADE, _MISSED = "color:#2f7d4f;font-weight:bold", "opacity:.75"


def game_html(game: Game, seat: int | None = None) -> str:
    """Returns a game as HTML for a notebook: the table, and the score sheet so far.

    Args:
        game: The game.
        seat: Whose view to show; None: all hands are open.
    """
    drawing = draw_table(view_of(game, seat), fills_page=True)
    picture = f'<div style="max-width:760px">{drawing}</div>'
    if not game.finished_deals:
        return picture
    try:
        return picture + sheet_html(game.record())
    except NotationError:  # the game was taken over midway, so earlier deals are unknown
        return picture


def sheet_html(record: Record, names: Sequence[str] | None = None) -> str:
    """Returns the score sheet of a game: bid and tricks of each deal, and the score after it.

    Args:
        record: The game.
        names: Names by seat; None: the record's, else "seat 0", "seat 1" and so on.

    Raises:
        NotationError: The record is not a game under its rules.
        RulesError: The number of names is not the number of seats.
    """
    checked = check(record)
    called = seat_names(checked.game.players, names, record)
    heads = "".join(_cell(name, tag="th") for name in ("deal", "cards", "trump", *called))
    rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in _rows(checked, record))
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;'
        'font-variant-numeric:tabular-nums"><caption style="text-align:left;padding:6px 9px">'
        "Score sheet: tricks of bid, then the score</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def notebook_html(shown: Game | Record) -> str:
    """Returns HTML for a notebook: of a game (the table, the score sheet) or of a record."""
    return sheet_html(shown) if isinstance(shown, dict) else game_html(shown)


class Html(str):
    """A piece of HTML that notebooks render."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def replay_frame(
    record: Record,
    names: Sequence[str] | None = None,
    seat: int | None = None,
    player: Any = None,
    height: int = 820,
) -> Html:
    """Returns the page that replays a game, in a frame for a notebook.

    Args:
        record: The game.
        names: Names by seat.
        seat: Show only what this seat may know.
        player: Show what this player thinks at each decision; see ``replay_page``.
        height: Height of the frame, in CSS pixels.

    Raises:
        OhHellError: As for ``replay_page``.
    """
    page = escape(replay_page(record, names, seat, player))
    look = f"width:100%;height:{int(height)}px;border:1px solid #8884;border-radius:8px"
    return Html(
        f'<iframe title="A game of Oh Hell" sandbox="allow-scripts" style="{look}" '
        f'srcdoc="{page}"></iframe>'
    )


def _rows(checked: Checked, record: Record) -> Iterator[list[str]]:
    pack = checked.game.rules.pack
    for number, deal in enumerate(record["deals"]):
        trump = "no trumps" if deal["trump"] is None else suit_name(deal["trump"], pack)
        head = [str(deal["deal"] + 1), str(deal["hand_size"]), trump]
        cells = [_cell(text) for text in head]
        if deal["points"] is None:
            yield [*cells, _cell("being played", span=checked.game.players)]
            continue
        winners, scores = checked.winners[number], checked.scores[number]
        yield cells + [_result(bid, winners.count(seat), scores[seat]) for seat, bid in _bids(deal)]


def _bids(deal: dict[str, Any]) -> list[tuple[int, int]]:
    return sorted((seat, bid) for seat, bid in deal["bids"])


def _result(bid: int, won: int, score: int) -> str:
    made = won == bid
    mark = "✓" if made else "✗"
    written = str(score).replace("-", "−")
    return (
        f'<td style="{_CELL}"><span style="{_MADE if made else _MISSED}">{won} of {bid} {mark}'
        f"</span>&ensp;{written}</td>"
    )


def _cell(text: str, tag: str = "td", span: int = 1) -> str:
    wide = f' colspan="{span}"' if span > 1 else ""
    return f'<{tag}{wide} style="{_CELL}">{escape(text)}</{tag}>'
