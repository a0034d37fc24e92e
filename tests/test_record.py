"""Records: what they hold, replaying them, and everything that can be wrong with one."""

from __future__ import annotations

import copy
import errno
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ohhell_env import oh_hell_v0
from ohhell_env.actions import BID_BASE, card_action
from ohhell_env.cli import records as cli_records
from ohhell_env.cli.commands import main
from ohhell_env.errors import NotationError, OhHellError
from ohhell_env.game import Game
from ohhell_env.players import FunctionPlayer
from ohhell_env.records.record import from_json, load_record, save_record, to_json
from ohhell_env.records.replay import DEAL_KEYS, RECORD_KEYS, check, replay
from ohhell_env.rules import Rules
from ohhell_env.rules.variants import VARIANTS
from ohhell_env.testing import check_records, play_random, public_state, random_rules
from tests.helpers import Table


def presets() -> Iterator[Any]:
    for name in VARIANTS:
        for players in range(2, 9):
            try:
                yield pytest.param(Rules.preset(name, players), id=f"{name}-{players}")
            except OhHellError:
                continue


def made(**settings: Any) -> Rules:
    return Rules.from_dict(settings)


def short(rules: Rules) -> Rules:
    """The same rules with at most four deals."""
    if rules.end.target is not None:
        return rules.replace(**{"end.max_deals": 4})
    return rules.replace(**{"schedule.max_deals": 4})


def finished(rules: Any = "nomination_whist", seed: int = 7, **kwargs: Any) -> Game:
    return play_random(Game(rules, seed, **kwargs), random.Random(seed))


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """A short finished game of three seats; the tests damage copies of it."""
    rules = made(players=3, schedule={"shape": "explicit", "sizes": [3, 1]})
    return finished(rules, seed=5).record()


def refused(record: Any, *words: str) -> None:
    """Asserts that a record is refused with these words, by replay and as JSON."""
    for read in (replay, lambda bad: replay(from_json(json.dumps(bad)))):
        with pytest.raises(NotationError) as caught:
            read(record)
        for word in words:
            assert word in str(caught.value), str(caught.value)
        assert "\n" not in str(caught.value)


# ------------------------------------------------------------------------------ what it holds


def test_a_record_has_the_documented_keys_and_is_plain(record: dict[str, Any]) -> None:
    assert tuple(record) == RECORD_KEYS
    assert all(tuple(deal) == DEAL_KEYS for deal in record["deals"])
    assert from_json(to_json(record)) == record
    assert (record["format"], record["version"]) == ("ohhell-record", 1)


def test_a_record_tells_the_deal_in_the_order_of_the_table() -> None:
    table = Table(Rules(players=3), hands="2H 9S / KD 3C / 5H AC", turned="TS")
    table.bid(1, 0, 0).play("2H KD 5H")
    deal = table.game.record()["deals"][0]
    assert deal == {
        "deal": 0,
        "dealer": 2,
        "hand_size": 2,
        "blind": False,
        "hands": [["2H", "9S"], ["3C", "KD"], ["AC", "5H"]],
        "turned": "TS",
        "trump": "S",
        "bids": [[0, 1], [1, 0], [2, 0]],
        "tricks": [[[0, "2H"], [1, "KD"], [2, "5H"]]],
        "points": None,
    }
    assert table.game.record()["win_shares"] is None


def test_no_trump_is_null_and_the_end_is_told() -> None:
    game = finished(Rules.preset("plump", 3).replace(**{"schedule.max_deals": 2}))
    record = game.record()
    assert [deal["trump"] for deal in record["deals"]] == [None, None]
    assert [deal["turned"] for deal in record["deals"]] == [None, None]
    assert record["win_shares"] == game.win_shares()
    assert record["settlement"] == game.settlement()
    assert record["scores"] == game.scores
    assert [deal["deal"] for deal in record["deals"]] == [0, 1]


def test_the_environment_gives_the_same_record() -> None:
    from ohhell_env import oh_hell_v0

    env = oh_hell_v0.env(rules="blackout", players=3, episode="deal", hand_size=2)
    env.reset(seed=3)
    game = Game("blackout", 3, "deal", 2, players=3)
    while not game.over:
        action = game.legal_actions()[-1]
        game.apply(action)
        env.step(action)
    assert env.unwrapped.record() == game.record()
    replay(env.unwrapped.record())


