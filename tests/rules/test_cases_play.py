"""Cases 49 to 58 of the rules: following suit, ruffing, winning tricks, leading.

The last seat deals, so seat 0 is eldest. Trump is the suit of the turned card.
"""

from __future__ import annotations

import random

import pytest

from ohhell_env.cards import card_name
from tests.helpers import Table, house

SPADES_TRUMP = "3S"
FREE = {"bidding__hook": "none"}


def table_of(hands: str, turned: str | None = SPADES_TRUMP, **settings: object) -> Table:
    """A table that has just bid nil all round; no turned card means no trump."""
    players = hands.count("/") + 1
    trump = {} if turned else {"trump__method": "none"}
    rules = house(players, len(hands.split("/", 1)[0].split()), **FREE, **trump, **settings)
    return Table(rules, hands=hands, turned=turned).bid(*[0] * players)


def test_case_49_follow_suit():
    assert table_of("AH 2C 2D / 2H 9S KD").play("AH").legal() == {"2H"}


def test_case_50_a_void_seat_may_ruff_or_discard():
    assert table_of("AC 2C 2D / 2H 9S KD").play("AC").legal() == {"2H", "9S", "KD"}


def test_case_51_must_trump():
    table = table_of("AC 2C 2D / 2H 9S KD", play__void="must_trump")
    assert table.play("AC").legal() == {"9S"}


def test_case_51_must_trump_even_below_a_ruff():
    table = table_of("AC 2C 2D / TS 8S 7H / 2H 9S KD", play__void="must_trump")
    assert table.play("AC TS").legal() == {"9S"}


@pytest.mark.parametrize(
    ("void", "legal"),
    [
        ("must_trump", {"9S", "QS"}),
        ("must_overtrump_else_trump", {"QS"}),
        ("must_overtrump_else_free", {"QS"}),
        ("any", {"9S", "QS", "KD"}),
    ],
)
def test_case_52_need_not_beat_a_ruff_or_must(void: str, legal: set[str]):
    table = table_of("AC 2C 2D / TS 8S 7H / 9S QS KD", play__void=void)
    assert table.play("AC TS").legal() == legal


DUTIES = ["must_trump", "must_overtrump_else_trump", "must_overtrump_else_free"]


@pytest.mark.parametrize("void", DUTIES)
def test_case_53_no_duty_without_a_trump_suit(void: str):
    table = table_of("AC 2C 2D / 2H 9S KD", turned=None, play__void=void)
    assert table.play("AC").legal() == {"2H", "9S", "KD"}


@pytest.mark.parametrize("void", DUTIES)
def test_case_53_no_duty_for_a_seat_void_in_the_led_trump(void: str):
    table = table_of("AS 2C 2D / 2H 9C KD", play__void=void)
    assert table.play("AS").legal() == {"2H", "9C", "KD"}


def test_case_54_free_if_it_cannot_overtrump():
    hands = "AC 2C 2D / TS 8S 7H / 9S QH KD"
    free = table_of(hands, play__void="must_overtrump_else_free").play("AC TS")
    assert free.legal() == {"9S", "QH", "KD"}
    bound = table_of(hands, play__void="must_overtrump_else_trump").play("AC TS")
    assert bound.legal() == {"9S"}


def test_case_55_highest_trump_wins_else_highest_of_the_led_suit():
    table = table_of("5D 2C / AC 3C / 2S 4C / AD 5C", turned="9S").play("5D AC 2S AD")
    assert (table.game.tricks_won, table.game.leader) == ([0, 0, 1, 0], 2)
    table = table_of("5D 2C / AC 3C / 2S 4C / AD 5C", turned=None).play("5D AC 2S AD")
    assert (table.game.tricks_won, table.game.leader) == ([0, 0, 0, 1], 3)


def test_case_56_discards_never_win():
    table = table_of("5D 2C / AC 3C / AS 4C / KH 5C", turned=None).play("5D AC AS KH")
    assert (table.game.tricks_won, table.game.leader) == ([1, 0, 0, 0], 0)


def test_case_57_eldest_may_lead_a_trump_to_trick_1():
    assert table_of("9S 2H / AS 3H / KS 4H").legal() == {"9S", "2H"}


