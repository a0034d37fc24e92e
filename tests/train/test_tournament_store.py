"""The store of a tournament: it lasts, goes on, and never mixes two."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ohhell_agents import HeuristicAgent
from ohhell_env.errors import OhHellError
from ohhell_train.runs.lock import InUseError
from ohhell_train.tournament import Results, TournamentConfig, cli_run, open_store, run_tournament
from ohhell_train.tournament import identity as identity_module
from ohhell_train.tournament import runner as runner_module
from ohhell_train.tournament import store as store_module
from ohhell_train.tournament.store import OtherTournamentError, Store, set_aside
from tests.train.players import Lowest, RaisesSometimes

ENTRANTS: list[Any] = ["random", "heuristic", ("sometimes", RaisesSometimes())]
BLOCKS, UNIT = 14, 4
SMALL = TournamentConfig(
    entrants=("random", "heuristic"), rules="plump", players=3, deals=5, seed=1, report=False
)


def play(path: Path | None, **changes: Any) -> Results:
    arguments: dict[str, Any] = {"entrants": ENTRANTS, "rules": "plump", "deals": BLOCKS}
    arguments |= {"seed": 3, "players": 3, "unit": UNIT, "store": path} | changes
    return run_tournament(**arguments)


def written(results: Results, folder: Path) -> bytes:
    return results.save(folder).read_bytes()


class StopError(Exception):
    """Raised where a test stops a tournament."""


def stop_after(calls: int) -> Any:
    left = [calls]

    def progress(standings: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise StopError

    return progress


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FLUSH_SECONDS", 0.0)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(play(None), tmp_path_factory.mktemp("unbroken"))


# --------------------------------------------------------------------- it goes on


def test_interruptions_at_random_moments_change_nothing(tmp_path: Path, unbroken: bytes) -> None:
    chance, store, stops = random.Random(5), tmp_path / "t.sqlite", 0
    while True:
        try:
            results = play(store, on_progress=stop_after(chance.randint(1, 6)))
            break
        except StopError:
            stops += 1
    assert stops >= 3
    assert written(results, tmp_path) == unbroken
    assert results.entrants[2].faults > 0
    assert results.entrants[2].first_fault == "ValueError: never nil"


def test_what_is_stored_is_not_played_again(
    tmp_path: Path, unbroken: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "t.sqlite"
    with pytest.raises(StopError):
        play(store, on_progress=stop_after(5))
    with open_store(store) as kept:
        stored = len(kept.units())
    assert stored == 5
    played = []
    inline = runner_module.play_inline

    def counted(contest: Any, units: Any) -> Any:
        for each in inline(contest, units):
            played.append(each)
            yield each

    monkeypatch.setattr(runner_module, "play_inline", counted)
    assert written(play(store), tmp_path) == unbroken
    assert len(played) == 6 * 4 - stored
    played.clear()
    first, again = play(store), play(store)
    assert written(first, tmp_path) == unbroken
    assert first.timings() == again.timings(), "times are kept too"
    assert not played


def test_more_blocks_and_more_entrants_join_what_is_there(tmp_path: Path, unbroken: bytes) -> None:
    store = tmp_path / "t.sqlite"
    play(store, deals=6, entrants=ENTRANTS[:2])
    with open_store(store) as kept:
        before = kept.units()
    assert written(play(store), tmp_path) == unbroken
    with open_store(store) as kept:
        assert len(kept.units()) == 24
        assert len(kept.units() & before) == 2, "full units stay, the last ones grow"
        assert len(kept.deals()) == 6 * BLOCKS * 9


KILLED = """
import os, signal, sys
from ohhell_train.tournament import run_tournament, store
store.FLUSH_SECONDS = 0.0
left = int(sys.argv[2])
def progress(standings):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
run_tournament(["random", "heuristic"], rules="plump", deals=14, seed=3, players=3, unit=4,
               store=sys.argv[1], on_progress=progress)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_a_killed_tournament_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "t.sqlite"
    command = [sys.executable, "-c", KILLED, str(store), "3"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    with open_store(store) as kept:
        assert len(kept.units()) == 3
    two = ENTRANTS[:2]
    whole = written(play(None, entrants=two), tmp_path / "whole")
    assert written(play(store, entrants=two), tmp_path / "again") == whole


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_kill_9_at_random_moments(tmp_path: Path, workers: str) -> None:
    command = [sys.executable, "-m", "ohhell_env", "tournament", "random", "heuristic"]
    command += ["--deals", "60000", "--unit", "500", "--workers", workers, "--out"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    chance = random.Random(1)
    out, kills = tmp_path / "killed", 0
    for _ in range(8):
        child = subprocess.Popen([*command, str(out)], stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(2.0, 7.0))
        child.kill()
        kills += child.wait() == -signal.SIGKILL
    assert kills >= 2
    subprocess.run([*command, str(out)], check=True, capture_output=True)
    assert (out / "results.json").read_bytes() == (tmp_path / "whole/results.json").read_bytes()


# ---------------------------------------------------------- another one is refused


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("finished") / "t.sqlite"
    play(path)
    return path


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"seed": 4}, "seed is 3 there, 4 here"),
        ({"hand_size": 2}, "hand_size is None there, 2 here"),
        ({"players": 4}, "rules.players is 3 there, 4 here"),
        ({"rules": "oh_hell"}, "variant is 'plump' there, 'oh_hell' here"),
        ({"unit": 5}, "unit is 4 there, 5 here"),
        ({"deals": 13}, "blocks is 14 there, 13 here"),
        ({"entrants": ENTRANTS[:2]}, "entrant 'sometimes' is there, not here"),
        (
            {"entrants": [*ENTRANTS[:2], ("sometimes", Lowest())]},
            "entrant 'sometimes' is another player there",
        ),
        ({"entrants": ["random", "heuristic=random", ENTRANTS[2]]}, "entrant 'heuristic' is an"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_another_tournament_is_refused(
    finished: Path, tmp_path: Path, changes: dict[str, Any], what: str
) -> None:
    path = Path(shutil.copy(finished, tmp_path))
    with pytest.raises(OtherTournamentError) as caught:
        play(path, **changes)
    assert what in str(caught.value)
    assert "--fresh" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == finished.read_bytes()


def test_other_versions_are_refused(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity_module, "versions", lambda: {"ohhell_env": "0.0.1"})
    with pytest.raises(OtherTournamentError, match=r"versions\.ohhell_env is '.*' there, '0.0.1'"):
        play(finished)


def test_a_saved_player_is_known_by_its_content(tmp_path: Path) -> None:
    saved, store = tmp_path / "player.json", tmp_path / "t.sqlite"
    HeuristicAgent(seed=1).save(saved)
    entrants = [f"saved={saved}", "random"]
    whole = written(play(store, entrants=entrants), tmp_path)
    moved = saved.rename(tmp_path / "elsewhere.json")
    assert written(play(store, entrants=[f"saved={moved}", "random"]), tmp_path) == whole
    HeuristicAgent(seed=2).save(moved)
    with pytest.raises(OtherTournamentError, match="entrant 'saved' is another player there"):
        play(store, entrants=[f"saved={moved}", "random"])


def test_begin_anew_and_keep_the_old(tmp_path: Path, finished: Path) -> None:
    path = Path(shutil.copy(finished, tmp_path / "t.sqlite"))
    assert play(path, seed=4, fresh=True).deals.seed == 4
    assert (tmp_path / "t.old-1.sqlite").read_bytes() == finished.read_bytes()
    assert set_aside(path) == tmp_path / "t.old-2.sqlite"
    assert set_aside(path) is None


# ------------------------------------------------------------------- broken files


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "t.sqlite").write_text(
        "something else, longer than the header of a database" * 9, encoding="utf-8"
    )
    with pytest.raises(OhHellError, match=r"t\.sqlite: the store .* file is not a database"):
        play(tmp_path / "t.sqlite")
    with pytest.raises(OhHellError, match="file is not a database"):
        open_store(tmp_path / "t.sqlite")
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE about (something)")
    other.close()
    with pytest.raises(OhHellError, match="is not the store of a tournament"):
        play(tmp_path / "other.sqlite")
    with pytest.raises(OhHellError, match="no store of a tournament here"):
        open_store(tmp_path / "nowhere")


