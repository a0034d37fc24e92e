"""``ohhell_train.bidding``: the bids of a player, the tables made from them, and its forecasts."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from ohhell_agents import HeuristicAgent
from ohhell_env.cards import parse_card
from ohhell_env.cli.commands import main
from ohhell_env.engine.batch import observe_one
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import BID_BASE, NO_TRUMP, Rows
from ohhell_env.errors import OhHellError, RulesError
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules, as_rules
from ohhell_train.bidding import BIDS, play_bids
from ohhell_train.bidding.bids import UNKNOWN
from ohhell_train.bidding.calibration import CHANCE, POINTS, TRICKS, calibration_rows, mean_gap
from ohhell_train.bidding.cli import bidding_report
from ohhell_train.bidding.files import write_files
from ohhell_train.bidding.report import Report, by_deal
from ohhell_train.bidding.shares import as_csv, share
from ohhell_train.bidding.tables import RARE, VIEWS, bidding_table, bids_by_place, hand_facts
from ohhell_train.tournament.entrants import make_entrants
from ohhell_train.tournament.tables import Deals, replay_table

ROOT = Path(__file__).parent.parent.parent
RULES = Rules.preset("oh_hell", 3)
NO_PAY_FOR_MISSES = RULES.replace(**{"scoring.miss_per_trick": 0})
Output = pytest.CaptureFixture[str]


def hand(cards: str) -> np.uint64:
    return np.uint64(sum(1 << parse_card(card) for card in cards.split()))


def rows(*told: dict[str, Any]) -> Rows:
    """Returns ``BIDS`` rows; what is not told is zero, and nothing is forecast."""
    found = np.zeros(len(told), BIDS)
    for name in ("value", "prob", "trick_probs"):
        found[name] = np.nan
    found["place"] = 1
    for row, values in zip(found, told, strict=True):
        for name, value in values.items():
            row[name] = value
    return found


@pytest.mark.parametrize("field", [None, "random"])
def test_bids_are_those_of_the_tournaments_own_records(field: str | None) -> None:
    deals = Deals(RULES, 3, 4)
    one, other = make_entrants([("player", "heuristic"), ("field", "random")], RULES, 3)
    found = play_bids(deals, one, other if field else None, 5)
    assert len(found) == 5 * 3
    for row_number, row in enumerate(found):
        rotation = row_number % 3 if field else 0
        lineup = [0, 1, 1] if field else [0, 0, 0]
        record = replay_table(deals, [one, other], lineup, int(row["block"]), rotation)
        deal = record["deals"][0]
        seat, order = row_number % 3, [bid[0] for bid in deal["bids"]]
        bids = dict(map(tuple, deal["bids"]))
        assert row["bid"] == bids[seat] and row["place"] == order.index(seat) + 1
        assert row["before"] == sum(bids[each] for each in order[: order.index(seat)])
        assert row["hand"] == hand(" ".join(deal["hands"][seat]))
        assert "CDHS"[row["trump"]] == deal["trump"] and row["hand_size"] == 4
        assert row["points"] == deal["points"][seat] and row["points_if_made"] == 10 + row["bid"]
        won = row["tricks"]
        assert row["points"] == (10 + won if won == row["bid"] else won)


def test_a_player_in_every_seat_meets_each_deal_once() -> None:
    one, _ = make_entrants([("a", "heuristic"), ("b", "random")], RULES, 3)
    found = play_bids(Deals(RULES, 3), one, None, 40)
    tricks = np.bincount(found["block"], weights=found["tricks"])
    sizes = [found["hand_size"][found["block"] == block][0] for block in range(40)]
    assert tricks.tolist() == sizes
    assert [sorted(found["place"][found["block"] == b]) for b in range(40)] == [[1, 2, 3]] * 40


def test_forecasts_are_what_the_player_explains_at_the_table() -> None:
    deals = Deals(NO_PAY_FOR_MISSES, 4, 3)
    report = bidding_report("heuristic", "self", deals, 6)
    player = HeuristicAgent()
    player.begin(deals.rules)
    layout = layout_of(deals.rules)
    for block in range(6):
        own = report.bids[report.bids["block"] == block]
        game = Game(deals.rules, 4, "deal", 3)
        game.state[:] = deals.dealt(block, 1)
        for row in own[np.argsort(own["place"])]:
            view, mask = new_buffer(1, layout.length), new_buffer(1, layout.num_actions)
            observe_one(game.state, deals.compiled, layout.compiled(), game.seat, view, mask)
            told = player.explain({"observation": view[:-MARGIN], "action_mask": mask[:-MARGIN]})
            assert told.chosen == BID_BASE + row["bid"]
            thought = next(each for each in told.thoughts if each.action == told.chosen)
            assert row["value"] == thought.value
            assert row["prob"] == pytest.approx(thought.value / (10 + row["bid"]))
            game.apply(told.chosen)
    assert len(report.bids) == 18


def test_chances_that_do_not_follow_from_the_points_are_left_out() -> None:
    found = bidding_report("heuristic", "self", Deals(RULES, 4, 3), 20).bids
    assert not np.isnan(found["value"]).all() and np.isnan(found["prob"]).all()
    assert mean_gap(calibration_rows(found), CHANCE) is None


def test_search_foretells_tricks() -> None:
    found = bidding_report("search:worlds=8", "heuristic", Deals(RULES, 4, 2), 3).bids
    told = found[~np.isnan(found["prob"])]
    assert len(told) > 4
    shares = told["trick_probs"][:, :3]
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert told["prob"].tolist() == [shares[i, bid] for i, bid in enumerate(told["bid"])]
    table = calibration_rows(found)
    tricks = [row for row in table if row["quantity"] == TRICKS]
    assert sum(row["predicted"] for row in tricks) == pytest.approx(1.0)
    assert sum(row["observed"] for row in tricks) == pytest.approx(1.0)
    assert mean_gap(table, TRICKS) is not None


def test_players_that_do_not_explain_are_not_asked() -> None:
    report = bidding_report("random", "self", Deals(RULES, 4, 3), 5)
    assert np.isnan(report.bids["value"]).all()
    assert not {"calibration.csv", "calibration.png"} & set(report.files())


def test_a_player_whose_values_are_right_as_differences_alone_foretells_no_points() -> None:
    report = bidding_report("zoo:universal", "self", Deals(NO_PAY_FOR_MISSES, 4, 3), 5)
    assert np.isnan(report.bids["value"]).all() and np.isnan(report.bids["prob"]).all()
    assert not {"calibration.csv", "calibration.png"} & set(report.files())


def test_hands_in_the_words_of_a_card_player() -> None:
    suits = {letter: suit for suit, letter in enumerate("CDHS")}
    told = rows(
        {"hand": hand("AH QH 3H AS KS 2C"), "trump": suits["H"], "hand_size": 6},
        {"hand": hand("AH QH 3H AS KS 2C"), "trump": NO_TRUMP, "hand_size": 6, "place": 2},
        {"hand": hand("2H 3H 4H"), "trump": UNKNOWN, "hand_size": 3, "place": 2, "before": 1},
        {"hand": hand("2H 3H 4H"), "trump": suits["S"], "hand_size": 3, "place": 3, "before": 5},
        {"hand": hand("KS"), "trump": suits["S"], "place": 2, "before": UNKNOWN},
    )
    facts = hand_facts(told, RULES)
    assert facts["trump"] == ["suit", "none", "unknown", "suit", "suit"]
    assert facts["trumps"] == [3, 0, "", 0, 1]
    assert facts["high_trumps"] == ["AQ", "-", "", "-", "K"]
    assert facts["aces_outside"] == [1, 2, 0, 0, 0]
    assert facts["voids"] == [1, 1, 3, 2, 3]
    assert facts["bids_before"] == ["first", "low", "even", "high", "unknown"]


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("british_simultaneous", "before", {UNKNOWN}),
        ("late_trumps", "trump", {UNKNOWN}),
    ],
)
def test_what_is_hidden_in_the_bidding_is_not_told(
    file: str, name: str, expected: set[int]
) -> None:
    rules = as_rules(str(ROOT / "configs" / "rules" / f"{file}.yaml"))
    found = bidding_report("heuristic", "self", Deals(rules, 2, 4), 3).bids
    assert set(found[name].tolist()) == expected


def test_blind_deals_have_no_place_in_the_bidding_table() -> None:
    rules = as_rules(str(ROOT / "configs" / "rules" / "rikiki_blind.yaml"))
    report = bidding_report("heuristic", "self", Deals(rules, 2, 1), 4)
    assert report.bids["blind"].all() and len(bids_by_place(report.bids)) > 0
    files = report.files()
    assert "hands.csv" not in files and "bids.csv" in files


def test_the_tables_count_every_bid_once() -> None:
    bids = bidding_report("heuristic", "random", Deals(RULES, 5), 60).bids
    by_place = bids_by_place(bids)
    assert sum(row["hands"] for row in by_place) == len(bids) == 180
    shares: dict[Any, float] = defaultdict(float)
    for row in by_place:
        shares[row["hand_size"], row["place"]] += row["share"]
        assert row["made_low"] <= row["made_rate"] <= row["made_high"]
    assert list(shares.values()) == pytest.approx([1.0] * len(shares))
    points = sum(row["hands"] * row["points"] for row in by_place)
    assert points == pytest.approx(int(bids["points"].sum()))
    table = bidding_table(bids, RULES, least=3)
    for view in VIEWS:
        own = [row for row in table if row["view"] == view]
        assert sum(row["hands"] for row in own) == len(bids)
        assert all(row["hands"] >= 3 for row in own if RARE not in row.values())
        mean = sum(row["hands"] * row["mean_bid"] for row in own) / len(bids)
        assert mean == pytest.approx(bids["bid"].mean())
    assert any(RARE in row.values() for row in table)
    numbers = [name for name in table[0] if name.startswith("bid_")]
    assert all(sum(row[name] for name in numbers) == pytest.approx(1.0) for row in table)


def test_a_row_of_the_bidding_table_by_hand() -> None:
    ace, low = {"hand": hand("AS"), "trump": 3}, {"hand": hand("2D"), "trump": 3}
    told = rows(
        {**ace, "hand_size": 1, "bid": 1, "tricks": 1},
        {**ace, "hand_size": 1, "bid": 1, "tricks": 0},
        {**low, "hand_size": 1, "bid": 0, "tricks": 0},
    )
    first, second = [row for row in bidding_table(told, RULES, 1) if row["view"] == "hand"]
    assert (second["high_trumps"], second["hands"], second["mean_bid"]) == ("A", 2, 1.0)
    assert (second["mean_tricks"], second["made_rate"], second["bid_1"]) == (0.5, 0.5, 1.0)
    assert (first["trumps"], first["aces_outside"], first["bid_0"]) == (0, 0, 1.0)
    assert first["place"] == "" and first["bids_before"] == ""


def test_wilson_interval_is_the_closed_form() -> None:
    hits, count, z = 7, 20, 1.959963984540054
    p = hits / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z * np.sqrt(p * (1 - p) / count + (z / (2 * count)) ** 2) / (1 + z * z / count)
    assert share(hits, count) == pytest.approx((p, middle - half, middle + half))


def test_calibration_of_a_player_that_knows_and_of_one_that_boasts() -> None:
    rng = np.random.default_rng(8)
    chance = rng.uniform(0.2, 0.9, 4000)
    made = rng.random(4000) < chance
    told = rows(*({"hand_size": 1} for _ in range(4000)))
    told["tricks"], told["prob"], told["value"] = ~made, chance, 10 * chance
    told["points"] = 10 * made
    table = calibration_rows(told)
    chances = [row for row in table if row["quantity"] == CHANCE]
    assert [(row["from"], row["to"]) for row in chances] == [
        (n / 10, (n + 1) / 10) for n in range(2, 9)
    ]
    assert sum(row["hands"] for row in chances) == 4000
    inside = [row["low"] <= row["predicted"] <= row["high"] for row in table]
    assert np.mean(inside) > 0.85, "nearly all intervals hold what was forecast"
    gap = mean_gap(table, CHANCE)
    assert gap is not None and gap[0] < 0.03 and gap[1] == 4000
    told["prob"] = np.minimum(chance + 0.2, 1.0)
    boasts = mean_gap(calibration_rows(told), CHANCE)
    assert boasts is not None and boasts[0] == pytest.approx(0.2, abs=0.03)
    points = [r for r in table if r["quantity"] == POINTS and r["hand_size"] == ""]
    assert [row["hands"] for row in points] == [400] * 10


def test_equal_forecasts_share_one_bin() -> None:
    told = rows(*({"hand_size": 2, "value": 4.0, "points": n} for n in range(6)))
    points = [row for row in calibration_rows(told) if row["quantity"] == POINTS]
    assert [(row["hands"], row["predicted"], row["observed"]) for row in points] == [
        (6, 4.0, 2.5)
    ] * 2


@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_few_bids_have_an_interval_that_can_be(count: int) -> None:
    """The made rate has Wilson's interval, as in the tables and the plots; it ends at 0 and 100."""
    own = rows(*({"block": number, "bid": number % 2} for number in range(count)))
    report = Report(own, RULES, "x", "self", 1, count, 1, 5)
    text = io.StringIO()
    report.show(Console(file=text, width=100))
    rate, low, high = share(int((own["bid"] == own["tricks"]).sum()), count)
    told = f"{rate:.1%} ({100 * low:.1f} to {100 * high:.1f})"
    assert told in text.getvalue() and 0.0 <= low <= rate <= high <= 1.0


