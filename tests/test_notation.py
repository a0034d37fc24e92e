"""Games as text: exact both ways, and every wrong line named."""

from __future__ import annotations

import random
import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ohhell_env.errors import NotationError
from ohhell_env.game import Game
from ohhell_env.records.notation import format_game, parse_game
from ohhell_env.records.replay import replay
from ohhell_env.rules import Rules
from ohhell_env.testing import play_random, random_rules
from tests.helpers import Table

TEXT = textwrap.dedent(
    """\
    Oh Hell record 1
    Variant: custom, 3 players
    Rules: {"schedule": {"shape": "explicit", "sizes": [2]}, "bidding": {"hook": "none"}}
    Seed: 0
    Episode: game

    Deal 1: hand size 2, dealer 2
      Seat 0: 2H 9S
      Seat 1: KD 3H
      Seat 2: AC 5H
      Turned: TS, trump S
      Bids: 0:1 1:0 2:0
      Trick 1: 0:2H 1:3H 2:5H*
      Trick 2: 2:AC 0:9S* 1:KD
      Points: 11 10 1
      Scores: 11 10 1

    Win shares: 1.0 0.0 0.0
    Settlement: 0.0 0.0 0.0
    """
)


@pytest.fixture(scope="module")
def game() -> Game:
    rules = Rules.from_dict({"players": 3, "bidding": {"hook": "none"}})
    table = Table(rules, hands="2H 9S / KD 3H / 5H AC", turned="TS")
    return table.bid(1, 0, 0).play("2H 3H 5H AC 9S KD").game


def test_the_text_is_as_documented(game: Game) -> None:
    assert format_game(game.record()) == TEXT
    assert parse_game(TEXT) == game.record()


def test_the_example_of_the_manual_is_right() -> None:
    from ohhell_env.records import notation

    assert notation.__doc__ is not None
    example = notation.__doc__.partition("::\n\n")[2].partition("\n\nA play is")[0]
    text = textwrap.dedent(example) + "\n"
    assert format_game(parse_game(text)) == text
    assert replay(parse_game(text)).over


def test_a_game_just_dealt_and_a_blind_one() -> None:
    text = format_game(Game("plump", 3, players=2).record())
    assert "  Turned: -, trump NT\n  Bids: -\n" in text
    assert "Points" not in text and "Win shares" not in text
    rules = Rules.preset("boerenbridge", 3)
    text = format_game(play_random(Game(rules, 1, "deal", 1), random.Random(1)).record())
    assert "hand size 1, dealer " in text and ", blind\n" in text


@pytest.mark.parametrize("name", ["romanian_whist", "house rules: \n# odd", "", "custom"])
def test_any_name_and_preset_come_back(name: str) -> None:
    rules = Rules.from_dict({"name": name, "players": 8, "scoring": {"nil_made": [5, 1]}})
    record = Game(rules, 3, "deal", 2).record()
    assert parse_game(format_game(record)) == record
    assert parse_game(format_game(record))["rules"]["name"] == name


def test_an_unknown_seed_comes_back(game: Game) -> None:
    record = {**game.record(), "seed": None}
    assert "Seed: -\n" in format_game(record)
    assert parse_game(format_game(record)) == record


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**40), actions=st.none() | st.integers(0, 60), one=st.booleans())
def test_any_game_is_the_same_both_ways(seed: int, actions: int | None, one: bool) -> None:
    rng = random.Random(seed)
    game = Game(random_rules(rng), seed, "deal" if one else "game")
    record = play_random(game, rng, None, actions).record()
    text = format_game(record)
    assert parse_game(text) == record
    assert format_game(parse_game(text)) == text


def test_spaces_blank_lines_and_remarks_do_not_matter(game: Game) -> None:
    loose = "# a fine game\n\n" + "\n\n".join(f"\t {line}  " for line in TEXT.splitlines())
    assert parse_game(loose.replace("KD 3H", "3H  KD")) == game.record()


# --------------------------------------------------------------------------------- mistakes


