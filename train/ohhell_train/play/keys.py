"""The keys at the table, their meanings, and which of them work at the moment."""

from __future__ import annotations

from ohhell_train.play.match import Match

MEANINGS = {
    "h": "hint",
    "u": "undo",
    "x": "ask again",
    "n": "play again",
    "t": "last trick",
    "s": "scores",
    "r": "rules",
    "q": "quit",
}
"""The keys, in the order in which they are shown."""


def working_keys(match: Match, failed: bool) -> dict[str, str]:
    """Returns the keys that work now, with their meanings.

    Args:
        match: The present game.
        failed: Whether the game waits because a player failed.
    """
    works = {
        "h": match.mine and bool(match.adviser),
        "u": match.can_undo,
        "x": failed,
        "n": match.over,
        "t": match.last_trick is not None,
        "s": bool(match.sheet),
    }
    return {key: meaning for key, meaning in MEANINGS.items() if works.get(key, True)}
