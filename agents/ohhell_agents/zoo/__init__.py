"""The zoo: trained players that ship with the project, ``ohhell_agents.make("zoo:universal")``.

Each has a folder with its checkpoint and a ``CARD.md``: its training, the training command, and its
measured strength.
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
        OhHellError: The zoo has no such player (the message offers the nearest name).
    """
    name = name.removeprefix(PREFIX)
    if name not in names():
        raise OhHellError(f"the zoo has no player {shown(name)}: {nearest(name, names())}")
    return _HERE / name
