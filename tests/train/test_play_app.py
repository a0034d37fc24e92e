"""``ohhell_train.play.app``: the table in the terminal, driven by keys and mouse as a person drives
it."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from ohhell_env import Rules
from ohhell_env.records.record import load_record
from ohhell_env.records.replay import replay
from ohhell_train.play.app import PlayApp
from ohhell_train.play.cli import set_up
from ohhell_train.play.match import Match
from ohhell_train.play.screens import SheetScreen, TextScreen
from ohhell_train.play.session import Session
from ohhell_train.play.view import Choice, person_view
from tests.envs.test_no_leak import redeal
from tests.helpers import house, unix_only

Script = Callable[[PlayApp, Pilot[None]], Awaitable[None]]


def only(match: Match) -> Session:
    """A session that plays one game."""
    return Session(lambda *, seed, record: match)


def drive(game: Match | Session, script: Script, size: tuple[int, int] = (80, 24)) -> None:
    """Runs the app without a terminal, and a script that presses its keys."""
    session = only(game) if isinstance(game, Match) else game

    async def run() -> None:
        app = PlayApp(session, pace=0)
        app.animation_level = "none"
        async with app.run_test(size=size) as pilot:
            await settle(app, pilot)
            await script(app, pilot)
        session.close()

    asyncio.run(run())


async def settle(app: PlayApp, pilot: Pilot[None]) -> None:
    """Waits until it is the person's turn, a screen is open, or nothing goes on."""

    def waits() -> bool:
        return len(app.screen_stack) == 1 and not (app.match.mine or app.match.over)

    await until(pilot, lambda: not waits() or bool(app._failure))
    await pilot.pause()


async def until(pilot: Pilot[None], reached: Callable[[], bool]) -> None:
    for _ in range(1000):
        await pilot.pause(0.005)
        if reached():
            return
    raise AssertionError("waited in vain")


def shown(app: PlayApp) -> str:
    """Everything on the screen, line by line."""
    lines = app.screen._compositor.render_strips(app.screen.size)
    return "\n".join(strip.text for strip in lines)


def part(app: PlayApp, name: str) -> str:
    """A part of the table as text."""
    return str(app.screen_stack[0].query_one(f"#{name}", Static).render())


def legal(app: PlayApp) -> list[Choice]:
    return [choice for choice in app.match.view.choices if not choice.problem]


