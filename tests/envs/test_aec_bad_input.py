"""Wrong input of every kind: a clear error, nothing changed, the game goes on."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from ohhell_env import Game, Rules, oh_hell_v0
from ohhell_env.cards import Pack
from ohhell_env.envs.rewards import worst_honest
from ohhell_env.errors import IllegalActionError, NotationError, OhHellError, RulesError
from tests.envs.play import legal_of, play_out, play_to_end
from tests.helpers import house

MAKERS = [oh_hell_v0.env, oh_hell_v0.raw_env]
HANDS = [["AS", "2H"], ["KS", "3H"], ["QS", "4H"]]
"""Seat 2 deals, seat 0 is eldest; trump clubs."""
PLAIN = house(3, 2, 3, bidding__hook="none")
HOOKED = house(3, 2, 3)


def at_bidding(make: Any, rules: Rules = PLAIN, bids: tuple[int, ...] = (), **settings: Any) -> Any:
    env = make(rules, **settings)
    env.reset(seed=1, options={"hands": HANDS, "turned": "2C", "dealer": 2})
    for bid in bids:
        env.step(oh_hell_v0.bid_action(bid))
    return env


def at_play(make: Any, cards: str = "", **settings: Any) -> Any:
    env = at_bidding(make, PLAIN, (1, 1, 1), **settings)
    for name in cards.split():
        env.step(oh_hell_v0.card_action(name))
    return env


def everything(env: Any) -> tuple[Any, ...]:
    """All that a caller can see of an environment, and the referee's record."""
    raw = env.unwrapped
    views = [
        (view["observation"].tobytes(), view["action_mask"].tobytes())
        for view in map(env.observe, env.possible_agents)
    ]
    return (
        raw.game.state.tobytes(),
        views,
        env.agent_selection,
        list(env.agents),
        dict(env.rewards),
        dict(env.terminations),
        {agent: info["action_mask"].tobytes() for agent, info in env.infos.items()},
        raw.record(),
    )


def card(name: str) -> int:
    return oh_hell_v0.card_action(name)


SITUATIONS: dict[str, tuple[Callable[[Any], Any], int, str]] = {
    "a bid in the play": (at_play, 61, "the bidding is over"),
    "a card in the bidding": (at_bidding, card("AS"), "cannot be played in the bidding"),
    "a barred bid": (lambda make: at_bidding(make, HOOKED, (1, 0)), 61, "the hook forbids"),
    "one more than the hand size": (at_bidding, 63, "the hand size is 2"),
    "a card not held": (at_play, card("KS"), "does not hold it"),
    "a card played before": (lambda make: at_play(make, "AS KS QS"), card("AS"), "not hold it"),
    "a revoke": (lambda make: at_play(make, "AS"), card("3H"), "S was led and must be followed"),
    "no card of the pack": (at_play, 55, "does not hold it"),
}

NEVER_ACTIONS = [
    -1,
    -(2**70),
    63 + 1,  # past the end of the action space
    87,
    92,
    2**70,
    None,
    1.0,
    60.0,
    np.float64(60),
    "60",
    "AS",
    b"60",
    True,
    False,
    np.bool_(True),
    torch.tensor(True),
    torch.tensor(1.0),
    np.array([60, 61]),
    np.array([60]),
    [60],
    {"action": 60},
    float("nan"),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_illegal_action_raises_and_changes_nothing(make: Any, situation: str) -> None:
    reach, action, message = SITUATIONS[situation]
    env = reach(make)
    before = everything(env)
    with pytest.raises(IllegalActionError, match=message) as error:
        env.step(action)
    assert "seat" in str(error.value) and "legal" in str(error.value)
    assert everything(env) == before
    play_out(env, random.Random(1))
    assert env.agents == []


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("reach", [at_bidding, at_play])
def test_what_is_no_action_raises_and_changes_nothing(make: Any, reach: Any) -> None:
    env = reach(make)
    before = everything(env)
    for action in NEVER_ACTIONS:
        with pytest.raises(IllegalActionError):
            env.step(action)
        assert everything(env) == before, action
    play_out(env, random.Random(1))
    assert env.agents == []


@pytest.mark.parametrize("make", MAKERS)
def test_the_message_names_the_wrong_type(make: Any) -> None:
    env = at_bidding(make)
    for action, said in [(1.0, "1.0"), ("AS", "'AS'"), (True, "True"), (None, "None")]:
        with pytest.raises(IllegalActionError, match="not a whole number") as error:
            env.step(action)
        assert said in str(error.value)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "kind",
    [int, np.int64, np.int32, np.int8, np.uint8, np.uint64, torch.tensor, np.array],
    ids=lambda kind: kind.__name__,
)
def test_integers_of_every_kind_are_right(make: Any, kind: Any) -> None:
    env = at_bidding(make)
    for name in ("60", "61", "62"):
        env.step(kind(int(name)))
    for name in ("AS", "KS", "QS"):
        env.step(kind(card(name)))
    assert env.unwrapped.game.bids == [0, 1, 2]
    assert env.unwrapped.game.tricks_won == [1, 0, 0]