# ------------------------------------------------------------------------------------- replay


@pytest.mark.parametrize("rules", list(presets()))
def test_every_variant_survives_recording(rules: Rules) -> None:
    rng = random.Random(repr(rules))
    game = play_random(Game(short(rules), rng.getrandbits(60)), rng, None, rng.choice([None, 30]))
    check_records(game)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**40), actions=st.none() | st.integers(0, 60), one=st.booleans())
def test_any_rules_survive_recording(seed: int, actions: int | None, one: bool) -> None:
    rng = random.Random(seed)
    game = Game(random_rules(rng), seed, "deal" if one else "game")
    check_records(play_random(game, rng, None, actions))


@pytest.mark.parametrize("actions", range(22))
def test_a_game_can_be_broken_off_anywhere(record: dict[str, Any], actions: int) -> None:
    game = play_random(Game(Rules.from_dict(record["rules"]), 5), random.Random(5), None, actions)
    check_records(game)


def test_a_replayed_game_goes_on_with_the_same_cards() -> None:
    original = play_random(Game("oh_hell", 11), random.Random(1), None, 60)
    again = replay(original.record())
    assert again.state.tobytes() == original.state.tobytes()
    for game in (original, again):
        play_random(game, random.Random(2))
    assert again.record() == original.record()


def test_first_deals_fixed_by_options_are_replayed() -> None:
    game = Game(Rules(players=3), seed=1)
    game.reset(dealer=1, hands=[["2H", "9S"], ["KD", "3C"], ["5H", "AC"]], turned="TS")
    play_random(game, random.Random(3), None, 40)
    checked = check(game.record())
    assert public_state(checked.game) == public_state(game)
    assert not checked.from_seed


def test_a_hand_size_outside_the_schedule_is_replayed() -> None:
    table = [
        [[size + bid - won for won in range(size + 1)] for bid in range(size + 1)]
        for size in range(1, 9)
    ]
    rules = made(players=3, schedule={"shape": "explicit", "sizes": [1]}, scoring={"table": table})
    for episode in ("game", "deal"):
        game = Game(rules, seed=1, episode=episode)
        game.reset(hand_size=6)
        play_random(game, random.Random(1))
        check_records(game)
        bids = [bid for _, bid in sorted(game.finished_deals[0]["bids"])]
        assert sum(game.finished_deals[0]["points"]) == 3 * 6 + sum(bids) - 6


@pytest.mark.parametrize("size", [None, 1, 4, 12])
def test_single_deals_are_known_to_come_from_their_seed(size: int | None) -> None:
    record = finished("oh_hell", 9, episode="deal", hand_size=size).record()
    assert check(record).from_seed
    assert not check({**record, "seed": 10}).from_seed


def test_seed_and_moves_give_the_same_record_again(record: dict[str, Any]) -> None:
    game = Game(Rules.from_dict(record["rules"]), record["seed"])
    for deal in record["deals"]:
        for _, bid in deal["bids"]:
            game.apply(BID_BASE + bid)
        for trick in deal["tricks"]:
            for _, card in trick:
                game.apply(card_action(card))
    assert game.record() == record


def test_a_record_without_a_seed_is_replayed_from_its_cards(record: dict[str, Any]) -> None:
    checked = check({**record, "seed": None})
    assert checked.game.record() == {**record, "seed": None}
    assert not checked.from_seed


def test_cards_may_stand_in_any_order(record: dict[str, Any]) -> None:
    shuffled = copy.deepcopy(record)
    shuffled["deals"][0]["hands"][1].reverse()
    assert replay(shuffled).record() == record


