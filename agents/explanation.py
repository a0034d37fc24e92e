"""What a searching player thought at a decision: plain data, and a text for people."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ohhell_env.actions import BID_BASE, action_name
from ohhell_env.engine.layout import Rows
from ohhell_env.rules import Rules

_SHOWN = 0.005
"""Numbers of tricks that are rarer are left out of the text."""


@dataclass(frozen=True)
class Thought:
    """What came of one legal action."""

    action: int
    """Its code."""
    name: str
    """A card ("TH") or a bid ("bid 3")."""
    value: float | None
    """Mean of the objective over the deals played out; None: none was."""
    error: float | None
    """Standard error of that mean; None: fewer than two deals."""
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
    """"flat", "tree", "none" where nothing was searched, "reckoned" by the heuristic player."""
    objective: str
    """What the values are: "points", "relative" or "win"."""
    worlds: int
    """Worlds, or iterations of a tree, that were looked at."""
    thoughts: tuple[Thought, ...]
    """One for each legal action, the best first."""
    notes: tuple[str, ...] = ()
    """What else is to be known: why nothing was searched, what the budget was."""

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as plain data, ready for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        """Returns a few lines of text."""
        searched = f"{self.method}, {self.worlds} worlds, {self.objective}"
        plain = "reckoned" if self.method == "reckoned" else "not searched"
        lines = [f"{self.chosen_name}  ({searched if self.worlds else plain})"]
        lines += [_line(thought, thought.action == self.chosen) for thought in self.thoughts]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)


def _line(thought: Thought, chosen: bool) -> str:
    mark = "*" if chosen else " "
    if thought.same_as is not None:
        return f" {mark} {thought.name:<7} as good as {thought.same_as}"
    if thought.value is None:
        return f" {mark} {thought.name:<7} not weighed"
    if thought.visits == 0:
        return f" {mark} {thought.name:<7} {thought.value:.2f}"
    error = "" if thought.error is None else f" ± {thought.error:.2f}"
    spread = "  ".join(
        f"{tricks}: {share:.0%}" for tricks, share in enumerate(thought.tricks) if share >= _SHOWN
    )
    number = f"{thought.value:.2f}{error}"
    return f" {mark} {thought.name:<7} {number:<16} {thought.visits:>6} deals   tricks {spread}"


def explain_tally(
    tally: Rows,
    rules: Rules,
    legal: Sequence[int],
    chosen: int,
    method: str,
    objective: str,
    notes: Sequence[str],
) -> Explanation:
    """Returns the explanation of a decision.

    Args:
        tally: ``TALLY`` row of the search.
        rules: The rules.
        legal: Codes of all legal actions.
        chosen: Code of the action taken.
        method: "flat", "tree" or "none".
        objective: What the values are.
        notes: What else is to be known.
    """
    told = tally[0]
    tried = {int(told["actions"][place]): place for place in range(int(told["count"]))}
    thoughts = [_thought(action, tried, told, rules) for action in legal]
    thoughts.sort(key=lambda thought: (-_value(thought), thought.action))
    return Explanation(
        chosen=chosen,
        chosen_name=_name(chosen, rules),
        method=method,
        objective=objective,
        worlds=int(told["worlds"]),
        thoughts=tuple(thoughts),
        notes=tuple(notes),
    )


def explain_values(
    values: Mapping[int, float], rules: Rules, legal: Sequence[int], chosen: int
) -> Explanation:
    """Returns the explanation of a decision that was reckoned, not searched.

    Args:
        values: Expected points by code; an action that is not there was not weighed.
        rules: The rules.
        legal: Codes of all legal actions.
        chosen: Code of the action taken.
    """
    thoughts = [
        Thought(action, _name(action, rules), values.get(action), None, 0, ()) for action in legal
    ]
    thoughts.sort(key=lambda thought: (-_value(thought), thought.action))
    name = _name(chosen, rules)
    return Explanation(chosen, name, "reckoned", "points", 0, tuple(thoughts))


def _value(thought: Thought) -> float:
    return -math.inf if thought.value is None else thought.value


def _name(action: int, rules: Rules) -> str:
    name = action_name(action, rules.pack)
    return name if action < BID_BASE or name.startswith("bid") else f"bid {name}"


def _thought(action: int, tried: dict[int, int], told: Any, rules: Rules) -> Thought:
    """Returns the thought about one action, or about the card that was tried in its place."""
    shown = action if action in tried else max((a for a in tried if a < action), default=action)
    same_as = None if shown == action else _name(shown, rules)
    name = _name(action, rules)
    visits = int(told["visits"][tried[shown]]) if shown in tried else 0
    if visits == 0:
        return Thought(action, name, None, None, 0, (), same_as)
    place = tried[shown]
    mean = float(told["totals"][place]) / visits
    spread = max(float(told["squares"][place]) / visits - mean * mean, 0.0)
    error = math.sqrt(spread / (visits - 1)) if visits > 1 else None
    counts = told["tricks"][place]
    most = max(won for won, times in enumerate(counts) if times)
    tricks = tuple(float(times) / visits for times in counts[: most + 1])
    return Thought(action, name, mean, error, visits, tricks, same_as)
