"""Compiling with a cache that notices every change of the engine.

numba keeps compiled functions on disk and looks, for each, only at the file it stands in; a
function that calls another file's functions would go on with their old code. So the cache lives in
a folder named after a digest of all the sources that compiled code comes from.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core.caching import FunctionCache  # pyright: ignore[reportMissingTypeStubs]

COMPILED = not numba.config.DISABLE_JIT
"""Whether the engine runs compiled (False under NUMBA_DISABLE_JIT=1)."""

_ENGINE = Path(__file__).parent
_CONSTANTS = ("actions.py", "cards.py", "schedule.py")
"""Files outside the engine whose constants are compiled in."""
_KEPT = 4
"""Digests whose caches are kept, the newest ones."""


def _sources(package: str) -> list[Path]:
    """Returns the files of the engine, and those of another package that build on it."""
    files = sorted(_ENGINE.glob("*.py")) + [_ENGINE.parent / name for name in _CONSTANTS]
    origin = getattr(sys.modules.get(package), "__file__", None)
    if package != "ohhell_env" and origin is not None:
        others = sorted(Path(origin).parent.rglob("*.py"))
        files += [file for file in others if b"ohhell_env.engine" in file.read_bytes()]
    return files


@functools.cache
def _cache_folder(package: str) -> str | None:
    """Returns where compiled functions of a package are kept; None: nowhere is writable."""
    checked = numba.config.BOUNDSCHECK  # numba's own key leaves it out
    digest = hashlib.sha256(f"{numba.__version__} {checked}".encode())
    for file in _sources(package):
        digest.update(file.read_bytes())
    name = f"ohhell-{digest.hexdigest()[:16]}"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    own = [Path(chosen)] if chosen else [_ENGINE / "__pycache__", _user_cache()]
    for base in filter(None, own):
        try:
            (base / name).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=base / name):
                _prune(base, name)
                return str(base / name)
        except OSError:
            continue
    return None


def _user_cache() -> Path | None:
    """Returns the user's own place for caches; None for a user without a home, as in containers."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return Path(home or Path.home() / ".cache") / "ohhell_env"
    except RuntimeError:
        return None


def _prune(base: Path, name: str) -> None:
    """Removes the caches of all but the newest digests."""
    os.utime(base / name)
    folders = sorted(base.glob("ohhell-*"), key=_age)
    for folder in folders[:-_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)


def _age(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # another process has removed it in the meantime
        return 0.0


class _Cache(FunctionCache):
    """numba's cache of one function, for which a file that cannot be used is as good as none.

    A full disk, a copy that broke off or a machine that went down leaves empty and cut files, over
    which numba's own cache fails at every start from then on.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the compiled function, or None where there is none that can be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling what is left of a file may raise anything
            with contextlib.suppress(OSError):  # gone already, or not ours to remove
                Path(self._cache_file._index_path).unlink()
            return None  # the caller compiles and saves it: a new index, and new files over the old

    def save_overload(self, sig: Any, data: Any) -> None:
        """Saves the compiled function if that can be done; it can be used in any case."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)


def _compile(function: Callable[..., Any], cached: bool, **options: Any) -> Any:
    if not COMPILED:
        return function
    folder = _cache_folder(function.__module__.partition(".")[0]) if cached else None
    before = numba.config.CACHE_DIR
    try:
        if folder is not None:
            numba.config.CACHE_DIR = folder
        compiled: Any = njit(nogil=True, error_model="numpy", **options)(function)
        if folder is not None:
            compiled._cache = _Cache(function)  # in place of what cache=True would put there
        return compiled
    finally:
        numba.config.CACHE_DIR = before


def inline(function: Callable[..., Any]) -> Any:
    """Decorator of the engine's small functions: compiled into their callers."""
    return _compile(function, False, forceinline=True)


def entry(function: Callable[..., Any]) -> Any:
    """Decorator of the functions that Python calls."""
    return _compile(function, True)
