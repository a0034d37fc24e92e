"""Cases 32 to 48 of the rules: bids, the hook, simultaneous and blind bidding.

The last seat deals, so the first bid named is eldest's and the last is the dealer's.
"""

from __future__ import annotations

import random

import pytest

from ohhell_env.engine.layout import BID_BASE
from ohhell_env.errors import IllegalActionError, RulesError
from ohhell_env.rules import Rules
from tests.helpers import Table, house


def bidding(size: int, *bids: int, players: int = 4, **settings: object) -> Table:
    """A table with a hand of ``size`` after these bids."""
    return Table(house(players, size, **settings), dealer=players - 1).bid(*bids)


ALL_OF_5 = {0, 1, 2, 3, 4, 5}


def test_case_32_hook_forbids_the_missing_number():
    assert bidding(5, 2, 0, 1).legal() == {0, 1, 3, 4, 5}


def test_case_33_hook_is_vacuous_when_the_bids_are_already_over():
    assert bidding(5, 3, 1, 2).legal() == ALL_OF_5


def test_case_34_hook_forbids_nil_when_the_bids_are_already_even():
    assert bidding(5, 3, 1, 1).legal() == {1, 2, 3, 4, 5}


def test_case_35_hook_forbids_all_tricks_after_nils():
    assert bidding(5, 0, 0, 0).legal() == {0, 1, 2, 3, 4}


def test_case_36_hook_after_1_2_1():
    assert bidding(5, 1, 2, 1).legal() == {0, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("bids", "free"), [((0, 0, 0), {0}), ((1, 0, 0), {1}), ((1, 1, 0), {0, 1})]
)
def test_case_37_hook_in_a_one_card_deal(bids: tuple[int, ...], free: set[int]):
    assert bidding(1, *bids).legal() == free


def test_case_38_nomination_whist_forbids_the_hand_size_not_seven(rng: random.Random):
    table = Table(Rules.preset("nomination_whist", 4), seed=38)
    table.play_deal(rng).play_deal(rng)
    assert table.game.hand_size == 5
    table.bid(2, 1, 0)
    assert table.legal() == {0, 1, 3, 4, 5}


def test_case_39_hook_never_binds_a_seat_that_is_not_last():
    assert bidding(5).legal() == ALL_OF_5
    assert bidding(5, 2).legal() == ALL_OF_5
    assert bidding(5, 2, 0).legal() == ALL_OF_5


def test_case_40_with_the_hook_somebody_always_misses(rng: random.Random):
    table = Table(Rules.preset("oh_hell", 4), seed=40).play_on(rng)
    for deal in table.game.finished_deals:
        assert sum(bid for _, bid in deal["bids"]) != deal["hand_size"]
        assert max(deal["points"]) >= 0


def test_case_40_without_the_hook_all_may_succeed():
    rules = house(3, 1, 1, bidding__hook="none")
    table = Table(rules, hands="AS / KS / QS", turned="2S").bid(1, 0, 0).play("AS KS QS")
    assert table.game.points == [11, 10, 10]


@pytest.mark.parametrize(
    ("bids", "said"), [((1, 1, 1, 1), "even"), ((2, 1, 1, 1), "over"), ((0, 1, 1, 1), "under")]
)
def test_case_41_free_bids_and_the_announcement(bids: tuple[int, ...], said: str):
    table = bidding(4, *bids, bidding__hook="none", bidding__announce=True)
    for seat in range(4):
        balance = table.view(seat)["bid_balance"]
        assert balance == sum(bids) - 4
        assert said == ("over" if balance > 0 else "under" if balance < 0 else "even")


def test_case_42_hook_from_four_cards_on():
    assert bidding(3, 1, 1, 0, bidding__hook_min_hand=4).legal() == {0, 1, 2, 3}
    assert bidding(4, 1, 1, 0, bidding__hook_min_hand=4).legal() == {0, 1, 3, 4}


@pytest.mark.parametrize("action", [BID_BASE + 2, BID_BASE - 1, 0, -1, None, "pass", 86, 87])
def test_case_43_one_card_bids_are_0_and_1_and_nobody_passes(action: object):
    table = bidding(1)
    assert table.legal() == {0, 1}
    before = table.game.state.tobytes()
    with pytest.raises(IllegalActionError, match="legal bids: 0 1"):
        table.game.apply(action)  # pyright: ignore[reportArgumentType]
    assert table.game.state.tobytes() == before
    table.bid(1)


def test_case_44_simultaneous_bids_are_secret_until_all_have_bid():
    table = bidding(4, bidding__order="simultaneous", bidding__hook="none")
    for made, bid in enumerate((1, 1, 2, 0)):
        for seat in range(4):
            view = table.view(seat)
            others = view["bids"][1:]
            assert others == [None, None, None]
            assert view["bids"][0] == table.referee.visible_bids(seat)[seat]
            assert view["bid_balance"] == 0
        assert table.game.seat == made
        assert table.legal() == {0, 1, 2, 3, 4}
        table.bid(bid)
    assert [table.view(seat)["bids"] for seat in range(2)] == [[1, 1, 2, 0], [1, 2, 0, 1]]
    assert sum((1, 1, 2, 0)) == table.game.hand_size


