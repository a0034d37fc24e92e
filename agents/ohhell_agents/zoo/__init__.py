"""The zoo: trained players that come with the project, ``ohhell_agents.make("zoo:universal")``.

Each has a folder with its checkpoint and a ``CARD.md``: how it was trained, with which command, and
how strong it measured.
"""

from __future__ import annotations

from pathlib import Path

from ohhell_agents.checkpoint_io import METADATA
from ohhell_env.errors import OhHellError, nearest, shown

PREFIX = "zoo:"
_HERE = Path(__file__).parent


def names() -> tuple[str, ...]:
    """Returns the names of the players in the zoo."""
    return tuple(sorted(card.parent.name for card in _HERE.glob(f"*/{METADATA}")))


def zoo_folder(name: str) -> Path:
    """Returns the folder of a player of the zoo.

    Args:
        name: With or without "zoo:".

    Raises:
        OhHellError: There is none of that name (the nearest is offered).
    """
    name = name.removeprefix(PREFIX)
    if name not in names():
        raise OhHellError(f"there is no player {shown(name)} in the zoo: {nearest(name, names())}")
    return _HERE / name
