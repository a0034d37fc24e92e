"""The table as text: what lies on it, from a seat's view or from the referee's.

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

from typing import Any

from ohhell_env.engine.layout import NOBODY
from ohhell_env.game import Game
from ohhell_env.pictures.view import TableView, in_order, referee_view, seat_view, view_of
from ohhell_env.rules import Rules


def seat_text(view: dict[str, Any], rules: Rules, seat: int, actor: int) -> str:
    """Returns the table as a seat sees it; arguments as ``pictures.view.seat_view``."""
    return table_text(seat_view(view, rules, seat, actor))


def referee_text(game: Game, actor: int = NOBODY) -> str:
    """Returns the table as the referee sees it, with all hands.

    Args:
        game: The table.
        actor: The seat to act; -1 for none.
    """
    return table_text(referee_view(game, actor))


def shown(game: Game, seat: int | None, mode: str) -> Any:
    """Returns a table as text ("ansi") or as a picture ("rgb_array").

    Args:
        game: The table.
        seat: The seat that looks; None: the referee.
        mode: The render mode.
    """
    return table_text(view_of(game, seat))


def table_text(table: TableView) -> str:
    """Returns the text of a table."""
    seats = range(table.rules.players)
    hands = [_hand(table, seat) for seat in seats]
    width = max(map(len, hands))
    lines = [f"{table.variant}: {table.where}, {_trump(table)}, {table.part}"]
    lines.append("       bid won score")
    lines += [_seat(table, seat, hands[seat].ljust(width)).rstrip() for seat in seats]
    if table.balance is not None:
        lines.append(table.balance)
    if table.trick:
        (leader, led), *others = table.trick
        rest = "".join(f", seat {seat} {card}" for seat, card in others)
        lines.append(f"trick: seat {leader} led {led}{rest}")
    return "\n".join(lines) + "\n"


def _trump(table: TableView) -> str:
    turned = f" ({table.turned} turned)" if table.turned else ""
    special = {"NT": "no trumps", "?": "trump not yet known"}
    return special.get(table.trump, f"trump {table.trump}{turned}")


def _seat(table: TableView, seat: int, hand: str) -> str:
    bid = table.bids[seat]
    roles = ["dealer"] * (seat == table.dealer) + ["to act"] * (seat == table.actor)
    return (
        f"seat {seat} {'-' if bid is None else bid:>3} {table.tricks_won[seat]:>3} "
        f"{table.scores[seat]:>5}  {hand}  {', '.join(roles)}"
    )


def _hand(table: TableView, seat: int) -> str:
    suits = in_order(table.hands.get(seat, ()), table.rules.pack)
    return "  ".join(" ".join(suit) for suit in suits)
