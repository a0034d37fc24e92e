"""``ohhell play``: another game at the same table, in the table and line by line."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import threading
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ohhell_env import Game, Rules
from ohhell_env.cli.commands import main
from ohhell_env.errors import OhHellError
from ohhell_env.records.record import load_record
from ohhell_env.records.replay import check, replay
from ohhell_train.play.app import PlayApp
from ohhell_train.play.cli import farewell, set_up
from ohhell_train.play.match import Match
from ohhell_train.play.plain import PlainGame
from ohhell_train.play.screens import EndScreen
from ohhell_train.play.session import Session, seeds_of_game
from tests.helpers import house
from tests.train.test_play_app import drive, legal, part, press, shown, until
from tests.train.test_play_cli import talk

HERE = f"{__name__}:"


def a_session(
    rules: Rules,
    *players: str,
    seed: int | None = 3,
    record: Path | None = None,
    **settings: Any,
) -> Session:
    settings = {"adviser": "heuristic"} | settings
    return Session(partial(set_up, rules, players or ["random"], **settings), seed, record)


def play_out(match: Match, chance: random.Random) -> None:
    match.advance()
    while not match.over:
        choices = [choice for choice in match.view.choices if not choice.problem]
        match.choose(chance.choice(choices).action)
        match.advance()


def games(session: Session, count: int) -> list[Match]:
    """Plays some games at random."""
    chance = random.Random(1)
    play_out(session.match, chance)
    for _ in range(count - 1):
        session.another()
        play_out(session.match, chance)
    return session.matches


# ---------------------------------------------------------------- seeds and dealers


def test_a_session_is_reproducible_from_its_seed() -> None:
    first, again, other = (games(a_session(house(3, 2, 1), seed=seed), 3) for seed in (5, 5, 6))
    assert [match.record() for match in first] == [match.record() for match in again]
    assert len({match.game.seed for match in [*first, *other]}) == 6
    for number, match in enumerate(first[1:], 2):
        assert match.game.seed in seeds_of_game(5, number)


def test_every_game_is_the_one_that_its_seed_deals() -> None:
    rules = house(4, 3, 2)
    for match in games(a_session(rules), 3):
        assert check(match.record()).from_seed
        alone = set_up(rules, ["random"], seed=match.game.seed, adviser="heuristic")
        assert alone.game.record()["deals"][0]["hands"] == match.record()["deals"][0]["hands"]


@pytest.mark.parametrize("first_dealer", ["random", "first_jack", "high_card"])
@pytest.mark.parametrize("settings", [{}, {"episode": "deal"}, {"episode": "deal", "hand_size": 2}])
def test_the_deal_passes_on(first_dealer: str, settings: dict[str, Any]) -> None:
    rules = house(5, 1, 2, first_dealer=first_dealer)
    played = games(a_session(rules, **settings), 6)
    for before, after in pairwise(played):
        last, first = before.record()["deals"][-1], after.record()["deals"][0]
        assert first["dealer"] == (last["dealer"] + 1) % 5
        assert len(after.record()["deals"]) == len(before.record()["deals"])


def test_a_dealer_that_the_rules_name_stays() -> None:
    played = games(a_session(house(3, 1, first_dealer=2)), 3)
    assert [match.record()["deals"][0]["dealer"] for match in played] == [2, 2, 2]


def test_seeds_stay_what_they_are() -> None:
    assert seeds_of_game(7, 2)[:3] == [1009178997, 4255937140, 52536287]
    assert seeds_of_game(2**64 - 1, 2) != seeds_of_game(2**64 - 1, 3)


@pytest.mark.parametrize("players", [2, 8])
def test_the_table_stays_the_same(players: int) -> None:
    session = a_session(Rules.preset("oh_hell", players), seat=1, episode="deal", hand_size=1)
    first, second = games(session, 2)
    assert first.seated == second.seated and first.seat == second.seat == 1
    assert first.game.rules == second.game.rules
    assert first.game.chosen_size == second.game.chosen_size == 1


# ---------------------------------------------------------------- records


def test_every_game_has_a_file_of_its_own(tmp_path: Path) -> None:
    session = a_session(house(2, 1), record=tmp_path / "game.json")
    (tmp_path / "game-3.json").write_text("precious", encoding="utf-8")
    played = games(session, 3)
    names = ["game.json", "game-2.json", "game-4.json"]
    assert [match.path for match in played] == [tmp_path / name for name in names]
    session.close()
    for match, name in zip(played, names, strict=True):
        assert load_record(tmp_path / name) == match.record()
        assert replay(match.record()).over
    assert (tmp_path / "game-3.json").read_text(encoding="utf-8") == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "game-3.json"])
    *_, where, command = farewell(session)
    assert where == f"The games are in {', '.join(str(tmp_path / name) for name in names)}. " + (
        "To make a page of the last:"
    )
    assert command.endswith("game-4.json --html game.html")


def test_a_file_without_a_suffix_gets_its_number_too(tmp_path: Path) -> None:
    session = a_session(house(2, 1), record=tmp_path / "evening")
    assert [match.path for match in games(session, 2)] == [
        tmp_path / "evening",
        tmp_path / "evening-2",
    ]


def test_a_game_that_cannot_be_kept_does_not_begin(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    session = a_session(house(2, 1), record=folder / "game.json")
    play_out(session.match, random.Random(1))
    (folder / "game.json").unlink()
    folder.rmdir()
    with pytest.raises(OhHellError, match="there is no folder"):
        session.another()
    assert session.match.over and session.number == 1
    folder.mkdir()
    session.another()
    assert session.match.path == folder / "game-2.json" and session.number == 2
    session.close()
    assert (folder / "game.json").exists() or "there is no folder" in "".join(farewell(session))


def test_records_name_the_players(tmp_path: Path) -> None:
    def names(*players: str, **settings: Any) -> Any:
        session = a_session(house(3, 1), *players, **settings)
        session.close()
        return session.match.record()["names"]

    assert names("random") == ["You", "Ida (random)", "Omar (random)"]
    assert names("bob=random", "heuristic") == ["You", "bob", "Ida (heuristic)"]
    assert names("random", names=["A", "B", "C"]) == ["A", "B", "C"]
    assert names("random", names=["Ida"]) == ["Ida", "Omar (random)", "Mei (random)"]


# ---------------------------------------------------------------- players


class Counted:
    """Plays the first legal action; notes what happens to it."""

    life: list[str] = []  # noqa: RUF012 (the test looks at it)
    broken = False

    def __init__(self) -> None:
        self.note("made")
        if Counted.broken:
            raise RuntimeError("not today")

    def note(self, what: str) -> None:
        Counted.life.append(what)

    def begin(self, rules: Any, seat: int) -> None:
        self.note("begun")

    def act(self, observation: Any, info: Any = None) -> int:
        return int(observation["action_mask"].argmax())

    def close(self) -> None:
        self.note("closed")


@pytest.fixture(autouse=True)
def _anew() -> None:
    Counted.life, Counted.broken = [], False


def test_players_are_closed_and_made_anew() -> None:
    session = a_session(house(2, 1), f"{HERE}Counted")
    play_out(session.match, random.Random(1))
    session.another()
    once = ["made", "begun", "closed"]
    assert Counted.life == [*once, "made", "begun"]
    session.close()
    session.close()
    assert Counted.life == [*once, *once]


def test_another_game_needs_the_end_of_this_one() -> None:
    session = a_session(house(2, 1))
    with pytest.raises(OhHellError, match="not over"):
        session.another()
    assert session.number == 1
    session.close()


BOT = Path(__file__).parent.parent.parent / "examples" / "bots" / "tiny_bot.py"


def test_programs_end_between_games() -> None:
    session = a_session(house(2, 1), f"process:{sys.executable} {BOT}")

    def program() -> Any:
        return session.match._others._players.players[0].player

    first = program()
    pid = first.pid
    play_out(session.match, random.Random(1))
    session.another()
    assert first.pid is None and program().pid not in (None, pid)
    session.close()
    assert program().pid is None


def test_a_game_that_is_prepared_when_the_person_leaves_is_closed() -> None:
    session = a_session(house(2, 1), f"{HERE}Counted")
    play_out(session.match, random.Random(1))
    session.prepare()
    session.close()
    assert Counted.life.count("made") == Counted.life.count("closed") == 2
    session = a_session(house(2, 1), f"{HERE}Counted")
    play_out(session.match, random.Random(1))
    session.close()
    session.prepare()  # it was on its way when the person left
    session.go_on()
    assert session.number == 1
    assert Counted.life.count("made") == Counted.life.count("closed") == 4


# ---------------------------------------------------------------- the table


async def to_the_end(app: PlayApp, pilot: Pilot[None]) -> None:
    while not app.match.over:
        await press(app, pilot, "enter" if len(app.screen_stack) > 1 else legal(app)[0].key)


async def next_game(app: PlayApp, pilot: Pilot[None], number: int) -> None:
    await until(pilot, lambda: app.session.number == number and not app._preparing)
    await until(pilot, lambda: app.match.mine or len(app.screen_stack) > 1)


@pytest.mark.parametrize("settings", [{}, {"episode": "deal", "hand_size": 1}])
def test_n_plays_again(settings: dict[str, Any], tmp_path: Path) -> None:
    session = a_session(house(3, 1, 1), record=tmp_path / "game.json", **settings)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "n")  # is no key yet
        assert session.number == 1
        await to_the_end(app, pilot)
        assert isinstance(app.screen, EndScreen)
        assert "n play again" in shown(app).split("\n")[-1]
        await pilot.press("n")
        await next_game(app, pilot, 2)
        assert len(app.screen_stack) == 1 and not app.match.over
        assert "game is over" not in shown(app)
        assert app._written == app.match.events
        await to_the_end(app, pilot)
        await press(app, pilot, "enter")  # the sheet; the key works at the table, too
        assert "Press n to play again, q to quit" in part(app, "message")
        await pilot.press("n")
        await next_game(app, pilot, 3)
        await pilot.press("q")

    drive(session, script)
    assert session.number == 3
    for number, over in ((1, True), (2, True), (3, False)):
        name = "game.json" if number == 1 else f"game-{number}.json"
        assert replay(load_record(tmp_path / name)).over is over


def test_n_is_a_card_while_cards_are_chosen() -> None:
    session = a_session(Rules.preset("oh_hell", 2), episode="deal", hand_size=26)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        while True:
            choice = next((each for each in legal(app) if each.key == "n"), None)
            if choice is not None and not app.match.view.table.bidding:
                break
            await press(app, pilot, legal(app)[-1].key)
        moves = app.match.moves
        await press(app, pilot, "n")
        assert app.match.moves > moves and session.number == 1

    drive(session, script)


def test_a_next_game_that_cannot_begin_is_told_and_can_be_tried_again() -> None:
    session = a_session(house(2, 1), f"{HERE}Counted", practice=True)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await to_the_end(app, pilot)
        Counted.broken = True
        await pilot.press("n")
        await until(pilot, lambda: "not today" in part(app, "message"))
        assert "The next game cannot begin" in part(app, "message")
        assert session.number == 1
        await pilot.press("u", "h")  # the players of this game are gone
        assert app.match.over
        Counted.broken = False
        await pilot.press("n")
        await next_game(app, pilot, 2)
        assert "not today" not in part(app, "message")

    drive(session, script)
    assert Counted.life.count("closed") == 2


class SlowStart(Counted):
    """Takes its time to be made, except for the first game."""

    go = threading.Event()
    started = threading.Event()

    def __init__(self) -> None:
        if Counted.life:
            SlowStart.started.set()
            assert SlowStart.go.wait(30)
        super().__init__()


@pytest.mark.parametrize("leaves", [False, True])
def test_the_table_does_not_freeze_while_players_begin(leaves: bool) -> None:
    SlowStart.go.clear()
    SlowStart.started.clear()
    session = a_session(house(2, 1), f"{HERE}SlowStart")

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await to_the_end(app, pilot)
        await pilot.press("n")
        await until(pilot, SlowStart.started.is_set)
        await pilot.pause()
        assert "The next game begins" in part(app, "message")
        assert "play again" not in shown(app) and "rules" in shown(app)
        await pilot.press("n", "u", "h")  # do nothing now
        if leaves:
            await pilot.press("q")
            await pilot.pause()
            assert app._exit
        SlowStart.go.set()
        if not leaves:
            await next_game(app, pilot, 2)

    try:
        drive(session, script)
    finally:
        SlowStart.go.set()
    for _ in range(1000):
        if Counted.life.count("made") == Counted.life.count("closed") == 2:
            break
        threading.Event().wait(0.01)
    assert Counted.life.count("made") == Counted.life.count("closed") == 2
    assert session.number == (1 if leaves else 2)


# ---------------------------------------------------------------- line by line


def words_of(session: Session, count: int) -> list[str]:
    """What a person writes who plays some games, the first legal choice each time."""
    words = list[str]()
    for number in range(count):
        if number:
            words.append("n")
            session.another()
        session.match.advance()
        while not session.match.over:
            choice = next(each for each in session.match.view.choices if not each.problem)
            words.append(choice.name)
            session.match.choose(choice.action)
            session.match.advance()
    session.close()
    return words


def test_n_plays_again_line_by_line(tmp_path: Path) -> None:
    rules = house(3, 2, 1)
    words = words_of(a_session(rules), 2)
    session = a_session(rules, record=tmp_path / "game.json")
    said = talk(session, ["n", *words, "H", "u", "t", "v", "s", "r", "?", "N"])
    session.close()
    assert session.number == 3
    assert said.count("This game is not over yet.") == 1
    assert said.count("n plays again, q quits:") == 9
    assert said.count("There is no hint: it is not your turn.") == 1
    assert said.count("You can take moves back in practice only (--practice).") == 1
    for match in session.matches:
        start = said.index(match.events[0])
        printed = [line for line in said[start:] if line in match.events]
        assert printed[: len(match.events)] == match.events
    assert [load_record(tmp_path / name)["seed"] for name in ("game.json", "game-2.json")] == [
        match.game.seed for match in session.matches[:2]
    ]


def test_a_failure_to_begin_line_by_line() -> None:
    session = a_session(house(2, 1), f"{HERE}Counted", practice=True)
    words = words_of(a_session(house(2, 1), f"{HERE}Counted"), 1)
    said, left = list[str](), iter([*words, "n", "u", "n"])

    def read() -> str:
        word = next(left, None)
        if word is None:
            raise EOFError
        Counted.broken = word == "n" and not Counted.broken and "not today" not in "".join(said)
        return word

    PlainGame(session, read, said.append).run()
    assert sum("The next game cannot begin: " in line and "not today" in line for line in said) == 1
    assert "There is no move of yours to take back." in said
    assert session.number == 2
    session.close()


class Ends(io.StringIO):
    """A person who plays a game, starts another, and then presses Ctrl-C."""

    def __init__(self, words: list[str]) -> None:
        super().__init__()
        self.words = iter(words)

    def readline(self, size: int | None = -1, /) -> str:
        word = next(self.words, None)
        if word is None:
            raise KeyboardInterrupt
        return f"{word}\n"


@pytest.mark.parametrize("more", [[], ["n"], ["n", "0"]])
def test_ctrl_c_keeps_all_games(
    more: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rules, options = Rules.preset("oh_hell", 2), {"episode": "deal", "hand_size": 1}
    words = words_of(a_session(rules, f"{HERE}Counted", seed=4, **options), 1)
    Counted.life = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", Ends([*words, *more]))
    command = (
        f"play --against {HERE}Counted --adviser heuristic --players 2 --episode deal --hand-size 1"
    )
    assert main([*command.split(), "--seed", "4", "--record", "game.json"]) == 130
    told = capsys.readouterr().out
    assert replay(load_record(tmp_path / "game.json")).over
    assert ("The games are in game.json, game-2.json." in told) == bool(more)
    assert (tmp_path / "game-2.json").exists() == bool(more)
    assert Counted.life.count("made") == Counted.life.count("closed") == 1 + bool(more)


def test_a_whole_session_by_a_pipe(tmp_path: Path) -> None:
    options: Any = {"seed": 4, "episode": "deal", "hand_size": 2}
    words = words_of(a_session(Rules.preset("oh_hell", 3), "heuristic", **options), 2)
    command = (
        "-m ohhell_env play --plain --against heuristic --players 3 --adviser heuristic "
        "--episode deal --hand-size 2 --seed 4 --record game.json"
    )
    done = subprocess.run(
        [sys.executable, *command.split()],
        input="\n".join(words),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_COLOR": "1"},
    )
    assert done.stdout.count("The game is over: ") == 3  # the last one is said once more
    first, second = (load_record(tmp_path / name) for name in ("game.json", "game-2.json"))
    assert replay(first).over and replay(second).over
    assert second["deals"][0]["dealer"] == (first["deals"][0]["dealer"] + 1) % 3
    game = Game(Rules.preset("oh_hell", 3), second["seed"], "deal", 2)
    assert game.record()["deals"][0]["hands"] == second["deals"][0]["hands"]


# ---------------------------------------------------------------- a real terminal

NOTED_BOT = """
import os, runpy, sys
with open(sys.argv[1], "a") as file:
    print(os.getpid(), file=file)
