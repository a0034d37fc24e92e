"""The variants: each a row of settings over the defaults, with its source.

The defaults (``Rules()``) are the pagat game with common scoring. ``docs/rules.md`` describes the
variants and their sources.
"""

# Reads input from users: the code checks types at run time.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import numbers
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ohhell_env.cards import SPANISH_RANKS, SPANISH_SUITS, STANDARD_RANKS, STANDARD_SUITS
from ohhell_env.errors import RulesError, nearest, shown

Settings = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """One variant of the game."""

    title: str
    """Its name at the table."""
    source: str
    """The source of its rules."""
    settings: Settings | Callable[[int], Settings]
    """Settings that differ from the defaults, or a function of the number of players."""
    usual: tuple[int, int] = (3, 7)
    """The usual numbers of players, from and to; others work if the pack has enough cards."""
    also: tuple[str, ...] = ()
    """Other names of the game, or of its source, that ``Rules.preset`` accepts."""


def _stripped(players: int) -> tuple[str, ...]:
    """Returns the cards to remove for Romanian Whist, which uses the top 2n ranks of four suits."""
    if 2 * players > len(STANDARD_RANKS):
        raise RulesError(
            f"romanian_whist: players must be 2 to 6 (eight cards each from 52), got {players}"
        )
    low = STANDARD_RANKS[: len(STANDARD_RANKS) - 2 * players]
    return tuple(rank + suit for suit in STANDARD_SUITS for rank in low)


_SPRUCE: Settings = {
    "schedule": {"shape": "up", "high": 15},
    "bidding": {"hook": "none"},
    "trump": {"no_trump_deals": "final"},
    "scoring": "simple",
}

