"""The parts of the table as text: what ``app.py`` shows and ``plain.py`` prints."""

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
from ohhell_train.play.sight import Choice, PersonView
from ohhell_train.play.telling import Trick, did, needs, roles, trump_words

_NAME = 13
"""Characters of a name that the table has room for."""
_SUIT_STYLES = ("$text-success", "$text-primary", "$text-error", "$text-warning")
"""The four-colour pack, in colours of the theme; suits are told by letters, too."""
_FAINT, _STRONG, _KEY = "$text-muted", "bold", "bold $text-accent"


def card(name: str, pack: Pack, style: str = "") -> tuple[str, str]:
    """Returns a card's name in the colour of its suit."""
    return name, f"{_SUIT_STYLES[pack.suits.index(name[1])]} {style}".strip()


def table_title(sight: PersonView, practice: bool) -> Content:
    """Returns the two lines above the table."""
    table = sight.table
    turned = f" ({table.turned} turned)" if table.turned else ""
    second = [f"Trump: {trump_words(table.trump, table.rules)}{turned}"]
    second += [table.balance] if table.balance and not table.over else []
    second += ["practice"] if practice else []
    return Content.assemble(
        (f"{table.variant}: {table.where}, {table.part}", _STRONG), "\n", " · ".join(second)
    )


def seats(sight: PersonView, names: Sequence[str]) -> Content:
    """Returns a line for each seat: bid, tricks won, what it needs, score, and its part."""
    head = f"  {'':<{_NAME}} bid won needs   score"
    lines = [Content.styled(head, _FAINT)]
    lines += [_seat(sight, seat, names[seat]) for seat in range(len(names))]
    return Content("\n").join(lines)


def _seat(sight: PersonView, seat: int, name: str) -> Content:
    table = sight.table
    bid = table.bids[seat]
    acts = seat == table.actor
    line = (
        f"{'>' if acts else ' '} {padded(name)} {'-' if bid is None else bid:>3} "
        f"{table.tricks_won[seat]:>3} {needs(sight.needed[seat]):<7} {table.scores[seat]:>5}  "
    )
    style = " ".join([_STRONG] * (seat == sight.seat) + ["$text-accent"] * acts)
    shown = [] if seat == sight.seat else table.hands.get(seat, [])
    cards = [card(f"{name}", table.rules.pack) for name in shown]
    return Content.assemble((line, style), ", ".join(roles(sight, seat)), *_spaced(cards))


def _spaced(parts: Sequence[tuple[str, str]]) -> list[str | tuple[str, str]]:
    return [piece for part in parts for piece in (" ", part)]


def short(name: str, most: int = _NAME) -> str:
    """Returns a name that is not too wide, with its end, which tells players of one kind apart."""
    if cell_len(name) <= most:
        return name
    head, tail = name[:3], name
    while cell_len(head) > 3:
        head = head[:-1]
    while cell_len(tail) > most - cell_len(head) - 1:
        tail = tail[1:]
    return f"{head}…{tail}"


def padded(name: str) -> str:
    """Returns a name as wide as its column; some letters are two columns wide, some none."""
    return set_cell_size(short(name), _NAME)


def trick(sight: PersonView, names: Sequence[str], last: Trick | None) -> Content:
    """Returns the trick on the table, or the last one until a card is led to the next."""
    table = sight.table
    if table.trick:
        lines = [Content.styled(f"Trick {table.trick_number + 1}", _STRONG)]
        return Content("\n").join(lines + _cards(sight, names, table.trick, table.winning))
    if last is None or table.bidding:
        what = "bidding" if table.bidding else ""
        return Content.styled(what.capitalize(), _FAINT)
    return finished_trick(sight, names, last)


def finished_trick(sight: PersonView, names: Sequence[str], last: Trick) -> Content:
    """Returns a finished trick."""
    head = f"{did(names, last.winner, 'win')} trick {last.number + 1}"
    lines = [Content.styled(head, _STRONG)]
    return Content("\n").join(lines + _cards(sight, names, last.plays, last.winner))


def _cards(
    sight: PersonView, names: Sequence[str], plays: Sequence[tuple[int, str]], best: int
) -> list[Content]:
    pack = sight.table.rules.pack
    return [
        Content.assemble(
            f"{padded(names[seat])} ",
            card(name, pack, _STRONG),
            " led" if place == 0 else "    ",
            " *" if seat == best else "",
        )
        for place, (seat, name) in enumerate(plays)
    ]


def hand_panel(sight: PersonView) -> Content:
    """Returns the own hand, a line for each suit; keys stand before what may be played."""
    pack = sight.table.rules.pack
    playing = sight.mine and not sight.table.bidding
    lines: list[Content] = []
    for suit in sight.hand:
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


def bids(sight: PersonView) -> Content:
    """Returns the bids; a forbidden one stands in brackets."""
    if not sight.bids:
        return Content("")
    parts: list[Content | str] = [("Bid  ")]
    for choice in sight.bids:
        link = Style.from_meta({"@click": f"app.take({choice.action})"})
        key = "" if choice.key == choice.name else f"{choice.key}:"
        text = f"({choice.name})" if choice.problem else f"{key}{choice.name}"
        parts += [Content.styled(text, "dim" if choice.problem else _KEY).stylize(link), "  "]
    return Content.assemble(*parts)


def rules_page(rules: Rules) -> str:
    """Returns the rules in plain words, as Markdown."""
    lines: list[str] = []
    for section in explain_sections(rules):
        lines += ["", f"### {section.heading}", ""]
        lines += [f"- {sentence}" for sentence in section.sentences]
        for table in section.tables:
            rows = [table.header, ("--:",) * len(table.header), *table.rows]
            lines += ["", table.caption, "", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def asked(sight: PersonView, names: Sequence[str]) -> str:
    """Returns in words who is to do what."""
    table = sight.table
    if table.over:
        return "The game is over."
    if not sight.mine:
        return f"{names[table.actor]} is thinking …"
    what = "bid" if table.bidding else "card"
    said = [f"Your {what}: press its key or click on it"]
    said += [choice.problem for choice in sight.bids if choice.problem]
    said += [] if sight.hand else ["You see the cards of the others, not your own"]
    return ". ".join(said) + "."
