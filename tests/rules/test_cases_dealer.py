"""Cases 21 to 24 of the rules: who deals first, and how the deal passes."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from numba import njit

from ohhell_env.cards import card_name, parse_card
from ohhell_env.engine.bits import bit
from ohhell_env.engine.dealing import best_draws, draw, first_jack_seat
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from tests.helpers import Table, house


@njit
def jack_seat(games, rules, start):
    return first_jack_seat(games[0], rules[0], start)


@njit
def face_up(games, rules, count):
    """The cards that the table's random stream deals face up, as many as asked for."""
    cards = np.zeros(count, np.int64)
    stock = rules[0].pack
    for place in range(count):
        cards[place] = draw(games[0], stock, rules[0].num_cards - place)
        stock = stock & ~bit(cards[place])
    return cards


def dealt_face_up(seed: int) -> tuple[list[str], Game]:
    """The pack as it is about to be dealt face up to four seats, and the table that will do it."""
    game = Game(house(4, first_dealer="first_jack"), seed=seed)
    cards = face_up(game.copy().state, game.compiled, 52)
    return [card_name(int(card)) for card in cards], game


def first_dealers(game: Game, count: int) -> list[float]:
    """How often each seat deals first, as shares."""
    seen = [0] * game.players
    for _ in range(count):
        game.reset()
        seen[game.dealer] += 1
    return [times / count for times in seen]


def margin(share: float, count: int) -> float:
    """Five standard deviations of a share: an honest test of a fair table."""
    return 5 * math.sqrt(share * (1 - share) / count)


@pytest.mark.parametrize("start", range(4))
def test_case_21_the_first_jack_makes_the_dealer(start: int):
    places = set()
    for seed in range(100):
        cards, game = dealt_face_up(seed)
        first = next(place for place, card in enumerate(cards) if card[0] == "J")
        assert len(set(cards)) == 52
        assert jack_seat(game.state, game.compiled, start) == (start + first) % 4
        places.add(first)
    assert 4 in places  # four cards, then the jack: it is dealt to the seat that got the first card


def test_case_22_first_jack_from_a_fixed_seat_is_not_uniform():
    ways = [math.comb(52 - place, 3) / math.comb(52, 4) for place in range(1, 50)]
    exact = [sum(ways[seat::4]) for seat in range(4)]
    assert [round(share, 4) for share in exact] == [0.2803, 0.2593, 0.2395, 0.2209]
    game, count = Game(house(4, first_dealer="first_jack"), seed=22), 20_000
    seats = [jack_seat(game.state, game.compiled, 0) for _ in range(count)]
    for seat in range(4):
        assert abs(seats.count(seat) / count - exact[seat]) < margin(exact[seat], count)


@pytest.mark.parametrize("method", ["random", "first_jack", "high_card"])
def test_case_22_every_method_makes_each_seat_first_dealer_equally_often(method: str):
    count = 8000
    shares = first_dealers(Game(house(4, 1, first_dealer=method), seed=22), count)
    assert all(abs(share - 1 / 4) < margin(1 / 4, count) for share in shares)


def test_case_23_those_who_tie_for_the_highest_card_draw_again():
    drawn = np.zeros(8, np.int8)
    drawn[:3] = [parse_card("AC"), parse_card("AD"), parse_card("KS")]
    three = bit(0) | bit(1) | bit(2)
    assert best_draws(drawn, three) == bit(0) | bit(1)
    drawn[:2] = [parse_card("4C"), parse_card("5D")]  # seat 2 is out, its king too
    assert best_draws(drawn, bit(0) | bit(1)) == bit(1)


@pytest.mark.parametrize("first", range(4))
def test_case_24_the_deal_passes_to_the_left(first: int, rng: random.Random):
    rules = Rules.preset("nomination_whist", 4).replace(first_dealer=first)
    table = Table(rules, seed=24).play_on(rng)
    dealers = [deal["dealer"] for deal in table.game.finished_deals]
    assert dealers == [(first + d) % 4 for d in range(13)]
    assert [dealers.count(seat) for seat in range(4)] == [4 if s == first else 3 for s in range(4)]


def test_case_24_the_deal_passes_in_target_games_too(rng: random.Random):
    table = Table(Rules.preset("oh_well", 4).replace(first_dealer=2), seed=24).play_on(rng)
    dealers = [deal["dealer"] for deal in table.game.finished_deals]
    assert len(dealers) > 4
    assert dealers == [(2 + d) % 4 for d in range(len(dealers))]


# ---------------------------------------------------------------- beyond the numbered cases


def test_first_jack_without_a_jack_raises():
    with pytest.raises(RulesError, match=r"first_dealer='first_jack'.*no jack.*high_card"):
        house(pack__removed=["JC", "JD", "JH", "JS"], first_dealer="first_jack")


def test_one_jack_is_enough():
    rules = house(4, 2, pack__removed=["JC", "JD", "JH"], first_dealer="first_jack")
    assert {Game(rules, seed=seed).dealer for seed in range(40)} == {0, 1, 2, 3}


def test_high_card_with_a_pack_that_runs_out_of_cards_to_draw():
    rules = house(2, 1, pack__suits=["H", "S"], pack__ranks=["A"], first_dealer="high_card")
    assert {Game(rules, seed=seed).dealer for seed in range(20)} == {0, 1}
