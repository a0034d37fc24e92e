"""The fit of the heuristic player's trick models, and the play for it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ohhell_agents.value.trick_model import (
    CURRENT_SITUATION,
    FUTURE_CARD,
    FUTURE_SITUATION,
    FUTURE_WANTS,
    HIDDEN,
)
from ohhell_env.engine import batch
from ohhell_env.engine.layout import Rows, compile_rules, new_games
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import largest_hand
from ohhell_train.settings import FitSettings
from ohhell_train.trick_model.samples import CURRENT, FUTURE, Noise, collect

_PLAYERS = (2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 8)
_SCORINGS = ("simple", "escalating", "common", "escalating", "hoerr", "wizard", "off_bid", "plump")
_LARGEST = 13
RANDOM, NOISE = Noise(1.0, 0.0, 1.0, 0.0), Noise(0.04, 0.12, 0.02, 0.2)
"""See ``collect``: the first round and the later ones. Some tables have random players too, so that
the models learn to recognise bids that mean nothing."""
Rows32 = NDArray[np.float32]
Labels = NDArray[np.int8]


class TrickNet(nn.Module):
    """One of the two models: a hidden layer with ReLU; its output becomes a probability."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(inputs, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns outputs (B,) of inputs (B, inputs)."""
        return self.out(F.relu(self.hidden(inputs))).squeeze(-1)


def training_rules(number: int) -> Rules:
    """Returns the rules of a training table by its number."""
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


def play_and_note(
    models: Rows, rows: int, seed: int, noise: Noise
) -> tuple[Rows32, Labels, Rows32, Labels]:
    """Plays with models; returns inputs and labels of the future model, then of the current one.

    Args:
        models: The models.
        rows: Number of rows for the future model.
        seed: Seed of the deals and choices.
        noise: See ``collect``.
    """
    parts: list[tuple[Rows32, Labels, Rows32, Labels]] = []
    found, number = 0, 0
    choosers = new_games(1)
    batch.seed_tables(choosers, np.uint64(seed), np.uint64(1 << 40))
    while found < rows:
        parts.append(_noted(models, training_rules(number), seed, number, choosers, noise))
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


def fit_trick_net(model: nn.Module, inputs: Rows32, won: Labels, settings: FitSettings) -> float:
    """Fits a model to whether cards won.

    Returns:
        The mean loss of the last pass.
    """
    rows, labels = torch.from_numpy(inputs), torch.from_numpy(won).float()
    optimizer = torch.optim.Adam(model.parameters())
    epochs, size = settings.epochs, settings.batch_size
    steps = epochs * math.ceil(len(rows) / size)
    rate = settings.learning_rate
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    losses: list[float] = []
    for chosen in _row_batches(len(rows), epochs, size):
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


def _row_batches(rows: int, epochs: int, size: int) -> Iterator[Tensor]:
    for _ in range(epochs):
        order = torch.randperm(rows)
        for start in range(0, rows, size):
            yield order[start : start + size]


def put_weights(future: TrickNet, current: TrickNet, models: Rows) -> None:
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
