"""The errors of the project: one root, one class for each kind of mistake.

::

    OhHellError (a ValueError)
    ├── RulesError          rules, settings or options that cannot be played
    ├── IllegalActionError  an action that is not allowed now
    ├── NotResetError       something that there is only after ``reset()``
    ├── NotationError       text or a record that does not describe a card, a deal or a game
    └── CheckpointError     a trained agent that cannot be used here

Every message says what is wrong, the offending value, what is allowed, where in the game, and the
remedy where there is one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class OhHellError(ValueError):
    """Any mistake that this project reports."""


class RulesError(OhHellError):
    """Rules, settings or reset options that cannot be played."""


class IllegalActionError(OhHellError):
    """An action that the rules do not allow at this moment; the game is unchanged."""


class NotResetError(OhHellError, AttributeError):
    """Something was asked for that there is only after ``reset()``."""


class NotationError(OhHellError):
    """Text or a record that does not describe a card, a deal or a game."""


class CheckpointError(OhHellError):
    """A saved agent that is broken, of another version, or made for other rules."""


def nearest(name: object, allowed: Iterable[str]) -> str:
    """Returns a hint for an unknown name: the closest allowed ones, or all of them.

    >>> nearest("nomination_wist", ["oh_hell", "nomination_whist"])
    "did you mean 'nomination_whist'?"
    >>> nearest("bridge", ["oh_hell", "spruce"])
    'allowed: oh_hell, spruce'
    """
    names = list(allowed)
    close = difflib.get_close_matches(str(name).lower(), names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(c) for c in close)}?"
    return f"allowed: {', '.join(names)}"
