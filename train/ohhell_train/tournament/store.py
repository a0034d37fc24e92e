"""The store of a tournament: the tables played, in an SQLite file.

After a kill at most the last second is lost. The same tournament continues from its store, and
another one is refused. ``docs/tournament.md`` describes the tables.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_env.errors import OhHellError, shown
from ohhell_env.rules import Rules
from ohhell_train.tournament.analysis.figures import sums_by_entrant
from ohhell_train.tournament.design import DRAWN, MIXED
from ohhell_train.tournament.entrants import MOST_ENTRANTS
from ohhell_train.tournament.identity import named_differences
from ohhell_train.tournament.tables import Blocks, Deals, Inside
from ohhell_train.tournament.units import Counts, Unit, UnitResult

STORE = "tournament.sqlite"
"""Name of the file in the folder of the results."""
FORMAT = 3
"""Version of the tables."""
APPLICATION = 0x4F686854
"""SQLite's "application id" of the file: "OhhT"."""
FLUSH_SECONDS = 1.0
"""Seconds between two writes."""
_PATIENCE = 30.0  # seconds that a write waits for a reader
_COMPRESSION = 1  # zlib's level: fast
_NOBODY = 0  # stands for the pairing of a mixed tournament
_UNKNOWN = -2  # stands for an entrant that the file does not name
_SHOWN = 4  # differences named in a refusal
_NOT_THE_FILE = {
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR),
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM),
    sqlite3.SQLITE_INTERRUPT,
}
"""SQLite's errors that a new store would meet too: those of the disk and of locks."""
_ANEW = "start again with --fresh, which keeps it under another name"

_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE entrants (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, fingerprint TEXT NOT NULL);
CREATE TABLE units (
    id INTEGER PRIMARY KEY, challenger INTEGER NOT NULL, field INTEGER NOT NULL,
    first INTEGER NOT NULL, blocks INTEGER NOT NULL, seconds REAL NOT NULL,
    engine_decisions INTEGER NOT NULL, engine_seconds REAL NOT NULL,
    played BLOB NOT NULL, UNIQUE (challenger, field, first));
CREATE TABLE asked (
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    entrant INTEGER NOT NULL REFERENCES entrants, faults INTEGER NOT NULL,
    first_fault TEXT NOT NULL, decisions INTEGER NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (unit, entrant));
CREATE TABLE sums (
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    entrant INTEGER NOT NULL REFERENCES entrants, tables INTEGER NOT NULL,
    points INTEGER NOT NULL, others REAL NOT NULL, wins REAL NOT NULL, deals INTEGER NOT NULL,
    made INTEGER NOT NULL, over INTEGER NOT NULL, under INTEGER NOT NULL,
    PRIMARY KEY (unit, entrant));
