"""Converts plain data to typed settings and back, for YAML, JSON and keyword values alike.

Every axis of the rules is a frozen dataclass. This module fills one from plain data, checks each
value against the field's annotation, and names the nearest key if one is unknown.
"""

# Reads input from users: the code checks types at run time.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import contextlib
import dataclasses
import functools
import numbers
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union

from ohhell_env.errors import RulesError, nearest, shown

_LARGEST_WHOLE = 2**53


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """Returns the resolved annotation of each field of a dataclass, in order."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def check_key(cls: type, key: str, where: str) -> None:
    """Raises RulesError, naming the nearest key, unless ``key`` is a field of ``cls``."""
    if key not in field_types(cls):
        prefix = f"{where}." if where else ""
        name = prefix + key if isinstance(key, str) else key
        raise RulesError(f"unknown setting {shown(name)}: {nearest(key, field_types(cls))}")


def coerce(value: Any, annotation: Any, where: str) -> Any:
    """Converts ``value`` to the annotated type.

    Args:
        value: Plain data (from YAML, JSON or Python), or an object of that type.
        annotation: The field's resolved annotation.
        where: Dotted name of the setting, for messages.

    Raises:
        RulesError: The value is not allowed; the message names the setting and what is allowed.
    """
    origin = typing.get_origin(annotation)
    if origin is Literal:
        return _one_of(value, typing.get_args(annotation), where)
    if origin in (Union, types.UnionType):
        return _union(value, typing.get_args(annotation), where)
    if origin is tuple:
        return _sequence(value, typing.get_args(annotation), where)
    if dataclasses.is_dataclass(annotation):
        return _dataclass(value, typing.cast(type, annotation), where)
    value = _plain(value)
    if annotation in (int, float) and isinstance(value, int) and abs(value) > _LARGEST:
        raise RulesError(f"{where}: numbers may have at most {len(str(_LARGEST))} digits")
    if _is_plain(value, annotation):
        return float(value) if annotation is float else value
    raise RulesError(f"{where} must be {_spell(annotation)}, got {shown(value)}")


_LARGEST = 10**15
"""The largest whole number that any setting accepts."""


def _plain(value: Any) -> Any:
    """Converts NumPy's integers and strings to Python's own."""
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return "".join(value) if isinstance(value, str) else value


def _is_plain(value: Any, annotation: Any) -> bool:
    if annotation is float:  # or a whole number that a float can hold
        whole = isinstance(value, int) and not isinstance(value, bool)
        return isinstance(value, float) or (whole and abs(value) <= _LARGEST_WHOLE)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, annotation)


def _one_of(value: Any, allowed: tuple[Any, ...], where: str) -> Any:
    for item in allowed:
        if value == item and type(value) is type(item):
            return item
    raise RulesError(
        f"{where}: got {shown(value)}; {nearest(value, [str(item) for item in allowed])}"
    )


def _union(value: Any, options: tuple[Any, ...], where: str) -> Any:
    if value is None and types.NoneType in options:
        return None
    options = tuple(option for option in options if option is not types.NoneType)
    if len(options) == 1:
        return coerce(value, options[0], where)
    for option in options:
        with contextlib.suppress(RulesError):
            return coerce(value, option, where)
    wanted = " or ".join(_spell(option) for option in options)
    raise RulesError(f"{where} must be {wanted}, got {shown(value)}")


def _sequence(value: Any, items: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise RulesError(f"{where} must be a list, got {shown(value)}")
    return tuple(coerce(item, items[0], f"{where}[{i}]") for i, item in enumerate(value))


def _dataclass(value: Any, cls: type, where: str) -> Any:
    if isinstance(value, cls):  # its fields may hold anything
        return with_values(value, vars(value), where)
    if isinstance(value, list | tuple):
        names = list(field_types(cls))
        if len(value) != len(names):
            raise RulesError(
                f"{where} needs {len(names)} values ({', '.join(names)}), got {shown(value)}"
            )
        value = dict(zip(names, value, strict=True))
    if not isinstance(value, Mapping):
        raise RulesError(f"{where} must be settings by name, got {shown(value)}")
    return with_values(cls(), value, where)


def with_values(base: Any, values: Mapping[str, Any], where: str) -> Any:
    """Returns a copy of the dataclass ``base`` with some fields set from plain data."""
    cls = type(base)
    changes: dict[str, Any] = {}
    for key, value in values.items():
        check_key(cls, key, where)
        name = f"{where}.{key}" if where else key
        changes[key] = coerce(value, field_types(cls)[key], name)
    return dataclasses.replace(base, **changes)


def to_plain(value: Any) -> Any:
    """Converts a setting to plain data (dicts, lists, scalars) for ``coerce``."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: to_plain(getattr(value, name)) for name in field_types(type(value))}
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    return value


def _spell(annotation: Any) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    if typing.get_origin(annotation) is Literal:
        return " or ".join(repr(item) for item in typing.get_args(annotation))
    if annotation is types.NoneType:
        return "null"
    if typing.get_origin(annotation) is tuple:
        return "a list"
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))