async def press(app: PlayApp, pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settle(app, pilot)


async def click(app: PlayApp, pilot: Pilot[None], choice: Choice) -> None:
    """Clicks on a card or bid where it stands."""
    where = "bids" if app.match.view.table.bidding else "hand"
    word = choice.name if choice.name == choice.key else f"{choice.key}:{choice.name}"
    for row, line in enumerate(part(app, where).split("\n")):
        place = f" {line} ".find(f" {word} ")
        if place >= 0:
            await pilot.click(f"#{where}", offset=(place + 1, row))  # one cell of padding
            await settle(app, pilot)
            return
    raise AssertionError(f"{word} is not in {part(app, where)!r}")


def table(rules: Rules, *players: str, **settings: Any) -> Match:
    return set_up(rules, players or ["random"], seed=3, adviser="heuristic", **settings)


@pytest.mark.parametrize("by_mouse", [False, True])
def test_a_game_is_played_and_kept(by_mouse: bool, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    match = table(house(3, 2, 1), record=path)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        chance, sheets = random.Random(1), 0
        while not match.over:
            if by_mouse:
                await click(app, pilot, chance.choice(legal(app)))
            else:
                await press(app, pilot, chance.choice(legal(app)).key)
            if isinstance(app.screen, SheetScreen):
                sheets += 1
                assert app.screen.query_one(DataTable).row_count == sheets == len(match.sheet)
                await press(app, pilot, "enter")
        assert sheets == 2
        assert "The game is over" in shown(app)
        await pilot.press("q")

    drive(match, script)
    assert load_record(path)["win_shares"] is not None
    assert replay(load_record(path)).scores == match.game.scores


def test_the_table_shows_who_bid_what_and_why_a_bid_is_forbidden() -> None:
    match = table(house(3, 3), "heuristic", names=["Ann", "Bob", "Cy"], seat=0)
    seat = match.game.dealer
    match = table(house(3, 3), "heuristic", names=["Ann", "Bob", "Cy"], seat=seat)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        seats = part(app, "seats").split("\n")
        assert [line[2:].split()[0] for line in seats[1:]] == ["Ann", "Bob", "Cy"]
        assert sum(" (heuristic) " in line for line in seats) == 2  # beside the others' names
        assert seats[seat + 1].startswith("> ") and "dealer" in seats[seat + 1]
        assert "eldest" in seats[(seat + 1) % 3 + 1]
        others = [line.split()[2] for place, line in enumerate(seats[1:]) if place != seat]
        assert others == [str(match.game.bids[s]) for s in range(3) if s != seat]
        forbidden = next(choice for choice in match.view.bids if choice.problem)
        assert f"({forbidden.name})" in part(app, "bids")
        assert "the hook forbids" in part(app, "message")
        before = match.game.state.tobytes()
        await press(app, pilot, forbidden.key)
        assert part(app, "message").startswith(f"Illegal bid {forbidden.name}: the hook forbids")
        assert match.game.state.tobytes() == before
        text = shown(app)
        for event in match.events:
            assert event in text
        assert text.split("\n")[-1].split() == ["h", "hint", "r", "rules", "q", "quit"]

    drive(match, script)


def test_cards_that_may_not_be_played_have_no_key_and_a_reason() -> None:
    match = table(house(4, 10), "heuristic")

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        while not any(choice.problem for choice in match.view.choices) or match.view.bids:
            await press(app, pilot, legal(app)[0].key)
        hand = part(app, "hand")
        for choice in match.view.choices:
            assert choice.name in hand
            assert (f"{choice.key}:{choice.name}" in hand) == (not choice.problem)
        bad = next(choice for choice in match.view.choices if choice.problem)
        before = match.moves
        await press(app, pilot, bad.key)
        assert match.moves == before
        assert part(app, "message").startswith(f"Illegal card {bad.name}: ")

    drive(match, script)


@pytest.mark.parametrize(("players", "size"), [(4, 10), (2, 20), (2, 26), (8, 6)])
def test_no_card_is_lost_in_a_small_terminal(players: int, size: int) -> None:
    rules = Rules.preset("oh_hell", players)
    match = table(rules, episode="deal", hand_size=size)
    sizes = [(80, 24), (120, 40), (72, 24)] if size == 20 else [(80, 24)]

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        for terminal in sizes:
            await pilot.resize_terminal(*terminal)
            await pilot.pause()
            text = shown(app)
            for choice in (each for suit in match.view.hand for each in suit):
                assert f" {choice.name} " in text
            for choice in match.view.bids:
                assert choice.name in part(app, "bids")
            assert f":{size} " in text or f" {size} " in text
            assert all(name in text for name in match.names) and "q quit" in text
        await press(app, pilot, legal(app)[0].key)
        text = shown(app)
        for choice in match.view.choices:
            assert f"{choice.key}:{choice.name}" in text or f" {choice.name} " in text

    drive(match, script)


def test_a_hint_is_what_the_adviser_says_and_changes_nothing() -> None:
    match = table(house(3, 4))

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        before = match.game.state.tobytes()
        observation = match.observation()
        assert observation is not None
        advice = match.advise(observation)
        await pilot.press("h")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await pilot.pause()
        text = shown(app)
        assert "Hint from heuristic" in text and "points behind the best choice" in text
        inside = [line.partition("│")[2].rpartition("│")[0].strip() for line in text.split("\n")]
        assert advice.words in " ".join(inside)
        assert all(line.strip() in text for line in advice.numbers.splitlines())
        await press(app, pilot, "escape")
        assert len(app.screen_stack) == 1 and match.game.state.tobytes() == before

    drive(match, script)


def test_undo_shows_the_table_as_it_was() -> None:
    match = table(house(3, 4), practice=True)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, legal(app)[0].key)
        before = shown(app)
        card = legal(app)[0].key
        await press(app, pilot, card)
        after = shown(app)
        await press(app, pilot, "u")
        assert shown(app) == before
        await press(app, pilot, card)
        assert shown(app) == after != before

    drive(match, script)


def test_undo_goes_back_over_the_end_of_the_game() -> None:
    match = table(house(2, 1), practice=True)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        while not match.over:
            await press(app, pilot, legal(app)[0].key)
        await press(app, pilot, "enter", "u")
        assert match.mine and match.sheet == []
        await press(app, pilot, legal(app)[0].key)
        assert match.over and isinstance(app.screen, SheetScreen)

    drive(match, script)


def test_last_trick_score_sheet_and_rules_can_be_read() -> None:
    match = table(house(3, 3, 2))

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press(*"tusxn")  # no trick, no practice, no deal yet; nobody failed
        assert len(app.screen_stack) == 1
        while len(match.sheet) < 1 or len(match.game.tricks) < 1:
            await press(app, pilot, "enter" if len(app.screen_stack) > 1 else legal(app)[0].key)
        last = match.last_trick
        assert last is not None
        for key, said in (
            ("t", [card for _, card in last.plays]),
            ("s", ["deal", "cards", "trump"]),
            ("r", ["Custom rules; 3 players"]),
        ):
            await pilot.press(key)
            await pilot.pause()
            assert all(word in shown(app) for word in said), key
            moves = match.moves
            await pilot.press("1")  # keys of cards play nothing from here
            assert match.moves == moves
            if key == "r":
                paper = app.screen.query_one(".paper")
                await pilot.press("end")
                await until(pilot, lambda paper=paper: paper.scroll_y == paper.max_scroll_y > 9)
            await pilot.press("enter")
            await pilot.pause()
            assert len(app.screen_stack) == 1

    drive(match, script)


def test_quitting_in_the_middle_keeps_the_game(tmp_path: Path) -> None:
    match = table(house(3, 4), record=tmp_path / "game.json")

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, legal(app)[0].key, legal(app)[0].key)
        await pilot.press("q")

    drive(match, script)
    kept = replay(load_record(tmp_path / "game.json"))
    assert not kept.over and kept.bids[0] is not None
    assert kept.state.tobytes() == match.game.state.tobytes()


