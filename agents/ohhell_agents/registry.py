"""``make``: players by name, and the kinds of saved players for ``loading.load``.

>>> make("random", seed=7).kind
'random'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ohhell_agents import zoo
from ohhell_agents.base import Agent
from ohhell_agents.checkpoint_io import LEARNED, AgentPath, is_there
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.external.imported import is_import, make_imported
from ohhell_agents.external.process import make_program
from ohhell_agents.heuristic import HeuristicAgent
from ohhell_agents.loading import FILES, FOLDERS, load, load_part
from ohhell_agents.random_agent import RandomAgent
from ohhell_agents.search.agent import SearchAgent
from ohhell_agents.search.settings import read_search_settings
from ohhell_agents.two_part import PARTS, TwoPartAgent, read_parts
from ohhell_agents.two_part import PREFIX as TWO_PARTS
from ohhell_env.errors import CheckpointError, OhHellError, nearest, shown, shown_path
from ohhell_env.extras import what_is_missing

AGENTS: dict[str, type[Agent]] = {
    "random": RandomAgent,
    "heuristic": HeuristicAgent,
    "search": SearchAgent,
}
"""The players with a name of their own."""

PROCESS = "process:"
SEARCH = "search"

_Loader = Callable[[AgentPath, int | None], Agent]


def make(spec: str | Path, seed: int | None = None, **settings: Any) -> Agent:
    """Returns a player.

    Args:
        spec: A name ("random", "heuristic", "search", "search:worlds=50,inference=false": see
            ``SearchSettings``), a trained player that ships with the project ("zoo:universal"), a
            player of two parts ("parts:bids=heuristic,cards=zoo:universal": see ``read_parts``),
            the path of a checkpoint or a saved player, a Python class ("module:Class", whose code
            then runs), or a program with its arguments ("process:./my_bot --level 3",
            "process:time_limit_ms=2000:./my_bot --level 3").
        seed: Starts the player's own random numbers; None: taken from the system.
        settings: For a program: ``time_limit_ms`` and ``start_limit_ms``, see ``ProcessAgent``;
            for "search": see ``SearchSettings``. You may write them in the spec instead.

    Raises:
        OhHellError: No player and no file has this name (the message offers the nearest name), or
            the player does not have these settings.
        CheckpointError: The file contains no player, or only one part of a player.
    """
    return _make(spec, seed, settings, load)


def _make(
    spec: str | Path, seed: int | None, settings: Mapping[str, Any], loader: _Loader
) -> Agent:
    if not isinstance(spec, str | Path) or not spec:
        raise OhHellError(
            f"a player is a name ({', '.join(AGENTS)}), a checkpoint's path, 'module:Class' or "
            f"'{PROCESS}COMMAND', got {shown(spec)}"
        )
    name = str(spec)
    if name.startswith(zoo.PREFIX) and not settings:
        return loader(zoo.zoo_folder(name), seed)
    if name.startswith(PROCESS):
        return make_program(name.removeprefix(PROCESS), seed, settings)
    kind, _, text = name.partition(":")
    if kind == SEARCH and not (text and is_there(Path(name))):
        return SearchAgent(seed, read_search_settings(text, settings))
    if settings:
        raise OhHellError(
            f"player {shown(name)} has no setting {shown(next(iter(settings)))}: it has no settings"
        )
    if name.startswith(TWO_PARTS):
        return _make_parts(name.removeprefix(TWO_PARTS), seed)
    if name in AGENTS:
        return AGENTS[name](seed)
    if is_there(Path(name)):
        return loader(name, seed)
    if is_import(name):
        return make_imported(name, seed)
    looks_like_path = isinstance(spec, Path) or any(sign in name for sign in "/\\.")
    if looks_like_path:
        raise CheckpointError(f"{shown_path(name)}: no such checkpoint")
    known = [*AGENTS, *(f"{zoo.PREFIX}{each}" for each in zoo.names())]
    raise OhHellError(
        f"unknown player {shown(name)}: {nearest(kind, known)} (or the path of a checkpoint)"
    )


def _make_parts(text: str, seed: int | None) -> TwoPartAgent:
    """Returns a player of two parts, making each part by its name."""
    names = read_parts(text)
    made: dict[str, Agent] = {}
    try:
        for part in PARTS:
            made[part] = _make(names[part], seed, {}, load_part)
    except OhHellError as error:
        for agent in made.values():
            agent.close()
        raise type(error)(f"player {shown(TWO_PARTS + text)}: {error}") from None
    return TwoPartAgent(**made, seed=seed, names=names)


def _load_learned(path: AgentPath, seed: int | None) -> Agent:
    """Returns a player that is a torch network; nothing else here imports torch."""
    try:
        from ohhell_agents.nn.agent import LearnedAgent
    except ModuleNotFoundError as error:
        raise CheckpointError(
            f"{shown_path(path)}: a torch network {what_is_missing(error)}"
        ) from None
    return LearnedAgent.load(path, seed=seed)


FILES.update(AGENTS)
FOLDERS[CounterfactualAgent.kind] = CounterfactualAgent.load
FOLDERS[LEARNED] = _load_learned
FOLDERS[TwoPartAgent.kind] = TwoPartAgent.load
