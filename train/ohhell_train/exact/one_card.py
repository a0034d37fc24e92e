"""Exact solutions of one-card deals: each seat's expected points, and those of a player.

If the bids do not change who leads, nobody's bid changes who takes the trick. The value of a bid
then depends only on the probability of winning, given the own card, what is seen of the trump, and
the bids before. So each seat in turn, from eldest on, bids what gives itself the most expected
points (nil if both bids are equal), and later seats draw their conclusions. Apart from such ties,
this is the only equilibrium. A bid that nobody would make could mean anything about the hand; here
it means nothing.

Every way to deal the cards is counted (``counts.py``), none is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import ohhell_agents
from ohhell_agents.base import Agent
from ohhell_env.cards import parse_card
from ohhell_env.engine.layout import compile_rules
from ohhell_env.errors import RulesError, nearest, shown
from ohhell_env.rules import Rules, RulesLike, as_rules
from ohhell_train.exact.ask import AskedBids
from ohhell_train.exact.beginnings import Beginnings, beginnings
from ohhell_train.exact.counts import CARDS, count_wins

Floats = NDArray[np.float64]
_NEAR = 1e-12
"""Bids whose values differ by less are equal."""


@dataclass(frozen=True)
class Solution:
    """The best bids in one-card deals, and their values."""

    rules: Rules
    values: tuple[float, ...]
    """Expected points by place in the bidding, from eldest to dealer."""
    seen: tuple[str, ...]
    """What can be seen of the trump: a card's name, a suit's letter, "NT" or "late"."""
    bids: Floats
    """The probability (0 or 1) of bidding one trick: (seen, place in the bidding, bids before with
    bit k for the bid of place k, card)."""

    def bid(self, card: str, seen: str, before: Sequence[int] = ()) -> int:
        """Returns the best bid.

        Args:
            card: Name of the own card.
            seen: One of ``self.seen``.
            before: The bids before it, from eldest on. With simultaneous bids, any bids of the
                seats before it in the order of play.

        Raises:
            RulesError: ``seen`` cannot occur, or ``before`` does not hold bids of other seats.
        """
        if seen not in self.seen:
            raise RulesError(f"seen={shown(seen)}: {nearest(seen, self.seen)}")
        if len(before) >= self.rules.players or any(bid not in (0, 1) for bid in before):
            raise RulesError(
                f"before={shown(list(before))}: expected up to {self.rules.players - 1} bids of 0 "
                "or 1"
            )
        history = sum(bid << place for place, bid in enumerate(before))
        label, number = self.seen.index(seen), parse_card(card, self.rules.pack)
        return round(float(self.bids[label, len(before), history, number]))


@dataclass(frozen=True)
class OneCardResult:
    """A player's points in one-card deals, by place in the bidding from eldest to dealer."""

    best: tuple[float, ...]
    """Points of the best bids among best bidders."""
    among_best: tuple[float, ...]
    """Points of the player in this place, with best bidders in all others."""
    among_own: tuple[float, ...]
    """Points with the player in all places."""
    best_reply: tuple[float, ...]
    """Points of the best bidder in this place, with the player in all others."""

    @property
    def loss(self) -> float:
        """The mean points that the player loses among best bidders; never negative."""
        return float(np.mean(self.best) - np.mean(self.among_best))

    @property
    def nash_conv(self) -> float:
        """The sum over the places of what a seat could gain by leaving the player's strategy."""
        return float(np.sum(self.best_reply) - np.sum(self.among_own))


def solve(rules: RulesLike, players: int | None = None) -> Solution:
    """Solves the one-card deals of some rules; every seat maximises its own points.

    Args:
        rules: Rules, the name of a variant, or the path of a YAML file.
        players: Overrides the number of players.

    Raises:
        RulesError: The deals are blind, or the highest bidder leads.
    """
    rules = as_rules(rules, players)
    table = _Table(beginnings(rules))
    bids = table.no_bids()
    values: list[float] = []
    for place in range(rules.players):
        own = table.bid_values(bids, place)
        best = own.best()
        bids[:, place, : 1 << place] = best
        values.append(own.of(best))
    return Solution(rules, tuple(values), table.deals.seen, bids)


def value_of(
    agent: Agent | str, rules: RulesLike, players: int | None = None, seed: int = 1
) -> OneCardResult:
    """Measures a player in one-card deals: in each seat, among best bidders and among copies.

    The player is asked once for its bid in every situation that can occur, which is exact for a
    player without randomness. For a player with randomness each bid is a sample, and the means over
    thousands of situations are nearly exact.

    Args:
        agent: The player, or its name.
        rules: See ``solve``.
        players: See ``solve``.
        seed: Seed of a player given by name.

    Raises:
        RulesError: See ``solve``.
    """
    rules = as_rules(rules, players)
    if not isinstance(agent, str):
        return _standing(agent, rules)
    with ohhell_agents.make(agent, seed=seed) as made:
        return _standing(made, rules)


