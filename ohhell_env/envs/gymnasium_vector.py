"""The Gymnasium vector environment: many tables with one learner at each, without a Python loop.

``gymnasium.make_vec("ohhell/OhHell-v0", num_envs=64, opponents="heuristic")`` creates it. It is
equivalent to ``num_envs`` single environments; their manual is ``envs/gymnasium_env.py``.

Autoreset:
    ``autoreset_mode`` is "SameStep" by default: when an episode ends, the next begins in the same
    step, and ``infos["final_obs"]`` has the last view of the ended one. With "NextStep", the next
    step begins the new episode, ignores its action and gives no reward. With "Disabled",
    ``reset(options={"reset_mask": mask})`` begins it. ``metadata["autoreset_mode"]`` has the mode.
    Before Gymnasium 1.4, "NextStep" is the default and "SameStep" warns, because
    ``RecordEpisodeStatistics`` of those versions understands only "NextStep" and omits rewards.

Infos:
    "action_mask" int8 (N, A) and "seat" (N,). At the end of an episode also the learner's "score"
    and "win_share", and "fault" if an illegal action ended it; with "SameStep" these are in
    ``infos["final_info"]``. As usual in Gymnasium, each key has a mask (N,) of the same name with a
    leading underscore.

Arrays are new at every step. With ``copy=False``, observations and masks are the tables' own
arrays, which the next step overwrites.
"""

# Reads input from users: the code checks types at run time.
from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any, ClassVar, Self

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ohhell_env.envs import render
from ohhell_env.envs.aec import check_render_mode
from ohhell_env.envs.learner_tables import LearnerTables
from ohhell_env.envs.opponents import OpponentsLike
from ohhell_env.errors import RulesError, nearest, shown
from ohhell_env.game import check_seed
from ohhell_env.rules import Rules, RulesLike

Vectors = NDArray[np.int8]
_AUTORESETS = {"SameStep": "same_step", "NextStep": "next_step", "Disabled": "disabled"}
"""Gymnasium's names for the modes of ``LearnerTables``."""


