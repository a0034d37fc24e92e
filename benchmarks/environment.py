"""``make bench``: the speed of the game here and in other libraries.

All measurements are repeated in turn, and the best run of each counts, because other programs on
the machine can only slow a run down. Times are CPU seconds of this process, which runs on one
core.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import platform
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ohhell_env import __version__
from ohhell_env.engine import batch
from ohhell_env.engine.layout import GAME, compile_rules, new_games
from ohhell_env.engine.playout import choose_random, play_random_deals
from ohhell_env.envs.batched import BatchedOhHell
from ohhell_env.rules import Rules

PLAYERS, HAND_SIZE, DEALS, TABLES = 4, 10, 19, 1024
CLASSICS = ("tictactoe_v3", "connect_four_v3", "leduc_holdem_v4", "texas_holdem_v4", "chess_v6")
_RULES = Rules.preset("open_spiel_oh_hell", PLAYERS).replace(
    schedule={"sizes": [HAND_SIZE] * DEALS}
)

Work = Callable[[float], tuple[int, float]]
"""Works for about the given seconds; returns the number of decisions and the CPU seconds."""


@dataclass
class Line:
    """One measurement: its key, its name, and the best rate so far."""

    key: str
    name: str
    work: Work
    rate: float = 0.0

    def measure(self, seconds: float) -> None:
        """Runs once and keeps the better rate."""
        count, spent = self.work(seconds)
        self.rate = max(self.rate, count / spent)


def _until(seconds: float, part: Callable[[], int]) -> tuple[int, float]:
    """Repeats a part of the work until the time is up."""
    count, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        count += part()
    return count, spent


def _engine() -> Work:
    rules = compile_rules(_RULES, "deal")
    games, choosers = new_games(1), new_games(1)
    batch.seed_tables(games, np.uint64(1), np.uint64(0))
    batch.seed_tables(choosers, np.uint64(2), np.uint64(0))
    play_random_deals(games, rules, choosers, 1)
    return lambda seconds: _until(seconds, lambda: play_random_deals(games, rules, choosers, 2000))


def _batched(layout: str, states: bool = False) -> Work:
    tables = BatchedOhHell(TABLES, _RULES, seed=1, layout=layout)
    choosers, actions = new_games(1), np.zeros(TABLES, np.int64)
    batch.seed_tables(choosers, np.uint64(2), np.uint64(0))
    tables.reset()

    def work(seconds: float) -> tuple[int, float]:
        count, spent = 0, 0.0
        while spent < seconds:
            choose_random(tables.games, choosers, actions)
            start = time.process_time()
            tables.step(actions)
            if states:
                _ = tables.states
            spent += time.process_time() - start
            count += TABLES
        return count, spent

    work(0.01)
    return work


def aec_steps(env: Any, steps: int, sample: bool = False) -> int:
    """Plays random legal actions through an AEC environment for a number of steps.

    Args:
        env: A PettingZoo environment whose observations contain an "action_mask".
        steps: Smallest number of steps; the last episode is played to its end.
        sample: Choose with ``action_space.sample(mask)`` instead of ``mask.nonzero()``.

    Returns:
        Number of steps made.
    """
    done = 0
    draw = random.random
    while done < steps:
        env.reset()
        for agent in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            action = None
            if not (termination or truncation):
                mask = observation["action_mask"]
                if sample:
                    action = env.action_space(agent).sample(mask)
                else:
                    legal = mask.nonzero()[0]
                    action = int(legal[int(draw() * len(legal))])
            env.step(action)
            done += 1
    return done


def _aec(make: str, sample: bool = False) -> Work:
    from ohhell_env import oh_hell_v0

    env = getattr(oh_hell_v0, make)(_RULES, episode="game")
    env.reset(seed=1)
    aec_steps(env, 1)
    return lambda seconds: _until(seconds, lambda: aec_steps(env, 2000, sample))


def _classic(name: str, raw: bool) -> Work:
    module = importlib.import_module(f"pettingzoo.classic.{name}")
    env = module.raw_env() if raw else module.env()
    env.reset(seed=1)
    return lambda seconds: _until(seconds, lambda: aec_steps(env, 200))


def _open_spiel(tensor: bool) -> Work:
    pyspiel = importlib.import_module("pyspiel")
    game = pyspiel.load_game(
        "oh_hell", {"players": PLAYERS, "num_tricks_fixed": HAND_SIZE, "off_bid_penalty": False}
    )

    def deal() -> int:
        state, decisions = game.new_initial_state(), 0
        while not state.is_terminal():
            if not state.is_chance_node():
                decisions += 1
                if tensor:
                    state.information_state_tensor()
            legal = state.legal_actions()
            state.apply_action(legal[int(random.random() * len(legal))])
        return decisions

    return lambda seconds: _until(seconds, deal)


def _lines(others: bool) -> Iterator[Line]:
    yield Line("engine", "random play inside the engine", _engine())
    yield Line("batch", f"BatchedOhHell.step, {TABLES} tables", _batched("default"))
    yield Line("batch_universal", "  the same, universal layout", _batched("universal"))
    yield Line("batch_states", "  the same, default layout and states", _batched("default", True))
    yield Line("aec", "AEC loop, env()", _aec("env"))
    yield Line("aec_raw", "AEC loop, raw_env()", _aec("raw_env"))
    yield Line("aec_sample", "AEC loop, env(), action_space.sample(mask)", _aec("env", True))
    if others:
        yield from _other_lines()


def _other_lines() -> Iterator[Line]:
    if importlib.util.find_spec("pyspiel"):
        yield Line("open_spiel", "OpenSpiel oh_hell from Python", _open_spiel(False))
        yield Line("open_spiel_tensor", "OpenSpiel oh_hell with its tensor", _open_spiel(True))
    else:
        typer.echo("OpenSpiel is not installed: pip install open_spiel", err=True)
    for name in CLASSICS:
        try:
            yield Line(name, f"PettingZoo {name}, env()", _classic(name, raw=False))
            yield Line(f"{name}_raw", f"PettingZoo {name}, raw_env()", _classic(name, raw=True))
        except ImportError as error:
            typer.echo(f"PettingZoo {name} is skipped: {error}", err=True)


@dataclass(frozen=True)
class Goal:
    """A rate to reach, absolute or as a multiple of another line's rate."""

    line: str
    least: float
    times: str | None = None

    def met(self, rates: dict[str, float]) -> tuple[float, bool] | None:
        """Returns the rate reached and whether it is enough; None if a line is missing."""
        if self.line not in rates or (self.times is not None and self.times not in rates):
            return None
        reached = rates[self.line] / (rates[self.times] if self.times else 1.0)
        return reached, reached >= self.least


