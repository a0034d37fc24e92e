"""Fits a student to a dataset, epoch by epoch; its state can be saved between two epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ohhell_agents.nn.checkpoint import Checkpoint
from ohhell_agents.nn.network import Network
from ohhell_env.observation import layout_of
from ohhell_train.distill.config import DistillConfig
from ohhell_train.distill.dataset import DistillBatch, DistillDataset
from ohhell_train.distill.student import Losses, Student
from ohhell_train.runs.trainer import DivergedError

_CHUNK = 4096
"""Decisions per batch in evaluation."""


class StudentFit:
    """A student with its optimiser and its progress.

    Args:
        config: The settings.
        dataset: The decisions to learn from.
        held_out: Other decisions, for evaluation only.
        start: The network to start from; None starts from random weights.
    """

    def __init__(
        self,
        config: DistillConfig,
        dataset: DistillDataset,
        held_out: DistillDataset,
        start: Network | None = None,
    ) -> None:
        self.config, self.dataset, self.held_out = config, dataset, held_out
        (self.rules, self.hand_size), fit = config.table_kinds()[0], config.fit
        self.layout = layout_of(self.rules, config.layout, self.hand_size)
        torch.manual_seed(config.seed)
        network = Network(self.layout, config.network.hidden, rules=self.rules)
        if start is not None:
            network.load_state_dict(start.state_dict())
        self.student = Student(network, fit.hands_weight > 0)
        self.optimizer = torch.optim.Adam(self.student.parameters(), lr=fit.learning_rate)
        self.steps = -(-len(dataset) // fit.batch_size)
        """Steps of the optimiser in an epoch."""
        total = max(fit.epochs * self.steps, 3)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer,
            max_lr=fit.learning_rate,
            total_steps=total,
            pct_start=max(
                0.1, 2 / total
            ),  # the scheduler divides by the lengths of the rise and the fall
            cycle_momentum=False,
        )

    @property
    def network(self) -> Network:
        """The network of the student."""
        return self.student.network

    def checkpoint(self) -> Checkpoint:
        """Returns the checkpoint of the student: its network, and the tables it was trained for."""
        config = self.config
        return Checkpoint(self.network, self.rules, config.layout, self.hand_size)

    def epoch(
        self, number: int, on_progress: Callable[[int], None] = lambda _: None
    ) -> dict[str, float]:
        """Goes through the dataset once, in this epoch's own order; returns the metrics.

        Args:
            number: The epoch, from 1 on; its order depends only on this number and the seed.
            on_progress: Called with the number of decisions so far.

        Raises:
            DivergedError: The numbers are no longer finite.
        """
        order = np.random.default_rng([self.config.seed, 0xF17, number]).permutation(
            len(self.dataset)
        )
        totals = np.zeros(len(Losses._fields))
        seen = 0
        for rows in np.array_split(order, self.steps):
            losses = self._step(self.dataset.batch(rows, self.layout))
            totals += [float(loss) for loss in losses]
            if not np.isfinite(totals).all():
                raise self._diverged(number)
            seen += len(rows)
            on_progress(seen)
        means = zip(Losses._fields, totals / self.steps, strict=True)
        row = {f"{name}_loss": float(mean) for name, mean in means}
        return row | self._on_held_out()

    def _step(self, part: DistillBatch) -> tuple[Tensor, ...]:
        losses, _, _ = self.student.losses(part)
        # Policy and critic share no weights, and Adam ignores the scale of a loss, so the losses
        # need no weights.
        loss = losses.policy + losses.value + self.config.fit.hands_weight * losses.hands
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return tuple(each.detach() for each in losses)

    def _diverged(self, number: int) -> DivergedError:
        return DivergedError(
            f"in epoch {number} the numbers are no longer finite; most likely fit.learning_rate="
            f"{self.config.fit.learning_rate:g} is too high: start the run again with a lower "
            "one"
        )

    @torch.no_grad()
    def _on_held_out(self) -> dict[str, float]:
        """Returns the student's metrics on held-out decisions."""
        same, policy, off = 0, 0.0, 0.0
        for part in self._chunks():
            losses, log_probs, values = self.student.losses(part)
            same += int((log_probs.argmax(dim=-1) == part.chosen).sum())
            policy += float(losses.policy) * len(values)
            off += float(((values - part.returns) ** 2).sum())
        size, spread = len(self.held_out), float(self.held_out.returns.var())
        return {
            "held_out_policy_loss": policy / size,
            "held_out_same_choice": same / size,
            "held_out_explained_variance": 1 - off / size / spread if spread > 0 else 0.0,
        }

    def _chunks(self) -> Iterator[DistillBatch]:
        rows = np.arange(len(self.held_out))
        for start in range(0, len(rows), _CHUNK):
            yield self.held_out.batch(rows[start : start + _CHUNK], self.layout)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Returns everything needed to continue from here: tensors by name, and plain data."""
        tensors = {f"student.{name}": value for name, value in self.student.state_dict().items()}
        for number, values in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
        plain = {name: value.contiguous() for name, value in tensors.items()}
        return plain, self.schedule.state_dict()

    def restore(self, tensors: Mapping[str, Tensor], schedule: Mapping[str, Any]) -> None:
        """Continues from a ``state`` of the same settings.

        Raises:
            KeyError: Something is missing in the state; also TypeError, ValueError or RuntimeError
                if the state does not fit.
        """
        names = self.student.state_dict()
        self.student.load_state_dict({name: tensors[f"student.{name}"] for name in names})
        optimizer = self.optimizer.state_dict()
        for number, like in enumerate(self.student.parameters()):
            mine = f"optimizer.{number}."
            saved = {k.removeprefix(mine): v for k, v in tensors.items() if k.startswith(mine)}
            # the memory order of the weights, because another order would round sums differently
            optimizer["state"][number] = {
                name: value if value.shape != like.shape else torch.empty_like(like).copy_(value)
                for name, value in saved.items()
            }
        self.optimizer.load_state_dict(optimizer)
        self.schedule.load_state_dict(dict(schedule))
        for group, rate in zip(
            self.optimizer.param_groups, self.schedule.get_last_lr(), strict=True
        ):
            group["lr"] = rate
