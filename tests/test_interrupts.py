"""Ctrl-C, once and again and again: a command ends with one line, and puts away what it holds."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from ohhell_env.cli import interrupts
from ohhell_env.cli.program import STOPPED
from ohhell_env.records.record import load_record
from tests.children import child_of

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")

SLOW_TO_CLOSE = """
import sys, time, types
from pathlib import Path
from ohhell_env.cli.program import Command, Program
from ohhell_env.cli.interrupts import note_said

def work():
    try:
        print("begun", flush=True)
        time.sleep(60)
    finally:
        time.sleep(0.3)
        Path("kept.txt").write_text("whole")
        if SAYS:
            print("stopped; 3 rounds are kept")
            note_said()

sys.modules["work"] = types.SimpleNamespace(work=work)
sys.argv = ["work", "work"]
Program("work", "", "1", {"Work": {"work": Command("work:work", "Works.")}}).end()
"""


WHILE_IT_COMPILES = """
import os, signal, time
import numba
from numba.core.codegen import CPUCodeLibrary
from ohhell_env.cli.interrupts import heard_once

compiled = CPUCodeLibrary._object_compiled_hook.__func__

def pressed(cls, *data):
    os.kill(os.getpid(), signal.SIGINT)
    return compiled(cls, *data)

CPUCodeLibrary._object_compiled_hook = classmethod(pressed)
with heard_once():
    try:
        numba.njit(lambda number: number + 1)(1)
        time.sleep(30)
    except KeyboardInterrupt:
        print("stopped")
"""


def started(*words: str, folder: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """Starts a Python command that Ctrl-C stops, whoever runs the tests."""
    return child_of([sys.executable, *words], folder, subprocess.PIPE)


def stop(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Presses Ctrl-C three times in a tenth of a second; returns what is said from then on."""
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.03)
    out, err = process.communicate(timeout=120)
    assert process.returncode == STOPPED, err
    assert "Traceback" not in out + err and "KeyboardInterrupt" not in out + err
    return out, err


def wait_for(process: subprocess.Popen[str], there: Callable[[], object]) -> None:
    until = time.monotonic() + 300
    while not there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)