# --------------------------------------------------------------------------------- corruption


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in plain data, the inner ones too."""
    yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(inner, (*path, key))


def damaged(record: Any, path: tuple[Any, ...], change: Any) -> Any:
    """A copy of a record with one place changed; ``change`` gets the holder and the key."""
    twin = copy.deepcopy(record)
    holder = twin
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return twin


VALUES = [None, True, -1, 7, 10**30, 0.5, "", "XX", "2C", [], [[]], {}, {"deal": 1}, [None, None]]


def test_no_damage_passes_or_breaks_the_reader(record: dict[str, Any]) -> None:
    """One value changed anywhere: refused with one clear line, or another game that is right."""
    rng = random.Random(1)
    places = [path for path in paths(record) if path]
    assert len(places) > 150
    accepted = set()
    for path in places:
        for value in rng.sample(VALUES, 4):

            def put(holder: Any, key: Any, value: Any = value) -> None:
                holder[key] = value

            bad = damaged(record, path, put)
            try:
                game = replay(bad)
            except NotationError as error:
                assert len(str(error)) < 600 and "\n" not in str(error)
                continue
            assert game.record() == bad
            accepted.add(path[0] if path[0] != "deals" else path[2])
    # settings that change nothing here, another seed, another turned card of the suit
    assert accepted <= {"rules", "seed", "turned"}


def test_every_key_is_needed_and_no_other_is_known(record: dict[str, Any]) -> None:
    objects = [path for path in paths(record) if path and isinstance(path[-1], str)]
    for path in objects:
        key = path[-1]
        refused(damaged(record, path, lambda holder, key: holder.pop(key)), key)
    refused({**record, "sccores": 1}, "unknown key 'sccores'", "'scores'")
    extra = damaged(record, ("deals", 1, "bids"), lambda deal, _: deal.update(bidds=[]))
    refused(extra, "deal 2", "unknown key 'bidds'", "'bids'")
    extra = damaged(record, ("rules", "players"), lambda rules, _: rules.update(playrs=3))
    refused(extra, "rules", "unknown key 'playrs'", "'players'")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("format",), "chess", ["format", "'ohhell-record'", "'chess'"]),
        (("version",), 2, ["version", "1", "2"]),
        (("version",), True, ["version"]),
        (("episode",), "match", ["episode", "'game' or 'deal'", "match"]),
        (("seed",), -1, ["seed", "-1"]),
        (("rules", "players"), 9, ["rules", "players", "9"]),
        (("rules", "bidding", "hook"), "hok", ["rules", "bidding.hook", "hok"]),
        (("deals",), [], ["deals", "at least one deal"]),
        (("deals", 0, "deal"), 1, ["deal 1", "deal", "1"]),
        (("deals", 1, "dealer"), 0, ["deal 2", "dealer", "expected 1"]),
        (("deals", 0, "dealer"), 3, ["deal 1", "dealer", "0 to 2"]),
        (("deals", 0, "hand_size"), 4, ["deal 1", "hand_size"]),
        (("deals", 1, "hand_size"), 2, ["deal 2", "hand_size", "expected 1, got 2"]),
        (("deals", 0, "blind"), True, ["deal 1", "blind", "expected false"]),
        (("deals", 0, "hands", 0, 0), "XX", ["deal 1", "hands", "seat 0", "'XX' is not a card"]),
        (("deals", 0, "turned"), None, ["deal 1", "turned"]),
        (("deals", 0, "turned"), 12, ["deal 1", "turned", "the name of a card", "12"]),
        (("deals", 0, "trump"), None, ["deal 1", "trump", "got null"]),
        (("deals", 0, "bids", 1, 1), 4, ["deal 1, bid 2, seat 2", "from 0 to 3", "got 4"]),
        (("deals", 0, "bids", 1, 0), 1, ["deal 1, bid 2", "expected seat 2 to act", "got 1"]),
        (("deals", 0, "tricks", 1, 0, 0), 9, ["deal 1, trick 2", "to act", "got 9"]),
        (("deals", 0, "tricks", 1, 0, 1), "ZZ", ["deal 1, trick 2, seat", "'ZZ' is not a card"]),
        (("deals", 0, "points", 0), 999, ["deal 1, points", "got 999"]),
        (("deals", 1, "points"), None, ["deal 2, points", "got null"]),
        (("scores", 2), 999, ["scores", "[2]", "got 999"]),
        (("win_shares",), None, ["win_shares", "got null"]),
        (("settlement", 0), 5, ["settlement", "expected 0.0, got 5"]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    record: dict[str, Any], path: tuple[Any, ...], value: Any, words: list[str]
) -> None:
    def put(holder: Any, key: Any) -> None:
        holder[key] = value

    refused(damaged(record, path, put), *words)


def test_tampered_play_is_refused() -> None:
    table = Table(
        made(players=3, bidding={"hook": "none"}),
        hands="2H 9S / KD 3H / 5H AC",
        turned="TS",
    )
    table.bid(1, 0, 0).play("2H 3H 5H AC 9S KD")
    record = table.game.record()
    cards = record["deals"][0]["tricks"]
    assert cards == [
        [[0, "2H"], [1, "3H"], [2, "5H"]],
        [[2, "AC"], [0, "9S"], [1, "KD"]],
    ]

    def swapped(trick: int, place: int, card: str) -> dict[str, Any]:
        twin = copy.deepcopy(record)
        twin["deals"][0]["tricks"][trick][place][1] = card
        return twin

    refused(swapped(0, 1, "KD"), "deal 1, trick 1, seat 1", "KD", "H was led and must be followed")
    refused(swapped(0, 1, "2H"), "deal 1, trick 1, seat 1", "seat 1 does not hold it")
    refused(swapped(1, 0, "9S"), "deal 1, trick 2, seat 2", "seat 2 does not hold it")
    twice = copy.deepcopy(record)
    twice["deals"][0]["hands"][0][0] = "KD"
    refused(twice, "deal 1", "KD is in hands 0 and 1")
    gone = copy.deepcopy(record)
    gone["deals"][0]["hands"][0][0] = "4H"  # the card that is played is not there any more
    refused(gone, "deal 1, trick 1, seat 0", "seat 0 does not hold it")
    turned = copy.deepcopy(record)
    turned["deals"][0]["turned"] = "9S"
    refused(turned, "deal 1", "'9S' is in the hand of seat 0")


def test_a_tampered_trump_or_winner_is_refused(record: dict[str, Any]) -> None:
    bad = copy.deepcopy(record)
    first = bad["deals"][0]
    first["trump"] = next(suit for suit in "CDHS" if suit != first["trump"])
    refused(bad, "deal 1, trump", "expected", first["trump"])
    bad = copy.deepcopy(record)
    second = bad["deals"][0]["tricks"][1]
    bad["deals"][0]["tricks"][1] = second[1:] + second[:1]  # somebody else leads
    refused(bad, "deal 1, trick 2", "to act")


def test_deals_and_tricks_missing_or_left_over_are_told(record: dict[str, Any]) -> None:
    bad = copy.deepcopy(record)
    del bad["deals"][1]
    refused(bad, "deal 2", "missing")
    bad = copy.deepcopy(record)
    bad["deals"].append(copy.deepcopy(bad["deals"][1]))
    refused(bad, "deal 3", "the game was over after deal 2")
    bad = copy.deepcopy(record)
    bad["deals"][0]["tricks"].append(bad["deals"][0]["tricks"][0])
    refused(bad, "deal 1, trick 4", "the deal was over after trick 3")
    bad = copy.deepcopy(record)
    bad["deals"][0]["bids"].append([0, 0])
    refused(bad, "deal 1, bid 4", "all 3 seats have bid")
    bad = copy.deepcopy(record)
    del bad["deals"][0]["tricks"][2]
    refused(bad, "deal 1", "points")
    bad["deals"][0]["points"] = None
    refused(bad, "deal 1", "unfinished, but deal 2 follows")
    bad = copy.deepcopy(record)
    del bad["deals"][0]["tricks"][1][2]
    refused(bad, "deal 1, trick 3", "the previous trick 2 is not complete")
    bad = copy.deepcopy(record)
    bad["deals"][0]["tricks"][0] = []
    refused(bad, "deal 1, trick 1", "1 to 3 cards")


def test_a_blind_trick_is_compared() -> None:
    rules = made(players=3, schedule={"shape": "explicit", "sizes": [1]}, blind_one_card="always")
    record = finished(rules).record()
    assert record["deals"][0]["blind"] and len(record["deals"][0]["tricks"][0]) == 3
    record["deals"][0]["tricks"][0].reverse()
    refused(record, "deal 1, tricks", "expected")


@pytest.mark.parametrize("value", [None, 5, [], "text", {}, {1: 2}, {"format": object()}, {3}])
def test_what_is_no_record_at_all_is_refused(value: Any) -> None:
    with pytest.raises(NotationError):
        replay(value)


def test_endless_and_huge_values_are_refused(record: dict[str, Any]) -> None:
    endless: list[Any] = []
    endless.append(endless)
    for value in (endless, float("nan"), 10**5000, {"a": object()}):
        with pytest.raises(NotationError):
            replay({**record, "deals": value})


# -------------------------------------------------------------------------------------- files


def test_json_that_breaks_off_anywhere_is_refused(record: dict[str, Any]) -> None:
    text = to_json(record).rstrip()
    for end in range(0, len(text), 97):
        with pytest.raises(NotationError, match="not a record"):
            from_json(text[:end])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"format": "ohhell-record", "format": "ohhell-record"}', "duplicate key 'format'"),
        ('{"format": NaN}', "NaN is not a number"),
        ("[" * 100_000, "nested too deeply"),
        ('{"format": ' + "9" * 5000 + "}", "digit"),
        ("[]", "an object"),
    ],
)
def test_json_that_is_ambiguous_or_absurd_is_refused(text: str, word: str) -> None:
    with pytest.raises(NotationError, match=word):
        from_json(text)


def test_save_and_load(tmp_path: Any, record: dict[str, Any]) -> None:
    path = tmp_path / "game.json"
    save_record(record, path)
    assert load_record(path) == record
    save_record({**record, "seed": 6}, path)
    assert load_record(path)["seed"] == 6
    assert [file.name for file in tmp_path.iterdir()] == ["game.json"]


def test_what_cannot_be_read_is_told_with_its_path(tmp_path: Any) -> None:
    with pytest.raises(NotationError, match=r"gone\.json: cannot read it: No such file"):
        load_record(tmp_path / "gone.json")
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NotationError, match="noise: cannot read it: it is not UTF-8"):
        load_record(tmp_path / "noise")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_that_is_cut_off_leaves_the_old_file(
    tmp_path: Any, record: dict[str, Any], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "game.json"
    save_record(record, path)

    def killed(*args: Any) -> None:
        raise KeyboardInterrupt

    target = os if step == "fsync" else Path
    with monkeypatch.context() as patch:
        patch.setattr(target, step, killed)
        with pytest.raises(KeyboardInterrupt):
            save_record({**record, "seed": 6}, path)
    assert load_record(path) == record
    assert [file.name for file in tmp_path.iterdir()] == ["game.json"]


def test_what_cannot_be_written_is_told_with_its_own_name(
    tmp_path: Any, record: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder") as told:
        save_record(record, tmp_path / "folder")
    assert told.value.filename == str(tmp_path / "folder") and told.value.filename2 is None
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=full))
    with pytest.raises(OSError, match=r"No space left on device: .*game\.json") as told:
        save_record(record, tmp_path / "game.json")
    assert told.value.filename == str(tmp_path / "game.json")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_page_does_not_take_the_place_of_its_record(
    tmp_path: Any, record: dict[str, Any], capsys: Any
) -> None:
    path = tmp_path / "game.json"
    save_record(record, path)
    (tmp_path / "other.json").symlink_to(path)
    for name in ("game.json", "other.json"):
        assert main(["replay", str(path), "--html", str(tmp_path / name)]) == 2
        assert "is the record itself; choose another file" in capsys.readouterr().err
    assert load_record(path) == record


def test_a_record_that_json_cannot_hold_is_not_half_saved(
    tmp_path: Any, record: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="JSON"):
        save_record({**record, "settlement": [float("nan")]}, tmp_path / "game.json")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------- command line


def test_deal_and_replay_on_the_command_line(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "game.json"
    assert main(["deal", "kachuful", "--players", "3", "--seed", "4", "--out", str(path)]) == 0
    assert load_record(path)["rules"]["name"] == "kachuful"
    assert capsys.readouterr().out == ""
    assert main(["replay", str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Oh Hell record 1\nVariant: kachuful, 3 players\nSeed: 4\n")
    assert "seed 4 deals these cards" in shown.err
    text = tmp_path / "game.txt"
    text.write_text(shown.out, encoding="utf-8")
    assert main(["replay", str(text), "--json"]) == 0
    assert capsys.readouterr().out == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [[], ["--player", "random"], ["--explain", "heuristic"]])
def test_a_seed_that_was_drawn_deals_the_cards(
    options: list[str], tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "game.json"
    words = ["deal", "nomination_whist", "--hand-size", "2", "--out", str(file), *options]
    assert main(words) == 0
    assert check(load_record(file)).from_seed
    assert main(["replay", str(file)]) == 0
    assert "does not deal" not in capsys.readouterr().err


def test_the_first_episode_of_an_environment_is_that_of_its_seed() -> None:
    env = oh_hell_v0.raw_env(rules="oh_hell", episode="deal")
    env.reset()
    assert check(env.record()).from_seed
    first = env.record()["deals"][0]["hands"]
    env.reset()
    assert env.record()["deals"][0]["hands"] != first


def test_deal_plays_what_it_is_told(capsys: Any) -> None:
    assert main(["deal", "oh_hell", "--seed", "1", "--hand-size", "2", "--json"]) == 0
    record = from_json(capsys.readouterr().out)
    assert [len(hand) for hand in record["deals"][0]["hands"]] == [2, 2, 2, 2]
    assert record["episode"] == "deal" and record["win_shares"] is not None
    assert main(["deal", "nomination_whist", "--seed", "1", "--game", "--json"]) == 0
    assert len(from_json(capsys.readouterr().out)["deals"]) == 13


def test_deal_seats_named_players(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(name: str, seed: int) -> FunctionPlayer:
        assert seed >= 2
        place = {"low": 0, "high": -1}[name]
        return FunctionPlayer(lambda view, info: int(info["action_mask"].nonzero()[0][place]))

    monkeypatch.setattr(cli_records, "resolve", resolve)
    words = ["deal", "--players", "3", "--hand-size", "2", "--seed", "2", "--json"]
    for names, bids in ((["high"], 2), (["low"], 0)):
        assert main(words + [word for name in names for word in ("--player", name)]) == 0
        deal = from_json(capsys.readouterr().out)["deals"][0]
        assert [bid for _, bid in deal["bids"]][:2] == [bids, bids]
    assert main([*words, "--player", "low", "--player", "high", "--player", "low"]) == 0
    record = from_json(capsys.readouterr().out)
    bids = dict(record["deals"][0]["bids"])
    assert bids[1] == 2 and bids[0] < 2
    assert record["deals"][0]["hands"] == deal["hands"]


def test_deal_seats_a_player_of_the_clone(capsys: Any) -> None:
    words = ["deal", "--hand-size", "3", "--seed", "2", "--player", "random"]
    assert main(words) == 0
    first = capsys.readouterr().out
    assert main(words) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["deal", "oh_hel"], "did you mean 'oh_hell'"),
        (["deal", "--players", "9"], "players must be 2 to 8"),
        (["deal", "--hand-size", "60"], "60"),
        (["deal", "--hand-size", "3", "--game"], "--hand-size applies to a single deal"),
        (["deal", "--seed", "-1"], "seed"),
        (["deal", "--player", "heuristik"], "did you mean 'heuristic'"),
        (["deal", "--player", "random", "--player", "random"], "give 1 name or 4"),
        (["deal", "--json", "--text"], "choose one"),
        (["deal", "--out", "/nowhere/at/all.json"], "/nowhere/at"),
        (["replay", "/nowhere/at/all.json"], "cannot read it"),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(
    words: list[str], said: str, capsys: Any
) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1 and shown.out == ""


def test_a_damaged_record_is_one_line(tmp_path: Any, record: dict[str, Any], capsys: Any) -> None:
    path = tmp_path / "bad.json"
    path.write_text(
        to_json(damaged(record, ("deals", 0, "points", 1), lambda p, i: p.pop(i))), encoding="utf-8"
    )
    assert main(["replay", str(path)]) == 2
    shown = capsys.readouterr()
    assert "bad.json: deal 1, points: expected" in shown.err and shown.err.count("\n") == 1
