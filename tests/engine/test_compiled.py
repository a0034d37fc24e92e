"""The engine gives the same bytes compiled, interpreted and with bounds checks; caches notice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import hashlib, random, sys
import numpy as np
from ohhell_env import variants
from ohhell_env.envs.batched import BatchedOhHell
from ohhell_env.rules import Rules

digest = hashlib.sha256()
chooser = random.Random(3)
for name in variants():
    for layout in ("default", "universal"):
        tables = BatchedOhHell(2, name, seed=5, episode="game", reward="relative", layout=layout)
        tables.reset()
        for _ in range(int(sys.argv[1])):
            actions = [chooser.choice(np.flatnonzero(mask)) for mask in tables.action_masks]
            tables.step(np.array(actions))
            for array in (tables.observations, tables.action_masks, tables.states, tables.rewards):
                digest.update(array.tobytes())
        digest.update(tables.games.tobytes())
print(digest.hexdigest())
"""


def run(steps: int, **environment: str) -> str:
    """Returns the digest of a fixed play in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(steps)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.compiled_only
def test_compiled_equals_interpreted() -> None:
    assert run(40) == run(40, NUMBA_DISABLE_JIT="1")


@pytest.mark.slow
@pytest.mark.compiled_only
def test_nothing_reads_or_writes_out_of_bounds(tmp_path: Path) -> None:
    checked = run(400, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert checked == run(400)


@pytest.mark.slow
@pytest.mark.compiled_only
def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    inside = str(blocked / "cache")
    assert run(5, NUMBA_CACHE_DIR=inside) == run(5)


@pytest.mark.compiled_only
def test_the_cache_is_named_after_all_compiled_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    from ohhell_env.engine import caching

    sources = caching._sources("ohhell_env")
    names = {file.name for file in sources}
    assert {"kernel.py", "dealing.py", "encode.py", "layout.py", "schedule.py"} <= names
    before = caching._cache_folder("ohhell_env")
    caching._cache_folder.cache_clear()
    monkeypatch.setattr(caching, "_sources", lambda package: sources[:-1])
    assert caching._cache_folder("ohhell_env") != before
    caching._cache_folder.cache_clear()


TWICE = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
import doubling
print(doubling.twice(21), sorted(doubling.twice.stats.cache_hits.values()))
"""
SOURCE = """
from ohhell_env.engine.caching import entry

@entry
def twice(number):
    return 2 * number
"""


@pytest.fixture
def cached(tmp_path: Path) -> Callable[[], str]:
    """Runs a small compiled function in a process of its own, with a cache of its own."""
    (tmp_path / "doubling.py").write_text(SOURCE, encoding="utf-8")

    def run_it() -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", TWICE.format(folder=str(tmp_path))],
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run_it


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _noise(file: Path) -> None:
    file.write_bytes(b"\x80\x05noise")


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _gone(file: Path) -> None:
    file.unlink()


@pytest.mark.compiled_only
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [_empty, _cut, _noise, _gone])
def test_a_damaged_cache_is_thrown_away(
    cached: Callable[[], str], tmp_path: Path, suffix: str, damage: Callable[[Path], None]
) -> None:
    assert cached() == "42 []"
    assert cached() == "42 [1]"
    (file,) = tmp_path.glob(f"cache/ohhell-*/**/*.{suffix}")
    damage(file)
    assert cached() == "42 []"  # compiled anew, without a word
    assert cached() == "42 [1]"  # and kept


@pytest.mark.compiled_only
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_cache_that_cannot_be_mended_does_no_harm(
    cached: Callable[[], str], tmp_path: Path, suffix: str
) -> None:
    assert cached() == "42 []"
    (file,) = tmp_path.glob(f"cache/ohhell-*/**/*.{suffix}")
    _folder(file)
    for _ in range(2):
        assert cached() == "42 []"


@pytest.mark.compiled_only
def test_processes_that_mend_a_cache_at_once_agree(
    cached: Callable[[], str], tmp_path: Path
) -> None:
    cached()
    (file,) = tmp_path.glob("cache/ohhell-*/**/*.nbi")
    for _ in range(2):
        _empty(file)
        with ThreadPoolExecutor(3) as pool:
            said = [each.result() for each in [pool.submit(cached) for _ in range(3)]]
        assert {line.split()[0] for line in said} == {"42"}
    assert cached() == "42 [1]"


@pytest.mark.compiled_only
def test_another_process_may_remove_old_caches_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ohhell_env.engine import caching

    for name in ("ohhell-a", "ohhell-b"):
        (tmp_path / name).mkdir()
    there = Path.stat

    def stat(path: Path, **how: Any) -> os.stat_result:
        if path.name == "ohhell-a":
            raise FileNotFoundError(path)
        return there(path, **how)

    monkeypatch.setattr(Path, "stat", stat)
    caching._prune(tmp_path, "ohhell-b")
    assert (tmp_path / "ohhell-b").is_dir()


@pytest.mark.compiled_only
def test_a_user_without_a_home_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a free user id: no HOME, and no entry in passwd."""
    from ohhell_env.engine import caching

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    look = caching._cache_folder.__wrapped__
    assert caching._user_cache() is None
    assert look("ohhell_env") is not None  # beside the engine
    (tmp_path / "engine").write_text("")
    sources = caching._sources("ohhell_env")
    monkeypatch.setattr(caching, "_sources", lambda package: sources)
    monkeypatch.setattr(caching, "_ENGINE", tmp_path / "engine")  # where nothing can be written
    assert look("ohhell_env") is None


HOMELESS = """
import pwd

def unknown(uid):
    raise KeyError(uid)

pwd.getpwuid = unknown
import ohhell_env.envs.batched
print("here")
"""


@pytest.mark.compiled_only
@pytest.mark.skipif(os.name != "posix", reason="Windows has no passwd")
def test_import_without_home_and_passwd_entry() -> None:
    homes = ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    done = subprocess.run(
        [sys.executable, "-c", HOMELESS],
        capture_output=True,
        text=True,
        env={key: value for key, value in os.environ.items() if key not in homes},
        check=False,
    )
    assert done.stdout == "here\n", done.stderr
