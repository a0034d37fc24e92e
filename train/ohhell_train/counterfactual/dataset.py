"""Labelled decisions: the situation, the choices, and the result of each choice."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.value.players import HEURISTIC
from ohhell_agents.value.trick_model import (
    BID_CHOICE,
    BID_SITUATION,
    BIT_WORDS,
    CARD_CHOICE,
    CARD_SITUATION,
)
from ohhell_env.engine import batch
from ohhell_env.engine.layout import Rows, compile_rules, new_games
from ohhell_env.errors import RulesError
from ohhell_train.counterfactual.config import CounterfactualConfig
from ohhell_train.counterfactual.rollouts import RolloutSettings, label_all
from ohhell_train.settings import TableKind

TABLES = 256
"""Tables that are played together, under one set of rules."""
_IN_VAIN = 100
"""After this many parts without a decision, the round gives up."""
_DECISIONS, _CHOICES = 64 * TABLES, 6 * 64 * TABLES
"""The most decisions and choices of one part."""


class AdvantageDataset(NamedTuple):
    """Labelled decisions of one phase."""

    situations: NDArray[np.floating]
    """(decisions, inputs), the inputs that all choices of a decision share."""
    bits: NDArray[np.uint64]
    """(decisions, BIT_WORDS), the table as bits."""
    choices: NDArray[np.floating]
    """(choices, inputs), in the order of the decisions."""
    numbers: NDArray[np.integer]
    """(choices,), card (suits in order) or bid."""
    values: NDArray[np.float32]
    """(choices,), the result of each choice in prices
    (``ohhell_agents.value.advantage_nets.price``)."""
    sizes: NDArray[np.int8]
    """(decisions,), number of choices of each decision."""

    @classmethod
    def empty(cls, situation: int, choice: int) -> Self:
        """Returns an empty dataset with room for one part."""
        return cls(
            np.zeros((_DECISIONS, situation), np.float32),
            np.zeros((_DECISIONS, BIT_WORDS), np.uint64),
            np.zeros((_CHOICES, choice), np.float32),
            np.zeros(_CHOICES, np.int64),
            np.zeros(_CHOICES, np.float32),
            np.zeros(_DECISIONS, np.int8),
        )

    def compact(self, decisions: int, choices: int) -> AdvantageDataset:
        """Returns a copy of the filled part in half the memory; float16 is exact enough."""
        return AdvantageDataset(
            self.situations[:decisions].astype(np.float16),
            self.bits[:decisions].copy(),
            self.choices[:choices].astype(np.float16),
            self.numbers[:choices].astype(np.int8),
            self.values[:choices].copy(),
            self.sizes[:decisions].copy(),
        )


class LabelledDecisions(NamedTuple):
    """The labelled decisions of both phases."""

    cards: AdvantageDataset
    bids: AdvantageDataset

    @property
    def decisions(self) -> int:
        """The number of labelled decisions."""
        return len(self.cards.sizes) + len(self.bids.sizes)


@dataclass(frozen=True)
class EngineOpponent:
    """Opponents that the learner meets alone, at a share of the tables."""

    numbers: tuple[int, ...]
    """Their numbers inside the engine; at each table one of them takes all other seats."""
    share: float


@dataclass(frozen=True)
class EnginePlayers:
    """The players: the models of all, with the learner's first, and the opponents that it meets."""

    models: Rows
    opponents: tuple[EngineOpponent, ...] = ()


def label(
    config: CounterfactualConfig,
    engine: EnginePlayers,
    number: int,
    on_progress: Callable[[int], None] = lambda _: None,
) -> LabelledDecisions:
    """Plays and labels the decisions of a round; any number of threads gives the same result.

    Args:
        config: The settings of the run.
        engine: The players.
        number: The round, for the random streams.
        on_progress: Called with the number of decisions so far.

    Raises:
        RulesError: No decision can be labelled.
    """
    kinds = config.table_kinds()
    seed = np.random.SeedSequence([config.seed, number, 0xC0DE]).generate_state(1, np.uint64)[0]

    def part(place: int) -> LabelledDecisions:
        return _part(config, engine, kinds[place % len(kinds)], seed, place)

    parts: list[LabelledDecisions] = []
    found = 0
    for one in _in_order(part, config.threads):
        parts.append(one)
        found += one.decisions
        on_progress(found)
        if not found and len(parts) >= max(_IN_VAIN, len(kinds)):
            raise RulesError(
                f"bids={config.bids:g}, cards={config.cards:g}: no decision was "
                f"labelled in {len(parts) * TABLES:,} deals; raise one of them"
            )
        if found >= config.decisions:
            break
    cards, bids = (list(datasets) for datasets in zip(*parts, strict=True))
    parts.clear()  # otherwise all decisions would be in memory twice
    return LabelledDecisions(_joined(cards), _joined(bids))


def _in_order(
    part: Callable[[int], LabelledDecisions], threads: int
) -> Iterator[LabelledDecisions]:
    """Yields part 0, part 1 and so on without end, with a few parts computed ahead."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[LabelledDecisions]] = deque()
        place = 0
        try:
            while True:
                while len(waiting) < 2 * threads:
                    waiting.append(pool.submit(part, place))
                    place += 1
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _joined(parts: list[AdvantageDataset]) -> AdvantageDataset:
    """Returns all parts as one; each array is freed once copied."""
    columns = list(zip(*parts, strict=True))
    parts.clear()
    return AdvantageDataset(*(np.concatenate(columns.pop(0)) for _ in AdvantageDataset._fields))


def _part(
    config: CounterfactualConfig,
    engine: EnginePlayers,
    kind: TableKind,
    seed: np.uint64,
    place: int,
) -> LabelledDecisions:
    """Plays and labels one part."""
    rules, size = kind
    compiled = compile_rules(rules, "deal", size)
    games, chooser = new_games(TABLES), new_games(1)
    batch.seed_tables(games, seed, np.uint64(place * TABLES))
    batch.seed_tables(chooser, ~seed, np.uint64(place))
    batch.begin_all(games, compiled)
    players = _seated(engine, rules.players, np.random.default_rng([int(seed), place]))
    noise = config.noise
    settings = RolloutSettings(
        noise.card, noise.bid_beside, noise.bid, config.bids, config.cards, config.relative
    )
    cards, bids = (
        AdvantageDataset.empty(CARD_SITUATION, CARD_CHOICE),
        AdvantageDataset.empty(BID_SITUATION, BID_CHOICE),
    )
    tables = games, new_games(1), players
    at = label_all(tables, compiled, engine.models, chooser, settings, cards, bids)
    return LabelledDecisions(cards.compact(at[0], at[1]), bids.compact(at[2], at[3]))


def _seated(engine: EnginePlayers, seats: int, random: np.random.Generator) -> NDArray[np.int16]:
    """Returns the player of every seat: int16 (TABLES, seats)."""
    players = np.full((TABLES, seats), HEURISTIC, np.int16)
    shares = [opponent.share for opponent in engine.opponents]
    if not shares:
        return players
    drawn = random.random(TABLES)
    which = np.searchsorted(np.cumsum(shares), drawn, side="right")
    for place, opponent in enumerate(engine.opponents):
        tables = np.flatnonzero(which == place)
        players[tables] = random.choice(np.array(opponent.numbers), len(tables))[:, None]
        players[tables, random.integers(seats, size=len(tables))] = HEURISTIC
    return players
