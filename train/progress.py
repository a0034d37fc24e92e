"""Progress during a run: the newest player against a field, on duplicate deals."""

from __future__ import annotations

from dataclasses import dataclass

import agents
from agents.base import Agent
from ohhell_env.rules import Rules
from train.tournament.entrants import make_entrants
from train.tournament.figures import differences
from train.tournament.statistics import interval
from train.tournament.tables import Deals, play_pairing


@dataclass(frozen=True)
class Difference:
    """Points a deal of one player over a field of others, with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ±{(self.high - self.low) / 2:.2f}"


def measure(
    player: Agent, field: str, rules: Rules, deals: int, seed: int, hand_size: int | None = None
) -> Difference:
    """Plays a player against a field as a tournament does: each deal once in every seat.

    Args:
        player: The player.
        field: Name of the player in all other seats.
        rules: The rules.
        deals: How many deals, two or more.
        seed: Seed of the deals and of all chance.
        hand_size: The only hand size; None: drawn from the schedule.
    """
    other = agents.make(field, seed)
    one, others = make_entrants([("newest", player), (field, other)], rules, seed)
    blocks = play_pairing(Deals(rules, seed, hand_size), one, others, 0, deals)
    mean, ends = interval(differences(blocks))
    assert ends is not None, "two deals or more have an interval"
    return Difference(mean, *ends)
