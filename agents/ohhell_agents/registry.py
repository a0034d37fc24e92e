"""Players of Oh Hell behind two doors: ``make`` by name, ``load`` from a file.

>>> make("random", seed=7).kind
'random'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ohhell_agents import zoo
from ohhell_agents.base import Agent
from ohhell_agents.checkpoint_io import CARD, LEARNED, WHOLE, kind_of, read_card
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.external.imported import is_import, make_imported
from ohhell_agents.external.process import ProcessAgent, ProgramError, make_program
from ohhell_agents.heuristic import HeuristicAgent
from ohhell_agents.random_agent import RandomAgent
from ohhell_agents.saved import AgentPath, as_path, is_there, read_state
from ohhell_agents.search.agent import SearchAgent
from ohhell_agents.search.settings import SearchSettings, read_settings
from ohhell_agents.two_part import PARTS, TwoPartAgent, read_parts
from ohhell_agents.two_part import PREFIX as TWO_PARTS
from ohhell_env.errors import CheckpointError, OhHellError, nearest, shown, shown_path
from ohhell_env.extras import what_is_missing

__all__ = [
    "AGENTS",
    "Agent",
    "CounterfactualAgent",
    "HeuristicAgent",
    "ProcessAgent",
    "ProgramError",
    "RandomAgent",
    "SearchAgent",
    "SearchSettings",
    "TwoPartAgent",
    "load",
    "load_part",
    "make",
]

AGENTS: dict[str, type[Agent]] = {
    "random": RandomAgent,
    "heuristic": HeuristicAgent,
    "search": SearchAgent,
}
"""The players that have a name."""

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
        settings: Of a program: ``time_limit_ms`` and ``start_limit_ms``, see ``ProcessAgent``;
            of "search": see ``SearchSettings``. They may stand in the spec, too.

    Raises:
        OhHellError: No such player (the nearest name is offered) and no such file, or settings that
            it does not have.
        CheckpointError: A file that holds no player, or a part of one.
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
        return loader(zoo.place_of(name), seed)
    if name.startswith(PROCESS):
        return make_program(name.removeprefix(PROCESS), seed, settings)
    kind, _, text = name.partition(":")
    if kind == SEARCH and not (text and is_there(Path(name))):
        return SearchAgent(seed, read_settings(text, settings))
    if settings:
        raise OhHellError(
            f"player {shown(name)} has no setting {shown(next(iter(settings)))}: it has none"
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
    """Returns a player of two parts, each made by its name."""
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


def load(path: AgentPath, seed: int | None = None) -> Agent:
    """Returns a player from where it was saved; nothing in the file is run.

    Args:
        path: A checkpoint's folder, or the file of a saved player.
        seed: Starts its random numbers anew; None: as they were saved.

    Raises:
        CheckpointError: There is no player, a broken one, or a network that learned the bids or the
            cards only.
    """
    agent = load_part(path, seed)
    part = getattr(agent, "part", WHOLE)
    if agent.kind == LEARNED and part != WHOLE:
        raise CheckpointError(
            f"{path}: this network learned the {part} only, and never the rest of the game; name "
            f"who does the rest: {TWO_PARTS}"
            + ",".join(f"{each}={path if each == part else 'PLAYER'}" for each in PARTS)
        )
    return agent


def load_part(path: AgentPath, seed: int | None = None) -> Agent:
    """As ``load``, but also a network that learned the bids or the cards only.

    Args:
        path: As in ``load``.
        seed: As in ``load``.

    Raises:
        CheckpointError: There is no player, or a broken one.
    """
    path = as_path(path)
    if is_there(path) and not path.is_dir() and path.suffix != ".safetensors":
        kind = read_state(path).get("type")
        if not isinstance(kind, str) or kind not in AGENTS:
            raise CheckpointError(
                f"{path}: holds a player of type {shown(kind)}; {' or '.join(AGENTS)} is known"
            )
        agent = AGENTS[kind].load(path)
        if seed is None:
            return agent
        if isinstance(agent, SearchAgent):
            return SearchAgent(seed, agent.settings)
        return type(agent)(seed)
    kind = kind_of(read_card(path))
    for known in (CounterfactualAgent, TwoPartAgent):
        if kind == known.kind:
            return known.load(path, seed=seed)
    if kind != LEARNED:
        raise CheckpointError(
            f"{path / CARD}: holds a player of kind {shown(kind)}; "
            f"{CounterfactualAgent.kind!r} and {LEARNED!r} are known, and {TwoPartAgent.kind!r}"
        )
    try:
        from ohhell_agents.nn.agent import LearnedAgent
    except ModuleNotFoundError as error:
        raise CheckpointError(
            f"{shown_path(path)}: a player that is a torch network {what_is_missing(error)}"
        ) from None
    return LearnedAgent.load(path, seed=seed)
