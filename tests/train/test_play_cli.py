"""``ohhell play``: the command line, the game without a terminal, and the page on it."""

from __future__ import annotations

import io
import os
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs import play_picture
from ohhell_env import Rules
from ohhell_env.cli.commands import main
from ohhell_env.records.record import load_record
from ohhell_env.records.replay import replay
from ohhell_train.play.cli import set_up
from ohhell_train.play.keys import MEANINGS
from ohhell_train.play.match import Match
from ohhell_train.play.plain import PlainGame
from ohhell_train.play.session import Session
from tests.envs.play import EVERY_TABLE
from tests.helpers import house
from tests.test_layering import ROOT, places, tops

PAGE = (ROOT / "docs" / "play.md").read_text(encoding="utf-8")
Output = pytest.CaptureFixture[str]


def moves_of(match: Match, seed: int = 1) -> list[str]:
    """What a person writes who plays at random to the end."""
    chance, words = random.Random(seed), list[str]()
    match.advance()
    while not match.over:
        choice = chance.choice([each for each in match.view.choices if not each.problem])
        words.append(choice.name.lower())
        match.choose(choice.action)
        match.advance()
    return words


def talk(game: Match | Session, words: list[str]) -> list[str]:
    """What is said to a person who writes these words, and then no more."""
    said, left = list[str](), iter(words)

    def read() -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    session = Session(lambda *, seed, record: game) if isinstance(game, Match) else game
    PlainGame(session, read, said.append).run()
    return "\n".join(said).split("\n")


def test_a_game_line_by_line() -> None:
    rules = house(3, 2, 1)
    words = moves_of(set_up(rules, ["random"], seed=5, adviser="heuristic"))
    match = set_up(rules, ["random"], seed=5, adviser="heuristic", names=["Ann"])
    said = talk(match, words)
    assert match.over and said[-3] == match.events[-1]
    assert said[-2].startswith("Write n: play again, ")
    assert said[-1] == "n plays again, q quits:"
    assert [line for line in said if line in match.events] == match.events
    assert sum(line.startswith("Your bid (") for line in said) == 2
    assert any(line.startswith("Your hand: ") for line in said)


def test_every_command_line_by_line() -> None:
    match = set_up(house(3, 3), ["heuristic"], seed=2, adviser="heuristic", practice=True)
    first = moves_of(set_up(house(3, 3), ["heuristic"], seed=2, adviser="heuristic"))[:2]
    words = [*"vhtsru?", "KX", *first, "t", "u", "v", "u", "u", "q"]
    said = talk(match, words)
    text = "\n".join(said)
    hint = match.hint()
    assert hint is not None
    assert f"Hint from heuristic: {hint.words}\n{hint.numbers}" in text
    for line in (
        "You: bid -, won 0, needs -, score 0",
        "No trick is finished yet.",
        "No deal is over yet.",
        "Custom rules; 3 players",
        "There is no move of yours to take back.",
        "'KX' is not a move or command here; ? lists the commands.",
        f"You bid {first[0]}",
        f"You: bid {first[0]}, won 0, needs",
        "Back at your last decision.",
    ):
        assert line in text, line
    assert "(points behind the best choice)" in text
    assert re.search(r"Trick 1: .*; \S+.* wins? it", text)
    assert text.count("Back at your last decision.") == 2 and match.moves < 3


def test_a_forbidden_bid_line_by_line() -> None:
    seat = set_up(house(2, 3), ["heuristic"], seed=1, adviser="heuristic").game.dealer
    match = set_up(house(2, 3), ["heuristic"], seat=seat, seed=1, adviser="heuristic")
    match.advance()
    forbidden = next(choice for choice in match.view.bids if choice.problem)
    said = talk(match, [forbidden.name])
    assert said.count(forbidden.problem) == 2  # before each question
    assert f"{forbidden.problem}." in said
    assert f" {forbidden.name} " not in next(line for line in said if line.startswith("Your bid"))


def test_a_blind_deal_line_by_line() -> None:
    rules = house(3, 1, blind_one_card="always")
    said = talk(set_up(rules, ["heuristic"], seed=1, adviser="heuristic", names=["Ann"]), [])
    (line,) = [line for line in said if line.startswith("You see the cards of the others")]
    assert re.search(r": Ida holds \w\w, Omar holds \w\w$", line)
    assert not any("Your hand" in line for line in said)


def test_a_failure_line_by_line() -> None:
    spec = "tests.train.test_play_match:Raises"
    match = set_up(house(3, 3), [spec], seed=1, adviser="heuristic")
    said = talk(match, ["0", "", "q"])
    assert sum("failed: RuntimeError: no idea" in line for line in said) == 2
    assert said[-1] == "x asks Ida again, q quits:"


