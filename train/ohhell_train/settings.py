"""Settings in YAML files: typed, checked, all mistakes reported in one line.

``Settings`` is the base class. The classes after it are shared by the training methods: the tables,
the opponents, and the measurement of progress.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from ohhell_env.errors import OhHellError, RulesError, nearest, shown, shown_path
from ohhell_env.files import MOST_SETTINGS, read_text
from ohhell_env.game import MAX_SEED
from ohhell_env.rules import Rules, as_rules
from ohhell_env.rules.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.rules.schedule import MAX_HAND_SIZE, hand_sizes
from ohhell_env.rules.variants import variants
from ohhell_env.rules.yaml_text import read_yaml

PAST = "past"
"""The name of a run's own earlier versions, as opponents and as fields of measurements."""
MOST_DECISIONS = 10**12
"""The most decisions of a run: about a year on a fast machine."""
PlayerName = Annotated[str, Field(min_length=1)]
"""A player, as a spec that ``ohhell_agents.make`` accepts."""
Share = Annotated[float, Field(ge=0, le=1)]
_OURS = "Value error, "
"""Pydantic's prefix for the messages of our own validators."""


class Settings(BaseModel):
    """The base of all settings; the docstring below a field describes it."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False
    )
    renamed: ClassVar[dict[str, str]] = {}
    """New names of renamed settings, by dotted old name; ``name=value`` stands for a value that
    was renamed."""

    @model_validator(mode="before")
    @classmethod
    def _keep_defaults_of_groups(cls, values: Any) -> Any:
        # Several training methods share one class of settings, each with its own defaults, so a
        # file's partial group must be completed from the default of the field, not of the class.
        if not isinstance(values, dict):
            return values
        given = dict(values)
        for name, field in cls.model_fields.items():
            group = given.get(name)
            if isinstance(field.default, Settings) and isinstance(group, dict):
                given[name] = dict(field.default) | group
        return given

    @classmethod
    def setting_names(cls) -> set[str]:
        """Returns the names of the settings and groups, including names that were renamed."""
        return set(cls.model_fields) | {re.split("[.=]", old)[0] for old in cls.renamed}

    @classmethod
    def load(cls, path: str | Path | None, changes: Mapping[str, Any] | None = None) -> Self:
        """Returns the settings of a YAML file, with changes.

        Args:
            path: The file; None uses the defaults.
            changes: Settings by dotted name, such as ``{"ppo.n_epochs": 2}``.

        Raises:
            RulesError: The file cannot be read, a setting is unknown (the error suggests the
                closest name), or a value is not allowed.
        """
        if path is None:
            values: dict[str, Any] = {}
        else:
            values = read_settings_file(Path(path))
            cls.of(values, f"{path}: ")  # checked alone, so that later errors blame the changes
        for key, value in (changes or {}).items():
            _put(values, key, value)
        return cls.of(values)

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Returns settings from plain data; ``where`` is put before the message of an error.

        Raises:
            RulesError: See ``load``.
        """
        for old, new in cls.renamed.items():
            name, _, value = old.partition("=")
            found = _get(values, name)
            if found is not None and value in ("", found):
                raise RulesError(f"{where}{old} was renamed: write {new}")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise RulesError(where + mistakes_of(cls, error)) from None

    def to_yaml(self) -> str:
        """Returns the settings as YAML text that ``load`` reads back."""
        plain = self.model_dump(mode="json")
        return yaml.safe_dump(plain, sort_keys=False, default_flow_style=None, width=100)


