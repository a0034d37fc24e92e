"""A table as an SVG picture: seats, bids against tricks, the trick, the visible hands.

Seats are placed around the cloth, clockwise; the seat whose view it is (the referee: seat 0) is at
the bottom. The picture needs no other file. Its size depends on the number of seats and on the
view, not on the state of the game, so pictures of one game can be frames of a video.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from ohhell_env.cards import Pack
from ohhell_env.errors import RulesError, shown
from ohhell_env.pictures.faces import as_held, colours, face, shape, suit_name
from ohhell_env.pictures.names import seat_names
from ohhell_env.pictures.view import TableView, view_of

if TYPE_CHECKING:
    from ohhell_env.game import Game

WIDTH = 960
_TOP, _CLOTH = 70, 470
"""Heights of the header and of the cloth, with the margins around it."""
_FONT = "DejaVu Sans, Verdana, Segoe UI, Helvetica, Arial, sans-serif"
_EDGE = "#b9bfb8"
"""Colour of a card's edge. Cards are white in the dark, too, as they are on a table."""
_PLATE_WIDTH, _PLATE_HEIGHT = 168, 66
_NO_TEXT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain."""


def table_svg(
    game: Game,
    seat: int | None = None,
    names: Sequence[str] | None = None,
    four_colours: bool = False,
    dark: bool = False,
) -> str:
    """Returns the picture of a table.

    >>> from ohhell_env import Game
    >>> table_svg(Game("oh_hell", seed=7), seat=0)[:4]
    '<svg'

    Args:
        game: The table.
        seat: Whose view to draw; None: all hands are open.
        names: Names by seat; None: "seat 0", "seat 1" and so on.
        four_colours: Whether each suit has a colour of its own.
        dark: Whether the picture is for a dark page.

    Raises:
        RulesError: The seat does not exist, or the number of names is not the number of seats.
    """
    if seat is not None and not 0 <= seat < game.players:
        raise RulesError(f"seat: 0 to {game.players - 1} at this table, got {shown(seat)}")
    return draw_table(view_of(game, seat), names, four_colours, dark)


def draw_table(
    table: TableView,
    names: Sequence[str] | None = None,
    four_colours: bool = False,
    dark: bool = False,
    fills_page: bool = False,
) -> str:
    """Returns the picture of a table's view.

    Args:
        table: What to show.
        names: As in ``table_svg``.
        four_colours: As in ``table_svg``.
        dark: As in ``table_svg``.
        fills_page: Whether the picture takes the width of its place in a page; otherwise it is
            ``WIDTH`` wide, which files need.
    """
    called = seat_names(table.rules.players, names)
    return _Drawing(table, called, four_colours, dark).svg(fills_page)


class _Palette(NamedTuple):
    """The colours of a picture, cards apart."""

    paper: str
    ink: str
    soft: str
    line: str
    cloth: str
    shade: str
    rim: str
    plate: str
    score: str
    gold: str
    miss: str


_LIGHT = _Palette(
    paper="#f6f4ee",
    ink="#22282b",
    soft="#5f686b",
    line="#d9d5c9",
    cloth="#3f6b5c",
    shade="#386253",
    rim="#2f5347",
    plate="#fbfaf6",
    score="#2f5347",
    gold="#c98a1b",
    miss="#b3402e",
)
_DARK = _Palette(
    paper="#191d1c",
    ink="#ece9e0",
    soft="#aeb5b0",
    line="#3d4643",
    cloth="#2b4c40",
    shade="#264438",
    rim="#1f382f",
    plate="#232928",
    score="#8fcab0",
    gold="#e0a53a",
    miss="#e2725f",
)


class _Drawing:
    """One picture."""

    def __init__(self, table: TableView, names: list[str], four_colours: bool, dark: bool) -> None:
        self.table = table
        self.names = names
        self.pack: Pack = table.rules.pack
        self.colours = colours(self.pack, four_colours)
        self.tone = _DARK if dark else _LIGHT
        self.open = table.looker is None
        rows = table.rules.players if self.open else 0
        self.height = _TOP + _CLOTH + (rows * 50 + 14 if self.open else 124)

    def svg(self, fills_page: bool) -> str:
        parts = [*self._header(), *self._cloth(), *self._hands()]
        # No style here: programs other than browsers read a height of "auto" as no height.
        size = "" if fills_page else f'width="{WIDTH}" height="{self.height}" '
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'{size}role="img" aria-label="{self._said()}" font-family="{_FONT}" '
            f'fill="{self.tone.ink}">'
            f'<rect width="{WIDTH}" height="{self.height}" rx="14" fill="{self.tone.paper}"/>'
            f"{''.join(parts)}</svg>"
        )

    def _said(self) -> str:
        table = self.table
        seats = ", ".join(
            f"{name} {'no bid yet' if bid is None else f'bid {bid}'} won {won}"
            for name, bid, won in zip(self.names, table.bids, table.tricks_won, strict=True)
        )
        return _text(f"{table.variant}: {table.where}, {table.part}; {seats}")

    # ------------------------------------------------------------------ header

    def _header(self) -> Iterator[str]:
        table = self.table
        yield _words(28, 33, table.variant, 20, "bold")
        part = f"{table.where} · {table.part}"
        if table.balance is not None:
            part += f" · {table.balance}"
        yield _words(28, 56, part, 14, fill=self.tone.soft)
        right = WIDTH - 28
        if table.turned is not None:
            yield self._card(table.turned, right - 38, 10, 38, 52)
            right -= 52
        special = {"NT": "no trumps", "?": "not yet known"}
        known = special.get(table.trump)
        yield _words(right, 30, "trump", 12, fill=self.tone.soft, anchor="end")
        if known is not None:
            yield _words(right, 52, known, 17, "bold", anchor="end")
            return
        word = suit_name(table.trump, self.pack).partition("\u00a0")[0]
        colour = self.colours[self.pack.suits.index(table.trump)]
        yield _words(right - 26, 52, word, 17, "bold", anchor="end")
        legible = self.tone.ink if colour == _LIGHT.ink else colour  # black suits, on dark paper
        yield self._suit(table.trump, right - 9, 46, 18, legible)

    # ------------------------------------------------------------------ cloth

    def _cloth(self) -> Iterator[str]:
        middle = _TOP + _CLOTH / 2
        yield (
            f'<ellipse cx="{WIDTH / 2}" cy="{middle}" rx="398" ry="196" fill="{self.tone.cloth}" '
            f'stroke="{self.tone.rim}" stroke-width="9"/>'
        )
        if self.table.trump not in ("NT", "?"):
            yield self._suit(self.table.trump, WIDTH / 2, middle, 96, self.tone.shade)
        for seat in range(self.table.rules.players):
            yield from self._plate(seat)
        yield from self._trick()

    def _place(self, seat: int) -> tuple[float, float]:
        """Returns a seat's place, as the cosine and sine of its angle, y down."""
        players = self.table.rules.players
        away = (seat - (self.table.looker or 0)) % players
        angle = math.tau * (0.25 + away / players)  # from the bottom to the left: clockwise
        return math.cos(angle), math.sin(angle)

    def _plate(self, seat: int) -> Iterator[str]:
        table, (across, down) = self.table, self._place(seat)
        x = WIDTH / 2 + across * 372 - _PLATE_WIDTH / 2
        y = _TOP + _CLOTH / 2 + down * 195 - _PLATE_HEIGHT / 2
        acts = seat == table.actor
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{_PLATE_WIDTH}" height="{_PLATE_HEIGHT}" '
            f'rx="10" fill="{self.tone.plate}" '
            f'stroke="{self.tone.gold if acts else self.tone.line}" '
            f'stroke-width="{4 if acts else 1.5}"/>'
        )
        score = f"{table.scores[seat]}".replace("-", "−")
        right = x + _PLATE_WIDTH - 12
        name = _clipped(self.names[seat], _PLATE_WIDTH - 34 - 10 * len(score), 15)
        yield _words(x + 12, y + 23, name, 15, "bold")
        yield _words(right, y + 23, score, 15, "bold", fill=self.tone.score, anchor="end")
        bid, won = table.bids[seat], table.tricks_won[seat]
        told = "no bid yet" if bid is None else f"bid {bid} · won {won}"
        yield _words(
            x + 12, y + 42, told, 13, fill=self.tone.soft if bid is None else self.tone.ink
        )
        if seat == table.dealer:
            badge = self.tone.rim
            yield f'<circle cx="{right - 9:.1f}" cy="{y + 37:.1f}" r="8.5" fill="{badge}"/>'
            yield _words(right - 9, y + 41, "D", 11, "bold", fill="#fff", anchor="middle")
        yield from self._pips(x + 12, y + 54, bid, won)

    def _pips(self, x: float, y: float, bid: int | None, won: int) -> Iterator[str]:
        """Draws a ring for each trick bid, filled once won; red ones are too many."""
        count = max(bid or 0, won)
        step = min(12.5, (_PLATE_WIDTH - 34) / max(count - 1, 1))
        for place in range(count):
            over = bid is not None and place >= bid
            fill = (self.tone.miss if over else self.tone.gold) if place < won else "none"
            edge = self.tone.miss if over else self.tone.gold if place < won else self.tone.soft
            yield (
                f'<circle cx="{x + 5 + place * step:.1f}" cy="{y:.1f}" r="4.2" fill="{fill}" '
                f'stroke="{edge}" stroke-width="1.4"/>'
            )

    def _trick(self) -> Iterator[str]:
        table = self.table
        laid = list(table.trick)
        if not laid and not self.open:  # a blind deal: everybody sees the others' cards
            laid = [
                (seat, hand[0])
                for seat, hand in table.hands.items()
                if seat != table.looker and hand
            ]
        for place, (seat, card) in enumerate(laid):
            across, down = self._place(seat)
            x, y = WIDTH / 2 + across * 205 - 27, _TOP + _CLOTH / 2 + down * 96 - 38
            wins = seat == table.winning and bool(table.trick)
            yield self._card(card, x, y, 54, 76, self.tone.gold if wins else None)
            if place == 0 and table.trick:
                yield (
                    f'<rect x="{x + 8:.1f}" y="{y + 66:.1f}" width="38" height="16" rx="8" '
                    f'fill="{self.tone.rim}"/>'
                )
                yield _words(x + 27, y + 78, "led", 11, "bold", fill="#fff", anchor="middle")

    # ------------------------------------------------------------------ hands

    def _hands(self) -> Iterator[str]:
        top = _TOP + _CLOTH
        if self.open:
            for seat in range(self.table.rules.players):
                yield from self._row(seat, top + seat * 50)
            return
        looker = self.table.looker
        assert looker is not None
        cards = as_held(self.table.hands.get(looker, ()), self.table.trump, self.pack)
        if self.table.bidding and self.table.blind:
            yield _words(
                WIDTH / 2, top + 62, "own card not seen", 14, fill=self.tone.soft, anchor="middle"
            )
            return
        step = min(62.0, (WIDTH - 56 - 60) / max(len(cards) - 1, 1))
        start = (WIDTH - step * (len(cards) - 1) - 60) / 2
        for place, card in enumerate(cards):
            yield self._card(card, start + place * step, top + 14, 60, 86)

    def _row(self, seat: int, y: float) -> Iterator[str]:
        yield _words(28, y + 27, _clipped(self.names[seat], 150, 14), 14, "bold")
        cards = as_held(self.table.hands.get(seat, ()), self.table.trump, self.pack)
        step = min(40.0, (WIDTH - 28 - 190 - 36) / max(len(cards) - 1, 1))
        for place, card in enumerate(cards):
            yield self._small(card, 190 + place * step, y)

    def _small(self, card: str, x: float, y: float) -> str:
        """Draws a small card: only rank and suit."""
        rank, _, number = face(card, self.pack)
        colour = self.colours[number - 1]
        return (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="36" height="42" rx="5" fill="#fff" '
            f'stroke="{_EDGE}" stroke-width="1.2"/>'
            + self._rank(rank, x + 13, y + 18, 15, colour)
            + self._suit(card[1], x + 13, y + 30, 13, colour)
        )

    def _rank(self, rank: str, x: float, y: float, size: float, colour: str) -> str:
        tight = len(rank) > 1
        return _words(x, y, rank, size, "bold", fill=colour, anchor="middle", tight=tight)

    def _card(
        self,
        card: str,
        x: float,
        y: float,
        width: float,
        height: float,
        edge: str | None = None,
    ) -> str:
        rank, _, number = face(card, self.pack)
        colour = self.colours[number - 1]
        small, big = width * 0.33, width * 0.5
        return (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{width * 0.11:.1f}" fill="#fff" stroke="{edge or _EDGE}" '
            f'stroke-width="{4 if edge else 1.2}"/>'
            + self._rank(rank, x + width * 0.25, y + height * 0.26, width * 0.36, colour)
            + self._suit(card[1], x + width * 0.25, y + height * 0.43, small * 0.8, colour)
            + self._suit(card[1], x + width * 0.64, y + height * 0.71, big, colour)
        )

    def _suit(self, suit: str, x: float, y: float, size: float, colour: str) -> str:
        """Draws a suit's shape around a point; a letter if it has none."""
        outline = shape(suit, self.pack)
        if outline is None:
            return _words(x, y + size * 0.36, suit, size, "bold", fill=colour, anchor="middle")
        return (
            f'<path transform="translate({x:.1f} {y:.1f}) scale({size:.1f})" d="{outline}" '
            f'fill="{colour}"/>'
        )


