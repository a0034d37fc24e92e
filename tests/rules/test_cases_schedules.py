"""Cases 1 to 20 of the rules: schedules and packs. (10: two packs, 20: Wizard, not offered yet.)

Every schedule is worked out twice: by ``schedule.hand_sizes`` and by the naive referee.
"""

from __future__ import annotations

import random

import pytest

from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import TrumpSource, deal_plans, hand_sizes
from tests.helpers import Table, house
from tests.reference import Referee


def sizes(rules: Rules) -> list[int]:
    ours, theirs = list(hand_sizes(rules)), Referee(rules.to_dict()).sizes
    assert ours == theirs
    return ours


def preset_sizes(name: str, players: int) -> list[int]:
    return sizes(Rules.preset(name, players))


def no_trump_deals(rules: Rules) -> list[int]:
    """Numbers (from 1) of the deals that are no-trump."""
    plans = deal_plans(rules)
    return [d for d, plan in enumerate(plans, 1) if plan.trump is TrumpSource.NO_TRUMP]


def down_up(high: int, low: int = 1) -> list[int]:
    return [*range(high, low, -1), *range(low, high + 1)]


def up_down(high: int) -> list[int]:
    return [*range(1, high), *range(high, 0, -1)]


def test_case_01_oh_well_of_three_leaves_one_card_unseen():
    table = Table(Rules.preset("oh_well", 3), seed=1)
    dealt = [card for hand in table.game.dealt for card in hand]
    assert [len(hand) for hand in table.game.dealt] == [17, 17, 17]
    assert len(set(table.rules.pack.cards) - set(dealt)) == 1
    assert table.game.turned in table.game.dealt[table.game.dealer]


@pytest.mark.parametrize(
    ("players", "size", "unseen"), [(4, 13, 0), (5, 10, 2), (6, 8, 4), (7, 7, 3)]
)
def test_case_02_oh_well_hands_and_unseen_cards(players: int, size: int, unseen: int):
    table = Table(Rules.preset("oh_well", players), seed=2)
    assert [len(hand) for hand in table.game.dealt] == [size] * players
    assert 52 - players * size == unseen
    assert set(preset_sizes("oh_well", players)) == {size}


def test_case_03_unseen_cards_stay_unseen_and_are_fresh_in_each_deal(rng: random.Random):
    table = Table(Rules.preset("oh_well", 7), seed=3)
    unseen_in: list[set[int]] = []
    for _ in range(4):
        game = table.game
        unseen = set(table.rules.pack.cards) - {c for hand in game.dealt for c in hand}
        names = {table.name(card) for card in unseen}
        while game.deal == len(unseen_in) and not game.over:
            for seat in range(7):
                seen = table.view(seat)
                known = {*seen["hand"], seen["turned"], *(card for _, card in seen["plays"])}
                assert not known & names
            table.act(rng.choice(game.legal_actions()))
        played = {c for trick in game.finished_deals[-1]["tricks"] for _, c in trick}
        assert len(played) == 49 and not played & names
        unseen_in.append(unseen)
    assert len({frozenset(unseen) for unseen in unseen_in}) > 1


@pytest.mark.parametrize("players", range(3, 8))
def test_case_04_nomination_whist(players: int):
    assert preset_sizes("nomination_whist", players) == [7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7]


def test_case_05_oh_hell_of_four():
    schedule = preset_sizes("oh_hell", 4)
    assert len(schedule) == 19
    assert (schedule[0], schedule[18], schedule[9]) == (10, 10, 1)


@pytest.mark.parametrize(("players", "high", "deals"), [(6, 8, 15), (7, 7, 13)])
def test_case_06_oh_hell_of_six_and_seven(players: int, high: int, deals: int):
    assert preset_sizes("oh_hell", players) == down_up(high)
    assert len(down_up(high)) == deals


@pytest.mark.parametrize("players", [4, 5])
def test_case_07_up_and_down_the_river(players: int):
    assert preset_sizes("up_and_down_the_river", players) == down_up(10)


def test_case_07_five_players_leave_one_card_unseen():
    game = Table(Rules.preset("up_and_down_the_river", 5), seed=4).game
    dealt = {card for hand in game.dealt for card in hand}
    assert len(dealt) == 50 and game.turned not in dealt
    assert len(set(game.rules.pack.cards) - dealt - {game.turned}) == 1


@pytest.mark.parametrize(("players", "high", "deals"), [(6, 8, 15), (7, 7, 13), (8, 6, 11)])
def test_case_08_up_and_down_the_river_scaled(players: int, high: int, deals: int):
    schedule = preset_sizes("up_and_down_the_river", players)
    assert schedule == down_up(high) and len(schedule) == deals


