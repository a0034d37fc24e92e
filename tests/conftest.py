"""Fixtures that many tests share."""

from __future__ import annotations

import random

import pytest

from ohhell_env.rules import Rules


@pytest.fixture
def rng() -> random.Random:
    """A seeded source of chance."""
    return random.Random(20)


@pytest.fixture
def tiny_rules() -> Rules:
    """Three seats, three short deals of one, two and three cards, common scoring with the hook."""
    return Rules(players=3, schedule={"shape": "up", "high": 3})