# ---------------------------------------------------------------- calls in a wrong order


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "call",
    [
        lambda env: env.step(0),
        lambda env: env.last(),
        lambda env: env.observe("player_0"),
        lambda env: env.agents,
        lambda env: env.agent_selection,
        lambda env: env.rewards,
        lambda env: env.infos,
        lambda env: env.num_agents,
        lambda env: env.render(),
        lambda env: next(iter(env.agent_iter())),
        lambda env: env.unwrapped.scores,
        lambda env: env.unwrapped.record(),
    ],
)
def test_p20_before_the_first_reset(make: Any, call: Any) -> None:
    env = make(PLAIN, render_mode="ansi")
    with pytest.raises(OhHellError, match=r"reset\(\)"):
        call(env)
    assert not hasattr(env, "agents")
    env.reset(seed=1)
    call_again = env.last()
    assert call_again[0] is not None


@pytest.mark.parametrize("make", MAKERS)
def test_p20_after_the_end(make: Any) -> None:
    env = make(PLAIN)
    env.reset(seed=1)
    play_out(env, random.Random(1))
    before = env.unwrapped.record()
    for action in (0, 60, None, "x"):
        with pytest.raises(IllegalActionError, match="game is over"):
            env.step(action)
    with pytest.raises(OhHellError, match="game is over"):
        env.last()
    assert env.unwrapped.record() == before
    for agent in env.possible_agents:
        assert not env.observe(agent)["action_mask"].any()
    env.reset()
    assert len(env.agents) == 3


@pytest.mark.parametrize("make", MAKERS)
def test_an_action_in_the_last_turn(make: Any) -> None:
    env = make(PLAIN)
    env.reset(seed=1)
    play_to_end(env, random.Random(1))
    before = everything(env)
    for action in (0, 60, "x", -1, 10**30):
        with pytest.raises(IllegalActionError, match="accepts only None"):
            env.step(action)
    assert everything(env) == before


@pytest.mark.parametrize("make", MAKERS)
def test_unknown_agents(make: Any) -> None:
    env = at_bidding(make)
    for call in (env.observe, env.observation_space, env.action_space):
        with pytest.raises(RulesError, match="player_0"):
            call("player_9")


