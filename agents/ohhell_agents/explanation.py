"""A player's thoughts at a decision, as plain data and as text.

The text shows how far each action is behind the best choice. That number is right for every player,
while the values of a trained player are right only as differences.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import BID_BASE, action_name
from ohhell_env.engine.layout import Rows
from ohhell_env.rules import Rules

_SHOWN = 0.005
"""Numbers of tricks with a smaller share are left out of the text."""
POINTS, WINS, TRIES = "points", "share of the win", "tries"
"""Units of differences; another is, for example, "points less 0.25 of the others' mean"."""

Ends = tuple[float, float]
"""The least and the greatest possible value."""


@dataclass(frozen=True)
class Thought:
    """The thoughts on one legal action."""

    action: int
    """Action code."""
    name: str
    """A card ("TH") or a bid ("bid 3")."""
    difference: float | None
    """The number that decided, less that of the action taken: 0.0 for that action, 0.0 or less for
    the others. It is in the unit of ``Explanation.unit``, and never exceeds what the deal can still
    make of it. None: the action was not weighed."""
    difference_error: float | None
    """Standard error of the difference, in the same unit; None: unknown."""
    value: float | None
    """Expectation after the action, in the unit of ``Explanation.objective``: the mean of the deals
    played out, or the heuristic player's expected points. None: no deal was played out, or the
    player knows only differences."""
    error: float | None
    """Standard error of ``value``; None: fewer than two deals were played out."""
    visits: int
    """Deals played out after the action."""
    tricks: tuple[float, ...]
    """Share of these deals in which the seat won 0, 1, ... tricks in total."""
    same_as: str | None = None
    """The card that was tried instead, because the two are equally good."""


@dataclass(frozen=True)
class Explanation:
    """The thoughts on all legal actions, and the action taken."""

    chosen: int
    """Code of the action that ``act`` returns."""
    chosen_name: str
    method: str
    """"flat" or "tree"; "none" if nothing was searched; "values" for a player that does not
    search."""
    objective: str
    """Meaning of ``Thought.value``: "points", the seat's points of the deal; "relative", these less
    a share of the others' mean; "win", the share of the win in the game."""
    unit: str
    """Unit of ``Thought.difference``: "points", "points less 0.25 of the others' mean", "share of
    the win", or "tries" (how often a tree search took an action)."""
    worlds: int
    """Number of worlds searched, or of iterations of a tree."""
    thoughts: tuple[Thought, ...]
    """One for each legal action, the best first."""
    notes: tuple[str, ...] = ()
    """Further remarks: why nothing was searched, how the numbers arose."""

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as plain data, ready for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        """Returns a few lines of text."""
        lines = [f"{self.chosen_name}  ({self._heading()})"]
        lines += [self._line(thought) for thought in self.thoughts]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)

    def _heading(self) -> str:
        """Returns the heading: the unit of the numbers, and the search."""
        if self.method == "none":
            return "not searched"
        told = f"{self.unit} behind the best choice"
        if self.method == "values":
            return told
        worlds = "iterations" if self.method == "tree" else "worlds"
        return f"{told}; {self.method} search, {self.worlds} {worlds}"

    def _line(self, thought: Thought) -> str:
        head = f" {'*' if thought.action == self.chosen else ' '} {thought.name:<7}"
        if thought.same_as is not None:
            return f"{head} as good as {thought.same_as}"
        if thought.difference is None:
            tried = "tried" if self.method in ("flat", "tree") else "weighed"
            return f"{head} not {tried}"
        number = f"{head} {difference_text(thought.difference, self.unit):>7}"
        if self.method == "values":
            return number
        error = thought.difference_error
        number += f"{'' if error is None else f' ± {error:.2f}':<9}"
        if thought.visits == 0:
            return f"{number}  not tried"
        spread = "  ".join(
            f"{won}: {share:.0%}" for won, share in enumerate(thought.tricks) if share >= _SHOWN
        )
        return f"{number} {thought.visits:>6} deals   tricks {spread}"


def difference_text(difference: float, unit: str) -> str:
    """Returns a difference as text: "-1.32", "0.00"; never minus zero.

    Args:
        difference: 0.0 or less.
        unit: Its unit; "tries" are whole numbers.
    """
    digits = 0 if unit == TRIES else 2
    return f"{round(difference, digits) + 0.0:.{digits}f}"


def payable(row: Any, points: NDArray[np.int32], legal: Sequence[int]) -> dict[int, Ends]:
    """Returns the fewest and the most points that the deal can still pay, by action.

    Args:
        row: ``GAME`` record of a view; ``seat`` is the seat to act.
        points: Points of a deal, by (hand size, bid, tricks won).
        legal: Codes of the actions.
    """
    size, seat = int(row["hand_size"]), int(row["seat"])
    bid, won = int(row["bids"][seat]), int(row["tricks_won"][seat])
    left = size - int(row["trick_number"])
    ends: dict[int, Ends] = {}
    for action in legal:
        if action >= BID_BASE:
            paid = points[size, action - BID_BASE, : size + 1]
        else:
            paid = points[size, bid, won : won + left + 1]
        ends[action] = float(paid.min()), float(paid.max())
    return ends


