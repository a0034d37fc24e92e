"""The check of prose: its patterns find what they should, and every kind of text is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import prose
from docs.prose import Passage, Pattern, Prose

LIST = Prose.read()
MADE_UP = """
most_words = 5
allowed = ["told you so"]
[[pattern]]
find = '\\btold (you|me)\\b'
write = "showed"
bad = []
good = []
"""
EVERYWHERE = "It is reckoned\nanew."


def found(text: str) -> list[str]:
    return [hit.found for hit in LIST.check("a", [Passage(1, text)])]


def read(name: str, text: str, folder: Path, rules: Prose = LIST) -> list[tuple[int, str]]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [(hit.line, hit.found) for hit in prose.hits_of(path, rules)]


@pytest.mark.parametrize("pattern", LIST.patterns, ids=lambda each: each.write)
def test_every_pattern_keeps_its_examples(pattern: Pattern) -> None:
    assert pattern.bad and pattern.good
    for text in pattern.bad:
        assert [*pattern.places(text)], text
    for text in pattern.good:
        assert not [*pattern.places(text)], text
        assert not found(text), "what one pattern advises, another forbids"


def test_every_exception_is_still_needed() -> None:
    texts = "\n".join(
        " ".join(passage.text.split())
        for file in prose.files()
        for passage in prose.READERS[file.suffix](file.read_text(encoding="utf-8"))
    )
    assert [each.pattern for each in LIST.allowed if not each.search(texts)] == []


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.md", f"# Title\n\n{EVERYWHERE}\n", 3),
        ("a.md", f"| a | b |\n|---|---|\n| c | {EVERYWHERE.replace(chr(10), ' ')} |\n", 3),
        (
            "a.ipynb",
            '{"cells": [{"cell_type": "markdown", "source": ["It is reckoned anew."]}]}',
            1,
        ),
        ("a.py", f'def f():\n    """{EVERYWHERE}"""\n', 2),
        ("a.py", 'x = 1\n# It is reckoned\n# anew.\nraise E("no")\n', 2),
        ("a.py", 'def f(x):\n    raise E(f"it is reckoned {x} " "anew")\n', 2),
        ("a.yaml", "# It is reckoned\n# anew.\nkey: 1\n", 1),
        ("Makefile", "a:  ## it is reckoned anew\n", 1),
        ("a.html.j2", "<p>\n<b>It is</b> reckoned {{ x }} anew</p>\n", 2),
    ],
)
def test_every_kind_of_text_is_read(name: str, text: str, line: int, tmp_path: Path) -> None:
    hits = read(name, text, tmp_path)
    assert {word for _, word in hits} == {"reckoned", "anew"}
    assert min(hits)[0] == line


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "Text.\n\n```python\nreckoned = 1  # anew\n```\n"),
        ("a.md", "See `reckoned` and [this](reckoned.md) at https://a.org/anew.\n"),
        ("a.md", "<!-- generated: x -->\nreckoned\n<!-- end -->\n"),
        ("a.py", "reckoned = {'anew': 1}  # noqa: E501\n"),
        ("a.py", '"""Returns ``reckoned``.\n\n>>> reckoned(1)\n"""\n'),
        ("a.ipynb", '{"cells": [{"cell_type": "code", "source": ["reckoned"]}]}'),
        ("a.toml", "reckoned = 1\n"),
    ],
)
def test_code_is_not_prose(name: str, text: str, tmp_path: Path) -> None:
    assert read(name, text, tmp_path) == []


def test_long_sentences_of_pages_are_found(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(MADE_UP, encoding="utf-8")
    rules = Prose.read(tmp_path / "list.toml")
    long = "This one `has` six\nwords altogether."
    hits = read("a.md", f"Five words are not many.\n\n- {long}", tmp_path, rules)
    assert hits == [(3, "This one ~~~~~ six words altogether. …")]
    assert read("a.md", "One, two. Three, four. Five, six.", tmp_path, rules) == []
    assert read("a.md", "- One, two, three\n- Four, five, six", tmp_path, rules) == []
    assert read("CHANGELOG.md", long, tmp_path, rules) == []
    assert read("a.py", f'"""{long}"""', tmp_path, rules) == []


def test_an_exception_spares_its_words_alone(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(MADE_UP, encoding="utf-8")
    rules = Prose.read(tmp_path / "list.toml")
    assert read("a.md", "I told\nyou so.", tmp_path, rules) == []
    assert read("a.md", "I told you. You told me so.", tmp_path, rules) == [
        (1, "told you"),
        (1, "told me"),
    ]


def test_the_command_lists_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text(EVERYWHERE, encoding="utf-8")
    assert prose.main([str(tmp_path)]) == 1
    assert f"{tmp_path.as_posix()}/a.md:2: 'anew': again" in capsys.readouterr().out
    assert prose.main([str(tmp_path), "--count"]) == 1
    assert f"    2 {tmp_path.as_posix()}/a.md" in capsys.readouterr().out
    (tmp_path / "a.md").write_text("Plain words.", encoding="utf-8")
    assert prose.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""


def test_the_project_is_read_whole() -> None:
    names = {file.relative_to(prose.ROOT).as_posix() for file in prose.files()}
    assert {
        *("README.md", "CONTRIBUTING.md", "Makefile", "docs/rules.md", "docs/generate.py"),
        *("notebooks/01_first_deal.ipynb", "ohhell_env/cards.py", "configs/rules/all_axes.yaml"),
        *("agents/ohhell_agents/base.py", "train/ohhell_train/recipes/quick.yaml"),
        *("ohhell_env/pictures/page/page.js", "train/ohhell_train/tournament/pages/report.html.j2"),
    } <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]


def test_no_text_reads_as_translated() -> None:
    hits = [str(hit) for file in prose.files() for hit in prose.hits_of(file, LIST)]
    assert hits == []