def test_a_pipe_is_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.sqlite")
    with pytest.raises(OhHellError, match="must be a regular file; start again with --fresh"):
        play(tmp_path / "t.sqlite")


def test_an_empty_file_becomes_a_store(tmp_path: Path, unbroken: bytes) -> None:
    (tmp_path / "t.sqlite").touch()
    assert written(play(tmp_path / "t.sqlite"), tmp_path) == unbroken


def test_a_full_disk_is_one_line_and_loses_nothing(
    tmp_path: Path, unbroken: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "t.sqlite"
    with pytest.raises(StopError):
        play(store, on_progress=stop_after(4))
    begin = Store.go_on

    def small(*arguments: Any) -> Store:
        opened = begin(*arguments)
        (pages,) = opened._connection.execute("PRAGMA page_count").fetchone()
        opened._connection.execute(f"PRAGMA max_page_count = {pages}")
        return opened

    with monkeypatch.context() as patch:
        patch.setattr(Store, "go_on", small)
        with pytest.raises(OhHellError, match=r"t\.sqlite: .* full; the stored data is unchanged"):
            play(store, deals=60)
    with open_store(store) as kept:
        assert len(kept.units()) >= 4
    assert written(play(None, deals=60), tmp_path) == written(play(store, deals=60), tmp_path)


# ---------------------------------------------------------------- from a notebook


def test_the_deals_as_an_array(finished: Path) -> None:
    outcome = play(None).outcomes[2, 1]
    with open_store(finished) as store:
        deals = store.deals()
        assert list(store.entrants) == ["random", "heuristic", "sometimes"]
        assert store.about["seed"] == 3
    pair = deals[(deals["challenger"] == 2) & (deals["field"] == 1)].reshape(BLOCKS, 3, 3)
    assert (pair["points"] == outcome["scores"]).all()
    assert (pair["bid"] == outcome["bids"][:, :, 0]).all()
    assert (pair["tricks"] == outcome["tricks"][:, :, 0]).all()
    assert (pair["hand_size"] == outcome["hand_sizes"]).all()
    assert (pair["counts"] == np.eye(3, dtype=bool)).all()
    assert (pair["entrant"] == np.where(np.eye(3), 2, 1)).all()
    assert (pair["block"][:, 0, 0] == np.arange(BLOCKS)).all()
    assert (pair["rotation"][0] == [[0] * 3, [1] * 3, [2] * 3]).all()
    assert (pair["seat"][0] == [[0, 1, 2]] * 3).all()


def test_the_sums_in_sql(finished: Path) -> None:
    results = play(None).to_dict()
    query = """
        SELECT a.name, b.name, SUM(points - others) / SUM(tables), 1.0 * SUM(made) / SUM(deals)
        FROM sums JOIN units ON units.id = unit
        JOIN entrants a ON a.id = challenger JOIN entrants b ON b.id = field
        GROUP BY challenger, field"""
    with sqlite3.connect(finished) as connection:
        rows = connection.execute(query).fetchall()
    connection.close()
    assert len(rows) == 6
    for one, other, difference, made in rows:
        pair = results["pairs"][f"{one}|{other}"]
        assert difference == pytest.approx(pair["difference"], abs=1e-6)
        assert made == pytest.approx(pair["made_rate"], abs=1e-6)


def test_a_store_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    store, seen = tmp_path / "t.sqlite", []

    def progress(standings: Any) -> None:
        with open_store(store) as kept:
            seen.append(len(kept.units()))

    play(store, on_progress=progress)
    assert seen == list(range(25))


def test_the_command_line_rewrites_its_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli_run(SMALL.model_copy(update={"out": tmp_path}), show_progress=False)
    first = (tmp_path / "results.json").read_bytes()
    (tmp_path / "results.json").unlink()
    cli_run(SMALL.model_copy(update={"out": tmp_path}), show_progress=False)
    assert (tmp_path / "results.json").read_bytes() == first
    capsys.readouterr()


def test_ctrl_c_is_one_line_and_keeps_what_was_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inline = runner_module.play_inline

    def interrupted(contest: Any, units: Any) -> Any:
        yield next(inline(contest, units))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runner_module, "play_inline", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cli_run(SMALL.model_copy(update={"out": tmp_path}), show_progress=False)
    kept = f"they are kept in {tmp_path}, and the same command continues"
    said = f"stopped after 15 of 30 tables; {kept}\n"
    assert capsys.readouterr().out == said
    with open_store(tmp_path) as kept:
        assert len(kept.units()) == 1


def test_every_field_is_documented(finished: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "tournament.md").read_text(encoding="utf-8")
    results = play(None)
    data = results.to_dict()
    for row in (data, *data["entrants"].values(), *data["pairs"].values(), results.timings()):
        assert [key for key in row if f"`{key}`" not in text] == []
    inner = [row["rating"] for row in data["entrants"].values()]
    inner += results.timings()["entrants"].values()
    for row in data["entrants"].values():
        inner += row["made_by_hand_size"].values()
    assert {key for row in inner for key in row or {} if f"`{key}`" not in text} == set()
    with sqlite3.connect(finished) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
        tables = [name for name in tables if not name.startswith("sqlite_")]
        columns = [
            row[1] for name in tables for row in connection.execute(f"PRAGMA table_info({name})")
        ]
    connection.close()
    assert len(columns) > 20
    assert [name for name in (*tables, *columns) if f"`{name}`" not in text] == []


def test_two_processes_do_not_play_in_one_folder(tmp_path: Path, unbroken: bytes) -> None:
    store, seen = tmp_path / "t.sqlite", []

    def progress(standings: Any) -> None:
        if not seen:
            with pytest.raises(InUseError, match=r"process \d+ plays a tournament here"):
                play(store)
            with pytest.raises(InUseError):
                play(store, fresh=True)
            seen.append(standings.total)

    assert written(play(store, on_progress=progress), tmp_path) == unbroken
    assert seen == [6 * BLOCKS * 3]
    assert [file.name for file in tmp_path.glob(".*")] == []
