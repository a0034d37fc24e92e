"""``Rules``: the rules of one game of Oh Hell, in any variant.

A frozen dataclass with one field per axis. A variant is a row of settings (``variants.py``), never
code. See ``axes.py`` for the meaning of each setting, ``schedule.py`` for the hand sizes, trumps
and points that follow, and ``checks.py`` for settings that clash.
"""

# Reads input from users: the code checks types at run time.
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import yaml

from ohhell_env.cards import Pack
from ohhell_env.errors import OhHellError, RulesError, nearest, shown, shown_path
from ohhell_env.files import MOST_SETTINGS, read_text
from ohhell_env.rules import settings
from ohhell_env.rules.axes import SCORINGS, Bidding, End, Play, Schedule, Scoring, Settlement, Trump
from ohhell_env.rules.yaml_text import read_yaml

_PACKS = {"standard": Pack()}
_NAMED_AXES: dict[str, dict[str, Any]] = {
    "scoring": dict(SCORINGS),
    "end": {"schedule": End()},
    "settlement": {kind: Settlement(kind=kind) for kind in ("none", "differences", "pool")},
    "pack": dict(_PACKS),
}
"""Axes that may be set whole, by a name."""


@dataclass(frozen=True)
class Rules:
    """The rules of a game; immutable, hashable, checked on creation.

    >>> rules = Rules.preset("nomination_whist", players=5)
    >>> rules.replace(scoring="simple", **{"bidding.hook": "none"}).scoring.miss_per_trick
    0

    Raises:
        RulesError: A value is not allowed, or settings clash; the message names them and says what
            would work.
    """

    players: int = 4
    """Number of seats, 2 to 8."""
    pack: Pack = field(default_factory=Pack)
    schedule: Schedule = field(default_factory=Schedule)
    first_dealer: int | Literal["random", "first_jack", "high_card"] = "random"
    """Who deals first: a random seat, the first to get a jack, the drawer of the highest card, or a
    seat by its number."""
    trump: Trump = field(default_factory=Trump)
    bidding: Bidding = field(default_factory=Bidding)
    blind_one_card: Literal["never", "always", "first", "last"] = "never"
    """Which one-card deals are blind: players see every card except their own, bid, and the cards
    are played automatically. "first" and "last" mean the game's first and last one-card deal."""
    play: Play = field(default_factory=Play)
    scoring: Scoring = field(default_factory=Scoring)
    end: End = field(default_factory=End)
    tie_break: Literal["shared", "extra_deals", "most_exact_bids", "largest_bid_total"] = "shared"
    """How a tie for the highest score is broken at the end."""
    settlement: Settlement = field(default_factory=Settlement)
    hard_score_bonus: int = 0
    """Added to each winner's score before a settlement by differences; otherwise without effect."""
    name: str = field(default="custom", compare=False)
    """The preset that these rules started from; a label that comparisons ignore."""

    def __post_init__(self) -> None:
        for key, annotation in settings.field_types(Rules).items():
            value = _named_axis(key, getattr(self, key))
            object.__setattr__(self, key, settings.coerce(value, annotation, key))
        from ohhell_env.rules.checks import check_rules

        check_rules(self)

    @classmethod
    def preset(cls, name: str, players: int | None = None) -> Self:
        """Returns the rules of a named variant.

        Args:
            name: One of ``ohhell_env.rules.variants()``.
            players: Number of seats, 2 to 8 if the pack has enough cards; None: four.

        Raises:
            RulesError: Unknown name, or too many players for the pack.
        """
        from ohhell_env.rules.variants import preset_settings

        return cls(**preset_settings(name, players))

    def replace(self, /, **changes: Any) -> Self:
        """Returns a copy with some settings changed.

        Args:
            **changes: A whole axis by object, by preset name (``scoring="simple"``) or by a dict
                of the fields to change; or one dotted field (``**{"bidding.hook": "none"}``).

        Raises:
            RulesError: An unknown setting or a value that is not allowed, or ``players`` on a
                preset whose other settings depend on the number of players.
        """
        if "players" in changes:
            self._refuse_stale_preset(changes["players"])
        return self._changed(changes)

    def _changed(self, changes: Mapping[str, Any]) -> Self:
        values: dict[str, Any] = {}
        for key, value in sorted(changes.items(), key=lambda change: "." in change[0]):
            axis, _, rest = key.partition(".")  # whole axes first, then their dotted fields
            settings.check_key(Rules, axis, "")
            current = values.get(axis, getattr(self, axis))
            change = _nested(rest, value) if rest else value
            if isinstance(change, Mapping) and dataclasses.is_dataclass(current):
                values[axis] = _merge(current, change, axis)
            elif rest:
                raise RulesError(f"unknown setting {shown(key)}: {axis!r} is a single value")
            else:
                values[axis] = _named_axis(axis, change)
        return dataclasses.replace(self, **values)

    def _refuse_stale_preset(self, players: Any) -> None:
        from ohhell_env.rules.variants import depends_on_players

        if players != self.players and depends_on_players(self.name):
            raise RulesError(
                f"replace(players={shown(players)}): the settings of the preset {self.name!r} "
                "depend on the number of players; start from "
                f"Rules.preset({self.name!r}, players={shown(players)})"
            )

    def to_dict(self) -> dict[str, Any]:
        """Returns every setting as plain data; ``from_dict`` restores equal rules."""
        return settings.to_plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Returns rules from plain data; missing settings keep their defaults.

        Args:
            data: Settings by name, nested or dotted. With a key "preset", missing settings come
                from that variant.

        Raises:
            RulesError: An unknown key (the message names the nearest), or a value that is not
                allowed.
        """
        if not isinstance(data, Mapping):
            raise RulesError(f"rules must be settings by name, got {shown(data)}")
        changes = {str(key): value for key, value in data.items()}
        preset = changes.pop("preset", None)
        base = cls() if preset is None else cls.preset(preset, changes.pop("players", None))
        return base._changed(changes)

    def to_yaml(self) -> str:
        """Returns every setting as YAML text for ``from_yaml``."""
        return yaml.safe_dump(self.to_dict(), sort_keys=False, default_flow_style=None)

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Reads rules from a YAML file; see ``from_dict`` for its keys.

        Raises:
            RulesError: The file cannot be read, is not YAML, or its settings are wrong.
        """
        if not isinstance(path, str | Path):
            raise RulesError(f"path must be the path of a YAML file, got {shown(path)}")
        try:
            data = read_yaml(read_text(path, MOST_SETTINGS))
        except OhHellError as error:
            raise RulesError(f"cannot read rules from {shown_path(path)!r}: {error}") from None
        try:
            return cls.from_dict({} if data is None else data)
        except RulesError as error:
            raise RulesError(f"{shown_path(path)}: {error}") from None


