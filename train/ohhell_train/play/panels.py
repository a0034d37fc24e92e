"""The parts of the table as styled text, for ``app.py``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.style import Style

from ohhell_env.cards import Pack
from ohhell_env.pictures.faces import symbol
from ohhell_env.rules import Rules
from ohhell_env.rules.explain import explain_sections
from ohhell_env.rules.phrases import suit_word
from ohhell_train.play.events import Trick, did, needs, roles, trump_words
from ohhell_train.play.names import Seated
from ohhell_train.play.view import Choice, PersonView

_NAME = 13
"""Widest name in the table, in terminal columns."""
_LABEL = 34
"""Widest name with its player."""
_PLAYER = 8
"""Narrowest piece of a player that is worth showing."""
_BESIDE = 52
"""Columns of the upper part at most, without the names: numbers, roles, the trick, padding."""
_SUIT_STYLES = ("$text-success", "$text-primary", "$text-error", "$text-warning")
"""Colours of the suits, from the theme. No suit is shown by colour alone."""
_FAINT, _STRONG, _KEY = "dim", "bold", "bold $text-accent"


def card(name: str, pack: Pack, style: str = "") -> tuple[str, str]:
    """Returns a card's name in the colour of its suit."""
    return name, f"{_SUIT_STYLES[pack.suits.index(name[1])]} {style}".strip()


def table_title(view: PersonView, practice: bool) -> Content:
    """Returns the two lines above the table."""
    table = view.table
    turned = f" ({table.turned} turned)" if table.turned else ""
    second = [f"Trump: {trump_words(table.trump, table.rules)}{turned}"]
    second += [table.balance] if table.balance and not table.over else []
    second += ["practice"] if practice else []
    return Content.assemble(
        (f"{table.variant}: {table.where}, {table.part}", _STRONG), "\n", " · ".join(second)
    )


def seats(view: PersonView, seated: Sequence[Seated], width: int = 80) -> Content:
    """Returns a line for each seat: name and player, bid, tricks won, need, score, roles.

    Args:
        view: The table.
        seated: Who sits there, by seat.
        width: Columns of the terminal. In a wide one there is room for the player beside the name.
    """
    names = cut([each.name for each in seated], _NAME)
    room = min(width - _BESIDE - max(map(cell_len, names)), _LABEL)
    longest = max(cell_len(each.label) for each in seated)
    column = max(_NAME, min(longest, room))
    lines = [Content.styled(f"  {'':<{column}} bid won needs   score", _FAINT)]
    for seat, (name, each) in enumerate(zip(names, seated, strict=True)):
        lines.append(_seat(view, seat, name, _beside(name, each.player, column)))
    return Content("\n").join(lines)


def _beside(name: str, player: str, column: int) -> str:
    """Returns the player beside a name, padded to the end of the column; cut if it is too long."""
    room = column - cell_len(name)
    most = room - len(" ()")
    enough = player and most >= min(cell_len(player), _PLAYER)
    text = f" ({short(player, most)})" if enough else ""
    return set_cell_size(text, room)


def _seat(view: PersonView, seat: int, name: str, player: str) -> Content:
    table = view.table
    bid = table.bids[seat]
    acts = seat == table.actor
    numbers = (
        f" {'-' if bid is None else bid:>3} {table.tricks_won[seat]:>3} "
        f"{needs(view.needed[seat]):<7} {table.scores[seat]:>5}  "
    )
    style = " ".join([_STRONG] * (seat == view.seat) + ["$text-accent"] * acts)
    shown = [] if seat == view.seat else table.hands.get(seat, [])
    cards = [card(name, table.rules.pack) for name in shown]
    return Content.assemble(
        (f"{'>' if acts else ' '} {name}", style),
        (player, _FAINT),
        (numbers, style),
        ", ".join(roles(view, seat)),
        *_spaced(cards),
    )


def _spaced(parts: Sequence[tuple[str, str]]) -> list[str | tuple[str, str]]:
    return [piece for part in parts for piece in (" ", part)]


def short(name: str, most: int = _NAME) -> str:
    """Returns a name cut to a width; it keeps its end, where similar names differ."""
    if cell_len(name) <= most:
        return name
    head, tail = name[:3], name
    while cell_len(head) > 3:
        head = head[:-1]
    while cell_len(tail) > most - cell_len(head) - 1:
        tail = tail[1:]
    return f"{head}…{tail}"


