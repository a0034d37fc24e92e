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
"""Cards times cards times seats played out for a decision by default."""
_FEWEST, _ENOUGH = 16, 240
"""Fewest and most worlds by default."""
_LEARNED = 2.5
"""How many times longer a trained player takes to decide than the heuristic player."""
_CARD_PRIOR = 60.0
"""How many worlds a trained player's expectation of a card counts as."""


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Settings of the search player."""

    policy: str = HEURISTIC_POLICY
    """The policy that weighs bids, gives prior expectations and plays the deals out: "heuristic",
    or a counterfactual player, as "zoo:NAME" or the path of its checkpoint."""
    method: Literal["flat", "tree"] = "flat"
    """The search: all actions compared in the same worlds, or information-set tree search."""
    worlds: int | None = None
    """With "flat": worlds per decision. None: more worlds when fewer cards are left to play out."""
    effort: float = 1.0
    """Multiplies the default number of worlds, if ``worlds`` is None."""
    iterations: int = 200
    """With "tree": iterations per decision, each in its own world."""
    ms: float | None = None
    """Milliseconds per decision, instead of a number of worlds or iterations. Decisions then depend
    on the machine."""
    bids: Literal["search", "policy"] = "search"
    """Whether to search bids like cards, or to take the policy's bids."""
    playout: Literal["policy", "heuristic", "random"] = "policy"
    """The player that plays the deals out. A trained policy plays better; the heuristic player
    plays more deals in the same time."""
    objective: Literal["points", "relative", "win"] = "relative"
    """Own points of the deal, own points less a share of the others', or the share of the win in
    the whole game."""
    spoil: float = 0.25
    """With "relative": weight of the others' mean points against own points. At higher values,
    the player risks its own bid sooner to break others."""
    inference: bool = True
    """Whether the bids made in a world decide how likely it is."""
    chains: int = 4
    """With inference: number of chains that walk through the worlds."""
    swaps: int = 8
    """Exchanges of cards between one world of a chain and the next."""
    temperature: float = 1.2
    """How far bids may stray from the best one, in expected points under a scoring where missing
    the usual bid by one trick costs 16 points; scaled in proportion under others."""
    floor: float = 0.02
    """Probability that a seat bids for no reason at all."""
    race: float = 2.0
    """With "flat": an action this many standard errors behind the best is dropped. 0: never."""
    prior: float = 80.0
    """When "flat" searches bids for points: the policy's expectation of a bid counts as
    this many worlds, and bids that it finds hopeless are not tried. 0: all bids are tried, and the
    expectation does not count."""
    card_prior: float | None = None
    """The same for cards. None: 60 for a trained policy, 0 for the heuristic player."""
    exploration: float = 0.7
    """How much the tree explores actions that look worse, in units of the price of a missed bid."""
    others: Literal["policy", "tree"] = "policy"
    """Whether the other seats act in the tree as they do in play-outs, or search too."""

    def worlds_for(self, cards: int, players: int, bidding: bool) -> int:
        """Returns the largest number of worlds that a decision may use.

        The default falls with the work that a world takes: one play-out for each card or bid that
        is compared, each as long as all cards of all seats. From the bidding on it takes twice as
        long, because the seats compute their bids too.

        Args:
            cards: Cards that the seat holds, 1 or more.
            players: Number of players.
            bidding: Whether the decision is a bid.
        """
        if self.worlds is not None:
            return self.worlds
        work = cards * cards * players * (2 if bidding else 1)
        if self._learned and self.playout == "policy":
            work *= _LEARNED
        usual = min(max(_WORK / work, _FEWEST), _ENOUGH)
        return max(round(self.effort * usual), 1)

    def prior_for(self, bidding: bool) -> float:
        """Returns how many worlds the policy's expectation counts as.

        Args:
            bidding: Whether the decision is a bid.
        """
        if self.objective == "win":  # the policy's expectation has another unit
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
            RulesError: A number is out of range, or both ``worlds`` and ``effort`` are given.
        """
        if self.worlds is not None:
            _check("worlds", self.worlds, 1, _MOST)
            if self.effort != 1.0:
                raise RulesError(
                    f"search: worlds={self.worlds} and effort={self.effort:g} both set the number "
                    "of worlds; leave one of them out"
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
        OhHellError: A setting is unknown (the message names the nearest), given twice, or has a
            value that does not fit.
    """
    given: dict[str, Any] = {}
    for part in text.split(",") if text else []:
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise OhHellError(
                f"search: write settings as name=value,name=value, got {shown(part)}; "
                "pass a path with a comma as a keyword: make('search', policy=...)"
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
    """Returns a value as its setting's type if it can be read as one, else the text itself."""
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
    """Returns the settings that differ from the defaults, in ``read_search_settings`` form."""
    usual = SearchSettings()
    changed = {
        name: value
        for name in field_types(SearchSettings)
        if (value := getattr(settings, name)) != getattr(usual, name)
    }
    return ",".join(f"{name}={_spelled(value)}" for name, value in changed.items())


def _spelled(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
