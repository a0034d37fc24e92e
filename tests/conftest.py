"""Fixtures that many tests share."""

from __future__ import annotations

import os
import random

import pytest

from ohhell_env.rules import Rules
from tests.helpers import house

# Commands are compared by what they write; a cold cache is no part of it.
os.environ.setdefault("OHHELL_QUIET", "1")


@pytest.fixture
def rng() -> random.Random:
    """A seeded source of chance."""
    return random.Random(20)


@pytest.fixture
def tiny_rules() -> Rules:
    """Three seats, three short deals of one, two and three cards, common scoring with the hook."""
    return house(3, schedule__shape="up", schedule__high=3)