def test_a_program_of_its_own_fed_by_a_pipe(tmp_path: Path) -> None:
    rules = Rules.preset("nomination_whist", 3)
    options = {"seed": 4, "episode": "deal", "hand_size": 2}
    words = moves_of(set_up(rules, ["zoo:universal", "heuristic"], **options))
    command = (
        "-m ohhell_env play --plain --against zoo:universal heuristic --rules nomination_whist "
        "--episode deal --hand-size 2 --seed 4 --name Ann --record game.json"
    )
    done = subprocess.run(
        [sys.executable, *command.split()],
        input="\n".join(["h", *words]),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.stderr == ""
    assert "The game is over: " in done.stdout
    assert "replay game.json --html game.html" in done.stdout
    record = load_record(tmp_path / "game.json")
    assert replay(record).over and record["thoughts"]["player"] == "zoo:universal"
    assert record["names"] == ["Ann", "Ida (zoo:universal)", "Omar (heuristic)"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--against nobody", "unknown player 'nobody'"),
        ("--against random heuristic --players 5", "--against: give 1 player, or 4"),
        ("--rules bridge", "bridge"),
        ("--players 9", "players"),
        ("--seat 4", "seat must be 0 to 3"),
        ("--seed -1", "seed"),
        ("--hand-size 3", "add --episode deal"),
        ("--episode deal --hand-size 40", "40"),
        ("--episode week", "episode must be 'game' or 'deal'"),
        ("--adviser random", "player 'random' cannot explain its choices"),
        ("--adviser nobody", "unknown player 'nobody'"),
        ("--record nowhere/game.json", "there is no folder nowhere"),
        ("--name A --name B", "--name: give your own name, or 4"),
        ("--pace -1", "--pace"),
        ("--against process:./nothing", "cannot be started"),
    ],
)
def test_a_mistake_is_one_line(options: str, message: str, capsys: Output) -> None:
    assert main(["play", *options.split()]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    assert told.err.startswith("error: ") and message in told.err


def test_without_textual_it_is_said_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr("ohhell_train.play.cli._is_terminal", lambda: True)
    monkeypatch.delitem(sys.modules, "ohhell_train.play.app", raising=False)
    monkeypatch.setitem(sys.modules, "textual", None)
    assert main(["play", "--record", str(tmp_path / "game.json")]) == 2
    told = capsys.readouterr().err
    assert told == (
        'error: the table needs textual: pip install -e ".[play]" in the clone; or add --plain\n'
    )
    assert not (tmp_path / "game.json").exists()


def test_cards_may_be_written_in_every_spelling() -> None:
    """A whole game again, with 10 for T and symbols for suits."""
    symbols = dict(zip("CDHS", "♣♦♥♠", strict=True))

    def spelled(word: str) -> str:
        if len(word) < 2:
            return word
        rank, suit = word.upper()
        return f" {'10' if rank == 'T' else rank.lower()}{symbols[suit]} "

    rules = house(3, 16)
    words = moves_of(set_up(rules, ["random"], seed=4, adviser="heuristic"))
    assert any(word.startswith("t") for word in words)
    plain = talk(set_up(rules, ["random"], seed=4, adviser="heuristic"), words)
    again = talk(set_up(rules, ["random"], seed=4, adviser="heuristic"), [*map(spelled, words)])
    assert again == plain
    odd = talk(set_up(rules, ["random"], seed=4, adviser="heuristic"), ["x" * 1_000_000])
    assert max(map(len, odd)) < 400


def test_the_number_of_players_follows_from_the_names(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("v\nq\n"))
    command = "play --against random --against heuristic --seed 1 --adviser heuristic"
    assert main(command.split()) == 0
    said = capsys.readouterr().out
    for name in ("You", "Ida (random)", "Omar (heuristic)"):
        assert f"\n{name}: bid" in said
    assert "You stopped before the end of the game." in said


def test_only_the_table_needs_textual() -> None:
    """Neither the library nor the game line by line loads it."""
    assert places(["ohhell_env", "agents/ohhell_agents"], {"textual"}) == []
    for path in (ROOT / "train").rglob("*.py"):
        if path.name not in ("app.py", "panels.py", "screens.py"):
            assert "textual" not in tops(path), path


# ---------------------------------------------------------------- the page


def page_commands() -> list[str]:
    return re.findall(r"^ohhell (play .*)$", PAGE.replace("\\\n", " "), re.MULTILINE)


def test_the_page_has_commands_of_each_kind() -> None:
    text = " ".join(page_commands())
    for option in ("--against", "--practice", "--record", "--plain", "--rules", "--episode deal"):
        assert option in text


@pytest.mark.parametrize("command", page_commands())
def test_commands_of_the_page(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("h\nq\n"))
    assert main(shlex.split(command)) == 0
    said = capsys.readouterr().out
    assert "Your bid (" in said
    for line in re.findall(r"^ohhell (replay .*)$", said, re.MULTILINE):
        from ohhell_env.cli.commands import main as library

        assert library(shlex.split(line)) == 0
        assert '"Ann"' in (tmp_path / "game.html").read_text(encoding="utf-8")


def test_the_page_names_every_key() -> None:
    for key in MEANINGS:
        assert f"| `{key}` |" in PAGE
    for command in "v?":
        assert f"`{command}`" in PAGE


def test_the_picture_of_the_page_is_small_and_shows_the_table_of_today() -> None:
    assert play_picture.PICTURE.stat().st_size < 100_000
    drawn = play_picture.text_of(play_picture.picture())
    assert drawn == play_picture.text_of(play_picture.PICTURE.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- long ones


@pytest.mark.slow
@pytest.mark.parametrize(("name", "players"), EVERY_TABLE)
def test_every_variant_is_played_to_its_end(name: str, players: int) -> None:
    match = set_up(Rules.preset(name, players), ["random"], seed=players, adviser="heuristic")
    match.advance()
    chance = random.Random(players)
    while not match.over:
        choices = [each for each in match.view.choices if not each.problem]
        assert sorted(each.action for each in choices) == match.game.legal_actions()
        match.choose(chance.choice(choices).action)
        match.advance()
    assert replay(match.record()).scores == match.game.scores


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_real_terminal_shows_the_table(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = "-m ohhell_env play --against heuristic --seed 4 --seat 1 --record game.json --pace 0"
    environment = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    child = subprocess.Popen(
        [sys.executable, *command.split()],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
    )
    os.close(theirs)
    seen = b""
    try:
        while b"press its key" not in seen:
            seen += os.read(ours, 65536)
        os.write(ours, b"q")
        while chunk := _read(ours):
            seen += chunk
        assert child.wait(30) == 0
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    assert b"The game is in game.json" in seen
    assert replay(load_record(tmp_path / "game.json")).seat == 1


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""
