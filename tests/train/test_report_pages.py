"""The published report: safe, the same for equal results, and right about what it shows."""

from __future__ import annotations

import base64
import itertools
import json
import re
import sys
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt

from ohhell_agents import Agent, HeuristicAgent, RandomAgent
from ohhell_env.errors import OhHellError
from ohhell_env.records.record import load_record
from ohhell_env.records.replay import replay
from ohhell_env.rules import Rules
from ohhell_train.tournament import Results, run_tournament
from ohhell_train.tournament.pages import html_page, markdown_page, plots, sample_games, write_pages
from ohhell_train.tournament.pages.content import (
    command,
    comparisons,
    labels,
    matrix,
    ranking,
    standings_table,
    verdict,
)
from tests.train.players import RaisesSometimes

SCRIPT = "<script>alert('x')</script>"
QUOTES = '"quotes" & $x^2$ *bold* _low_ [a](b) `c` <b>'
LONG = "x" * 400
VOID = {"meta", "br", "hr", "img", "input", "link"}


def played(**changes: Any) -> Results:
    settings: dict[str, Any] = {
        "entrants": [(SCRIPT, HeuristicAgent()), (QUOTES, "random"), (LONG, "random")],
        "rules": "oh_hell",
        "deals": 40,
        "seed": 3,
    }
    return run_tournament(**(settings | changes))


@pytest.fixture(scope="module")
def hostile() -> Results:
    """Entrants whose names are meant to break the page."""
    return played()


@pytest.fixture(scope="module")
def games() -> Results:
    """Whole games at mixed tables, with a settlement, stopped early."""
    names = ["heuristic", "second=heuristic", "random", "fourth=random"]
    return run_tournament(
        names,
        rules="oh_well",
        deals=4000,
        seed=1,
        design="mixed",
        episode="game",
        stop=40.0,
        unit=64,
    )


