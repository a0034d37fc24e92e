"""``Game``: one table with checked, readable access to the engine.

Its properties read the engine's record, and its methods call the engine. See also
``engine/kernel.py`` (the rules of play) and ``envs/aec.py`` (the PettingZoo environment).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import BID_BASE, Action, whole_number
from ohhell_env.cards import Card
from ohhell_env.display import ShownInNotebooks
from ohhell_env.engine import batch
from ohhell_env.engine.layout import (
    ILLEGAL,
    NO_BID,
    NO_CARD,
    NOBODY,
    Event,
    Phase,
    Rows,
    compile_rules,
    new_games,
)
from ohhell_env.errors import RulesError, shown
from ohhell_env.first_deal import CardLike, FirstDeal, check_hand_size, lay_out
from ohhell_env.illegal import explain_illegal
from ohhell_env.records.record import deal_record, game_record
from ohhell_env.rules import Rules, RulesLike, as_rules, schedule
from ohhell_env.rules.schedule import TrumpSource

MAX_SEED = 2**64 - 1
EPISODES = ("game", "deal")


def check_seed(seed: Any, name: str = "seed") -> int:
    """Returns a seed as a whole number from 0 to 2^64 - 1, or raises RulesError.

    Args:
        seed: The caller's input.
        name: Its name in messages.
    """
    number = whole_number(seed)
    if number is None or not 0 <= number <= MAX_SEED:
        raise RulesError(f"{name} must be a whole number from 0 to 2**64 - 1, got {shown(seed)}")
    return number


def check_episode(episode: Any) -> str:
    """Returns the kind of episode, or raises RulesError."""
    if not isinstance(episode, str) or episode not in EPISODES:
        raise RulesError(f"episode must be 'game' or 'deal', got {shown(episode)}")
    return episode


class Game(ShownInNotebooks):
    """One table of Oh Hell, from the first deal to the last.

    >>> game = Game("oh_hell", seed=7)
    >>> game.hand_size, len(game.legal_actions())
    (10, 11)
    >>> game.apply(game.legal_actions()[0])
    >>> game.bids[game.dealer - 3]
    0

    Args:
        rules: Rules, the name of a variant, or the path of a YAML file.
        seed: Determines every card of every game at this table; None: drawn from the system.
        episode: "game" for the whole schedule, "deal" for one deal.
        hand_size: With episode "deal", the only hand size; None: drawn from the schedule.
        players: Overrides the number of players of the rules.

    Raises:
        RulesError: Rules, seed, episode or hand size are not allowed.
    """

    def __init__(
        self,
        rules: RulesLike = "oh_hell",
        seed: int | None = None,
        episode: str = "game",
        hand_size: int | None = None,
        players: int | None = None,
    ) -> None:
        self.rules: Rules = as_rules(rules, players)
        self.episode = check_episode(episode)
        self.chosen_size = check_hand_size(hand_size)
        self.compiled: Rows = compile_rules(self.rules, self.episode, self.chosen_size)
        self.state: Rows = new_games(1)
        """The engine's record of this table, one ``GAME`` row."""
        self.seed: int | None = None
        self._filed: list[dict[str, Any]] = []
        self._ended: list[bytes] = []  # finished deals, converted to records on demand
        self._seed_stream(secrets.randbits(63) if seed is None else seed)
        self.reset()

    def _seed_stream(self, seed: int) -> None:
        self.seed = check_seed(seed)
        batch.seed_tables(self.state, np.uint64(self.seed), np.uint64(0))

    def reset(
        self,
        seed: int | None = None,
        *,
        dealer: int | None = None,
        hand_size: int | None = None,
        hands: Sequence[Sequence[CardLike]] | None = None,
        turned: CardLike | None = None,
        trump: str | None = None,
    ) -> None:
        """Begins a new episode and deals.

        Args:
            seed: Restarts the random stream; None: the stream continues.
            dealer: The first dealer. This and all arguments below fix only the first deal.
            hand_size: The hand size.
            hands: The hands of all seats, cards by name or number, equally many each.
            turned: The turned card, or the dealer's shown last card.
            trump: The trump suit's letter, if the rules turn no card.

        Raises:
            RulesError: The arguments are impossible; the game is unchanged.
        """
        self.begin(seed, FirstDeal(dealer, hand_size, hands, turned, trump))

    def begin(self, seed: int | None, wishes: FirstDeal) -> None:
        """Begins a new episode, like ``reset`` with its arguments as one object."""
        table = self if wishes.is_free else self.copy()  # an error must leave the game unchanged
        if seed is not None:
            table._seed_stream(seed)
        if wishes.is_free:
            batch.begin_all(table.state, table.compiled)
        else:
            batch.prepare_one(table.state, table.compiled)
            lay_out(table.state, table.compiled, self.rules, wishes)
            self._load(table.state.tobytes())
            self.seed = table.seed
        self._filed, self._ended = [], []

    def apply(self, action: Action) -> None:
        """Plays an action for the seat to act; deals again when a deal ends.

        Args:
            action: A card (0 to 59) or a bid (60 + b), of any integer type.

        Raises:
            IllegalActionError: The action is not legal now; the game is unchanged.
        """
        number = action if type(action) is int else whole_number(action)
        in_range = number is not None and -1 <= number <= 127
        code = batch.step_one(self.state, self.compiled, number) if in_range else ILLEGAL
        if code == ILLEGAL:
            raise explain_illegal(self, action)
        if code >= 16 * Event.DEAL:
            self.close_deal()

    def close_deal(self) -> None:
        """Files the deal that was just scored, and deals the next one unless the game is over."""
        self._ended.append(self.state.tobytes())
        if self.phase is Phase.SCORED:
            batch.next_deal_one(self.state, self.compiled)

    @property
    def finished_deals(self) -> list[dict[str, Any]]:
        """The finished deals of this episode, as in ``record()``; do not change them."""
        if self._ended:
            table = self.copy()
            for state in self._ended:
                table._load(state)
                self._filed.append(deal_record(table))
            self._ended = []
        return self._filed

    def _load(self, state: bytes) -> None:
        """Overwrites the table with the bytes of a record."""
        self.state.view(np.uint8)[:] = np.frombuffer(state, np.uint8)

    def _get(self, field: str) -> int:
        return int(self.state[field][0])

    def _row(self, field: str) -> list[int]:
        return self.state[field][0, : self.rules.players].tolist()

    @property
    def players(self) -> int:
        """Number of seats."""
        return self.rules.players

    @property
    def phase(self) -> Phase:
        """The phase: bidding, play, scored, or episode over."""
        return Phase(self._get("phase"))

    @property
    def over(self) -> bool:
        """Whether the episode is over."""
        return self.phase is Phase.OVER

    @property
    def seat(self) -> int:
        """Seat to act; -1 when the episode is over."""
        return self._get("seat")

    @property
    def dealer(self) -> int:
        """Seat of the dealer."""
        return self._get("dealer")

    @property
    def leader(self) -> int:
        """Seat that leads, or led, the current trick."""
        return self._get("leader")

    @property
    def deal(self) -> int:
        """Number of the deal in the game, from 0."""
        return self._get("deal")

    @property
    def deals_left(self) -> int:
        """Deals still to come after this one; the most possible if a target score ends the game."""
        return max(schedule.num_deals(self.rules) - self.deal - 1, 0)

    @property
    def hand_size(self) -> int:
        """Cards dealt to each seat, which is also the number of tricks in the deal."""
        return self._get("hand_size")

    @property
    def blind(self) -> bool:
        """Whether this is a blind one-card deal."""
        return bool(self._get("blind"))

    @property
    def hands(self) -> list[list[Card]]:
        """Cards held now, by seat, ascending."""
        return [cards_of(mask) for mask in self._row("hands")]

    @property
    def dealt(self) -> list[list[Card]]:
        """Cards dealt in this deal, by seat, ascending."""
        both = zip(self._row("hands"), self._row("played"), strict=True)
        return [cards_of(held | played) for held, played in both]

    @property
    def trump_source(self) -> TrumpSource:
        """The source of this deal's trump."""
        return TrumpSource(self._get("trump_source"))

    @property
    def turned(self) -> Card | None:
        """The turned card (or the dealer's shown last card); None if no card is turned."""
        card = self._get("turned")
        return None if card == NO_CARD else card

    @property
    def trump(self) -> int:
        """Trump suit, 0 to 3, or ``NO_TRUMP``; also set before it is revealed."""
        return self._get("trump")

    @property
    def trump_known(self) -> bool:
        """Whether the players already know the trump suit."""
        return bool(batch.trump_known_one(self.state, self.compiled))

    @property
    def bids(self) -> list[int | None]:
        """Bids by seat; None before the bid."""
        return [None if bid == NO_BID else bid for bid in self._row("bids")]

    @property
    def tricks_won(self) -> list[int]:
        """Tricks won in this deal, by seat."""
        return self._row("tricks_won")

    @property
    def plays(self) -> list[tuple[int, Card]]:
        """Every card played in this deal with its seat, in the order of play."""
        seat_of = {
            card: seat for seat, mask in enumerate(self._row("played")) for card in cards_of(mask)
        }
        place = self.state["place"][0]
        return [(seat_of[card], card) for card in sorted(seat_of, key=lambda c: place[c])]

    @property
    def tricks(self) -> list[list[tuple[int, Card]]]:
        """Finished tricks of this deal, each as (seat, card) in the order of play."""
        plays, players = self.plays, self.players
        done = self._get("trick_number") * players
        return [plays[start : start + players] for start in range(0, done, players)]

    @property
    def trick(self) -> list[tuple[int, Card]]:
        """The current trick as (seat, card), in the order of play."""
        return self.plays[self._get("trick_number") * self.players :]

    @property
    def scores(self) -> list[int]:
        """Scores of the episode by seat, after the last finished deal."""
        return self._row("scores")

    @property
    def points(self) -> list[int]:
        """Points of the last finished deal by seat; zeros before the first deal ends."""
        return self._row("points")

    def win_shares(self) -> list[float]:
        """Returns each seat's share of the win, as if the episode ended with the current scores."""
        return self._results()[0].tolist()

    def winners(self) -> list[int]:
        """Returns the seats that share the win, as if the episode ended now."""
        return [seat for seat, share in enumerate(self.win_shares()) if share > 0]

    def settlement(self) -> list[float]:
        """Returns each seat's payment, as if the episode ended now; sums to 0."""
        return self._results()[1].tolist()

    def _results(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shares, paid = np.zeros(self.players), np.zeros(self.players)
        batch.results_one(self.state, self.compiled, shares, paid)
        return shares, paid

    def legal_actions(self) -> list[Action]:
        """Returns the legal action codes, ascending; empty when the episode is over."""
        first = BID_BASE if self.phase is Phase.BID else 0
        return [first + place for place in cards_of(self._get("legal"))]

    def copy(self) -> Self:
        """Returns an independent copy of the table, including its random stream."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.state = new_games(1)
        twin._load(self.state.tobytes())
        twin._filed, twin._ended = list(self._filed), list(self._ended)
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        plain = {key: value for key, value in self.__dict__.items() if key != "compiled"}
        return plain | {"state": self.state.tobytes()}

    def __setstate__(self, plain: dict[str, Any]) -> None:
        self.__dict__.update(plain)
        self.compiled = compile_rules(self.rules, self.episode, self.chosen_size)
        self.state = new_games(1)
        self._load(plain["state"])

    def record(self) -> dict[str, Any]:
        """Returns the episode so far as plain data; see ``record.py``.

        Raises:
            NotationError: Earlier deals are unknown, because the game came from a batch.
        """
        return game_record(self)

    def __str__(self) -> str:
        """The table with all hands, as the referee sees it."""
        # Imported late: the pictures package imports modules that replay records, and so this one.
        from ohhell_env.pictures.text import table_text
        from ohhell_env.pictures.view import referee_view

        return table_text(referee_view(self, NOBODY if self.over else self.seat)).rstrip("\n")


def cards_of(mask: int) -> list[Card]:
    """Returns the cards of a bit mask, ascending."""
    cards: list[Card] = []
    while mask:
        low = mask & -mask
        cards.append(low.bit_length() - 1)
        mask ^= low
    return cards
