"""The last tricks: where every deal that fits is tried, no player makes a bid impossible.

The referee here deals the unseen cards out in every way and tries every play, card by card, in
plain Python and without the player's code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

import ohhell_agents
from ohhell_env.actions import BID_BASE
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from tests.agents.views import view

Hands = dict[int, tuple[int, ...]]
LETTERS, RANKS = "CDHS", "23456789TJQKA"
LAST_TRICKS = 3


def small_pack(players: int, suits: int, ranks: int, **changes: object) -> Rules:
    pack = {"suits": list(LETTERS[:suits]), "ranks": list(RANKS[-ranks:])}
    return Rules(players=players).replace(
        scoring="escalating", **{"bidding.hook": "none", "pack": pack}, **changes
    )


def hidden_deals(
    seats: list[int], sizes: dict[int, int], cards: list[int], voids: dict[int, set[int]]
) -> Iterator[Hands]:
    """Yields every way to deal cards to seats that fits what they have shown."""
    if not seats:
        yield {}
        return
    seat, *others = seats
    fitting = [card for card in cards if card // 13 not in voids[seat]]
    for hand in itertools.combinations(fitting, sizes[seat]):
        left = [card for card in cards if card not in hand]
        for hands in hidden_deals(others, sizes, left, voids):
            yield {seat: hand, **hands}


def can_win_exactly(
    wanted: int, hands: Hands, trick: list[tuple[int, int]], seat: int, me: int, trump: int
) -> bool:
    """Whether some play from here on brings a seat exactly so many tricks."""
    if len(trick) == len(hands):
        winner, best = trick[0]
        for each, card in trick[1:]:
            if card > best if card // 13 == best // 13 else card // 13 == trump:
                winner, best = each, card
        return can_win_exactly(wanted - (winner == me), hands, [], winner, me, trump)
    if not 0 <= wanted <= len(hands[me]) + (me in dict(trick)):
        return False
    hand = hands[seat]
    if not hand:
        return wanted == 0
    led = trick[0][1] // 13 if trick else None
    for card in [card for card in hand if card // 13 == led] or hand:
        after = {**hands, seat: tuple(other for other in hand if other != card)}
        played = [*trick, (seat, card)]
        if can_win_exactly(wanted, after, played, (seat + 1) % len(hands), me, trump):
            return True
    return False


def cards_that_may_make_it(game: Game) -> set[int]:
    """Returns the legal cards after which the bid can still be made, as far as the seat knows."""
    me, players, pack = game.seat, game.rules.players, game.rules.pack
    gone = {card for _, card in game.plays} | {game.turned} | set(game.hands[me])
    places = itertools.product(range(len(pack.suits)), range(len(pack.ranks)))
    unseen = [suit * 13 + rank for suit, rank in places if suit * 13 + rank not in gone]
    voids: dict[int, set[int]] = {seat: set() for seat in range(players)}
    for first in range(0, len(game.plays), players):
        led = game.plays[first][1] // 13
        for seat, card in game.plays[first : first + players]:
            voids[seat] |= {led} - {card // 13}
    sizes = {seat: len(game.hands[seat]) for seat in range(players)}
    bid = game.bids[me]
    assert bid is not None
    wanted, found = bid - game.tricks_won[me], set[int]()
    others = [seat for seat in range(players) if seat != me]
    for hands in hidden_deals(others, sizes, unseen, voids):
        for card in set(game.legal_actions()) - found:
            mine = tuple(other for other in game.hands[me] if other != card)
            trick, after = [*game.trick, (me, card)], {**hands, me: mine}
            ordered = {seat: after[seat] for seat in range(players)}
            if can_win_exactly(wanted, ordered, trick, (me + 1) % players, me, game.trump):
                found.add(card)
        if len(found) == len(game.legal_actions()):
            break
    return found


@pytest.mark.parametrize("name", ["heuristic", "zoo:universal"])
@pytest.mark.parametrize(
    ("rules", "hand_size", "deals"),
    [
        (small_pack(4, 4, 13, **{"trump.method": "none", "schedule.high": 13}), 13, 12),
        (small_pack(3, 3, 4, **{"schedule.high": 4}), 4, 60),
        (small_pack(2, 4, 4, **{"schedule.high": 3}), 3, 80),
        (small_pack(2, 2, 4, **{"schedule.high": 4}), 4, 80),
        (small_pack(5, 3, 5, **{"schedule.high": 2}), 2, 45),
    ],
    ids=["4 players, the whole pack", "3 of 12", "2 of 16", "2 of 8", "5 of 15"],
)
def test_no_card_throws_a_bid_away(rules: Rules, hand_size: int, deals: int, name: str) -> None:
    players = [ohhell_agents.make(name, seed=1) for _ in range(rules.players)]
    for seat, player in enumerate(players):
        player.begin(rules, seat)
    questions = 0
    for seed in range(deals):
        game = Game(rules, seed=seed, episode="deal", hand_size=hand_size)
        while not game.over:
            action, legal = players[game.seat].act(view(game)), game.legal_actions()
            last = len(game.hands[game.seat]) <= LAST_TRICKS
            if action < BID_BASE and len(legal) > 1 and last:
                may_make_it = cards_that_may_make_it(game)
                if may_make_it and may_make_it != set(legal):
                    questions += 1
                    assert action in may_make_it, (seed, game.hands[game.seat], action)
            game.apply(action)
    assert questions >= 5


@pytest.mark.parametrize("players", range(2, 9))
@pytest.mark.parametrize("hand_size", [1, 2])
@pytest.mark.parametrize(
    "name", ["heuristic", "zoo:universal", "search:policy=zoo:universal,worlds=8"]
)
def test_a_hand_that_beats_nothing_bids_nil(name: str, players: int, hand_size: int) -> None:
    """Without trumps, behind the leader, a deuce wins no trick: any bid but nil is missed."""
    rules = Rules(players=players).replace(
        scoring="escalating", **{"bidding.hook": "none", "trump.method": "none"}
    )
    cards = [[f"{rank}{suit}" for suit in LETTERS[:hand_size]] for rank in RANKS]
    with ohhell_agents.make(name, seed=1) as player:
        for place in range(1, players):
            hands = cards[1:players]
            hands.insert(place, cards[0])
            game = Game(rules, seed=1, episode="deal", hand_size=hand_size)
            game.reset(hands=hands, dealer=players - 1)
            for _ in range(place):
                game.apply(BID_BASE)
            player.begin(rules, place)
            assert player.act(view(game)) == BID_BASE
