"""Settings of the search player: typed, checked, read from a text such as ``worlds=50``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ohhell_agents.search.beliefs import MOST_CHAINS
from ohhell_agents.search.policy import HEURISTIC_POLICY
from ohhell_env.errors import OhHellError, RulesError, shown
from ohhell_env.rules.settings import field_types, with_values

_MOST = 1_000_000
_WORK = 12_000
"""Cards times cards times seats that are played out for a decision as a rule."""
_FEWEST, _ENOUGH = 16, 240
"""Usual worlds at least and at most."""
_LEARNED = 2.5
"""How much longer a player that learned takes to decide than the heuristic player."""
_CARD_PRIOR = 60.0
"""Worlds' worth of what a player that learned expects of cards."""


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How the search player searches."""

    policy: str = HEURISTIC_POLICY
    """Whose values weigh bids, say what to expect of each action and play the deals out:
    "heuristic", or a counterfactual player, as "zoo:NAME" or by the path of its checkpoint."""
    method: Literal["flat", "tree"] = "flat"
    """Every action in the same worlds ("flat"), or information-set tree search ("tree")."""
    worlds: int | None = None
    """Worlds in which the actions are compared at every decision ("flat"); none: the fewer cards
    are left to be played out, the more."""
    effort: float = 1.0
    """Times the usual number of worlds, where ``worlds`` is none."""
    iterations: int = 200
    """Iterations, each in a world of its own ("tree")."""
    ms: float | None = None
    """Milliseconds for a decision instead of a number of worlds or iterations. What is decided then
    depends on the machine."""
    bids: Literal["search", "policy"] = "search"
    """Whether bids are searched like cards, or are those of the policy."""
    playout: Literal["policy", "heuristic", "random"] = "policy"
    """Who plays the deals out: a policy that learned plays better than the heuristic player, which
    plays more deals in the same time."""
    objective: Literal["points", "relative", "win"] = "relative"
    """Own points of the deal, own points less a part of the others', or the share of the win in the
    whole game."""
    spoil: float = 0.25
    """What a point of the others' mean counts against an own one ("relative"): the more, the sooner
    it risks its own bid to break others."""
    inference: bool = True
    """Whether worlds are weighted by how likely the bids are that were made in them."""
    chains: int = 4
    """Walks through the worlds, with inference."""
    swaps: int = 8
    """Exchanges of cards from one world to the next of a walk."""
    temperature: float = 1.2
    """How far bids are taken to stray from the best one: points of expectation, where missing the
    usual bid by one trick costs 16 points; in proportion elsewhere."""
    floor: float = 0.02
    """Chance that a seat bids for no reason at all."""
    race: float = 2.0
    """Standard errors behind the best at which an action is dropped ("flat"); 0: never."""
    prior: float = 80.0
    """Where bids are searched for points: what the policy expects of a bid counts as so many worlds
    ("flat"), and bids that it finds hopeless are not tried. 0: all are, and its expectation does
    not count."""
    card_prior: float | None = None
    """The same for cards; none: 60 for a policy that learned, 0 for the heuristic player."""
    exploration: float = 0.7
    """How far the tree tries what looks worse, in units of the price of a missed bid."""
    others: Literal["policy", "tree"] = "policy"
    """Whether the other seats do in the tree what they would do in play-outs, or search, too."""

    def worlds_for(self, cards: int, players: int, bidding: bool) -> int:
        """Returns in how many worlds the actions of a decision are compared at most.

        The usual number falls with the work that a world makes, so that time is spent where it buys
        many worlds: playing out takes time with each card of each seat, once for each card or bid
        that is compared, and twice as much from the bidding on, where seats reckon their bids, too.

        Args:
            cards: Cards that the seat holds, 1 or more.
            players: Number of players.
            bidding: Whether it is to bid.
        """
        if self.worlds is not None:
            return self.worlds
        work = cards * cards * players * (2 if bidding else 1)
        if self._learned and self.playout == "policy":
            work *= _LEARNED
        usual = min(max(_WORK / work, _FEWEST), _ENOUGH)
        return max(round(self.effort * usual), 1)

    def prior_for(self, bidding: bool) -> float:
        """Returns for how many worlds the expectation of the policy counts at a decision.

        Args:
            bidding: Whether it is to bid.
        """
        if self.objective == "win":  # another unit than what it expects
            return 0.0
        if bidding:
            return self.prior
        return self.card_prior if self.card_prior is not None else _CARD_PRIOR * self._learned

    @property
    def _learned(self) -> bool:
        return self.policy != HEURISTIC_POLICY

    def __post_init__(self) -> None:
        """Checks the ranges.

        Raises:
            RulesError: A number that cannot be used.
        """
        if self.worlds is not None:
            _check("worlds", self.worlds, 1, _MOST)
            if self.effort != 1.0:
                raise RulesError(
                    f"search: worlds={self.worlds} and effort={self.effort:g} both say how many "
                    "worlds; leave one of them out"
                )
        _check("effort", self.effort, 0.001, 10_000.0)
        _check("iterations", self.iterations, 1, _MOST)
        _check("chains", self.chains, 1, MOST_CHAINS)
        _check("swaps", self.swaps, 1, 10_000)
        if self.ms is not None:
            _check("ms", self.ms, 0.01, 600_000.0)
        _check("temperature", self.temperature, 0.001, 1e6)
        _check("floor", self.floor, 1e-6, 1.0)
        _check("race", self.race, 0.0, 1e6)
        _check("prior", self.prior, 0.0, 1e6)
        if self.card_prior is not None:
            _check("card_prior", self.card_prior, 0.0, 1e6)
        _check("spoil", self.spoil, 0.0, 1.0)
        _check("exploration", self.exploration, 0.0, 1e6)


def _check(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise RulesError(f"search: {name} must be {least:g} to {most:g}, got {shown(value)}")


def read_search_settings(text: str, values: Mapping[str, Any]) -> SearchSettings:
    """Returns settings from a text and from keywords.

    Args:
        text: As in ``worlds=50,inference=false``; may be empty.
        values: Settings by name, with values of their types.

    Raises:
        OhHellError: An unknown setting (the nearest are named), a value that does not fit, or a
            setting that is given twice.
    """
    given: dict[str, Any] = {}
    for part in text.split(",") if text else []:
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise OhHellError(
                f"search: settings are name=value with commas between them, got {shown(part)}; a "
                "path with a comma in it is handed over as a keyword, make('search', policy=...)"
            )
        if name in given:
            raise OhHellError(f"search: the setting {shown(name)} is given twice")
        given[name] = _plain(name, value)
    for name, value in values.items():
        if name in given:
            raise OhHellError(f"search: the setting {shown(name)} is given twice")
        given[name] = str(value) if isinstance(value, Path) else value
    return with_values(SearchSettings(), given, "search")


def _plain(name: str, text: str) -> Any:
    """Returns a value as its setting's type if it can be read so, else the text itself."""
    wanted = field_types(SearchSettings).get(name)
    if wanted is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if text == "none" and wanted in (int | None, float | None):
        return None
    if wanted in (int, float, int | None, float | None):
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                continue
    return text


def spelled(settings: SearchSettings) -> str:
    """Returns what differs from the usual settings, as ``read_search_settings`` reads it."""
    usual = SearchSettings()
    changed = {
        name: value
        for name in field_types(SearchSettings)
        if (value := getattr(settings, name)) != getattr(usual, name)
    }
    return ",".join(f"{name}={_spelled(value)}" for name, value in changed.items())


def _spelled(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
