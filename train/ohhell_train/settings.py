"""Settings in YAML files: typed, checked, each mistake reported in one line.

``Settings`` is the base of them all. Below it are the settings that every way to train has: the
tables, who else sits there, and how progress is measured.
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
"""Name of a run's own earlier selves, among opponents and among the fields of measurements."""
MOST_DECISIONS = 10**12
"""Of a run: a year of it on a fast machine."""
PlayerName = Annotated[str, Field(min_length=1)]
"""What ``ohhell_agents.make`` makes a player from."""
Share = Annotated[float, Field(ge=0, le=1)]
_OURS = "Value error, "
"""What Pydantic writes before the messages of our own validators."""


class Settings(BaseModel):
    """Base of all settings; a docstring below a field describes it."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False
    )
    renamed: ClassVar[dict[str, str]] = {}
    """Settings that have another name now, by the old one, dotted; ``name=value`` is one of the
    values that a setting had."""

    @model_validator(mode="before")
    @classmethod
    def _keep_defaults_of_groups(cls, values: Any) -> Any:
        # One class of settings serves several ways to train, each with its own defaults: what a
        # file leaves out of a group is taken from the group as it stands here.
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
        """Returns the names of the settings and groups, those that have another name now, too."""
        return set(cls.model_fields) | {re.split("[.=]", old)[0] for old in cls.renamed}

    @classmethod
    def load(cls, path: str | Path | None, changes: Mapping[str, Any] | None = None) -> Self:
        """Returns the settings of a YAML file, with changes.

        Args:
            path: The file; None: the defaults.
            changes: Settings by dotted name, such as ``{"ppo.n_epochs": 2}``.

        Raises:
            RulesError: The file cannot be read, a setting is unknown (the nearest is named) or a
                value is not allowed.
        """
        if path is None:
            values: dict[str, Any] = {}
        else:
            values = read_settings_file(Path(path))
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
        for old, new in cls.renamed.items():
            name, _, value = old.partition("=")
            found = _get(values, name)
            if found is not None and value in ("", found):
                raise RulesError(f"{where}{old} has another name now: write {new}")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise RulesError(where + mistakes_of(cls, error)) from None

    def to_yaml(self) -> str:
        """Returns the settings as YAML text that ``load`` reads back."""
        plain = self.model_dump(mode="json")
        return yaml.safe_dump(plain, sort_keys=False, default_flow_style=None, width=100)


def read_settings_file(path: Path) -> dict[str, Any]:
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


def _get(values: Any, key: str) -> Any:
    """Returns what stands at a dotted name in nested settings; None: nothing."""
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


class NoiseSettings(Settings):
    """How far a player strays from its choices in training, to see more than its own habits."""

    card: Share = 0.04
    """Probability of a random card."""
    bid_beside: Share = 0.12
    """Probability of a bid one beside its own."""
    bid: Share = 0.02
    """Probability of a random bid."""


class NetworkSettings(Settings):
    """The network."""

    hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        default=(256, 256), min_length=1, max_length=8
    )
    """Widths of the hidden layers of the actor, and of the critic."""


class FitSettings(Settings):
    """Fitting networks to what was played."""

    epochs: int = Field(default=4, ge=1, le=1000)
    """Passes over the decisions."""
    learning_rate: float = Field(default=3e-3, gt=0, le=1)
    """At its highest: it rises for a few steps, then falls to nothing."""
    batch_size: int = Field(default=2048, ge=2, le=1_000_000)
    """Decisions in one step of the optimiser."""


class OpponentSettings(Settings):
    """Another player, and the share of the tables at which it sits."""

    player: PlayerName
    """What ``ohhell_agents.make`` makes a player from, or "past": the run's own earlier selves."""
    share: float = Field(gt=0, le=1)
    """Share of the tables at which it sits; at the rest, the learner sits in every seat."""


class ReportSettings(Settings):
    """Progress that is measured during the run."""

    every: int = Field(default=1, ge=1, le=MOST_DECISIONS)
    """How much is done between two measurements: decisions of PPO, else rounds or epochs. The end
    of the run is measured, too."""
    deals: int = Field(default=500, ge=2, le=1_000_000)
    """Duplicate deals of one measurement, each played once in every seat."""
    slow_deals: int = Field(default=100, ge=2, le=100_000)
    """The same against players that are asked one by one, such as "search:worlds=10"."""
    fields: tuple[PlayerName, ...] = Field(
        default=("random", "heuristic"), min_length=1, max_length=20
    )
    """The fields of equal opponents, one measurement each: what ``ohhell_agents.make`` makes
    players from; of PPO also "past", the player that the run had saved when it was half as far."""
    tensorboard: bool = True
    """Whether to write the metrics for TensorBoard, too."""
    seed: int = Field(default=1_000_003, ge=0, le=MAX_SEED)
    """Seed of these deals: the same ones at every measurement, and none of the training's."""


