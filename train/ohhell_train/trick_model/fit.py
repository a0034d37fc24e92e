"""``ohhell heuristic``: fits the heuristic player's models in self-play, from nothing.

Round after round the player plays with the models that it has, at tables of many variants, players
and hand sizes; the models are then fitted anew to what became of its cards. The first round plays
at random.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.progress import Progress
from torch import Tensor, nn
from torch.nn import functional as F

from ohhell_agents.value.trick_model import (
    CURRENT_SITUATION,
    FILE,
    FUTURE_CARD,
    FUTURE_SITUATION,
    FUTURE_WANTS,
    HIDDEN,
    new_models,
    to_plain,
)
from ohhell_env.engine import batch
from ohhell_env.engine.layout import Rows, compile_rules, new_games
from ohhell_env.files import write_whole
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import largest_hand
from ohhell_train.tournament.executors.processes import use_one_thread
from ohhell_train.trick_model.samples import CURRENT, FUTURE, Noise, collect

_PLAYERS = (2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 8)
_SCORINGS = ("simple", "escalating", "common", "escalating", "hoerr", "wizard", "off_bid", "plump")
_LARGEST = 13
_RANDOM, _NOISE = Noise(1.0, 0.0, 1.0, 0.0), Noise(0.04, 0.12, 0.02, 0.2)
"""See ``collect``: the first round, and the others. Some tables seat random players among the own,
so that bids that mean nothing are known when they are seen."""
_BATCH = 4096

Rows32 = NDArray[np.float32]
Labels = NDArray[np.int8]


class _Chances(nn.Module):
    """One of the two models: a hidden layer with ReLU; the output before it becomes a chance."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(inputs, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns outputs (B,) of inputs (B, inputs)."""
        return self.out(F.relu(self.hidden(inputs))).squeeze(-1)


def tables_of(number: int) -> Rules:
    """Returns the rules of one of the tables that the models are fitted at, by its number."""
    players = _PLAYERS[number % len(_PLAYERS)]
    base = Rules.preset("oh_hell", players)
    most = min(largest_hand(base, True), _LARGEST)
    sizes = list(range(1, most + 1))
    changes: dict[str, object] = {
        "schedule": {"shape": "explicit", "sizes": sizes},
        "scoring": _SCORINGS[number % len(_SCORINGS)],
    }
    if number % 7 == 3:
        changes["trump"] = {"method": "none"}
    if number % 11 == 5:
        changes["play.void"] = "must_trump"
    if number % 5 == 4:
        changes["bidding.hook"] = "none"
    return base.replace(**changes)


def heuristic(
    out: Annotated[
        Path, typer.Option(help=f"File of the models; as agents/{FILE.name} they are played with.")
    ] = Path(FILE.name),
    rounds: Annotated[int, typer.Option(min=1, help="Refits, after the one to random play.")] = 5,
    rows: Annotated[int, typer.Option(min=1000, help="Cards noted in each round.")] = 1_500_000,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over them.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 1,
) -> None:
    """Fits the heuristic player's models in self-play; a few minutes."""
    use_one_thread()
    torch.manual_seed(seed)
    models = new_models()
    future, current = _Chances(FUTURE), _Chances(CURRENT)
    with Progress() as progress:
        for number in progress.track(range(rounds + 1), description="rounds"):
            noise = _RANDOM if number == 0 else _NOISE
            noted = play_and_note(models, rows, seed * 1000 + number, noise)
            losses = fit(future, *noted[:2], epochs), fit(current, *noted[2:], epochs)
            put(future, current, models)
            progress.console.print(
                f"round {number}: {len(noted[0]):,} cards, loss {losses[0]:.4f}; "
                f"{len(noted[2]):,} leading ones, loss {losses[1]:.4f}"
            )
    made = {"rounds": rounds, "rows": rows, "epochs": epochs, "seed": seed}
    write_whole(out, json.dumps({"made": made} | to_plain(models)) + "\n")
    print(f"written: {out}")


