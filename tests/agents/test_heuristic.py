"""The heuristic player: what a club player finds obvious, and that it never peeks."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import ohhell_agents
from ohhell_agents.value.players import HEURISTIC, play_on
from ohhell_agents.value.policy import heuristic_action
from ohhell_agents.value.trick_model import fitted
from ohhell_env import BatchedOhHell
from ohhell_env.cards import parse_card
from ohhell_env.engine.layout import NO_BID, NO_CARD, Phase, new_games
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from ohhell_env.rules.variants import VARIANTS, variants
from tests.agents.views import decide, states, view
from tests.helpers import random_rules

FREE = {"bidding": {"hook": "none"}}


def table(
    hands: str,
    turned: str | None = None,
    dealer: int | None = None,
    bids: str = "",
    cards: str = "",
    **changes: Any,
) -> Game:
    """Returns a game after some bids and cards; hands by seat, divided by "/"."""
    given = [hand.split() for hand in hands.split("/")]
    rules = Rules(players=len(given)).replace(**(FREE | changes))
    game = Game(rules, seed=1, episode="deal", hand_size=len(given[0]))
    last = len(given) - 1 if dealer is None else dealer
    game.reset(hands=given, turned=turned, dealer=last)
    for bid in bids.split():
        game.apply(60 + int(bid))
    for card in cards.split():
        game.apply(parse_card(card))
    return game


def plays(game: Game, card: str) -> bool:
    """Whether the heuristic player plays that card now."""
    return decide(game) == parse_card(card)


# ------------------------------------------------------------------ positions


def test_p78_hooked_off_its_bid_it_never_goes_below_the_sure_tricks() -> None:
    game = table(
        "7H 8H / 7D 8D / 9H 9D / AS 3C",
        turned="2S",
        bids="1 0 0",
        bidding={"hook": "last_bidder"},
    )
    assert game.legal_actions() == [60, 62]
    assert decide(game) == 62


@pytest.mark.parametrize("scoring", ["common", "simple", "escalating", "bonus_only"])
def test_p79_needing_every_trick_it_leads_the_top_trump(scoring: str) -> None:
    hands = "KS QS 4S / 7D 8D 9D / 9H 9C 8C / 5C 3C 2H"
    assert plays(table(hands, turned="2S", bids="3 0 0 0", scoring=scoring), "KS")


@pytest.mark.parametrize("scoring", ["common", "simple", "escalating", "bonus_only"])
def test_p80_needing_one_it_keeps_the_boss_trump_for_last(scoring: str) -> None:
    hands = "KC QC / AS 3D / 9C TC / 5C 6C"
    game = table(hands, turned="2S", bids="1 1 0 0", cards="KC", scoring=scoring)
    assert plays(game, "3D")


def test_last_in_hand_it_wins_as_cheaply_as_it_can() -> None:
    hands = "7H 8D 2C / 9H 9D 3C / 5H 7D 4C / TH AH 6C"
    assert plays(table(hands, turned="2S", bids="1 1 0 2", cards="7H 9H 5H"), "TH")


def test_last_in_hand_it_wins_its_only_trick_with_the_dangerous_card() -> None:
    hands = "7H 8D 2C / 9H 9D 3C / 5H 7D 4C / TH AH 6C"
    assert plays(table(hands, turned="2S", bids="1 1 0 1", cards="7H 9H 5H"), "AH")


def test_wanting_none_it_ducks_with_the_highest_card_that_loses() -> None:
    hands = "QH 8D 2C / KH JH 3H / 5H 7D 4C / 6H 9D 6C"
    assert plays(table(hands, turned="2S", bids="1 0 1 1", cards="QH"), "JH")


def test_wanting_none_and_void_it_throws_the_dangerous_card() -> None:
    hands = "QH 8D 2C / AC 3D 2D / 5H 7D 4C / 6H 9D 6C"
    assert plays(table(hands, turned="2S", bids="1 0 1 1", cards="QH"), "AC")


def test_wanting_a_trick_and_void_it_ruffs() -> None:
    hands = "QH 8D 2C / 9S 3D 2D / 5H 7D 4C / 6H 9D 6C"
    assert plays(table(hands, turned="2S", bids="1 1 1 0", cards="QH"), "9S")


def test_with_all_top_trumps_it_bids_every_trick() -> None:
    game = table("AS KS QS / 7D 8D 9D / 9H 9C 8C / 5C 3C 2H", turned="2S")
    assert decide(game) == 63


def test_with_nothing_it_bids_nil() -> None:
    game = table("2D 3D 2C / 7D 8S 9D / 9H 9C 8C / 5C 3C 2H", turned="2S", scoring="simple")
    assert decide(game) == 60


def test_it_bids_by_the_points_of_the_table() -> None:
    """Only a made bid of three pays anything here, so that is the bid with any hand."""
    scores = [[[0] * (size + 1) for _ in range(size + 1)] for size in range(1, 27)]
    scores[2][3][3] = 5
    hands = "2D 3D 2C / 7D 8S 9D / 9H 9C 8C / 5C 3C 2H"
    assert decide(table(hands, turned="2S", scoring={"table": scores})) == 63


@pytest.mark.parametrize(("others", "bid"), [("2C / 3C / 2D", 61), ("AS / KS / QS", 60)])
def test_blind_it_bids_by_the_cards_of_the_others(others: str, bid: int) -> None:
    game = table(f"7S / {others}", turned="2S", blind_one_card="always")
    assert decide(game) == bid


# ------------------------------------------------ one player, in engine and out


def all_rules() -> list[Rules]:
    presets = [
        Rules.preset(name, players) for name in variants() for players in VARIANTS[name].usual
    ]
    rng = random.Random(8)
    return presets + [random_rules(rng) for _ in range(40)]


ALL_RULES = all_rules()


@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: f"{rules.name}-{rules.players}")
def test_legal_and_equal_through_every_door(rules: Rules) -> None:
    agent = ohhell_agents.make("heuristic", seed=1)
    for layout in ("default", "universal"):
        for tables in states(rules, agent, steps=12, tables=4, layout=layout):
            chosen = agent.act_batch(tables.observations, tables.action_masks)
            assert tables.action_masks[np.arange(4), chosen].all()
            compiled = tables.game(0).compiled
            for place, action in enumerate(chosen):
                assert heuristic_action(tables.games[place], compiled[0], fitted()[0]) == action
            first = {"observation": tables.observations[0], "action_mask": tables.action_masks[0]}
            assert agent.act(first) == chosen[0]


def hidden_changed(tables: BatchedOhHell, rng: random.Random) -> np.ndarray:
    """Returns the tables' records with all that the seats to act cannot know changed."""
    games = tables.games.copy()
    simultaneous = tables.rules.bidding.order == "simultaneous"
    for place, game in enumerate(tables.game(i) for i in range(len(games))):
        row, seat = games[place], game.seat
        bidding = game.phase is Phase.BID
        if not (game.blind and bidding):
            _redeal(row, game, rng)
        else:
            row["hands"][seat] = 0
        if not game.trump_known:
            row["trump"], row["turned"] = rng.choice([0, 4]), NO_CARD
        if simultaneous and bidding:
            for other in range(game.players):
                if other != seat:
                    row["bids"][other] = rng.choice([NO_BID, 0, 1])
    return games


