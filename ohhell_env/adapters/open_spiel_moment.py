"""A moment of a deal in OpenSpiel's form: chance deals, then the seats decide.

Chance chooses the dealer (if the rules leave it to chance), then deals every hand card by card,
seat after seat, and then decides the trump. Each hand's cards come in ascending order, so each hand
occurs in one way only. The weight of a card is the number of hands that continue with it.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import action_name
from ohhell_env.cards import Card, card_name, suit_of
from ohhell_env.engine import batch
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import ILLEGAL
from ohhell_env.envs.rewards import check_reward
from ohhell_env.errors import RulesError, shown
from ohhell_env.game import Game
from ohhell_env.illegal import explain_illegal
from ohhell_env.observation import Layout, layout_of
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import TrumpSource

CHANCE, OVER = -1, -4
"""OpenSpiel's numbers for chance and for the end, in place of a seat."""
REWARDS = ("points", "relative")
MOST_KEPT = 200_000
"""How many moments a game keeps at most, to come back to."""
_BY_CHANCE = (TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD, TrumpSource.RANDOM_SUIT)


@dataclass
class Setting:
    """What all moments of a game share."""

    rules: Rules
    hand_size: int
    reward: str
    """One of ``REWARDS``."""
    table: Game = field(init=False)
    """A table before its first action; nobody plays at it."""
    scratch: Game = field(init=False)
    """A table for looking at records; only its record is valid, not its history."""
    layout: Layout = field(init=False)
    kept: int = field(init=False, default=0)
    """Moments kept so far."""

    def __post_init__(self) -> None:
        if self.reward not in REWARDS:
            raise RulesError(
                f"reward={shown(self.reward)}: a game of OpenSpiel is one deal; allowed: "
                f"{', '.join(REWARDS)}"
            )
        self._reward = check_reward(self.reward, "deal", self.rules)
        self.table = Game(self.rules, seed=0, episode="deal", hand_size=self.hand_size)
        self.scratch = self.table.copy()
        self.layout = layout_of(self.rules, "default", self.hand_size)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # OpenSpiel copies states deeply

    @property
    def source(self) -> TrumpSource:
        """The source of the trump."""
        return self.table.trump_source

    @property
    def trump_by_chance(self) -> bool:
        """Whether chance decides the trump."""
        return self.source in _BY_CHANCE

    @property
    def dealers(self) -> list[int]:
        """The seats that may deal."""
        free = isinstance(self.rules.first_dealer, str)
        return list(range(self.rules.players)) if free else [self.table.dealer]

    def lay(self, record: bytes) -> Game:
        """Returns the scratch table set to a record; valid until the next call."""
        self.scratch.state.view(np.uint8)[:] = np.frombuffer(record, np.uint8)
        return self.scratch

    def paid(self, record: bytes) -> list[float]:
        """Returns each seat's reward at the end of a deal."""
        rewards = np.zeros(self.rules.players)
        table = self.lay(record)
        batch.rewards_one(table.state, table.compiled, self._reward, rewards)
        return rewards.tolist()

    def deals(self) -> float:
        """Returns the number of different deals."""
        ways, left = float(len(self.dealers)), self.rules.pack.size
        for _ in range(self.rules.players):
            ways *= math.comb(left, self.hand_size)
            left -= self.hand_size
        trumps = {TrumpSource.TURNED_CARD: left, TrumpSource.DEALER_CARD: self.hand_size}
        return ways * trumps.get(self.source, 1)