def test_case_09_up_and_down_the_river_of_eight_on_a_plateau():
    rules = Rules.preset("up_and_down_the_river", 8)
    plateau = rules.replace(**{"schedule.overflow": "plateau"})
    assert sizes(plateau) == [6, 6, 6, 6, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6]


def test_case_09_error_mode_raises():
    rules = Rules.preset("up_and_down_the_river", 8)
    with pytest.raises(RulesError, match=r"schedule\.high=10.*6 cards.*schedule\.overflow"):
        rules.replace(**{"schedule.overflow": "error"})


def test_case_11_oh_pshaw_of_three():
    assert preset_sizes("oh_pshaw", 3) == list(range(1, 16))
    full = Rules.preset("oh_pshaw", 3).replace(**{"schedule.high": "max"})
    assert sizes(full) == list(range(1, 18))
    assert deal_plans(full)[16].trump is TrumpSource.TURNED_CARD
    last = house(3, 17, trump__method="turn_up")
    game = Table(last, seed=5).game
    assert game.turned is not None and sum(map(len, game.dealt)) == 51


def test_case_12_oh_pshaw_of_four():
    rules = Rules.preset("oh_pshaw", 4)
    assert sizes(rules) == list(range(1, 14))
    assert no_trump_deals(rules) == [13]


def test_case_13_oh_pshaw_and_spruce_of_five():
    pshaw, spruce = Rules.preset("oh_pshaw", 5), Rules.preset("spruce", 5)
    assert sizes(pshaw) == sizes(spruce) == list(range(1, 11))
    assert no_trump_deals(pshaw) == []
    assert no_trump_deals(spruce) == [10]


def test_case_14_spruce_of_three(rng: random.Random):
    table = Table(Rules.preset("spruce", 3), seed=6)
    turned = [table.game.turned is not None]
    for _ in range(14):
        table.play_deal(rng)
        turned.append(table.game.turned is not None)
    assert turned == [True] * 14 + [False]
    assert table.game.hand_size == 15 and table.game.trump == 4


def test_case_15_british_oh_hell():
    three, four = Rules.preset("british_oh_hell", 3), Rules.preset("british_oh_hell", 4)
    assert sizes(three) == list(range(1, 18)) and no_trump_deals(three) == []
    assert sizes(four) == list(range(1, 14)) and no_trump_deals(four) == [13]


@pytest.mark.parametrize(("exhausted", "high", "deals"), [("forbid", 12, 23), ("no_trump", 13, 25)])
def test_case_16_exhausted_decides_the_top(exhausted: str, high: int, deals: int):
    rules = house(schedule__shape="up_down", schedule__high="max", trump__exhausted=exhausted)
    assert sizes(rules) == up_down(high) and len(up_down(high)) == deals


def test_case_17_sums_of_tricks():
    rules = house(schedule__shape="up_down", schedule__high=12)
    assert sum(sizes(rules)) == 144
    assert sum(sizes(rules.replace(**{"schedule.shape": "down_up"}))) == 155


def test_case_18_largest_and_final_no_trump():
    rules = house(schedule__high=10)
    assert no_trump_deals(rules.replace(**{"trump.no_trump_deals": "largest"})) == [1, 19]
    assert no_trump_deals(rules.replace(**{"trump.no_trump_deals": "final"})) == [19]


def test_case_19_pocha_romanian_whist_and_podrida():
    rise = [1, 1, 1, 1, *range(2, 10), 10, 10, 10, 10, *range(9, 1, -1), 1, 1, 1, 1]
    assert preset_sizes("pocha", 4) == rise and len(rise) == 28
    assert len(preset_sizes("romanian_whist", 4)) == 24
    assert len(preset_sizes("podrida", 3)) == 35


# ---------------------------------------------------------------- beyond the numbered cases


@pytest.mark.parametrize(
    ("name", "players", "deals"),
    [
        *[("pocha", 5, 27), ("podrida", 4, 28), ("podrida", 5, 23), ("podrida", 6, 20)],
        *[("podrida", 7, 19), ("podrida", 8, 18), ("kachuful", 6, 8), ("rikiki", 3, 3 * 34)],
        *[("rikiki", 4, 4 * 26), ("rikiki", 5, 5 * 20), ("rikiki", 6, 6 * 16)],
    ],
)
def test_lengths_that_the_sources_of_other_variants_name(name: str, players: int, deals: int):
    assert len(preset_sizes(name, players)) == deals


