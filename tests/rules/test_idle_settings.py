"""Settings that change nothing are named, and nothing else is."""

from __future__ import annotations

import doctest
import random
from typing import Any

import pytest

from ohhell_env.engine.layout import compile_rules
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from ohhell_env.rules import idle_settings as module
from ohhell_env.rules.explain import explain
from ohhell_env.rules.idle_settings import _with_old_value, idle_settings
from ohhell_env.rules.phrases import changes
from ohhell_env.testing import play_random, random_rules
from tests.rules.test_explain import CHANGES, PLAYABLE

WITHOUT_A_WORD_BEFORE = "No effect in this game: "
ONE_CARD = {"schedule": {"shape": "explicit", "sizes": [1]}}
ALL_POINTS = ("exact_bonus", "exact_per_trick", "miss_per_trick")
TABLE = {"schedule.high": 1, "scoring.table": [[[4, 0], [0, 9]]]}

IDLE: list[tuple[dict[str, Any], str]] = [
    ({"hard_score_bonus": 10}, "hard_score_bonus = 10 (needs settlement.kind = differences)."),
    (
        {"hard_score_bonus": 10, "settlement": "pool"},
        "hard_score_bonus = 10 (needs settlement.kind = differences).",
    ),
    ({"settlement.rate": 0.5}, "settlement.rate = 0.5 (needs settlement.kind = differences)."),
    (
        {"settlement": {"kind": "differences", "ante": 5}},
        "settlement.ante = 5.0 (needs settlement.kind = pool).",
    ),
    (
        {"bidding": {"hook": "none", "hook_min_hand": 3}},
        "bidding.hook_min_hand = 3 (needs bidding.hook = last_bidder).",
    ),
    (
        {**ONE_CARD, "bidding.hook_min_hand": 1, "play.void": "must_trump"},
        "play.void = must_trump.",
    ),
    ({**ONE_CARD, "play.head_led_suit": True}, "play.head_led_suit = True."),
    ({"trump.method": "none", "play.void": "must_trump"}, "play.void = must_trump."),
    (
        {"trump.method": "none", "play.trump_lead": "after_broken"},
        "play.trump_lead = after_broken.",
    ),
    (
        {"trump.method": "none", "trump.revealed": "after_bidding"},
        "trump.revealed = after_bidding.",
    ),
    ({"trump.exhausted": "forbid"}, "trump.exhausted = forbid."),
    ({"schedule.low": 2, "blind_one_card": "always"}, "blind_one_card = always."),
    ({"schedule.overflow": "plateau"}, "schedule.overflow = plateau."),
    ({"schedule.max_deals": 19}, "schedule.max_deals = 19."),
    (
        {"schedule": {"shape": "explicit", "sizes": [3, 2], "step": 3}},
        "schedule.step = 3 (not used with schedule.shape = explicit).",
    ),
    (
        {**TABLE, "scoring.exact_bonus": 5},
        "scoring.exact_bonus = 5 (replaced by scoring.table).",
    ),
    ({"scoring.nil_made": [10, 0]}, "scoring.nil_made = {'base': 10, 'per_card': 0}."),
    ({"end": {"target": 50, "max_deals": 500}}, "end.max_deals = 500."),
]


def named(text: str) -> str:
    """What the rules in words say about settings without effect, or nothing."""
    flat = " ".join(text.split())
    _, found, after = flat.partition(WITHOUT_A_WORD_BEFORE)
    return after.partition(" Players and pack")[0] if found else ""


@pytest.mark.parametrize(("settings", "said"), IDLE)
@pytest.mark.parametrize("name", ["custom", "up_and_down_the_river"])
def test_a_setting_that_does_nothing_is_named(
    settings: dict[str, Any], said: str, name: str
) -> None:
    start = Rules() if name == "custom" else Rules.preset(name)
    assert named(explain(start.replace(**settings))) == said


@pytest.mark.parametrize(("name", "players"), PLAYABLE)
def test_variants_as_they_are_name_none(name: str, players: int) -> None:
    assert named(explain(Rules.preset(name, players))) == ""


@pytest.mark.parametrize("setting", CHANGES)
def test_settings_that_do_something_are_not_named(setting: str) -> None:
    changed, _ = CHANGES[setting]
    assert setting not in named(explain(Rules().replace(**changed)))


def test_a_target_that_no_score_can_reach_is_named() -> None:
    end = {"end.target": 100, "end.max_deals": 5}
    nothing = {
        f"scoring.{name}": 0 for name in ("exact_bonus", "exact_per_trick", "miss_per_trick")
    }
    for points, idle in ({}, {"end.target": ""}), ({"scoring.exact_bonus": 1}, {}):
        base = Rules(players=4).replace(**(end | nothing | points))
        higher = base.replace(**{"end.target": 200})
        assert idle_settings(higher, base, {"end.target": 200}) == idle


def test_of_two_settings_that_do_the_same_one_counts() -> None:
    rules = Rules().replace(schedule={"high": 1, "repeat_low": 3, "repeat_high": 3})
    assert named(explain(rules)) == "schedule.repeat_low = 3."


def _played(rules: Rules) -> list[bytes]:
    """All that the engine knows of rules but their features, which only an observation shows."""
    record = compile_rules(rules)[0]
    names = [name for name in record.dtype.names or () if name not in ("features", "announce")]
    return [record[name].tobytes() for name in names]


def test_what_the_engine_sees_no_difference_in_is_named() -> None:
    """Over random rules: a change that leaves the engine's rules as they were has no effect."""
    chance, found = random.Random(5), 0
    while found < 40:
        rules = random_rules(chance)
        base = Rules(players=rules.players)
        changed = changes(rules, base)
        key = chance.choice(sorted(changed))
        old: Any = base.to_dict()
        for part in key.split("."):
            old = old[part]
        try:
            without = rules.replace(**{key: old})
        except RulesError:
            continue
        apart = key.startswith(("pack.", "players", "bidding.announce"))  # they show in words
        if not apart and _played(without) == _played(rules):
            found += 1
            assert key in idle_settings(rules, without, {key: changed[key]}), (key, rules)


def test_games_are_the_same_without_what_is_named() -> None:
    """Over random rules: the same seed and choices make the same game to the last point."""
    chance, found = random.Random(6), 0
    while found < 40:
        rules = random_rules(chance)
        base = Rules(players=rules.players)
        idle = idle_settings(rules, base, changes(rules, base))
        if not idle:
            continue
        found += 1
        without = rules
        for key in idle:
            without = _with_old_value(without, base, key)
            assert without is not None
        games = [
            play_random(Game(one, seed=found), random.Random(found), None, 200).record()
            for one in (rules, without)
        ]
        for part in ("deals", "scores", "win_shares", "settlement"):
            assert games[0][part] == games[1][part], (idle, rules)


def test_examples_in_docstrings() -> None:
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0
