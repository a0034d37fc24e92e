"""Cases 25 to 31 of the rules: the trump card. (31 is Wizard's, not offered yet.)"""

from __future__ import annotations

import random

import pytest

from ohhell_env.cards import parse_card
from ohhell_env.engine.layout import NO_TRUMP
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import TrumpSource, deal_plans
from tests.helpers import Table, house

CLUBS, DIAMONDS, HEARTS, SPADES = range(4)
OH_WELL = {"trump__method": "dealer_last_card", "bidding__hook": "none"}


def trumps_played(rules: Rules, seed: int = 0) -> list[str | None]:
    """The trump of every deal of a game, None for no-trump."""
    table = Table(rules, seed=seed).play_on(random.Random(seed))
    return [deal["trump"] for deal in table.game.finished_deals]


def test_case_25_the_dealers_turned_card_is_his_and_public_until_he_plays_it():
    table = Table(house(3, **OH_WELL), hands="2H 9S / KD 3C / 7S AH", turned="7S")
    assert table.game.trump == SPADES
    assert parse_card("7S") in table.game.hands[2]
    assert all(table.view(seat)["turned"] == "7S" for seat in range(3))
    table.bid(0, 0, 0).play("9S KD 7S")  # to trick 1
    assert parse_card("7S") not in table.game.hands[2]
    assert [card for _, card in table.view(0)["plays"]] == ["9S", "KD", "7S"]


def test_case_26_a_lone_turned_trump_must_follow_a_trump_lead():
    table = Table(house(3, **OH_WELL), hands="2H 9S / KD 3C / 7S AH", turned="7S")
    table.bid(0, 0, 0).play("9S KD")
    assert table.legal() == {"7S"}


def test_case_27_the_turned_card_is_nobodys_and_everybody_knows_it(rng: random.Random):
    table = Table(Rules.preset("oh_hell", 4), seed=27)
    for _ in range(6):
        game = table.game
        turned = game.turned
        assert turned is not None
        assert all(turned not in hand for hand in game.dealt)
        assert all(table.view(seat)["turned"] == table.name(turned) for seat in range(4))
        deal = game.deal
        while game.deal == deal:
            assert turned not in game.legal_actions()
            table.act(rng.choice(game.legal_actions()))


def test_case_28_a_one_card_deal_of_seven_leaves_44_unseen():
    game = Table(house(7, 1), seed=28).game
    dealt = {card for hand in game.dealt for card in hand}
    assert len(dealt) == 7 and game.turned is not None
    assert len(set(game.rules.pack.cards) - dealt - {game.turned}) == 44


def test_case_29_kachuful_rotates_the_trumps():
    rules = Rules.preset("kachuful", 4).replace(**{"schedule.max_deals": 6})
    assert trumps_played(rules) == ["S", "D", "C", "H", "S", "D"]
    rules = rules.replace(**{"trump.rotation": ["S", "D", "C", "H", "NT"]})
    assert trumps_played(rules) == ["S", "D", "C", "H", None, "S"]
    assert Table(rules).game.turned is None


def test_case_30_exhausted_dealer_last_card():
    rules = house(4, 13, trump__exhausted="dealer_last_card", bidding__hook="none")
    for seed in range(8):
        game = Table(rules, seed=seed).game
        assert game.turned in game.dealt[game.dealer]
        assert game.turned is not None and game.trump == game.turned // 13
    table = Table(rules, seed=1)
    assert table.game.turned is not None
    assert all(table.view(seat)["turned"] == table.name(table.game.turned) for seat in range(4))


# ---------------------------------------------------------------- beyond the numbered cases


def test_exhausted_no_trump():
    game = Table(house(4, 13), seed=3).game
    assert (game.turned, game.trump) == (None, NO_TRUMP)


def test_exhausted_random_suit_shows_a_suit_and_no_card():
    rules = house(4, 13, trump__exhausted="random_suit")
    games = [Table(rules, seed=seed).game for seed in range(40)]
    assert {game.trump for game in games} == {CLUBS, DIAMONDS, HEARTS, SPADES}
    assert all(game.turned is None for game in games)
    assert all(sum(map(len, game.dealt)) == 52 for game in games)


