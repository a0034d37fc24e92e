"""What is said to a program that plays, from a real deal."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from pathlib import Path

from ohhell_agents.external.process import ProcessAgent
from ohhell_env import oh_hell_v0

ROOT = Path(__file__).resolve().parent.parent.parent


def process_example() -> str:
    """What a program receives and answers, from the hello to the first trick of a real deal."""
    bot = shlex.join([sys.executable, str(ROOT / "examples/bots/tiny_bot.py")])
    told: list[str] = []
    env = oh_hell_v0.env(rules="oh_hell", players=3, episode="deal", hand_size=2)
    env.reset(seed=4)
    with ProcessAgent(bot, time_limit_ms=5000) as agent:
        agent.listen = lambda sign, line: told.append(_message(sign, line))
        for _ in range(5):  # three bids and two cards
            name = env.agent_selection
            agent.begin(env.unwrapped.rules, env.possible_agents.index(name))
            env.step(agent.act(env.observe(name)))
    return f"```\n{''.join(told[:4] + told[-2:])}```\n"


def _message(sign: str, line: str) -> str:
    message = json.loads(line)
    if "rules" in message:  # all of them would fill the page
        message["rules"] = {"name": message["rules"]["name"], "": 0}
    text = json.dumps(message).replace(', "": 0}', ", ...}")
    wrap = textwrap.TextWrapper(100, f"{sign} ", "    ")
    wrap.break_long_words = wrap.break_on_hyphens = False
    return "".join(f"{line}\n" for line in wrap.wrap(text))
