"""Our table in RLlib: the same game as the environment's, and its algorithms learn on it."""

# Ray is not where the types are checked.
# pyright: reportMissingImports=false
from __future__ import annotations

import copy
import math
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Ray warns of what Ray does
    pytest.importorskip("ray.rllib", exc_type=ImportError)
    pytest.importorskip("torch")
    import ray
    from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
    from ray.rllib.utils.pre_checks.env import check_multiagent_environments

    from ohhell_env.adapters.rllib import OhHellEnv, player_of

from ohhell_env import Rules, oh_hell_v0
from ohhell_env.errors import IllegalActionError, RulesError
from tests.envs.play import EVERY_TABLE, legal_of
from tests.helpers import house, short_rules
from tests.test_hostile_players import by_rllib, check

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"
pytestmark = pytest.mark.filterwarnings("default")


def play_on(env: OhHellEnv, seen: Any, rng: random.Random) -> Iterator[tuple[str, int, Any]]:
    """Plays legal actions at random; yields who did what and what ``step`` returned."""
    over = False
    while not over:
        ((agent, view),) = seen.items()
        assert env.get_observation_space(agent).contains(view)
        action = rng.choice(legal_of(view["action_mask"]))
        results = env.step({agent: action})
        yield agent, action, results
        seen, over = results[0], results[2]["__all__"]


# ---------------------------------------------------------------- the same game


def check_same_game(rules: Rules, rng: random.Random, **settings: Any) -> None:
    env = OhHellEnv({"rules": rules} | settings)
    other = oh_hell_v0.raw_env(rules, **settings)
    seed = rng.randrange(1000)
    seen, _ = env.reset(seed=seed)
    other.reset(seed=seed)
    sums: dict[Any, float] = dict.fromkeys(env.possible_agents, 0.0)
    ends: dict[Any, bool] = {"__all__": False}
    infos: dict[Any, Any] = {}
    while not ends["__all__"]:
        agent = other.agent_selection
        assert list(seen) == [agent]
        view = other.observe(agent)
        assert np.array_equal(seen[agent]["observations"], view["observation"].astype(np.float32))
        assert np.array_equal(seen[agent]["action_mask"], view["action_mask"])
        action = rng.choice(legal_of(view["action_mask"]))
        seen, rewards, ends, cuts, infos = env.step({agent: action})
        other.step(action)
        paid = any(other.rewards.values())
        assert ends["__all__"] == (not other.playing)
        assert rewards == (dict(other.rewards) if paid or ends["__all__"] else {agent: 0.0})
        assert set(cuts.values()) == {False} and cuts.keys() == ends.keys()
        for each, reward in rewards.items():
            sums[each] += reward
    assert list(seen) == env.possible_agents
    assert all(not seen[each]["action_mask"].any() for each in seen)
    assert set(ends.values()) == {True} and ends.keys() == {*env.possible_agents, "__all__"}
    assert [infos[each]["score"] for each in env.possible_agents] == other.scores
    if settings.get("reward", "points") == "points":
        assert list(sums.values()) == other.scores


@pytest.mark.parametrize(("name", "players"), EVERY_TABLE[::6])
def test_deals_of_every_variant(name: str, players: int) -> None:
    rng = random.Random(name)
    check_same_game(Rules.preset(name, players), rng, episode="deal")


@pytest.mark.parametrize("seed", range(6))
def test_whole_games_under_random_rules(seed: int) -> None:
    rng = random.Random(seed)
    reward = ("points", "relative", "win")[seed % 3]
    check_same_game(short_rules(rng, plays=120), rng, reward=reward)


def test_every_seat_is_paid_once_for_each_deal() -> None:
    env, rng = OhHellEnv({"rules": house(4, 2, 1, 3)}), random.Random(1)
    payments: list[dict[str, float]] = []
    seen, infos = env.reset(seed=1)
    assert infos == {}
    for _, _, (_, rewards, _, _, _) in play_on(env, seen, rng):
        if len(rewards) > 1:
            payments.append(rewards)
    deals = env.table.record()["deals"]
    assert len(payments) == len(deals) == 3
    for rewards, deal in zip(payments, deals, strict=True):
        assert list(rewards.values()) == deal["points"]


def test_rllibs_episodes_keep_what_every_seat_was_paid() -> None:
    """An episode as RLlib's runner builds it: a reward that comes later goes to the last action."""
    for seed in range(5):
        env, rng = OhHellEnv({"rules": house(3, 2, 3)}), random.Random(seed)
        spaces: dict[str, Any] = {
            "observation_space": env.observation_spaces,
            "action_space": env.action_spaces,
        }
        episode = MultiAgentEpisode(**spaces)
        first, infos = env.reset(seed=seed)
        episode.add_env_reset(observations=first, infos=infos)
        for agent, action, (seen, rewards, ends, cuts, infos) in play_on(env, first, rng):
            episode.add_env_step(
                seen, {agent: action}, rewards, infos, terminateds=ends, truncateds=cuts
            )
        assert episode.is_terminated
        for place, agent in enumerate(env.possible_agents):
            own = episode.agent_episodes[agent]
            assert own.get_return() == env.table.scores[place]
            assert len(own) == 2 + 2 + 3  # two bids and five cards
            for view, action in zip(own.get_observations(), own.get_actions(), strict=False):
                assert view["action_mask"][action]


