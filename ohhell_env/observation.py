"""What a seat sees: the section table, the layouts, and the decoder.

The observation is a vector of int8. This module derives its sections and their starts from the
rules. The engine writes by this table (``engine/encode.py``), and ``decode`` reads by it.
"""

# Reads input from users: the code checks types at run time.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import BID_BASE, NUM_ACTIONS
from ohhell_env.cards import NUM_CARD_CODES, Pack, card_name
from ohhell_env.engine.encode import (
    ABSENT,
    CARD_SECTIONS,
    PAIR,
    SECTIONS,
    SMALL_SECTIONS,
    STATE_CARD_SECTIONS,
)
from ohhell_env.engine.layout import MAX_SEATS, NO_TRUMP, Rows, engine_rows
from ohhell_env.engine.shown_rules import (
    DEALS_AHEAD_WIDTH,
    NEXT_DEALS,
    POINTS_WIDTH,
    RULE_FEATURES,
    RULE_FEATURES_WIDTH,
    WIDE_PAIR,
)
from ohhell_env.errors import NotationError, RulesError, shown
from ohhell_env.rules import Rules, RulesLike, as_rules, schedule
from ohhell_env.rules.schedule import MAX_HAND_SIZE, TrumpSource

Observation = NDArray[np.int8]

LAYOUTS = ("default", "universal")
PHASES = ("bid", "play", "over")
SOURCES = tuple(source.name.lower() for source in TrumpSource)
"""The sources of a deal's trump, as named by ``decode``."""
_SPARE_SOURCES = 2
_ONLY_UNIVERSAL = (
    "pack",
    "trump_source",
    "zero_streak",
    "tie_values",
    "extra_deals",
    "deals_ahead",
    "points",
    "rules",
)
"""Sections that distinguish the rules, or are reserved for future rules."""

SECTION_MEANINGS: dict[str, str] = {
    "hand": "1 for each card in the seat's own hand (all 0 in the bidding of a blind deal)",
    "turned": "1 at the turned card, or the dealer's shown last card, once it is public",
    "winning_card": "1 at the card that is winning the current trick",
    "pack": "1 for each card of the pack",
    "trick": "position of each card in the current trick, 1 = led; 0 = not in it",
    "place": "position of each card in the deal's order of play, 1 = first; 0 = not played",
    "open_cards": "in the bidding of a blind deal: the seat that holds each card; 0 = not seen",
    "played": "for each seat: 1 for each card it has played in this deal",
    "phase": "one of: bidding, play, episode over (universal layout: a fourth value is reserved "
    "for naming trumps)",
    "blind": "1 in a blind one-card deal",
    "trump": "one of: the suits, no-trump; all 0 until revealed",
    "trump_source": "the source of this deal's trump, one of: "
    + ", ".join(source.replace("_", " ") for source in SOURCES)
    + f"; {_SPARE_SOURCES} reserved for trumps named by a player",
    "led_suit": "one of the suits; all 0 before a card is led (universal layout: a fifth value is "
    "reserved for tricks without a led suit)",
    "dealer": "1 at the dealer's seat",
    "leader": "1 at the seat that leads or led the current trick; all 0 in the bidding",
    "winning_seat": "1 at the seat that is winning the current trick",
    "voids": "for each seat: 1 for each suit in which it has shown a void",
    "has_bid": "1 for each seat whose bid is known",
    "bids": "bid of each seat; also 0 if unknown (see has_bid)",
    "tricks_won": "tricks won in this deal by each seat",
    "needed": "bid minus tricks won, for each seat; 0 if no bid is known",
    "hand_size": "cards dealt to each seat",
    "trick_number": "tricks finished in this deal",
    "bid_balance": "known bids minus hand size: over or under; 0 until simultaneous bids are shown",
    "zero_streak": "reserved: consecutive nil bids of each seat",
    "scores": "score of each seat before this deal, as pairs (a, b) of 16a + b within -2048..2047",
    "tie_values": "what breaks a tie at the end, for each seat before this deal: its made bids or "
    "the total of its bids, whichever the rules count, else 0; as wide pairs (a, b) of 128a + b",
    "deal": "deals before this one, as a pair",
    "deals_left": "deals after this one (at most), as a pair",
    "extra_deals": "extra deals after a tie, begun so far",
    "deals_ahead": f"hand sizes of the next {NEXT_DEALS} deals, 0 after the last; then, for each "
    "hand size from 1 on, the number of deals still to come that have it (in a game to a target: "
    "in one pass through the schedule), at most 127",
    "points": "points of this deal as wide pairs: before the seat's bid, for each bid from 0 on if "
    "it is made; after it, for each number of tricks from 0 on with that bid",
    "rules": "the settings of the rules (see below)",
}
"""The meaning of the values of each section. Seats count clockwise from the observer (0)."""


