"""What players are handed is theirs: writing to it changes nothing for anybody else, at any door.

Every door asks three seats, all of which take their lowest legal action; one of them is hostile. A
player that answers by the rules must leave the very same game behind as a polite one, byte for
byte, and everybody else must have seen the same. One that does not is named, and its move not made.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from ohhell_agents import make
from ohhell_agents.external.imported import ImportedAgent
from ohhell_env import BatchedOhHell, oh_hell_v0
from ohhell_env.cli.records import _played
from ohhell_env.envs.learner_tables import LearnerTables
from ohhell_env.envs.registration import ID
from ohhell_env.errors import IllegalActionError, OhHellError
from tests.helpers import house
from tests.hostile import (
    BREAKS_THE_RULES,
    FORMS,
    KEEPS_THE_RULES,
    OneByOne,
    Polite,
    as_function,
)

RULES = house(3, 4)
Trace = list[bytes]
Player = Any
SETTINGS: dict[str, Any] = {"rules": RULES, "hand_size": 4}


def lowest(masks: Any) -> Any:
    return np.asarray(masks).argmax(axis=-1)


class Watched:
    """Tables, and what to look at when a player has broken the rules there."""

    games: Any = None


# ---------------------------------------------------------------- the doors
# Each plays on with a player and returns what everybody saw and was paid. What it was played at is
# put into ``watched``.


def by_gymnasium(player: Player, watched: Watched) -> Trace:
    witness = Polite()
    env: Any = gymnasium.make(ID, **SETTINGS, opponents=[player, witness], seat=0)
    trace: Trace = []
    for seed in range(6):
        watched.games = env.unwrapped.game.state
        view, info = env.reset(seed=seed)
        watched.games = env.unwrapped.game.state
        over = False
        while not over:
            trace += [view.tobytes(), info["action_mask"].tobytes()]
            view, reward, over, _, info = env.step(int(lowest(info["action_mask"])))
            trace.append(np.float64(reward).tobytes())
        trace.append(str(env.unwrapped.record()["deals"]).encode())
    return trace + witness.shown


def by_gymnasiums_vector(player: Player, watched: Watched) -> Trace:
    witness = Polite()
    envs: Any = gymnasium.make_vec(
        ID, num_envs=12, **SETTINGS, opponents=[player, witness], autoreset_mode="NextStep"
    )
    watched.games = envs.unwrapped.tables.games
    views, infos = envs.reset(seed=3)
    trace: Trace = []
    for _ in range(14):
        trace += [views.tobytes(), infos["action_mask"].tobytes()]
        views, rewards, *_, infos = envs.step(lowest(infos["action_mask"]))
        trace.append(rewards.tobytes())
    return trace + witness.shown


def by_learner_tables(player: Player, watched: Watched) -> Trace:
    witness = Polite()
    tables = LearnerTables(12, **SETTINGS, opponents=[witness, player], seed=3)
    watched.games = tables.games
    tables.reset()
    trace: Trace = []
    for _ in range(14):
        trace += [tables.observations.tobytes(), tables.rewards.tobytes(), tables.games.tobytes()]
        tables.step(lowest(tables.action_masks))
    return trace + witness.shown


def by_sb3(player: Player, watched: Watched) -> Trace:
    from ohhell_env.adapters.sb3 import TableVecEnv

    witness = Polite()
    envs = TableVecEnv(12, **SETTINGS, opponents=[player, witness], seed=3)
    watched.games = envs.tables.games
    views: Any = envs.reset()
    trace: Trace = []
    for _ in range(14):
        trace += [views.tobytes(), *(mask.tobytes() for mask in envs.env_method("action_masks"))]
        views, rewards, _, _ = envs.step(lowest(envs.action_masks()))
        trace.append(rewards.tobytes())
    return trace + witness.shown


def as_agent(player: Player) -> Any:
    return make(player, 0) if isinstance(player, str) else ImportedAgent(player, 0)


def by_self_play(player: Player, watched: Watched) -> Trace:
    """Guests at the tables of PPO's rollouts."""
    from ohhell_train.ppo.rollout import LAP_FIELDS, LapTables, TableOpponents

    guests = [(as_agent(player), 0.5), (as_agent(Polite()), 0.5)]
    laps = LapTables(RULES, 12, seed=3, hand_size=4, opponents=TableOpponents(guests))
    watched.games = laps.tables.games
    trace: Trace = []

    def learner(views: Any, masks: Any) -> Any:
        zeros = np.zeros(len(masks), np.float32)
        return lowest(masks), zeros, zeros

    for _ in range(12):
        lap = laps.play(learner)
        trace += [getattr(lap, name).tobytes() for name in LAP_FIELDS]
    return trace


