"""A player's bids by place in the bidding, and by the hand that it holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.cards import RANKS_PER_SUIT, Pack
from ohhell_env.engine.layout import NO_TRUMP, Rows
from ohhell_env.rules import Rules
from ohhell_train.bidding.bids import UNKNOWN
from ohhell_train.bidding.shares import share

RARE = "rare"
"""Stands for all hands of a hand size that are too rare for their own row."""
_HIGH = 3
_EVEN = 0.5
_OF_HAND = ("trump", "trumps", "high_trumps", "aces_outside", "voids")
_OF_TABLE = ("place", "bids_before")
VIEWS = {"hand": _OF_HAND, "table": _OF_TABLE, "both": (*_OF_HAND, *_OF_TABLE)}
"""The columns that define a row of the bidding table, by view."""

Mask = NDArray[np.uint64]


def bids_by_place(bids: Rows) -> list[dict[str, Any]]:
    """Returns a row for each hand size, place in the bidding and bid that occurred.

    Args:
        bids: ``BIDS`` rows.

    Returns:
        Rows with "hand_size", "place", "bid", "hands" (how often), "share" (of the bids of that
        hand size and place), "made_rate" with its interval "made_low" and "made_high", and the
        means of "tricks", "points" and "points_if_made".
    """
    rows = []
    for (size, place), there in _grouped(bids, "hand_size", "place"):
        for (bid,), own in _grouped(there, "bid"):
            made, low, high = share(int((own["tricks"] == bid).sum()), len(own))
            rows.append(
                {
                    "hand_size": size,
                    "place": place,
                    "bid": bid,
                    "hands": len(own),
                    "share": len(own) / len(there),
                    "made_rate": made,
                    "made_low": low,
                    "made_high": high,
                    "tricks": float(own["tricks"].mean()),
                    "points": float(own["points"].mean()),
                    "points_if_made": float(own["points_if_made"].mean()),
                }
            )
    return rows


def _grouped(bids: Rows, *names: str) -> Iterator[tuple[tuple[int, ...], Rows]]:
    """Yields groups of bids by the values of some columns, in order."""
    keys = np.stack([bids[name].astype(np.int64) for name in names], axis=1)
    for key in np.unique(keys, axis=0).tolist():
        yield tuple(key), bids[(keys == key).all(axis=1)]


def bidding_table(bids: Rows, rules: Rules, least: int) -> list[dict[str, Any]]:
    """Returns the bids by kind of hand.

    Blind deals are left out, because nobody sees their own hand there.

    Args:
        bids: ``BIDS`` rows.
        rules: The rules.
        least: Fewest hands of a row; rarer rows are combined as "rare".

    Returns:
        For each of ``VIEWS``, rows by hand size and by the columns of the view (other columns are
        empty): "hands", mean bid and tricks, made rate, and the share of each bid.
    """
    seen = bids[~bids["blind"]]
    facts = hand_facts(seen, rules)
    most = int(seen["bid"].max()) if len(seen) else 0
    rows = []
    for view, names in VIEWS.items():
        columns = [facts[name] for name in names]
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for index, key in enumerate(zip(seen["hand_size"].tolist(), *columns, strict=True)):
            groups[key].append(index)
        for key, where in _ordered(_gathered(groups, least)):
            features = dict.fromkeys(facts, "") | dict(zip(names, key[1:], strict=True))
            rows.append({"view": view, "hand_size": key[0], **features, **_what(seen[where], most)})
    return rows


def _what(own: Rows, most: int) -> dict[str, Any]:
    """Returns the figures of the hands of a row."""
    shares = np.bincount(own["bid"], minlength=most + 1) / len(own)
    return {
        "hands": len(own),
        "mean_bid": float(own["bid"].mean()),
        "mean_tricks": float(own["tricks"].mean()),
        "made_rate": float((own["bid"] == own["tricks"]).mean()),
        **{f"bid_{bid}": value for bid, value in enumerate(shares.tolist())},
    }


def _gathered(
    groups: dict[tuple[Any, ...], list[int]], least: int
) -> dict[tuple[Any, ...], list[int]]:
    """Returns groups in which the small ones are combined for each hand size."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for key, where in groups.items():
        rare = (key[0], *(RARE for _ in key[1:]))
        found[key if len(where) >= least else rare] += where
    return found