RulesLike = Rules | str | Path
"""Rules, the name of a variant, or the path of a YAML file."""


def as_rules(rules: RulesLike, players: int | None = None) -> Rules:
    """Returns rules given in any form.

    Args:
        rules: Rules, the name of a variant, or the path of a YAML file (ending in .yaml or .yml).
        players: Overrides the number of players.

    Raises:
        RulesError: Unknown name, unreadable file, or too many players for the pack.
    """
    if isinstance(rules, Rules):
        return rules if players is None else rules.replace(players=players)
    if not isinstance(rules, str | Path):
        raise RulesError(
            f"rules must be Rules, a variant's name or a YAML path, got {shown(rules)}"
        )
    if str(rules).endswith((".yaml", ".yml")):
        loaded = Rules.from_yaml(rules)
        return loaded if players is None else loaded.replace(players=players)
    return Rules.preset(str(rules), players)


def _named_axis(key: str, value: Any) -> Any:
    names = _NAMED_AXES.get(key)
    if names is None or not isinstance(value, str):
        return value
    if value not in names:
        raise RulesError(f"{key}: unknown name {shown(value)}; {nearest(value, names)}")
    return names[value]


def _nested(dotted: str, value: Any) -> dict[str, Any]:
    head, _, rest = dotted.partition(".")
    return {head: _nested(rest, value) if rest else value}


def _merge(current: Any, values: Mapping[str, Any], where: str) -> Any:
    merged: dict[str, Any] = {}
    for key, value in values.items():
        settings.check_key(type(current), str(key), where)
        part = getattr(current, str(key))
        nested = isinstance(value, Mapping) and dataclasses.is_dataclass(part)
        merged[str(key)] = _merge(part, value, f"{where}.{key}") if nested else value
    return settings.with_values(current, merged, where)
