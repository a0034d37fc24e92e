"""The table as text: readable, right, and without what the seat that looks may not know."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from ohhell_env import Rules, oh_hell_v0
from ohhell_env.cards import card_name
from ohhell_env.engine.layout import Phase
from ohhell_env.envs.render import referee_text, seat_text
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.observation import decode
from tests.envs.play import EVERY_TABLE, legal_of, look, moments, play_to_end, some_rules
from tests.envs.test_no_leak import redeal
from tests.helpers import house

HANDS = [["AS", "2H", "9C"], ["KS", "3H", "TC"], ["QS", "4H", "JC"]]


def table(**settings: Any) -> Any:
    env = oh_hell_v0.env(house(3, 3, bidding__hook="none"), render_mode="ansi", **settings)
    env.reset(options={"hands": HANDS, "turned": "2C", "dealer": 2})
    return env


def advance(env: Any, bids: str, cards: str) -> None:
    for bid in bids.split():
        env.step(oh_hell_v0.bid_action(int(bid)))
    for name in cards.split():
        env.step(oh_hell_v0.card_action(name))


def text_of(game: Any, seat: int) -> str:
    import numpy as np

    view = decode(np.frombuffer(look(game, seat)[0], np.int8), game.rules)
    return seat_text(view, game.rules, seat, game.seat)


def test_the_referee_sees_all_hands() -> None:
    env = table()
    advance(env, "1 0", "")
    assert env.render() == (
        "Oh Hell by own rules: deal 1 of 1, hand size 3, trump C (2C turned), bidding\n"
        "       bid won score\n"
        "seat 0   1   0     0  AS  2H  9C\n"
        "seat 1   0   0     0  KS  3H  TC\n"
        "seat 2   -   0     0  QS  4H  JC  dealer, to act\n"
    )


def test_a_game_prints_what_the_referee_sees() -> None:
    game = Game("oh_hell", seed=7)
    assert str(game) == referee_text(game, game.seat).rstrip("\n")
    while not game.over:
        game.apply(game.legal_actions()[0])
    assert "to act" not in str(game) and str(game.scores[0]) in str(game)


def test_a_seat_sees_its_own_hand() -> None:
    env = table()
    advance(env, "1 0 3", "AS KS")
    assert (
        env.render(seat=1)
        == env.unwrapped.render(1)
        == (
            "Oh Hell by own rules: deal 1 of 1, hand size 3, trump C (2C turned), trick 1\n"
            "       bid won score\n"
            "seat 0   1   0     0\n"
            "seat 1   0   0     0  3H  TC\n"
            "seat 2   3   0     0          dealer, to act\n"
            "bids 4 of 3: over by 1\n"
            "trick: seat 0 led AS, seat 1 KS\n"
        )
    )


def test_the_end() -> None:
    env = table()
    advance(env, "1 0 2", "AS KS QS 9C TC JC 4H 2H 3H")
    assert env.unwrapped.scores == [11, 10, 12]
    for seat in (None, 0):
        assert env.render(seat) == (
            "Oh Hell by own rules: deal 1 of 1, hand size 3, trump C (2C turned), the end\n"
            "       bid won score\n"
            "seat 0   1   1    11\n"
            "seat 1   0   0    10\n"
            "seat 2   2   2    12    dealer\n"
            "bids 3 of 3: even\n"
        )


@pytest.mark.parametrize("name,players", EVERY_TABLE[::3])
def test_nothing_is_shown_that_a_seat_may_not_know(name: str, players: int) -> None:
    rng = random.Random(players)
    for game in moments(Rules.preset(name, players), players, share=0.1, deals=3):
        for seat in range(players):
            text = text_of(game, seat)
            assert text == text_of(redeal(game, seat, rng), seat)
            check_cards(game, seat, text)


def test_nothing_is_shown_under_random_rules() -> None:
    rng = random.Random(3)
    for seed, rules in enumerate(some_rules(12, 9)):
        for game in moments(rules, seed, share=0.2, deals=2):
            for seat in range(game.players):
                assert text_of(game, seat) == text_of(redeal(game, seat, rng), seat)
            check_referee(game)


def check_cards(game: Any, seat: int, text: str) -> None:
    pack = game.rules.pack
    shown = set(re.findall(rf"\b[{''.join(pack.ranks)}][{''.join(pack.suits)}]\b", text))
    mine = {card_name(card, pack) for card in game.hands[seat]}
    others = {card_name(c, pack) for s, h in enumerate(game.hands) if s != seat for c in h}
    public = {card_name(card, pack) for _, card in game.trick}
    if game.turned is not None and game.trump_known:
        public.add(card_name(game.turned, pack))
    if game.blind and game.phase is Phase.BID:
        assert shown == others | public
    else:
        assert shown == mine | public


def check_referee(game: Any) -> None:
    text = referee_text(game, game.seat)
    pack = game.rules.pack
    for seat, hand in enumerate(game.hands):
        line = next(line for line in text.splitlines() if line.startswith(f"seat {seat} "))
        assert all(card_name(card, pack) in line.split() for card in hand)
        assert line.endswith("to act") == (seat == game.seat)


def test_hidden_bids_and_trumps_are_not_shown() -> None:
    rules = house(
        3,
        3,
        bidding={"order": "simultaneous", "hook": "none"},
        trump__revealed="after_bidding",
    )
    env = oh_hell_v0.env(rules, render_mode="ansi")
    env.reset(options={"hands": HANDS, "turned": "2C", "dealer": 2})
    advance(env, "1 2", "")
    assert "trump not yet known" in env.render(2) and "2C" not in env.render(2)
    assert "seat 0   -" in env.render(2) and "seat 0   1" in env.render(0)
    assert "trump C (2C turned)" in env.render()
    advance(env, "0", "")
    assert "trump C (2C turned)" in env.render(2) and "seat 1   2" in env.render(2)


def test_names_and_no_trumps() -> None:
    env = oh_hell_v0.env("plump", render_mode="ansi")
    env.reset(seed=1)
    assert env.render().startswith("Plump: deal 1 of 22, hand size 10, no trumps, bidding\n")


def test_modes(capsys: pytest.CaptureFixture[str]) -> None:
    env = oh_hell_v0.env("oh_hell", render_mode="human")
    env.reset(seed=1)
    assert env.render() is None
    assert capsys.readouterr().out.startswith("Oh Hell: deal 1 of 19")
    silent = oh_hell_v0.env("oh_hell")
    silent.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert silent.render() is None


@pytest.mark.parametrize("seat", [-1, 3, 1.0, "0", True])
def test_wrong_seats(seat: Any) -> None:
    with pytest.raises(RulesError, match="seat must be 0 to 2"):
        table().render(seat)


def test_p32_text_at_every_moment() -> None:
    env = oh_hell_v0.env(house(4, 2, 1), render_mode="ansi")
    env.reset(seed=1)
    rng = random.Random(1)
    while not env.terminations[env.agent_selection]:
        assert env.render().count("\n") >= 6
        before = env.unwrapped.game.state.tobytes()
        env.render(rng.randrange(4))
        assert env.unwrapped.game.state.tobytes() == before
        env.step(rng.choice(legal_of(env.last()[0]["action_mask"])))
    assert play_to_end(env, rng) == []
    assert "the end" in env.render()
