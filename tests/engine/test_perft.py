"""Counts of all continuations of small deals: engine, referee and stored numbers agree."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ohhell_env.game import Game
from tests.helpers import Table, house
from tests.reference import Referee

# By hand: two seats with one card each bid in 2 * 1 ways under the hook (the barred bid leaves one)
# and in 2 * 2 without, then both play their only card. Three seats with two cards bid in 27 ways;
# the hook bars one bid after each of the 6 pairs of bids that do not exceed 2, which leaves 21.
DEALS: dict[str, tuple[dict[str, Any], str, str | None, int]] = {
    "two seats, one card, hook": ({"players": 2}, "2H / 3H", "4S", 2),
    "two seats, one card": ({"players": 2, "bidding__hook": "none"}, "2H / 3H", "4S", 4),
    "three seats, two cards": ({"players": 3}, "2H 9S / KD 3H / AH 4S", "TS", 21 * 3),
    "the same without hook": (
        {"players": 3, "bidding__hook": "none"},
        "2H 9S / KD 3H / AH 4S",
        "TS",
        27 * 3,
    ),
    "must trump": (
        {"players": 3, "play__void": "must_trump"},
        "2H 9S / KD 3S / 6H 4S",
        "TS",
        21 * 2,
    ),
    "free when void": ({"players": 3}, "2H 9S / KD 3S / 6H 4S", "TS", 21 * 3),
    "four seats, two cards": (
        {"players": 4},
        "2H 9S / KD 3H / AH 4S / 5C 6C",
        "TS",
        71 * 6,
    ),
    "three seats, three cards, heads": (
        {"players": 3, "play__head_led_suit": True},
        "2H 9S KC / KD 3H 4C / AH 4S 5S",
        "TC",
        54 * 40,
    ),
}


def count_game(game: Game) -> int:
    """Counts the ways in which a single-deal game can go on."""
    if game.over:
        return 1
    total = 0
    for action in game.legal_actions():
        after = game.copy()
        after.apply(action)
        total += count_game(after)
    return total


def count_referee(referee: Referee) -> int:
    """The same by the naive referee."""
    if referee.over:
        return 1
    total = 0
    for action in referee.legal():
        after = copy.deepcopy(referee)
        after.play(action)
        total += count_referee(after)
    return total


@pytest.mark.parametrize("name", DEALS)
def test_number_of_continuations(name: str) -> None:
    settings, hands, turned, expected = DEALS[name]
    size = len(hands.split("/")[0].split())
    settings = dict(settings)
    table = Table(house(settings.pop("players"), size, **settings), hands, turned)
    counts = (count_game(table.game), count_referee(table.referee))
    assert counts == (expected, expected)
