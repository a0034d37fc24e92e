"""A trick that is certain is taken, a miss that is certain avoided: networks as well as heuristics.

What is certain is worked out here once more, with names of cards and without the player's code.
"""

from __future__ import annotations

import pytest

import ohhell_agents
from ohhell_agents import zoo
from ohhell_env.actions import action_name
from ohhell_env.cards import card_name, parse_card
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from tests.agents.test_tactics import NO_TRUMP, Position, decide
from tests.agents.views import view

RANKS = "23456789TJQKA"
CORRECTED = tuple(f"{zoo.PREFIX}{name}" for name in zoo.names())
PLAYERS = ("heuristic", *CORRECTED)
FREE = {"bidding": {"hook": "none"}}
SCORINGS = ("common", "simple", "escalating")


def ruff_or_discard(
    player: ohhell_agents.Agent, rules: Rules, place: int, turned: str, bids: str
) -> list[str]:
    """Returns the hands with which a seat that needs both tricks throws one of them away.

    The ace of hearts is led; the seat, so many places behind, has one trump and one club.
    """
    wrong: list[str] = []
    for trump in RANKS:
        for club in RANKS:
            if trump == turned[0]:
                continue
            hands = [["AH", "3D"], ["7H", "8D"], ["9H", "TD"]]
            hands.insert(place, [f"{trump}S", f"{club}C"])
            game = Game(rules, seed=1, episode="deal", hand_size=2)
            game.reset(hands=hands, turned=turned, dealer=3)
            for seat, bid in enumerate(bids):
                game.apply(62 if seat == place else 60 + int(bid))
            for before in range(place):
                game.apply(parse_card(hands[before][0]))
            player.begin(rules, place)
            if player.act(view(game)) != parse_card(f"{trump}S"):
                wrong.append(" ".join(hands[place]))
    return wrong


@pytest.mark.parametrize("name", PLAYERS)
def test_a_seat_that_needs_both_tricks_ruffs(name: str) -> None:
    player = ohhell_agents.make(name, seed=1)
    for scoring in SCORINGS:
        rules = Rules(players=4).replace(scoring=scoring, **FREE)
        for place in (1, 2, 3):
            for turned, bids in (("2S", "0000"), ("AS", "1111")):
                assert ruff_or_discard(player, rules, place, turned, bids) == []


CERTAIN = [
    Position(
        "needs none, last to play, one card wins and one loses",
        "the king would win for certain",
        "QH 3D / 7H 8D / 9H TD / KH 2H",
        "2H",
        bids="1 0 0 0",
        cards="QH 7H 9H",
    ),
    Position(
        "needs one of two, void, last to play: the ace of trumps is sure later",
        "after the discard the ace takes the other trick whatever is led",
        "QH 3D / 7H 8D / 9H TD / AS 5C",
        "5C",
        bids="1 0 0 1",
        cards="QH 7H 9H",
    ),
    Position(
        "no-trump, needs both, last to play with ace and ten",
        "the ten wins now, and the ace if it is led",
        "9H 3D / 7H 8D / 8H TD / AH TH",
        "TH",
        turned=None,
        bids="0 0 0 2",
        cards="9H 7H 8H",
        rules=NO_TRUMP,
    ),
    Position(
        "no-trump, needs one of two, last to play with ace and ten",
        "the ace kept would win the last trick for certain",
        "9H 3D / 7H 8D / 8H TD / AH TH",
        "AH",
        turned=None,
        bids="0 0 0 1",
        cards="9H 7H 8H",
        rules=NO_TRUMP,
    ),
    Position(
        "three cards, needs two, void, last to play: two boss trumps",
        "the two top trumps take the other tricks whatever is led",
        "QH 3D 4D / 7H 8D 9D / 9H TD JD / AS KS 5C",
        "5C",
        bids="1 0 0 2",
        cards="QH 7H 9H",
    ),
]
"""The bid is made or missed for certain by one card, and not by the other."""


@pytest.mark.parametrize("position", CERTAIN, ids=lambda position: position.name)
@pytest.mark.parametrize("player", [*PLAYERS, "search:policy=zoo:universal"])
def test_what_is_certain_decides(position: Position, player: str) -> None:
    assert decide(player, position.game()) == position.right, position.reason


@pytest.mark.parametrize("players", range(2, 9))
def test_no_bid_is_thrown_away_in_play(players: int) -> None:
    """Whole deals: needing all, a card that can win; needing none, one that need not."""
    rules = Rules(players=players).replace(scoring="escalating", **FREE)
    seated = [
        ohhell_agents.make(CORRECTED[seat % len(CORRECTED)], seed=1) for seat in range(players)
    ]
    for seat, player in enumerate(seated):
        player.begin(rules, seat)
    seen = 0
    for seed in range(100):
        game = Game(rules, seed=seed, episode="deal", hand_size=5 if players < 8 else 4)
        while not game.over:
            action = seated[game.seat].act(view(game))
            seen += check_certain(game, action)
            game.apply(action)
    assert seen > 10


def check_certain(game: Game, action: int) -> bool:
    """Asserts that a card is no certain miss where another is none; whether that was a question."""
    legal = game.legal_actions()
    if action >= 60 or len(legal) < 2:
        return False
    seat = game.seat
    bid = game.bids[seat]
    assert bid is not None, "all have bid when cards are played"
    wants = bid - game.tricks_won[seat]
    left = len(game.hands[seat])
    last = len(game.trick) == game.rules.players - 1
    winners = [card for card in legal if wins_so_far(game, card)]
    losers = [card for card in legal if card not in winners]
    if wants == left and winners and losers:
        assert action in winners, action_name(action)
        return True
    if wants == 0 and last and winners and losers and not holds_top_trump(game):
        assert action in losers, action_name(action)
        return True
    return False


def holds_top_trump(game: Game) -> bool:
    """Whether the seat to act has the highest trump that is still out: it wins whenever played."""
    gone = {card for _, card in game.plays} | {game.turned}
    trumps = [card for card in range(52) if card // 13 == game.trump and card not in gone]
    return bool(trumps) and trumps[-1] in game.hands[game.seat]


def wins_so_far(game: Game, card: int) -> bool:
    """Whether a card would win the trick as it lies; in words of the card table."""
    names = [card_name(each) for _, each in game.trick] + [card_name(card)]
    trump = "CDHS"[game.trump] if game.trump < 4 else None
    trumps = [name for name in names if name[1] == trump]
    suit = trumps or [name for name in names if name[1] == names[0][1]]
    return max(suit, key=lambda name: RANKS.index(name[0])) == names[-1]
