"""Explains why an action is illegal, in the words of the card table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ohhell_env.actions import BID_BASE, NUM_ACTIONS, TRUMP_BASE, action_name, whole_number
from ohhell_env.cards import card_name, suit_of
from ohhell_env.engine.layout import NO_TRUMP, Phase
from ohhell_env.errors import IllegalActionError, NotationError, shown

if TYPE_CHECKING:
    from ohhell_env.game import Game


def explain_illegal(game: Game, action: Any) -> IllegalActionError:
    """Returns the error for an action that is illegal in the current state of a game."""
    if game.phase is Phase.OVER:
        return IllegalActionError(
            f"action {shown(action)}: the game is over; call reset() to play again"
        )
    number = whole_number(action)
    if number is None:
        problem = f"action {shown(action)} ({type(action).__name__}) is not a whole number"
    elif not 0 <= number < NUM_ACTIONS:
        problem = f"action {shown(number)} is out of range 0..{NUM_ACTIONS - 1}"
    elif number >= TRUMP_BASE:
        problem = f"action {number} names a trump suit, which these rules never ask for"
    elif game.phase is Phase.BID:
        problem = _bad_bid(game, number)
    else:
        problem = _bad_card(game, number)
    return IllegalActionError(f"{problem}; {_legal(game)}; {_where(game)}")


def _bad_bid(game: Game, action: int) -> str:
    bid = action - BID_BASE
    if bid < 0:
        return f"{_name(game, action)} cannot be played in the bidding"
    if bid > game.hand_size:
        return f"illegal bid {bid}: the hand size is {game.hand_size}"
    bids = " ".join(str(b) for b in game.bids if b is not None)
    return (
        f"illegal bid {bid}: the hook forbids a total equal to the hand size {game.hand_size} "
        f"(bids so far: {bids})"
    )


def _bad_card(game: Game, action: int) -> str:
    if action >= BID_BASE:
        return f"illegal {_name(game, action)}: the bidding is over"
    name = _name(game, action)
    hand = game.hands[game.seat]
    if action not in hand:
        return f"illegal card {name}: seat {game.seat} does not hold it"
    return f"illegal card {name}: {_duty(game, hand, action)}"


def _duty(game: Game, hand: list[int], card: int) -> str:
    suits = game.rules.pack.suits
    if not game.trick:
        return f"trumps ({suits[game.trump]}) may not be led now"
    led = suit_of(game.trick[0][1])
    if any(suit_of(held) == led for held in hand):
        follow = f"{suits[led]} was led and must be followed"
        if suit_of(card) == led:
            return f"{follow} with a card that beats the best one"
        return follow
    assert game.trump != NO_TRUMP, "without a trump a void seat may play anything"
    return f"void in {suits[led]}, it must play a trump ({suits[game.trump]}) that the rules allow"


def _name(game: Game, action: int) -> str:
    try:
        return action_name(action, game.rules.pack)
    except NotationError:
        return f"card number {action}"


def _legal(game: Game) -> str:
    pack = game.rules.pack
    if game.phase is Phase.BID:
        return f"legal bids: {' '.join(str(a - BID_BASE) for a in game.legal_actions())}"
    return f"legal cards: {' '.join(card_name(card, pack) for card in game.legal_actions())}"


def _where(game: Game) -> str:
    part = "bidding" if game.phase is Phase.BID else f"trick {len(game.tricks) + 1}"
    dealer = ", the dealer" if game.seat == game.dealer else ""
    return (
        f"seat {game.seat}{dealer}, deal {game.deal + 1}, hand size {game.hand_size}, {part}; "
        "the game is unchanged"
    )
