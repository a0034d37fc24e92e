"""The state: everything there is to know of a table, and hidden from agents."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.test.state_test import state_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from ohhell_env import BatchedOhHell, Game, Rules, oh_hell_v0, state
from ohhell_env.engine.layout import Phase
from ohhell_env.errors import NotationError, NotResetError, RulesError
from tests.envs.play import (
    EVERY_OTHER_LAYOUT,
    EVERY_TABLE,
    expected_state,
    legal_of,
    moments,
    play_out,
    play_to_end,
    some_rules,
    state_of,
)
from tests.envs.test_no_leak import mask_of
from tests.helpers import house

LAYOUTS = ["default", "universal"]
MAKERS = [oh_hell_v0.env, oh_hell_v0.raw_env]
SHORT = house(3, 1, 2, 3)
LATE = house(4, 3, 2, trump__revealed="after_bidding")
SECRET = house(
    3, 3, 2, bidding={"order": "simultaneous", "hook": "none"}, trump__revealed="after_bidding"
)


def decoded(game: Game, layout: str = "default") -> dict[str, Any]:
    return state.decode_state(np.frombuffer(state_of(game, layout), np.int8), game.rules)


# ---------------------------------------------------------------- PettingZoo's own test


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["oh_hell", "kachuful", "boerenbridge"])
def test_state_test(name: str, layout: str) -> None:
    def make() -> Any:
        return oh_hell_v0.env(name, illegal="terminate", layout=layout)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state_test(make(), turn_based_aec_to_parallel(make()))
    said = [str(warning.message).lower() for warning in caught]
    assert not [text for text in said if "state" in text], "it finds nothing wrong with states"


# ---------------------------------------------------------------- what is in it


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name,players", EVERY_TABLE)
def test_sections_fill_the_state(name: str, players: int, layout: str) -> None:
    rules = Rules.preset(name, players)
    table = state.state_sections(rules, layout)
    lengths = [length for _, _, length in table]
    starts = list(itertools.accumulate(lengths[:-1], initial=0))
    assert [start for _, start, _ in table] == starts
    env = oh_hell_v0.env(rules, layout=layout)
    env.reset(seed=1)
    assert env.state().shape == env.state_space.shape == (sum(lengths),)
    text = state.state_table(rules, layout)
    assert all(f"| `{section}` | {start} |" in text for section, start, _ in table)


@pytest.mark.parametrize("name,players,layout", EVERY_OTHER_LAYOUT)
def test_decoding_gives_the_whole_table_back(name: str, players: int, layout: str) -> None:
    for game in moments(Rules.preset(name, players), players, share=0.06, deals=3):
        assert decoded(game, layout) == expected_state(game, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_decoding_under_random_rules(layout: str) -> None:
    for seed, rules in enumerate(some_rules(40, 34)):
        for game in moments(rules, seed, share=0.2, deals=3):
            assert decoded(game, layout) == expected_state(game, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_hidden_from_agents_is_in_it(layout: str) -> None:
    """A late trump, secret bids, the card of a blind deal."""
    game = Game(SECRET, seed=1)
    game.apply(game.legal_actions()[1])
    told = decoded(game, layout)
    assert told["trump_hidden"] and told["trump"] == "CDHS"[game.trump]
    assert told["turned"] is not None
    assert told["bids"] == [1, None, None] and told["bid_balance"] == 1 - 3
    blind = Game("boerenbridge", seed=1)
    assert blind.blind and all(decoded(blind, layout)["hands"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_seat_more_is_no_change(layout: str) -> None:
    """Places count from the dealer's left: it does not matter which seat deals."""
    for rules in (Rules.preset("oh_hell", 5), SECRET, Rules.preset("plump")):
        players, size = rules.players, Game(rules).hand_size
        cards = random.Random(1).sample(rules.pack.cards, size * players)
        logs: list[list[bytes]] = []
        for shift in range(players):
            game, rng = Game(rules, seed=1), random.Random(2)
            spare = min(set(rules.pack.cards) - set(cards))
            game.reset(
                dealer=shift,
                hands=[cards[(seat - shift) % players :: players] for seat in range(players)],
                turned=spare if game.turned is not None else None,
            )
            logs.append([])
            while not game.finished_deals:
                logs[-1].append(state_of(game, layout))
                game.apply(rng.choice(game.legal_actions()))
        assert all(log == logs[0] for log in logs)


# ---------------------------------------------------------------- no two deals share one


