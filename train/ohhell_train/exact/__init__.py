"""Exact truths: what perfect play is worth where it can be worked out.

``one_card`` solves one-card deals by enumeration and says how much a player loses there; ``tiny``
hands our game to OpenSpiel, which measures how far a player is from optimal in tiny packs.

>>> from ohhell_train.exact import solve
>>> [round(value, 2) for value in solve("oh_hell", players=3).values]
[7.03, 9.19, 4.46]
"""

from __future__ import annotations

from ohhell_train.exact.one_card import OneCardResult, Solution, solve, value_of

__all__ = ["OneCardResult", "Solution", "solve", "value_of"]