GOALS = (
    Goal("engine", 25e6),
    Goal("engine", 50, "open_spiel"),
    Goal("batch", 10e6),
    Goal("batch", 300, "open_spiel_tensor"),
    Goal("aec", 60e3),
    Goal("aec_raw", 200e3),
    *(Goal("aec", 1, name) for name in CLASSICS),
    *(Goal("aec_raw", 1, f"{name}_raw") for name in CLASSICS),
)


def first_game_seconds() -> float:
    """Returns the time for a fresh process to import, reset and play a game, with warm caches."""
    code = (
        "import time; start = time.perf_counter()\n"
        "from ohhell_env import oh_hell_v0\n"
        "env = oh_hell_v0.env('oh_hell', players=4); env.reset(seed=1)\n"
        "for agent in env.agent_iter():\n"
        "    observation, _, termination, _, _ = env.last()\n"
        "    env.step(None if termination else int(observation['action_mask'].argmax()))\n"
        "print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    return float(run.stdout.split()[-1])


def memory_per_table() -> int:
    """Returns the bytes of one ``BatchedOhHell`` table: record, view, mask and results."""
    tables = BatchedOhHell(1, _RULES)
    results = tables.seats.itemsize + tables.rewards.nbytes + 2
    return GAME.itemsize + tables.observations.nbytes + tables.action_masks.nbytes + results


def bench(
    seconds: Annotated[float, typer.Option(help="CPU seconds per run.")] = 0.1,
    repeats: Annotated[int, typer.Option(min=1, help="Runs per line; the best counts.")] = 30,
    others: Annotated[bool, typer.Option(help="Also measure OpenSpiel and PettingZoo.")] = True,
    out: Annotated[Path | None, typer.Option(help="File for the figures, as JSON.")] = None,
) -> None:
    """Measures speed here and in other games."""
    warnings.simplefilter("ignore")
    lines = list(_lines(others))
    with typer.progressbar(range(repeats), label="measuring", file=sys.stderr) as rounds:
        for _ in rounds:
            for line in lines:
                line.measure(seconds)
    rates = {line.key: line.rate for line in lines}
    typer.echo(f"ohhell-env {__version__}, {platform.processor() or platform.machine()}, one core")
    typer.echo(
        f"{PLAYERS} players x {HAND_SIZE} cards; decisions per CPU second, best of {repeats}"
    )
    for line in lines:
        typer.echo(f"  {line.name:<46} {number_text(line.rate):>12}")
    typer.echo("goals")
    names = {line.key: line.name.strip() for line in lines}
    for goal in GOALS:
        typer.echo(goal_text(goal, rates, names))
    extra = {"first_game_seconds": first_game_seconds(), "bytes_per_table": memory_per_table()}
    typer.echo(f"first game in a fresh process, caches warm: {extra['first_game_seconds']:.2f} s")
    typer.echo(f"100,000 tables take {extra['bytes_per_table'] * 1e5 / 2**20:.0f} MiB")
    if out is not None:
        out.write_text(json.dumps({"rates": rates, **extra}, indent=2) + "\n", encoding="utf-8")


def goal_text(goal: Goal, rates: dict[str, float], names: dict[str, str]) -> str:
    """Returns in one line whether a goal was reached; ``names`` are the lines' names by key."""
    result = goal.met(rates)
    if result is None:
        return f"  not measured: {goal.line}{f' / {goal.times}' if goal.times else ''}"
    reached, enough = result
    what = names[goal.line] + (f" / {names[goal.times]}" if goal.times else "")
    unit = "x" if goal.times else ""
    verdict = "reached" if enough else "MISSED"
    least = number_text(goal.least)
    return f"  {verdict:<8} {number_text(reached)}{unit} (goal {least}{unit}): {what}"


def number_text(value: float) -> str:
    """Returns a rate in thousands or millions."""
    if value >= 1e6:
        return f"{value / 1e6:.1f} M"
    return f"{value / 1e3:.1f} k" if value >= 1e3 else f"{value:.1f}"


if __name__ == "__main__":
    typer.run(bench)