def test_quitting_a_game_that_is_not_kept_asks_first() -> None:
    match = table(house(3, 4))

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("q")
        assert "not kept" in part(app, "message") and app.is_running
        await press(app, pilot, legal(app)[0].key)
        assert "not kept" not in part(app, "message")
        await pilot.press("q", "q")
        await pilot.pause()
        assert app._exit

    drive(match, script)


def test_cards_that_are_hidden_do_not_reach_the_screen() -> None:
    """Another deal of the hidden cards gives the same screen, to the letter."""
    rules = house(4, 5)
    chance, screens = random.Random(4), list[str]()

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, legal(app)[0].key, legal(app)[0].key)
        mine, twin = app.match.game, redeal(app.match.game, 0, chance)
        assert twin.hands != mine.hands and twin.hands[0] == mine.hands[0]
        for game in (mine, twin):
            app.match.game, app.match.view = game, person_view(game, 0)
            app._show()
            await pilot.pause()
            screens.append(shown(app))

    drive(table(rules), script)
    assert screens[0] == screens[1] != ""


class Slow:
    """Answers when it is told to."""

    go = threading.Event()

    def act_batch(self, observations: Any, action_masks: Any) -> Any:
        assert self.go.wait(20)
        return np.asarray(action_masks).argmax(axis=1)


def test_the_table_does_not_freeze_while_others_think() -> None:
    Slow.go.clear()
    match = table(house(2, 3), f"{__name__}:Slow", seat=0)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        if match.mine:
            await pilot.press(legal(app)[0].key)
            await pilot.pause()
        assert not match.mine and "is thinking" in part(app, "message")
        await pilot.press("r")
        await pilot.pause()
        assert isinstance(app.screen, TextScreen)
        await pilot.press("escape")
        Slow.go.set()
        await settle(app, pilot)
        assert match.mine

    async def guarded(app: PlayApp, pilot: Pilot[None]) -> None:
        try:
            await script(app, pilot)
        finally:
            Slow.go.set()

    # the first move may be the slow one's, so nothing is waited for before the script
    async def run() -> None:
        app = PlayApp(only(match), pace=0)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await guarded(app, pilot)

    asyncio.run(run())


SLEEPS = """
import json, sys, time
print(json.dumps({"name": "sleeper", "version": "1"}), flush=True)
time.sleep(600)
"""


@unix_only
def test_quitting_does_not_wait_for_a_program_that_thinks(tmp_path: Path) -> None:
    bot = tmp_path / "sleeper.py"
    bot.write_text(SLEEPS, encoding="utf-8")
    spec = f"process:time_limit_ms=300000:{sys.executable} {bot}"
    match = table(house(2, 3), spec, record=tmp_path / "game.json")
    program: Any = match._others._players.players[0].player

    async def run() -> None:
        app = PlayApp(only(match), pace=0)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            if match.mine:
                await pilot.press(legal(app)[0].key)
                await pilot.pause()
            assert "is thinking" in part(app, "message") and program.pid is not None
            await pilot.press("q")
            await pilot.pause()

    started = time.monotonic()
    asyncio.run(run())
    assert program.pid is None and time.monotonic() - started < 60
    assert not replay(load_record(tmp_path / "game.json")).over


class Hesitates:
    """Fails once, then takes the lowest action."""

    failures = 1

    def act(self, observation: Any, info: Any = None) -> int:
        if Hesitates.failures:
            Hesitates.failures -= 1
            raise RuntimeError("not quite\nawake")
        return int(np.asarray(observation["action_mask"]).argmax())


def test_a_player_that_fails_is_told_and_asked_again() -> None:
    Hesitates.failures = 1
    match = table(house(2, 3), f"{__name__}:Hesitates")

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        if match.mine:
            await press(app, pilot, legal(app)[0].key)
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await pilot.pause()
        said = " ".join(shown(app).replace("│", " ").split())
        assert f"Ida ({__name__}:Hesitates) failed" in said
        assert f"seat 1 ({__name__}:Hesitates) failed: RuntimeError: not quite awake" in said
        await pilot.press("escape")
        await pilot.pause()
        assert "failed. Press x to ask again" in part(app, "message")
        await press(app, pilot, "x")
        assert match.mine and "failed" not in part(app, "message")

    drive(match, script)


def test_players_of_one_kind_are_told_apart_and_odd_names_are_only_text() -> None:
    match = table(house(3, 2), names=["[b]An[/b]n", "[@click=app.quit]x", "Cy"])

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        assert "[b]An[/b]n" in shown(app) and "[@click=app." in shown(app)
        while not match.over:
            await press(app, pilot, legal(app)[0].key)
        await pilot.pause()
        assert "[b]An[/b]n" in shown(app)

    drive(match, script)
