"""Oh Hell as a PettingZoo environment, version 0; ``envs/aec.py`` has the manual.

>>> from ohhell_env import oh_hell_v0
>>> env = oh_hell_v0.env(rules="nomination_whist", players=4)
>>> env.reset(seed=7)
>>> env.agent_selection in env.agents
True

Default rules, observations, action codes, rewards and the deals of a seed change only with a new
version, in a new module.
"""

# pyright: reportMissingTypeStubs=false
from __future__ import annotations

from typing import Any, NoReturn

from ohhell_env.actions import action_name, bid_action, card_action, trump_action
from ohhell_env.envs.aec import RawOhHell, check_illegal
from ohhell_env.envs.wrappers import OrderEnforcing, wrap
from ohhell_env.errors import RulesError
from ohhell_env.rules import RulesLike

__all__ = [
    "action_name",
    "bid_action",
    "card_action",
    "env",
    "parallel_env",
    "raw_env",
    "trump_action",
]

raw_env = RawOhHell
"""The environment without wrappers."""


def env(
    rules: RulesLike = "oh_hell",
    players: int | None = None,
    episode: str = "game",
    reward: str = "points",
    illegal: str = "raise",
    render_mode: str | None = None,
    hand_size: int | None = None,
    layout: str = "default",
) -> OrderEnforcing:
    """Returns the environment in the standard wrappers.

    Args:
        rules: Rules, the name of a variant, or the path of a YAML file.
        players: Overrides the number of players of the rules.
        episode: "game" (the whole schedule) or "deal" (one deal).
        reward: "points", "relative", "win" or "settlement"; see ``envs/rewards.py``.
        illegal: "raise" (an illegal action raises ``IllegalActionError`` and changes nothing) or
            "terminate" (it ends the game for all, as in PettingZoo's ``TerminateIllegalWrapper``).
        render_mode: None, "ansi", "human" or "rgb_array".
        hand_size: With episode "deal", the only hand size; None: drawn from the schedule.
        layout: Observation layout, "default" or "universal".

    Raises:
        RulesError: An argument is not allowed.
    """
    check_illegal(illegal)
    inside = RawOhHell(
        rules,
        players,
        episode,
        reward,
        render_mode=render_mode,
        hand_size=hand_size,
        layout=layout,
    )
    return wrap(inside, illegal)


def parallel_env(*_: Any, **__: Any) -> NoReturn:
    """Raises an error: the seats take turns, so there is no parallel environment.

    Raises:
        RulesError: Always; the message says what to use instead.
    """
    raise RulesError(
        "oh_hell_v0 has no parallel environment: the seats take turns. For many tables at once, "
        "use ohhell_env.BatchedOhHell"
    )
