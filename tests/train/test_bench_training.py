"""What ``make bench`` says of training."""

from __future__ import annotations

import re

import pytest
import torch

from benchmarks import learning as bench_training
from ohhell_train.runs.trainer import keeping_global_rng


@pytest.mark.slow
def test_every_goal_belongs_to_something_that_is_measured() -> None:
    torch.set_num_threads(1)
    with keeping_global_rng():
        lines = {line.key: line for line in bench_training.lines()}
        for line in lines.values():
            line.measure(0.01)
        text = bench_training.memory()
    assert {goal.line for goal in bench_training.GOALS} <= lines.keys()
    assert all(line.rate > 1000 for line in lines.values())
    assert lines["256_collect"].rate > lines["256_overall"].rate
    found = re.search(r"([\d,]+) decisions takes ([\d.]+) MiB, (\d+) bytes", text)
    assert found and 539 < int(found[3]) < 800, "little more than an observation and its mask"