def by_fixed_partner(player: Player, watched: Watched) -> Trace:
    """The partner that plays the cards of a learner of bids."""
    from ohhell_train.ppo.rollout import LAP_FIELDS, LapTables, TableOpponents

    company = TableOpponents(part="bids", partner=as_agent(player))
    laps = LapTables(RULES, 12, seed=3, hand_size=4, opponents=company)
    watched.games = laps.tables.games
    trace: Trace = []

    def learner(views: Any, masks: Any) -> Any:
        zeros = np.zeros(len(masks), np.float32)
        return lowest(masks), zeros, zeros

    for _ in range(12):
        lap = laps.play(learner)
        trace += [getattr(lap, name).tobytes() for name in LAP_FIELDS]
    return trace


def by_tournament(player: Player, watched: Watched) -> Trace:
    from ohhell_train.tournament.entrants import make_entrants
    from ohhell_train.tournament.tables import Deals, play_blocks

    witness = Polite()
    given = ("hostile", player), ("witness", witness), ("third", Polite())
    entrants = make_entrants(list(given), RULES, 5)
    lineups = np.tile(np.arange(3, dtype=np.int16), (6, 1))
    blocks, _ = play_blocks(Deals(RULES, 5, 4), entrants, lineups, 0)
    if entrants[0].faults:
        assert "not legal" in entrants[0].first_fault
        raise IllegalActionError(f"{entrants[0].name} in a seat: {entrants[0].first_fault}")
    assert [entrant.faults for entrant in entrants] == [0, 0, 0]
    return [blocks.tobytes(), *witness.shown]


def by_distillation(player: Player, watched: Watched) -> Trace:
    from ohhell_train.distill import games
    from ohhell_train.distill.config import DistillConfig
    from ohhell_train.tournament.entrants import Entrant

    config = DistillConfig.of(
        {
            "rules": RULES.to_dict(),
            "hand_size": 4,
            "opponents": [{"player": "random", "share": 0.5}],
            "decisions": 1,
        }
    )
    witness = Polite()
    players = [Entrant.of("hostile", as_agent(player)), Entrant.of("witness", witness)]
    for each in players:
        each.player.begin(RULES, None)
    dataset = games.play_part(config, players, 0)
    return [str([np.asarray(part).tobytes() for part in vars(dataset).values()]).encode()]


def by_play(player: Player, watched: Watched) -> Trace:
    from ohhell_env import Game
    from ohhell_train.play.match import Match
    from ohhell_train.play.names import Seated
    from ohhell_train.play.others import Others

    game = Game(RULES, seed=4, episode="deal", hand_size=4)
    watched.games = game.state
    others = Others([player, "tests.hostile:Polite"], RULES, seat=0, hand_size=4)
    seated = [Seated(name, "", True) for name in ("you", "hostile", "polite")]
    match = Match(game, 0, others, seated)
    for _ in range(2):
        question = match.question()
        if question is not None:
            match.think(question)  # asked twice, and answered once
    match.advance()
    while not match.over:
        match.choose(game.legal_actions()[0])
        match.advance()
    return [str(game.record()).encode(), *map(str.encode, match.events)]


def by_deal_command(player: Player, watched: Watched) -> Trace:
    game = _played(RULES, 4, "deal", 4, [player, "tests.hostile:Polite", "random"], None)
    return [str(game.record()).encode()]


def by_pettingzoo(player: Player, watched: Watched, **settings: Any) -> Trace:
    env = oh_hell_v0.env(**SETTINGS, episode="deal", **settings)
    env.reset(seed=4)
    watched.games = env.unwrapped.game.state
    seats: list[Any] = [player, as_function(Polite()), as_function(Polite())]
    seats = [seat.act if isinstance(seat, OneByOne) else seat for seat in seats]
    trace: Trace = []
    for agent in env.agent_iter():
        observation, reward, termination, _, info = env.last()
        for each in env.possible_agents:  # what anybody could see
            seen = env.observe(each)
            trace += [seen["observation"].tobytes(), seen["action_mask"].tobytes()]
        trace.append(np.float64(reward).tobytes())
        if termination:
            env.step(None)
        else:
            env.step(seats[env.possible_agents.index(agent)](observation, info))
    return [*trace, str(env.unwrapped.record()).encode()]