runpy.run_path(sys.argv[2], run_name="__main__")
"""


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_closing_the_window_in_the_second_game_keeps_both(tmp_path: Path) -> None:
    import pty

    bot, pids = tmp_path / "bot.py", tmp_path / "pids"
    bot.write_text(NOTED_BOT, encoding="utf-8")
    command = [sys.executable, "-m", "ohhell_env", "play", "--players", "2", "--pace", "0"]
    command += ["--against", f"process:time_limit_ms=20000:{sys.executable} {bot} {pids} {BOT}"]
    command += ["--rules", "oh_hell", "--set", "bidding.hook=none", "--adviser", "heuristic"]
    command += ["--episode", "deal", "--hand-size", "1", "--seed", "4", "--record", "game.json"]
    ours, theirs = pty.openpty()
    environment = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env=os.environ | path | environment,
    )
    os.close(theirs)

    def wait_for(word: bytes) -> None:
        seen = b""
        while word not in seen:
            seen += os.read(ours, 65536)

    try:
        wait_for(b"Your bid")
        os.write(ours, b"0")
        wait_for(b"Your card")
        os.write(ours, b"1")
        wait_for(b"play again")
        os.write(ours, b"n")
        wait_for(b"Your bid")
        first, second = map(int, pids.read_text(encoding="utf-8").split())
        assert not runs(first) and runs(second)
        child.send_signal(signal.SIGHUP)  # as the terminal does when its window is closed
        assert child.wait(60) == 128 + signal.SIGHUP
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    assert not runs(second)
    assert replay(load_record(tmp_path / "game.json")).over
    assert not replay(load_record(tmp_path / "game-2.json")).over
