"""Shared tools of the tests: a watched table in card notation, and short random rules.

``Table`` plays a ``Game`` with the naive referee of ``reference.py`` looking on: after every action
the two must agree on everything, whatever the test at hand is about.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from ohhell_env.cards import card_name, parse_card
from ohhell_env.engine.batch import observe_one
from ohhell_env.engine.encode import new_buffer
from ohhell_env.engine.layout import BID_BASE, NO_TRUMP
from ohhell_env.game import Game
from ohhell_env.observation import decode, layout_of
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import hand_sizes, num_deals
from ohhell_env.testing import random_rules
from tests.reference import Referee

unix_only = pytest.mark.skipif(
    os.name != "posix",
    reason="Windows lacks these signals, pipes and limits, and programs as players",
)
"""Mark of a test of what only Unix has."""


def house(players: int = 4, *sizes: int, **settings: Any) -> Rules:
    """Rules by keyword, ``__`` for the dot: ``house(3, 5, bidding__hook="none")``.

    Args:
        players: Number of seats.
        *sizes: Hand sizes of the schedule, if it is to be explicit.
        **settings: What differs from the defaults.
    """
    data = {key.replace("__", "."): value for key, value in settings.items()}
    if sizes:
        data |= {"schedule.shape": "explicit", "schedule.sizes": list(sizes)}
    return Rules.from_dict({"players": players, **data})


class Table:
    """A game and the referee, side by side.

    Seats are numbers, cards are names; hands are given by seat, divided by ``/``. Unless a test
    says otherwise the last seat deals, so that seat 0 is eldest.

    >>> table = Table(Rules(players=2), hands="2H 9S / KD 3C", turned="TS")
    """

    def __init__(
        self,
        rules: Rules,
        hands: str | None = None,
        turned: str | None = None,
        dealer: int | None = None,
        trump: str | None = None,
        seed: int = 0,
    ) -> None:
        given = None if hands is None else [hand.split() for hand in hands.split("/")]
        if given is not None:
            dealer = rules.players - 1 if dealer is None else dealer
            rules = self._with_size(rules, len(given[0]))
        self.rules, self.game = rules, Game(rules, seed=seed)
        self.referee = Referee(rules.to_dict())
        self.dealer_chosen = dealer is not None
        if given is not None or dealer is not None:
            self.game.reset(hands=given, turned=turned, trump=trump, dealer=dealer)
        self._start_deal()
        self.compare()

    @staticmethod
    def _with_size(rules: Rules, size: int) -> Rules:
        """The same rules with a first deal of that size."""
        if Referee(rules.to_dict()).sizes[0] == size:
            return rules
        return rules.replace(schedule={"shape": "explicit", "sizes": [size], "deals": None})

    def name(self, card: int) -> str:
        return card_name(card, self.rules.pack)

    def _start_deal(self) -> None:
        game = self.game
        hands = [[self.name(card) for card in hand] for hand in game.dealt]
        turned = None if game.turned is None else self.name(game.turned)
        trump = "NT" if game.trump == NO_TRUMP else self.rules.pack.suits[game.trump]
        self.referee.start_deal(game.deal, game.dealer, hands, turned, trump)
        if game.deal == 0 and isinstance(self.rules.first_dealer, int):
            assert self.dealer_chosen or game.dealer == self.rules.first_dealer

    def act(self, action: int) -> None:
        """Makes an action (a code) on both sides, and compares."""
        self.game.apply(action)
        self.referee.play(self._said(action))
        self.compare_deal_end()
        self.compare()

    def _said(self, action: int) -> int | str:
        return action - BID_BASE if action >= BID_BASE else self.name(action)

    def compare_deal_end(self) -> None:
        """After the last card of a deal: points and scores agree; then takes up the next deal."""
        game, referee = self.game, self.referee
        if not referee.deal_over:
            return
        assert game.points == referee.points()
        assert game.scores == referee.scores
        assert game.over == referee.over
        filed = game.finished_deals[-1]
        assert filed["points"] == referee.points()
        assert [bid for _, bid in sorted(filed["bids"])] == referee.bids
        assert filed["tricks"] == [[list(play) for play in trick] for trick in referee.tricks]
        if not game.over:
            self._start_deal()

    def compare(self) -> None:
        """Asserts that game and referee agree on everything."""
        game, referee = self.game, self.referee
        assert game.over == referee.over
        assert game.seat == referee.actor()
        assert game.scores == referee.scores
        legal = game.legal_actions()
        assert {self._said(action) for action in legal} == referee.legal()
        assert legal == sorted(legal)
        if game.over:
            self.compare_end()
            return
        assert (game.deal, game.dealer) == (referee.deals_played, referee.dealer)
        assert (game.hand_size, game.blind) == (referee.size, referee.blind)
        assert game.bids == referee.bids
        assert game.leader == referee.leader
        assert game.trump_known == referee.trump_visible()
        assert game.tricks_won == referee.tricks_won
        assert [{self.name(card) for card in hand} for hand in game.hands] == referee.hands
        assert self.named(game.trick) == referee.trick
        assert [self.named(trick) for trick in game.tricks] == referee.tricks

    def named(self, trick: list[tuple[int, int]]) -> list[tuple[int, str]]:
        return [(seat, self.name(card)) for seat, card in trick]

    def compare_end(self) -> None:
        """Asserts that both name the same winners, shares and payments."""
        game, referee = self.game, self.referee
        assert list(game.winners()) == referee.winners()
        assert close(game.win_shares(), referee.win_shares())
        assert close(game.settlement(), referee.settlement())

    # ------------------------------------------------------------ what tests say

    def bid(self, *bids: int) -> Table:
        """Makes bids in turn."""
        for bid in bids:
            self.act(BID_BASE + bid)
        return self

    def play(self, cards: str) -> Table:
        """Plays cards in turn."""
        for card in cards.split():
            self.act(parse_card(card, self.rules.pack))
        return self

    def legal(self) -> set[Any]:
        """Legal bids (numbers) or cards (names) of the seat to act."""
        return {self._said(action) for action in self.game.legal_actions()}

    def view(self, seat: int) -> dict[str, Any]:
        """What a seat sees, decoded from its observation; seats there count from itself on."""
        layout = layout_of(self.rules)
        observation, mask = new_buffer(1, layout.length), new_buffer(1, layout.num_actions)
        game = self.game
        observe_one(game.state, game.compiled, layout.compiled(), seat, observation, mask)
        return decode(observation[: layout.length], self.rules)

    def play_on(self, rng: random.Random) -> Table:
        """Plays at random to the end of the game."""
        while not self.game.over:
            self.act(rng.choice(self.game.legal_actions()))
        return self

    def play_deal(self, rng: random.Random) -> Table:
        """Plays at random to the end of this deal."""
        deals = len(self.game.finished_deals)
        while len(self.game.finished_deals) == deals:
            self.act(rng.choice(self.game.legal_actions()))
        return self


def close(left: list[float], right: list[float]) -> bool:
    """Whether two rows of amounts are equal but for rounding."""
    assert len(left) == len(right)
    return all(abs(a - b) <= 1e-9 * max(1.0, abs(b)) for a, b in zip(left, right, strict=True))


def short_rules(rng: random.Random, plays: int = 600) -> Rules:
    """Draws random rules whose games have about so many plays at most, extra deals not counted."""
    while True:
        rules = random_rules(rng)
        if num_deals(rules) * max(hand_sizes(rules)) * rules.players <= plays:
            return rules
