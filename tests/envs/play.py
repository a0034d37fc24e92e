"""Tools of the environment tests: rules to try, random play, and what a seat should see."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from ohhell_env.cards import card_name, suit_of
from ohhell_env.engine import batch
from ohhell_env.engine.encode import new_buffer
from ohhell_env.engine.layout import NO_TRUMP, Phase
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from ohhell_env.variants import VARIANTS
from tests.helpers import random_rules


def every_table() -> list[tuple[str, int]]:
    """Every variant with every number of players that it can be played with."""
    tables: list[tuple[str, int]] = []
    for name in VARIANTS:
        for players in range(2, 9):
            try:
                Rules.preset(name, players)
            except RulesError:
                continue
            tables.append((name, players))
    return tables


EVERY_TABLE = every_table()
EVERY_OTHER_LAYOUT = [
    (*table, ("default", "universal")[place % 2]) for place, table in enumerate(EVERY_TABLE)
]
"""Every variant and number of players, the two layouts by turns."""


def some_rules(count: int, seed: int) -> Iterator[Rules]:
    """Random rules over every axis."""
    rng = random.Random(seed)
    for _ in range(count):
        yield random_rules(rng)


def legal_of(mask: Any) -> list[int]:
    """The actions of a mask."""
    return np.flatnonzero(mask).tolist()


def play_out(env: Any, rng: random.Random, steps: int | None = None) -> list[tuple[str, int]]:
    """Plays random legal actions to the end (or for some steps); returns who did what."""
    log: list[tuple[str, int]] = []
    for agent in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        if termination or truncation:
            env.step(None)
            continue
        if steps is not None and len(log) == steps:
            break
        action = rng.choice(legal_of(observation["action_mask"]))
        log.append((agent, action))
        env.step(action)
    return log


def play_to_end(env: Any, rng: random.Random) -> list[tuple[str, int]]:
    """Plays random legal actions up to the last card, and stops there."""
    log: list[tuple[str, int]] = []
    while not env.terminations[env.agent_selection]:
        action = rng.choice(legal_of(env.last()[0]["action_mask"]))
        log.append((env.agent_selection, action))
        env.step(action)
    return log


def moments(rules: Rules, seed: int, share: float = 1.0, deals: int = 6) -> Iterator[Game]:
    """A game played at random, looked at before (a share of) its actions and at its end."""
    rng = random.Random(seed)
    game = Game(rules, seed=seed)
    while not game.over and len(game.finished_deals) < deals:
        if rng.random() < share:
            yield game
        game.apply(rng.choice(game.legal_actions()))
    yield game


def look(game: Game, seat: int, layout: str = "default") -> tuple[bytes, bytes]:
    """A seat's observation and mask as bytes, straight from the engine."""
    place = layout_of(game.rules, layout)
    view, mask = new_buffer(1, place.length), new_buffer(1, place.num_actions)
    batch.observe_one(game.state, game.compiled, place.compiled(), seat, view, mask)
    return view[: place.length].tobytes(), mask[: place.num_actions].tobytes()


def expected_view(game: Game, seat: int) -> dict[str, Any]:
    """What ``decode`` should give, put together from a ``Game`` without the engine's writer."""
    rules, players, pack = game.rules, game.players, game.rules.pack
    bidding, known = game.phase is Phase.BID, game.trump_known
    hidden = bidding and rules.bidding.order == "simultaneous"

    def turn(values: list[Any]) -> list[Any]:
        return values[seat:] + values[:seat]

    def away(other: int) -> int:
        return (other - seat) % players

    def tell(plays: list[tuple[int, int]]) -> list[tuple[int, str]]:
        return [(away(other), card_name(card, pack)) for other, card in plays]

    hands = [[card_name(card, pack) for card in hand] for hand in game.hands]
    bids = [None if hidden and other != seat else bid for other, bid in enumerate(game.bids)]
    blind_bidding = game.blind and bidding
    others = [other for other in range(players) if other != seat]
    return {
        "phase": "bid" if bidding else "play" if game.phase is Phase.PLAY else "over",
        "players": players,
        "blind": game.blind,
        "hand": [] if blind_bidding else hands[seat],
        "turned": None if game.turned is None or not known else card_name(game.turned, pack),
        "trump": "?" if not known else "NT" if game.trump == NO_TRUMP else pack.suits[game.trump],
        "dealer": away(game.dealer),
        "leader": away(game.leader) if game.phase is Phase.PLAY else None,
        "hand_size": game.hand_size,
        "trick_number": len(game.tricks),
        "bids": turn(bids),
        "bid_balance": 0 if hidden else sum(b or 0 for b in game.bids) - game.hand_size,
        "tricks_won": turn(game.tricks_won),
        "needed": [
            None if bid is None else bid - won
            for bid, won in zip(turn(bids), turn(game.tricks_won), strict=True)
        ],
        "trick": tell(game.trick),
        "winning": _winning(game, tell),
        "plays": tell(game.plays),
        "voids": turn([_voids(game, other) for other in range(players)]),
        "open_cards": {away(other): hands[other][0] for other in others} if blind_bidding else {},
        "scores": [min(max(score, -2048), 2047) for score in turn(game.scores)],
        "deal": game.deal,
        "deals_left": game.deals_left,
    }


def _winning(game: Game, tell: Any) -> tuple[int, str] | None:
    if not game.trick:
        return None
    led = suit_of(game.trick[0][1])

    def strength(play: tuple[int, int]) -> tuple[bool, bool, int]:
        suit = suit_of(play[1])
        return suit == game.trump, suit == led, play[1]

    return tell([max(game.trick, key=strength)])[0]


def _voids(game: Game, seat: int) -> list[str]:
    """Suits that a seat has shown to be out of: not followed, or a trump owed and not played."""
    owes = game.rules.play.void in ("must_trump", "must_overtrump_else_trump")
    shown: set[int] = set()
    for trick in [*game.tricks, game.trick]:
        for other, card in trick:
            led, suit = suit_of(trick[0][1]), suit_of(card)
            if other == seat and suit != led:
                shown.add(led)
                if owes and game.trump not in (NO_TRUMP, suit):
                    shown.add(game.trump)
    return [game.rules.pack.suits[suit] for suit in sorted(shown)]