def another_deal(game: Game, rng: random.Random) -> Game:
    """The same table with every card that is still held or in the stock dealt anew."""
    twin = game.copy()
    kept = {card for _, card in game.plays} | {game.turned}
    free = [card for card in game.rules.pack.cards if card not in kept]
    rng.shuffle(free)
    for seat, hand in enumerate(game.hands):
        shown = set(hand) & {game.turned}
        need = len(hand) - len(shown)
        twin.state["hands"][0, seat] = mask_of(shown | set(free[:need]))
        free = free[need:]
    return twin


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "rules", [*(Rules.preset("oh_hell", n) for n in range(2, 9)), LATE, SECRET]
)
def test_two_deals_never_share_a_state(rules: Rules, layout: str) -> None:
    rng, different = random.Random(5), 0
    for game in moments(rules, 5, share=0.2, deals=2):
        if game.over:
            continue
        seen = {state_of(game, layout): game.hands}
        for _ in range(20):
            twin = another_deal(game, rng)
            bytes_ = state_of(twin, layout)
            assert seen.setdefault(bytes_, twin.hands) == twin.hands
        different += len(seen) - 1
    assert different > 20


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_hidden_thing_changes_the_state(layout: str) -> None:
    game = Game(SECRET, seed=3)
    game.apply(game.legal_actions()[0])
    whole = state_of(game, layout)
    stock = set(SECRET.pack.cards) - {card for hand in game.hands for card in hand} - {game.turned}
    for field, value in (("turned", min(stock)), ("trump", (game.trump + 1) % 4)):
        twin = game.copy()
        twin.state[field] = value
        assert state_of(twin, layout) != whole
    twin = game.copy()
    bidder = next(seat for seat, bid in enumerate(game.bids) if bid is not None)
    twin.state["bids"][0, bidder] += 1
    assert state_of(twin, layout) != whole


# ---------------------------------------------------------------- the same through every door


@pytest.mark.parametrize("name,players,layout", EVERY_OTHER_LAYOUT)
def test_a_row_of_the_batch_is_the_table(name: str, players: int, layout: str) -> None:
    tables = BatchedOhHell(2, name, players=players, seed=4, episode="game", layout=layout)
    tables.reset()
    envs = [make(name, players=players, layout=layout) for make in MAKERS]
    for env in envs:
        env.reset(seed=4)
    for _ in range(30):
        for env in envs:
            assert env.state().tobytes() == tables.states[0].tobytes()
        actions = tables.action_masks.argmax(axis=1)
        tables.step(actions)
        if tables.dones[0]:
            break
        for env in envs:
            env.step(int(actions[0]))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_states_stay_in_their_space(seed: int, layout: str) -> None:
    for rules in some_rules(12, 70 + seed):
        env = oh_hell_v0.env(rules, layout=layout)
        assert isinstance(env.state_space, spaces.Box) and env.state_space.dtype == np.int8
        env.reset(seed=seed)
        rng = random.Random(seed)
        while not env.terminations[env.agent_selection]:
            assert env.state_space.contains(env.state())
            env.step(rng.choice(legal_of(env.last()[0]["action_mask"])))
        assert env.state_space.contains(env.state())


@pytest.mark.parametrize("make", MAKERS)
def test_after_the_end(make: Any) -> None:
    env = make(SHORT)
    env.reset(seed=1)
    play_to_end(env, random.Random(1))
    last = env.state()
    told = state.decode_state(last, SHORT)
    assert told["phase"] == "over" and told["actor"] is None and told["hands"] == [[], [], []]
    play_out(env, random.Random(1))
    assert env.agents == [] and env.state().tobytes() == last.tobytes()
    env.reset()
    assert state.decode_state(env.state(), SHORT)["phase"] == "bid"


def test_after_an_illegal_action_that_ends_the_game() -> None:
    env = oh_hell_v0.env(SHORT, illegal="terminate")
    env.reset(seed=1)
    before = env.state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env.step(0)
    assert all(env.terminations.values())
    assert env.state().tobytes() == before.tobytes(), "the table is as it was left"


def test_before_reset() -> None:
    for make in MAKERS:
        with pytest.raises(NotResetError, match="reset"):
            make(SHORT).state()
        assert make(SHORT).state_space.shape == make(SHORT).state_space.low.shape
    with pytest.raises(NotResetError, match="reset"):
        _ = BatchedOhHell(2, SHORT, seed=1).states


