"""Our game in OpenSpiel: the same deals as elsewhere, sound information sets, its algorithms."""

from __future__ import annotations

import collections
import itertools
import pickle
import random
from collections.abc import Iterator
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

from ohhell_env import Rules, oh_hell_v0, variants  # noqa: E402
from ohhell_env.adapters.open_spiel import (  # noqa: E402
    OhHellGame,
    OhHellState,
    game_of,
    parameters_of,
    read_settings,
)
from ohhell_env.cards import card_name  # noqa: E402
from ohhell_env.engine.layout import NO_TRUMP  # noqa: E402
from ohhell_env.errors import OhHellError, RulesError  # noqa: E402
from ohhell_env.schedule import TrumpSource, hand_sizes  # noqa: E402
from tests.engine.test_differential import open_spiel_action, open_spiel_chances  # noqa: E402
from tests.envs.play import EVERY_TABLE, some_rules  # noqa: E402
from tests.helpers import house  # noqa: E402

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


# ---------------------------------------------------------------- the same deals as elsewhere


def env_of(state: OhHellState) -> Any:
    """The PettingZoo environment with the deal that chance has dealt, read from the history."""
    game = state.get_game()
    rules, size = game.setting.rules, game.setting.hand_size
    chances = state.history()
    options: dict[str, Any] = {}
    if isinstance(rules.first_dealer, str):
        options["dealer"], chances = chances[0], chances[1:]
    count = rules.players * size
    cards = [rules.pack.cards[place] for place in chances[:count]]
    options["hands"] = [cards[seat * size : (seat + 1) * size] for seat in range(rules.players)]
    if len(chances) > count:
        suited = game.setting.source is TrumpSource.RANDOM_SUIT
        last = chances[count]
        options |= (
            {"trump": rules.pack.suits[last]} if suited else {"turned": rules.pack.cards[last]}
        )
    env = oh_hell_v0.raw_env(rules, episode="deal", hand_size=size, reward=game.setting.reward)
    env.reset(seed=0, options=options)
    return env


def check_same_deal(rules: Rules, size: int, reward: str, rng: random.Random) -> None:
    game = game_of(rules, size, reward=reward)
    state = dealt_by_chance(game, rng)
    env = env_of(state)
    while not state.is_terminal():
        assert env.possible_agents[state.current_player()] == env.agent_selection
        legal = np.flatnonzero(env.infos[env.agent_selection]["action_mask"]).tolist()
        assert state.legal_actions() == legal
        check_views(state, env)
        action = rng.choice(legal)
        state.apply_action(action)
        env.step(action)
    assert not env.playing
    check_views(state, env)
    assert state.returns() == [env.rewards[agent] for agent in env.possible_agents]
    assert game.min_utility() <= min(state.returns())
    assert max(state.returns()) <= game.max_utility()
    assert reward == "points" or sum(state.returns()) == pytest.approx(0, abs=1e-6)


def check_views(state: OhHellState, env: Any) -> None:
    for seat, agent in enumerate(env.possible_agents):
        view = env.observe(agent)["observation"]
        assert np.array_equal(state.information_state_tensor(seat), view.astype(np.float32))
        assert state.information_state_string(seat) == f"{seat}:{view.tobytes().hex()}"
        assert state.observation_string(seat) == state.information_state_string(seat)


@pytest.mark.parametrize(("name", "players"), EVERY_TABLE[::5])
def test_every_variant_plays_as_in_the_environment(name: str, players: int) -> None:
    rules, rng = Rules.preset(name, players), random.Random(name)
    sizes = hand_sizes(rules)
    check_same_deal(rules, rng.choice(sizes), "points", rng)


@pytest.mark.parametrize("seed", range(4))
def test_random_rules_play_as_in_the_environment(seed: int) -> None:
    rng = random.Random(seed)
    for number, rules in enumerate(some_rules(6, 70 + seed)):
        size = rng.choice(hand_sizes(rules))
        check_same_deal(rules, size, ("points", "relative")[number % 2], rng)


