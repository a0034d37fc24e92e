"""What players say of their decisions, as data, as text and on the command line."""

from __future__ import annotations

import json
import math
import random
import re

import pytest

import ohhell_agents
from ohhell_agents import SearchAgent
from ohhell_agents.explanation import Explanation
from ohhell_env.actions import BID_BASE
from ohhell_env.cards import parse_card
from ohhell_env.cli import commands as cli
from ohhell_env.errors import OhHellError
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import points
from ohhell_env.rules.variants import variants
from tests.agents.test_heuristic import table
from tests.agents.views import view
from tests.helpers import house

Output = pytest.CaptureFixture[str]


def explained(game: Game, spec: str, seed: int = 1) -> Explanation:
    player = ohhell_agents.make(spec, seed=seed)
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
        assert thought.difference is not None
    numbers = [thought.difference for thought in told.thoughts if thought.difference is not None]
    assert numbers == sorted(numbers, reverse=True) and numbers[0] == 0.0
    assert told.chosen == parse_card("9S")


def test_it_explains_the_very_decision_that_it_makes() -> None:
    game = Game(Rules.preset("oh_hell", 4), seed=8, episode="deal", hand_size=7)
    for spec in ("search:worlds=7", "search:method=tree,iterations=30"):
        one, two = ohhell_agents.make(spec, seed=3), ohhell_agents.make(spec, seed=3)
        assert isinstance(one, SearchAgent)
        one.begin(game.rules)
        two.begin(game.rules)
        for _ in range(10):
            assert one.explain(view(game)).chosen == two.act(view(game))
        assert one.explain(view(game), random_bits=5) == one.explain(view(game), random_bits=5)


def test_equal_cards_stand_for_each_other() -> None:
    game = table("KH QH 2C / 7D 8D 9D / 3H 9C 8C / 5C 3C 2H", turned="2S", bids="1 0 0 0")
    told = explained(game, "search:worlds=20")
    by_name = {thought.name: thought for thought in told.thoughts}
    assert by_name["KH"].same_as == "QH"
    assert by_name["KH"].value == by_name["QH"].value
    assert by_name["KH"].difference == by_name["QH"].difference
    assert by_name["QH"].same_as is None


def test_as_data_and_as_text() -> None:
    told = explained(position(), "search:worlds=40,race=0,objective=points")
    data = json.loads(json.dumps(told.to_dict()))
    assert data["chosen_name"] == "9S"
    assert data["thoughts"][0]["visits"] == 40
    lines = str(told).splitlines()
    assert lines[0] == "9S  (points behind the best choice; flat search, 40 worlds)"
    assert lines[1].startswith(" * 9S         0.00 ")
    assert "40 deals   tricks " in lines[1]
    assert " 1: " in lines[1]
    assert re.match(r"   \w\w +-\d+\.\d\d ± \d+\.\d\d ", lines[2])


def test_what_is_not_searched_says_why() -> None:
    game = table("KH / 7D / 3H / 5C", turned="2S", bids="1 0 0 0")
    told = explained(game, "search:worlds=20")
    assert (told.method, told.worlds, told.notes) == ("none", 0, ("there is no other choice",))
    bidding = Game(Rules.preset("oh_hell", 4), seed=8, episode="deal", hand_size=7)
    told = explained(bidding, "search:bids=policy")
    assert "heuristic" in told.notes[0]
    assert told.chosen == agents_bid(bidding)


def agents_bid(game: Game) -> int:
    player = ohhell_agents.make("heuristic")
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


# ------------------------------------------------------------------ what people are shown

SPECS = (
    "heuristic",
    "zoo:universal",
    "zoo:escalating",
    "search:worlds=12,objective=points",
    "search:worlds=12,objective=points,policy=zoo:universal",
    "search:worlds=12",
    "search:worlds=9,objective=win",
    "search:method=tree,iterations=25",
    "search:bids=policy,worlds=6",
)


