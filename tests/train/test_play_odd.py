"""``ohhell play`` where something is odd: names, letters, hints too late, slow players."""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from ohhell_env import Rules
from ohhell_env.cli.commands import main
from ohhell_env.envs.opponents import Opponents
from ohhell_env.errors import RulesError
from ohhell_env.records.record import load_record
from ohhell_env.records.replay import replay
from ohhell_train.play import panels
from ohhell_train.play.app import PlayApp
from ohhell_train.play.match import Match
from ohhell_train.play.names import PEOPLE, names_by_seat
from ohhell_train.play.others import Others, PlayerError
from ohhell_train.play.screens import SheetScreen, TextScreen
from tests.helpers import house, unix_only
from tests.train.test_play_app import drive, legal, only, press, shown, table, until


def called(rules: Rules, seat: int, against: list[str], names: list[str]) -> list[str]:
    return [each.name for each in names_by_seat(rules, seat, against, names)]


def test_names_with_numbers_stay_apart() -> None:
    rules = Rules.preset("oh_hell", 3)
    assert called(rules, 0, ["x=random"], ["x 1"]) == ["x 1", "x 2", "x 3"]
    assert called(rules, 0, ["x"], ["a", "a", "a 1"]) == ["a 2", "a 3", "a 1"]


def test_seats_without_a_name_get_names_of_people() -> None:
    for players in range(2, 9):
        rules = Rules.preset("oh_hell", players)
        for seat in range(players):
            names = called(rules, seat, ["heuristic"], [])
            clockwise = [*names[seat:], *names[:seat]]
            assert clockwise == ["You", *PEOPLE[: players - 1]]
    rules = Rules.preset("oh_hell", 4)
    assert called(rules, 1, ["a", "b", "a"], []) == ["Mei", "You", "Ida", "Omar"]
    assert called(rules, 0, ["bob=a", "b", "a"], ["Ann"]) == ["Ann", "bob", "Ida", "Omar"]
    assert called(rules, 0, ["mine=a"], []) == ["You", "mine 1", "mine 2", "mine 3"]
    assert called(rules, 0, ["x"], ["ida"]) == ["ida", "Omar", "Mei", "Luca"]
    assert called(rules, 0, ["Omar=x", "y", "MEI=z"], []) == ["You", "Omar", "Ida", "MEI"]
    with pytest.raises(RulesError, match="or 4 names, one for each seat; got 2"):
        called(rules, 0, ["x"], ["A", "B"])


def test_names_of_people_fit_every_terminal_and_table() -> None:
    assert len({name[0] for name in PEOPLE}) == len(PEOPLE) >= 9
    assert all(name.isascii() and name.isalpha() and len(name) <= 5 for name in PEOPLE)


def test_a_seat_is_shown_with_its_player() -> None:
    given = ["heuristic", "bob=search:worlds=4", ("cy", Closes())]
    seated = names_by_seat(Rules.preset("oh_hell", 4), 0, given, ["Ann"])
    labels = ["Ann", "Ida (heuristic)", "bob (search:worlds=4)", "cy (Closes)"]
    assert [each.label for each in seated] == labels
    assert [each.recorded for each in seated] == ["Ann", "Ida (heuristic)", "bob", "cy"]


def test_names_that_are_alike_when_cut_stay_apart() -> None:
    names = ["a very long name 1", "a very short name 1", "Ann"]
    cut = panels.cut(names, 11)
    assert cut == ["a v…ame 1 0", "a v…ame 1 1", "Ann"]
    assert all(cell_len(name) <= 11 for name in cut)


def test_nobody_else_is_called_you() -> None:
    rules = Rules.preset("oh_hell", 3)
    assert called(rules, 1, ["x"], ["A", "You", "B"]) == ["A", "You", "B"]
    problem = "--name: 'You' stands for you alone; give seat 2 another name"
    for against, names in (["x"], ["A", "B", "You"]), (["You=x", "y"], []):
        with pytest.raises(RulesError, match=problem):
            called(rules, 1, against, names)


def test_titles_are_only_text() -> None:
    match = table(house(3, 2))

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await app.push_screen(TextScreen("Hint from runs/[/x]", "[/y] of [b]"))
        await pilot.pause()
        assert "Hint from runs/[/x]" in shown(app) and "[/y] of [b]" in shown(app)
        await app.push_screen(SheetScreen("Sheet [/x]", [], match.names))
        await pilot.pause()
        assert "Sheet [/x]" in shown(app)

    drive(match, script)


def test_a_hint_for_what_was_taken_back_is_dropped() -> None:
    match = table(house(2, 3), practice=True)
    adviser: Any = match._adviser
    advise, release, asked = adviser.advise, threading.Event(), threading.Event()

    def slowly(observation: Any) -> Any:
        asked.set()
        assert release.wait(20)
        return advise(observation)

    adviser.advise = slowly

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, legal(app)[0].key)
        moves = match.moves
        await pilot.press("h")
        await until(pilot, asked.is_set)
        await press(app, pilot, "u", legal(app)[1].key)
        assert match.mine and match.moves == moves  # the same move of another game
        release.set()
        await until(pilot, lambda: not app._advising)
        await pilot.pause()
        assert len(app.screen_stack) == 1 and not match._thoughts

    try:
        drive(match, script)
    finally:
        release.set()


