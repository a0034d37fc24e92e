"""``ohhell_train.play.match``: a game of one person against players, without a screen."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from ohhell_env import Rules
from ohhell_env.errors import IllegalActionError, OhHellError
from ohhell_env.oh_hell_v0 import action_name
from ohhell_env.pictures.page import replay_page
from ohhell_env.records.record import load_record
from ohhell_env.records.replay import check, replay
from ohhell_train.play.advice import Adviser
from ohhell_train.play.cli import farewell, set_up
from ohhell_train.play.match import Match
from ohhell_train.play.others import PlayerError
from ohhell_train.play.session import Session
from ohhell_train.play.view import person_view
from tests.envs.test_no_leak import redeal
from tests.helpers import house, unix_only

BOT = Path(__file__).parent.parent.parent / "examples" / "bots" / "tiny_bot.py"
SECRET = {
    "trump__revealed": "after_bidding",
    "bidding__order": "simultaneous",
    "bidding__hook": "none",
}
TABLES = {
    "hook": house(3, 1, 2, 3),
    "two players": house(2, 3, 1),
    "no trumps": house(4, 2, trump__method="none"),
    "blind": house(3, 1, 2, blind_one_card="always"),
    "secret": house(4, 2, 3, **SECRET),
    "Spanish": Rules.preset("pocha", 4).replace(schedule={"shape": "explicit", "sizes": [2, 1]}),
    "duties": house(3, 4, play__void="must_trump", play__head_led_suit=True),
}


def chosen(match: Match, chance: random.Random) -> int:
    return chance.choice([choice.action for choice in match.view.choices if not choice.problem])


def play_on(match: Match, chance: random.Random, decisions: int = 10**6) -> None:
    """Plays the person's seat at random, for some decisions or to the end."""
    match.advance()
    while not match.over and decisions:
        match.choose(chosen(match, chance))
        match.advance()
        decisions -= 1


def state(match: Match) -> tuple[Any, ...]:
    sheet = tuple(match.sheet)
    return match.game.state.tobytes(), match.view, tuple(match.events), sheet, match.moves


@pytest.mark.parametrize("name", TABLES)
def test_a_whole_game_offers_what_is_legal_and_can_be_replayed(name: str, tmp_path: Path) -> None:
    rules, chance = TABLES[name], random.Random(name)
    for seat in range(rules.players):
        path = tmp_path / f"{seat}.json"
        match = set_up(rules, ["random"], seat, seed=seat, adviser="heuristic", record=path)
        match.advance()
        while not match.over:
            legal = [choice for choice in match.view.choices if not choice.problem]
            assert sorted(choice.action for choice in legal) == match.game.legal_actions()
            told = {action_name(action, rules.pack) for action in match.game.legal_actions()}
            assert {choice.name for choice in legal} == {each.removeprefix("bid ") for each in told}
            assert len({choice.key for choice in match.view.choices}) == len(match.view.choices)
            match.choose(chance.choice(legal).action)
            match.advance()
        assert load_record(path) == match.record()
        assert replay(match.record()).scores == match.game.scores
        checked = check(match.record())
        assert [row.scores for row in match.sheet] == checked.scores
        for row, won, deal in zip(
            match.sheet, checked.winners, match.record()["deals"], strict=True
        ):
            assert row.tricks_won == [won.count(each) for each in range(rules.players)]
            assert (row.last_trick.winner, row.points) == (won[-1], deal["points"])
            assert [list(play) for play in row.last_trick.plays] == deal["tricks"][-1]
            assert row.bids == [bid for _, bid in sorted(deal["bids"])]
        assert match.events[-1].startswith("The game is over: ")
        match.close()


def test_what_is_paid_is_told() -> None:
    match = set_up(
        house(2, 2, settlement__kind="differences"), ["random"], seed=2, adviser="heuristic"
    )
    play_on(match, random.Random(4))
    mine, other = match.game.settlement()
    assert mine, "a game that one of them wins"
    assert match.events[-2] == f"Paid: You {mine:+g}, Ida {other:+g}"


def test_events_tell_the_game_in_order() -> None:
    match = set_up(house(2, 1), ["random"], seed=1, names=["Ann", "Bob"], adviser="heuristic")
    play_on(match, random.Random(1))
    deal = match.record()["deals"][0]
    names = ("Ann", "Bob")
    (lead, first), (follow, second) = deal["tricks"][0]
    bids = [f"{names[seat]} bids {bid}" for seat, bid in deal["bids"]]
    assert match.events[0].startswith("Deal 1 of 1, hand size 1; trump: ")
    assert match.events[0].endswith(f"{names[deal['dealer']]} deals")
    assert match.events[1:3] == bids
    played = [f"{names[lead]} leads {first}", f"{names[follow]} plays {second}"]
    assert match.events[4:6] == played
    winner = match.sheet[0].last_trick.winner
    assert match.events[6:8] == [f"{names[winner]} wins trick 1", "Deal 1 is over:"]


