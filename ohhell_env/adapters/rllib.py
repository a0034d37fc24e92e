"""RLlib: a table as a multi-agent environment of RLlib's new API stack.

The seats take turns. Only the seat to act gets an observation; at the end of the episode every seat
gets one. Rules, actions, views and rewards are those of the PettingZoo environment, whose manual is
in ``envs/aec.py``. ``docs/adapters.md`` has a complete training example.

Observation:
    A dict with "observations", the seat's view as float32 (L,), and "action_mask", int8 (A,), in
    the form of RLlib's own ``ActionMaskingTorchRLModule``.

Rewards:
    A step that ends a deal pays all seats at once; any other step pays the seat that acted 0.

Episode end:
    All seats terminate together; nothing is ever truncated. The last infos have "score", "points"
    (of the last deal) and "win_share". An illegal action ends the episode, as in
    ``oh_hell_v0.env``; RLlib's own check of environments makes one. With ``illegal="raise"`` it
    raises an error instead; then set ``PPOConfig.environment(disable_env_checking=True)``.
"""

# RLlib pins its Gymnasium, so it has an environment of its own (make test-adapters).
# pyright: reportMissingImports=false
from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Self

import numpy as np
from gymnasium import spaces

from ohhell_env import oh_hell_v0
from ohhell_env.actions import Action
from ohhell_env.envs.aec import RawOhHell
from ohhell_env.errors import IllegalActionError, OhHellError, RulesError, nearest, shown

try:
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.rl_module import RLModule
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
    from ray.rllib.utils.numpy import convert_to_numpy
    from ray.rllib.utils.torch_utils import convert_to_torch_tensor
except ImportError as error:
    raise OhHellError(
        f"the RLlib adapter needs Ray with RLlib, and PyTorch ({error}): pip install "
        "'ray[rllib]' torch, at the versions of constraints-rllib.txt"
    ) from None

SETTINGS = tuple(signature(oh_hell_v0.env).parameters)
"""Keys of ``env_config``: the arguments of the PettingZoo environment, ``oh_hell_v0.env``."""

ByAgent = dict[Any, Any]
"""A value for each agent, "player_0" and so on. RLlib's own type allows any object as agent."""


class OhHellEnv(MultiAgentEnv):
    """One table of Oh Hell for RLlib; see this module's docstring.

    Args:
        config: RLlib's ``env_config``: any of ``SETTINGS``.

    Raises:
        RulesError: A setting is unknown or cannot be used.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        settings: dict[str, Any] = {"illegal": "terminate"} | dict(config or {})
        for key in settings:
            if key not in SETTINGS:
                raise RulesError(
                    f"env_config: unknown setting {shown(key)}: {nearest(key, SETTINGS)}"
                )
        self._wrapped = oh_hell_v0.env(**settings)
        self._table = self._wrapped.unwrapped
        self.render_mode = self._table.render_mode
        agents = self._table.possible_agents
        self.possible_agents, self.agents = list(agents), list(agents)
        agent = agents[0]  # every seat has the same spaces
        self._action_space = self._table.action_space(agent)
        space = self._table.observation_space(agent)
        view = space["observation"]
        assert isinstance(view, spaces.Box)
        low, high = float(view.low.min()), float(view.high.max())
        self._view_space = spaces.Dict(
            {
                "observations": spaces.Box(low, high, view.shape, np.float32),
                "action_mask": space["action_mask"],
            }
        )
        self.observation_spaces = dict.fromkeys(agents, self._view_space)
        self.action_spaces = dict.fromkeys(agents, self._action_space)

    @property
    def table(self) -> RawOhHell:
        """The table as a PettingZoo environment, for inspection; do not step it."""
        return self._table

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        """Begins an episode and deals.

        Args:
            seed: Restarts the random stream; None: the stream continues.
            options: Fix the first deal, as in the PettingZoo environment.

        Returns:
            The view of the seat to act, and no infos.

        Raises:
            RulesError: A seed or option cannot be used.
        """
        self._wrapped.reset(seed, options)
        agent = self._table.agent_selection
        return {agent: self._view(agent)}, {}

    def step(
        self, action_dict: Mapping[Any, Any]
    ) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Makes the action of the seat to act.

        Args:
            action_dict: The action of the agent to act, by agent; no other entries.

        Returns:
            Views, rewards, terminations, truncations and infos, by agent.

        Raises:
            IllegalActionError: It is not that agent's turn, or, with "raise", the action is not
                legal now; nothing has changed.
        """
        table = self._table
        if not table.playing:
            raise IllegalActionError("step(): no episode is in progress: call reset()")
        agent = table.agent_selection
        if list(action_dict) != [agent]:
            raise IllegalActionError(
                f"step(): only {agent!r} is to act, got actions for {shown(list(action_dict))}"
            )
        self._wrapped.step(action_dict[agent])
        over = not table.playing
        paid = any(table.rewards.values()) or over
        rewards = dict(table.rewards) if paid else {agent: 0.0}
        seen: list[Any] = table.possible_agents if over else [table.agent_selection]
        views = {each: self._view(each) for each in seen}
        ends = dict.fromkeys(seen, over) | {"__all__": over}
        infos = {each: self._results(each) for each in seen} if over else {}
        return views, rewards, ends, dict.fromkeys(ends, False), infos

    def _view(self, agent: str) -> dict[str, Any]:
        view = self._table.observe(agent)
        return {
            "observations": view["observation"].astype(np.float32),
            "action_mask": view["action_mask"],
        }

    def _results(self, agent: str) -> dict[str, Any]:
        info = self._table.infos[agent]
        return {key: value for key, value in info.items() if key != "action_mask"}

    def __copy__(self) -> Self:
        """Returns an independent copy; a shallow copy would share the table."""
        return copy.deepcopy(self)

    def render(self) -> Any:
        """Returns or prints the table, as ``render_mode`` says."""
        return self._table.render()


def player_of(module: RLModule) -> Callable[[Any, Mapping[str, Any]], Action]:
    """Returns a trained module as a player: a function of a view and an info with its mask.

    The function can sit at every table that takes players, for example as one of the ``opponents``
    of the Gymnasium environment. It takes the best action.

    Args:
        module: An RLModule that reads this module's observations, restored or freshly trained.
    """

    def act(observation: Any, info: Mapping[str, Any]) -> Action:
        vector = observation["observation"] if isinstance(observation, Mapping) else observation
        view = {
            "observations": np.asarray(vector, np.float32)[np.newaxis],
            "action_mask": np.asarray(info["action_mask"])[np.newaxis],
        }
        outputs = module.forward_inference({Columns.OBS: convert_to_torch_tensor(view)})
        return int(convert_to_numpy(outputs[Columns.ACTION_DIST_INPUTS])[0].argmax())

    return act
