"""The page that replays a game: what it holds, and what it must not."""

from __future__ import annotations

import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ohhell_env import Game, Rules
from ohhell_env.cli.commands import OHHELL as PROGRAM
from ohhell_env.errors import NotationError, OhHellError, RulesError
from ohhell_env.pictures import replay_page, sheet_html
from ohhell_env.pictures.explained import explained
from ohhell_env.records.record import Record, load_record, save_record
from ohhell_env.records.replay import check
from ohhell_env.testing import play_random
from tests.envs.play import EVERY_TABLE
from tests.helpers import house

SHORT = house(3, 1, 2, 3)
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "@@SCRIPT@@ & <!-- \ud800 \u2028",
]


class Page(HTMLParser):
    """All tags of a page, its data, and what could reach the network."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self._in_data = False
        self.json = ""
        self.feed(html)
        self.data: dict[str, Any] = json.loads(self.json)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.links += [str(given[key]) for key in ("src", "href", "action", "data") if key in given]
        self._in_data = given.get("id") == "data"
        if self._in_data:
            self.json = ""

    def handle_data(self, data: str) -> None:
        if self._in_data:
            self.json += data

    def handle_endtag(self, tag: str) -> None:
        self._in_data = False


def finished(rules: Any = SHORT, seed: int = 1) -> Record:
    return play_random(Game(rules, seed), random.Random(seed)).record()


def unfinished(rules: Rules, seed: int, plays: int) -> Record:
    game, rng = Game(rules, seed), random.Random(seed)
    for _ in range(plays):
        if not game.over:
            game.apply(rng.choice(game.legal_actions()))
    return game.record()


def test_it_needs_nothing_but_itself() -> None:
    page = replay_page(finished())
    parsed = Page(page)
    assert parsed.links == []
    assert "url(" not in page and "@import" not in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "default-src 'none'" in page
    assert parsed.tags.count("script") == 2 and parsed.tags.count("style") == 1
    assert "style=" not in page, "the policy lets no such style work"


@pytest.mark.parametrize("name,players", EVERY_TABLE[::4])
def test_the_data_is_the_game(name: str, players: int) -> None:
    record = finished(Rules.preset(name, players), 2)
    data = Page(replay_page(record)).data
    assert len(data["deals"]) == len(record["deals"])
    assert data["names"] == [f"seat {seat}" for seat in range(players)]
    for told, deal in zip(data["deals"], record["deals"], strict=True):
        assert [sorted(hand) for hand in told["hands"]] == [sorted(hand) for hand in deal["hands"]]
        assert told["bids"] == deal["bids"]
        assert told["cards"] == [play for trick in deal["tricks"] for play in trick]
        assert told["points"] == deal["points"]
        won = [told["winners"].count(seat) for seat in range(players)]
        assert sum(won) == deal["hand_size"]
    assert data["deals"][-1]["scores"] == record["scores"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_only_data(name: str) -> None:
    page = replay_page(finished(), [name] * 3)
    parsed = Page(page)
    assert parsed.data["names"] == [name] * 3
    plain = Page(replay_page(finished()))
    assert parsed.tags == plain.tags, "no name makes an element"
    page.encode("utf-8")
    with pytest.raises(RulesError, match="names: give one for each of the 3"):
        replay_page(finished(), [name])


def test_a_record_may_say_who_sat_where() -> None:
    record = finished()
    record["names"] = ["Ann", "<b>Bo", "Cy"]
    assert Page(replay_page(record)).data["names"] == ["Ann", "<b>Bo", "Cy"]
    assert Page(replay_page(record, ["x", "y", "z"])).data["names"] == ["x", "y", "z"]
    assert "&lt;b&gt;Bo" in sheet_html(record)
    for names in (["Ann"], "Ann", ["Ann", "Bo", 3], {}, None):
        with pytest.raises(NotationError, match="names"):
            replay_page(record | {"names": names})


def test_rules_of_any_name_are_only_data() -> None:
    rules = SHORT.replace(name="</title><script>alert(1)</script>")
    page = replay_page(finished(rules))
    assert Page(page).tags == Page(replay_page(finished())).tags
    assert "<script>alert" not in page


@pytest.mark.parametrize("plays", [2, 5, 11, 16])
def test_a_seats_page_holds_no_hidden_card(plays: int) -> None:
    rules = Rules.preset("oh_hell", 4)
    record = unfinished(rules, 5, plays)
    for seat in range(4):
        page = replay_page(record, seat=seat)
        deal, known = record["deals"][0], Page(page).data["deals"][0]
        played = {card for trick in deal["tricks"] for _, card in trick}
        for other, hand in enumerate(deal["hands"]):
            assert (known["hands"][other] is None) == (other != seat)
            for card in hand:
                if other != seat and card not in played and card != deal["turned"]:
                    assert f'"{card}"' not in page
    with pytest.raises(RulesError, match="seat: 0 to 3"):
        replay_page(record, seat=4)


def test_what_is_secret_in_the_bidding_is_not_in_a_seats_page() -> None:
    secret = {"bidding__order": "simultaneous", "bidding__hook": "none"}
    late = house(3, 2, trump__revealed="after_bidding", **secret)
    record = unfinished(late, 1, 2)
    (first, bid), (second, _) = record["deals"][0]["bids"]
    told = Page(replay_page(record, seat=first)).data["deals"][0]
    assert told["trump"] == "?" and told["turned"] is None
    assert told["bids"] == [[first, bid], [second, None]]
    blind = house(3, 1, blind_one_card="always")
    record = unfinished(blind, 1, 2)
    assert record["deals"][0]["blind"]
    hands = Page(replay_page(record, seat=1)).data["deals"][0]["hands"]
    assert hands[1] is None and hands[0] and hands[2], "everybody sees the others' cards"


# ---------------------------------------------------------------- what a player thinks


class Thinker:
    """Thinks the lowest action is best, and notes what it is shown."""

    kind = "<b>thinker"

    def __init__(self) -> None:
        self.seats: list[int] = []

    def begin(self, rules: Rules, seat: int) -> None:
        self.seats.append(seat)

    def explain(self, observation: Any) -> Any:
        assert observation["action_mask"].any()

        class Told:
            def to_dict(self) -> dict[str, Any]:
                row = {"name": "<i>", "difference": 0.0, "difference_error": None, "visits": 0}
                told = {"chosen_name": "bid 0", "unit": "<s>", "notes": ["<u>"]}
                return told | {"thoughts": [row | {"same_as": None}]}

        return Told()


def test_a_player_is_asked_at_every_decision() -> None:
    record, player = finished(), Thinker()
    page = replay_page(record, player=player)
    decisions = [
        [seat for seat, _ in deal["bids"]] + [seat for trick in deal["tricks"] for seat, _ in trick]
        for deal in record["deals"]
    ]
    assert player.seats == [seat for deal in decisions for seat in deal]
    data = Page(page).data
    assert [len(deal["thoughts"]) for deal in data["deals"]] == list(map(len, decisions))
    assert data["player"] == "<b>thinker" and data["deals"][0]["thoughts"][0]["notes"] == ["<u>"]
    assert Page(page).tags == Page(replay_page(record)).tags
    alone = explained(record, Thinker(), seat=1)
    for told, seats in zip(alone, decisions, strict=True):
        assert [thought is not None for thought in told] == [seat == 1 for seat in seats]
    with pytest.raises(OhHellError, match="cannot say what it thinks"):
        replay_page(record, player=object())


def test_the_heuristic_says_what_it_expects() -> None:
    import ohhell_agents

    record = finished(house(3, 2), 3)
    told: Any = explained(record, ohhell_agents.make("heuristic"))[0]
    bids = told[0]["rows"]
    assert {row[0] for row in bids} <= {"bid 0", "bid 1", "bid 2"} and len(bids) >= 2
    numbers = [row[1] for row in bids if row[1] is not None]
    assert numbers == sorted(numbers, reverse=True) and told[0]["chosen"] == bids[0][0]
    assert numbers[0] == 0.0 and told[0]["unit"] == "points"


def test_older_records_with_values_are_shown_as_differences() -> None:
    rows = [["bid 1", 18.11, None, 0, None], ["bid 0", 11.5, None, 0, None]]
    rows.append(["bid 2", None, None, 0, None])
    old = {"chosen": "bid 1", "rows": rows, "notes": []}
    thoughts = {"player": "zoo:universal", "deals": [[old], *([] for _ in finished()["deals"][1:])]}
    data = Page(replay_page(with_thoughts(thoughts))).data
    (shown,) = data["deals"][0]["thoughts"]
    assert [row[1] for row in shown["rows"]] == [0.0, pytest.approx(-6.61), None]
    assert shown["unit"] == "points" and shown["chosen"] == "bid 1"


def with_thoughts(thoughts: Any) -> Record:
    return finished() | {"thoughts": thoughts}


def test_recorded_thoughts_are_shown_to_whom_they_belong() -> None:
    record = finished()
    thoughts = {"player": "somebody", "deals": explained(record, Thinker())}
    data = Page(replay_page(with_thoughts(thoughts))).data
    assert data["player"] == "somebody"
    assert [deal["thoughts"] for deal in data["deals"]] == thoughts["deals"]
    own = Page(replay_page(with_thoughts(thoughts), seat=2)).data
    for deal in own["deals"]:
        actors = [seat for seat, _ in (*deal["bids"], *deal["cards"])]
        assert [told is not None for told in deal["thoughts"]] == [seat == 2 for seat in actors]
    asked = Page(replay_page(with_thoughts(thoughts), player=Thinker())).data
    assert asked["player"] == "<b>thinker", "who is asked now counts"


@pytest.mark.parametrize(
    "damage,words",
    [
        (lambda told: [], "thoughts: expected an object"),
        (lambda told: told | {"extra": 1}, "thoughts: expected an object"),
        (lambda told: told | {"player": 3}, "thoughts: expected an object"),
        (lambda told: told | {"deals": {}}, "thoughts, deals: expected a list"),
        (lambda told: told | {"deals": told["deals"][1:]}, "one for each deal"),
        (lambda told: told["deals"][0].append(None) or told, "deal 1: expected at most 6 thoughts"),
        (lambda told: told["deals"][1].__setitem__(0, "x") or told, "deal 2, decision 1"),
        (lambda told: told["deals"][0][0].update(chosen=None) or told, "chosen: expected the name"),
        (lambda told: told["deals"][0][0].update(unit=1) or told, "unit: expected a text"),
        (lambda told: told["deals"][0][0].pop("notes") and told, "decision 1: expected an object"),
        (lambda told: told["deals"][0][0].update(notes=[1]) or told, "notes: expected texts"),
        (
            lambda told: told["deals"][0][0].update(rows=[["a", 1, 2]]) or told,
            "rows: expected .action",
        ),
        (
            lambda told: told["deals"][0][0]["rows"][0].__setitem__(1, "2") or told,
            "rows: expected .action",
        ),
        (
            lambda told: told["deals"][0][0]["rows"][0].__setitem__(1, True) or told,
            "rows: expected .acti",
        ),
    ],
)
def test_thoughts_of_another_form_are_refused(damage: Any, words: str) -> None:
    thoughts = {"player": "somebody", "deals": explained(finished(), Thinker())}
    check(with_thoughts(thoughts))
    with pytest.raises(NotationError, match=words):
        check(with_thoughts(damage(thoughts)))


def test_thoughts_are_recorded_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = str(tmp_path / "game.json"), tmp_path / "page.html"
    deal = ["deal", "oh_hell", "--players", "3", "--hand-size", "2", "--seed", "4"]
    assert PROGRAM.run([*deal, "--explain", "heuristic", "--out", file]) == 0
    thoughts = load_record(file)["thoughts"]
    assert thoughts["player"] == "heuristic" and len(thoughts["deals"][0]) == 9
    assert run(file, "--json") == 0
    assert json.loads(capsys.readouterr().out)["thoughts"] == thoughts
    assert run(file, "--html", str(page)) == 0
    data = Page(page.read_text(encoding="utf-8")).data
    assert data["deals"][0]["thoughts"] == thoughts["deals"][0]


# ---------------------------------------------------------------- the command


def run(*args: str) -> int:
    return PROGRAM.run(["replay", *args])


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "game.json", tmp_path / "page.html"
    save_record(finished(), file)
    names = [word for name in ("Ann", "Bob", "<Cy>") for word in ("--name", name)]
    assert run(str(file), "--html", str(page), *names, "--seat", "1", "--explain", "heuristic") == 0
    out, err = capsys.readouterr()
    assert out == "" and "checked: " in err
    data = Page(page.read_text(encoding="utf-8")).data
    assert data["names"] == ["Ann", "Bob", "<Cy>"] and data["seat"] == 1
    assert data["player"] == "heuristic"


@pytest.mark.parametrize(
    "args,message",
    [
        (["--seat", "0"], "add --html"),
        (["--name", "Ann"], "add --html"),
        (["--explain", "heuristic"], "add --html"),
        (["--html", "p.html", "--json"], "leave out --json"),
        (["--html", "p.html", "--seat", "9"], "seat: 0 to 2"),
        (["--html", "p.html", "--name", "Ann"], "names: give one for each of the 3"),
        (["--html", "p.html", "--explain", "random"], "cannot say what it thinks"),
        (["--html", "nowhere/p.html"], "there is no folder"),
    ],
)
def test_command_refuses(
    args: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save_record(finished(), "game.json")
    assert run("game.json", *args) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["game.json"]


def test_records_that_are_no_games() -> None:
    with pytest.raises(NotationError):
        replay_page(finished() | {"scores": [99, 99, 99]})
