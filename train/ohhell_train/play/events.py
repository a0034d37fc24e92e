"""The events at the table, one line each, and the score sheet.

Lines are made from the person's views before and after a move. After a deal everything is public,
so the rest comes from its record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ohhell_env.cards import card_name
from ohhell_env.engine.layout import NO_TRUMP
from ohhell_env.game import Game
from ohhell_env.pictures.faces import suit_name, symbol
from ohhell_env.rules import Rules
from ohhell_env.rules.phrases import suit_word
from ohhell_train.play.view import PersonView, Play

YOU = "You"
"""The name of a person who gives none."""


@dataclass(frozen=True)
class Trick:
    """A finished trick."""

    number: int
    """Its number in the deal, from 0."""
    plays: Sequence[Play]
    winner: int


@dataclass(frozen=True)
class SheetRow:
    """A finished deal on the score sheet; lists are by seat."""

    deal: int
    """Its number in the game, from 0."""
    hand_size: int
    trump: str
    """In words."""
    suit: str
    """Its symbol; "NT" in a no-trump deal."""
    bids: Sequence[int]
    tricks_won: Sequence[int]
    points: Sequence[int]
    scores: Sequence[int]
    last_trick: Trick


def did(names: Sequence[str], seat: int, verb: str) -> str:
    """Returns a seat and its verb: "Ann bids", "You bid"."""
    return f"{YOU} {verb}" if names[seat] == YOU else f"{names[seat]} {verb}s"


def sheet_row(scored: Game) -> SheetRow:
    """Returns the row of a finished deal.

    Args:
        scored: The table after the last card, before the next deal.
    """
    pack = scored.rules.pack
    trump = "NT" if scored.trump == NO_TRUMP else pack.suits[scored.trump]
    plays = [(seat, card_name(card, pack)) for seat, card in scored.plays[-scored.players :]]
    return SheetRow(
        deal=scored.deal,
        hand_size=scored.hand_size,
        trump=trump_words(trump, scored.rules),
        suit=trump if trump == "NT" else symbol(trump, pack),
        bids=[bid or 0 for bid in scored.bids],
        tricks_won=scored.tricks_won,
        points=scored.points,
        scores=scored.scores,
        last_trick=Trick(scored.hand_size - 1, plays, scored.leader),
    )


def trump_words(trump: str, rules: Rules) -> str:
    """Returns a trump in words; "NT" is no-trump, "?" a trump that is not known yet."""
    words = {"?": "not known yet", "NT": suit_word("NT", rules.pack)}
    return words.get(trump) or suit_name(trump, rules.pack)


def last_trick(view: PersonView, rows: Sequence[SheetRow]) -> Trick | None:
    """Returns the last finished trick; at the start of a deal, that of the deal before."""
    done = view.table.trick_number
    if not done or view.leader is None:
        return rows[-1].last_trick if rows else None
    players = view.table.rules.players
    return Trick(done - 1, view.plays[(done - 1) * players : done * players], view.leader)


def trick_line(trick: Trick, names: Sequence[str]) -> str:
    """Returns a finished trick in one line."""
    cards = ", ".join(f"{names[seat]} {card}" for seat, card in trick.plays)
    return f"Trick {trick.number + 1}: {cards}; {did(names, trick.winner, 'win')} it"


def opening(view: PersonView, names: Sequence[str]) -> str:
    """Returns the line that opens a deal."""
    table = view.table
    turned = f" ({table.turned} turned)" if table.turned else ""
    trump = trump_words(table.trump, table.rules)
    deals = did(names, table.dealer, "deal")
    return f"{table.where[0].upper()}{table.where[1:]}; trump: {trump}{turned}; {deals}"


def move_lines(
    before: PersonView,
    after: PersonView,
    names: Sequence[str],
    ended: tuple[dict[str, Any], SheetRow] | None,
) -> Iterator[str]:
    """Yields a line for each event of one move.

    Args:
        before: The person's view before the move.
        after: The person's view after it; with ``ended`` this may be the next deal.
        names: Names by seat.
        ended: If the move ended a deal: the deal's record and its row of the score sheet.
    """
    if ended is not None:
        yield from _end_of_deal(before, names, *ended)
        if not after.table.over:
            yield opening(after, names)
        return
    yield from _bids(before, {s: b for s, b in enumerate(after.table.bids) if b is not None}, names)
    if before.table.bidding and not after.table.bidding:
        yield f"{after.table.balance}"
        if before.table.trump != after.table.trump:
            turned = f" ({after.table.turned} turned)" if after.table.turned else ""
            yield f"trump: {trump_words(after.table.trump, after.table.rules)}{turned}"
    yield from _plays(before, after.plays, names)
    if after.table.trick_number > before.table.trick_number and after.leader is not None:
        yield f"{did(names, after.leader, 'win')} trick {after.table.trick_number}"


def _bids(before: PersonView, bids: dict[int, int], names: Sequence[str]) -> Iterator[str]:
    for seat in _in_turn(before):
        if seat in bids and before.table.bids[seat] is None:
            yield f"{did(names, seat, 'bid')} {bids[seat]}"


def _in_turn(view: PersonView) -> Iterator[int]:
    players = view.table.rules.players
    return ((view.eldest + place) % players for place in range(players))


def _plays(before: PersonView, plays: Sequence[Play], names: Sequence[str]) -> Iterator[str]:
    players = before.table.rules.players
    for place in range(len(before.plays), len(plays)):
        seat, card = plays[place]
        yield f"{did(names, seat, 'play' if place % players else 'lead')} {card}"


def _end_of_deal(
    before: PersonView, names: Sequence[str], deal: dict[str, Any], row: SheetRow
) -> Iterator[str]:
    yield from _bids(before, dict(deal["bids"]), names)
    plays = [(seat, card) for trick in deal["tricks"] for seat, card in trick]
    yield from _plays(before, plays, names)
    winner = row.last_trick.winner
    yield f"{did(names, winner, 'win')} trick {row.last_trick.number + 1}"
    yield f"Deal {row.deal + 1} is over:"
    for seat, name in enumerate(names):
        yield f"  {name}: {result(row, seat)}"


def result(row: SheetRow, seat: int) -> str:
    """Returns the result of a seat in a deal, in words."""
    made = "made" if row.bids[seat] == row.tricks_won[seat] else "missed"
    return (
        f"{made}, {row.tricks_won[seat]} of {row.bids[seat]}; {row.points[seat]:+} "
        f"{'point' if abs(row.points[seat]) == 1 else 'points'}, score {row.scores[seat]}"
    )


def needs(needed: int | None) -> str:
    """Returns how many tricks a seat still needs for its bid, in words."""
    if needed is None:
        return "-"
    if needed > 0:
        return f"{needed} more"
    return "no more" if needed == 0 else f"{-needed} over"


def roles(view: PersonView, seat: int) -> list[str]:
    """Returns the roles of a seat in the deal: "dealer", "eldest", "leads"."""
    found = ["dealer"] * (seat == view.table.dealer) + ["eldest"] * (seat == view.eldest)
    return found + ["leads"] * (seat == view.leader and not view.table.over)


def paid_line(paid: Sequence[float], names: Sequence[str]) -> Iterator[str]:
    """Yields a line with the settlement of a game, if there is one."""
    if any(paid):
        shares = (f"{name} {share:+g}" for name, share in zip(names, paid, strict=True))
        yield f"Paid: {', '.join(shares)}"


def final(scores: Sequence[int], winners: Sequence[int], names: Sequence[str]) -> str:
    """Returns the last line of a game: who wins, and all scores."""
    order = sorted(range(len(names)), key=lambda seat: -scores[seat])
    standing = ", ".join(f"{names[seat]} {scores[seat]}" for seat in order)
    first = " and ".join(names[seat] for seat in winners)
    wins = f"{first} win" if len(winners) > 1 or first == YOU else f"{first} wins"
    return f"The game is over: {wins}. Scores: {standing}"