def test_case_58_highest_bidder_leads_the_first_of_several():
    rules = house(
        4, trump__method="none", play__first_lead="highest_bidder", scoring="plump", **FREE
    )
    hands = "2C 3C 4C / 2D 3D 4D / 2H 3H 4H / 2S 3S 4S"
    assert Table(rules, hands=hands).bid(2, 3, 3, 1).game.seat == 1


# ---------------------------------------------------------------- beyond the numbered cases


@pytest.mark.parametrize(
    ("bids", "leader"), [((0, 0, 0, 0), 0), ((1, 2, 3, 3), 2), ((0, 1, 1, 3), 3)]
)
def test_first_lead_of_the_highest_bidder(bids: tuple[int, ...], leader: int):
    rules = house(4, play__first_lead="highest_bidder", **FREE)
    hands = "2C 3C 4C / 2D 3D 4D / 2H 3H 4H / 2S 3S 4S"
    assert Table(rules, hands=hands, turned="AS").bid(*bids).game.seat == leader
    eldest = rules.replace(**{"play.first_lead": "eldest"})
    assert Table(eldest, hands=hands, turned="AS").bid(*bids).game.seat == 0


def test_first_lead_ties_go_to_the_first_in_bidding_order_not_the_lowest_seat():
    rules = house(4, play__first_lead="highest_bidder", **FREE)
    hands = "2C 3C 4C / 2D 3D 4D / 2H 3H 4H / 2S 3S 4S"
    table = Table(rules, hands=hands, turned="AS", dealer=1).bid(1, 2, 2, 0)  # seats 2 3 0 1
    assert table.game.seat == 3


def test_the_highest_bidder_leads_only_the_first_trick():
    rules = house(3, play__first_lead="highest_bidder", **FREE)
    table = Table(rules, hands="AC 2C / 3C 2D / KC 2H", turned="AS").bid(0, 2, 0)
    assert table.play("3C KC AC").game.seat == 0


def test_the_trick_winner_leads_the_next():
    table = table_of("2C 3D / 9C 4D / 8C 5D").play("2C 9C 8C")
    assert table.game.seat == 1


@pytest.mark.parametrize(
    ("mode", "at_once", "later", "broken"),
    [
        ("anytime", {"9S", "2H", "AC"}, {"9S", "2H"}, {"9S", "2H"}),
        ("after_first_trick", {"2H", "AC"}, {"9S", "2H"}, {"9S", "2H"}),
        ("after_broken", {"2H", "AC"}, {"2H"}, {"9S", "2H"}),
        ("when_forced", {"2H", "AC"}, {"2H"}, {"2H"}),
    ],
)
def test_trump_lead(mode: str, at_once: set[str], later: set[str], broken: set[str]):
    hands = "9S 2H AC / AH 3D 4C / 4H 5D 2C"
    table = table_of(hands, play__trump_lead=mode)
    assert table.legal() == at_once
    assert table.play("AC 4C 2C").legal() == later
    # The same lead, but the first trick is ruffed and won by the last seat with a trump led back
    ruffed = table_of("AC 5H 5D / QC 3D 4C / KS 9S 2H", play__trump_lead=mode)
    assert ruffed.play("AC QC KS").legal() == broken


def test_trump_lead_falls_back_to_any_card_of_a_hand_of_trumps():
    for mode in ("after_first_trick", "after_broken", "when_forced"):
        table = table_of("9S 8S / AH KH / QH JH", play__trump_lead=mode)
        assert table.legal() == {"9S", "8S"}


def test_a_forced_trump_lead_breaks_trumps():
    table = table_of("9S 8S 2S / 5S KC 6S / JC TC 2C", play__trump_lead="after_broken")
    assert table.legal() == {"9S", "8S", "2S"}
    assert table.play("2S 5S JC").legal() == {"KC", "6S"}


def test_trumps_unbroken_after_a_trick_without_one():
    table = table_of("2C 9S 3C / QC KS KD / JC TC QH", play__trump_lead="after_broken")
    assert table.play("2C QC JC").legal() == {"KD"}