@dataclass(frozen=True)
class Layout:
    """One arrangement of the observation and the size of the action mask."""

    name: str
    """"default" or "universal"."""
    seats: int
    """The number of seats that it has room for."""
    suits: int
    card_width: int
    """Values in a card section: the highest card number + 1."""
    num_actions: int
    """Length of the action mask: 61 + largest hand size; in the universal layout 92."""
    sections: tuple[tuple[str, int, int], ...]
    """(name, start, length) of each section, in order, without gaps."""

    @property
    def largest_hand(self) -> int:
        """The largest hand size that the actions have room for."""
        return min(self.num_actions - BID_BASE - 1, MAX_HAND_SIZE)

    @property
    def length(self) -> int:
        """Number of values of an observation (or of a state)."""
        _, start, length = self.sections[-1]
        return start + length

    @property
    def digest(self) -> str:
        """A short fingerprint: layouts with equal digests fit the same network."""
        text = repr((self.seats, self.suits, self.card_width, self.num_actions, self.sections))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def slices(self) -> dict[str, slice]:
        """Returns the slice of each section."""
        return {name: slice(start, start + length) for name, start, length in self.sections}

    def compiled(self) -> Rows:
        """Returns the section starts as the one-row array that the engine reads."""
        return _compile(self)


def layout_of(rules: Rules, name: str = "default", hand_size: int | None = None) -> Layout:
    """Returns the layout of observations under some rules.

    Args:
        rules: The rules.
        name: "default", as small as the rules allow, or "universal", one for all rules.
        hand_size: A hand size outside the schedule that must also fit.

    Raises:
        RulesError: Unknown name.
    """
    return _universal() if check_layout(name) == "universal" else _default(rules, hand_size)


def check_layout(name: Any) -> str:
    """Returns the name of a layout, or raises RulesError."""
    if not isinstance(name, str) or name not in LAYOUTS:
        raise RulesError(f"layout must be 'default' or 'universal', got {shown(name)}")
    return name


@functools.lru_cache(maxsize=256)
def _default(rules: Rules, hand_size: int | None) -> Layout:
    left_out = {*_ONLY_UNIVERSAL, *not_needed(rules)}
    if rules.blind_one_card == "never":
        left_out.add("open_cards")
    names = (*CARD_SECTIONS, *SMALL_SECTIONS)
    return fitted_layout(rules, hand_size, [name for name in names if name not in left_out])


def not_needed(rules: Rules) -> set[str]:
    """Returns the sections that stay empty under some rules."""
    plans = schedule.deal_plans(rules)
    turns = {TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD} & {plan.trump for plan in plans}
    turns |= {rules.trump.method} & {"turn_up", "dealer_last_card"}
    found = {"turned": not turns, "blind": rules.blind_one_card == "never"}
    return {name for name, needless in found.items() if needless}


def fitted_layout(rules: Rules, hand_size: int | None, names: Iterable[str]) -> Layout:
    """Returns the default layout of some sections, with just the room that the rules need."""
    sizes = [plan.hand_size for plan in schedule.deal_plans(rules)]
    actions = BID_BASE + max([*sizes, hand_size or 0]) + 1
    width, suits = max(rules.pack.cards) + 1, len(rules.pack.suits)
    return _arrange("default", rules.players, suits, width, actions, names)


@functools.cache
def _universal() -> Layout:
    return universal_layout((*CARD_SECTIONS, *SMALL_SECTIONS))


