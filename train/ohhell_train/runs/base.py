"""What the folders of all runs have in common: settings, versions, a lock, beginning and moving."""

from __future__ import annotations

import contextlib
import csv
import importlib.metadata
import io
import json
import platform
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import ohhell_agents
import ohhell_env
from ohhell_env.errors import CheckpointError, RulesError, shown
from ohhell_env.files import write_whole
from ohhell_train.runs.lock import InUseError, only_here

CONFIG, VERSIONS, LOCK, START = "config.yaml", "versions.json", ".lock", "start"
PLAYERS = "players.json"
LEFT_OVER = re.compile(r"\.(?P<name>best|last|start|[0-9]+)\.(?P<kind>old|new)-[0-9]+$")
"""Folders beside a player that is being replaced; see ``ohhell_agents.folders``."""
_LIBRARIES = ("numpy", "numba", "torch", "stable-baselines3", "sb3-contrib", "safetensors")


class RunFolder:
    """A folder with a run in it; subclasses say what else is there."""

    settings: ClassVar[Any]
    """The class of its settings."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, config: Any) -> Self:
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

    def _describe(self, config: Any) -> None:
        versions = {"python": platform.python_version(), "ohhell_env": ohhell_env.__version__}
        versions |= {name: importlib.metadata.version(name) for name in _LIBRARIES}
        write_whole(self.path / VERSIONS, json.dumps(versions, indent=1) + "\n")
        self._bring(config)
        players = {name: _fingerprint(name) for name in self.others(config)}
        players = {name: text for name, text in players.items() if not text.endswith(":")}
        if players:  # such that can change: heuristic and random are known by their names
            write_whole(self.path / PLAYERS, json.dumps(players, indent=1) + "\n")
        write_whole(self.path / CONFIG, config.resolved().to_yaml())

    def _bring(self, config: Any) -> None:
        """Puts what else a run needs into its folder, before the settings make it one."""

    def others(self, config: Any) -> Iterable[str]:
        """Returns the players that the run trains with, by the names that ``make`` knows.

        They stay where they are: the run keeps their fingerprints.
        """
        del config
        return ()

    def check_others(self, config: Any) -> None:
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
            pairs = {name: began[name] for name in self.others(config) if name in began}
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
    def begin(cls, path: Path, config: Any, force: bool = False) -> Self:
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

    def config(self) -> Any:
        """Returns the settings of the run."""
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


def metrics_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns metrics as CSV; the newest row gives the columns."""
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(rows[-1]), restval="", extrasaction="ignore", lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def is_free(path: Path) -> bool:
    """Returns whether a run may begin in a folder: it is empty, but for a kill's leavings."""
    begun = {LOCK, START, VERSIONS, PLAYERS}
    begun |= {f"{name}.part" for name in (VERSIONS, PLAYERS, CONFIG)}
    left = (file.name for file in path.iterdir()) if path.is_dir() else ()
    return path.is_dir() and all(name in begun or LEFT_OVER.match(name) for name in left)
