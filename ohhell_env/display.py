"""How a game or a record shows itself in a notebook.

Drawings are made two layers above (``pictures/html.py``), and need games themselves. So they are
handed down: ``ohhell_env/__init__.py`` says here who draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_drawers: list[Callable[[Any], str]] = []


def draw_with(drawer: Callable[[Any], str]) -> None:
    """Sets who turns a game or a record into HTML.

    Args:
        drawer: Called with the object, when a notebook shows it.
    """
    _drawers[:] = [drawer]


class ShownInNotebooks:
    """A class whose objects notebooks show as a drawing."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return _drawers[0](self)
