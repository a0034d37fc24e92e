"""The pool of past selves, and runs that train with all there is: interrupted or not, the same."""

from __future__ import annotations

import csv
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import ohhell_agents
from ohhell_agents.nn.checkpoint import weights_digest
from ohhell_agents.nn.network import Network, choose
from ohhell_env.errors import CheckpointError
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from ohhell_train.methods import train_run
from ohhell_train.ppo.config import PoolSettings, PpoConfig
from ohhell_train.ppo.folder import POOL, STATE, PpoRun
from ohhell_train.ppo.learner import SelfPlayPPO
from ohhell_train.ppo.pool import NOBODY, Pool
from ohhell_train.ppo.rollout import OURS, LapTables, TableOpponents
from ohhell_train.runs.metrics import METRICS
from tests.helpers import unix_only
from tests.train.runs import begin_ppo
from tests.train.test_rollout import Chance
from tests.train.test_run import Killed, without_time

RULES = Rules.preset("oh_hell", 3)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)  # as a run does; two are slower where others are at work


def pool_of(count: int, **settings: Any) -> Pool:
    pool = Pool(PoolSettings(**settings))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for number in range(count):
            pool.add(Network(layout_of(RULES), (8,), rules=RULES), 100 * (number + 1))
    return pool


def test_a_full_pool_parts_with_its_oldest() -> None:
    pool = pool_of(5, size=3, every=100)
    assert sorted(pool.decisions) == [300, 400, 500] and len(pool) == 3
    assert not pool.is_due(599) and pool.is_due(600)


def test_a_copy_does_not_learn_on() -> None:
    network = Network(layout_of(RULES), (8,), rules=RULES)
    pool = Pool(PoolSettings())
    pool.add(network, 1)
    with torch.no_grad():
        network.actor[0].bias += 1  # type: ignore[operator]
    kept = pool.networks[0]
    assert weights_digest(kept) != weights_digest(network)
    assert not any(value.requires_grad for value in kept.parameters())


def test_pfsp_draws_those_more_often_that_are_beaten_less_often() -> None:
    rng = np.random.default_rng(0)
    for draw, most in (("uniform", 0.5), ("pfsp", 0.7)):
        pool = pool_of(3, size=3, at_once=1, draw=draw)
        for slot, result in ((0, 1.0), (1, 1.0), (2, 0.0)):
            pool.note(slot, np.full(500, result))
        assert pool.weights().sum() == pytest.approx(1)
        drawn = np.zeros(3)
        for _ in range(300):
            pool.draw(rng)
            drawn[pool.at_tables(1, rng)[0]] += 1
        share = drawn[2] / drawn.sum()
        assert (share > most) == (draw == "pfsp") and drawn.min() > 0, "nobody is forgotten"


def test_an_empty_pool_leaves_the_tables_to_the_learner() -> None:
    company = TableOpponents(pool=Pool(PoolSettings()), past=1.0)
    tables = LapTables(RULES, 6, seed=0, hand_size=2, opponents=company)
    for _ in range(8):
        assert tables.play(Chance()).ours.all()
    assert (company.pool.at_tables(3, tables.random) == NOBODY).all()  # type: ignore[union-attr]


def tables_with(pool: Pool, number: int, hand_size: int = 2) -> LapTables:
    company = TableOpponents([(ohhell_agents.make("random", 0), 0.25)], pool, past=0.5)
    tables = LapTables(RULES, number, seed=0, hand_size=hand_size, opponents=company)
    pool.draw(tables.random)
    return tables


def test_past_selves_sit_at_their_share_of_the_tables_in_every_seat() -> None:
    """3,000 deals: each seat is the learner's as often as another."""
    pool = pool_of(2, size=2)
    tables, policy = tables_with(pool, 100, hand_size=1), Chance()
    seats, deals = np.zeros(3), 0
    for _ in range(140):
        lap = tables.play(policy)
        ended = lap.ends.reshape(100, 3)[:, 0]
        ours = lap.ours.reshape(100, 3)
        seats += ours[:50][ended[:50]].sum(axis=0)
        deals += int(ended[:50].sum())
        assert not (lap.free & ~lap.ours).any()
    assert deals > 3000 and (tables.sitting[50:75].max(axis=1) == 0).all()
    assert (tables.sitting[75:] == OURS).all()
    assert abs(seats / seats.sum() - 1 / 3).max() < 0.02
    assert set(np.unique(tables.sitting[:50])) == {OURS, 1, 2}, "both of those drawn sit there"
    assert (pool.beaten != 0.5).all(), "results were told to the pool"


def test_a_past_self_decides_as_its_network_does() -> None:
    """Its own view and mask, and its own probabilities (and more than one action)."""
    pool = pool_of(1)
    asked: list[tuple[Any, ...]] = []
    ask = pool.ask

    def listening(*question: Any) -> Any:
        answer = ask(*question)
        asked.append((*question, answer))
        return answer

    pool.ask = listening  # type: ignore[method-assign]
    tables = tables_with(pool, 40, hand_size=3)
    for _ in range(24):
        tables.play(Chance())
    network, seen = pool.networks[0], set[int]()
    for _, observations, masks, words, rules, actions in asked:
        log_probs = network.log_probs(
            torch.from_numpy(observations), torch.from_numpy(masks), rules
        )
        assert (choose(log_probs.detach(), words) == actions).all()
        assert (masks.sum(axis=1) > 1).all() and (masks[np.arange(len(masks)), actions] == 1).all()
        seen |= set(actions.tolist())
    assert sum(len(question[1]) for question in asked) > 300 and len(seen) > 20