class Moment:
    """A moment of a deal. It never changes, so states share it and the game keeps it.

    After the deal it holds the bytes of a ``GAME`` record, because there are very many moments.

    Args:
        setting: The game's.
        dealer: The dealer; None before chance has chosen one.
        cards: Cards dealt so far, seat after seat.
        record: The table, once all cards are dealt.
    """

    __slots__ = ("_knows", "_legal", "_next", "cards", "dealer", "record", "seat", "setting")

    def __init__(
        self,
        setting: Setting,
        dealer: int | None,
        cards: tuple[Card, ...] = (),
        record: bytes | None = None,
    ) -> None:
        self.setting, self.dealer, self.cards, self.record = setting, dealer, cards, record
        self.seat = CHANCE
        if record is not None:
            table = setting.lay(record)
            self.seat = OVER if table.over else table.seat
        self._next: dict[int, Moment] | None = None
        self._legal: tuple[int, ...] | None = None
        self._knows: str | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @classmethod
    def first(cls, setting: Setting) -> Self:
        """Returns the moment before the deal."""
        dealers = setting.dealers
        return cls(setting, dealers[0] if len(dealers) == 1 else None)

    @property
    def over(self) -> bool:
        """Whether the deal is over."""
        return self.seat == OVER

    @property
    def table(self) -> Game | None:
        """A table of ours at this moment, as the caller's own copy; None while chance deals."""
        return None if self.record is None else self.setting.lay(self.record).copy()

    @property
    def returns(self) -> list[float]:
        """Rewards by seat; zeros before the end."""
        if self.record is None or not self.over:
            return [0.0] * self.setting.rules.players
        return self.setting.paid(self.record)

    @property
    def legal(self) -> tuple[int, ...]:
        """Action codes, or the numbers of chance's outcomes, ascending."""
        if self._legal is None:
            if self.record is None:
                self._legal = tuple(choice for choice, _ in self.outcomes())
            else:
                self._legal = tuple(self.setting.lay(self.record).legal_actions())
        return self._legal

    # ------------------------------------------------------------------ chance

    def outcomes(self) -> list[tuple[int, int]]:
        """Returns the outcomes of chance with their weights: a seat, a card's place, or a suit."""
        setting = self.setting
        if self.dealer is None:
            return [(seat, 1) for seat in setting.dealers]
        pack = setting.rules.pack
        if len(self.cards) < setting.rules.players * setting.hand_size:
            return self._next_cards()
        if setting.source is TrumpSource.RANDOM_SUIT:
            suits = [suit_of(card) for card in pack.cards]
            return [(suit, suits.count(suit)) for suit in sorted(set(suits))]
        turns_own = setting.source is TrumpSource.DEALER_CARD
        hand = self.hands()[self.dealer]
        shown = (card in hand if turns_own else card not in self.cards for card in pack.cards)
        return [(place, 1) for place, may_be in enumerate(shown) if may_be]

    def _next_cards(self) -> list[tuple[int, int]]:
        """Returns the possible next cards of a hand, each weighted by the hands it leads to."""
        size = self.setting.hand_size
        begun = len(self.cards) % size
        last = self.cards[-1] if begun else -1
        above = [
            place
            for place, card in enumerate(self.setting.rules.pack.cards)
            if card > last and card not in self.cards
        ]
        weights = (math.comb(len(above) - n - 1, size - begun - 1) for n in range(len(above)))
        return [pair for pair in zip(above, weights, strict=True) if pair[1]]

    def hands(self) -> list[tuple[Card, ...]]:
        """Returns the hands as dealt so far."""
        size = self.setting.hand_size
        starts = range(0, self.setting.rules.players * size, size)
        return [self.cards[start : start + size] for start in starts]

    # ------------------------------------------------------------------ what follows

    def after(self, action: int) -> Moment:
        """Returns the moment after an action or an outcome of chance.

        Raises:
            OhHellError: It is not legal now.
        """
        if self._next is not None and action in self._next:
            return self._next[action]
        following = self._deal(action) if self.record is None else self._play(action)
        if self.setting.kept < MOST_KEPT:
            self.setting.kept += 1
            self._next = {} if self._next is None else self._next
            self._next[action] = following
        return following

    def _play(self, action: int) -> Moment:
        assert self.record is not None
        table = self.setting.lay(self.record)
        if batch.step_one(table.state, table.compiled, action) == ILLEGAL:
            raise explain_illegal(table, action)
        return Moment(self.setting, self.dealer, self.cards, table.state.tobytes())

    def _deal(self, action: int) -> Moment:
        setting = self.setting
        if action not in self.legal:
            raise RulesError(f"chance cannot choose {action} now; allowed: {list(self.legal)}")
        if self.dealer is None:
            return Moment(setting, action)
        whole = setting.rules.players * setting.hand_size
        if len(self.cards) == whole:
            return self._opened(self.cards, action)
        cards = (*self.cards, setting.rules.pack.cards[action])
        if len(cards) < whole or setting.trump_by_chance:
            return Moment(setting, self.dealer, cards)
        return Moment(setting, self.dealer, cards)._opened(cards, None)

    def _opened(self, cards: tuple[Card, ...], choice: int | None) -> Moment:
        """Returns the moment before the first bid; ``choice`` is chance's outcome for the trump."""
        setting, pack = self.setting, self.setting.rules.pack
        wish: dict[str, Any] = {}
        if choice is not None and setting.source is TrumpSource.RANDOM_SUIT:
            wish = {"trump": pack.suits[choice]}
        elif choice is not None:
            wish = {"turned": pack.cards[choice]}
        table = setting.table.copy()
        # Always the same seed: it picks the same one of several deals of this size in the schedule.
        table.reset(0, dealer=self.dealer, hands=self.hands(), **wish)
        return Moment(setting, self.dealer, cards, table.state.tobytes())

    # ------------------------------------------------------------------ words and views

    def name(self, action: int) -> str:
        """Returns the name of an action or of an outcome of chance."""
        setting, pack = self.setting, self.setting.rules.pack
        if self.record is not None:
            return action_name(action, pack)
        if self.dealer is None:
            return f"seat {action} deals"
        dealt = len(self.cards) // setting.hand_size
        if dealt < setting.rules.players:
            return f"seat {dealt} gets {card_name(pack.cards[action], pack)}"
        suited = setting.source is TrumpSource.RANDOM_SUIT
        return f"trump {pack.suits[action] if suited else card_name(pack.cards[action], pack)}"

    def question(self, seat: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Returns a seat's view and action mask, int8 (L,) and (A,); zeros while chance deals."""
        setting, layout = self.setting, self.setting.layout
        if not 0 <= seat < setting.rules.players:
            raise RulesError(f"a seat is 0 to {setting.rules.players - 1}, got {seat}")
        view, mask = new_buffer(1, layout.length), new_buffer(1, layout.num_actions)
        if self.record is not None:
            table, sections = setting.lay(self.record), layout.compiled()
            batch.observe_one(table.state, table.compiled, sections, seat, view, mask)
        return view[:-MARGIN], mask[:-MARGIN]

    def knows(self, seat: int) -> str:
        """Returns what a seat knows as text: its number and its view, with the public history."""
        if seat == self.seat and self._knows is not None:
            return self._knows
        text = f"{seat}:{self.question(seat)[0].tobytes().hex()}"
        if seat == self.seat:
            self._knows = text = sys.intern(text)
        return text
