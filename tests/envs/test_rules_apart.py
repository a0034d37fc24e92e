"""The universal layout tells rules apart: games that are not the same do not look the same.

Every axis of the rules has an entry in ``AXES``: settings to start from, and values of the axis of
which each pair must be told apart at the first decision, with the same cards on the table; or the
reason why no decision depends on it, and then the bytes are equal.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ohhell_env import Game, Rules
from ohhell_env.engine.layout import compile_rules
from ohhell_env.engine.shown_rules import RULE_FEATURES, RULE_FEATURES_WIDTH
from ohhell_env.errors import RulesError
from ohhell_env.observation import (
    SECTION_MEANINGS,
    layout_of,
    rule_features_table,
    section_table,
    sections,
)
from ohhell_env.rules.axes import SCORINGS
from ohhell_env.rules.schedule import hand_sizes, points
from ohhell_env.rules.settings import field_types
from ohhell_env.testing import random_rules
from tests.envs.play import look, moments
from tests.helpers import house

LUCK = ("hands", "turned", "trump", "dealer", "seat", "leader", "legal")
"""What a deal owes to chance."""


def first_look(rules: Rules, like: Game | None = None) -> bytes:
    """What the first to decide sees, with the cards of another game if they have as many."""
    game = Game(rules, seed=1)
    if like is not None and game.hand_size == like.hand_size and game.players == like.players:
        for field in LUCK:
            game.state[field] = like.state[field]
    return look(game, game.seat, "universal")[0]


# ---------------------------------------------------------------- every axis, one by one


@dataclass(frozen=True)
class Apart:
    """Values of an axis that are told apart, all else being ``base``."""

    values: list[Any]
    base: dict[str, Any] = dataclasses.field(default_factory=dict)

    def rules(self, axis: str) -> Iterator[Rules]:
        start = Rules.from_dict(self.base)
        for value in self.values:
            # some values need a second setting: they come as a dict of dotted settings
            changes = value if isinstance(value, dict) else {axis: value}
            yield start.replace(**changes)


@dataclass(frozen=True)
class Alike:
    """Values of an axis between which no decision can depend on the rules."""

    values: list[Any]
    reason: str
    base: dict[str, Any] = dataclasses.field(default_factory=dict)
    rules = Apart.rules


NUMBERS = [0, 1, -1, 7, 100, 101, 127, 128, 129, 200, -200, 255, 2048, 9999, 10_000, -10_000]
SHORT = {"schedule.shape": "up", "schedule.high": 5}
RACE = {
    "schedule": {"shape": "constant", "high": 5},
    "end": {"target": 100, "max_deals": 300},
}


def table_of(scoring: str = "common", most: int = 13) -> list[list[list[int]]]:
    """The points table of a scoring."""
    named = SCORINGS[scoring]
    return [
        [[points(named, bid, won, size) for won in range(size + 1)] for bid in range(size + 1)]
        for size in range(1, most + 1)
    ]


def tables() -> list[Any]:
    """Tables that differ in one number, in hands of the first deal and of later ones."""
    found = [table_of(), table_of("simple")]
    for size, bid, won in [(1, 0, 0), (1, 1, 0), (5, 0, 5), (5, 2, 2), (5, 4, 1), (10, 10, 9)]:
        for change in (1, -300):
            found.append(table_of())
            found[-1][size - 1][bid][won] += change
    return [None, *found]


def nils(axis: str) -> list[Any]:
    pairs = [(0, 0), (5, 0), (0, 5), (5, 5), (-5, 0), (200, 0), (0, 200), (10_000, 0)]
    return [None, *({axis: {"base": base, "per_card": each}} for base, each in pairs)]


AXES: dict[str, Apart | Alike] = {
    "players": Apart(list(range(2, 9)), {"schedule.shape": "up", "schedule.high": 6}),
    "pack.suits": Apart(
        [["C"], ["C", "D"], ["C", "D", "H"], ["C", "D", "H", "S"]], SHORT | {"players": 2}
    ),
    "pack.ranks": Apart([list("9TJQKA"), list("89TJQKA"), list("23456789TJQKA")], SHORT),
    "pack.removed": Apart([[], ["2C"], ["2D"], ["2C", "2D"], ["AS"]], SHORT),
    "pack.specials": Apart(["none"]),
    "schedule.shape": Apart(
        [
            {"schedule": {"shape": "constant", "high": 4, "low": 4, "deals": 4}},
            {"schedule": {"shape": "up", "low": 4, "high": 7}},
            {"schedule": {"shape": "up_down", "low": 4, "high": 7}},
            {"schedule": {"shape": "down", "high": 4}},
            {"schedule": {"shape": "down_up", "high": 4}},
            {"schedule": {"shape": "explicit", "sizes": [4, 5, 6, 7, 8]}},
        ]
    ),
    "schedule.sizes": Apart(
        [[4], [4, 3], [4, 3, 2], [4, 2, 3], [4, 3, 2, 1], [4, 3, 1, 2], [4, *range(1, 11), 9, 8]],
        {"schedule": {"shape": "explicit", "sizes": [1]}},
    ),
    "schedule.deals": Apart(
        [1, 2, 3, 17, 18, 100, 127, 128, 129, 255, 256],
        {"schedule": {"shape": "constant", "high": 3, "deals": 1}},
    ),
    "schedule.low": Apart([1, 2, 3, 4, 5], {"schedule": {"shape": "down", "high": 5}}),
    "schedule.high": Apart([1, 2, 5, 9, 10, 11, "max"], {"schedule.shape": "up"}),
    "schedule.step": Apart([1, 2, 3, 4], {"schedule": {"shape": "up", "high": 13}}),
    "schedule.repeat_low": Apart([1, 2, 3, "players", 100], SHORT),
    "schedule.repeat_high": Apart([1, 2, 3, "players", 100], SHORT),
    "schedule.repeat_each": Apart([1, 2, 3, "players", 20], SHORT),
    "schedule.overflow": Apart(
        ["scale", "plateau"], {"players": 8, "schedule": {"shape": "up", "high": 10}}
    ),
    "schedule.max_deals": Apart([None, 1, 2, 3, 4], SHORT),
    "first_dealer": Alike(
        [0, 1, 3, "random", "first_jack", "high_card"],
        "it decides who deals first, and the dealer is seen; then the deal goes on in turn",
    ),
    "trump.method": Apart(
        [
            "turn_up",
            "dealer_last_card",
            {"trump.method": "fixed", "trump.suit": "H"},
            {"trump.method": "rotation", "trump.rotation": ["H"]},
            "random_suit",
            "none",
        ],
        SHORT,
    ),
    "trump.suit": Apart(list("CDHS"), SHORT | {"trump": {"method": "fixed", "suit": "C"}}),
    "trump.rotation": Apart(
        [["H"], ["H", "S"], ["H", "NT"], ["H", "S", "H"], ["H"] * 15 + ["S"], ["H"] * 15 + ["D"]],
        SHORT | {"trump": {"method": "rotation", "rotation": ["H"]}},
    ),
    "trump.exhausted": Apart(
        ["no_trump", "dealer_last_card", "random_suit", "forbid"],
        {"schedule": {"shape": "up", "high": "max"}},
    ),
    "trump.no_trump_deals": Apart(
        ["none", "final", "largest"], SHORT | {"schedule.repeat_high": 2}
    ),
    "trump.revealed": Apart(["before_bidding", "after_bidding"], SHORT),
    "bidding.order": Apart(["sequential", "simultaneous"], SHORT | {"bidding.hook": "none"}),
    "bidding.hook": Apart(["none", "last_bidder"], SHORT),
    "bidding.hook_min_hand": Apart([1, 2, 3, 10, 26], SHORT),
    "bidding.announce": Apart([False, True], SHORT),
    "blind_one_card": Apart(
        ["never", "always", "first", "last"],
        {"schedule": {"shape": "down_up", "high": 3, "repeat_low": 3}},
    ),
    "play.first_lead": Apart(["eldest", "highest_bidder"], SHORT),
    "play.trump_lead": Apart(
        ["anytime", "after_first_trick", "after_broken", "when_forced"], SHORT
    ),
    "play.head_led_suit": Apart([False, True], SHORT),
    "play.void": Apart(
        ["any", "must_trump", "must_overtrump_else_trump", "must_overtrump_else_free"], SHORT
    ),
    **{
        f"scoring.{name}": Apart(NUMBERS, SHORT)
        for name, kind in field_types(field_types(Rules)["scoring"]).items()
        if kind is int
    },
    "scoring.nil_made": Apart(nils("scoring.nil_made"), SHORT),
    "scoring.nil_missed": Apart(nils("scoring.nil_missed"), SHORT),
    "scoring.table": Apart(tables(), {"schedule": {"shape": "down", "high": 10}}),
    "end.target": Apart([1, 99, 100, 101, 109, 110, 127, 128, 1000, 2047, 2048, 10_000], RACE),
    "end.max_deals": Apart([1, 2, 20, 300, 2047, 2048, 2049, 9_999, 10_000], RACE),
    "tie_break": Apart(["shared", "extra_deals", "most_exact_bids", "largest_bid_total"], SHORT),
    "settlement.kind": Apart(["none", "differences", "pool"], SHORT),
    "settlement.rate": Alike(
        [0.25, 1.0, 50.0], "all payments are as many times larger", {"settlement": "differences"}
    ),
    "settlement.ante": Alike(
        [0.25, 1.0, 50.0], "all payments are as many times larger", {"settlement": "pool"}
    ),
    "hard_score_bonus": Apart(NUMBERS, {"settlement": "differences"}),
    "name": Alike(["custom", "ours"], "a label"),
}


def axes(cls: Any = Rules, prefix: str = "") -> Iterator[str]:
    """Every setting of the rules by its dotted name."""
    for name, kind in field_types(cls).items():
        if dataclasses.is_dataclass(kind):
            yield from axes(kind, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_every_axis_is_listed() -> None:
    assert set(AXES) == set(axes())


@pytest.mark.parametrize("axis", AXES)
def test_one_axis(axis: str) -> None:
    entry = AXES[axis]
    every = list(entry.rules(axis))
    assert axis == "name" or len(set(every)) == len(every)
    for one, other in itertools.combinations(every, 2):
        game = Game(one, seed=1)
        same = first_look(one, game) == first_look(other, game)
        assert same == isinstance(entry, Alike), (axis, one.to_dict(), other.to_dict())


def test_letters_of_a_pack_are_names_only() -> None:
    spanish = Rules.preset("pocha", 4)
    renamed = spanish.replace(pack={"suits": list("WXYZ"), "ranks": list("0123456789")})
    assert first_look(spanish) == first_look(renamed)


# ---------------------------------------------------------------- any two rules


def leaves(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def with_one_other(rules: Rules, other: Rules, rng: random.Random) -> Rules | None:
    """The rules with one setting of other rules; None where the two cannot be together."""
    plain, theirs = rules.to_dict(), other.to_dict()
    *path, name = rng.choice(list(leaves(plain)))
    inner, source = plain, theirs
    for part in path:
        if not isinstance(source, dict) or source.get(part) is None:
            return None
        inner, source = inner[part], source[part]
    if name not in source:
        return None
    inner[name] = source[name]
    try:
        return Rules.from_dict(plain)
    except RulesError:
        return None


PLAYED_BY = (
    "players",
    "pack",
    "plan_size",
    "plan_trump",
    "plan_blind",
    "max_deals",
    "target",
    "rotation",
    "fixed_suit",
    "trump_late",
    "simultaneous",
    "highest_bidder_leads",
    "trump_lead",
    "head",
    "void",
    "tie_break",
    "settlement",
    "hard_score_bonus",
)
"""What the engine goes by, the first dealer, amounts of money and points apart."""


def played_by(rules: Rules) -> list[Any]:
    record = compile_rules(rules)[0]
    sizes = sorted(set(hand_sizes(rules)))
    blind_once = record["blind_once"] and rules.end.target is not None
    hook_from = min(int(record["hook_from"]), 27)
    fields = [np.asarray(record[name]).tolist() for name in PLAYED_BY]
    return [*fields, blind_once, hook_from, record["points"][sizes].tolist()]


@pytest.mark.parametrize("seed", range(4))
def test_what_looks_the_same_is_played_the_same(seed: int) -> None:
    rng = random.Random(seed)
    changed = equal = 0
    while changed < 150:
        rules = random_rules(rng)
        other = with_one_other(rules, random_rules(rng), rng)
        if other is None or other == rules:
            continue
        changed += 1
        if first_look(rules) == first_look(other, Game(rules, seed=1)):
            equal += 1
            assert played_by(rules) == played_by(other), (rules.to_dict(), other.to_dict())
    assert equal < changed / 2


# ---------------------------------------------------------------- games under the same rules


@pytest.mark.parametrize("tie_break", ["most_exact_bids", "largest_bid_total"])
def test_what_settles_a_tie_is_seen(tie_break: str) -> None:
    """The same scores, reached with other bids."""
    game = next(g for g in moments(house(3, 2, 2, tie_break=tie_break), 1) if g.deal == 1)
    field = "exact_bids" if tie_break == "most_exact_bids" else "bid_totals"
    for seat, place in itertools.product(range(3), repeat=2):
        views = set()
        for count in (0, 1, 2, 127, 128, 300, 2100):
            twin = game.copy()
            twin.state[field][0, place] = count
            views.add(look(twin, seat, "universal")[0])
        assert len(views) == 7


def test_an_extra_deal_is_no_other_deal() -> None:
    game = Game(house(3, 2, 2, tie_break="extra_deals"), seed=1)
    views = set()
    for extra in range(11):
        twin = game.copy()
        twin.state["extra"] = extra
        views.add(look(twin, 0, "universal")[0])
    assert len(views) == 11


def test_the_points_that_can_be_reached_are_seen_exactly() -> None:
    """After the own bid, a table that differs in one number of that bid differs in the bytes."""
    for row in range(4):
        for won in range(4):
            table = table_of(most=3)
            table[2][row][won] += 1
            views = []
            for scoring in (table_of(most=3), table):
                game = Game(house(3, 3, scoring={"table": scoring}), seed=1)
                game.apply(60 + row)
                seat = (game.dealer + 1) % 3
                part = layout_of(game.rules, "universal").slices()["points"]
                vector = np.frombuffer(look(game, seat, "universal")[0], np.int8)
                views.append(vector[part].tobytes())
            assert views[0] != views[1]


# ---------------------------------------------------------------- room for rules to come


def test_reserved_values_are_zero_and_named() -> None:
    places = {"phase": slice(3, 4), "led_suit": slice(4, 5), "trump_source": slice(6, 8)}
    places["zero_streak"] = slice(0, 8)
    for seed in range(20):
        rules = random_rules(random.Random(seed))
        part = layout_of(rules, "universal").slices()
        for game in moments(rules, seed, share=0.2, deals=2):
            for seat in range(game.players):
                vector = np.frombuffer(look(game, seat, "universal")[0], np.int8)
                assert not vector[:900].reshape(15, 60)[:, 52:].any(), "cards outside the suits"
                for name, spare in places.items():
                    assert not vector[part[name]][spare].any(), name
                start = part["rules"].start
                for feature in RULE_FEATURES:
                    if feature.setting.startswith("("):
                        assert not vector[start : start + feature.length].any()
                    start += feature.length
    for name in places:
        assert "reserved" in SECTION_MEANINGS[name]


def test_the_tables_name_every_value() -> None:
    text = rule_features_table()
    for feature in RULE_FEATURES:
        assert feature.setting in text
    lengths = [int(line.split("|")[3]) for line in text.splitlines()[2:]]
    room = {name: length for name, _, length in sections("oh_hell", "universal")}
    assert sum(lengths) == room["rules"] == RULE_FEATURES_WIDTH
    assert "points of this deal" in section_table("oh_hell", "universal")


LATER: dict[str, tuple[dict[str, Any], list[int], list[int]]] = {
    "largest": ({"trump.no_trump_deals": "largest"}, [6, 4, 5], [5, 4, 5]),
    "first blind": ({"blind_one_card": "first"}, [1, 2, 1], [2, 2, 1]),
    "extra deals": ({"tie_break": "extra_deals"}, [1, 2, 3, 3, 3], [1, 6, 3, 3, 3]),
}
"""Settings, and two schedules whose deals to come differ for what has been dealt before."""


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("players", range(2, 9))
def test_deals_to_come_are_told_apart_when_what_decides_them_is_over(
    name: str, players: int
) -> None:
    settings, *both = LATER[name]
    games: list[Game] = []
    for sizes in both:
        rules = Rules(players=players).replace(
            **{"schedule": {"shape": "explicit", "sizes": sizes}, **settings}
        )
        game = Game(rules, seed=1)
        while game.deal < (2 if name == "extra deals" else 1):
            game.apply(game.legal_actions()[0])
        games.append(game)
    one, other = games
    for field in (*LUCK, "scores", "bid_totals", "exact_bids", "trump_source"):
        other.state[field] = one.state[field]
    looks = [look(game, game.seat, "universal")[0] for game in games]
    assert looks[0] != looks[1]
