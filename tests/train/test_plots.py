"""``ohhell_train.plots``: what is drawn is what was measured, with its intervals and labels."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

import ohhell_agents
from ohhell_env.errors import OhHellError
from ohhell_env.rules import Rules
from ohhell_train import plots
from ohhell_train.bidding.bids import BIDS
from ohhell_train.bidding.calibration import CHANCE, POINTS, TRICKS, calibration_rows, main_rows
from ohhell_train.bidding.cli import bidding_report
from ohhell_train.bidding.files import write_files
from ohhell_train.bidding.report import Report
from ohhell_train.bidding.shares import share
from ohhell_train.charts import (
    COLOURS,
    FEW,
    MARKS,
    OFF_BY,
    OFF_COLOURS,
    Point,
    common,
    draw_line,
)
from ohhell_train.counterfactual.config import CounterfactualConfig
from ohhell_train.distill.config import DistillConfig
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.tournament import Results, run_tournament
from ohhell_train.tournament.analysis.statistics import interval
from ohhell_train.tournament.pages.content import ranking
from ohhell_train.tournament.tables import Deals

ROOT = Path(__file__).parent.parent.parent
Drawn = list[tuple[float, float, float, float]]
"""Place, value, and the ends of its bar."""


@pytest.fixture(scope="module")
def report() -> Report:
    return bidding_report("heuristic", "self", Deals(Rules.preset("oh_pshaw", 3), 5), 150)


@pytest.fixture(scope="module")
def results() -> Results:
    odd = ("$x^2$", ohhell_agents.make("zoo:universal", seed=1))
    return run_tournament(["random", "heuristic", odd], rules="oh_hell", deals=60, seed=5)


def drawn(axes: Axes) -> list[Drawn]:
    """Returns the values and intervals that were drawn, line by line."""
    found = []
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            line, _, bars = container.lines
            assert line is not None and len(bars) == 1
            xs, ys = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
            ends = [s[:, 1] if s.ndim == 2 else [np.nan] * 2 for s in bars[0].get_segments()]
            every = zip(xs, ys, ends, strict=True)
            found.append([(x, y, *map(float, e)) for x, y, e in every if not np.isnan(y)])
    return found


def labels(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text().replace("\n", " ") for text in legend.get_texts()]


def made(report: Report, **where: int) -> tuple[int, int]:
    own = report.bids
    for name, value in where.items():
        own = own[own[name] == value]
    return int((own["bid"] == own["tricks"]).sum()), len(own)


@pytest.mark.parametrize("by", ["hand_size", "seat", "bid"])
def test_made_rates_of_a_player(report: Report, by: str) -> None:
    column = "place" if by == "seat" else by
    axes = plots.made_rates(report, by)
    (line,) = drawn(axes)
    values, counts = np.unique(report.bids[column], return_counts=True)
    assert [x for x, *_ in line] == values[counts >= FEW].tolist()
    for x, rate, low, high in line:
        hits, count = made(report, **{column: int(x)})
        assert (rate, low, high) == pytest.approx(share(hits, count))
    assert labels(axes) == [f"n = {counts[counts >= FEW].sum():,} bids"]
    assert axes.get_ylabel() == "bids made" and axes.get_ylim() == (0.0, 1.0)
    assert axes.yaxis.get_major_formatter()(0.25, 0) == "25 %"  # type: ignore[operator]
    assert axes.get_xlabel().startswith({"seat": "place", "bid": "bid"}.get(by, "hand size"))


def marks(axes: Axes) -> list[float]:
    """Returns the marks of the lower axis that are seen."""
    low, high = axes.get_xlim()
    return [mark for mark in axes.get_xticks() if low <= mark <= high]


@pytest.mark.parametrize("size", [1, 5, 10])
def test_one_hand_size_is_marked_by_a_whole_number(size: int) -> None:
    report = bidding_report("random", "self", Deals(Rules.preset("oh_pshaw", 3), 5, size), 20)
    assert marks(plots.made_rates(report)) == [size]
    assert marks(plots.tricks_off(report)) == [size]
    for axes in (plots.made_rates(report, "seat"), plots.made_rates(report, "bid")):
        assert marks(axes) and all(mark == round(mark) for mark in marks(axes))
    by_bid = marks(plots.tricks_by_bid(report))
    assert by_bid and all(mark == round(mark) for mark in by_bid)
    played = run_tournament(
        ["random", "heuristic"], rules="oh_hell", deals=10, seed=5, hand_size=size
    )
    assert marks(plots.made_rates(played)) == [size]


def test_one_measurement_is_marked_by_a_whole_number_of_decisions(tmp_path: Path) -> None:
    run = counterfactual_run(tmp_path)
    rows = [{"round": 1, "decisions": 3, "seconds": 30, "over_heuristic": 0.1}]
    _write(run / "metrics.csv", rows)
    assert marks(plots.learning_curves([run])) == [3]


def test_a_line_is_broken_where_a_value_is_left_out() -> None:
    counts = {1: 40, 2: 40, 3: 8, 4: 40, 5: 9, 6: 40, 7: 5}
    bids = np.concatenate([bids_of(size, count) for size, count in counts.items()])
    axes = plots.made_rates(bids)
    line = axes.containers[0][0]
    xs, ys = (np.asarray(each, np.float64) for each in (line.get_xdata(), line.get_ydata()))
    assert xs.tolist() == [1, 2, 3, 4, 5, 6]
    assert np.isnan(ys).tolist() == [False, False, True, False, True, False]
    assert [x for x, *_ in drawn(axes)[0]] == [1, 2, 4, 6]
    assert labels(axes) == ["n = 160 bids"]
    by_bid = bids_of(5, 200)
    by_bid["bid"] = np.repeat([0, 1, 2], [90, 20, 90])
    line = plots.tricks_by_bid(by_bid).containers[0][0]
    ys = np.asarray(line.get_ydata(), np.float64)
    assert np.isnan(ys).tolist() == [False, True, False]


def bids_of(size: int, count: int) -> Any:
    """Returns so many bids of nil in deals of a size, half of which are made."""
    bids = np.zeros(count, BIDS)
    bids["hand_size"], bids["place"] = size, 1
    bids["tricks"][::2] = 1
    return bids


def test_files_and_rows_draw_the_same(report: Report, tmp_path: Path) -> None:
    write_files(tmp_path / "bidding", report.files())
    folder = tmp_path / "bidding"
    whole = drawn(plots.made_rates(report))
    assert np.allclose(drawn(plots.made_rates(folder)), whole, atol=1e-3)
    assert np.allclose(drawn(plots.made_rates(report.bids)), whole)
    told = drawn(plots.bid_calibration(report))
    for source in (folder, folder / "calibration.csv", str(folder), report.bids):
        assert np.allclose(drawn(plots.bid_calibration(source)), told, atol=1e-3)


def test_made_rates_of_a_tournament(results: Results, tmp_path: Path) -> None:
    axes = plots.made_rates(results)
    names = ranking(results.to_dict())
    lines = drawn(axes)
    assert len(lines) == len(names) == 3
    for name, line in zip(names, lines, strict=True):
        told = results.to_dict()["entrants"][name]["made_by_hand_size"]
        often = {int(key): row for key, row in told.items() if row["deals"] >= FEW}
        assert [x for x, *_ in line] == sorted(often)
        for x, rate, low, high in line:
            row = often[int(x)]
            assert rate == row["made_rate"] and low <= rate <= high
            alone = share(round(rate * row["deals"]), row["deals"])
            assert high - low > alone[2] - alone[1], "each hand met two fields and counts once"
    assert labels(axes)[0].startswith(f"{names[0]}, n = ")
    results.save(tmp_path)
    for source in (tmp_path, tmp_path / "results.json", results.to_dict()):
        assert drawn(plots.made_rates(source)) == lines
    assert len({line[0].get_color() for line in axes.containers}) == 3
    assert len({line[0].get_marker() for line in axes.containers}) == 3


def test_intervals_of_a_tournament_err_on_the_safe_side(
    results: Results,
) -> None:
    (everybody,) = [plots.made_rates(results, "seat")]
    for place, name in enumerate(ranking(results.to_dict())):
        seats = drawn(everybody)[place]
        own = results.names.index(name)
        _, ends = interval(results.figures.made[own])
        assert ends is not None
        # four seats, each with a quarter of the hands: the mean of them is twice as sure
        widths = [high - low for *_, low, high in seats]
        assert np.mean(widths) / 2 > 0.9 * (ends[1] - ends[0])


@pytest.mark.parametrize(
    ("design", "challenger", "name", "times"),
    [
        ("field", None, "a", 2),
        ("field", "a", "a", 2),
        ("field", "a", "b", 3),
        ("mixed", None, "a", 1),
    ],
)
def test_a_hand_that_is_played_again_counts_once(
    design: str, challenger: str | None, name: str, times: int
) -> None:
    row = {"made_by_bid": {"1": {"made_rate": 0.5, "deals": 600}}, "difference": 0.0}
    data = {
        "design": design,
        "challenger": challenger,
        "players": 4,
        "pairs": {},
        "entrants": {each: row | {"difference": -float(each == "c")} for each in "abc"},
    }
    line = drawn(plots.made_rates(data, "bid"))["abc".index(name)]
    assert line[0][1:] == pytest.approx(share(300 // times, 600 // times))


def test_standings(results: Results) -> None:
    data = results.to_dict()
    axes = plots.standings(results)
    names = ranking(data)
    assert [text.get_text() for text in axes.get_yticklabels()] == names
    assert not any(text.get_parse_math() for text in axes.get_yticklabels())
    bars = [line for line in axes.lines if len(np.asarray(line.get_xdata())) == 2][1:]
    dots = [line for line in axes.lines if len(np.asarray(line.get_xdata())) == 1]
    for place, name in enumerate(names):
        row = data["entrants"][name]
        assert np.asarray(bars[place].get_xdata()).tolist() == row["difference_ci95"]
        assert np.asarray(dots[place].get_xdata()).tolist() == [row["difference"]]
        assert np.asarray(dots[place].get_ydata()).tolist() == [place]
        half = (row["difference_ci95"][1] - row["difference_ci95"][0]) / 2
        written = f"{row['difference']:+.2f} ± {half:.2f}".replace("-", "−")
        assert axes.texts[place].get_text() == written
    assert axes.get_ylim() == (2.5, -0.5), "the best is at the top"
    assert "points a deal over the others" in axes.get_xlabel()
    assert "n = 60 deals, each in every seat; 95 % intervals" in axes.get_xlabel()


def test_standings_of_shares(results: Results) -> None:
    axes = plots.standings(results, "made_rate")
    assert axes.get_xlim() == (0.0, 1.0) and axes.get_xlabel().startswith("bids made")
    first = results.to_dict()["entrants"][ranking(results.to_dict())[0]]
    assert axes.texts[0].get_text().startswith(f"{first['made_rate']:.1%} ± ")


def test_tricks_by_bid(report: Report) -> None:
    axes = plots.tricks_by_bid(report)
    assert labels(axes)[0] == "made"
    size = int(labels(axes)[1].partition(" card")[0])
    own = report.bids[report.bids["hand_size"] == size]
    for bid, mean, low, high in drawn(axes)[0]:
        expected = interval(own["tricks"][own["bid"] == bid].astype(np.float64))
        assert (mean, (low, high)) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
    assert " bids" in labels(axes)[1]
    (right,) = [line for line in axes.lines if line.get_label() == "made"]
    assert np.array_equal(right.get_xdata(), right.get_ydata())


def test_tricks_off_the_bid_by_hand_size(report: Report) -> None:
    axes = plots.tricks_off(report)
    heights = np.array([[bar.get_height() for bar in part] for part in axes.containers])  # type: ignore[attr-defined]
    assert np.allclose(heights.sum(axis=0), 1.0)
    sizes, counts = np.unique(report.bids["hand_size"], return_counts=True)
    sizes, counts = sizes[counts >= FEW], counts[counts >= FEW]
    for size, share_made in zip(sizes, heights[OFF_BY.index("made")], strict=True):
        hits, count = made(report, hand_size=int(size))
        assert share_made == pytest.approx(hits / count)
    assert labels(axes) == list(OFF_BY[::-1])
    assert f"n = {counts.sum():,}" in axes.get_ylabel()


def test_tricks_off_the_bid_by_entrant(results: Results) -> None:
    axes = plots.tricks_off(results)
    data = results.to_dict()
    names = ranking(data)
    widths = np.array([[bar.get_width() for bar in part] for part in axes.containers])  # type: ignore[attr-defined]
    for place, name in enumerate(names):
        row = data["entrants"][name]
        assert widths[OFF_BY.index("made"), place] == pytest.approx(row["made_rate"], abs=1e-5)
        over = sum(part for key, part in row["off_by"].items() if int(key) >= 3)
        assert widths[-1, place] == pytest.approx(over)
        assert axes.get_yticklabels()[place].get_text() == f"{name}, n = {row['deals']:,}"
    assert labels(axes) == list(OFF_BY)


@pytest.mark.parametrize("quantity", [None, CHANCE, POINTS])
def test_calibration(report: Report, quantity: str | None) -> None:
    axes = plots.bid_calibration(report, quantity)
    own = main_rows(calibration_rows(report.bids), quantity or CHANCE)
    expected = [(row["predicted"], row["observed"], row["low"], row["high"]) for row in own]
    assert np.allclose(drawn(axes)[0], expected)
    assert labels(axes) == ["as forecast", f"n = {sum(row['hands'] for row in own):,} bids"]
    assert axes.get_xlabel().endswith("forecast")


def test_two_players_are_told_apart_in_one_plot(report: Report) -> None:
    axes = plots.bid_calibration(report, label="one")
    assert plots.bid_calibration(report, ax=axes, label="two") is axes
    assert [text.partition(",")[0] for text in labels(axes)].count("as forecast") == 1
    first, second = axes.containers
    assert first[0].get_color() != second[0].get_color()
    assert first[0].get_marker() != second[0].get_marker()


def test_made_rates_of_two_players_in_one_plot(report: Report, results: Results) -> None:
    axes = plots.made_rates(report, label="one")
    plots.made_rates(report, ax=axes, label="two")
    assert [text.partition(",")[0] for text in labels(axes)] == ["one", "two"]
    assert [container[0].get_color() for container in axes.containers] == list(COLOURS[:2])
    for _ in range(5):
        plots.made_rates(report, ax=axes)
    with pytest.raises(OhHellError, match="a plot has colours for 7 lines, got 10"):
        plots.made_rates(results, ax=axes)


def counterfactual_run(folder: Path) -> Path:
    settings = CounterfactualConfig.load(None, {"report": {"deals": 500}})
    (folder / "config.yaml").write_text(settings.resolved().to_yaml(), encoding="utf-8")
    rows = [
        {"round": 1, "decisions": 1000, "seconds": 30, "over_heuristic": 0.1},
        {"round": 2, "decisions": 1500, "seconds": 90, "over_heuristic": 0.3},
    ]
    _write(folder / "metrics.csv", rows)
    return folder


def ppo_run(folder: Path) -> Path:
    settings = PpoConfig.load(None, {"players": [4, 5], "layout": "universal"})
    (folder / "config.yaml").write_text(settings.resolved().to_yaml(), encoding="utf-8")
    rows = [
        {"decisions": 1000, "seconds": 30, "over_heuristic": -1.5},
        {"decisions": 2000, "seconds": 45, "over_heuristic": ""},
        {"decisions": 3000, "seconds": 60, "over_heuristic": -0.5},
    ]
    _write(folder / "metrics.csv", rows)
    return folder


def distill_run(folder: Path) -> Path:
    settings = DistillConfig.load(None, {"decisions": 1000, "report": {"deals": 50}})
    (folder / "config.yaml").write_text(settings.resolved().to_yaml(), encoding="utf-8")
    rows = [
        {"epoch": 1, "seconds": 60, "over_heuristic": ""},
        {"epoch": 2, "seconds": 90, "over_heuristic": -0.1},
    ]
    _write(folder / "metrics.csv", rows)
    return folder


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    whole = []
    for row in rows:
        mean = row["over_heuristic"]
        ends = ("", "") if mean == "" else (mean - 0.2, mean + 0.2)
        whole.append(row | {"over_heuristic_low": ends[0], "over_heuristic_high": ends[1]})
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(whole[0]))
        writer.writeheader()
        writer.writerows(whole)


def test_learning_curves_of_both_kinds_of_runs(tmp_path: Path) -> None:
    folders = [tmp_path / "cf", tmp_path / "ppo"]
    for folder in folders:
        folder.mkdir()
    runs = [counterfactual_run(folders[0]), ppo_run(folders[1])]
    axes = plots.learning_curves(runs)
    first, second = drawn(axes)
    assert np.allclose(first, [(1000, 0.1, -0.1, 0.3), (2500, 0.3, 0.1, 0.5)])
    assert np.allclose(second, [(1000, -1.5, -1.7, -1.3), (3000, -0.5, -0.7, -0.3)])
    deals = 2 * PpoConfig.model_validate({}).report.deals
    assert labels(axes) == [
        "cf, n ≤ 500 deals a point",
        f"ppo, n ≤ {deals:,} deals a point",
    ]
    assert axes.get_ylabel() == "points a deal over heuristic"
    assert axes.xaxis.get_major_formatter()(60_000, 0) == "60,000"  # type: ignore[operator]
    minutes = plots.learning_curves({"mine": runs[0]}, over="minutes")
    assert [x for x, *_ in drawn(minutes)[0]] == [0.5, 1.5]
    assert minutes.get_xlabel() == "minutes of training" and labels(minutes)[0].startswith("mine,")


def test_learning_curves_of_distillation(tmp_path: Path) -> None:
    axes = plots.learning_curves({"mine": distill_run(tmp_path)})
    assert np.allclose(drawn(axes)[0], [(2000, -0.1, -0.3, 0.1)])
    assert labels(axes) == ["mine, n ≤ 50 deals a point"]
    minutes = plots.learning_curves(tmp_path, over="minutes")
    assert [x for x, *_ in drawn(minutes)[0]] == [1.5]


@pytest.mark.parametrize("column", ["over_search:a=1,b=2", "over_search:a=1;b=2"])
def test_learning_curves_against_a_field_with_settings(tmp_path: Path, column: str) -> None:
    file = counterfactual_run(tmp_path) / "metrics.csv"
    measured = ",".join(f'"{column}{end}"' for end in ("", "_low", "_high"))
    _, _, rows = file.read_text(encoding="utf-8").partition("\n")
    file.write_text(f"round,decisions,seconds,{measured}\n{rows}", encoding="utf-8")
    assert len(drawn(plots.learning_curves(tmp_path, against="search:a=1,b=2"))[0]) == 2


def test_legends_do_not_cover_the_data(report: Report, results: Results, tmp_path: Path) -> None:
    both = plots.made_rates(report, label="a player with a name that is far too long for one line")
    plots.made_rates(report, ax=both)
    pair = Figure(figsize=(12, 4), layout="constrained").subplots(1, 2)
    for axes in (
        plots.made_rates(report),
        both,
        plots.made_rates(results),
        plots.tricks_by_bid(report),
        plots.tricks_off(report),
        plots.tricks_off(results),
        plots.bid_calibration(report),
        plots.learning_curves(counterfactual_run(tmp_path)),
        plots.made_rates(results, ax=pair[0]),
        plots.tricks_off(results, ax=pair[1]),
    ):
        axes.set_title("A title")
        figure, legend = axes.figure, axes.get_legend()
        assert figure is not None and legend is not None
        figure.draw_without_rendering()  # type: ignore[union-attr]
        data, box = axes.get_window_extent(), legend.get_window_extent()
        assert not data.overlaps(box)
        assert not axes.title.get_window_extent().overlaps(box)
        assert data.width > 0.3 * figure.bbox.width / len(figure.axes), "room for the data"
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 + 1, "the legend is all there"
    (first, second) = both.get_legend().get_texts()  # type: ignore[union-attr]
    assert first.get_text().splitlines() == [
        "a player with a name that",
        "is far too long for one",
        "line,",
        f"n = {second.get_text().removeprefix('n = ')}",
    ]


def test_values_of_few_cases_are_left_out_or_hollow() -> None:
    points = [Point(0, 0.5, FEW), Point(1, 0.6, FEW - 1), Point(2, 0.7, FEW, (0.6, 0.8))]
    assert common(points) == [points[0], points[2]]
    assert common(points[1:2]) == points[1:2], "better hollow than nothing"
    axes = Figure().add_subplot()
    draw_line(axes, points)
    (hollow,) = [line for line in axes.lines if line.get_markerfacecolor() == "#ffffff"]
    assert np.asarray(hollow.get_xdata()).tolist() == [1]
    assert drawn(axes)[0][2][2:] == (0.6, 0.8)


def test_nothing_global_is_touched(report: Report, results: Results) -> None:
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    given = Figure().add_subplot()
    for axes in (
        plots.made_rates(report, ax=given),
        plots.tricks_by_bid(report),
        plots.tricks_off(results),
        plots.bid_calibration(report),
        plots.standings(results),
    ):
        assert axes.figure is not None
        axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    assert dict(mpl.rcParams) == before and plt.get_fignums() == []
    assert given.containers, "it was drawn on the axes that were given"


def test_colours_and_marks_are_as_many_and_different() -> None:
    assert len(set(COLOURS)) == len(set(MARKS)) == len(COLOURS) == len(MARKS)
    assert len(set(OFF_COLOURS)) == len(OFF_BY)


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda r, t: plots.made_rates(r, "hand"), "did you mean 'hand_size'"),
        (lambda r, t: plots.made_rates([1, 2]), "must be a player's bids"),
        (lambda r, t: plots.made_rates({"a": 1}), "must be results of a tournament"),
        (lambda r, t: plots.made_rates(t / "nothing"), "cannot be read"),
        (lambda r, t: plots.standings(t), "cannot be read"),
        (lambda r, t: plots.standings(r, "points"), "mean_points"),
        (lambda r, t: plots.bid_calibration(r, TRICKS), "the player forecasts 'chance"),
        (lambda r, t: plots.bid_calibration([]), "forecasts nothing"),
        (lambda r, t: plots.learning_curves(t), "no training run here"),
        (lambda r, t: plots.learning_curves(t, over="hours"), "over: "),
        (lambda r, t: plots.learning_curves([]), "1 to 7"),
        (lambda r, t: plots.learning_curves(5), "must be folders of runs, got 5"),  # type: ignore[arg-type]
        (lambda r, t: plots.learning_curves([t, None]), "must be folders of runs"),  # type: ignore[list-item]
        (lambda r, t: plots.learning_curves("a" * 5000), "no training run here"),
        (lambda r, t: plots.made_rates("a\0b"), "cannot be read"),
        (lambda r, t: plots.bid_calibration([{}]), "must be rows from"),
        (
            lambda r, t: plots.learning_curves(counterfactual_run(t), against="random"),
            "has none against 'random'",
        ),
    ],
)
def test_mistakes(report: Report, tmp_path: Path, draw: Any, expected: str) -> None:
    with pytest.raises(OhHellError, match=re.escape(expected)):
        draw(report, tmp_path)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("{", encoding="utf-8")
    with pytest.raises(OhHellError, match=r"results\.json: is not JSON"):
        plots.standings(tmp_path)
    (tmp_path / "results.json").write_text(json.dumps([1]), encoding="utf-8")
    with pytest.raises(OhHellError, match="must be results of a tournament"):
        plots.standings(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, '{"entrants": {}, "pairs": {}, "design": "field"}'],
)
def test_results_of_no_tournament_are_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content, encoding="utf-8")
    with pytest.raises(OhHellError, match=r"is not JSON|must be results of a tournament"):
        plots.standings(tmp_path)


def test_results_without_figures_are_told(results: Results) -> None:
    data = results.to_dict()
    for entrants in ({}, 5, {"a": {}}, {"a": 5}):
        with pytest.raises(OhHellError, match="must be results of a tournament"):
            plots.tricks_off(data | {"entrants": entrants})


METRICS_OF_A_RUN = "round,decisions,seconds,over_heuristic,over_heuristic_low,over_heuristic_high\n"


@pytest.mark.parametrize(
    ("metrics", "settings", "expected"),
    [
        ("", "report: {deals: 9}", "has none against"),
        (METRICS_OF_A_RUN, "report: {deals: 9}", "has none against"),
        (f"{METRICS_OF_A_RUN}1,10,5,0.1,0,0.2", "", "report.deals is missing"),
        (f"{METRICS_OF_A_RUN}1,10,5,0.1,0,0.2", "report: 5", "report.deals is missing"),
        (f"{METRICS_OF_A_RUN}1,10,5,0.1,0,0.2", "report: {deals: x}", "report.deals is missing"),
        (
            f"{METRICS_OF_A_RUN}1,10,5,nan,nan,nan",
            "report: {deals: 9}",
            "over_heuristic: must be a number",
        ),
        (
            f"{METRICS_OF_A_RUN}1,10,5,0.1,-inf,0.2",
            "report: {deals: 9}",
            "_low: must be a number",
        ),
        (f"{METRICS_OF_A_RUN}1,x,5,0.1,0,0.2", "report: {deals: 9}", "decisions: must be a number"),
        (f"{METRICS_OF_A_RUN}1,10,5,0.1,0", "report: {deals: 9}", "_high: must be a number"),
        ("a,over_heuristic_low\n1,2", "report: {deals: 9}", "decisions: must be a number"),
    ],
)
def test_damaged_metrics_are_told(
    tmp_path: Path, metrics: str, settings: str, expected: str
) -> None:
    (tmp_path / "config.yaml").write_text(settings, encoding="utf-8")
    (tmp_path / "metrics.csv").write_text(metrics, encoding="utf-8")
    with pytest.raises(OhHellError, match=re.escape(expected)):
        plots.learning_curves(tmp_path)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("", "has no column 'hand_size'"),
        ("a,b\n1,2", "has no column 'hand_size'"),
        ("hand_size,place,bid,hands,made_rate", "must hold a player's bids, got none"),
        ("hand_size,place,bid,hands,made_rate\n1,1,0,10,nan", "made_rate: must be a number"),
        ("hand_size,place,bid,hands,made_rate\n1,1,0,0,0", "hands: must be at least 1"),
        ("hand_size,place,bid,hands,made_rate\n1,1", "bid: must be a number, got ''"),
    ],
)
def test_another_or_a_damaged_table_of_bids_is_told(
    tmp_path: Path, rows: str, expected: str
) -> None:
    (tmp_path / "bids.csv").write_text(rows, encoding="utf-8")
    with pytest.raises(OhHellError, match=re.escape(expected)):
        plots.made_rates(tmp_path)
    (tmp_path / "calibration.csv").write_text("a,b\n1,2", encoding="utf-8")
    with pytest.raises(OhHellError, match="has no column 'hands'"):
        plots.bid_calibration(tmp_path)