@pytest.mark.parametrize("name", TABLES)
def test_hidden_cards_change_nothing_that_is_seen(name: str) -> None:
    chance, changed = random.Random(name), 0
    match = set_up(TABLES[name], ["random"], seed=2, adviser="heuristic")
    match.advance()
    while not match.over:
        twin = redeal(match.game, match.seat, chance)
        changed += twin.hands != match.game.hands
        assert person_view(twin, match.seat) == match.view
        match.choose(chosen(match, chance))
        match.advance()
    assert changed


def test_secret_bids_are_told_when_all_have_bid() -> None:
    match = set_up(TABLES["secret"], ["random"], seed=3, adviser="heuristic")
    match.advance()
    assert match.game.bids.count(None) < 4, "the others bid first, so that there is a secret"
    assert not any("bids" in line for line in match.events)
    assert "not known yet" in match.events[0]
    match.choose(match.view.bids[0].action)
    match.advance()
    told = "\n".join(match.events)
    assert told.count(" bids ") == 3 and "You bid 0" in told and "\ntrump: " in told


# ---------------------------------------------------------------- undo


def test_undo_brings_back_the_decision_and_the_same_replies() -> None:
    chance = random.Random(5)
    match = set_up(house(4, 3, 2), ["random"], seed=9, practice=True, adviser="heuristic")
    match.advance()
    seen: list[tuple[Any, ...]] = []
    taken: list[int] = []
    while not match.over:
        seen.append(state(match))
        taken.append(chosen(match, chance))
        match.choose(taken[-1])
        match.advance()
    end = state(match)
    for before in reversed(seen):
        assert match.undo()
        assert state(match) == before
    assert not match.undo()
    for action in taken:
        match.choose(action)
        match.advance()
    assert state(match) == end


def test_another_card_after_undo_is_another_game_that_can_be_replayed() -> None:
    match = set_up(house(3, 5), ["random"], seed=4, practice=True, adviser="heuristic")
    match.advance()
    before = state(match)
    options = [choice.action for choice in match.view.choices if not choice.problem]
    records: list[Any] = []
    for action in options[:2]:
        match.choose(action)
        match.advance()
        records.append(match.record())
        replay(records[-1])
        assert match.undo() and state(match) == before
    assert records[0]["deals"] != records[1]["deals"]


def test_there_is_no_undo_but_in_practice() -> None:
    match = set_up(house(2, 2), ["random"], seed=4, adviser="heuristic")
    play_on(match, random.Random(1), 1)
    before = state(match)
    assert not match.can_undo and not match.undo()
    assert state(match) == before


def test_an_answer_to_what_was_taken_back_is_dropped() -> None:
    match = set_up(house(2, 4), ["random"], seed=6, practice=True, adviser="heuristic")
    match.advance()
    while True:  # until the other is to act after a move of the person
        match.choose(chosen(match, random.Random(1)))
        question = match.question()
        if question is not None:
            break
    action = match.think(question)
    assert match.undo()
    before = state(match)
    assert not match.answer(question, action)
    assert state(match) == before


# ---------------------------------------------------------------- hints


@pytest.mark.parametrize("adviser", ["zoo:universal", "search:worlds=4"])
def test_hints_change_nothing_and_stand_in_the_record(adviser: str) -> None:
    rules = house(3, 2, 3)
    asked, silent = (
        set_up(rules, ["random"], seed=8, adviser=adviser, names=["Ann"]) for _ in range(2)
    )
    for match in (asked, silent):
        match.advance()
    hints = 0
    while not asked.over:
        before = state(asked)
        advice = asked.hint()
        assert advice is not None and advice.action in asked.game.legal_actions()
        assert advice.numbers.startswith(action_name(advice.action, rules.pack))
        assert state(asked) == before
        hints += 1
        for match in (asked, silent):
            match.choose(advice.action)
            match.advance()
    assert asked.hint() is None
    assert state(asked) == state(silent)
    record = asked.record()
    told = [thought for deal in record["thoughts"]["deals"] for thought in deal if thought]
    assert len(told) == hints and record["thoughts"]["player"] == adviser
    assert replay(record).scores == asked.game.scores
    assert "thoughts" in replay_page(record)
    assert "thoughts" not in silent.record()


def test_a_hint_is_the_same_whatever_the_others_hold() -> None:
    match = set_up(house(4, 6), ["heuristic"], seed=3, adviser="heuristic")
    match.advance()
    first = match.hint()
    match.game = redeal(match.game, match.seat, random.Random(2))
    assert match.hint() == first


def test_a_hint_taken_back_leaves_the_record() -> None:
    match = set_up(house(2, 3), ["random"], seed=3, adviser="heuristic", practice=True)
    play_on(match, random.Random(1), 1)
    match.hint()
    assert "thoughts" not in match.record(), "it is for a decision that is still to come"
    replay(match.record())
    play_on(match, random.Random(1), 1)
    assert "thoughts" in match.record()
    match.undo()
    assert "thoughts" not in match.record()
    match.undo()
    play_on(match, random.Random(3))
    assert "thoughts" not in match.record()