def check_shown(told: Explanation, game: Game) -> None:
    """Nothing that a deal cannot pay, and the choice taken has the best number."""
    seat, size = game.seat, game.hand_size
    assert seat is not None
    won, left = game.tricks_won[seat], size - sum(game.tricks_won)

    def ends(action: int) -> tuple[int, int]:
        bid, fewest, most = game.bids[seat], won, won + left
        if action >= BID_BASE:
            bid, fewest, most = action - BID_BASE, 0, size
        assert bid is not None
        paid = [points(game.rules.scoring, bid, t, size) for t in range(fewest, most + 1)]
        return min(paid), max(paid)

    assert sorted(thought.action for thought in told.thoughts) == game.legal_actions()
    chosen = told.thoughts[0]
    assert chosen.action == told.chosen
    assert chosen.difference == (None if told.method == "none" else 0.0)
    numbers = [t.difference for t in told.thoughts if t.difference is not None]
    assert numbers == sorted(numbers, reverse=True)
    for thought in told.thoughts:
        if thought.difference is not None and told.unit == "points":
            least = ends(thought.action)[0] - ends(told.chosen)[1]
            assert min(least, 0) <= thought.difference <= 0.0
        if thought.value is not None and told.objective == "points":
            least, most = ends(thought.action)
            assert least <= thought.value <= most
    heading, *lines = str(told).splitlines()
    wanted = "not searched" if told.method == "none" else f"{told.unit} behind the best choice"
    assert f"({wanted}" in heading
    assert lines[0].startswith(f" * {told.chosen_name} ")
    for line in lines[: len(told.thoughts)]:
        found = re.match(r" [* ] (?:bid \d+|\w\w) +(-?\d+(?:\.\d\d)?)(?: |$)", line)
        if found:
            assert float(found[1]) <= 0.0 and not re.fullmatch(r"-0(\.0+)?", found[1])


@pytest.mark.parametrize("name", variants())
def test_nothing_is_shown_that_a_deal_cannot_pay(name: str) -> None:
    chance = random.Random(name)
    for players in range(2, 9):
        for size in range(1, 14):
            try:
                rules = Rules.preset(name, players)
                game = Game(rules, chance.randrange(99), "deal", size)
            except OhHellError:
                continue
            for spec in SPECS[:3]:
                player = ohhell_agents.make(spec, seed=1)
                player.begin(game.rules, None)
                ask = game.copy()
                while not ask.over:
                    told = player.explain(view(ask, None, player.layout_name))  # type: ignore[attr-defined]
                    check_shown(told, ask)
                    ask.apply(chance.choice(ask.legal_actions()))
                    while not ask.over and chance.random() < 0.8:  # not asked at every decision
                        ask.apply(chance.choice(ask.legal_actions()))


@pytest.mark.parametrize("spec", SPECS)
def test_the_choice_taken_has_the_best_number(spec: str) -> None:
    chance = random.Random(spec)
    tables = [("oh_hell", 4, 4), ("nomination_whist", 3, 5), ("oh_pshaw", 2, 3), ("spruce", 5, 2)]
    for name, players, size in tables:
        player = ohhell_agents.make(spec, seed=1)
        rules = Rules.preset(name, players)
        player.begin(rules)
        for seed in range(3):
            game = Game(rules, seed, "deal", size)
            while not game.over:
                told = player.explain(view(game), random_bits=seed)  # type: ignore[attr-defined]
                check_shown(told, game)
                game.apply(chance.choice(game.legal_actions()))


def test_a_trump_that_is_not_known_yet_does_not_multiply_the_points() -> None:
    """What a bid is worth is a mean over the suits that may be trump, not a sum."""
    rules = house(4, 5, trump__method="random_suit", trump__revealed="after_bidding")
    player = ohhell_agents.HeuristicAgent()
    player.begin(rules)
    told = player.explain(view(Game(rules, 3)))
    highest = [points(rules.scoring, bid, bid, 5) for bid in range(6)]
    values = [thought.value for thought in told.thoughts]
    assert all(value is not None and value < max(highest) for value in values)
    assert max(value or 0.0 for value in values) < 0.95 * max(highest)


