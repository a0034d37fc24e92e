"""Registers the environments with Gymnasium and PettingZoo on ``import ohhell_env``."""

# pyright: reportUnknownVariableType=false
from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from gymnasium.envs.registration import register, registry

ID = "ohhell/OhHell-v0"
"""A new number marks changed default rules, observations, action codes, rewards or deals."""
PETTINGZOO_ID = "ohhell/oh_hell-v0"
"""The name in PettingZoo's registry."""
_PETTINGZOO = "pettingzoo.env_registry.registration"


def register_gymnasium() -> None:
    """Registers ``ID`` for ``gymnasium.make`` and ``gymnasium.make_vec``."""
    if ID not in registry:
        register(
            ID,
            entry_point="ohhell_env.envs.gymnasium_env:OhHellGymnasiumEnv",
            vector_entry_point="ohhell_env.envs.gymnasium_vector:OhHellVectorEnv",
        )


def register_pettingzoo() -> None:
    """Registers ``PETTINGZOO_ID`` for ``pettingzoo.make``, if PettingZoo has a registry.

    Importing PettingZoo would make ``import ohhell_env`` a fifth slower. So the environment is
    registered only once something else imports PettingZoo's registry, before or after this package.
    PettingZoo before 1.27 has no registry.
    """
    loaded = sys.modules.get(_PETTINGZOO)
    if loaded is not None:
        _add_to(loaded)
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


def _add_to(module: Any) -> None:
    if PETTINGZOO_ID not in module.aec_registry:
        module.register("aec", PETTINGZOO_ID, entry_point="ohhell_env.oh_hell_v0:env")


class _Waiting:
    """An import hook that registers the environment when PettingZoo's registry is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns None, except for the registry module, whose loading it extends."""
        if fullname != _PETTINGZOO:
            return None
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        load: Any = spec.loader.exec_module

        def load_and_add(module: ModuleType) -> None:
            load(module)
            _add_to(module)

        spec.loader.exec_module = load_and_add
        return spec
