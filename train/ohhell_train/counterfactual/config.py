"""The settings of counterfactual self-play: typed, checked, their defaults in this one place."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ohhell_env.errors import OhHellError, RulesError, shown
from ohhell_env.game import MAX_SEED
from ohhell_env.rules import Rules, as_rules
from ohhell_env.rules.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.rules.schedule import MAX_HAND_SIZE, hand_sizes
from ohhell_env.rules.variants import variants
from ohhell_train.settings import Settings

METHOD = "counterfactual"
_Share = Annotated[float, Field(ge=0, le=1)]


class NoiseSettings(Settings):
    """How far the learner strays while it plays, so that it sees more than its own habits."""

    card: _Share = 0.04
    """Chance of a random card."""
    bid_beside: _Share = 0.12
    """Chance of a bid one beside its own."""
    bid: _Share = 0.02
    """Chance of a random bid."""


class FieldSettings(Settings):
    """Other players that are met at a share of the tables."""

    player: str
    """A player that lives in the engine, as in ``ohhell_agents.make``: "heuristic", "random", a
    checkpoint of this kind; or "past", one of the earlier rounds."""
    share: float = Field(gt=0, le=1)
    """Share of the tables at which the learner sits alone among copies of it."""


class FitSettings(Settings):
    """Fitting the networks of a round."""

    epochs: int = Field(default=4, ge=1, le=1000)
    """Passes over the notes."""
    learning_rate: float = Field(default=3e-3, gt=0, le=1)
    """Of the first round, at its highest after a tenth of the steps; it falls to nothing."""
    later_learning_rate: float = Field(default=1e-3, gt=0, le=1)
    """Of the rounds that begin with networks fitted before."""
    minibatch: int = Field(default=2048, ge=2, le=1_000_000)
    """Decisions in one step of the optimiser."""


class ReportSettings(Settings):
    """Progress that is measured after each round."""

    deals: int = Field(default=4000, ge=2, le=1_000_000)
    """Duplicate deals against each field, each played once in every seat."""
    against: tuple[str, ...] = Field(default=("heuristic", "random"), min_length=1)
    """The fields of opponents, as in ``ohhell_agents.make``."""
    seed: int = Field(default=1_000_003, ge=0, le=MAX_SEED)
    """Seed of these deals: the same ones after every round, and none of the training's."""


