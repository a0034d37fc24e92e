"""Intervals that hold as often as they say, for one look and for many."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ohhell_train.tournament.analysis import statistics
from ohhell_train.tournament.analysis.statistics import (
    MIN_BLOCKS,
    Comparison,
    anytime,
    blocks_needed,
    bootstrap,
    compare,
    holm,
    interval,
    settled,
)

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

RUNS = 400
COVERED = stats.binom(RUNS, 0.95).ppf([0.001, 0.999])
"""How many of RUNS intervals at 95 % hold the truth, in all but 2 of 1,000 cases."""


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def tournament(rng: np.random.Generator, means: list[float], blocks: int, present: float) -> Floats:
    """Points in blocks whose cards are good or bad for everybody: float64 (E, B)."""
    cards = 5.0 * rng.standard_normal(blocks)
    values = np.array(means)[:, None] + cards + 4.0 * rng.exponential(size=(len(means), blocks)) - 4
    values[rng.random(values.shape) >= present] = np.nan
    return values


def ties(share: float) -> Draw:
    """Ties in this share of the blocks, in the others 10 points to one side or the other."""

    def draw(rng: np.random.Generator, blocks: int) -> Floats:
        return np.where(rng.random(blocks) < share, 0.0, rng.choice([-10.0, 10.0], blocks))

    return draw


def ties_and_noise(rng: np.random.Generator, blocks: int) -> Floats:
    return ties(0.7)(rng, blocks) + np.where(rng.random(blocks) < 0.5, 0.0, rng.normal(size=blocks))


def seldom_won(rng: np.random.Generator, blocks: int) -> Floats:
    return np.where(rng.random(blocks) < 0.1, 9.0, -1.0)


DRAWS: dict[str, Draw] = {
    "light": lambda rng, blocks: rng.normal(size=blocks),
    "heavy": lambda rng, blocks: rng.standard_t(3, size=blocks),
    "ten points": ties(0.0),
    "half ties": ties(0.5),
    "nearly all ties": ties(0.95),
    "ties and noise": ties_and_noise,
    "seldom won": seldom_won,
}
"""Values of blocks whose true mean is 0."""


# ------------------------------------------------------------------ one look


def test_the_interval_is_scipys() -> None:
    values = generator(1).exponential(size=30)
    mean, ends = interval(values)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert mean == pytest.approx(values.mean())
    assert ends == pytest.approx((expected.low, expected.high))


def test_the_interval_leaves_absences_out() -> None:
    assert interval(np.array([1.0, np.nan, 2.0, 3.0])) == interval(np.array([1.0, 2.0, 3.0]))
    assert interval(np.array([np.nan, 7.0])) == (7.0, None)
    mean, ends = interval(np.array([np.nan]))
    assert math.isnan(mean)
    assert ends is None


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_interval_holds_the_truth_in_95_of_100(draw: Draw) -> None:
    rng = generator(2)
    held = 0
    for _ in range(RUNS):
        _, ends = interval(draw(rng, 400))
        assert ends is not None
        held += ends[0] <= 0.0 <= ends[1]
    assert COVERED[0] <= held <= COVERED[1]


@pytest.mark.parametrize("present", [1.0, 0.6])
def test_the_bootstrap_holds_the_truth_in_95_of_100(present: float) -> None:
    rng, means = generator(3), [0.0, 3.0]
    held = np.zeros(2)
    for run in range(RUNS):
        ends = bootstrap(tournament(rng, means, 200, present), run, resamples=500)
        held += (ends[:, 0] <= means) & (ends[:, 1] >= means)
    assert (held >= COVERED[0]).all()
    assert (held <= COVERED[1]).all()


@pytest.mark.parametrize("present", [1.0, 0.6])
def test_bootstrap_and_t_agree(present: float) -> None:
    values = tournament(generator(4), [0.0, 1.0, 5.0], 500, present)
    for row, (low, high) in zip(values, bootstrap(values, 1), strict=True):
        mean, ends = interval(row)
        assert ends is not None
        assert (high - low) == pytest.approx(ends[1] - ends[0], rel=0.04)
        assert (low + high) / 2 == pytest.approx(mean, abs=0.04 * (high - low))


def test_the_bootstrap_repeats_itself() -> None:
    values = tournament(generator(5), [0.0, 1.0], 200, 0.8)
    assert bootstrap(values, 1).tobytes() == bootstrap(values, 1).tobytes()
    assert (bootstrap(values, 1) != bootstrap(values, 2)).all()


def test_the_bootstrap_draws_all_blocks_anew_in_every_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = tournament(generator(5), [0.0, 1.0], 200, 0.8)
    whole = bootstrap(values, 1, resamples=1000)
    monkeypatch.setattr(statistics, "_CHUNK", 200 * 7)  # seven resamples at a time, and a rest
    np.testing.assert_allclose(bootstrap(values, 1, resamples=1000), whole)


def test_entrants_are_drawn_the_same_blocks() -> None:
    one = tournament(generator(6), [0.0], 100, 1.0)
    ends = bootstrap(np.concatenate([one, one + 3.0, -one]), 1)
    np.testing.assert_allclose(ends[1], ends[0] + 3.0)
    np.testing.assert_allclose(ends[2], -ends[0][::-1])


def test_bootstrap_of_too_little() -> None:
    assert np.isnan(bootstrap(np.array([[1.0], [2.0]]), 1)).all()
    values = np.array([[1.0, 2.0, 4.0], [np.nan, 5.0, np.nan], [np.nan] * 3])
    ends = bootstrap(values, 1)
    assert np.isfinite(ends[0]).all()
    assert np.isnan(ends[1:]).all()
    absent_often = np.array([[1.0, 2.0, *[np.nan] * 8]])
    np.testing.assert_array_equal(bootstrap(absent_often, 1), [[1.0, 2.0]])


@pytest.mark.slow
def test_fifty_entrants_are_done_in_seconds() -> None:
    values = tournament(generator(7), [0.0] * 50, 2000, 0.7)
    start = time.perf_counter()
    bootstrap(values, 1)
    assert time.perf_counter() - start < 3.0
    start = time.perf_counter()
    settled(values, 100.0)
    assert time.perf_counter() - start < 3.0


# --------------------------------------------------------------- differences


def test_compare_is_the_paired_t_where_both_play_everywhere() -> None:
    values = tournament(generator(8), [0.0, 1.0], 40, 1.0)
    found = compare(values, 1, 0)
    paired = stats.ttest_rel(values[1], values[0])
    assert found.ci95 == pytest.approx(paired.confidence_interval(0.95))
    assert found.p == pytest.approx(paired.pvalue)
    assert found.difference == pytest.approx((values[1] - values[0]).mean())
    assert (found.degrees, found.blocks) == (39, 40)


def test_compare_by_hand_where_they_met_once() -> None:
    nan = np.nan
    values = np.array([[2.0, 4.0, nan, nan, nan], [nan, 1.0, 3.0, 5.0, nan]])
    # x = (2 - 3) / 2, (4 - 3) / 2 - (1 - 3) / 3, -(3 - 3) / 3, -(5 - 3) / 3
    variance = 4 / 3 * ((1 / 2) ** 2 + (1 / 2 + 2 / 3) ** 2 + (2 / 3) ** 2)
    found = compare(values, 0, 1)
    assert found.difference == 0.0
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    assert (found.degrees, found.blocks, found.p) == (1, 4, 1.0)


def test_compare_without_a_common_block_is_nearly_welchs() -> None:
    values = tournament(generator(9), [0.0, 1.0], 400, 1.0)
    values[0, :200] = values[1, 200:] = np.nan
    found = compare(values, 1, 0)
    t, p = stats.ttest_ind(values[1, :200], values[0, 200:], equal_var=False)
    assert found.standard_error is not None
    assert found.difference / found.standard_error == pytest.approx(t, rel=0.01)
    assert found.p == pytest.approx(p, rel=0.05)


def test_the_other_way_round_is_the_opposite() -> None:
    values = tournament(generator(10), [0.0, 1.0], 60, 0.7)
    there, back = compare(values, 0, 1), compare(values, 1, 0)
    assert there.ci95 is not None
    assert back.ci95 == pytest.approx((-there.ci95[1], -there.ci95[0]))
    assert (back.difference, back.p) == pytest.approx((-there.difference, there.p))


@pytest.mark.parametrize("present", [1.0, 0.6, 0.2])
def test_compare_holds_the_truth_in_95_of_100(present: float) -> None:
    rng = generator(11)
    held = significant = 0
    for _ in range(RUNS):
        values = tournament(rng, [0.0, 2.0, 2.0], 100, present)
        low, high = compare(values, 1, 0).ci95 or (0.0, 0.0)
        held += low <= 2.0 <= high
        significant += compare(values, 1, 2).p < 0.05
    assert COVERED[0] <= held <= COVERED[1]
    assert RUNS - COVERED[1] <= significant <= RUNS - COVERED[0]


def test_compare_holds_where_one_played_seldom() -> None:
    rng = generator(12)
    held = 0
    for _ in range(RUNS):
        values = tournament(rng, [0.0, 2.0], 120, 1.0)
        values[1, 20:] = np.nan
        low, high = compare(values, 1, 0).ci95 or (0.0, 0.0)
        held += low <= 2.0 <= high
    assert COVERED[0] <= held <= COVERED[1]


def test_no_spread_is_certainty() -> None:
    rng = generator(13)
    cards = rng.normal(size=300) * 7.3
    values = np.stack([cards, cards, cards + 0.1])
    for at_any_time in (False, True):
        equal = compare(values, 0, 1, at_any_time)
        assert (equal.difference, equal.ci95, equal.p) == (0.0, (0.0, 0.0), 1.0)
        ahead = compare(values, 2, 0, at_any_time)
        assert ahead.difference == pytest.approx(0.1)
        assert (ahead.ci95, ahead.p) == ((ahead.difference, ahead.difference), 0.0)


@pytest.mark.parametrize("row", [[5.0, np.nan, np.nan], [np.nan, np.nan, np.nan]])
def test_too_few_blocks_say_nothing(row: list[float]) -> None:
    found = compare(np.array([[1.0, 2.0, 4.0], row]), 0, 1)
    assert (found.ci95, found.standard_error, found.p, found.degrees) == (None, None, 1.0, 0)
    assert math.isnan(found.difference) == math.isnan(row[0])
    assert blocks_needed(found) is None


@pytest.mark.parametrize("present", [1.0, 0.5])
def test_the_blocks_needed_find_a_difference_in_80_of_100(present: float) -> None:
    rng, means, runs = generator(14), [0.0, 1.0], 800
    pilot = compare(tournament(rng, means, 200_000, present), 1, 0)
    blocks = blocks_needed(pilot)
    assert blocks is not None
    columns = math.ceil(blocks / (1.0 - (1.0 - present) ** 2))  # in some neither of them plays
    found = 0
    for _ in range(runs):
        low, _ = compare(tournament(rng, means, columns, present), 1, 0).ci95 or (0.0, 0.0)
        found += low > 0.0
    assert 0.75 <= found / runs <= 0.85


def test_blocks_needed_by_hand() -> None:
    pilot = Comparison(1.0, (0.0, 2.0), 0.5, 0.05, 99, 100)  # 5 points of spread per block
    assert blocks_needed(pilot) == math.ceil((1.959964 + 0.841621) ** 2 * 25)
    assert blocks_needed(Comparison(0.0, (-1.0, 1.0), 0.5, 1.0, 99, 100)) is None
    assert blocks_needed(Comparison(1.0, (1.0, 1.0), 0.0, 0.0, 99, 100)) == 2


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7, 0.8]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_holm_seldom_finds_what_is_not_there() -> None:
    rng = generator(15)
    false = sum(min(holm(rng.random(10).tolist())) < 0.05 for _ in range(RUNS))
    assert RUNS - COVERED[1] <= false <= RUNS - COVERED[0]


# ----------------------------------------------------------------- many looks

LOOKS = range(MIN_BLOCKS, 5001, 50)


def missed(ends: tuple[float, float] | None) -> bool:
    assert ends is not None
    return not ends[0] <= 0.0 <= ends[1]


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_anytime_intervals_hold_at_every_look(draw: Draw) -> None:
    rng = generator(16)
    misses = 0
    for _ in range(RUNS):
        values = draw(rng, LOOKS[-1])
        misses += any(missed(anytime(values[:blocks])[1]) for blocks in LOOKS)
    assert misses <= 0.05 * RUNS


def test_plain_intervals_do_not() -> None:
    rng = generator(17)
    misses = 0
    for _ in range(100):
        values = rng.normal(size=LOOKS[-1])
        misses += any(missed(interval(values[:blocks])[1]) for blocks in LOOKS)
    assert misses > 20


@pytest.mark.parametrize("present", [1.0, 0.6])
def test_anytime_differences_hold_at_every_look(present: float) -> None:
    rng, first = generator(18), MIN_BLOCKS * 2
    misses = found = 0
    for _ in range(RUNS // 2):
        values = tournament(rng, [0.0, 0.0], 3000, present)
        looks = [compare(values[:, :n], 0, 1, True) for n in range(first, 3001, 50)]
        misses += any(missed(look.ci95) for look in looks)
        found += min(look.p for look in looks) < 0.05
    assert misses == found <= 0.05 * RUNS / 2


def test_anytime_by_hand() -> None:
    values = generator(19).normal(size=500) + 2.0
    mean, ends = anytime(values)
    alpha = 0.05
    best = min(  # over rho, as the interval is tuned for 500 blocks
        2 * (500 * rho**2 + 1) / (500 * rho) ** 2 * math.log(math.sqrt(500 * rho**2 + 1) / alpha)
        for rho in np.linspace(0.01, 1.0, 2000)
    )
    half = float(values.std(ddof=1)) * math.sqrt(best)
    assert ends == pytest.approx((mean - half, mean + half), rel=1e-5)
    paired = compare(np.stack([values, np.zeros(500)]), 0, 1, anytime=True)
    assert paired.ci95 == pytest.approx(ends)


def test_anytime_intervals_say_nothing_too_early() -> None:
    values = generator(20).normal(size=MIN_BLOCKS)
    assert anytime(values)[1] is not None
    assert anytime(values[1:]) == (float(values[1:].mean()), None)
    rows = np.stack([np.r_[np.nan, values], np.r_[values, 0.0]])
    assert compare(rows, 0, 1, anytime=True).ci95 is not None
    early = compare(rows[:, :-1], 0, 1, anytime=True)
    assert (early.ci95, early.p) == (None, 1.0)


# ------------------------------------------------------------------- settled


def test_settled_when_apart_or_close() -> None:
    values = tournament(generator(21), [0.0, 0.0, 10.0], 1000, 0.8)
    for pair, close in (((0, 1), False), ((0, 2), True), ((1, 2), True)):
        assert settled(values[list(pair)], 0.1) is close
    assert not settled(values, 0.1)
    assert settled(values, 2.0)


def test_close_means_all_of_the_interval() -> None:
    values = tournament(generator(21), [0.0, 0.1], 1000, 1.0)
    for rows in (values, values[::-1]):
        low, high = compare(rows, 0, 1, anytime=True).ci95 or (0.0, 0.0)
        assert low < 0.0 < high
        assert settled(rows, max(-low, high) + 1e-9)
        assert not settled(rows, max(-low, high) - 1e-9)


def test_not_settled_before_the_first_look() -> None:
    values = np.zeros((2, MIN_BLOCKS))
    assert settled(values, 0.0)
    assert not settled(values[:, 1:], 1.0)
    values[0, 0] = np.nan
    assert not settled(values, 1.0)


def test_stopping_when_settled_finds_no_false_winner() -> None:
    rng = generator(22)
    wrong = 0
    for _ in range(RUNS // 2):
        values = tournament(rng, [0.0, 0.0], 3000, 1.0)
        stop = next((n for n in range(200, 3001, 50) if settled(values[:, :n], 0.3)), 3000)
        wrong += compare(values[:, :stop], 0, 1, anytime=True).p < 0.05
    assert wrong <= 0.05 * RUNS / 2