# --- Whole runs ---------------------------------------------------------------------------------

RICH: dict[str, Any] = {
    "players": [3, 4],
    "layout": "universal",
    "decisions": 1800,
    "tables": 9,
    "rollout_laps": 4,
    "save_every": 400,
    "hand_size": 2,
    "network": {"hidden": [16], "critic": "oracle"},
    "ppo": {"n_epochs": 1, "batch_size": 64},
    "opponents": [
        {"player": "random", "share": 0.1},
        {"player": "past", "share": 0.6},
        {"player": "heuristic", "share": 0.1},
    ],
    "pool": {"every": 250, "size": 3, "draw": "pfsp"},
    "report": {"every": 1000, "deals": 16, "fields": ["random", "past"]},
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> PpoRun:
    run = begin_ppo(tmp_path_factory.mktemp("runs") / "whole", PpoConfig.of(RICH))
    train_run(run, quiet=True)
    return run


def struck(path: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> PpoRun:
    """A run that is struck down in the middle of an update, after so many rollouts."""
    run, update, done = begin_ppo(path, PpoConfig.of(RICH)), SelfPlayPPO.train, [0]

    def striking(self: SelfPlayPPO) -> None:
        done[0] += 1
        if done[0] > after:
            raise Killed
        update(self)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(SelfPlayPPO, "train", striking)
        train_run(run, quiet=True)
    return run


@pytest.mark.parametrize("after", [4, 11])
def test_a_resumed_run_has_the_pool_of_one_that_went_through(
    finished: PpoRun, tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = struck(tmp_path / "broken", after, monkeypatch)
    assert 0 < run.counters().decisions < 1800
    train_run(run, quiet=True)
    whole, resumed = load_file(finished.path / STATE), load_file(run.path / STATE)
    assert whole.keys() == resumed.keys() and "oracle.hands.weight" in whole
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert without_time(run) == without_time(finished)
    past = [sorted(each.name for each in (one.path / POOL).iterdir()) for one in (run, finished)]
    assert past[0] == past[1] and len(past[0]) == 3, "the oldest made room on the disk, too"
    for name in past[0]:
        ohhell_agents.load(run.path / POOL / name)


def test_opponents_change_within_one_run(finished: PpoRun) -> None:
    """One call of ``learn``: copies are taken again and again while the rate falls."""
    taken = [int(each.name) for each in (finished.path / POOL).iterdir()]
    assert min(taken) > 250, "three are kept, and some made room"
    with (finished.path / METRICS).open(newline="") as file:
        rates = [float(row["learning_rate"]) for row in csv.DictReader(file)]
    assert rates == sorted(rates, reverse=True) and len(set(rates)) == len(rates)


@unix_only
@pytest.mark.slow
def test_swapping_opponents_does_not_eat_memory() -> None:
    pool = pool_of(1, size=5, at_once=2)
    tables, network, before = tables_with(pool, 20), pool.networks[0], 0

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )

    for number in range(330):
        if number == 30:
            before = resident()
        pool.add(network, 200 + number)
        pool.draw(tables.random)
        tables.play(Chance())
    assert resident() - before < 100e6 and len(pool) == 5


def test_progress_against_a_past_self_is_measured(finished: PpoRun) -> None:
    differences = finished.counters().differences
    assert differences.keys() == {"random", "past"}
    assert differences["past"][1] < differences["past"][2]


def test_five_of_its_players_sit_at_tables_in_one_process(finished: PpoRun) -> None:
    folders = [finished.path / name for name in ("best", "last")]
    folders += sorted((finished.path / POOL).iterdir())
    guests = [(ohhell_agents.load(folder, seed=0), 0.2) for folder in folders]
    tables = LapTables(RULES, 10, 0, 2, "universal", TableOpponents(guests))
    decided, ended = 0, 0
    for _ in range(9):
        lap = tables.play(Chance())
        decided, ended = decided + int((~lap.ours).sum()), ended + int(lap.ends.sum())
    assert len(guests) == 5 and decided > 100 and ended > 50


def test_a_player_of_a_run_knows_nothing_of_hidden_hands(finished: PpoRun) -> None:
    """The critic that sees them stays in the run; the player's own says nothing."""
    player = ohhell_agents.load(finished.path / "last", seed=0)
    state = player.checkpoint.network.state_dict()  # type: ignore[attr-defined]
    assert {name.partition(".")[0] for name in state} == {"actor", "critic"}
    assert not any(value.any() for name, value in state.items() if name.startswith("critic"))
    player.begin(Rules.preset("oh_hell", 3), 0)


def test_a_pool_of_other_players_is_refused(finished: PpoRun, tmp_path: Path) -> None:
    copy = PpoRun(Path(shutil.copytree(finished.path, tmp_path / "copy")))
    first, second, *_ = sorted((copy.path / POOL).iterdir())
    shutil.rmtree(first)
    shutil.copytree(second, first)
    ppo_config = copy.config()
    from ohhell_train.ppo.run import make_tables

    with pytest.raises(CheckpointError, match="is not the past self"):
        copy.restore_state(SelfPlayPPO(ppo_config, make_tables(ppo_config)))