def read_settings_file(path: Path) -> dict[str, Any]:
    """Returns the unchecked settings of a YAML file, by name.

    Raises:
        RulesError: The file cannot be read, or is not a mapping.
    """
    try:
        values = read_yaml(read_text(path, MOST_SETTINGS))
    except OhHellError as error:
        raise RulesError(f"cannot read settings from {shown_path(path)!r}: {error}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise RulesError(f"{shown_path(path)}: must hold settings by name, got {shown(values)}")
    return values


def _get(values: Any, key: str) -> Any:
    """Returns the value at a dotted name in nested settings, or None."""
    for name in key.split("."):
        values = values.get(name) if isinstance(values, dict) else None
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
    """Returns the mistakes in settings, in one line."""
    return "; ".join(_explain(model, error))


def _explain(model: type[BaseModel], error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            yield f"unknown setting {shown(name)}: {nearest(name, _names(model))}"
        elif not name:  # a mistake in how settings go together
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


class NoiseSettings(Settings):
    """Random deviations from the player's choices in training, so that it sees more positions."""

    card: Share = 0.04
    """Probability of a random card."""
    bid_beside: Share = 0.12
    """Probability of a bid one higher or lower than the player's own."""
    bid: Share = 0.02
    """Probability of a random bid."""


class NetworkSettings(Settings):
    """The network."""

    hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        default=(256, 256), min_length=1, max_length=8
    )
    """Widths of the hidden layers, the same for the actor and the critic."""


class FitSettings(Settings):
    """The fit of the networks to the games played."""

    epochs: int = Field(default=4, ge=1, le=1000)
    """Passes over the decisions."""
    learning_rate: float = Field(default=3e-3, gt=0, le=1)
    """The highest learning rate: it rises for a few steps, then falls to 0."""
    batch_size: int = Field(default=2048, ge=2, le=1_000_000)
    """Decisions in one step of the optimiser."""


class OpponentSettings(Settings):
    """Another player, and the share of the tables at which it sits."""

    player: PlayerName
    """A player that ``ohhell_agents.make`` accepts, or "past": earlier versions of the learner."""
    share: float = Field(gt=0, le=1)
    """Share of the tables with this opponent; at the others, the learner sits in every seat."""


class ReportSettings(Settings):
    """Measurements of progress during the run."""

    every: int = Field(default=1, ge=1, le=MOST_DECISIONS)
    """Interval between two measurements: decisions in PPO, otherwise rounds or epochs. The end of
    the run is always measured."""
    deals: int = Field(default=500, ge=2, le=1_000_000)
    """Duplicate deals of one measurement, each played once in every seat."""
    slow_deals: int = Field(default=100, ge=2, le=100_000)
    """The same for players that are asked one question at a time, such as "search:worlds=10"."""
    fields: tuple[PlayerName, ...] = Field(
        default=("random", "heuristic"), min_length=1, max_length=20
    )
    """The fields of equal opponents, one measurement for each: players that ``ohhell_agents.make``
    accepts. PPO also has "past": the player saved when the run was half as far."""
    tensorboard: bool = True
    """Whether to write the metrics for TensorBoard too."""
    seed: int = Field(default=1_000_003, ge=0, le=MAX_SEED)
    """Seed of these deals: the same at every measurement, and never used in training."""


class TableKind(NamedTuple):
    """A kind of table that a run trains at."""

    rules: Rules
    hand_size: int | None
    """The only hand size; None: those of the schedule."""


RulesName = str | dict[str, Any]
# Validators below check the bounds: a union would report each mistake once for every member.
_Seats = Annotated[
    int, WithJsonSchema({"type": "integer", "minimum": MIN_PLAYERS, "maximum": MAX_PLAYERS})
]
_HandSize = Annotated[
    int, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_HAND_SIZE})
]


