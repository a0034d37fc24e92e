"""The store of a tournament: what was played, in SQLite, kept as it comes.

A killed run loses the last second at most; the same tournament goes on from its store, another one
is refused. The tables are described in ``docs/tournament.md``.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_env.errors import OhHellError
from train.tournament.identity import differences
from train.tournament.tables import Outcome
from train.tournament.units import Asked, Part, Unit

STORE = "tournament.sqlite"
"""Name of the file in the folder of the results."""
FORMAT = 1
"""Version of the tables."""
APPLICATION = 0x4F686854
"""SQLite's "application id" of the file: "OhhT"."""
FLUSH_SECONDS = 1.0
"""What was played is written when this much time has passed since the last time."""
_PATIENCE = 30.0  # seconds that a write waits for somebody who reads
_SHOWN = 4  # differences named in a refusal

_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE entrants (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, fingerprint TEXT NOT NULL);
CREATE TABLE units (
    one INTEGER NOT NULL REFERENCES entrants, field INTEGER NOT NULL REFERENCES entrants,
    first INTEGER NOT NULL, blocks INTEGER NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (one, field, first));
CREATE TABLE asked (
    one INTEGER NOT NULL, field INTEGER NOT NULL, first INTEGER NOT NULL,
    entrant INTEGER NOT NULL REFERENCES entrants, faults INTEGER NOT NULL,
    first_fault TEXT NOT NULL, decisions INTEGER NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (one, field, first, entrant));
CREATE TABLE blocks (
    one INTEGER NOT NULL REFERENCES entrants, field INTEGER NOT NULL REFERENCES entrants,
    block INTEGER NOT NULL, hand_size INTEGER NOT NULL, own_points INTEGER NOT NULL,
    all_points INTEGER NOT NULL, own_made INTEGER NOT NULL, points BLOB NOT NULL,
    bids BLOB NOT NULL, tricks BLOB NOT NULL, PRIMARY KEY (one, field, block));
