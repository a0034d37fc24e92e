"""Tables of the settings in YAML files, generated from the classes that check them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from docs.blocks.markdown import prose, table
from ohhell_train.methods import METHODS
from ohhell_train.tournament.config import TournamentConfig

HEADER = ("Setting", "Default", "Meaning")


def training_settings() -> str:
    """Returns the tables of all settings of every training method."""
    return "".join(part for name in METHODS for part in _method(name))


def tournament_settings() -> str:
    """Returns the table of the settings of a tournament: name in YAML, default, meaning."""
    return table(HEADER, _rows(TournamentConfig, {}, ""))


def _method(name: str) -> Iterator[str]:
    settings = METHODS[name].settings
    defaults = settings.load(None).model_dump(mode="json")
    rows = table(HEADER, _rows(settings, defaults, ""))
    yield f"\n## method: {name}\n\n{_about(settings)}\n\n{rows}"
    for group, field in settings.model_fields.items():
        if (inner := _inner(field)) is not None:
            yield f"\n**`{group}`**: {_about(inner)} {prose(field.description or '')}".rstrip()
            yield f"\n\n{table(HEADER, _rows(inner, defaults[group], f'{group}.'))}"


def _about(settings: type[BaseModel]) -> str:
    return prose(inspect.getdoc(settings) or "")


def _inner(field: FieldInfo) -> type[BaseModel] | None:
    """Returns the class of a group's settings, or None for a single setting."""
    inner = field.annotation
    return inner if inspect.isclass(inner) and issubclass(inner, BaseModel) else None


def _rows(
    settings: type[BaseModel], defaults: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, ...]]:
    for name, field in settings.model_fields.items():
        if _inner(field) is None:
            value = defaults.get(name, field.get_default(call_default_factory=True))
            default = "required" if field.is_required() else f"`{json.dumps(value, default=str)}`"
            yield f"`{prefix}{name}`", default, prose(field.description or "")
