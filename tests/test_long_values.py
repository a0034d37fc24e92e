"""Messages stay short whatever they are about: values of a million letters at many doors."""

from __future__ import annotations

import doctest
import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import ohhell_agents
from ohhell_env import errors, oh_hell_v0
from ohhell_env.actions import action_name, bid_action
from ohhell_env.cards import Pack, card_name, parse_card
from ohhell_env.cli.commands import main
from ohhell_env.cli.commands import main as train
from ohhell_env.envs.batched import BatchedOhHell
from ohhell_env.errors import OhHellError, nearest, shown, shown_path
from ohhell_env.game import Game
from ohhell_env.pictures import replay_page, table_svg
from ohhell_env.players import resolve
from ohhell_env.records.notation import format_game, parse_game
from ohhell_env.records.record import Record, from_json, load_record, save_record, to_json
from ohhell_env.records.replay import replay
from ohhell_env.rules import Rules, as_rules
from ohhell_env.testing import play_random
from ohhell_train import plots
from ohhell_train.counterfactual.config import CounterfactualConfig
from ohhell_train.tournament import TournamentConfig, run_tournament

LONG = "x" * 1_000_000
LIST = [LONG] * 3
HUGE = 10**1_000_000
MOST = 600
"""Letters of a message: a value of 80, what is allowed, and the remedy."""

Door = Callable[[Any], object]


def rules_of(**changes: Any) -> Rules:
    return Rules.from_dict({key.replace("__", "."): value for key, value in changes.items()})


@functools.cache
def played() -> Record:
    rules = Rules(players=3).replace(schedule={"shape": "explicit", "sizes": [2]})
    return play_random(Game(rules, seed=4), random.Random(4)).record()


def with_entry(*path: Any) -> Door:
    """A door that reads a record in which one entry is the value."""

    def door(value: Any) -> object:
        record: Any = json.loads(to_json(played()))
        place = record
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return replay(record)

    return door


def text_with(old: str) -> Door:
    return lambda value: parse_game(format_game(played()).replace(old, f"{value}", 1))


def env_of(name: str) -> Door:
    return lambda value: oh_hell_v0.env(**{name: value})


def reset_with(name: str) -> Door:
    def door(value: Any) -> object:
        return oh_hell_v0.env("oh_hell").reset(seed=1, options={name: value})

    return door


def begun(act: Callable[[Any, Any], object]) -> Door:
    def door(value: Any) -> object:
        env = oh_hell_v0.env("oh_hell")
        env.reset(seed=1)
        return act(env, value)

    return door


def batched(**settings: Any) -> BatchedOhHell:
    return BatchedOhHell(**({"num_tables": 2, "rules": "oh_hell"} | settings))


def tournament(entrants: Any = ("random", "heuristic"), **settings: Any) -> object:
    return run_tournament(entrants, rules=Rules(), deals=2, seed=1, **settings)