def test_case_45_simultaneous_with_the_hook_raises():
    with pytest.raises(RulesError, match=r"bidding\.order='simultaneous'.*bidding\.hook.*'none'"):
        house(bidding__order="simultaneous")


def test_case_46_simultaneous_bids_know_no_finger_limit():
    table = bidding(13, 13, 13, 13, 13, bidding__order="simultaneous", bidding__hook="none")
    assert table.game.bids == [13, 13, 13, 13]


def test_case_47_a_blind_deal_hides_the_own_card_and_plays_itself():
    rules = house(3, 1, 1, blind_one_card="always", bidding__hook="none")
    table = Table(rules, hands="9H / TH / 2S", turned="KD")
    for seat, others in enumerate((["TH", "2S"], ["2S", "9H"], ["9H", "TH"])):
        view = table.view(seat)
        assert view["hand"] == []
        assert view["open_cards"] == dict(zip((1, 2), others, strict=True))
    assert table.legal() == {0, 1}
    table.bid(0, 1, 0)
    finished = table.game.finished_deals[0]
    assert finished["tricks"] == [[[0, "9H"], [1, "TH"], [2, "2S"]]]
    assert finished["points"] == [10, 11, 10]


def test_case_48_a_bid_cannot_be_changed():
    hands = "AS 2H / KS 3H / QS 4H"
    table = Table(house(3, bidding__hook="none"), hands=hands, turned="2S").bid(2, 1, 0)
    for card in ["AS", "KS", "QS", "2H", "3H"]:
        assert table.game.bids == [2, 1, 0]
        with pytest.raises(IllegalActionError, match="the bidding is over"):
            table.game.apply(BID_BASE + 1)
        table.play(card)
    assert table.game.bids == [2, 1, 0]


# ---------------------------------------------------------------- beyond the numbered cases


@pytest.mark.parametrize("players", range(2, 9))
def test_hook_with_any_number_of_players_leaves_a_legal_bid(players: int):
    for size in range(1, 4):
        table = bidding(size, *[0] * (players - 1), players=players)
        assert table.legal() == set(range(size))


def test_hook_off_lets_the_dealer_make_the_bids_even():
    assert bidding(5, 2, 0, 1, bidding__hook="none").legal() == ALL_OF_5


@pytest.mark.parametrize(
    ("mode", "blind"), [("always", [1, 1, 0, 1]), ("first", [1, 0, 0, 0]), ("last", [0, 0, 0, 1])]
)
def test_which_one_card_deals_are_blind(mode: str, blind: list[int], rng: random.Random):
    table = Table(house(3, 1, 1, 2, 1, blind_one_card=mode)).play_on(rng)
    assert [int(deal["blind"]) for deal in table.game.finished_deals] == blind


def test_only_the_first_one_card_deal_of_a_repeated_schedule_is_blind(rng: random.Random):
    settings = {"end__target": 10_000, "end__max_deals": 5, "blind_one_card": "first"}
    table = Table(house(3, 2, 1, **settings)).play_on(rng)
    blind = [deal["blind"] for deal in table.game.finished_deals]
    assert blind == [False, True, False, False, False]


def test_an_extra_deal_is_not_the_first_one_card_deal():
    rules = house(2, 1, tie_break="extra_deals", blind_one_card="first", scoring="bonus_only")
    rules = rules.replace(**{"bidding.hook": "none"})
    table = Table(rules, hands="AS / KS", turned="2S").bid(1, 0)
    assert table.game.scores == [10, 10]
    assert not table.game.over and not table.game.blind


def test_blind_last_with_a_target_raises():
    with pytest.raises(RulesError, match=r"blind_one_card='last'.*end\.target.*'first'"):
        house(3, 1, 2, blind_one_card="last", end__target=50)


def test_blind_deal_with_the_highest_bidder_leading():
    rules = house(
        3, 1, 1, blind_one_card="always", bidding__hook="none", play__first_lead="highest_bidder"
    )
    table = Table(rules, hands="9H / TH / 2S", turned="KD").bid(0, 0, 1)
    assert table.game.finished_deals[0]["tricks"] == [[[2, "2S"], [0, "9H"], [1, "TH"]]]
    assert table.game.finished_deals[0]["points"] == [10, 10, 11]


def test_blind_deal_shows_the_dealers_turned_card_to_the_dealer_too():
    rules = house(
        3, 1, 1, blind_one_card="always", trump__method="dealer_last_card", bidding__hook="none"
    )
    table = Table(rules, hands="9H / TH / 2S", turned="2S")
    assert [table.view(seat)["turned"] for seat in range(3)] == ["2S"] * 3
