"""The recipes of docs/adapters.md for libraries that take our environments as they are.

They live in an environment of their own, which `make test-adapters` sets up; elsewhere each of
these tests is skipped with the name of what is missing.
"""

# None of these libraries is where the types are checked.
# pyright: reportMissingImports=false
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"
pytestmark = pytest.mark.filterwarnings("default")  # theirs are not ours to mend


def played(section: str) -> dict[str, Any]:
    """Runs the example of a section of the page; returns the names that it leaves."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, f"{PAGE.name}, {section}", "exec", dont_inherit=True), names)
    return names


def test_torchrl() -> None:
    pytest.importorskip("torchrl", exc_type=ImportError)
    names = played("TorchRL")
    env, deal = names["env"], names["deal"]
    agents = [f"player_{seat}" for seat in range(3)]
    assert list(env.group_map) == agents
    assert len(deal) == 9 and bool(deal["next", "done"][-1]), "three bids and six cards"
    paid = [deal["next", agent, "reward"].sum().item() for agent in agents]
    assert paid == env.scores and any(paid)
    for step in range(9):
        (actor,) = [agent for agent in agents if deal[agent, "mask"][step].item()]
        assert deal[actor, "action_mask"][step, 0, deal[actor, "action"][step].item()]
    again = played("TorchRL")["deal"]
    assert all((deal[agent, "action"] == again[agent, "action"]).all() for agent in agents)


def test_tianshou() -> None:
    pytest.importorskip("tianshou", exc_type=ImportError)
    names = played("Tianshou")
    collected, buffer = names["collected"], names["collector"].buffer
    assert collected.returns.shape == (8, 3) and (collected.lens == 9).all()
    assert set(collected.returns.ravel()) <= {0, 1, 2, 10, 11, 12}
    moves, _ = buffer.sample(0)  # all that there are
    assert len(moves) == 8 * 9
    legal = [mask[action] for mask, action in zip(moves.obs.mask, moves.act, strict=True)]
    assert all(legal), "every action that it took was legal"


def test_minari(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("minari", exc_type=ImportError)
    pytest.importorskip("jax", reason="minari[create] is wanted")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    dataset = played("Minari")["dataset"]
    assert (dataset.total_episodes, dataset.total_steps) == (5, 15)
    for episode in dataset.iterate_episodes():
        masks = episode.infos["action_mask"]
        assert masks.shape[:1] == (4,) and episode.observations.shape[:1] == (4,)
        assert (masks[:-1].argmax(axis=1) == episode.actions).all() and not masks[-1].any()
        assert not episode.rewards[:-1].any() and episode.terminations[-1]
    again = dataset.recover_environment()
    assert again.unwrapped.rules.players == 3 and again.unwrapped.rules.name == "oh_hell"
    assert dataset.recover_environment(eval_env=True).reset(seed=1)[1]["action_mask"].any()


def test_videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("moviepy", exc_type=ImportError)
    from moviepy import VideoFileClip

    monkeypatch.chdir(tmp_path)
    played("Videos")
    with VideoFileClip("videos/rl-video-episode-0.mp4") as film:
        first, last = film.get_frame(0), film.get_frame(film.duration - 0.5)
        assert film.n_frames == 5, "as dealt, a bid and three cards"
    assert first.shape == last.shape and (first != last).any()
