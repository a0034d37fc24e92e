"""``Results``: the results of a tournament with intervals, and their files.

Every interval is over blocks, see ``figures.py``; ``statistics.py`` computes them.
``docs/tournament.md`` describes the fields of ``results.json``.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ohhell_env import __version__
from ohhell_env.errors import OhHellError
from ohhell_env.files import write_whole
from ohhell_train.tournament.analysis import statistics
from ohhell_train.tournament.analysis.figures import Figures, Floats, Pairing
from ohhell_train.tournament.analysis.rating import rate
from ohhell_train.tournament.analysis.statistics import Comparison
from ohhell_train.tournament.config import TournamentConfig
from ohhell_train.tournament.entrants import Entrant
from ohhell_train.tournament.tables import Blocks, Deals, Inside

RESULTS, TIMINGS = "results.json", "timings.json"
_DIGITS = 6
_APART = 0.2
"""The share of its width by which an interval may differ from the bootstrap's without a warning."""


@dataclass(frozen=True)
class Results:
    """A finished tournament."""

    config: TournamentConfig
    """The settings as they were played: rules, unit and anchor resolved."""
    deals: Deals
    entrants: list[Entrant]
    outcomes: Mapping[Pairing, Blocks]
    """The blocks by pairing (entrant, entrant of the field); a mixed tournament has one key."""
    inside: Inside
    """The engine's own work, summed."""
    seconds: float
    """Seconds of play, summed over all worker processes."""

    @property
    def names(self) -> list[str]:
        """Names of the entrants."""
        return [entrant.name for entrant in self.entrants]

    @property
    def blocks(self) -> int:
        """Number of deal blocks."""
        return len(next(iter(self.outcomes.values())))

    @property
    def alone(self) -> bool:
        """Whether one entrant sits alone against a field."""
        return self.config.design == "field"

    @cached_property
    def _by_name(self) -> list[int]:
        """The places of the entrants in order of their names.

        Sums and lists use this order, so that not even a rounding error depends on the order in
        which the entrants were named.
        """
        return sorted(range(len(self.entrants)), key=lambda place: self.names[place])

    @cached_property
    def figures(self) -> Figures:
        """All figures by block."""
        rank = {place: number for number, place in enumerate(self._by_name)}
        pairings = sorted(self.outcomes, key=lambda pair: [rank.get(place, -1) for place in pair])
        outcomes = {pairing: self.outcomes[pairing] for pairing in pairings}
        challenger = self.config.challenger
        place = None if challenger is None else self.names.index(challenger)
        return Figures(outcomes, len(self.entrants), self.blocks, self.alone, place)

    def to_dict(self) -> dict[str, Any]:
        """Returns the results as plain data without times; equal seeds give equal results."""
        return self._plain

    @cached_property
    def _plain(self) -> dict[str, Any]:
        rules, config = self.deals.rules, self.config
        comparisons = self._comparisons()
        plain = {
            "design": config.design,
            "episode": config.episode,
            "variant": rules.name,
            "rules": rules.to_dict(),
            "players": rules.players,
            "hand_size": config.hand_size,
            "seed": config.seed,
            "blocks": self.blocks,
            "planned_blocks": config.deals,
            "stop": config.stop,
            "unit": None if config.stop is None else min(config.unit or config.deals, config.deals),
            "anchor": config.anchor,
            "challenger": config.challenger,
            "versions": versions(),
            "entrants": self._entrants(),
            "pairs": dict(self._pairs()),
            "comparisons": comparisons,
        }
        return plain | {"warnings": self._warnings(plain)}

    def _interval(self, values: Floats) -> tuple[float, tuple[float, float] | None]:
        """Returns a mean and its interval, an anytime one if the tournament could stop early."""
        values = values[~np.isnan(values)]
        return (
            statistics.interval(values) if self.config.stop is None else statistics.anytime(values)
        )

    def _entrants(self) -> dict[str, Any]:
        ratings = rate(self.names, self.figures.strength.T, anchor=self.config.anchor)
        rows = self.figures.difference[self._by_name]
        resampled = statistics.bootstrap(rows, self.config.seed)
        found = {}
        for place, ends in zip(self._by_name, resampled, strict=True):
            entrant = self.entrants[place]
            rating = ratings[entrant.name]
            bootstrap = None if np.isnan(ends).any() else tuple(ends)
            figures = self._entrant(place) | {"difference_bootstrap95": bootstrap}
            found[entrant.name] = _rounded(figures) | {"rating": _rounded(rating)}
        return found

    def _entrant(self, place: int) -> dict[str, Any]:
        figures, entrant = self.figures, self.entrants[place]
        measured = {
            "mean_points": figures.points,
            "difference": figures.difference,
            "win_share": figures.win_share,
            "made_rate": figures.made,
        }
        if figures.paid is not None:
            measured["settlement"] = figures.paid
        plain: dict[str, Any] = {}
        for name, values in measured.items():
            ci95 = "ci95" if name == "mean_points" else f"{name}_ci95"
            plain[name], plain[ci95] = self._interval(values[place])
        for what in ("hand_size", "seat", "bid"):
            plain[f"made_by_{what}"] = figures.made_by(place, what)
        return (
            plain
            | figures.tricks_off(place)
            | {
                "tables": figures.tables_of(place),
                "deals": figures.deals_of(place),
                "faults": entrant.faults,
                "disqualified": entrant.was_disqualified,
                "given_up": entrant.given_up,
            }
        )

    def _pairs(self) -> Any:
        """Yields "A|B" and A's result against B, for all that met."""
        for one, other in itertools.permutations(self._by_name, 2):
            values = self.figures.against(one, other)
            values = values[~np.isnan(values)]
            if len(values):
                difference, ci95 = self._interval(values)
                pair = {"difference": difference, "ci95": ci95, "blocks": len(values)}
                if self.alone:
                    pair |= self.figures.alone_against(one, other)
                yield f"{self.names[one]}|{self.names[other]}", _rounded(pair)

    def _comparisons(self) -> list[dict[str, Any]]:
        """Returns by how much one entrant of every pair is better."""
        values, anytime = self.figures.strength, self.config.stop is not None
        pairs = list(itertools.combinations(self._by_name, 2))
        found = [statistics.compare(values, a, b, anytime) for a, b in pairs]
        adjusted = statistics.holm([each.p for each in found])
        return [
            self._comparison(a, b, each, p_holm)
            for (a, b), each, p_holm in zip(pairs, found, adjusted, strict=True)
        ]

    def _comparison(self, a: int, b: int, found: Comparison, p_holm: float) -> dict[str, Any]:
        sign = 1.0
        if found.difference < 0.0:
            a, b, sign = b, a, -1.0
        ci95 = found.ci95
        if ci95 is not None and sign < 0.0:
            ci95 = (-ci95[1], -ci95[0])
        noise = ci95 is None or ci95[0] <= 0.0 <= ci95[1]
        return _rounded(
            {
                "better": self.names[a],
                "worse": self.names[b],
                "difference": abs(found.difference),
                "ci95": ci95,
                "p": found.p,
                "p_holm": p_holm,
                "inside_noise": noise,
                "blocks_needed": statistics.blocks_needed(found),
            }
        )

    def _warnings(self, plain: dict[str, Any]) -> list[str]:
        """Returns the warnings for a reader of the figures, one sentence each."""
        close = [each for each in plain["comparisons"] if each["inside_noise"]]
        said = [_noise(each, self.blocks, self.config.stop) for each in close]
        for name, row in plain["entrants"].items():
            if row["disqualified"] or row["given_up"]:
                out = " and given up for the rest of the tournament" if row["given_up"] else ""
                said.append(f"{name} was disqualified{out}: {row['faults']} faults")
            elif row["faults"]:
                said.append(f"{name} committed {row['faults']} faults")
            if self.config.stop is None and _disagree(row):
                said.append(
                    f"{name}: the bootstrap's interval differs; play more blocks before relying on "
                    "either interval"
                )
        return said

    def timings(self) -> dict[str, Any]:
        """Returns everything that depends on the clock."""
        tables = len(self.outcomes) * self.blocks * self.deals.rules.players
        deals = sum(int((blocks["hand_sizes"] > 0).sum()) for blocks in self.outcomes.values())
        return {
            "seconds": self.seconds,
            "tables": tables,
            "deals": deals,
            "deals_per_second": deals / self.seconds,
            "engine": _speed(self.inside.decisions, self.inside.seconds),
            "entrants": {
                entrant.name: _speed(entrant.decisions, entrant.seconds)
                | {"first_fault": entrant.first_fault or None}
                for entrant in self.entrants
                if entrant.decisions
            },
        }

    def save(self, folder: str | Path) -> Path:
        """Writes ``results.json`` and ``timings.json``, each completely or not at all.

        Returns:
            The path of ``results.json``.

        Raises:
            OhHellError: A file cannot be written; older files are unchanged.
        """
        path = Path(folder) / RESULTS
        try:
            write_whole(path.with_name(TIMINGS), _json(self.timings()))
            write_whole(path, _json(self.to_dict()))
        except OSError as error:
            raise unwritable(path, error) from None
        return path


