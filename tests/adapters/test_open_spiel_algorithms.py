"""OpenSpiel's algorithms on our game."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import (  # noqa: E402
    cfr,
    exploitability,
    external_sampling_mccfr,
    ismcts,
    mcts,
)

from ohhell_env.adapters.open_spiel import game_of  # noqa: E402
from tests.adapters.deals import TREES, dealt_by_chance, tiny  # noqa: E402


@pytest.fixture(scope="module")
def duel() -> Any:
    """Two players, one card each of four; zero-sum."""
    rules = tiny(1, 2, bidding__hook="none")
    return game_of(rules, reward="relative")


def test_cfr_goes_to_equilibrium(duel: Any) -> None:
    solver = cfr.CFRSolver(duel)
    far = exploitability.exploitability(duel, solver.average_policy())
    assert far == pytest.approx(pyspiel.exploitability(duel, pyspiel.UniformRandomPolicy(duel)))
    for _ in range(6):
        solver.evaluate_and_update_policy()
    assert exploitability.exploitability(duel, solver.average_policy()) < far / 3


def test_monte_carlo_cfr_in_a_game_of_three() -> None:
    game = game_of(TREES["hook"])
    solver = external_sampling_mccfr.ExternalSamplingSolver(
        game, external_sampling_mccfr.AverageType.SIMPLE
    )
    np.random.seed(4)
    nash_conv: Any = exploitability.nash_conv
    start = nash_conv(game, solver.average_policy())
    for _ in range(60):
        solver.iteration()
    assert nash_conv(game, solver.average_policy()) < start / 2


def test_openspiels_compiled_cfr(duel: Any) -> None:
    solver = pyspiel.CFRSolver(duel)
    for _ in range(6):
        solver.evaluate_and_update_policy()
    end = pyspiel.exploitability(duel, solver.average_policy())
    assert end < pyspiel.exploitability(duel, pyspiel.UniformRandomPolicy(duel)) / 3


@pytest.mark.parametrize("name", ["oh_hell", "boerenbridge"])
def test_search_by_information_sets(name: str) -> None:
    game, rng = game_of(name, 4, 4), random.Random(6)
    chance = np.random.RandomState(6)
    evaluator = mcts.RandomRolloutEvaluator(1, chance)
    searcher = ismcts.ISMCTSBot(game, evaluator, 8.0, 20, random_state=chance)
    state = dealt_by_chance(game, rng)
    while not state.is_terminal():
        policy = dict(searcher.get_policy(state))
        assert sorted(policy) == state.legal_actions()
        assert sum(policy.values()) == pytest.approx(1)
        state.apply_action(max(policy, key=policy.__getitem__))


def test_search_with_open_cards_beats_chance() -> None:
    game, rng = game_of("oh_hell", 2, 2, reward="relative"), random.Random(7)
    chance = np.random.RandomState(7)
    evaluator = mcts.RandomRolloutEvaluator(2, chance)
    searcher = mcts.MCTSBot(game, 10.0, 40, evaluator, random_state=chance)
    won = 0.0
    for number in range(16):
        state = dealt_by_chance(game, rng)
        while not state.is_terminal():
            ours = state.current_player() == number % 2
            legal = state.legal_actions()
            state.apply_action(searcher.step(state) if ours else rng.choice(legal))
        won += state.returns()[number % 2]
    assert won / 16 > 4  # points more than the opponent; 9 or so
