"""The ``Rules`` object: round trips, names of settings, clashes, immutability."""

from __future__ import annotations

import dataclasses
import pickle
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from ohhell_env.cards import Pack
from ohhell_env.errors import OhHellError, RulesError
from ohhell_env.rules import Rules, as_rules
from ohhell_env.rules.axes import (
    SCORINGS,
    Bidding,
    End,
    NilScore,
    Play,
    Schedule,
    Scoring,
    Settlement,
    Trump,
)
from ohhell_env.rules.schedule import hand_sizes, num_deals, sure_number_of_deals
from ohhell_env.rules.variants import VARIANTS, depends_on_players, variants
from ohhell_env.testing import random_rules
from tests.helpers import house

# ---------------------------------------------------------------- presets and round trips


def every_preset() -> list[tuple[str, int]]:
    return [
        (name, players)
        for name in variants()
        for players in range(2, 9)
        if not (name == "romanian_whist" and players > 6)
    ]


@pytest.mark.parametrize(("name", "players"), every_preset())
def test_every_preset_of_every_size_round_trips(name: str, players: int, tmp_path: Path):
    rules = Rules.preset(name, players)
    assert rules.players == players and rules.name == name
    again = Rules.from_dict(rules.to_dict())
    assert again == rules and again.name == name
    path = tmp_path / "rules.yaml"
    path.write_text(rules.to_yaml(), encoding="utf-8")
    assert Rules.from_yaml(path) == rules
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert hash(again) == hash(rules)


def test_random_rules_round_trip(rng: Any, tmp_path: Path):
    path = tmp_path / "rules.yaml"
    for _ in range(20):
        rules = random_rules(rng)
        assert Rules.from_dict(rules.to_dict()) == rules
        path.write_text(rules.to_yaml(), encoding="utf-8")
        assert Rules.from_yaml(path) == rules


def test_to_dict_is_plain_data():
    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(part) for key, part in value.items())
        if isinstance(value, list):
            return all(plain(part) for part in value)
        return value is None or type(value) in (str, int, float, bool)

    for name in variants():
        assert plain(Rules.preset(name).to_dict())


OTHER_NAMES = {
    "contract_whist": "nomination_whist",
    "up_and_down": "up_and_down_the_river",
    "blob": "blackout",
    "blackouts": "spruce",
    "thesprucecrafts": "spruce",
    "german_bridge": "oh_hell",
    "judgement": "kachuful",
    "judgment": "kachuful",
    "kachufool": "kachuful",
    "romwhist": "romanian_whist",
}


@pytest.mark.parametrize("other", OTHER_NAMES)
def test_other_names_open_the_same_rules(other: str):
    name = OTHER_NAMES[other]
    for written in (other, other.upper(), other.replace("_", " ").title(), f" {other}!"):
        rules = Rules.preset(written, 5)
        assert rules == Rules.preset(name, 5)
        assert rules.name == name
    assert as_rules(other) == Rules.from_dict({"preset": other}) == Rules.preset(name)
    with pytest.raises(RulesError, match=re.escape(repr(other))):
        Rules.preset(other[:-1] + "x")


def test_no_name_stands_for_two_variants():
    others = [other for variant in VARIANTS.values() for other in variant.also]
    assert sorted(others) == sorted(OTHER_NAMES)
    assert not set(others) & set(VARIANTS)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_title_is_a_name(name: str):
    """Whatever stands in the rules in words opens them."""
    for title in VARIANTS[name].title.partition(":")[0].split(", "):
        if title.startswith(("Oh Hell as", "Oh Hell with")):
            continue
        assert Rules.preset(title).name == name


def test_the_default_is_the_pagat_game_with_common_scoring():
    rules = Rules()
    assert rules.players == 4
    assert rules.scoring == SCORINGS["common"]
    assert rules == Rules.preset("up_and_down_the_river")
    assert rules.replace(first_dealer="high_card") == Rules.preset("oh_hell")


def test_variants_are_named_in_the_order_of_the_rules():
    expected = "oh_well nomination_whist up_and_down_the_river oh_pshaw british_oh_hell blackout "
    expected += "oh_hell spruce la_podrida kachuful rikiki pocha romanian_whist boerenbridge "
    expected += "podrida plump escalating open_spiel_oh_hell"
    assert " ".join(variants()) == expected