# ---------------------------------------------------------------- mistakes and failures


def test_what_may_not_be_done_is_refused_with_its_reason() -> None:
    match = set_up(house(2, 3), ["heuristic"], seed=1, adviser="heuristic")
    match.advance()
    if match.seat != match.game.dealer:
        match = set_up(house(2, 3), ["heuristic"], seat=1, seed=1, adviser="heuristic")
        match.advance()
    forbidden = [choice for choice in match.view.bids if choice.problem]
    assert len(forbidden) == 1 and "the hook forbids" in forbidden[0].problem
    before = state(match)
    with pytest.raises(IllegalActionError, match="the hook forbids"):
        match.choose(forbidden[0].action)
    assert state(match) == before


class Raises:
    """Cannot make up its mind."""

    def act(self, observation: Any, info: Any = None) -> int:
        raise RuntimeError("no idea")


class Cancels:
    """Raises what is no ``Exception``."""

    def act(self, observation: Any, info: Any = None) -> int:
        raise asyncio.CancelledError("enough")


class AlwaysAce:
    """Plays the ace of spades, whether it holds it or not."""

    def act(self, observation: Any, info: Any = None) -> int:
        return 51


@pytest.mark.parametrize(
    ("player", "why"),
    [("Raises", "no idea"), ("Cancels", "CancelledError: enough"), ("AlwaysAce", "51")],
)
def test_a_failure_is_told_and_the_game_stays(player: str, why: str) -> None:
    match = set_up(house(3, 4), [f"{__name__}:{player}"], seed=1, adviser="heuristic")
    for _ in range(2):  # it may be asked again
        with pytest.raises(PlayerError, match=rf"seat [12] \(.*{player}\) failed: .*{why}") as told:
            play_on(match, random.Random(1))
        assert "\n" not in str(told.value) and "reset" not in str(told.value)
    assert not match.over and match.question() is not None
    replay(match.record())


def test_whatever_an_adviser_raises_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    match = set_up(house(2, 1), ["heuristic"], seed=1, adviser="heuristic")
    adviser = Adviser("heuristic", match.game.rules, 0, 1)
    monkeypatch.setattr(adviser._player, "explain", Cancels().act)
    with pytest.raises(OhHellError, match="heuristic gives no hint: CancelledError: enough"):
        adviser.advise(adviser.observation(match.game))


@unix_only
def test_programs_play_and_are_ended() -> None:
    bot = f"process:{sys.executable} {BOT}"
    match = set_up(house(3, 2), ["heuristic", bot], seed=1, adviser="heuristic")
    program: Any = match._others._players.players[1].player
    assert program.pid is not None
    play_on(match, random.Random(1))
    match.close()
    assert match.over and program.pid is None


def test_an_adviser_must_explain_itself_and_nothing_is_left_running() -> None:
    with pytest.raises(OhHellError, match="--adviser: player 'random' cannot explain"):
        set_up(house(3, 2), ["random"], adviser="random")


# ---------------------------------------------------------------- the record


def test_the_game_is_kept_from_its_beginning_deal_by_deal(tmp_path: Path) -> None:
    path, chance = tmp_path / "game.json", random.Random(2)
    match = set_up(house(2, 1, 1, 2), ["random"], seed=5, record=path, adviser="heuristic")
    assert load_record(path)["deals"][0]["bids"] == []
    while len(match.sheet) < 2:
        play_on(match, chance, 1)
    assert sum(deal["points"] is not None for deal in load_record(path)["deals"]) == 2
    play_on(match, chance, 1)
    match.close()
    kept = load_record(path)
    assert kept == match.record() and not replay(kept).over
    assert replay(kept).legal_actions() == match.game.legal_actions()


def test_a_record_that_cannot_be_written_is_told_and_the_game_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    match = set_up(
        house(2, 1), ["random"], seed=5, record=folder / "game.json", adviser="heuristic"
    )
    (folder / "game.json").unlink()
    folder.rmdir()
    play_on(match, random.Random(2))
    assert match.over and "there is no folder" in match.trouble
    assert farewell(Session(lambda *, seed, record: match))[-1] == match.trouble


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "game.json").write_text("precious", encoding="utf-8")
    with pytest.raises(OhHellError, match=r"game\.json' exists already"):
        set_up(house(2, 1), ["random"], record=tmp_path / "game.json")
    assert (tmp_path / "game.json").read_text(encoding="utf-8") == "precious"


def test_hand_sizes_outside_the_schedule() -> None:
    rules = Rules.preset("oh_hell", 2)
    match = set_up(rules, ["heuristic"], seed=1, episode="deal", hand_size=26, adviser="heuristic")
    match.advance()
    assert match.hint() is not None
    assert len({choice.key for choice in match.view.bids}) == 27
    play_on(match, random.Random(1))
    assert replay(match.record()).scores == match.game.scores
