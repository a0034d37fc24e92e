"""Positions that a good player finds obvious, each with its reason in words of the card table.

In each of them the right answer is right whatever the hidden cards are, or as good as always; none
is a matter of taste. Seat 0 is eldest unless a dealer is named. (P76 and P77, worlds that fit and
no peeking, are in ``test_worlds.py`` and ``test_search.py``.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ohhell_agents import make
from ohhell_env.actions import action_name
from ohhell_env.cards import SPANISH_RANKS, SPANISH_SUITS, parse_card
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from tests.agents.views import view

PLAYERS = ("heuristic", "search:worlds=200", "zoo:universal", "search:policy=zoo:universal")
NO_TRUMP = {"trump": {"method": "none"}}
HOOK = {"bidding": {"hook": "last_bidder"}}
MUST_TRUMP = {"play": {"void": "must_trump"}}
AT_ONCE = {"bidding": {"order": "simultaneous", "hook": "none"}}
SPANISH = {"pack": {"suits": SPANISH_SUITS, "ranks": SPANISH_RANKS}}


@dataclass(frozen=True)
class Position:
    """A decision, and what is right."""

    name: str
    reason: str
    hands: str
    """By seat, divided by "/"."""
    right: str
    """The right action, or several of them divided by "|": "3D", "bid 2", "KS|QS"."""
    turned: str | None = "2S"
    bids: str = ""
    cards: str = ""
    """Played before, in order."""
    dealer: int | None = None
    """None: the last seat."""
    rules: dict[str, Any] = field(default_factory=dict[str, Any])
    """What differs from common scoring without a hook."""

    def game(self) -> Game:
        """Returns the table where the decision is due."""
        given = [hand.split() for hand in self.hands.split("/")]
        rules = Rules(players=len(given)).replace(**({"bidding": {"hook": "none"}} | self.rules))
        game = Game(rules, seed=1, episode="deal", hand_size=len(given[0]))
        dealer = len(given) - 1 if self.dealer is None else self.dealer
        game.reset(hands=given, turned=self.turned, dealer=dealer)
        for bid in self.bids.split():
            game.apply(60 + int(bid))
        for card in self.cards.split():
            game.apply(parse_card(card, rules.pack))
        return game


BIDS = [
    Position(
        "P78: hooked off one with the ace of trumps",
        "the ace of trumps takes a trick, so nil cannot be made; two can",
        "7H 8H / 7D 8D / 9H 9D / AS 3C",
        "bid 2",
        bids="1 0 0",
        rules=HOOK,
    ),
    Position(
        "hooked off one of three with the ace of trumps",
        "nil is lost for certain, two needs one more trick than is sure",
        "7H 8H 9C / 7D 8D 9S / 9H 9D 8S / AS KH 3C",
        "bid 2",
        bids="1 0 1",
        rules=HOOK | {"scoring": "simple"},
    ),
    Position(
        "hooked off two with the two top trumps",
        "two tricks come whatever is bid; one misses by less than nil",
        "7H 8H / 7D 8D / 9H 9D / AS KS",
        "bid 1",
        bids="0 0 0",
        rules=HOOK | {"scoring": "off_bid"},
    ),
    Position(
        "hooked off nil with the lowest cards",
        "one trick is hard enough to come by, two are twice as hard",
        "AH 8H / 7D 8D / 9H 9D / 2C 3D",
        "bid 1",
        bids="1 1 0",
        rules=HOOK | {"scoring": "simple"},
    ),
    Position(
        "one card, six players, the king of trumps, the ace is turned",
        "the king is boss",
        "7H / KS / 9H / 9D / 2C / 3D",
        "bid 1",
        turned="AS",
        bids="1",
    ),
    Position(
        "one card, the king of trumps from a pack without aces",
        "the king is boss",
        "7H / QS / KS / 9D",
        "bid 1",
        bids="1 1",
        rules={"pack": {"removed": ("AC", "AD", "AH", "AS")}},
    ),
    Position(
        "nil pays ten for each card, five of the lowest",
        "nil pays most and is as good as made",
        "7H AD 9S TS QH / 2C 3C 2D 3D 2H / 9H TD JD QC KC / 9D 7S 8S AC AH",
        "bid 0",
        bids="2",
        rules={"scoring": "skull_king"},
    ),
    Position(
        "the three top trumps",
        "nobody can beat any of them",
        "AS KS QS / 7D 8D 9D / 9H 9C 8C / 5C 3C 2H",
        "bid 3",
    ),
    Position(
        "five top trumps in the middle of the table",
        "nobody can beat any of them",
        "7D 8D 9D TD JD / AS KS QS JS TS / 9H 9C 8C 7C 6C / 5C 3C 2H 4C 3H",
        "bid 5",
        bids="0",
        rules={"scoring": "escalating"},
    ),
    Position(
        "nothing but the lowest cards",
        "a two or a three is beaten by whatever the others follow with",
        "7D 8S 9D / 9H 9C 8C / 5C 3C 2H / 2D 3D 2C",
        "bid 0",
        bids="1 0 0",
        rules={"scoring": "simple"},
    ),
    Position(
        "no-trump, on lead with the three top hearts",
        "without trumps nobody can stop a run of top cards by the leader",
        "AH KH QH / 7D 8D 9D / 9H 9C 8C / 5C 3C 2H",
        "bid 3",
        turned=None,
        rules=NO_TRUMP,
    ),
    Position(
        "no-trump, last to bid with three twos",
        "a two never takes a trick that another seat has led",
        "AH KH QH / 7D 8D 9D / 9H 9C 8C / 2C 2D 2H",
        "bid 0",
        turned=None,
        bids="2 0 0",
        rules=NO_TRUMP,
    ),
    Position(
        "one card, the ace of trumps",
        "it takes the trick",
        "KS / AS / 3H / 4D",
        "bid 1",
        bids="1",
        rules={"scoring": "simple"},
    ),
    Position(
        "one card, the last seat with the lowest heart",
        "it loses if hearts are led and cannot win if they are not",
        "KD / 9C / 3H / 2H",
        "bid 0",
        bids="0 0 0",
    ),
    Position(
        "one card, eldest has bid a trick, a low trump behind two more",
        "eldest can only mean a high trump",
        "KS / 9C / 3H / 4S",
        "bid 0",
        bids="1 0 0",
        rules={"scoring": "bonus_only"},
    ),
    Position(
        "simultaneous bids with the two top trumps",
        "both win; what the others bid does not matter",
        "7H 8H / AS KS / 9H 9D / 4C 3C",
        "bid 2",
        rules=AT_ONCE,
        dealer=0,
    ),
    Position(
        "simultaneous bids, one card, not on lead with the lowest club",
        "it cannot take the trick",
        "7H / 2C / 9H / 4C",
        "bid 0",
        rules=AT_ONCE,
        bids="0",
    ),
    Position(
        "blind, the others show low side cards and it leads",
        "nearly every card that it can hold beats theirs",
        "7S / 2C / 3C / 2D",
        "bid 1",
        rules={"blind_one_card": "always"},
    ),
    Position(
        "blind, another shows the ace of trumps",
        "nothing beats it",
        "7S / AS / KS / QS",
        "bid 0",
        rules={"blind_one_card": "always"},
    ),
    Position(
        "the dealer's last card is the ace of trumps",
        "everybody sees that it will win",
        "7H / 8H / KS / AS",
        "bid 1",
        turned="AS",
        bids="0 0 1",
        rules={"trump": {"method": "dealer_last_card"}},
    ),
]

PLAYS = [
    Position(
        "ten cards, nil, last to play, the ace is in the trick",
        "the king falls under the ace and is no danger any more",
        "AH 7C 8C 9C 7D 8D 9D 7S 8S 9S / 2H TC JC QC TD JD QD TS JS QS / "
        "4H 4C 5C 6C 4D 5D 6D AC AD KS / KH 3H 2C 3C 2D 3D 5S 3S 6H 6S",
        "KH",
        bids="3 4 2 0",
        cards="AH 2H 4H",
    ),
    Position(
        "two players, no-trump, needs both, last to play",
        "the ten is enough now; the ace, led next, cannot be beaten",
        "7H 2D / TH AH",
        "TH",
        turned=None,
        bids="0 2",
        cards="7H",
        rules=NO_TRUMP,
    ),
    Position(
        "nil, cannot follow nor overruff, free to throw",
        "the small trump goes under the large one",
        "QH 8D / 9S 9D / 5S 2D / 6H 9C",
        "5S",
        bids="0 1 0 1",
        cards="QH 9S",
        rules={"play": {"void": "must_overtrump_else_free"}, "scoring": "simple"},
    ),
    Position(
        "needs one, cannot follow, king of trumps and a low card, the ace is turned",
        "the king is boss: it takes the last trick for certain",
        "KC QC / KS 3D / 9C TC / 5C 6C",
        "3D",
        turned="AS",
        bids="1 1 0 0",
        cards="KC",
    ),
    Position(
        "P79: needs every trick with king, queen and four of trumps",
        "a top trump (king and queen are one) draws those that could beat the four",
        "KS QS 4S / 7D 8D 9D / 9H 9C 8C / 5C 3C 2H",
        "KS|QS",
        bids="3 0 0 0",
    ),
    Position(
        "P80: needs one, cannot follow, boss trump and a low card left",
        "the trump takes the last trick for certain; taken now, the low card must be led",
        "KC QC / AS 3D / 9C TC / 5C 6C",
        "3D",
        bids="1 1 0 0",
        cards="KC",
    ),
    Position(
        "needs both with ace and queen of trumps",
        "the ace may draw the king; the queen led first may lose to it",
        "AS QS / 7D 8D / 9H 9C / 5C 3C",
        "AS",
        bids="2 1 1 0",
    ),
    Position(
        "needs all with one trump and two top hearts",
        "draw trumps before somebody ruffs a heart",
        "AS AH KH / 7D 8D 9D / 9H 9C 8C / 5C 3C 2H",
        "AS",
        bids="3 1 1 1",
    ),
    Position(
        "needs both, and the king of trumps has become boss",
        "the ace is gone; the king draws a trump that could ruff the king of diamonds",
        "AS 7D 4C 3C / KS AD KD 3S / 5S 9C 8C 5D / 6S QD 2H 6H",
        "KS",
        bids="1 3 1 1",
        cards="AS 3S 5S 6S 7D AD 5D QD",
    ),
    Position(
        "last to play, needs two, king or ten would win",
        "win as cheaply as possible and keep the ace",
        "7H 8D 2C / 9H 9D 3C / 5H 7D 4C / TH AH 6C",
        "TH",
        bids="1 1 0 2",
        cards="7H 9H 5H",
    ),
    Position(
        "no-trump, last to play, needs one of two, both hearts win",
        "win with the ace: led to the last trick it would win again, the ten can be beaten",
        "7H 8D / 9H 9D / 5H 7D / TH AH",
        "AH",
        turned=None,
        bids="1 1 0 1",
        cards="7H 9H 5H",
        rules=NO_TRUMP,
    ),
    Position(
        "last to play, needs one of two, the ace wins now",
        "the two wins nothing later, and nobody need lead hearts for the ace",
        "QH 8D / KH 9D / 5H 7D / AH 2H",
        "AH",
        bids="1 1 0 1",
        cards="QH KH 5H",
    ),
    Position(
        "nil, a king, a jack and a three under the queen",
        "the jack loses now; it might not later",
        "QH 8D 2C / KH JH 3H / 5H 7D 4C / 6H 9D 6C",
        "JH",
        bids="1 0 1 1",
        cards="QH",
    ),
    Position(
        "nil in a no-trump deal, last to play under the queen",
        "the highest card that loses goes first",
        "QH 8D 2C / 4H 3D 3C / 5H 7D 4C / KH TH 3H",
        "TH",
        turned=None,
        bids="1 0 1 0",
        cards="QH 4H 5H",
        rules=NO_TRUMP,
    ),
    Position(
        "nil, cannot follow, an ace and two low cards",
        "a chance to be rid of the ace",
        "QH 8D 2C / AC 3D 2D / 5H 7D 4C / 6H 9D 6C",
        "AC",
        bids="1 0 1 1",
        cards="QH",
    ),
    Position(
        "nil at no-trump, cannot follow, a king and two low cards",
        "a discard never wins: throw what could win later",
        "QH 8D 2C / KC 3D 2D / 5H 7D 4C / 6H 9D 6C",
        "KC",
        turned=None,
        bids="1 0 1 1",
        cards="QH",
        rules=NO_TRUMP | {"scoring": "simple"},
    ),
    Position(
        "nil with the Spanish pack, cannot follow",
        "the three stands above the king there: throw it",
        "SB 4O 4C / 3C 5E 2E / 4B 2O 4E / 6B SE 5C",
        "3C",
        turned="7O",
        bids="1 0 1 0",
        cards="SB",
        rules=SPANISH,
    ),
    Position(
        "nil, cannot follow, another has ruffed higher",
        "throw the small trump under the large one",
        "QH 8D / 9S 9D / 5S 2D / 6H 9C",
        "5S",
        bids="0 1 0 1",
        cards="QH 9S",
    ),
    Position(
        "nil, last to play, cannot follow, nobody has ruffed",
        "the trump would take the trick",
        "QH 8D / 7H 9D / 5H 7D / 9S 3D",
        "3D",
        bids="1 0 0 0",
        cards="QH 7H 5H",
    ),
    Position(
        "nil, last to play with ace and three over a nine",
        "the three is the only card that does not take the trick",
        "9H 7D / 4H 8D / 6H 2D / AH 3H",
        "3H",
        bids="1 0 0 0",
        cards="9H 4H 6H",
        rules={"scoring": "simple"},
    ),
    Position(
        "needs one, has the ace of trumps for it, and could win now",
        "the ace takes a trick whatever happens: one more is too many",
        "4H 8D 2C / 2H 9D 3C / 7D 7C 4C / AS 5H 3H",
        "3H",
        bids="0 0 0 1",
        cards="4H 2H 7D",
    ),
    Position(
        "needs both, last to play, cannot follow",
        "there is no other way to take this trick",
        "QH 8D / 7H 9D / 5H 7D / 9S 3D",
        "9S",
        bids="0 0 0 2",
        cards="QH 7H 5H",
    ),
    Position(
        "needs both, last to play, cannot follow, two trumps",
        "ruff low, keep the ace",
        "QH 8D / 7H 9D / 5H 7D / AS 3S",
        "3S",
        bids="0 0 0 2",
        cards="QH 7H 5H",
    ),
    Position(
        "needs both, last to play, another has ruffed",
        "overruff as low as is enough, keep the ace",
        "QH 8D / 5S 9D / 5H 7D / AS 7S",
        "7S",
        bids="0 0 0 2",
        cards="QH 5S 5H",
    ),
    Position(
        "must-trump, nil, last to play, another has ruffed",
        "a trump it must be: the one that stays under",
        "QH 8D / 9S 9D / 5H 7D / JS 5S",
        "5S",
        bids="0 0 0 0",
        cards="QH 9S 5H",
        rules=MUST_TRUMP | {"scoring": "simple"},
    ),
    Position(
        "must-trump, needs both, last to play",
        "the low trump is enough, the ace is for the last trick",
        "QH 8D / 7H 9D / 5H 7D / AS 4S",
        "4S",
        bids="0 0 0 2",
        cards="QH 7H 5H",
        rules=MUST_TRUMP,
    ),
    Position(
        "needs the two tricks after this one, cannot beat the ace",
        "give the low card and keep the jack",
        "AH 8D 2C / 9H 9D 3C / JH 2H AC / 4H 7D 4C",
        "2H",
        bids="1 0 2 0",
        cards="AH 9H",
    ),
    Position(
        "needs one of two, the ace is in the trick",
        "the king is boss now",
        "AH 8D / KH 2H / 5H 7D / 4H 7C",
        "2H",
        bids="1 1 0 0",
        cards="AH",
    ),
    Position(
        "no-trump, needs the two tricks after this one, cannot follow",
        "throw the loser, keep the top clubs",
        "QH 8D 7H / AC KC 2D / 5H 7D 4C / 6H 9D 6C",
        "2D",
        turned=None,
        bids="1 2 0 0",
        cards="QH",
        rules=NO_TRUMP,
    ),
    Position(
        "needs one, cannot follow, another has ruffed",
        "the trick is gone: keep the ace of diamonds",
        "QH 8D / 9S 9D / 2C AD / 6H 9C",
        "2C",
        bids="0 1 1 0",
        cards="QH 9S",
    ),
    Position(
        "nil, on lead with a two and a king",
        "the two loses to whatever is played on it; the king would likely win",
        "2C KD / 7C 9D / 5C 7D / 4C 9H",
        "2C",
        bids="0 1 0 0",
    ),
    Position(
        "no-trump, nil, on lead with an ace and a two",
        "the ace led wins for certain",
        "AH 2D / 7C 9D / 5C 7D / 4C 9H",
        "2D",
        turned=None,
        bids="0 1 0 0",
        rules=NO_TRUMP,
    ),
    Position(
        "no-trump, needs one of two, on lead with an ace and a two",
        "led now the ace wins; later it wins only if hearts are led",
        "AH 2D / 7C 9D / 5C 7D / 4C 9H",
        "AH",
        turned=None,
        bids="1 1 0 0",
        rules=NO_TRUMP,
    ),
    Position(
        "no-trump, needs one more, and the king of hearts has become boss",
        "the ace is gone; led now the king wins for certain",
        "3D 7S 4C / QD KH 2C / AH 5H 6C / 9D 7C 8S",
        "KH",
        turned=None,
        bids="1 2 0 0",
        cards="3D QD AH 9D",
        rules=NO_TRUMP,
    ),
    Position(
        "no-trump, nil, on lead, both others have shown void in spades",
        "any spade led wins for certain; the king of clubs may lose",
        "7S KC 4S JS / 2H 9C 3C 5C / 8C AC TC 6C",
        "KC",
        turned=None,
        bids="1 1 1",
        cards="7S 2H 8C",
        rules=NO_TRUMP | {"scoring": "simple"},
    ),
    Position(
        "its bid is lost under common scoring, last to play",
        "every trick is still worth a point: take this one",
        "AC 9H 9S / 4C 4H 2D / 6C 6H 3D / 3C AH 2H",
        "AH",
        bids="2 0 1 3",
        cards="AC 4C 6C 3C 9H 4H 6H",
    ),
]


def decide(player: str, game: Game) -> str:
    """Returns what a player does, in words."""
    with make(player, seed=1) as agent:
        agent.begin(game.rules, game.seat)
        return action_name(agent.act(view(game)), game.rules.pack)


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("position", BIDS + PLAYS, ids=lambda position: position.name)
def test_obvious(position: Position, player: str) -> None:
    game = position.game()
    legal = [action_name(action, game.rules.pack) for action in game.legal_actions()]
    right = position.right.split("|")
    assert set(right) < set(legal), "a decision with a right and a wrong answer"
    assert decide(player, game) in right, position.reason


NEVER_ON_LEAD = [
    Position(
        "needs one, cannot follow, the trick is lost, a deuce and a six left",
        "a deuce that others lead to never wins: keep the six",
        "9D 4H / 7H 3H / 8H 5H / AC TC / 2C 6S",
        "2C",
        turned="KD",
        bids="1 0 0 2 1",
        cards="9D 7H 8H AC",
    ),
    Position(
        "no-trump, nil, cannot follow, a jack and a deuce left",
        "the deuce that is kept never wins; the jack might",
        "KD 5C / 9D 6H / JH 2S",
        "JH",
        turned=None,
        bids="1 0 0",
        cards="KD 9D",
        rules=NO_TRUMP,
    ),
]


@pytest.mark.parametrize("player", ("heuristic", "zoo:oh_hell", "zoo:universal"))
@pytest.mark.parametrize("position", NEVER_ON_LEAD, ids=lambda position: position.name)
def test_a_seat_that_never_leads_wins_nothing_with_the_lowest_card_of_a_suit(
    position: Position, player: str
) -> None:
    assert decide(player, position.game()) == position.right, position.reason


def test_positions_are_many_and_told_apart() -> None:
    names = [position.name for position in BIDS + PLAYS]
    assert len(set(names)) == len(names) >= 24
    assert {name[:3] for name in names if name[0] == "P"} == {"P78", "P79", "P80"}
