"""A game as readable text, and back: hands, bids, one line for each trick, points and scores.

::

    Oh Hell record 1
    Variant: up_and_down_the_river, 3 players
    Seed: 12
    Episode: deal

    Deal 11: hand size 2, dealer 2
      Seat 0: 2D 6S
      Seat 1: 7D 9H
      Seat 2: 9C 3D
      Turned: 4D, trump D
      Bids: 0:1 1:1 2:2
      Trick 1: 0:2D 1:7D* 2:3D
      Trick 2: 1:9H* 2:9C 0:6S
      Points: 0 2 0
      Scores: 0 2 0

    Win shares: 0.0 1.0 0.0
    Settlement: 0.0 0.0 0.0

A play is SEAT:CARD, and "*" marks the card that wins the trick. If the rules differ from the
variant, a line "Rules: {...}" holds the differences as JSON. "-" means nothing: no card turned, no
bid yet, or no known seed. Winners and scores follow from the rest; ``parse_game`` checks them like
everything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ohhell_env.cards import Pack, card_name, parse_card, plain_name
from ohhell_env.errors import NotationError, RulesError, nearest, shown
from ohhell_env.records.record import FORMAT, MARK, VERSION, Record, is_object, read_json
from ohhell_env.records.replay import Checked, Place, ReplayError, check
from ohhell_env.rules import Rules
from ohhell_env.rules.variants import VARIANTS

TITLE = f"Oh Hell record {VERSION}"
_NOTHING = "-"
"""Marks an empty list, no turned card, or an unknown seed."""


def format_game(record: Record) -> str:
    """Returns a game as text, from which ``parse_game`` restores the same record.

    Raises:
        NotationError: The record is not a legal game; see ``replay``.
    """
    return format_checked(check(record))


def format_checked(checked: Checked) -> str:
    """Returns the text of a game that was already replayed."""
    record = checked.game.record()
    lines = [*_header(record)]
    scores = iter(checked.scores)
    for deal, winners in zip(record["deals"], checked.winners, strict=True):
        lines += ["", *_deal_lines(deal, winners, scores)]
    if checked.game.over:
        lines += ["", *_result(record)]
    return "\n".join(lines) + "\n"


def _header(record: Record) -> Iterator[str]:
    rules = record["rules"]
    base = _base(rules["name"], rules["players"])
    changes = _changes(base.to_dict(), rules)
    yield TITLE
    yield f"Variant: {base.name}, {base.players} players"
    if changes:
        yield f"Rules: {json.dumps(changes)}"
    yield f"Seed: {_NOTHING if record['seed'] is None else record['seed']}"
    yield f"Episode: {record['episode']}"


def _base(name: str, players: int) -> Rules:
    """Returns the rules to which a text lists the differences."""
    if name in VARIANTS:
        try:
            return Rules.preset(name, players)
        except RulesError:  # a variant for fewer players, changed to fit
            pass
    return Rules(players=players)


def _changes(base: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings of ``rules`` that differ from ``base``, nested as before."""
    changes: dict[str, Any] = {}
    for key, value in rules.items():
        old = base[key]
        if is_object(value) and is_object(old):
            if inner := _changes(old, value):
                changes[key] = inner
        elif value != old or type(value) is not type(old):
            changes[key] = value
    return changes


def _deal_lines(
    deal: dict[str, Any], winners: list[int], scores: Iterator[list[int]]
) -> Iterator[str]:
    blind = ", blind" if deal["blind"] else ""
    yield f"Deal {deal['deal'] + 1}: hand size {deal['hand_size']}, dealer {deal['dealer']}{blind}"
    for seat, hand in enumerate(deal["hands"]):
        yield f"  Seat {seat}: {' '.join(hand)}"
    yield f"  Turned: {deal['turned'] or _NOTHING}, trump {deal['trump'] or 'NT'}"
    yield f"  Bids: {' '.join(f'{seat}:{bid}' for seat, bid in deal['bids']) or _NOTHING}"
    for number, trick in enumerate(deal["tricks"]):
        winner = winners[number] if number < len(winners) else None
        cards = [f"{seat}:{card}{'*' if seat == winner else ''}" for seat, card in trick]
        yield f"  Trick {number + 1}: {' '.join(cards)}"
    if deal["points"] is not None:
        yield f"  Points: {_numbers(deal['points'])}"
        yield f"  Scores: {_numbers(next(scores))}"


def _result(record: Record) -> Iterator[str]:
    yield f"Win shares: {_numbers(record['win_shares'])}"
    yield f"Settlement: {_numbers(record['settlement'])}"


