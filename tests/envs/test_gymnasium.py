"""The Gymnasium doors: single and vector, what Gymnasium and Stable-Baselines3 ask of them."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from packaging.version import Version

from ohhell_env import Game, Rules
from ohhell_env.envs.gymnasium_env import OhHellGymnasiumEnv
from ohhell_env.envs.gymnasium_vector import OhHellVectorEnv
from ohhell_env.envs.registration import ID
from ohhell_env.envs.rewards import worst_honest
from ohhell_env.errors import IllegalActionError, NotResetError, OhHellError, RulesError
from ohhell_env.records.replay import replay
from tests.envs.play import legal_of, look
from tests.helpers import house

SHORT = house(3, 1, 2, 3, settlement="differences")


def lowest(observation: Any, info: Any) -> int:
    return int(info["action_mask"].argmax())


def make(**settings: Any) -> Any:
    return gymnasium.make(ID, **({"rules": SHORT, "opponents": lowest} | settings))


def play(env: Any, rng: random.Random, seed: int | None = None) -> tuple[list[Any], float]:
    """Plays an episode; returns all that was seen and the sum of rewards."""
    observation, info = env.reset(seed=seed)
    log, total, over = [], 0.0, False
    while not over:
        assert env.unwrapped.game.seat == info["seat"], "P26: its own turn"
        assert info["action_mask"].any()
        action = rng.choice(legal_of(info["action_mask"]))
        log.append((observation.tobytes(), info["action_mask"].tobytes(), info["seat"], action))
        observation, reward, over, truncated, info = env.step(action)
        total += reward
        assert not truncated
    log.append((observation.tobytes(), total, info["score"], info["points"], info["win_share"]))
    return log, total


# ---------------------------------------------------------------- what the libraries ask


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"episode": "game", "reward": "win", "opponents": "random"},
        {"rules": "kachuful", "players": 5, "layout": "universal", "seat": 2},
    ],
)
def test_checkers_are_silent(settings: dict[str, Any], capsys: Any) -> None:
    from stable_baselines3.common.env_checker import check_env as check_for_sb3

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ID, **settings).unwrapped)
        check_for_sb3(gymnasium.make(ID, **settings))
    assert "seat 0" in capsys.readouterr().out, "render_mode 'human' prints at every step"


def test_it_is_registered_whatever_is_imported_first() -> None:
    """This file imports Gymnasium first."""
    code = (
        "import ohhell_env, gymnasium, sys\n"
        "assert 'torch' not in sys.modules\n"
        f"env = gymnasium.make({ID!r}, opponents=lambda o, i: int(i['action_mask'].argmax()))\n"
        "env.reset(seed=1)\n"
        "assert not {'torch', 'agents'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_documented_loop_and_masks_through_wrappers() -> None:
    from gymnasium.wrappers import TimeLimit
    from stable_baselines3.common.monitor import Monitor

    env: Any = Monitor(TimeLimit(make(seat=1), 500))
    table = env.unwrapped
    observation, info = env.reset(seed=7)
    steps = 0
    over = False
    while not over:
        masks = env.get_wrapper_attr("action_masks")()
        assert masks.dtype == np.bool_ and (masks == info["action_mask"]).all()
        assert info["action_mask"].dtype == np.int8
        assert env.observation_space.contains(observation)
        action = env.action_space.sample(info["action_mask"])
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        steps += 1
    assert env.observation_space.contains(observation) and not info["action_mask"].any()
    assert steps == table.game.hand_size + 1, "one bid and the cards"


# ---------------------------------------------------------------- the game


@pytest.mark.parametrize("reward", ["points", "relative", "win", "settlement"])
@pytest.mark.parametrize("episode", ["game", "deal"])
def test_rewards_are_the_learners_own(episode: str, reward: str) -> None:
    if episode == "deal" and reward in ("win", "settlement"):
        with pytest.raises(RulesError, match="clashes"):
            make(episode=episode, reward=reward)
        return
    env = make(episode=episode, reward=reward)
    rng = random.Random(1)
    for seed in range(8):
        _, total = play(env, rng, seed)
        game, seat = env.unwrapped.game, env.unwrapped.seat
        deals = [deal["points"] for deal in env.unwrapped.record()["deals"]]
        own = sum(points[seat] for points in deals)
        rest = sum(sum(points) - points[seat] for points in deals) / (game.players - 1)
        expected = {
            "points": own,
            "relative": own - rest,
            "win": game.win_shares()[seat],
            "settlement": game.settlement()[seat],
        }[reward]
        assert total == pytest.approx(expected)
        assert replay(env.unwrapped.record()).scores == game.scores


def test_points_come_with_the_last_own_card_of_each_deal() -> None:
    env = make(episode="game", seat=0)
    _, info = env.reset(seed=3)
    paid: list[tuple[int, float]] = []
    over = False
    steps = 0
    while not over:
        deals = len(env.unwrapped.game.finished_deals)
        _, reward, over, _, info = env.step(info["action_mask"].argmax())
        steps += 1
        if len(env.unwrapped.game.finished_deals) > deals:
            paid.append((steps, reward))
        else:
            assert reward == 0
    points = [deal["points"][0] for deal in env.unwrapped.record()["deals"]]
    assert [reward for _, reward in paid] == points
    sizes = [deal["hand_size"] for deal in env.unwrapped.record()["deals"]]
    assert [step for step, _ in paid] == np.cumsum([size + 1 for size in sizes]).tolist()


@pytest.mark.parametrize("opponents", [lowest, "random", ["random", "heuristic"]])
def test_p12_a_seed_is_the_whole_episode(opponents: Any) -> None:
    before = random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[union-attr]
    first, second = (make(opponents=opponents) for _ in range(2))
    logs = [
        [play(env, random.Random(5), seed) for seed in (7, None, None)] for env in (first, second)
    ]
    assert logs[0] == logs[1]
    assert play(first, random.Random(5), 7) == logs[0][0]
    assert play(first, random.Random(5), 8) != logs[0][0]
    after = random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[union-attr]
    assert before == after


def test_it_plays_the_cards_of_the_seed() -> None:
    for seed in range(5):
        env = make(opponents="random")
        env.reset(seed=seed)
        assert env.unwrapped.game.dealt == Game(SHORT, seed, "deal").dealt


def test_learner_sits_in_every_seat_or_where_it_is_told() -> None:
    env = make()
    seats = [env.reset(seed=seed if seed == 0 else None)[1]["seat"] for seed in range(60)]
    assert min(np.bincount(seats, minlength=3)) > 8
    assert {make(seat=2).reset(seed=seed)[1]["seat"] for seed in range(9)} == {2}
    assert env.reset(options={"seat": 1})[1]["seat"] == env.unwrapped.seat == 1


def test_reset_options_fix_the_first_deal() -> None:
    env = make(rules="oh_hell", players=3, seat=0)
    hands = [["AS", "2H"], ["KS", "3H"], ["QS", "4H"]]
    env.reset(options={"hands": hands, "turned": "2C", "dealer": 2})
    dealt = [set(hand) for hand in env.unwrapped.record()["deals"][0]["hands"]]
    assert dealt == [set(hand) for hand in hands]
    for wrong in ({"seat": 3}, {"seat": "x"}, {"hands": hands[:2]}, {"colour": 1}):
        with pytest.raises(RulesError):
            env.reset(options=wrong)


def test_opponents_see_what_agents_see() -> None:
    seen: list[tuple[int, bytes, bytes]] = []
    tables: list[Any] = []

    def note(observation: Any, info: Any) -> int:
        game = tables[0].game
        view, mask = observation["observation"], info["action_mask"]
        assert (view.tobytes(), mask.tobytes()) == look(game, game.seat)
        assert mask.sum() > 1, "nobody is asked where one action alone is legal"
        seen.append((game.seat, view.tobytes(), mask.tobytes()))
        view[:] = 0  # its own copy
        return int(mask.argmax())

    env = make(opponents=note, episode="game", seat=1)
    tables.append(env.unwrapped)
    play(env, random.Random(1), 3)
    assert {seat for seat, _, _ in seen} == {0, 2}


class Seated:
    def __init__(self) -> None:
        self.begun: list[Any] = []

    def begin(self, rules: Rules, seat: int) -> None:
        self.begun.append(seat)

    def act(self, observation: Any, info: Any = None, deterministic: bool = True) -> int:
        return int(info["action_mask"].argmax())


def test_players_take_their_seats_before_each_game() -> None:
    left, right = Seated(), Seated()
    env = make(opponents=[left, right])
    seats = [env.reset(seed=seed)[1]["seat"] for seed in range(6)]
    assert left.begun == [(seat + 1) % 3 for seat in seats]
    assert right.begun == [(seat + 2) % 3 for seat in seats]


# ---------------------------------------------------------------- bad input


def test_an_illegal_action_ends_the_episode_or_raises() -> None:
    for reward in ("points", "relative"):
        env = make(reward=reward, seat=0)
        env.reset(seed=2)
        worst = worst_honest(env.unwrapped.game, reward)
        _, paid, terminated, truncated, info = env.step(0)
        assert (paid, terminated, truncated) == (worst, True, False)
        assert "cannot be played in the bidding" in info["fault"]
        with pytest.raises(IllegalActionError, match=r"over: call reset\(\)"):
            env.unwrapped.step(60)
        env.reset()
        env.step(60)
    env = make(illegal="raise", seat=0)
    env.reset(seed=2)
    with pytest.raises(IllegalActionError, match="the game is unchanged"):
        env.step(0)
    assert env.unwrapped.game.phase == 0
    env.step(60)


@pytest.mark.parametrize("action", [None, 1.5, "60", -1, 1000, [60]])
@pytest.mark.parametrize("illegal", ["raise", "terminate"])
def test_what_is_no_action_raises(action: Any, illegal: str) -> None:
    env = make(illegal=illegal).unwrapped
    env.reset(seed=1)
    with pytest.raises(IllegalActionError):
        env.step(action)
    assert env.game.phase == 0


def test_before_reset() -> None:
    env = make().unwrapped
    for ask in (env.action_masks, env.render, lambda: env.seat):
        with pytest.raises(NotResetError, match=r"reset\(\)"):
            ask()
    with pytest.raises(IllegalActionError, match=r"step\(\) before reset\(\)"):
        env.step(60)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rules": "oh_hel"},
        {"seat": 7},
        {"opponents": "heuristc"},
        {"opponents": ["random"]},
        {"illegal": "forgive"},
        {"render_mode": "film"},
        {"episode": "season"},
        {"layout": "large"},
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, Any]) -> None:
    for door in (OhHellGymnasiumEnv, OhHellVectorEnv):
        with pytest.raises(OhHellError):
            door(**({"rules": SHORT, "opponents": lowest} | wrong))


def test_an_opponent_that_breaks_the_rules_is_named() -> None:
    env = make(opponents=lambda *_: 3, seat=0)
    with pytest.raises(IllegalActionError, match="opponent '<lambda>' in seat"):
        for seed in range(9):
            env.reset(seed=seed)


# ---------------------------------------------------------------- many tables


@pytest.mark.parametrize("episode", ["game", "deal"])
@pytest.mark.parametrize("opponents", ["random", ["random", lowest]])
def test_a_row_is_the_single_environment(episode: str, opponents: Any) -> None:
    settings: dict[str, Any] = {"rules": SHORT, "opponents": opponents, "episode": episode}
    vector = gymnasium.make_vec(ID, num_envs=3, autoreset_mode="NextStep", **settings)
    single = gymnasium.make(ID, **settings)
    views, infos = vector.reset(seed=6)
    view, info = single.reset(seed=6)
    over, episodes = False, 0
    while episodes < 4:
        assert views[0].tobytes() == view.tobytes()
        assert (infos["action_mask"][0] == info["action_mask"]).all()
        assert infos["seat"][0] == info["seat"]
        actions = infos["action_mask"].argmax(axis=1)
        views, rewards, terminations, truncations, infos = vector.step(actions)
        if over:
            view, info = single.reset()
            reward, over = 0.0, False
            episodes += 1
        else:
            view, reward, over, _, info = single.step(int(actions[0]))
        assert (rewards[0], terminations[0], truncations[0]) == (reward, over, False)
        if over:
            assert infos["score"][0] == info["score"]
            assert infos["win_share"][0] == info["win_share"]
            assert infos["_score"][0] and not infos["_fault"][0]


same_step = pytest.mark.filterwarnings("ignore:autoreset_mode='SameStep' with Gymnasium 1.[0-3]")


@same_step
def test_the_vector_environment_keeps_gymnasiums_forms() -> None:
    vector = gymnasium.make_vec(
        ID, num_envs=5, rules=SHORT, opponents=lowest, autoreset_mode="SameStep"
    )
    assert isinstance(vector, OhHellVectorEnv)
    disabled = OhHellVectorEnv(2, SHORT, opponents=lowest, autoreset_mode="Disabled")
    for env, named in ((vector, "SameStep"), (disabled, "Disabled")):
        mode = env.metadata["autoreset_mode"]
        assert getattr(mode, "value", mode) == named  # before Gymnasium 1.1 it is only a word
        assert (
            OhHellVectorEnv(2, SHORT, opponents=lowest, autoreset_mode=mode).metadata
            == env.metadata
        )
    views, infos = vector.reset(seed=1)
    ends = 0
    for _ in range(25):
        assert vector.observation_space.contains(views)
        assert (vector.action_masks() == infos["action_mask"]).all()
        actions = vector.action_space.sample(
            tuple(infos["action_mask"])  # MultiDiscrete takes one mask for each table
        )
        assert infos["action_mask"][np.arange(5), actions].all()
        before = views.copy()
        views, rewards, terminations, _, infos = vector.step(actions)
        assert rewards.shape == terminations.shape == (5,) and rewards.dtype == np.float64
        assert terminations.any() == ("final_obs" in infos)
        for table in np.flatnonzero(terminations):
            ends += 1
            last = infos["final_obs"][table]
            assert vector.single_observation_space.contains(last)
            assert infos["final_info"]["score"][table] == rewards[table]
            assert before[table].tobytes() != last.tobytes() != views[table].tobytes()
    assert ends > 10


KNOWS_SAME_STEP = Version(gymnasium.__version__) >= Version("1.4")


@pytest.mark.parametrize("hand_size", [1, 2])
@pytest.mark.parametrize(
    "mode",
    [
        None,
        "NextStep",
        pytest.param(
            "SameStep",
            marks=pytest.mark.skipif(
                not KNOWS_SAME_STEP, reason="this Gymnasium's statistics are wrong with it"
            ),
        ),
    ],
)
def test_gymnasiums_statistics_are_those_of_the_episodes(mode: Any, hand_size: int) -> None:
    """Before 1.4 they leave out the first reward of an episode where it begins in the same step."""
    settings: dict[str, Any] = {"rules": "boerenbridge", "players": 3, "opponents": "random"}
    env: Any = RecordEpisodeStatistics(
        gymnasium.make_vec(ID, num_envs=8, hand_size=hand_size, autoreset_mode=mode, **settings),
        buffer_length=1000,
    )
    _, infos = env.reset(seed=1)
    rng = random.Random(1)
    returns, sums = list[float](), np.zeros(8)
    for _ in range(30):
        actions = [rng.choice(legal_of(mask)) if mask.any() else 0 for mask in infos["action_mask"]]
        _, rewards, ends, _, infos = env.step(np.array(actions))
        sums += rewards
        returns += sums[ends].tolist()
        sums[ends] = 0
    assert len(returns) > 50
    assert list(env.return_queue) == returns


def test_an_older_gymnasium_begins_episodes_in_the_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mode_of(**settings: Any) -> str:
        env = OhHellVectorEnv(2, SHORT, opponents=lowest, **settings)
        mode = env.metadata["autoreset_mode"]
        return getattr(mode, "value", mode)

    monkeypatch.setattr(gymnasium, "__version__", "1.4.0a1")
    assert mode_of() == mode_of(autoreset_mode="SameStep") == "SameStep"
    monkeypatch.setattr(gymnasium, "__version__", "1.3.0")
    assert mode_of() == "NextStep" and mode_of(autoreset_mode="Disabled") == "Disabled"
    with pytest.warns(UserWarning, match="omits the first reward"):
        assert mode_of(autoreset_mode="SameStep") == "SameStep"


def test_copies_and_views() -> None:
    kept = OhHellVectorEnv(4, SHORT, opponents=lowest)
    shared = OhHellVectorEnv(4, SHORT, opponents=lowest, copy=False)
    for env, same in ((kept, False), (shared, True)):
        first, info = env.reset(seed=1)
        second, *_ = env.step(info["action_mask"].argmax(axis=1))
        assert np.shares_memory(first, second) == same


def test_vector_resets() -> None:
    env = OhHellVectorEnv(4, SHORT, opponents="random", autoreset_mode="Disabled")
    first, infos = env.reset(seed=9)
    again, _ = env.reset(seed=9)
    assert first.tobytes() == again.tobytes()
    assert env.reset()[0].tobytes() != first.tobytes(), "the streams go on"
    views, infos = env.reset(seed=9)
    while not env.tables.dones.any():
        views, *_, infos = env.step(infos["action_mask"].argmax(axis=1))
    done = env.tables.dones.copy()
    new, infos = env.reset(options={"reset_mask": done})
    assert (new[~done] == views[~done]).all() and infos["action_mask"].any(axis=1).all()
    for wrong in ({"reset_mask": done[:2]}, {"reset_mask": [1, 0, 0, 1]}, {"dealer": 1}):
        with pytest.raises(RulesError):
            env.reset(options=wrong)
    with pytest.raises(RulesError, match="seed"):
        env.reset(seed=1, options={"reset_mask": np.array([True, False, False, False])})
    with pytest.raises(RulesError, match="autoreset_mode"):
        OhHellVectorEnv(2, SHORT, opponents=lowest, autoreset_mode="SomeDay")


@same_step
def test_faults_in_the_vector_environment() -> None:
    env = OhHellVectorEnv(3, SHORT, opponents=lowest, autoreset_mode="SameStep")
    _, infos = env.reset(seed=2)
    actions = infos["action_mask"].argmax(axis=1)
    actions[1] = 5
    _, _, terminations, _, infos = env.step(actions)
    assert terminations.tolist() == [False, True, False]
    told = infos["final_info"]
    assert "cannot be played in the bidding" in told["fault"][1] and told["fault"][0] is None
    actions[1] = 1000
    with pytest.raises(IllegalActionError, match="table 1: action 1000 is out of range"):
        env.step(actions)


def test_texts_of_all_tables() -> None:
    env = gymnasium.make_vec(ID, num_envs=3, rules=SHORT, opponents=lowest, render_mode="ansi")
    env.reset(seed=1)
    texts: Any = env.render()
    for table in range(3):
        assert texts[table].count("to act") == 1
        hand = look_hand(texts[table])
        assert len(hand) == 1, "the learner's hand alone"
    assert OhHellVectorEnv(2, SHORT, opponents=lowest).render() is None


def look_hand(text: str) -> list[list[str]]:
    rows = [line.split() for line in text.splitlines() if line.startswith("seat ")]
    return [row for row in rows if any(len(word) == 2 and word[1] in "CDHS" for word in row[5:])]


# ---------------------------------------------------------------- learning


@pytest.mark.slow
def test_p39_masks_of_subprocesses() -> None:
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import get_action_masks
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import SubprocVecEnv

    settings = {"rules": "oh_hell", "players": 3, "hand_size": 2, "illegal": "raise"}
    name = f"ohhell_env:{ID}"  # a new process must be told what to import
    envs = make_vec_env(name, 2, seed=1, env_kwargs=settings, vec_env_cls=SubprocVecEnv)
    try:
        envs.reset()
        masks = get_action_masks(envs)
        assert masks.shape == (2, envs.action_space.n) and masks.dtype == np.bool_  # type: ignore[attr-defined]
        MaskablePPO("MlpPolicy", envs, n_steps=128, batch_size=64, device="cpu").learn(512)
    finally:
        envs.close()


@pytest.mark.slow
@pytest.mark.parametrize("vectorised", [False, True])
def test_maskable_ppo_learns_by_the_documented_call(vectorised: bool) -> None:
    """Two cards against random players: what it earns rises well above what it earned at first."""
    import torch
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.evaluation import evaluate_policy
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.monitor import Monitor

    torch.set_num_threads(1)
    settings = {"rules": "oh_hell", "players": 3, "hand_size": 2, "opponents": "random"}
    strict = Monitor(gymnasium.make(ID, **settings, illegal="raise"))  # P35: unmasked, it raises
    train: Any = make_vec_env(ID, 8, env_kwargs=settings) if vectorised else strict
    model = MaskablePPO("MlpPolicy", train, n_steps=256, batch_size=256, seed=1, device="cpu")
    strict.reset(seed=100)
    before, _ = evaluate_policy(model, strict, 1000, deterministic=False)
    model.learn(20_000)
    strict.reset(seed=100)
    after, _ = evaluate_policy(model, strict, 1000, deterministic=False)
    assert isinstance(before, float) and isinstance(after, float)
    assert after > before + 1.0
