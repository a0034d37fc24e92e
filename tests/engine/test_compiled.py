"""The engine gives the same bytes compiled, interpreted and with bounds checks; caches notice."""

from __future__ import annotations

import os
import subprocess
import sys
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