"""

DEALS = np.dtype(
    [
        ("one", np.int32),
        ("field", np.int32),
        ("block", np.int64),
        ("rotation", np.int8),
        ("seat", np.int8),
        ("hand_size", np.int8),
        ("points", np.int32),
        ("bid", np.int8),
        ("tricks", np.int8),
    ]
)
"""A row of ``Store.deals``."""


class OtherTournamentError(OhHellError):
    """The store holds another tournament."""


class Store:
    """What was played of a tournament; made by ``go_on`` or ``open_store``.

    Args:
        path: The file.
        connection: It, open.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._waiting: list[tuple[Unit, Part]] = []
        self._written = time.monotonic()
        self._ids: list[int] = []
        self._seats = 0

    @classmethod
    def go_on(
        cls, path: str | Path, about: dict[str, Any], blocks: int, entrants: dict[str, str]
    ) -> Self:
        """Opens the store of a tournament, or begins it.

        Args:
            path: The file.
            about: What makes this tournament, as plain data.
            blocks: Number of deal blocks; more than before are fine.
            entrants: Fingerprints by name; more than before are fine.

        Raises:
            OtherTournamentError: The file holds another tournament.
            OhHellError: It is no store, or cannot be written.
        """
        about = json.loads(json.dumps(about))
        store = cls(Path(path), _connect(Path(path)))
        try:
            with _plainly(store.path), store._connection:
                store._connection.execute("BEGIN IMMEDIATE")
                if store._is_empty():
                    store._create(about | {"format": FORMAT, "blocks": blocks})
                store._recognize()
                store._check(about, blocks, entrants)
                store._enter(blocks, entrants)
        except BaseException:
            store._connection.close()
            raise
        return store

    def _is_empty(self) -> bool:
        return not self._all("SELECT 1 FROM sqlite_master")

    def _recognize(self) -> None:
        if self._all("PRAGMA application_id") != [(APPLICATION,)]:
            raise OhHellError(f"{self.path}: is another file, no store of a tournament")

    def _create(self, about: dict[str, Any]) -> None:
        for statement in _TABLES.split(";"):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
        rows = [(name, json.dumps(value)) for name, value in about.items()]
        self._connection.executemany("INSERT INTO about VALUES (?, ?)", rows)

    def _check(self, about: dict[str, Any], blocks: int, entrants: dict[str, str]) -> None:
        there = self.about
        there["blocks"] = max(blocks, there["blocks"])
        found = differences(there, about | {"format": FORMAT, "blocks": blocks})
        for name, fingerprint in self.entrants.items():
            if name not in entrants:
                found.append(f"entrant {name!r} is there, not here")
            elif fingerprint != entrants[name]:
                found.append(f"entrant {name!r} is another player there")
        if found:
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise OtherTournamentError(
                f"{self.path}: holds another tournament: {'; '.join(found[:_SHOWN])}{more}. "
                "Choose another folder for this one, or begin anew there with --fresh"
            )

    def _enter(self, blocks: int, entrants: dict[str, str]) -> None:
        values = ("blocks", json.dumps(blocks))
        self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", values)
        self._connection.executemany(
            "INSERT OR IGNORE INTO entrants (name, fingerprint) VALUES (?, ?)", entrants.items()
        )
        ids = dict(self._all("SELECT name, id FROM entrants"))
        self._ids = [ids[name] for name in entrants]
        self._seats = self.about["rules"]["players"]

    @property
    def about(self) -> dict[str, Any]:
        """What makes this tournament: design, rules, seed, hand size, unit, versions, blocks."""
        return {name: json.loads(value) for name, value in self._all("SELECT * FROM about")}

    @property
    def entrants(self) -> dict[str, str]:
        """Fingerprints by name, in the order in which they entered."""
        return dict(self._all("SELECT name, fingerprint FROM entrants ORDER BY id"))

    def units(self) -> set[Unit]:
        """Returns the units that are stored, with the places of the entrants of this run."""
        places = {identity: place for place, identity in enumerate(self._ids)}
        rows = self._all("SELECT first, one, field, blocks FROM units")
        return {Unit(first, places[one], places[field], n) for first, one, field, n in rows}

    def add(self, unit: Unit, part: Part) -> None:
        """Adds what was played; it is on the disk a second later."""
        self._waiting.append((unit, part))
        if time.monotonic() - self._written >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes all that was added, whole or not at all.

        Raises:
            OhHellError: It cannot be written; what was stored before is as it was.
        """
        with _plainly(self.path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for unit, part in self._waiting:
                self._write(unit, part)
        self._waiting.clear()
        self._written = time.monotonic()

    def _write(self, unit: Unit, part: Part) -> None:
        key = (self._ids[unit.one], self._ids[unit.field])
        place = (*key, unit.first)
        put = "INSERT OR REPLACE INTO"
        values = (*place, unit.blocks, part.seconds)
        self._connection.execute(f"{put} units VALUES (?, ?, ?, ?, ?)", values)
        asked = [
            (*place, entrant, row.faults, row.first_fault, row.decisions, row.seconds)
            for entrant, row in zip(key, (part.one, part.field), strict=True)
        ]
        self._connection.executemany(f"{put} asked VALUES (?, ?, ?, ?, ?, ?, ?, ?)", asked)
        rows = _block_rows(key, unit.first, part.outcome)
        self._connection.executemany(f"{put} blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def load(self, unit: Unit) -> Part:
        """Returns what was stored of a unit."""
        key = (self._ids[unit.one], self._ids[unit.field])
        place = (*key, unit.first)
        rows = self._all(
            "SELECT hand_size, points, bids, tricks FROM blocks "
            "WHERE one = ? AND field = ? AND block >= ? AND block < ? ORDER BY block",
            (*place, unit.first + unit.blocks),
        )
        where = "WHERE one = ? AND field = ? AND first = ?"
        counts = "SELECT entrant, faults, first_fault, decisions, seconds FROM asked"
        asked = {row[0]: Asked(*row[1:]) for row in self._all(f"{counts} {where}", place)}
        ((seconds,),) = self._all(f"SELECT seconds FROM units {where}", place)
        return Part(_outcome(rows, self._seats), asked[key[0]], asked[key[1]], seconds)

    def deals(self) -> NDArray[np.void]:
        """Returns every seat at every table, in order, as rows of ``DEALS``.

        ``one`` and ``field`` are places in ``entrants``; the seat equal to the rotation is the
        one's, all others are the field's.
        """
        seats = self._seats
        rows = self._all("SELECT * FROM blocks ORDER BY one, field, block")
        deals = np.zeros((len(rows), seats, seats), DEALS)
        for column, name in enumerate(("one", "field", "block", "hand_size")):
            values = np.array([row[column] for row in rows], np.int64).reshape(-1, 1, 1)
            deals[name] = values - 1 if column < 2 else values
        deals["rotation"] = np.arange(seats).reshape(1, -1, 1)
        deals["seat"] = np.arange(seats)
        outcome = _outcome([(row[3], *row[7:]) for row in rows], seats)
        deals["points"], deals["bid"] = outcome.points, outcome.bids
        deals["tricks"] = outcome.tricks
        return deals.reshape(-1)

    def _all(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with _plainly(self.path):
            return self._connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Writes what was added and closes the file."""
        try:
            if self._waiting:
                self.flush()
        finally:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


