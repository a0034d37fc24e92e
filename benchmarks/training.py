"""``make bench``: the speed of training and tournaments, and the sources of their errors.

As in ``benchmarks.environment``, the best of several short runs counts. Times are CPU seconds of
this process, which runs on one core with one thread.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.environment import Goal, Line, Work, goal_text, number_text
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from ohhell_train.runs.trainer import keeping_global_rng
from ohhell_train.tournament.analysis.figures import by_line, differences, less_others
from ohhell_train.tournament.config import EntrantLike
from ohhell_train.tournament.executors.processes import use_one_thread
from ohhell_train.tournament.runner import run_tournament

RULES = Rules.preset("oh_hell", 4)
HIDDEN = (256, 256)


def _deals(entrants: Sequence[EntrantLike], hand_size: int, blocks: int) -> Work:
    """Counts deals of a field of two entrants."""

    def work(seconds: float) -> tuple[int, float]:
        count, started = 0, time.process_time()
        while (spent := time.process_time() - started) < seconds:
            results = run_tournament(
                entrants, rules=RULES, deals=blocks, seed=1 + count, hand_size=hand_size
            )
            count += 2 * blocks * results.deals.rules.players
        return count, spent

    return work


def _networks() -> list[EntrantLike]:
    import torch

    from ohhell_agents.nn.agent import LearnedAgent
    from ohhell_agents.nn.checkpoint import Checkpoint
    from ohhell_agents.nn.network import Network

    layout = layout_of(RULES, "default", None)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        networks = [Network(layout, HIDDEN, rules=RULES) for _ in range(2)]
    players = [LearnedAgent(Checkpoint(each, RULES, "default", None), seed=0) for each in networks]
    return [("one", players[0]), ("two", players[1])]


def _lines() -> list[Line]:
    same = ["one=heuristic", "two=heuristic"]
    networks = "2x256 networks in every seat"
    return [
        Line("heuristic_5", "heuristic in every seat, 4 x 5 cards", _deals(same, 5, 2048)),
        Line("heuristic_10", "heuristic in every seat, 4 x 10 cards", _deals(same, 10, 1024)),
        Line("networks_10", f"{networks}, 4 x 10 cards", _deals(_networks(), 10, 256)),
    ]


GOALS = (Goal("heuristic_5", 100e3), Goal("networks_10", 1e3))


def bench(
    seconds: Annotated[float, typer.Option(help="Seconds per run.")] = 1.0,
    runs: Annotated[int, typer.Option(help="Runs per line; the best counts.")] = 5,
    blocks: Annotated[int, typer.Option(help="Deal blocks for the errors.")] = 20_000,
) -> None:
    """Measures training and tournaments, and the sources of their intervals' width."""
    from benchmarks import learning as bench_training

    use_one_thread()
    with keeping_global_rng():
        _measure(
            "Training, one core, 4 players, whole schedule: decisions per second",
            list(bench_training.lines()),
            bench_training.GOALS,
            seconds,
            runs,
        )
        print(f"  {bench_training.memory()}")
    title = "\nTournament, one process, without the store: deals per second"
    _measure(title, _lines(), GOALS, seconds, runs)
    print(f"\nStandard deviation of a block's difference, {blocks:,} blocks of 4 deals")
    for hand_size in (5, 10, None):
        _print_errors(hand_size, blocks)


def _measure(
    title: str, lines: Sequence[Line], goals: Sequence[Goal], seconds: float, runs: int
) -> None:
    """Measures some lines in turn; prints the best rate of each, and the goals."""
    for line in lines:
        line.work(0.01)  # compiled, loaded
    for _ in range(runs):
        for line in lines:
            line.measure(seconds)
    print(title)
    for line in lines:
        print(f"  {line.name:<46} {number_text(line.rate):>12}")
    rates = {line.key: line.rate for line in lines}
    for goal in goals:
        print(goal_text(goal, rates, {line.key: line.name for line in lines}))


def _print_errors(hand_size: int | None, blocks: int) -> None:
    """Prints the savings from rotation for unlike and like players, and from a control variate."""
    cards = "schedule" if hand_size is None else f"{hand_size} cards"
    for one, other in (("heuristic", "random"), ("first=random", "second=random")):
        results = run_tournament(
            [one, other], rules=RULES, deals=blocks, seed=7, hand_size=hand_size
        )
        met = results.outcomes[0, 1]
        rotated = differences(met)
        single = less_others(by_line(met["scores"]))[:, 0, 0]
        apart = float(single.std()) / np.sqrt(RULES.players)
        explained = _explained(rotated, _strength_of_deals(met, hand_size, blocks))
        print(
            f"  {cards:<9} {one} over {other}: rotated {rotated.std():.2f}, four separate deals "
            f"{apart:.2f}; a control variate from the hands would save {explained:.1%} of blocks"
        )


def _strength_of_deals(met: Any, hand_size: int | None, blocks: int) -> NDArray[np.float64]:
    """Returns figures of each deal as heuristic players play it: (blocks, variates)."""
    results = run_tournament(
        ["one=heuristic", "two=heuristic"], rules=RULES, deals=blocks, seed=7, hand_size=hand_size
    )
    table = results.outcomes[0, 1][["scores", "bids", "tricks"]]
    scores = table["scores"][:, 0].astype(np.float64)
    made = (table["bids"] == table["tricks"])[:, 0, 0].mean(axis=1)
    sizes = met["hand_sizes"][:, 0]
    by_size = (sizes == np.unique(sizes)[1:]).astype(np.float64)
    columns = [scores.mean(1), scores.std(1), scores.max(1), made, table["bids"][:, 0, 0].sum(1)]
    return np.column_stack([*columns, by_size])


def _explained(values: NDArray[np.float64], variates: NDArray[np.float64]) -> float:
    """Returns the share of the variance that a regression on the variates explains."""
    design = np.column_stack([np.ones(len(values)), variates])
    weights, *_ = np.linalg.lstsq(design, values)
    return 1.0 - float(np.var(values - design @ weights) / np.var(values))


if __name__ == "__main__":
    typer.run(bench)