PRESET_ROWS: dict[str, dict[str, Any]] = {
    "oh_well": {
        "schedule.shape": "constant",
        "schedule.high": "max",
        "trump.method": "dealer_last_card",
        "bidding.hook": "none",
        "end.target": 100,
        "settlement.kind": "differences",
    },
    "nomination_whist": {"schedule.high": 7, "first_dealer": "first_jack"},
    "up_and_down_the_river": {},
    "oh_pshaw": {
        "schedule.shape": "up",
        "schedule.high": 15,
        "bidding.hook": "none",
        "bidding.announce": True,
        "scoring": "simple",
    },
    "british_oh_hell": {
        "schedule.shape": "up",
        "schedule.high": "max",
        "bidding.hook": "none",
        "scoring": "bonus_only",
    },
    "blackout": {"first_dealer": "high_card", "scoring": "simple"},
    "oh_hell": {"first_dealer": "high_card"},
    "spruce": {
        "schedule.shape": "up",
        "schedule.high": 15,
        "bidding.hook": "none",
        "trump.no_trump_deals": "final",
        "scoring": "simple",
    },
    "la_podrida": {
        "schedule.shape": "up",
        "schedule.high": 15,
        "bidding.hook": "none",
        "trump.no_trump_deals": "final",
        "scoring": "simple",
        "play.void": "must_trump",
    },
    "kachuful": {
        "schedule.shape": "up",
        "schedule.high": "max",
        "trump.method": "rotation",
        "trump.rotation": ["S", "D", "C", "H"],
        "scoring": "simple",
    },
    "rikiki": {
        "schedule.shape": "up_down",
        "schedule.high": "max",
        "schedule.repeat_high": 2,
        "schedule.repeat_each": "players",
        "trump.exhausted": "random_suit",
        "play.void": "must_trump",
        "scoring": "simple",
    },
    "pocha": {
        "pack.suits": ["O", "C", "E", "B"],
        "pack.ranks": list("24567SCK3A"),
        "schedule.shape": "up_down",
        "schedule.high": "max",
        "schedule.repeat_low": "players",
        "schedule.repeat_high": "players",
        "trump.exhausted": "dealer_last_card",
        "play.head_led_suit": True,
        "play.void": "must_overtrump_else_free",
        "scoring": "pocha",
    },
    "romanian_whist": {
        "pack.removed": [rank + suit for rank in "23456" for suit in "CDHS"],
        "schedule.shape": "up_down",
        "schedule.high": 8,
        "schedule.repeat_low": "players",
        "schedule.repeat_high": "players",
        "play.void": "must_trump",
        "scoring": "romanian",
    },
    "boerenbridge": {
        "schedule.shape": "up_down",
        "schedule.high": "max",
        "bidding.hook_min_hand": 4,
        "blind_one_card": "first",
        "scoring": "romanian",
    },
    "podrida": {"schedule.high": "max", "schedule.repeat_low": "players", "scoring": "podrida"},
    "plump": {
        "schedule.repeat_low": "players",
        "trump.method": "none",
        "play.first_lead": "highest_bidder",
        "scoring": "plump",
    },
    "escalating": {
        "schedule.repeat_low": "players",
        "trump.exhausted": "forbid",
        "scoring": "escalating",
    },
    "open_spiel_oh_hell": {
        "schedule.shape": "explicit",
        "schedule.sizes": [12],
        "trump.exhausted": "forbid",
    },
}
"""The rows of the table of presets, for four players (where it matters)."""


@pytest.mark.parametrize("name", VARIANTS)
def test_every_preset_is_its_row_of_the_rules(name: str):
    assert Rules.preset(name, 4) == Rules.from_dict(PRESET_ROWS[name])


def test_presets_that_depend_on_the_number_of_players():
    assert Rules.preset("rikiki", 3).pack.removed == ("2C",)
    assert Rules.preset("pocha", 3).pack.size == 36
    assert [Rules.preset("romanian_whist", n).pack.size for n in range(3, 7)] == [24, 32, 40, 48]
    assert max(hand_sizes(Rules.preset("escalating", 6))) == 8
    assert hand_sizes(Rules.preset("open_spiel_oh_hell", 3)) == (17,)


