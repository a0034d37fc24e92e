"""A seat sees what it may know and nothing else.

The one half: everything that a seat may not know is changed (the cards of the others and of the
stock dealt anew, a hidden trump, hidden bids), and its bytes stay the same. The other half: what it
may know is changed, and the bytes differ.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ohhell_env import Game, Rules
from ohhell_env.cards import suit_of
from ohhell_env.engine import batch
from ohhell_env.engine.layout import NO_TRUMP, Phase
from ohhell_env.rules.schedule import TrumpSource, hand_sizes
from tests.envs.play import EVERY_OTHER_LAYOUT, EVERY_TABLE, look, moments, some_rules

LAYOUTS = ["default", "universal"]


def mask_of(cards: Any) -> np.uint64:
    return np.uint64(sum(1 << card for card in cards))


def hides_trump(game: Game) -> bool:
    return not game.trump_known


def redeal(game: Game, seat: int, rng: random.Random) -> Game:
    """The same table with all that a seat may not know drawn anew.

    In the bidding of a blind deal that is the seat's own card and the stock, otherwise the others'
    hands and the stock; while the trump is not revealed the turned card and the trump, too; in
    simultaneous bidding the others' bids.
    """
    twin = game.copy()
    row = twin.state[0]
    hands = [set(hand) for hand in game.hands]
    blind = game.blind and game.phase is Phase.BID
    secret_trump = hides_trump(game)
    hidden = [seat] if blind else [other for other in range(game.players) if other != seat]
    gone = {card for _, card in game.plays}
    shown = {game.turned} if game.turned is not None and not secret_trump else set()
    kept = {other: hands[other] & shown for other in hidden}
    stays = gone | shown | set().union(*(hands[o] for o in range(game.players) if o not in hidden))
    free = sorted(set(game.rules.pack.cards) - stays)
    rng.shuffle(free)
    for other in hidden:
        need = len(hands[other]) - len(kept[other])
        row["hands"][other] = mask_of(kept[other] | set(free[:need]))
        free = free[need:]
    if secret_trump:
        _hide_another_trump(twin, free, rng)
    if game.phase is Phase.BID and game.rules.bidding.order == "simultaneous":
        for other in range(game.players):
            if other != seat and game.bids[other] is not None:
                row["bids"][other] = rng.randint(0, game.hand_size)
        row["bid_sum"] = sum(bid for bid in twin.bids if bid is not None)
    batch.refresh_one(twin.state, twin.compiled)
    return twin


def _hide_another_trump(twin: Game, stock: list[int], rng: random.Random) -> None:
    row = twin.state[0]
    if twin.trump_source is TrumpSource.RANDOM_SUIT:
        row["trump"] = rng.randrange(len(twin.rules.pack.suits))
    else:
        dealers = twin.trump_source is TrumpSource.DEALER_CARD
        row["turned"] = rng.choice(twin.hands[twin.dealer] if dealers else stock)
        row["trump"] = suit_of(int(row["turned"]))


def check_hidden(rules: Rules, seed: int, layout: str, share: float, deals: int) -> int:
    """Redeals at random moments of a game; returns how many redeals changed the hands."""
    rng, changed = random.Random(seed), 0
    for game in moments(rules, seed, share=share, deals=deals):
        for seat in range(game.players):
            twin = redeal(game, seat, rng)
            assert look(twin, seat, layout) == look(game, seat, layout)
            changed += twin.hands != game.hands
    return changed


@pytest.mark.parametrize("name,players,layout", EVERY_OTHER_LAYOUT)
def test_redealing_the_unseen_cards_changes_nothing(name: str, players: int, layout: str) -> None:
    rules = Rules.preset(name, players)
    changed = check_hidden(rules, players, layout, share=0.1, deals=4)
    nothing_unseen = players == 2 and min(hand_sizes(rules)) * 2 == rules.pack.size
    assert (changed == 0) == nothing_unseen


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_redealing_under_random_rules(seed: int, layout: str) -> None:
    changed = [
        check_hidden(rules, number, layout, share=0.3, deals=4)
        for number, rules in enumerate(some_rules(12, 50 + seed))
    ]
    assert sum(changed) > 100


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", ["turn_up", "dealer_last_card", "random_suit"])
def test_late_trumps_and_secret_bids(source: str, layout: str) -> None:
    """The hidden things that few presets have, for certain: they are really changed here."""
    rules = Rules.from_dict(
        {
            "players": 4,
            "schedule": {"shape": "explicit", "sizes": [3, 2]},
            "trump": {"method": source, "revealed": "after_bidding"},
            "bidding": {"order": "simultaneous", "hook": "none"},
        }
    )
    rng = random.Random(1)
    seen: set[str] = set()
    for seed in range(6):
        for game in moments(rules, seed):
            for seat in range(4):
                twin = redeal(game, seat, rng)
                assert look(twin, seat, layout) == look(game, seat, layout)
                seen |= {"trump"} if twin.trump != game.trump else set()
                seen |= {"bids"} if twin.bids != game.bids else set()
                seen |= {"turned"} if twin.turned != game.turned else set()
    assert {"trump", "bids"} <= seen and ("turned" in seen) == (source != "random_suit")


def test_a_blind_seat_does_not_see_its_own_card() -> None:
    rules = Rules.preset("boerenbridge", 4)
    game, rng = Game(rules, seed=1), random.Random(1)
    assert game.blind
    others = {seat: set() for seat in range(4)}
    for _ in range(20):
        for seat in range(4):
            twin = redeal(game, seat, rng)
            assert look(twin, seat) == look(game, seat)
            others[seat].add(twin.hands[seat][0])
    assert all(len(cards) > 5 for cards in others.values())


# ---------------------------------------------------------------- the other half


def test_another_own_card_changes_the_view() -> None:
    rng = random.Random(2)
    for name, players in EVERY_TABLE[::4]:
        for game in moments(Rules.preset(name, players), 2, share=0.05, deals=3):
            for seat in range(game.players):
                hand = game.hands[seat]
                held = {card for hand in game.hands for card in hand}
                held |= {card for _, card in game.plays} | {game.turned}
                free = sorted(set(game.rules.pack.cards) - held)
                if not hand or not free or (game.blind and game.phase is Phase.BID):
                    continue
                twin = game.copy()
                changed = set(hand) - {rng.choice(hand)} | {rng.choice(free)}
                twin.state["hands"][0, seat] = mask_of(changed)
                assert look(twin, seat)[0] != look(game, seat)[0]


VISIBLE = ["bids", "tricks_won", "scores", "dealer", "trump", "deal", "hand_size", "trick_number"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("field", VISIBLE)
def test_what_is_public_is_seen_by_everybody(field: str, layout: str) -> None:
    game = next(g for g in moments(Rules.preset("oh_hell"), 5) if g.phase is Phase.PLAY)
    for seat in range(4):
        for place in range(4 if game.state[field].ndim > 1 else 1):
            twin = game.copy()
            value = twin.state[field][0] if game.state[field].ndim == 1 else None
            if value is not None:
                twin.state[field] = (value + 1) % 4 if field in ("dealer", "trump") else value + 1
            else:
                twin.state[field][0, place] += 1
            assert look(twin, seat, layout)[0] != look(game, seat, layout)[0]


def test_every_card_played_is_seen_by_everybody_with_its_place() -> None:
    rng = random.Random(4)
    game = Game("oh_hell", seed=4)
    while game.phase is Phase.BID:
        game.apply(rng.choice(game.legal_actions()))
    while len(game.plays) < 39:
        before = [look(game, seat)[0] for seat in range(4)]
        actor = game.seat
        legal = game.legal_actions()
        views = []
        for card in legal:
            twin = game.copy()
            twin.apply(card)
            views.append([look(twin, seat)[0] for seat in range(4)])
        for seat in range(4):
            if seat != actor:
                assert len({view[seat] for view in views}) == len(legal), "each card is told apart"
            assert all(view[seat] != before[seat] for view in views)
        game.apply(rng.choice(legal))


def test_a_visible_trump_is_seen_and_no_trump_too() -> None:
    game = next(g for g in moments(Rules.preset("oh_hell"), 6) if g.phase is Phase.PLAY)
    views = set()
    for trump in (0, 1, 2, 3, NO_TRUMP):
        twin = game.copy()
        twin.state["trump"] = trump
        views.add(look(twin, 0)[0])
    assert len(views) == 5