def clipped(points: float, ends: Ends) -> float:
    """Returns points within their limits; tie-breaks can put them a thousandth outside."""
    return min(max(float(points), ends[0]), ends[1])


def explain_search(
    stats: Rows,
    gaps: NDArray[np.float64],
    errors: NDArray[np.float64],
    rules: Rules,
    legal: Sequence[int],
    chosen: int,
    ends: Mapping[int, Ends],
    method: str,
    objective: str,
    unit: str,
    notes: Sequence[str],
) -> Explanation:
    """Returns the explanation of a searched decision.

    Args:
        stats: ``ROOT_STATS`` row of the search.
        gaps: By place in the statistics, how far each action is behind the one taken, in ``unit``,
            0 or more; NaN if it was not weighed.
        errors: Standard errors of the gaps; NaN if unknown.
        rules: The rules.
        legal: Codes of all legal actions.
        chosen: Code of the action taken.
        ends: The least and the most that each action can bring, in ``unit``; empty: no limits.
        method: "flat", "tree" or "none".
        objective: Meaning of the values.
        unit: Unit of the differences.
        notes: Further remarks.
    """
    told = stats[0]
    tried = {int(told["actions"][place]): place for place in range(int(told["count"]))}
    thoughts: list[Thought] = []
    for action in legal:
        # Of equally good cards, the lowest one stands for all.
        stands = action if action in tried else max((a for a in tried if a < action), default=None)
        if stands is None:
            thoughts.append(Thought(action, _name(action, rules), None, None, None, None, 0, ()))
            continue
        place = tried[stands]
        difference = error = None
        if not math.isnan(gaps[place]):
            difference = _limited(-float(gaps[place]), stands, chosen, ends)
            error = None if math.isnan(errors[place]) else float(errors[place])
        same_as = None if stands == action else _name(stands, rules)
        played = _played_out(told, place)
        thoughts.append(
            Thought(action, _name(action, rules), difference, error, *played, same_as=same_as)
        )
    return Explanation(
        chosen=chosen,
        chosen_name=_name(chosen, rules),
        method=method,
        objective=objective,
        unit=unit,
        worlds=int(told["worlds"]),
        thoughts=_in_order(thoughts, chosen),
        notes=tuple(notes),
    )


def explain_values(
    values: Mapping[int, float],
    rules: Rules,
    legal: Sequence[int],
    chosen: int,
    ends: Mapping[int, Ends],
    calibrated: bool,
    notes: Sequence[str] = (),
) -> Explanation:
    """Returns the explanation of a decision made from values, without search.

    Args:
        values: The values that decided, in points, by code; other actions were not weighed.
        rules: The rules.
        legal: Codes of all legal actions.
        chosen: Code of the action taken.
        ends: The fewest and the most points that each action can bring.
        calibrated: Whether the values are expected points; False: only differences count.
        notes: Further remarks.
    """
    thoughts: list[Thought] = []
    for action in legal:
        difference = value = None
        if action in values and chosen in values:
            difference = _limited(values[action] - values[chosen], action, chosen, ends)
            if calibrated:
                value = clipped(values[action], ends[action])
        name = _name(action, rules)
        thoughts.append(Thought(action, name, difference, None, value, None, 0, ()))
    return Explanation(
        chosen=chosen,
        chosen_name=_name(chosen, rules),
        method="values",
        objective="points",
        unit=POINTS,
        worlds=0,
        thoughts=_in_order(thoughts, chosen),
        notes=tuple(notes),
    )


def _limited(difference: float, action: int, chosen: int, ends: Mapping[int, Ends]) -> float:
    """Returns a difference, limited to what the deal can still cost."""
    least = ends[action][0] - ends[chosen][1] if ends else -math.inf
    return min(max(difference, least), 0.0) + 0.0  # never minus zero


def _in_order(thoughts: Sequence[Thought], chosen: int) -> tuple[Thought, ...]:
    """Returns thoughts with the best first: the action taken, then by difference, then by code."""

    def place(thought: Thought) -> tuple[float, bool, int]:
        behind = math.inf if thought.difference is None else -thought.difference
        return behind, thought.action != chosen, thought.action

    return tuple(sorted(thoughts, key=place))


def _name(action: int, rules: Rules) -> str:
    name = action_name(action, rules.pack)
    return name if action < BID_BASE or name.startswith("bid") else f"bid {name}"


def _played_out(told: Any, place: int) -> tuple[float | None, float | None, int, tuple[float, ...]]:
    """Returns mean, standard error, number and tricks of the deals played out after an action."""
    visits = int(told["visits"][place])
    if visits == 0:
        return None, None, 0, ()
    mean = float(told["totals"][place]) / visits
    spread = max(float(told["squares"][place]) / visits - mean * mean, 0.0)
    error = math.sqrt(spread / (visits - 1)) if visits > 1 else None
    counts = told["tricks"][place]
    most = max(won for won, times in enumerate(counts) if times)
    return mean, error, visits, tuple(float(times) / visits for times in counts[: most + 1])