VARIANTS: dict[str, Variant] = {
    "oh_well": Variant(
        "Oh! Well",
        "Phillips and Westall, via Wikipedia",
        {
            "schedule": {"shape": "constant", "high": "max"},
            "trump": {"method": "dealer_last_card"},
            "bidding": {"hook": "none"},
            "end": {"target": 100},
            "settlement": "differences",
        },
    ),
    "nomination_whist": Variant(
        "Nomination Whist, Contract Whist",
        "Arnold 2011, via Wikipedia",
        {"schedule": {"shape": "down_up", "high": 7}, "first_dealer": "first_jack"},
        also=("contract_whist",),
    ),
    "up_and_down_the_river": Variant(
        "Up and Down the River", "Wikipedia", {}, usual=(4, 8), also=("up_and_down",)
    ),
    "oh_pshaw": Variant(
        "Oh Pshaw",
        "Bicycle, via Wikipedia",
        {
            "schedule": {"shape": "up", "high": 15},
            "bidding": {"hook": "none", "announce": True},
            "scoring": "simple",
        },
    ),
    "british_oh_hell": Variant(
        "British Oh Hell",
        "Parlett, via Wikipedia",
        {
            "schedule": {"shape": "up", "high": "max"},
            "bidding": {"hook": "none"},
            "scoring": "bonus_only",
        },
    ),
    "blackout": Variant(
        "Oh Hell with simple scoring: Blackout, Blob",
        "McLeod, pagat.com",
        {"first_dealer": "high_card", "scoring": "simple"},
        also=("blob",),
    ),
    "oh_hell": Variant(
        "Oh Hell", "McLeod, pagat.com", {"first_dealer": "high_card"}, also=("german_bridge",)
    ),
    "spruce": Variant(
        "Oh Hell as at thesprucecrafts",
        "thesprucecrafts.com",
        _SPRUCE,
        also=("blackouts", "thesprucecrafts"),
    ),
    "la_podrida": Variant(
        "La Podrida",
        "thesprucecrafts.com",
        {**_SPRUCE, "play": {"void": "must_trump"}},
    ),
    "kachuful": Variant(
        "Kachuful, Judgement",
        "Wikipedia, Kachufool",
        {
            "schedule": {"shape": "up", "high": "max"},
            "trump": {"method": "rotation", "rotation": ("S", "D", "C", "H")},
            "scoring": "simple",
        },
        usual=(3, 6),
        also=("judgement", "judgment", "kachufool"),
    ),
    "rikiki": Variant(
        "Rikiki",
        "scordatura.hu, hogyankell.hu; the scoring is our assumption",
        lambda players: {
            "pack": {"removed": ("2C",) if players == 3 else ()},
            "schedule": {
                "shape": "up_down",
                "high": "max",
                "repeat_high": 2,
                "repeat_each": "players",
            },
            "trump": {"exhausted": "random_suit"},
            "play": {"void": "must_trump"},
            "scoring": "simple",
        },
        usual=(3, 6),
    ),
    "pocha": Variant(
        "Pocha",
        "ludoteka, conexionpocha, Fournier",
        lambda players: {
            "pack": {
                "suits": SPANISH_SUITS,
                "ranks": SPANISH_RANKS,
                "removed": tuple("2" + suit for suit in SPANISH_SUITS) if players == 3 else (),
            },
            "schedule": {
                "shape": "up_down",
                "high": "max",
                "repeat_low": "players",
                "repeat_high": "players",
            },
            "trump": {"exhausted": "dealer_last_card"},
            "play": {"head_led_suit": True, "void": "must_overtrump_else_free"},
            "scoring": "pocha",
        },
        usual=(3, 6),
    ),
    "romanian_whist": Variant(
        "Romanian Whist",
        "pagat.com, romwhist",
        lambda players: {
            "pack": {"removed": _stripped(players)},
            "schedule": {
                "shape": "up_down",
                "high": 8,
                "repeat_low": "players",
                "repeat_high": "players",
            },
            "play": {"void": "must_trump"},
            "scoring": "romanian",
        },
        usual=(3, 6),
        also=("romwhist",),
    ),
    "boerenbridge": Variant(
        "Boerenbridge",
        "Wikipedia, Dutch",
        {
            "schedule": {"shape": "up_down", "high": "max"},
            "bidding": {"hook_min_hand": 4},
            "blind_one_card": "first",
            "scoring": "romanian",
        },
    ),
    "podrida": Variant(
        "Podrida",
        "acanomas.com",
        {
            "schedule": {"shape": "down_up", "high": "max", "repeat_low": "players"},
            "scoring": "podrida",
        },
        usual=(3, 8),
    ),
    "plump": Variant(
        "Plump",
        "Wikipedia, Swedish",
        {
            "schedule": {"shape": "down_up", "high": 10, "repeat_low": "players"},
            "trump": {"method": "none"},
            "play": {"first_lead": "highest_bidder"},
            "scoring": "plump",
        },
        usual=(2, 5),
    ),
    "escalating": Variant(
        "Oh Hell with escalating penalties",
        "a public online game",
        {
            "schedule": {"shape": "down_up", "high": 10, "repeat_low": "players"},
            "trump": {"exhausted": "forbid"},
            "scoring": "escalating",
        },
        usual=(3, 6),
    ),
    "open_spiel_oh_hell": Variant(
        "Oh Hell as in OpenSpiel",
        "OpenSpiel, oh_hell",
        lambda players: {
            "schedule": {"shape": "explicit", "sizes": (51 // max(players, 1),)},
            "trump": {"exhausted": "forbid"},
        },
    ),
}


def variants() -> tuple[str, ...]:
    """Returns the names of all variants, for ``Rules.preset``."""
    return tuple(VARIANTS)


_LONGEST_NAME = 80
_ALSO = {other: name for name, variant in VARIANTS.items() for other in variant.also}


def variant_name(name: str) -> str:
    """Returns the main name of a variant, given any of its names.

    Capitals, spaces and punctuation do not matter.

    >>> variant_name("Contract Whist"), variant_name("Oh! Well"), variant_name("blob")
    ('nomination_whist', 'oh_well', 'blackout')

    Raises:
        RulesError: Unknown name; the message names the nearest.
    """
    known = {name: name for name in VARIANTS} | _ALSO
    plain = ""
    if isinstance(name, str) and len(name) <= _LONGEST_NAME:
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if plain not in known:
        hint = nearest(name, known)
        if hint.startswith("allowed"):  # list each variant once
            hint = nearest(name, VARIANTS)
        raise RulesError(f"unknown variant {shown(name)}: {hint}")
    return known[plain]


def preset_settings(name: str, players: int | None) -> Settings:
    """Returns the keyword values of ``Rules`` for a variant.

    Raises:
        RulesError: Unknown name (the message names the nearest), or an impossible number of
            players.
    """
    name = variant_name(name)
    seats = 4 if players is None else players
    whole = isinstance(seats, numbers.Integral) and not isinstance(seats, bool)
    if not whole or not 2 <= seats <= 8:
        raise RulesError(f"{name}: players must be 2 to 8, got {shown(players)}")
    seats, row = int(seats), VARIANTS[name].settings
    settings: Mapping[str, Any] = row(seats) if callable(row) else row
    return {**settings, "players": seats, "name": name}


def depends_on_players(name: str) -> bool:
    """Returns whether some settings of a variant depend on the number of players."""
    return name in VARIANTS and callable(VARIANTS[name].settings)
