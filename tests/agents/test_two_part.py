"""Players of two parts: their names, their decisions, their files."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ohhell_agents
from ohhell_agents import Agent, TwoPartAgent
from ohhell_agents.checkpoint_io import METADATA
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.nn.agent import LearnedAgent
from ohhell_agents.nn.checkpoint import Checkpoint, save_checkpoint
from ohhell_agents.nn.network import Network
from ohhell_agents.two_part import read_parts
from ohhell_env import BatchedOhHell, Rules, oh_hell_v0
from ohhell_env.actions import BID_BASE
from ohhell_env.engine.layout import Phase
from ohhell_env.errors import CheckpointError, IllegalActionError, OhHellError
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from tests.agents.test_counterfactual import corrected
from tests.agents.test_heuristic import ALL_RULES
from tests.agents.test_saved import EDGES, SAVED, VALUES, places, with_value
from tests.agents.views import states, view

RULES = Rules.preset("oh_hell", 3)


def network(
    rules: Rules = RULES, layout: str = "default", part: str = "both", seed: int = 1
) -> Checkpoint:
    """A network with a will of its own."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = Network(layout_of(rules, layout), (8,), rules=rules)
        made.actor[-1].weight.data *= 300  # type: ignore[operator,union-attr]
    return Checkpoint(made, rules, layout, part=part)


# ------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("text", "bids", "cards"),
    [
        ("bids=heuristic,cards=zoo:universal", "heuristic", "zoo:universal"),
        ("cards=random,bids=heuristic", "heuristic", "random"),
        ("bids=a/b=c,d/best,cards=x", "a/b=c,d/best", "x"),
        ("bids=search:worlds=5,effort=1,cards=random", "search:worlds=5,effort=1", "random"),
        ("cards=[search:worlds=5,bids=policy],bids=x", "x", "search:worlds=5,bids=policy"),
        ("bids=x,cards=[search:worlds=5,bids=policy]", "x", "search:worlds=5,bids=policy"),
        ("bids=x,cards=process:./bot --level=3, -v", "x", "process:./bot --level=3, -v"),
        ("bids=run[1]/best,cards=[[run]/best]", "run[1]/best", "[run]/best"),
        ("bids=[parts:bids=a,cards=b],cards=c", "parts:bids=a,cards=b", "c"),
    ],
)
def test_names_of_parts(text: str, bids: str, cards: str) -> None:
    assert read_parts(text) == {"bids": bids, "cards": cards}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected a part at ''"),
        ("heuristic", "expected a part at 'heuristic'"),
        ("bids=heuristic", "cards= is missing"),
        ("cards=heuristic", "bids= is missing"),
        ("bids=,cards=x", "bids= names no player"),
        ("bids=[],cards=x", "bids= names no player"),
        ("bids=x,cards=", "cards= names no player"),
        ("bids=x,bids=y,cards=z", "bids= is given twice.*square brackets"),
        ("bids=x,cards=search:worlds=5,bids=policy", "bids= is given twice.*square brackets"),
        ("bids=[x,cards=y", "a square bracket is not closed"),
        ("bids=[x]y,cards=z", "expected a comma at 'y,cards=z'"),
        ("bids=" + "x" * 1000, "cards= is missing"),
    ],
)
def test_names_that_cannot_be_read(text: str, expected: str) -> None:
    with pytest.raises(OhHellError, match=expected) as caught:
        ohhell_agents.make(f"parts:{text}")
    assert len(str(caught.value)) < 500, "what a user typed is cut"


def test_a_part_that_is_no_player_is_named() -> None:
    with pytest.raises(OhHellError, match=r"parts:bids=heuristc.*did you mean 'heuristic'"):
        ohhell_agents.make("parts:bids=heuristc,cards=random")
    with pytest.raises(CheckpointError, match=r"runs/none: no such checkpoint"):
        ohhell_agents.make("parts:bids=random,cards=runs/none")
    with pytest.raises(OhHellError, match="no setting 'worlds'"):
        ohhell_agents.make("parts:bids=heuristic,cards=search", worlds=5)
    with pytest.raises(OhHellError, match="unknown player 'parts'"):
        ohhell_agents.make("parts")


