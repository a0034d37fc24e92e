"""Shared tools of the tests: a watched table in card notation, and random rules over every axis.

``Table`` plays a ``Game`` with the naive referee of ``reference.py`` looking on: after every action
the two must agree on everything, whatever the test at hand is about.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ohhell_env.cards import card_name, parse_card
from ohhell_env.engine.batch import observe_one
from ohhell_env.engine.encode import new_buffer
from ohhell_env.engine.layout import BID_BASE, NO_TRUMP
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.observation import decode, layout_of
from ohhell_env.rules import Rules
from tests.reference import Referee


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
        observation, mask = new_buffer(1, layout.stride), np.zeros(256, np.int8)
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


# ---------------------------------------------------------------- random rules


def random_rules(rng: random.Random) -> Rules:
    """Draws rules from the whole grid of axes; what clashes is drawn again."""
    while True:
        try:
            return Rules.from_dict(_random_settings(rng))
        except RulesError:
            continue


def _random_settings(rng: random.Random) -> dict[str, Any]:
    pack = _random_pack(rng)
    target = rng.choice([None, None, None, rng.randint(1, 60)])
    simultaneous = rng.random() < 0.3
    return {
        "players": rng.choice([2, 3, 3, 4, 4, 5, 6, 7, 8]),
        "pack": pack,
        "schedule": _random_schedule(rng, target is not None),
        "first_dealer": rng.choice(["random", "first_jack", "high_card", rng.randint(0, 3)]),
        "trump": _random_trump(rng, pack["suits"]),
        "bidding": {
            "order": "simultaneous" if simultaneous else "sequential",
            "hook": "none" if simultaneous else rng.choice(["none", "last_bidder", "last_bidder"]),
            "hook_min_hand": rng.choice([1, 1, 2, 4]),
            "announce": rng.random() < 0.3,
        },
        "blind_one_card": rng.choice(["never", "always", "first", "last"]),
        "play": {
            "first_lead": rng.choice(["eldest", "highest_bidder"]),
            "trump_lead": rng.choice(
                ["anytime", "after_first_trick", "after_broken", "when_forced"]
            ),
            "head_led_suit": rng.random() < 0.5,
            "void": rng.choice(
                ["any", "must_trump", "must_overtrump_else_trump", "must_overtrump_else_free"]
            ),
        },
        "scoring": _random_scoring(rng),
        "end": {"target": target, "max_deals": target and rng.choice([None, 4, 9])},
        "tie_break": rng.choice(
            ["shared", "extra_deals", "extra_deals", "most_exact_bids", "largest_bid_total"]
        ),
        "settlement": {
            "kind": rng.choice(["none", "differences", "pool"]),
            "rate": rng.choice([1.0, 0.25]),
            "ante": rng.choice([1.0, 5.0]),
        },
        "hard_score_bonus": rng.choice([0, 10, -3]),
    }


def _random_pack(rng: random.Random) -> dict[str, Any]:
    standard = {"suits": list("CDHS"), "ranks": list("23456789TJQKA")}
    spanish = {"suits": list("OCEB"), "ranks": list("24567SCK3A")}
    small = {"suits": list("HS"), "ranks": list("9TJQKA")}
    pack = rng.choice([standard, standard, spanish, small])
    names = [rank + suit for suit in pack["suits"] for rank in pack["ranks"]]
    return {**pack, "removed": rng.sample(names, rng.choice([0, 0, 1, 4]))}


def _random_schedule(rng: random.Random, endless: bool) -> dict[str, Any]:
    """Short schedules: what a long one has more of is only more of the same."""
    shape = rng.choice(["constant", "up", "down", "up_down", "down_up", "explicit"])
    repeat = [1, 1, 2, "players"]
    schedule: dict[str, Any] = {
        "shape": shape,
        "overflow": rng.choice(["scale", "plateau", "error"]),
        "repeat_each": rng.choice([1, 1, 1, 2]),
        "max_deals": rng.choice([None, 2, 3, 5]),
    }
    if shape == "explicit":
        return schedule | {"sizes": [rng.randint(1, 6) for _ in range(rng.randint(1, 4))]}
    if shape == "constant":
        high = rng.choice([1, 2, 5, "max"])
        return schedule | {"high": high, "deals": None if endless else rng.randint(1, 3)}
    low, step = rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 2, 3])
    high = rng.choice(["max", low + step * rng.randint(0, 4), low + step * rng.randint(0, 4)])
    return schedule | {
        "low": low,
        "high": high,
        "step": step,
        "repeat_low": rng.choice(repeat),
        "repeat_high": rng.choice(repeat),
        "max_deals": 5 if high == "max" else rng.choice([None, None, 3]),
    }


def _random_trump(rng: random.Random, suits: list[str]) -> dict[str, Any]:
    others = ["dealer_last_card", "fixed", "rotation", "random_suit", "none"]
    method = rng.choice(["turn_up", "turn_up", "turn_up", *others])
    cycle = rng.choices([*suits, "NT"], k=rng.randint(1, 5))
    return {
        "method": method,
        "suit": rng.choice(suits) if method == "fixed" else None,
        "rotation": cycle if method == "rotation" else [],
        "exhausted": rng.choice(["no_trump", "dealer_last_card", "random_suit", "forbid"]),
        "no_trump_deals": rng.choice(["none", "none", "final", "largest"]),
        "revealed": rng.choice(["before_bidding", "after_bidding"]),
    }


def _random_scoring(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.5:
        names = "common simple bonus_only off_bid hoerr squares escalating progressive wizard "
        names += "pocha romanian podrida plump judgement_x10 skull_king"
        return rng.choice(names.split())
    if kind < 0.53:  # everybody ties for ever
        return {"exact_bonus": 0, "exact_per_trick": 0, "miss_per_trick": 0}
    if kind < 0.65:
        largest = rng.choice([6, 8, 26])
        return {"table": [_random_table(rng, size) for size in range(1, largest + 1)]}
    fields = "exact_bonus exact_per_trick exact_per_trick_sq miss_per_trick miss_per_diff "
    fields += "miss_per_diff_sq miss_per_diff_tri miss_constant"
    scoring: dict[str, Any] = {field: rng.randint(-2, 6) for field in fields.split()}
    for nil in ("nil_made", "nil_missed"):
        scoring[nil] = rng.choice([None, [rng.randint(-9, 9), rng.randint(-3, 3)]])
    return scoring


def _random_table(rng: random.Random, size: int) -> list[list[int]]:
    return [[rng.randint(-20, 40) for _ in range(size + 1)] for _ in range(size + 1)]
