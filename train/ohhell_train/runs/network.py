"""The networks that runs start from: read from checkpoints, and refused if they do not fit."""

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
    """Returns the network of a checkpoint to start a run from.

    Args:
        folder: The checkpoint.
        kind: A table that the run trains at.
        layout: Name of the layout of its observations.
        hidden: Widths of the hidden layers of its network.
        part: The part that it trains: "both", "bids" or "cards".

    Raises:
        CheckpointError: The checkpoint cannot be read, or its network does not have the run's
            shape.
    """
    checkpoint = checkpoint_in(folder, part)
    if checkpoint.part not in (WHOLE, part):
        raise CheckpointError(
            f"{folder}: learned only the {checkpoint.part}, but this run learns {_LEARNS[part]}"
            f"; set part={checkpoint.part}, or start from another checkpoint"
        )
    wanted, then = layout_of(kind.rules, layout, kind.hand_size), checkpoint.rules
    if checkpoint.layout.digest != wanted.digest:
        raise CheckpointError(
            f"{folder}: reads the {checkpoint.layout_name!r} layout of {then.name} with "
            f"{then.players} players, which does not fit the tables of this run; start from a "
            "checkpoint of the same rules, or from a universal one with layout=universal"
        )
    if checkpoint.network.hidden != hidden:
        raise CheckpointError(
            f"{folder}: has hidden layers of {list(checkpoint.network.hidden)}, but the run has "
            f"{list(hidden)}; set network.hidden to the checkpoint's"
        )
    return checkpoint.network


def checkpoint_in(folder: Path, part: str) -> Checkpoint:
    """Returns the network of a saved player.

    Args:
        folder: The folder of the player.
        part: Which part of a player of two parts: "bids" or "cards"; "both" refuses it.

    Raises:
        CheckpointError: It cannot be read, or that part is not a network.
    """
    if kind_of(read_metadata(folder)) != TwoPartAgent.kind:
        return load_checkpoint(folder)
    if part == WHOLE:
        raise CheckpointError(
            f"{folder}: is a player of two parts, and a run can start from one of them: set "
            "part=bids or part=cards, or start from another checkpoint"
        )
    if not (folder / part).is_dir():
        raise CheckpointError(f"{folder}: no network decides its {part}")
    return load_checkpoint(folder / part)
