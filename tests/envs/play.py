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
from ohhell_env.rules import Rules, schedule
from ohhell_env.rules.variants import VARIANTS
from ohhell_env.state import state_layout_of
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


def state_of(game: Game, layout: str = "default") -> bytes:
    """The state of a table as bytes, straight from the engine."""
    place = state_layout_of(game.rules, layout)
    states = new_buffer(1, place.length)
    batch.write_states(game.state, game.compiled, place.compiled(), states)
    return states[: place.length].tobytes()


def expected_view(game: Game, seat: int, layout: str = "default") -> dict[str, Any]:
    """What ``decode`` should give, put together from a ``Game`` without the engine's writer."""
    hidden = game.phase is Phase.BID and game.rules.bidding.order == "simultaneous"
    view = _open_table(game, seat, game.trump_known)
    if hidden:
        view["bids"][1:] = view["needed"][1:] = [None] * (game.players - 1)
        view["bid_balance"] = 0
    if layout == "universal":
        view |= _standing(game, seat) | {"points": _points(game, seat)}
    hands, players = _hands(game), game.players
    blind_bidding = game.blind and game.phase is Phase.BID
    others = [other for other in range(players) if other != seat]
    return view | {
        "hand": [] if blind_bidding else hands[seat],
        "dealer": (game.dealer - seat) % players,
        "open_cards": {(other - seat) % players: hands[other][0] for other in others}
        if blind_bidding
        else {},
    }


def expected_state(game: Game, layout: str = "default") -> dict[str, Any]:
    """What ``state.decode`` should give, put together as ``expected_view``."""
    rules, players = game.rules, game.players
    eldest = (game.dealer + 1) % players
    hands = _hands(game)
    gone = {card for hand in game.dealt for card in hand} | {game.turned}
    further = _standing(game, eldest)
    if layout == "default":
        counted = rules.tie_break in ("most_exact_bids", "largest_bid_total")
        kept = {"tie_values"} if counted else set()
        kept |= {"extra_deals"} if rules.tie_break == "extra_deals" else set()
        further = {name: value for name, value in further.items() if name in kept}
    return (
        _open_table(game, eldest, True)
        | further
        | {
            "hands": hands[eldest:] + hands[:eldest],
            "stock": [card_name(card, rules.pack) for card in rules.pack.cards if card not in gone],
            "trump_hidden": not game.trump_known,
            "actor": None if game.over else (game.seat - eldest) % players,
        }
    )


def _hands(game: Game) -> list[list[str]]:
    return [[card_name(card, game.rules.pack) for card in hand] for hand in game.hands]


def _standing(game: Game, seat: int) -> dict[str, Any]:
    """What the universal layout adds: how the game stands and what comes after this deal."""
    rules = game.rules
    counts = {"most_exact_bids": "exact_bids", "largest_bid_total": "bid_totals"}
    field = counts.get(rules.tie_break)
    values = [0] * game.players if field is None else game.state[field][0].tolist()[: game.players]
    sizes = list(schedule.hand_sizes(rules))
    extra = int(game.state["extra"][0])
    place = game.deal % len(sizes)
    left = [] if extra else sizes[place + 1 :]
    repeats = rules.end.target is not None and not extra
    counted = sizes if repeats else left
    return {
        "trump_source": game.trump_source.name.lower(),
        "tie_values": values[seat:] + values[:seat],
        "extra_deals": extra,
        "next_hand_sizes": (left + sizes * 16 * repeats)[:16],
        "hand_sizes_left": {size: min(counted.count(size), 127) for size in sorted(set(counted))},
    }


def _points(game: Game, seat: int) -> list[int]:
    scoring, size, own = game.rules.scoring, game.hand_size, game.bids[seat]
    points = [
        schedule.points(scoring, number if own is None else own, number, size)
        for number in range(size + 1)
    ]
    return [min(max(value, -16383), 16383) for value in points]


def _open_table(game: Game, seat: int, known: bool) -> dict[str, Any]:
    """What observations and states have in common, with all bids open; seats from ``seat`` on."""
    players, pack = game.players, game.rules.pack
    bidding = game.phase is Phase.BID

    def turn(values: list[Any]) -> list[Any]:
        return values[seat:] + values[:seat]

    def away(other: int) -> int:
        return (other - seat) % players

    def tell(plays: list[tuple[int, int]]) -> list[tuple[int, str]]:
        return [(away(other), card_name(card, pack)) for other, card in plays]

    bids = game.bids
    return {
        "phase": "bid" if bidding else "play" if game.phase is Phase.PLAY else "over",
        "players": players,
        "blind": game.blind,
        "turned": None if game.turned is None or not known else card_name(game.turned, pack),
        "trump": "?" if not known else "NT" if game.trump == NO_TRUMP else pack.suits[game.trump],
        "leader": away(game.leader) if game.phase is Phase.PLAY else None,
        "hand_size": game.hand_size,
        "trick_number": len(game.tricks),
        "bids": turn(bids),
        "bid_balance": sum(b or 0 for b in game.bids) - game.hand_size,
        "tricks_won": turn(game.tricks_won),
        "needed": [
            None if bid is None else bid - won
            for bid, won in zip(turn(bids), turn(game.tricks_won), strict=True)
        ],
        "trick": tell(game.trick),
        "winning": _winning(game, tell),
        "plays": tell(game.plays),
        "voids": turn([_voids(game, other) for other in range(players)]),
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