"""

DEALS = np.dtype(
    [
        ("challenger", np.int32),
        ("field", np.int32),
        ("block", np.int64),
        ("rotation", np.int8),
        ("deal", np.int16),
        ("seat", np.int8),
        ("entrant", np.int32),
        ("counts", np.bool_),
        ("dealer", np.int8),
        ("hand_size", np.int8),
        ("bid", np.int8),
        ("tricks", np.int8),
        ("points", np.int32),
    ]
)
"""A row of ``Store.deals``."""


class OtherTournamentError(OhHellError):
    """The store holds another tournament."""


class Store:
    """The tables played in a tournament; created by ``go_on`` or ``open_store``.

    Args:
        path: The file.
        connection: The open connection to it.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._waiting: list[tuple[Unit, UnitResult]] = []
        self._written = time.monotonic()
        self._ids: list[int] = []
        self._deals: Deals | None = None

    @classmethod
    def go_on(
        cls, path: str | Path, about: dict[str, Any], blocks: int, entrants: dict[str, str]
    ) -> Self:
        """Opens the store of a tournament, or creates it.

        Args:
            path: The file.
            about: The identity of the tournament, as plain data.
            blocks: Number of deal blocks; it may be larger than before.
            entrants: Fingerprints by name; there may be more than before.

        Raises:
            OtherTournamentError: The file holds another tournament.
            OhHellError: The file is not a store, or cannot be written.
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
            raise OhHellError(f"{self.path}: is not the store of a tournament; {_ANEW}")

    def _create(self, about: dict[str, Any]) -> None:
        for statement in _TABLES.split(";"):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
        rows = [(name, json.dumps(value)) for name, value in about.items()]
        self._connection.executemany("INSERT INTO about VALUES (?, ?)", rows)

    def _check(self, about: dict[str, Any], blocks: int, entrants: dict[str, str]) -> None:
        there = self.about
        played = there.get("blocks")
        if not isinstance(played, int):
            raise self._damaged(f"its number of blocks is {shown(played)}")
        there["blocks"] = max(blocks, played)
        found = named_differences(there, about | {"format": FORMAT, "blocks": blocks})
        new = sorted(set(entrants) - set(self.entrants))
        if about["design"] == MIXED and self.entrants and new:
            found.append(
                f"{shown(new[0])} is not an entrant there, and mixed line-ups are drawn from "
                "all (the design 'field' lets new entrants join)"
            )
        for name, fingerprint in self.entrants.items():
            if name not in entrants:
                found.append(f"entrant {shown(name)} is there, not here")
            elif fingerprint != entrants[name]:
                found.append(f"entrant {shown(name)} is another player there")
        if found:
            more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise OtherTournamentError(
                f"{self.path}: holds another tournament: {'; '.join(found[:_SHOWN])}{more}. "
                "Choose another folder for this one, or start again there with --fresh"
            )

    def _enter(self, blocks: int, entrants: dict[str, str]) -> None:
        values = ("blocks", json.dumps(blocks))
        self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", values)
        self._connection.executemany(
            "INSERT OR IGNORE INTO entrants (name, fingerprint) VALUES (?, ?)", entrants.items()
        )
        ids = dict(self._all("SELECT name, id FROM entrants"))
        self._ids = [ids[name] for name in entrants]

    @property
    def about(self) -> dict[str, Any]:
        """The tournament's identity: design, rules, seed, hand size, unit, versions, blocks."""
        rows = self._all("SELECT * FROM about")
        try:
            return {name: json.loads(value) for name, value in rows}
        except (ValueError, TypeError, RecursionError) as error:
            raise self._damaged(error) from None

    @property
    def entrants(self) -> dict[str, str]:
        """Fingerprints by name, in the order in which they entered."""
        return dict(self._all("SELECT name, fingerprint FROM entrants ORDER BY id"))

    def units(self) -> set[Unit]:
        """Returns the stored units, with the places of this run's entrants."""
        places = self._places()
        rows = self._all("SELECT first, challenger, field, blocks FROM units")
        try:
            return {
                Unit(first, places[challenger], places[field], n)
                for first, challenger, field, n in rows
            }
        except KeyError as error:
            raise self._damaged(f"a unit has an unknown entrant {error}") from None

    def _places(self) -> dict[int, int]:
        """Returns the places of this run's entrants, by their ids in the file."""
        return {_NOBODY: DRAWN} | {identity: place for place, identity in enumerate(self._ids)}

    def _pairing(self, unit: Unit) -> tuple[int, int]:
        """Returns the ids of a unit's pairing."""
        if unit.challenger == DRAWN:
            return _NOBODY, _NOBODY
        return self._ids[unit.challenger], self._ids[unit.field]

    def add(self, unit: Unit, result: UnitResult) -> None:
        """Adds a result; it is on the disk a second later."""
        self._waiting.append((unit, result))
        if time.monotonic() - self._written >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes everything added so far, completely or not at all.

        Raises:
            OhHellError: The file cannot be written; earlier data is unchanged.
        """
        with _plainly(self.path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for unit, result in self._waiting:
                self._write(unit, result)
        self._waiting.clear()
        self._written = time.monotonic()

    def _write(self, unit: Unit, result: UnitResult) -> None:
        put = self._connection.execute
        key = (*self._pairing(unit), unit.first)
        put("DELETE FROM units WHERE challenger = ? AND field = ? AND first = ?", key)
        inside = (result.inside.decisions, result.inside.seconds)
        values = (*key, unit.blocks, result.seconds, *inside, self._packed(result.blocks))
        row = put(
            "INSERT INTO units (challenger, field, first, blocks, seconds, engine_decisions, "
            "engine_seconds, played) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        ).lastrowid
        for place, counts in result.counts.items():
            of_entrant = (counts.faults, counts.first_fault, counts.decisions, counts.seconds)
            put("INSERT INTO asked VALUES (?, ?, ?, ?, ?, ?)", (row, self._ids[place], *of_entrant))
        for place, sums in sums_by_entrant(result.blocks, unit.challenger != DRAWN).items():
            put(
                "INSERT INTO sums VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (row, self._ids[place], *sums),
            )

    def _packed(self, blocks: Blocks) -> bytes:
        """Returns blocks as bytes, with entrants by id."""
        blocks = blocks.copy()
        blocks["lineup"] = np.array(self._ids)[blocks["lineup"]]
        return zlib.compress(blocks.tobytes(), _COMPRESSION)

    def _unpacked(self, packed: bytes) -> Blocks:
        """Returns the blocks that ``_packed`` wrote."""
        if max(self._ids) > MOST_ENTRANTS:
            raise self._damaged(f"an entrant has the number {max(self._ids)}")
        try:
            blocks = np.frombuffer(zlib.decompress(packed), self._made_deals().dtype).copy()
            numbers = np.full(max(self._ids) + 1, DRAWN)
            numbers[self._ids] = np.arange(len(self._ids))
            blocks["lineup"] = numbers[blocks["lineup"]]
        except (zlib.error, ValueError, IndexError, TypeError) as error:
            raise self._damaged(error) from None
        return blocks

    def _damaged(self, why: object) -> OhHellError:
        return OhHellError(
            f"{self.path}: the store of the tournament is damaged ({str(why)[:80]}); {_ANEW}"
        )

    def _made_deals(self) -> Deals:
        if self._deals is None:
            about = self.about
            rules = Rules.from_dict(about["rules"])
            self._deals = Deals(rules, about["seed"], about["hand_size"], about["episode"])
        return self._deals

    def load(self, unit: Unit) -> UnitResult:
        """Returns the stored result of a unit."""
        places = self._places()
        ((row, seconds, decisions, inside, packed),) = self._all(
            "SELECT id, seconds, engine_decisions, engine_seconds, played FROM units "
            "WHERE challenger = ? AND field = ? AND first = ?",
            (*self._pairing(unit), unit.first),
        )
        query = "SELECT entrant, faults, first_fault, decisions, seconds FROM asked WHERE unit = ?"
        counts = {
            places.get(found[0], _UNKNOWN): Counts(*found[1:]) for found in self._all(query, (row,))
        }
        result = UnitResult(self._unpacked(packed), counts, Inside(decisions, inside), seconds)
        self._check_result(unit, result)
        return result

    def _check_result(self, unit: Unit, result: UnitResult) -> None:
        """Refuses a result that cannot be this unit's."""
        blocks = result.blocks
        wanted = np.arange(unit.first, unit.first + unit.blocks)
        if not np.array_equal(blocks["block"], wanted):
            raise self._damaged(f"other blocks in the unit at block {unit.first}")
        lineups = blocks["lineup"]
        pairing = [unit.challenger] + [unit.field] * (lineups.shape[1] - 1)
        if unit.challenger != DRAWN and (lineups != pairing).any():
            raise self._damaged(f"other entrants in the unit at block {unit.first}")
        if set(result.counts) != set(lineups.ravel().tolist()):
            raise self._damaged(f"decisions are missing in the unit at block {unit.first}")
        numbers = [result.seconds, result.inside.seconds, result.inside.decisions]
        for counts in result.counts.values():
            numbers += [counts.faults, counts.decisions, counts.seconds]
        if not all(isinstance(number, int | float) and number >= 0 for number in numbers):
            raise self._damaged(f"a number is missing in the unit at block {unit.first}")

    def deals(self) -> NDArray[np.void]:
        """Returns every seat in every deal at every table, in order, as rows of ``DEALS``.

        ``challenger``, ``field`` and ``entrant`` are places in ``entrants`` (both are -1
        in a mixed tournament). ``counts`` shows whether the row counts for the entrant: in a field
        only the rows of the one that sits alone do.
        """
        places = self._places()
        found = [
            _deal_rows(
                self._unpacked(packed), (places[challenger], places[field]), self._made_deals()
            )
            for challenger, field, packed in self._all(
                "SELECT challenger, field, played FROM units ORDER BY challenger, field, first"
            )
        ]
        return np.concatenate(found) if found else np.zeros(0, DEALS)

    def _all(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with _plainly(self.path):
            return self._connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Writes everything added and closes the file."""
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
    """Opens a store for reading, even while its tournament is running.

    ::

        with open_store("results") as store:
            frame = pandas.DataFrame(store.deals())

    Args:
        path: The file, or its folder.

    Raises:
        OhHellError: There is no store.
    """
    path = Path(path)
    path = path / STORE if path.is_dir() else path
    if not path.is_file():
        raise OhHellError(f"{path}: no store of a tournament here")
    with _plainly(path):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    store = Store(path, connection)
    try:
        store._recognize()
        store._ids = [row[0] for row in store._all("SELECT id FROM entrants ORDER BY id")]
    except BaseException:
        connection.close()
        raise
    return store


def set_aside(path: str | Path) -> Path | None:
    """Renames a store, so that a new one can begin.

    Returns:
        The new path; None if there was no store.
    """
    path = Path(path)
    if not path.exists():
        return None
    number = 1
    while (kept := path.with_name(f"{path.stem}.old-{number}{path.suffix}")).exists():
        number += 1
    return path.rename(kept)


def _connect(path: Path) -> sqlite3.Connection:
    """Opens the file; transactions begin explicitly, so that none is open between two writes."""
    if path.exists() and not path.is_file():  # SQLite would report an error of the disk
        raise OhHellError(f"{path}: the store of the tournament must be a regular file; {_ANEW}")
    with _plainly(path):
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        return connection


@contextlib.contextmanager
def _plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:
        code = getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_CORRUPT
        hint = "the stored data is unchanged" if code & 0xFF in _NOT_THE_FILE else _ANEW
        raise OhHellError(
            f"{path}: the store of the tournament cannot be used: {error}; {hint}"
        ) from None


def _deal_rows(blocks: Blocks, pairing: tuple[int, int], deals: Deals) -> NDArray[np.void]:
    """Returns the rows of ``Store.deals`` for some blocks, without deals that were not played."""
    count, players, of_table, _ = blocks["bids"].shape
    rows = np.zeros((count, players, of_table, players), DEALS)
    rotations, seats = np.ogrid[:players, :players]
    rows["challenger"], rows["field"] = pairing
    rows["block"] = blocks["block"][:, None, None, None]
    rows["rotation"] = rotations[:, :, None]
    rows["deal"] = np.arange(of_table)[:, None]
    rows["seat"] = seats
    line = (seats - rotations) % players  # (rotations, seats): place in the line-up
    rows["entrant"] = blocks["lineup"][:, line][:, :, None, :]
    rows["counts"] = (pairing[0] == DRAWN) | (line == 0)[:, None, :]
    rows["dealer"] = blocks["dealers"][..., None]
    rows["hand_size"] = blocks["hand_sizes"][..., None]
    rows["bid"], rows["tricks"] = blocks["bids"], blocks["tricks"]
    points = deals.compiled["points"][0]
    rows["points"] = points[rows["hand_size"], rows["bid"], rows["tricks"]]
    return rows[rows["hand_size"] > 0]
