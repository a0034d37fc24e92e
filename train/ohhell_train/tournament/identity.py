"""The identity of a tournament, so that a store never mixes two.

It covers everything that the figures depend on except the number of blocks: more blocks, like more
entrants, do not change those already played.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ohhell_agents.checkpoint_io import is_there
from ohhell_env.errors import shown
from ohhell_env.players import NamedPlayer
from ohhell_env.rules import Rules
from ohhell_train.tournament.analysis.results import versions
from ohhell_train.tournament.config import TournamentConfig
from ohhell_train.tournament.entrants import Entrant

_MISSING = object()


def identity(config: TournamentConfig, rules: Rules) -> dict[str, Any]:
    """Returns the identity of a tournament without its entrants and its number of blocks.

    Args:
        config: The settings, as they are played.
        rules: Their rules.
    """
    return {
        "design": config.design,
        "episode": config.episode,
        "variant": rules.name,
        "seed": config.seed,
        "hand_size": config.hand_size,
        "unit": config.unit,
        "rules": rules.to_dict(),
        "versions": versions(),
    }


def fingerprints(given: Sequence[NamedPlayer], entrants: Sequence[Entrant]) -> dict[str, str]:
    """Returns the identity of each entrant's player, by name.

    A checkpoint or a saved player is identified by the content of its files, any other player given
    by a spec by that spec, and an object by its class. The last two also use their attribute
    ``fingerprint`` (a text), if they have one: for a program its files, for a class its module.

    Args:
        given: The entrants as they were given.
        entrants: The entrants made from them, in the same order.
    """
    pairs = zip(given, entrants, strict=True)
    return {entrant.name: _fingerprint(named, entrant) for named, entrant in pairs}


def _fingerprint(named: NamedPlayer, entrant: Entrant) -> str:
    spec = named.spec
    if spec is None:
        kind = type(named.player)
        return f"class {kind.__module__}.{kind.__qualname__} {entrant.fingerprint}".strip()
    path = Path(spec)
    if is_there(path) and getattr(type(entrant.player), "kind", "") != spec:
        return f"files {_digest(path)}"
    return f"player {spec} {entrant.fingerprint}".strip()


def _digest(path: Path) -> str:
    """Returns the SHA-256 of a file, or of all files of a folder with their names."""
    files = [path] if path.is_file() else sorted(inner for inner in path.rglob("*"))
    whole = hashlib.sha256()
    for file in files:
        if file.is_file():
            name = file.relative_to(path).as_posix() if file != path else ""
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            whole.update(f"{name}\n{content}\n".encode())
    return whole.hexdigest()


def named_differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """Returns the differences between two nested dictionaries, one phrase each.

    >>> rules = {"players": 4}
    >>> named_differences({"seed": 5, "rules": rules}, {"seed": 6, "rules": rules})
    ['seed is 5 there, 6 here']
    """
    left, right = dict(_flat(there)), dict(_flat(here))
    names = [*left, *(name for name in right if name not in left)]
    return [
        f"{name} is {_shown(left, name)} there, {_shown(right, name)} here"
        for name in names
        if left.get(name, _MISSING) != right.get(name, _MISSING)
    ]


def _shown(values: dict[str, Any], name: str) -> str:
    return shown(values[name]) if name in values else "missing"


def _flat(data: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
