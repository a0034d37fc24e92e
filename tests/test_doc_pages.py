"""The pages: their examples run, their commands are understood, their generated parts are right."""

from __future__ import annotations

import doctest
import functools
import importlib
import importlib.metadata
import importlib.util
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from docs.blocks.commands import command_of
from docs.generate import regenerate
from ohhell_env.cli.commands import OHHELL
from ohhell_env.cli.rules import parse_changes
from ohhell_env.errors import OhHellError
from ohhell_train.cli import QUICK
from ohhell_train.methods import load_settings
from tests.doc_pages import (
    DOCS,
    LEFT_TO,
    PAGES,
    ROOT,
    SCENES,
    Names,
    blocks,
    command_lines,
    links,
    nothing,
    play,
    spans,
    text_of,
)
from tests.test_makefile import TARGETS, pins

BAD_USAGE: Any = typer.BadParameter.__mro__[2]
PINS = pins("constraints.txt")
SLOW = {"docs/gymnasium.md", "docs/players.md", "docs/plots.md"}
"""Pages whose examples take long."""
GENERATED = "docs/commands.md"
"""Its lines are usages, no commands."""

EXAMPLES = [
    pytest.param(page, marks=[pytest.mark.slow] if page in SLOW else [])
    for page in PAGES
    if blocks(text_of(page), "python")
]
"""Pages with examples in Python."""


# ---------------------------------------------------------------- examples in Python


def of_the_readme(names: Names, printed: str) -> None:
    assert names["env"].agent_selection == "player_3"
    assert "bids 6 of 5: over by 1" in printed


def of_bidding(names: Names, printed: str) -> None:
    assert re.search(r"nil with 0\.\d\d of the hands .*\n\d+ bids, off by 0\.\d{3}\n", printed)


def of_the_environment(names: Names, printed: str) -> None:
    assert "TH and bid 3\n" in printed
    assert "points of each seat: [" in printed


def of_extending(names: Names, printed: str) -> None:
    figures = [line.split() for line in printed.splitlines()]
    assert [faults for *_, faults in figures] == ["0", "0", "0"]
    means = {name: float(mean) for name, mean, *_ in figures}
    assert means["random"] < means["cautious:Cautious"] < means["heuristic"]


def of_gymnasium(names: Names, printed: str) -> None:
    assert names["env"].unwrapped.seat == 0
    assert names["observations"].shape[0] == 64
    assert names["model"].num_timesteps == 1024
    assert len(printed.splitlines()) >= 4


def of_pictures(names: Names, printed: str) -> None:
    for name in ("table.svg", "table-dark.svg"):
        shown = (DOCS / "images" / name).read_text(encoding="utf-8")
        drawn = Path(name).read_text(encoding="utf-8")
        assert drawn == shown, f"the page's first example draws it: copy its {name} to docs/images/"
    assert "(664, 960, 3)" in printed


def of_players(names: Names, printed: str) -> None:
    assert len(re.findall(r"^(simple|escalating) \d+ \{", printed, re.MULTILINE)) == 4
    assert len(re.findall(r"^[345] \d+ [01]\.", printed, re.MULTILINE)) == 12


def of_tournaments(names: Names, printed: str) -> None:
    assert names["names"] == ["random", "heuristic"]
    assert len(names["own"]) > 0


def of_training(names: Names, printed: str) -> None:
    trained = r"Trained on [\d,]+ labelled decisions of 1 round in .* runs/mine/best\n"
    assert re.fullmatch(rf"{trained}-?\d\.\d\d points a deal\n", printed)