def _standing(agent: Agent, rules: Rules) -> OneCardResult:
    best = solve(rules)
    table = _Table(beginnings(rules))
    asked = AskedBids(agent, table.deals)
    own = table.no_bids()
    among_best: list[float] = []
    among_own: list[float] = []
    best_reply: list[float] = []
    for place in range(rules.players):
        values = table.bid_values(best.bids, place)
        among_best.append(values.of(asked.bids(place, values.can_happen())))
        values = table.bid_values(own, place)
        bids = asked.bids(place, values.can_happen())
        own[:, place, : 1 << place] = bids
        among_own.append(values.of(bids))
        best_reply.append(values.of(values.best()))
    return OneCardResult(best.values, tuple(among_best), tuple(among_own), tuple(best_reply))


@dataclass(frozen=True)
class _BidValues:
    """The values of the bids of one place, each array (seen, bids before, card)."""

    hold: Floats
    """The probability of the situation: these bids before, this card."""
    nil: Floats
    """The points of bidding nil there, times that probability."""
    one: Floats
    may_nil: NDArray[np.bool_]
    may_one: NDArray[np.bool_]
    guess_nil: Floats
    """As ``nil``, but for earlier bids that nobody makes: as if they carried no information."""
    guess_one: Floats

    def best(self) -> Floats:
        """Returns the best bids, as probabilities of bidding one."""
        better = self.guess_one > self.guess_nil + _NEAR
        return np.where(self.may_one & (better | ~self.may_nil), 1.0, 0.0)

    def of(self, bids: Floats) -> float:
        """Returns the expected points of some bids."""
        return float((self.one * bids + self.nil * (1.0 - bids)).sum())

    def can_happen(self) -> NDArray[np.bool_]:
        """Returns which situations can occur and leave a choice."""
        return (self.hold > 0.0) & self.may_nil & self.may_one


class _Table:
    """The one-card deals of some rules, and their points."""

    def __init__(self, deals: Beginnings) -> None:
        self.deals = deals
        record = compile_rules(deals.rules, "deal", 1)[0]
        self.points = record["points"][1, :2, :2].astype(np.float64)
        self.hook = bool(record["hook_from"] <= 1)
        self.simultaneous = bool(record["simultaneous"])

    def no_bids(self) -> Floats:
        """Returns an empty table of bids."""
        players = self.deals.rules.players
        return np.zeros((len(self.deals.seen), players, 1 << (players - 1), CARDS))

    def bid_values(self, bids: Floats, place: int) -> _BidValues:
        """Returns the values of the bids in a place when those before it bid by a table."""
        shape = (len(self.deals.seen), 1 << place)
        heard = np.full(shape, not self.simultaneous)
        hold, win = self._count_wins(bids, place, heard)
        if self.simultaneous:  # nobody hears a bid: one situation, whatever the others bid
            hold[:, 1:], win[:, 1:] = 0.0, 0.0
        made = hold.any(axis=2)
        guess_hold, guess_win = hold, win
        if not made.all():
            guess_hold, guess_win = hold.copy(), win.copy()
            unheard = self._count_wins(bids, place, np.zeros(shape, np.bool_))
            guess_hold[~made], guess_win[~made] = (part[~made] for part in unheard)
        may_nil, may_one = self._legal(place)
        nil, one = self._points(hold, win)
        return _BidValues(hold, nil, one, may_nil, may_one, *self._points(guess_hold, guess_win))

    def _count_wins(
        self, bids: Floats, place: int, heard: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        deals = self.deals
        hold, win = np.zeros((2, len(deals.seen), 1 << place, CARDS))
        count_wins(
            deals.deck,
            deals.trump,
            deals.label,
            deals.dealer_holds,
            deals.chance,
            deals.rules.players,
            bids,
            place,
            heard,
            hold,
            win,
        )
        return hold, win

    def _points(self, hold: Floats, win: Floats) -> tuple[Floats, Floats]:
        lose = hold - win
        nil, one = (lose * self.points[bid, 0] + win * self.points[bid, 1] for bid in (0, 1))
        return nil, one

    def _legal(self, place: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Returns the earlier bids after which nil and one are legal, each (1, bids before, 1)."""
        totals = np.array([history.bit_count() for history in range(1 << place)])
        hooked = self.hook and place == self.deals.rules.players - 1
        may_nil, may_one = ~hooked | (totals != 1), ~hooked | (totals != 0)
        return may_nil.reshape(1, -1, 1), may_one.reshape(1, -1, 1)
