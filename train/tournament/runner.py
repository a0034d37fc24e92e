"""Runs a tournament: all pairings of the entrants on the same deals."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

import numpy as np

from ohhell_env.actions import whole_number
from ohhell_env.errors import OhHellError
from ohhell_env.game import check_seed
from ohhell_env.rules import RulesLike, as_rules
from train.tournament.entrants import Entrant, EntrantLike, make_entrants
from train.tournament.results import Results
from train.tournament.tables import Deals, Outcome, play_pairing

CHUNK = 256
"""Blocks that are played at a time; the results do not depend on it."""

Progress = Callable[[int, int], None]
"""Called with the number of deals played so far and of all deals."""


def run_tournament(
    entrants: Sequence[EntrantLike],
    rules: RulesLike,
    blocks: int,
    seed: int,
    design: str = "field",
    hand_size: int | None = None,
    players: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Plays a tournament on duplicate deals.

    For each ordered pair of entrants (A, B) and each block, A sits once in every seat against
    copies of B in all the others, on the same cards with the same dealer. Figures depend on seed,
    rules, and names and players of the entrants only.

    Args:
        entrants: Names, paths, or pairs (name, player); a player keeps nothing from one decision to
            the next, for it sits at many tables at once.
        rules: Rules, the name of a variant, or the path of a YAML file.
        blocks: Number of deal blocks.
        seed: Decides the cards and all chance.
        design: "field".
        hand_size: The only hand size; None: each block's is drawn from the schedule.
        players: Overrides the number of players of the rules.
        progress: Called now and then.

    Raises:
        OhHellError: Entrants, rules or numbers that cannot be used.
    """
    if design != "field":
        raise OhHellError(f"design: 'field' is the only one yet, got {design!r}")
    number = whole_number(blocks)
    if number is None or number < 1:
        raise OhHellError(f"blocks: a whole number from 1 on is wanted, got {blocks!r}")
    rules = as_rules(rules, players)
    deals = Deals(rules, check_seed(seed), hand_size)
    field = make_entrants(entrants, rules, deals.seed)
    started = time.perf_counter()
    outcomes = _play_all(deals, field, number, progress)
    seconds = time.perf_counter() - started
    return Results(rules, deals.seed, hand_size, field, outcomes, seconds)


def _play_all(
    deals: Deals, field: list[Entrant], blocks: int, progress: Progress | None
) -> dict[tuple[int, int], Outcome]:
    pairs = list(itertools.permutations(range(len(field)), 2))
    parts: dict[tuple[int, int], list[Outcome]] = {pair: [] for pair in pairs}
    total, done = len(pairs) * blocks * deals.rules.players, 0
    for first in range(0, blocks, CHUNK):
        count = min(CHUNK, blocks - first)
        for one, other in pairs:
            part = play_pairing(deals, field[one], field[other], first, count)
            parts[one, other].append(part)
            done += count * deals.rules.players
            if progress is not None:
                progress(done, total)
    return {pair: _joined(part) for pair, part in parts.items()}


def _joined(parts: list[Outcome]) -> Outcome:
    names = ("points", "bids", "tricks", "hand_sizes")
    return Outcome(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
