"""Compilation with a cache that tracks everything a function is compiled from.

numba caches compiled functions on disk and checks only the file that defines each one. So a
function that calls functions of another file would keep their old code, and a changed comment would
recompile the whole file. Here the key of a function is its bytecode, the bytecode of everything it
calls, and the constants that they use, in any file.
"""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.core.caching import (  # pyright: ignore[reportMissingTypeStubs]
    FunctionCache,
    IndexDataCacheFile,
)
from numba.core.codegen import JITCodeLibrary  # pyright: ignore[reportMissingTypeStubs]
from numba.core.compiler import Compiler  # pyright: ignore[reportMissingTypeStubs]
from numba.core.registry import CPUDispatcher  # pyright: ignore[reportMissingTypeStubs]

COMPILED = not numba.config.DISABLE_JIT
"""Whether the engine runs compiled (False under NUMBA_DISABLE_JIT=1)."""
QUIET = "OHHELL_QUIET"
"""Environment variable; any value silences the message about compilation."""

_KEPT = 4
"""Number of versions to keep for each function, so that branches can share a cache."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), tuple, frozenset, np.generic, Enum)


def _digest(function: Any) -> str:
    """Returns a digest of everything that a function is compiled from.

    Bytecode has no comments or line numbers, and docstrings are excluded.
    """
    digest = hashlib.sha256(
        f"{sys.version_info[:2]} {numba.__version__} {numba.config.BOUNDSCHECK}".encode()
    )
    for part in _parts(function, set()):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:20]


def _parts(function: Any, seen: set[int]) -> Iterator[str]:
    """Yields the parts of a function and of the functions it calls, each function once."""
    if id(function) in seen:
        return
    seen.add(id(function))
    yield function.__qualname__
    names: set[str] = set()
    yield from _code(function.__code__, function.__doc__, names)
    space = function.__globals__
    used = {name: space[name] for name in sorted(names) if name in space}
    for module in [each for each in used.values() if isinstance(each, ModuleType)]:
        if not _is_library(module.__name__):
            used |= {name: getattr(module, name) for name in sorted(names) if hasattr(module, name)}
    cells = function.__closure__ or ()
    for value in [*used.values(), *(cell.cell_contents for cell in cells)]:
        yield from _value(value, seen)


def _code(code: CodeType, docstring: str | None, names: set[str]) -> Iterator[str]:
    """Yields the content of a piece of bytecode, and collects the names that it looks up."""
    names.update(code.co_names)
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant, None, names)
        elif constant is not None and constant != docstring:  # None replaces a missing docstring
            yield repr(constant)


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    """Yields the content of a global: the parts of a function, or the value of a constant."""
    inner = getattr(value, "py_func", getattr(value, "_defn", value))  # njit, intrinsic
    if isinstance(inner, FunctionType):
        if not _is_library(inner.__module__):
            yield from _parts(inner, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype!r} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, (*_PLAIN, np.dtype)):
        yield repr(value)


def _is_library(module: str) -> bool:
    """Returns whether a module's compiled code changes only with the version of numba."""
    return module.partition(".")[0] in ("numba", "numpy", "llvmlite", "math")


def _cache_folder() -> str | None:
    """Returns the cache folder for compiled functions; None if no folder is writable."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    own = [Path(chosen)] if chosen else [Path(__file__).parent / "__pycache__", _user_cache()]
    for folder in filter(None, own):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return str(folder)
        except OSError:
            continue
    return None


def _user_cache() -> Path | None:
    """Returns the user's cache folder; None for a user without a home, as in containers."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return Path(home or Path.home() / ".cache") / "ohhell_env"
    except RuntimeError:
        return None


_FOLDER = _cache_folder() if COMPILED else None


