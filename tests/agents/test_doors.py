"""``ohhell_agents.make``, ``load``, ``save``, ``act``; and ``ohhell_env.players.resolve``."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ohhell_agents
from ohhell_agents import Agent, HeuristicAgent, RandomAgent
from ohhell_env.errors import CheckpointError, IllegalActionError, OhHellError, RulesError
from ohhell_env.game import Game
from ohhell_env.players import resolve
from ohhell_env.rules import Rules
from tests.agents.views import view


@pytest.mark.parametrize("name", ["random", "heuristic"])
def test_a_name_makes_a_player(name: str) -> None:
    agent = ohhell_agents.make(name, seed=3)
    assert (agent.kind, type(agent)) == (name, ohhell_agents.AGENTS[name])


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(OhHellError, match="unknown player 'heuristics': did you mean 'heuristic'"):
        ohhell_agents.make("heuristics")


def test_a_missing_checkpoint_is_named() -> None:
    with pytest.raises(CheckpointError, match="runs/x/best: no such checkpoint"):
        ohhell_agents.make("runs/x/best")


@pytest.mark.parametrize("seed", [-1, 1.5, True, "7", 2**64])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(RulesError, match="seed"):
        ohhell_agents.make("random", seed=seed)  # type: ignore[arg-type]


def drawn(agent: Agent, count: int = 40) -> list[int]:
    masks = np.ones((count, 70), np.int8)
    return agent.act_batch(masks, masks).tolist()


def test_same_seed_same_actions() -> None:
    assert drawn(RandomAgent(seed=7)) == drawn(RandomAgent(seed=7))
    assert drawn(RandomAgent(seed=7)) != drawn(RandomAgent(seed=8))


def test_global_generators_are_left_alone() -> None:
    python, numpy = random.getstate(), str(np.random.get_state())
    drawn(RandomAgent())
    assert random.getstate() == python
    assert str(np.random.get_state()) == numpy


@pytest.mark.parametrize("name", ["random", "heuristic"])
def test_saved_players_go_on_where_they_were(name: str, tmp_path: Path) -> None:
    agent = ohhell_agents.make(name, seed=7)
    view_mask = np.ones((5, 70), np.int8)
    if name == "random":
        agent.act_batch(view_mask, view_mask)
    agent.save(tmp_path / "player.json")
    again = ohhell_agents.load(tmp_path / "player.json")
    assert type(again) is type(agent)
    if name == "random":
        assert drawn(again) == drawn(agent)
    assert type(ohhell_agents.make(str(tmp_path / "player.json"), seed=1)) is type(agent)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("no json", "not a JSON file"),
        ("[]", "format 1"),
        ('{"format": 2, "type": "random"}', "format 1"),
        ('{"format": 1, "type": "random", "random": {"state": {}}}', "random numbers is broken"),
        ('{"format": 1, "type": "random"}', "random numbers is broken"),
        ('{"format": 1, "type": "random", "random": {"state": {"counter": "x", "key": [1, 2]},'
         ' "buffer": []}}', "random numbers is broken"),
    ],
)  # fmt: skip
def test_broken_files_are_refused(content: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "player.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=what):
        RandomAgent.load(path)


def test_a_file_of_another_player_is_refused(tmp_path: Path) -> None:
    RandomAgent(seed=1).save(tmp_path / "player.json")
    with pytest.raises(CheckpointError, match="type 'random'"):
        HeuristicAgent.load(tmp_path / "player.json")
    assert json.loads((tmp_path / "player.json").read_text(encoding="utf-8"))["type"] == "random"


# --------------------------------------------------------------------- acting


@pytest.mark.parametrize("name", ["random", "heuristic"])
def test_an_empty_mask_is_refused(name: str) -> None:
    game = Game("oh_hell", seed=1)
    agent = ohhell_agents.make(name, seed=1)
    agent.begin("oh_hell", 0)
    nothing = view(game, seat=(game.seat + 1) % 4)
    assert not nothing["action_mask"].any()
    with pytest.raises(IllegalActionError, match="no legal action"):
        agent.act(nothing)


@pytest.mark.parametrize("name", ["random", "heuristic"])
def test_the_mask_may_stand_in_the_info(name: str) -> None:
    game = Game("oh_hell", seed=1)
    agent, twin = ohhell_agents.make(name, seed=1), ohhell_agents.make(name, seed=1)
    agent.begin("oh_hell", 0)
    twin.begin("oh_hell", 0)
    seen = view(game)
    info = {"action_mask": seen["action_mask"]}
    assert agent.act(seen["observation"], info) == twin.act(seen)
    with pytest.raises(IllegalActionError, match="act\\(\\) needs a view and a mask"):
        agent.act(seen["observation"])


def test_the_heuristic_must_know_the_rules() -> None:
    with pytest.raises(IllegalActionError, match="call begin"):
        HeuristicAgent().act(view(Game("oh_hell", seed=1)))


def test_observations_of_other_rules_are_refused() -> None:
    agent = HeuristicAgent()
    agent.begin(Rules.preset("oh_hell", players=5), 0)
    with pytest.raises(IllegalActionError, match="do not fit the rules of begin"):
        agent.act(view(Game("oh_hell", seed=1)))


def test_shapes_are_checked() -> None:
    masks = np.ones((3, 70), np.int8)
    with pytest.raises(IllegalActionError, match="got shapes"):
        RandomAgent(seed=1).act_batch(masks[:2], masks)


def chi_square(counts: np.ndarray) -> float:
    mean = counts.sum() / len(counts)
    return float(((counts - mean) ** 2 / mean).sum())


def test_random_is_uniform_over_the_mask() -> None:
    """P95: 10,000 bids at hand size 3; the 99.9 % point of chi-square with 3 degrees is 16.3."""
    game = Game(Rules(), seed=1, episode="deal", hand_size=3)
    seen = view(game)
    views = np.repeat(seen["observation"][np.newaxis], 10_000, 0)
    masks = np.repeat(seen["action_mask"][np.newaxis], 10_000, 0)
    bids = RandomAgent(seed=5).act_batch(views, masks) - 60
    counts = np.bincount(bids, minlength=4)
    assert len(counts) == 4
    assert chi_square(counts) < 16.3


# -------------------------------------------------------------------- resolve


def test_resolve_takes_names_objects_and_functions() -> None:
    agent = RandomAgent(seed=1)
    assert resolve(agent) is agent
    assert isinstance(resolve("heuristic", seed=1), HeuristicAgent)
    player = resolve(lambda observation, info: 61)
    player.begin(Rules(), 0)
    assert player.act({}, None) == 61


@pytest.mark.parametrize("player", [7, None, RandomAgent])
def test_resolve_refuses_anything_else(player: object) -> None:
    with pytest.raises(OhHellError, match="a player must be a name"):
        resolve(player)


FEW_PACKAGES = """
import sys
for missing in ("torch", "stable_baselines3", "pydantic", "scipy", "rich"):
    sys.modules[missing] = None
import gymnasium, ohhell_env
from ohhell_env.errors import OhHellError
for name in ("random", "heuristic", "search:worlds=2", "tests.hostile:Polite"):
    env = gymnasium.make("ohhell/OhHell-v0", hand_size=1, opponents=name)
    env.reset(seed=1)
    gymnasium.make_vec("ohhell/OhHell-v0", num_envs=2, hand_size=1, opponents=name).reset(seed=1)
gymnasium.make("ohhell/OhHell-v0", hand_size=1, opponents="zoo:universal").reset(seed=1)
for name in (sys.argv[1],):
    for make in (gymnasium.make, gymnasium.make_vec):
        try:
            make("ohhell/OhHell-v0", opponents=name)
        except OhHellError as error:
            print(error)
"""


def test_only_torch_networks_need_more_than_the_environment(tmp_path: Path) -> None:
    """A torch network says in one line what to install."""
    (tmp_path / "agent.json").write_text(
        '{"format": "ohhell-agent", "version": 1}', encoding="utf-8"
    )
    command = [sys.executable, "-c", FEW_PACKAGES, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all('pip install -e ".[train]"' in line for line in lines)
