"""``ohhell tournament``: options arrive, mistakes are one line, nothing is lost."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ohhell_agents.nn.checkpoint import save_checkpoint
from ohhell_env.cli.commands import main
from ohhell_env.errors import OhHellError
from ohhell_train.tournament import TournamentConfig, cli, run_tournament
from ohhell_train.tournament.store import STORE
from tests.agents.test_checkpoint import new_checkpoint
from tests.helpers import unix_only
from tests.train.players import Lowest

ROOT = Path(__file__).parents[2]
PLAYERS = ["random", "heuristic"]
FEW = ["--deals", "2", "--hand-size", "1", "--no-report"]
EVERY: dict[str, Any] = {
    "rules": "plump",
    "players": 3,
    "design": "mixed",
    "episode": "game",
    "hand_size": 4,
    "deals": 17,
    "seed": 18,
    "stop": 0.25,
    "challenger": "heuristic",
    "anchor": "heuristic",
    "unit": 5,
    "workers": 6,
    "executor": "ray",
    "address": "auto",
}
"""A value for each setting that is no default."""


class SeenError(Exception):
    """Raised instead of playing; holds what the tournament was called with."""


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    def instead(*arguments: Any, **settings: Any) -> None:
        raise SeenError(*arguments, settings)

    def call(*words: str) -> dict[str, Any]:
        with pytest.raises(SeenError) as caught:
            main(["tournament", *words])
        config, settings = caught.value.args
        return dict(config) | settings

    monkeypatch.setattr(cli, "run_tournament", instead)
    return call


@pytest.fixture
def wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., str]:
    """Runs the command, which must end with status 2 and one line; returns the line."""

    def run(*words: str, out: Path | None = tmp_path / "out") -> str:
        place = [] if "--out" in words or out is None else ["--out", str(out)]
        capsys.readouterr()
        assert main(["tournament", *words, *place]) == 2
        printed = capsys.readouterr()
        lines = printed.err.splitlines()
        assert len(lines) == 1, printed.err
        assert lines[0].startswith("error: ")
        assert "Traceback" not in printed.out + printed.err
        return lines[0]

    return run


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


# ---------------------------------------------------------------------- options arrive


def test_the_table_above_has_every_setting() -> None:
    others = {"entrants", "out", "report"}
    assert set(EVERY) | others == set(TournamentConfig.model_fields)
    for name, value in EVERY.items():
        assert TournamentConfig.model_fields[name].default != value


@pytest.mark.parametrize("name", EVERY)
def test_every_option_reaches_the_tournament(
    name: str, called: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    out = ["--out", str(tmp_path)]
    plain = called(*PLAYERS, *out)
    asked = called(*PLAYERS, *out, option(name), str(EVERY[name]))
    assert asked[name] == EVERY[name]
    # a variant brings no other setting but its name: all else stays
    assert {key for key in plain if key != "on_progress" and plain[key] != asked[key]} == {name}
    text = yaml.safe_dump({name: EVERY[name], "entrants": PLAYERS, "out": str(tmp_path)})
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    from_file = called("--config", str(tmp_path / "t.yaml"))
    assert {k: v for k, v in from_file.items() if k != "on_progress"} == {
        k: v for k, v in asked.items() if k != "on_progress"
    }


def test_entrants_out_and_fresh_reach_the_tournament(
    called: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    asked = called("a=random", "heuristic", "--out", str(tmp_path / "x"), "--fresh")
    assert asked["entrants"] == [("a", "random"), ("heuristic", "heuristic")]
    assert (asked["store"], asked["fresh"]) == (tmp_path / "x" / STORE, True)
    assert not called("random", "--out", str(tmp_path))["fresh"]


def test_options_win_over_the_file(called: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    text = yaml.safe_dump({**EVERY, "entrants": ["random", {"b": "random"}], "out": str(tmp_path)})
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    config = ["--config", str(tmp_path / "t.yaml")]
    assert called(*config)["entrants"] == [("random", "random"), ("b", "random")]
    assert called(*config, "heuristic")["entrants"] == [("heuristic", "heuristic")]
    other = {"rules": "oh_well", "players": 2, "design": "field", "episode": "deal", "stop": 0.0}
    other |= {"hand_size": 1, "deals": 1, "seed": 0, "unit": 1, "workers": 1, "executor": "inline"}
    other |= {"anchor": "random", "challenger": "b", "address": ""}
    assert set(other) == set(EVERY)
    for name, value in other.items():
        assert called(*config, option(name), str(value))[name] == value


def test_a_report_is_written_unless_it_is_not_wanted(tmp_path: Path) -> None:
    for words, there in ([], True), (["--no-report"], False):
        out = tmp_path / str(there)
        assert main(["tournament", *PLAYERS, *FEW[:4], *words, "--out", str(out)]) == 0
        assert (out / "report.html").exists() == there


# -------------------------------------------------------------------- mistakes, one line


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--deals", "0"], "deals"),
        (["--deals", "-3"], "deals"),
        (["--deals", "many"], "deals"),
        (["--deals", "9" * 30], "deals"),
        (["--stop", "-1"], "stop"),
        (["--stop", "nan"], "stop"),
        (["--stop", "inf"], "stop"),
        (["--unit", "0"], "unit"),
        (["--workers", "0"], "workers"),
        (["--workers", "99999"], "workers"),
        (["--workers", "2", "--executor", "inline"], "inline"),
        (["--players", "1"], "players"),
        (["--players", "9"], "players"),
        (["--seed", "-1"], "seed"),
        (["--seed", str(2**64)], "seed"),
        (["--design", "swiss"], "'field' or 'mixed'"),
        (["--episode", "match"], "'deal' or 'game'"),
        (["--executor", "rya"], "'ray'"),
        (["--address", "10.0.0.1:6379"], "executor 'ray'"),
        (["--anchor", "nobody"], "anchor: 'nobody' is not an entrant"),
        (["--anchor", "heuristc"], "did you mean 'heuristic'"),
        (["--rules", "oh_hel"], "did you mean 'oh_hell'"),
        (["--rules", "nowhere.yaml"], "nowhere.yaml"),
        (["--hand-size", "0"], "hand_size"),
        (["--hand-size", "26"], "cannot be dealt"),
        (["--hand-size", "2", "--episode", "game"], "whole games"),
        (["--design", "mixed"], "a mixed table seats 4 different entrants, got 2"),
        (["--bogus"], "No such option"),
        (["heuristc"], "did you mean 'heuristic'"),
        (["random"], "two entrants are called 'random'"),
        (["x="], "a player is a name"),
        (["="], "unknown player"),
        (["runs/none/best"], "no such checkpoint"),
        (["a|b=random"], "unknown player"),
        (["a\nb=random"], "unknown player"),
        (["\udcff"], "unknown player"),
        (["nomodule:Class"], "no module 'nomodule'"),
        (["os:getcwd"], "is not a class"),
        (["process:"], "needs a command"),
        pytest.param(["process:./none"], "cannot be started", marks=unix_only),
        (["x" * 5000], "unknown player"),
        pytest.param(["/dev/zero"], "not a regular file", marks=unix_only),
        (["/"], "agent.json"),
        (["--config", "/nowhere.yaml"], "/nowhere.yaml"),
        (["--out", ""], "out"),
        pytest.param(["--out", "/dev/null"], "/dev/null", marks=unix_only),
        (["--out", "n" * 300], "too long"),
    ],
    ids=lambda value: (
        " ".join(value)[:30].encode("ascii", "replace").decode() if isinstance(value, list) else ""
    ),
)
def test_mistakes_are_one_line(words: list[str], what: str, wrong: Callable[..., str]) -> None:
    assert what in wrong(*PLAYERS, *([] if "--deals" in words else ["--deals", "2"]), *words)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("entrants: []", "a list of 2 to 1000 entrants"),
        ("entrants: random", "entrants"),
        ("entrants: {random: heuristic}", "entrants"),
        ("entrants: [random, {a: random, b: random}]", "name: player"),
        ("entrants: [random, {}]", "name: player"),
        ("entrants: [random, 5]", "entrants.1"),
        ("entrants: [random, null]", "entrants.1"),
        ("entrants: [random, {a: 5}]", "entrant 'a': 5 has neither act_batch() nor act()"),
        ("entrants: [random, {'': random}]", "must be printable"),
        ("entrants: [random, {'a|b': random}]", "without '|'"),
        ('entrants: [random, {"a\\nb": random}]', "must be printable"),
        ("entrants: [random, random]", "two entrants are called 'random'"),
        ("entrants: [random]\nentrants: [random]", "duplicate key"),
        ("entrantz: [random]", "did you mean 'entrants'"),
        ("stop: .nan", "stop"),
        ("stop: .inf", "stop"),
        ("stop: false", "stop: must be a number, got False"),
        ("stop: true", "must be a number"),
        ("deals: true", "must be a number"),
        ("workers: true", "must be a number"),
        ("deals: 1.5", "deals"),
        ("deals: 0", "deals"),
        ("unit: 0", "unit"),
        (f"seed: {'9' * 5000}", "digits"),
        ("rules: {players: 3, bogus: 1}", "unknown setting 'bogus'"),
        ("rules: [a]", "rules"),
        ("anchor: 5", "anchor"),
        ("anchor: nobody", "is not an entrant"),
        ("address: x", "executor 'ray'"),
        ("hand_size: 3\nepisode: game", "whole games"),
        ("out: 5", "out"),
        ("out: ''", "must be the name of a folder"),
        ('out: "a\\0b"', "cannot be the name of a folder"),
        ("a: &a [*a]", "unknown setting 'a'"),
        ("- a", "settings by name"),
        ("{", "flow node"),
        ("!!python/object/apply:os.system [true]", "constructor"),
        ("a: " + "[" * 3000 + "]" * 3000, "nested too deep"),
        ("\x00", "settings"),
    ],
)
def test_mistakes_in_the_file_are_one_line(
    text: str, what: str, wrong: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    words = ["--config", str(tmp_path / "t.yaml"), *([] if "entrants" in text else PLAYERS)]
    assert what in wrong(*words, out=None if "out:" in text else tmp_path / "out")


@pytest.mark.parametrize("name", ["ü", "日本", "a.b#c+d-e", "n" * 4000, "_", "__proto__", "0"])
def test_unusual_names_are_names(name: str, tmp_path: Path) -> None:
    assert (
        main(["tournament", "random", f"{name}=heuristic", *FEW[:4], "--out", str(tmp_path)]) == 0
    )
    data = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert set(data["entrants"]) == {"random", name}
    assert name in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["[bold]x[/bold]", "<b>x</b>", "a b=c", "&amp;", "{x}", "$(x)"])
def test_names_with_signs_from_a_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"entrants": ["random", {name: "heuristic"}], "deals": 2, "out": str(tmp_path)}
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["tournament", "--config", str(tmp_path / "t.yaml"), "--hand-size", "1"]) == 0
    assert name in capsys.readouterr().out
    assert name in json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["entrants"]


def test_the_largest_seed_is_one_of_its_own(tmp_path: Path) -> None:
    """Line-ups of large seeds differ, although floats cannot tell these seeds apart."""
    entrants = [f"p{n}=random" for n in range(8)]
    lineups = set()
    for seed in (2**64 - 1, 2**64 - 2, 2**63 + 1, 2**63):
        results = run_tournament(
            entrants, rules="oh_hell", deals=8, seed=seed, design="mixed", hand_size=1
        )
        lineups.add(results.outcomes[-1, -1]["lineup"].tobytes())
    assert len(lineups) == 4


# ---------------------------------------------------------------------- hostile files


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("player") / "best"
    save_checkpoint(path, new_checkpoint())
    return path


def _replace(name: str, content: bytes) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_bytes(content)


def _loop(folder: Path) -> None:
    (folder / "agent.json").unlink()
    (folder / "agent.json").symlink_to(folder / "agent.json")


def _folder(folder: Path) -> None:
    (folder / "weights.safetensors").unlink()
    (folder / "weights.safetensors").mkdir()


@pytest.mark.parametrize(
    "damage",
    [
        _replace("agent.json", random.Random(1).randbytes(3000)),
        _replace("weights.safetensors", random.Random(2).randbytes(30000)),
        _replace("agent.json", b"[" * 200_000),
        _replace("agent.json", b'{"a":' * 100_000),
        _replace("agent.json", b'{"format": ' + b"9" * 100_000 + b"}"),
        _replace("agent.json", b'{"format": 1e999}'),
        _replace("agent.json", b""),
        _replace("agent.json", pickle.dumps(print)),
        _replace("weights.safetensors", pickle.dumps(print)),
        _replace("weights.safetensors", b""),
        _loop,
        _folder,
        lambda folder: None,  # whole, but of other rules
    ],
)
def test_a_broken_or_foreign_checkpoint_is_one_line_and_nothing_is_lost(
    damage: Callable[[Path], Any], checkpoint: Path, tmp_path: Path, wrong: Callable[..., str]
) -> None:
    out = tmp_path / "out"
    assert main(["tournament", *PLAYERS, *FEW, "--out", str(out)]) == 0
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    broken = Path(shutil.copytree(checkpoint, tmp_path / "broken"))
    damage(broken)
    wrong(*PLAYERS, f"net={broken}", *FEW, out=out)
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    assert main(["tournament", *PLAYERS, *FEW, "--out", str(out)]) == 0


@unix_only
def test_a_checkpoints_folder_may_hold_loops(checkpoint: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(checkpoint, tmp_path / "odd"))
    (broken / "loop").symlink_to(broken)
    (broken / "self").symlink_to(broken / "self")
    (broken / "nothing").symlink_to(tmp_path / "nowhere")
    os.mkfifo(broken / "pipe")
    rules = tmp_path / "rules.yaml"
    rules.write_text(new_checkpoint().rules.to_yaml(), encoding="utf-8")
    words = ["random", f"net={broken}", "--rules", str(rules), "--deals", "1", "--no-report"]
    assert main(["tournament", *words, "--out", str(tmp_path / "out")]) == 0


# ----------------------------------------------------------------------- damaged stores


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    assert main(["tournament", *STORED, "--out", str(out)]) == 0
    return out


STORED = [*PLAYERS, "--deals", "8", "--unit", "2", "--hand-size", "1", "--no-report"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE units SET played = x'00'",
        "UPDATE units SET played = 'text'",
        "UPDATE units SET played = 5",
        "UPDATE units SET seconds = 'x'",
        "UPDATE units SET seconds = -1",
        "UPDATE units SET engine_decisions = 'x'",
        "UPDATE units SET challenger = 77 WHERE id = 1",
        "UPDATE units SET played = (SELECT played FROM units u WHERE u.id != units.id LIMIT 1)",
        "UPDATE units SET challenger = field + 100, field = challenger + 100 WHERE first = 0",
        "UPDATE asked SET faults = 'x'",
        "UPDATE asked SET faults = -5",
        "DELETE FROM asked",
        "DELETE FROM about",
        "DELETE FROM about WHERE name = 'blocks'",
        "UPDATE about SET value = 'null' WHERE name = 'blocks'",
        "UPDATE about SET value = '{' WHERE name = 'seed'",
        "UPDATE about SET value = x'ff' WHERE name = 'seed'",
        "UPDATE about SET value = 7 WHERE name = 'seed'",
        f"UPDATE about SET value = '{'[' * 5000}' WHERE name = 'rules'",
        "UPDATE entrants SET id = 1000000000 WHERE id = 2",
        "UPDATE entrants SET name = 'zz' WHERE id = 1",
        "UPDATE entrants SET name = CAST(x'ff' AS TEXT) WHERE id = 1",
        "UPDATE entrants SET fingerprint = x'ff' WHERE id = 1",
        "DROP TABLE units",
        "DROP TABLE asked",
        "ALTER TABLE units RENAME COLUMN blocks TO b",
        "PRAGMA application_id = 1",
    ],
)
def test_a_damaged_store_is_one_line_and_fresh_begins_anew(
    statement: str, whole: Path, tmp_path: Path, wrong: Callable[..., str]
) -> None:
    shutil.copy(whole / STORE, tmp_path / STORE)
    with sqlite3.connect(tmp_path / STORE) as connection:
        connection.execute(statement)
    connection.close()
    said = wrong(*STORED, out=tmp_path)
    assert STORE in said
    assert "--fresh" in said
    assert not (tmp_path / "results.json").exists()
    assert main(["tournament", *STORED, "--fresh", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "results.json").read_bytes() == (whole / "results.json").read_bytes()
    assert (tmp_path / "tournament.old-1.sqlite").exists()


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.6])
def test_a_cut_store_is_one_line_with_the_remedy(
    share: float, whole: Path, tmp_path: Path, wrong: Callable[..., str]
) -> None:
    content = (whole / STORE).read_bytes()
    (tmp_path / STORE).write_bytes(content[: int(share * len(content))])
    said = wrong(*STORED, out=tmp_path)
    assert STORE in said
    assert "start again with --fresh, which keeps it under another name" in said


@pytest.mark.parametrize("seed", range(15))
def test_any_damage_to_a_store_is_one_line_or_no_harm(
    seed: int, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    damaged = bytearray((whole / STORE).read_bytes())
    for _ in range(chance.choice((1, 3, 40))):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    if chance.random() < 0.2:
        del damaged[chance.randrange(len(damaged)) :]
    (tmp_path / STORE).write_bytes(damaged)
    status = main(["tournament", *STORED, "--out", str(tmp_path)])
    errors = capsys.readouterr().err.splitlines()
    assert (status, len(errors)) in ((0, 0), (2, 1))
    if status == 0:
        again = (tmp_path / "results.json").read_bytes()
        assert again == (whole / "results.json").read_bytes()
    assert (tmp_path / STORE).exists()


@pytest.mark.parametrize("name", [STORE, f".{STORE}.lock", "results.json", "results.json.part"])
def test_something_else_in_the_place_of_a_file(
    name: str, tmp_path: Path, wrong: Callable[..., str]
) -> None:
    (tmp_path / name).mkdir()
    assert name.removesuffix(".part") in wrong(*STORED, out=tmp_path)
    (tmp_path / name).rmdir()
    assert main(["tournament", *STORED, "--out", str(tmp_path)]) == 0


def test_a_store_in_no_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(OhHellError, match="cannot keep a store there"):
        run_tournament(
            PLAYERS, rules="oh_hell", deals=2, seed=1, store=tmp_path / "nowhere" / "t.sqlite"
        )


# --------------------------------------------------------------------------- a full disk


def _in_child(words: list[str], limit: int | None) -> subprocess.CompletedProcess[str]:
    """Runs the command where no file can grow beyond a limit."""
    import resource

    def confine() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "ohhell_env", "tournament", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=confine,
    )


@unix_only
def test_a_full_disk_is_one_line_and_a_second_command_goes_on(tmp_path: Path) -> None:
    words = [*PLAYERS, "--deals", "3000", "--unit", "50", "--hand-size", "3", "--no-report"]
    warm = _in_child([*PLAYERS, "--deals", "1", "--out", str(tmp_path / "warm")], None)
    assert warm.returncode == 0, warm.stderr  # else compiled code is a file that cannot grow
    full = _in_child([*words, "--out", str(tmp_path / "full")], 60_000)
    assert full.returncode == 2, full.stderr
    assert len(full.stderr.splitlines()) == 1, full.stderr
    assert "Traceback" not in full.stderr + full.stdout
    assert not (tmp_path / "full" / "results.json").exists()
    for place in ("full", "whole"):
        assert main(["tournament", *words, "--out", str(tmp_path / place)]) == 0
    results = [(tmp_path / place / "results.json").read_bytes() for place in ("full", "whole")]
    assert results[0] == results[1]


# -------------------------------------------------------------------- players that cannot


class NoBegin(Lowest):
    """Cannot begin."""

    def begin(self, rules: Any, seat: int | None = None) -> None:
        raise ZeroDivisionError("no rules\nfor me")


class NoLayout(Lowest):
    """Cannot say what it reads."""

    @property
    def layout_name(self) -> str:
        raise ZeroDivisionError("which?")


class NoFingerprint(Lowest):
    """Cannot say which it is."""

    @property
    def fingerprint(self) -> str:
        raise ZeroDivisionError("who?")


class OddFingerprint(Lowest):
    """Says what no file can keep."""

    @property
    def fingerprint(self) -> str:
        return "\udcff"


class NoClose(Lowest):
    """Cannot end."""

    def close(self) -> None:
        raise ZeroDivisionError("never")


def test_a_class_that_cannot_begin_is_one_line(
    wrong: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    line = wrong("random", f"bad={__name__}:NoBegin", *FEW)
    assert (
        "entrant 'bad' cannot begin under these rules: ZeroDivisionError: no rules for me" in line
    )


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("NoLayout", "entrant 'bad' cannot begin under these rules: ZeroDivisionError: which?"),
        ("NoFingerprint", "entrant 'bad' cannot begin under these rules: ZeroDivisionError: who?"),
        ("OddFingerprint", "the store of the tournament cannot be used"),
    ],
)
def test_a_class_that_cannot_say_what_it_is_is_one_line(
    kind: str, what: str, wrong: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    assert what in wrong("random", f"bad={__name__}:{kind}", *FEW)


def test_a_class_that_cannot_end_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    words = ["random", f"bad={__name__}:NoClose", *FEW, "--out", str(tmp_path)]
    assert main(["tournament", *words]) == 0
    assert (tmp_path / "results.json").exists()
