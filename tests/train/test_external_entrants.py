"""Programs and imported classes in a tournament, and what becomes of those that break."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ohhell_agents import ProcessAgent
from ohhell_env.cli.commands import main
from ohhell_train.tournament import Results, run_tournament
from ohhell_train.tournament import entrants as entrants_module
from ohhell_train.tournament.entrants import Entrant
from ohhell_train.tournament.pages.terminal import print_report
from tests.agents.test_process import GOOD, TINY, command, ended
from tests.helpers import unix_only
from tests.train.players import Lowest, OnlyAct

ROOT = Path(__file__).parent.parent.parent


def played(player: Any, blocks: int = 1, hand_size: int = 2) -> Results:
    entrants = [("theirs", player), ("low", Lowest())]
    return run_tournament(entrants, rules="oh_hell", deals=blocks, seed=3, hand_size=hand_size)


def report(results: Results) -> str:
    text = io.StringIO()
    print_report(results, Console(file=text, width=150))
    return text.getvalue()


def test_a_program_takes_part_and_is_told_the_seats_of_the_table() -> None:
    asked: list[dict[str, Any]] = []

    def listen(sign: str, line: str) -> None:
        message = json.loads(line)
        if sign == ">" and message["type"] == "act":
            asked.append(message)

    with ProcessAgent(TINY, time_limit_ms=5000) as agent:
        agent.listen = listen
        results = played(agent)
    assert results.entrants[0].faults == 0
    assert results.entrants[0].decisions == len(
        asked
    )  # 4 rotations of 1 + 3 seats, 2 each, fewer where forced
    assert len({message["dealer"] for message in asked}) == 1
    assert len({message["turned"] for message in asked}) == 1
    hands = {(*m["hand"], m["seat"]) for m in asked if m["phase"] == "bid"}
    assert len(hands) == 4  # every seat has its own cards, in every rotation the same


def test_the_same_player_inside_and_outside_differs_by_nothing(tmp_path: Path) -> None:
    """A program that takes the first legal answer is the player that takes the lowest action."""
    with ProcessAgent(command(tmp_path, GOOD), time_limit_ms=5000) as agent:
        data = played(agent, blocks=2).to_dict()
    assert data["pairs"]["theirs|low"]["difference"] == 0.0
    assert data["entrants"]["theirs"]["faults"] == 0


@pytest.mark.parametrize(
    ("does", "what"),
    [
        ("good['action'] = 'XX'\n" + GOOD, "answered 'XX', which is not legal"),
        ("sys.exit(4)", "has ended with exit status 4"),
        ("time.sleep(9)", "gave no answer within 50 ms"),
    ],
)
def test_a_program_that_breaks_is_disqualified_and_named(
    does: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entrants_module, "FAULT_LIMIT", 4)
    with ProcessAgent(command(tmp_path, does), time_limit_ms=50) as agent:
        results = played(agent)
    broken, honest = results.entrants
    assert broken.faults == broken.decisions > 4
    assert (broken.was_disqualified, honest.faults, honest.was_disqualified) == (True, 0, False)
    named = f"{broken.faults} faults, each replaced by a random legal move; disqualified"
    assert named in report(results)
    assert broken.first_fault.startswith("ProgramError: program")
    assert what in broken.first_fault


def test_a_program_that_dies_now_and_then_is_begun_anew(tmp_path: Path) -> None:
    """It dies at the fourth request of its life; every life brings one fault."""
    loop = "print(json.dumps(good), flush=True)\ncount += 1"
    program = command(tmp_path, f"if count == 3: sys.exit(1)\n{loop}")
    path = tmp_path / "bot.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace("for line", "count = 0\nfor line", 1),
        encoding="utf-8",
    )
    with ProcessAgent(program, time_limit_ms=5000) as agent:
        results = played(agent)
    assert results.entrants[0].faults > 4
    assert not results.entrants[0].was_disqualified
    assert "disqualified" not in report(results)


class Counts(OnlyAct):
    """Raises at every decision, and counts them."""

    def __init__(self) -> None:
        self.asked = 0

    def act(self, observation: dict[str, Any]) -> int:
        self.asked += 1
        raise RuntimeError("no idea")


def test_a_disqualified_player_is_not_asked_any_more() -> None:
    player = Counts()
    entrant = Entrant.of("broken", player)
    mask = np.ones((40, 70), np.int8)
    words = np.arange(40, dtype=np.uint64)
    actions = entrant.ask(mask, mask, words)
    assert player.asked == entrants_module.FAULT_LIMIT == 25
    assert (entrant.faults, entrant.decisions) == (40, 40)
    assert ((actions >= 0) & (actions < 70)).all()
    assert entrant.disqualified


@unix_only
def test_the_command_line_takes_programs_and_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    entrants = [f"tiny=process:{TINY}", "low=tests.train.players:Lowest"]
    options = ["--deals", "2", "--hand-size", "2", "--seed", "1", "--out", str(tmp_path)]
    assert main(["tournament", *entrants, *options]) == 0
    data = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {name: row["faults"] for name, row in data["entrants"].items()} == {"tiny": 0, "low": 0}
    printed = capsys.readouterr().out
    assert "tiny" in printed and "low" in printed and "faults" not in printed


@unix_only
def test_a_program_that_cannot_be_started_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--deals", "2", "--out", str(tmp_path)]
    assert main(["tournament", "random", "process:./no_such_bot", *options]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "'./no_such_bot' cannot be started" in lines[0]


@unix_only
def test_no_program_is_left_when_the_tournament_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    pids = []
    close = Entrant.close

    def closed(entrant: Entrant) -> None:
        pids.append(getattr(entrant.player, "pid", None))
        close(entrant)

    monkeypatch.setattr(Entrant, "close", closed)
    results = run_tournament(
        [f"tiny=process:{TINY}", "random"], rules="oh_hell", deals=1, seed=1, hand_size=1
    )
    assert pids[0] is not None and ended(pids[0])
    assert results.entrants[0].faults == 0


def test_the_documented_exchange_begins_with_the_hello() -> None:
    page = (ROOT / "docs/external-players.md").read_text(encoding="utf-8")
    assert '> {"type": "hello", "protocol": 1}\n< {"name": "tiny_bot"' in page


def test_the_page_names_every_key_of_a_request() -> None:
    page = (ROOT / "docs/external-players.md").read_text(encoding="utf-8")
    block = page.split("<!-- end -->")[0]
    for key in ("hand", "bids", "tricks_won", "legal", "time_limit_ms", "deals_left"):
        assert f'"{key}":' in block
        assert f"`{key}`" in page
