"""What would break on another system: encodings, modules of Unix, workers, files, the CI workflow.

The tests run on Linux; what they cannot try they read from the source.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from ohhell_env.errors import OhHellError
from ohhell_env.files import read_text
from ohhell_env.players import NamedPlayer, named_player
from tests.test_layering import MODULES, ROOT
from tests.test_makefile import PYPROJECT

UNIX = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
"""Modules of Python that Windows lacks."""
UNIX_NAMES = {
    *("fork", "forkpty", "getgid", "getuid", "geteuid", "killpg", "mkfifo", "nice", "setpgid"),
    *("setsid", "sysconf", "uname", "wait3", "wait4", "O_NONBLOCK", "SIGKILL", "SIGHUP", "SIGALRM"),
    *("alarm", "setitimer", "set_blocking", "pause"),
}
"""Names in the modules os and signal that Windows lacks, or that mean another thing there."""
GUARDED = {
    "agents/ohhell_agents/external/program.py": "programs as players, refused on Windows",
    "train/ohhell_train/tournament/executors/watch.py": "not used where os.name is not posix",
    "train/ohhell_train/tournament/executors/scratch.py": "returns before where it is not posix",
}
"""Files that may use such names, and why that is right."""
SOURCES = [*MODULES.values(), *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "docs").rglob("*.py")]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"

WITHOUT_UNIX = """
import builtins, os, signal, sys
import asyncio, multiprocessing.util, socket, subprocess, tempfile  # need Unix themselves

whole = builtins.__import__

def without(name, globals=None, *more, **named):
    asking = (globals or {}).get("__name__", "").partition(".")[0]
    top = name.partition(".")[0]
    if top in OPTIONAL or (top in UNIX and asking.startswith("ohhell_")):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return whole(name, globals, *more, **named)

builtins.__import__ = without
for module in (os, signal):
    for name in UNIX_NAMES - KEPT:
        if hasattr(module, name):
            delattr(module, name)
