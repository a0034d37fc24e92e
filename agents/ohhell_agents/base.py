"""``Agent``: the interface of every player in this package.

A player answers from the view of one seat: the environment's own observation and action mask. It
keeps no state between decisions, because an observation contains the whole public history of its
deal. So one object may sit at many tables, and ``act_batch`` asks it about all of them in one call.
"""

from __future__ import annotations

import abc
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.checkpoint_io import (
    STATE_FORMAT,
    AgentPath,
    as_path,
    plain_state,
    read_state,
    restore,
)
from ohhell_env.actions import whole_number
from ohhell_env.errors import CheckpointError, IllegalActionError, shown
from ohhell_env.files import write_whole
from ohhell_env.game import check_seed
from ohhell_env.rules import Rules, RulesLike, as_rules

Bytes = NDArray[np.int8]
"""Observations (B, L) or action masks (B, A)."""
RandomBits = NDArray[np.uint64]
"""One random number for each decision (B,)."""
Actions = NDArray[np.int64]
"""Action codes (B,)."""


class Agent(abc.ABC):
    """A player of Oh Hell.

    Subclasses implement ``choose``. Randomness comes in as one random number per decision. The
    agent's own generator draws it, or a caller passes it in to make the answer at a table depend
    only on that table (a tournament does so).

    Args:
        seed: Starts the agent's own random numbers; None: taken from the system. The agent never
            uses global generators.

    Raises:
        RulesError: The seed is not a whole number from 0 to 2^64 - 1.
    """

    kind: ClassVar[str] = "agent"
    """Name of the type, as in ``ohhell_agents.make`` and in saved files."""
    engine_player: ClassVar[int | None] = None
    """Number of this player inside the engine (``value/players.py``), if it exists there. All
    players with values share one number, and have ``models`` of their own."""

    @property
    def layout_name(self) -> str:
        """Layout of the observations that the agent reads, "default" or "universal"."""
        return "default"

    @property
    def one_by_one(self) -> bool:
        """Whether to ask it one question at a time, because batches do not speed it up."""
        return False

    @property
    def needs_seat(self) -> bool:
        """Whether ``begin`` must set its seat, before each decision if seats change."""
        return False

    @property
    def fingerprint(self) -> str:
        """Identifies the player among those of its class; empty if the class is enough."""
        return ""

    def __init__(self, seed: int | None = None) -> None:
        checked = None if seed is None else check_seed(seed)
        self._random = np.random.Generator(np.random.Philox(checked))
        self.rules: Rules | None = None
        self.seat: int | None = None

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat at a table; called before each game.

        Args:
            rules: The rules of the game.
            seat: The agent's seat; None: the agent is asked about many tables.

        Raises:
            OhHellError: The agent cannot play these rules.
            IllegalActionError: The seat does not exist.
        """
        rules = as_rules(rules)
        self.seat = _checked_seat(seat, rules)
        self.rules = rules

    def close(self) -> None:  # noqa: B027 (subclasses need not implement it)
        """Releases what the agent holds besides memory; you may call it twice.

        ``begin`` makes the agent ready again. Most players hold nothing.
        """

    def __enter__(self) -> Self:
        """Returns the agent; the end of the ``with`` block closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def act(
        self, observation: Any, info: Mapping[str, Any] | None = None, deterministic: bool = True
    ) -> int:
        """Returns the action code of one decision.

        Args:
            observation: The environment's ``{"observation": vector, "action_mask": mask}``, or the
                vector alone.
            info: The environment's info; its "action_mask" is used if the observation has none.
            deterministic: Whether a player with weighted actions takes the best one.

        Raises:
            IllegalActionError: As in ``act_batch``, or there is no mask.
        """
        vector, mask = split_observation(observation, info)
        chosen = self.act_batch(vector[np.newaxis], mask[np.newaxis], deterministic)
        return int(chosen[0])

    def act_batch(
        self,
        observations: Bytes,
        action_masks: Bytes,
        deterministic: bool = True,
        random_bits: RandomBits | None = None,
    ) -> Actions:
        """Returns the action codes (B,) of many decisions.

        Args:
            observations: int8 (B, L), each the view of the seat to act; whole numbers of other
                types are converted.
            action_masks: int8 (B, A), 1 for each legal action, else 0; other types as above.
            deterministic: As in ``act``.
            random_bits: uint64 (B,), one random number per decision; None: from the agent's
                generator.

        Raises:
            IllegalActionError: A mask has no legal action, the shapes do not match, or an argument
                has other values than these.
        """
        observations = _as_bytes("observations", observations, -128)
        action_masks = _as_bytes("action masks", action_masks, 0, 1)
        check_masks(observations, action_masks)
        if random_bits is None:
            random_bits = self._random.integers(2**64, size=len(action_masks), dtype=np.uint64)
        elif not _are_random_bits(random_bits, len(action_masks)):
            raise IllegalActionError(
                f"random_bits must be an array of {len(action_masks)} uint64, one for each "
                f"decision; got {_named(random_bits)}"
            )
        return self.choose(observations, action_masks, random_bits, deterministic)

    @abc.abstractmethod
    def choose(
        self,
        observations: Bytes,
        action_masks: Bytes,
        random_bits: RandomBits,
        deterministic: bool,
        /,
    ) -> Actions:
        """Returns the action codes (B,) of many decisions, with checked arguments.

        A row's answer may depend only on that row of the arguments.
        """

    def save(self, path: AgentPath) -> None:
        """Writes the agent to a file, completely or not at all."""
        state = {"type": self.kind, "format": STATE_FORMAT, "random": plain_state(self._random)}
        write_whole(as_path(path), json.dumps(state, indent=1, sort_keys=True) + "\n")

    @classmethod
    def load(cls, path: AgentPath) -> Self:
        """Returns an agent of this class from its file; no code in the file runs.

        Raises:
            CheckpointError: The file cannot be read or contains something else.
        """
        state = read_state(path)
        if state.get("type") != cls.kind:
            raise CheckpointError(f"{path}: contains a player of type {shown(state.get('type'))}")
        agent = cls(seed=0)
        restore(agent._random, state.get("random"), path)
        return agent

    def reseeded(self, seed: int) -> Agent:
        """Returns the same player with random numbers from a new seed."""
        return type(self)(seed)


