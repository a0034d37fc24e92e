"""``process:`` players: the protocol, what a program may do wrong, and that none is left behind."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import ohhell_agents
from ohhell_agents import ProcessAgent, ProgramError
from ohhell_agents.external.program import end_all
from ohhell_agents.external.protocol import choices, read_action, request
from ohhell_env.errors import IllegalActionError, OhHellError
from ohhell_env.game import Game
from ohhell_env.rules import Rules
from tests.agents.views import view
from tests.helpers import unix_only

pytestmark = unix_only

ROOT = Path(__file__).parent.parent.parent
TINY = f"{sys.executable} {ROOT / 'examples/bots/tiny_bot.py'}"
LIMIT = 200

LOOP = """
import json, os, sys, time
print(json.dumps({"name": "fake", "version": "0.1"}), flush=True)
sys.stdin.readline()
for line in sys.stdin:
    r = json.loads(line)
    if r["type"] == "quit":
        break
    good = {"id": r["id"], "action": r["legal"][0]}
"""


def command(folder: Path, does: str, loop: str = LOOP) -> str:
    """Writes a program; ``does`` is what it does at each request."""
    path = folder / "bot.py"
    path.write_text(loop + "".join(f"    {line}\n" for line in does.splitlines()), encoding="utf-8")
    return f"{sys.executable} {path}"


def begun(program: str, limit: int = LIMIT) -> ProcessAgent:
    agent = ProcessAgent(program, time_limit_ms=limit)
    agent.begin("oh_hell", 0)
    return agent


def a_table() -> Game:
    """A table whose seat 0 is to act."""
    game = Game("oh_hell", seed=1)
    while game.seat != 0:
        game.apply(game.legal_actions()[0])
    return game


def ended(pid: int) -> bool:
    """Whether a process is gone, or goes within two seconds."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def running(agent: ProcessAgent) -> int:
    assert agent.pid is not None
    return agent.pid


GOOD = "print(json.dumps(good), flush=True)"


def test_a_program_plays_a_game() -> None:
    rules = Rules.preset("oh_hell", players=3).replace(schedule={"shape": "up", "high": 4})
    game = Game(rules, seed=3)
    agent = ohhell_agents.make(f"process:{TINY}", seed=1)
    assert isinstance(agent, ProcessAgent)
    with agent:
        while not game.over:
            agent.begin(rules, game.seat)
            game.apply(agent.act(view(game)))
        assert (agent.name, agent.version) == ("tiny_bot", "1.0")
        pid = running(agent)
    assert agent.pid is None
    assert ended(pid)


# --------------------------------------------------------------------- faults