class RunSettings(Settings):
    """The settings of every run; a subclass for each training method has its name as ``method``."""

    renamed: ClassVar[dict[str, str]] = {"report.against": "report.fields"}

    method: str
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Seed of the initial weights, the deals and all random choices."""
    max_minutes: float | None = Field(default=None, gt=0, le=1_000_000)
    """Start no rollout, round or epoch after this many minutes; null: no limit. PPO's learning rate
    falls with the clock if that is ahead of the decisions. A run that this limit stops is not
    reproducible."""
    report: ReportSettings = ReportSettings()

    def table_kinds(self) -> list[TableKind]:
        """Returns the kinds of tables that the player is made for and measured at.

        Raises:
            RulesError: The tables cannot be played.
        """
        return [TableKind(Rules.preset("oh_hell"), None)]

    def opponent_names(self) -> list[str]:
        """Returns the names of the players that the run needs from outside its folder."""
        return []

    def resolved(self) -> Self:
        """Returns the same settings with the rules of names and files written out.

        Raises:
            RulesError: The settings cannot be played.
        """
        return self


class TableSettings(RunSettings):
    """The settings of a run whose tables and opponents can be chosen."""

    rules: RulesName | tuple[RulesName, ...] = "oh_hell"
    """Name of a variant, path of a YAML file, the rules themselves as settings, or a list."""
    players: _Seats | tuple[_Seats, ...] | None = None
    """Number of players, or a list of numbers; null: the variant's usual number."""
    hand_size: _HandSize | tuple[_HandSize, ...] | None = None
    """The only hand size to train with, or a list; null: those of the schedule."""
    opponents: tuple[OpponentSettings, ...] = Field(default=(), max_length=20)
    """Opponents at the tables, a list of ``{player: NAME, share: X}``."""

    @field_validator("players")
    @classmethod
    def _can_sit(cls, players: Any) -> Any:
        if any(
            number is not None and not MIN_PLAYERS <= number <= MAX_PLAYERS
            for number in _listed(players)
        ):
            raise ValueError(f"{MIN_PLAYERS} to {MAX_PLAYERS} are allowed")
        return players

    @field_validator("hand_size")
    @classmethod
    def _can_be_dealt(cls, sizes: Any) -> Any:
        if any(size is not None and not 1 <= size <= MAX_HAND_SIZE for size in _listed(sizes)):
            raise ValueError(f"1 to {MAX_HAND_SIZE} are allowed")
        return sizes

    @field_validator("opponents")
    @classmethod
    def _fit_at_the_tables(cls, opponents: tuple[OpponentSettings, ...]) -> Any:
        if sum(each.share for each in opponents) > 1 + 1e-9:
            raise ValueError("the shares of the tables add up to more than 1")
        names = [each.player for each in opponents]
        if len(set(names)) < len(names):
            raise ValueError("the list names a player twice")
        return opponents

    def opponent_names(self) -> list[str]:
        """Returns the names of the opponents from outside the run."""
        return [each.player for each in self.opponents if each.player != PAST]

    def table_kinds(self) -> list[TableKind]:
        """Returns the kinds of tables to train at.

        With several rules and several numbers of players, combinations that cannot be played are
        left out.

        Raises:
            RulesError: The rules or numbers cannot be played.
        """
        for name in ("rules", "players", "hand_size"):
            if getattr(self, name) == ():
                raise RulesError(f"{name}: give at least one, got none")
        found = [
            TableKind(rules, size)
            for name in _listed(self.rules)
            for rules in self._for_all_players(name)
            for size in self._sizes(rules)
        ]
        if not found:
            raise RulesError(f"hand_size={self.hand_size}: these rules deal no hand of that size")
        return found

    def resolved_rules(self) -> Rules:
        """Returns the rules of the first kind of table.

        Raises:
            RulesError: The rules cannot be played.
        """
        return self.table_kinds()[0].rules

    def _for_all_players(self, name: RulesName) -> list[Rules]:
        numbers = _listed(self.players)
        if not isinstance(self.rules, tuple) or not isinstance(self.players, tuple):
            return [_rules_of(name, number) for number in numbers]
        possible: list[Rules] = []
        for number in numbers:
            with contextlib.suppress(RulesError):
                possible.append(_rules_of(name, number))
        if not possible:
            raise RulesError(
                f"rules: {shown(name)} cannot be played by any of these numbers: {numbers}"
            )
        return possible

    def _sizes(self, rules: Rules) -> list[int | None]:
        """Returns the hand sizes to train with; of a list, those that the rules deal."""
        sizes = _listed(self.hand_size)
        if not isinstance(self.hand_size, tuple):
            return sizes
        return [size for size in sizes if size in hand_sizes(rules)]

    def resolved(self) -> Self:
        """Returns the same settings with the rules of names and files written out.

        A variant for several numbers of players keeps its name, because its rules may depend on
        the number.

        Raises:
            RulesError: The settings cannot be played.
        """
        if isinstance(self.rules, tuple):
            several: Any = tuple(_out_of_file(name) for name in self.rules)
            return self.model_copy(update={"rules": several})
        if isinstance(self.players, tuple):
            return self.model_copy(update={"rules": _out_of_file(self.rules)})
        rules = self.resolved_rules()
        return self.model_copy(update={"rules": rules.to_dict(), "players": rules.players})


def _out_of_file(name: RulesName) -> RulesName:
    """Returns the name of a variant unchanged, other rules as plain settings."""
    if isinstance(name, dict) or name in variants():
        return name
    return _rules_of(name, None).to_dict()


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def _rules_of(name: RulesName, players: int | None) -> Rules:
    try:
        return as_rules(name if isinstance(name, str) else Rules.from_dict(name), players)
    except OhHellError as error:
        raise RulesError(f"rules: {error}") from None