def by_exact_values(player: Player, watched: Watched) -> Trace:
    """Every situation of a tiny game, each asked about three times."""
    from ohhell_env.adapters.open_spiel import game_of
    from ohhell_train.exact.tiny import policy_of, tree_of

    pack = {"suits": ["C"], "ranks": ["2", "3", "4"]}
    rules = house(2, 1, pack=pack, bidding__hook="none", trump__method="none")
    return [str(policy_of(as_agent(player), tree_of(game_of(rules)), samples=3)).encode()]


def by_rllib(player: Player, watched: Watched) -> Trace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray warns of what Ray does
        from ohhell_env.adapters.rllib import OhHellEnv

    env = OhHellEnv({**SETTINGS, "episode": "deal", "illegal": "raise"})
    seen, infos = env.reset(seed=4)
    watched.games = env.table.game.state
    seats = [player, as_function(Polite()), as_function(Polite())]
    seats = [seat.act if isinstance(seat, OneByOne) else seat for seat in seats]
    trace: Trace = []
    over = False
    while not over:
        ((agent, view),) = seen.items()
        trace += [view["observations"].tobytes(), view["action_mask"].tobytes()]
        shown = {"observation": view["observations"], "action_mask": view["action_mask"]}
        action = seats[env.possible_agents.index(agent)](shown, {})
        seen, rewards, ends, _, infos = env.step({agent: action})
        trace.append(str(rewards).encode())
        over = ends["__all__"]
    return [*trace, str(infos).encode(), str(env.table.record()).encode()]


Door = Callable[[Player, Watched], Trace]
ANY = tuple(FORMS)
DOORS: dict[str, tuple[Door, tuple[str, ...]]] = {
    "gymnasium.make": (by_gymnasium, ANY),
    "gymnasium.make_vec": (by_gymnasiums_vector, ANY),
    "LearnerTables": (by_learner_tables, ANY),
    "TableVecEnv": (by_sb3, ANY),
    "self-play": (by_self_play, ("object", "one by one", "name")),
    "partner": (by_fixed_partner, ("object", "one by one", "name")),
    "tournament": (by_tournament, ("object", "one by one", "name")),
    "distillation": (by_distillation, ("object", "one by one", "name")),
    "play": (by_play, ("name",)),
    "deal": (by_deal_command, ("name",)),
    "exact values": (by_exact_values, ("object", "one by one", "name")),
    "PettingZoo": (by_pettingzoo, ("one by one", "function")),
    "RLlib": (by_rllib, ("one by one", "function")),
}
"""Every door at which players are asked, and the forms in which it takes them."""
HAS_RLLIB = all(map(importlib.util.find_spec, ("ray", "tree")))
"""Ray alone, as tournaments use it, lacks what RLlib imports."""
CASES = [
    pytest.param(
        door,
        form,
        marks=pytest.mark.skipif(
            name == "RLlib" and not HAS_RLLIB,
            reason="RLlib is in the environment of `make test-adapters`",
        ),
        id=f"{name}-{form}",
    )
    for name, (door, forms) in DOORS.items()
    for form in forms
]


