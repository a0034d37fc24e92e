"""The layers and rooms: who may import whom, as read from the source, late imports included."""

from __future__ import annotations

import ast
import collections
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LIBRARY, PLAYERS, TRAINING = "ohhell_env", "agents/ohhell_agents", "train/ohhell_train"
PACKAGES = (LIBRARY, PLAYERS, TRAINING)
LEARNING = {"torch", "stable_baselines3", "sb3_contrib"}
DRAWING = {"pygame", "matplotlib"}
CLIMBERS = {"ohhell_env/players.py"}
"""The one file that imports from a layer above: players by name, when one is asked for. Commands
are the other exception; their table names modules as text."""
ADAPTED = {"open_spiel": "pyspiel", "rllib": "ray", "sb3": "stable_baselines3"}
"""Modules of ``ohhell_env/adapters`` and the library that each of them alone imports."""
MOST_MODULES = 16
MOST_DOUBLE_NAMES = 0.03


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imports(source: str, module: str) -> list[tuple[str, bool, int]]:
    """Every import of a module: dotted name, whether it runs on import, line."""
    found: list[tuple[str, bool, int]] = []

    def visit(node: ast.AST, at_once: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend((alias.name, at_once, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.rsplit(".", node.level)[0] + "." if node.level else ""
            base = f"{package}{node.module or ''}".strip(".")
            found.append((base, at_once, node.lineno))
            found.extend((f"{base}.{alias.name}", at_once, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and _is_import_call(node):
            found.extend(
                (str(arg.value), at_once, node.lineno)
                for arg in node.args[:1]
                if isinstance(arg, ast.Constant)
            )
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return  # for type checkers alone
        for child in ast.iter_child_nodes(node):
            visit(child, at_once and not lazy)

    visit(ast.parse(source), True)
    return found


def _is_import_call(node: ast.Call) -> bool:
    return ast.unparse(node.func) in ("import_module", "importlib.import_module", "__import__")


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] in ("agents", "train") else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> list[tuple[str, bool, int]]:
    name = module_of(path) + (".__init__" if path.stem == "__init__" else "")
    return imports(path.read_text(encoding="utf-8"), name)


MODULES = {module_of(path): path for package in PACKAGES for path in python_files(package)}


def tops(path: Path, at_once_only: bool = False) -> dict[str, int]:
    """Top-level packages that a file imports, with a line of each."""
    found = imports_of(path)
    return {
        name.partition(".")[0]: line for name, at_once, line in found if at_once or not at_once_only
    }


def places(packages: list[str], banned: set[str], at_once_only: bool = False) -> list[str]:
    """Where files of some packages import what they must not."""
    return [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package in packages
        for path in python_files(package)
        for name, line in tops(path, at_once_only).items()
        if name in banned
    ]


# ---------------------------------------------------------------- layers


def test_no_import_climbs_a_layer() -> None:
    allowed = [f"{path}:" for path in CLIMBERS]
    found = places([LIBRARY], {"ohhell_agents", "ohhell_train"}) + places(
        [PLAYERS], {"ohhell_train"}
    )
    assert [place for place in found if not place.startswith(tuple(allowed))] == []
    (climber,) = CLIMBERS
    assert not {"ohhell_agents", "ohhell_train"} & tops(ROOT / climber, at_once_only=True).keys()
    assert "ohhell_train" not in tops(ROOT / climber)


def test_the_packages_need_nothing_optional_to_be_imported() -> None:
    optional = {*LEARNING, *DRAWING, "tensorboard", "textual", "PIL", "resvg_py", "ray"}
    methods = ("ppo", "distill", "counterfactual", "trick_model")
    late = ("ohhell_env/adapters/", "ohhell_agents/nn/", "ohhell_train/play/", "ohhell_train/runs/")
    late += tuple(f"ohhell_train/{method}/" for method in methods)
    found = places(list(PACKAGES), optional, at_once_only=True)
    assert [place for place in found if not any(part in place for part in late)] == []


def test_players_learn_nothing_and_the_library_knows_no_torch() -> None:
    assert places([LIBRARY], {"torch", "sb3_contrib"}) == []
    assert places([PLAYERS], {"stable_baselines3", "sb3_contrib"}) == []


def test_nobody_uses_the_old_gym() -> None:
    assert places(list(PACKAGES), {"gym"}) == []


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT / "ohhell_env").as_posix().split("/")[0].removesuffix(".py")


BELOW_THE_ENGINE: dict[str, set[str]] = {
    "errors": set(),
    "extras": set(),
    "display": set(),
    "files": {"errors"},
    "cards": {"errors"},
    "rules": {"errors", "cards", "files", "rules"},
    "actions": {"errors", "cards", "rules"},
}
"""The lowest layers and what they may import of the library."""


@pytest.mark.parametrize("layer", BELOW_THE_ENGINE)
def test_the_lowest_layers(layer: str) -> None:
    files = [path for path in python_files("ohhell_env") if layer_of(path) == layer]
    assert files
    for path in files:
        used = {
            name.split(".")[1] for name, _, _ in imports_of(path) if name.startswith("ohhell_env.")
        }
        assert used - {"__version__"} <= BELOW_THE_ENGINE[layer], path
        assert not set(tops(path)) & {"numba", "numpy", "pettingzoo", "gymnasium"}, path


def test_the_engine_knows_no_doors() -> None:
    allowed = {*BELOW_THE_ENGINE, "engine"} - {"display", "files"}
    for path in python_files("ohhell_env/engine"):
        used = {
            name.split(".")[1] for name, _, _ in imports_of(path) if name.startswith("ohhell_env.")
        }
        assert used <= allowed, path


def test_pettingzoo_and_gymnasium_are_for_the_environments() -> None:
    allowed = {"envs", "oh_hell_v0", "adapters"}
    for path in python_files("ohhell_env"):
        if layer_of(path) not in allowed:
            assert not set(tops(path)) & {"pettingzoo", "gymnasium"}, path
    assert "pettingzoo" not in tops(ROOT / "ohhell_env/envs/batched.py")


def test_numba_is_for_the_engine() -> None:
    for path in python_files("ohhell_env"):
        if layer_of(path) != "engine":
            assert "numba" not in tops(path, at_once_only=True), path


def test_the_library_needs_only_what_it_declares() -> None:
    declared = {"gymnasium", "numba", "numpy", "pettingzoo", "yaml", "typer", "llvmlite"}
    for path in python_files("ohhell_env"):
        own = set(tops(path, at_once_only=True)) - set(sys.stdlib_module_names)
        if layer_of(path) == "adapters":
            own.discard(ADAPTED.get(path.stem, ""))
        assert own <= declared | {"ohhell_env"}, path


def test_adapters_are_for_those_who_ask_for_them() -> None:
    assert {path.stem for path in python_files("ohhell_env/adapters")} >= ADAPTED.keys()
    for path in python_files("ohhell_env"):
        if layer_of(path) != "adapters":
            found = [name for name, _, _ in imports_of(path)]
            assert not [name for name in found if name.startswith("ohhell_env.adapters")], path


# ---------------------------------------------------------------- rooms


def needs() -> dict[str, set[str]]:
    """Every module with those of ours that it imports, late imports too; packages aside."""
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        found[module] = set()
        for wanted, _, _ in imports_of(path):
            name = wanted
            while name and name not in MODULES:
                name = name.rpartition(".")[0]
            if name and name != module and MODULES[name].stem != "__init__":
                found[module].add(name)
    return found


def test_no_modules_import_each_other_in_a_circle() -> None:
    tuple(graphlib.TopologicalSorter(needs()).static_order())  # CycleError names the circle


def test_no_folder_has_too_many_modules() -> None:
    counts = collections.Counter(
        path.parent for path in MODULES.values() if path.stem != "__init__"
    )
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_public_names_are_of_one_module_each() -> None:
    homes: dict[str, list[str]] = collections.defaultdict(list)
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module)
    twice = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert len(twice) <= MOST_DOUBLE_NAMES * len(homes), twice


def test_nothing_imports_the_folders_that_the_packages_stand_in() -> None:
    """``import agents`` would find an empty namespace in a clone, and fail everywhere else."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("no clone")
    wanted = r"\bfrom (?:agents|train)(?:\.\w+)* import"
    old = re.compile(rf"{wanted}|^\W*import (?:agents|train)\b|python -m train\b", re.MULTILINE)
    # The changelog names what is gone, and a test plays a user who has a folder called agents.
    named = ("tests/test_layering.py", "tests/test_install.py", "CHANGELOG.md")
    texts = (".py", ".md", ".ipynb", ".yml", ".yaml", ".toml", ".html", ".j2")
    found = [
        f"{name}: {match[0]!r}"
        for name in listed.stdout.splitlines()
        if name.endswith(texts) and name not in named and (ROOT / name).is_file()
        for match in old.finditer((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_reader_of_imports_sees_them_all() -> None:
    source = (
        "import a.b\n"
        "from c import d\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import e\n"
        "def f():\n    import g\n    import_module('h.i')\n"
        "from . import j\n"
    )
    found = {(name, at_once) for name, at_once, _ in imports(source, "pack.module")}
    assert {("a.b", True), ("c.d", True), ("g", False), ("h.i", False)} <= found
    assert ("pack.j", True) in found
    assert not [name for name, _ in found if name == "e"]
