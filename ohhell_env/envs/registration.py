"""Tells Gymnasium of ``ohhell/OhHell-v0``; done by ``import ohhell_env``."""

# pyright: reportUnknownVariableType=false
from __future__ import annotations

from gymnasium.envs.registration import register, registry

ID = "ohhell/OhHell-v0"
"""A new number means that default rules, observation, action codes, rewards or deals changed."""


def register_gymnasium() -> None:
    """Makes ``gymnasium.make(ID)`` and ``gymnasium.make_vec(ID, num_envs=8)`` work."""
    if ID not in registry:
        register(
            ID,
            entry_point="ohhell_env.envs.gymnasium_env:OhHellEnv",
            vector_entry_point="ohhell_env.envs.gymnasium_vector:OhHellVectorEnv",
        )