def test_what_was_expected_before_is_mixed_in() -> None:
    """The number shown is the one that decides: played out, and expected before."""
    game = Game(Rules.preset("nomination_whist", 4), 3, "deal", 5)
    apart = 0
    for word in range(40):
        player = ohhell_agents.make("search:worlds=12,race=0,objective=points,prior=80", seed=1)
        player.begin(game.rules)
        assert isinstance(player, SearchAgent)
        told = player.explain(view(game), random_bits=word)
        expected = {t.action: t.value or 0.0 for t in heuristic(game).thoughts}
        mixed = {
            t.action: (12 * t.value + 80 * expected[t.action]) / 92
            for t in told.thoughts
            if t.value is not None
        }
        best = max(mixed, key=mixed.__getitem__)
        assert told.chosen == best
        for thought in told.thoughts:
            if thought.action in mixed:
                wanted = mixed[thought.action] - mixed[best]
                assert thought.difference == pytest.approx(wanted, abs=0.002)
        by_value = max(told.thoughts, key=lambda t: -99.0 if t.value is None else t.value)
        apart += by_value.action != told.chosen
        assert any("counts as 80 deals" in note for note in told.notes)
    assert apart > 0, "the mean of the deals played out alone would have chosen another bid"


def heuristic(game: Game) -> Explanation:
    player = ohhell_agents.HeuristicAgent()
    player.begin(game.rules)
    return player.explain(view(game))


@pytest.mark.parametrize("prior", [0, 80])
def test_the_errors_are_those_of_differences_in_the_same_worlds(prior: int) -> None:
    """What was expected before has no error, and so makes that of the mix smaller."""
    game, worlds = Game(Rules.preset("oh_hell", 4), 3, "deal", 5), 30
    told = explained(game, f"search:worlds={worlds},race=0,objective=points,prior={prior}")
    best, *others = (thought for thought in told.thoughts if thought.visits)
    assert best.difference_error is None and len(others) > 1
    for thought in others:
        assert thought.error is not None and best.error is not None
        assert thought.difference_error is not None
        whole = thought.difference_error * (worlds + prior) / worlds
        assert abs(thought.error - best.error) <= whole <= thought.error + best.error


def test_a_choice_that_was_dropped_keeps_its_number() -> None:
    told = explained(position(), "search:worlds=200,objective=points,race=1")
    dropped = [t for t in told.thoughts if 0 < t.visits < told.worlds and t.same_as is None]
    assert dropped and all(t.difference is not None and t.difference < 0 for t in dropped)
    assert any("was dropped" in note for note in told.notes)


def test_a_bid_that_was_not_tried_shows_what_was_expected() -> None:
    game = Game(Rules.preset("oh_hell", 4).replace(scoring="escalating"), 3, "deal", 9)
    told = explained(game, "search:worlds=12,objective=points")
    left_out = [thought for thought in told.thoughts if thought.visits == 0]
    assert left_out and all(t.difference is not None and t.difference < 0 for t in left_out)
    assert str(told).count("not tried") >= len(left_out)


# ------------------------------------------------------------------------------- command line


def test_a_deal_is_shown_with_what_each_player_thought(capsys: Output) -> None:
    args = ["deal", "nomination_whist", "--seed", "4", "--hand-size", "3"]
    assert cli.main([*args, "--explain", "search:worlds=10"]) == 0
    first = capsys.readouterr().out
    assert "player_0 to bid; hand " in first
    assert first.count(" to bid; ") == 4
    assert first.count(" to play to trick ") == 12
    unit = "points less 0.25 of the others' mean"
    assert f"({unit} behind the best choice; flat search, 10 worlds)" in first
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