# ---------------------------------------------------------------- arguments and options


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "settings,message",
    [
        ({"rules": "nomination_wist"}, "nomination_whist"),
        ({"rules": 5}, "rules"),
        ({"rules": "missing.yaml"}, "missing.yaml"),
        ({"players": 1}, "players"),
        ({"players": 9}, "players"),
        ({"players": "four"}, "players"),
        ({"episode": "match"}, "episode"),
        ({"reward": "score"}, "reward"),
        ({"reward": None}, "reward"),
        ({"reward": "win", "episode": "deal"}, "episode='game'"),
        ({"reward": "settlement"}, "needs rules with a settlement"),
        ({"illegal": "ignore"}, "raise, terminate"),
        ({"render_mode": "rgb"}, "ansi"),
        ({"hand_size": 3}, "episode='deal'"),
        ({"hand_size": 27, "episode": "deal"}, "27"),
        ({"hand_size": 0, "episode": "deal"}, "0"),
        ({"layout": "tiny"}, "universal"),
    ],
)
def test_arguments(make: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(RulesError, match=message):
        make(**settings)


def test_raw_env_only_raises() -> None:
    with pytest.raises(RulesError, match=r"oh_hell_v0\.env"):
        oh_hell_v0.raw_env(illegal="terminate")


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "options,message",
    [
        ({"delaer": 1}, "dealer"),
        ({"dealer": 3}, "dealer"),
        ({"dealer": True}, "dealer"),
        ({"hand_size": 18}, "18"),
        ({"hand_size": 5}, "layout='universal'"),
        ({"hand_size": 2.0}, "hand_size"),
        ({"hands": HANDS[:2]}, "3 hands"),
        ({"hands": [["AS", "2H"], ["AS", "3H"], ["QS", "4H"]]}, "AS is in hands 0 and 1"),
        ({"hands": [["AS", "2H"], ["KS"], ["QS", "4H"]]}, "equally many"),
        ({"hands": [["AS"], ["KS"], ["1S"]]}, "1S"),
        ({"hands": HANDS, "hand_size": 1}, "hand_size=1"),
        ({"hands": HANDS, "turned": "AS"}, "in the hand of seat 0"),
        ({"turned": "XX"}, "XX"),
        ({"trump": "S"}, "turned"),
        ([("dealer", 1)], "options"),
    ],
)
def test_reset_options(make: Any, options: Any, message: str) -> None:
    env = at_play(make, "AS")
    before = everything(env)
    with pytest.raises(RulesError, match=message):
        env.reset(seed=3, options=options)
    assert everything(env) == before, "the game before goes on"
    play_out(env, random.Random(1))
    assert env.agents == []


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", True])
def test_seeds(make: Any, seed: Any) -> None:
    env = at_play(make, "AS")
    before = everything(env)
    with pytest.raises(RulesError, match="seed"):
        env.reset(seed=seed)
    assert everything(env) == before


def test_names_of_actions() -> None:
    for call, bad in [
        (oh_hell_v0.card_action, "1H"),
        (oh_hell_v0.bid_action, -1),
        (oh_hell_v0.bid_action, 27),
        (oh_hell_v0.bid_action, True),
        (oh_hell_v0.action_name, 92),
        (oh_hell_v0.trump_action, "X"),
        (oh_hell_v0.trump_action, "heart" * 1000),
        (oh_hell_v0.trump_action, 2),
        (oh_hell_v0.trump_action, None),
        (oh_hell_v0.action_name, -1),
    ]:
        with pytest.raises(NotationError):
            call(bad)


@pytest.mark.parametrize("action", range(87, 92))
def test_codes_kept_for_naming_trumps_are_refused(action: int) -> None:
    """They are in the universal action space already, and no rules of today ask for them."""
    env = oh_hell_v0.env(PLAIN, layout="universal")
    env.reset(seed=1)
    for step in range(6):  # the bids, and some cards
        mask = env.last()[0]["action_mask"]
        assert mask.shape == (92,) and not mask[87:].any()
        before = everything(env)
        with pytest.raises(IllegalActionError, match=r"names a trump suit.*legal"):
            env.step(action)
        assert everything(env) == before
        env.step(int(np.flatnonzero(mask)[step % mask.sum()]))


def test_names_of_trumps() -> None:
    names = [oh_hell_v0.action_name(action) for action in range(87, 92)]
    assert names == ["trump C", "trump D", "trump H", "trump S", "trump NT"]
    assert [oh_hell_v0.trump_action(name.split()[1]) for name in names] == list(range(87, 92))
    assert oh_hell_v0.trump_action("nt") == 91
    two_suits = Pack(suits=("A", "B"))
    assert oh_hell_v0.action_name(88, two_suits) == "trump B"
    for action in (89, 90):
        with pytest.raises(NotationError, match="not in the pack"):
            oh_hell_v0.action_name(action, two_suits)


# ---------------------------------------------------------------- illegal="terminate"