class Page(HTMLParser):
    """What stands on a page; fails where an element is not closed as it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.inside: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        for tag in set(self.open):
            self.inside.setdefault(tag, []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def page_of(results: Results, samples: bool = True) -> str:
    games = sample_games(results) if samples else ()
    return html_page(results.to_dict(), games, results.timings())


def without_times(text: str) -> str:
    found, times = re.subn(
        '<section id="times".*?</section>|## Times.*?(?=## )', "", text, flags=re.S
    )
    assert times == 1
    return found


# ------------------------------------------------------------------------------ the page


def test_page_needs_nothing_but_itself(hostile: Results) -> None:
    text = page_of(hostile)
    page = Page(text)
    banned = {"script", "link", "iframe", "object", "embed", "img", "base", "form"}
    assert banned.isdisjoint(tag for tag, _ in page.tags)
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        for name in ("src", "href", "xlink:href", "action", "data", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:application/json;base64,")), value
    assert "@import" not in text
    assert "@font-face" not in text
    assert set(re.findall(r"url\((.)", text)) == {"#"}
    assert "http:" not in text
    assert "https:" not in text


def test_page_is_sound_html_for_everybody(hostile: Results, games: Results) -> None:
    for results in (hostile, games):
        page = Page(page_of(results))
        ids = Counter(attributes["id"] for _, attributes in page.tags if "id" in attributes)
        assert set(ids.values()) == {1}
        for tag, attributes in page.tags:
            for name in ("href", "aria-labelledby"):
                target = attributes.get(name)
                if target is not None and not target.startswith("data:"):
                    assert target.removeprefix("#") in ids, (tag, target)
        assert [name for name, _ in page.tags if name == "h1"] == ["h1"]
        levels = [int(name[1]) for name, _ in page.tags if re.fullmatch("h[1-6]", name)]
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        assert len(page.all("table")) == len(page.all("caption")) > 10
        assert all(attributes.get("scope") in ("col", "row") for attributes in page.all("th"))
        drawn = [svg for svg in page.all("svg") if svg.get("class") == "plot"]
        assert len(drawn) == 5
        assert all(svg["role"] == "img" and svg["aria-label"] for svg in drawn)
        assert page.all("html")[0]["lang"] == "en"


def test_names_are_shown_and_never_obeyed(hostile: Results) -> None:
    text = page_of(hostile)
    assert "<script" not in text
    assert "<b>" not in text
    words = "".join(Page(text).words)
    assert SCRIPT in words
    assert QUOTES in words
    assert LONG in words  # once whole, in the standings
    assert words.count(LONG) == 2  # ... and in the call that plays it again


def test_markdown_shows_the_same_names_and_obeys_none(hostile: Results) -> None:
    text = markdown_page(hostile.to_dict(), sample_games(hostile), hostile.timings())
    rendered = MarkdownIt("commonmark").enable("table").render(text)
    page = Page(rendered)
    assert not {"script", "b", "em", "a", "img"} & {tag for tag, _ in page.tags}
    cells = "\n".join(page.inside["td"])
    for name in (SCRIPT, QUOTES, LONG):
        assert name in cells
    data = hostile.to_dict()
    for table in (standings_table(data), matrix(data), comparisons(data)):
        for row in table.rows:
            assert all(cell.text in cells for cell in row)


def test_long_names_are_short_and_different() -> None:
    names = ["a" * 100, "a" * 101, "b", "a" * 31]
    short = labels(names)
    assert len(set(short.values())) == 4
    assert max(map(len, short.values())) <= 33
    assert short == labels(names[::-1])


def test_standings_say_what_the_results_say(hostile: Results) -> None:
    data = hostile.to_dict()
    table = standings_table(data)
    order = sorted(data["entrants"], key=lambda name: -data["entrants"][name]["difference"])
    assert [row[1].text for row in table.rows] == order == ranking(data)
    best, row = data["entrants"][order[0]], table.rows[0]
    low, high = best["difference_ci95"]
    assert row[3].text == f"{best['difference']:+.2f} ± {(high - low) / 2:.2f}"
    assert [column.heading for column in table.columns[2:6]] == [
        "Points",
        "Over the others",
        "Bids made",
        "Wins",
    ]


def test_matrix_and_comparisons_mute_what_is_inside_the_noise(hostile: Results) -> None:
    data = hostile.to_dict()
    order, rows = ranking(data), matrix(data).rows
    kinds = {"same": 0, "noise": 0, "ahead": 0, "behind": 0}
    for row, one in zip(rows, order, strict=True):
        for cell, other in zip(row[1:], order, strict=True):
            kinds[cell.kind.partition("-")[0]] += 1
            if one == other:
                assert cell.kind == "same"
                continue
            pair = data["pairs"][f"{one}|{other}"]
            noise = pair["ci95"][0] <= 0.0 <= pair["ci95"][1]
            assert (cell.kind == "noise") == noise == cell.text.startswith("(")
            assert noise or cell.kind.startswith("ahead" if pair["difference"] > 0 else "behind")
    assert kinds["noise"] >= 1
    assert kinds["ahead"] == kinds["behind"] == 2
    verdicts = sorted(row[-1].text for row in comparisons(data).rows)
    assert verdicts == ["settled", "settled", "within the noise"]
    page = Page(page_of(hostile, samples=False))
    assert any("within the noise of 40 blocks" in word for word in page.words)


def test_verdict_heeds_the_number_of_comparisons(hostile: Results) -> None:
    data = json.loads(json.dumps(hostile.to_dict()))
    data["comparisons"][0] |= {"inside_noise": False, "p_holm": 0.2}
    data["comparisons"][1] |= {"inside_noise": False, "p_holm": 0.01}
    data["comparisons"][2] |= {"inside_noise": True, "p_holm": 1.0}
    verdicts = sorted(row[-1].text for row in comparisons(data).rows)
    assert verdicts == ["not settled among this many", "settled", "within the noise"]


def test_a_disqualified_winner_is_named_as_such_at_once(hostile: Results) -> None:
    data = json.loads(json.dumps(hostile.to_dict()))
    assert "disqualified" not in verdict(data)
    data["entrants"][ranking(data)[0]]["disqualified"] = True
    assert "but was disqualified: random moves replaced its answers" in verdict(data)


def test_games_have_wins_first_and_settlements_and_intervals_for_any_time(games: Results) -> None:
    data = games.to_dict()
    assert data["blocks"] < data["planned_blocks"]
    heads = [column.heading for column in standings_table(data).columns]
    assert heads[2:7] == ["Wins", "Score", "Over the others", "Bids made", "Paid"]
    text = page_of(games)
    assert "at any look at all" in text
    assert "stopped early" in text
    assert "episode='game'" in Page(text).inside["pre"][0]


def test_faults_stand_where_one_looks() -> None:
    results = played(entrants=[("shy", RaisesSometimes()), "heuristic"], deals=30)
    faults = results.to_dict()["entrants"]["shy"]["faults"]
    assert faults > 0
    text = page_of(results, samples=False)
    assert f'class="alarm">{faults:,}' in text
    assert (
        text.index("Warnings")
        < text.index(f"shy was disqualified: {faults} faults")
        < text.index("<main>")
    )
    assert "never nil" in text[text.index('id="times"') :]


# ------------------------------------------------------------------- the same every time


def test_equal_results_give_equal_files_but_for_the_times(hostile: Results, tmp_path: Path) -> None:
    again = played()
    for name, results in (("one", hostile), ("two", again)):
        write_pages(results, tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    assert [str(path) for path in files[-2:]] == ["report.html", "report.md"]
    for path in files:
        texts = [(tmp_path / name / path).read_text(encoding="utf-8") for name in ("one", "two")]
        if path.suffix != ".json":
            assert "Times" in texts[0]
            texts = [without_times(text) for text in texts]
        assert texts[0] == texts[1], path


def test_page_is_made_of_the_file_of_results_too(hostile: Results, tmp_path: Path) -> None:
    data = json.loads(hostile.save(tmp_path).read_text(encoding="utf-8"))
    assert html_page(data) == html_page(hostile.to_dict())
    assert markdown_page(data) == markdown_page(hostile.to_dict())
    assert 'id="times"' not in html_page(data)


def test_plots_heed_no_settings_of_the_user_and_leave_them() -> None:
    import matplotlib

    rows = [plots.Row("a $x$ <b>", 1.0, (0.5, 1.5), "+1"), plots.Row("b", -1.0, None, "-1")]
    drawn = plots.forest("key", "label", rows, "axis")
    with matplotlib.rc_context({"font.size": 30.0, "axes.grid": True, "svg.hashsalt": "other"}):
        assert plots.forest("key", "label", rows, "axis") == drawn
        assert matplotlib.rcParams["font.size"] == 30.0
    assert "a $x$ &lt;b&gt;" in drawn
    assert not re.search(r"#0[1-6][0-9a-f]{4}\b", drawn)  # every colour is a variable of the page
    assert "var(--series-1)" in drawn


# -------------------------------------------------------------------------- sample games


def test_samples_are_chosen_by_their_rule(hostile: Results) -> None:
    places = {name: place for place, name in enumerate(hostile.names)}
    leader, second = (places[name] for name in ranking(hostile.to_dict())[:2])
    gains = hostile.figures.against(leader, second)
    captions = [each.caption for each in sample_games(hostile)]
    blocks = [int(text.removeprefix("Block ").partition(",")[0]) for text in captions]
    assert gains[blocks[0]] == gains.max()
    assert gains[blocks[1]] == gains.min()
    assert gains[blocks[2]] == np.sort(gains)[(len(gains) - 1) // 2]


@pytest.mark.parametrize("which", ["hostile", "games"])
def test_samples_are_the_games_that_were_played(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    results: Results = request.getfixturevalue(which)
    before = results.timings(), results.to_dict()
    written = write_pages(results, tmp_path)
    samples = sample_games(results)
    assert (results.timings(), results.to_dict()) == before
    assert 2 <= len(samples) <= 4
    assert [path.name for path in written[2:]] == [f"{each.slug}.json" for each in samples]
    links = [
        base64.b64decode((a["href"] or "").partition("base64,")[2])
        for a in Page(written[0].read_text(encoding="utf-8")).all("a")
        if "download" in a
    ]
    for sample, path, link in zip(samples, written[2:], links, strict=True):
        record = load_record(path)
        assert record == sample.record == json.loads(link)
        assert replay(record).scores == record["scores"]
        assert _stored(results, sample.seating, record)


def _stored(results: Results, seating: list[str], record: dict[str, Any]) -> bool:
    """Whether such a table was played: the same scores and bids, by the same entrants."""
    bids = [[bid for _, bid in sorted(deal["bids"])] for deal in record["deals"]]
    for blocks in results.outcomes.values():
        for row in blocks:
            for rotation, scores in enumerate(row["scores"].tolist()):
                names = [results.names[place] for place in np.roll(row["lineup"], rotation)]
                kept = row["bids"][rotation, : len(bids)].tolist()
                if (names, scores, kept) == (seating, record["scores"], bids):
                    return True
    return False


class Moody(Agent):
    """Takes the highest legal action, and after some decisions the lowest."""

    kind = "moody"

    def __init__(self) -> None:
        super().__init__(seed=0)
        self.asked = 0

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        self.asked += 1
        if self.asked < 200:
            return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)
        return action_masks.argmax(axis=1)


def test_game_of_a_player_that_changes_its_mind_is_not_shown(tmp_path: Path) -> None:
    moody = Moody()
    results = run_tournament(
        [("moody", moody), ("random", RandomAgent())], rules="oh_hell", deals=20, seed=1
    )
    moody.asked = 200
    samples = sample_games(results)
    wrong = [each for each in samples if each.record is None]
    assert wrong
    assert all("a player depends on the clock, or on earlier decisions" in s.caption for s in wrong)
    old = tmp_path / "games" / f"{wrong[0].slug}.json"
    old.parent.mkdir()
    old.write_text("of an earlier report", encoding="utf-8")
    written = write_pages(results, tmp_path)
    assert not {f"{each.slug}.json" for each in wrong} & {path.name for path in written}
    assert not old.exists()
    assert "a player depends on the clock" in written[0].read_text(encoding="utf-8")


def test_disqualified_player_is_named_as_the_reason() -> None:
    results = played(entrants=[("shy", RaisesSometimes()), "heuristic"], deals=30)
    wrong = [each.caption for each in sample_games(results) if each.record is None]
    assert wrong
    assert all("a player was disqualified during play" in caption for caption in wrong)


@pytest.mark.parametrize(
    "changes", [{"deals": 1}, {"design": "mixed", "players": 3, "deals": 1}, {"stop": 1.0}]
)
def test_so_few_blocks_that_there_are_no_intervals(changes: dict[str, Any]) -> None:
    results = played(**{"deals": 5, **changes})
    data = results.to_dict()
    assert data["entrants"][SCRIPT]["difference_ci95"] is None
    Page(page_of(results))
    assert "nan" not in markdown_page(data, sample_games(results)).lower()


def test_entrants_that_never_met_have_a_dash() -> None:
    entrants = [(f"player {n}", RandomAgent()) for n in range(9)]
    results = run_tournament(entrants, rules="oh_hell", deals=3, seed=1, design="mixed")
    data = results.to_dict()
    assert len(data["pairs"]) < 72
    text = page_of(results)
    Page(text)
    assert text.count('<td class="same">–</td>') == 72 - len(data["pairs"])


def test_equal_players_have_samples_too() -> None:
    entrants = [("one", HeuristicAgent()), ("two", HeuristicAgent())]
    samples = sample_games(run_tournament(entrants, rules="oh_hell", deals=5, seed=1, players=3))
    assert samples
    assert all(each.record is not None for each in samples)
    assert all("-0.0" not in each.caption for each in samples)


def test_another_pack_has_letters_for_suits() -> None:
    results = run_tournament(["heuristic", "random"], rules="podrida", deals=5, seed=1)
    suits = results.deals.rules.pack.suits
    text = page_of(results)
    shown = set(re.findall(r'class="card suit-[1-4]">[^<]*(.)</span>', text))
    assert shown
    assert shown <= (set("♣♦♥♠") if set(suits) <= set("CDHS") else set(suits))


# ----------------------------------------------------------------------- again, and limits


@pytest.mark.parametrize(
    "changes",
    [
        {"entrants": ["heuristic", "random"]},
        {"entrants": ["random", "heuristic"], "hand_size": 3, "rules": "rikiki", "players": 5},
        {
            "entrants": ["random", "heuristic"],
            "rules": Rules(players=3).replace(**{"bidding.hook": "none"}),
            "stop": 0.5,
            "deals": 300,
            "anchor": "heuristic",
        },
    ],
)
def test_the_call_plays_it_again(changes: dict[str, Any], tmp_path: Path) -> None:
    results = played(**changes)
    code = command(results.to_dict()).rpartition("results.save")[0]
    found: dict[str, Any] = {}
    exec(compile(code, "again", "exec"), found)
    again = found["results"].to_dict()
    assert again["entrants"] == results.to_dict()["entrants"]
    assert again["pairs"] == results.to_dict()["pairs"]


def test_fifty_entrants_have_a_usable_page(tmp_path: Path) -> None:
    entrants = [(f"player {n}", HeuristicAgent() if n % 3 else RandomAgent()) for n in range(50)]
    results = run_tournament(entrants, rules="oh_hell", deals=4, seed=1, hand_size=3)
    results.to_dict()
    started = time.perf_counter()
    written = write_pages(results, tmp_path)
    assert time.perf_counter() - started < 20.0
    assert written[0].stat().st_size < 5_000_000
    text = written[0].read_text(encoding="utf-8")
    assert "The other 1,185 comparisons" in text
    assert "Only the first 10 of the standings" in text
    Page(text)


def test_folder_that_cannot_be(hostile: Results, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OhHellError, match=r"file.*cannot write results there"):
        write_pages(hostile, tmp_path / "file")


def test_title_is_the_writers(hostile: Results, tmp_path: Path) -> None:
    written = write_pages(hostile, tmp_path, title="Spring & <summer>")
    assert "<title>Spring &amp; &lt;summer&gt;</title>" in written[0].read_text(encoding="utf-8")
    assert written[1].read_text(encoding="utf-8").startswith("# Spring \\& \\<summer\\>\n")


def test_without_matplotlib_the_report_has_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_svg", None)
    results = run_tournament(["random", "heuristic"], rules="oh_hell", players=3, deals=2, seed=1)
    page = html_page(results.to_dict())
    assert '<svg class="plot"' not in page and "<table" in page
    assert "No plot here: it needs matplotlib: pip install" in page
