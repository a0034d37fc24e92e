"""Shuffling is unbiased, streams are independent, deals depend on seed and row alone."""

from __future__ import annotations

import numpy as np
import pytest

from ohhell_env.cards import Pack
from ohhell_env.engine import batch
from ohhell_env.engine.bits import COMPILED
from ohhell_env.engine.layout import compile_rules, new_games
from ohhell_env.game import Game, cards_of
from tests.helpers import house

DEALS = 20_000 if COMPILED else 200


def deal_many(rules: object, count: int, seed: int = 11) -> np.ndarray:
    """Returns the records of freshly dealt tables."""
    games = new_games(count)
    batch.seed_tables(games, np.uint64(seed), np.uint64(0))
    batch.begin_all(games, compile_rules(rules, "deal"))
    return games


def chi_square(counts: np.ndarray, expected: float) -> float:
    return float((((counts - expected) ** 2) / expected).sum())


@pytest.mark.parametrize("seat", [0, 3])
def test_every_card_is_equally_likely_in_every_hand(seat: int) -> None:
    games = deal_many(house(4, 5), DEALS)
    bits = np.unpackbits(games["hands"][:, seat].astype("<u8").view(np.uint8), bitorder="little")
    counts = bits.reshape(DEALS, 64)[:, :52].sum(axis=0)
    # 51 degrees of freedom (a little less spread, since a hand holds no card twice):
    # beyond 100 once in ten thousand
    assert chi_square(counts, DEALS * 5 / 52) < 100


def test_every_card_is_turned_equally_often() -> None:
    games = deal_many(house(4, 5), DEALS)
    counts = np.bincount(games["turned"], minlength=52)
    assert chi_square(counts, DEALS / 52) < 100


def test_pairs_of_cards_meet_as_often_as_they_should() -> None:
    # The ace and the king of spades are in one hand of 5 with probability 4 * C(5,2) / C(52,2).
    games = deal_many(house(4, 5), DEALS)
    both = np.uint64(1 << 51 | 1 << 50)
    together = ((games["hands"][:, :4] & both) == both).any(axis=1).mean()
    expected = 4 * 10 / 1326
    assert abs(together - expected) < 5 * np.sqrt(expected / DEALS)


def test_tiny_pack_deals_every_arrangement() -> None:
    pack = Pack(suits=("C", "D"), ranks=("K", "A"))
    games = deal_many(house(2, 1, pack=pack, first_dealer=0), DEALS)
    seen = {
        (cards_of(int(row["hands"][0]))[0], cards_of(int(row["hands"][1]))[0], int(row["turned"]))
        for row in games
    }
    assert len(seen) == 4 * 3 * 2


def test_first_dealers_are_uniform() -> None:
    for how in ("random", "high_card", "first_jack"):
        games = deal_many(house(4, 5, first_dealer=how), DEALS)
        counts = np.bincount(games["dealer"], minlength=4)
        assert chi_square(counts, DEALS / 4) < 25, how


def test_streams_of_rows_and_seeds_are_unlike() -> None:
    first = deal_many(house(4, 5), 2000, seed=1)["hands"][:, 0]
    second = deal_many(house(4, 5), 2000, seed=2)["hands"][:, 0]
    assert len(set(first.tolist())) > 1990
    assert len(set(first.tolist()) & set(second.tolist())) < 10


def test_a_row_deals_the_same_whatever_the_number_of_tables() -> None:
    rules = house(4, 5)
    many, few = deal_many(rules, 100), deal_many(rules, 3)
    assert many[:3].tobytes() == few.tobytes()
    apart = new_games(1)
    batch.seed_tables(apart, np.uint64(11), np.uint64(57))
    batch.begin_all(apart, compile_rules(rules, "deal"))
    assert apart.tobytes() == many[57:58].tobytes()


def test_players_choices_do_not_touch_the_cards() -> None:
    """Other bids and plays, the same next deal."""
    low, high = Game(house(3, 2, 4), seed=5), Game(house(3, 2, 4), seed=5)
    while not low.finished_deals:
        low.apply(low.legal_actions()[0])
    while not high.finished_deals:
        high.apply(high.legal_actions()[-1])
    assert low.finished_deals[0]["bids"] != high.finished_deals[0]["bids"]
    assert low.dealt == high.dealt
    assert low.turned == high.turned


def test_known_cards_of_seed_seven() -> None:
    """The deals of a seed change only with a new version number of the environment."""
    game = Game("oh_hell", seed=7)
    assert (game.dealer, game.turned) == (3, 42)
    assert game.dealt[0] == [1, 11, 17, 18, 19, 27, 38, 39, 43, 51]
