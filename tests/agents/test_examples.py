"""The examples in the docstrings of the players' modules."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ("agents", "agents.heuristic", "agents.process", "agents.random_agent")


@pytest.mark.parametrize("module", MODULES)
def test_examples_do_what_they_say(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