class TableKind(NamedTuple):
    """A kind of table that a run trains at."""

    rules: Rules
    hand_size: int | None
    """The only hand size; None: as the schedule has them."""


RulesName = str | dict[str, Any]
# The bounds are checked by validators below: a union would report one mistake once for each member.
_Seats = Annotated[
    int, WithJsonSchema({"type": "integer", "minimum": MIN_PLAYERS, "maximum": MAX_PLAYERS})
]
_HandSize = Annotated[
    int, WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MAX_HAND_SIZE})
]


class RunSettings(Settings):
    """What every run has; a subclass for each way to train has ``method``, its name."""

    renamed: ClassVar[dict[str, str]] = {"report.against": "report.fields"}

    method: str
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Seed of the first weights, the deals and every choice."""
    max_minutes: float | None = Field(default=None, gt=0, le=1_000_000)
    """Begin no other rollout, round or epoch after so many minutes; null: never stop so. Where the
    clock is ahead of the decisions, PPO's learning rate falls with the clock. A run that the clock
    stops is not reproducible."""
    report: ReportSettings = ReportSettings()

    def table_kinds(self) -> list[TableKind]:
        """Returns the kinds of tables that its player is for, and is measured at.

        Raises:
            RulesError: They cannot be played.
        """
        return [TableKind(Rules.preset("oh_hell"), None)]

    def opponent_names(self) -> list[str]:
        """Returns the names of the players that the run trains with, but that stand outside it."""
        return []

    def resolved(self) -> Self:
        """Returns the same settings with all that names and files stand for written out.

        Raises:
            RulesError: They cannot be played.
        """
        return self


class TableSettings(RunSettings):
    """What every run has that trains at tables of one's choice: these, and who else sits there."""

    rules: RulesName | tuple[RulesName, ...] = "oh_hell"
    """Name of a variant, path of a YAML file, the settings themselves, or several of these."""
    players: _Seats | tuple[_Seats, ...] | None = None
    """Number of players, or several numbers; null: the variant's usual number."""
    hand_size: _HandSize | tuple[_HandSize, ...] | None = None
    """Train with this hand size only, or with several; null: with those of the schedule."""
    opponents: tuple[OpponentSettings, ...] = Field(default=(), max_length=20)
    """Who else sits at the tables, a list of ``{player: NAME, share: X}``."""

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
            raise ValueError("a player stands there twice")
        return opponents

    def opponent_names(self) -> list[str]:
        """Returns the names of the opponents that stand outside the run."""
        return [each.player for each in self.opponents if each.player != PAST]

    def table_kinds(self) -> list[TableKind]:
        """Returns the kinds of tables to train at.

        Of several rules and several numbers of players, those are taken that go together.

        Raises:
            RulesError: Rules or numbers that cannot be played.
        """
        for name in ("rules", "players", "hand_size"):
            if getattr(self, name) == ():
                raise RulesError(f"{name}: one or more are wanted, got none")
        found = [
            TableKind(rules, size)
            for name in _listed(self.rules)
            for rules in self._for_all_players(name)
            for size in self._sizes(rules)
        ]
        if not found:
            raise RulesError(f"hand_size={self.hand_size}: no deal of these rules has such a hand")
        return found

    def resolved_rules(self) -> Rules:
        """Returns the rules of the first kind of table.

        Raises:
            RulesError: They cannot be played.
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
            raise RulesError(f"rules: {shown(name)} is played by none of {numbers} players")
        return possible

    def _sizes(self, rules: Rules) -> list[int | None]:
        """Returns the hand sizes wanted; where there are several, those that the rules deal."""
        sizes = _listed(self.hand_size)
        if not isinstance(self.hand_size, tuple):
            return sizes
        return [size for size in sizes if size in hand_sizes(rules)]

    def resolved(self) -> Self:
        """Returns the same settings with the rules that names and files stand for written out.

        A variant for several numbers of players keeps its name: it may not be the same for all.

        Raises:
            RulesError: They cannot be played.
        """
        if isinstance(self.rules, tuple):
            several: Any = tuple(_out_of_file(name) for name in self.rules)
            return self.model_copy(update={"rules": several})
        if isinstance(self.players, tuple):
            return self.model_copy(update={"rules": _out_of_file(self.rules)})
        rules = self.resolved_rules()
        return self.model_copy(update={"rules": rules.to_dict(), "players": rules.players})


def _out_of_file(name: RulesName) -> RulesName:
    """Returns the name of a variant, or the settings of other rules."""
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