@pytest.mark.parametrize(("door", "form"), CASES)
def test_a_player_writes_to_what_is_its_own(
    door: Door, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    check(door, form)


def check(door: Door, form: str) -> None:
    """Plays at a door with a polite player, and with every hostile one in its place."""
    honest = door(FORMS[form](Polite), Watched())
    assert honest
    for kind in KEEPS_THE_RULES:
        assert door(FORMS[form](kind), Watched()) == honest, kind.__name__
    for kind in BREAKS_THE_RULES:
        watched = Watched()
        with pytest.raises(OhHellError) as caught:
            door(FORMS[form](kind), watched)
        told = str(caught.value)
        assert any(name in told for name in (kind.__name__, "hostile", "seat ")), told
        assert "legal" in told
        assert watched.games is None or sound(watched.games), "the move was not made"


def sound(games: Any) -> bool:
    """Whether no bid is above the hand size, and every seat has as many cards as it should."""
    for row in range(len(games)):
        size, bids = int(games["hand_size"][row]), games["bids"][row, : RULES.players]
        cards = np.bitwise_count(games["hands"][row, : RULES.players])
        played = np.bitwise_count(games["played"][row, : RULES.players])
        if not (((bids >= -1) & (bids <= size)).all() and (cards + played == size).all()):
            return False
    return True


# ---------------------------------------------------------------- arrays that belong to tables


BATCH = ("observations", "action_masks", "seats", "rewards", "deal_ends", "dones")


@pytest.mark.parametrize("rubbish", [0, 1, 3])
@pytest.mark.parametrize("spoiled", [*((name,) for name in BATCH), BATCH])
def test_users_may_write_to_the_arrays_of_a_batch(spoiled: tuple[str, ...], rubbish: int) -> None:
    """Observations, masks, seats, pay and ends are the tables' own, and nothing hangs on them."""
    tables, twin = (BatchedOhHell(20, RULES, seed=3) for _ in range(2))
    for each in (tables, twin):
        each.reset()
    for _ in range(40):
        for name in BATCH:
            assert getattr(tables, name).tobytes() == getattr(twin, name).tobytes(), name
        assert tables.games.tobytes() == twin.games.tobytes()
        actions = lowest(twin.action_masks)
        for name in spoiled:
            getattr(tables, name)[:] = rubbish
        for each in (tables, twin):
            each.step(actions)
    tables.action_masks[:] = 1
    with pytest.raises(IllegalActionError, match="nothing was applied"):
        tables.step(np.full(20, tables.layout.num_actions - 1))
    assert tables.games.tobytes() == twin.games.tobytes()


@pytest.mark.parametrize("rubbish", [0, 1, 3])
@pytest.mark.parametrize("mode", ["same_step", "next_step", "disabled"])
def test_users_may_write_to_the_arrays_of_learner_tables(mode: str, rubbish: int) -> None:
    tables, twin = (
        LearnerTables(20, RULES, opponents=as_function(Polite()), seed=3, autoreset=mode)
        for _ in range(2)
    )
    for each in (tables, twin):
        each.reset()
    names = ["observations", "action_masks", "rewards", "deal_ends", "dones", "faults"]
    names.append("learner_seats")
    for _ in range(40):
        for name in names:
            assert getattr(tables, name).tobytes() == getattr(twin, name).tobytes(), name
        ended = np.flatnonzero(twin.dones)
        if mode == "same_step":
            last = tables.final_observations[ended], twin.final_observations[ended]
            assert last[0].tobytes() == last[1].tobytes()
        assert (tables.final_scores[ended] == twin.final_scores[ended]).all()
        assert (tables.win_shares[ended] == twin.win_shares[ended]).all()
        assert tables.games.tobytes() == twin.games.tobytes()
        actions = lowest(twin.action_masks)
        for name in [*names, "final_observations", "final_scores", "final_seats", "win_shares"]:
            getattr(tables, name)[:] = rubbish
        for each in (tables, twin):
            if mode == "disabled":
                each.reset_tables(ended)
        if mode == "disabled" and len(ended):
            actions = lowest(twin.action_masks)
        for each in (tables, twin):
            each.step(actions)


# ---------------------------------------------------------------- answers that are none


@pytest.mark.parametrize(
    "answer",
    [
        lambda views, masks: None,
        lambda views, masks: 60,
        lambda views, masks: masks.argmax(axis=1)[:-1],
        lambda views, masks: masks.argmax(axis=1)[:, np.newaxis],
        lambda views, masks: masks.argmax(axis=1) + 0.5,
        lambda views, masks: np.array(["AS"] * len(masks)),
        lambda views, masks: np.full(len(masks), 2**64 - 4, np.uint64),
        lambda views, masks: ["x" * 10_000] * len(masks),
    ],
)
@pytest.mark.parametrize("door", [by_learner_tables, by_gymnasium, by_self_play])
def test_an_answer_of_a_wrong_form_is_named(door: Door, answer: Any) -> None:
    player = Polite()
    player.act_batch = lambda views, masks, deterministic=True: answer(views, masks)  # type: ignore[method-assign]
    with pytest.raises(IllegalActionError, match=r"opponent 'Polite' .*answered") as caught:
        door(player, Watched())
    assert len(str(caught.value)) < 600


def test_an_answer_that_ends_programs_when_it_is_shown_is_named() -> None:
    class Leaves:
        def __repr__(self) -> str:
            raise SystemExit(0)

    env: Any = gymnasium.make(ID, **SETTINGS, opponents=lambda *_: Leaves(), seat=0)
    with pytest.raises(IllegalActionError, match="answered a value of type Leaves"):
        env.reset(seed=1, options={"dealer": 0})


def test_a_single_table_waits_for_a_reset_after_an_opponents_mistake() -> None:
    """The next step would otherwise be made in the opponent's place."""
    env: Any = gymnasium.make(ID, **SETTINGS, opponents=lambda *_: 51, seat=0)
    with pytest.raises(IllegalActionError, match=r"call reset\(\) to continue"):
        env.reset(seed=1, options={"dealer": 0})
    before = env.unwrapped.game.state.tobytes()
    with pytest.raises(IllegalActionError, match=r"call reset\(\) first"):
        env.unwrapped.step(60)
    assert env.unwrapped.game.state.tobytes() == before
