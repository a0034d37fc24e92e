"""Reports of every design: all that is there to be written, and figures that are what they say."""

from __future__ import annotations

import colorsys
import io
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ohhell_train.charts import MADE, OFF_BY, OFF_COLOURS
from ohhell_train.tournament import Results, run_tournament
from ohhell_train.tournament.pages import html_page, markdown_page, sample_games, write_pages
from ohhell_train.tournament.pages.content import over, ranking, standings_table, verdict
from ohhell_train.tournament.pages.samples import _rivals
from ohhell_train.tournament.pages.terminal import print_report
from tests.train.players import Highest, Lowest, Raises

PLAYERS: dict[str, Any] = {
    "heuristic": "heuristic",
    "random": "random",
    "low": Lowest(seed=0),
    "high": Highest(seed=0),
}


def play(names: tuple[str, ...], challenger: str | None, **changes: Any) -> Results:
    entrants = [(name, PLAYERS[name]) for name in names]
    settings: dict[str, Any] = {"rules": "oh_hell", "deals": 12, "seed": 5, "hand_size": 3}
    return run_tournament(entrants, challenger=challenger, **(settings | changes))


def printed(results: Results) -> str:
    text = io.StringIO()
    print_report(results, Console(file=text, width=150))
    return text.getvalue()


ORDERS = [
    names
    for count in (2, 3)
    for names in itertools.permutations(("heuristic", "random", "low"), count)
]


@pytest.mark.parametrize("names", ORDERS, ids=",".join)
def test_every_challenger_has_its_report(names: tuple[str, ...], tmp_path: Path) -> None:
    for challenger in (*names, None):
        results = play(names, challenger)
        written = write_pages(results, tmp_path / str(challenger))
        samples = sample_games(results)
        assert len(written) == 2 + len(samples)
        assert samples and all(sample.record is not None for sample in samples)
        leader = ranking(results.to_dict())[0]
        assert all(leader in sample.seating for sample in samples)
        if challenger is not None:
            assert all(challenger in sample.seating for sample in samples)


@pytest.mark.parametrize("players", [2, 3, 5, 8])
@pytest.mark.parametrize("challenger", [None, "heuristic", "random"])
def test_any_number_of_players_has_its_report(players: int, challenger: str | None) -> None:
    for changes in ({}, {"design": "mixed"}, {"episode": "game", "hand_size": None}):
        names, design = ("random", "heuristic"), changes.get("design")
        if design is not None and (challenger is not None or players > 2):
            continue
        results = play(names, challenger, players=players, deals=3, **changes)
        samples = sample_games(results)
        assert samples and all(sample.record is not None for sample in samples)
        assert html_page(results.to_dict(), samples)


def test_the_gain_of_a_leader_in_the_field_is_that_of_one_of_its_seats() -> None:
    results = play(("heuristic", "random"), "random", deals=40)
    pair = results.to_dict()["pairs"]["random|heuristic"]["difference"]
    leader, second, blocks, gains = _rivals(results, [0, 1])
    assert (leader, second, len(blocks)) == (0, 1, 40)
    assert gains.mean() == pytest.approx(-pair, abs=1e-6)


def test_entrants_of_a_challenger_stand_beside_what_they_have_over_it() -> None:
    names = ("low", "random", "heuristic", "high")
    for challenger in names:
        data = play(names, challenger, deals=30).to_dict()
        order = ranking(data)
        values = {name: over(data, name) for name in names}
        assert values[challenger] is None
        for name in set(names) - {challenger}:
            pair, found = data["pairs"][f"{challenger}|{name}"], values[name]
            assert found is not None
            assert found[0] == -pair["difference"]
            assert found[1] == (-pair["ci95"][1], -pair["ci95"][0])
        shown = {name: 0.0 if found is None else found[0] for name, found in values.items()}
        assert order == sorted(names, key=lambda name: (-shown[name], name))
        better = {(each["better"], each["worse"]) for each in data["comparisons"]}
        for one, other in itertools.combinations(order, 2):
            assert (one, other) in better or shown[one] == shown[other]


def test_all_reports_say_that_it_is_over_the_challenger() -> None:
    results = play(("random", "heuristic"), "random", deals=30)
    data = results.to_dict()
    pair = f"{-data['pairs']['random|heuristic']['difference']:+.2f}"
    wrong = f"{data['entrants']['heuristic']['difference']:+.2f}"
    table = standings_table(data)
    column = [each.heading for each in table.columns].index("Over the challenger")
    assert table.rows[0][column].text.startswith(pair)
    assert table.rows[1][column].text == "–"
    said = f"heuristic came first, {pair}"
    assert verdict(data).startswith(said)
    assert "over random, which sat alone against it" in verdict(data)
    for text in (html_page(data), markdown_page(data), printed(results)):
        assert "ver the others" not in text.replace("rest of the table", "")
        assert "over challenger" in text or "Over the challenger" in text
        assert pair in text
        assert wrong not in text


def test_without_a_challenger_nothing_is_new() -> None:
    data = play(("random", "heuristic"), None).to_dict()
    for name, row in data["entrants"].items():
        assert over(data, name) == (row["difference"], tuple(row["difference_ci95"]))
    assert "Over the others" in [each.heading for each in standings_table(data).columns]


def test_a_broken_challenger_has_its_report() -> None:
    entrants = ["random", "heuristic", ("broken", Raises())]
    results = run_tournament(
        entrants, rules="oh_hell", deals=8, seed=5, hand_size=3, challenger="broken"
    )
    assert sample_games(results)
    assert "broken" in printed(results)


# ------------------------------------------------------------------------------- colours


def hue(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    angle = 360 * colorsys.rgb_to_hsv(red, green, blue)[0]
    return "orange" if angle < 60 else "green" if angle < 180 else "blue"


def test_over_and_under_have_the_same_colours_in_report_and_plots() -> None:
    css = Path(__file__).parents[2] / "train/ohhell_train/tournament/pages/report.css"
    found = re.findall(r"--off-(\d): (#[0-9a-f]{6})", css.read_text(encoding="utf-8"))
    assert [int(number) for number, _ in found] == [*range(1, len(OFF_BY) + 1)] * 2
    wanted = [hue(colour) for colour in OFF_COLOURS]
    assert wanted == ["blue"] * MADE + ["green"] + ["orange"] * MADE
    for scheme in (found[: len(OFF_BY)], found[len(OFF_BY) :]):  # light, dark
        assert [hue(colour) for _, colour in scheme] == wanted
