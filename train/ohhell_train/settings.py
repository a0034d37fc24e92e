"""Settings in YAML files: typed, checked, with mistakes told in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ohhell_env.errors import OhHellError, RulesError, nearest, shown, shown_path
from ohhell_env.files import MOST_SETTINGS, read_text
from ohhell_env.rules.yaml_text import read_yaml

_OURS = "Value error, "
"""What Pydantic writes before the messages of our own validators."""


class Settings(BaseModel):
    """Base of all settings; a docstring below a field describes it."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False
    )

    @classmethod
    def load(cls, path: str | Path | None, changes: Mapping[str, Any] | None = None) -> Self:
        """Returns the settings of a YAML file, with changes.

        Args:
            path: The file; None: the defaults.
            changes: Settings by dotted name, such as ``{"ppo.epochs": 2}``.

        Raises:
            RulesError: The file cannot be read, a setting is unknown (the nearest is named) or a
                value is not allowed.
        """
        if path is None:
            values: dict[str, Any] = {}
        else:
            values = read_settings(Path(path))
            cls.of(values, f"{path}: ")  # what is wrong after this is wrong with the changes
        for key, value in (changes or {}).items():
            _put(values, key, value)
        return cls.of(values)

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Returns settings from plain data; ``where`` begins the message of an error.

        Raises:
            RulesError: As for ``load``.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise RulesError(where + mistakes_of(cls, error)) from None

    def to_yaml(self) -> str:
        """Returns the settings as YAML text that ``load`` reads back."""
        plain = self.model_dump(mode="json")
        return yaml.safe_dump(plain, sort_keys=False, default_flow_style=None, width=100)


def read_settings(path: Path) -> dict[str, Any]:
    """Returns the settings of a YAML file as they stand there, by name.

    Raises:
        RulesError: It cannot be read, or holds something else.
    """
    try:
        values = read_yaml(read_text(path, MOST_SETTINGS))
    except OhHellError as error:
        raise RulesError(f"cannot read settings from {shown_path(path)!r}: {error}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise RulesError(f"{shown_path(path)}: settings by name are wanted, got {shown(values)}")
    return values


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    """Sets one dotted name in nested settings."""
    *parents, name = key.split(".")
    for parent in parents:
        inner = values.get(parent)
        values[parent] = dict(inner) if isinstance(inner, dict) else {}
        values = values[parent]
    values[name] = value


def mistakes_of(model: type[BaseModel], error: ValidationError) -> str:
    """Returns in one line what is wrong with settings."""
    return "; ".join(_explain(model, error))


def _explain(model: type[BaseModel], error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            yield f"unknown setting {shown(name)}: {nearest(name, _names(model))}"
        elif not name:  # of all settings together
            yield problem["msg"].removeprefix(_OURS)
        else:
            message = problem["msg"].removeprefix(_OURS)
            yield f"{name}: {message[:1].lower()}{message[1:]}, got {shown(problem['input'])}"


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yields the dotted name of every setting."""
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _names(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
