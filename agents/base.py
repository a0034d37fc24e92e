"""``Agent``: what every player of this package can do.

A player answers from the view of one seat: the environment's own observation and action mask. It
keeps no state between decisions (a vector holds the whole public history of its deal), so one
object may sit at many tables at once; ``act_batch`` asks it about all of them in one call.
"""

from __future__ import annotations

import abc
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_env.errors import CheckpointError, IllegalActionError
from ohhell_env.game import check_seed
from ohhell_env.rules import Rules, RulesLike, as_rules

AgentPath = str | Path
FORMAT = 1
"""Version of the JSON files that ``save`` writes."""


class Agent(abc.ABC):
    """A player of Oh Hell.

    Subclasses implement ``choose``. Chance comes in as one random word per decision, drawn from
    the agent's own generator, or handed in by a caller that wants the answer at a table to depend
    on nothing but that table (a tournament).

    Args:
        seed: Starts the agent's own random numbers; None: taken from the system. The global
            generators are never used.

    Raises:
        RulesError: The seed is not a whole number from 0 to 2^64 - 1.
    """

    kind: ClassVar[str] = "agent"
    """Name of the type, as in ``agents.make`` and in saved files."""
    engine_player: ClassVar[int | None] = None
    """Number of this player inside the engine (``engine_players.py``), if it lives there."""

    @property
    def layout_name(self) -> str:
        """Layout of the observations that it wants to be shown, "default" or "universal"."""
        return "default"

    @property
    def one_by_one(self) -> bool:
        """Whether it is asked one question at a time, because batches bring it nothing."""
        return False

    @property
    def needs_seat(self) -> bool:
        """Whether ``begin`` must tell it the seat, before each decision if seats change."""
        return False

    def __init__(self, seed: int | None = None) -> None:
        checked = None if seed is None else check_seed(seed)
        self._random = np.random.Generator(np.random.Philox(checked))
        self.rules: Rules | None = None
        self.seat: int | None = None

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat at a table; called before each game.

        Args:
            rules: The rules of the game.
            seat: The agent's seat, or None for an agent that is asked about many tables.

        Raises:
            OhHellError: The agent cannot play these rules.
        """
        self.rules = as_rules(rules)
        self.seat = seat

    def act(
        self, observation: Any, info: Mapping[str, Any] | None = None, deterministic: bool = True
    ) -> int:
        """Returns the action code of one decision.

        Args:
            observation: The environment's ``{"observation": vector, "action_mask": mask}``, or the
                vector alone.
            info: The environment's info; its "action_mask" is used where the observation has none.
            deterministic: Whether a player that weighs its actions takes the best one.

        Raises:
            IllegalActionError: There is no mask, or nothing is legal in it.
        """
        vector, mask = split_observation(observation, info)
        chosen = self.act_batch(vector[np.newaxis], mask[np.newaxis], deterministic)
        return int(chosen[0])

    def act_batch(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        deterministic: bool = True,
        words: NDArray[np.uint64] | None = None,
    ) -> NDArray[np.int64]:
        """Returns the action codes (B,) of many decisions.

        Args:
            observations: int8 (B, L), each the view of the seat to act.
            action_masks: int8 (B, A), 1 for each legal action.
            deterministic: As in ``act``.
            words: uint64 (B,), the chance of each decision; None: from the agent's generator.

        Raises:
            IllegalActionError: In one of the masks nothing is legal, or the shapes do not match.
        """
        observations, action_masks = np.asarray(observations), np.asarray(action_masks)
        check_masks(observations, action_masks)
        if words is None:
            words = self._random.integers(2**64, size=len(action_masks), dtype=np.uint64)
        return self.choose(observations, action_masks, words, deterministic)

    @abc.abstractmethod
    def choose(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        words: NDArray[np.uint64],
        deterministic: bool,
    ) -> NDArray[np.int64]:
        """Returns the action codes (B,) of many decisions, whose masks have been checked.

        A row's answer may depend on that row of the arguments only.
        """

    def save(self, path: AgentPath) -> None:
        """Writes the agent to a file, whole or not at all."""
        state = {"type": self.kind, "format": FORMAT, "random": _plain(self._random)}
        write_whole(Path(path), json.dumps(state, indent=1, sort_keys=True) + "\n")

    @classmethod
    def load(cls, path: AgentPath) -> Self:
        """Returns an agent of this class from its file; nothing in the file is run.

        Raises:
            CheckpointError: The file cannot be read or holds something else.
        """
        state = read_state(path)
        if state.get("type") != cls.kind:
            raise CheckpointError(f"{path}: holds a player of type {state.get('type')!r}")
        agent = cls(seed=0)
        _restore(agent._random, state.get("random"), path)
        return agent


def split_observation(
    observation: Any, info: Mapping[str, Any] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns vector and mask of one decision, wherever the environment put them.

    Raises:
        IllegalActionError: No mask in the observation nor in the info.
    """
    mask = None
    if isinstance(observation, Mapping):
        mask = observation.get("action_mask")
        observation = observation.get("observation")
    if mask is None and info is not None:
        mask = info.get("action_mask")
    if mask is None or observation is None:
        raise IllegalActionError(
            "act() needs a view and a mask: give it the environment's observation (a dict with "
            '"observation" and "action_mask"), or the vector and an info with "action_mask"'
        )
    return np.asarray(observation), np.asarray(mask)


def check_masks(observations: NDArray[Any], action_masks: NDArray[Any]) -> None:
    """Checks a batch of views.

    Raises:
        IllegalActionError: Shapes that do not belong together, or a mask without a legal action.
    """
    shapes = observations.ndim == action_masks.ndim == 2
    if not shapes or len(observations) != len(action_masks):
        raise IllegalActionError(
            f"observations (B, L) and action masks (B, A) are wanted, got shapes "
            f"{observations.shape} and {action_masks.shape}"
        )
    legal = action_masks.any(axis=1)
    if not legal.all():
        raise IllegalActionError(
            f"row {int(np.argmin(legal))}: no legal action in the mask; is it this seat's turn, "
            "and is the game still on?"
        )


def write_whole(path: Path, text: str) -> None:
    """Writes a text file whole or not at all: beside its place first, then moved there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read_state(path: AgentPath) -> dict[str, Any]:
    """Returns the content of a saved agent's JSON file.

    Raises:
        CheckpointError: No such file, no JSON, or of another format.
    """
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise CheckpointError(f"{path}: is no saved player (not a JSON file)") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(
            f"{path}: is no player saved in format {FORMAT}; save it again with this version"
        )
    return state


def _plain(random: np.random.Generator) -> dict[str, Any]:
    state = random.bit_generator.state
    inner = {key: value.tolist() for key, value in state["state"].items()}
    return {**state, "state": inner, "buffer": state["buffer"].tolist()}


def _restore(random: np.random.Generator, plain: Any, path: AgentPath) -> None:
    try:
        inner = {key: np.array(plain["state"][key], np.uint64) for key in ("counter", "key")}
        buffer = np.array(plain["buffer"], np.uint64)
        random.bit_generator.state = {**plain, "state": inner, "buffer": buffer}
    except (KeyError, TypeError, ValueError, OverflowError):
        raise CheckpointError(f"{path}: the state of its random numbers is broken") from None
