"""Renders the table as text or pixels, from the view of a seat or of the referee.

::

    Oh Hell: deal 1 of 19, hand size 10, trump H (QH turned), trick 2
           bid won score
    seat 0   2   1     0  AS KS 7S  TH 2H  9C 8C 5C 4C   dealer
    seat 1   1   0     0
    seat 2   3   0     0
    seat 3   -   0     0                                 to act
    bids 8 of 10: under by 2
    trick: seat 0 led AS
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from ohhell_env.engine.layout import NOBODY
from ohhell_env.game import Game
from ohhell_env.pictures.text import table_text
from ohhell_env.pictures.view import TableView, referee_view, seat_view, view_of
from ohhell_env.rules import Rules


def seat_text(view: dict[str, Any], rules: Rules, seat: int, actor: int) -> str:
    """Returns the table as a seat sees it; see ``pictures.view.seat_view`` for the arguments."""
    return table_text(seat_view(view, rules, seat, actor))


def referee_text(game: Game, actor: int = NOBODY) -> str:
    """Returns the table as the referee sees it, with all hands.

    Args:
        game: The table.
        actor: The seat to act; -1 for none.
    """
    return table_text(referee_view(game, actor))


def picture_of(game: Game, seat: int | None, mode: str) -> Any:
    """Returns a table as text ("ansi") or as pixels ("rgb_array", uint8 (height, width, 3)).

    Args:
        game: The table.
        seat: The observing seat; None: the referee.
        mode: The render mode.

    Raises:
        OhHellError: Pixels need the extra ``pictures``, which is not installed.
    """
    return drawn(view_of(game, seat), mode)


def drawn(table: TableView, mode: str) -> Any:
    """Returns a view of a table as text or as pixels; see ``picture_of``."""
    if mode == "rgb_array":
        from ohhell_env.pictures.frame import pixels
        from ohhell_env.pictures.svg import draw_table

        return pixels(draw_table(table))
    return table_text(table)


def printed(table: TableView) -> str:
    """Returns the text of a table for standard output, in colour on a terminal."""
    text = table_text(table)
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return coloured(text, table)


def coloured(text: str, table: TableView) -> str:
    """Returns the text of a table with its suits in colour and the seat to act in bold."""
    pack = table.rules.pack
    ranks, suits = (re.escape("".join(letters)) for letters in (pack.ranks, pack.suits))
    card = re.compile(rf"\b[{ranks}]([{suits}])\b")

    def paint(found: re.Match[str]) -> str:
        return f"{_SUIT_COLOURS[pack.suits.index(found[1])]}{found[0]}{_PLAIN}"

    title, heading, *rest = text.split("\n")
    lines = [f"{_BOLD}{title}{_PLAIN}", f"{_FAINT}{heading}{_PLAIN}"]
    for line in rest:
        painted = card.sub(paint, line)
        lines.append(painted.replace("to act", f"{_BOLD}{_GOLD}to act{_PLAIN}"))
    return "\n".join(lines)


_PLAIN, _BOLD, _FAINT, _GOLD = "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"
_SUIT_COLOURS = ("\x1b[32m", "\x1b[34m", "\x1b[31m", "\x1b[36m")
"""Green, blue, red and cyan: a four-colour pack that is legible on dark and light."""