OUTCOMES: dict[str, Callable[[Names, str], None]] = {
    "README.md": of_the_readme,
    "docs/bidding.md": of_bidding,
    "docs/environment.md": of_the_environment,
    "docs/extending.md": of_extending,
    "docs/gymnasium.md": of_gymnasium,
    "docs/pictures.md": of_pictures,
    "docs/players.md": of_players,
    "docs/tournament.md": of_tournaments,
    "docs/training.md": of_training,
}


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_examples_run(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: Names = {"__name__": "example"}
    with SCENES.get(page, nothing)(monkeypatch, names):
        play(page, names)
    printed = capsys.readouterr().out
    if page in OUTCOMES:
        OUTCOMES[page](names, printed)


def test_every_page_that_is_named_here_is_there() -> None:
    assert {*SLOW, *OUTCOMES, *SCENES, *LEFT_TO, GENERATED} <= set(PAGES)
    for page, others in LEFT_TO.items():
        assert any(others.beginning in code for code in blocks(text_of(page), "python"))
        assert all(Path(page).name in text_of(tests) for tests in others.tests)


# ---------------------------------------------------------------- command lines


@functools.cache
def command(name: str) -> Any:
    assert name in OHHELL.commands, f"there is no command {name!r}"
    return command_of(OHHELL, name)


def check_command(words: list[str]) -> None:
    """Lets the program read a command line, and its settings, without running it."""
    if words[0] == "make":
        wanted = [word for word in words[1:] if "=" not in word]
        assert set(wanted) <= set(TARGETS), words
        return
    if words[0] != "ohhell":
        assert (ROOT / words[1]).is_file() or words[1] == "-m", words
        return
    given = command(words[1]).make_context(words[1], words[2:]).params
    if words[1] in ("fit", "quick"):
        configs = given["config"] or ([QUICK[0]] if words[1] == "quick" else None)
        config = configs[0] if isinstance(configs, list) else configs
        path = None if config is None else ROOT / config
        load_settings(path, parse_changes(list(given["changes"] or [])))


@pytest.mark.parametrize("page", [page for page in PAGES if page != GENERATED])
def test_every_command_line_is_understood(page: str) -> None:
    for words in command_lines(text_of(page)):
        try:
            check_command(words)
        except (OhHellError, BAD_USAGE) as error:
            pytest.fail(f"{' '.join(words)}: {error}")


@pytest.mark.parametrize("page", [page for page in PAGES if page != GENERATED])
def test_every_option_that_is_named_beside_its_command_is_one(page: str) -> None:
    for span in spans(text_of(page)):
        program, *words = span.split()
        if program == "ohhell" and words:
            params = command(words[0]).params
            options = {option for each in params for option in (*each.opts, *each.secondary_opts)}
            assert {word for word in words if word.startswith("--")} <= options, span


@pytest.mark.parametrize(
    "line",
    [
        "ohhell fit --varaint pocha",
        "ohhell fit --set ppo.epoch=2 --config configs/train/selfplay.yaml",
        "ohhell tournament random --deals many",
        "ohhell deal kachuful --players",
        "ohhell resume",
    ],
)
def test_a_mistake_in_a_command_line_is_noticed(line: str) -> None:
    (words,) = command_lines(f"```\n{line}  # with a remark\n```\n")
    with pytest.raises((OhHellError, BAD_USAGE)):
        check_command(words)


def test_an_unknown_command_or_target_is_noticed() -> None:
    lines: list[str] = ["ohhell fitt", "make tets", "python examples/nothing.py"]
    for line in lines:
        with pytest.raises(AssertionError):
            check_command(line.split())


def test_continued_lines_are_one_command() -> None:
    text = '```\nohhell fit \\\n    --set "a=[1, 2]" > out.txt\n```\n'
    assert command_lines(text) == [["ohhell", "fit", "--set", "a=[1, 2]"]]


# ---------------------------------------------------------------- links, pictures, generated parts


@pytest.mark.parametrize("page", PAGES)
def test_linked_files_exist(page: str) -> None:
    folder = (ROOT / page).parent
    assert [target for target in links(text_of(page)) if not (folder / target).exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_generated_parts_are_up_to_date(page: str) -> None:
    if page == GENERATED and importlib.metadata.version("typer") != str(PINS["typer"]):
        pytest.skip("the look of --help is that of the pinned Typer")
    text = text_of(page)
    assert text == regenerate(text), "run: python -m docs.generate"


def test_commands_of_the_page_on_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ohhell_env.cli.commands import main

    monkeypatch.chdir(tmp_path)
    commands = command_lines(text_of("docs/pictures.md"))
    assert len(commands) == 2
    for words in commands:
        assert main(words[1:]) == 0
    assert (tmp_path / "page.html").stat().st_size > 30_000


def test_speeds_can_be_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("speed", ROOT / "examples/gymnasium_speed.py")
    assert spec is not None and spec.loader is not None
    speed: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(speed)
    monkeypatch.setattr(speed, "SECONDS", 0.02)
    speed.main()
    lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["random", "heuristic"]
    assert all(int(rate.replace(",", "")) > 100 for line in lines for rate in line[1:])


@pytest.mark.parametrize(
    "module", ["pictures", "pictures.faces", "pictures.svg", "envs.learner_tables"]
)
def test_examples_of_docstrings(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"ohhell_env.{module}"))
    assert found.attempted > 0 and found.failed == 0


# ---------------------------------------------------------------- what is to be installed

OWN = re.compile(r"""pip install[^`\n]*?["' ](ohhell[-_]env|\.)(?:\[([\w,]+)\])""")
"""A line that installs this project with extras."""
TOLD = [*PAGES, *ROOT.glob("notebooks/*.md"), *ROOT.glob("notebooks/*.ipynb")]
SOURCES = [
    path for folder in ("ohhell_env", "agents", "train") for path in (ROOT / folder).rglob("*.py")
]


def test_what_is_to_be_installed_can_be_installed_from_a_clone() -> None:
    """The project is on no index: only a path installs it, and only extras that it has."""
    extras = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    found = 0
    for path in (*TOLD, *SOURCES):
        text = (ROOT / path).read_text(encoding="utf-8").replace(r"\"", '"')
        assert "ohhell-env[" not in text and "install ohhell" not in text, path
        for name, named in OWN.findall(text):
            found += 1
            assert name == "."
            assert set(named.split(",")) <= set(extras), path
            assert f'".[{named}]"' in text, f"{path}: a shell would take the brackets for itself"
    assert found >= 6
