"""The pages on Gymnasium and on pictures: their examples run, their picture is up to date."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def run(page: str, names: dict[str, Any]) -> None:
    """Runs the Python examples of a page, one after the other."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for example in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(example, page, "exec"), names)


@pytest.mark.slow
def test_gymnasium(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    run("gymnasium.md", names)
    assert names["env"].unwrapped.seat == 0
    assert names["observations"].shape[0] == 64
    assert names["model"].num_timesteps == 1024
    assert len(capsys.readouterr().out.splitlines()) >= 4


def test_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run("pictures.md", {})
    drawn = (tmp_path / "table.svg").read_text(encoding="utf-8")
    shown = (DOCS / "images" / "table.svg").read_text(encoding="utf-8")
    assert drawn == shown, "the page's first example draws it: copy its table.svg to docs/images/"
    assert "(664, 960, 3)" in capsys.readouterr().out


def test_commands_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ohhell_env.__main__ import main

    monkeypatch.chdir(tmp_path)
    commands = re.findall(
        r"^python -m ohhell_env (.*)$", (DOCS / "pictures.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(commands) == 2
    for command in commands:
        assert main(command.split()) == 0
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
    "module", ["pictures", "pictures.faces", "pictures.svg", "envs.learner_seat"]
)
def test_examples_of_docstrings(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"ohhell_env.{module}"))
    assert found.attempted > 0 and found.failed == 0


@pytest.mark.parametrize("page", ["gymnasium.md", "pictures.md"])
def test_linked_files_exist(page: str) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", (DOCS / page).read_text("utf-8")):
        assert (DOCS / target).exists(), target