# ---------------------------------------------------------------- replacing settings


def test_replace_a_dotted_field_an_axis_by_name_by_object_and_by_dict():
    rules = Rules.preset("nomination_whist")
    dotted = rules.replace(**{"bidding.hook": "none"})
    assert dotted.bidding == Bidding(hook="none")
    assert rules.replace(bidding=Bidding(hook="none")) == dotted
    assert rules.replace(bidding={"hook": "none"}) == dotted
    assert rules.replace(scoring="simple").scoring == SCORINGS["simple"]
    assert rules.replace(scoring=Scoring(miss_per_trick=0)).scoring == SCORINGS["simple"]
    assert rules.bidding.hook == "last_bidder"  # the original is as it was


def test_replace_merges_a_dict_into_the_axis_as_it_is():
    rules = house(schedule__shape="up", schedule__high=6).replace(schedule={"step": 5})
    assert rules.schedule == Schedule(shape="up", high=6, step=5)


def test_replace_several_fields_of_one_axis():
    rules = Rules().replace(**{"schedule.low": 2, "schedule.high": 5, "players": 3})
    assert hand_sizes(rules) == (5, 4, 3, 2, 3, 4, 5)


def test_replace_a_whole_axis_by_name():
    assert Rules().replace(settlement="pool").settlement == Settlement(kind="pool")
    assert Rules.preset("oh_well").replace(end="schedule", **{"schedule.deals": 3}).end == End()
    assert Rules.preset("pocha", 4).replace(pack="standard").pack == Pack()


def test_nil_options_by_name_by_list_and_by_object():
    expected = dataclasses.replace(SCORINGS["simple"], nil_made=NilScore(5, 1))
    for value in ({"base": 5, "per_card": 1}, [5, 1], NilScore(5, 1)):
        rules = Rules.preset("spruce").replace(**{"scoring.nil_made": value})
        assert rules.scoring == expected
    deep = Rules.preset("spruce").replace(**{"scoring.nil_made": [5, 0]})
    assert deep.replace(**{"scoring.nil_made.per_card": 1}).scoring == expected


@pytest.mark.parametrize("name", ["rikiki", "pocha", "romanian_whist", "open_spiel_oh_hell"])
def test_players_on_a_preset_that_depends_on_them_raises(name: str):
    assert depends_on_players(name)
    rules = Rules.preset(name, 4)
    with pytest.raises(RulesError, match=rf"Rules\.preset\('{name}', players=5\)"):
        rules.replace(players=5)
    assert rules.replace(players=4) == rules
    with pytest.raises(RulesError, match=rf"Rules\.preset\('{name}', players=5\)"):
        Rules.from_dict(rules.to_dict()).replace(players=5)


def test_players_on_any_other_preset_is_replaced():
    assert Rules.preset("oh_hell").replace(players=6) == Rules.preset("oh_hell", 6)


def test_immutable_and_hashable():
    rules = Rules()
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.players = 5  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.bidding.hook = "none"  # pyright: ignore[reportAttributeAccessIssue]
    same = Rules.from_dict({"schedule": {"sizes": []}})
    assert {rules: "a"}[same] == "a"
    assert len({rules, same, rules.replace(players=5)}) == 2


def test_the_name_takes_no_part_in_comparisons():
    assert Rules(name="mine") == Rules()


def test_lists_become_tuples_and_removed_cards_are_sorted():
    rules = house(schedule__shape="explicit", schedule__sizes=[3, 2], pack__removed=["2S", "2C"])
    assert rules.schedule.sizes == (3, 2)
    assert rules.pack.removed == ("2C", "2S")
    assert rules == house(4, 3, 2, pack__removed=["2C", "2S"])


# ---------------------------------------------------------------- YAML


def from_text(tmp_path: Path, text: str) -> Rules:
    path = tmp_path / "house.yaml"
    path.write_text(text, encoding="utf-8")
    return Rules.from_yaml(path)


