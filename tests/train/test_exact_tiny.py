"""Our game in OpenSpiel: the same rules and points, and NashConv where it is known."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from ohhell_agents import make  # noqa: E402
from ohhell_env.adapters.open_spiel import OhHellState, game_of  # noqa: E402
from ohhell_env.cards import card_name  # noqa: E402
from ohhell_env.cli.commands import main  # noqa: E402
from ohhell_env.errors import RulesError  # noqa: E402
from ohhell_env.rules import Rules  # noqa: E402
from ohhell_env.rules.schedule import TrumpSource  # noqa: E402
from ohhell_train.exact import tiny as module  # noqa: E402
from ohhell_train.exact import value_of  # noqa: E402
from ohhell_train.exact.tiny import nash_conv, policy_of, tree_of  # noqa: E402
from tests.helpers import Table  # noqa: E402
from tests.train.players import Highest, Lowest  # noqa: E402
from tests.train.test_exact_one_card import best_bidder  # noqa: E402


def tiny(suits: int, ranks: int, size: int = 1, players: int = 3, **changes: Any) -> Rules:
    """Rules of a pack of the first suits and ranks, with one hand size."""
    pack = {"suits": tuple("CDHS"[:suits]), "ranks": tuple("23456789TJQKA"[:ranks])}
    schedule = {"shape": "explicit", "sizes": (size,)}
    return Rules(players=players).replace(pack=pack, schedule=schedule, **changes)


VARIANTS: dict[str, Rules] = {
    "hook": tiny(2, 2),
    "no hook": tiny(2, 2, bidding={"hook": "none"}),
    "dealer's card": tiny(2, 2, trump={"method": "dealer_last_card"}),
    "chance suit": tiny(2, 2, trump={"method": "random_suit"}),
    "late trump": tiny(2, 2, trump={"revealed": "after_bidding"}),
    "no trump": tiny(2, 2, trump={"method": "none"}),
    "simultaneous": tiny(2, 2, bidding={"order": "simultaneous", "hook": "none"}),
}
LARGER: dict[str, Rules] = {
    "blind": tiny(3, 3, blind_one_card="always"),
    "two cards": tiny(2, 4, 2),
    "must trump": tiny(3, 4, 3, play={"void": "must_trump"}, scoring="escalating"),
    "high bidder leads": tiny(2, 5, 2, 4, play={"first_lead": "highest_bidder"}),
    "fixed dealer": tiny(2, 4, 2, first_dealer=1),
    "rotation": tiny(2, 4, 2, trump={"method": "rotation", "rotation": ("D", "C")}),
    "all dealt": tiny(2, 3, 2),
}


@pytest.mark.parametrize("name", [*VARIANTS, *LARGER])
def test_openspiels_own_checks(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    rules = (VARIANTS | LARGER)[name]
    pyspiel.random_sim_test(
        game_of(rules, rules.schedule.sizes[0]), num_sims=5, serialize=False, verbose=False
    )


def dealt(state: OhHellState, rules: Rules) -> Table:
    """Lays the deal of a state out at a table of ours with the naive referee beside it."""
    table = state.moment.table
    assert table is not None
    source = table.trump_source
    shown = source in (TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD)
    return Table(
        rules,
        " / ".join(" ".join(card_name(c, rules.pack) for c in hand) for hand in table.hands),
        turned=card_name(table.state["turned"][0], rules.pack) if shown else None,
        dealer=table.dealer,
        trump=rules.pack.suits[table.trump] if source is TrumpSource.RANDOM_SUIT else None,
    )


@pytest.mark.parametrize("name", [*VARIANTS, *LARGER])
def test_legal_actions_and_points_are_ours_and_the_referees(name: str) -> None:
    rules = (VARIANTS | LARGER)[name]
    game, rng = game_of(rules, rules.schedule.sizes[0]), random.Random(4)
    dealers = set()
    for _ in range(12):
        state = game.new_initial_state()
        while state.is_chance_node():
            outcomes = state.chance_outcomes()
            assert sum(chance for _, chance in outcomes) == pytest.approx(1)
            state.apply_action(rng.choices(*zip(*outcomes, strict=True))[0])
        table = dealt(state, rules)
        dealers.add(table.game.dealer)
        while not state.is_terminal():
            assert state.legal_actions() == table.game.legal_actions()
            assert state.current_player() == table.game.seat
            action = rng.choice(state.legal_actions())
            state.apply_action(action)
            table.act(action)
        assert state.returns() == table.game.points == table.referee.points()
    assert dealers == ({1} if name == "fixed dealer" else {0, 1, 2} | dealers)


def uniform(game: Any) -> float:
    return pyspiel.nash_conv(game, pyspiel.UniformRandomPolicy(game))


def theirs(suits: int, ranks: int) -> Any:
    parts = {"players": 3, "num_suits": suits, "num_cards_per_suit": ranks, "num_tricks_fixed": 1}
    return pyspiel.load_game("oh_hell", parts)


def test_nash_conv_of_chance_is_that_of_openspiels_oh_hell() -> None:
    game = game_of(tiny(2, 2))
    for each in (game, tree_of(game).game, theirs(2, 2)):
        assert uniform(each) == pytest.approx(11.25)


def test_nash_conv_of_chance_in_a_larger_pack() -> None:
    assert uniform(tree_of(game_of(tiny(2, 3))).game) == pytest.approx(8.25)


@pytest.mark.slow
@pytest.mark.parametrize(("suits", "ranks", "known"), [(2, 5, 7.68), (4, 3, 6.87)])
def test_nash_conv_of_chance_in_packs_that_are_not_so_tiny(
    suits: int, ranks: int, known: float
) -> None:
    tree = tree_of(game_of(tiny(suits, ranks, first_dealer=0)))
    assert uniform(tree.game) == pytest.approx(known, abs=0.005)


@pytest.mark.parametrize("name", ["hook", "late trump", "all dealt", "chance suit"])
def test_a_tree_is_the_game_that_it_was_made_of(name: str) -> None:
    rules = (VARIANTS | LARGER)[name].replace(first_dealer=0)
    tree, rng = tree_of(game_of(rules, rules.schedule.sizes[0])), random.Random(6)
    for _ in range(60):
        ours = game_of(rules, rules.schedule.sizes[0]).new_initial_state()
        same = tree.game.new_initial_state()
        while not ours.is_terminal():
            assert same.current_player() == ours.current_player()
            if ours.is_chance_node():
                assert dict(same.chance_outcomes()) == pytest.approx(dict(ours.chance_outcomes()))
                action = code = rng.choice(ours.legal_actions())
            else:
                knows = ours.information_state_string()
                assert same.information_state_string() == tree.names[knows]
                codes = {tree.codes[action]: action for action in ours.legal_actions()}
                assert sorted(codes) == same.legal_actions()
                code, action = rng.choice(sorted(codes.items()))
                assert same.action_to_string(code) == str(action)
            ours.apply_action(action)
            same.apply_action(code)
        assert same.is_terminal() and same.returns() == ours.returns()


@pytest.mark.parametrize("name", ["hook", pytest.param("all dealt", marks=pytest.mark.slow)])
def test_nash_conv_of_a_tree_is_that_of_the_game(name: str) -> None:
    rules = (VARIANTS | LARGER)[name].replace(first_dealer=0)
    game = game_of(rules, rules.schedule.sizes[0])
    tree = tree_of(game)
    policy = policy_of(make("random", seed=1), tree, samples=3)
    for knows, shares in policy_of(make("heuristic", seed=1), tree).items():
        if knows.startswith("1"):
            policy[knows] = shares
    same = {tree.names[k]: [(tree.codes[a], p) for a, p in row] for k, row in policy.items()}
    ours = pyspiel.nash_conv(game, pyspiel.TabularPolicy(policy))
    assert pyspiel.nash_conv(tree.game, pyspiel.TabularPolicy(same)) == pytest.approx(ours)
    assert ours > 1


@pytest.mark.parametrize("name", VARIANTS)
def test_nash_conv_is_that_of_the_one_card_solver(name: str) -> None:
    rules = VARIANTS[name]
    for player in (Highest(0), Lowest(0), make("heuristic", seed=1)):
        expected = value_of(player, rules).nash_conv
        assert nash_conv(player, rules) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["hook", "dealer's card", "late trump"])
def test_the_solution_is_an_equilibrium(name: str) -> None:
    rules = VARIANTS[name]
    assert nash_conv(best_bidder(rules), rules) == pytest.approx(0, abs=1e-9)
    assert nash_conv(Highest(0), rules) > 1


@pytest.mark.slow
def test_in_deals_of_two_cards_the_heuristic_player_is_nearer_to_optimal_than_others() -> None:
    rules = tiny(2, 3, 2, first_dealer=2, trump={"method": "fixed", "suit": "D"})
    others = [nash_conv(player, rules) for player in (Highest(0), Lowest(0))]
    assert 0 <= nash_conv(make("heuristic", seed=1), rules) < min(others)


def test_a_player_with_chance_is_asked_often() -> None:
    tree = tree_of(game_of(VARIANTS["no trump"]))
    policy = policy_of(make("random", seed=1), tree, samples=400)
    assert min(share for row in policy.values() for _, share in row) > 0.4
    assert nash_conv(make("random", seed=1), VARIANTS["no trump"], samples=400) == pytest.approx(
        uniform(tree.game), abs=0.6
    )


def test_known_to_openspiel_by_name() -> None:
    game = pyspiel.load_game("ohhell_env", {"rules": "blackout", "players": 3, "hand_size": 1})
    state = game.new_initial_state()
    assert [state.action_to_string(-1, seat) for seat in range(3)] == [
        f"seat {seat} deals" for seat in range(3)
    ]
    for _ in range(5):
        state.apply_action(state.legal_actions()[-1])
    assert str(state) == "2, 51, 50, 49, 48"
    assert state.action_to_string(0, 61) == "bid 1"
    tensor = state.information_state_tensor(0)
    assert len(tensor) == len(state.moment.question(0)[0])
    assert np.array_equal(np.array(tensor), state.moment.question(0)[0])
    assert state.information_state_string(0) != state.information_state_string(1)


def test_what_is_not_tiny_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RulesError, match="choose a smaller pack"):
        tree_of(game_of("oh_hell", 5))
    with pytest.raises(RulesError, match=r"[\d,]+ deals have more than 1,000,000 nodes"):
        nash_conv(Lowest(0), "oh_hell", 1)
    monkeypatch.setattr(module, "MOST_NODES", 2000)
    with pytest.raises(RulesError, match="72 deals have more than"):
        nash_conv(Lowest(0), VARIANTS["hook"])


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    pack = ["--set", "pack.suits=[C, D]", "--set", "pack.ranks=['2', '3']"]
    sizes = ["--set", "schedule={shape: explicit, sizes: [1]}"]
    start = ["exact", "--tiny", "--players", "3", "--set", "first_dealer=random"]
    assert main([*start, *pack, *sizes, "heuristic"]) == 0
    assert capsys.readouterr().out == "heuristic: NashConv 0.0000\n"
    assert main(["exact", "--tiny", "heuristic"]) == 2
    assert "smaller pack" in capsys.readouterr().err
