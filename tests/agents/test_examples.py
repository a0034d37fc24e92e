"""The examples in the docstrings of the players' modules."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "ohhell_agents.registry",
    "ohhell_agents.heuristic",
    "ohhell_agents.external.process",
    "ohhell_agents.random_agent",
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_do_what_they_say(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0