class Ponders:
    """Thinks until it is released."""

    release = threading.Event()
    asked = threading.Event()

    def act_batch(self, observations: Any, action_masks: Any) -> Any:
        self.asked.set()
        self.release.wait(60)
        return np.asarray(action_masks).argmax(axis=1)


def test_quitting_does_not_wait_for_a_player_that_thinks() -> None:
    Ponders.release.clear()
    Ponders.asked.clear()
    match = table(house(2, 3), f"{__name__}:Ponders")
    waited: list[bool] = []

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        if match.mine:
            await pilot.press(legal(app)[0].key)
        await until(pilot, Ponders.asked.is_set)
        await pilot.press("q", "q")

    async def run() -> None:
        app = PlayApp(only(match), pace=0)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await script(app, pilot)

    timer = threading.Timer(30, Ponders.release.set)
    timer.start()
    try:
        asyncio.run(run())
        waited.append(Ponders.release.is_set())
    finally:
        timer.cancel()
        Ponders.release.set()
    assert waited == [False]


def test_letters_that_a_stream_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\nr\nq\n"), "utf-8"))
    command = "play --rules up_and_down_the_river --against random --adviser heuristic --seed 1"
    assert main(command.split()) == 0
    said = out.buffer.getvalue().decode("ascii")
    assert "is not a move or command here" in said
    assert said.rstrip().endswith("You stopped before the end of the game.")


@pytest.mark.parametrize(("letters", "is_table"), [("utf-8", True), ("latin-1", False)])
def test_a_terminal_without_suits_gets_lines(
    letters: str, is_table: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ohhell_train.play.cli import _is_terminal

    for name in ("stdin", "stdout"):
        stream = io.TextIOWrapper(io.BytesIO(), letters)
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setenv("TERM", "xterm")
    assert _is_terminal() is is_table


def test_wide_names_keep_to_their_column() -> None:
    names = ["漢字漢字漢字漢字", "a\u0301" * 20, "😀漢"]
    match = table(house(3, 2), names=names)
    for width in (60, 80, 100):
        rows = str(panels.seats(match.view, match.seated, width)).split("\n")[1:]
        assert len({cell_len(line[: line.index(" - ")]) for line in rows}) == 1
    assert all(cell_len(name) <= 13 for name in panels.cut(names, 13))
    assert panels.short("漢字漢字漢字漢字1") == "漢…漢字漢字1"
    assert panels.short("heuristic of old 2") == "heu… of old 2"


class EndsTheProgram(io.StringIO):
    """A person who bids, and then closes the window."""

    said = 0

    def readline(self, size: int = -1, /) -> str:
        self.said += 1
        if self.said > 1:
            signal.raise_signal(signal.SIGTERM)
        return "1\n"


def test_a_signal_that_ends_the_program_keeps_the_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = tmp_path / "game.json", signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "stdin", EndsTheProgram())
    command = ["play", "--against", "random", "--adviser", "heuristic", "--seed", "1"]
    with pytest.raises(SystemExit, match="143"):
        main([*command, "--record", str(path)])
    assert replay(load_record(path)).bids[0] == 1
    assert signal.getsignal(signal.SIGTERM) == before


RUDE = """
import json, sys
print(json.dumps({"name": "rude", "version": "1"}), flush=True)
sys.stdin.readline()
sys.stdin.readline()
sys.stderr.write("\\x1b[31mboom")
sys.exit(3)
"""


@unix_only
def test_what_a_program_says_does_nothing_to_the_terminal(tmp_path: Path) -> None:
    bot = tmp_path / "rude.py"
    bot.write_text(RUDE, encoding="utf-8")
    match = table(house(2, 3), f"process:{sys.executable} {bot} '\x1b[2J'")
    assert match.names == ["You", "Ida"]
    assert match.seated[1].player == f"process:{sys.executable} {bot} '\\x1b[2J'"
    with pytest.raises(PlayerError, match="boom") as told:
        match.advance()
        match.choose(legal_action(match))
        match.advance()
    assert str(told.value).isprintable() and str(told.value).endswith(r"\x1b[31mboom")
    match.close()


def legal_action(match: Match) -> int:
    return next(choice.action for choice in match.view.choices if not choice.problem)


# ------------------------------------------------------------------- players that cannot end


class Closes:
    """Plays on; counts how often it was closed."""

    closed = 0

    def act(self, observation: Any, info: Any) -> int:
        return int(observation["action_mask"].argmax())

    def close(self) -> None:
        type(self).closed += 1


class RaisesAtTheEnd(Closes):
    def close(self) -> None:
        raise SystemExit(0)


def test_a_player_that_cannot_be_closed_keeps_nobody_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = f"{__name__}:"
    monkeypatch.setattr(Closes, "closed", 0)
    names = [f"{here}RaisesAtTheEnd", f"{here}Closes"]
    Others(names, house(3, 2), seat=0).close()
    assert Closes.closed == 1
    with pytest.raises(SystemExit):
        Opponents(names, house(3, 2)).close()
    assert Closes.closed == 2
