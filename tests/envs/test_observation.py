"""The observation: decoded back against the game, section by section, from every seat."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from ohhell_env import BatchedOhHell, Game, Rules
from ohhell_env.errors import NotationError, RulesError
from ohhell_env.observation import (
    SECTION_MEANINGS,
    decode,
    layout_of,
    section_table,
    sections,
)
from tests.envs.play import (
    EVERY_OTHER_LAYOUT,
    EVERY_TABLE,
    expected_view,
    look,
    moments,
    some_rules,
)
from tests.helpers import Table, house

LAYOUTS = ["default", "universal"]


def seen(game: Game, seat: int, layout: str = "default") -> dict[str, Any]:
    return decode(np.frombuffer(look(game, seat, layout)[0], np.int8), game.rules)


def check_all(game: Game, layout: str) -> None:
    for seat in range(game.players):
        assert seen(game, seat, layout) == expected_view(game, seat, layout)


# ---------------------------------------------------------------- sections and layouts


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name,players", EVERY_TABLE)
def test_p28_sections_fill_the_observation(name: str, players: int, layout: str) -> None:
    rules = Rules.preset(name, players)
    table = sections(rules, layout)
    starts = [start for _, start, _ in table]
    assert starts == list(itertools.accumulate([length for _, _, length in table[:-1]], initial=0))
    total = sum(length for _, _, length in table)
    assert total == layout_of(rules, layout).length
    tables = BatchedOhHell(1, rules, layout=layout)
    assert tables.observations.shape == (1, total)
    assert {section for section, _, _ in table} <= set(SECTION_MEANINGS)
    text = section_table(rules, layout)
    assert all(f"| `{section}` | {start} |" in text for section, start, _ in table)


def test_universal_layout_is_one_for_all_rules() -> None:
    presets = [Rules.preset(name, players) for name, players in EVERY_TABLE]
    layouts = {layout_of(rules, "universal") for rules in [*presets, *some_rules(30, 1)]}
    assert len(layouts) == 1
    (layout,) = layouts
    assert layout.num_actions == 92 and layout.largest_hand == 26
    assert layout.digest != layout_of(presets[0]).digest


def test_default_layout_has_nothing_that_the_rules_rule_out() -> None:
    plump = {section for section, _, _ in sections("plump")}
    assert "turned" not in plump and "blind" not in plump and "open_cards" not in plump
    assert "turned" in {section for section, _, _ in sections("oh_hell")}
    assert "open_cards" in {section for section, _, _ in sections("boerenbridge")}
    assert layout_of(Rules.preset("oh_hell", 3)).length < layout_of(Rules.preset("oh_hell")).length


def test_a_vector_of_another_length() -> None:
    with pytest.raises(NotationError, match=r"of 7 values"):
        decode([0] * 7, "oh_hell")
    with pytest.raises(RulesError, match="layout"):
        sections("oh_hell", "tiny")


def test_the_universal_layout_shows_the_rules() -> None:
    shown = set()
    for name, players in EVERY_TABLE:
        game = Game(Rules.preset(name, players), seed=1)
        layout = layout_of(game.rules, "universal")
        vector = np.frombuffer(look(game, 0, "universal")[0], np.int8)
        part = layout.slices()
        cards = np.flatnonzero(vector[part["pack"]]).tolist()
        assert cards == list(game.rules.pack.cards)
        shown.add((players, vector[part["rules"]].tobytes(), vector[part["pack"]].tobytes()))
    assert len(shown) > len(EVERY_TABLE) * 0.7, "few variants differ in the schedule alone"


# ---------------------------------------------------------------- decoding


@pytest.mark.parametrize("name,players,layout", EVERY_OTHER_LAYOUT)
def test_p28_decoding_gives_the_game_back(name: str, players: int, layout: str) -> None:
    for game in moments(Rules.preset(name, players), players, share=0.06, deals=3):
        check_all(game, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_p28_decoding_under_random_rules(layout: str) -> None:
    for seed, rules in enumerate(some_rules(40, 33)):
        for game in moments(rules, seed, share=0.15, deals=3):
            check_all(game, layout)


def test_p29_every_card_is_remembered_to_the_last_trick() -> None:
    game = Game("oh_hell", seed=3)
    rng = random.Random(3)
    plays: list[tuple[int, int]] = []
    while len(plays) < 39:
        seat, action = game.seat, rng.choice(game.legal_actions())
        if action < 60:
            plays.append((seat, action))
        game.apply(action)
    for seat in range(4):
        view = seen(game, seat)
        assert view["trick_number"] == 9 and len(view["trick"]) == 3
        assert [(other + seat) % 4 for other, _ in view["plays"]] == [who for who, _ in plays]


def test_p30_a_bid_of_nil_is_not_no_bid() -> None:
    table = Table(house(3, 2, bidding__hook="none"), "AS 2H / KS 3H / QS 4H", "2C")
    table.bid(0)
    for seat in range(3):
        bids = table.view(seat)["bids"]
        assert bids[(0 - seat) % 3] == 0
        assert bids[(1 - seat) % 3] is None and bids[(2 - seat) % 3] is None


def test_p27_shifted_seats_see_the_same() -> None:
    for rules in [Rules.preset("oh_hell"), Rules.preset("plump"), house(5, 3, 1, 2)]:
        size, players = Game(rules).hand_size, rules.players
        rng = random.Random(players)
        cards = rng.sample(rules.pack.cards, size * players)
        hands = [cards[i::players] for i in range(players)]
        views: list[list[Any]] = []
        for shift in range(players):
            game = Game(rules, seed=1)
            turned = game.turned is not None
            game.reset(
                dealer=(1 + shift) % players,
                hands=[hands[(seat - shift) % players] for seat in range(players)],
                turned=min(set(rules.pack.cards) - set(cards)) if turned else None,
            )
            rng = random.Random(9)
            log: list[Any] = []
            while not game.finished_deals:
                log.append([look(game, (seat + shift) % players) for seat in range(players)])
                game.apply(rng.choice(game.legal_actions()))
            views.append(log)
        assert all(view == views[0] for view in views)


def test_large_scores_are_pairs() -> None:
    game = Game(house(3, 2, 2), seed=1)
    rng = random.Random(1)
    for scores in [(-1, 127, 128), (-2048, 2047, 0), (-300, 999, -16)]:
        game.state["scores"][0, :3] = scores
        for seat in range(3):
            view = seen(game, seat)
            assert view["scores"] == [*scores[seat:], *scores[:seat]]
        game.apply(rng.choice(game.legal_actions()))
    game.state["scores"][0, :3] = (-99999, 99999, 5)
    assert seen(game, 0)["scores"] == [-2048, 2047, 5], "clipped at the documented bounds"


# ---------------------------------------------------------------- who may know what, and when


def test_p69_simultaneous_bids_are_hidden_until_all_have_bid() -> None:
    rules = house(3, 2, bidding={"order": "simultaneous", "hook": "none"})
    hands = "AS 2H / KS 3H / QS 4H"
    for first, second in itertools.product(range(3), repeat=2):
        table = Table(rules, hands, "2C")
        blank = Table(rules, hands, "2C")
        table.bid(first)
        blank.bid(0)
        assert look(table.game, 1) == look(blank.game, 1)
        assert look(table.game, 2) == look(blank.game, 2)
        assert table.view(0)["bids"] == [first, None, None], "one's own is no secret"
        table.bid(second)
        blank.bid(1)
        assert look(table.game, 2) == look(blank.game, 2)
        assert table.view(2)["bids"] == [None, None, None]
        assert table.view(2)["bid_balance"] == 0
        table.bid(2)
        assert table.view(2)["bids"] == [2, first, second]
        assert table.view(0)["bid_balance"] == first + second + 2 - 2


def test_a_late_trump_is_hidden_in_the_bidding() -> None:
    rules = house(3, 2, bidding__hook="none", trump__revealed="after_bidding")
    clubs = Table(rules, "AS 2H / KS 3H / QS 4H", "2C")
    spades = Table(rules, "AS 2H / KS 3H / QS 4H", "2S")
    for bid in (1, 0, 2):
        for seat in range(3):
            assert look(clubs.game, seat) == look(spades.game, seat)
            assert clubs.view(seat)["trump"] == "?" and clubs.view(seat)["turned"] is None
        clubs.bid(bid)
        spades.bid(bid)
    assert clubs.view(1)["trump"] == "C" and clubs.view(1)["turned"] == "2C"
    assert spades.view(1)["trump"] == "S" and spades.view(1)["turned"] == "2S"


@pytest.mark.parametrize("method", ["fixed", "rotation", "none"])
def test_a_trump_that_the_rules_tell_is_never_hidden(method: str) -> None:
    trump = {
        "method": method,
        "suit": "H" if method == "fixed" else None,
        "rotation": ["H", "S"] if method == "rotation" else [],
        "revealed": "after_bidding",
    }
    try:
        game = Game(house(3, 2, trump=trump), seed=1)
    except RulesError:
        pytest.skip("the rules refuse to reveal late what is no secret")
    assert seen(game, 1)["trump"] == ("NT" if method == "none" else "H")


def test_the_dealers_shown_card_is_public() -> None:
    rules = Rules.preset("oh_well", 3)
    game = Game(rules, seed=5)
    for seat in range(3):
        view = seen(game, seat)
        assert view["turned"] == expected_view(game, game.dealer)["turned"]
        assert view["turned"] is not None and view["trump"] == view["turned"][1]
    assert seen(game, game.dealer)["turned"] in seen(game, game.dealer)["hand"]


def test_blind_deals() -> None:
    rules = house(3, 1, 2, blind_one_card="always", bidding__hook="none")
    game = Game(rules, seed=1)
    game.reset(hands=[["AS"], ["KH"], ["2D"]], turned="2C", dealer=2)
    assert seen(game, 0)["hand"] == [] and seen(game, 0)["blind"]
    assert seen(game, 0)["open_cards"] == {1: "KH", 2: "2D"}
    assert seen(game, 1)["open_cards"] == {1: "2D", 2: "AS"}
    assert seen(game, 2)["open_cards"] == {1: "AS", 2: "KH"}
    for bid in (61, 60, 60):
        game.apply(bid)
    assert len(game.finished_deals) == 1, "the cards have been played by themselves"
    assert seen(game, 0)["open_cards"] == {} and len(seen(game, 0)["hand"]) == 2


def test_a_blind_deal_at_the_end_of_the_game() -> None:
    game = Game(house(3, 1, blind_one_card="always", bidding__hook="none"), seed=1)
    game.reset(hands=[["AS"], ["KH"], ["2D"]], turned="2C", dealer=2)
    for bid in (61, 60, 60):
        game.apply(bid)
    for seat in range(3):
        view = seen(game, seat)
        assert view == expected_view(game, seat)
        assert [card for _, card in view["plays"]] == ["AS", "KH", "2D"]