FAULTS = {
    "slow": ("time.sleep(5)\n" + GOOD, "gave no answer within 200 ms"),
    "silent": ("pass", "gave no answer within 200 ms"),
    "half a line": ("print('{', end='', flush=True)", "gave no answer within 200 ms"),
    "crash": ("raise RuntimeError('no idea')", "ended with exit status 1.*RuntimeError: no idea"),
    "exit": ("sys.exit(3)", "has ended with exit status 3"),
    "signal": ("os.kill(os.getpid(), 9)", "was ended by signal SIGKILL"),
    "closed": ("os.close(1)\ntime.sleep(5)", "closed its standard output"),
    "wrong id": ("print(json.dumps(good | {'id': 999}), flush=True)", "id 999 to request 1"),
    "id of truth": ("print(json.dumps(good | {'id': True}), flush=True)", "id True to request 1"),
    "no id": ("print(json.dumps({'action': 1}), flush=True)", "id None to request 1"),
    "no action": ("del good['action']\n" + GOOD, 'without an "action"'),
    "not JSON": ("print('thinking', flush=True)", "wrote 'thinking', which is not JSON"),
    "not UTF-8": ("os.write(1, bytes([255, 10]))", "which is not JSON"),
    "deep": ("print('[' * 60000, flush=True)", "which is not JSON"),
    "a list": ("print('[1]', flush=True)", "is not a JSON object"),
    "one long line": ("os.write(1, b'x' * 200000)", "a line of more than 65536 bytes"),
    "flood": ("while True: print('x' * 70000)", "a line of more than 65536 bytes"),
    "flood of lines": ("while True: print('x')", "which is not JSON"),
    "stderr": ("print('my model is lost', file=sys.stderr)\nsys.exit(1)", "my model is lost"),
    "flood of stderr": ("while True: os.write(2, b'x' * 1000)", "gave no answer within 200 ms"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_program_that_fails_is_ended_and_begun_anew(what: str, tmp_path: Path) -> None:
    does, message = FAULTS[what]
    game = a_table()
    with begun(command(tmp_path, does)) as agent:
        pid = running(agent)
        started = time.monotonic()
        with pytest.raises(ProgramError, match=message) as caught:
            agent.act(view(game))
        assert time.monotonic() - started < 3.0
        assert "bot.py" in str(caught.value)
        assert ended(pid)
        with pytest.raises(ProgramError, match=r"is not running any more; begin\(rules, seat\)"):
            agent.act(view(game))
        agent.begin("oh_hell", 0)
        assert running(agent) != pid


@pytest.mark.parametrize("answer", ["99", "'AS'", "-1", "None", "True", "1.0", "[1]", "{}"])
def test_an_illegal_answer_is_refused_and_the_program_goes_on(answer: str, tmp_path: Path) -> None:
    does = f"if r['id'] == 1: good['action'] = {answer}\n{GOOD}"
    game = a_table()
    with begun(command(tmp_path, does)) as agent:
        pid = running(agent)
        with pytest.raises(ProgramError, match=r"which is not legal: 0, 1, 2"):
            agent.act(view(game))
        assert agent.act(view(game)) == 60
        assert running(agent) == pid


def test_a_line_that_was_not_asked_for_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    does = GOOD + "\nprint(json.dumps(good | {'id': r['id']}), flush=True)"
    game = a_table()
    with begun(command(tmp_path, does)) as agent:
        assert agent.act(view(game)) == 60
        with pytest.raises(ProgramError, match="with id 1 to request 2"):
            agent.act(view(game))


def test_what_goes_to_standard_error_does_no_harm(tmp_path: Path) -> None:
    does = "print('x' * 5000, file=sys.stderr, flush=True)\n" + GOOD
    game = a_table()
    with begun(command(tmp_path, does), limit=2000) as agent:
        assert [agent.act(view(game)) for _ in range(40)] == [60] * 40


def test_a_program_that_closes_standard_error_plays_on(tmp_path: Path) -> None:
    game = a_table()
    with begun(command(tmp_path, "if r['id'] == 1: os.close(2)\n" + GOOD), 2000) as agent:
        assert [agent.act(view(game)) for _ in range(3)] == [60] * 3


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("no_such_program --x", "cannot be started: 'no_such_program': No such file"),
        (f"{sys.executable} -c pass", "has ended with exit status 0"),
        (f"{sys.executable} -c \"print('ready')\"", "wrote 'ready', which is not JSON"),
        (f"{sys.executable} -c \"print('{{}}')\"", "answered the hello with"),
        (f'{sys.executable} -c "import time; time.sleep(9)"', "gave no answer within 300 ms"),
        (f'{sys.executable} -c "import x_y_z"', "No module named 'x_y_z'"),
    ],
)
def test_a_program_that_does_not_begin(program: str, message: str) -> None:
    agent = ProcessAgent(program, start_limit_ms=300 if "sleep" in program else 5000)
    with pytest.raises(ProgramError, match=message):
        agent.begin("oh_hell", 0)
    assert agent.pid is None


@pytest.mark.parametrize(
    "settings", ["", "time_limit_ms=50:", "time_limit_ms=50,start_limit_ms=9:"]
)
@pytest.mark.parametrize(
    ("program", "message"),
    [("", "needs a command"), ("  ", "needs a command"), ("'open", "No closing quotation")],
)
def test_a_command_that_is_none_is_refused_at_once(
    program: str, message: str, settings: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        ohhell_agents.make(f"process:{settings}{program}")
    with pytest.raises(ProgramError, match=message):
        ProcessAgent(program)


def test_a_game_is_stopped_by_a_program_that_dies_in_it(tmp_path: Path) -> None:
    game = a_table()
    with begun(command(tmp_path, "if r['id'] == 3: sys.exit(7)\n" + GOOD), 2000) as agent:
        assert [agent.act(view(game)) for _ in range(2)] == [60] * 2
        with pytest.raises(ProgramError, match="exit status 7"):
            agent.act(view(game))


# --------------------------------------------------------------------- nothing left behind


@contextmanager
def deaf(folder: Path) -> Iterator[ProcessAgent]:
    """A program that neither quits nor minds the end of its input."""
    yield begun(
        command(folder, "pass", LOOP.replace("for line", "while True: time.sleep(1)\nfor l"))
    )


def test_a_deaf_program_is_ended_by_close(tmp_path: Path) -> None:
    with deaf(tmp_path) as agent:
        pid = running(agent)
        agent.close()
        agent.close()
        assert ended(pid)
        agent.begin("oh_hell", 1)
        assert running(agent) != pid
        agent.close()


def test_a_program_that_is_dropped_is_ended() -> None:
    agent = begun(TINY)
    pid = running(agent)
    del agent
    gc.collect()
    assert ended(pid)


def test_what_a_program_started_is_ended_with_it(tmp_path: Path) -> None:
    does = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(f'child {child.pid}.', file=sys.stderr, flush=True)\ntime.sleep(60)"
    )
    agent = begun(command(tmp_path, does), 1500)
    with pytest.raises(ProgramError, match=r"child \d+\.") as caught:
        agent.act(view(a_table()))
    child = int(str(caught.value).split("child ")[1].split(".")[0])
    status = Path(f"/proc/{child}/stat")  # it may stay a zombie where nobody reaps orphans
    assert ended(child) or status.read_text(encoding="utf-8").split()[2] == "Z"