def test_trump_lead_is_vacuous_without_trumps():
    for mode in ("after_first_trick", "after_broken", "when_forced"):
        table = table_of("9S 2H AC / AH 3D 4C / 4H 5D 2C", turned=None, play__trump_lead=mode)
        assert table.legal() == {"9S", "2H", "AC"}


def test_trumps_are_unbroken_again_in_the_next_deal(rng: random.Random):
    table = Table(house(2, *[4] * 12, play__trump_lead="after_broken", **FREE))
    mixed = 0
    for _ in range(12):
        game = table.game
        hand = {table.name(card) for card in game.hands[game.leader]}
        trumps = {card for card in hand if card[1] == "CDHS"[game.trump]}
        table.bid(0, 0)
        assert table.legal() == (hand - trumps or hand)
        mixed += bool(trumps) and trumps != hand
        table.play_deal(rng)
    assert mixed > 3


# The duty to head the led suit


def test_head_the_led_suit():
    table = table_of("9H 2C 3C / TH 2D 3D / 2H QH KH", play__head_led_suit=True).play("9H TH")
    assert table.legal() == {"QH", "KH"}
    free = table_of("9H 2C 3C / TH 2D 3D / 2H QH KH").play("9H TH")
    assert free.legal() == {"2H", "QH", "KH"}


def test_head_the_led_suit_only_if_able():
    table = table_of("9H 2C 3C / AH 2D 3D / 2H QH KH", play__head_led_suit=True).play("9H AH")
    assert table.legal() == {"2H", "QH", "KH"}


def test_head_the_led_suit_is_off_once_the_trick_is_ruffed():
    table = table_of("9H 2C 3C / TS 2D 3D / 2H QH KH", play__head_led_suit=True).play("9H TS")
    assert table.legal() == {"2H", "QH", "KH"}


def test_head_the_led_suit_looks_past_discards():
    table = table_of("9H 2C 3C / AD 2D 3D / 2H QH KH", play__head_led_suit=True).play("9H AD")
    assert table.legal() == {"QH", "KH"}


def test_head_a_led_trump():
    table = table_of("9S 2C 3C / TS 2D 3D / 2S QS KH", play__head_led_suit=True).play("9S TS")
    assert table.legal() == {"QS"}


def test_head_the_led_suit_without_trumps():
    table = table_of("9H 2C / TS 2D / 2H QH", turned=None, play__head_led_suit=True)
    assert table.play("9H TS").legal() == {"QH"}


def test_pocha_heads_and_overtrumps_in_spanish_order():
    rules = house(
        3,
        3,
        pack__suits=["O", "C", "E", "B"],
        pack__ranks=list("24567SCK3A"),
        play__head_led_suit=True,
        play__void="must_overtrump_else_free",
        bidding__hook="none",
    )
    table = Table(rules, hands="KO 2C 4C / 3O AO 7O / 2B 4E 3E", turned="AE").bid(0, 0, 0)
    assert table.play("KO").legal() == {"3O", "AO"}
    assert table.play("3O").legal() == {"4E", "3E"}


@pytest.mark.parametrize("void", DUTIES)
def test_every_duty_asks_for_any_trump_while_nobody_has_ruffed(void: str):
    table = table_of("9C 2C 2D / AC 8C 7H / 4S QS KD", play__void=void)
    assert table.play("9C AC").legal() == {"4S", "QS"}


# Ruffs, seat by seat


def test_overruff_and_underruff():
    hands = "AC 2C / 9S 2D / TS 2H / 4S 3H"
    for void in ("any", "must_trump"):
        table = table_of(hands, turned="KS", play__void=void).play("AC 9S TS 4S")
        assert table.game.leader == 2


def test_following_suit_comes_before_every_duty():
    for void in DUTIES:
        table = table_of("AC 2D 3D / 2C 9S KS", play__void=void)
        assert table.play("AC").legal() == {"2C"}


def test_a_trick_of_every_rank_is_won_by_the_ace():
    for rank in "23456789TJQK":
        for suit in "CDH":
            table = table_of(f"{rank}{suit} 4S / A{suit} 5S").play(f"{rank}{suit} A{suit}")
            assert table.game.leader == 1
            assert card_name(table.game.tricks[0][1][1]) == f"A{suit}"