def refused(text: str, *words: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse_game(text)
    message = str(caught.value)
    assert message.startswith("line ") and "\n" not in message, message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Oh Hell record 1", "Oh Hell record 2", ["line 1", "'Oh Hell record 1 ...'"]),
        ("custom, 3", "kachufull, 3", ["line 2", "did you mean 'kachuful'"]),
        ("custom, 3 players", "custom, 9 players", ["line 2", "players"]),
        ("custom, 3 players", "custom", ["line 2", "'Variant: NAME, N players'"]),
        ('{"shape"', '{"shap"', ["line 3", "schedule.shap", "'shape'"]),
        ('"none"}}', '"none"}', ["line 3", "JSON"]),
        ('{"schedule"', '3 {"schedule"', ["line 3", "JSON"]),
        ("Seed: 0", "Seed: x", ["line 4", "'x' is not a whole number"]),
        ("Episode: game", "Episode: match", ["line 5", "'game' or 'deal'"]),
        ("Deal 1: hand", "Deal one: hand", ["line 7", "Deal N"]),
        ("Deal 1:", "Deal 2:", ["line 7", "deal 1"]),
        ("hand size 2", "hand size 3", ["line 7", "hand_size"]),
        ("dealer 2", "dealer 1", ["line 12", "expected seat 2 to act, got 0"]),
        ("dealer 2", "dealer 5", ["line 7", "dealer"]),
        ("dealer 2", "dealer 2, blind", ["line 7", "blind"]),
        ("Seat 1: KD 3H", "Seat 1: KX 3H", ["line 9", "'KX' is not a card"]),
        ("Seat 1: KD 3H", "Seat 1: 3H", ["line 7", "equally many cards"]),
        ("Seat 1: KD 3H", "Seat 1: 3H 2H", ["line 7", "2H is in hands 0 and 1"]),
        ("Seat 1: KD 3H", "Seat 4: KD 3H", ["line 9", "'Seat 1: ...'"]),
        ("Turned: TS", "Turned: 9S", ["line 7", "'9S' is in the hand of seat 0"]),
        ("Turned: TS", "Turned: -", ["line 7", "a card is turned"]),
        ("trump S", "trump H", ["line 11", 'expected "S", got "H"']),
        ("0:1 1:0 2:0", "0:1 1:3 2:0", ["line 12", "seat 1", "from 0 to 2"]),
        ("0:1 1:0 2:0", "0:1 1:0 2", ["line 12", "'2' is not SEAT:BID"]),
        ("2:5H*", "2:AC*", ["line 13", "trick 1, seat 2", "must be followed"]),
        ("1:3H 2:5H*", "1:3H* 2:5H", ["line 13", "expected 'Trick 1: 0:2H 1:3H 2:5H*'"]),
        ("2:5H*", "2:5H", ["line 13", "2:5H*"]),
        ("Trick 2: 2:AC 0:9S* 1:KD", "Trick 2: 0:9S* 1:KD 2:AC", ["line 14", "seat 2 to act"]),
        ("Trick 2:", "Trick 3:", ["line 14", "'Trick 2: ...'"]),
        ("Points: 11 10 1", "Points: 11 10 0", ["line 15", "points", "expected 1, got 0"]),
        ("Scores: 11 10 1", "Scores: 11 10 0", ["line 16", "scores"]),
        ("Win shares: 1.0", "Win shares: 0.5", ["line 18", "win_shares"]),
        ("Settlement: 0.0", "Settlement: x", ["line 19", "'x' is not a number"]),
        ("Settlement: 0.0", "Settlement: nan", ["line"]),
        ("Settlement: 0.0 0.0 0.0\n", "", ["line 18", "the text is incomplete", "Settlement"]),
        ("Settlement:", "Deal 2: hand\nSettlement:", ["line 19"]),
    ],
)
def test_a_wrong_line_is_named(old: str, new: str, words: list[str]) -> None:
    assert TEXT.count(old) == 1
    refused(TEXT.replace(old, new), *words)


def test_every_line_is_needed() -> None:
    """Without any one line the text is refused, or it tells of other rules that work as well."""
    lines = TEXT.splitlines()
    for number, line in enumerate(lines):
        if line:
            refused("\n".join(lines[:number] + lines[number + 1 :]))


def test_every_line_stands_once() -> None:
    lines = TEXT.splitlines()
    for number, line in enumerate(lines):
        if line:
            refused("\n".join([*lines[: number + 1], line, *lines[number + 1 :]]))


def test_every_letter_counts() -> None:
    """A letter changed anywhere is refused, or makes another game, of which the text is right."""
    rng = random.Random(3)
    read = refusals = 0
    for place, letter in enumerate(TEXT):
        if letter.isspace():
            continue
        text = TEXT[:place] + rng.choice("012345AKTSHx:*,") + TEXT[place + 1 :]
        try:
            record = parse_game(text)
        except NotationError as error:
            assert "\n" not in str(error)
            refusals += 1
            continue
        read += 1
        assert format_game(record).split() == text.split()
    assert refusals > 300 and read < 10


@pytest.mark.parametrize("text", ["", "\n\n", "# only a remark", "{}", "\x00", "Oh Hell record 1"])
def test_what_is_no_game_is_refused(text: str) -> None:
    refused(text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    for whole in (text, TEXT[:40] + text, TEXT[: len(TEXT) // 2] + text):
        try:
            parse_game(whole)
        except NotationError as error:
            assert "\n" not in str(error)


def test_huge_numbers_are_refused() -> None:
    huge: list[Any] = [
        TEXT.replace("Seed: 0", f"Seed: {'9' * 5000}"),
        TEXT.replace("0:1 1:0", f"0:{'9' * 5000} 1:0"),
        TEXT.replace("hand size 2", f"hand size {'9' * 5000}"),
        TEXT.replace('"sizes": [2]', f'"sizes": [{"9" * 5000}]'),
        TEXT.replace("dealer 2", f"dealer {'9' * 5000}"),
    ]
    for text in huge:
        refused(text)
