"""Games of a teacher: it sits in every seat, or with opponents, and its choices are recorded.

Tables are played together in parts. A part depends only on the settings and on its number, so a
stopped run repeats the lost part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import ohhell_agents
from ohhell_env.actions import BID_BASE
from ohhell_env.envs.batched import BatchedOhHell
from ohhell_env.errors import RulesError, shown
from ohhell_train.distill.config import DistillConfig, NoiseSettings
from ohhell_train.distill.dataset import DistillDataset
from ohhell_train.ppo.rollout import hidden_hands, points_scale
from ohhell_train.tournament.entrants import Entrant, begin_entrant

TABLES = 512
"""Tables of a part; each plays one deal."""
_TEACHER = 0

Ints = NDArray[np.int64]


def make_players(config: DistillConfig) -> list[Entrant]:
    """Returns the teacher, then the opponents; each has been given the rules.

    Raises:
        OhHellError: A player does not exist, or cannot play at these tables.
    """
    tables, players = _tables(config, 0, 1), list[Entrant]()
    try:
        for name in (config.teacher, *config.opponent_names()):
            made = ohhell_agents.make(name, config.seed)
            players.append(Entrant.of(name, made, ours=True))
            begin_entrant(name, made, tables.rules)
            _asked(players[-1], tables, np.zeros(1, np.int64), np.zeros(1, np.uint64))
    except BaseException:
        close(players)
        raise
    return players


def _tables(config: DistillConfig, part: int, number: int) -> BatchedOhHell:
    rules, hand_size = config.table_kinds()[0]
    tables = BatchedOhHell(
        number,
        rules,
        seed=int(_chance(config.seed).integers(2**63)),
        layout=config.layout,
        hand_size=hand_size,
        first_table=part * TABLES,
    )
    tables.reset()
    return tables


def _chance(seed: int, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([seed, 0xD157, *numbers])


def _asked(
    player: Entrant, tables: BatchedOhHell, rows: Ints, random_bits: NDArray[np.uint64]
) -> Ints:
    """Returns a player's choices at some of the tables.

    Raises:
        RulesError: The player fails or answers with an illegal action, so its answer teaches
            nothing.
    """
    seats = tables.seats[rows].astype(np.int8)
    chosen = player.ask(tables.observations[rows], tables.action_masks[rows], random_bits, seats)
    if player.faults:
        raise RulesError(
            f"{shown(player.name)} cannot play at these tables ({tables.layout.name!r} layout "
            f"of the observation): {player.first_fault}"
        )
    return chosen


def play_part(
    config: DistillConfig,
    players: list[Entrant],
    part: int,
    on_progress: Callable[[int], None] = lambda _: None,
) -> DistillDataset:
    """Plays a deal at each table of a part; returns the teacher's decisions.

    Args:
        config: The settings.
        players: The players, from ``make_players``.
        part: The number of the part.
        on_progress: Called with the number of decisions so far.

    Raises:
        RulesError: A player makes a mistake.
    """
    random = _chance(config.seed, part)
    tables = _tables(config, part, TABLES)
    sitting = _seated(config, tables.rules.players, random)
    every = np.arange(TABLES)
    going = np.ones(TABLES, np.bool_)
    returns = np.zeros(sitting.shape, np.float32)
    decisions = list[DistillDataset]()
    tables_and_seats = list[tuple[Ints, Ints]]()
    while going.any():
        actions = tables.action_masks.argmax(axis=1)
        choice = going & (tables.action_masks.sum(axis=1, dtype=np.int64) > 1)
        turn = sitting[every, tables.seats]
        for place in np.unique(turn[choice]).tolist():
            rows = np.flatnonzero(choice & (turn == place))
            random_bits = random.integers(2**64, size=len(rows), dtype=np.uint64)
            actions[rows] = _asked(players[place], tables, rows, random_bits)
            if place == _TEACHER:
                decisions.append(_decisions(tables, rows, actions[rows]))
                tables_and_seats.append((rows, tables.seats[rows].copy()))
                on_progress(sum(map(len, decisions)))
                actions[rows] = _strayed(
                    actions[rows], tables.action_masks[rows], config.noise, random
                )
        tables.step(actions)
        ended = going & tables.deal_ends
        returns[ended] = tables.rewards[ended]
        going &= ~ended
    dataset = DistillDataset.joined(decisions)
    where = tuple(np.concatenate(numbers) for numbers in zip(*tables_and_seats, strict=True))
    dataset.returns[:] = returns[where] / points_scale(tables.rules)
    return dataset


def _seated(config: DistillConfig, seats: int, random: np.random.Generator) -> NDArray[np.int8]:
    """Returns the player of every seat (TABLES, seats), by its place among the players."""
    ends = np.cumsum([each.share for each in config.opponents])
    opponents = np.searchsorted(ends, random.random(TABLES), side="right") + 1
    opponents[opponents > len(ends)] = _TEACHER
    order = random.permuted(np.tile(np.arange(seats), (TABLES, 1)), axis=1)
    number = random.integers(1, seats, (TABLES, 1))
    return np.where(order < number, opponents[:, np.newaxis], _TEACHER).astype(np.int8)


def _decisions(tables: BatchedOhHell, rows: Ints, chosen: Ints) -> DistillDataset:
    """Returns the decisions at some tables; their results are filled in later."""
    views, masks = tables.observations[rows], tables.action_masks[rows]
    returns, hands = np.zeros(len(rows), np.float32), hidden_hands(tables, rows)
    return DistillDataset.of(views, masks, chosen, returns, hands)


def _strayed(
    chosen: Ints, masks: NDArray[np.int8], noise: NoiseSettings, random: np.random.Generator
) -> Ints:
    """Returns the actions to play, mostly the chosen ones, with some noise."""
    anything = (masks * random.random(masks.shape)).argmax(axis=1)
    beside = chosen + random.choice([-1, 1], len(chosen))
    beside = np.minimum(beside, masks.shape[1] - 1)
    bids, chance = chosen >= BID_BASE, random.random(len(chosen))
    far = chance < np.where(bids, noise.bid, noise.card)
    near = bids & (chance < noise.bid + noise.bid_beside)
    near &= masks[np.arange(len(chosen)), beside] != 0
    return np.where(far, anything, np.where(near, beside, chosen))


def close(players: list[Entrant]) -> None:
    """Releases the players' resources, such as programs."""
    for player in players:
        player.close()
