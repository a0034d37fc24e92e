"""Decisions of a teacher: its view, its choice, its seat's reward, and the hidden hands."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ohhell_env.observation import Layout


class DistillBatch(NamedTuple):
    """Some decisions in the form for the fit."""

    views: Tensor
    """int8 (B, L), the seat's views: the network's only input."""
    masks: Tensor
    """uint8 (B, A), 1 for each legal action."""
    chosen: Tensor
    """int64 (B,), the teacher's action."""
    returns: Tensor
    """float32 (B,), the seat's result of the deal, in units of reward."""
    hands: NDArray[np.uint64]
    """(B, seats - 1), the other seats' hands, clockwise: to be guessed, never an input."""


@dataclass(frozen=True)
class DistillDataset:
    """Decisions; of the views only nonzero values are kept, one value in ten."""

    sizes: NDArray[np.uint16]
    """(D,), number of nonzero values of each view."""
    places: NDArray[np.uint16]
    """(n,), positions of the nonzero values, in the order of the decisions."""
    values: NDArray[np.int8]
    """(n,), the nonzero values."""
    legal: NDArray[np.uint8]
    """(D, bytes), the bits of the action masks."""
    chosen: NDArray[np.uint8]
    """(D,), the teacher's action."""
    returns: NDArray[np.float32]
    """(D,), the seat's result of the deal, in units of reward."""
    hands: NDArray[np.uint64]
    """(D, seats - 1), masks of the other seats' hands, clockwise."""

    def __len__(self) -> int:
        return len(self.sizes)

    @classmethod
    def of(
        cls,
        views: NDArray[np.int8],
        masks: NDArray[np.int8],
        chosen: NDArray[np.int64],
        returns: NDArray[np.float32],
        hands: NDArray[np.uint64],
    ) -> Self:
        """Returns decisions from the tables' views (D, L) and masks (D, A)."""
        rows, places = np.nonzero(views)
        return cls(
            sizes=np.bincount(rows, minlength=len(views)).astype(np.uint16),
            places=places.astype(np.uint16),
            values=views[rows, places],
            legal=np.packbits(masks != 0, axis=1),
            chosen=chosen.astype(np.uint8),
            returns=returns,
            hands=hands,
        )

    @classmethod
    def joined(cls, parts: Sequence[DistillDataset]) -> Self:
        """Returns the decisions of several parts, one part after the other."""
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in NAMES}
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Returns all arrays by name."""
        return {name: getattr(self, name) for name in NAMES}

    @functools.cached_property
    def _starts(self) -> NDArray[np.int64]:
        sizes = self.sizes.astype(np.int64)
        return np.cumsum(sizes) - sizes

    def batch(self, rows: NDArray[np.int64], layout: Layout) -> DistillBatch:
        """Returns some of the decisions, with full views and masks.

        Args:
            rows: The indices of the decisions, in any order.
            layout: The layout of the views.
        """
        sizes = self.sizes[rows].astype(np.int64)
        before = np.cumsum(sizes) - sizes
        entries = np.repeat(self._starts[rows] - before, sizes) + np.arange(sizes.sum())
        views = np.zeros((len(rows), layout.length), np.int8)
        views[np.repeat(np.arange(len(rows)), sizes), self.places[entries]] = self.values[entries]
        masks = np.unpackbits(self.legal[rows], axis=1, count=layout.num_actions)
        return DistillBatch(
            torch.from_numpy(views),
            torch.from_numpy(masks),
            torch.from_numpy(self.chosen[rows].astype(np.int64)),
            torch.from_numpy(self.returns[rows]),
            self.hands[rows],
        )


NAMES = tuple(field.name for field in fields(DistillDataset))