def _words(
    x: float,
    y: float,
    text: str,
    size: float,
    weight: str = "normal",
    fill: str | None = None,
    anchor: str = "start",
    tight: bool = False,
) -> str:
    colour = "" if fill is None else f'fill="{fill}" '  # the picture's own ink
    spacing = f' letter-spacing="{-size * 0.11:.1f}"' if tight else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" font-weight="{weight}" '
        f'{colour}text-anchor="{anchor}"{spacing}>{_text(text)}</text>'
    )


def _text(text: str) -> str:
    """Returns text that XML can contain, whatever characters a name has."""
    return escape(_NO_TEXT.sub("�", text))


def _clipped(text: str, room: float, size: float) -> str:
    """Returns the part of a text that fits a line of some width."""
    width = 0.0
    for place, letter in enumerate(text):
        width += size * _letter(letter)
        if width > room:
            return text[: max(place - 2, 1)].rstrip() + "…"
    return text


def _letter(letter: str) -> float:
    """Returns the width of a bold letter, in units of its size, rounded up for safety."""
    if letter in "iljt.,:;'!|()[] f":
        return 0.42
    if letter in "mwMW@%" or ord(letter) > 0x2E80:
        return 1.1
    return 0.78 if letter.isupper() or ord(letter) > 0x250 else 0.71
