"""A player of two parts: one bids, the other plays the cards."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from agents.base import Actions, Agent, Bytes, Words
from ohhell_env.actions import BID_BASE
from ohhell_env.errors import CheckpointError
from ohhell_env.rules import RulesLike


class TwoPartAgent(Agent):
    """Asks one player for its bids and another for its cards.

    Args:
        bids: The player that bids.
        cards: The player that plays the cards; it reads the same layout.
        seed: As for every agent.
    """

    kind: ClassVar[str] = "two_parts"

    def __init__(self, bids: Agent, cards: Agent, seed: int | None = None) -> None:
        super().__init__(seed)
        self.bids, self.cards = bids, cards

    @property
    def layout_name(self) -> str:
        """Layout of the part that needs another than the default."""
        names = {self.bids.layout_name, self.cards.layout_name}
        return "universal" if "universal" in names else "default"

    @property
    def fingerprint(self) -> str:
        """Those of both parts."""
        parts = (f"{part.kind}:{part.fingerprint}" for part in (self.bids, self.cards))
        return "+".join(parts)

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat at a table, both parts of it."""
        super().begin(rules, seat)
        for part in (self.bids, self.cards):
            part.begin(rules, seat)

    def choose(
        self, observations: Bytes, action_masks: Bytes, words: Words, deterministic: bool, /
    ) -> Actions:
        """Returns the action codes (B,); see ``Agent.choose``."""
        bidding = action_masks[:, BID_BASE:].any(axis=1)
        actions = np.empty(len(action_masks), np.int64)
        for part, rows in ((self.bids, bidding), (self.cards, ~bidding)):
            if rows.any():
                actions[rows] = part.act_batch(
                    observations[rows], action_masks[rows], deterministic, words[rows]
                )
        return actions

    def save(self, path: object) -> None:
        """Not possible: save its parts.

        Raises:
            CheckpointError: Always.
        """
        raise CheckpointError(f"{path}: a player of two parts is not saved as one; save each part")