def universal_layout(names: Iterable[str]) -> Layout:
    """Returns the universal layout of some sections."""
    return _arrange("universal", MAX_SEATS, 4, NUM_CARD_CODES, NUM_ACTIONS, names)


def _arrange(
    name: str, seats: int, suits: int, width: int, num_actions: int, names: Iterable[str]
) -> Layout:
    spare = int(name == "universal")
    lengths = dict.fromkeys((*CARD_SECTIONS, *STATE_CARD_SECTIONS), width) | {
        "hands": seats * width,
        "played": seats * width,
        "phase": len(PHASES) + spare,
        "trump": suits + 1,
        "trump_source": len(SOURCES) + _SPARE_SOURCES,
        "led_suit": suits + spare,
        "voids": seats * suits,
        "scores": 2 * seats,
        "tie_values": 2 * seats,
        "deal": 2,
        "deals_left": 2,
        "deals_ahead": DEALS_AHEAD_WIDTH,
        "points": POINTS_WIDTH,
        "rules": RULE_FEATURES_WIDTH,
    }
    lengths |= dict.fromkeys(_PER_SEAT, seats)
    sections: list[tuple[str, int, int]] = []
    start = 0
    for section in names:
        length = lengths.get(section, 1)
        sections.append((section, start, length))
        start += length
    return Layout(name, seats, suits, width, num_actions, tuple(sections))


_PER_SEAT = (
    "actor",
    "dealer",
    "leader",
    "winning_seat",
    "has_bid",
    "bids",
    "tricks_won",
    "needed",
    "zero_streak",
)


@functools.lru_cache(maxsize=256)
def _compile(layout: Layout) -> Rows:
    record = np.zeros(1, SECTIONS)
    for name in SECTIONS.names or ():
        record[name] = ABSENT
    for section, start, _ in layout.sections:
        record[section] = start
    record["card_width"] = layout.card_width
    record["num_suits"] = layout.suits
    record["num_seats"] = layout.seats
    record["small_start"] = layout.slices()["phase"].start
    record["length"] = layout.length
    record["num_actions"] = layout.num_actions
    return engine_rows(record)


def sections(rules: RulesLike, layout: str = "default") -> list[tuple[str, int, int]]:
    """Returns ``(name, start, length)`` of every section of the observation, in order.

    Args:
        rules: Rules, a variant's name or a YAML path.
        layout: "default" or "universal".
    """
    return list(layout_of(as_rules(rules), layout).sections)


def decode(vector: Iterable[int], rules: RulesLike) -> dict[str, Any]:
    """Returns the content of an observation by name.

    Args:
        vector: An observation of either layout (recognized by its length).
        rules: The rules of the game.

    Returns:
        A dict with, for seats counted clockwise from the observer (0 = self): "phase" ("bid",
        "play" or "over"), "players", "hand" and "turned" (card names), "trump" (suit letter,
        "NT", or "?" until revealed), "dealer", "leader" (None in the bidding), "hand_size",
        "trick_number", "bids" (None = unknown), "tricks_won", "needed" (None = no bid known),
        "bid_balance", "trick" ([seat, card] in order), "winning" ([seat, card] or None),
        "plays" (every [seat, card] of the deal in order), "voids" (suit letters by seat),
        "open_cards" ({seat: card} in the bidding of a blind deal), "blind", "scores", "deal",
        "deals_left". From an observation of the universal layout also "trump_source" (one of
        ``SOURCES``), "tie_values" (by seat), "extra_deals", "next_hand_sizes", "hand_sizes_left"
        ({hand size: deals to come}) and "points" (a list: by bid before the seat's bid, by number
        of tricks after it).

    Raises:
        NotationError: The vector fits neither layout, or does not hold whole numbers from -128 to
            127.
    """
    rules = as_rules(rules)
    values = read_vector(vector, "an observation")
    layout = layout_by_length(len(values), rules)
    return _View(values, rules, layout).view()