def test_rllibs_check() -> None:
    for reward in ("points", "relative"):
        env = OhHellEnv({"rules": "oh_hell", "episode": "deal", "reward": reward})
        check_multiagent_environments(env)


# ---------------------------------------------------------------- what cannot be


def test_an_illegal_action_ends_the_episode_or_raises() -> None:
    for illegal in ("terminate", "raise"):
        env = OhHellEnv({"rules": "oh_hell", "episode": "deal", "illegal": illegal})
        seen, _ = env.reset(seed=1)
        (agent,) = seen
        if illegal == "raise":
            with pytest.raises(IllegalActionError, match="cannot be played in the bidding"):
                env.step({agent: 0})
            assert env.table.playing
            continue
        seen, rewards, ends, cuts, infos = env.step({agent: 0})
        assert ends["__all__"] and not cuts["__all__"]
        assert list(seen) == env.possible_agents
        assert rewards.keys() == set(env.possible_agents)
        assert "cannot be played in the bidding" in infos[agent]["fault"]


def test_the_turn_of_another() -> None:
    env = OhHellEnv({"rules": "oh_hell"})
    with pytest.raises(IllegalActionError, match="call reset"):
        env.step({"player_0": 60})
    seen, _ = env.reset(seed=1)
    (agent,) = seen
    other = next(each for each in env.possible_agents if each != agent)
    for actions in ({other: 60}, {}, {agent: 60, other: 60}):
        with pytest.raises(IllegalActionError, match=f"only '{agent}' is to act"):
            env.step(actions)


@pytest.mark.parametrize("form", ["one by one", "function"])
def test_a_policy_writes_to_what_is_its_own(form: str) -> None:
    check(by_rllib, form)


def test_a_copy_is_a_table_of_its_own() -> None:
    env = OhHellEnv({"rules": "oh_hell", "episode": "deal"})
    seen, _ = env.reset(seed=1)
    twin, before = copy.copy(env), env.table.game.state.tobytes()
    for _ in play_on(twin, seen, random.Random(1)):
        pass
    assert env.table.game.state.tobytes() == before != twin.table.game.state.tobytes()


def test_settings_that_cannot_be() -> None:
    with pytest.raises(RulesError, match="unknown setting 'rule': did you mean 'rules'"):
        OhHellEnv({"rule": "oh_hell"})
    with pytest.raises(RulesError, match="reward"):
        OhHellEnv({"reward": "score"})


def test_first_deals_and_pictures() -> None:
    env = OhHellEnv({"rules": "oh_hell", "players": 3, "render_mode": "ansi"})
    seen, _ = env.reset(options={"dealer": 1, "hand_size": 2})
    assert list(seen) == ["player_2"]
    assert "player" in env.render() or "seat" in env.render()
    assert env.table.game.hand_size == 2


# ---------------------------------------------------------------- training


@pytest.fixture
def no_ray_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    yield
    ray.shutdown()


def test_the_example_trains_and_plays(
    no_ray_left: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    part = PAGE.read_text(encoding="utf-8").partition("\n## RLlib\n")[2].partition("\n## ")[0]
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    assert len(examples) == 2
    exec(compile(examples[0], str(PAGE), "exec"), names)
    learned = names["result"]["learners"]["seat"]
    for key in ("total_loss", "policy_loss", "vf_loss", "entropy"):
        assert math.isfinite(learned[key]), key
    # fewer legal actions than actions: the entropy of a masked policy stays below ln(10)
    assert 0 < learned["entropy"] < math.log(10)
    returns = names["result"]["env_runners"]["agent_episode_returns_mean"]
    assert set(returns) == {"player_0", "player_1", "player_2"}
    assert Path(names["checkpoint"]).is_relative_to(tmp_path)

    exec(compile(examples[1], str(PAGE), "exec"), names)
    assert len(names["points"]) == 20
    check_masks(names["config"])
    check_restored(names)


def check_masks(config: Any) -> None:
    """Every action that RLlib's runner has a module choose is legal."""
    config = config.copy(copy_frozen=False).environment(
        env_config={"rules": "oh_hell", "players": 4, "episode": "deal", "hand_size": 5}
    )
    algorithm = config.build_algo()
    decisions = 0
    for episode in algorithm.env_runner.sample(num_episodes=16):
        for own in episode.agent_episodes.values():
            masks, actions = own.get_observations()["action_mask"][:-1], own.get_actions()
            assert len(masks) == len(actions) == 6  # a bid and five cards
            assert (masks[np.arange(len(actions)), actions] == 1).all()
            decisions += len(actions)
    assert decisions >= 16 * 4 * 6
    algorithm.stop()


def check_restored(names: dict[str, Any]) -> None:
    """A module from the checkpoint answers as the one that was trained."""
    from ray.rllib.algorithms.algorithm import Algorithm

    algorithm = Algorithm.from_checkpoint(names["checkpoint"])
    module, config = algorithm.get_module("seat"), algorithm.config
    assert module is not None and config is not None
    trained = player_of(module)
    env, rng = OhHellEnv(config.env_config), random.Random(1)
    seen, _ = env.reset(seed=3)
    for _ in range(20):
        ((_, view),) = seen.items()
        action = names["player"](view["observations"], view)
        assert action == trained({"observation": view["observations"]}, view)
        assert view["action_mask"][action]
        seen, _, ends, _, _ = env.step(
            {next(iter(seen)): rng.choice(legal_of(view["action_mask"]))}
        )
        if ends["__all__"]:
            seen, _ = env.reset()
    algorithm.stop()