def _numbers(values: list[Any]) -> str:
    return " ".join(str(value) for value in values)


# ----------------------------------------------------------------------------------- reading


def parse_game(text: str) -> Record:
    """Reads the record of a game from text.

    Blank lines, indentation and the space between words do not matter; lines that begin with ``#``
    are comments.

    Raises:
        NotationError: The text is not a game, or the game is not legal; the message names the
            line.
    """
    reader = _Reader(text.removeprefix(MARK))
    record = _read_game(reader)
    try:
        checked = check(record)
    except ReplayError as error:
        raise NotationError(f"line {reader.line_of(error.place)}: {error}") from None
    _compare(reader, format_checked(checked), checked.game.rules.pack)
    return checked.game.record()


class _Reader:
    """The lines of a text, read one by one."""

    def __init__(self, text: str) -> None:
        lines = ((number, line.split()) for number, line in enumerate(text.splitlines(), start=1))
        self.lines = [(n, words) for n, words in lines if words and not words[0].startswith("#")]
        self.next = 0
        self.starts: dict[Place, int] = {Place(): 1}

    @property
    def number(self) -> int:
        """Number of the next line, or of the last one at the end."""
        last = self.lines[-1][0] if self.lines else 1
        return self.lines[self.next][0] if self.next < len(self.lines) else last

    def peek(self, label: str) -> bool:
        """Returns whether the next line begins with a label."""
        if self.next == len(self.lines):
            return False
        return " ".join(self.lines[self.next][1]).startswith(label)

    def take(self, label: str, place: Place) -> str:
        """Returns the text after the label on the next line."""
        if not self.peek(label):
            raise self.wrong(f"expected a line {label + ' ...'!r}", self.next == len(self.lines))
        self.starts.setdefault(place, self.number)
        line = " ".join(self.lines[self.next][1])
        self.next += 1
        return line.removeprefix(label).strip()

    def wrong(self, problem: str, at_end: bool = False) -> NotationError:
        """Returns the error for the next line."""
        if at_end:
            return NotationError(f"line {self.number}: the text is incomplete: {problem}")
        line = " ".join(self.lines[self.next][1])
        shown = line if len(line) <= 60 else f"{line[:57]}..."
        return NotationError(f"line {self.number}: {problem}, got {shown!r}")

    def back(self, problem: str) -> NotationError:
        """Returns the error for the last line read."""
        self.next -= 1
        return self.wrong(problem)

    def line_of(self, place: Place) -> int:
        """Returns the line of a place in the record, or the nearest known line above it."""
        part = {"trump": "turned"}.get(place.part, place.part)
        tries = [
            place,
            place._replace(seat=None),
            Place(place.deal, "bids" if part.startswith("bid") else part, place.trick),
            Place(place.deal),
            Place(None, place.part),
        ]
        found = (self.starts[known] for known in tries if known in self.starts)
        return next(found, self.lines[-1][0] if self.lines else 1)


def _read_game(reader: _Reader) -> Record:
    reader.take(TITLE, Place())
    rules = _read_rules(reader)
    word = reader.take("Seed:", Place(None, "seed"))
    seed = None if word == _NOTHING else _whole(reader, word)
    episode = reader.take("Episode:", Place(None, "episode"))
    record: Record = {
        "format": FORMAT,
        "version": VERSION,
        "rules": rules.to_dict(),
        "seed": seed,
        "episode": episode,
        "deals": [],
        "scores": [0] * rules.players,
        "win_shares": None,
        "settlement": None,
    }
    while reader.peek("Deal "):
        _read_deal(reader, rules, record)
    if reader.peek("Win shares:"):
        for key, label in (("win_shares", "Win shares:"), ("settlement", "Settlement:")):
            words = reader.take(label, Place(None, key)).split()
            record[key] = [_amount(reader, word) for word in words]
    if reader.next < len(reader.lines):
        raise reader.wrong("unexpected line")
    return record


def _read_rules(reader: _Reader) -> Rules:
    said = reader.take("Variant:", Place(None, "rules"))
    match = re.fullmatch(r"(\w+), ([0-9]) players", said)
    if not match:
        raise reader.back("expected 'Variant: NAME, N players'")
    name, players = match[1], int(match[2])
    if name != "custom" and name not in VARIANTS:
        raise reader.back(f"unknown variant {shown(name)}: {nearest(name, ['custom', *VARIANTS])}")
    try:
        base = Rules(players=players) if name == "custom" else Rules.preset(name, players)
        if not reader.peek("Rules:"):
            return base
        changes = read_json(reader.take("Rules:", Place(None, "rules")))
        if is_object(changes):
            return Rules.from_dict(_merged(base.to_dict(), changes))
    except (NotationError, RulesError) as error:
        raise reader.back(str(error)) from None
    raise reader.back("expected settings by name in JSON")


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        old = base.get(key)
        merged[key] = _merged(old, value) if is_object(old) and is_object(value) else value
    return merged


