"""The settings of a tournament: typed and checked, with all their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, PlainValidator, ValidationError, field_validator

from ohhell_env.errors import OhHellError, RulesError
from ohhell_env.game import MAX_SEED
from ohhell_env.players import NamedPlayer, named_player
from ohhell_env.rules import Rules, RulesLike, as_rules
from ohhell_env.rules.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.rules.schedule import MAX_HAND_SIZE
from ohhell_train.settings import Settings, mistakes_of

MOST_BLOCKS = 10_000_000
"""The most blocks of one tournament."""
MOST_ENTRANTS = 1000
"""The most entrants of one tournament."""

EntrantLike = Any
"""A player in any form that ``ohhell_env.players.named_player`` reads: a spec, "name=spec", (name,
player), {name: player}, or a player object."""


def _named(given: Any) -> NamedPlayer:
    try:
        return named_player(given)
    except OhHellError as error:
        raise RulesError(str(error).partition("; got ")[0]) from None  # Pydantic adds the value


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise RulesError("must be a list of players")
    return value


def _rules_in_some_form(value: Any) -> Any:
    if not isinstance(value, str | Path | dict | Rules):
        raise RulesError("must be a variant's name, the path of a YAML file, Rules or settings")
    return value


def _not_empty(value: Any) -> Any:
    if value == "":
        raise ValueError("must be the name of a folder")
    return value


class TournamentConfig(Settings):
    """A tournament.

    >>> TournamentConfig(entrants=["random", "mine=runs/x/best"], deals=100).entrants[1].name
    'mine'
    """

    renamed: ClassVar[dict[str, str]] = {"blocks": "deals", "progress": "on_progress"}
    entrants: Annotated[
        Sequence[Annotated[EntrantLike, BeforeValidator(_named)]], BeforeValidator(_listed)
    ] = ()
    """The players: names, folders of checkpoints, `module:Class`, or `process:` and a command line.
    `name=` before a player, or `name: player`, gives it another name."""
    rules: Annotated[RulesLike | dict[str, Any], PlainValidator(_rules_in_some_form)] = "oh_hell"
    """Name of a variant, path of a YAML file, or the rules themselves as settings."""
    players: int | None = Field(default=None, ge=MIN_PLAYERS, le=MAX_PLAYERS)
    """Number of players at a table; null: the variant's usual number."""
    design: Literal["field", "mixed"] = "field"
    """"field": each player alone against copies of each other player; "mixed": random line-ups."""
    challenger: str | None = None
    """In a field, the only player that sits alone, against copies of each other player; null: every
    player in turn."""
    episode: Literal["deal", "game"] = "deal"
    """What a block is: one deal or a whole game."""
    hand_size: int | None = Field(default=None, ge=1, le=MAX_HAND_SIZE)
    """The only hand size of single deals; null: those of the schedule."""
    deals: int = Field(default=2000, ge=1, le=MOST_BLOCKS)
    """Number of blocks (deals or games), each played once in every seat: for each pairing of a
    field, or in total if mixed."""
    seed: int = Field(default=5, ge=0, le=MAX_SEED)
    """Seed of the deals and all random choices."""
    stop: Annotated[float, Field(ge=0, le=1e6)] | None = None
    """Stop once any two players are known either to differ, or to differ by no more than this many
    points; null: play all deals."""
    anchor: str | None = None
    """The player whose rating is zero; null: the one called random, if any."""
    unit: Annotated[int, Field(ge=1, le=MOST_BLOCKS)] | None = None
    """Blocks played and stored at a time; null: 256, or 16 with slow players (search, programs)."""
    workers: int = Field(default=1, ge=1, le=1000)
    """Number of processes that play."""
    executor: Literal["inline", "processes", "ray"] | None = None
    """Where the tables are played; null: in this process, or in several with more workers."""
    address: str | None = None
    """Address of a Ray cluster (auto, host:port or ray://host:port); null: one on this machine."""
    out: Annotated[Path, BeforeValidator(_not_empty)] = Path("results")
    """Folder of the results."""
    report: bool = True
    """Whether to write report.html, report.md and sample games."""

    if not TYPE_CHECKING:  # type checkers take the signature from the fields

        def __init__(self, **values: Any) -> None:
            """Checks the settings.

            Raises:
                RulesError: A setting is unknown, or its value is not allowed.
            """
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise RulesError(mistakes_of(type(self), error)) from None

    @field_validator(
        "players", "hand_size", "deals", "seed", "stop", "unit", "workers", mode="before"
    )
    @classmethod
    def _plain_number(cls, value: Any) -> Any:
        """Refuses text and booleans: ``stop: false`` must not mean 0."""
        if isinstance(value, bool | np.bool_ | str):
            raise RulesError("must be a number")
        return value.item() if isinstance(value, np.integer | np.floating) else value

    def resolved_rules(self) -> Rules:
        """Returns the rules.

        Raises:
            RulesError: The rules cannot be played.
        """
        if isinstance(self.rules, dict):
            return as_rules(Rules.from_dict(self.rules), self.players)
        return as_rules(self.rules, self.players)

    def resolved(self) -> TournamentConfig:
        """Returns the settings with a ``Rules`` object in place of a name or path.

        Raises:
            RulesError: The rules cannot be played.
        """
        return self.model_copy(update={"rules": self.resolved_rules(), "players": None})
