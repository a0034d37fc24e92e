"""``load``: players from where they were saved, by the kind that the file or folder names.

The registry enters the kinds here. So a player of two parts can load its parts, which may be of any
kind, and nothing here imports a player.
"""

from __future__ import annotations

from collections.abc import Callable

from ohhell_agents.base import Agent
from ohhell_agents.checkpoint_io import (
    LEARNED,
    METADATA,
    WHOLE,
    AgentPath,
    as_path,
    is_there,
    kind_of,
    read_metadata,
    read_state,
)
from ohhell_env.errors import CheckpointError, shown

FILES: dict[str, type[Agent]] = {}
"""Players that are saved as one file, by kind."""
FOLDERS: dict[str, Callable[[AgentPath, int | None], Agent]] = {}
"""What loads a player from its folder, by kind."""


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
        specs = ",".join(f"{p}={path if p == part else 'PLAYER'}" for p in ("bids", "cards"))
        raise CheckpointError(
            f"{path}: this network learned the {part} only, and never the rest of the game; name "
            f"who does the rest: parts:{specs}"
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
        if not isinstance(kind, str) or kind not in FILES:
            raise CheckpointError(
                f"{path}: holds a player of type {shown(kind)}; {' or '.join(FILES)} is known"
            )
        agent = FILES[kind].load(path)
        return agent if seed is None else agent.reseeded(seed)
    kind = kind_of(read_metadata(path))
    if not isinstance(kind, str) or kind not in FOLDERS:
        known = ", ".join(map(repr, FOLDERS))
        raise CheckpointError(
            f"{path / METADATA}: holds a player of kind {shown(kind)}; {known} are known"
        )
    return FOLDERS[kind](path, seed)