def wait_for_line(process: subprocess.Popen[str], words: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(process.communicate())  # its output has ended, so it has


@pytest.mark.parametrize("says", [False, True])
def test_what_is_put_away_is_put_away_whole(tmp_path: Path, says: bool) -> None:
    said = ("stopped; 3 rounds are kept\n", "") if says else ("", "stopped\n")
    with started("-c", SLOW_TO_CLOSE.replace("SAYS", str(says)), folder=tmp_path) as process:
        wait_for_line(process, "begun")
        assert stop(process) == said
    assert (tmp_path / "kept.txt").read_text(encoding="utf-8") == "whole"


def test_it_is_heard_after_machine_code_is_made(tmp_path: Path) -> None:
    """What is raised in the midst of that, where LLVM calls Python, would be lost."""
    with started("-c", WHILE_IT_COMPILES, folder=tmp_path) as process:
        out, err = process.communicate(timeout=120)
    assert (out, err) == ("stopped\n", "")


def test_a_command_that_does_not_end_can_be_stopped_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(interrupts.time, "monotonic", lambda: now[0])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interrupts.heard_once():
            assert signal.getsignal(signal.SIGINT) is interrupts.stop_once
            with pytest.raises(KeyboardInterrupt):
                interrupts.stop_once()
            interrupts.stop_once()
            now[0] += 10.0
            with pytest.raises(KeyboardInterrupt):
                interrupts.stop_once()
            now[0] += 10.0
            interrupts.note_closing()
            interrupts.stop_once()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        with interrupts.heard_once(), pytest.raises(KeyboardInterrupt):
            interrupts.stop_once()  # another command, whatever became of the one before
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with interrupts.heard_once():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN, "somebody else's choice"
    finally:
        signal.signal(signal.SIGINT, before)


def test_play_keeps_the_game(tmp_path: Path) -> None:
    words = (
        "-m ohhell_env play --plain --against random --adviser heuristic --seed 3 --record g.json"
    )
    with started(*words.split(), folder=tmp_path) as process:
        wait_for_line(process, "Your bid (")
        assert process.stdin is not None
        process.stdin.write("1\n")
        process.stdin.flush()
        wait_for_line(process, "Your card (")
        out, err = stop(process)
    assert err == "" and out.startswith(
        "You stopped before the end of the game.\nThe game is in g.json"
    )
    assert [1 for _, bid in load_record(tmp_path / "g.json")["deals"][0]["bids"]], (
        "in the middle of a deal"
    )


def test_a_tournament_keeps_what_was_played(tmp_path: Path) -> None:
    words = "-m ohhell_env tournament random heuristic --deals 1000000 --unit 20 --out t"
    with started(*words.split(), folder=tmp_path) as process:
        wait_for(process, lambda: list((tmp_path / "t").glob("*.sqlite*")))
        out, err = stop(process)
    assert err == "" and re.search(
        r"\nstopped after [\d,]+ of [\d,]+ tables; they are kept", "\n" + out
    )


def test_bidding_says_that_it_was_stopped(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    def begin(self, rules, seat=None): pass\n"
        "    def act(self, observation, info=None):\n"
        "        print('asked', flush=True)\n"
        "        return int(observation['action_mask'].argmax())\n",
        encoding="utf-8",
    )
    words = "-m ohhell_env bidding mine:Mine --deals 1000000"
    with started(*words.split(), folder=tmp_path) as process:
        wait_for_line(process, "asked")
        out, err = stop(process)
    assert set(out.split()) <= {"asked"} and err == "stopped\n"


FOLDERS = (ROOT / "configs" / "train", ROOT / "train" / "ohhell_train" / "recipes")


@pytest.mark.slow
@pytest.mark.parametrize("config", ["counterfactual", "quick_ppo", "distill"])
def test_training_says_how_to_go_on(tmp_path: Path, config: str) -> None:
    path = next(
        folder / f"{config}.yaml" for folder in FOLDERS if (folder / f"{config}.yaml").is_file()
    )
    words = f"-m ohhell_env fit --config {path} --out run"
    with started(*words.split(), folder=tmp_path) as process:
        wait_for(process, (tmp_path / "run" / "config.yaml").exists)
        time.sleep(5.0)  # into the games, most likely
        out, err = stop(process)
    assert err == "" and out.splitlines()[-1].startswith("stopped; ")
    assert out.count("stopped") == 1 and out.rstrip().endswith("ohhell resume run")


@pytest.mark.parametrize("face", ["plain", "table"])
def test_bytes_that_are_no_letters(tmp_path: Path, face: str) -> None:
    """In a real terminal: typed line by line, and pasted into the table."""
    import pty

    ours, theirs = pty.openpty()
    words = "-m ohhell_env play --against random --adviser heuristic --seed 4"
    words += " --plain" if face == "plain" else ""
    child = subprocess.Popen(
        [sys.executable, *words.split()],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TERM": "xterm-256color",
            "COLUMNS": "80",
            "LINES": "24",
        },
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""

    def read(until: bytes) -> None:
        nonlocal seen
        seen, end = b"", time.monotonic() + 120
        while until not in re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", seen):
            assert select.select([ours], [], [], max(end - time.monotonic(), 0))[0], seen
            seen += os.read(ours, 65536)

    try:
        if face == "plain":
            read(b"Your bid (")
            time.sleep(1.0)  # until it waits for the line
            os.write(ours, b"\xff\xc3(\xed\xa0\x80 \xf0\x9f\n")
            read(b"is not a move or command here")
            time.sleep(1.0)
            os.write(ours, b"q\n")
            read(b"You stopped before the end")
        else:
            read(b"press its key")
            os.write(ours, b"\x1b[200~\xff\xfe\xc3(\x1b[201~\x80\xff")
            time.sleep(0.5)
            os.write(ours, b"\xf0\x9f")  # the beginning of a letter
            os.write(ours, b"r")
            read(b"esc/q back")
            os.write(ours, b"q")  # leaves the rules
            read(b"q quit")
            os.write(ours, b"q")
            read(b"q again")
            os.write(ours, b"q")
            read(b"You stopped before the end")
        assert child.wait(60) == 0
        assert b"Traceback" not in seen and b"UnicodeDecodeError" not in seen
    finally:
        child.kill()
        child.wait()
        os.close(ours)