# ------------------------------------------------------------------ decisions


def test_each_part_decides_its_own() -> None:
    agent = ohhell_agents.make("parts:bids=heuristic,cards=search:worlds=4", seed=3)
    bids, cards = ohhell_agents.make("heuristic", 0), ohhell_agents.make("search:worlds=4", 0)
    bids.begin(RULES)
    cards.begin(RULES)
    seen = set[bool]()
    for tables in states(RULES, agent, steps=24, tables=6):
        random_bits = np.arange(6, dtype=np.uint64) * 977
        views = tables.observations, tables.action_masks
        chosen = agent.act_batch(*views, random_bits=random_bits)
        bidding = tables.action_masks[:, BID_BASE:].any(axis=1)
        seen |= {bool(each) for each in np.unique(bidding)}
        expected = np.where(
            bidding,
            bids.act_batch(*views, random_bits=random_bits),
            cards.act_batch(*views, random_bits=random_bits),
        )
        assert (chosen == expected).all()
    assert seen == {True, False}


@pytest.mark.parametrize("rules", ALL_RULES[::3], ids=str)
def test_parts_of_different_layouts_see_what_is_theirs(rules: Rules) -> None:
    """One reads the default layout and one the universal: the pair decides as they do alone."""
    one, two = LearnedAgent(network(rules)), LearnedAgent(network(rules, "universal", seed=2))
    for bids, cards in ((one, two), (two, one)):
        agent = TwoPartAgent(bids, cards, seed=1)
        assert agent.layout_name == "universal"
        wide = states(rules, agent, steps=20, tables=6, layout="universal")
        for tables in wide:
            views = tables.observations, tables.action_masks
            random_bits = np.arange(6, dtype=np.uint64) * 977
            chosen = agent.act_batch(*views, random_bits=random_bits)
            bidding = tables.action_masks[:, BID_BASE:].any(axis=1)
            expected = np.empty(6, np.int64)
            for part, rows in ((bids, bidding), (cards, ~bidding)):
                if rows.any():
                    shown = _in_layout(tables, part.layout_name)
                    expected[rows] = part.act_batch(*shown, random_bits=random_bits)[rows]
            assert (chosen == expected).all()


def _in_layout(tables: Any, name: str) -> tuple[Any, Any]:
    other = BatchedOhHell(len(tables.games), tables.rules, seed=11, layout=name)
    other.reset()
    other.games[:] = tables.games
    other.refresh()
    return other.observations, other.action_masks


def test_an_answer_depends_on_its_own_row_alone() -> None:
    agent = TwoPartAgent(LearnedAgent(network()), LearnedAgent(network(seed=2)), seed=1)
    for tables in states(RULES, agent, steps=20, tables=16):
        views, masks = tables.observations, tables.action_masks
        whole = agent.act_batch(views, masks)
        order = np.random.default_rng(1).permutation(16)
        assert (agent.act_batch(views[order], masks[order]) == whole[order]).all()


def test_it_is_asked_as_its_parts_want() -> None:
    plain = ohhell_agents.make("parts:bids=heuristic,cards=random", 1)
    assert not (plain.one_by_one or plain.needs_seat)
    slow = ohhell_agents.make("parts:bids=heuristic,cards=search:ms=5", 1)
    assert slow.one_by_one and slow.depends_on_clock  # type: ignore[attr-defined]
    foreign = ohhell_agents.make("parts:bids=process:./bot,cards=random", 1)
    assert foreign.needs_seat and foreign.one_by_one


