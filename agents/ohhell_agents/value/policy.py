"""A player with values inside the engine: one decision from a table's record, compiled.

It makes the bid with the highest value (``bids.py``), never one that is certain to be missed, and
plays the card with the highest value (``cards.py``). Both read only what the seat to act may know,
see ``trick_probs.py``. The heuristic player uses these values alone; a counterfactual player's
models add advantages to them (``advantage_nets.py``).
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.bids import bid_values
from ohhell_agents.value.cards import SAME, card_values
from ohhell_env.engine.bits import ONE, ZERO, has, lowest
from ohhell_env.engine.caching import inline, inner
from ohhell_env.engine.layout import BID_BASE, NUM_BIDS, Phase

_BID = int(Phase.BID)


@inner
def heuristic_action(row, rules, models):
    """Returns the action code of a player with values, for the seat to act.

    Args:
        row: A table in the bidding or in play, with ``legal`` not empty.
        rules: Its rules record.
        models: ``MODELS`` record.
    """
    if row.legal & (row.legal - ONE) == ZERO:
        only = lowest(row.legal)
        return only + BID_BASE if row.phase == _BID else only
    if row.phase != _BID:
        return card_values(row, rules, models, np.empty(64))
    values = np.empty(NUM_BIDS)
    fewest, most = bid_values(row, rules, models, values)
    best = _best_bid(row.legal, values, fewest, most)
    return BID_BASE + (best if best >= 0 else _best_bid(row.legal, values, 0, NUM_BIDS - 1))


@inline
def _best_bid(legal, values, fewest, most):
    best = -1
    for bid in range(fewest, most + 1):
        if has(legal, bid) and (best < 0 or values[bid] > values[best] + SAME):
            best = bid
    return best