@pytest.mark.parametrize(
    ("players", "size"), [(2, 26), (3, 17), (4, 13), (5, 10), (6, 8), (7, 7), (8, 6)]
)
def test_largest_hand_with_and_without_a_card_to_turn(players: int, size: int):
    free = house(players, schedule__high="max", schedule__shape="up")
    assert max(sizes(free)) == size
    forbid = free.replace(**{"trump.exhausted": "forbid"})
    assert max(sizes(forbid)) == {2: 25, 4: 12}.get(players, size)


def test_step():
    rules = house(3, schedule__shape="up_down", schedule__high=9, schedule__step=2)
    assert sizes(rules) == [1, 3, 5, 7, 9, 7, 5, 3, 1]
    rules = house(3, schedule__shape="down", schedule__low=2, schedule__high=8, schedule__step=3)
    assert sizes(rules) == [8, 5, 2]


def test_step_scaled_ends_on_the_ladder():
    rules = house(8, schedule__shape="up", schedule__low=2, schedule__high=10, schedule__step=4)
    assert sizes(rules) == [2, 6]
    rules = house(7, schedule__shape="up", schedule__low=2, schedule__high="max", schedule__step=4)
    assert sizes(rules) == [2, 6]


def test_step_that_does_not_come_out_raises():
    expected = r"steps of 4 do not lead from 1 to 10.*schedule\.high to 9 or 13"
    with pytest.raises(RulesError, match=expected):
        house(schedule__step=4)


def test_repeats():
    rules = house(
        3,
        schedule__shape="down_up",
        schedule__high=3,
        schedule__repeat_low="players",
        schedule__repeat_high=2,
    )
    assert sizes(rules) == [3, 3, 2, 1, 1, 1, 2, 3, 3]
    once = house(3, schedule__shape="up", schedule__high=3, schedule__repeat_each="players")
    assert sizes(once) == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_low_and_max_deals():
    rules = house(schedule__shape="down_up", schedule__low=3, schedule__high=5)
    assert sizes(rules) == down_up(5, low=3)
    assert sizes(rules.replace(**{"schedule.max_deals": 3})) == [5, 4, 3]


def test_low_above_the_pack_raises():
    with pytest.raises(RulesError, match=r"schedule\.low=7.*8 players.*6 cards"):
        house(8, schedule__low=7, schedule__high=9)


def test_constant_and_explicit_schedules(rng: random.Random):
    constant = house(3, schedule__shape="constant", schedule__high=2, schedule__deals=4)
    assert sizes(constant) == [2, 2, 2, 2]
    explicit = house(3, 2, 1, 4)
    assert sizes(explicit) == [2, 1, 4]
    for rules in (constant, explicit):
        table = Table(rules).play_on(rng)
        played = [deal["hand_size"] for deal in table.game.finished_deals]
        assert played == sizes(rules)


@pytest.mark.parametrize("shape", ["constant", "explicit"])
def test_fixed_sizes_too_large_for_the_pack_raise(shape: str):
    settings = {"schedule": {"shape": "explicit", "sizes": [6, 7]}}
    if shape == "constant":
        settings = {"schedule": {"shape": "constant", "high": 7, "deals": 2}}
    with pytest.raises(RulesError, match=r"8 hands of 7 cards.*52 cards.*hand size is 6"):
        Rules.from_dict({"players": 8, **settings})


def test_removed_cards_are_never_dealt_and_lower_the_top():
    rules = Rules.preset("rikiki", 3)
    table = Table(rules.replace(schedule={"shape": "explicit", "sizes": [17], "high": 10}))
    dealt = {table.name(card) for hand in table.game.dealt for card in hand}
    assert len(dealt) == 51 and "2C" not in dealt
    assert max(preset_sizes("pocha", 3)) == 12


def test_spanish_ranks_order_three_and_ace_above_the_king():
    rules = Rules.preset("pocha", 3).replace(**{"play.head_led_suit": False})
    table = Table(rules, hands="KO / 3O / AO", turned="4C").bid(0, 0, 0)
    table.play("KO 3O AO")
    assert table.game.finished_deals[0]["points"] == [10, 10, -5]


def test_no_trump_largest_lets_the_largest_deal_use_every_card():
    rules = house(
        schedule__shape="up",
        schedule__high="max",
        trump__exhausted="forbid",
        trump__no_trump_deals="largest",
    )
    assert max(sizes(rules)) == 13
    assert no_trump_deals(rules) == [13]