@pytest.mark.parametrize(
    "changes", [{}, {"blind_one_card": "last"}, {"bidding.order": "simultaneous"}], ids=str
)
def test_it_plays_whole_games(changes: dict[str, Any]) -> None:
    """Blind deals and bids made at the same time, too; the same seed plays the same game."""
    hook = {"bidding.hook": "none"} if "bidding.order" in changes else {}
    rules = Rules.preset("oh_hell", 4).replace(**changes, **hook)
    records: list[Any] = []
    for _ in range(2):
        env = oh_hell_v0.env(rules=rules, episode="game")
        env.reset(seed=4)
        player = ohhell_agents.make("parts:bids=zoo:universal,cards=random", seed=9)
        player.begin(rules)
        for _ in env.agent_iter():
            observation, _, over, cut, info = env.last()
            env.step(None if over or cut else player.act(observation, info))
        records.append(env.unwrapped.record())  # type: ignore[attr-defined]
    assert records[0] == records[1]


class Halves(Agent):
    """Answers with numbers that are no whole ones."""

    kind = "halves"

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        return np.full(len(random_bits), 0.5)


def test_answers_that_are_no_actions_are_refused() -> None:
    agent = TwoPartAgent(Halves(0), ohhell_agents.make("random", 0))
    game = Game(RULES, seed=1)
    with pytest.raises(IllegalActionError, match=r"the part that bids .halves. answered float64"):
        agent.act(view(game))


def test_both_parts_are_closed_whatever_one_raises() -> None:
    closed: list[str] = []

    class Ends(Halves):
        def close(self) -> None:
            closed.append(str(self.seat))
            raise RuntimeError("no end")

    bids, cards = Ends(), Ends()
    bids.seat, cards.seat = 1, 2
    with pytest.raises(RuntimeError, match="no end"):
        TwoPartAgent(bids, cards).close()
    assert closed == ["1", "2"]


def test_each_part_explains_itself() -> None:
    game = Game(RULES, seed=1)
    agent = ohhell_agents.make("parts:bids=heuristic,cards=search:worlds=10", 1)
    agent.begin(RULES)
    heuristic = ohhell_agents.make("heuristic")
    heuristic.begin(RULES)
    told = agent.explain(view(game))  # type: ignore[attr-defined]
    assert told.to_dict() == heuristic.explain(view(game)).to_dict()  # type: ignore[attr-defined]
    while game.phase is Phase.BID:
        game.apply(heuristic.act(view(game)))
    search = ohhell_agents.make("search:worlds=10", 1)
    search.begin(RULES)
    mine, theirs = (
        each.explain(view(game), random_bits=5).to_dict()  # type: ignore[attr-defined]
        for each in (agent, search)
    )
    assert mine == theirs and mine["method"] == "flat"


def test_a_part_that_cannot_explain_itself_is_named() -> None:
    game = Game(RULES, seed=1)
    agent = ohhell_agents.make("parts:bids=random,cards=heuristic", 1)
    agent.begin(RULES)
    told = agent.explain(view(game), random_bits=5)  # type: ignore[attr-defined]
    random_bits = np.array([5], np.uint64)
    seen = view(game)
    chosen = agent.act_batch(
        seen["observation"][None], seen["action_mask"][None], random_bits=random_bits
    )
    assert told.chosen == chosen[0]
    assert "random bids, and cannot say what it thinks" in str(told)
    assert not hasattr(ohhell_agents.make("parts:bids=random,cards=random"), "explain")


def test_pickled_it_decides_the_same() -> None:
    agent = ohhell_agents.make("parts:bids=zoo:universal,cards=search:worlds=4", seed=3)
    agent.begin(RULES)
    again = pickle.loads(pickle.dumps(agent))
    game = Game(RULES, seed=1)
    assert again.act(view(game)) == agent.act(view(game))
    assert again.fingerprint == agent.fingerprint


def test_of_a_pair_one_part_can_be_taken() -> None:
    agent = ohhell_agents.make("parts:bids=[parts:bids=heuristic,cards=random],cards=random", 1)
    assert isinstance(agent, TwoPartAgent)
    assert agent.fingerprint == ohhell_agents.make("parts:bids=heuristic,cards=random").fingerprint
    other = ohhell_agents.make("parts:bids=zoo:universal,cards=heuristic").fingerprint
    assert other != ohhell_agents.make("parts:bids=heuristic,cards=zoo:universal").fingerprint


