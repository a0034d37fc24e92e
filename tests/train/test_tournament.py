"""Tournaments: fair designs, honest intervals, the same file for the same seed."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ohhell_agents import HeuristicAgent
from ohhell_env.errors import CheckpointError, OhHellError, RulesError
from ohhell_env.rules import Rules
from ohhell_train.tournament import Results, TournamentConfig, cli_run, run_tournament
from ohhell_train.tournament import entrants as entrants_module
from ohhell_train.tournament import runner as runner_module
from ohhell_train.tournament.analysis.rating import rate
from ohhell_train.tournament.analysis.statistics import interval, student_quantile
from ohhell_train.tournament.pages.terminal import print_report
from tests.train.players import (
    Answers,
    AskedHeuristic,
    AskedRandom,
    Highest,
    Lowest,
    OnlyAct,
    Raises,
    RaisesSometimes,
)

BY_BID = [[[bid for _ in range(size + 1)] for bid in range(size + 1)] for size in range(1, 27)]
"""Points: the bid itself, whatever becomes of it."""
BIDDING_PAYS = Rules(players=4).replace(**{"scoring": {"table": BY_BID}, "bidding.hook": "none"})


def figures(results: Results) -> dict[str, Any]:
    return json.loads(json.dumps(results.to_dict()))


# ------------------------------------------------------------ exact differences


def test_equal_deterministic_players_differ_by_nothing() -> None:
    entrants = [("one", HeuristicAgent()), ("two", HeuristicAgent())]
    data = figures(run_tournament(entrants, rules="oh_hell", deals=30, seed=1))
    for pair in data["pairs"].values():
        assert (pair["difference"], pair["ci95"]) == (0.0, [0.0, 0.0])
    assert data["entrants"]["one"]["win_share"] == pytest.approx(0.25)
    ratings = [row["rating"] for row in data["entrants"].values()]
    assert ratings[0] == ratings[1]


@pytest.mark.parametrize("hand_size", [1, 3, 10])
def test_bidding_all_beats_nil_by_the_hand_size_where_the_bid_is_paid(hand_size: int) -> None:
    entrants = [("all", Highest()), ("nil", Lowest())]
    data = figures(
        run_tournament(entrants, rules=BIDDING_PAYS, deals=5, seed=1, hand_size=hand_size)
    )
    ahead = data["pairs"]["all|nil"]
    assert (ahead["difference"], ahead["ci95"]) == (hand_size, [hand_size, hand_size])
    assert data["pairs"]["nil|all"]["difference"] == -hand_size
    assert data["entrants"]["all"]["mean_points"] == hand_size
    assert data["entrants"]["all"]["win_share"] == 1.0
    assert data["entrants"]["nil"]["win_share"] == 0.0


class AllAsDealer(Highest):
    """Bids all as dealer, nil in every other seat."""

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        from ohhell_env.observation import layout_of

        assert self.rules is not None
        deals = observations[:, layout_of(self.rules).slices()["dealer"].start] == 1
        high = super().choose(observations, action_masks, random_bits, deterministic)
        return np.where(deals, high, action_masks.argmax(axis=1))


def test_a_player_that_scores_in_one_seat_only_gets_one_n_th() -> None:
    entrants = [("dealer", AllAsDealer()), ("nil", Lowest())]
    data = figures(run_tournament(entrants, rules=BIDDING_PAYS, deals=6, seed=2, hand_size=4))
    pair = data["pairs"]["dealer|nil"]
    assert (pair["difference"], pair["ci95"]) == (1.0, [1.0, 1.0])


def test_made_rates_by_hand_size() -> None:
    sizes = {"shape": "explicit", "sizes": (1, 2)}
    rules = Rules().replace(schedule=sizes, bidding={"hook": "none"})
    data = figures(
        run_tournament([("a", Highest()), ("b", Lowest())], rules=rules, deals=40, seed=2)
    )
    by_size = data["entrants"]["b"]["made_by_hand_size"]
    assert set(by_size) == {"1", "2"}
    assert sum(row["deals"] for row in by_size.values()) == data["entrants"]["b"]["deals"] == 160
    mean = sum(row["made_rate"] * row["deals"] for row in by_size.values()) / 160
    assert data["entrants"]["b"]["made_rate"] == pytest.approx(mean)


# ------------------------------------------------------------------- strength


@pytest.mark.parametrize(
    ("variant", "margin"),
    [("oh_hell", 3.0), ("blackout", 3.0), ("plump", 1.0), ("escalating", 10.0)],
)
def test_the_heuristic_is_far_above_random(variant: str, margin: float) -> None:
    data = figures(run_tournament(["heuristic", "random"], rules=variant, deals=100, seed=3))
    assert data["pairs"]["heuristic|random"]["ci95"][0] > margin
    assert data["pairs"]["random|heuristic"]["ci95"][1] < -margin


def test_equal_random_players_are_within_the_noise() -> None:
    entrants = ["one=random", "two=random"]
    held = 0
    for seed in range(40):
        data = run_tournament(entrants, rules="oh_hell", deals=40, seed=seed, hand_size=3).to_dict()
        low, high = data["pairs"]["one|two"]["ci95"]
        held += low <= 0.0 <= high
    assert held >= 33  # 38 are expected


def test_a_random_player_differs_from_itself_in_every_seat() -> None:
    """Copies of one player in several seats do not share their chance."""
    results = run_tournament(
        ["one=random", "two=random"], rules="oh_hell", deals=40, seed=1, hand_size=8
    )
    bids = results.outcomes[0, 1]["bids"][:, :, 0]
    same = [(bids[:, :, a] == bids[:, :, b]).mean() for a in range(4) for b in range(a)]
    assert max(same) < 0.35


# ------------------------------------------------------------- the same figures


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    files = []
    for run in range(2):
        results = run_tournament(["random", "heuristic"], rules="oh_hell", deals=20, seed=7)
        files.append(results.save(tmp_path / str(run)).read_bytes())
    assert files[0] == files[1]
    assert json.loads(files[0])["seed"] == 7
    other = run_tournament(["random", "heuristic"], rules="oh_hell", deals=20, seed=8)
    assert other.save(tmp_path / "2").read_bytes() != files[0]


def same_outcomes(left: Results, right: Results) -> bool:
    pairs = zip(left.outcomes.values(), right.outcomes.values(), strict=True)
    return all((a == b).all() for a, b in pairs)


@pytest.mark.parametrize("rules", ["oh_hell", "boerenbridge", "plump"])
def test_players_are_the_same_inside_the_engine_and_asked(rules: str) -> None:
    inside = run_tournament(["random", "heuristic"], rules=rules, deals=12, seed=4)
    entrants = [("random", AskedRandom()), ("heuristic", AskedHeuristic())]
    asked = run_tournament(entrants, rules=rules, deals=12, seed=4)
    assert same_outcomes(inside, asked)
    mixed = run_tournament([("random", AskedRandom()), "heuristic"], rules=rules, deals=12, seed=4)
    assert same_outcomes(inside, mixed)


def test_figures_do_not_depend_on_how_many_are_asked_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entrants = [("random", AskedRandom()), ("heuristic", AskedHeuristic())]
    whole = run_tournament(entrants, rules="oh_hell", deals=11, seed=4)
    monkeypatch.setattr(runner_module, "UNIT_BLOCKS", 3)
    monkeypatch.setattr(entrants_module, "BATCH", 5)
    assert same_outcomes(whole, run_tournament(entrants, rules="oh_hell", deals=11, seed=4))


def test_more_blocks_leave_the_first_ones_as_they_are() -> None:
    few = run_tournament(["random", "heuristic"], rules="oh_hell", deals=5, seed=4).outcomes[0, 1]
    many = run_tournament(["random", "heuristic"], rules="oh_hell", deals=9, seed=4).outcomes[0, 1]
    assert (few == many[:5]).all()


def test_more_entrants_leave_a_pair_as_it_is() -> None:
    two = figures(run_tournament(["random", "heuristic"], rules="oh_hell", deals=6, seed=4))
    entrants = [("low", Lowest()), "heuristic", "random"]
    three = figures(run_tournament(entrants, rules="oh_hell", deals=6, seed=4))
    assert three["pairs"]["heuristic|random"] == two["pairs"]["heuristic|random"]
    assert len(three["pairs"]) == 6


# --------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    "player",
    [
        Raises(),
        Answers(-1),
        Answers(lambda count: np.full(count, 59)),
        Answers(lambda count: np.full(count, 1000)),
        Answers(lambda count: np.zeros(count + 1, int)),
        Answers(np.zeros),
        Answers(lambda count: np.zeros(count, bool)),
        Answers("60"),
        Answers(None),
    ],
    ids=lambda player: f"{type(player).__name__}",
)
def test_a_player_that_breaks_is_named_and_the_tournament_goes_on(player: Any) -> None:
    results = run_tournament(
        [("broken", player), ("low", Lowest())], rules="oh_hell", deals=3, seed=1
    )
    data = figures(results)
    assert data["entrants"]["low"]["faults"] == 0
    decisions = results.entrants[0].decisions
    assert data["entrants"]["broken"]["faults"] == decisions > 0
    text = io.StringIO()
    print_report(results, Console(file=text, width=150))
    assert f"broken: {decisions} faults, each replaced by a random legal move" in text.getvalue()


def test_only_the_broken_decisions_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entrants_module, "FAULT_LIMIT", 1000)
    entrants = [("sometimes", RaisesSometimes()), ("low", Lowest())]
    results = run_tournament(entrants, rules="oh_hell", deals=4, seed=1, hand_size=2)
    sometimes = results.entrants[0]
    bids = 4 * 4 * 4  # blocks, rotations, and 1 + 3 seats of the two pairings
    assert 0 < sometimes.faults <= bids < sometimes.decisions
    assert sometimes.first_fault == "ValueError: never nil"


def test_a_player_with_act_alone_takes_part() -> None:
    asked = run_tournament(
        [("one", OnlyAct()), ("two", Lowest())], rules="oh_hell", deals=3, seed=1
    )
    data = figures(asked)
    assert data["pairs"]["one|two"]["difference"] == 0.0
    assert data["entrants"]["one"]["faults"] == 0


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("entrants", "what"),
    [
        (["random"], "a list of 2 to 1000 entrants"),
        ("random", "entrants: must be a list of players, got 'random'"),
        (["random", "heuristc"], "did you mean 'heuristic'"),
        (["random", "random"], "two entrants are called 'random'; .* second=random"),
        (["a|b=random", "random"], "unknown player"),
        ([("a|b", Lowest()), "random"], "without '|'"),
        (["random", 7], r"entrants\.1: a player must be SPEC, .*, got 7"),
        (["random", ("x", 7)], "has neither act_batch"),
    ],
)
def test_entrants_that_cannot_be(entrants: Any, what: str) -> None:
    with pytest.raises(OhHellError, match=what):
        run_tournament(entrants, rules="oh_hell", deals=2, seed=1)


def test_a_missing_checkpoint_is_one_line() -> None:
    with pytest.raises(CheckpointError, match="no such checkpoint"):
        run_tournament(["random", "runs/none/best"], rules="oh_hell", deals=2, seed=1)


@pytest.mark.parametrize("blocks", [0, -1, 2.5, "10", None, 10_000_001])
def test_blocks_are_counted(blocks: Any) -> None:
    with pytest.raises(OhHellError, match=r"^deals: .*, got "):
        run_tournament(["random", "heuristic"], rules="oh_hell", deals=blocks, seed=1)


def test_numbers_that_the_rules_refuse() -> None:
    with pytest.raises(RulesError, match="seed"):
        run_tournament(["random", "heuristic"], rules="oh_hell", deals=2, seed=-1)
    with pytest.raises(RulesError, match="cannot be dealt"):
        run_tournament(["random", "heuristic"], rules="oh_hell", deals=2, seed=1, hand_size=20)
    with pytest.raises(OhHellError, match="design"):
        run_tournament(["random", "heuristic"], rules="oh_hell", deals=2, seed=1, design="swiss")


# -------------------------------------------------------- statistics and files


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.7062), (2, 4.30265), (3, 3.18245), (4, 2.77645), (9, 2.26216), (100, 1.98397)],
)
def test_students_quantiles(degrees: int, quantile: float) -> None:
    assert student_quantile(degrees) == pytest.approx(quantile, abs=1e-5)


def test_an_interval() -> None:
    mean, bounds = interval(np.array([1.0, 2.0, 3.0]))
    assert mean == 2.0
    half = student_quantile(2) / math.sqrt(3)
    assert bounds == pytest.approx((2 - half, 2 + half))
    assert interval(np.array([5.0])) == (5.0, None)


def test_ratings_are_finite_and_know_no_order() -> None:
    pytest.importorskip("openskill")
    scores = np.tile([3.0, 1.0, 1.0], (50, 1))
    ratings = rate(["strong", "b", "a"], scores)
    again = rate(["a", "strong", "b"], scores[:, [2, 0, 1]])
    assert ratings == again
    assert ratings["a"] == ratings["b"] != ratings["strong"]
    values = [row[key] for row in ratings.values() if row for key in ("mu", "sigma")]
    assert len(values) == 6
    assert all(value is not None and math.isfinite(value) for value in values)


def test_one_block_has_no_interval(tmp_path: Path) -> None:
    results = run_tournament(["random", "heuristic"], rules="oh_hell", deals=1, seed=1)
    data = json.loads(results.save(tmp_path).read_text(encoding="utf-8"))
    assert data["pairs"]["random|heuristic"]["ci95"] is None
    assert data["pairs"]["random|heuristic"]["blocks"] == 1


def test_files_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "results"
    entrants = ["random", ("low", Lowest())]
    config = TournamentConfig(
        entrants=entrants, players=3, deals=4, out=out, hand_size=2, report=False
    )
    cli_run(config, show_progress=False)
    data = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert (data["players"], data["blocks"], data["seed"], data["hand_size"]) == (3, 4, 5, 2)
    assert Rules.from_dict(data["rules"]) == Rules.preset("oh_hell", players=3)
    assert "seconds" not in (out / "results.json").read_text(encoding="utf-8")
    assert (
        json.loads((out / "timings.json").read_text(encoding="utf-8"))["entrants"]["low"][
            "decisions"
        ]
        > 0
    )
    names = ["results.json", "timings.json", "tournament.sqlite"]
    assert sorted(path.name for path in out.iterdir()) == names
    printed = capsys.readouterr().out
    assert "random" in printed and "low" in printed and "95 %" in printed


def test_a_folder_that_cannot_be_is_found_before_the_cards_are_dealt(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(OhHellError, match="cannot write results there"):
        out = tmp_path / "file" / "results"
        cli_run(TournamentConfig(entrants=["random", "heuristic"], out=out))


def test_results_from_before_survive_a_failed_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = run_tournament(["random", "heuristic"], rules="oh_hell", deals=2, seed=1)
    before = results.save(tmp_path).read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OhHellError, match="No space left on device"):
        run_tournament(["random", "heuristic"], rules="oh_hell", deals=3, seed=2).save(tmp_path)
    assert (tmp_path / "results.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.json", "timings.json"]
