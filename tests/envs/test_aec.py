"""The PettingZoo environment as its users meet it; pitfalls by their numbers, P03 to P33."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.utils.conversions import aec_to_parallel
from pettingzoo.utils.wrappers import BaseWrapper

import ohhell_env
from ohhell_env import BatchedOhHell, Game, Rules, oh_hell_v0
from ohhell_env.cards import STANDARD_PACK, card_name, parse_card
from ohhell_env.errors import IllegalActionError, RulesError
from ohhell_env.observation import decode
from tests.envs.play import (
    EVERY_OTHER_LAYOUT,
    EVERY_TABLE,
    legal_of,
    play_out,
    play_to_end,
    some_rules,
)
from tests.helpers import house

DICT_OBSERVATION = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or "
    "gymnasium.spaces.discrete",
}
"""What ``api_test`` says of every environment with masks that is not on its own list of names."""
NO_MASK_AT_THE_END = "Action mask numpy array is all zeros (no legal actions)."
"""... and of one that has no legal action left when it is over."""

MAKERS = [oh_hell_v0.env, oh_hell_v0.raw_env]
SHORT = house(3, 1, 2, 3)


# ---------------------------------------------------------------- PettingZoo's own tests


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"rules": "boerenbridge", "players": 3, "episode": "deal"},
        {"rules": "pocha", "layout": "universal", "reward": "win"},
        {"rules": "oh_well", "reward": "settlement", "players": 5},
    ],
    ids=lambda settings: settings.get("rules", "default"),
)
def test_p22_api_test(make: Any, settings: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(make(**settings), num_cycles=1000)
    said = {str(warning.message) for warning in caught}
    said -= {text for text in said if "old environment creation API" in text}
    assert said <= DICT_OBSERVATION | {NO_MASK_AT_THE_END}


def test_api_test_where_illegal_actions_terminate() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(oh_hell_v0.env(illegal="terminate"), num_cycles=1000)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", ["oh_hell", "rikiki", "boerenbridge"])
def test_p22_seed_test(make: Any, name: str) -> None:
    seed_test(lambda: make(name), num_cycles=500)


@pytest.mark.parametrize("make", MAKERS)
def test_render_test(make: Any, capsys: pytest.CaptureFixture[str]) -> None:
    render_test(make)
    assert "trump" in capsys.readouterr().out, "mode 'human' prints"


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="this PettingZoo has no registry")
def test_registered() -> None:
    env: Any = pettingzoo.make("aec", "ohhell/oh_hell-v0", rules="kachuful", players=5)
    env.reset(seed=1)
    assert len(env.agents) == 5
    assert env.unwrapped.rules == Rules.preset("kachuful", 5)


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="this PettingZoo has no registry")
@pytest.mark.parametrize(
    "imports",
    [
        "import pettingzoo, ohhell_env",
        "import ohhell_env, pettingzoo",
        "import ohhell_env, importlib; importlib.reload(ohhell_env); import pettingzoo",
        "import ohhell_env.envs.batched, pettingzoo.utils, pettingzoo",
    ],
)
def test_registered_by_the_import_of_the_library_alone(imports: str) -> None:
    code = (
        f"{imports}\n"
        "import sys\n"
        "assert 'ohhell_env.oh_hell_v0' not in sys.modules\n"
        "env = pettingzoo.make('aec', 'ohhell/oh_hell-v0', rules='kachuful', players=5)\n"
        "env.reset(seed=1)\n"
        "assert len(env.agents) == 5\n"
        "assert pettingzoo.spec('aec', 'ohhell/oh_hell-v0') is not None\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=120)


def test_a_pettingzoo_without_a_registry_is_left_alone() -> None:
    """The first that has one is 1.27."""
    code = (
        "import ohhell_env, sys, types\n"
        "sys.modules['pettingzoo.env_registry'] = None\n"
        "try:\n"
        "    import pettingzoo.env_registry.registration\n"
        "except ImportError:\n"
        "    pass\n"
        "else:\n"
        "    raise SystemExit('there is one')\n"
        "assert ohhell_env.Rules.preset('oh_hell').players == 4\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=120)


# ---------------------------------------------------------------- rewards and the end


def expected_rewards(reward: str, game: Game) -> list[list[float]]:
    """What each finished deal should have paid, by deal and seat."""
    deals = [deal["points"] for deal in game.finished_deals]
    players = game.players
    if reward == "points":
        return deals
    if reward == "relative":
        return [[p - (sum(deal) - p) / (players - 1) for p in deal] for deal in deals]
    nothing = [[0.0] * players for _ in deals[:-1]]
    return [*nothing, game.win_shares() if reward == "win" else game.settlement()]


@pytest.mark.parametrize("reward", ["points", "relative", "win", "settlement"])
@pytest.mark.parametrize("make", MAKERS)
def test_p03_rewards_sum_to_the_results(make: Any, reward: str) -> None:
    for seed in range(8):
        env = make(house(3, 2, 1, 3, settlement="differences"), reward=reward)
        env.reset(seed=seed)
        sums = dict.fromkeys(env.agents, 0.0)
        rng = random.Random(seed)
        for agent in env.agent_iter():
            observation, paid, termination, _, _ = env.last()
            sums[agent] += paid
            legal = legal_of(observation["action_mask"])
            env.step(None if termination else rng.choice(legal))
        expected = np.sum(expected_rewards(reward, env.unwrapped.game), axis=0)
        assert list(sums.values()) == pytest.approx(expected.tolist())
        if reward == "points":
            assert list(sums.values()) == env.unwrapped.scores


@pytest.mark.parametrize("reward", ["points", "relative", "win", "settlement"])
def test_rewards_are_paid_when_a_deal_ends(reward: str) -> None:
    env = oh_hell_v0.raw_env(house(3, 2, 1, settlement="pool"), reward=reward)
    env.reset(seed=2)
    rng = random.Random(2)
    paid: list[list[float]] = []
    while env.playing:
        deal = env.game.deal
        env.step(rng.choice(legal_of(env.last()[0]["action_mask"])))
        if env.game.deal != deal or not env.playing:
            paid.append(list(env.rewards.values()))
        else:
            assert set(env.rewards.values()) == {0.0}
    assert np.allclose(paid, expected_rewards(reward, env.game))


@pytest.mark.parametrize("make", MAKERS)
def test_p03_final_scores_are_there_at_the_first_termination(make: Any) -> None:
    env = make(SHORT)
    env.reset(seed=4)
    play_to_end(env, random.Random(4))
    game = env.unwrapped.game
    assert game.over
    assert env.unwrapped.scores == game.scores
    assert sum(map(sum, (deal["points"] for deal in game.finished_deals))) == sum(game.scores)
    assert [env.infos[agent]["score"] for agent in env.agents] == game.scores
    assert [env.infos[agent]["points"] for agent in env.agents] == game.points
    assert [env.infos[agent]["win_share"] for agent in env.agents] == game.win_shares()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("players", [2, 4, 8])
def test_p04_one_last_turn_for_each(make: Any, players: int) -> None:
    env = make(house(players, 1))
    env.reset(seed=1)
    play_to_end(env, random.Random(1))
    gone: list[str] = []
    for agent in env.agent_iter():
        observation, _, termination, truncation, info = env.last()
        assert termination is True and truncation is False
        assert not observation["action_mask"].any() and not info["action_mask"].any()
        with pytest.raises(IllegalActionError, match="only None"):
            env.step(0)
        env.step(None)
        gone.append(agent)
    assert gone == [f"player_{seat}" for seat in range(players)]
    assert env.agents == [] and env.rewards == {} and env.infos == {}
    with pytest.raises(IllegalActionError, match="game is over"):
        env.step(None)


def test_p24_the_last_view_has_tricks_not_points() -> None:
    env = oh_hell_v0.env(house(2, 3, bidding__hook="none"))
    hands = [["AS", "KS", "QS"], ["2S", "3S", "4S"]]
    env.reset(options={"hands": hands, "turned": "2C", "dealer": 1})
    for name in ("3", "0"):
        env.step(oh_hell_v0.bid_action(int(name)))
    for name in ("AS", "2S", "KS", "3S", "QS", "4S"):
        env.step(oh_hell_v0.card_action(name))
    view = decode(env.observe("player_0")["observation"], env.unwrapped.rules)
    assert view["phase"] == "over"
    assert view["tricks_won"] == [3, 0] and view["bids"] == [3, 0]
    assert view["scores"] == env.unwrapped.scores == [13, 10]


# ---------------------------------------------------------------- masks, spaces, views


@pytest.mark.parametrize("name,players", EVERY_TABLE)
def test_every_decision_of_a_deal(name: str, players: int) -> None:
    """P05, P06, P07, P09, P18, P22, P23 at every step, for every seat, in every variant."""
    env = oh_hell_v0.env(name, players, episode="deal")
    env.reset(seed=players)
    spaces = {a: (env.observation_space(a), env.action_space(a)) for a in env.agents}
    for _, actions in spaces.values():
        actions.seed(players)
    rng = random.Random(players)
    while not env.terminations[env.agent_selection]:
        agent = env.agent_selection
        if rng.random() < 0.3:
            check_all_seats(env, spaces)
        observation, _, _, _, info = env.last()
        mask = observation["action_mask"]
        assert mask.dtype == np.int8 and mask.any()
        assert np.array_equal(mask, info["action_mask"])
        assert spaces[agent][0].contains(observation)
        action = spaces[agent][1].sample(mask)
        assert mask[action] == 1
        env.step(action)
    check_all_seats(env, spaces)


def check_all_seats(env: Any, spaces: dict[str, Any]) -> None:
    game = env.unwrapped.game
    names = [[card_name(card, game.rules.pack) for card in hand] for hand in game.hands]
    acting = None if game.over else env.agent_selection
    for seat, agent in enumerate(env.possible_agents):
        view = env.observe(agent)
        assert env.observation_space(agent) is spaces[agent][0]
        assert env.action_space(agent) is spaces[agent][1]
        assert spaces[agent][0].contains(view)
        expected = game.legal_actions() if agent == acting else []
        assert legal_of(view["action_mask"]) == expected
        assert np.array_equal(view["action_mask"], env.infos[agent]["action_mask"])
        hand = decode(view["observation"], game.rules)["hand"]
        assert hand == ([] if game.blind and game.phase == 0 else names[seat])


@pytest.mark.parametrize("seed", range(3))
def test_p07_p23_random_rules(seed: int) -> None:
    for rules in some_rules(12, seed):
        env = oh_hell_v0.env(rules, layout="universal" if seed else "default")
        env.reset(seed=seed)
        space = env.observation_space("player_0")
        rng = random.Random(seed)
        while not env.terminations[env.agent_selection]:
            observation, _, _, _, info = env.last()
            assert space.contains(observation)
            assert np.array_equal(observation["action_mask"], info["action_mask"])
            env.step(rng.choice(legal_of(observation["action_mask"])))
        for agent in env.possible_agents:
            assert space.contains(env.observe(agent))


def test_p23_a_longest_game_stays_in_the_space() -> None:
    """Large scores of both signs, many deals: what outgrows int8 is split, not clipped."""
    rules = Rules.preset("escalating", 3)
    env = oh_hell_v0.raw_env(rules)
    env.reset(seed=1)
    while env.playing:
        env.step(legal_of(env.last()[0]["action_mask"])[-1])
    assert min(env.scores) < -128
    view = env.observe("player_0")
    assert env.observation_space("player_0").contains(view)
    assert decode(view["observation"], rules)["scores"] == env.scores


def test_spaces() -> None:
    env = oh_hell_v0.env("oh_hell", players=4)
    assert env.action_space("player_0").n == 61 + 10
    assert env.observation_space("player_1")["action_mask"].shape == (71,)
    assert env.observation_space("player_0")["observation"].dtype == np.int8
    universal = oh_hell_v0.env("oh_hell", players=4, layout="universal")
    assert universal.action_space("player_0").n == 92
    assert env.action_space("player_0") is not env.action_space("player_1"), "seeded apart"


def test_arrays_stay_as_they_were() -> None:
    env = oh_hell_v0.env(SHORT)
    env.reset(seed=3)
    rng = random.Random(3)
    kept: list[tuple[Any, Any, bytes, bytes]] = []
    while not env.terminations[env.agent_selection]:
        observation, _, _, _, info = env.last()
        vector, mask = observation["observation"], observation["action_mask"]
        kept.append((vector, info["action_mask"], vector.tobytes(), mask.tobytes()))
        action = rng.choice(legal_of(mask))
        mask[:] = 7  # the caller's own
        assert env.last()[0]["action_mask"].tobytes() == kept[-1][3]
        env.step(action)
    assert all(vector.tobytes() == then for vector, _, then, _ in kept)
    assert all(mask.tobytes() == then for _, mask, _, then in kept)


def test_last_without_a_view() -> None:
    env = oh_hell_v0.env(SHORT)
    env.reset(seed=3)
    observation, reward, termination, truncation, info = env.last(observe=False)
    assert observation is None
    assert (reward, termination, truncation) == (0.0, False, False)
    assert legal_of(info["action_mask"]) == env.unwrapped.game.legal_actions()


@pytest.mark.parametrize("name", ["oh_hell", "boerenbridge", "plump"])
def test_p25_observing_changes_nothing(name: str) -> None:
    logs = []
    for looks in (0, 50):
        env = oh_hell_v0.env(name, episode="deal")
        env.reset(seed=7)
        rng = random.Random(7)
        log: list[Any] = []
        while not env.terminations[env.agent_selection]:
            for look in range(looks):
                env.observe(env.possible_agents[look % 4])
            observation = env.last()[0]
            log.append((env.agent_selection, observation["observation"].tobytes()))
            env.step(rng.choice(legal_of(observation["action_mask"])))
        log.append(env.unwrapped.record())
        env.reset()
        log.append(env.unwrapped.record())
        logs.append(log)
    assert logs[0] == logs[1]


# ---------------------------------------------------------------- seeds and streams


def test_p12_seeds() -> None:
    def log(seed: int) -> dict[str, Any]:
        env = oh_hell_v0.env(SHORT)
        env.reset(seed=seed)
        play_out(env, random.Random(1))
        return env.unwrapped.record()

    assert log(7) == log(7)
    assert log(7)["deals"][0]["hands"] != log(8)["deals"][0]["hands"]


def test_p12_no_global_randomness() -> None:
    before = random.getstate(), np.random.get_state()
    env = oh_hell_v0.env("oh_hell", episode="deal")
    for seed in (None, 5, None):
        env.reset(seed=seed)
        play_out(env, random.Random(1))
    after = random.getstate(), np.random.get_state()
    assert before[0] == after[0]
    assert repr(before[1]) == repr(after[1])


def test_p12_two_tables_side_by_side() -> None:
    alone = []
    for seed in (1, 2):
        env = oh_hell_v0.env(SHORT)
        env.reset(seed=seed)
        alone.append((play_to_end(env, random.Random(seed)), env.unwrapped.record()))
    envs = [oh_hell_v0.env(SHORT) for _ in range(2)]
    rngs = [random.Random(seed) for seed in (1, 2)]
    logs: list[list[Any]] = [[], []]
    for seed, env in enumerate(envs, 1):
        env.reset(seed=seed)
    while any(not env.terminations[env.agent_selection] for env in envs):
        for env, rng, log in zip(envs, rngs, logs, strict=True):
            if not env.terminations[env.agent_selection]:
                action = rng.choice(legal_of(env.last()[0]["action_mask"]))
                log.append((env.agent_selection, action))
                env.step(action)
    together = [(log, env.unwrapped.record()) for log, env in zip(logs, envs, strict=True)]
    assert together == alone


def test_p15_the_first_dealer_is_the_seeds() -> None:
    code = (
        "from ohhell_env import oh_hell_v0\n"
        "for seed in range(12):\n"
        "    env = oh_hell_v0.env('nomination_whist'); env.reset(seed=seed)\n"
        "    print(env.unwrapped.game.dealer, env.agent_selection)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = []
    for seed in range(12):
        env = oh_hell_v0.env("nomination_whist")
        env.reset(seed=seed)
        here.append(f"{env.unwrapped.game.dealer} {env.agent_selection}\n")
    assert run.stdout == "".join(here)
    assert len(set(here)) > 1


def test_a_reset_without_seed_goes_on() -> None:
    env = oh_hell_v0.env(SHORT)
    env.reset(seed=5)
    play_out(env, random.Random(1))
    first = env.unwrapped.record()["deals"]
    env.reset()
    second = env.unwrapped.record()["deals"][0]
    assert second["hands"] != first[0]["hands"]
    again = oh_hell_v0.env(SHORT)
    again.reset(seed=5)
    play_out(again, random.Random(1))
    again.reset()
    assert again.unwrapped.record()["deals"][0] == second


@pytest.mark.parametrize("name,players,layout", EVERY_OTHER_LAYOUT)
def test_same_bytes_as_row_0_of_a_batch(name: str, players: int, layout: str) -> None:
    check_against_batch(Rules.preset(name, players), layout, seed=players)


@pytest.mark.parametrize("layout", ["default", "universal"])
def test_same_bytes_as_row_0_under_random_rules(layout: str) -> None:
    for seed, rules in enumerate(some_rules(25, 77)):
        check_against_batch(rules, layout, seed)


def check_against_batch(rules: Rules, layout: str, seed: int, steps: int = 100) -> None:
    env = oh_hell_v0.raw_env(rules, layout=layout)
    tables = BatchedOhHell(3, rules, seed=seed, episode="game", layout=layout)
    env.reset(seed=seed)
    tables.reset()
    rng = random.Random(seed)
    for _ in range(steps):
        observation = env.last()[0]
        assert env.possible_agents[tables.seats[0]] == env.agent_selection
        assert observation["observation"].tobytes() == tables.observations[0].tobytes()
        assert observation["action_mask"].tobytes() == tables.action_masks[0].tobytes()
        actions = [rng.choice(legal_of(mask)) for mask in tables.action_masks]
        env.step(actions[0])
        tables.step(np.array(actions))
        assert np.array([*env.rewards.values()], np.float32).tolist() == tables.rewards[0].tolist()
        assert tables.dones[0] == (not env.playing)
        if not env.playing:
            env.reset()


# ---------------------------------------------------------------- copies, records, options


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("make", MAKERS)
def test_copies_go_on_alike_from_any_moment(make: Any, duplicate: Any) -> None:
    env = make(SHORT)
    env.reset(seed=9)
    for moment in range(0, 29, 3):
        env.reset(seed=9)
        played = play_out(env, random.Random(moment), steps=moment)
        twin = duplicate(env)
        assert twin.unwrapped.record() == env.unwrapped.record()
        before = env.unwrapped.game.state.tobytes()
        ended = play_out(twin, random.Random(1)), twin.unwrapped.record()
        twin.reset()
        assert env.unwrapped.game.state.tobytes() == before, "the copy is independent"
        assert (play_out(env, random.Random(1)), env.unwrapped.record()) == ended
        env.reset()
        assert env.unwrapped.record() == twin.unwrapped.record(), "the stream is copied, too"
        assert len(played) <= moment


def test_a_copy_before_the_first_reset() -> None:
    env = copy.deepcopy(oh_hell_v0.env(SHORT))
    env.reset(seed=1)
    assert env.agents == ["player_0", "player_1", "player_2"]


@pytest.mark.parametrize("name", ["oh_hell", "rikiki", "boerenbridge", "plump"])
def test_record_is_that_of_the_game(name: str) -> None:
    env = oh_hell_v0.env(name, players=4)
    env.reset(seed=11)
    game = Game(name, seed=11, players=4)
    for _, action in play_to_end(env, random.Random(11)):
        assert env.unwrapped.game.state.dtype == game.state.dtype
        game.apply(action)
    assert env.unwrapped.record() == game.record()
    assert env.unwrapped.game.state.tobytes() == game.state.tobytes()


def test_record_at_any_time() -> None:
    env = oh_hell_v0.env(SHORT)
    env.reset(seed=11)
    game = Game(SHORT, seed=11)
    for _, action in play_to_end(copy.deepcopy(env), random.Random(11)):
        assert env.unwrapped.record() == game.record()
        env.step(action)
        game.apply(action)
    assert env.unwrapped.record() == game.record()


def test_reset_options_fix_the_first_deal() -> None:
    env = oh_hell_v0.env("nomination_whist", players=3)
    hands = [["QH", "2C"], ["KH", "3C"], ["AH", "4C"]]
    options = {"dealer": 1, "hand_size": 2, "hands": hands, "turned": "KD"}
    env.reset(seed=7, options=options)
    deal = env.unwrapped.record()["deals"][0]
    assert deal["dealer"] == 1 and deal["hand_size"] == 2
    assert deal["turned"] == "KD" and deal["trump"] == "D"
    assert [set(hand) for hand in deal["hands"]] == [set(hand) for hand in hands]
    assert env.agent_selection == "player_2"
    env.reset(options={"hands": [[card] for card in (0, 1, 2)]})
    assert env.unwrapped.record()["deals"][0]["hands"] == [["2C"], ["3C"], ["4C"]]
    env.reset(options={})
    assert env.unwrapped.game.hand_size == 7


def test_episode_deal() -> None:
    env = oh_hell_v0.env("oh_hell", episode="deal", hand_size=3)
    for _ in range(3):
        env.reset()
        log = play_to_end(env, random.Random(1))
        assert len(log) == 4 + 4 * 3
        assert len(env.unwrapped.record()["deals"]) == 1
    sizes = set()
    free = oh_hell_v0.env("oh_hell", episode="deal")
    for seed in range(60):
        free.reset(seed=seed)
        sizes.add(free.unwrapped.game.hand_size)
    assert sizes == set(range(1, 11))


def test_hand_size_outside_the_schedule_gets_room() -> None:
    env = oh_hell_v0.env("oh_hell", players=3, episode="deal", hand_size=14)
    env.reset(seed=1)
    assert env.action_space("player_0").n == 61 + 14
    play_out(env, random.Random(1))
    assert env.agents == []


# ---------------------------------------------------------------- the rest of part A


def test_p16_wrappers_hold_no_turn_of_their_own() -> None:
    env = oh_hell_v0.env(SHORT, illegal="terminate")
    env.reset(seed=1)
    env.step(0)  # a card in the bidding
    assert all(env.terminations.values())
    for _ in env.agent_iter():
        env.step(None)
    env.reset(seed=1)
    fresh = oh_hell_v0.env(SHORT)
    fresh.reset(seed=1)
    layer: Any = env
    while layer is not env.unwrapped:
        assert layer.agent_selection == env.unwrapped.agent_selection == fresh.agent_selection
        layer = layer.env
    assert play_out(env, random.Random(1)) == play_out(fresh, random.Random(1))
    assert env.unwrapped.record() == fresh.unwrapped.record()
    with pytest.raises(AttributeError):
        env.agent_selection = "player_1"


@pytest.mark.parametrize("make", MAKERS)
def test_p21_no_parallel_form(make: Any) -> None:
    assert make().metadata["is_parallelizable"] is False
    with pytest.raises(AssertionError, match="not generally safe"):
        aec_to_parallel(make())
    with pytest.raises(RulesError, match="take turns"):
        oh_hell_v0.parallel_env(rules="oh_hell")


def test_p31_cards_and_actions() -> None:
    names = [card_name(card) for card in STANDARD_PACK.cards]
    assert len(set(names)) == 52
    assert [parse_card(name) for name in names] == list(range(52))
    assert [oh_hell_v0.card_action(name) for name in names] == list(range(52))
    assert names[0] == "2C" and names[-1] == "AS" and names[34] == "TH"
    assert oh_hell_v0.bid_action(3) == 63
    assert oh_hell_v0.action_name(63) == "bid 3" and oh_hell_v0.action_name(51) == "AS"


def test_p33_version() -> None:
    assert ohhell_env.__version__ == version("ohhell-env")


def test_other_peoples_wrappers_fit_on_top() -> None:
    env = BaseWrapper(oh_hell_v0.env(SHORT))
    env.reset(seed=1)
    log = play_out(env, random.Random(1))
    assert len(log) == 3 * 3 + 3 * (1 + 2 + 3)
    assert env.agents == []
    assert str(env) == "BaseWrapper<oh_hell_v0>"
    assert str(oh_hell_v0.env()) == "oh_hell_v0"


def test_each_turn_of_agent_iter_needs_its_step() -> None:
    env = oh_hell_v0.env(SHORT)
    env.reset(seed=1)
    turns = iter(env.agent_iter())
    next(turns)
    with pytest.raises(IllegalActionError, match="had no step"):
        next(turns)
    env.reset(seed=1)
    assert len(list(zip(range(1), env.agent_iter(max_iter=1), strict=False))) == 1


def test_the_manual_has_its_sections_and_its_loop_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from ohhell_env.envs import aec

    manual = aec.__doc__ or ""
    wanted = ["Description", "Observation", "Action", "Rewards", "Arguments"]
    for section in [*wanted, "Action mask", "Episode end", "Reset options", "Version history"]:
        assert f"\n{section}:\n" in manual
    loop = manual.split("::\n\n", 1)[1].split("\n\nDescription:", 1)[0]
    code = "\n".join(line[4:] for line in loop.splitlines())
    exec(compile(code, "manual", "exec"), {})
    scores = eval(capsys.readouterr().out)
    assert len(scores) == 4 and all(isinstance(score, int) for score in scores)