def _redeal(row: np.void, game: Game, rng: random.Random) -> None:
    """Deals the unseen cards anew, duties and shown voids apart: nobody may look there anyway."""
    others = [seat for seat in range(game.players) if seat != game.seat]
    seen = {card for hand in game.dealt for card in hand} - {
        card for seat in others for card in game.hands[seat]
    }
    turned = set() if game.turned is None or not game.trump_known else {game.turned}
    unseen = [card for card in game.rules.pack.cards if card not in seen | turned]
    rng.shuffle(unseen)
    for seat in others:
        hand = [unseen.pop() for _ in game.hands[seat] if unseen]
        row["hands"][seat] = sum(1 << card for card in hand)


@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: f"{rules.name}-{rules.players}")
def test_hidden_cards_never_change_a_decision(rules: Rules, rng: random.Random) -> None:
    agent = ohhell_agents.make("heuristic", seed=1)
    for tables in states(rules, agent, steps=12, tables=4):
        compiled = tables.game(0).compiled
        changed = hidden_changed(tables, rng)
        for row, other in zip(tables.games, changed, strict=True):
            assert heuristic_action(row, compiled[0], fitted()[0]) == heuristic_action(
                other, compiled[0], fitted()[0]
            )


def test_the_engine_plays_whole_deals() -> None:
    tables = BatchedOhHell(50, "oh_hell", seed=4)
    tables.reset()
    players = np.full((50, 4), HEURISTIC, np.int8)
    keys = np.zeros((50, 4), np.uint64)
    sizes = tables.games["hand_size"].astype(int)
    compiled = Game("oh_hell", seed=0, episode="deal").compiled
    log = np.zeros((50, 1, 10), np.int8)
    assert play_on(tables.games, compiled, fitted(), players, keys, log) == (4 * (sizes + 1)).sum()
    assert (log[:, 0, 0] == sizes).all()
    assert (log[:, 0, 2:6] == tables.games["bids"][:, :4]).all()
    assert (log[:, 0, 6:] == tables.games["tricks_won"][:, :4]).all()
    assert (tables.games["phase"] == Phase.OVER).all()
    assert (tables.games["tricks_won"].sum(axis=1) == sizes).all()


