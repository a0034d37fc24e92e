"""What a player thought at a decision: plain data, and a text for people.

What people are shown of an action is how far it is behind the best choice. That is right for every
player: the numbers of a player that has learned are right as differences alone.
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
"""Numbers of tricks that are rarer are left out of the text."""
POINTS, WINS, TRIES = "points", "share of the win", "tries"
"""Units of differences; another is "points less 0.25 of the others' mean"."""

Ends = tuple[float, float]
"""The least and the most that something can be."""


@dataclass(frozen=True)
class Thought:
    """What speaks for one legal action."""

    action: int
    """Its code."""
    name: str
    """A card ("TH") or a bid ("bid 3")."""
    difference: float | None
    """The number that decided, less that of the action taken: 0.0 for that one, 0.0 or less for
    the others; in the unit that ``Explanation.unit`` names, never more than the deal can still make
    of it. None: the action was not weighed."""
    difference_error: float | None
    """Standard error of the difference, in the same unit; None: there is none."""
    value: float | None
    """What is expected after it, in the unit of ``Explanation.objective``: the mean of the deals
    played out, or the expected points of the heuristic player. None: no deal was played out, or the
    player knows differences alone."""
    error: float | None
    """Standard error of ``value``; None: fewer than two deals were played out."""
    visits: int
    """Deals played out after it."""
    tricks: tuple[float, ...]
    """Share of these deals in which the seat won 0, 1, ... tricks in all."""
    same_as: str | None = None
    """The card that was tried in its place, because the two are as good as each other."""


@dataclass(frozen=True)
class Explanation:
    """What speaks for each legal action, and which one was taken."""

    chosen: int
    """Code of the action that ``act`` returns."""
    chosen_name: str
    method: str
    """"flat", "tree", "none" where nothing was searched, "reckoned" by a player that does not
    search."""
    objective: str
    """What ``Thought.value`` is: own "points" of the deal; "relative", own points less a part of
    the others' mean; "win", the share of the win in the game."""
    unit: str
    """What ``Thought.difference`` is counted in: "points", "points less 0.25 of the others' mean",
    "share of the win", or "tries" (how often a tree search took an action)."""
    worlds: int
    """Worlds, or iterations of a tree, that were looked at."""
    thoughts: tuple[Thought, ...]
    """One for each legal action, the best first."""
    notes: tuple[str, ...] = ()
    """What else is to be known: why nothing was searched, how the numbers came about."""

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
        """Returns what the numbers are."""
        if self.method == "none":
            return "not searched"
        told = f"{self.unit} behind the best choice"
        if self.method == "reckoned":
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
        if self.method == "reckoned":
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
    """Returns a difference as people read it: "-1.32", "0.00"; never minus zero.

    Args:
        difference: 0.0 or less.
        unit: Its unit; "tries" are whole numbers.
    """
    digits = 0 if unit == TRIES else 2
    return f"{round(difference, digits) + 0.0:.{digits}f}"


def payable(row: Any, points: NDArray[np.int32], legal: Sequence[int]) -> dict[int, Ends]:
    """Returns the fewest and the most points that the deal can still pay, by action.

    Args:
        row: ``GAME`` record of a view, the seat to act being ``seat``.
        points: (hand size, bid, tricks won), what a deal pays.
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
    """Returns points within their ends: what breaks ties puts some a thousandth outside."""
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
    """Returns the explanation of a decision that was searched.

    Args:
        stats: ``ROOT_STATS`` row of the search.
        gaps: By place in the statistics, how far each action is behind the one taken, in ``unit``,
            0 or more; NaN where it was not weighed.
        errors: Standard errors of these; NaN where there is none.
        rules: The rules.
        legal: Codes of all legal actions.
        chosen: Code of the action taken.
        ends: The least and the most that each action can bring, in ``unit``; empty: no limits.
        method: "flat", "tree" or "none".
        objective: What the values are.
        unit: What the differences are.
        notes: What else is to be known.
    """
    told = stats[0]
    tried = {int(told["actions"][place]): place for place in range(int(told["count"]))}
    thoughts: list[Thought] = []
    for action in legal:
        # of cards that are as good as each other, the lowest one stands for all
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
    """Returns the explanation of a decision that was reckoned, not searched.

    Args:
        values: What decided, in points, by code; an action that is not there was not weighed.
        rules: The rules.
        legal: Codes of all legal actions.
        chosen: Code of the action taken.
        ends: The fewest and the most points that each action can bring.
        calibrated: Whether the values are expected points; False: only differences count.
        notes: What else is to be known.
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
        method="reckoned",
        objective="points",
        unit=POINTS,
        worlds=0,
        thoughts=_in_order(thoughts, chosen),
        notes=tuple(notes),
    )


def _limited(difference: float, action: int, chosen: int, ends: Mapping[int, Ends]) -> float:
    """Returns a difference to the action taken as far as the deal can make it come true."""
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