def test_exhausted_forbid_refuses_a_deal_without_a_card_to_turn():
    with pytest.raises(RulesError, match="4 hands of 13 cards"):
        house(4, 13, trump__exhausted="forbid")


def test_exhausted_matters_only_where_no_card_is_left():
    for exhausted in ("no_trump", "dealer_last_card", "random_suit"):
        plans = deal_plans(house(5, 10, trump__exhausted=exhausted))
        assert plans[0].trump is TrumpSource.TURNED_CARD


def test_fixed_trump():
    rules = house(3, 3, 2, 1, trump__method="fixed", trump__suit="S")
    assert trumps_played(rules) == ["S", "S", "S"]
    assert Table(rules).game.turned is None


def test_no_trump_at_all():
    assert trumps_played(house(3, 3, 2, 1, trump__method="none")) == [None, None, None]


def test_random_suit_draws_anew_each_deal():
    seen = trumps_played(house(3, *[1] * 60, trump__method="random_suit"), seed=4)
    assert set(seen) == {"C", "D", "H", "S"}


def test_dealer_last_card_with_cards_left_turns_nothing_else():
    game = Table(house(4, 5, trump__method="dealer_last_card"), seed=5).game
    assert game.turned in game.dealt[game.dealer]
    assert sum(map(len, game.dealt)) == 20


def test_any_of_the_dealers_cards_may_be_the_last():
    rules = house(2, 3, trump__method="dealer_last_card")
    places = set()
    for seed in range(60):
        game = Game(rules, seed=seed)
        assert game.turned is not None
        places.add(game.dealt[game.dealer].index(game.turned))
    assert places == {0, 1, 2}


@pytest.mark.parametrize("method", ["turn_up", "dealer_last_card", "random_suit"])
def test_a_late_trump_is_known_after_the_bidding_only(method: str, rng: random.Random):
    rules = house(3, 4, 4, trump__method=method, trump__revealed="after_bidding")
    table = Table(rules, seed=6)
    for _ in range(3):
        for seat in range(3):
            view = table.view(seat)
            assert (view["trump"], view["turned"]) == ("?", None)
        assert not table.game.trump_known
        table.act(rng.choice(table.game.legal_actions()))
    assert table.game.trump_known
    letter = rules.pack.suits[table.game.trump]
    assert all(table.view(seat)["trump"] == letter for seat in range(3))
    shown = None if table.game.turned is None else table.name(table.game.turned)
    assert all(table.view(seat)["turned"] == shown for seat in range(3))


@pytest.mark.parametrize(
    ("settings", "trump"),
    [
        ({"trump__method": "fixed", "trump__suit": "H"}, "H"),
        ({"trump__method": "rotation", "trump__rotation": ["D", "NT"]}, "D"),
        ({"trump__method": "none"}, "NT"),
        ({"trump__no_trump_deals": "largest"}, "NT"),
        ({"trump__no_trump_deals": "final"}, "NT"),
    ],
)
def test_what_the_rules_say_beforehand_cannot_be_late(settings: dict, trump: str):
    table = Table(house(3, 4, trump__revealed="after_bidding", **settings))
    assert table.game.trump_known
    assert table.view(1)["trump"] == trump


def test_no_card_is_turned_in_a_declared_no_trump_deal():
    rules = house(3, 2, 5, 5, trump__no_trump_deals="largest")
    table = Table(rules).play_on(random.Random(7))
    turned = [deal["turned"] for deal in table.game.finished_deals]
    assert turned[0] is not None and turned[1:] == [None, None]
    rules = rules.replace(**{"trump.method": "dealer_last_card"})
    table = Table(rules).play_on(random.Random(8))
    turned = [deal["turned"] for deal in table.game.finished_deals]
    assert turned[0] is not None and turned[1:] == [None, None]
