"""Properties of every game under every rules, by hypothesis."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ohhell_env.engine.layout import Phase
from ohhell_env.errors import IllegalActionError
from ohhell_env.game import Game
from ohhell_env.rules import schedule
from tests.helpers import random_rules

games = st.builds(
    lambda rules_seed, seed: Game(random_rules(random.Random(rules_seed)), seed=seed),
    st.integers(0, 10_000),
    st.integers(0, 2**64 - 1),
)
few = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def play(game: Game, seed: int, most: int = 300) -> None:
    chooser = random.Random(seed)
    for _ in range(most):
        if game.over:
            return
        game.apply(chooser.choice(game.legal_actions()))


@few
@given(games, st.integers(0, 1000))
def test_every_card_is_in_one_place(game: Game, seed: int) -> None:
    chooser = random.Random(seed)
    for _ in range(120):
        held = [card for hand in game.hands for card in hand]
        played = [card for _, card in game.plays]
        assert len(set(held) | set(played)) == len(held) + len(played)
        assert set(held) | set(played) <= set(game.rules.pack.cards)
        assert sorted(held + played) == sorted(card for hand in game.dealt for card in hand)
        if game.over:
            return
        assert len(game.dealt[0]) == game.hand_size
        assert game.legal_actions()
        game.apply(chooser.choice(game.legal_actions()))


@few
@given(games, st.integers(0, 1000))
def test_tricks_and_points_add_up(game: Game, seed: int) -> None:
    play(game, seed)
    totals = [0] * game.players
    for deal in game.finished_deals:
        for trick in deal["tricks"]:
            assert len({seat for seat, _ in trick}) == game.players
        bids = dict(deal["bids"])
        assert sorted(bids) == list(range(game.players))
        assert len(deal["tricks"]) == deal["hand_size"]
        size = deal["hand_size"]
        possible = {
            schedule.points(game.rules.scoring, bids[0], tricks, size) for tricks in range(size + 1)
        }
        assert deal["points"][0] in possible
        totals = [total + points for total, points in zip(totals, deal["points"], strict=True)]
    assert totals == game.scores


@few
@given(games, st.integers(0, 1000), st.integers(-200, 300))
def test_an_illegal_action_changes_nothing(game: Game, seed: int, action: int) -> None:
    play(game, seed, most=seed % 40)
    before = game.state.tobytes()
    if action in game.legal_actions():
        return
    try:
        game.apply(action)
    except IllegalActionError as error:
        assert "unchanged" in str(error) or game.over
    else:
        raise AssertionError(f"{action} was taken, legal: {game.legal_actions()}")
    assert game.state.tobytes() == before


@few
@given(games, st.integers(0, 1000))
def test_the_hook_leaves_somebody_disappointed(game: Game, seed: int) -> None:
    play(game, seed)
    bidding = game.rules.bidding
    for deal in game.finished_deals:
        if bidding.hook == "last_bidder" and deal["hand_size"] >= bidding.hook_min_hand:
            assert sum(bid for _, bid in deal["bids"]) != deal["hand_size"]


@few
@given(games, st.integers(0, 1000))
def test_a_copy_goes_its_own_way(game: Game, seed: int) -> None:
    play(game, seed, most=20)
    before = game.state.tobytes()
    twin = game.copy()
    play(twin, seed, most=30)
    assert game.state.tobytes() == before
    again = game.copy()
    play(again, seed, most=30)
    assert again.state.tobytes() == twin.state.tobytes()


def test_a_finished_game_says_so() -> None:
    game = Game("nomination_whist", seed=1)
    play(game, 1, most=10_000)
    assert game.phase is Phase.OVER
    assert game.legal_actions() == []
    assert game.seat == -1
    assert sum(game.win_shares()) == 1