def test_means_by_deal() -> None:
    told = rows({"block": 4}, {"block": 4}, {"block": 9})
    assert by_deal(told, np.array([1.0, 2.0, 5.0])).tolist() == [1.5, 5.0]


def test_numbers_in_csv_are_short_and_plain() -> None:
    assert as_csv([{"a": 1, "b": 0.123456, "c": ""}, {"a": 2, "b": -0.00001, "c": "x"}]) == (
        "a,b,c\n1,0.1235,\n2,0,x\n"
    )


def test_the_command_writes_the_same_tables_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["bidding", "heuristic", "--players", "3", "--deals", "40", "--seed", "7", "--out"]
    assert main([*words, "one"]) == 0 and main([*words, "two"]) == 0
    text = capsys.readouterr().out
    assert "heuristic in every seat: Oh Hell; 3 players, hand sizes of the schedule" in text
    assert "expected points, of" in text and "written: two: settings.json, bids.csv" in text
    tables = sorted(path.name for path in Path("one").glob("*.csv"))
    assert tables == ["bids.csv", "calibration.csv", "hands.csv"]
    for name in [*tables, "settings.json"]:
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()
    read = list(csv.DictReader(io.StringIO(Path("one/bids.csv").read_text(encoding="utf-8"))))
    assert sum(int(row["hands"]) for row in read) == 120
    pictures = sorted(Path("one").glob("*.png"))
    assert [path.stem for path in pictures] == ["calibration", "made_rates", "tricks"]
    for path in pictures:
        with Image.open(path) as picture:
            assert picture.width > 700 and len(picture.convert("L").getcolors() or []) > 20
    assert main([*words[:-1], "--seed", "8", "--out", "one"]) == 0, "an older report is replaced"
    assert Path("one/bids.csv").read_bytes() != Path("two/bids.csv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("bidding heuristc", "did you mean 'heuristic'"),
        ("bidding heuristic --deals 0", "deals:"),
        ("bidding heuristic --least 0", "--least"),
        ("bidding heuristic --players 9", "players:"),
        ("bidding heuristic --hand-size 27", "hand_size:"),
        ("bidding heuristic --field nobody", "unknown player 'nobody'"),
        ("bidding heuristic --out full", "holds 'thesis.txt'"),
        ("bidding heuristic --out full/thesis.txt", "cannot write results there"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output, words: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine", encoding="utf-8")
    assert main(words.split()) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and expected in lines[0]
    assert [path.name for path in tmp_path.iterdir()] == ["full"]
    assert (tmp_path / "full" / "thesis.txt").read_text(encoding="utf-8") == "mine"


def test_a_report_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "out", {"bids.csv": "old", "calibration.csv": "old"})
    moved = Path.rename

    def fails(path: Path, target: Path) -> Path:
        if ".new-" in path.name:
            raise OSError(28, "No space left on device")
        return moved(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", fails)
        with pytest.raises(OhHellError, match="No space left"):
            write_files(tmp_path / "out", {"bids.csv": "new"})
    assert (tmp_path / "out" / "calibration.csv").read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    write_files(tmp_path / "out", {"bids.csv": "new", "tricks.png": b"\x89"})
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["bids.csv", "tricks.png"]


def test_only_single_deals_are_looked_at() -> None:
    one, _ = make_entrants([("a", "random"), ("b", "random")], RULES, 1)
    with pytest.raises(RulesError, match="'game'"):
        play_bids(Deals(RULES, 1, episode="game"), one, None, 3)


def test_the_page_on_bidding_names_every_table() -> None:
    text = (ROOT / "docs" / "bidding.md").read_text(encoding="utf-8")
    for name in ("bids.csv", "hands.csv", "calibration.csv"):
        assert name in text
