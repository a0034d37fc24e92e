"""What a searching player says of its decisions, as data, as text and on the command line."""

from __future__ import annotations

import json
import math

import pytest

import agents
from agents import SearchAgent
from agents.explanation import Explanation
from ohhell_env import __main__ as cli
from ohhell_env.cards import parse_card
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from tests.agents.test_heuristic import table
from tests.agents.views import view
from tests.helpers import house

Output = pytest.CaptureFixture[str]


def explained(game: Game, spec: str, seed: int = 1) -> Explanation:
    player = agents.make(spec, seed=seed)
    assert isinstance(player, SearchAgent)
    player.begin(game.rules)
    return player.explain(view(game))


def position() -> Game:
    """Seat 1 is void in hearts and needs one trick."""
    hands = "7H 8D 2C / 9S 9D 3C / 5H 7D 4C / TH AH 6C"
    return table(hands, turned="2S", bids="1 1 0 2", cards="7H")


@pytest.mark.parametrize("spec", ["worlds=40", "method=tree,iterations=90"])
def test_every_legal_action_has_its_value_error_visits_and_tricks(spec: str) -> None:
    game = position()
    told = explained(game, f"search:objective=points,{spec}")
    assert {thought.action for thought in told.thoughts} == set(game.legal_actions())
    for thought in told.thoughts:
        assert thought.value is not None
        assert thought.error is not None
        assert thought.visits > 1
        assert math.isclose(sum(thought.tricks), 1.0)
        assert len(thought.tricks) <= 4
        points = [0, 11, 2, 3]  # of a bid of 1, common scoring
        mean = sum(share * points[won] for won, share in enumerate(thought.tricks))
        assert math.isclose(thought.value, mean, abs_tol=1e-9)
    values = [thought.value for thought in told.thoughts if thought.value is not None]
    assert values == sorted(values, reverse=True)
    assert told.chosen == parse_card("9S")


def test_it_explains_the_very_decision_that_it_makes() -> None:
    game = Game(Rules.preset("oh_hell", 4), seed=8, episode="deal", hand_size=7)
    for spec in ("search:worlds=7", "search:method=tree,iterations=30"):
        one, two = agents.make(spec, seed=3), agents.make(spec, seed=3)
        assert isinstance(one, SearchAgent)
        one.begin(game.rules)
        two.begin(game.rules)
        for _ in range(10):
            assert one.explain(view(game)).chosen == two.act(view(game))
        assert one.explain(view(game), word=5) == one.explain(view(game), word=5)


def test_equal_cards_stand_for_each_other() -> None:
    game = table("KH QH 2C / 7D 8D 9D / 3H 9C 8C / 5C 3C 2H", turned="2S", bids="1 0 0 0")
    told = explained(game, "search:worlds=20")
    by_name = {thought.name: thought for thought in told.thoughts}
    assert by_name["KH"].same_as == "QH"
    assert by_name["KH"].value == by_name["QH"].value
    assert by_name["QH"].same_as is None


def test_as_data_and_as_text() -> None:
    told = explained(position(), "search:worlds=40,race=0,objective=points")
    data = json.loads(json.dumps(told.to_dict()))
    assert data["chosen_name"] == "9S"
    assert data["thoughts"][0]["visits"] == 40
    lines = str(told).splitlines()
    assert lines[0] == "9S  (flat, 40 worlds, points)"
    assert lines[1].startswith(" * 9S ")
    assert "40 deals   tricks " in lines[1]
    assert " 1: " in lines[1]


def test_what_is_not_searched_says_why() -> None:
    game = table("KH / 7D / 3H / 5C", turned="2S", bids="1 0 0 0")
    told = explained(game, "search:worlds=20")
    assert (told.method, told.worlds, told.notes) == ("none", 0, ("there is no other choice",))
    bidding = Game(Rules.preset("oh_hell", 4), seed=8, episode="deal", hand_size=7)
    told = explained(bidding, "search:bids=policy")
    assert "heuristic" in told.notes[0]
    assert told.chosen == agents_bid(bidding)


def agents_bid(game: Game) -> int:
    player = agents.make("heuristic")
    player.begin(game.rules)
    return player.act(view(game))


def test_a_blind_bid_is_explained() -> None:
    game = Game(house(4, 1, blind_one_card="always"), seed=3, episode="deal")
    told = explained(game, "search:worlds=60,race=0,prior=0")
    assert [thought.name for thought in told.thoughts] in (
        ["bid 0", "bid 1"],
        ["bid 1", "bid 0"],
    )
    assert told.worlds == 60


# ------------------------------------------------------------------------------- command line


def test_a_deal_is_shown_with_what_each_player_thought(capsys: Output) -> None:
    args = ["deal", "nomination_whist", "--seed", "4", "--hand-size", "3"]
    assert cli.main([*args, "--explain", "search:worlds=10"]) == 0
    first = capsys.readouterr().out
    assert "player_0 to bid; hand " in first
    assert first.count(" to bid; ") == 4
    assert first.count(" to play to trick ") == 12
    assert "10 worlds, relative)" in first
    assert cli.main([*args, "--explain", "search:worlds=10"]) == 0
    assert capsys.readouterr().out == first
    assert cli.main([*args, "--explain", "search:worlds=10", "--player", "heuristic"]) == 0
    thinking_along = capsys.readouterr().out
    assert cli.main([*args, "--player", "heuristic"]) == 0
    assert thinking_along.endswith(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--explain", "random"], "player 'random' cannot say what it thinks"),
        (["--explain", "serach"], "did you mean 'search'"),
        (["--explain", "search:words=1"], "did you mean 'worlds'"),
    ],
)
def test_mistakes_are_one_line(capsys: Output, args: list[str], told: str) -> None:
    assert cli.main(["deal", "oh_hell", *args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert err.count("\n") == 1
