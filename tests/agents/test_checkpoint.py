"""Checkpoints: the round trip, and what broken or hostile ones do (nothing)."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from ohhell_agents.nn.checkpoint import (
    METADATA,
    WEIGHTS,
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from ohhell_agents.nn.feature_layout import INPUTS
from ohhell_agents.nn.network import Network
from ohhell_env.errors import CheckpointError
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from tests.agents.test_saved import EDGES, SAVED, VALUES, places, with_value
from tests.helpers import unix_only

RULES = Rules.preset("pocha", 3)


def new_checkpoint(rules: Rules = RULES, layout: str = "default") -> Checkpoint:
    torch.manual_seed(1)
    return Checkpoint(Network(layout_of(rules, layout), (16, 8)), rules, layout)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "player", new_checkpoint())
    return tmp_path / "player"


def edit_card(path: Path, **changes: Any) -> None:
    card = json.loads((path / METADATA).read_text(encoding="utf-8"))
    (path / METADATA).write_text(json.dumps(card | changes), encoding="utf-8")


def replace_weights(path: Path, content: bytes) -> None:
    """Puts other weights there, with the right digest: as a hostile author would."""
    (path / WEIGHTS).write_bytes(content)
    edit_card(path, weights_sha256=hashlib.sha256(content).hexdigest())


def edit_weights(path: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    weights = load_file(path / WEIGHTS)
    change(weights)
    save_file(weights, path / WEIGHTS)
    replace_weights(path, (path / WEIGHTS).read_bytes())


@pytest.mark.parametrize("layout", ["default", "universal"])
def test_round_trip_is_exact(tmp_path: Path, layout: str) -> None:
    before = new_checkpoint(layout=layout)
    save_checkpoint(tmp_path / "x", before)
    after = load_checkpoint(tmp_path / "x")
    assert after.rules == RULES and after.layout_name == layout and after.hand_size is None
    assert after.network.hidden == (16, 8)
    old, new = before.network.state_dict(), after.network.state_dict()
    assert old.keys() == new.keys()
    assert all(torch.equal(old[name], new[name]) for name in old)


def test_holds_text_and_numbers_only(saved: Path) -> None:
    assert sorted(file.name for file in saved.iterdir()) == [METADATA, WEIGHTS]
    card = json.loads((saved / METADATA).read_text(encoding="utf-8"))
    assert (card["format"], card["version"]) == ("ohhell-agent", 1)
    assert card["rules"]["players"] == 3
    content = (saved / WEIGHTS).read_bytes()
    assert b"numpy._core" not in content and not content.startswith(b"PK")


def test_saving_again_replaces_it_and_leaves_nothing_beside(saved: Path) -> None:
    other = new_checkpoint(Rules.preset("oh_hell"))
    save_checkpoint(saved, other)
    assert load_checkpoint(saved).rules == other.rules
    assert [file.name for file in saved.parent.iterdir()] == ["player"]


def test_a_failed_saving_leaves_the_old_one(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(saved, new_checkpoint(Rules.preset("oh_hell")))
    assert load_checkpoint(saved).rules == RULES
    assert [file.name for file in saved.parent.iterdir()] == ["player"]


def test_refuses_to_replace_what_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        save_checkpoint(tmp_path / "thesis", new_checkpoint())
    assert (tmp_path / "thesis" / "chapter.txt").read_text(encoding="utf-8") == "years of work"


class Bomb:
    """Creates a file when unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.mark),)


def test_a_pickle_is_not_run(saved: Path, tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    bomb = pickle.dumps(Bomb(mark))
    replace_weights(saved, bomb + b"\0" * (4 * 40_000))
    with pytest.raises(CheckpointError):
        load_checkpoint(saved)
    torch.save(Bomb(mark), saved / WEIGHTS)
    replace_weights(saved, (saved / WEIGHTS).read_bytes())
    with pytest.raises(CheckpointError):
        load_checkpoint(saved)
    (saved / METADATA).write_bytes(bomb)
    with pytest.raises(CheckpointError):
        load_checkpoint(saved)
    assert not mark.exists()
    pickle.loads(bomb)
    assert mark.exists(), "the bomb works"


def infinite(weights: dict[str, torch.Tensor]) -> None:
    weights["actor.0.bias"][3] = float("nan")


def wider(weights: dict[str, torch.Tensor]) -> None:
    weights["critic.4.weight"] = weights["critic.4.weight"].reshape(8, 1).contiguous()


def renamed(weights: dict[str, torch.Tensor]) -> None:
    weights["actor.0.offset"] = weights.pop("actor.0.bias")


def doubled(weights: dict[str, torch.Tensor]) -> None:
    for name in ("actor.0.bias", "critic.0.bias"):
        weights[name] = weights[name][:8].double().contiguous()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (infinite, "actor.0.bias contains values that are not finite"),
        (wider, r"critic.4.weight is float32 of shape \(8, 1\)"),
        (renamed, "the tensor 'actor.0.bias' is missing"),
        (doubled, "float64"),
    ],
)
def test_wrong_weights(saved: Path, change: Any, expected: str) -> None:
    edit_weights(saved, change)
    with pytest.raises(CheckpointError, match=expected):
        load_checkpoint(saved)


