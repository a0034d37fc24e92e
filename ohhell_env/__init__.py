"""Oh Hell, in all its variants, as an environment for reinforcement learning.

>>> from ohhell_env import Rules, oh_hell_v0
>>> env = oh_hell_v0.env(rules=Rules.preset("nomination_whist"), episode="deal")

The engine and PettingZoo take long to import, so they are imported on first use. Gymnasium is
imported at once, to register ``ohhell/OhHell-v0``. PettingZoo's registry gets ``ohhell/oh_hell-v0``
when that registry is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ohhell_env.display import draw_with
from ohhell_env.envs.registration import register_gymnasium, register_pettingzoo
from ohhell_env.rules.variants import variants

if TYPE_CHECKING:
    from ohhell_env import errors, oh_hell_v0
    from ohhell_env.envs.batched import BatchedOhHell
    from ohhell_env.game import Game
    from ohhell_env.rules import Rules

__version__ = "0.1.0"
__all__ = [
    "BatchedOhHell",
    "Game",
    "Rules",
    "__version__",
    "errors",
    "oh_hell_v0",
    "variants",
]

register_gymnasium()
register_pettingzoo()


def _draw(shown: Any) -> str:
    from ohhell_env.pictures.html import notebook_html

    return notebook_html(shown)


draw_with(_draw)

_CLASSES = {"BatchedOhHell": "envs.batched", "Game": "game", "Rules": "rules"}
"""The module of each public class."""
_MODULES = ("errors", "oh_hell_v0")


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return getattr(import_module(f"{__name__}.{_CLASSES[name]}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