# ------------------------------------------------------------------ files


@pytest.mark.parametrize(
    "name",
    [
        "parts:bids=heuristic,cards=zoo:universal",
        "parts:bids=random,cards=search:worlds=5,policy=zoo:oh_hell",
        "parts:bids=zoo:escalating,cards=random",
    ],
)
def test_round_trip(tmp_path: Path, name: str) -> None:
    before = ohhell_agents.make(name, seed=7)
    before.save(tmp_path / "pair")
    shutil.move(tmp_path / "pair", tmp_path / "moved")
    after = ohhell_agents.load(tmp_path / "moved")
    assert isinstance(after, TwoPartAgent)
    assert after.fingerprint == before.fingerprint
    assert after.names == before.names  # type: ignore[attr-defined]
    for agent in (before, after):
        agent.begin(RULES)
    for tables in states(RULES, ohhell_agents.make("random", 5), steps=12, tables=4):
        views = tables.observations, tables.action_masks
        assert (before.act_batch(*views) == after.act_batch(*views)).all(), "chance goes on, too"
    assert ohhell_agents.make(tmp_path / "moved", seed=3).fingerprint == before.fingerprint
    after.save(tmp_path / "moved")
    assert sorted(file.name for file in (tmp_path / "moved").iterdir()) == [
        METADATA,
        "bids",
        "cards",
    ]


def test_networks_are_kept(tmp_path: Path) -> None:
    bids = LearnedAgent(network(part="bids"))
    TwoPartAgent(bids, CounterfactualAgent(corrected())).save(tmp_path / "pair")
    loaded = ohhell_agents.make(tmp_path / "pair")
    assert isinstance(loaded, TwoPartAgent)
    assert loaded.bids.fingerprint == bids.fingerprint
    assert isinstance(loaded.bids, LearnedAgent) and loaded.bids.part == "bids"


def test_a_part_alone_is_no_player(tmp_path: Path) -> None:
    """What never learned to play cards is not let play them."""
    save_checkpoint(tmp_path / "bids", network(part="bids"))
    with pytest.raises(CheckpointError, match=r"learned only the bids.*cards=PLAYER"):
        ohhell_agents.make(str(tmp_path / "bids"))
    agent = ohhell_agents.make(f"parts:bids={tmp_path / 'bids'},cards=heuristic", 1)
    agent.begin(RULES)
    wrong = ohhell_agents.make(f"parts:bids=heuristic,cards={tmp_path / 'bids'}", 1)
    wrong.begin(RULES)
    game = Game(RULES, seed=1)
    while game.phase is Phase.BID:
        game.apply(agent.act(view(game)))
    assert agent.act(view(game)) < BID_BASE
    with pytest.raises(CheckpointError, match="learned only the bids, and was asked for a card"):
        wrong.act(view(game))


