"""``ohhell``: its commands, and mistakes in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ohhell_env.cli import commands as cli

Output = pytest.CaptureFixture[str]
CONFIGS = Path(__file__).parents[2] / "configs" / "train"
SMOKE = ["--config", str(CONFIGS / "smoke.yaml"), "--set", "report.deals=5"]


CONFIGS = Path(__file__).parents[2] / "configs" / "train"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def mistake(capsys: Output, *args: str) -> str:
    assert cli.main(args) == 2
    output = capsys.readouterr()
    lines = output.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["fitt"], "unknown command 'fitt': did you mean 'fit'"),
        (["fit", "--fast"], "No such option: --fast"),
        (["fit", "--variant", "oh_hel"], "unknown variant 'oh_hel': did you mean 'oh_hell'"),
        (["fit", "--variant", "pocha", "--players", "9"], "players"),
        (["fit", "--set", "fit.epoch=1"], "did you mean 'fit.epochs'"),
        (["fit", *SMOKE, "--set", "ppo.epoch=1"], "did you mean 'ppo.n_epochs'"),
        (["quick", "--set", "ppo.epoch=1"], "did you mean 'ppo.n_epochs'"),
        (["quick", "--set", "epochs=1"], "unknown setting 'epochs'"),
        (["fit", "--set", "ppo.n_epochs"], "write key=value"),
        (["fit", "--config", "none.yaml"], "cannot read settings from 'none.yaml'"),
        (["resume", "nowhere"], "nowhere: no training run here"),
        (["quick", "--variant", "bridge"], "unknown variant 'bridge'"),
        (["quick", "--deals", "1"], "--deals"),
        (["tournament", "random", "heuristics"], "unknown player 'heuristics'"),
    ],
)
def test_a_mistake_is_one_line(capsys: Output, args: list[str], expected: str) -> None:
    assert expected in mistake(capsys, *args)
    assert not Path("runs").exists(), "nothing was written"


def test_help_is_plain(capsys: Output) -> None:
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in cli.OHHELL.commands)
    for name in cli.OHHELL.commands:
        assert cli.main([name, "--help"]) == 0
        assert "─" not in capsys.readouterr().out
    assert cli.main([]) == 0
    assert "Usage" in capsys.readouterr().out


def test_fit_and_resume(capsys: Output) -> None:
    args = ["fit", *SMOKE, "--variant", "plump", "--players", "3", "--seed", "4"]
    assert cli.main(args) == 0
    assert "The player: runs/smoke-plump/best" in capsys.readouterr().out
    assert "already exists" in mistake(capsys, *args)
    assert cli.main(["resume", "runs/smoke-plump"]) == 0
    assert "the run is finished" in capsys.readouterr().out
    assert cli.main([*args, "--force", "--out", "runs/smoke-plump"]) == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == [
        "smoke-plump",
        "smoke-plump.old-1",
    ]


def test_quick_trains_and_plays_a_tournament(capsys: Output) -> None:
    args = ["quick", *SMOKE, "--variant", "kachuful", "--deals", "10"]
    assert cli.main(args) == 0
    results = json.loads(
        Path("runs/quick-kachuful/tournament/results.json").read_text(encoding="utf-8")
    )
    assert set(results["entrants"]) == {"ppo", "random", "heuristic"}
    assert "after 4,096 decisions" in capsys.readouterr().out

    assert cli.main(args) == 0
    assert "is already trained" in capsys.readouterr().out
    assert cli.main([*args, "--players", "3"]) == 0
    assert "other settings, is kept in runs/quick-kachuful/ppo.old-1" in capsys.readouterr().out
    results = json.loads(
        Path("runs/quick-kachuful/tournament/results.json").read_text(encoding="utf-8")
    )
    assert results["players"] == 3


def test_quick_trains_several_players(capsys: Output) -> None:
    tiny = "method: counterfactual\nrounds: 1\ndecisions: 2000\nfit: {epochs: 1}\n"
    Path("tiny.yaml").write_text(tiny + "report: {deals: 10}\n", encoding="utf-8")
    args = ["quick", *SMOKE, "--config", "tiny.yaml", "--variant", "kachuful", "--deals", "10"]
    assert cli.main([*args, "--set", "rollout_laps=7"]) == 0  # PPO alone has laps
    assert "labelled decisions of 1 round" in capsys.readouterr().out
    results = json.loads(
        Path("runs/quick-kachuful/tournament/results.json").read_text(encoding="utf-8")
    )
    assert set(results["entrants"]) == {"ppo", "counterfactual", "random", "heuristic"}
    assert cli.main([*args, "--set", "rollout_laps=7"]) == 0
    assert capsys.readouterr().out.count("is already trained") == 2


def test_the_module_runs_and_ends_with_a_status() -> None:
    command = [sys.executable, "-m", "ohhell_env", "resume", "nowhere"]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout) == (2, "")
    assert child.stderr.startswith("error: nowhere")