class CounterfactualConfig(Settings):
    """A run of counterfactual self-play."""

    method: Literal["counterfactual"] = METHOD
    """Tells these settings from those of other ways to train."""
    rules: str | dict[str, Any] | tuple[str | dict[str, Any], ...] = "oh_hell"
    """Name of a variant, path of a YAML file, the settings themselves, or several of these."""
    players: int | tuple[int, ...] | None = None
    """Number of players, or several numbers; null: the variant's usual number."""
    hand_size: int | tuple[int, ...] | None = None
    """Train with this hand size only, or with several; null: with those of the schedule."""
    seed: int = Field(default=1, ge=0, lt=2**32)
    """Seed of the first weights, the deals and every choice."""
    start: str | None = None
    """A checkpoint of this kind to begin with; null: the heuristic player."""
    rounds: int = Field(default=1, ge=1, le=10_000)
    """How often the player is labelled and fitted."""
    decisions: int = Field(default=2_000_000, ge=1, le=10**9)
    """Decisions that are labelled in each round."""
    bids: _Share = 0.5
    """Share of the learner's bids that is labelled; 0: bids are not learned, and stay as they were
    in ``start`` or the heuristic player."""
    cards: _Share = 0.5
    """Share of its cards with a choice that is labelled; 0: as for ``bids``."""
    relative: _Share = 1.0
    """Share of the mean of the others' points that is taken off the own points: 1 maximises the
    difference, 0 the own points."""
    max_minutes: float | None = Field(default=None, gt=0, le=1_000_000)
    """Begin no other round after so many minutes; null: never stop so. Such a run is not
    reproducible."""
    threads: int = Field(default=2, ge=1, le=256)
    """Threads that play; the notes are the same with any number."""
    noise: NoiseSettings = NoiseSettings()
    fields: tuple[FieldSettings, ...] = ()
    """Other players to meet; at the rest of the tables the learner sits in every seat."""
    fit: FitSettings = FitSettings()
    report: ReportSettings = ReportSettings()

    @field_validator("players")
    @classmethod
    def _can_sit(cls, players: Any) -> Any:
        for number in _listed(players):
            if number is not None and not MIN_PLAYERS <= number <= MAX_PLAYERS:
                raise ValueError(f"{MIN_PLAYERS} to {MAX_PLAYERS} are allowed")
        return players

    @field_validator("hand_size")
    @classmethod
    def _can_be_dealt(cls, sizes: Any) -> Any:
        for size in _listed(sizes):
            if size is not None and not 1 <= size <= MAX_HAND_SIZE:
                raise ValueError(f"1 to {MAX_HAND_SIZE} are allowed")
        return sizes

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if sum(field.share for field in self.fields) > 1 + 1e-9:
            raise ValueError("the shares of the fields add up to more than 1")
        if self.bids == self.cards == 0:
            raise ValueError("with bids=0 and cards=0 there is nothing to learn")
        return self

    def cells(self) -> list[tuple[Rules, int | None]]:
        """Returns the tables to train at: rules, and the only hand size (None: the schedule's).

        Of several rules and several numbers of players, those are taken that go together.

        Raises:
            RulesError: Rules or numbers that cannot be played.
        """
        for name in ("rules", "players", "hand_size"):
            if getattr(self, name) == ():
                raise RulesError(f"{name}: one or more are wanted, got none")
        found: list[tuple[Rules, int | None]] = []
        for wish in _listed(self.rules):
            for rules in self._at_all_sizes_of_table(wish):
                found += [(rules, size) for size in self._sizes(rules)]
        if not found:
            raise RulesError(f"hand_size={self.hand_size}: no deal of these rules has such a hand")
        return found

    def _at_all_sizes_of_table(self, wish: str | dict[str, Any]) -> list[Rules]:
        numbers = _listed(self.players)
        if not isinstance(self.rules, tuple) or not isinstance(self.players, tuple):
            return [_rules_of(wish, number) for number in numbers]
        possible: list[Rules] = []
        for number in numbers:
            with contextlib.suppress(RulesError):
                possible.append(_rules_of(wish, number))
        if not possible:
            raise RulesError(f"rules: {shown(wish)} is played by none of {numbers} players")
        return possible

    def _sizes(self, rules: Rules) -> list[int | None]:
        """Returns the hand sizes wanted; where there are several rules, those that they deal."""
        sizes = _listed(self.hand_size)
        if sizes == [None] or not isinstance(self.hand_size, tuple):
            return sizes
        return [size for size in sizes if size in hand_sizes(rules)]

    def resolved(self) -> Self:
        """Returns the same settings with the rules that names and files stand for written out.

        A variant for several numbers of players keeps its name: it may not be the same for all.
        """
        if isinstance(self.rules, tuple):
            rules: Any = tuple(_out_of_file(wish) for wish in self.rules)
            return self.model_copy(update={"rules": rules})
        if isinstance(self.players, tuple):
            return self.model_copy(update={"rules": _out_of_file(self.rules)})
        rules, _ = self.cells()[0]
        return self.model_copy(update={"rules": rules.to_dict(), "players": rules.players})


def _out_of_file(wish: str | dict[str, Any]) -> str | dict[str, Any]:
    """Returns the name of a variant, or the settings of other rules."""
    if isinstance(wish, dict) or wish in variants():
        return wish
    return _rules_of(wish, None).to_dict()


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def _rules_of(wish: str | dict[str, Any], players: int | None) -> Rules:
    try:
        return as_rules(wish if isinstance(wish, str) else Rules.from_dict(wish), players)
    except OhHellError as error:
        raise RulesError(f"rules: {error}") from None