def play_and_note(
    models: Rows, rows: int, seed: int, noise: Noise
) -> tuple[Rows32, Labels, Rows32, Labels]:
    """Plays with models; returns inputs and labels of the future model, then of the present one.

    Args:
        models: The models.
        rows: How many rows of the future model are wanted.
        seed: Of the deals and choices.
        noise: As for ``collect``.
    """
    parts: list[tuple[Rows32, Labels, Rows32, Labels]] = []
    found, number = 0, 0
    choosers = new_games(1)
    batch.seed_tables(choosers, np.uint64(seed), np.uint64(1 << 40))
    while found < rows:
        parts.append(_noted(models, tables_of(number), seed, number, choosers, noise))
        found += len(parts[-1][0])
        number += 1
    future, future_won, current, current_won = zip(*parts, strict=True)
    return (
        np.concatenate(future),
        np.concatenate(future_won),
        np.concatenate(current),
        np.concatenate(current_won),
    )


def _noted(
    models: Rows,
    rules: Rules,
    seed: int,
    number: int,
    choosers: Rows,
    noise: Noise,
    tables: int = 512,
) -> tuple[Rows32, Labels, Rows32, Labels]:
    compiled = compile_rules(rules, "deal")
    games = new_games(tables)
    batch.seed_tables(games, np.uint64(seed), np.uint64(number * tables))
    batch.begin_all(games, compiled)
    room = tables * rules.players * (_LARGEST + 2)
    future, future_won = np.empty((room, FUTURE), np.float32), np.empty(room, np.int8)
    current, current_won = np.empty((room, CURRENT), np.float32), np.empty(room, np.int8)
    notes = (future, future_won, current, current_won)
    futures, currents = collect(games, compiled, models, choosers, noise, *notes)
    return future[:futures], future_won[:futures], current[:currents], current_won[:currents]


def fit(model: nn.Module, inputs: Rows32, won: Labels, epochs: int) -> float:
    """Fits a model to what became of cards.

    Returns:
        The mean loss of the last pass.
    """
    rows, labels = torch.from_numpy(inputs), torch.from_numpy(won).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    steps = epochs * math.ceil(len(rows) / _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=steps)
    losses: list[float] = []
    for chosen in _batches(len(rows), epochs):
        output = model(rows[chosen])
        chances = 0.5 + 0.5 * output * torch.rsqrt(
            1.0 + output * output
        )  # as in ohhell_agents.value.trick_probs
        loss = F.binary_cross_entropy(chances.clamp(1e-6, 1.0 - 1e-6), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
    return float(np.mean(losses[-(steps // epochs) :]))


def _batches(rows: int, epochs: int) -> Iterator[Tensor]:
    for _ in range(epochs):
        order = torch.randperm(rows)
        for start in range(0, rows, _BATCH):
            yield order[start : start + _BATCH]


def put(future: _Chances, current: _Chances, models: Rows) -> None:
    """Writes the weights of the two models into a ``MODELS`` row."""
    weights = future.hidden.weight.detach().numpy().T
    parts = np.split(weights, np.cumsum([FUTURE_SITUATION, FUTURE_WANTS]))
    for name, part in zip(("situation", "wants", "card"), parts, strict=True):
        models[f"future_{name}"][0] = part
    weights = current.hidden.weight.detach().numpy().T
    models["current_situation"][0], models["current_card"][0] = np.split(
        weights, [CURRENT_SITUATION]
    )
    for name, model in (("future", future), ("current", current)):
        models[f"{name}_bias"][0] = model.hidden.bias.detach().numpy()
        models[f"{name}_out"][0] = model.out.weight.detach().numpy()[0]
        models[f"{name}_end"][0] = model.out.bias.detach().numpy()[0]
    assert len(parts[2]) == FUTURE_CARD, "situation, want and card are all inputs"
