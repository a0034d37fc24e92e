"""Display of games and records in notebooks.

The drawing code is two layers above (``pictures/html.py``) and itself needs games. So
``ohhell_env/__init__.py`` registers the drawing function here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_drawers: list[Callable[[Any], str]] = []


def draw_with(drawer: Callable[[Any], str]) -> None:
    """Sets the function that renders a game or a record as HTML.

    Args:
        drawer: Called with the object when a notebook shows it.
    """
    _drawers[:] = [drawer]


class ShownInNotebooks:
    """A base class for objects that notebooks show as drawings."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return _drawers[0](self)
