"""What notebooks show, and the table in colour on a terminal."""

from __future__ import annotations

import random
import re
import sys
from html.parser import HTMLParser
from typing import Any

import pytest

from ohhell_env import BatchedOhHell, Game, oh_hell_v0
from ohhell_env.envs import render
from ohhell_env.envs.gymnasium_env import OhHellGymnasiumEnv
from ohhell_env.errors import NotationError, RulesError
from ohhell_env.pictures.html import sheet_html
from ohhell_env.pictures.view import referee_view, view_of
from ohhell_env.records.record import from_json, to_json
from ohhell_env.testing import play_random
from tests.helpers import house

SHORT = house(3, 1, 2, 3)


class Table(HTMLParser):
    """The cells of a table, and all tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def finished(seed: int = 1) -> Game:
    return play_random(Game(SHORT, seed), random.Random(seed))


def test_the_score_sheet_tells_the_game() -> None:
    game = finished()
    record = game.record()
    table = Table(sheet_html(record, ["Ann", "Bob", "Cy"]))
    assert table.rows[0] == ["deal", "cards", "trump", "Ann", "Bob", "Cy"]
    assert len(table.rows) == 1 + len(record["deals"])
    scores = [0, 0, 0]
    for row, deal in zip(table.rows[1:], record["deals"], strict=True):
        assert row[:2] == [str(deal["deal"] + 1), str(deal["hand_size"])]
        for seat, bid in deal["bids"]:
            scores[seat] += deal["points"][seat]
            told = re.fullmatch(r"(\d+) of (\d+) (.)\s(−?\d+)", row[3 + seat])
            assert told is not None
            won, of_bid, mark, score = told.groups()
            assert int(of_bid) == bid and int(score.replace("−", "-")) == scores[seat]
            assert (mark == "✓") == (int(won) == bid)
    assert scores == game.scores


def test_an_unfinished_deal_is_told_as_such() -> None:
    game = finished().copy()
    game.reset(seed=4)
    assert Table(sheet_html(game.record())).rows[1][-1] == "being played"


def test_names_are_only_text_and_as_many_as_seats() -> None:
    record = finished().record()
    table = Table(sheet_html(record, ["<script>alert(1)</script>", '"><img src=x>', "&amp;"]))
    assert not table.tags & {"script", "img"}
    assert table.rows[0][3:] == ["<script>alert(1)</script>", '"><img src=x>', "&amp;"]
    with pytest.raises(RulesError, match="names: give one for each of the 3"):
        sheet_html(record, ["Ann"])
    with pytest.raises(NotationError):
        sheet_html(record | {"deals": []})


def test_notebooks_show_games_records_and_environments() -> None:
    game = Game(SHORT, 1)
    assert game._repr_html_().count("<svg") == 1 and "<table" not in game._repr_html_()
    over = finished()
    assert "<svg" in over._repr_html_() and "<table" in over._repr_html_()
    record: Any = over.record()
    assert record._repr_html_() == sheet_html(record)
    again: Any = from_json(to_json(record))
    assert again == record and again._repr_html_() == record._repr_html_()
    tables = BatchedOhHell(1, SHORT, seed=1, episode="game")
    tables.reset()
    for _ in range(12):
        tables.step(tables.action_masks.argmax(axis=1))
    assert "<svg" in tables.game(0)._repr_html_(), "earlier deals are not known, the table is"


def test_notebooks_show_environments() -> None:
    for env in (oh_hell_v0.raw_env(SHORT), oh_hell_v0.env(SHORT)):
        door: Any = env
        assert door._repr_html_() is None, "nothing is dealt yet"
        door.reset(seed=1)
        assert door._repr_html_() == Game(SHORT, 1)._repr_html_()
    learner = OhHellGymnasiumEnv(SHORT, opponents=lambda _, info: int(info["action_mask"].argmax()))
    assert learner._repr_html_() is None
    learner.reset(seed=1)
    own = learner._repr_html_()
    assert own != learner.game._repr_html_(), "the learner's view"


# ---------------------------------------------------------------- colour


def test_colour_changes_nothing_but_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    game = Game("oh_hell", 2)
    for view in (referee_view(game), view_of(game, 1)):
        plain = render.table_text(view)
        painted = render.coloured(plain, view)
        assert re.sub(r"\x1b\[\d+m", "", painted) == plain
        cards = len(re.findall(r"\b[2-9TJQKA][CDHS]\b", plain.partition("\n")[2]))
        assert len(re.findall(r"\x1b\[3[1246]m", painted)) == cards
    assert "\x1b" not in render.printed(view), "no terminal"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in render.printed(view)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in render.printed(view)
    env = oh_hell_v0.env(render_mode="human")
    env.reset(seed=1)
    assert env.render(seat=0) is None
    assert "seat 0" in capsys.readouterr().out


def test_a_table_is_as_wide_as_its_part_of_a_notebook() -> None:
    """Its own size would be wider than a narrow page; it has the shape of the picture alone."""
    html = Game("oh_hell", seed=1)._repr_html_()
    head = html[html.index("<svg") :].partition(">")[0]
    assert html.startswith('<div style="max-width:760px"><svg ')
    assert "viewBox=" in head and " width=" not in head and " style=" not in head