def _read_deal(reader: _Reader, rules: Rules, record: Record) -> None:
    place = Place(len(record["deals"]))
    head = r"([0-9]+): hand size ([0-9]+), dealer ([0-9])(, blind)?"
    match = re.fullmatch(head, reader.take("Deal ", place))
    if not match:
        raise reader.back("expected 'Deal N: hand size H, dealer SEAT'")
    deal: dict[str, Any] = {
        "deal": _whole(reader, match[1]) - 1,
        "dealer": int(match[3]),
        "hand_size": _whole(reader, match[2]),
        "blind": match[4] is not None,
        "hands": [
            reader.take(f"Seat {seat}:", place._replace(part="hands", seat=seat)).split()
            for seat in range(rules.players)
        ],
    }
    deal |= _read_trump(reader, place)
    bids = reader.take("Bids:", place._replace(part="bids"))
    pairs = [] if bids == _NOTHING else [_pair(reader, word) for word in bids.split()]
    deal["bids"] = [[seat, _whole(reader, bid)] for seat, bid in pairs]
    deal["tricks"] = list(_read_tricks(reader, place, rules))
    deal["points"] = None
    if reader.peek("Points:"):
        deal["points"] = _read_numbers(reader, "Points:", place._replace(part="points"))
        reader.starts[Place(None, "scores")] = reader.number
        record["scores"] = _read_numbers(reader, "Scores:", place._replace(part="scores"))
    record["deals"].append(deal)


def _read_trump(reader: _Reader, place: Place) -> dict[str, Any]:
    said = reader.take("Turned:", place._replace(part="turned"))
    match = re.fullmatch(r"(\S+), trump (\S+)", said)
    if not match:
        raise reader.back("expected 'Turned: CARD, trump SUIT'")
    turned, trump = match[1], match[2]
    return {
        "turned": None if turned == _NOTHING else turned,
        "trump": None if trump == "NT" else trump,
    }


def _read_tricks(reader: _Reader, place: Place, rules: Rules) -> Iterator[list[list[Any]]]:
    number = 0
    while reader.peek("Trick "):
        cards = reader.take(f"Trick {number + 1}:", place._replace(trick=number))
        pairs = [_pair(reader, word.removesuffix("*")) for word in cards.split()]
        yield [[seat, _card(reader, rules, name)] for seat, name in pairs]
        number += 1


def _card(reader: _Reader, rules: Rules, name: str) -> str:
    try:
        return card_name(parse_card(name, rules.pack), rules.pack)
    except NotationError as error:
        raise reader.back(str(error)) from None


def _read_numbers(reader: _Reader, label: str, place: Place) -> list[int]:
    return [_whole(reader, word) for word in reader.take(label, place).split()]


def _pair(reader: _Reader, word: str) -> tuple[int, str]:
    match = re.fullmatch(r"([0-9]):(\S+)", word)
    if not match:
        raise reader.back(f"{shown(word)} is not SEAT:BID or SEAT:CARD")
    return int(match[1]), match[2]


def _whole(reader: _Reader, word: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,20}", word):
        raise reader.back(f"{shown(word)} is not a whole number")
    return int(word)


def _amount(reader: _Reader, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise reader.back(f"{shown(word)} is not a number") from None


def _compare(reader: _Reader, text: str, pack: Pack) -> None:
    """Compares the lines read, word for word, with the text of the replayed game."""
    wanted = [line.split() for line in text.splitlines() if line.strip()]
    for (number, written), right in zip(reader.lines, wanted, strict=False):
        words = [_plain_word(word, pack) for word in written] if written != right else right
        hand = words[0] == right[0] == "Seat"  # its cards may be in any order
        if words != right and not (hand and sorted(words) == sorted(right)):
            raise NotationError(
                f"line {number}: expected {' '.join(right)!r}, got {shown(' '.join(written))}"
            )


def _plain_word(word: str, pack: Pack) -> str:
    """Returns a word with any card in it named as ``card_name`` does."""
    match = re.fullmatch(r"([0-9]:)?(.+?)([*,]?)", word)
    return word if match is None else f"{match[1] or ''}{plain_name(match[2], pack)}{match[3]}"