def read_vector(vector: Any, what: str) -> NDArray[np.int64]:
    """Returns a vector of any number type as int64.

    Args:
        vector: The caller's input.
        what: Its name in messages, for example "an observation".

    Raises:
        NotationError: It does not hold whole numbers from -128 to 127.
    """
    try:
        values = np.asarray(vector)
    except (ValueError, TypeError, RuntimeError) as error:  # ragged, or a tensor out of reach
        raise NotationError(f"{what} must be a list of whole numbers: {error}") from None
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise NotationError(
            f"{what} must be a list of whole numbers, got {type(vector).__name__} (as an "
            f"array: {values.dtype} of shape {values.shape})"
        )
    right = (values >= -128) & (values <= 127) & (values == np.trunc(values))
    if not right.all():
        place = int(np.argmin(right))
        raise NotationError(
            f"{what} must hold whole numbers from -128 to 127, got {shown(values[place])} at "
            f"place {place}"
        )
    return values.astype(np.int64)


def layout_by_length(length: int, rules: Rules) -> Layout:
    """Returns the layout whose observations have a given length.

    Raises:
        NotationError: Neither layout has this length.
    """
    return layout_among(
        [layout_of(rules, name) for name in LAYOUTS], length, rules, "an observation"
    )


def layout_among(layouts: Iterable[Layout], length: int, rules: Rules, what: str) -> Layout:
    """Returns the layout of a given length.

    Raises:
        NotationError: None of them has this length.
    """
    layouts = list(layouts)
    for layout in layouts:
        if layout.length == length:
            return layout
    lengths = " or ".join(f"{layout.length} ({layout.name})" for layout in layouts)
    raise NotationError(
        f"{what} of {length} values does not fit the rules {shown(rules.name)} for "
        f"{rules.players} players, which need {lengths} values"
    )


class Reader:
    """Reads the sections of one observation or state."""

    def __init__(self, values: NDArray[np.int64], rules: Rules, layout: Layout) -> None:
        self.players = rules.players
        self.pack: Pack = rules.pack
        self.layout = layout
        self.part = {name: values[place] for name, place in layout.slices().items()}

    def table(self) -> dict[str, Any]:
        """Returns the common content of observations and states, by name."""
        plays = self._plays()
        bids = self._bids()
        found = {
            "phase": PHASES[int(np.argmax(self.part["phase"]))],
            "players": self.players,
            "blind": bool(self._number("blind")),
            "turned": next(iter(self._cards("turned")), None),
            "trump": self._trump(),
            "leader": self._seat("leader"),
            "hand_size": self._number("hand_size"),
            "trick_number": self._number("trick_number"),
            "bids": bids,
            "bid_balance": self._number("bid_balance"),
            "tricks_won": self._by_seat("tricks_won"),
            "needed": self._known("needed", bids),
            "trick": self._trick(plays),
            "winning": self._winning(),
            "plays": plays,
            "voids": self._voids(),
            "scores": [self._pair("scores", seat) for seat in range(self.players)],
            "deal": self._pair("deal", 0),
            "deals_left": self._pair("deals_left", 0),
        }
        return found | self._further()

    def _further(self) -> dict[str, Any]:
        """Returns the content that only some layouts hold."""
        found: dict[str, Any] = {}
        if "trump_source" in self.part:
            found["trump_source"] = SOURCES[int(np.argmax(self.part["trump_source"]))]
        if "tie_values" in self.part:
            found["tie_values"] = self._wide_pairs("tie_values")[: self.players]
        if "extra_deals" in self.part:
            found["extra_deals"] = self._number("extra_deals")
        if "deals_ahead" in self.part:
            ahead = self.part["deals_ahead"].tolist()
            found["next_hand_sizes"] = [size for size in ahead[:NEXT_DEALS] if size]
            left = enumerate(ahead[NEXT_DEALS:], start=1)
            found["hand_sizes_left"] = {size: deals for size, deals in left if deals}
        return found

    def _number(self, name: str) -> int:
        part = self.part.get(name)
        return 0 if part is None else int(part[0])

    def _pair(self, name: str, index: int) -> int:
        high, low = self.part[name][2 * index : 2 * index + 2]
        return int(PAIR * high + low)

    def _wide_pairs(self, name: str) -> list[int]:
        return (self.part[name].reshape(-1, 2) @ (WIDE_PAIR, 1)).tolist()

    def _by_seat(self, name: str) -> list[int]:
        return self.part[name][: self.players].tolist()

    def _cards(self, name: str) -> list[str]:
        return [
            card_name(int(card), self.pack) for card in np.flatnonzero(self.part.get(name, [0]))
        ]

    def _cards_by_seat(self, name: str) -> list[list[str]]:
        hands = self.part[name].reshape(self.layout.seats, self.layout.card_width)
        return [
            [card_name(int(card), self.pack) for card in np.flatnonzero(hand)]
            for hand in hands[: self.players]
        ]

    def _seat(self, name: str) -> int | None:
        places = np.flatnonzero(self.part[name])
        return int(places[0]) if len(places) else None

    def _bids(self) -> list[int | None]:
        both = zip(self._by_seat("has_bid"), self._by_seat("bids"), strict=True)
        return [bid if known else None for known, bid in both]

    def _known(self, name: str, bids: list[int | None]) -> list[int | None]:
        values = self._by_seat(name)
        return [None if bid is None else v for v, bid in zip(values, bids, strict=True)]

    def _trump(self) -> str:
        shown = np.flatnonzero(self.part["trump"])
        names = (*(list(self.pack.suits) + ["?"] * 4)[: self.layout.suits], "NT")
        return names[int(shown[0])] if len(shown) else "?"

    def _plays(self) -> list[tuple[int, str]]:
        played = self.part["played"].reshape(self.layout.seats, self.layout.card_width)
        place = self.part["place"]
        seats, cards = np.nonzero(played)
        order = sorted(zip(seats.tolist(), cards.tolist(), strict=True), key=lambda p: place[p[1]])
        return [(seat, card_name(card, self.pack)) for seat, card in order]

    def _trick(self, plays: list[tuple[int, str]]) -> list[tuple[int, str]]:
        size = int(np.count_nonzero(self.part["trick"]))
        return plays[len(plays) - size :]

    def _winning(self) -> tuple[int, str] | None:
        cards = self._cards("winning_card")
        seat = self._seat("winning_seat")
        return (seat, cards[0]) if cards and seat is not None else None

    def _voids(self) -> list[list[str]]:
        voids = self.part["voids"].reshape(self.layout.seats, self.layout.suits)[: self.players]
        return [[self.pack.suits[suit] for suit in np.flatnonzero(row)] for row in voids]