class _Cache(FunctionCache):
    """numba's cache of one function, with this module's key, which ignores broken files.

    A full disk, an interrupted copy or a crash of the machine leaves empty or truncated files. They
    would make numba's own cache fail at every later start.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Returns the compiled function, or None if no usable one exists."""
        found = None
        try:
            self._use_own_files()
            found = super().load_overload(sig, target_context)
        except Exception:  # unpickling a broken file may raise anything
            with contextlib.suppress(OSError):  # already gone, or not removable
                Path(self._cache_file._index_path).unlink()
        if found is None:  # the caller compiles and saves it, with new files over the old
            _say_once()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Saves the compiled function if possible; it is usable in any case."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)
            self._prune()

    def _use_own_files(self) -> None:
        """Names the files after the digest, which is known once all callees are imported."""
        if isinstance(self._cache_file, _OwnFile):
            return
        # Straight in the folder: numba has a subfolder for each path of a source, so that a second
        # clone and each machine of a cluster would compile all of it once more.
        self._cache_path = _FOLDER
        function = self._py_func
        name = f"{function.__module__}.{function.__qualname__}"
        self._cache_file = _OwnFile(self._cache_path, f"{name}-{_digest(function)}", "")
        self._name_of_all = name

    def _prune(self) -> None:
        """Removes older versions of this function except for the newest ones."""
        indices = Path(self._cache_path).glob(f"{self._name_of_all}-*.nbi")
        for index in sorted(indices, key=_age)[:-_KEPT]:
            for file in index.parent.glob(f"{index.stem}.*"):
                file.unlink(missing_ok=True)


class _OwnFile(IndexDataCacheFile):
    """The files of one function and one digest."""


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:  # another process has removed it
        return 0.0


_said = False


def _say_once() -> None:
    """Announces the compilation on stderr, because it takes a while."""
    global _said  # noqa: PLW0603 (once for each process)
    is_worker = multiprocessing.parent_process() is not None  # the parent has announced it
    if not _said and not is_worker and not os.environ.get(QUIET) and sys.stderr is not None:
        print("compiling for this machine, once; this takes up to a minute ...", file=sys.stderr)
        sys.stderr.flush()
    _said = True


class _InnerLibrary(JITCodeLibrary):
    """The code of a function that only compiled functions call, without machine code of its own.

    numba generates machine code for each function with all its callees, at every level up to the
    entry, which contains everything once more. Each function is still optimised by itself: without
    that, heuristic play was a fifth slower, and the search two fifths.
    """

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Returns 0, because there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """The object that receives ``set_env``."""
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Does nothing: environments hold object constants, which no function here uses."""


class _InnerCompiler(Compiler):
    def compile_extra(self, func: Any) -> Any:
        """Compiles a function into an ``_InnerLibrary``."""
        library = _InnerLibrary(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library = library
        return super().compile_extra(func)


class _Inner(CPUDispatcher):
    """A function that is compiled with its callers, or by itself when Python (a test) calls it."""

    _alone: Any = None

    def __call__(self, *arguments: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self._alone is None:
            self._alone = entry(self.py_func)
        return self._alone(*arguments)


_OPTIONS = {"nogil": True, "error_model": "numpy"}


def _inner(function: Callable[..., Any], **options: Any) -> Any:
    if not COMPILED:
        return function
    alone = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    njit_sets = {"nopython": True, "boundscheck": None}
    targetoptions = _OPTIONS | njit_sets | alone | options
    return _Inner(function, targetoptions=targetoptions, pipeline_class=_InnerCompiler)


def inline(function: Callable[..., Any]) -> Any:
    """Decorates a small function, which is compiled into its callers."""
    return _inner(function, forceinline=True)


def inner(function: Callable[..., Any]) -> Any:
    """Decorates a function that compiled code calls, but that is too large to inline."""
    return _inner(function)


def entry(function: Callable[..., Any]) -> Any:
    """Decorates a function that Python calls; its machine code is cached on disk.

    It is compiled with all its callees. Functions that only compiled code calls are ``inline`` or
    ``inner``.
    """
    if not COMPILED:
        return function
    compiled: Any = njit(**_OPTIONS)(function)
    if _FOLDER is None:
        return compiled
    before = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = _FOLDER
        compiled._cache = _Cache(function)  # instead of the cache that cache=True would set
    finally:
        numba.config.CACHE_DIR = before
    return compiled
