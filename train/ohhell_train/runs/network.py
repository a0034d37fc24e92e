"""The networks that runs begin as: read from checkpoints, and refused where they do not fit."""

from __future__ import annotations

from pathlib import Path

from ohhell_agents.checkpoint_io import WHOLE, kind_of, read_metadata
from ohhell_agents.nn.checkpoint import Checkpoint, load_checkpoint
from ohhell_agents.nn.network import Network
from ohhell_agents.two_part import PARTS, TwoPartAgent
from ohhell_env.errors import CheckpointError
from ohhell_env.observation import layout_of
from ohhell_train.settings import TableKind

_LEARNS = {WHOLE: "bids and cards", **{part: f"the {part}" for part in PARTS}}


def start_network(
    folder: Path, kind: TableKind, layout: str, hidden: tuple[int, ...], part: str = WHOLE
) -> Network:
    """Returns the network of a checkpoint that a run is to begin as.

    Args:
        folder: The checkpoint.
        kind: A table that the run trains at.
        layout: Name of the layout of its observations.
        hidden: Widths of the hidden layers of its network.
        part: What it trains, "both", "bids" or "cards".

    Raises:
        CheckpointError: It cannot be read, or is no network of the run's shape.
    """
    checkpoint = checkpoint_in(folder, part)
    if checkpoint.part not in (WHOLE, part):
        raise CheckpointError(
            f"{folder}: learned the {checkpoint.part} only, this run learns {_LEARNS[part]}"
            f"; set part={checkpoint.part}, or begin as another checkpoint"
        )
    wanted, then = layout_of(kind.rules, layout, kind.hand_size), checkpoint.rules
    if checkpoint.layout.digest != wanted.digest:
        raise CheckpointError(
            f"{folder}: reads the {checkpoint.layout_name!r} layout of {then.name} with "
            f"{then.players} players, not what the tables of this run show; begin as a checkpoint "
            "of the same rules, or as one of the universal layout with layout=universal"
        )
    if checkpoint.network.hidden != hidden:
        raise CheckpointError(
            f"{folder}: has hidden layers of {list(checkpoint.network.hidden)}, the run has "
            f"{list(hidden)}; set network.hidden to the former"
        )
    return checkpoint.network


def checkpoint_in(folder: Path, part: str) -> Checkpoint:
    """Returns the network of a player that a run saved, or that a run is to begin as.

    Args:
        folder: Its folder.
        part: What is wanted of a player of two parts: "bids" or "cards"; "both": it must be whole.

    Raises:
        CheckpointError: It cannot be read, or that part is no network.
    """
    if kind_of(read_metadata(folder)) != TwoPartAgent.kind:
        return load_checkpoint(folder)
    if part == WHOLE:
        raise CheckpointError(
            f"{folder}: is a player of two parts, of which a run can begin as one: set part=bids "
            "or part=cards, or begin as another checkpoint"
        )
    if not (folder / part).is_dir():
        raise CheckpointError(f"{folder}: its {part} are not decided by a network")
    return load_checkpoint(folder / part)
