"""Settings in a program's name, its fingerprint and its end."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest

import ohhell_agents
from ohhell_agents import ProcessAgent, ProgramError
from ohhell_env.errors import IllegalActionError, OhHellError
from tests.agents.test_process import GOOD, LIMIT, TINY, a_table, begun, command, ended, running
from tests.agents.views import view
from tests.helpers import unix_only

pytestmark = unix_only


def made(spec: str, **settings: Any) -> ProcessAgent:
    agent = ohhell_agents.make(spec, seed=1, **settings)
    assert isinstance(agent, ProcessAgent)
    return agent


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("process:./bot --level 3", ("./bot --level 3", 1000, 10_000)),
        ("process:time_limit_ms=2000:./bot --level 3", ("./bot --level 3", 2000, 10_000)),
        ("process:start_limit_ms=60000:./bot", ("./bot", 1000, 60_000)),
        ("process:time_limit_ms=5,start_limit_ms=6:a b:c", ("a b:c", 5, 6)),
        ("process:./bot:time_limit_ms=5:x", ("./bot:time_limit_ms=5:x", 1000, 10_000)),
        ("process:./bot --at=h:80", ("./bot --at=h:80", 1000, 10_000)),
        ("process:/bin/a=b:c", ("/bin/a=b:c", 1000, 10_000)),
        ("process: x=1:./bot", (" x=1:./bot", 1000, 10_000)),
    ],
)
def test_settings_stand_before_the_command(spec: str, expected: tuple[str, int, int]) -> None:
    agent = made(spec)
    assert (agent.command, agent.time_limit_ms, agent.start_limit_ms) == expected


def test_settings_by_word_and_by_name_go_together() -> None:
    agent = made("process:time_limit_ms=5:./bot", start_limit_ms=6)
    assert (agent.command, agent.time_limit_ms, agent.start_limit_ms) == ("./bot", 5, 6)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("limit_ms=5:./bot", "no setting 'limit_ms': did you mean 'time_limit_ms'"),
        ("worlds=5:./bot", "no setting 'worlds': allowed: time_limit_ms, start_limit_ms"),
        ("seed=5:./bot", "no setting 'seed'"),
        ("command=5:./bot", "no setting 'command'"),
        ("time_limit_ms=5,time_limit_ms=6:./bot", "time_limit_ms is given twice"),
        ("time_limit_ms=:./bot", "time_limit_ms must be a whole number of milliseconds .* got ''"),
        ("time_limit_ms=0:./bot", "from 1 to 1000000000, got 0"),
        ("time_limit_ms=-5:./bot", "got '-5'"),
        ("time_limit_ms=1.5:./bot", "got '1.5'"),
        ("time_limit_ms=1000000001:./bot", "got 1000000001"),
        (f"time_limit_ms={'9' * 6000}:./bot", "got '9999"),
    ],
)
def test_wrong_settings_are_refused(spec: str, message: str) -> None:
    with pytest.raises(OhHellError, match=message):
        ohhell_agents.make(f"process:{spec}")


def test_a_setting_in_both_places_is_refused() -> None:
    with pytest.raises(OhHellError, match="time_limit_ms is given twice; give it once"):
        ohhell_agents.make("process:time_limit_ms=5:./bot", time_limit_ms=5)


def test_the_limit_of_the_name_is_the_limit_of_a_decision(tmp_path: Path) -> None:
    slow = command(tmp_path, "time.sleep(0.4)\n" + GOOD)
    with made(f"process:time_limit_ms=150:{slow}") as agent:
        agent.begin("oh_hell", 0)
        with pytest.raises(ProgramError, match="gave no answer within 150 ms"):
            agent.act(view(a_table()))
    with made(f"process:time_limit_ms=9000:{slow}") as agent:
        agent.begin("oh_hell", 0)
        assert agent.act(view(a_table())) == 60


# --------------------------------------------------------------------- seats, closing


@pytest.mark.parametrize("seat", [-1, 4, 99, True, "0"])
def test_no_program_is_started_for_a_seat_that_is_not_there(seat: Any) -> None:
    agent = ProcessAgent(TINY)
    with pytest.raises(IllegalActionError, match="seat: 0 to 3 at this table"):
        agent.begin("oh_hell", seat)
    assert (agent.pid, agent.rules) == (None, None)


def test_close_ends_the_program_through_any_agents_door(tmp_path: Path) -> None:
    player: ohhell_agents.Agent = begun(command(tmp_path, GOOD), LIMIT)
    assert isinstance(player, ProcessAgent)
    pid = running(player)
    player.close()
    player.close()
    assert ended(pid)


# --------------------------------------------------------------------- fingerprint


def sha(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def test_the_fingerprint_follows_the_files_that_the_command_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bot.py").write_text("one", encoding="utf-8")
    Path("my weights").write_text("w", encoding="utf-8")
    agent = ProcessAgent("python ./bot.py --level 3 'my weights' bot.py ./bot.py nowhere")
    first = agent.fingerprint
    assert first == (
        f"{agent.command}; ./bot.py sha256:{sha('one')}; my weights sha256:{sha('w')}; "
        f"bot.py sha256:{sha('one')}"
    )
    Path("bot.py").write_text("two", encoding="utf-8")
    assert agent.fingerprint == first.replace(sha("one"), sha("two"))


@pytest.mark.parametrize("program", ["no_such_program --x", "a\0b", "x" * 5000, "."])
def test_a_command_that_names_no_file_is_its_own_fingerprint(program: str) -> None:
    assert ProcessAgent(program).fingerprint == program


def test_an_interpreter_given_by_its_path_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    program = command(tmp_path, GOOD)
    digests = ProcessAgent(program).fingerprint.removeprefix(program)
    assert digests.count("sha256:") == 2
    assert f"; {sys.executable} sha256:" in digests
