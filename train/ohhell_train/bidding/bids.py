"""The bids of a player at tournament tables, with what was known at the time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.value.players import make_keys
from ohhell_env.engine import batch
from ohhell_env.engine.layout import NUM_BIDS, Rows, engine_rows
from ohhell_env.errors import RulesError, shown
from ohhell_train.bidding.forecasts import BidPositions, forecasts_of
from ohhell_train.tournament.entrants import Entrant
from ohhell_train.tournament.tables import Blocks, Deals, play_blocks, play_pairing

UNKNOWN = -1
"""A trump suit that is revealed after the bidding, or bids made in secret."""
_AT_ONCE = 1024  # blocks

BIDS = np.dtype(
    [
        ("block", "<i8"),  # number of the deal
        ("hand_size", "i1"),
        ("place", "i1"),  # in the bidding: 1 = eldest
        ("bid", "i1"),
        ("tricks", "i1"),  # won in the deal
        ("points", "<i4"),
        ("points_if_made", "<i4"),
        ("hand", "<u8"),  # as dealt, a mask of cards
        ("trump", "i1"),  # suit, NO_TRUMP, or UNKNOWN
        ("before", "<i2"),  # sum of the bids made before, or UNKNOWN
        ("blind", "?"),  # a one-card deal in which nobody sees their own card
        # the player's forecasts; NaN without one
        ("value", "<f8"),  # expected points of this bid
        ("prob", "<f8"),  # of making it
        ("trick_probs", "<f8", (NUM_BIDS,)),  # of 0, 1, ... tricks
    ]
)
"""One row for each bid."""


def play_bids(
    deals: Deals, one: Entrant, field: Entrant | None, count: int, with_forecasts: bool = True
) -> Rows:
    """Plays deals as in a tournament, and returns a player's bids.

    Args:
        deals: The deals; single deals only.
        one: The player.
        field: The player in all other seats, with ``one`` in each seat in turn; None: the player
            sits in every seat, and each deal is played once.
        count: Number of deals.
        with_forecasts: Whether to ask the player for forecasts, if it can give them.

    Returns:
        ``BIDS`` rows, in the order of the deals.

    Raises:
        RulesError: The episode is a whole game, or there are no deals.
    """
    if deals.episode != "deal" or count < 1:
        raise RulesError(
            f"bids need at least one deal, and single deals only; got {count} of episode "
            f"{shown(deals.episode)}"
        )
    parts = [
        _play(deals, one, field, first, min(_AT_ONCE, count - first), with_forecasts)
        for first in range(0, count, _AT_ONCE)
    ]
    return np.concatenate(parts)


def _play(
    deals: Deals, one: Entrant, field: Entrant | None, first: int, count: int, with_forecasts: bool
) -> Rows:
    seats = deals.rules.players
    if field is None:
        everywhere = np.zeros((count, seats), np.int16)
        blocks, rotations = (
            play_blocks(deals, (one,), everywhere, first)[0],
            1,
        )  # the other rotations repeat it
    else:
        blocks, rotations = play_pairing(deals, one, field, first, count), seats
    tables = _PlayedTables(deals, blocks, rotations, first)
    asked = np.ones((len(tables.dealt), seats), bool)
    if field is not None:
        asked[:] = tables.rotation[:, np.newaxis] == np.arange(seats)
    found = tables.bids_of(asked)
    if with_forecasts:
        names = np.where(asked, one.name_number, (field or one).name_number)
        bidding = BidPositions(deals, tables.dealt, tables.bids, asked, tables.keys(names))
        for name, values in forecasts_of(one, bidding).items():
            found[name] = values
    return found


class _PlayedTables:
    """Tables that were played, one row for each block and rotation.

    Args:
        deals: The deals.
        blocks: The results.
        rotations: The number of rotations that count.
        first: The first block.
    """

    def __init__(self, deals: Deals, blocks: Blocks, rotations: int, first: int) -> None:
        self.deals = deals
        count, seats = blocks["lineup"].shape
        self.block = np.repeat(np.arange(count), rotations)
        self.rotation = np.tile(np.arange(rotations), count)
        fresh = deals.dealt(first, count)
        self.dealt: Rows = engine_rows(fresh.view(np.ndarray)[self.block])
        known = [batch.trump_known_one(fresh[i : i + 1], deals.compiled) for i in range(count)]
        self.trump = np.where(known, fresh["trump"], UNKNOWN)[self.block]
        self.number = first + self.block

        def by_seat(name: str) -> NDArray[np.int64]:
            values = blocks[name][:, :rotations].reshape(-1, seats)  # a block has one single deal
            return values.astype(np.int64)

        self.bids, self.tricks, self.scores = map(by_seat, ("bids", "tricks", "scores"))

    def keys(self, names: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Returns the random keys of the seats with which the tables were played."""
        keys = np.empty(names.shape, np.uint64)
        numbers = self.number.astype(np.uint64), self.rotation.astype(np.uint64)
        make_keys(np.uint64(self.deals.seed), names, *numbers, keys)
        return keys

    def bids_of(self, asked: NDArray[np.bool_]) -> Rows:
        """Returns the bids of some seats (tables, seats), without forecasts."""
        table, seat = np.nonzero(asked)
        seats = asked.shape[1]
        place = (seat - self.dealt["dealer"][table] - 1) % seats
        size = self.dealt["hand_size"][table]
        found = np.zeros(len(table), BIDS)
        for name in ("value", "prob", "trick_probs"):
            found[name] = np.nan
        found["block"], found["hand_size"], found["place"] = self.number[table], size, place + 1
        found["bid"], found["tricks"] = self.bids[table, seat], self.tricks[table, seat]
        found["points"] = self.scores[table, seat]
        bid = self.bids[table, seat]
        found["points_if_made"] = self.deals.compiled["points"][0][size, bid, bid]
        found["hand"] = self.dealt["hands"][table, seat]
        found["trump"], found["blind"] = self.trump[table], self.dealt["blind"][table] != 0
        found["before"] = self._before()[table, place]
        return found

    def _before(self) -> NDArray[np.int64]:
        """Returns the sum of the earlier bids for each place: (tables, places)."""
        if self.deals.compiled["simultaneous"][0]:
            return np.full(self.bids.shape, UNKNOWN)
        seats = self.bids.shape[1]
        turns = (
            self.dealt["dealer"][:, np.newaxis].astype(np.int64) + 1 + np.arange(seats)
        ) % seats
        in_turn = np.take_along_axis(self.bids, turns, axis=1)
        return in_turn.cumsum(axis=1) - in_turn