def test_yaml_with_a_preset(tmp_path: Path):
    text = "preset: pocha\nplayers: 3\nscoring: common\nbidding: {hook: none}\nplay.void: any\n"
    expected = Rules.preset("pocha", 3).replace(
        scoring="common", **{"bidding.hook": "none", "play.void": "any"}
    )
    assert from_text(tmp_path, text) == expected


def test_an_empty_yaml_file_is_the_default_game(tmp_path: Path):
    assert from_text(tmp_path, "") == Rules()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("preset: oh_hel", "'oh_hell'"),
        ("- 1\n- 2", "settings by name"),
        ("players: [", "cannot read rules"),
        ("bidding: {hoook: none}", r"'bidding\.hoook'.*'hook'"),
        ("players: four", "players"),
    ],
)
def test_a_wrong_yaml_file_raises_and_names_the_file(tmp_path: Path, text: str, message: str):
    with pytest.raises(RulesError, match=message) as caught:
        from_text(tmp_path, text)
    assert "house.yaml" in str(caught.value)


def test_yaml_cannot_build_python_objects(tmp_path: Path):
    with pytest.raises(RulesError, match="cannot read rules"):
        from_text(tmp_path, "players: !!python/object/apply:os.getcwd []")


def test_to_yaml_is_safe_yaml():
    assert yaml.safe_load(Rules.preset("pocha").to_yaml()) == Rules.preset("pocha").to_dict()


def test_as_rules_of_every_form(tmp_path: Path):
    rules = Rules.preset("oh_hell", 5)
    path = tmp_path / "mine.yml"
    path.write_text(rules.to_yaml(), encoding="utf-8")
    assert as_rules(rules) is rules
    assert as_rules("oh_hell", 5) == as_rules(path) == as_rules(str(path)) == rules
    assert as_rules(rules, 6) == as_rules(path, 6) == Rules.preset("oh_hell", 6)
    with pytest.raises(RulesError, match="got 3"):
        as_rules(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RulesError, match=r"cannot read.*nowhere\.yaml"):
        as_rules("nowhere.yaml")


# ---------------------------------------------------------------- wrong names and values