def cut(names: Sequence[str], most: int) -> list[str]:
    """Returns names cut to a width; those that are then alike get the seat's number."""
    found = [short(name, most) for name in names]
    return [
        f"{short(name, most - 2)} {seat}" if found.count(found[seat]) > 1 else found[seat]
        for seat, name in enumerate(names)
    ]


def trick(view: PersonView, names: Sequence[str], last: Trick | None) -> Content:
    """Returns the trick on the table; until the next lead, the last one."""
    table = view.table
    if table.trick:
        head, plays, best = f"Trick {table.trick_number + 1}", table.trick, table.winning
    elif last is None or table.bidding:
        return Content.styled("Bidding" if table.bidding else "", _FAINT)
    else:
        head, plays, best = f"Trick {last.number + 1}", last.plays, last.winner
    return Content("\n").join([Content.styled(head, _STRONG), *_cards(view, names, plays, best)])


def finished_trick(view: PersonView, names: Sequence[str], last: Trick) -> Content:
    """Returns a finished trick, with its winner above."""
    head = f"{did(names, last.winner, 'win')} trick {last.number + 1}"
    lines = [Content.styled(head, _STRONG)]
    return Content("\n").join(lines + _cards(view, names, last.plays, last.winner))


def _cards(
    view: PersonView, names: Sequence[str], plays: Sequence[tuple[int, str]], best: int
) -> list[Content]:
    pack, shown = view.table.rules.pack, cut(names, _NAME)
    column = max(map(cell_len, shown))
    return [
        Content.assemble(
            f"{set_cell_size(shown[seat], column)} ",
            card(name, pack, _STRONG),
            " led" if place == 0 else "    ",
            " *" if seat == best else "",
        )
        for place, (seat, name) in enumerate(plays)
    ]


def hand_panel(view: PersonView) -> Content:
    """Returns the person's hand, a line for each suit; a legal card has its key before it."""
    pack = view.table.rules.pack
    playing = view.mine and not view.table.bidding
    lines: list[Content] = []
    for suit in view.hand:
        letter = suit[0].name[1]
        head = f"{symbol(letter, pack)} {suit_word(letter, pack):<9}"
        style = _SUIT_STYLES[pack.suits.index(letter)]
        cells = [_held(choice, pack, playing) for choice in suit]
        lines.append(Content.assemble((head, style), *cells))
    return Content("\n").join(lines)


def _held(choice: Choice, pack: Pack, playing: bool) -> Content:
    if not playing:
        return Content.assemble("  ", card(choice.name, pack), " ")
    link = Style.from_meta({"@click": f"app.take({choice.action})"})
    if choice.problem:
        return Content.assemble("  ", (choice.name, "dim"), " ").stylize(link)
    key = (f"{choice.key}:", _KEY)
    face = card(choice.name, pack, _STRONG)
    return Content.assemble(key, face, " ").stylize(link, 0, len(choice.name) + 2)


def bids(view: PersonView) -> Content:
    """Returns the bids; a forbidden bid is in brackets."""
    if not view.bids:
        return Content("")
    parts: list[Content | str] = [("Bid  ")]
    for choice in view.bids:
        link = Style.from_meta({"@click": f"app.take({choice.action})"})
        key = "" if choice.key == choice.name else f"{choice.key}:"
        text = f"({choice.name})" if choice.problem else f"{key}{choice.name}"
        parts += [Content.styled(text, "dim" if choice.problem else _KEY).stylize(link), "  "]
    return Content.assemble(*parts)


def rules_page(rules: Rules) -> str:
    """Returns the rules in plain words, in Markdown."""
    lines: list[str] = []
    for section in explain_sections(rules):
        lines += ["", f"### {section.heading}", ""]
        lines += [f"- {sentence}" for sentence in section.sentences]
        for table in section.tables:
            rows = [table.header, ("--:",) * len(table.header), *table.rows]
            lines += ["", table.caption, "", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def asked(view: PersonView, names: Sequence[str]) -> str:
    """Returns whose turn it is, and what the person can do."""
    table = view.table
    if table.over:
        return "The game is over. Press n to play again, q to quit."
    if not view.mine:
        return f"{names[table.actor]} is thinking …"
    what = "bid" if table.bidding else "card"
    said = [f"Your {what}: press its key or click on it"]
    said += [choice.problem for choice in view.bids if choice.problem]
    said += [] if view.hand else ["You see the cards of the others, not your own"]
    return ". ".join(said) + "."
