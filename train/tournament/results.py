"""``Results``: what a tournament found out, with error bars; its files.

The unit is the block: one deal, played with the entrant in every seat. A block's difference is the
mean over these rotations of the entrant's points less the mean points of the others at the table.
Blocks are independent, rotations are not, so intervals are those of the means of blocks.
"""

from __future__ import annotations

import contextlib
import json
import platform
import tempfile
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import write_whole
from ohhell_env import __version__
from ohhell_env.errors import OhHellError
from ohhell_env.rules import Rules
from train.tournament.entrants import Entrant
from train.tournament.rating import rate
from train.tournament.statistics import interval
from train.tournament.tables import Outcome

RESULTS, TIMINGS = "results.json", "timings.json"
_DIGITS = 6
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """A finished tournament of the design "field"."""

    rules: Rules
    seed: int
    hand_size: int | None
    entrants: list[Entrant]
    outcomes: dict[tuple[int, int], Outcome]
    """By (entrant, entrant of the field), as places in ``entrants``."""
    seconds: float
    """Time that the play took, added up over all worker processes."""

    @property
    def names(self) -> list[str]:
        """Names of the entrants."""
        return [entrant.name for entrant in self.entrants]

    @property
    def blocks(self) -> int:
        """Number of deal blocks."""
        return len(next(iter(self.outcomes.values())).hand_sizes)

    def _own(self, place: int, name: str) -> NDArray[Any]:
        """Returns a figure of an entrant's own seat: (fields, blocks, rotations)."""
        met = [outcome for (one, _), outcome in self.outcomes.items() if one == place]
        return np.stack([_diagonal(getattr(outcome, name)) for outcome in met])

    @cached_property
    def differences(self) -> _Floats:
        """Points less the mean of the others': (entrants, blocks), mean over all fields."""
        return np.stack(
            [
                np.mean([_difference(o) for (one, _), o in self.outcomes.items() if one == p], 0)
                for p in range(len(self.entrants))
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the results as plain data; equal for equal seeds, without times."""
        ratings = rate(self.names, self.differences.T)
        return {
            "design": "field",
            "variant": self.rules.name,
            "rules": self.rules.to_dict(),
            "players": self.rules.players,
            "hand_size": self.hand_size,
            "seed": self.seed,
            "blocks": self.blocks,
            "versions": versions(),
            "entrants": {
                name: self._entrant(place) | {"rating": _rounded(ratings[name])}
                for place, name in enumerate(self.names)
            },
            "pairs": {
                f"{self.names[one]}|{self.names[other]}": _pair(outcome)
                for (one, other), outcome in sorted(self.outcomes.items())
            },
        }

    def _entrant(self, place: int) -> dict[str, Any]:
        mean, ci95 = interval(self._own(place, "points").mean(axis=(0, 2)))
        difference, difference_ci95 = interval(self.differences[place])
        made = self._own(place, "bids") == self._own(place, "tricks")
        shares = [_win_shares(o) for (one, _), o in self.outcomes.items() if one == place]
        plain = {
            "mean_points": mean,
            "ci95": ci95,
            "difference": difference,
            "difference_ci95": difference_ci95,
            "made_rate": float(made.mean()),
            "made_by_hand_size": self._by_hand_size(made),
            "win_share": float(np.mean(shares)),
            "deals": made.size,
            "faults": self.entrants[place].faults,
        }
        return _rounded(plain)

    def _by_hand_size(self, made: NDArray[np.bool_]) -> dict[str, dict[str, float]]:
        sizes = next(iter(self.outcomes.values())).hand_sizes
        by_size = {int(size): made[:, sizes == size] for size in np.unique(sizes)}
        return {
            str(size): {"made_rate": float(part.mean()), "deals": part.size}
            for size, part in by_size.items()
        }

    def timings(self) -> dict[str, Any]:
        """Returns what depends on the clock."""
        deals = len(self.outcomes) * self.blocks * self.rules.players
        asked = [entrant for entrant in self.entrants if entrant.decisions]
        return {
            "seconds": self.seconds,
            "deals": deals,
            "deals_per_second": deals / self.seconds,
            "entrants": {
                entrant.name: {
                    "decisions": entrant.decisions,
                    "seconds": entrant.seconds,
                    "ms_per_decision": 1000.0 * entrant.seconds / entrant.decisions,
                }
                for entrant in asked
            },
        }

    def save(self, folder: str | Path) -> Path:
        """Writes ``results.json`` and ``timings.json`` into a folder, each whole or not at all.

        Returns:
            The path of ``results.json``.

        Raises:
            OhHellError: It cannot be written; a file from before is as it was.
        """
        path = Path(folder) / RESULTS
        try:
            write_whole(path.with_name(TIMINGS), _json(self.timings()))
            write_whole(path, _json(self.to_dict()))
        except OSError as error:
            raise _unwritable(path, error) from None
        return path


def check_writable(folder: str | Path) -> None:
    """Makes the folder for the results, so that a bad one is found before the cards are dealt.

    Raises:
        OhHellError: Nothing can be written there.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> OhHellError:
    return OhHellError(f"{path}: results cannot be written there: {error.strerror or error}")


def _diagonal(values: NDArray[Any]) -> NDArray[Any]:
    """Returns the values of seat r in rotation r: (blocks, rotations)."""
    return np.diagonal(values, axis1=1, axis2=2)


def _difference(outcome: Outcome) -> _Floats:
    """Returns own points less the mean of the others', mean over rotations: (blocks,)."""
    points = outcome.points.astype(np.float64)
    own, seats = _diagonal(points), points.shape[2]
    return ((seats * own - points.sum(axis=2)) / (seats - 1)).mean(axis=1)


def _win_shares(outcome: Outcome) -> float:
    """Returns how often the entrant alone has the most points of a deal; ties are shared."""
    best = outcome.points == outcome.points.max(axis=2, keepdims=True)
    return float((_diagonal(best) / best.sum(axis=2)).mean())


def _pair(outcome: Outcome) -> dict[str, Any]:
    difference, ci95 = interval(_difference(outcome))
    made = _diagonal(outcome.bids) == _diagonal(outcome.tricks)
    return _rounded(
        {
            "difference": difference,
            "ci95": ci95,
            "blocks": len(outcome.hand_sizes),
            "mean_points": float(_diagonal(outcome.points).mean()),
            "made_rate": float(made.mean()),
        }
    )


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_rounded(inner) for inner in value]
    return round(value, _DIGITS) + 0.0 if isinstance(value, float) else value


def versions() -> dict[str, str]:
    """Returns the versions of whatever the figures depend on, installed here."""
    found = {"ohhell_env": __version__, "python": platform.python_version()}
    for package in ("numpy", "numba", "openskill", "torch"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, sort_keys=True, allow_nan=False) + "\n"
