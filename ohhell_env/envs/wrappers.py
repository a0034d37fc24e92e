"""PettingZoo's standard wrappers, made fast, with this project's errors.

The stock wrappers take most of the time of a step, nearly all of it in chains of ``__getattr__``.
These subclasses behave the same, but call the raw environment directly and do not copy its turn.
"""

# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import copy
from operator import attrgetter
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.env import AECIterable, AECIterator
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import (
    AssertOutOfBoundsWrapper,
    BaseWrapper,
    OrderEnforcingWrapper,
    TerminateIllegalWrapper,
)

from ohhell_env.actions import whole_number
from ohhell_env.envs.aec import RawOhHell, Turn, View, check_illegal
from ohhell_env.envs.rewards import worst_honest
from ohhell_env.errors import IllegalActionError, NotResetError, OhHellError
from ohhell_env.illegal import explain_illegal


def _of_raw(name: str) -> Any:
    """Returns a property that reads an attribute of the raw environment."""
    return property(attrgetter(f"raw.{name}"), doc=f"The raw environment's ``{name}``.")


class _Direct(BaseWrapper[str, Any, Any]):
    """Base of the three wrappers: attributes come straight from the raw environment."""

    agents: Any = _of_raw("agents")
    possible_agents: Any = _of_raw("possible_agents")
    agent_selection: Any = _of_raw("agent_selection")
    rewards: Any = _of_raw("rewards")
    terminations: Any = _of_raw("terminations")
    truncations: Any = _of_raw("truncations")
    infos: Any = _of_raw("infos")
    _cumulative_rewards: Any = _of_raw("_cumulative_rewards")
    metadata: Any = _of_raw("metadata")
    render_mode: Any = _of_raw("render_mode")
    state_space: Any = _of_raw("state_space")
    raw: RawOhHell
    """The environment inside."""

    def __init__(self, env: AECEnv[str, Any, Any], **settings: Any) -> None:
        raw = env.unwrapped
        if not isinstance(raw, RawOhHell):
            raise OhHellError(f"{type(self).__name__} can only wrap oh_hell_v0, got {env}")
        super().__init__(env, **settings)
        self.raw = raw

    def __getattr__(self, name: str) -> Any:
        if name in ("raw", "env") or (name.startswith("_") and name != "_cumulative_rewards"):
            raise AttributeError(f"accessing private attribute {name!r} is prohibited")
        return getattr(self.env, name)

    def __copy__(self) -> Self:
        """Returns an independent copy; a shallow one would share the table."""
        return copy.deepcopy(self)

    def __str__(self) -> str:
        return str(self.env)

    @property
    def unwrapped(self) -> RawOhHell:  # type: ignore[override]
        """The environment inside."""
        return self.raw

    def last(self, observe: bool = True) -> Turn:
        """Returns the result of the raw environment's ``last``."""
        return self.raw.last(observe)

    def observe(self, agent: str) -> View:
        """Returns the view of an agent."""
        return self.raw.observe(agent)

    def observation_space(self, agent: str) -> spaces.Dict:
        """Returns the observation space of an agent, the same object every time."""
        return self.raw.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Discrete:
        """Returns the action space of an agent, the same object every time."""
        return self.raw.action_space(agent)

    def state(self) -> NDArray[np.int8]:
        """Returns the result of the raw environment's ``state``."""
        return self.raw.state()

    def render(self, seat: int | None = None) -> Any:  # type: ignore[override]
        """Returns or prints the table; see the raw environment's ``render``."""
        return self.raw.render(seat)

    def _repr_html_(self) -> str | None:
        return self.raw._repr_html_()  # pyright: ignore[reportPrivateUsage]


class OutOfBounds(_Direct, AssertOutOfBoundsWrapper[str, Any, Any]):
    """Raises IllegalActionError for anything outside the action space."""

    def __init__(self, env: AECEnv[str, Any, Any]) -> None:
        super().__init__(env)
        self._num_actions = self.raw.layout.num_actions

    def step(self, action: Any) -> None:
        """Plays an action; accepts only None once the agent is dead."""
        if type(action) is not int or not 0 <= action < self._num_actions:
            action = self._checked(action)
        self.env.step(action)

    def _checked(self, action: Any) -> Any:
        raw = self.raw
        if action is None or not raw.playing:
            return action  # the raw environment raises if anything is wrong
        number = whole_number(action)
        if number is not None and 0 <= number < self._num_actions:
            return number
        raise explain_illegal(raw.game, action)


class TerminateIllegal(_Direct, TerminateIllegalWrapper[str, Any, Any]):
    """Ends the game for all after an illegal action.

    The offender's reward is ``worst_honest``; all others get 0.
    """

    def __init__(self, env: AECEnv[str, Any, Any]) -> None:
        super().__init__(env, illegal_reward=0.0)  # each deal computes its own

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode."""
        self.env.reset(seed, options)

    def step(self, action: Any) -> None:
        """Plays an action; an illegal one ends the game."""
        raw = self.raw
        try:
            self.env.step(action)
        except IllegalActionError as error:
            number = whole_number(action)
            if not raw.playing or number is None or not 0 <= number < raw.layout.num_actions:
                raise
            EnvLogger.warn_on_illegal_move()
            reason = str(error).removesuffix("; the game is unchanged")
            raw.forfeit(worst_honest(raw.game, raw.reward), reason)


class OrderEnforcing(_Direct, OrderEnforcingWrapper[str, Any, Any]):
    """Raises this project's errors for calls in the wrong order.

    Before ``reset`` it raises NotResetError (also an AttributeError), and after the end every step
    raises IllegalActionError. In a loop over ``agent_iter``, each turn needs its own step.
    """

    def step(self, action: Any) -> None:
        """Plays an action for the selected agent."""
        self.env.step(action)
        self._has_updated = True

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode."""
        self.env.reset(seed, options)
        self._has_reset = self._has_updated = True

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Any, Any]:  # type: ignore[override]
        """Yields the selected agent until all are gone; each turn needs its own ``step``."""
        if not self._has_reset:
            raise NotResetError("agent_iter() before reset(): call reset() first")
        return _Turns(self, max_iter)

    def allow_turn(self) -> None:
        """Allows a new loop to begin, even if another was left in the middle of a turn."""
        self._has_updated = True

    def take_turn(self) -> bool:
        """Returns whether a step or reset happened since the last call."""
        updated, self._has_updated = self._has_updated, False
        return updated


class _Turns(AECIterable[str, Any, Any]):
    """An iterable over the turns of a game."""

    env: OrderEnforcing
    max_iter: int

    def __iter__(self) -> AECIterator[str, Any, Any]:
        self.env.allow_turn()
        return _TurnIterator(self.env, self.max_iter)


class _TurnIterator(AECIterator[str, Any, Any]):
    env: OrderEnforcing

    def __next__(self) -> str:
        agent = super().__next__()
        if not self.env.take_turn():
            raise IllegalActionError(
                f"the turn of {agent} had no step(): call step() once for each agent in a loop "
                "over agent_iter()"
            )
        return agent


def wrap(raw: RawOhHell, illegal: str) -> OrderEnforcing:
    """Returns an environment in the standard wrappers.

    Args:
        raw: The environment.
        illegal: "raise" or "terminate".

    Raises:
        RulesError: Unknown policy.
    """
    ends = check_illegal(illegal) == "terminate"
    return OrderEnforcing(OutOfBounds(TerminateIllegal(raw) if ends else raw))
