"""Many tables of Oh Hell for Stable-Baselines3: one learner's seat at each, no loop in Python.

MaskablePPO of sb3-contrib learns on it directly:
``MaskablePPO("MlpPolicy", TableVecEnv(64, opponents="heuristic"))``. A step is one decision of the
learner at every table, and the other seats are answered in batches in between. So the next
observation is that of the learner's own next decision, and the reward is what its seat was paid.
When an episode ends, the next one begins in the same step.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from ohhell_env.envs.learner_tables import LearnerTables
from ohhell_env.envs.opponents import OpponentsLike
from ohhell_env.errors import OhHellError, shown
from ohhell_env.rules import Rules, RulesLike

_METHODS = ("action_masks",)


class TableVecEnv(VecEnv):
    """Tables at which one seat learns, as a ``VecEnv`` of Stable-Baselines3.

    Wrappers find the action masks too: ``env_method("action_masks")`` returns one bool (A,) for
    each table. Infos are empty except at the end of an episode. There they hold
    "terminal_observation", "TimeLimit.truncated" (False: a game never is), the learner's "seat",
    its "score" and "win_share". If an opponent learns in the same process, such as a copy of the
    model, pass an agent, which is asked in batches; a function is asked one decision at a time.

    Args:
        num_envs: Number of tables, N.
        rules: Rules, the name of a variant, or the path of a YAML file.
        players: Overrides the number of players of the rules.
        opponents: One player for all other seats, or a list with one for each, clockwise from the
            learner: names as ``ohhell_agents.make`` knows them, agents, functions of observation
            and info.
        seat: The learner's seat; None: drawn for each episode.
        seed: Whole number from 0 to 2^64 - 1; None: taken from the system, until ``seed`` is called
            (MaskablePPO does so if it gets a seed).
        episode: "deal" (each episode is one deal) or "game" (the whole schedule).
        reward: "points", "relative", "win" or "settlement".
        layout: "default" or "universal".
        hand_size: With episode "deal", the only hand size; None: drawn from the schedule.
        deterministic: Whether opponents with weighted actions take the best one.

    Raises:
        OhHellError: A setting or a player cannot be used.
    """

    def __init__(
        self,
        num_envs: int,
        rules: RulesLike = "oh_hell",
        players: int | None = None,
        opponents: OpponentsLike = "heuristic",
        seat: int | None = None,
        seed: int | None = None,
        episode: str = "deal",
        reward: str = "points",
        layout: str = "default",
        hand_size: int | None = None,
        deterministic: bool = True,
    ) -> None:
        self.tables = LearnerTables(
            num_envs,
            rules,
            players,
            opponents,
            seat,
            seed,
            episode,
            reward,
            layout,
            hand_size,
            deterministic=deterministic,
        )
        """The tables."""
        self._begun = False
        self._actions: NDArray[Any] | None = None
        layout_of_tables = self.tables.layout
        super().__init__(
            self.tables.num_tables,
            spaces.Box(-128, 127, (layout_of_tables.length,), np.int8),
            spaces.Discrete(layout_of_tables.num_actions),
        )

    @property
    def rules(self) -> Rules:
        """The rules of the game."""
        return self.tables.rules

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns the legal actions at each table, bool (N, A)."""
        return self.tables.action_masks.astype(np.bool_)

    def reset(self) -> NDArray[np.int8]:
        """Begins an episode at every table.

        Returns:
            The learner's views int8 (N, L), at its first decision.
        """
        seed = self._seeds[0]
        if seed is not None or not self._begun:
            self.tables.reset(seed)
        else:
            self.tables.reset_tables(np.arange(self.num_envs))
        self._begun = True
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        return self.tables.observations.copy()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Stores the learner's actions (N,)."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Applies those actions and plays on to the learner's next decision at every table.

        Returns:
            Views int8 (N, L), rewards float32 (N,), bool (N,) where an episode ended, and infos.

        Raises:
            IllegalActionError: An action is illegal; nothing was applied at any table.
        """
        tables = self.tables
        tables.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for table in np.flatnonzero(tables.dones).tolist():
            seat = int(tables.final_seats[table])
            infos[table] = {
                "terminal_observation": tables.final_observations[table].copy(),
                "TimeLimit.truncated": False,
                "seat": seat,
                "score": int(tables.final_scores[table, seat]),
                "win_share": float(tables.win_shares[table]),
            }
        return tables.observations.copy(), tables.rewards.copy(), tables.dones.copy(), infos

    def __copy__(self) -> Self:
        """Returns an independent copy; a shallow copy would share tables and opponents."""
        return copy.deepcopy(self)

    def close(self) -> None:
        """Closes the opponents."""
        self.tables.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute, once for each requested table.

        Raises:
            AttributeError: It does not exist, as Stable-Baselines3 expects.
        """
        value = None if attr_name == "render_mode" else getattr(self, attr_name)
        return [value for _ in self._asked(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Always fails: the tables have no settings of their own.

        Raises:
            OhHellError: Always.
        """
        raise OhHellError(
            f"set_attr({shown(attr_name)}): a table's settings are fixed; make a new TableVecEnv"
        )

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Returns the action masks of each requested table: bool (A,).

        Raises:
            OhHellError: Another method is called.
        """
        if method_name not in _METHODS:
            raise OhHellError(
                f"env_method({shown(method_name)}): the tables have only {' and '.join(_METHODS)}"
            )
        masks = self.action_masks()
        return [masks[table] for table in self._asked(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Returns False for each requested table: none is a single environment."""
        return [False for _ in self._asked(indices)]

    def _asked(self, indices: Any) -> Sequence[int]:
        return list(self._get_indices(indices))
