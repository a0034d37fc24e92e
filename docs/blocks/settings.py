"""The tables of settings that a YAML file may hold, from the classes that check them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from docs.blocks.markdown import prose, table
from ohhell_train.methods import METHODS
from ohhell_train.tournament.config import TournamentConfig

HEADER = ("Setting", "If left out", "Meaning")


def training_settings() -> str:
    """Every setting of every way to train."""
    return "".join(part for name in METHODS for part in _method(name))


def tournament_settings() -> str:
    """Every setting of a tournament: its name in YAML, what it is if left out, what it means."""
    return table(HEADER, _rows(TournamentConfig, ""))


def _method(name: str) -> Iterator[str]:
    settings = METHODS[name].settings
    yield f"\n## method: {name}\n\n{_about(settings)}\n\n{table(HEADER, _rows(settings, ''))}"
    for group, field in settings.model_fields.items():
        inner = _inner(field)
        if inner is not None:
            yield f"\n**`{group}`**: {_about(inner)}\n\n"
            yield table(HEADER, _rows(inner, f"{group}." if _is_one(field) else ""))


def _about(settings: type[BaseModel]) -> str:
    return prose(inspect.getdoc(settings) or "")


def _inner(field: FieldInfo) -> type[BaseModel] | None:
    """Returns the class of the settings that a setting holds, or a list of them."""
    parts: tuple[Any, ...] = (field.annotation, *getattr(field.annotation, "__args__", ()))
    return next((p for p in parts if inspect.isclass(p) and issubclass(p, BaseModel)), None)


def _is_one(field: FieldInfo) -> bool:
    return inspect.isclass(field.annotation)


def _rows(settings: type[BaseModel], prefix: str) -> Iterator[tuple[str, ...]]:
    for name, field in settings.model_fields.items():
        if _inner(field) is None:
            yield f"`{prefix}{name}`", _default(field), prose(field.description or "")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    return f"`{json.dumps(value, default=str)}`"
