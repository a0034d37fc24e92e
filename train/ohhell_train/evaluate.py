"""Measures progress during a run: the newest player against a field, on duplicate deals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import ohhell_agents
from ohhell_agents.base import Agent
from ohhell_env.errors import OhHellError, RulesError, shown
from ohhell_env.rules import Rules
from ohhell_train.settings import ReportSettings, TableKind
from ohhell_train.tournament.analysis.figures import differences
from ohhell_train.tournament.analysis.statistics import interval
from ohhell_train.tournament.entrants import begin_entrant, make_entrants
from ohhell_train.tournament.tables import Deals, play_pairing


@dataclass(frozen=True)
class Difference:
    """One player's points a deal over a field, with the 95 % interval."""

    mean: float
    low: float
    high: float
    fault: str = ""
    """The first mistake of a player; a random move replaced each mistake."""
    by_field: bool = False
    """Whether only the field made mistakes."""

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ±{(self.high - self.low) / 2:.2f}"


def measure(
    player: Agent, field: Agent, rules: Rules, deals: int, seed: int, hand_size: int | None = None
) -> Difference:
    """Plays a player against a field as in a tournament: each deal once in every seat.

    Args:
        player: The player.
        field: The player in all other seats.
        rules: The rules.
        deals: Number of deals, at least 2.
        seed: Seed of the deals and all random choices.
        hand_size: The only hand size; None draws it from the schedule.
    """
    one, others = make_entrants([("newest", player), ("field", field)], rules, seed)
    blocks = play_pairing(Deals(rules, seed, hand_size), one, others, 0, deals)
    mean, ends = interval(differences(blocks))
    assert ends is not None, "two deals or more have an interval"
    return Difference(
        mean,
        *ends,
        one.first_fault or others.first_fault,
        not one.first_fault and others.faults > 0,
    )


def measure_fields(
    player: Agent,
    report: ReportSettings,
    kinds: Sequence[TableKind],
    deals: int,
    field_of: Callable[[str], Agent | None],
) -> dict[str, Difference]:
    """Plays a player against every field of a run's measurements.

    Args:
        player: The player.
        report: The fields, the seed, and the number of deals for slow players.
        kinds: The tables; each difference is the mean over them.
        deals: Number of deals at each kind of table.
        field_of: Returns the player of a field by name; None leaves the field out.

    Returns:
        The differences by field.
    """
    found: dict[str, Difference] = {}
    for name in report.fields:
        if (field := field_of(name)) is None:
            continue
        with field, warnings.catch_warnings():
            if len(kinds) > 1:  # it was trained for all of them
                warnings.filterwarnings("ignore", "trained for", UserWarning)
            slow = field.one_by_one or player.one_by_one
            number = min(deals, report.slow_deals) if slow else deals
            found[name] = averaged(
                [measure(player, field, rules, number, report.seed, size) for rules, size in kinds]
            )
        warn_of_faults(name, found[name])
    return found


def check_fields(names: Sequence[str], tables: Sequence[Rules], seed: int) -> None:
    """Checks that the fields of the measurements exist and can play.

    Args:
        names: Players that ``ohhell_agents.make`` accepts.
        tables: The rules of all tables at which they are to play.
        seed: Seed of their random choices.

    Raises:
        RulesError: A player does not exist, or cannot play under the rules.
    """
    for name in names:
        try:
            with ohhell_agents.make(name, seed) as field, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are raised again when it plays
                for rules in tables:
                    begin_entrant(name, field, rules)
        except OhHellError as error:
            raise RulesError(f"report.fields: {error}") from None


def warn_of_faults(field: str, found: Difference) -> None:
    """Warns if mistakes distorted a measurement.

    Args:
        field: The name of the field.
        found: The measurement.
    """
    if found.fault:
        warnings.warn(
            f"points over {shown(field)} are not reliable: "
            f"{'the field' if found.by_field else 'the newest player'} made mistakes, and random "
            f"moves replaced them; the first mistake: {found.fault[:200]}",
            stacklevel=3,
        )


def averaged(found: Sequence[Difference]) -> Difference:
    """Returns the mean of measurements on different deals, with equal weights."""
    mean = sum(each.mean for each in found) / len(found)
    half = math.sqrt(sum((each.high - each.low) ** 2 for each in found)) / 2 / len(found)
    if len(found) == 1:
        return found[0]
    first = next((each for each in found if each.fault), found[0])
    return Difference(mean, mean - half, mean + half, first.fault, first.by_field)