@pytest.mark.parametrize("players", range(3, 8))
def test_openspiels_own_oh_hell_agrees(players: int) -> None:
    rng = random.Random(players)
    for size in (1, 3, 50 // players):
        rules = Rules.preset("open_spiel_oh_hell", players)
        ours = game_of(rules, size)
        theirs = pyspiel.load_game("oh_hell", {"players": players, "num_tricks_fixed": size})
        for _ in range(4):
            state, other = dealt_by_chance(ours, rng), theirs.new_initial_state()
            assert state.moment.table is not None
            for outcome in open_spiel_chances(state.moment.table):
                other.apply_action(outcome)
            while not state.is_terminal():
                assert state.current_player() == other.current_player()
                legal = state.legal_actions()
                assert sorted(map(open_spiel_action, legal)) == other.legal_actions()
                action = rng.choice(legal)
                state.apply_action(action)
                other.apply_action(open_spiel_action(action))
            assert other.is_terminal() and state.returns() == other.returns()


# ---------------------------------------------------------------- OpenSpiel's own checks


@pytest.mark.parametrize("name", variants())
def test_openspiels_checks_of_every_variant(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for reward in ("points", "relative"):
        game = game_of(name, reward=reward)
        pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)


def test_openspiels_checks_of_random_rules(capfd: pytest.CaptureFixture[str]) -> None:
    for rules in some_rules(8, 5):
        pyspiel.random_sim_test(game_of(rules), num_sims=1, serialize=True, verbose=False)


# ---------------------------------------------------------------- chance


@pytest.mark.parametrize("name", TREES)
def test_every_deal_is_equally_likely(name: str) -> None:
    game = game_of(TREES[name])
    found: collections.Counter[tuple[Any, ...]] = collections.Counter()
    chances: list[float] = []
    todo = [(game.new_initial_state(), 1.0)]
    while todo:
        state, chance = todo.pop()
        if state.is_chance_node():
            outcomes = state.chance_outcomes()
            assert sum(share for _, share in outcomes) == pytest.approx(1)
            todo += [(state.child(action), chance * share) for action, share in outcomes]
            continue
        table = state.moment.table
        assert table is not None
        found[table.dealer, tuple(map(tuple, table.hands)), table.turned, table.trump] += 1
        chances.append(chance)
    assert max(found.values()) == 1, "a deal comes up one way only"
    deals = len(found) if name == "chance suit" else game.setting.deals()
    assert len(found) == deals
    assert chances == pytest.approx([1 / deals] * len(chances))


def test_large_hands_are_dealt_evenly() -> None:
    game, rng = game_of("oh_hell", 10, 4), random.Random(8)
    seen: collections.Counter[int] = collections.Counter()
    for _ in range(60):
        table = dealt_by_chance(game, rng).moment.table
        assert table is not None
        assert [len(set(hand)) for hand in table.hands] == [10] * 4
        seen.update(table.hands[0])
    assert set(seen) == set(range(52))
    assert max(seen.values()) < 26  # 11.5 on average, standard deviation 3


# ---------------------------------------------------------------- what a seat knows


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
    for state in states[:6]:
        seat = rng.randrange(game.num_players())
        fit = worlds[state.current_player(), seat, state.information_state_string(seat)]
        draws = 120 * len(fit)
        found = collections.Counter(
            deal_of(state.resample_from_infostate(seat, rng.random)) for _ in range(draws)
        )
        assert found.keys() == fit
        narrow += len(fit) > 1
        assert all(70 < count < 180 for count in found.values())  # 120 each, standard deviation 11
    assert narrow > 2


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


# ---------------------------------------------------------------- copies and texts


def test_clones_are_independent() -> None:
    rng = random.Random(2)
    for state in moments(game_of("kachuful", 3), rng):
        if state.is_terminal():
            break
        before = (state.history(), state.legal_actions(), state.information_state_string())
        clone = state.clone()
        while not clone.is_terminal():
            clone.apply_action(rng.choice(clone.legal_actions()))
        assert (state.history(), state.legal_actions()) == before[:2]
        assert state.information_state_string() == before[2]
        assert clone.history()[: len(before[0])] == before[0]


def test_games_and_states_go_through_text_and_pickle() -> None:
    rng = random.Random(3)
    without_table = [rules for rules in some_rules(14, 31) if rules.scoring.table is None]
    for rules in without_table[:8]:
        game = game_of(rules, reward="relative")
        copy = pyspiel.load_game(str(game))
        assert copy.setting.rules == rules
        assert str(copy) == str(game) == str(pickle.loads(pickle.dumps(game)))
        for state in moments(game, rng):
            if rng.random() > 0.05 and not state.is_terminal():
                continue
            text = pyspiel.serialize_game_and_state(game, state)
            _, read = pyspiel.deserialize_game_and_state(text)
            for same in (
                read,
                pickle.loads(pickle.dumps(state)),
                copy.deserialize_state(state.serialize()),
            ):
                assert same.history() == state.history()
                assert same.returns() == state.returns()
                for seat in range(rules.players):
                    knows = state.information_state_string(seat)
                    assert same.information_state_string(seat) == knows


def test_a_game_by_text() -> None:
    settings = "pack: {suits: [C; D]; ranks: ['2'; '3'; '4']}; bidding.hook: none"
    game = pyspiel.load_game(f"ohhell_env(rules=rikiki,players=2,hand_size=2,settings={settings})")
    assert game.setting.rules == Rules.preset("rikiki", 2).replace(
        pack={"suits": ["C", "D"], "ranks": ["2", "3", "4"]}, **{"bidding.hook": "none"}
    )
    assert game.setting.hand_size == 2
    assert read_settings("{}") == read_settings("") == {}


def test_rules_of_ones_own_are_told_by_the_parameters() -> None:
    plain = Rules.preset("romanian_whist", 6).to_dict()
    plain |= {"players": 7, "schedule": {"shape": "up", "high": 3}}
    rules = Rules.from_dict(plain)
    with pytest.raises(RulesError, match="romanian_whist"):
        Rules.preset(rules.name, 7)
    table = [[[1, 2], [3, 4]], [[5, 6, 7], [8, 9, 10], [11, 12, 13]]]
    for each in (
        rules,
        Rules(players=6),
        Rules.preset("plump", 3),
        house(2, 2, scoring__table=table),
    ):
        copy = OhHellGame(parameters_of(each, 1))
        assert copy.setting.rules == each


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules=oh_hel", "did you mean 'oh_hell'"),
        ("settings=biding: {hook: none}", "did you mean 'bidding'"),
        ("settings=1: 2", "write name: value"),
        ("settings=a: {", "this is not YAML"),
        ("hand_size=99", "the largest hand size is 13"),
        ("hand_size=-1", "a whole number from 1 on is wanted"),
        ("players=9", "players must be 2 to 8"),
        ("reward=win", "'points' or 'relative'"),
    ],
)
def test_what_cannot_be(text: str, words: str) -> None:
    with pytest.raises(RulesError, match=words):
        pyspiel.load_game(f"ohhell_env({text})")


def test_chance_and_seats_do_only_what_they_can() -> None:
    state = game_of("oh_hell", 2).new_initial_state()
    with pytest.raises(RulesError, match=r"chance cannot do 7 now"):
        state.apply_action(7)
    dealt = dealt_by_chance(state.get_game(), random.Random(1))
    with pytest.raises(OhHellError, match="illegal bid 3: the hand size is 2"):
        dealt.apply_action(63)


# ---------------------------------------------------------------- algorithms


@pytest.fixture(scope="module")
def duel() -> Any:
    """Two players, one card each of six; zero-sum."""
    rules = tiny(1, 2, "234", bidding__hook="none")
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
    searcher = mcts.MCTSBot(game, 10.0, 60, evaluator, random_state=chance)
    won = 0.0
    for number in range(16):
        state = dealt_by_chance(game, rng)
        while not state.is_terminal():
            ours = state.current_player() == number % 2
            legal = state.legal_actions()
            state.apply_action(searcher.step(state) if ours else rng.choice(legal))
        won += state.returns()[number % 2]
    assert won / 16 > 4  # points more than the opponent; 9 or so
