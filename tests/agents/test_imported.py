"""``module:Class`` players."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import ohhell_agents
from ohhell_agents import RandomAgent
from ohhell_env.errors import IllegalActionError, OhHellError
from ohhell_env.game import Game
from tests.agents.views import view
from tests.train.players import Lowest

MODULE = """
import numpy as np
from ohhell_agents import RandomAgent

class OnlyAct:
    def act(self, observation, info):
        assert (observation["action_mask"] == info["action_mask"]).all()
        return int(info["action_mask"].argmax())

class Batch:
    def __init__(self, seed=None):
        self.seed, self.begun = seed, None
    def begin(self, rules, seat):
        self.begun = rules.name, seat
    def act_batch(self, observations, action_masks):
        return action_masks.argmax(axis=1)

class Closes(Batch):
    closed, fingerprint = 0, "second try"
    def close(self):
        self.closed += 1

class Breaks:
    def __init__(self):
        raise RuntimeError("no weights")

class Nothing:
    pass

class Mine(RandomAgent):
    pass

number = 7
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "their_bots"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "clever.py").write_text(MODULE, encoding="utf-8")
    (package / "broken.py").write_text("import a_module_that_is_missing", encoding="utf-8")
    (package / "wrong.py").write_text("def (", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("name", ["OnlyAct", "Batch"])
@pytest.mark.parametrize("prefix", ["", "python:"])
def test_any_class_with_an_answer_is_a_player(prefix: str, name: str) -> None:
    agent = ohhell_agents.make(f"{prefix}their_bots.clever:{name}", seed=4)
    assert (agent.kind, agent.one_by_one) == ("python", name == "OnlyAct")
    game = Game("oh_hell", seed=1)
    agent.begin("oh_hell", game.seat)
    for _ in range(8):
        assert agent.act(view(game)) == game.legal_actions()[0]
        game.apply(game.legal_actions()[0])


def test_seed_and_beginning_are_handed_on() -> None:
    agent = ohhell_agents.make("their_bots.clever:Batch", seed=4)
    agent.begin("oh_hell", 2)
    player = agent.player  # type: ignore[attr-defined]
    assert (player.seed, player.begun) == (4, ("oh_hell", 2))


def test_an_agent_is_taken_as_it_is() -> None:
    agent = ohhell_agents.make("their_bots.clever:Mine", seed=3)
    assert isinstance(agent, RandomAgent)
    assert type(ohhell_agents.make("tests.train.players:Lowest")) is Lowest


def test_its_class_file_and_own_words_are_its_fingerprint() -> None:
    digest = hashlib.sha256(MODULE.encode()).hexdigest()
    plain = ohhell_agents.make("their_bots.clever:Batch").fingerprint
    assert plain == f"their_bots.clever:Batch sha256:{digest}"
    own = ohhell_agents.make("their_bots.clever:Closes").fingerprint
    assert own == f"their_bots.clever:Closes sha256:{digest} second try"


def test_close_is_handed_on_where_there_is_one() -> None:
    with ohhell_agents.make("their_bots.clever:Closes") as agent:
        pass
    assert agent.player.closed == 1  # type: ignore[attr-defined]
    ohhell_agents.make("their_bots.clever:OnlyAct").close()


@pytest.mark.parametrize("seat", [-1, 4, 99, "0"])
def test_a_seat_that_is_not_there_is_not_handed_on(seat: Any) -> None:
    agent = ohhell_agents.make("their_bots.clever:Batch")
    with pytest.raises(IllegalActionError, match="seat: 0 to 3"):
        agent.begin("oh_hell", seat)
    assert agent.player.begun is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("their_bot.clever:Batch", "no module 'their_bot' .*: did you mean 'their_bots'"),
        ("their_bots.cleve:Batch", "no module 'their_bots.cleve' .*: did you mean 'clever'"),
        ("zzqx:Batch", "no module 'zzqx' on Python's path$"),
        ("their_bots.clever:Bach", "has no class 'Bach': did you mean 'Batch'"),
        ("their_bots.clever:number", "number is not a class but int"),
        ("their_bots.clever:Nothing", "Nothing is not a player: it has neither act"),
        ("their_bots.clever:Breaks", "cannot be made: RuntimeError: no weights"),
        ("their_bots.broken:Batch", "cannot be imported: ModuleNotFoundError: .*missing"),
        ("their_bots.wrong:Batch", "cannot be imported: SyntaxError"),
        ("their_bots:Batch", "their_bots has no class 'Batch': it has no classes"),
        ("python:their_bots.clever", "write python:package.module:Class"),
    ],
)
def test_what_cannot_be_imported_is_explained(spec: str, message: str) -> None:
    with pytest.raises(OhHellError, match=message):
        ohhell_agents.make(spec)


def test_it_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(OhHellError, match="OnlyAct cannot be saved"):
        ohhell_agents.make("their_bots.clever:OnlyAct").save(tmp_path / "x")


class Exits:
    """Ends the program where it should become a player."""

    def __init__(self) -> None:
        raise SystemExit(3)


def test_a_class_that_ends_the_program_is_told_in_one_line() -> None:
    with pytest.raises(OhHellError, match="cannot be made: SystemExit"):
        ohhell_agents.make(f"{__name__}:Exits")
