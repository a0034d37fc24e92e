"""What ``import ohhell_env`` gives, what it costs and what it leaves alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import ohhell_env

HEAVY = (
    "torch",
    "stable_baselines3",
    "sb3_contrib",
    "pygame",
    "matplotlib",
    "ohhell_agents",
    "ohhell_train",
)
ENGINE = ("numba", "pettingzoo")


def in_fresh_process(code: str) -> Any:
    """Runs code in a new interpreter; returns what it prints, as JSON."""
    env = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    return json.loads(run.stdout.splitlines()[-1])


def test_import_is_light_and_quick() -> None:
    code = (
        "import json, sys, time; start = time.process_time()\n"
        "import ohhell_env\n"
        "print(json.dumps([time.process_time() - start, sorted(sys.modules)]))"
    )
    seconds, modules = in_fresh_process(code)
    assert seconds < 1.0
    assert not {name.partition(".")[0] for name in modules} & {*HEAVY, *ENGINE}


def test_everything_public_can_be_imported() -> None:
    code = (
        "import json, sys\n"
        "from ohhell_env import Rules, variants, BatchedOhHell, oh_hell_v0, Game, errors\n"
        "from ohhell_env import __version__\n"
        "import ohhell_env\n"
        "assert callable(variants) and callable(ohhell_env.variants), variants\n"
        "assert ohhell_env.Rules is Rules and ohhell_env.oh_hell_v0 is oh_hell_v0\n"
        "assert errors.RulesError.__mro__[1] is errors.OhHellError\n"
        "tables = BatchedOhHell(2, Rules.preset('oh_hell'), seed=1); tables.reset()\n"
        "Game(); env = oh_hell_v0.env(); env.reset(seed=1)\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    modules = in_fresh_process(code)
    assert not {name.partition(".")[0] for name in modules} & set(HEAVY)


@pytest.mark.parametrize("first", ["Rules", "oh_hell_v0"])
def test_variants_is_the_function_whatever_is_imported_first(first: str) -> None:
    code = (
        f"import ohhell_env; ohhell_env.{first}\n"
        "import ohhell_env.rules.variants as module\n"
        "from ohhell_env import variants\n"
        "import json; print(json.dumps(len(variants())))"
    )
    assert in_fresh_process(code) == len(ohhell_env.variants())


def test_p32_without_gui_libraries() -> None:
    code = (
        "import json, sys\n"
        "for name in ('pygame', 'matplotlib', 'torch'): sys.modules[name] = None\n"
        "from ohhell_env import oh_hell_v0\n"
        "env = oh_hell_v0.env(render_mode='ansi'); env.reset(seed=1)\n"
        "texts = 0\n"
        "for agent in env.agent_iter():\n"
        "    observation, _, termination, _, _ = env.last()\n"
        "    texts += len(env.render()) > 100\n"
        "    env.step(None if termination else int(observation['action_mask'].argmax()))\n"
        "print(json.dumps([texts, env.unwrapped.scores]))"
    )
    texts, scores = in_fresh_process(code)
    assert texts > 400 and len(scores) == 4


def test_public_names() -> None:
    assert set(ohhell_env.__all__) == {
        "BatchedOhHell",
        "Game",
        "Rules",
        "__version__",
        "errors",
        "oh_hell_v0",
        "variants",
    }
    for name in ohhell_env.__all__:
        assert getattr(ohhell_env, name) is not None
    assert set(ohhell_env.__all__) <= set(dir(ohhell_env))
    for name in ohhell_env.oh_hell_v0.__all__:
        assert callable(getattr(ohhell_env.oh_hell_v0, name))


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'make'"):
        ohhell_env.make  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError):
        from ohhell_env import nothing  # type: ignore[attr-defined]  # noqa: F401
