"""Sampled worlds: they fit all that was seen, and each that fits comes up equally often."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from ohhell_env import BatchedOhHell
from ohhell_env.cards import parse_card
from ohhell_env.engine.layout import NO_CARD, Phase, Rows, engine_rows, new_games
from ohhell_env.engine.worlds import (
    FITS,
    HIDDEN,
    HOLDERS,
    IMPOSSIBLE,
    LOOSE,
    STOCK,
    draw_all,
    read_all,
    trump_all,
    walk_all,
)
from ohhell_env.errors import IllegalActionError
from ohhell_env.game import Game, cards_of
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from tests.agents.views import View, view
from tests.helpers import house, random_rules

World = tuple[int, ...]
Worlds = NDArray[np.uint64]

SMALL = {"pack__ranks": ["J", "Q", "K", "A"], "pack__suits": ["C", "D", "H"]}
DUTIES: list[dict[str, Any]] = [
    {},
    {"play__void": "must_trump"},
    {"play__void": "must_overtrump_else_trump"},
    {"play__void": "must_overtrump_else_free", "play__head_led_suit": True},
    {"play__head_led_suit": True},
    {"play__trump_lead": "when_forced"},
    {"play__trump_lead": "after_broken"},
    {"play__trump_lead": "after_first_trick"},
    {"trump__method": "none"},
    {"trump__method": "dealer_last_card"},
    {"trump__method": "fixed", "trump__suit": "D", "play__void": "must_trump"},
]


def read(game: Game, seen: View | None = None, word: int = 1) -> Rows:
    """What the view of the seat to act leaves open."""
    seen = view(game) if seen is None else seen
    hidden = engine_rows(np.zeros(1, HIDDEN))
    layout = layout_of(game.rules, "default", game.hand_size)
    views, masks = seen["observation"][np.newaxis], seen["action_mask"][np.newaxis]
    words = np.array([word], np.uint64)
    read_all(views, masks, layout.compiled(), game.compiled, new_games(2), hidden, words)
    return hidden


def draw(game: Game, count: int, hidden: Rows | None = None, walk: bool = False) -> Worlds:
    worlds = np.zeros((count, HOLDERS), np.uint64)
    hidden = read(game) if hidden is None else hidden
    (walk_all if walk else draw_all)(hidden, game.compiled, worlds)
    return worlds


def seats_first(game: Game, world: World) -> list[int]:
    """A world's hands in the order of the table's seats."""
    players = game.players
    return [world[(seat - game.seat) % players] for seat in range(players)]  # type: ignore[operator]


def fits(game: Game, world: World) -> bool:
    """Whether the deal could have gone as it went if the hands had been those of the world."""
    played = game.state["played"][0]
    hands = [
        cards_of(held | int(played[seat])) for seat, held in enumerate(seats_first(game, world))
    ]
    again = Game(game.rules, seed=1, episode="deal", hand_size=game.hand_size)
    again.state[:] = game.state
    row = again.state[0]
    order = sorted((int(place), card) for card, place in enumerate(row["place"]) if place)
    row["hands"][: game.players] = [sum(1 << card for card in hand) for hand in hands]
    rewound = _rewound(again)
    try:
        for _, card in order:
            if not int(rewound.state["hands"][0, rewound.seat]) >> card & 1:
                return False
            rewound.apply(card)
    except IllegalActionError:
        return False
    return True


def _rewound(game: Game) -> Game:
    """A game taken back to the first lead, its hands being those at the beginning."""
    from ohhell_env.engine.batch import open_one

    bids, dealer = list(game.state["bids"][0]), game.dealer
    open_one(game.state, game.compiled)
    if game.state["plays"][0] == 0 and Phase(int(game.state["phase"][0])) is Phase.BID:
        for distance in range(1, game.players + 1):
            bid = bids[(dealer + distance) % game.players]
            if bid >= 0:
                game.apply(60 + int(bid))
    return game


def all_worlds(game: Game, hidden: Rows) -> set[World]:
    """Every division of the unseen cards that fits, found without the sampler."""
    row, players = hidden[0], game.players
    unseen = cards_of(int(row["unseen"]))
    known = [int(cards) for cards in row["known"][:players]]
    needs = [game.hand_size - _gone(game, seat, known[seat]) for seat in range(players)]
    found: set[World] = set()

    def deal(seat: int, left: list[int], hands: list[int]) -> None:
        if seat == players:
            world = (*hands, sum(1 << card for card in left))
            if fits(game, world):
                found.add(world)
            return
        for chosen in itertools.combinations(left, needs[seat]):
            rest = [card for card in left if card not in chosen]
            deal(seat + 1, rest, [*hands, known[seat] | sum(1 << card for card in chosen)])

    deal(0, unseen, [])
    return found


def _gone(game: Game, seat: int, known: int) -> int:
    of_table = (game.seat + seat) % game.players  # type: ignore[operator]
    return int(game.state["played"][0, of_table]).bit_count() + known.bit_count()


def counted(game: Game, worlds: Worlds) -> Counter[World]:
    columns = [*range(game.players), STOCK]
    return Counter(map(tuple, worlds[:, columns].tolist()))


def is_uniform(found: Counter[World], wanted: set[World], level: float = 1e-6) -> bool:
    """Chi-square: whether all wanted worlds and no others come up, each equally often."""
    assert set(found) <= wanted
    mean = sum(found.values()) / len(wanted)
    square = sum((found[world] - mean) ** 2 for world in wanted) / mean
    return len(wanted) == 1 or bool(square < chi2.isf(level, len(wanted) - 1))


def positions(rules: Rules, seed: int, least_plays: int = 0) -> list[Game]:
    """A deal at every decision with few worlds, played at random."""
    game, rng = Game(rules, seed=seed, episode="deal"), random.Random(seed)
    found = []
    while not game.over:
        if int(game.state["plays"][0]) >= least_plays:
            found.append(game.copy())
        game.apply(rng.choice(game.legal_actions()))
    return found


@pytest.mark.parametrize("duty", DUTIES, ids=str)
def test_every_world_that_fits_comes_up_equally_often(duty: dict[str, Any]) -> None:
    rules = house(3, 3, **SMALL, **duty)
    restricted = 0
    for seed in range(4):
        for game in positions(rules, seed, least_plays=2)[::2]:
            hidden = read(game)
            assert hidden["state"][0] == FITS
            wanted = all_worlds(game, hidden)
            found = counted(game, draw(game, 60 * len(wanted) + 200))
            assert is_uniform(found, wanted)
            restricted += int(hidden["narrow"][0])
    assert restricted > 0


@pytest.mark.parametrize("duty", DUTIES[:4], ids=str)
def test_exchanges_reach_every_world_equally_often(duty: dict[str, Any]) -> None:
    rules = house(3, 3, **SMALL, **duty)
    for seed in range(3):
        for game in positions(rules, seed, least_plays=3)[::2]:
            wanted = all_worlds(game, read(game))
            found = counted(game, draw(game, 60 * len(wanted) + 200, walk=True))
            assert is_uniform(found, wanted)


def test_before_anything_is_known_all_cards_are_dealt_uniformly() -> None:
    """Stock and hands: each unseen card is in each place as often as the place has room."""
    game = Game(Rules().replace(scoring="escalating"), seed=4, episode="deal", hand_size=5)
    worlds = draw(game, 40_000)
    for holder, size in ((1, 5), (2, 5), (3, 5), (STOCK, 31)):
        bits = (worlds[:, [holder]] >> np.arange(52, dtype=np.uint64)) & np.uint64(1)
        shares = bits.mean(axis=0)[bits.any(axis=0)]
        chance = size / 46
        error = np.sqrt(chance * (1 - chance) / len(worlds))
        assert len(shares) == 46
        assert np.abs(shares - chance).max() < 5.5 * error


def test_p76_a_shown_void_is_never_filled() -> None:
    hands = [["2D", "3C", "4C"], ["KH", "5C", "6C"], ["7D", "8D", "7C"], ["9D", "TD", "8C"]]
    game = Game(Rules().replace(bidding={"hook": "none"}), seed=1, episode="deal", hand_size=3)
    game.reset(hands=hands, turned="2S", dealer=3)
    for bid in (0, 0, 0, 0):
        game.apply(60 + bid)
    game.apply(parse_card("2D"))
    game.apply(parse_card("KH"))
    worlds = draw(game, 1000)
    diamonds = np.uint64(0x1FFF << 13)
    assert not (worlds[:, 3] & diamonds).any()  # seat 1, seen from seat 2
    assert (worlds[:, 1] & diamonds).any()
    assert (worlds[:, 2] & diamonds).any()


@pytest.mark.parametrize("seed", range(40))
def test_worlds_keep_numbers_voids_and_what_is_known(seed: int) -> None:
    """Every variant and number of players, all along random play."""
    rng = random.Random(seed)
    rules = random_rules(rng)
    tables = BatchedOhHell(3, rules, seed=seed)
    tables.reset()
    other = np.random.default_rng(seed)
    for _ in range(40):
        for place in range(3):
            _check_worlds(tables.game(place))
        weights = other.random(tables.action_masks.shape) * tables.action_masks
        tables.step(weights.argmax(axis=1))


def _check_worlds(game: Game) -> None:
    hidden = read(game)
    assert hidden["state"][0] == FITS
    row, players, seat = game.state[0], game.players, game.seat
    assert seat is not None
    truth = [int(row["hands"][(seat + away) % players]) for away in range(players)]
    worlds = draw(game, 5, hidden)
    pack = sum(1 << card for card in game.rules.pack.cards)
    gone = sum(int(cards) for cards in row["played"][:players])
    shown = game.turned is not None and game.trump_known
    if shown and not any(held >> int(row["turned"]) & 1 for held in truth):
        gone |= 1 << int(row["turned"])
    for world in worlds.tolist():
        assert [held.bit_count() for held in world[:players]] == [t.bit_count() for t in truth]
        assert sum(world) == pack & ~gone  # no card twice, none missing
        if not game.blind:
            assert world[0] == truth[0]
        else:
            assert world[1:players] == truth[1:]
        for away in range(players):
            voids = int(row["voids"][(seat + away) % players])
            for suit in range(4):
                assert not (voids >> suit & 1 and world[away] >> 13 * suit & 0x1FFF)
        if shown and int(row["trump_source"]) == 2:  # the dealer's shown card
            away = (game.dealer - seat) % players
            card = 1 << int(row["turned"])
            assert bool(world[away] & card) == bool(truth[away] & card)
    assert not any(int(row["barred"][s]) & truth[s] for row in hidden for s in range(players))


def test_blind_the_own_card_is_drawn_and_the_others_are_seen() -> None:
    rules = Rules.preset("boerenbridge", 4).replace(blind_one_card="always")
    game = Game(rules, seed=3, episode="deal", hand_size=1)
    worlds = draw(game, 48 * 400)
    assert len(np.unique(worlds[:, 1:4], axis=0)) == 1
    own, times = np.unique(worlds[:, 0], return_counts=True)
    assert len(own) == 48  # 52 less three seen, less the turned card
    assert ((times - 400) ** 2 / 400).sum() < chi2.isf(1e-6, 47)


def test_a_trump_that_is_not_revealed_is_drawn_from_where_it_comes() -> None:
    late = {"trump__revealed": "after_bidding"}
    for method in ("turn_up", "random_suit", "dealer_last_card"):
        game = Game(house(3, 4, trump__method=method, **late), seed=2, episode="deal")
        hidden, rows = read(game), new_games(500)
        worlds = draw(game, 500, hidden)
        rows["dealer"] = (game.dealer - game.seat) % 3  # type: ignore[operator]
        trump_all(hidden, game.compiled, worlds, rows)
        assert set(rows["trump"].tolist()) == {0, 1, 2, 3}
        if method == "random_suit":
            assert (rows["turned"] == NO_CARD).all()
            continue
        assert (rows["turned"] // 13 == rows["trump"]).all()
        held = STOCK if method == "turn_up" else int(rows["dealer"][0])
        turned = np.uint64(1) << rows["turned"].astype(np.uint64)
        assert (worlds[:, held] & turned != 0).all()


def test_views_that_cannot_be_are_said_to_be_so() -> None:
    rules = house(3, 3, **SMALL)
    game = next(g for g in positions(rules, 3, least_plays=4))
    layout = layout_of(rules, "default", 3)
    seen = view(game)
    seen["observation"][layout.slices()["voids"]] = 1
    hidden = read(game, seen)
    assert hidden["state"][0] == LOOSE
    for world in draw(game, 20, hidden).tolist():
        assert [world[s].bit_count() for s in range(3)] == [
            int(game.state["hands"][0, (game.seat + s) % 3]).bit_count()  # type: ignore[operator]
            for s in range(3)
        ]
    seen = view(game)
    seen["observation"][layout.slices()["hand_size"]] = 9  # more cards than there are
    assert read(game, seen)["state"][0] == IMPOSSIBLE


@pytest.mark.slow
@pytest.mark.compiled_only
def test_a_million_worlds_a_second() -> None:
    game = Game(Rules(), seed=1, episode="deal", hand_size=10)
    hidden, worlds = read(game), np.zeros((300_000, HOLDERS), np.uint64)
    draw_all(hidden, game.compiled, worlds[:1])
    best = min(_seconds(hidden, game, worlds) for _ in range(3))
    assert len(worlds) / best > 1e6


def _seconds(hidden: Rows, game: Game, worlds: Worlds) -> float:
    started = time.perf_counter()
    draw_all(hidden, game.compiled, worlds)
    return time.perf_counter() - started
