"""``load``: a saved player, by the kind that its file or folder names.

The registry enters the kinds here. So a player of two parts can load parts of any kind, and this
module imports no player.
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
"""Players saved as one file, by kind."""
FOLDERS: dict[str, Callable[[AgentPath, int | None], Agent]] = {}
"""Functions that load a player from its folder, by kind."""


def load(path: AgentPath, seed: int | None = None) -> Agent:
    """Returns a saved player; no code in the file runs.

    Args:
        path: A checkpoint's folder, or the file of a saved player.
        seed: Starts new random numbers; None: the saved ones continue.

    Raises:
        CheckpointError: The player is missing or broken, or it is a network that learned only the
            bids or only the cards.
    """
    agent = load_part(path, seed)
    part = getattr(agent, "part", WHOLE)
    if agent.kind == LEARNED and part != WHOLE:
        specs = ",".join(f"{p}={path if p == part else 'PLAYER'}" for p in ("bids", "cards"))
        raise CheckpointError(
            f"{path}: this network learned only the {part}; name a player for the rest of the "
            f"game: parts:{specs}"
        )
    return agent


def load_part(path: AgentPath, seed: int | None = None) -> Agent:
    """Returns a saved player as ``load`` does, or a network that learned only one part.

    Args:
        path: As in ``load``.
        seed: As in ``load``.

    Raises:
        CheckpointError: The player is missing or broken.
    """
    path = as_path(path)
    if is_there(path) and not path.is_dir() and path.suffix != ".safetensors":
        kind = read_state(path).get("type")
        if not isinstance(kind, str) or kind not in FILES:
            raise CheckpointError(
                f"{path}: contains a player of type {shown(kind)}; allowed: {', '.join(FILES)}"
            )
        agent = FILES[kind].load(path)
        return agent if seed is None else agent.reseeded(seed)
    kind = kind_of(read_metadata(path))
    if not isinstance(kind, str) or kind not in FOLDERS:
        known = ", ".join(map(repr, FOLDERS))
        raise CheckpointError(
            f"{path / METADATA}: contains a player of kind {shown(kind)}; allowed: {known}"
        )
    return FOLDERS[kind](path, seed)
