"""One-card deals: the solver against plain enumeration, known values, and players."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ohhell_agents import Agent, make
from ohhell_env.cards import Pack, card_name, rank_of, suit_of
from ohhell_env.cli.commands import main
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import points
from ohhell_train.exact import solve, value_of

EIGHT: dict[str, Any] = {"suits": ("C", "D"), "ranks": ("2", "3", "4", "5")}
SEVEN = EIGHT | {"removed": ("3D",)}


def one_card(players: int = 3, **changes: Any) -> Rules:
    """Rules whose deals are of one card."""
    usual: dict[str, Any] = {"schedule": {"shape": "explicit", "sizes": (1,)}}
    return Rules(players=players).replace(**(usual | changes))


# ------------------------------------------- the same by naive enumeration

Deal = tuple[str, int, tuple[int, ...], Fraction]
"""What is seen of the trump, the trump, the cards from eldest on, the chance."""


def naive_deals(rules: Rules) -> Iterator[Deal]:
    """Every one-card deal of a variant, said once more."""
    cards, method = rules.pack.cards, rules.trump.method
    late = rules.trump.revealed == "after_bidding"
    if method == "turn_up":
        for dealt in itertools.permutations(cards, rules.players + 1):
            chance = Fraction(1, math.perm(len(cards), len(dealt)))
            seen = "late" if late else card_name(dealt[-1], rules.pack)
            yield seen, suit_of(dealt[-1]), dealt[:-1], chance
        return
    for hands in itertools.permutations(cards, rules.players):
        chance = Fraction(1, math.perm(len(cards), len(hands)))
        if method == "dealer_last_card":
            seen = "late" if late else card_name(hands[-1], rules.pack)
            yield seen, suit_of(hands[-1]), hands, chance
        elif method == "random_suit":
            for card in cards:
                seen = "late" if late else rules.pack.suits[suit_of(card)]
                yield seen, suit_of(card), hands, chance / len(cards)
        else:
            yield "NT", 4, hands, chance


def winner(hands: Sequence[int], trump: int) -> int:
    led = suit_of(hands[0])

    def height(place: int) -> tuple[bool, bool, int]:
        suit = suit_of(hands[place])
        return suit == trump, suit == led, rank_of(hands[place])

    return max(range(len(hands)), key=height)


def naive_values(rules: Rules) -> list[Fraction]:
    """Expected points from eldest to dealer, seat by seat over the list of all deals."""
    deals = [(*deal, winner(deal[2], deal[1])) for deal in naive_deals(rules)]
    heard = rules.bidding.order == "sequential"
    made: list[list[int]] = [[] for _ in deals]
    values: list[Fraction] = []
    for place in range(rules.players):
        situations: dict[Any, list[int]] = defaultdict(list)
        for index, (seen, _, hands, _, _) in enumerate(deals):
            before = tuple(made[index]) if heard else ()
            situations[seen, hands[place], before].append(index)
        total = Fraction(0)
        for (_, _, before), members in situations.items():
            worth: dict[int, Fraction] = {}
            for bid in (0, 1):
                last = place == rules.players - 1 and rules.bidding.hook != "none"
                if last and sum(before) + bid == 1:
                    continue
                worth[bid] = sum(
                    (
                        deals[i][3] * points(rules.scoring, bid, int(deals[i][4] == place), 1)
                        for i in members
                    ),
                    Fraction(0),
                )
            bid = max(worth, key=lambda b: (worth[b], -b))
            total += worth[bid]
            for i in members:
                made[i].append(bid)
        values.append(total)
    return values


VARIANTS: dict[str, Rules] = {
    "hook": one_card(pack=EIGHT),
    "no hook": one_card(pack=EIGHT, bidding={"hook": "none"}),
    "two players": one_card(2, pack=EIGHT),
    "four players": one_card(4, pack=SEVEN),
    "five players": one_card(5, pack=SEVEN),
    "simple": one_card(pack=EIGHT, scoring="simple"),
    "bonus only": one_card(pack=SEVEN, scoring="bonus_only"),
    "escalating": one_card(pack=SEVEN, scoring="escalating"),
    "dear nil": one_card(pack=SEVEN, scoring="skull_king"),
    "simultaneous": one_card(pack=SEVEN, bidding={"order": "simultaneous", "hook": "none"}),
    "no trump": one_card(pack=SEVEN, trump={"method": "none"}),
    "dealer's card": one_card(pack=SEVEN, trump={"method": "dealer_last_card"}),
    "chance suit": one_card(pack=SEVEN, trump={"method": "random_suit"}),
    "late trump": one_card(pack=SEVEN, trump={"revealed": "after_bidding"}),
    "dealer's card, late": one_card(
        pack=SEVEN, trump={"method": "dealer_last_card", "revealed": "after_bidding"}
    ),
    "chance suit, late": one_card(
        pack=SEVEN, trump={"method": "random_suit", "revealed": "after_bidding"}
    ),
    "hook from two cards on": one_card(pack=EIGHT, bidding={"hook_min_hand": 2}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_values_are_those_of_plain_enumeration(name: str) -> None:
    rules = VARIANTS[name]
    if name == "hook from two cards on":
        expected = naive_values(rules.replace(bidding={"hook": "none"}))
    else:
        expected = naive_values(rules)
    assert solve(rules).values == pytest.approx([float(v) for v in expected], abs=1e-12)


def test_known_values() -> None:
    """Published and measured before, to two decimals; with five players by simulation."""
    known = {
        3: [7.03, 9.19, 4.46],
        4: [7.69, 9.30, 9.44, 4.25],
        5: [8.26, 9.28, 9.42, 9.54, 4.02],
    }
    for players, values in known.items():
        assert solve("oh_hell", players).values == pytest.approx(values, abs=0.02)


def test_chances_of_all_situations_and_of_winning_add_up_to_one() -> None:
    from ohhell_train.exact.beginnings import beginnings
    from ohhell_train.exact.one_card import _Table

    for rules in VARIANTS.values():
        table, bids = _Table(beginnings(rules)), solve(rules).bids
        bids = np.where(np.random.default_rng(1).random(bids.shape) < 0.5, bids, 0.3)
        wins = 0.0
        for place in range(rules.players):
            told = np.ones((len(table.deals.seen), 1 << place), np.bool_)
            hold, win = table._count_wins(bids, place, told)
            assert hold.sum() == pytest.approx(1.0, abs=1e-9)
            wins += win.sum()
        assert wins == pytest.approx(1.0, abs=1e-9)


def test_bids_of_the_table() -> None:
    best = solve("oh_hell", 4)
    assert best.bid("AS", "2S") == 1
    assert best.bid("AH", "2S") == 0  # more often than not one of three holds a trump
    assert solve("oh_hell", 3).bid("AH", "2S") == 1  # one of two does not
    assert best.bid("2H", "3S") == 0
    assert best.bid("AS", "2S", [0, 0, 0]) == 0  # the hook
    assert best.bid("2H", "3S", [1, 0, 0]) == 1
    assert best.bid("2H", "3S", [1, 1, 0]) == 0
    assert best.bid("2S", "3S", [0]) == 1  # eldest said that it holds no trump worth a name
    assert [best.bid(card, "2S", [1]) for card in ("9S", "TS")] == [0, 1]


def test_what_is_not_solved_is_refused() -> None:
    with pytest.raises(RulesError, match="change who leads"):
        solve(one_card(play={"first_lead": "highest_bidder"}))
    with pytest.raises(RulesError, match="blind deals cannot be solved"):
        solve(one_card(blind_one_card="always"))
    best = solve("oh_hell", 3)
    with pytest.raises(RulesError, match="seen='1S'"):
        best.bid("AS", "1S")
    with pytest.raises(RulesError, match="bids of 0 or 1"):
        best.bid("AS", "2S", [2])


# --------------------------------------------------------------------- players


class ByTable(Agent):
    """Bids as a function of hand, seen trump and bids before says."""

    kind = "by_table"

    def __init__(self, bid: Callable[[dict[str, Any]], int]) -> None:
        super().__init__(0)
        self._bid = bid

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        from ohhell_env.observation import decode

        assert self.rules is not None
        chosen = [60 + self._bid(decode(view, self.rules)) for view in observations]
        legal = action_masks[np.arange(len(chosen)), chosen].astype(bool)
        return np.where(legal, chosen, action_masks.argmax(axis=1))


def best_bidder(rules: Rules) -> Agent:
    """Returns a player that bids as the solution says."""
    best = solve(rules)

    def bid(view: dict[str, Any]) -> int:
        if view["phase"] == "play":
            return 0  # there is only one card to play
        seen = view["turned"] or ("late" if view["trump"] == "?" else view["trump"])
        place = (-view["dealer"] - 1) % rules.players  # seats are counted from the bidder on
        before = [view["bids"][seat - place] or 0 for seat in range(place)]
        return best.bid(view["hand"][0], seen, before)

    return ByTable(bid)


@pytest.mark.parametrize(
    "name", ["hook", "no trump", "dealer's card", "late trump", "simultaneous"]
)
def test_the_best_bidder_loses_nothing(name: str) -> None:
    rules = VARIANTS[name]
    best = solve(rules)
    standing = value_of(best_bidder(rules), rules)
    assert standing.among_best == pytest.approx(best.values, abs=1e-12)
    assert standing.among_own == pytest.approx(best.values, abs=1e-12)
    assert standing.loss == pytest.approx(0, abs=1e-12)
    assert standing.nash_conv == pytest.approx(0, abs=1e-12)


def test_a_bad_bidder_among_its_own_kind_is_worth_what_the_table_says() -> None:
    """Everybody bids nil (the dealer is not hooked): 10 unless one wins, by symmetry."""
    rules = one_card(4, pack=EIGHT, bidding={"hook": "none"})
    standing = value_of(ByTable(lambda view: 0), rules)
    won = [Fraction(0)] * 4
    for _, trump, hands, chance in naive_deals(rules):
        won[winner(hands, trump)] += chance
    expected = [10 * (1 - float(share)) + float(share) for share in won]
    assert standing.among_own == pytest.approx(expected, abs=1e-12)
    assert standing.nash_conv > 0.5 and standing.loss > 0.2


@pytest.mark.parametrize("name", ["hook", "no trump", "dealer's card"])
def test_values_of_a_player_are_those_of_play(name: str) -> None:
    """The heuristic player at real tables, against the exact mean: within four standard errors."""
    rules, deals = VARIANTS[name], 3000
    standing = value_of("heuristic", rules)
    game, agent = Game(rules, seed=3, episode="deal", hand_size=1), make("heuristic", seed=1)
    agent.begin(rules)
    from tests.agents.views import view

    scores = np.zeros((deals, rules.players))
    for row in scores:
        game.reset()
        order = [(game.dealer + 1 + place) % rules.players for place in range(rules.players)]
        while not game.over:
            action = agent.act(view(game)) if game.bids.count(None) else game.legal_actions()[0]
            game.apply(action)
        row[:] = [game.points[seat] for seat in order]
    errors = scores.std(axis=0) / math.sqrt(deals)
    assert (abs(scores.mean(axis=0) - standing.among_own) <= 4 * errors + 1e-9).all()


@pytest.mark.parametrize("players", [3, 4, 5, 6, 7])
def test_heuristic_is_near_the_best_at_one_card(players: int) -> None:
    assert value_of("heuristic", "oh_hell", players).loss <= 0.05


@pytest.mark.parametrize("scoring", ["simple", "escalating", "bonus_only", "off_bid"])
def test_heuristic_is_near_the_best_under_other_scorings(scoring: str) -> None:
    rules = Rules.preset("oh_hell", 4).replace(scoring=scoring)
    assert value_of("heuristic", rules).loss <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("players", [3, 4])
def test_search_is_near_the_best_at_one_card(players: int) -> None:
    assert value_of("search:worlds=200", "oh_hell", players).loss <= 0.05


def test_random_is_not() -> None:
    assert value_of("random", "oh_hell", 3).loss > 1.0


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exact", "--rules", "oh_hell", "--players", "3", "heuristic"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[-3:] == ["7.034", "9.190", "4.464"]
    loses, nash_conv = (float(word) for word in re.findall(r"\d+\.\d+", lines[2]))
    assert lines[2].startswith("heuristic loses ")
    assert 0.0 <= loses < 0.05
    assert loses <= nash_conv
    assert main(["exact", "--set", "blind_one_card=always"]) == 2
    assert "blind deals cannot be solved" in capsys.readouterr().err
    assert main(["exact", "--hand-size", "2"]) == 2
    assert "--tiny" in capsys.readouterr().err


def test_a_pack_of_other_suits() -> None:
    rules = one_card(pack=Pack(suits=("X", "Y", "Z"), ranks=("1", "2", "3")))
    expected = naive_values(rules)
    assert solve(rules).values == pytest.approx([float(v) for v in expected], abs=1e-12)
