"""Our game in OpenSpiel: the same deals as elsewhere, its own checks, texts and packages."""

from __future__ import annotations

import collections
import doctest
import importlib
import json
import pickle
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from ohhell_env import (  # noqa: E402
    Rules,
    oh_hell_v0,
    variants,
)
from ohhell_env.adapters import open_spiel_moment  # noqa: E402
from ohhell_env.adapters.open_spiel import (  # noqa: E402
    OhHellGame,
    OhHellState,
    game_of,
    parameters_of,
    settings_of_parameters,
)
from ohhell_env.errors import OhHellError, RulesError  # noqa: E402
from ohhell_env.rules.schedule import TrumpSource, hand_sizes  # noqa: E402
from tests.adapters.deals import TREES, dealt_by_chance, moments  # noqa: E402
from tests.engine.test_differential import open_spiel_action, open_spiel_chances  # noqa: E402
from tests.envs.play import EVERY_TABLE, some_rules  # noqa: E402
from tests.helpers import house  # noqa: E402

ROOT = Path(__file__).parents[2]

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


@pytest.mark.parametrize("seed", range(3))
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
    for rules in some_rules(5, 5):
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


def test_what_is_kept_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[list[float]] = []
    for most in (open_spiel_moment.MOST_KEPT, 40):
        monkeypatch.setattr(open_spiel_moment, "MOST_KEPT", most)
        game, rng = game_of("oh_hell", 3), random.Random(4)
        books = len(pickle.dumps(game.setting.scratch))
        for _ in range(8):
            state = dealt_by_chance(game, rng)
            while not state.is_terminal():
                state.apply_action(rng.choice(state.legal_actions()))
            played.append(state.returns())
        assert len(pickle.dumps(game.setting.scratch)) == books
        assert (game.setting.kept == 40) == (most == 40)
    assert played[:8] == played[8:]


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
    assert settings_of_parameters("{}") == settings_of_parameters("") == {}


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
        ("settings=a: {", "not valid YAML"),
        ("hand_size=99", "the largest hand size is 13"),
        ("hand_size=-1", "a whole number of at least 1, got -1"),
        ("players=9", "players must be 2 to 8"),
        ("reward=win", r"one deal; allowed: points, relative$"),
        ("reward=best", r"reward='best': .*allowed: points, relative$"),
    ],
)
def test_what_cannot_be(text: str, words: str) -> None:
    with pytest.raises(RulesError, match=words):
        pyspiel.load_game(f"ohhell_env({text})")


def test_chance_and_seats_do_only_what_they_can() -> None:
    state = game_of("oh_hell", 2).new_initial_state()
    with pytest.raises(RulesError, match=r"chance cannot choose 7 now"):
        state.apply_action(7)
    dealt = dealt_by_chance(state.get_game(), random.Random(1))
    with pytest.raises(OhHellError, match="illegal bid 3: the hand size is 2"):
        dealt.apply_action(63)


# ---------------------------------------------------------------- texts and packages


def test_the_examples_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "adapters.md"
    text = page.read_text(encoding="utf-8")
    part = text.partition("\n## OpenSpiel\n")[2].partition("\n## ")[0]
    examples = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    assert len(examples) == 2
    names: dict[str, Any] = {}
    for example in examples:
        exec(compile(example, str(page), "exec"), names)
    exploited, returns = capsys.readouterr().out.splitlines()
    assert 0 < float(exploited) < 1
    assert len(names["state"].returns()) == 4 and returns == str(names["state"].returns())


@pytest.mark.parametrize("name", ["ohhell_env.adapters.open_spiel", "ohhell_train.exact.tiny"])
def test_examples_of_docstrings(name: str) -> None:
    pytest.importorskip("safetensors" if name.startswith("train") else "pyspiel")
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0 and found.failed == 0


def test_linked_files_exist() -> None:
    page = ROOT / "docs" / "adapters.md"
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_adapters_are_loaded_by_who_asks_and_say_what_is_missing() -> None:
    code = """
import json, sys
import ohhell_env
from ohhell_env import BatchedOhHell, Game, oh_hell_v0
oh_hell_v0.env().reset(seed=1)
loaded = {"ohhell_env.adapters", "pyspiel", "ray"} & sys.modules.keys()
sys.modules["pyspiel"] = sys.modules["ray"] = None
errors = []
for name in ("open_spiel", "rllib"):
    try:
        __import__(f"ohhell_env.adapters.{name}")
    except ohhell_env.errors.OhHellError as error:
        errors.append(str(error))
print(json.dumps([list(loaded), errors]))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded, (of_open_spiel, of_rllib) = json.loads(done.stdout.splitlines()[-1])
    assert loaded == []
    assert of_open_spiel.endswith("needs the package open-spiel: pip install open_spiel")
    assert "pip install 'ray[rllib]' torch" in of_rllib and "constraints-rllib.txt" in of_rllib


def test_lists_and_tensors_that_are_handed_out_are_the_callers_own() -> None:
    """States that were reached before are kept and shared; nothing written to them stays."""
    game = game_of("oh_hell", hand_size=2, players=3)
    rng = random.Random(1)
    first, second = game.new_initial_state(), game.new_initial_state()
    observer = game.make_py_observer()
    while not first.is_terminal():
        legal = first.legal_actions()
        seat = 0 if first.is_chance_node() else first.current_player()
        for spoiled in (first.legal_actions(), first._legal_actions(first.current_player())):
            spoiled[:] = [99]
        if not first.is_chance_node():
            tensor = first.information_state_tensor()
            observer.set_from(first, seat)
            observer.tensor[:] = -7
            with pytest.raises(OhHellError, match="legal"):
                first.apply_action(99 if 99 not in legal else 98)
            assert first.information_state_tensor() == second.information_state_tensor() == tensor
        assert first.legal_actions() == second.legal_actions() == legal
        action = rng.choice(legal)
        first.apply_action(action)
        second.apply_action(action)
    assert first.returns() == second.returns()
