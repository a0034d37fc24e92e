"""Exact solutions of small games: the value of perfect play.

``one_card`` solves one-card deals by enumeration and measures how much a player loses there.
``tiny`` passes the game to OpenSpiel, which measures how far a player is from optimal play with
tiny packs.

>>> from ohhell_train.exact import solve
>>> [round(value, 2) for value in solve("oh_hell", players=3).values]
[7.03, 9.19, 4.46]
"""

from __future__ import annotations

from ohhell_train.exact.one_card import OneCardResult, Solution, solve, value_of

__all__ = ["OneCardResult", "Solution", "solve", "value_of"]