"""
"""Makes Python forget what Windows lacks, and what is optional."""


def calls(path: Path) -> Iterator[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT).as_posix()}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)}"


# ---------------------------------------------------------------- encodings and line ends


def lacks_encoding(call: ast.Call) -> bool:
    """Whether a call reads or writes text and leaves the encoding to the system."""
    given = {keyword.arg for keyword in call.keywords}
    name = ast.unparse(call.func)
    method = name.rpartition(".")[2]
    if "encoding" in given:
        return False
    if method in ("read_text", "write_text") and "." in name and name != "files.read_text":
        return len(call.args) < (1 if method == "read_text" else 2)
    if method in ("NamedTemporaryFile", "TemporaryFile", "fdopen", "open"):
        texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
        texts += [key.value.value for key in call.keywords if key.arg == "mode"]  # type: ignore[attr-defined]
        modes = [
            text for text in texts if isinstance(text, str) and re.fullmatch("[rwxabt+]+", text)
        ]
        if name.startswith(("os.", "Image.", "webbrowser.", "tempfile.")) and method == "open":
            return False
        binary = method.endswith("TemporaryFile") and not modes  # their mode is "w+b" otherwise
        opens = name == "open" or method != "open" or bool(modes) or not call.args
        return opens and not binary and not any("b" in mode for mode in modes)
    return bool({"text", "universal_newlines"} & given) and method in (
        "run",
        "Popen",
        "check_output",
    )


@pytest.mark.parametrize(
    ("source", "lacks"),
    [
        ("path.read_text()", True),
        ("path.read_text(encoding='utf-8')", False),
        ("path.write_text(text)", True),
        ("path.open()", True),
        ("path.open('a+')", True),
        ("path.open('rb')", False),
        ("open(path)", True),
        ("open(path, 'wb')", False),
        ("subprocess.run(words, text=True)", True),
        ("subprocess.run(words)", False),
        ("tempfile.TemporaryFile(dir=folder)", False),
        ("tempfile.NamedTemporaryFile('w')", True),
        ("os.open(path, flags)", False),
        ("store.open(path)", False),
    ],
)
def test_a_missing_encoding_is_seen(source: str, lacks: bool) -> None:
    (call,) = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    assert lacks_encoding(call) is lacks


def test_every_text_has_its_encoding() -> None:
    found = [place(path, call) for path in SOURCES for call in calls(path) if lacks_encoding(call)]
    assert found == []


def test_tests_read_and_write_utf_8() -> None:
    """The output of a process is another thing: it has the encoding of the system."""
    found = [
        place(path, call)
        for path in (ROOT / "tests").rglob("*.py")
        for call in calls(path)
        if ast.unparse(call.func).endswith((".read_text", ".write_text")) and lacks_encoding(call)
    ]
    assert found == []


def test_text_files_have_the_line_ends_of_unix_in_every_clone() -> None:
    """Digests of files, and files that are compared, would differ otherwise."""
    lines = (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "* text=auto eol=lf"
    listed = subprocess.run(
        ["git", "ls-files", "--eol"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    if listed.returncode:
        pytest.skip("no clone")
    kinds = [line.partition("attr/")[0] for line in listed.stdout.splitlines()]
    assert not [kind for kind in kinds if "crlf" in kind or "mixed" in kind]


def test_file_names_are_right_on_every_system() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    names = listed.stdout.splitlines()
    if listed.returncode or not names:
        pytest.skip("no clone")
    small = [name.lower() for name in names]
    assert len(set(small)) == len(small), "two names differ by case alone"
    reserved = re.compile(r"(^|/)(con|prn|aux|nul|com\d|lpt\d)(\.|/|$)|[<>:\"|?*\\]|[. ](/|$)")
    assert [name for name in small if reserved.search(name)] == []
    assert max(map(len, names)) < 120, "Windows has paths of 260 letters at most"


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
@pytest.mark.parametrize(
    "words", ["deal oh_hell --seed 3 --hand-size 3", "rules oh_hell", "--help"]
)
def test_commands_print_on_a_console_without_suits(words: str, encoding: str) -> None:
    done = child("-m", "ohhell_env", *words.split(), environment={"PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    done.stdout.decode(encoding)


def test_a_report_is_printed_where_there_is_ascii_only(tmp_path: Path) -> None:
    words = ["tournament", "heuristic", "random", "--deals", "2", "--hand-size", "2"]
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = child("-m", "ohhell_env", *words, "--out", str(tmp_path / "out"), environment=plain)
    assert done.returncode == 0, done.stderr
    done.stdout.decode("ascii")
    assert "\u00b1" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


# ---------------------------------------------------------------- what only Unix has


def test_modules_of_unix_are_imported_where_they_may_be_missing() -> None:
    found: list[str] = []
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        guarded = {
            id(node)
            for attempt in ast.walk(tree)
            if isinstance(attempt, ast.Try)
            and any(
                "ImportError" in ast.unparse(handler.type or attempt)
                for handler in attempt.handlers
            )
            for node in attempt.body
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in guarded:
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                found += [place(path, node)] * bool(names & UNIX)
    assert found == []


def test_names_of_unix_are_used_where_the_system_is_known() -> None:
    found: list[str] = []
    for path in SOURCES:
        if path.relative_to(ROOT).as_posix() in GUARDED:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("os", "signal"):
                found += [place(path, node)] * (node.attr in UNIX_NAMES)
    assert found == []


def test_workers_are_spawned() -> None:
    """Windows and macOS know no safe fork, and Python 3.14 starts workers in a third way."""
    for path in SOURCES:
        for call in calls(path):
            name = ast.unparse(call.func)
            if name.endswith("get_context"):
                assert [ast.unparse(each) for each in call.args] == ["'spawn'"], place(path, call)
            assert name not in ("multiprocessing.Process", "multiprocessing.Pool"), place(
                path, call
            )
            assert "set_start_method" not in name, place(path, call)
        assert "ProcessPoolExecutor" not in path.read_text(encoding="utf-8"), path


EVERYTHING = """
import importlib

