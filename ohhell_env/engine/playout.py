"""Random play inside the engine: whole deals without a return to Python."""

from __future__ import annotations

from ohhell_env.engine import dealing, kernel
from ohhell_env.engine.bits import count, nth
from ohhell_env.engine.caching import entry, inline
from ohhell_env.engine.layout import BID_BASE, Event, Phase
from ohhell_env.engine.rng import below

_BID, _OVER = int(Phase.BID), int(Phase.OVER)
_DEAL = 16 * int(Event.DEAL)


@inline
def random_action(row, chooser):
    """Returns a legal action of a table, each equally likely; ``chooser`` is a row with a stream.

    The table's own stream deals its cards and stays unchanged.
    """
    place = nth(row.legal, below(chooser, count(row.legal)))
    return place + BID_BASE if row.phase == _BID else place


@entry
def play_random_deals(games, rules, choosers, deals):
    """Begins a new episode at table 0 and plays a number of deals at random.

    Args:
        games: ``GAME`` rows; only row 0 is used.
        rules: ``RULES`` row.
        choosers: ``GAME`` rows; the stream of row 0 makes the choices.
        deals: Number of deals.

    Returns:
        The number of decisions.
    """
    row, chooser = games[0], choosers[0]
    decisions = 0
    dealing.begin_episode(row, rules[0])
    while deals > 0:
        code = kernel.apply(row, rules[0], random_action(row, chooser))
        decisions += 1
        if code >= _DEAL:
            deals -= 1
            if row.phase == _OVER:
                dealing.begin_episode(row, rules[0])
            else:
                dealing.next_deal(row, rules[0])
    return decisions


@entry
def choose_random(games, choosers, actions):
    """Writes a random legal action for every table (actions: int64 (N,))."""
    for index in range(len(games)):
        actions[index] = random_action(games[index], choosers[0])
