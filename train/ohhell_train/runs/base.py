"""The common part of all run folders: settings, versions, a lock, creation and moving.

A training method has a subclass of ``RunFolder`` for its files, and one of
``ohhell_train.runs.trainer.Trainer`` for its training loop.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import platform
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import ohhell_agents
import ohhell_env
from ohhell_env.errors import CheckpointError, RulesError, shown
from ohhell_env.files import write_whole
from ohhell_train.runs.lock import InUseError, only_here
from ohhell_train.settings import RunSettings

CONFIG, VERSIONS, LOCK, START = "config.yaml", "versions.json", ".lock", "start"
PLAYERS = "players.json"
LEFT_OVER = re.compile(r"\.(?P<name>best|last|start|[0-9]+)\.(?P<kind>old|new)-[0-9]+$")
"""Folders left next to a player while ``ohhell_agents.checkpoint_io.replacing`` replaces it."""
_LIBRARIES = ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib", "safetensors")


C = TypeVar("C", bound=RunSettings)


def how_many(number: int, unit: str) -> str:
    """Returns a count with its unit.

    >>> how_many(1, "round"), how_many(2000, "decision")
    ('1 round', '2,000 decisions')
    """
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


class RunFolder(ABC, Generic[C]):
    """A folder that holds a run; subclasses define its other files."""

    settings: type[C]
    """The class of its settings."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, config: C) -> Self:
        """Begins a run in a new folder.

        Raises:
            RulesError: The folder already exists.
            InUseError: Another process is beginning a run there.
        """
        if path.exists() and not is_free(path):
            raise RulesError(
                f"{path}: already exists; continue it with `ohhell resume {path}`, choose another "
                "--out, or add --force to start again (the old folder is kept under another name)"
            )
        path.mkdir(parents=True, exist_ok=True)
        run = cls(path)
        with run.lock():
            if not is_free(path):
                raise InUseError(f"{path}: another process is beginning a run here")
            run._describe(config)
        return run

    def _describe(self, config: C) -> None:
        versions = {"python": platform.python_version(), "ohhell_env": ohhell_env.__version__}
        versions |= {name: importlib.metadata.version(name) for name in _LIBRARIES}
        write_whole(self.path / VERSIONS, json.dumps(versions, indent=1) + "\n")
        self._bring(config)
        players = {name: _fingerprint(name) for name in config.opponent_names()}
        players = {name: text for name, text in players.items() if not text.endswith(":")}
        if players:  # only players that can change: heuristic and random are known by their names
            write_whole(self.path / PLAYERS, json.dumps(players, indent=1) + "\n")
        write_whole(self.path / CONFIG, config.resolved().to_yaml())

    def _bring(self, config: C) -> None:
        """Adds other files that a run needs, before the settings make the folder a run."""

    @abstractmethod
    def done(self) -> str:
        """Returns the progress, such as "2 rounds"; empty if nothing is saved yet."""

    @abstractmethod
    def finished(self) -> bool:
        """Returns whether the run is complete."""

    @abstractmethod
    def summary(self) -> str:
        """Returns a short summary of the run."""

    def result(self) -> Path:
        """Returns the folder of the player that the run produced."""
        return self.path / "best"

    def recover(self) -> None:
        """Repairs what a kill left unfinished; the caller holds the lock."""

    def check_unchanged(self, then: Mapping[str, Any], now: Mapping[str, Any], since: str) -> None:
        """Checks that saved data was made with the present settings of the run.

        Args:
            then: The settings that the data was made with, as plain data.
            now: The present settings that the data depends on.
            since: The event, for the message: "round 1 was played".

        Raises:
            CheckpointError: A setting has changed, so that no single recipe would describe the run.
        """
        changed = [name for name, value in now.items() if then.get(name) != value]
        if changed:
            raise CheckpointError(
                f"{self.path / CONFIG}: {', '.join(changed)} changed since {since}; restore the "
                "old values, or start the run again"
            )

    def check_opponents(self, config: C) -> None:
        """Checks that the other players of the run have not changed since it began.

        Raises:
            CheckpointError: The files of a player have changed.
            OhHellError: A player no longer exists.
        """
        file = self.path / PLAYERS
        if not file.is_file():  # no such players, or an older version began the run
            return
        try:
            began = json.loads(file.read_text(encoding="utf-8"))
            pairs = {name: began[name] for name in config.opponent_names() if name in began}
        except (OSError, ValueError, TypeError) as error:
            raise CheckpointError(
                f"{file}: is damaged ({error}); restore it, or remove it to continue with the "
                "players as they are now"
            ) from None
        for name, then in pairs.items():
            if (now := _fingerprint(name)) != then:
                raise CheckpointError(
                    f"{shown(name)} is not the same player ({shown(now)}) as when the run began "
                    f"({shown(then)}); restore its files, or start the run again"
                )

    @classmethod
    def begin(cls, path: Path, config: C, force: bool = False) -> Self:
        """Begins a run in a folder; ``force`` first moves the present folder aside.

        Raises:
            RulesError, InUseError: See ``create``.
        """
        if force and path.exists():
            cls(path).set_aside()
        return cls.create(path, config)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Returns the run of a folder.

        Raises:
            RulesError: The folder holds no run.
        """
        if not (path / CONFIG).is_file():
            raise RulesError(f"{path}: no training run here ({CONFIG} is missing)")
        return cls(path)

    def lock(self) -> contextlib.AbstractContextManager[None]:
        """Keeps other processes from training here; see ``ohhell_train.runs.lock``.

        Raises:
            InUseError: Another process holds the lock.
        """
        return only_here(self.path / LOCK, "is training here")

    def config(self) -> C:
        """Returns the settings of the run.

        Raises:
            RulesError: The settings do not fit this version.
        """
        return self.settings.load(self.path / CONFIG)

    def set_aside(self) -> Path:
        """Renames the whole folder to the next free name, and returns the new path.

        Raises:
            InUseError: Another process trains in it.
        """
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.old-{number}")).exists():
            number += 1
        if not self.path.is_dir():
            return self.path.rename(aside)
        with self.lock():
            self.path.rename(aside)
            (aside / LOCK).unlink(missing_ok=True)
        return aside


def _fingerprint(name: str) -> str:
    """Returns the identity of a player: its kind and its fingerprint."""
    with ohhell_agents.make(name, 0) as player:
        return f"{player.kind}:{player.fingerprint}"


def clear_left_over(*folders: Path) -> None:
    """Removes what a kill left in folders of players while one was being replaced."""
    for folder in folders:
        for file in folder.glob(".*"):
            if LEFT_OVER.match(file.name):
                shutil.rmtree(file, ignore_errors=True)


def is_free(path: Path) -> bool:
    """Returns whether a run may begin in a folder: it is empty, apart from a kill's leftovers."""
    begun = {LOCK, START, VERSIONS, PLAYERS}
    begun |= {f"{name}.part" for name in (VERSIONS, PLAYERS, CONFIG)}
    left = (file.name for file in path.iterdir()) if path.is_dir() else ()
    return path.is_dir() and all(name in begun or LEFT_OVER.match(name) for name in left)
