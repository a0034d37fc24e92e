"""The project, installed into an environment of its own beside somebody else's code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = """
import sys

import agents  # the user's own folder
assert agents.MINE

import gymnasium
import ohhell_env, ohhell_agents, ohhell_train
from ohhell_train.tournament import TournamentConfig, run_tournament

env = gymnasium.make("ohhell/OhHell-v0")
_, info = env.reset(seed=1)
env.step(int(info["action_mask"].argmax()))
assert ohhell_agents.make("zoo:universal", seed=1).kind == "counterfactual"
results = run_tournament(
    TournamentConfig(entrants=("random", "heuristic"), rules="oh_hell", deals=50, seed=5)
)
assert set(results.to_dict()["entrants"]) == {"random", "heuristic"}
for name in ("tests", "docs", "examples", "notebooks", "configs", "benchmarks"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise AssertionError(f"{name} of the clone can be imported")
optional = {"torch", "stable_baselines3", "matplotlib", "textual", "ray"}
assert not optional & set(sys.modules), optional & set(sys.modules)
"""
TORCHLESS = [
    ["fit"],
    ["quick"],
]
"""Commands that need the extra for training."""
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
"""Folder of a virtual environment's programs."""


@pytest.fixture(scope="module", params=["wheel", "editable"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of somebody else's, with an environment in which the project is installed."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "agents").mkdir()
    (folder / "agents" / "__init__.py").write_text("MINE = True\n", encoding="utf-8")
    (folder / "train.py").write_text(
        "raise SystemExit('the script of the user ran')\n", encoding="utf-8"
    )
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    install = [str(folder / "venv" / SCRIPTS / "python"), "-m", "pip", "install", "--quiet"]
    how = ["--editable", str(ROOT)] if request.param == "editable" else [str(ROOT)]
    subprocess.run([*install, "--constraint", str(ROOT / "constraints.txt"), *how], check=True)
    return folder


def run(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [str(place / "venv" / SCRIPTS / words[0]), *words[1:]],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_all_but_learning_works_without_torch_beside_others_code(place: Path) -> None:
    done = run(place, "python", "script.py")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    done = run(place, "ohhell", "tournament", "random", "heuristic", "--deals", "20")
    assert done.returncode == 0, done.stderr
    assert "heuristic" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", TORCHLESS, ids=lambda words: words[0])
def test_what_an_extra_brings_is_named(place: Path, words: list[str]) -> None:
    done = run(place, "ohhell", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f'error: ohhell {words[0]} needs torch: pip install -e ".[train]" in the clone\n'
    )