def test_an_unknown_variant_names_the_nearest():
    with pytest.raises(RulesError, match=r"'nomination_wist'.*'nomination_whist'"):
        Rules.preset("nomination_wist")
    with pytest.raises(RulesError, match=r"allowed: oh_well, .*open_spiel_oh_hell"):
        Rules.preset("zzz")


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("biding", "'bidding'"),
        ("bidding.hok", "'hook'"),
        ("schedule.hihg", "'high'"),
        ("scoring.nil_mde", "'nil_made'"),
        ("end.max_deal", "'max_deals'"),
        ("tiebreak", "'tie_break'"),
    ],
)
def test_an_unknown_setting_names_the_nearest(key: str, nearest: str):
    with pytest.raises(RulesError, match=nearest):
        Rules.from_dict({key: 1})
    with pytest.raises(RulesError, match=nearest):
        Rules().replace(**{key: 1})


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("bidding.hook", "last_biddr", "'last_bidder'"),
        ("bidding.order", "parallel", "sequential, simultaneous"),
        ("schedule.shape", "updown", "'up_down'"),
        ("scoring", "comon", "'common'"),
        ("tie_break", "share", "'shared'"),
        ("play.void", "must_ruff", "must_trump"),
        ("settlement", "pot", "none, differences, pool"),
        ("first_dealer", "jack", "first_dealer"),
        ("trump.method", True, "got True"),
        ("players", 3.0, "got 3.0"),
        ("players", "3", "got '3'"),
        ("players", True, "got True"),
        ("bidding.announce", 1, "true or false"),
        ("schedule.high", "top", "got 'top'"),
        ("schedule.sizes", "5", "a list"),
        ("scoring.exact_bonus", 1.5, "a whole number"),
        ("scoring.nil_made", [1, 2, 3], "2 values"),
        ("settlement.rate", "much", "a number"),
        ("players.x", 1, "is a single value"),
        ("bidding.hook.x", 1, "bidding"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(key: str, value: Any, hint: str):
    with pytest.raises(RulesError) as caught:
        Rules.from_dict({key: value})
    assert hint in str(caught.value)
    assert key.split(".", maxsplit=1)[0] in str(caught.value)


@pytest.mark.parametrize("players", [0, 1, 9, -3, 2.5, "4", True])
def test_players_out_of_range(players: Any):
    with pytest.raises(RulesError, match="players"):
        Rules.preset("oh_hell", players)
    with pytest.raises(RulesError, match="players"):
        Rules.from_dict({"players": players})


def test_errors_are_of_the_projects_own_kind():
    assert issubclass(RulesError, OhHellError) and issubclass(OhHellError, ValueError)


# ---------------------------------------------------------------- what clashes

CLASHES: list[tuple[str, dict[str, Any], list[str]]] = [
    # number of the paragraph, settings, what the message must name
    ("1 explicit", {"players": 8, "schedule": {"shape": "explicit", "sizes": [7]}},
     ["schedule", "8 hands of 7", "52", "hand size is 6"]),
    ("1 constant", {"players": 8, "schedule": {"shape": "constant", "high": 7, "deals": 1}},
     ["schedule", "8 hands of 7", "hand size is 6"]),
    ("1 error", {"players": 8, "schedule.overflow": "error"},
     ["schedule.high=10", "8 players", "schedule.overflow", "'scale'", "'plateau'"]),
    ("2 forbid", {"schedule": {"shape": "explicit", "sizes": [13]}, "trump.exhausted": "forbid"},
     ["13", "hand size is 12"]),
    ("3 one card each", {"players": 8, "pack": {"suits": ["H"], "ranks": ["K", "A"]}},
     ["players=8", "pack of 2 cards", "fewer players or a larger pack"]),
    ("3 no card to turn", {"players": 4, "pack": {"suits": ["H"], "ranks": ["J", "Q", "K", "A"]},
                           "trump.exhausted": "forbid"},
     ["schedule.low=1", "4 players"]),
    ("4", {"bidding.order": "simultaneous"},
     ["bidding.order='simultaneous'", "bidding.hook='last_bidder'", "'none'", "'sequential'"]),
    ("8 simple", {"end.target": 100, "scoring": "simple"},
     ["end.target=100", "end.max_deals"]),
    ("8 penalties", {"end.target": 100, "scoring": "pocha"},
     ["end.target=100", "end.max_deals"]),
    ("9 jack", {"pack.removed": ["JC", "JD", "JH", "JS"], "first_dealer": "first_jack"},
     ["first_dealer='first_jack'", "pack", "'random'", "'high_card'"]),
    ("9 fixed", {"pack.suits": ["C", "D"], "schedule.high": 2, "trump.method": "fixed",
                 "trump.suit": "S"},
     ["trump.suit", "trump.method='fixed'", "C, D", "'S'"]),
    ("9 fixed without a suit", {"trump.method": "fixed"},
     ["trump.method='fixed'", "trump.suit", "C, D, H, S"]),
    ("9 rotation", {"pack.suits": ["C", "D"], "schedule.high": 2, "trump.method": "rotation",
                    "trump.rotation": ["C", "S"]},
     ["trump.rotation", "'S'", "C, D, NT"]),
    ("9 rotation without suits", {"trump.method": "rotation"},
     ["trump.method='rotation'", "trump.rotation"]),
    ("10 step", {"schedule.step": 2}, ["1 to 10", "steps of 2", "schedule.high to 9 or 11"]),
    ("10 low", {"players": 8, "schedule": {"low": 8, "high": 9}},
     ["schedule.low=8", "8 players", "6 cards"]),
    ("10 low above high", {"schedule": {"low": 5, "high": 4}},
     ["schedule.low=5", "schedule.high=4"]),
    ("end: final", {"end.target": 100, "trump.no_trump_deals": "final"},
     ["trump.no_trump_deals='final'", "end.target", "'none'", "'largest'"]),
    ("end: blind", {"end.target": 100, "blind_one_card": "last"},
     ["blind_one_card='last'", "end.target", "'first'", "'always'"]),
    ("constant without an end", {"schedule.shape": "constant"},
     ["schedule.shape='constant'", "schedule.deals", "end.target"]),
    ("deals with a target", {"schedule": {"shape": "constant", "deals": 3}, "end.target": 100},
     ["schedule.deals", "end.target", "end.max_deals"]),
    ("deals of a ladder", {"schedule.deals": 3}, ["schedule.deals", "schedule.shape='constant'"]),
    ("sizes of a ladder", {"schedule.sizes": [3]},
     ["schedule.sizes", "schedule.shape='explicit'"]),
    ("explicit without sizes", {"schedule.shape": "explicit"},
     ["schedule.shape='explicit'", "schedule.sizes"]),
    ("max_deals without a target", {"end.max_deals": 3},
     ["end.max_deals", "end.target", "schedule.max_deals"]),
    ("suit without fixed", {"trump.suit": "S"}, ["trump.suit='S'", "trump.method='fixed'"]),
    ("rotation without its method", {"trump.rotation": ["S"]},
     ["trump.rotation", "trump.method='rotation'"]),
    ("dealer's seat", {"players": 3, "first_dealer": 3}, ["first_dealer", "0 to 2", "3"]),
    ("table too small", {"scoring.table": [[[1, 2], [3, 4]]]}, ["scoring.table", "1 to 10"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "named"), [case[1:] for case in CLASHES], ids=[case[0] for case in CLASHES]
)
def test_a_clash_names_the_settings_and_a_remedy(settings: dict[str, Any], named: list[str]):
    with pytest.raises(RulesError) as caught:
        Rules.from_dict(settings)
    assert [word for word in named if word not in str(caught.value)] == []


def test_2_9_5_dealer_last_card_with_cards_left_is_legal():
    assert house(4, 5, trump__method="dealer_last_card").trump == Trump(method="dealer_last_card")


def test_2_9_6_duties_without_trumps_are_legal():
    play = Play(void="must_trump", trump_lead="when_forced")
    assert house(trump__method="none", play=play).play == play


def test_2_9_7_blind_with_large_hands_is_legal():
    assert house(4, 5, blind_one_card="always").blind_one_card == "always"


def test_2_9_11_hook_with_two_players_and_one_card_is_legal():
    assert house(2, 1).bidding.hook == "last_bidder"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schedule.low", 0),
        ("schedule.step", 0),
        ("schedule.high", -1),
        ("schedule.repeat_low", 0),
        ("schedule.repeat_each", 0),
        ("schedule.max_deals", 0),
        ("schedule.repeat_high", 10_000),
        ("bidding.hook_min_hand", 0),
        ("end.target", 0),
        ("settlement.rate", 0),
        ("settlement.ante", -1),
        ("settlement.rate", float("nan")),
        ("settlement.rate", float("inf")),
        ("hard_score_bonus", 10**9),
        ("scoring.exact_bonus", 10**9),
        ("pack.removed", ["1C"]),
        ("pack.removed", ["2C", "2C"]),
        ("pack.suits", []),
        ("pack.suits", list("ABCDE")),
        ("pack.ranks", ["A", "A"]),
        ("pack.ranks", ["10"]),
    ],
)
def test_numbers_and_packs_out_of_range_raise(key: str, value: Any):
    with pytest.raises(RulesError, match=key.rsplit(".", maxsplit=1)[-1]):
        Rules.from_dict({key: value})


# ---------------------------------------------------------------- how long a game can be


def test_number_of_deals_of_a_game_with_a_target_is_the_formula():
    for target in (1, 50, 100, 500):
        for players in range(2, 9):
            rules = Rules.preset("oh_well", players).replace(**{"end.target": target})
            size = hand_sizes(rules)[0]
            assert num_deals(rules) == (target - 1) * players // size + 1


def test_number_of_deals_is_exact_where_tricks_bring_odd_points():
    """All five tricks of a deal bring 1 point: a fifth of a point for a trick."""
    table = [[list(range(size + 1)) for _ in range(size + 1)] for size in range(1, 6)]
    for row in table[4]:
        row[5] = 1
    least = Fraction(1, 5)
    for target in range(2, 120):
        rules = house(3, 3, 5, scoring={"table": table}, end__target=target)
        assert sure_number_of_deals(rules) == (target - 1) * 3 // (least * 3) + 1


def test_an_explicit_number_of_deals_wins():
    rules = Rules.preset("oh_well", 4).replace(**{"end.max_deals": 7})
    assert num_deals(rules) == 7
