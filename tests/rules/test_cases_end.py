"""Cases 66 to 76 of the rules: the end of the game, ties and settlement.

Scores before the last deal are written into the table's record; that deal is then played out.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import num_deals
from tests.helpers import Table, close, house


def with_scores(table: Table, *scores: int) -> Table:
    """The table as if the deals so far had brought these scores."""
    table.game.state["scores"][0, : len(scores)] = scores
    table.referee.scores = list(scores)
    table.compare()
    return table


def one_card_deal(*scores: int, **settings: Any) -> Table:
    """A last deal of one card in which seat 0 wins the trick, before the bidding."""
    players = len(scores)
    rules = house(players, 1, bidding__hook="none", **settings)
    cards = ["AS", "2C", "3C", "4C", "5C"][:players]
    return with_scores(Table(rules, hands=" / ".join(cards), turned="2S"), *scores)


def finish(table: Table, *bids: int) -> Table:
    """Bids, then plays the one trick."""
    table.bid(*bids)
    return table.play(" ".join(["AS", "2C", "3C", "4C", "5C"][: len(bids)]))


def ended(*scores: int, **settings: Any) -> Table:
    """A game that ended with these scores (each seat made its bid in the one deal)."""
    before = [score - (11 if seat == 0 else 10) for seat, score in enumerate(scores)]
    table = one_card_deal(*before, **settings)
    finish(table, 1, *[0] * (len(scores) - 1))
    assert table.game.scores == list(scores)
    return table


def winner_to_be(table: Table) -> int:
    """The seat that is going to win the trick of a one-card deal."""
    twin = copy.deepcopy(table.referee)
    while not twin.deal_over:
        twin.play(min(twin.legal()))
    return twin.tricks_won.index(1)


def play_one_card_deal(table: Table, *bids: int) -> None:
    """Bids, by seat, and plays the cards."""
    players = table.rules.players
    eldest = table.game.seat
    table.bid(*(bids[(eldest + place) % players] for place in range(players)))
    for _ in range(players):
        table.act(table.game.legal_actions()[0])


def test_case_66_highest_total_wins_not_the_first_to_cross():
    hands = [
        "AH KH QH JH TH 9H 8H 7H 6H 2C 3C 4C 5C 6C 7C 8C 9C",
        "AC KC QC JC 2D 3D 4D 5D AS KS QS JS TS 9S 8S 7S 6S",
        "5H 4H 3H 2H AD KD QD JD TD 9D 8D 7D 6D 5S 4S 3S 2S",
    ]
    table = Table(Rules.preset("oh_well", 3), hands=" / ".join(hands), turned="2H")
    with_scores(table, 95, 97, 60).bid(8, 0, 4)
    table.play("AH AS 5H KH KS 4H QH QS 3H JH JS 2H TH TS TD 9H 9S 9D 8H 8S 8D 7H 7S 7D 6H 6S 6D")
    assert table.game.tricks_won == [9, 0, 0]
    table.play("2C AC 5S KC 4S 3C QC 3S 4C JC 2S 5C")
    assert table.game.tricks_won == [9, 4, 0]
    table.play("2D AD 6C KD 7C 3D QD 8C 4D JD 9C 5D")
    assert table.game.points == [9, 4, 14]
    assert table.game.scores == [104, 101, 74]
    assert table.game.over and table.game.winners() == [0]


@pytest.mark.parametrize("seat", range(3))
def test_case_67_a_score_that_passes_the_target_in_mid_deal_does_not_end_it(seat: int):
    table = with_scores(Table(Rules.preset("oh_well", 3), seed=67), 99, 99, 99)
    table.bid(17, 17, 17)
    rng = random.Random(seat)
    for _ in range(17 * 3):
        assert not table.game.over
        assert table.game.scores == [99, 99, 99]
        table.act(rng.choice(table.game.legal_actions()))
    assert table.game.over
    assert sum(table.game.scores) == 3 * 99 + 17


def test_case_68_a_tie_at_the_target_is_shared():
    table = ended(104, 104, 74, end__target=100, end__max_deals=9)
    assert table.game.over
    assert table.game.winners() == [0, 1]
    assert table.game.win_shares() == [0.5, 0.5, 0.0]


def test_case_68_or_extra_deals_follow_until_one_leads(rng: random.Random):
    table = ended(104, 104, 74, end__target=100, end__max_deals=9, tie_break="extra_deals")
    assert not table.game.over
    while not table.game.over:
        before = table.game.scores
        assert before.count(max(before)) > 1
        table.play_deal(rng)
    scores = table.game.scores
    assert scores.count(max(scores)) == 1 or len(table.game.finished_deals) == 11


def test_case_69_oh_well_of_four_ends_within_31_deals():
    rules = Rules.preset("oh_well", 4)
    assert num_deals(rules) == 31
    for seed in range(3):
        table = Table(rules, seed=seed).play_on(random.Random(seed))
        deals = table.game.finished_deals
        assert len(deals) <= 31
        assert all(sum(deal["points"]) >= 13 for deal in deals)


@pytest.mark.parametrize(("players", "deals"), [(3, 18), (4, 31), (5, 50), (6, 75), (7, 100)])
def test_oh_well_deals_at_most(players: int, deals: int):
    assert num_deals(Rules.preset("oh_well", players)) == deals


@pytest.mark.parametrize("scoring", ["simple", "bonus_only", "off_bid", "squares"])
def test_case_70_a_target_with_scores_that_need_not_rise_needs_max_deals(scoring: str):
    with pytest.raises(RulesError, match=r"end\.target=100 needs end\.max_deals"):
        house(scoring=scoring, end__target=100)
    house(scoring=scoring, end__target=100, end__max_deals=20)


def test_case_71_a_tie_after_the_schedule_is_shared():
    table = ended(120, 120, 90)
    assert table.game.over
    assert table.game.winners() == [0, 1]
    assert table.game.win_shares() == [0.5, 0.5, 0.0]


def test_case_71_or_an_extra_deal_of_the_largest_size_follows(rng: random.Random):
    rules = house(2, 3, 2, 1, tie_break="extra_deals", bidding__hook="none", scoring="bonus_only")
    table = with_scores(Table(rules).play_deal(rng).play_deal(rng), 50, 50)
    winner = winner_to_be(table)
    play_one_card_deal(table, *(int(seat == winner) for seat in range(2)))
    assert table.game.scores == [60, 60]
    assert not table.game.over
    assert (table.game.deal, table.game.hand_size) == (3, 3)


def test_case_72_most_exact_bids_breaks_a_tie():
    table = one_card_deal(0, 0, 0, tie_break="most_exact_bids")
    exact(table, 4, 7, 9)
    with_scores(table, 100, 101, 50)
    finish(table, 1, 0, 0)  # all exact: 111 111 60
    assert table.game.winners() == [1]
    assert table.game.win_shares() == [0.0, 1.0, 0.0]


def exact(table: Table, *counts: int) -> None:
    table.game.state["exact_bids"][0, : len(counts)] = counts
    table.referee.exact_bids = list(counts)


def totals(table: Table, *counts: int) -> None:
    table.game.state["bid_totals"][0, : len(counts)] = counts
    table.referee.bid_totals = list(counts)


def test_case_72_larger_total_of_bids_breaks_a_tie():
    table = one_card_deal(0, 0, 0, tie_break="largest_bid_total")
    totals(table, 20, 20, 90)
    with_scores(table, 100, 101, 50)
    finish(table, 1, 0, 0)  # 111 111 60, bids 21 20 90
    assert table.game.winners() == [0]


def test_tie_breaks_count_bids_made_and_bids_not_tricks():
    for tie_break, winner in (("largest_bid_total", 1), ("most_exact_bids", 2)):
        table = one_card_deal(0, 0, 0, tie_break=tie_break)
        exact(table, 4, 4, 4)
        totals(table, 20, 20, 20)
        with_scores(table, 100, 101, 91)
        finish(table, 0, 1, 0)  # 101 101 101: seat 0 wins a trick too many, seat 1 one too few
        assert table.game.scores == [101, 101, 101]
        assert table.game.winners() == [winner]


@pytest.mark.parametrize("tie_break", ["most_exact_bids", "largest_bid_total"])
def test_a_tie_in_the_tie_break_too_is_shared(tie_break: str):
    table = one_card_deal(0, 0, 0, tie_break=tie_break)
    exact(table, 5, 5, 9)
    totals(table, 7, 8, 30)
    with_scores(table, 100, 101, 50)
    finish(table, 1, 0, 0)
    assert table.game.win_shares() == [0.5, 0.5, 0.0]


PAIRWISE = {"settlement": {"kind": "differences"}}


def test_case_73_differences_and_hard_score():
    assert ended(50, 40, 30, **PAIRWISE).game.settlement() == [30, 0, -30]
    hard = ended(50, 40, 30, hard_score_bonus=10, **PAIRWISE)
    assert hard.game.settlement() == [50, -10, -40]
    assert hard.game.scores == [50, 40, 30]


def test_case_74_hard_score_of_joint_winners():
    table = ended(50, 50, 30, hard_score_bonus=10, **PAIRWISE)
    assert table.game.settlement() == [30, 30, -60]


def test_case_75_pool():
    pool = {"settlement": {"kind": "pool", "ante": 5}}
    assert ended(50, 40, 30, 20, **pool).game.settlement() == [15, -5, -5, -5]
    assert ended(50, 50, 30, 20, **pool).game.settlement() == [5, 5, -5, -5]


@pytest.mark.parametrize("kind", ["none", "differences", "pool"])
@pytest.mark.parametrize("scores", [(50, 50, 50), (12, 90, 33), (70, 70, 1)])
def test_case_76_every_settlement_sums_to_zero(kind: str, scores: tuple[int, ...]):
    settlement = {"kind": kind, "rate": 0.1, "ante": 0.3}
    paid = ended(*scores, settlement=settlement, hard_score_bonus=7).game.settlement()
    assert abs(sum(paid)) < 1e-9
    assert any(paid) == (kind != "none" and len(set(scores)) > 1)


# ---------------------------------------------------------------- beyond the numbered cases


def test_rate_and_ante_scale_what_is_paid():
    rate = ended(50, 40, 30, settlement={"kind": "differences", "rate": 0.5}).game.settlement()
    assert rate == [15, 0, -15]
    third = ended(50, 50, 50, 20, settlement={"kind": "pool", "ante": 3}).game.settlement()
    assert close(third, [1, 1, 1, -3])


def test_hard_score_leaves_a_pool_alone():
    pool = {"settlement": {"kind": "pool", "ante": 2}}
    assert ended(50, 40, 30, hard_score_bonus=10, **pool).game.settlement() == [4, -2, -2]


def test_target_is_reached_by_equality():
    assert ended(100, 90, 10, end__target=100, end__max_deals=9).game.over
    assert not ended(99, 90, 10, end__target=100, end__max_deals=9).game.over


def test_target_repeats_the_schedule_from_its_start(rng: random.Random):
    table = Table(house(3, 3, 1, 2, end__target=9_000, end__max_deals=8)).play_on(rng)
    sizes = [deal["hand_size"] for deal in table.game.finished_deals]
    assert sizes == [3, 1, 2, 3, 1, 2, 3, 1]


def test_rotating_trumps_go_on_where_a_schedule_repeats(rng: random.Random):
    rules = house(
        3, 1, 2, trump__method="rotation", trump__rotation=["S", "D", "NT"], end__target=9_000,
        end__max_deals=5,
    )  # fmt: skip
    table = Table(rules).play_on(rng)
    assert [deal["trump"] for deal in table.game.finished_deals] == ["S", "D", None, "S", "D"]


def test_max_deals_ends_a_target_game_as_a_schedule_would():
    table = one_card_deal(5, 5, 0, end__target=1000, end__max_deals=1)
    finish(table, 1, 0, 1)
    assert table.game.over and table.game.winners() == [0]


def test_max_deals_with_a_tie_leads_to_extra_deals():
    settings: dict[str, Any] = {"end__target": 1000, "end__max_deals": 1}
    table = one_card_deal(5, 6, 0, tie_break="extra_deals", **settings)
    finish(table, 1, 0, 1)  # 16 16 0
    assert not table.game.over and table.game.deal == 1


def test_extra_deals_pass_the_deal_on_and_rotate_the_trumps():
    rules = house(
        2, 1, 2, tie_break="extra_deals", bidding__hook="none", scoring={"table": NOTHING},
        trump__method="rotation", trump__rotation=["S", "D", "H"], first_dealer=1,
    )  # fmt: skip
    table = Table(rules).play_on(random.Random(1))
    deals = table.game.finished_deals
    assert [deal["hand_size"] for deal in deals] == [1, 2] + [2] * 10
    assert [deal["dealer"] for deal in deals] == [1, 0] * 6
    assert [deal["trump"] for deal in deals] == ["S", "D", "H"] * 4


NOTHING = [[[0] * (size + 1)] * (size + 1) for size in range(1, 3)]


def test_at_most_ten_extra_deals_then_the_win_is_shared():
    rules = house(3, 1, tie_break="extra_deals", scoring={"table": NOTHING[:1]})
    table = Table(rules).play_on(random.Random(2))
    assert len(table.game.finished_deals) == 11
    assert table.game.win_shares() == [1 / 3] * 3


def test_extra_deals_end_with_one_leader_below_the_target_too():
    """A tie at the target, then an extra deal that costs both, one of them less."""
    points = {"table": [[[10, -5], [-6, 10]]]}
    settings: dict[str, Any] = {"end__target": 10, "end__max_deals": 50, "scoring": points}
    rules = house(2, 1, bidding__hook="none", tie_break="extra_deals", **settings)
    table = Table(rules, hands="AS / 2C", turned="2S").bid(1, 0).play("AS 2C")
    assert table.game.scores == [10, 10] and not table.game.over
    winner = winner_to_be(table)
    play_one_card_deal(table, *(int(seat != winner) for seat in range(2)))
    assert sorted(table.game.scores) == [4, 5]
    assert table.game.over
    assert len(table.game.winners()) == 1


@pytest.mark.parametrize("tie_break", ["shared", "extra_deals"])
def test_a_last_deal_declared_no_trump_may_use_every_card(tie_break: str, rng: random.Random):
    """Where other deals must leave a card to turn; an extra deal of that size is no-trump too."""
    rules = house(
        4,
        schedule__shape="up",
        schedule__high="max",
        pack__suits=["H", "S"],
        pack__ranks=list("9TJQKA"),
        trump__exhausted="forbid",
        trump__no_trump_deals="final",
        tie_break=tie_break,
    )
    deals = Table(rules).play_on(rng).game.finished_deals
    assert [deal["hand_size"] for deal in deals[:3]] == [1, 2, 3]
    assert [deal["trump"] is None for deal in deals[:3]] == [False, False, True]


def test_final_no_trump_with_a_target_raises():
    with pytest.raises(RulesError, match=r"no_trump_deals='final'.*end\.target.*'largest'"):
        house(trump__no_trump_deals="final", end__target=100)


def test_largest_no_trump_with_a_target_holds_in_every_pass(rng: random.Random):
    rules = house(3, 2, 4, trump__no_trump_deals="largest", end__target=9_000, end__max_deals=4)
    table = Table(rules).play_on(rng)
    assert [deal["trump"] is None for deal in table.game.finished_deals] == [False, True] * 2


def test_extra_deals_of_the_largest_size_are_no_trump_where_the_largest_are(rng: random.Random):
    rules = house(2, 1, 2, tie_break="extra_deals", trump__no_trump_deals="largest",
                  scoring={"table": NOTHING})  # fmt: skip
    table = Table(rules).play_on(rng)
    assert all(deal["trump"] is None for deal in table.game.finished_deals[1:])
    final = rules.replace(**{"trump.no_trump_deals": "final"})
    deals = Table(final).play_on(rng).game.finished_deals
    assert deals[1]["trump"] is None
    assert all(deal["turned"] is not None for deal in deals[2:])
