"""Deals that a seat cannot distinguish from the actual one, for search with information sets.

A deal is drawn from the cards that fit what the seat has seen: the numbers of cards, the known
cards, and the cards that each seat's play shows it lacks. The engine decides the last: if holding
card A would have made it illegal to play card B, the seat that played B does not hold A. Then the
engine plays the deal over. If the seat would see anything else, another deal is drawn.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import numpy as np

from ohhell_env.actions import BID_BASE
from ohhell_env.cards import Card
from ohhell_env.engine import batch
from ohhell_env.engine.layout import Phase
from ohhell_env.errors import OhHellError
from ohhell_env.game import Game
from ohhell_env.rules.schedule import TrumpSource

if TYPE_CHECKING:
    from ohhell_env.adapters.open_spiel import OhHellState

_TRIES = 1_000
"""Draws that may be rejected before an uneven one is accepted."""


class Unseen:
    """What a seat does not know at some moment, and the deals that fit.

    Args:
        state: A state in which the cards are dealt.
        seat: The seat whose view counts.
    """

    def __init__(self, state: OhHellState, seat: int) -> None:
        table = state.moment.table
        if table is None:
            raise OhHellError("resample_from_infostate: the cards are not dealt yet")
        self.game, self.seat, self.table = state.get_game(), seat, table
        self.rules = table.rules
        self.knows = state.moment.knows(seat)
        bidding = table.phase is Phase.BID
        self.secret_bids = bidding and self.rules.bidding.order == "simultaneous"
        blind = table.blind and bidding
        self.hidden = [other for other in range(table.players) if (other == seat) == blind]
        self.known = self._known(table)
        shown = set().union(*self.known)
        if table.turned is not None and table.trump_known:
            shown.add(table.turned)
        self.free = [card for card in self.rules.pack.cards if card not in shown]
        self.need = {other: table.hand_size - len(self.known[other]) for other in self.hidden}
        made = sum(bid is not None for bid in table.bids) + len(table.plays)
        history = state.history()
        self.chances, self.made = history[: len(history) - made], history[len(history) - made :]
        self.barred: dict[int, set[Card]] = {other: set() for other in self.hidden}
        if not bidding:
            self._read_play()

    def _known(self, table: Game) -> list[set[Card]]:
        """Returns the cards of each seat that are known to the looking seat."""
        known = [set(hand) for hand in table.dealt]
        played = table.plays
        for other in self.hidden:
            known[other] = {card for seat, card in played if seat == other}
            turned = table.turned if table.trump_known else None
            own = table.trump_source is TrumpSource.DEALER_CARD and other == table.dealer
            if turned is not None and own:
                known[other].add(turned)
        return known

    def _read_play(self) -> None:
        """Plays the history over and bars the cards that would have made it illegal."""
        moment = self.game.root
        for action in (*self.chances, *self.made):
            table = moment.table
            if table is not None and action < BID_BASE and table.seat in self.hidden:
                self.barred[table.seat].update(self._proven_absent(table, action))
            moment = moment.after(action)

    def _proven_absent(self, table: Game, played: Card) -> list[Card]:
        """Returns the unseen cards that would have made the seat's play illegal."""
        absent: list[Card] = []
        for card in self.free:
            table.state["hands"][0, table.seat] = np.uint64(1 << card | 1 << played)
            batch.refresh_one(table.state, table.compiled)
            if played not in table.legal_actions():
                absent.append(card)
        return absent

    def draw(self, rng: random.Random) -> OhHellState:
        """Returns a deal that fits; all such deals are equally likely.

        Raises:
            OhHellError: No deal was found.
        """
        uneven: OhHellState | None = None
        for _ in range(_TRIES):
            hands, share = self._hands(rng)
            taken = rng.random() < share
            if taken or (share > 0 and uneven is None):
                state = self._play_over(hands, rng)
                if state is not None and taken:
                    return state
                uneven = uneven or state
        if uneven is None:
            raise OhHellError(
                f"resample_from_infostate: none of {_TRIES:,} drawn deals fits what seat "
                f"{self.seat} has seen"
            )
        return uneven

    def _hands(self, rng: random.Random) -> tuple[list[set[Card]], float]:
        """Draws hands, the most restricted seat first, and the probability of accepting them.

        The probability corrects for how many choices each seat had; it is 0 if cards run out.
        """
        hands, stock, share = [set(cards) for cards in self.known], set(self.free), 1.0
        for seat in sorted(self.hidden, key=lambda seat: -len(self.barred[seat])):
            bars, need = self.barred[seat], self.need[seat]
            left = [card for card in self.free if card in stock and card not in bars]
            if len(left) < need:
                return hands, 0.0
            if bars:
                share *= math.comb(len(left), need) / math.comb(len(self.free) - len(bars), need)
            drawn = rng.sample(left, need)
            hands[seat].update(drawn)
            stock.difference_update(drawn)
        return hands, share

    def _play_over(self, hands: list[set[Card]], rng: random.Random) -> OhHellState | None:
        """Plays the history over with these hands; returns None if it is impossible with them."""
        pack, state = self.rules.pack, self.game.new_initial_state()
        place = {card: number for number, card in enumerate(pack.cards)}
        chances = [] if state.moment.dealer is not None else [self.table.dealer]
        chances += [place[card] for hand in hands for card in sorted(hand)]
        for chance in chances:
            state.apply_action(chance)
        if state.is_chance_node():
            state.apply_action(self._trump(state, rng))
        for action in self.made:
            legal = state.legal_actions()
            secret = self.secret_bids and state.current_player() != self.seat
            if not secret and action not in legal:
                return None
            state.apply_action(rng.choice(legal) if secret else action)
        return state if state.moment.knows(self.seat) == self.knows else None

    def _trump(self, state: OhHellState, rng: random.Random) -> int:
        """Returns the outcome of chance for the trump: the known one, or a drawn one."""
        table = self.table
        if not table.trump_known:
            outcomes = state.chance_outcomes()
            return rng.choices(*zip(*outcomes, strict=True))[0]
        turned = table.turned
        return table.trump if turned is None else self.rules.pack.cards.index(turned)