class OhHellVectorEnv(VectorEnv[Vectors, Any, NDArray[Any]]):
    """One seat at each of many tables of Oh Hell; see this module's docstring.

    Args:
        num_envs: Number of tables, N.
        rules: Rules, the name of a variant, or the path of a YAML file.
        players: Overrides the number of players of the rules.
        opponents: One player for all other seats, or a list of them.
        seat: The learner's seat; None: drawn at random for each episode.
        episode: "deal" or "game".
        reward: "points", "relative", "win" or "settlement".
        illegal: "terminate" or "raise" (then no table changes).
        render_mode: None, "ansi" or "rgb_array": ``render()`` returns one text or picture per
            table.
        hand_size: With episode "deal", the only hand size; None: drawn from the schedule.
        layout: "default" or "universal".
        deterministic: Whether opponents that rate their actions take the best one.
        open_hands: Whether ``render`` shows all hands.
        autoreset_mode: "SameStep", "NextStep", "Disabled", or Gymnasium's ``AutoresetMode``. None:
            "SameStep", or "NextStep" before Gymnasium 1.4.
        copy: Whether arrays are new at every step.

    Raises:
        OhHellError: A setting or a player is not allowed.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 1,
    }

    def __init__(
        self,
        num_envs: int = 1,
        rules: RulesLike = "oh_hell",
        players: int | None = None,
        opponents: OpponentsLike = "heuristic",
        seat: int | None = None,
        episode: str = "deal",
        reward: str = "points",
        illegal: str = "terminate",
        render_mode: str | None = None,
        hand_size: int | None = None,
        layout: str = "default",
        deterministic: bool = True,
        open_hands: bool = False,
        autoreset_mode: Any = None,
        copy: bool = True,
    ) -> None:
        mode = _check_autoreset(autoreset_mode)
        self.tables = LearnerTables(
            num_envs,
            rules,
            players,
            opponents,
            seat,
            None,
            episode,
            reward,
            layout,
            hand_size,
            illegal,
            _AUTORESETS[mode],
            deterministic,
        )
        """The underlying tables."""
        self.rules: Rules = self.tables.rules
        """The rules of the game."""
        self.num_envs = num_envs
        self.metadata = type(self).metadata | {"autoreset_mode": _as_gymnasium(mode)}  # type: ignore[misc]
        self.render_mode = check_render_mode(render_mode, ("ansi", "rgb_array"))
        self.open_hands = open_hands
        self._copy = copy
        layout_of_tables = self.tables.layout
        self.single_observation_space = spaces.Box(-128, 127, (layout_of_tables.length,), np.int8)
        self.single_action_space = spaces.Discrete(layout_of_tables.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeded = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vectors, dict[str, Any]]:
        """Begins episodes, up to the learner's first decision.

        Args:
            seed: Restarts all random streams, table i at stream (seed, i); None: they continue.
            options: "reset_mask", bool (N,): resets only these tables.

        Raises:
            RulesError: An impossible seed or option.
        """
        if seed is not None:
            seed = check_seed(seed)
        super().reset(seed=seed)
        chosen = self._wanted(options)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**63))
        if seed is None:
            self.tables.reset_tables(chosen)
        elif len(chosen) == self.num_envs:
            self.tables.reset(seed)
            self._seeded = True
        else:
            raise RulesError("reset: a seed applies to all tables; omit reset_mask or the seed")
        return self._views(), self._infos()

    def _wanted(self, options: dict[str, Any] | None) -> NDArray[np.int64]:
        wishes = dict(options or {})
        mask = np.asarray(wishes.pop("reset_mask", np.ones(self.num_envs, np.bool_)))
        if wishes:
            raise RulesError(
                f"reset: unknown option {shown(next(iter(wishes)))}; allowed: reset_mask"
            )
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise RulesError(
                f"reset_mask must be bool of shape ({self.num_envs},), got {mask.dtype} of "
                f"shape {mask.shape}"
            )
        return np.flatnonzero(mask)

    def step(
        self, actions: Any
    ) -> tuple[Vectors, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Plays the learner's action at every table, and the others up to its next decision.

        Args:
            actions: Whole numbers (N,).

        Returns:
            Observations int8 (N, L), rewards float64 (N,), terminations and truncations bool (N,),
            and infos.

        Raises:
            IllegalActionError: See ``LearnerTables.step``.
        """
        tables = self.tables
        tables.step(actions)
        infos = self._infos()
        if tables.dones.any():
            infos |= self._final_infos()
        rewards, dones = tables.rewards.astype(np.float64), tables.dones.copy()
        return self._views(), rewards, dones, np.zeros_like(dones), infos

    def _views(self) -> Vectors:
        return self.tables.observations.copy() if self._copy else self.tables.observations

    def _infos(self) -> dict[str, Any]:
        tables, everywhere = self.tables, np.ones(self.num_envs, np.bool_)
        masks = tables.action_masks.copy() if self._copy else tables.action_masks
        seats = tables.learner_seats
        return {
            "action_mask": masks,
            "_action_mask": everywhere,
            "seat": seats,
            "_seat": everywhere.copy(),
        }

    def _final_infos(self) -> dict[str, Any]:
        """Returns the infos of the episodes that ended."""
        tables, dones = self.tables, self.tables.dones
        ended = np.arange(self.num_envs)[dones]
        score = np.zeros(self.num_envs, np.int64)
        score[ended] = tables.final_scores[ended, tables.final_seats[ended]]
        fault = np.full(self.num_envs, None, object)
        for table, reason in tables.fault_reasons.items():
            fault[table] = reason
        infos = {"score": score, "win_share": np.where(dones, tables.win_shares, 0.0)}
        infos = {**infos, "_score": dones.copy(), "_win_share": dones.copy()}
        infos |= {"fault": fault, "_fault": tables.faults.copy()}
        if tables.autoreset != "same_step":
            return infos
        infos |= {"seat": tables.final_seats.copy(), "_seat": dones.copy()}
        last = np.full(self.num_envs, None, object)
        for table in ended.tolist():
            last[table] = tables.final_observations[table].copy()
        return {
            "final_obs": last,
            "_final_obs": dones.copy(),
            "final_info": infos,
            "_final_info": dones.copy(),
        }

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns the learner's legal actions at each table as bool (N, A)."""
        return self.tables.action_masks.astype(np.bool_)

    def __copy__(self) -> Self:
        """Returns an independent copy; a shallow one would share the tables and the opponents."""
        return deepcopy(self)

    def render(self) -> tuple[Any, ...] | None:
        """Returns one text or picture for each table, according to ``render_mode``."""
        if self.render_mode is None:
            return None
        seats = [None] * self.num_envs if self.open_hands else self.tables.learner_seats.tolist()
        return tuple(
            render.picture_of(self.tables.game(table), seat, self.render_mode)
            for table, seat in enumerate(seats)
        )

    def close_extras(self, **_: Any) -> None:
        """Releases the resources of opponents given by name, for example a program."""
        if hasattr(self, "tables"):  # Gymnasium also closes environments whose creation failed
            self.tables.close()


def _knows_same_step() -> bool:
    """Returns whether Gymnasium's own wrappers understand "SameStep"."""
    release = gymnasium.__version__.split(".")[:2]
    return tuple(int(part) for part in release if part.isdigit()) >= (1, 4)


def _check_autoreset(mode: Any) -> str:
    """Returns the name of an autoreset mode, or raises RulesError."""
    if mode is None:
        return "SameStep" if _knows_same_step() else "NextStep"
    name = getattr(mode, "value", mode)
    if not isinstance(name, str) or name not in _AUTORESETS:
        raise RulesError(f"autoreset_mode={shown(mode)}: {nearest(name, _AUTORESETS)}")
    if name == "SameStep" and not _knows_same_step():
        # The wrapper has no setting for it: it takes the step after an end for a mere reset.
        warnings.warn(
            f"autoreset_mode='SameStep' with Gymnasium {gymnasium.__version__}: its "
            "RecordEpisodeStatistics omits the first reward of every episode but the first. If you "
            "need it, install Gymnasium 1.4 or newer, or set autoreset_mode='NextStep'",
            stacklevel=3,
        )
    return name


def _as_gymnasium(mode: str) -> Any:
    try:
        from gymnasium.vector import AutoresetMode
    except ImportError:  # before Gymnasium 1.1
        return mode
    return AutoresetMode(mode)
