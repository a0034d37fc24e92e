"""``module:Class``: a player that is a Python class of your own.

The class may be an ``Agent``, or anything with ``act_batch(observations, action_masks)`` or
``act(observation, info)``. It is imported, so its code runs: name only code you trust.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ohhell_agents.base import Actions, Agent, Bytes, RandomBits
from ohhell_agents.checkpoint_io import AgentPath, is_there
from ohhell_env.errors import OhHellError, described, nearest, shown, shown_path
from ohhell_env.players import called
from ohhell_env.rules import RulesLike

_SPEC = re.compile(r"(?:python:)?([A-Za-z_]\w*(?:\.\w+)*):([A-Za-z_]\w*)")


class ImportedAgent(Agent):
    """Any object as a player.

    Args:
        player: Has ``act_batch(observations, action_masks)`` or ``act(observation, info)``. If it
            has ``begin(rules, seat)``, this is called.
        seed: As for every player; the object has its own randomness.

    Raises:
        OhHellError: The object has neither method.
    """

    kind = "python"

    def __init__(self, player: Any, seed: int | None = None) -> None:
        super().__init__(seed)
        if not _is_player(player):
            raise OhHellError(
                f"{type(player).__name__} is not a player: it has neither act(observation, info) "
                "nor act_batch(observations, action_masks)"
            )
        self.player = player
        self.name = called(player)

    @property
    def one_by_one(self) -> bool:
        """Whether it is asked one question at a time."""
        return not callable(getattr(self.player, "act_batch", None))

    @property
    def layout_name(self) -> str:
        """Layout of the observations that the object reads."""
        return getattr(self.player, "layout_name", "default")

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat; see ``Agent.begin``."""
        super().begin(rules, seat)
        begin = getattr(self.player, "begin", None)
        if callable(begin):
            begin(self.rules, seat)

    def close(self) -> None:
        """Closes the object, if it has ``close``."""
        close = getattr(self.player, "close", None)
        if callable(close):
            close()

    @property
    def fingerprint(self) -> str:
        """The class, the SHA-256 of its file, and the object's own fingerprint, if any."""
        kind = type(self.player)
        parts = [f"{kind.__module__}:{kind.__qualname__}", _digest(kind)]
        return " ".join(filter(None, [*parts, str(getattr(self.player, "fingerprint", ""))]))

    def choose(
        self,
        observations: Bytes,
        action_masks: Bytes,
        random_bits: RandomBits,
        deterministic: bool,
        /,
    ) -> Actions:
        """Returns the object's answers unchanged; see ``Agent.choose``."""
        if not self.one_by_one:
            return np.asarray(self.player.act_batch(observations, action_masks))
        rows = zip(observations, action_masks, strict=True)
        return np.asarray([self._ask(view, mask) for view, mask in rows])

    def _ask(self, view: Bytes, mask: Bytes) -> Any:
        seen = {"observation": view, "action_mask": mask}
        return self.player.act(seen, {"action_mask": mask})

    def save(self, path: AgentPath) -> NoReturn:
        """Raises OhHellError: the object's state cannot be saved."""
        raise OhHellError(
            f"a {type(self.player).__name__} cannot be saved to {path}: make it again by its name"
        )


def is_import(spec: str) -> bool:
    """Returns whether a player's name refers to a Python class."""
    return spec.startswith("python:") or _SPEC.fullmatch(spec) is not None


def make_imported(spec: str, seed: int | None = None) -> Agent:
    """Returns a player from ``python:module:Class`` or ``module:Class``.

    Args:
        spec: The name.
        seed: Passed to the class if it takes a ``seed``.

    Raises:
        OhHellError: The module or class does not exist, cannot be made, or is not a player.
    """
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise OhHellError(f"player {shown_path(spec)!r}: write python:package.module:Class")
    cls = _find(spec, _import(spec, found[1]), found[2])
    try:
        player = cls(seed=seed) if _takes_seed(cls) else cls()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit and CancelledError
        raise OhHellError(
            f"player {shown_path(spec)!r} cannot be made: {described(error)}"
        ) from error
    if isinstance(player, Agent):
        return player
    try:
        return ImportedAgent(player, seed)
    except OhHellError as error:
        raise OhHellError(f"player {shown_path(spec)!r}: {error}") from None


def _import(spec: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module != missing and not module.startswith(missing + "."):
            raise OhHellError(
                f"player {shown_path(spec)!r} cannot be imported: {described(error)}"
            ) from error
        raise OhHellError(
            f"player {shown_path(spec)!r}: no module {shown(missing)} on Python's path"
            f"{_near(missing)}"
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise OhHellError(
            f"player {shown_path(spec)!r} cannot be imported: {described(error)}"
        ) from error


def _near(module: str) -> str:
    """Returns a hint at modules with a similar name in the same place."""
    parent, _, name = module.rpartition(".")
    places = getattr(importlib.import_module(parent), "__path__", []) if parent else None
    hint = nearest(name, [found.name for found in pkgutil.iter_modules(places)])
    return f": {hint}" if hint.startswith("did you mean") else ""


def _find(spec: str, module: Any, name: str) -> Any:
    cls = getattr(module, name, None)
    if inspect.isclass(cls):
        return cls
    if cls is not None:
        raise OhHellError(
            f"player {shown_path(spec)!r}: {name} is not a class but {type(cls).__name__}"
        )
    classes = [key for key, value in vars(module).items() if inspect.isclass(value)]
    hint = _nearest_class(name, classes) if classes else "it has no classes"
    raise OhHellError(
        f"player {shown_path(spec)!r}: {module.__name__} has no class {shown(name)}: {hint}"
    )


def _nearest_class(name: str, classes: list[str]) -> str:
    by_small = {key.lower(): key for key in classes}  # ``nearest`` compares lower case
    hint = nearest(name, by_small)
    for small, key in by_small.items():
        hint = re.sub(rf"\b{small}\b", key, hint)
    return hint


def _takes_seed(cls: type) -> bool:
    try:
        return "seed" in inspect.signature(cls).parameters
    except (TypeError, ValueError):  # a class made in C
        return False


def _digest(cls: type) -> str:
    """Returns the SHA-256 of the file that defines a class; empty if it has no file."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file is None or not is_there(Path(file)):
        return ""
    return f"sha256:{hashlib.sha256(Path(file).read_bytes()).hexdigest()}"


def _is_player(player: Any) -> bool:
    return any(callable(getattr(player, name, None)) for name in ("act", "act_batch"))
