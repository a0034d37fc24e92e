"""The errors of the project: one base class, and a subclass for each kind of mistake.

::

    OhHellError (a ValueError)
    ├── RulesError          rules, settings or options that cannot be played
    ├── IllegalActionError  an action that is not allowed now
    ├── NotResetError       something that exists only after ``reset()``
    ├── NotationError       text or a record that does not describe a card, a deal or a game
    └── CheckpointError     a trained agent that cannot be used here

Every message says what is wrong, the value, what is allowed, where in the game, and the remedy if
there is one.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable

_MOST_SHOWN = 80
"""The most characters of a value in a message."""
_LONGEST_PATH = 200
"""The longest path that a message shows in full: its end says more than its beginning."""
_MOST_NAMES = 60
"""The most allowed names in a message."""


class OhHellError(ValueError):
    """Base class of all errors that this project raises."""


class RulesError(OhHellError):
    """Rules, settings or reset options that cannot be played."""


class IllegalActionError(OhHellError):
    """An action that the rules do not allow at this moment; the game is unchanged."""


class NotResetError(OhHellError, AttributeError):
    """Access to something that exists only after ``reset()``."""


class NotationError(OhHellError):
    """Text or a record that does not describe a card, a deal or a game."""


class CheckpointError(OhHellError):
    """A saved agent that is broken, of another version, or for other rules."""


def nearest(name: object, allowed: Iterable[str]) -> str:
    """Returns a hint for an unknown name: the closest allowed ones, or all of them.

    >>> nearest("nomination_wist", ["oh_hell", "nomination_whist"])
    "did you mean 'nomination_whist'?"
    >>> nearest("bridge", ["oh_hell", "spruce"])
    'allowed: oh_hell, spruce'
    """
    names = list(allowed)
    text = name if isinstance(name, str) else shown(name)
    wanted = text[:_MOST_SHOWN].lower()  # comparing long names takes long
    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(map(shown, close))}?"
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"allowed: {', '.join(_cut(each) for each in names[:_MOST_NAMES])}{more}"


def shown(value: object) -> str:
    """Returns a value for a message: its ``repr``, cut to 80 characters.

    Every message with a user's value uses this, because the value may have any length.

    >>> shown("TH"), len(shown("T" * 1_000_000))
    ("'TH'", 80)
    """
    try:
        text = _SHORT.repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a custom repr may raise anything; numbers may be too long
        whole, name = isinstance(value, int), _NAME_OF_TYPE(type(value))
        kind = "number of thousands of digits" if whole else f"value of type {name}"
        text = f"a {kind}"
    return _cut(text)


def described(error: BaseException) -> str:
    """Returns class and message of an error raised by foreign code.

    The error's class and message are foreign code too, and may themselves raise.

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
    """Returns a path or a command line for a message; a very long one is cut in the middle."""
    text = str(path)
    if len(text) <= _LONGEST_PATH:
        return text
    half = _MOST_SHOWN // 2
    return f"{text[: half - 3]}...{text[-half:]}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


_NAME_OF_TYPE = type.__dict__["__name__"].__get__
"""Reads the true name of a class, even if the class overrides ``__name__``."""


class _Short(reprlib.Repr):
    """Formats long values without visiting all of them; short values stay unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 8
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 80
        self.maxdict = 80
        self.maxstring = self.maxlong = self.maxother = 4 * _MOST_SHOWN


_SHORT = _Short()