@pytest.mark.parametrize("situation", SITUATIONS)
def test_terminate_ends_the_game_for_all(
    situation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reach, action, message = SITUATIONS[situation]
    env = reach(lambda rules: oh_hell_v0.env(rules, illegal="terminate", reward="relative"))
    offender, record = env.agent_selection, env.unwrapped.record()
    env.step(action)
    capsys.readouterr()  # PettingZoo's logger prints
    assert set(env.terminations.values()) == {True} == set(env.truncations.values())
    # common scoring, two cards: from 0 to 12 points
    assert env.rewards == {agent: -12.0 * (agent == offender) for agent in env.agents}
    assert message in env.infos[offender]["fault"] and "unchanged" not in str(env.infos)
    assert [agent for agent in env.agents if "fault" in env.infos[agent]] == [offender]
    gone = []
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        assert termination and truncation and not observation["action_mask"].any()
        assert reward == (-12.0 if agent == offender else 0.0)
        with pytest.raises(IllegalActionError, match="only None"):
            env.step(60)
        env.step(None)
        gone.append(agent)
    assert gone == ["player_0", "player_1", "player_2"] and env.agents == []
    assert env.unwrapped.record() == record, "the table stays as it was"
    env.reset(seed=1)
    assert env.agents == gone and not any(env.truncations.values())


def test_terminate_still_refuses_what_is_no_action() -> None:
    for reach in (at_bidding, at_play):
        env = reach(lambda rules: oh_hell_v0.env(rules, illegal="terminate"))
        before = everything(env)
        for action in NEVER_ACTIONS:
            with pytest.raises(IllegalActionError):
                env.step(action)
            assert everything(env) == before, action


def test_terminate_keeps_what_others_earned_before(capsys: pytest.CaptureFixture[str]) -> None:
    rules = house(3, 1, 1, bidding__hook="none", scoring="off_bid")
    env = oh_hell_v0.env(rules, illegal="terminate")
    options = {"hands": [["AS"], ["KS"], ["QS"]], "turned": "2C", "dealer": 2}
    env.reset(seed=1, options=options)
    for action in (61, 60, 61, card("AS"), card("KS"), card("QS")):
        env.step(action)
    assert list(env.rewards.values()) == env.unwrapped.scores == [11.0, 10.0, -1.0]
    offender = env.agent_selection
    assert offender == "player_1", "eldest of the second deal"
    env.step(0)
    capsys.readouterr()
    earned = {}
    for agent in env.agent_iter():
        earned[agent] = env.last()[1]
        env.step(None)
    assert earned == {"player_0": 11.0, "player_1": -1.0, "player_2": -1.0}


def honest_results(rules: Rules, reward: str) -> list[list[float]]:
    """What one deal can bring each seat, over all bids and all shares of the tricks."""
    size, players = 2, rules.players
    results: list[list[float]] = []
    for bids in itertools.product(range(size + 1), repeat=players):
        for won in itertools.product(range(size + 1), repeat=players):
            if sum(won) != size:
                continue
            game = Game(rules, seed=1)
            state = game.state["scores"][0]
            table = game.compiled["points"][0, size]
            points = [int(table[bid, tricks]) for bid, tricks in zip(bids, won, strict=True)]
            if reward == "settlement":
                state[:players] += points
                results.append(game.settlement())
            else:
                total = sum(points)
                shares = [p - (total - p) / (players - 1) for p in points]
                results.append(shares if reward == "relative" else [float(p) for p in points])
    return results


@pytest.mark.parametrize("scoring", ["common", "simple", "off_bid", "hoerr", "squares", "plump"])
@pytest.mark.parametrize("reward", ["points", "relative", "settlement"])
def test_no_honest_seat_does_worse_than_an_offender(scoring: str, reward: str) -> None:
    rules = house(3, 2, scoring=scoring, settlement="differences", hard_score_bonus=10)
    worst = worst_honest(Game(rules, seed=1), reward)
    honest = min(itertools.chain(*honest_results(rules, reward)))
    assert worst <= honest
    if reward == "points":
        assert worst == honest
    assert worst_honest(Game(rules, seed=1), "win") == 0.0


def test_an_offender_does_not_win_the_pool() -> None:
    rules = house(3, 2, 2, settlement={"kind": "pool", "ante": 5.0})
    game = Game(rules, seed=1)
    game.state["scores"][0, game.seat] = 500
    assert worst_honest(game, "settlement") == -5.0


def test_a_random_player_who_minds_no_mask(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is done, the table ends in good order."""
    rng = random.Random(5)
    env = oh_hell_v0.env(PLAIN, illegal="terminate")
    ends = {True: 0, False: 0}
    for _ in range(60):
        env.reset()
        while not env.terminations[env.agent_selection]:
            legal = legal_of(env.last()[0]["action_mask"])
            env.step(rng.choice(legal) if rng.random() < 0.95 else rng.randrange(64))
        ends[any(env.truncations.values())] += 1
        for _ in env.agent_iter():
            env.step(None)
    capsys.readouterr()
    assert min(ends.values()) > 10