class _View(Reader):
    """Reads an observation."""

    def view(self) -> dict[str, Any]:
        """Returns the whole content by name."""
        found = self.table() | {
            "hand": self._cards("hand"),
            "dealer": self._seat("dealer"),
            "open_cards": self._open_cards(),
        }
        if "points" in self.part:
            found["points"] = self._wide_pairs("points")[: self._number("hand_size") + 1]
        return found

    def _open_cards(self) -> dict[int, str]:
        holders = self.part.get("open_cards", np.zeros(0, np.int64))
        return {
            int(holders[card]): card_name(int(card), self.pack) for card in np.flatnonzero(holders)
        }


def section_table(rules: RulesLike, layout: str = "default") -> str:
    """Returns the section table as Markdown, with the meaning of each section."""
    return markdown_table(sections(rules, layout), SECTION_MEANINGS)


def markdown_table(table: list[tuple[str, int, int]], meanings: Mapping[str, str]) -> str:
    """Returns a section table as Markdown."""
    lines = ["| section | start | length | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {start} | {length} | {meanings[name]} |" for name, start, length in table
    ]
    return "\n".join(lines)


def rule_features_table() -> str:
    """Returns the section ``rules`` of the universal layout as a Markdown table."""
    lines = ["| setting | start | length | meaning |", "|---|---|---|---|"]
    start = 0
    for feature in RULE_FEATURES:
        reserved = feature.setting.startswith("(")
        setting = feature.setting if reserved else f"`{feature.setting}`"
        lines.append(f"| {setting} | {start} | {feature.length} | {feature.meaning} |")
        start += feature.length
    spare = RULE_FEATURES_WIDTH - start
    lines.append(f"| (further settings) | {start} | {spare} | reserved |")
    return "\n".join(lines)


assert NO_TRUMP == 4 and MAX_HAND_SIZE == 26, "the universal layout assumes both"
