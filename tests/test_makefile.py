"""What the project says of itself agrees: Makefile, CI script, version, wheel, pins."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import ohhell_env

ROOT = Path(__file__).resolve().parent.parent
TARGETS = [
    *("help", "install", "train", "test", "test-all", "test-interpreted", "test-bounds"),
    *("test-lowest", "test-adapters", "lint", "format", "type", "docs", "docs-serve"),
    *("notebooks", "check", "bench", "clean"),
]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]


def run(*command: str) -> str:
    # What `make test VARIANT=...` hands down must not reach the make that is tested.
    handed_down = {
        "MAKEFLAGS",
        "MAKELEVEL",
        "MFLAGS",
        "PYTHON",
        "VENV",
        "VARIANT",
        "PLAYERS",
        "ARGS",
    }
    env = {key: value for key, value in os.environ.items() if key not in handed_down}
    done = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    return done.stdout


def requirements() -> list[Requirement]:
    lines: list[str] = [*PYPROJECT["project"]["dependencies"]]
    for extra, wanted in EXTRAS.items():
        if extra != "all":
            lines += wanted
    return [Requirement(line) for line in lines]


def direct_dependencies() -> dict[str, Requirement]:
    return {canonicalize_name(requirement.name): requirement for requirement in requirements()}


def pins(name: str) -> dict[str, Version]:
    found: dict[str, Version] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            package, version = line.split("==")
            assert canonicalize_name(package) not in found, f"{package} is pinned twice in {name}"
            found[canonicalize_name(package)] = Version(version)
    return found


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


@needs_make
def test_make_alone_lists_every_target_with_a_description() -> None:
    listed = dict(re.findall(r"^  make (\S+) +(\S.*)$", run("make"), flags=re.MULTILINE))
    assert list(listed) == TARGETS
    assert run("make", "help") == run("make")


@needs_make
def test_every_phony_target_is_listed() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"^\.PHONY: (\S+)$", text, flags=re.MULTILINE) == TARGETS


@needs_make
@pytest.mark.parametrize("target", ["test", "lint", "type", "train", "bench"])
def test_every_target_sets_up_what_it_needs(target: str, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    planned = run("make", "--dry-run", target, f"VENV={venv}")
    assert f"-m venv --clear {venv}" in planned
    assert planned.index("pip install") < planned.index(f"touch {venv}/.installed-")
    assert not venv.exists()


@needs_make
def test_train_passes_the_variant_and_the_number_of_players_on() -> None:
    assert "--variant oh_hell" in run("make", "--dry-run", "train")
    planned = run("make", "--dry-run", "train", "VARIANT=kachuful", "PLAYERS=5")
    assert "--variant kachuful --players 5" in planned


@needs_bash
def test_ci_script_is_valid_and_executable() -> None:
    script = ROOT / ".ci" / "run"
    run("bash", "-n", str(script))
    assert script.stat().st_mode & 0o111
    assert "make check" in script.read_text(encoding="utf-8")


def test_version_is_the_installed_one() -> None:
    installed = importlib.metadata.version("ohhell-env")
    assert ohhell_env.__version__ == installed, "run `make install`: the version has changed"


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-lowest.txt"])
def test_every_direct_dependency_is_pinned_within_its_range(name: str) -> None:
    pinned, wanted = pins(name), direct_dependencies()
    assert pinned.keys() == wanted.keys()
    outside = [str(r) for p, r in wanted.items() if not r.specifier.contains(pinned[p])]
    assert outside == []


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    oldest = pins("constraints-lowest.txt")
    for package, requirement in direct_dependencies().items():
        (bound,) = requirement.specifier
        assert (bound.operator, Version(bound.version)) == (">=", oldest[package]), requirement


def test_rllibs_versions_are_the_others_but_for_what_it_pins() -> None:
    ours, rllibs, wanted = pins("constraints.txt"), pins("constraints-rllib.txt"), requirements()
    assert {name for name in rllibs if rllibs[name] != ours[name]} == {"gymnasium"}
    outside = [r for r in wanted if r.name in rllibs and rllibs[r.name] not in r.specifier]
    assert outside == []


def test_the_recipes_versions_are_the_others_but_for_what_their_libraries_pin() -> None:
    ours, theirs = pins("constraints.txt"), pins("constraints-marl.txt")
    both = theirs.keys() & ours.keys()
    assert {name for name in both if theirs[name] != ours[name]} == {"pillow"}
    outside = [r for r in requirements() if r.name in theirs and theirs[r.name] not in r.specifier]
    assert outside == []
    installed = re.findall(r"constraints-marl.txt --editable (.*)$", makefile(), re.MULTILINE)
    wanted = set(re.findall(r"[a-z]+", installed[0].replace("[create]", ""))) - {"pictures"}
    assert wanted <= theirs.keys()


def makefile() -> str:
    return (ROOT / "Makefile").read_text(encoding="utf-8")


def test_one_package_has_one_range() -> None:
    ranges: dict[str, str] = {}
    for requirement in requirements():
        known = ranges.setdefault(requirement.name, str(requirement.specifier))
        assert known == str(requirement.specifier), requirement.name


def test_all_means_all_extras() -> None:
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.extras == EXTRAS.keys() - {"all"}


def test_wheel_holds_the_three_packages_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    (wheel,) = tmp_path.iterdir()
    assert wheel.name == f"ohhell_env-{ohhell_env.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = f"ohhell_env-{ohhell_env.__version__}.dist-info"
    packages = {"ohhell_env", "ohhell_agents", "ohhell_train"}
    assert {name.split("/")[0] for name in names} == {*packages, metadata}
    assert {
        f"{package}/{file}" for package in packages for file in ("__init__.py", "py.typed")
    } <= names
    assert {
        f"{metadata}/licenses/LICENSE",
        "ohhell_agents/value/trick_model.json",
        "ohhell_agents/zoo/universal/agent.json",
        "ohhell_agents/zoo/universal/weights.safetensors",
        "ohhell_env/pictures/page/page.js",
        "ohhell_train/recipes/quick.yaml",
        "ohhell_train/tournament/pages/report.html.j2",
    } <= names
    assert not [name for name in names if name.endswith((".nbi", ".nbc", ".pyc"))]