def open_store(path: str | Path) -> Store:
    """Opens a store to read it, also while its tournament is being played.

    ::

        with open_store("results") as store:
            frame = pandas.DataFrame(store.deals())

    Args:
        path: The file, or the folder that it is in.

    Raises:
        OhHellError: There is no store.
    """
    path = Path(path)
    path = path / STORE if path.is_dir() else path
    if not path.is_file():
        raise OhHellError(f"{path}: no store of a tournament is here")
    with _plainly(path):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    store = Store(path, connection)
    try:
        store._recognize()
        store._seats = store.about["rules"]["players"]
        store._ids = [row[0] for row in store._all("SELECT id FROM entrants ORDER BY id")]
    except BaseException:
        connection.close()
        raise
    return store


def set_aside(path: str | Path) -> Path | None:
    """Gives a store another name beside its place, so that a new one can begin.

    Returns:
        Where it is now; None where there was none.
    """
    path = Path(path)
    if not path.exists():
        return None
    number = 1
    while (kept := path.with_name(f"{path.stem}.old-{number}{path.suffix}")).exists():
        number += 1
    return path.rename(kept)


def _connect(path: Path) -> sqlite3.Connection:
    """Opens the file; transactions are begun by hand, so that none is open between two writes."""
    with _plainly(path):
        return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)


@contextlib.contextmanager
def _plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OhHellError(
            f"{path}: the store of the tournament cannot be used: {error}; what was stored stays"
        ) from None


def _block_rows(key: tuple[int, int], first: int, outcome: Outcome) -> Iterator[tuple[Any, ...]]:
    points = outcome.points.astype("<i4")
    own = np.diagonal(points, axis1=1, axis2=2)
    made = np.diagonal(outcome.bids == outcome.tricks, axis1=1, axis2=2)
    sums = (own.sum(axis=1), points.sum(axis=(1, 2)), made.sum(axis=1))
    columns = [column.tolist() for column in (outcome.hand_sizes, *sums)]
    for place, numbers in enumerate(zip(*columns, strict=True)):
        blobs = (values[place].tobytes() for values in (points, outcome.bids, outcome.tricks))
        yield (*key, first + place, *numbers, *blobs)


def _outcome(rows: list[Any], seats: int) -> Outcome:
    shape = (len(rows), seats, seats)
    points, bids, tricks = (b"".join(row[column] for row in rows) for column in (1, 2, 3))
    return Outcome(
        np.frombuffer(points, "<i4").reshape(shape).astype(np.int32),
        np.frombuffer(bids, np.int8).reshape(shape),
        np.frombuffer(tricks, np.int8).reshape(shape),
        np.array([row[0] for row in rows], np.int8),
    )
