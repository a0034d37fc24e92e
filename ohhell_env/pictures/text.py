"""A table as plain text."""

from __future__ import annotations

from ohhell_env.pictures.view import TableView, in_order


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