DOORS: dict[str, Door] = {
    "preset": Rules.preset,
    "preset, players": lambda value: Rules.preset("rikiki", value),
    "as_rules": as_rules,
    "from_yaml": Rules.from_yaml,
    "players": lambda value: rules_of(players=value),
    "first_dealer": lambda value: rules_of(first_dealer=value),
    "scoring": lambda value: rules_of(scoring=value),
    "scoring, number": lambda value: rules_of(scoring__exact_bonus=value),
    "hook": lambda value: rules_of(bidding__hook=value),
    "rate": lambda value: rules_of(settlement__rate=value),
    "announce": lambda value: rules_of(bidding__announce=value),
    "sizes": lambda value: rules_of(schedule={"shape": "explicit", "sizes": value}),
    "one size": lambda value: rules_of(schedule={"shape": "explicit", "sizes": [2, value]}),
    "suits": lambda value: rules_of(pack__suits=value),
    "one suit": lambda value: Pack(suits=("C", value)),
    "removed": lambda value: Pack(removed=(value,)),
    "fixed trump": lambda value: rules_of(trump={"method": "fixed", "suit": value}),
    "rotation": lambda value: rules_of(trump={"method": "rotation", "rotation": ["C", value]}),
    "name of the rules": lambda value: rules_of(name=str(value), players=99),
    "rules as data": Rules.from_dict,
    "replace players": lambda value: Rules.preset("rikiki").replace(players=value),
    "card": parse_card,
    "card number": card_name,
    "bid": bid_action,
    "action": action_name,
    "game, seed": lambda value: Game("oh_hell", seed=value),
    "game, episode": lambda value: Game("oh_hell", episode=value),
    "game, hand size": lambda value: Game("oh_hell", 1, "deal", value),
    "apply": lambda value: Game("oh_hell", seed=1).apply(value),
    **{f"env, {name}": env_of(name) for name in ("rules", "players", "episode", "reward")},
    **{f"env, {name}": env_of(name) for name in ("illegal", "render_mode", "layout")},
    **{f"reset, {name}": reset_with(name) for name in ("dealer", "hand_size", "hands", "turned")},
    "reset, trump": reset_with("trump"),
    "reset, one hand": lambda value: reset_with("hands")([[value]] * 4),
    "reset, seed": lambda value: oh_hell_v0.env().reset(seed=value),
    "reset, options": lambda value: oh_hell_v0.env().reset(seed=1, options=value),
    "step": begun(lambda env, value: env.step(value)),
    "agent": begun(lambda env, value: env.observe(value)),
    "space": begun(lambda env, value: env.action_space(value)),
    "tables": lambda value: batched(num_tables=value),
    "batch, layout": lambda value: batched(layout=value),
    "batch, reward": lambda value: batched(reward=value),
    "gymnasium, opponents": lambda value: gymnasium.make("ohhell/OhHell-v0", opponents=value),
    "gymnasium, seat": lambda value: gymnasium.make(
        "ohhell/OhHell-v0", opponents="random", seat=value
    ),
    "load": load_record,
    "save": lambda value: save_record(played(), value),
    "replay": replay,
    "from_json": lambda value: from_json(value if isinstance(value, str) else json.dumps(value)),
    "parse_game": lambda value: parse_game(str(value)),
    **{f"record, {key}": with_entry(key) for key in ("format", "version", "seed", "episode")},
    **{f"record, {key}": with_entry(key) for key in ("deals", "scores", "names", "thoughts")},
    "record, rules": with_entry("rules"),
    "record, a rule": with_entry("rules", "players"),
    **{
        f"record, {key}": with_entry("deals", 0, key)
        for key in ("dealer", "hand_size", "hands", "turned", "trump", "bids", "tricks", "points")
    },
    "record, a card": with_entry("deals", 0, "hands", 0, 0),
    "record, a bid": with_entry("deals", 0, "bids", 0, 1),
    "record, a play": with_entry("deals", 0, "tricks", 0, 0, 1),
    **{
        f"text, {old}": text_with(old)
        for old in ("custom", "3 players", "Seed: 4", "game", "Deal 1", "Bids", "Trick 1", "Points")
    },
    "page, names": lambda value: replay_page(played(), value),
    "picture, names": lambda value: table_svg(Game("oh_hell", seed=1), 1, names=value),
    "player": ohhell_agents.make,
    "player or path": lambda value: ohhell_agents.make(f"{value}/best"),
    "player of a module": lambda value: ohhell_agents.make(f"ohhell_agents.random_agent:{value}"),
    "module": lambda value: ohhell_agents.make(f"python:{value}:Player"),
    "zoo": lambda value: ohhell_agents.make(f"zoo:{value}"),
    "search": lambda value: ohhell_agents.make(f"search:{value}"),
    "search, a setting": lambda value: ohhell_agents.make("search", worlds=value),
    "search, policy": lambda value: ohhell_agents.make("search", policy=value),
    "no such setting": lambda value: ohhell_agents.make("heuristic", **{str(value): 1}),
    "program, a setting": lambda value: ohhell_agents.make("process:true", time_limit_ms=value),
    "checkpoint": ohhell_agents.load,
    "resolve": resolve,
    "settings file": CounterfactualConfig.load,
    "tournament, deals": lambda value: TournamentConfig.of({"deals": value}),
    "tournament, entrants": tournament,
    "tournament, one entrant": lambda value: tournament(["random", value]),
    "tournament, design": lambda value: tournament(design=value),
    "tournament, challenger": lambda value: tournament(challenger=value),
    "tournament, anchor": lambda value: tournament(anchor=value),
    "tournament, executor": lambda value: tournament(executor=value),
    "plot": plots.made_rates,
}

TEXTS = {
    *("from_yaml", "load", "save", "from_json", "parse_game", "player or path", "checkpoint"),
    *("player of a module", "module", "zoo", "search", "no such setting", "settings file"),
    *("name of the rules", "page, names", "picture, names"),
    *(door for door in DOORS if door.startswith("text, ")),
}
"""Doors at which only a text makes sense."""
VALUES = {"text": LONG, "list": LIST, "number": HUGE, "keys": {LONG: 1}}
FITTING = {("record, names", "list"), ("record, seed", "number")}
"""Values that are allowed."""
CASES = [
    (door, kind)
    for door in DOORS
    for kind in VALUES
    if (door, kind) not in FITTING and (kind == "text" or door not in TEXTS)
]