CHILD = "import time; time.sleep(60)"
LEAVES = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, '-c', {CHILD!r}])
open(os.environ.get('CHILD', 'child'), 'w').write(str(child.pid))
"""
"""Starts a process that holds the pipes open for a minute."""


def left(folder: Path) -> int:
    """Returns the number of the process that a program of ``LEAVES`` has left."""
    return int((folder / "child").read_text(encoding="utf-8"))


def gone(pid: int) -> bool:
    """Whether a process has ended; it may stay a zombie where nobody reaps orphans."""
    status = Path(f"/proc/{pid}/stat")
    return ended(pid) or (status.exists() and status.read_text(encoding="utf-8").split()[2] == "Z")


@pytest.mark.parametrize("status", [0, 3])
def test_a_program_that_leaves_a_child_and_exits_is_a_fault_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """The child holds the pipe open, so that the end of the program cannot be heard."""
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    does = LEAVES.strip() + f"\nos._exit({status})"
    agent = begun(command(tmp_path, does), 30_000)
    started = time.monotonic()
    with pytest.raises(ProgramError, match=f"has ended with exit status {status}"):
        agent.act(view(a_table()))
    assert time.monotonic() - started < 20.0, "long before the limit"
    assert gone(left(tmp_path))


def test_the_last_answer_of_a_program_that_exits_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    agent = begun(command(tmp_path, f"{LEAVES.strip()}\n{GOOD}\nos._exit(0)"), 30_000)
    game = a_table()
    assert agent.act(view(game)) == 60
    with pytest.raises(ProgramError, match="has ended with exit status 0"):
        agent.act(view(game))
    assert gone(left(tmp_path))


@pytest.mark.parametrize("does", ["begins", "ends"])
def test_what_a_program_left_is_ended_by_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str
) -> None:
    """Also where the program itself has ended, by itself or because it was told to quit."""
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    hello = 'print(\'{"name": "fake"}\', flush=True)\n'
    program = tmp_path / "bot.py"
    program.write_text(
        LEAVES + hello + ("sys.stdin.read()" if does == "ends" else "os._exit(0)"), encoding="utf-8"
    )
    agent = ProcessAgent(f"{sys.executable} {program}")
    agent.begin("oh_hell", 0)
    if does == "begins":
        assert agent._program is not None
        assert agent._program._process.wait(10.0) == 0
    child = left(tmp_path)
    agent.close()
    assert gone(child)


def test_a_program_that_leaves_a_child_and_never_answers_the_hello(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHILD", str(tmp_path / "child"))
    program = tmp_path / "bot.py"
    program.write_text(LEAVES, encoding="utf-8")
    agent = ProcessAgent(f"{sys.executable} {program}", start_limit_ms=60_000)
    started = time.monotonic()
    with pytest.raises(ProgramError, match="has ended with exit status 0"):
        agent.begin("oh_hell", 0)
    assert time.monotonic() - started < 40.0, "long before the limit"
    assert gone(left(tmp_path))


def test_ctrl_c_while_a_program_is_closed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with deaf(tmp_path) as agent:
        pid = running(agent)

        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        assert agent._program is not None
        process = agent._program._process
        wait = process.wait
        monkeypatch.setattr(process, "wait", lambda limit=None: interrupted() if limit else wait())
        with pytest.raises(KeyboardInterrupt):
            agent.close()
        assert ended(pid)


def test_all_programs_of_a_process_can_be_ended_at_once(tmp_path: Path) -> None:
    agents_ = [begun(TINY), begun(command(tmp_path, "time.sleep(60)"))]
    pids = [running(agent) for agent in agents_]
    end_all()
    for agent, pid in zip(agents_, pids, strict=True):
        agent.close()
        assert ended(pid)


def test_no_program_outlives_python(tmp_path: Path) -> None:
    code = (
        "import ohhell_agents\n"
        f"agent = ohhell_agents.make('process:{TINY}')\n"
        "agent.begin('oh_hell', 0)\nprint(agent.pid)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert ended(int(done.stdout))


def test_a_copy_in_another_process_has_a_program_of_its_own() -> None:
    with begun(TINY) as agent, pickle.loads(pickle.dumps(agent)) as copy:
        assert (copy.command, copy.pid) == (TINY, None)
        copy.begin("oh_hell", 0)
        assert copy.pid not in (None, agent.pid)


# --------------------------------------------------------------------- settings and seats


def test_settings_are_checked() -> None:
    agent = ohhell_agents.make("process:./bot", time_limit_ms=500)
    assert isinstance(agent, ProcessAgent)
    assert (agent.command, agent.time_limit_ms) == ("./bot", 500)
    with pytest.raises(OhHellError, match="setting 'time_limit': did you mean 'time_limit_ms'"):
        ohhell_agents.make("process:./bot", time_limit=500)
    with pytest.raises(OhHellError, match="player 'random' has no setting 'time_limit_ms'"):
        ohhell_agents.make("random", time_limit_ms=500)
    for wrong in (0, -1, 1.5, True, "7"):
        with pytest.raises(OhHellError, match="time_limit_ms must be a whole number"):
            ohhell_agents.make("process:./bot", time_limit_ms=wrong)


def test_it_must_know_rules_and_seat() -> None:
    with closing(ProcessAgent(TINY)) as agent:
        with pytest.raises(IllegalActionError, match="rules and seat not set"):
            agent.act(view(a_table()))
        agent.begin("oh_hell", None)
        with pytest.raises(IllegalActionError, match="seats from the player's own"):
            agent.act(view(a_table()))
        with pytest.raises(IllegalActionError, match="seat: 0 to 3 at this table, got 4"):
            agent.begin("oh_hell", 4)


def test_it_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(OhHellError, match="cannot be saved"):
        ProcessAgent("./bot").save(tmp_path / "bot.json")
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------- the request


def asked(game: Game) -> dict[str, Any]:
    seen = view(game)
    legal = choices(seen["action_mask"], game.rules)
    assert list(legal.values()) == game.legal_actions()
    return json.loads(json.dumps(request(seen["observation"], legal, game.rules, game.seat)))


VARIANTS = ("oh_hell", "nomination_whist", "la_podrida", "rikiki", "plump", "spruce")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_request_says_what_the_record_says(variant: str) -> None:
    """All along a game: the same cards, bids and seats as the table itself has them."""
    game = Game(Rules.preset(variant), seed=5)
    while not game.over and game.deal < 3:
        told, deal = asked(game), game.record()["deals"][-1]
        for key in ("dealer", "deal", "hand_size", "turned", "bids"):
            assert told[key] == deal[key], key
        assert told["trump"] == (deal["trump"] if game.trump_known else "?")
        assert [*told["tricks"], *([told["trick"]] if told["trick"] else [])] == deal["tricks"]
        assert len(told["tricks"]) == sum(told["tricks_won"])
        assert (told["seat"], told["players"]) == (game.seat, game.players)
        assert told["tricks_won"] == game.tricks_won
        assert told["scores"] == game.scores
        assert told["deals_left"] == game.deals_left
        assert Rules.from_dict(told["rules"]) == game.rules
        played = {card for trick in deal["tricks"] for _, card in trick}
        assert told["hand"] == [c for c in deal["hands"][game.seat] if c not in played]
        if told["phase"] == "play":
            assert set(told["legal"]) <= set(told["hand"])
        else:
            assert all(type(bid) is int for bid in told["legal"])
        game.apply(game.legal_actions()[game.deal % len(game.legal_actions())])


def test_no_hidden_card_is_told() -> None:
    game = Game("oh_hell", seed=5, hand_size=6, episode="deal")
    seat = game.seat
    told = asked(game)
    hidden = [card for other, hand in enumerate(game.record()["deals"][0]["hands"])
              if other != seat for card in hand]  # fmt: skip
    text = json.dumps({key: value for key, value in told.items() if key != "rules"})
    assert not [card for card in hidden if f'"{card}"' in text]


def test_a_blind_deal_shows_everybody_elses_card() -> None:
    rules = Rules.preset("oh_hell", players=3).replace(blind_one_card="always")
    game = Game(rules, seed=2, episode="deal", hand_size=1)
    game.apply(game.legal_actions()[0])
    told = asked(game)
    hands = game.record()["deals"][0]["hands"]
    assert "hand" not in told
    assert told["hands"] == [None if s == game.seat else hand for s, hand in enumerate(hands)]


def test_bids_that_are_not_shown_yet_are_not_told() -> None:
    bidding = {"order": "simultaneous", "hook": "none"}
    game = Game(Rules().replace(bidding=bidding), seed=2)
    for _ in range(3):
        game.apply(game.legal_actions()[1])
        assert asked(game)["bids"] == []
    game.apply(game.legal_actions()[1])
    assert [bid for _, bid in asked(game)["bids"]] == [1, 1, 1, 1]


def test_an_answer_is_read_by_its_name() -> None:
    assert read_action(b'{"id": 4, "action": "TH"}', 4, {"TH": 34}) == 34
    assert read_action(b'{"id": 4, "action": 2, "thought": 7}', 4, {2: 62}) == 62