def _speed(decisions: int, seconds: float) -> dict[str, Any]:
    each = 1000.0 * seconds / decisions if decisions else None
    return {"decisions": decisions, "seconds": seconds, "ms_per_decision": each}


def _noise(comparison: dict[str, Any], blocks: int, stop: float | None) -> str:
    better, worse, ci95 = comparison["better"], comparison["worse"], comparison["ci95"]
    text = f"{better} over {worse}: {comparison['difference']:+.3f} points"
    if ci95 is None:
        return f"{text}, from too few blocks for an interval"
    if comparison["difference"] == 0.0:
        return f"{better} and {worse} came out equal"
    if stop is not None and max(abs(end) for end in ci95) <= stop:
        return f"{text}; they are known to differ by no more than {stop:g}"
    needed = comparison["blocks_needed"]
    return (
        f"{text} is within the noise of {blocks:,} blocks; a difference of this size needs about "
        f"{needed:,} blocks to be settled"
    )


def _disagree(row: dict[str, Any]) -> bool:
    analytic, resampled = row["difference_ci95"], row["difference_bootstrap95"]
    if analytic is None or resampled is None:
        return False
    room = _APART * (analytic[1] - analytic[0])
    return any(abs(a - b) > room for a, b in zip(analytic, resampled, strict=True))


def check_writable(folder: str | Path) -> None:
    """Creates the folder of the results, so that an unusable one is found before play.

    Raises:
        OhHellError: The folder cannot be written.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise unwritable(path, error) from None
    except ValueError:
        raise OhHellError(f"out: {str(path)!r} cannot be the name of a folder") from None


def unwritable(path: Path, error: OSError) -> OhHellError:
    """Returns the error for a file of the results that cannot be written."""
    return OhHellError(f"{path}: cannot write results there: {error.strerror or error}")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_rounded(inner) for inner in value]
    return round(value, _DIGITS) + 0.0 if isinstance(value, float) else value


def versions() -> dict[str, str]:
    """Returns the installed versions of everything that the figures depend on."""
    found = {"ohhell_env": __version__, "python": platform.python_version()}
    for package in ("numpy", "numba", "openskill", "scipy", "torch"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, sort_keys=True, allow_nan=False) + "\n"