@pytest.mark.parametrize(("door", "kind"), CASES)
def test_a_message_is_short(door: str, kind: str) -> None:
    with pytest.raises((OhHellError, OSError)) as caught:
        DOORS[door](VALUES[kind])
    message = str(caught.value)
    assert 10 < len(message) < MOST, f"{len(message)}: {message[:300]} ... {message[-200:]}"


COMMANDS: dict[str, tuple[Callable[..., int], str]] = {
    "command": (main, "{}"),
    "variant": (main, "rules {}"),
    "file of rules": (main, "rules {}.yaml"),
    "option": (main, "rules oh_hell --{}"),
    "players": (main, "rules oh_hell --players {}"),
    "players of a variant": (main, "deal {} --players 3"),
    "setting": (main, "rules oh_hell --set {}=1"),
    "value": (main, "rules oh_hell --set bidding.hook={}"),
    "no setting": (main, "rules oh_hell --set {}"),
    "too much": (main, "rules oh_hell {}"),
    "record": (main, "replay {}"),
    "out": (main, "deal --out {}"),
    "out in a folder": (main, "deal --out {0}/{0}"),
    "player": (main, "deal --player {}"),
    "explain": (main, "deal --explain {}"),
    "train command": (train, "{}"),
    "config": (train, "fit --config {}"),
    "config's setting": (train, "fit --set {}=1 --out nowhere"),
    "run": (train, "resume {}"),
    "entrant": (train, "tournament random {} --deals 2"),
    "design": (train, "tournament random heuristic --design {}"),
    "challenger": (train, "tournament random heuristic --challenger {}"),
    "player at the table": (train, "play --plain --against {}"),
    "player who bids": (train, "bidding {}"),
    "card": (train, "model-card {}"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_it_in_a_short_line(
    command: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    program, words = COMMANDS[command]
    assert program([word.format(LONG) for word in words.split()]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1
    assert len(said) < 2 * MOST, f"{len(said)}: {said[:300]} ... {said[-200:]}"
    assert list(tmp_path.iterdir()) == []


def test_the_wrong_one_of_many_is_named() -> None:
    """Not the whole list: the entry and its place."""
    sizes = [3] * 5000 + ["four"] + [3] * 5000
    with pytest.raises(OhHellError, match=r"schedule\.sizes\[5000\] must be .* got 'four'$"):
        rules_of(schedule={"shape": "explicit", "sizes": sizes})
    with pytest.raises(OhHellError, match=r"each must be at least 1, got 0$"):
        rules_of(schedule={"shape": "explicit", "sizes": [3] * 5000 + [0]})
    with pytest.raises(OhHellError, match=r"pack\.removed: '1H' is not a card"):
        rules_of(pack__removed=["2H"] * 5000 + ["1H"])
    with pytest.raises(OhHellError, match=r"pack\.suits: each must be one .*, got 'DD'$"):
        rules_of(pack__suits=["C", "DD"])


def test_values_are_shown_whole_if_they_are_short() -> None:
    for value in ("TH", 5, None, ["a", 1], {"b": (2,)}, 2.5, "x" * 78, np.int64(3), b"no"):
        assert shown(value) == repr(value)


def test_long_values_are_cut() -> None:
    for value in (*VALUES.values(), "x" * 79, [1] * 60, object.__new__(Unsayable), b"x" * 10**6):
        assert len(shown(value)) <= 80
    assert shown("x" * 79) == "'" + "x" * 76 + "..."
    assert "Unsayable" in shown(object.__new__(Unsayable))


class Unsayable:
    """Fails when it is asked what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_paths_are_shown_with_their_ends() -> None:
    usual = "/home/ann/" + "folder/" * 20 + "rules.yaml"
    assert shown_path(usual) == usual
    cut = shown_path("/home/ann/" + "folder/" * 1000 + "rules.yaml")
    assert len(cut) == 80 and cut.startswith("/home/ann/") and cut.endswith("/rules.yaml")


def test_hints_are_short_and_quick() -> None:
    assert nearest("oh_hel" + LONG, ["oh_hell"]) == "allowed: oh_hell"
    many = [f"player {number}" for number in range(1000)]
    assert nearest("zzz", many).endswith("player 59 and 940 more")
    assert len(nearest("zzz", [LONG])) < 100


def test_examples_in_docstrings() -> None:
    failed, tried = doctest.testmod(errors)
    assert tried > 0 and failed == 0