def test_code_is_neither_kept_nor_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "somebodys_bot.py").write_text(
        "class Bot:\n    def act(self, observation, info):\n        return 0\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    agent = ohhell_agents.make("parts:bids=heuristic,cards=somebodys_bot:Bot", 1)
    assert isinstance(agent, TwoPartAgent)
    with pytest.raises(OhHellError, match="is code of its own"):
        agent.save(tmp_path / "pair")
    assert not (tmp_path / "pair").exists()
    agent.save(tmp_path / "pair", whole=False)
    del sys.modules["somebodys_bot"]
    with pytest.raises(CheckpointError) as caught:
        ohhell_agents.load(tmp_path / "pair")
    assert "somebodys_bot" not in sys.modules, "loading runs nothing"
    remedy = str(caught.value).split("ohhell_agents.make(")[1].rstrip(")").strip("'")
    assert ohhell_agents.make(remedy).fingerprint == agent.fingerprint


def edit(folder: Path, change: Any) -> None:
    card = json.loads((folder / METADATA).read_text(encoding="utf-8"))
    change(card)
    (folder / METADATA).write_text(json.dumps(card), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda card: card.pop("parts"), "does not name the players"),
        (lambda card: card.update(parts=[1, 2]), "does not name the players"),
        (lambda card: card["parts"].update(bids="heuristic"), "does not name the players"),
        (lambda card: card["parts"]["bids"].update(fingerprint="x"), "contains another player"),
        (lambda card: card["parts"]["bids"].update(fingerprint=None), "contains another player"),
        (lambda card: card.pop("random"), "random numbers is broken"),
        (lambda card: card.update(random={"buffer_pos": 10**9}), "random numbers is broken"),
        (lambda card: card.update(kind="three_parts"), "of kind 'three_parts'"),
        (lambda card: card.update(version=9), "has version 9"),
    ],
)
def test_broken_cards(tmp_path: Path, change: Any, expected: str) -> None:
    ohhell_agents.make("parts:bids=heuristic,cards=zoo:universal", 1).save(tmp_path / "pair")
    edit(tmp_path / "pair", change)
    with pytest.raises(CheckpointError, match=expected):
        ohhell_agents.load(tmp_path / "pair")


def test_any_value_at_any_place_of_the_card_is_refused_or_read(tmp_path: Path) -> None:
    pair = tmp_path / "pair"
    ohhell_agents.make("parts:bids=heuristic,cards=random", 1).save(pair)
    card = json.loads((pair / METADATA).read_text(encoding="utf-8"))
    outcomes: set[bool] = set()

    @SAVED
    @given(st.sampled_from(list(places(card))), EDGES | VALUES)
    def check(place: tuple[Any, ...], value: Any) -> None:
        (pair / METADATA).write_text(json.dumps(with_value(card, place, value)), encoding="utf-8")
        try:
            agent = ohhell_agents.load(pair)
        except CheckpointError:
            outcomes.add(False)
        else:
            outcomes.add(True)
            agent.begin(RULES)
            assert agent.act(view(Game(RULES, seed=1))) >= BID_BASE

    check()
    assert outcomes == {True, False}


def test_parts_that_are_not_there_or_others(tmp_path: Path) -> None:
    pair = tmp_path / "pair"
    ohhell_agents.make("parts:bids=heuristic,cards=zoo:universal", 1).save(pair)
    ohhell_agents.make("zoo:oh_hell").save(pair / "cards")
    with pytest.raises(CheckpointError, match=r"contains another player \('counterfactual"):
        ohhell_agents.load(pair)
    shutil.rmtree(pair / "cards")
    with pytest.raises(CheckpointError, match="pair/cards"):
        ohhell_agents.load(pair)
    (pair / "cards").symlink_to(pair)
    with pytest.raises(CheckpointError, match="cannot have parts of its own"):
        ohhell_agents.load(pair)


def test_a_failed_saving_leaves_the_old_one(tmp_path: Path) -> None:
    pair = tmp_path / "pair"
    ohhell_agents.make("parts:bids=heuristic,cards=random", 1).save(pair)
    with pytest.raises(OhHellError):
        ohhell_agents.make("parts:bids=heuristic,cards=process:./bot", 1).save(pair)
    assert ohhell_agents.load(pair).fingerprint == "bids heuristic: + cards random:"
    assert [file.name for file in tmp_path.iterdir()] == ["pair"]
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        (tmp_path / "thesis").mkdir()
        ohhell_agents.make("parts:bids=heuristic,cards=random", 1).save(tmp_path / "thesis")


def test_the_search_cannot_rely_on_a_pair(tmp_path: Path) -> None:
    ohhell_agents.make("parts:bids=heuristic,cards=zoo:universal", 1).save(tmp_path / "pair")
    with pytest.raises(CheckpointError, match=r"two_parts.*counterfactual"):
        ohhell_agents.make(f"search:policy={tmp_path / 'pair'}")
