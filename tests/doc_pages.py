"""What the pages hold: examples, commands, links; and the tables in which examples are played."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ohhell_env
from ohhell_env import BatchedOhHell, oh_hell_v0

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = ["README.md", "CONTRIBUTING.md"]
PAGES += sorted(path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md"))

Names = dict[str, Any]
_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


class Block(NamedTuple):
    """A block of code on a page."""

    language: str
    code: str


def blocks(text: str, *languages: str) -> list[str]:
    """Returns the blocks of some languages."""
    found = (Block(*groups) for groups in _FENCE.findall(text))
    return [block.code for block in found if block.language in languages]


def spans(text: str) -> list[str]:
    """Returns the code that stands within lines."""
    return _SPAN.findall(_FENCE.sub("", text))


def links(text: str) -> list[str]:
    """Returns the paths of links and pictures that are no addresses."""
    found = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", _SPAN.sub("", _FENCE.sub("", text)))
    return sorted(set(found))


def command_lines(text: str) -> list[list[str]]:
    """Returns the words of every line that a reader would type, up to a redirection."""
    lines: list[list[str]] = []
    for block in blocks(text, "", "bash", "sh", "shell", "console"):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            if re.match(r"(\$ )?(python|make|ohhell)\b", line):
                words = shlex.split(line.removeprefix("$ "), comments=True)
                ends = [at for at, word in enumerate(words) if word in (">", "|", "&&", "&")]
                lines.append(words[: min(ends, default=len(words))])
    return lines


def examples(text: str) -> list[tuple[str, str | None]]:
    """Returns the examples in Python, each with the output shown right below it, or None.

    The output is a block of the language ``text`` with nothing but an empty line between the two.
    """
    found = list(_FENCE.finditer(text))
    outputs = {
        before.end(): after[2]
        for before, after in itertools.pairwise(found)
        if after[1] == "text" and not text[before.end() : after.start()].strip()
    }
    return [(each[2], outputs.get(each.end())) for each in found if each[1] == "python"]


def play(page: str, names: Names) -> None:
    """Runs the examples of a page in Python, one after the other, up to those left to others.

    What is printed must be the output that the page shows, where it shows one.
    """
    for number, (code, output) in enumerate(examples(text_of(page)), 1):
        if page in LEFT_TO and LEFT_TO[page].beginning in code:
            return
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, f"{page}, example {number}", "exec", dont_inherit=True), names)
        print(printed.getvalue(), end="")
        if output is not None:
            assert without_padding(printed.getvalue()) == without_padding(output)


def without_padding(text: str) -> list[str]:
    """Returns the lines of an output without blanks at their ends."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


class Others(NamedTuple):
    """Who runs the last examples of a page."""

    beginning: str
    """What stands in the first of them."""
    tests: tuple[str, ...]
    """Their tests, which name the page."""


LEFT_TO = {
    "docs/adapters.md": Others(
        "from ray", ("tests/adapters/test_rllib.py", "tests/adapters/test_recipes.py")
    )
}
"""Examples that need an environment of their own."""


# ---------------------------------------------------------------- what examples take for granted

Scene = Callable[[pytest.MonkeyPatch, Names], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def nothing(monkeypatch: pytest.MonkeyPatch, names: Names) -> Iterator[None]:
    """An empty folder."""
    yield


@contextlib.contextmanager
def quiet_torch(monkeypatch: pytest.MonkeyPatch, names: Names) -> Iterator[None]:
    """Global random states that are put back."""
    import torch

    from ohhell_train.runs.trainer import keeping_global_rng

    torch.set_num_threads(1)
    with keeping_global_rng():
        yield


@contextlib.contextmanager
def short_tournaments(monkeypatch: pytest.MonkeyPatch, names: Names) -> Iterator[None]:
    """An observation; two blocks where an example plays thousands; this process, no cluster."""
    import ohhell_train.tournament

    whole = ohhell_train.tournament.run_tournament

    def short(config: Any, **settings: Any) -> Any:
        here = {name: value for name, value in settings.items() if name in ELSEWHERE}
        assert here.keys() in (set(), ELSEWHERE)
        kept = {name: value for name, value in settings.items() if name not in ELSEWHERE}
        changed: Any = kept | {"deals": 2}
        return whole(config, **changed)

    def few(count: int, *rest: Any, **settings: Any) -> BatchedOhHell:
        return BatchedOhHell(min(count, 2), *rest, **settings)

    monkeypatch.setattr(ohhell_train.tournament, "run_tournament", short)
    monkeypatch.setattr(ohhell_env, "BatchedOhHell", few, raising=False)
    env = oh_hell_v0.env("oh_hell", hand_size=2, episode="deal")
    env.reset(seed=1)
    names["observation"] = env.observe(env.agent_selection)
    names["entrants"] = ["random", "heuristic"]
    Path("results").mkdir()
    yield


ELSEWHERE = {"executor", "workers", "address"}
"""Settings of a tournament on other machines."""


@contextlib.contextmanager
def a_program(monkeypatch: pytest.MonkeyPatch, names: Names) -> Iterator[None]:
    """A program ``my_bot`` that takes an option."""
    bot = Path("my_bot")
    source = (ROOT / "examples" / "bots" / "tiny_bot.py").read_text(encoding="utf-8")
    bot.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
    bot.chmod(bot.stat().st_mode | stat.S_IXUSR)
    yield
    with names["player"] as player:
        player.begin("oh_hell", 0)
        env = oh_hell_v0.env("oh_hell")
        env.reset(seed=1, options={"dealer": 3})
        assert env.observe("player_0")["action_mask"][player.act(env.observe("player_0"))]


@contextlib.contextmanager
def a_store(monkeypatch: pytest.MonkeyPatch, names: Names) -> Iterator[None]:
    """A tournament that was played."""
    from ohhell_train.tournament import run_tournament

    store = Path("results") / "tournament.sqlite"
    store.parent.mkdir()
    run_tournament(
        ["random", "heuristic"], rules="oh_hell", deals=2, seed=5, hand_size=2, store=store
    )
    yield


def a_module(page: str, module: str) -> Scene:
    """Returns a scene with the first example of a page in a file, as the page says."""

    @contextlib.contextmanager
    def scene(monkeypatch: pytest.MonkeyPatch, names: Names) -> Iterator[None]:
        first = blocks(text_of(page), "python")[0]
        Path(f"{module}.py").write_text(first, encoding="utf-8")
        monkeypatch.syspath_prepend(str(Path.cwd()))
        yield
        sys.modules.pop(module, None)
        shutil.rmtree("__pycache__", ignore_errors=True)

    return scene


MY_PLAYER = a_module("docs/tutorial/5-your-player.md", "my_player")
"""The player that a page of the tutorial writes, and the next one uses."""


SCENES: dict[str, Scene] = {
    "docs/cluster.md": short_tournaments,
    "docs/extending.md": a_module("docs/extending.md", "cautious"),
    "docs/external-players.md": a_program,
    "docs/gymnasium.md": quiet_torch,
    "docs/players.md": short_tournaments,
    "docs/tournament.md": a_store,
    "docs/training.md": quiet_torch,
    "docs/tutorial/3-one-seat.md": quiet_torch,
    "docs/tutorial/4-training.md": quiet_torch,
    "docs/tutorial/5-your-player.md": MY_PLAYER,
    "docs/tutorial/6-tournament.md": MY_PLAYER,
}
