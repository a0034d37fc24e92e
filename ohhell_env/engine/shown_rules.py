"""The rules as shown in observations of the universal layout; plain arithmetic, done once.

Two different games must look different wherever the difference can affect a decision. So every
setting that can has a place here. Most settings are numbers that stay the same all game
(``RULE_FEATURES``). The schedule appears as the deals still to come (``deals_ahead``), and the
scoring as the points that the seat can reach in the current deal (``point_rows``). Some places are
reserved for future settings and are 0 today, so that the width never changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ohhell_env.rules import schedule
from ohhell_env.rules.axes import Scoring
from ohhell_env.rules.rules import Rules
from ohhell_env.rules.schedule import MAX_HAND_SIZE
from ohhell_env.rules.settings import field_types

BLOCK = 64
"""Number of values that the engine copies at once; its tables are padded to such blocks."""
WIDE_PAIR = 128
"""Numbers up to 16,383 of either sign are written as the wide pair (a, b) of ``128 * a + b``."""
NEXT_DEALS = 16
"""Number of coming deals whose hand sizes are shown in order."""
DEALS_AHEAD_WIDTH = NEXT_DEALS + MAX_HAND_SIZE
POINT_ROWS = MAX_HAND_SIZE + 2
"""Rows of points for each hand size: one for each bid, and one for all bids if made."""
POINTS_WIDTH = 2 * (MAX_HAND_SIZE + 1)
RULE_FEATURES_WIDTH = 2 * BLOCK
"""Room for ``RULE_FEATURES``; the rest is zero."""
_FINGERPRINT = 8
_MOST_ROTATION = 16


@dataclass(frozen=True)
class RuleFeature:
    """A setting as shown in a universal observation."""

    setting: str
    """Its dotted name; in brackets if the setting does not exist yet."""
    length: int
    meaning: str
    values: Callable[[Rules], Sequence[int]]
    """Returns at most ``length`` numbers; the others are 0."""


def _value(rules: Rules, setting: str) -> Any:
    return attrgetter(setting)(rules)


def _choices(setting: str) -> tuple[Any, ...]:
    owner: Any = Rules
    *path, name = setting.split(".")
    for part in path:
        owner = field_types(owner)[part]
    return get_args(field_types(owner)[name])


def _one_of(setting: str, length: int | None = None) -> RuleFeature:
    """Returns a feature with one place for each value of a setting, and spare ones."""
    choices = _choices(setting)
    length = length or len(choices)
    spare = length - len(choices)
    meaning = "one of: " + ", ".join(choices) + (f"; {spare} reserved" if spare else "")
    return RuleFeature(
        setting, length, meaning, lambda rules: [_value(rules, setting) == c for c in choices]
    )


def _flag(setting: str, when: Any = True) -> RuleFeature:
    meaning = "1 if true" if when is True else f"1 if {when}"
    return RuleFeature(setting, 1, meaning, lambda rules: [_value(rules, setting) == when])


def _count(setting: str) -> RuleFeature:
    return RuleFeature(
        setting, 1, "the number, at most 127", lambda rules: [_value(rules, setting)]
    )


def _pair(setting: str, meaning: str = "the number, as a wide pair") -> RuleFeature:
    return RuleFeature(
        setting, 2, meaning, lambda rules: wide_pairs([_value(rules, setting) or 0]).tolist()
    )


def _nil(setting: str) -> RuleFeature:
    def values(rules: Rules) -> list[int]:
        nil = _value(rules, setting)
        return [] if nil is None else [1, *wide_pairs([nil.base, nil.per_card]).tolist()]

    return RuleFeature(setting, 5, "1 if set, then base and per_card as wide pairs", values)


def _reserved(name: str, length: int = 1) -> RuleFeature:
    return RuleFeature(f"({name})", length, "reserved", lambda _: [])


def _suits(rules: Rules, letters: Sequence[str]) -> list[int]:
    return [1 + (rules.pack.suits.index(letter) if letter != "NT" else 4) for letter in letters]


def _fingerprint(rules: Rules) -> list[int]:
    """Returns 32 bits of a digest of the points table, up to the largest hand of the pack."""
    table = rules.scoring.table
    if table is None:
        return []
    used = table[: schedule.largest_hand(rules, False)]
    digest = hashlib.sha256(repr(used).encode()).digest()
    return [half for byte in digest[: _FINGERPRINT // 2] for half in divmod(byte, 16)]


def _largest_hand(rules: Rules) -> list[int]:
    """Returns the largest hand of the game if future deals depend on it."""
    needed = rules.trump.no_trump_deals == "largest" or rules.tie_break == "extra_deals"
    return [max(schedule.hand_sizes(rules))] if needed else []


def _first_blind(rules: Rules) -> list[int]:
    if rules.blind_one_card != "first":
        return []
    blind = [place for place, plan in enumerate(schedule.deal_plans(rules), start=1) if plan.blind]
    return wide_pairs(blind[:1]).tolist()


_MOST_NUMBERS = 14
_NUMBERS = tuple(f.name for f in fields(Scoring) if field_types(Scoring)[f.name] is int)

RULE_FEATURES = (
    _count("players"),
    _flag("bidding.order", "simultaneous"),
    _one_of("bidding.hook", 6),
    _count("bidding.hook_min_hand"),
    _flag("bidding.announce"),
    _reserved("bids hidden until the deal is scored"),
    _reserved("most consecutive nil bids"),
    _one_of("blind_one_card"),
    _one_of("trump.method", 8),
    RuleFeature(
        "trump.suit",
        1,
        "1 to 4: the suit; 0: none",
        lambda rules: _suits(rules, [rules.trump.suit] if rules.trump.suit else []),
    ),
    RuleFeature(
        "trump.rotation",
        _MOST_ROTATION,
        "1 to 4: a suit, 5: no-trump; 0 after the last",
        lambda rules: _suits(rules, rules.trump.rotation),
    ),
    _one_of("trump.exhausted"),
    _one_of("trump.no_trump_deals", 4),
    _flag("trump.revealed", "after_bidding"),
    _reserved("no-trump may be named"),
    _flag("play.first_lead", "highest_bidder"),
    _one_of("play.trump_lead"),
    _flag("play.head_led_suit"),
    _one_of("play.void"),
    _nil("scoring.nil_made"),
    _nil("scoring.nil_missed"),
    *(_pair(f"scoring.{name}") for name in _NUMBERS),
    _reserved("further numbers of the scoring", 2 * (_MOST_NUMBERS - len(_NUMBERS))),
    RuleFeature(
        "scoring.table",
        1 + _FINGERPRINT,
        "1 if set, then a fingerprint: eight numbers from 0 to 15",
        lambda rules: [rules.scoring.table is not None, *_fingerprint(rules)],
    ),
    _pair("end.target", "the score, as a wide pair; 0: none"),
    RuleFeature(
        "end.max_deals",
        2,
        "the most deals of a game, without extra deals, as a wide pair",
        lambda rules: wide_pairs([schedule.num_deals(rules)]).tolist(),
    ),
    _one_of("tie_break", 6),
    _one_of("settlement.kind", 4),
    _pair("hard_score_bonus"),
    RuleFeature(
        "schedule",
        1,
        "the largest hand, if no_trump_deals is largest or extra deals break ties",
        _largest_hand,
    ),
    RuleFeature(
        "blind_one_card: first",
        2,
        "the number of the blind deal, from 1, as a wide pair",
        _first_blind,
    ),
)
"""The settings in a universal observation, in order."""


def rule_features(rules: Rules) -> NDArray[np.int8]:
    """Returns the values of ``RULE_FEATURES``, int8 (RULE_FEATURES_WIDTH,)."""
    shown = np.zeros(RULE_FEATURES_WIDTH, np.int8)
    start = 0
    for feature in RULE_FEATURES:
        values = feature.values(rules)
        assert len(values) <= feature.length, feature.setting
        shown[start : start + len(values)] = np.clip(values, -128, 127)
        start += feature.length
    return shown


def wide_pairs(numbers: Any) -> NDArray[np.int8]:
    """Returns numbers (..., n) as wide pairs, int8 (..., 2 n); numbers too large are clipped.

    Both parts have the number's sign, so the second part of a small number is the number itself.

    >>> wide_pairs([5, -5, 300]).tolist()
    [0, 5, 0, -5, 2, 44]
    """
    most = WIDE_PAIR * WIDE_PAIR - 1
    values = np.clip(np.asarray(numbers, np.int64), -most, most)
    high = np.trunc(values / WIDE_PAIR).astype(np.int64)
    pairs = np.stack([high, values - WIDE_PAIR * high], axis=-1).astype(np.int8)
    return pairs.reshape(*values.shape[:-1], -1)


def deals_ahead(rules: Rules) -> NDArray[np.int8]:
    """Returns the deals that follow each deal of the schedule, int8 (deals, BLOCK).

    First come the hand sizes of the next ``NEXT_DEALS`` deals, 0 after the last; then, for each
    hand size from 1 on, the number of deals still to come that have it, at most 127. In a game to a
    target, whose schedule repeats, the counts are those of one pass through it.
    """
    sizes = schedule.hand_sizes(rules)
    shown = np.zeros((len(sizes), BLOCK), np.int8)
    repeats = 1 + NEXT_DEALS // len(sizes) if rules.end.target is not None else 0
    for deal in range(len(sizes)):
        left = sizes[deal + 1 :]
        following = (left + sizes * repeats)[:NEXT_DEALS]
        shown[deal, : len(following)] = following
        counts = np.bincount(sizes if repeats else left, minlength=MAX_HAND_SIZE + 1)[1:]
        shown[deal, NEXT_DEALS:DEALS_AHEAD_WIDTH] = np.minimum(counts, 127)
    return shown


def point_rows(points: NDArray[np.int32]) -> NDArray[np.int8]:
    """Returns the points of a deal as shown to a seat, int8 (hand sizes, POINT_ROWS, BLOCK).

    Args:
        points: int32 (hand sizes, bids, numbers of tricks won).

    Returns:
        For each hand size and bid, the points by tricks won; in the last row, the points of each
        bid if it is made. All are wide pairs.
    """
    sizes, bids, _ = points.shape
    rows = np.zeros((sizes, POINT_ROWS, BLOCK), np.int8)
    rows[:, :bids, :POINTS_WIDTH] = wide_pairs(points)
    rows[:, -1, :POINTS_WIDTH] = wide_pairs(np.diagonal(points, axis1=1, axis2=2))
    return rows


assert sum(feature.length for feature in RULE_FEATURES) <= RULE_FEATURES_WIDTH
assert max(DEALS_AHEAD_WIDTH, POINTS_WIDTH) <= BLOCK
