"""The engine gives the same bytes compiled, interpreted and with bounds checks; caches notice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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
    blocked.write_text("", encoding="utf-8")
    inside = str(blocked / "cache")
    assert run(5, NUMBA_CACHE_DIR=inside) == run(5)


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
def cached(tmp_path: Path) -> Callable[..., str]:
    """Runs a small compiled function in a process of its own, with a cache of its own."""
    (tmp_path / "doubling.py").write_text(SOURCE, encoding="utf-8")

    def run_it(folder: Path = tmp_path) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", TWICE.format(folder=str(folder))],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
                "PYTHONDONTWRITEBYTECODE": "1",  # a .pyc knows no change within a second
            },
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


HELPER = """
from ohhell_env.engine.caching import inline

FACTOR = 2

@inline
def times(number):
    return FACTOR * number
"""
CALLER = """
import helping
from ohhell_env.engine.caching import entry

@entry
def twice(number):
    return helping.times(number)
"""


@pytest.mark.compiled_only
def test_what_is_compiled_anew_is_what_has_changed(
    cached: Callable[[], str], tmp_path: Path
) -> None:
    """Not comments, docstrings and moved lines; code and constants, also of what is called."""
    helping, doubling = tmp_path / "helping.py", tmp_path / "doubling.py"
    helping.write_text(HELPER, encoding="utf-8")
    doubling.write_text(CALLER, encoding="utf-8")
    assert [cached(), cached()] == ["42 []", "42 [1]"]
    about = 'def twice(number):\n    """Says what it does."""  # and why\n'
    moved = "# A comment.\n\n" + CALLER.replace("def twice(number):\n", about)
    doubling.write_text(moved, encoding="utf-8")
    helping.write_text("OTHER = 5\n" + HELPER, encoding="utf-8")
    assert cached() == "42 [1]"
    helping.write_text(HELPER.replace("FACTOR = 2", "FACTOR = 3"), encoding="utf-8")
    assert [cached(), cached()] == ["63 []", "63 [1]"]
    helping.write_text(HELPER.replace("FACTOR * number", "FACTOR * number + 1"), encoding="utf-8")
    assert [cached(), cached()] == ["43 []", "43 [1]"]
    helping.write_text(HELPER, encoding="utf-8")
    assert cached() == "42 [1]"  # what was compiled first is kept


@pytest.mark.compiled_only
def test_the_same_code_elsewhere_is_not_compiled_again(
    cached: Callable[..., str], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "on another machine"
    elsewhere.mkdir()
    (elsewhere / "doubling.py").write_text(SOURCE, encoding="utf-8")
    assert [cached(), cached(elsewhere)] == ["42 []", "42 [1]"]


@pytest.mark.compiled_only
def test_only_the_newest_versions_are_kept(cached: Callable[[], str], tmp_path: Path) -> None:
    for factor in range(3, 10):
        text = SOURCE.replace("2 * number", f"{factor} * number")
        (tmp_path / "doubling.py").write_text(text, encoding="utf-8")
        assert cached() == f"{21 * factor} []"
    assert len([*tmp_path.glob("cache/**/*.nbi")]) == len([*tmp_path.glob("cache/**/*.nbc")]) == 4
    assert cached() == "189 [1]"


@pytest.mark.compiled_only
@pytest.mark.parametrize("quiet", ["", "1"])
def test_it_is_said_once_that_something_is_compiled(tmp_path: Path, quiet: str) -> None:
    second = SOURCE.replace("twice", "thrice").replace("2 *", "3 *").replace("from", "#", 1)
    (tmp_path / "doubling.py").write_text(SOURCE + second, encoding="utf-8")
    code = TWICE.format(folder=str(tmp_path)) + "doubling.thrice(3)"
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "OHHELL_QUIET": quiet},
            check=True,
        ).stderr
        for _ in range(2)
    ]
    assert said[0].count("compiling") == (not quiet) and said[0].count("\n") == (not quiet)
    assert said[1] == ""


@pytest.mark.compiled_only
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [_empty, _cut, _noise, _gone])
def test_a_damaged_cache_is_thrown_away(
    cached: Callable[[], str], tmp_path: Path, suffix: str, damage: Callable[[Path], None]
) -> None:
    assert cached() == "42 []"
    assert cached() == "42 [1]"
    (file,) = tmp_path.glob(f"cache/**/*.{suffix}")
    damage(file)
    assert cached() == "42 []"  # compiled anew, without a word
    assert cached() == "42 [1]"  # and kept


@pytest.mark.compiled_only
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_cache_that_cannot_be_mended_does_no_harm(
    cached: Callable[[], str], tmp_path: Path, suffix: str
) -> None:
    assert cached() == "42 []"
    (file,) = tmp_path.glob(f"cache/**/*.{suffix}")
    _folder(file)
    for _ in range(2):
        assert cached() == "42 []"


@pytest.mark.compiled_only
def test_processes_that_mend_a_cache_at_once_agree(
    cached: Callable[[], str], tmp_path: Path
) -> None:
    cached()
    (file,) = tmp_path.glob("cache/**/*.nbi")
    for _ in range(2):
        _empty(file)
        with ThreadPoolExecutor(3) as pool:
            said = [each.result() for each in [pool.submit(cached) for _ in range(3)]]
        assert {line.split()[0] for line in said} == {"42"}
    assert cached() == "42 [1]"


@pytest.mark.compiled_only
def test_a_user_without_a_home_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a free user id: no HOME, and no entry in passwd."""
    from ohhell_env.engine import caching

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert caching._user_cache() is None
    assert caching._cache_folder() is not None  # beside the engine
    (tmp_path / "engine").write_text("", encoding="utf-8")
    monkeypatch.setattr(caching, "__file__", str(tmp_path / "engine" / "caching.py"))
    assert caching._cache_folder() is None  # nothing can be written there


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
