"""The command line: output for people, one line for their mistakes, and a quick start."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ohhell_env import __version__
from ohhell_env.cli import commands as cli
from ohhell_env.cli import program as frame
from ohhell_env.cli.rules import parse_changes
from ohhell_env.errors import OhHellError
from ohhell_env.rules import Rules
from ohhell_env.rules.explain import explain
from ohhell_env.rules.variants import VARIANTS

Output = pytest.CaptureFixture[str]


def _mistake(capsys: Output, *args: str) -> str:
    """Runs a command that must fail as a user's mistake; returns its line."""
    assert cli.main(args) == frame.USER_ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    return err


def test_lists_every_variant_on_one_line(capsys: Output) -> None:
    assert cli.main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(VARIANTS)
    for line, variant in zip(lines[1:], VARIANTS.values(), strict=True):
        assert line.split()[1] == f"{variant.usual[0]}-{variant.usual[1]}"
        assert variant.title in line
        assert line.endswith(variant.source)


def test_explains_a_variant(capsys: Output) -> None:
    assert cli.main(["rules", "oh_pshaw", "--players", "5"]) == 0
    assert capsys.readouterr().out == explain(Rules.preset("oh_pshaw", 5))


def test_changes_settings(capsys: Output) -> None:
    args = ["rules", "oh_hell", "--set", "bidding.hook=none", "--set", "bidding.order=simultaneous"]
    assert cli.main(args) == 0
    out = capsys.readouterr().out
    assert "all players bid at once" in out
    assert "no hook" in out


def test_values_are_yaml() -> None:
    texts = ["a=none", "b=[S, NT]", "c=3", "d=null", "e={base: 5, per_card: 1}", "f=true", "g=x=y"]
    assert parse_changes(texts) == {
        "a": "none",
        "b": ["S", "NT"],
        "c": 3,
        "d": None,
        "e": {"base": 5, "per_card": 1},
        "f": True,
        "g": "x=y",
    }


def test_yaml_can_be_saved_and_used(capsys: Output, tmp_path: Path) -> None:
    assert cli.main(["rules", "pocha", "--players", "3", "--set", "scoring=simple", "--yaml"]) == 0
    path = tmp_path / "mine.yaml"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    expected = Rules.preset("pocha", 3).replace(scoring="simple")
    assert Rules.from_yaml(path) == expected
    assert cli.main(["rules", str(path)]) == 0
    assert capsys.readouterr().out == explain(expected)


def test_json_holds_the_settings(capsys: Output) -> None:
    assert cli.main(["rules", "kachuful", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == Rules.preset("kachuful").to_dict()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["rules", "oh_hel"], "unknown variant 'oh_hel': did you mean 'oh_hell' or 'oh_well'?"),
        (["rules", "oh_hell", "--players", "9"], "players must be 2 to 8, got 9"),
        (["rules", "romanian_whist", "--players", "7"], "players must be 2 to 6"),
        (["rules", "oh_hell", "--players", "many"], "--players"),
        (["rules", "oh_hell", "--set", "bidding.hook"], "'bidding.hook': write key=value"),
        (["rules", "oh_hell", "--set", "=3"], "'=3': write key=value"),
        (["rules", "oh_hell", "--set", "bidding.hok=none"], "did you mean 'hook'?"),
        (["rules", "oh_hell", "--set", "bidding.hook=nobody"], "bidding.hook: got 'nobody'"),
        (["rules", "oh_hell", "--set", "bidding.hook=[none"], "not a YAML value"),
        (["rules", "oh_hell", "--set", "bidding.order=simultaneous"], "there is no last bidder"),
        (["rules", "nowhere.yaml"], "cannot read rules from 'nowhere.yaml'"),
        (["rules", "oh_hell", "--yaml", "--json"], "choose one"),
        (["rules", "--players", "4"], "need a variant"),
        (["rules", "oh_hell", "oh_well"], "unexpected extra argument"),
        (["rules", "oh_hell", "--loud"], "--loud (see ohhell rules --help)"),
        (["rulez"], "unknown command 'rulez': did you mean 'rules'?"),
        (["--loud"], "--loud (see ohhell --help)"),
    ],
)
def test_a_mistake_is_one_line(capsys: Output, args: list[str], expected: str) -> None:
    assert expected in _mistake(capsys, *args)


def test_an_unreadable_file_is_one_line(capsys: Output, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("players: 4\nbidding: {hook: [\n", encoding="utf-8")
    assert "broken.yaml" in _mistake(capsys, "rules", str(path))


def test_errors_of_any_command_are_one_line(
    capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken() -> None:
        raise OhHellError("first line\n  second line")

    def lost() -> None:
        (tmp_path / "lost.json").read_text(encoding="utf-8")

    monkeypatch.setattr(frame, "_load", {"x:broken": broken, "x:lost": lost}.__getitem__)
    for name in ("broken", "lost"):
        monkeypatch.setitem(
            cli.OHHELL.groups["Players"], name, frame.Command(f"x:{name}", "Fails.")
        )
    assert _mistake(capsys, "broken") == "error: first line second line\n"
    assert "lost.json: No such file or directory" in _mistake(capsys, "lost")


def test_a_mistake_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong() -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(frame, "_load", lambda _: wrong)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main(["rules"])


def test_help_names_every_command_without_loading_it(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame, "_load", lambda target: pytest.fail(f"{target} was loaded"))
    for args in ([], ["--help"]):
        assert cli.main(args) == 0
        out = capsys.readouterr().out
        for name, command in cli.OHHELL.commands.items():
            assert any(
                line.split() == [name, *command.summary.split()] for line in out.splitlines()
            )


@pytest.mark.parametrize("name", cli.OHHELL.commands)
def test_every_command_can_be_loaded(capsys: Output, name: str) -> None:
    module = cli.OHHELL.commands[name].function.partition(":")[0]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not written yet")
    assert cli.main([name, "--help"]) == 0
    assert f"Usage: {cli.OHHELL.name} {name}" in capsys.readouterr().out


def test_help_of_a_command_is_plain(capsys: Output) -> None:
    assert cli.main(["rules", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--set KEY=VALUE" in out
    assert out.isascii()


def test_version(capsys: Output) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_rules_starts_without_the_engine() -> None:
    code = (
        "import sys; from ohhell_env.cli.commands import main; status = main(['rules', 'oh_hell']);"
        "heavy = {'numba', 'torch', 'pettingzoo'} & set(sys.modules);"
        "print('heavy:', *sorted(heavy)); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "heavy:"
    assert done.stdout.startswith("Oh Hell; 4 players")


def test_the_module_runs_and_ends_with_a_status() -> None:
    command = [sys.executable, "-m", "ohhell_env", "rules", "oh_hel"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == frame.USER_ERROR
    assert done.stdout == ""
    assert done.stderr.startswith("error: unknown variant")
    assert "Traceback" not in done.stderr


def test_players_of_the_current_folder_are_found(tmp_path: Path) -> None:
    source = "class Own:\n    def act(self, observation, info):\n"
    (tmp_path / "own_player.py").write_text(
        f"{source}        return int(info['action_mask'].argmax())\n", encoding="utf-8"
    )
    code = "from ohhell_env.cli.commands import end; end()"  # what the console script does
    words = ["deal", "oh_hell", "--hand-size", "1", "--player", "own_player:Own"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *words],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "hand size 1" in done.stdout


def test_a_mistake_is_told_without_what_would_move_the_cursor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["replay", "\x1b[2Jno\ngame"]) == 2
    told = capsys.readouterr().err.rstrip("\n")
    assert told.isprintable() and r"\x1b[2Jno" in told