def _checked_seat(seat: Any, rules: Rules) -> int | None:
    if seat is None:
        return None
    number = whole_number(seat)
    if number is None or not 0 <= number < rules.players:
        raise IllegalActionError(
            f"seat: 0 to {rules.players - 1} at this table, got {shown(seat)}; use None for an "
            "agent that is asked about many tables"
        )
    return number


def split_observation(
    observation: Any, info: Mapping[str, Any] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns the vector and the mask of one decision, from the observation or the info.

    Raises:
        IllegalActionError: Neither has a mask, or a value is not an array.
    """
    mask = None
    if isinstance(observation, Mapping):
        mask = observation.get("action_mask")
        observation = observation.get("observation")
    if mask is None and isinstance(info, Mapping):
        mask = info.get("action_mask")
    if mask is None or observation is None:
        raise IllegalActionError(
            "act() needs a view and a mask: pass the environment's observation (a dict with "
            '"observation" and "action_mask"), or the vector and an info with "action_mask"'
        )
    return _as_array("observation", observation), _as_array("action mask", mask)


def _as_array(name: str, values: Any) -> NDArray[Any]:
    """Returns an array of numbers, as NumPy converts the value."""
    try:
        array = np.asarray(values)
    except Exception as error:  # ragged, or an object whose own conversion raises anything
        raise IllegalActionError(f"{name} must be an array of int8: {error}") from None
    if array.dtype.kind not in "biuf":
        raise IllegalActionError(f"{name} must be an array of int8, got {_named(array)}")
    return array


def _as_bytes(name: str, values: Any, least: int, most: int = 127) -> Bytes:
    """Returns an array as int8; raises IllegalActionError if that would change a value."""
    array = _as_array(name, values)
    if array.dtype == np.int8 and (least, most) == (-128, 127):
        return array
    right = (array >= least) & (array <= most)
    if array.dtype.kind == "f":
        right &= array == np.trunc(array)
    if not right.all():
        place = np.unravel_index(int(np.argmin(right)), array.shape)
        raise IllegalActionError(
            f"{name} must be whole numbers from {least} to {most}, got "
            f"{shown(array[place].item())} at index {tuple(map(int, place))}"
        )
    return array.astype(np.int8, copy=False)


def _are_random_bits(random_bits: Any, count: int) -> bool:
    is_array = isinstance(random_bits, np.ndarray)
    return is_array and random_bits.dtype == np.uint64 and random_bits.shape == (count,)


def _named(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return f"a {type(value).__name__}"


def check_masks(observations: NDArray[Any], action_masks: NDArray[Any]) -> None:
    """Checks a batch of views.

    Raises:
        IllegalActionError: The shapes do not match, or a mask has no legal action.
    """
    shapes = observations.ndim == action_masks.ndim == 2
    if not shapes or len(observations) != len(action_masks):
        raise IllegalActionError(
            f"expected observations (B, L) and action masks (B, A), got shapes "
            f"{observations.shape} and {action_masks.shape}"
        )
    legal = action_masks.any(axis=1)
    if not legal.all():
        raise IllegalActionError(
            f"row {int(np.argmin(legal))}: the mask has no legal action; is it this seat's turn, "
            "and is the game still in progress?"
        )
