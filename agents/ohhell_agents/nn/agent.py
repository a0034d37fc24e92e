"""A trained player: the network of a checkpoint."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from ohhell_agents.base import Actions, Agent, Bytes, RandomBits
from ohhell_agents.checkpoint_io import BIDS, LEARNED, WHOLE, AgentPath
from ohhell_agents.nn.checkpoint import Checkpoint, load_checkpoint, save_checkpoint, weights_digest
from ohhell_agents.nn.network import choose
from ohhell_env.actions import BID_BASE
from ohhell_env.errors import CheckpointError, shown
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules, RulesLike, as_rules


class LearnedAgent(Agent):
    """Takes its network's likeliest action, or draws with the network's probabilities.

    Args:
        checkpoint: The network and its training setup.
        seed: As for every agent; only for decisions that are not deterministic.
    """

    kind: ClassVar[str] = LEARNED

    def __init__(self, checkpoint: Checkpoint, seed: int | None = None) -> None:
        super().__init__(seed)
        self.checkpoint = checkpoint

    @property
    def layout_name(self) -> str:
        """Layout of the observations that it reads: "default" or "universal"."""
        return self.checkpoint.layout_name

    @property
    def part(self) -> str:
        """The decisions that it learned and answers: "both", "bids" or "cards"."""
        return self.checkpoint.part

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat at a table.

        It may play under rules other than those it was trained for, as long as the observations are
        the same; it then warns.

        Raises:
            CheckpointError: The network cannot read the observations of these rules.
        """
        rules = as_rules(rules)
        self._check(rules)
        super().begin(rules, seat)

    def _check(self, rules: Rules) -> None:
        mine = self.checkpoint
        if layout_of(rules, mine.layout_name, mine.hand_size).digest != mine.layout.digest:
            raise CheckpointError(_mismatch(mine.rules, rules))
        if rules != mine.rules:
            warnings.warn(
                f"trained for {_title(mine.rules)}, but plays {_title(rules)}: "
                f"{', '.join(_differences(mine.rules, rules))}",
                stacklevel=3,
            )

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of its weights, as in the checkpoint's ``agent.json``."""
        return f"sha256:{weights_digest(self.checkpoint.network)}"

    def choose(
        self,
        observations: Bytes,
        action_masks: Bytes,
        random_bits: RandomBits,
        deterministic: bool,
        /,
    ) -> Actions:
        """Returns the action codes (B,); see ``Agent.choose``.

        Raises:
            CheckpointError: The observations have another length than the network reads, the
                decision is of a part it did not learn, or its weights are so large that its answer
                is not a number.
        """
        self._check_part(action_masks)
        network = self.checkpoint.network
        wanted = (network.num_observed, network.num_actions)
        sizes = (observations.shape[1], action_masks.shape[1])
        if sizes != wanted:
            raise CheckpointError(
                f"the network reads {wanted[0]} values and {wanted[1]} actions, got {sizes[0]} and "
                f"{sizes[1]}: it was trained for {_title(self.checkpoint.rules)} with the "
                f"{self.layout_name!r} layout"
            )
        views = torch.from_numpy(np.ascontiguousarray(observations, np.int8))
        masks = torch.from_numpy(np.ascontiguousarray(action_masks, np.int8))
        with torch.no_grad():
            log_probs = network.log_probs(views, masks, self.rules or self.checkpoint.rules)
        _check_sound(log_probs, masks)
        return choose(log_probs, None if deterministic else random_bits)

    def _check_part(self, action_masks: Bytes) -> None:
        """Refuses decisions that the network was not trained for."""
        if self.part == WHOLE:
            return
        bidding = action_masks[:, BID_BASE:].any(axis=1)
        if (bidding != (self.part == BIDS)).any():
            other = "a card" if self.part == BIDS else "a bid"
            raise CheckpointError(
                f"this network learned only the {self.part}, and was asked for {other}; combine it "
                "with another player: ohhell_agents.make('parts:bids=PLAYER,cards=PLAYER')"
            )

    def save(self, path: AgentPath) -> None:
        """Writes the checkpoint as a folder, completely or not at all."""
        save_checkpoint(path, self.checkpoint)

    @classmethod
    def load(cls, path: AgentPath, seed: int | None = None) -> Self:
        """Returns the player of a checkpoint; no code in its files runs.

        Raises:
            CheckpointError: The folder is not a checkpoint, broken, or of another version.
        """
        return cls(load_checkpoint(path), seed)


def _check_sound(log_probs: Tensor, masks: Tensor) -> None:
    """Refuses answers from huge weights: sums that overflow, or that outweigh the mask."""
    illegal = (log_probs.exp() * (masks == 0)).sum(dim=-1)
    sound = log_probs.isfinite().all(dim=-1) & (illegal == 0)
    if not sound.all():
        raise CheckpointError(
            f"the network's answer to observation {int(sound.int().argmin())} of the batch exceeds "
            "the range of a float32, so its weights are broken; load another checkpoint, or train "
            "the player again"
        )


def _title(rules: Rules) -> str:
    return f"{rules.name} with {rules.players} players"


def _mismatch(trained: Rules, asked: Rules) -> str:
    if trained.players != asked.players:
        return (
            f"this player was trained for {trained.players} players ({trained.name}) and cannot "
            f"sit at a table of {asked.players} players ({asked.name}); train one for "
            f"{asked.players} players, or one with the universal layout"
        )
    return (
        f"this player was trained for {_title(trained)} and cannot read the table of "
        f"{_title(asked)}: {', '.join(_differences(trained, asked))}; train one for these rules, "
        "or one with the universal layout"
    )


def _differences(trained: Rules, asked: Rules) -> list[str]:
    """Returns the settings that differ, for example "scoring.exact_bonus 10, not 5"."""
    before, after = _flat(trained.to_dict()), _flat(asked.to_dict())
    names = [name for name in after if before.get(name) != after[name] and name != "name"]
    return [f"{name} {shown(after[name])}, not {shown(before.get(name))}" for name in names[:4]]


def _flat(data: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in data.items():
        inner = isinstance(value, dict)
        found |= _flat(value, f"{prefix}{key}.") if inner else {prefix + key: value}
    return found
