"""Ratings: finite, the same for every order of the entrants, on a scale that an anchor fixes."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from ohhell_env.errors import OhHellError
from ohhell_train.tournament.analysis.rating import rate


def rated(
    names: list[str], scores: NDArray[np.float64], anchor: str | None = None
) -> dict[str, dict[str, float]]:
    """The ratings, every figure of which is a finite number."""
    pytest.importorskip("openskill")
    found: dict[str, dict[str, float]] = {}
    for name, row in rate(names, scores, anchor).items():
        assert row is not None
        keys = ("mu", "sigma", "above_anchor", "above_anchor_sigma")[: 4 if anchor else 2]
        found[name] = {key: value for key in keys if (value := row[key]) is not None}
        assert tuple(found[name]) == keys
        assert all(math.isfinite(value) for value in found[name].values())
    return found


def scores_of(skills: list[float], blocks: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.Generator(np.random.Philox(seed))
    return np.array(skills) + rng.normal(size=(blocks, len(skills)))


@pytest.mark.parametrize("blocks", [1, 20, 2000])
def test_all_wins_are_finite(blocks: int) -> None:
    found = rated(["winner", "loser"], np.tile([1.0, 0.0], (blocks, 1)), "loser")
    assert found["winner"]["mu"] > 25.0 > found["loser"]["mu"]
    assert found["winner"]["above_anchor"] > 0.0
    assert 0.0 < found["winner"]["sigma"] < 25.0 / 3.0


def test_no_game_leaves_a_newcomer() -> None:
    scores = np.array([[1.0, np.nan, np.nan], [np.nan, 2.0, np.nan]])  # nobody met anybody
    for row in rated(["a", "b", "c"], scores).values():
        assert (row["mu"], row["sigma"]) == pytest.approx((25.0, 25.0 / 3.0))
    assert rated(["a", "b"], np.empty((0, 2)))["a"]["mu"] == 25.0


def test_the_order_of_the_entrants_plays_no_part() -> None:
    names = ["d", "b", "a", "c"]
    scores = np.round(scores_of([0.0, 0.5, 0.0, 1.0], 60, 1))
    scores[scores_of([0.0] * 4, 60, 2) > 0.8] = np.nan
    expected = rated(names, scores, "b")
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        assert rated([names[place] for place in order], scores[:, order], "b") == expected


def test_copies_lie_within_each_others_intervals() -> None:
    for seed in range(10):
        found = rated(["x", "y", "z", "strong"], scores_of([0.0, 0.0, 0.0, 1.0], 300, seed))
        strong = found.pop("strong")
        for one in found.values():
            assert strong["mu"] - strong["sigma"] > one["mu"] + one["sigma"]
            for other in found.values():
                assert abs(one["mu"] - other["mu"]) <= 1.96 * (one["sigma"] + other["sigma"])


def test_equal_play_is_rated_equal() -> None:
    found = rated(["a", "b", "c"], np.tile([1.0, 1.0, 3.0], (40, 1)))
    assert found["a"] == found["b"]
    nearly = rated(["a", "b", "c"], np.tile([1.0, 1.0 + 1e-12, 3.0], (40, 1)))
    assert nearly == found


@pytest.mark.parametrize("blocks", [1, 5, 200])
def test_those_who_tie_for_first_are_above_whoever_follows(blocks: int) -> None:
    names = list("ABCDEFGH")
    for ties in range(2, 8):
        scores = [5.0] * ties + [3.0 - place for place in range(len(names) - ties)]
        found = rated(names, np.tile(scores, (blocks, 1)))
        mus = [found[name]["mu"] for name in names]
        assert mus[:ties] == pytest.approx([mus[0]] * ties)
        assert mus[ties - 1 :] == sorted(set(mus[ties - 1 :]), reverse=True)


def test_those_who_tie_in_the_middle_or_last_are_rated_equal_there() -> None:
    found = rated(list("abcde"), np.tile([4.0, 2.0, 2.0, 1.0, 1.0], (40, 1)))
    mus = [found[name]["mu"] for name in "abcde"]
    assert mus[0] > mus[1] == pytest.approx(mus[2])
    assert mus[2] > mus[3] == pytest.approx(mus[4])


@pytest.mark.parametrize("players", [2, 3, 5, 7])
@pytest.mark.parametrize("seed", range(3))
def test_ratings_keep_the_order_of_the_points_where_most_blocks_tie(
    players: int, seed: int
) -> None:
    """As at one to three cards: nine of ten blocks are equal, differences of a point decide."""
    rng = np.random.Generator(np.random.Philox(seed))
    misses = np.linspace(0.02, 0.3, players)
    scores = -(rng.random((1500, players)) < misses).astype(np.float64)
    names = [f"p{place}" for place in range(players)]
    found = rated(names, scores)
    for a in range(players):
        for b in range(a + 1, players):
            apart = scores[:, a] - scores[:, b]
            if abs(apart.mean()) > 3.0 * apart.std() / math.sqrt(len(apart)):
                assert (found[f"p{a}"]["mu"] > found[f"p{b}"]["mu"]) == (apart.mean() > 0.0)


@pytest.mark.parametrize("players", [2, 4, 7])
def test_equal_players_are_rated_equal_within_the_noise(players: int) -> None:
    rng = np.random.Generator(np.random.Philox(players))
    scores = np.round(0.5 * rng.normal(size=(600, players)))
    rows = list(rated([f"p{place}" for place in range(players)], scores).values())
    for one in rows:
        for other in rows:
            assert abs(one["mu"] - other["mu"]) < 3.0 * math.hypot(one["sigma"], other["sigma"])


def test_the_order_of_the_blocks_plays_no_part() -> None:
    scores = np.round(scores_of([0.0, 0.5, 0.0, 1.0], 60, 1))
    scores[scores_of([0.0] * 4, 60, 2) > 0.8] = np.nan
    names = list("abcd")
    expected = rated(names, scores, "b")
    assert rated(names, scores[::-1], "b") == expected
    assert rated(names, scores[np.lexsort(scores.T)], "b") == expected


def test_the_absent_play_no_part_in_a_block() -> None:
    scores = scores_of([0.0, 1.0, 0.5], 50, 3)
    scores[:, 2] = np.nan
    found = rated(["a", "b", "absent"], scores)
    assert found.pop("absent")["mu"] == 25.0
    assert found == rated(["a", "b"], scores[:, :2])


def test_the_anchor_is_the_zero_of_the_scale() -> None:
    found = rated(["a", "b", "c"], scores_of([0.0, 1.0, 2.0], 100, 4), "b")
    assert (found["b"]["above_anchor"], found["b"]["above_anchor_sigma"]) == (0.0, 0.0)
    for name in ("a", "c"):
        assert found[name]["above_anchor"] == found[name]["mu"] - found["b"]["mu"]
        width = math.hypot(found[name]["sigma"], found["b"]["sigma"])
        assert found[name]["above_anchor_sigma"] == pytest.approx(width)
    assert found["a"]["above_anchor"] < 0.0 < found["c"]["above_anchor"]
    plain = rate(["a", "b", "c"], scores_of([0.0, 1.0, 2.0], 100, 4))["a"]
    assert plain is None or plain["above_anchor"] is plain["above_anchor_sigma"] is None


def test_an_anchor_makes_tournaments_comparable() -> None:
    """One player against the anchor, among weak and among strong others."""
    weak = rated(["anchor", "one", "p", "q"], scores_of([0.0, 0.5, -1.0, -1.0], 1000, 5), "anchor")
    strong = rated(["anchor", "one", "p", "q"], scores_of([0.0, 0.5, 1.0, 1.0], 1000, 6), "anchor")
    apart = abs(weak["one"]["mu"] - strong["one"]["mu"])
    anchored = abs(weak["one"]["above_anchor"] - strong["one"]["above_anchor"])
    assert anchored < 1.96 * weak["one"]["above_anchor_sigma"]
    assert anchored < apart / 3


def test_an_unknown_anchor_is_refused() -> None:
    with pytest.raises(OhHellError, match=r"anchor: 'hueristic' .* 'heuristic'"):
        rate(["heuristic", "random"], np.zeros((2, 2)), "hueristic")


@pytest.mark.slow
def test_fifty_entrants_are_rated_in_seconds() -> None:
    scores = scores_of([0.0] * 50, 2000, 7)
    start = time.perf_counter()
    rated([f"player {place}" for place in range(50)], scores, "player 0")
    assert time.perf_counter() - start < 10.0