def test_a_hand_size_outside_the_schedule_is_scored_by_its_own_points() -> None:
    rules = Rules().replace(scoring="escalating")
    games = new_games(1)
    game = Game(rules, seed=3, episode="deal", hand_size=12)
    games[:] = game.state
    assert decide(game) == heuristic_action(games[0], game.compiled[0], fitted()[0])


# ------------------------------------------------------------------ what it thought


def test_explanations_give_the_chosen_action_the_most_points() -> None:
    game = Game("oh_hell", seed=3, episode="deal", hand_size=7)
    player = ohhell_agents.HeuristicAgent()
    player.begin("oh_hell")
    while not game.over:
        told = player.explain(view(game))
        assert told.chosen == decide(game)
        assert sorted(thought.action for thought in told.thoughts) == game.legal_actions()
        values = [thought.value for thought in told.thoughts if thought.value is not None]
        assert values, "something is weighed"
        assert values == sorted(values, reverse=True)
        first = told.thoughts[0]
        assert first.action == told.chosen and first.difference == 0.0
        for thought in told.thoughts:
            if thought.value is not None and first.value is not None:
                gap = thought.value - first.value
                assert thought.difference == pytest.approx(gap, abs=0.002)
        assert told.chosen_name in str(told).splitlines()[0]
        game.apply(told.chosen)


def test_the_value_of_a_bid_is_its_expected_points() -> None:
    """With the boss trump alone in a one-card deal, a bid of one is made for certain."""
    game = table("AS / 7D / 9H / 3C", turned="2S", scoring="simple")
    player = ohhell_agents.HeuristicAgent()
    player.begin(game.rules)
    told = player.explain(view(game))
    assert told.thoughts[0].name == "bid 1"
    assert told.thoughts[0].value == pytest.approx(11.0, abs=0.5)
    second = told.thoughts[1].value
    assert second is not None and second < 2.0


def test_expected_points_that_round_to_nothing_have_no_sign() -> None:
    """Two tricks with the lowest cards cost a point, and are next to impossible."""
    points = [[[0, 0]] * 2, [[0, 0, -1]] * 3]
    rules = {"scoring": {"table": points}, "schedule": {"shape": "up", "high": 2}}
    game = table("7D 8D / 9D TD / 9H TH / 9S TS / 2C 2H", turned="2S", bids="0 0 0 0", **rules)
    player = ohhell_agents.HeuristicAgent()
    player.begin(game.rules)
    told = player.explain(view(game))
    value = told.thoughts[0].value
    assert value is not None and -0.005 < value < 0.0
    assert told.notes == ("points expected of the best choice: 0.00",)
