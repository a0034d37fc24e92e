"""The settings of a tournament: typed, checked, their defaults in this one place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from ohhell_env.errors import RulesError, shown
from ohhell_env.game import MAX_SEED
from ohhell_env.rules import Rules, as_rules
from ohhell_env.rules.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.rules.schedule import MAX_HAND_SIZE
from ohhell_train.settings import Settings
from ohhell_train.tournament.entrants import EntrantLike

MOST_BLOCKS = 10_000_000
"""Blocks of one tournament at most."""


def _not_empty(value: Any) -> Any:
    if value == "":
        raise ValueError("the name of a folder is wanted")
    return value


class TournamentConfig(Settings):
    """A tournament."""

    entrants: tuple[str | dict[str, str], ...] = ()
    """The players: names, checkpoints' folders, `module:Class`, `process:` and a command line, each
    with `name=` before it, or as `name: player`, to call it otherwise."""
    rules: str | dict[str, Any] = "oh_hell"
    """Name of a variant, path of a YAML file, or the settings themselves."""
    players: int | None = Field(default=None, ge=MIN_PLAYERS, le=MAX_PLAYERS)
    """Number of players at a table; null: the variant's usual number."""
    design: Literal["field", "mixed"] = "field"
    """"field": each player alone against copies of each other one; "mixed": drawn line-ups."""
    challenger: str | None = None
    """In a field, the only player that sits alone, against copies of each other one; null: each
    does in its turn."""
    episode: Literal["deal", "game"] = "deal"
    """What a block is: one deal, or a whole game."""
    hand_size: int | None = Field(default=None, ge=1, le=MAX_HAND_SIZE)
    """The only hand size of single deals; null: as the schedule has them."""
    deals: int = Field(default=2000, ge=1, le=MOST_BLOCKS)
    """Blocks (deals or games), each played once in every seat: of each pairing, of all if mixed."""
    seed: int = Field(default=5, ge=0, le=MAX_SEED)
    """Seed of the deals and of all chance."""
    stop: Annotated[float, Field(ge=0, le=1e6)] | None = None
    """Stop as soon as every two players are known to differ, or to differ by no more than so many
    points; null: play all deals."""
    anchor: str | None = None
    """The player that is the zero of the ratings; null: the one called random, if any."""
    unit: Annotated[int, Field(ge=1, le=MOST_BLOCKS)] | None = None
    """Blocks played and kept at a time; null: 256, or 16 with players that think long (search,
    programs)."""
    workers: int = Field(default=1, ge=1, le=1000)
    """Processes that play."""
    executor: Literal["inline", "processes", "ray"] | None = None
    """Who plays; null: this process, or processes if there are more workers than one."""
    address: str | None = None
    """Of a Ray cluster (auto, host:port or ray://host:port); null: one on this machine alone."""
    out: Annotated[Path, BeforeValidator(_not_empty)] = Path("results")
    """Folder of the results."""
    report: bool = True
    """Whether to write report.html, report.md and sample games."""

    @field_validator(
        "players", "hand_size", "deals", "seed", "stop", "unit", "workers", mode="before"
    )
    @classmethod
    def _no_truth_value(cls, value: Any) -> Any:
        """Refuses true and false, which count as 1 and 0: ``stop: false`` must not mean 0."""
        if isinstance(value, bool):
            raise ValueError("a number is wanted")
        return value

    def resolved_rules(self) -> Rules:
        """Returns the rules.

        Raises:
            RulesError: They cannot be played.
        """
        rules = self.rules if isinstance(self.rules, str) else Rules.from_dict(self.rules)
        return as_rules(rules, self.players)

    def wishes(self) -> list[EntrantLike]:
        """Returns the entrants as ``run_tournament`` takes them.

        Raises:
            RulesError: One is written with none or several names.
        """
        return [_wish(entrant) for entrant in self.entrants]


def _wish(entrant: str | dict[str, str]) -> EntrantLike:
    if isinstance(entrant, str):
        return entrant
    if len(entrant) != 1:
        raise RulesError(f"entrants: write one name: player a line, got {shown(entrant)}")
    ((name, player),) = entrant.items()
    return name, player