@pytest.mark.parametrize("make", MAKERS)
def test_asking_changes_nothing(make: Any) -> None:
    logs = []
    for looks in (0, 3):
        env = make("boerenbridge", episode="deal")
        env.reset(seed=7)
        rng = random.Random(7)
        log: list[Any] = []
        while not env.terminations[env.agent_selection]:
            for _ in range(looks):
                env.state()[:] = 7  # the caller's own
            observation = env.last()[0]
            log.append((env.agent_selection, observation["observation"].tobytes()))
            env.step(rng.choice(legal_of(observation["action_mask"])))
        logs.append([*log, env.unwrapped.record()])
    assert logs[0] == logs[1]


def test_asking_a_batch_changes_nothing() -> None:
    logs = []
    for asked in (False, True):
        tables = BatchedOhHell(4, SHORT, seed=2, episode="game")
        tables.reset()
        log = []
        for _ in range(40):
            if asked:
                tables.states[:] = 7
            log.append((tables.games.tobytes(), tables.observations.tobytes()))
            tables.step(tables.action_masks.argmax(axis=1))
        logs.append(log)
    assert logs[0] == logs[1]


def test_states_of_a_batch_are_written_in_place() -> None:
    tables = BatchedOhHell(5, SHORT, seed=2)
    tables.reset()
    first = tables.states
    assert first.shape == (5, tables.state_layout.length) and first.dtype == np.int8
    before = first.copy()
    tables.step(tables.action_masks.argmax(axis=1))
    assert first.tobytes() == before.tobytes(), "a step writes no states"
    assert np.shares_memory(first, tables.states)
    assert (first != before).any(axis=1).all()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_copies_have_states_of_their_own(copied: Any) -> None:
    for make in MAKERS:
        env = make(SHORT)
        env.reset(seed=3)
        twin = copied(env)
        assert twin.state().tobytes() == env.state().tobytes()
        twin.step(60)
        assert twin.state().tobytes() != env.state().tobytes()
    tables = BatchedOhHell(2, SHORT, seed=3)
    tables.reset()
    kept = tables.states.copy()
    other = copied(tables)
    other.step(np.array([60, 60]))
    assert other.states.tobytes() != kept.tobytes() == tables.states.tobytes()


# ---------------------------------------------------------------- hidden from agents


def holds(haystack: Any, needle: bytes) -> bool:
    """Whether any array inside is the needle, or has it inside."""
    if isinstance(haystack, dict):
        return any(holds(value, needle) for value in haystack.values())
    if isinstance(haystack, list | tuple):
        return any(holds(value, needle) for value in haystack)
    return isinstance(haystack, np.ndarray) and needle in haystack.astype(np.int8).tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_observation_or_info_has_a_state_inside(layout: str) -> None:
    env = oh_hell_v0.env(SHORT, layout=layout)
    env.reset(seed=1)
    rng = random.Random(1)
    infos = {"action_mask", "score", "points", "win_share"}
    for _ in env.agent_iter():
        observation, _, ended, _, _ = env.last()
        whole = env.state().tobytes()
        views = [env.observe(agent) for agent in env.possible_agents]
        assert all(view.keys() == {"observation", "action_mask"} for view in views)
        assert all(one.keys() <= infos for one in env.infos.values())
        assert not holds([views, env.infos], whole)
        env.step(None if ended else rng.choice(legal_of(observation["action_mask"])))


def test_the_gymnasium_environments_show_none() -> None:
    one = gymnasium.make("ohhell/OhHell-v0", rules=SHORT, opponents="random", layout="universal")
    many = gymnasium.make_vec(
        "ohhell/OhHell-v0", num_envs=2, rules=SHORT, opponents="random", layout="universal"
    )
    for env in (one, many):
        observation, info = env.reset(seed=1)
        game = Game(SHORT, seed=1)
        assert not holds([observation, info], state_of(game, "universal"))
        assert "state" not in info and not hasattr(env.unwrapped, "states")


# ---------------------------------------------------------------- bad input


def test_vectors_that_are_no_states() -> None:
    with pytest.raises(NotationError, match="a state of 7 values"):
        state.decode_state([0] * 7, "oh_hell")
    with pytest.raises(NotationError, match=r"a state .*-128 to 127"):
        state.decode_state([300] * state.state_layout_of(Rules()).length, Rules())
    with pytest.raises(RulesError, match="layout"):
        state.state_sections("oh_hell", "tiny")


def test_a_phase_of_every_kind_was_seen() -> None:
    phases = {decoded(game)["phase"] for game in moments(SHORT, 1)}
    assert phases == {"bid", "play", "over"}
    assert {game.phase for game in moments(SHORT, 1)} == {Phase.BID, Phase.PLAY, Phase.OVER}
