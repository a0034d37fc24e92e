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
import reprlib
from collections.abc import Iterable

_MOST_SHOWN = 80
"""Characters of a value that a message repeats."""
_LONGEST_PATH = 200
"""A path up to this length stands whole in a message: its end says more than its beginning."""
_MOST_NAMES = 60
"""Allowed names that a message lists."""


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
    text = name if isinstance(name, str) else shown(name)
    wanted = text[:_MOST_SHOWN].lower()  # comparing takes longer the longer the name is
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(map(shown, close))}?"
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"allowed: {', '.join(_cut(each) for each in names[:_MOST_NAMES])}{more}"


def shown(value: object) -> str:
    """Returns a value as a message shows it: its ``repr``, cut to 80 characters.

    Every message that repeats what a user gave uses this, because a value may be of any length.

    >>> shown("TH"), len(shown("T" * 1_000_000))
    ("'TH'", 80)
    """
    try:
        text = _SHORT.repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an object's own repr may raise anything; numbers may be too long
        whole, name = isinstance(value, int), _NAME_OF_TYPE(type(value))
        kind = "number of thousands of digits" if whole else f"value of type {name}"
        text = f"a {kind}"
    return _cut(text)


def described(error: BaseException) -> str:
    """Returns kind and message of an error that others' code has raised, whatever it is.

    Its class and its message are code of theirs too, and may raise in their turn.

    >>> described(ValueError("no idea"))
    'ValueError: no idea'
    """
    kind = _NAME_OF_TYPE(type(error))
    try:
        return f"{kind}: {error}"
    except KeyboardInterrupt:
        raise
    except BaseException:
        return f"{kind}: (its message cannot be read)"


def shown_path(path: object) -> str:
    """Returns a path or a command line as a message shows it: of a very long one both ends."""
    text = str(path)
    if len(text) <= _LONGEST_PATH:
        return text
    half = _MOST_SHOWN // 2
    return f"{text[: half - 3]}...{text[-half:]}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


_NAME_OF_TYPE = type.__dict__["__name__"].__get__
"""The name of a class as Python has it, whatever the class itself says."""


class _Short(reprlib.Repr):
    """Writes long values without going through all of them; no value of ours is shortened."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 8
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 80
        self.maxdict = 80
        self.maxstring = self.maxlong = self.maxother = 4 * _MOST_SHOWN


_SHORT = _Short()
