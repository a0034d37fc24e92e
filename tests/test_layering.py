"""The layers: who may import whom, read from the source, imports inside functions included."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("ohhell_env", "agents", "train")
LEARNING = {"torch", "stable_baselines3", "sb3_contrib", "safetensors"}
DRAWING = {"pygame", "matplotlib"}
RESOLVER = "ohhell_env/players.py"
"""The one file of the library that asks ``agents`` for a player, when one is wanted by name."""
ADAPTED = {"open_spiel": "pyspiel", "rllib": "ray"}
"""Modules of ``ohhell_env/adapters`` and the library that each of them alone imports."""


def python_files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


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
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.iter_child_nodes(node):
            visit(child, at_once and not lazy and not typing_only)

    visit(ast.parse(source), True)
    return found


def _is_import_call(node: ast.Call) -> bool:
    return ast.unparse(node.func) in ("import_module", "importlib.import_module", "__import__")


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def tops(path: Path, at_once_only: bool = False) -> dict[str, int]:
    """Top-level packages that a file imports, with a line of each."""
    found = imports(path.read_text(encoding="utf-8"), module_of(path))
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
        if name in banned and str(path.relative_to(ROOT).as_posix()) != RESOLVER
    ]


def test_the_library_knows_no_agents_training_or_torch() -> None:
    assert places(["ohhell_env"], {"agents", "train", *LEARNING}) == []


def test_only_the_resolver_asks_for_agents_and_only_when_called() -> None:
    resolver = ROOT / RESOLVER
    if not resolver.exists():
        pytest.skip("players are not resolved by name yet")
    assert not set(tops(resolver, at_once_only=True)) & {"agents", "train", *LEARNING}
    assert not set(tops(resolver)) & {"train", *LEARNING}


def test_agents_know_no_training() -> None:
    assert places(["agents"], {"train", "stable_baselines3", "sb3_contrib"}) == []


def test_nothing_draws_on_import_and_nobody_uses_the_old_gym() -> None:
    """P32 and P42."""
    assert places(list(PACKAGES), DRAWING, at_once_only=True) == []
    assert places(list(PACKAGES), {"gym"}) == []


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT / "ohhell_env").as_posix().split("/")[0].removesuffix(".py")


BELOW_THE_ENGINE: dict[str, set[str]] = {
    "errors": set(),
    "cards": {"errors"},
    "variants": {"cards", "errors"},
    "axes": {"errors", "cards"},
    "settings": {"errors"},
    "schedule": {"errors", "rules", "axes", "cards"},
    "actions": {"errors", "cards", "schedule"},
    "files": {"errors"},
    "yaml_text": {"errors"},
    "rules": {"errors", "cards", "axes", "settings", "variants", "checks", "yaml_text", "files"},
}
"""The lowest layers and what they may import of the library."""


@pytest.mark.parametrize("module", BELOW_THE_ENGINE)
def test_the_lowest_layers(module: str) -> None:
    path = ROOT / "ohhell_env" / f"{module}.py"
    found = imports(path.read_text(encoding="utf-8"), module_of(path))
    used = {name.split(".")[1] for name, _, _ in found if name.startswith("ohhell_env.")}
    assert used <= BELOW_THE_ENGINE[module]
    assert not set(tops(path)) & {"numba", "numpy", "pettingzoo", "gymnasium"}


def test_the_engine_knows_no_doors() -> None:
    doors = {"game", "envs", "oh_hell_v0", "record", "replay", "notation", "observation", "illegal"}
    for path in python_files("ohhell_env/engine"):
        if path.name == "fuzz.py":
            continue  # plays whole games through every door
        found = imports(path.read_text(encoding="utf-8"), module_of(path))
        used = {name.split(".")[1] for name, _, _ in found if name.startswith("ohhell_env.")}
        assert not used & doors, path


def test_pettingzoo_and_gymnasium_are_for_the_environments() -> None:
    allowed = {"envs", "oh_hell_v0", "bench"}
    for path in python_files("ohhell_env"):
        if layer_of(path) not in allowed and path.stem != "rllib":
            assert not set(tops(path)) & {"pettingzoo", "gymnasium"}, path
    assert "pettingzoo" not in tops(ROOT / "ohhell_env/envs/batched.py")


def test_numba_is_for_the_engine() -> None:
    for path in python_files("ohhell_env"):
        if layer_of(path) not in ("engine", "__main__"):
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
        found = imports(path.read_text(encoding="utf-8"), module_of(path))
        if layer_of(path) != "adapters":
            assert not [name for name, _, _ in found if name.startswith("ohhell_env.adapters")]


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
    assert {("a.b", True), ("c.d", True), ("e", False), ("g", False), ("h.i", False)} <= found
    assert ("pack.j", True) in found