for name in MODULES:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert error.name.partition(".")[0] in OPTIONAL, (name, error)
    except Exception as error:
        assert "adapter needs" in str(error), (name, error)

if __name__ == "__main__":
    from pathlib import Path
    import ohhell_agents
    from ohhell_env.cli.commands import main
    from ohhell_train.runs.lock import only_here

    words = ["tournament", "heuristic", "random", "--deals", "4", "--hand-size", "2"]
    assert main([*words, "--workers", "2", "--out", "out"]) == 0
    with only_here(Path("lock"), "trains here"), only_here(Path("lock"), "trains here"):
        pass  # no locks there
    ohhell_agents.HeuristicAgent(seed=1).save("saved")
    ohhell_agents.make("saved").close()
"""


def test_the_packages_work_without_what_windows_lacks(tmp_path: Path) -> None:
    optional = {"torch", "stable_baselines3", "sb3_contrib", "ray", "pyspiel", "textual", "pygame"}
    optional |= {"matplotlib", "PIL", "resvg_py", "tensorboard", "open_spiel"}
    kept = {"O_NONBLOCK", "getuid", "set_blocking", "sysconf", "uname"}  # Python itself needs them
    lists = {"UNIX": UNIX, "UNIX_NAMES": UNIX_NAMES, "KEPT": kept, "OPTIONAL": optional}
    lists["MODULES"] = {*MODULES}
    ours = "".join(f"{name} = {value!r}\n" for name, value in lists.items())
    program = tmp_path / "everything.py"
    program.write_text(ours + WITHOUT_UNIX + EVERYTHING, encoding="utf-8")
    done = child(str(program), folder=tmp_path)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    assert (tmp_path / "out" / "results.json").is_file()


def test_a_folder_is_named_where_folders_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: object, *_: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OhHellError, match="it is a folder"):
        read_text(tmp_path)
    with pytest.raises(OhHellError, match="Permission denied"):
        read_text(tmp_path / "file")


@pytest.mark.parametrize(
    ("given", "name", "player"),
    [
        (r"mine=C:\runs\x\best", "mine", r"C:\runs\x\best"),
        (r"C:\runs\x=1\best", r"C:\runs\x=1\best", r"C:\runs\x=1\best"),
        ("mine=D:/runs/best", "mine", "D:/runs/best"),
        (r"mine=\\server\share\best", "mine", r"\\server\share\best"),
    ],
)
def test_paths_with_a_drive_are_players(given: str, name: str, player: str) -> None:
    assert named_player(given) == NamedPlayer(name, player)


# ---------------------------------------------------------------- the workflow


def test_the_workflow_runs_every_system_and_version() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    strategy = workflow["jobs"]["systems"]["strategy"]
    assert strategy["fail-fast"] is False
    assert strategy["matrix"]["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    versions = strategy["matrix"]["python"]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    allowed = SpecifierSet(PYPROJECT["project"]["requires-python"])
    assert all(version in allowed for version in versions)
    classified = [line for line in PYPROJECT["project"]["classifiers"] if ":: 3." in line]
    assert [line.rpartition(" ")[2] for line in classified] == versions


def test_the_workflow_pins_major_versions_and_needs_make_on_linux_alone() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/x@v1"))
            assert name != "systems" or "make" not in step.get("run", "")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = re.findall(
        r'constraint constraints\.txt --editable "(\.\[.*dev.*\])"$', makefile, re.M
    )
    (install,) = re.findall(r'--editable "(.*)"', WORKFLOW.read_text(encoding="utf-8"))
    assert install == min(extras, key=len)


def test_the_workflow_is_valid() -> None:
    pytest.importorskip("check_jsonschema")
    words = ["--builtin-schema", "vendor.github-workflows", str(WORKFLOW)]
    done = child("-m", "check_jsonschema", *words)
    assert done.returncode == 0, done.stdout + done.stderr


def child(
    *words: str, folder: Path = ROOT, environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[bytes]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "agents"), str(ROOT / "train")])
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        check=False,
        timeout=600,
    )
