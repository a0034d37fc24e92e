"""Figures from the blocks of a tournament: by block, by hand size, by seat.

The unit is the block: one deal (or one game) played in every rotation. Blocks are independent, but
the tables of a block are not. So everything with an interval is a matrix (entrants, blocks). It has
one value for each entrant and block, the mean over the tables at which the entrant counts, or NaN
if it did not play. In a field only the entrant that sits alone counts. At a mixed table, and with a
challenger, everybody counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_train.tournament.tables import Blocks

Floats = NDArray[np.float64]
Pairing = tuple[int, int]


def by_line(values: NDArray[Any]) -> NDArray[Any]:
    """Returns values (blocks, rotations, ..., seats) by place in the line-up instead of by seat."""
    seats = values.shape[-1]
    line = (np.arange(seats) + np.arange(seats)[:, np.newaxis]) % seats  # (rotations, line-up)
    shape = (1, seats, *(1,) * (values.ndim - 3), seats)
    return np.take_along_axis(values, line.reshape(shape), axis=-1)


def less_others(points: NDArray[Any]) -> Floats:
    """Returns points less the mean of the others at the table; the last axis is the table."""
    seats = points.shape[-1]
    total = points.sum(axis=-1, keepdims=True, dtype=np.float64)
    return (seats * points - total) / (seats - 1)


def differences(blocks: Blocks) -> Floats:
    """Returns the one's points less the field's mean, averaged over rotations: (blocks,)."""
    return less_others(by_line(blocks["scores"]))[:, :, 0].mean(axis=1)


def counted(blocks: Blocks, alone: bool) -> NDArray[np.int16]:
    """Returns the entrants that count: (blocks, 1) if one sits alone, else the line-ups."""
    return blocks["lineup"][:, :1] if alone else blocks["lineup"]


def sums_by_entrant(blocks: Blocks, alone: bool) -> dict[int, tuple[float, ...]]:
    """Returns the sums that are stored with a unit, for each entrant that counts.

    Returns:
        By place: tables, points, mean points of the others, wins (shares of them), deals, bids
        made, tricks over and tricks under.
    """
    who = counted(blocks, alone)
    width = who.shape[1]
    scores = by_line(blocks["scores"])
    columns = [
        np.ones(scores.shape),
        scores,
        scores - less_others(scores),
        by_line(blocks["win_shares"]),
    ]
    off = by_line(blocks["tricks"].astype(np.int16) - blocks["bids"])
    dealt = (blocks["hand_sizes"] > 0)[..., np.newaxis]
    counts = (dealt, dealt & (off == 0), np.maximum(off, 0), np.maximum(-off, 0))
    columns += [np.broadcast_to(column, off.shape).sum(axis=2) for column in counts]
    wide = np.stack([column[:, :, :width].sum(axis=1) for column in columns], axis=-1)
    found: dict[int, tuple[float, ...]] = {}
    whole = (True, True, False, False, True, True, True, True)
    for place in np.unique(who).tolist():
        sums = wide[who == place].sum(axis=0).tolist()
        found[place] = tuple(
            round(value) if is_whole else value for value, is_whole in zip(sums, whole, strict=True)
        )
    return found


def _means(values: Floats) -> Floats:
    """Returns the means of the rows without NaNs: (rows, 1); NaN for rows without numbers."""
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return (np.where(there, values, 0.0).sum(axis=1) / there.sum(axis=1))[:, np.newaxis]


class Figures:
    """All figures of a tournament's blocks.

    Args:
        pairings: The blocks by pairing; a mixed tournament has a single pairing.
        entrants: Number of entrants.
        blocks: Number of blocks of each pairing.
        alone: Whether one entrant sits alone against a field.
        challenger: Place of the only entrant that sits alone; None: every entrant in turn, and it
            counts only there.
    """

    def __init__(
        self,
        pairings: Mapping[Pairing, Blocks],
        entrants: int,
        blocks: int,
        alone: bool,
        challenger: int | None = None,
    ) -> None:
        self.pairings, self.entrants, self.blocks, self.alone = pairings, entrants, blocks, alone
        self.challenger = challenger
        self._all: Blocks = np.concatenate(list(pairings.values()))
        self._who = counted(self._all, alone and challenger is None)
        self._width = self._who.shape[1]

    def _own(self, values: NDArray[Any]) -> NDArray[Any]:
        """Returns values by seat as values of the entrants that count, in the last axis."""
        return by_line(values)[..., : self._width]

    def _matrix(self, values: Floats) -> Floats:
        """Returns means by entrant and block of values (rows, counted); NaN if there are none."""
        where = self._who, np.broadcast_to(self._all["block"][:, np.newaxis], self._who.shape)
        flat = np.ravel_multi_index(where, (self.entrants, self.blocks)).ravel()
        size = self.entrants * self.blocks
        times = np.bincount(flat, minlength=size)
        sums = np.bincount(flat, weights=values.ravel(), minlength=size)
        with np.errstate(invalid="ignore"):
            return (sums / times).reshape(self.entrants, self.blocks)

    @cached_property
    def points(self) -> Floats:
        """Points (of a deal, or the score of a game): (entrants, blocks)."""
        return self._matrix(self._own(self._all["scores"]).mean(axis=1))

    @cached_property
    def difference(self) -> Floats:
        """Points less the mean of the others at the table: (entrants, blocks)."""
        line = less_others(by_line(self._all["scores"]))
        return self._matrix(line[..., : self._width].mean(axis=1))

    @cached_property
    def strength(self) -> Floats:
        """The quantity that comparisons use: (entrants, blocks), see ``difference``.

        If strengths add up, so that x scores x - y against a table of y, an entrant's mean
        difference to k - 1 others is its strength less theirs, times k / (k - 1). Here k is the
        number of entrants in a field, or of seats at a mixed table. Without that factor the
        difference of two strengths is the advantage of one over the other at a table.

        With a challenger, its own value is 0, and that of any other entrant is its advantage over
        the challenger.
        """
        if self.challenger is not None:
            ahead = np.zeros((self.entrants, self.blocks))
            for one, field in self.pairings:
                ahead[field] = -self.against(one, field)
            return ahead
        others = self.entrants if self.alone else self._all["lineup"].shape[1]
        return self.difference * ((others - 1) / others)

    @cached_property
    def win_share(self) -> Floats:
        """Share of the win: (entrants, blocks)."""
        return self._matrix(self._own(self._all["win_shares"]).mean(axis=1))

    @cached_property
    def paid(self) -> Floats | None:
        """What was paid at the end: (entrants, blocks); None if the rules do not settle."""
        if "paid" not in (self._all.dtype.names or ()):
            return None
        return self._matrix(self._own(self._all["paid"]).mean(axis=1))

    @cached_property
    def made(self) -> Floats:
        """Share of the deals in which the bid was made: (entrants, blocks).

        The games of one entrant may have different numbers of deals. The mean of the values is the
        share over all its deals, and their variance is that of this ratio (linearized: Cochran,
        "Sampling Techniques", 1977, chapter 6). With equal numbers of deals, each value is the
        block's share.
        """
        off, dealt = self._off
        deals = self._matrix(dealt.sum(axis=(1, 2)).astype(np.float64))
        made = self._matrix(((off == 0) & dealt).sum(axis=(1, 2)).astype(np.float64))
        mean_deals = _means(deals)
        share = _means(made) / mean_deals
        return share + (made - share * deals) / mean_deals

    @cached_property
    def _off(self) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
        """Tricks less bids, and which deals were played: (rows, rotations, deals, counted)."""
        off = self._own(self._all["tricks"].astype(np.int16) - self._all["bids"])
        dealt = (self._all["hand_sizes"] > 0)[..., np.newaxis]
        return off, np.broadcast_to(dealt, off.shape)

    @cached_property
    def _deals(self) -> dict[str, NDArray[Any]]:
        """One value for each deal of each entrant that counts."""
        off, dealt = self._off
        seats = np.arange(self._all["bids"].shape[3])
        own_seat = (seats[:, np.newaxis] + seats) % len(seats)  # (rotations, line-up)
        after = (own_seat[:, np.newaxis, :] - self._all["dealers"][..., np.newaxis] - 1) % len(
            seats
        )
        columns = {
            "entrant": self._who[:, np.newaxis, np.newaxis, :],
            "hand_size": self._all["hand_sizes"][..., np.newaxis],
            "seat": after[..., : self._width] + 1,
            "bid": self._own(self._all["bids"]),
            "off": off,
        }
        return {name: np.broadcast_to(v, off.shape)[dealt] for name, v in columns.items()}

    def tricks_off(self, place: int) -> dict[str, Any]:
        """Returns how far an entrant is from its bids: means a deal, and shares by tricks off."""
        off = self._deals["off"][self._deals["entrant"] == place].astype(np.int64)
        counts = zip(*(each.tolist() for each in np.unique(off, return_counts=True)), strict=True)
        return {
            "over_tricks": float(np.maximum(off, 0).mean()),
            "under_tricks": float(np.maximum(-off, 0).mean()),
            "off_by": {str(k): n / off.size for k, n in counts},
        }

    def made_by(self, place: int, what: str) -> dict[str, dict[str, float]]:
        """Returns the made rate of an entrant by "hand_size", "seat" or "bid"."""
        own = self._deals["entrant"] == place
        keys, made = self._deals[what][own], self._deals["off"][own] == 0
        times, hits = np.bincount(keys), np.bincount(keys, weights=made)
        return {
            str(key): {"made_rate": float(hits[key] / times[key]), "deals": int(times[key])}
            for key in np.flatnonzero(times).tolist()
        }

    def alone_against(self, one: int, field: int) -> dict[str, float]:
        """Returns an entrant's points and made rate against the field of another."""
        met = self.pairings[one, field]
        off = by_line(met["tricks"].astype(np.int16) - met["bids"])[..., 0]
        return {
            "mean_points": float(by_line(met["scores"])[:, :, 0].mean()),
            "made_rate": float((off == 0)[met["hand_sizes"] > 0].mean()),
        }

    def deals_of(self, place: int) -> int:
        """Returns the number of deals that count for an entrant."""
        return int((self._deals["entrant"] == place).sum())

    def tables_of(self, place: int) -> int:
        """Returns the number of tables (deals or games) that count for an entrant."""
        return int((self._who == place).sum()) * self._all["scores"].shape[1]

    def against(self, one: int, other: int) -> Floats:
        """Returns an entrant's points less another's, averaged over the tables of a block.

        In a field: the one alone, less the mean of the other's field. At mixed tables: the blocks
        in which both sat together.

        Returns:
            float64 (blocks,), NaN if they did not meet.
        """
        values = np.full(self.blocks, np.nan)
        if self.alone:
            if (one, other) not in self.pairings:
                return values
            met = self.pairings[one, other]
            values[met["block"]] = differences(met)
            return values
        scores = by_line(self._all["scores"]).mean(axis=1)
        mine, theirs = self._who == one, self._who == other
        both = mine.any(axis=1) & theirs.any(axis=1)
        apart = (scores * mine).sum(axis=1) - (scores * theirs).sum(axis=1)
        values[self._all["block"][both]] = apart[both]
        return values
