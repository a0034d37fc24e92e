"""The start page and the tutorial; that their examples run is tested in ``test_doc_pages.py``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ohhell_env.cli.commands import main
from tests.doc_pages import MY_PLAYER, ROOT, blocks, command_lines, links, text_of

NAV: list[dict[str, Any]] = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
INDEX, *STEPS = next(part["Tutorial"] for part in NAV if "Tutorial" in part)
START = text_of("docs/index.md")


def headline(page: str) -> str:
    return text_of(f"docs/{page}").partition("\n")[0].removeprefix("# ")


def shown(page: str, count: int) -> list[str]:
    """Returns the lines of an output on a page."""
    return blocks(text_of(f"docs/tutorial/{page}"), "text")[count].splitlines()


def without_numbers(text: str) -> str:
    return re.sub(r"\d[\d.,]*", "#", text).replace("-#", "+#")


# ---------------------------------------------------------------- the start page


def cards() -> Iterator[list[str]]:
    """Yields the paragraphs of each card."""
    found = re.search(r'<div class="grid cards".*?>\n(.*?)</div>', START, re.DOTALL)
    assert found is not None
    for card in re.split(r"^-   ", found[1], flags=re.MULTILINE)[1:]:
        yield [" ".join(part.split()) for part in card.strip().split("\n\n")]


def test_four_cards_stand_for_four_kinds_of_readers() -> None:
    assert len(list(cards())) == 4
    for title, line, leads in cards():
        assert re.fullmatch(r"\*\*[\w ]+\*\*", title)
        assert len(line.split()) <= 12
        assert 2 <= len(links(leads)) <= 4


def test_the_start_page_leads_through_the_tutorial() -> None:
    numbered = re.findall(r"^\d\. \[.*?\]\((.*?)\)", START, re.MULTILINE)
    assert numbered == STEPS[:-1]
    assert START.count("\n") < 80


def test_the_start_page_begins_like_the_readme() -> None:
    promise = re.search(r"^Oh Hell is .*?opponents\.$", START, re.DOTALL | re.MULTILINE)
    assert promise is not None
    assert " ".join(promise[0].split()) in " ".join(text_of("README.md").split())


# ---------------------------------------------------------------- the tutorial


def test_each_page_leads_to_the_next() -> None:
    assert sorted(STEPS) == STEPS
    for page, following in zip([INDEX, *STEPS], STEPS, strict=False):
        last = text_of(f"docs/{page}").splitlines()[-1]
        assert last == f"Next: [{headline(following)}]({Path(following).name})"


def test_the_first_page_lists_all_others() -> None:
    rows = re.findall(r"^\| (\d\.) \[(.*?)\]\((.*?)\)", text_of(f"docs/{INDEX}"), re.MULTILINE)
    assert [f"tutorial/{page}" for *_, page in rows] == STEPS
    assert [f"{number} {title}" for number, title, _ in rows] == [headline(page) for page in STEPS]


@pytest.mark.parametrize("page", [INDEX, *STEPS])
def test_pages_are_short(page: str) -> None:
    assert text_of(f"docs/{page}").count("\n") <= 85


def test_the_printed_deal_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    command = command_lines(text_of("docs/tutorial/1-game.md"))[0]
    assert main(command[1:]) == 0
    assert "\n".join(shown("1-game.md", 0)) in capsys.readouterr().out


@pytest.mark.slow
def test_training_and_the_tournament_print_what_the_pages_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures differ from processor to processor, and here there are fewer decisions."""
    monkeypatch.chdir(tmp_path)
    fit = command_lines(text_of("docs/tutorial/4-training.md"))[0]
    assert "decisions=100000" in fit
    assert main([*fit[1:], "--set", "decisions=4000", "--set", "report.deals=40"]) == 0
    printed = without_numbers(capsys.readouterr().out)
    for line in shown("4-training.md", 0):
        assert without_numbers(line) in printed
    with MY_PLAYER(monkeypatch, {}):
        tournament = command_lines(text_of("docs/tutorial/6-tournament.md"))[0]
        assert tournament[:2] == ["ohhell", "tournament"]
        assert main([*tournament[1:], "--deals", "20"]) == 0
    header, _, *rows = shown("6-tournament.md", 1)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header.split() in lines
    assert {row.split()[0] for row in rows} <= {line[0] for line in lines if line}
    assert (tmp_path / "results/tutorial/report.html").exists()
