"""The notebooks: they run from top to bottom, and what they show comes from such a run."""

from __future__ import annotations

import importlib.util
import re
import tokenize
from io import StringIO
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 300 * 1024
LEARNS = {"02_train_a_bidding_agent"}
"""What a network learns depends on the processor's matrix products: figures may differ there."""
MACHINE = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|usr|work|var|opt|Users)/|[A-Z]:\\\\")
"""Paths of a machine."""


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"notebooks_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUN = load("run")
each = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def codes(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell: Any) -> list[str]:
    """Returns what a cell shows, as text; bytes of pictures left out."""
    found = []
    for output in cell.outputs:
        found.append(output.get("text", ""))
        found += [str(value) for kind, value in output.get("data", {}).items() if "png" not in kind]
    return [text for text in found if text]


def printed(cell: Any) -> list[str]:
    """Returns what a cell shows as plain text; how tables are drawn may change."""
    outputs = cell.outputs
    return [o.get("text", o.get("data", {}).get("text/plain", "")) for o in outputs]


def shows(cell: Any) -> bool:
    """Whether a cell ends with an expression, prints, or plays through something that prints."""
    return "print(" in cell.source or not _ends_with_a_statement(cell.source)


def _ends_with_a_statement(source: str) -> bool:
    import ast

    if source.startswith("%%"):
        return True
    plain = "\n".join(line for line in source.splitlines() if not line.startswith("%"))
    last = ast.parse(plain).body[-1]
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
        return not isinstance(last, ast.Expr)
    called = ast.unparse(last.value.func)
    return called.endswith((".cleanup", ".unlink"))


def test_there_are_notebooks_and_all_are_listed() -> None:
    assert [path.name[:2] for path in FILES] == [f"{n:02d}" for n in range(1, len(FILES) + 1)]
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((\S+\.ipynb)\)", readme) == [path.name for path in FILES]


@each
def test_outputs_are_those_of_a_whole_run(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    cells = codes(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert cell.outputs or not shows(cell), f"nothing shown by:\n{cell.source}"
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.get("text")
    pictures = [kind for c in cells for o in c.outputs for kind in o.get("data", {})]
    assert any(kind in ("image/png", "text/html") for kind in pictures)


@each
def test_outputs_say_nothing_of_the_machine(path: Path) -> None:
    notebook = read(path)
    assert path.stat().st_size < LARGEST
    assert notebook.metadata == RUN.METADATA
    for cell in notebook.cells:
        assert cell.metadata == {}
    for cell in codes(notebook):
        for text in texts(cell):
            assert not MACHINE.search(text), text
            assert " object at 0x" not in text and "Warning" not in text
            assert "\r" not in text and "\x1b[" not in text, "no progress bars, no colours"


@each
def test_links_and_sources_are_sound(path: Path) -> None:
    notebook = read(path)
    assert notebook.cells[0].source.startswith("# "), "a title first"
    assert codes(notebook)[0].source == RUN.FIRST_CELL
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\((?!http)([^)#]+)\)", cell.source):
                assert (FOLDER / target).exists(), target
            for target in re.findall(r"`(docs/[^`]+|configs/[^`]+)`", cell.source):
                assert (ROOT / target).exists(), target


def fresh(path: Path) -> Any:
    """Returns a notebook as a fresh kernel runs it, in a temporary folder."""
    return RUN.executed(read(path))


def assert_shows_the_same(path: Path) -> None:
    """Runs a notebook and compares all that it prints with what is committed."""
    for old, new in zip(codes(read(path)), codes(fresh(path)), strict=True):
        assert path.stem in LEARNS or printed(new) == printed(old), (
            f"run `make notebooks`: {old.source}"
        )
        kinds = [[sorted(o.get("data", {})) for o in cell.outputs] for cell in (old, new)]
        assert kinds[0] == kinds[1]


def test_the_first_notebook_shows_the_same_again() -> None:
    assert_shows_the_same(FILES[0])


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES[1:], ids=lambda path: path.stem)
def test_every_notebook_shows_the_same_again(path: Path) -> None:
    assert_shows_the_same(path)


def test_a_notebook_that_fails_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "01_bad.ipynb"
    cells = [nbformat.v4.new_code_cell("pass"), nbformat.v4.new_code_cell("1 / 0")]
    RUN.write(nbformat.v4.new_notebook(cells=cells), path)
    before = path.read_bytes()
    monkeypatch.setattr(RUN, "FOLDER", tmp_path)
    assert RUN.main(["01"]) == 1
    assert path.read_bytes() == before and [file.name for file in tmp_path.iterdir()] == [path.name]
    assert "ZeroDivisionError" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="no notebook begins with '02': 01_bad"):
        RUN.main(["02"])


@pytest.mark.slow
def test_files_that_are_no_notebooks_and_dead_kernels_are_told_and_the_rest_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "01_half.ipynb").write_text("{", encoding="utf-8")
    RUN.write(nbformat.v4.new_notebook(), tmp_path / "02_empty.ipynb")
    sources = {"03_dead": "import os; os._exit(3)", "04_slow": "import time; time.sleep(60)"}
    for name, source in (sources | {"05_right": "print(7)"}).items():
        cells = [nbformat.v4.new_code_cell(text) for text in ("pass", source)]
        RUN.write(nbformat.v4.new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
    monkeypatch.setattr(RUN, "FOLDER", tmp_path)
    monkeypatch.setattr(RUN, "SECONDS", 5)
    assert RUN.main([]) == 1
    told = capsys.readouterr()
    for name in ("01_half", "02_empty", "03_dead", "04_slow"):
        assert f"{name}.ipynb: not changed" in told.err
    assert "05_right.ipynb" in told.out
    assert texts(codes(read(tmp_path / "05_right.ipynb"))[1]) == ["7\n"]


def test_the_first_cell_says_what_to_set_where_there_is_no_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = RUN.FIRST_CELL.replace("find_spec(", "(lambda name: None)(")
    assert "import" in missing and list(tokenize.generate_tokens(StringIO(missing).readline))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OHHELL_ENV_CLONE", raising=False)
    with pytest.raises(SystemExit, match="OHHELL_ENV_CLONE"):
        exec(compile(missing, "first cell", "exec"), {})


def test_the_first_cell_installs_the_clone_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import subprocess
    import sys

    (tmp_path / "clone" / "ohhell_env" / "engine").mkdir(parents=True)
    (tmp_path / "clone" / "notebooks").mkdir()
    commands: list[list[str]] = []
    monkeypatch.chdir(tmp_path / "clone" / "notebooks")
    monkeypatch.delenv("OHHELL_ENV_CLONE", raising=False)
    monkeypatch.setattr(subprocess, "run", lambda words, check: commands.append(words))
    monkeypatch.setattr(sys, "path", list(sys.path))
    missing = RUN.FIRST_CELL.replace("find_spec(", "(lambda name: None)(")
    exec(compile(missing, "first cell", "exec"), {})
    clone = str(tmp_path / "clone")
    assert commands == [
        [sys.executable, "-m", "pip", "install", "--quiet", f"{clone}[train,plots]"]
    ]


def test_the_first_cell_does_nothing_where_the_project_is_installed() -> None:
    names: dict[str, Any] = {}
    exec(compile(RUN.FIRST_CELL, "first cell", "exec"), names)
    assert "clone" not in names
