"""What a seat knows of a deal in OpenSpiel, and the deals that it cannot tell apart."""

from __future__ import annotations

import collections
import itertools
import random
from typing import Any

import pytest

pytest.importorskip("pyspiel")

from ohhell_env import Rules, variants
from ohhell_env.adapters.open_spiel import OhHellState, game_of
from ohhell_env.cards import card_name
from ohhell_env.engine.layout import NO_TRUMP
from ohhell_env.errors import OhHellError, RulesError
from tests.adapters.deals import TREES, dealt_by_chance, moments, tree
from tests.envs.play import some_rules
from tests.helpers import house


@pytest.mark.parametrize("name", TREES)
def test_perfect_recall(name: str) -> None:
    """A seat never forgets: what it knows tells all that it knew and did before."""
    game = game_of(TREES[name])
    past: dict[str, tuple[Any, ...]] = {}
    legal: dict[str, list[int]] = {}
    todo: list[tuple[OhHellState, list[tuple[Any, ...]]]]
    todo = [(game.new_initial_state(), [()] * game.num_players())]
    met = 0
    while todo:
        state, own = todo.pop()
        seat = state.current_player()
        if seat >= 0:
            met += 1
            knows = state.information_state_string()
            assert past.setdefault(knows, own[seat]) == own[seat]
            assert legal.setdefault(knows, state.legal_actions()) == state.legal_actions()
        for action in state.legal_actions():
            follows = list(own)
            if seat >= 0:
                follows[seat] = (*own[seat], (state.information_state_string(), action))
            todo.append((state.child(action), follows))
    all_known = name == "high bidder"  # two players between whom the whole pack is dealt
    assert (met > len(past)) != all_known


def test_simultaneous_bids_are_secret_until_all_have_bid() -> None:
    game, rng = game_of(TREES["simultaneous"]), random.Random(1)
    for _ in range(20):
        first = dealt_by_chance(game, rng)
        bidder = first.current_player()
        bids = [first.child(action) for action in first.legal_actions()]
        second = bids[0].current_player()
        for seat in range(3):
            told = {state.information_state_string(seat) for state in bids}
            assert len(told) == (2 if seat == bidder else 1)
        lasts = [state.child(state.legal_actions()[0]) for state in bids]
        third = lasts[0].current_player()
        assert len({state.information_state_string(third) for state in lasts}) == 1
        opened = [state.child(state.legal_actions()[0]) for state in lasts]
        for seat in (second, third):
            assert len({state.information_state_string(seat) for state in opened}) == 2


@pytest.mark.parametrize("seed", range(3))
def test_hidden_cards_do_not_change_what_a_seat_knows(seed: int) -> None:
    rng, changed = random.Random(seed), 0
    rules = [Rules.preset(rng.choice(variants()), 4), *some_rules(8, 90 + seed)]
    for each in rules:
        for state in moments(game_of(each), rng):
            if state.is_terminal() or rng.random() > 0.15:
                continue
            seat = rng.randrange(each.players)
            other = state.resample_from_infostate(seat, rng.random)
            assert other.information_state_string(seat) == state.information_state_string(seat)
            assert list(other.information_state_tensor(seat)) == list(
                state.information_state_tensor(seat)
            )
            assert other.current_player() == state.current_player()
            assert seat != state.current_player() or other.legal_actions() == state.legal_actions()
            one, two = other.moment.table, state.moment.table
            assert one is not None and two is not None
            changed += one.hands != two.hands
    assert changed > 20


@pytest.mark.parametrize("name", ["two cards", "late trump", "simultaneous", "blind"])
def test_worlds_are_all_that_fit_and_equally_likely(name: str) -> None:
    game, rng = game_of(TREES[name]), random.Random(3)
    states = [state for state in tree(game.new_initial_state()) if state.current_player() >= 0]
    worlds: dict[tuple[int, int, str], set[str]] = {}
    for state, seat in itertools.product(states, range(game.num_players())):
        knows = state.information_state_string(seat)
        key = (state.current_player(), seat, knows)
        worlds.setdefault(key, set()).add(deal_of(state))
    rng.shuffle(states)
    narrow = 0
    for state in states[:4]:
        seat = rng.randrange(game.num_players())
        fit = worlds[state.current_player(), seat, state.information_state_string(seat)]
        draws = 120 * len(fit)
        found = collections.Counter(
            deal_of(state.resample_from_infostate(seat, rng.random)) for _ in range(draws)
        )
        assert found.keys() == fit
        narrow += len(fit) > 1
        assert all(70 < count < 180 for count in found.values())  # 120 each, standard deviation 11
    assert narrow > 1


def deal_of(state: OhHellState) -> str:
    """What a seat may not know, as text: hands, trump and bids."""
    table = state.moment.table
    assert table is not None
    return repr((table.dealt, table.turned, table.trump, table.bids))


def test_worlds_fit_what_a_seat_has_shown() -> None:
    """Seat 1 could not follow and did not trump where it had to: it holds neither suit."""
    rules = house(3, 3, play__void="must_trump", trump__method="fixed", trump__suit="S")
    game, rng = game_of(rules, 3), random.Random(5)
    hands = "2C 3C 4C / 2D 3D 4D / 5C 6C 7C"
    state = game.new_initial_state()
    state.apply_action(2)
    names = [card_name(card) for card in rules.pack.cards]
    for card in hands.replace("/", "").split():
        state.apply_action(names.index(card))
    for action in (61, 60, 60, names.index("2C"), names.index("2D")):
        state.apply_action(action)
    held: set[int] = set()
    for _ in range(200):
        other = state.resample_from_infostate(0, rng.random).moment.table
        assert other is not None and other.trump == 3 != NO_TRUMP
        held |= set(other.hands[1])
    assert held == set(range(13, 39)) - {13}  # every diamond and heart but the card that is gone


def test_nothing_to_resample_before_the_deal() -> None:
    with pytest.raises(OhHellError, match="not dealt yet"):
        game_of("oh_hell").new_initial_state().resample_from_infostate(0, random.random)


def test_a_seat_that_is_not_there() -> None:
    state = dealt_by_chance(game_of("oh_hell", 2), random.Random(1))
    for seat in (-1, 4):
        with pytest.raises(RulesError, match=f"a seat is 0 to 3, got {seat}"):
            state.information_state_string(seat)
