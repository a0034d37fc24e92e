"""What a player thinks at each decision of a recorded game, whoever made it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ohhell_env.engine import batch
from ohhell_env.engine.encode import new_buffer
from ohhell_env.errors import OhHellError
from ohhell_env.game import Game
from ohhell_env.observation import LAYOUTS, layout_of
from ohhell_env.records.record import Record
from ohhell_env.records.replay import check
from ohhell_env.records.thoughts import Thought, plain_thought


def explained(record: Record, player: Any, seat: int | None = None) -> list[list[Thought | None]]:
    """Returns what a player thinks at each decision, by deal and in order.

    Args:
        record: The game.
        player: An object with ``begin`` and ``explain``, such as a player of ``ohhell_agents``.
        seat: Only ask at this seat's decisions; None: at all decisions.

    Returns:
        For each deal, a thought (see ``ohhell_env.records.thoughts``) for each bid and card; None
        where the player was not asked.

    Raises:
        OhHellError: The player cannot explain itself.
        NotationError: The record is not a game under its rules.
    """
    if not callable(getattr(player, "explain", None)):
        raise OhHellError(f"player {type(player).__name__} cannot say what it thinks")
    found: list[list[Thought | None]] = [[] for _ in record["deals"]]

    def ask(game: Game) -> None:
        thought = _ask(game, player) if seat is None or game.seat == seat else None
        found[len(game.finished_deals)].append(thought)

    check(record, ask)
    return found


def _ask(game: Game, player: Any) -> Thought:
    name = getattr(player, "layout_name", "default")
    size = game.hand_size if game.episode == "deal" else None
    layout = layout_of(game.rules, name if name in LAYOUTS else "default", size)
    buffers = new_buffer(1, layout.length), new_buffer(1, layout.num_actions)
    batch.observe_one(game.state, game.compiled, layout.compiled(), game.seat, *buffers)
    view, mask = buffers[0][: layout.length], buffers[1][: layout.num_actions]
    player.begin(game.rules, game.seat)
    return plain_thought(
        player.explain({"observation": np.array(view), "action_mask": np.array(mask)})
    )