def test_damaged_weights(saved: Path) -> None:
    content = bytearray((saved / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (saved / WEIGHTS).write_bytes(content)
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(saved)


@pytest.mark.parametrize("length", [0, 7, 100, -1])
def test_truncated_weights(saved: Path, length: int) -> None:
    replace_weights(saved, (saved / WEIGHTS).read_bytes()[:length])
    with pytest.raises(CheckpointError):
        load_checkpoint(saved)


def test_a_header_that_promises_too_much(saved: Path) -> None:
    content = bytearray((saved / WEIGHTS).read_bytes())
    content[:8] = (2**62).to_bytes(8, "little")
    replace_weights(saved, bytes(content))
    with pytest.raises(CheckpointError, match="no readable weights"):
        load_checkpoint(saved)


def test_oversized_weights_are_not_read(saved: Path) -> None:
    with (saved / WEIGHTS).open("r+b") as file:
        file.truncate(1 << 40)  # a sparse file: takes no room
    with pytest.raises(CheckpointError, match="does not fit the network"):
        load_checkpoint(saved)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "does not describe a player"),
        ('{"format": "zip"}', "does not describe a player"),
        ('{"format": "ohhell-agent", "version": 7, "ohhell_env": "9.1"}', "version 7"),
        ('{"format": "ohhell-agent", "version": 1}', "incomplete or broken"),
        (" " * (2 << 20), "larger than"),
    ],
)
def test_broken_cards(saved: Path, text: str, expected: str) -> None:
    (saved / METADATA).write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match=expected):
        load_checkpoint(saved)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rules": {"players": 99}}, "cannot be played.*players"),
        ({"rules": {"dealer": 1}}, "unknown setting 'dealer'"),
        ({"rules": 7}, "cannot be played"),
        ({"layout": {"name": "cosy", "digest": "x"}}, "layout 'cosy'"),
        ({"layout": {"name": "default", "digest": "0123"}}, "'0123'.*train it again"),
        # the universal layout before it told all rules apart
        ({"layout": {"name": "universal", "digest": "1c474f9dffea"}}, "1c474.*train it again"),
        ({"layout": None}, "incomplete or broken"),
        ({"hand_size": 400}, "hand_size 400"),
        ({"hand_size": True}, "hand_size True"),
        ({"network": {"inputs": "other", "hidden": [16, 8]}}, "'other'"),
        (
            {"network": {"inputs": "sorted-suits-1", "hidden": [16, 8]}},
            "inputs of kind 'sorted-suits-1', but this library computes 'sorted-suits-2'; train it",
        ),
        ({"network": {"hidden": [16, 8]}}, "incomplete or broken"),
        ({"network": {"inputs": INPUTS, "hidden": [16, 8]}}, "incomplete or broken.*told_rules"),
        ({"network": {"inputs": INPUTS, "hidden": [16, 8], "told_rules": 1}}, "told_rules 1;"),
        ({"network": {"inputs": INPUTS, "hidden": [10**9]}}, "hidden layers"),
        ({"network": {"inputs": INPUTS, "hidden": [4096] * 8}}, "does not fit the network"),
        ({"network": {"inputs": INPUTS, "hidden": "xx"}}, "hidden layers"),
        ({"network": {"inputs": INPUTS, "hidden": [16.0, 8]}}, "hidden layers"),
        ({"network": {"inputs": INPUTS, "hidden": []}}, "hidden layers"),
        ({"weights_sha256": None}, "damaged"),
    ],
)
def test_hostile_cards(saved: Path, changes: dict[str, Any], expected: str) -> None:
    edit_card(saved, **changes)
    with pytest.raises(CheckpointError, match=expected):
        load_checkpoint(saved)


def test_missing_files(saved: Path, tmp_path: Path) -> None:
    (saved / WEIGHTS).unlink()
    with pytest.raises(CheckpointError, match="a checkpoint is a folder with"):
        load_checkpoint(saved)
    (saved / WEIGHTS).mkdir()
    with pytest.raises(CheckpointError, match="not a regular file"):
        load_checkpoint(saved)
    with pytest.raises(CheckpointError, match="a checkpoint is a folder with"):
        load_checkpoint(tmp_path / "nowhere")


@unix_only
def test_a_pipe_is_not_waited_for(saved: Path) -> None:
    (saved / METADATA).unlink()
    os.mkfifo(saved / METADATA)
    with pytest.raises(CheckpointError, match="not a regular file"):
        load_checkpoint(saved)


@pytest.mark.parametrize("path", [None, 5, "", "x\0y", b"x"])
def test_a_place_is_a_path(path: Any) -> None:
    with pytest.raises(CheckpointError, match="needs a path"):
        load_checkpoint(path)
    with pytest.raises(CheckpointError, match="needs a path"):
        save_checkpoint(path, new_checkpoint())


def test_any_value_at_any_place_of_the_card_is_refused_or_read(saved: Path) -> None:
    file = saved / METADATA
    card = json.loads(file.read_text(encoding="utf-8"))
    outcomes: set[bool] = set()

    @SAVED
    @given(st.sampled_from(list(places(card))), EDGES | VALUES)
    def check(place: tuple[Any, ...], value: Any) -> None:
        file.write_text(json.dumps(with_value(card, place, value)), encoding="utf-8")
        try:
            checkpoint = load_checkpoint(saved)
        except CheckpointError:
            outcomes.add(False)
        else:
            outcomes.add(True)
            observations = torch.zeros(2, checkpoint.layout.length, dtype=torch.int8)
            masks = torch.ones(2, checkpoint.layout.num_actions)
            log_probs = checkpoint.network.log_probs(observations, masks)
            assert log_probs.isfinite().all()

    check()
    assert outcomes == {True, False}
