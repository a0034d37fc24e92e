"""Files that people made, through every command that reads one."""

from __future__ import annotations

import codecs
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ohhell_env.cli.commands import main
from ohhell_env.errors import NotationError, OhHellError, RulesError
from ohhell_env.files import MOST_SETTINGS, read_text, write_whole
from ohhell_env.game import Game
from ohhell_env.records.notation import format_game, parse_game
from ohhell_env.records.record import Record, from_json, load_record, to_json
from ohhell_env.rules import Rules
from ohhell_env.testing import play_random
from ohhell_train.plots.sources import read_table
from ohhell_train.settings import read_settings_file

ENCODINGS = {
    "utf-8": b"",
    "utf-8 with a mark": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}
as_windows_saves_it = pytest.mark.parametrize("encoding", ENCODINGS)

READERS: dict[str, Callable[[Path], object]] = {
    "text": read_text,
    "record": load_record,
    "rules": Rules.from_yaml,
    "settings": read_settings_file,
    "table": read_table,
}
every_reader = pytest.mark.parametrize("reader", READERS)


@pytest.fixture(scope="module")
def record() -> Record:
    rules = Rules(players=3).replace(schedule={"shape": "explicit", "sizes": [2]})
    return play_random(Game(rules, seed=4), random.Random(4)).record()


def saved(path: Path, text: str, encoding: str) -> Path:
    """Writes a text with the line ends and the mark of an editor on Windows."""
    letters = text.replace("\n", "\r\n").encode(encoding.partition(" ")[0])
    path.write_bytes(ENCODINGS[encoding] + letters)
    return path


@as_windows_saves_it
def test_a_record_is_read(record: Record, encoding: str, tmp_path: Path) -> None:
    in_json = saved(tmp_path / "game.json", to_json(record), encoding)
    assert load_record(in_json) == record
    assert main(["replay", str(in_json)]) == 0
    in_text = saved(tmp_path / "game.txt", format_game(record), encoding)
    assert parse_game(read_text(in_text)) == record
    assert main(["replay", str(in_text)]) == 0


def test_a_text_that_has_kept_its_mark_is_read(record: Record) -> None:
    assert from_json("\ufeff" + to_json(record)) == record
    assert parse_game("\ufeff" + format_game(record)) == record


@as_windows_saves_it
def test_rules_and_settings_are_read(encoding: str, tmp_path: Path) -> None:
    rules = saved(tmp_path / "mine.yaml", "preset: plump\nplayers: 5\n", encoding)
    assert Rules.from_yaml(rules) == Rules.preset("plump", 5)
    settings = saved(tmp_path / "league.yaml", "deals: 20\nentrants: [random]\n", encoding)
    assert read_settings_file(settings) == {"deals": 20, "entrants": ["random"]}


@as_windows_saves_it
def test_tables_are_read(encoding: str, tmp_path: Path) -> None:
    table = saved(tmp_path / "bids.csv", "bid,hands\n0,12\n", encoding)
    assert read_table(table, ("bid",)) == [{"bid": "0", "hands": "12"}]


def places(tmp_path: Path) -> dict[str, Path]:
    """Paths that are no files to be read."""
    found = {"folder": tmp_path, "missing": tmp_path / "missing"}
    if os.name == "posix":
        found |= {"endless": Path("/dev/zero"), "pipe": tmp_path / "pipe"}
        os.mkfifo(tmp_path / "pipe")
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(str(tmp_path / "socket"))
        found["socket"] = tmp_path / "socket"
    return found


@every_reader
def test_what_is_no_file_is_refused_at_once(reader: str, tmp_path: Path) -> None:
    for place, path in places(tmp_path).items():
        start = time.monotonic()
        with pytest.raises(OhHellError) as caught:
            READERS[reader](path)
        assert time.monotonic() - start < 5, place
        said = {"folder": "it is a folder", "missing": "No such file", "socket": ""}
        assert said.get(place, "a pipe or a device") in str(caught.value)


@every_reader
def test_a_huge_file_is_refused(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(1 << 31)  # takes no room
    with pytest.raises(OhHellError, match=r"larger than (4|64|1024) MiB"):
        READERS[reader](path)


def test_the_limit_is_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"#" * MOST_SETTINGS)
    assert len(read_text(path, MOST_SETTINGS)) == MOST_SETTINGS
    path.write_bytes(b"#" * (MOST_SETTINGS + 1))
    with pytest.raises(OhHellError, match="larger than 4 MiB"):
        read_text(path, MOST_SETTINGS)


@every_reader
def test_noise_and_names_that_cannot_be_are_refused(reader: str, tmp_path: Path) -> None:
    noise = tmp_path / "noise"
    for content in (b"\xff\xfe\x00", b"\xc3\x28", bytes(range(256))):
        noise.write_bytes(content)
        with pytest.raises(OhHellError, match="it is not UTF-8 text"):
            READERS[reader](noise)
    with pytest.raises(OhHellError):
        READERS[reader](Path("a\0b"))
    with pytest.raises(OhHellError) as caught:
        READERS[reader](Path("x" * 1_000_000))
    assert len(str(caught.value)) < 300


def test_each_reader_raises_its_own_kind(tmp_path: Path) -> None:
    with pytest.raises(NotationError, match="cannot read it: it is a folder"):
        load_record(tmp_path)
    with pytest.raises(RulesError, match=r"cannot read rules from .*: it is a folder"):
        Rules.from_yaml(tmp_path)
    with pytest.raises(RulesError, match=r"cannot read settings from .*: it is a folder"):
        read_settings_file(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="devices are files there")
@pytest.mark.parametrize(
    "command", ["ohhell_env replay", "ohhell_env rules", "ohhell_env tournament --config"]
)
def test_a_command_refuses_a_device_and_a_pipe_in_one_line(command: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    endless = tmp_path / "endless.yaml"
    endless.symlink_to("/dev/zero")
    for path in (pipe, endless):
        done = subprocess.run(
            [sys.executable, "-m", *command.split(), str(path)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 2
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
        assert "a pipe or a device" in done.stderr


def test_a_file_is_written_whole_or_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new" / "a.txt"
    write_whole(file, "one\n")
    write_whole(file, b"two\n")
    assert file.read_bytes() == b"two\n"

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(file, "three\n")
    assert caught.value.filename == str(file)
    assert file.read_bytes() == b"two\n" and list(file.parent.iterdir()) == [file]