def _ordered(
    groups: dict[tuple[Any, ...], list[int]],
) -> list[tuple[tuple[Any, ...], list[int]]]:
    """Returns groups by their keys, numbers before words."""
    return sorted(groups.items(), key=lambda item: [(isinstance(p, str), p) for p in item[0]])


def hand_facts(bids: Rows, rules: Rules) -> dict[str, list[Any]]:
    """Returns what a card player notices about the hand and the table, one entry for each bid.

    Returns:
        "trump": "suit", "none", or "unknown" while it is not revealed; the columns about trumps are
        then empty. "trumps": number of trumps held. "high_trumps": which of the three highest
        ranks, such as "AQ", or "-" for none. "aces_outside": cards of the highest rank in other
        suits. "voids": other suits of which no card is held. "place": in the bidding, 1 = eldest.
        "bids_before": "first" if nobody has bid, "unknown" in secret bidding, otherwise how the
        bids before compare with an even share of the tricks: "even" (within half a trick), "low" or
        "high".
    """
    known = bids["trump"] != UNKNOWN
    trumps = _trump_suit(bids["trump"])
    held, outside = bids["hand"] & trumps, bids["hand"] & ~trumps

    def where_known(values: list[Any]) -> list[Any]:
        return [value if there else "" for value, there in zip(values, known, strict=True)]

    words = {UNKNOWN: "unknown", NO_TRUMP: "none"}
    return {
        "trump": [words.get(suit, "suit") for suit in bids["trump"].tolist()],
        "trumps": where_known(np.bitwise_count(held).tolist()),
        "high_trumps": where_known(_high_cards(held, rules.pack)),
        "aces_outside": np.bitwise_count(outside & _rank(rules.pack, -1)).tolist(),
        "voids": _voids(bids, rules.pack).tolist(),
        "place": bids["place"].tolist(),
        "bids_before": _before(bids, rules.players),
    }


def _trump_suit(trumps: NDArray[np.int8]) -> Mask:
    """Returns the cards of the trump suit; none if there is no trump or it is unknown."""
    suits = np.array([_suit(suit) for suit in range(4)] + [0, 0], np.uint64)
    return suits[np.where(trumps == UNKNOWN, 5, trumps)]


def _suit(suit: int) -> int:
    return ((1 << RANKS_PER_SUIT) - 1) << (suit * RANKS_PER_SUIT)


def _rank(pack: Pack, place: int) -> np.uint64:
    """Returns the cards of a rank in all suits; -1 is the highest."""
    rank = len(pack.ranks) + place
    return np.uint64(sum(1 << (suit * RANKS_PER_SUIT + rank) for suit in range(4)))


def _high_cards(held: Mask, pack: Pack) -> list[str]:
    ranks = [(pack.ranks[-n], _rank(pack, -n)) for n in range(1, min(_HIGH, len(pack.ranks)) + 1)]
    return ["".join(name for name, cards in ranks if own & cards) or "-" for own in held]


def _voids(bids: Rows, pack: Pack) -> NDArray[np.int64]:
    suits = range(len(pack.suits))
    empty = [(bids["hand"] & np.uint64(_suit(s)) == 0) & (bids["trump"] != s) for s in suits]
    return np.sum(empty, axis=0)


def _before(bids: Rows, players: int) -> list[str]:
    words = []
    for place, size, before in zip(
        bids["place"].tolist(), bids["hand_size"].tolist(), bids["before"].tolist(), strict=True
    ):
        over = before - size * (place - 1) / players
        word = "even" if abs(over) <= _EVEN else "high" if over > 0 else "low"
        word = "unknown" if before == UNKNOWN else word
        words.append("first" if place == 1 else word)
    return words
