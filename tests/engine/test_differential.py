"""Games over the whole grid of rules, compared with the naive referee and with OpenSpiel."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from ohhell_env.cards import card_name
from ohhell_env.engine.caching import COMPILED
from ohhell_env.engine.layout import BID_BASE
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from ohhell_env.rules.variants import variants
from tests.helpers import Table, short_rules

# ---------------------------------------------------------------- the naive referee


def play_random_games(seed: int, count: int) -> None:
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        rules = short_rules(rng)
        try:
            Table(rules, seed=number).play_on(rng)
        except Exception as error:
            error.add_note(f"game {seed}/{number} under {rules}")
            raise


def test_game_agrees_with_the_referee_under_random_rules():
    play_random_games(seed=1, count=300 if COMPILED else 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_game_agrees_with_the_referee_under_many_random_rules(seed: int):
    play_random_games(seed, count=2000)


def test_random_rules_reach_every_value_of_every_axis():
    rng = random.Random(3)
    drawn = [short_rules(rng) for _ in range(400)]
    values = {
        (axis, key, str(value))
        for rules in drawn
        for axis, part in rules.to_dict().items()
        for key, value in (part if isinstance(part, dict) else {"": part}).items()
    }
    wanted = {
        ("schedule", "shape"): "constant up down up_down down_up explicit",
        ("schedule", "overflow"): "scale plateau error",
        ("schedule", "repeat_low"): "1 2 players",
        ("schedule", "repeat_high"): "1 2 players",
        ("schedule", "step"): "1 2 3",
        ("first_dealer", ""): "random first_jack high_card 0 1",
        ("trump", "method"): "turn_up dealer_last_card fixed rotation random_suit none",
        ("trump", "exhausted"): "no_trump dealer_last_card random_suit forbid",
        ("trump", "no_trump_deals"): "none final largest",
        ("trump", "revealed"): "before_bidding after_bidding",
        ("bidding", "order"): "sequential simultaneous",
        ("bidding", "hook"): "none last_bidder",
        ("bidding", "hook_min_hand"): "1 2 3",
        ("blind_one_card", ""): "never always first last",
        ("play", "first_lead"): "eldest highest_bidder",
        ("play", "trump_lead"): "anytime after_first_trick after_broken when_forced",
        ("play", "head_led_suit"): "True False",
        ("play", "void"): "any must_trump must_overtrump_else_trump must_overtrump_else_free",
        ("tie_break", ""): "shared extra_deals most_exact_bids largest_bid_total",
        ("settlement", "kind"): "none differences pool",
        ("players", ""): "2 3 4 5 6 7 8",
    }
    missing = [
        (*key, value)
        for key, options in wanted.items()
        for value in options.split()
        if (*key, value) not in values
    ]
    assert missing == []
    assert any(rules.scoring.table for rules in drawn)
    assert any(rules.end.target for rules in drawn)


@pytest.mark.parametrize("name", variants())
def test_every_variant_agrees_with_the_referee(name: str):
    rng = random.Random(name)
    Table(Rules.preset(name, players=4), seed=5).play_on(rng)


# ---------------------------------------------------------------- OpenSpiel

OPEN_SPIEL_SUITS = "CDSH"


def open_spiel_card(name: str) -> int:
    """OpenSpiel counts suits within ranks, and its suits in another order."""
    return "23456789TJQKA".index(name[0]) * 4 + OPEN_SPIEL_SUITS.index(name[1])


def open_spiel_action(action: int) -> int:
    if action >= BID_BASE:
        return 52 + action - BID_BASE
    return open_spiel_card(card_name(action))


def open_spiel_chances(game: Game) -> Iterator[int]:
    """The outcomes of OpenSpiel's chance nodes that give it our deal: it deals from player 0 on."""
    yield game.hand_size
    yield game.dealer
    for place in range(game.hand_size):
        for seat in range(game.players):
            yield open_spiel_card(card_name(game.dealt[seat][place]))
    assert game.turned is not None
    yield open_spiel_card(card_name(game.turned))


def compare_with_open_spiel(players: int, size: int, off_bid: bool, deals: int) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game(
        "oh_hell",
        {"players": players, "num_tricks_fixed": size, "off_bid_penalty": off_bid},
    )
    rules = Rules.preset("open_spiel_oh_hell", players).replace(
        schedule={"sizes": (size,)}, scoring="off_bid" if off_bid else "common"
    )
    game = Game(rules, seed=100 * players + size)
    rng = random.Random(f"{players}/{size}/{off_bid}")
    for _ in range(deals):
        game.reset()
        state = theirs.new_initial_state()
        for outcome in open_spiel_chances(game):
            state.apply_action(outcome)
        while not game.over:
            assert state.current_player() == game.seat
            legal = game.legal_actions()
            assert sorted(map(open_spiel_action, legal)) == state.legal_actions()
            action = rng.choice(legal)
            game.apply(action)
            state.apply_action(open_spiel_action(action))
        assert state.is_terminal()
        assert state.returns() == [float(points) for points in game.points]


def sizes_of(players: int) -> list[int]:
    """Every hand size that leaves a card to turn."""
    return list(range(1, 51 // players + 1))


@pytest.mark.parametrize("players", range(3, 8))
def test_case_77_open_spiel_agrees_on_legal_moves_and_returns(players: int):
    sizes = sizes_of(players)
    for size in sizes:
        for off_bid in (False, True):
            compare_with_open_spiel(
                players, size, off_bid, deals=(200 if COMPILED else 34) // len(sizes)
            )


@pytest.mark.slow
@pytest.mark.parametrize("players", range(3, 8))
def test_case_77_open_spiel_agrees_over_100_000_deals(players: int):
    sizes = sizes_of(players)
    for size in sizes:
        for off_bid in (False, True):
            compare_with_open_spiel(players, size, off_bid, deals=10_000 // len(sizes) + 1)
