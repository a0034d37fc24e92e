"""What the folders of all runs have in common: settings, versions, a lock, beginning and moving.

A way to train has a subclass of ``RunFolder`` for what it keeps there, and one of
``ohhell_train.runs.trainer.Trainer`` for what it does.
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
"""Folders beside a player that is being replaced; see ``ohhell_agents.folders``."""
_LIBRARIES = ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib", "safetensors")


C = TypeVar("C", bound=RunSettings)


def how_many(number: int, unit: str) -> str:
    """Returns a number of things in words.

    >>> how_many(1, "round"), how_many(2000, "decision")
    ('1 round', '2,000 decisions')
    """
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


class RunFolder(ABC, Generic[C]):
    """A folder with a run in it; subclasses say what else is there."""

    settings: type[C]
    """The class of its settings."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, config: C) -> Self:
        """Begins a run in a new folder.

        Raises:
            RulesError: There is something at that place already.
            InUseError: Another process begins a run there at this moment.
        """
        if path.exists() and not is_free(path):
            raise RulesError(
                f"{path}: is there already; go on with `ohhell resume {path}`, choose "
                "another --out, or add --force to begin anew (the old folder is kept beside it)"
            )
        path.mkdir(parents=True, exist_ok=True)
        run = cls(path)
        with run.lock():
            if not is_free(path):
                raise InUseError(f"{path}: another process begins a run here at this moment")
            run._describe(config)
        return run

    def _describe(self, config: C) -> None:
        versions = {"python": platform.python_version(), "ohhell_env": ohhell_env.__version__}
        versions |= {name: importlib.metadata.version(name) for name in _LIBRARIES}
        write_whole(self.path / VERSIONS, json.dumps(versions, indent=1) + "\n")
        self._bring(config)
        players = {name: _fingerprint(name) for name in config.opponent_names()}
        players = {name: text for name, text in players.items() if not text.endswith(":")}
        if players:  # such that can change: heuristic and random are known by their names
            write_whole(self.path / PLAYERS, json.dumps(players, indent=1) + "\n")
        write_whole(self.path / CONFIG, config.resolved().to_yaml())

    def _bring(self, config: C) -> None:
        """Puts what else a run needs into its folder, before the settings make it one."""

    @abstractmethod
    def done(self) -> str:
        """Returns how far the run is, such as "2 rounds"; empty where nothing is kept yet."""

    @abstractmethod
    def finished(self) -> bool:
        """Returns whether the run came to its end."""

    @abstractmethod
    def summary(self) -> str:
        """Returns what the run did, in a few words."""

    def result(self) -> Path:
        """Returns where the player is that the run was for."""
        return self.path / "best"

    def recover(self) -> None:
        """Mends what a kill left half done; called by who holds the lock."""

    def check_unchanged(self, then: Mapping[str, Any], now: Mapping[str, Any], since: str) -> None:
        """Checks that what is kept was made with the settings of the run as they are now.

        Args:
            then: The settings that it was made with, as plain data.
            now: The settings that it depends on, as they are now.
            since: What was done then, for the message: "round 1 was played".

        Raises:
            CheckpointError: A setting has changed: going on would make a run of no one recipe.
        """
        changed = [name for name, value in now.items() if then.get(name) != value]
        if changed:
            raise CheckpointError(
                f"{self.path / CONFIG}: {', '.join(changed)} changed since {since}; put back what "
                "was there, or begin the run anew"
            )

    def check_opponents(self, config: C) -> None:
        """Checks that the players that the run trains with are those that it began with.

        Raises:
            CheckpointError: The files of one have changed since.
            OhHellError: One is not there any more.
        """
        file = self.path / PLAYERS
        if not file.is_file():  # there are none, or an older version began the run
            return
        try:
            began = json.loads(file.read_text(encoding="utf-8"))
            pairs = {name: began[name] for name in config.opponent_names() if name in began}
        except (OSError, ValueError, TypeError) as error:
            raise CheckpointError(
                f"{file}: is damaged ({error}); put back what was there, or remove it to go on "
                "with the players as they are now"
            ) from None
        for name, then in pairs.items():
            if (now := _fingerprint(name)) != then:
                raise CheckpointError(
                    f"{shown(name)} is another player now ({shown(now)}) than when the run began "
                    f"({shown(then)}); put its files back, or begin the run anew"
                )

    @classmethod
    def begin(cls, path: Path, config: C, force: bool = False) -> Self:
        """Begins a run in a folder; with ``force``, what is there is moved aside first.

        Raises:
            RulesError, InUseError: As ``create``.
        """
        if force and path.exists():
            cls(path).set_aside()
        return cls.create(path, config)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Returns the run that was begun in a folder.

        Raises:
            RulesError: There is none.
        """
        if not (path / CONFIG).is_file():
            raise RulesError(f"{path}: no training run here ({CONFIG} is missing)")
        return cls(path)

    def lock(self) -> contextlib.AbstractContextManager[None]:
        """Keeps other processes from training here; see ``ohhell_train.runs.lock``.

        Raises:
            InUseError: Another process holds it.
        """
        return only_here(self.path / LOCK, "is training here")

    def config(self) -> C:
        """Returns the settings of the run.

        Raises:
            RulesError: They are none of this version.
        """
        return self.settings.load(self.path / CONFIG)

    def set_aside(self) -> Path:
        """Moves the whole folder to the next free name beside it, which is returned.

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
    """Returns what identifies the player of a name: its kind and its fingerprint."""
    with ohhell_agents.make(name, 0) as player:
        return f"{player.kind}:{player.fingerprint}"


def clear_left_over(*folders: Path) -> None:
    """Removes what a kill left in folders of players while one was being replaced."""
    for folder in folders:
        for file in folder.glob(".*"):
            if LEFT_OVER.match(file.name):
                shutil.rmtree(file, ignore_errors=True)


def is_free(path: Path) -> bool:
    """Returns whether a run may begin in a folder: it is empty, but for a kill's leavings."""
    begun = {LOCK, START, VERSIONS, PLAYERS}
    begun |= {f"{name}.part" for name in (VERSIONS, PLAYERS, CONFIG)}
    left = (file.name for file in path.iterdir()) if path.is_dir() else ()
    return path.is_dir() and all(name in begun or LEFT_OVER.match(name) for name in left)
