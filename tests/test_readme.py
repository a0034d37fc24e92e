"""The README's Python examples run, one after the other, as a reader would try them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ohhell_env import variants

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for example in EXAMPLES:
        exec(compile(example, str(README), "exec"), names)
    printed = capsys.readouterr().out
    assert len(names["env"].unwrapped.scores) == 4
    assert "| `hand` | 0 | 52 |" in printed
    assert "(1024, 539)" in printed
    assert re.search(r"^bid \d$", printed, re.MULTILINE)


def test_the_first_example_is_about_fifteen_lines() -> None:
    lines = [line for line in EXAMPLES[0].splitlines() if line.strip()]
    assert len(lines) <= 15


def test_the_number_of_presets_is_right() -> None:
    assert f"{len(variants())} presets" in README.read_text(encoding="utf-8")


def test_linked_files_exist() -> None:
    for target in re.findall(r"\]\((?!http)([^)]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).exists(), target
