"""Tools of the tests of the game in OpenSpiel: tiny rules, and deals at random."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ohhell_env import Rules
from ohhell_env.adapters.open_spiel import OhHellGame, OhHellState
from tests.helpers import house

PACK = {"suits": ["C", "D"], "ranks": ["2", "3"]}


def tiny(size: int = 1, players: int = 3, ranks: str = "23", **settings: Any) -> Rules:
    """Rules of a pack of two suits, dealt by seat 0."""
    pack = PACK | {"ranks": list(ranks)}
    return house(players, size, **({"pack": pack, "first_dealer": 0} | settings))


TREES: dict[str, Rules] = {
    "hook": tiny(),
    "simultaneous": tiny(bidding__order="simultaneous", bidding__hook="none"),
    "late trump": tiny(trump__revealed="after_bidding"),
    "dealer's card": tiny(trump__method="dealer_last_card", first_dealer="random"),
    "chance suit": tiny(trump__method="random_suit"),
    "blind": tiny(ranks="234", blind_one_card="always", trump__revealed="after_bidding"),
    "two cards": tiny(2, 2, "234", trump__method="fixed", trump__suit="D"),
    "high bidder": tiny(2, 2, "23", trump__method="none", play__first_lead="highest_bidder"),
}
"""Rules so small that every course of every deal can be gone through."""


def dealt_by_chance(game: OhHellGame, rng: random.Random) -> OhHellState:
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(rng.choices(*zip(*state.chance_outcomes(), strict=True))[0])
    return state


def moments(game: OhHellGame, rng: random.Random) -> Iterator[OhHellState]:
    """A deal at random, stopped before each decision and at the end."""
    state = dealt_by_chance(game, rng)
    while not state.is_terminal():
        yield state
        state.apply_action(rng.choice(state.legal_actions()))
    yield state


def tree(state: OhHellState) -> Iterator[OhHellState]:
    """Every state that can follow, this one first."""
    yield state
    for action in state.legal_actions():
        yield from tree(state.child(action))
