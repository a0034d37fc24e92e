"""Progress during a run: the newest player against a field, on duplicate deals."""

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
    """Points a deal of one player over a field of others, with its 95 % interval."""

    mean: float
    low: float
    high: float
    fault: str = ""
    """The first mistake of one of the players; random moves were played in place of mistakes."""
    by_field: bool = False
    """Whether the field made it, and the player none."""

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ±{(self.high - self.low) / 2:.2f}"


def measure(
    player: Agent, field: Agent, rules: Rules, deals: int, seed: int, hand_size: int | None = None
) -> Difference:
    """Plays a player against a field as a tournament does: each deal once in every seat.

    Args:
        player: The player.
        field: The player in all other seats.
        rules: The rules.
        deals: How many deals, two or more.
        seed: Seed of the deals and of all chance.
        hand_size: The only hand size; None: drawn from the schedule.
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
    """Plays a player against each field that a run is measured against.

    Args:
        player: The player.
        report: The fields, the seed, and the deals against fields that are asked one by one.
        kinds: The tables; a difference is the mean over them.
        deals: How many deals at each kind of table.
        field_of: Makes the player of a field from its name; None: it is left out.

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
    """Checks that there are the players to be measured against, and that they can sit down.

    Args:
        names: What ``ohhell_agents.make`` makes them from.
        tables: The rules of all tables that they are to play at.
        seed: Of their chance.

    Raises:
        RulesError: One is not found, or cannot play under the rules.
    """
    for name in names:
        try:
            with ohhell_agents.make(name, seed) as field, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they come again when it plays
                for rules in tables:
                    begin_entrant(name, field, rules)
        except OhHellError as error:
            raise RulesError(f"report.fields: {error}") from None


def warn_of_faults(field: str, found: Difference) -> None:
    """Warns where a measurement is none of the players that it names.

    Args:
        field: The name of the field.
        found: What was measured.
    """
    if found.fault:
        warnings.warn(
            f"points over {shown(field)} are not what they seem: "
            f"{'the field' if found.by_field else 'the newest player'} made mistakes, in whose "
            f"place random moves were played; the first: {found.fault[:200]}",
            stacklevel=3,
        )


def averaged(found: Sequence[Difference]) -> Difference:
    """Returns the mean of measurements on different deals, each counted alike."""
    mean = sum(each.mean for each in found) / len(found)
    half = math.sqrt(sum((each.high - each.low) ** 2 for each in found)) / 2 / len(found)
    if len(found) == 1:
        return found[0]
    first = next((each for each in found if each.fault), found[0])
    return Difference(mean, mean - half, mean + half, first.fault, first.by_field)
