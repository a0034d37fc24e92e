"""Cases 59 to 65 of the rules: points of a deal.

Every number is asked of ``schedule.points`` (which fills the engine's table), of the naive
referee, and, where the deal is small enough to be played, of a game.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ohhell_env.engine.layout import compile_rules
from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules
from ohhell_env.rules.axes import SCORINGS
from ohhell_env.rules.schedule import points
from tests.helpers import Table, house
from tests.reference import Referee


def score(scoring: Any, bid: int, won: int, size: int = 7) -> int:
    """Points of one seat, on which formula, engine and referee agree."""
    rules = house(3, size, scoring=scoring)
    ours = points(rules.scoring, bid, won, size)
    assert ours == Referee(rules.to_dict()).points_for(bid, won, size)
    assert ours == compile_rules(rules)[0]["points"][size, bid, won]
    return ours


def nil(base: int, per_card: int) -> dict[str, Any]:
    """Simple scoring with another score for a made nil."""
    return {"miss_per_trick": 0, "nil_made": {"base": base, "per_card": per_card}}


@pytest.mark.parametrize(
    ("scoring", "expected"), [("simple", 14), ("common", 14), ("bonus_only", 10), ("wizard", 60)]
)
def test_case_59_bid_4_won_4(scoring: str, expected: int):
    assert score(scoring, 4, 4) == expected


@pytest.mark.parametrize(
    ("scoring", "expected"),
    [("simple", 0), ("common", 4), ("bonus_only", 0), ("wizard", -10), ("off_bid", -1)],
)
def test_case_60_bid_3_won_4(scoring: str, expected: int):
    assert score(scoring, 3, 4) == expected


@pytest.mark.parametrize(
    ("scoring", "size", "expected"),
    [
        ("simple", 7, 10),
        (nil(5, 0), 7, 5),
        (nil(10, 0), 7, 10),
        (nil(5, 1), 7, 12),
        (nil(5, 1), 1, 6),
        (nil(5, 1), 5, 10),
    ],
)
def test_case_61_made_nil(scoring: Any, size: int, expected: int):
    assert score(scoring, 0, 0, size) == expected


def test_case_62_missed_nil():
    assert score("simple", 0, 2) == 0
    assert score("common", 0, 2) == 2
    assert score(nil(5, 1), 0, 2) == 0
    assert score({"nil_made": [5, 1]}, 0, 2) == 2


@pytest.mark.parametrize("scoring", ["simple", "plump"])
def test_case_63_bid_10_won_10_scores_20(scoring: str):
    assert score(scoring, 10, 10, size=10) == 20


def test_case_64_skull_king():
    assert score("skull_king", 0, 0, 7) == 70
    assert score("skull_king", 0, 1, 7) == -70
    assert score("skull_king", 3, 3, 7) == 60
    assert score("skull_king", 3, 2, 7) == -10


def test_case_65_pocha_and_squares():
    assert score("pocha", 3, 3) == 25
    assert score("pocha", 3, 1) == -10
    assert score("squares", 4, 4) == 26
    assert score("squares", 4, 2) == -4


# ---------------------------------------------------------------- beyond the numbered cases

TABLE_OF_SOURCES = {
    # name: (bid 3 won 3, bid 3 won 1, bid 3 won 5, bid 0 won 0, bid 0 won 2), hand size 7
    "common": (13, 1, 5, 10, 2),
    "simple": (13, 0, 0, 10, 0),
    "bonus_only": (10, 0, 0, 10, 0),
    "off_bid": (13, -2, -2, 10, -2),
    "hoerr": (13, -12, -12, 10, -12),
    "squares": (19, -4, -4, 10, -4),
    "escalating": (19, -15, -15, 10, -15),
    "progressive": (19, 1, 5, 10, 2),
    "wizard": (50, -20, -20, 20, -20),
    "pocha": (25, -10, -10, 10, -10),
    "romanian": (8, -2, -2, 5, -2),
    "podrida": (19, -6, -6, 10, -6),
    "plump": (13, 0, 0, 5, 0),
    "judgement_x10": (30, -20, -20, 10, -20),
    "skull_king": (60, -20, -20, 70, -70),
}


@pytest.mark.parametrize("name", SCORINGS)
def test_every_named_scoring(name: str):
    results = [(3, 3), (3, 1), (3, 5), (0, 0), (0, 2)]
    assert tuple(score(name, bid, won) for bid, won in results) == TABLE_OF_SOURCES[name]


def test_mrpikes_example_bid_3_won_2_scores_minus_11():
    assert score("hoerr", 3, 2) == -11


def test_escalating_5_for_the_first_trick_off_10_more_for_the_second():
    assert [score("escalating", 3, won) for won in (2, 1, 0)] == [-5, -15, -30]


@pytest.mark.parametrize(
    ("field", "made", "missed"),
    [
        ("exact_bonus", 1, 0),
        ("exact_per_trick", 4, 0),
        ("exact_per_trick_sq", 16, 0),
        ("miss_per_trick", 0, 1),
        ("miss_per_diff", 0, -3),
        ("miss_per_diff_sq", 0, -9),
        ("miss_per_diff_tri", 0, -6),
        ("miss_constant", 0, -1),
    ],
)
def test_each_number_of_the_formula_by_itself(field: str, made: int, missed: int):
    zero = {"exact_bonus": 0, "exact_per_trick": 0, "miss_per_trick": 0}
    scoring = {**zero, field: 1}
    assert score(scoring, 4, 4) == made
    assert score(scoring, 4, 1) == missed


def test_nil_missed_replaces_the_whole_score_of_a_missed_nil():
    scoring = {"nil_missed": {"base": -3, "per_card": -2}}
    assert score(scoring, 0, 4, size=5) == -13
    assert score(scoring, 0, 0, size=5) == 10
    assert score(scoring, 1, 4, size=5) == 4


def test_custom_table():
    table = [
        [[100 * size + 10 * bid + won for won in range(size + 1)] for bid in range(size + 1)]
        for size in range(1, 4)
    ]
    for size in range(1, 4):
        for bid, won in itertools.product(range(size + 1), repeat=2):
            assert score({"table": table}, bid, won, size) == 100 * size + 10 * bid + won
    rules = house(3, 2, scoring={"table": table}, bidding__hook="none")
    played = Table(rules, hands="AS KS / QS JS / TS 9S", turned="2S").bid(2, 0, 1)
    played.play("AS QS TS KS JS 9S")
    assert played.game.points == [222, 200, 210]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[[1, 2], [3, 4]]], r"scoring\.table has 1 hand sizes; the schedule needs 1 to 2"),
        ([[[1, 2], [3, 4]], [[1, 2], [3, 4]]], r"scoring\.table\[1\].*3 bids by 3"),
    ],
)
def test_custom_table_of_a_wrong_shape_raises(table: list, message: str):
    with pytest.raises(RulesError, match=message):
        house(3, 1, 2, scoring={"table": table})


def test_points_reach_the_score_sheet():
    rules = Rules.preset("oh_hell", 3).replace(**{"bidding.hook": "none"})
    table = Table(rules, hands="AS KS / QS JS / TS 9S", turned="2S").bid(2, 1, 0)
    table.play("AS QS TS KS JS 9S")
    assert table.game.points == table.game.scores == [12, 0, 10]


def test_announce_has_no_effect_on_points():
    for announce in (False, True):
        rules = house(2, bidding__announce=announce, bidding__hook="none")
        table = Table(rules, hands="AS / KS", turned="2S").bid(1, 1).play("AS KS")
        assert table.game.points == [11, 0]
