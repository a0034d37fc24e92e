"""A game as plain data that JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ohhell_env.cards import Card, card_name
from ohhell_env.engine.layout import NO_TRUMP

if TYPE_CHECKING:
    from ohhell_env.game import Game


def deal_record(game: Game) -> dict[str, Any]:
    """Returns the present deal of a game as plain data."""
    pack = game.rules.pack
    return {
        "dealer": game.dealer,
        "hand_size": game.hand_size,
        "hands": [_names(game, hand) for hand in game.dealt],
        "turned": None if game.turned is None else card_name(game.turned, pack),
        "trump": None if game.trump == NO_TRUMP else pack.suits[game.trump],
        "bids": _bids(game),
        "tricks": [_trick(game, trick) for trick in [*game.tricks, game.trick] if trick],
        "points": game.points,
    }


def _names(game: Game, cards: list[Card]) -> list[str]:
    return [card_name(card, game.rules.pack) for card in cards]


def _bids(game: Game) -> list[list[int]]:
    order = [(game.dealer + 1 + place) % game.players for place in range(game.players)]
    made = game.bids
    return [[seat, bid] for seat in order if (bid := made[seat]) is not None]


def _trick(game: Game, trick: list[tuple[int, Card]]) -> list[list[Any]]:
    return [[seat, card_name(card, game.rules.pack)] for seat, card in trick]


def game_record(game: Game) -> dict[str, Any]:
    """Returns an episode so far as plain data."""
    deals = list(game.finished_deals)
    if not game.over:
        deals.append({**deal_record(game), "points": None})
    return {
        "rules": game.rules.to_dict(),
        "seed": game.seed,
        "episode": game.episode,
        "deals": deals,
        "scores": game.scores,
    }
