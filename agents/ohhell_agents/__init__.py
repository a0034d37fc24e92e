"""Players of Oh Hell: ``make`` one by name, or ``load`` one from a file.

>>> make("random", seed=7).kind
'random'
"""

from __future__ import annotations

from ohhell_agents.base import Agent
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.external.process import ProcessAgent, ProgramError
from ohhell_agents.heuristic import HeuristicAgent
from ohhell_agents.loading import load, load_part
from ohhell_agents.random_agent import RandomAgent
from ohhell_agents.registry import AGENTS, make
from ohhell_agents.search.agent import SearchAgent
from ohhell_agents.search.settings import SearchSettings
from ohhell_agents.two_part import TwoPartAgent

__all__ = [
    "AGENTS",
    "Agent",
    "CounterfactualAgent",
    "HeuristicAgent",
    "ProcessAgent",
    "ProgramError",
    "RandomAgent",
    "SearchAgent",
    "SearchSettings",
    "TwoPartAgent",
    "load",
    "load_part",
    "make",
]
