"""Phrases for texts about rules: hand sizes, deals, suits, points, changed settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, cast

from ohhell_env.cards import SPANISH_SUITS, STANDARD_SUITS, Pack
from ohhell_env.rules.axes import SCORINGS, NilScore, Scoring
from ohhell_env.rules.rules import Rules

_LONG_RUN = 6
"""Runs of hand sizes of at least this length are written with dots."""
_SUIT_WORDS = {
    STANDARD_SUITS: ("clubs", "diamonds", "hearts", "spades"),
    SPANISH_SUITS: ("coins", "cups", "swords", "clubs"),
}


def count(number: int, noun: str) -> str:
    """Returns a number with its noun in the singular or plural.

    >>> count(1, "deal"), count(19, "deal")
    ('1 deal', '19 deals')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def hand(hand_size: int) -> str:
    """Returns a hand size as a phrase: "5 cards each"."""
    return f"{count(hand_size, 'card')} each"


def enumerate_words(words: Sequence[str], last: str = " and ") -> str:
    """Joins words into a list for a sentence.

    >>> enumerate_words(["clubs", "hearts", "spades"])
    'clubs, hearts and spades'
    """
    return last.join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def deal_list(deals: Iterable[int]) -> str:
    """Returns ascending deal numbers as a phrase.

    >>> deal_list([1]), deal_list([1, 19]), deal_list([1, 2, 3, 4, 7])
    ('Deal 1', 'Deals 1 and 19', 'Deals 1 to 4 and 7')
    """
    numbers = list(deals)
    runs: list[str] = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        if len(members) > 2:
            runs.append(f"{members[0]} to {members[-1]}")
        else:
            runs.extend(map(str, members))
    return f"{'Deal' if len(numbers) == 1 else 'Deals'} {enumerate_words(runs)}"


def compact(sizes: Iterable[int]) -> str:
    """Returns hand sizes in short form: dots for long runs, "size x deals" for repeats.

    >>> compact([7, 6, 5, 4, 3, 2, 1, 2, 3]), compact([1, 1, 1, 2, 3, 3])
    ('7 6 5 ... 1 2 3', '1x3 2 3x2')
    """
    groups = [(size, len(list(same))) for size, same in groupby(sizes)]
    words: list[str] = []
    while groups:
        length = _run_length(groups)
        names = [f"{size}x{times}" if times > 1 else str(size) for size, times in groups[:length]]
        words += [*names[:3], "...", names[-1]] if length >= _LONG_RUN else names
        groups = groups[length:]
    return " ".join(words)


def _run_length(groups: list[tuple[int, int]]) -> int:
    """Counts the leading (size, times) pairs with equal steps and equal times."""
    length = 1
    while length < len(groups):
        step = groups[length][0] - groups[length - 1][0]
        if groups[length][1] != groups[0][1] or step != groups[1][0] - groups[0][0]:
            break
        length += 1
    return length


def suit_word(suit: str, pack: Pack) -> str:
    """Returns the name of a suit letter ("NT": no trumps); a custom letter is its own name.

    >>> suit_word("H", Pack()), suit_word("NT", Pack())
    ('hearts', 'no trumps')
    """
    if suit == "NT":
        return "no trumps"
    for letters, words in _SUIT_WORDS.items():
        if set(pack.suits) <= set(letters):
            return words[letters.index(suit)]
    return suit


def ranks_removed(pack: Pack) -> list[str]:
    """Returns the ranks that are removed from the pack in every suit."""
    return [rank for rank in pack.ranks if all(rank + suit in pack.removed for suit in pack.suits)]


def removed_words(pack: Pack) -> str:
    """Returns the cards removed from a pack as a phrase; whole ranks are abbreviated.

    >>> removed_words(Pack(removed=("2C",))), removed_words(Pack(("H", "S"), removed=("2H", "2S")))
    ('2C', 'every 2')
    """
    whole = ranks_removed(pack)
    single = [name for name in pack.removed if name[0] not in whole]
    every = [f"every {enumerate_words(whole)}"] if whole else []
    return enumerate_words([*every, *single])


def scoring_name(scoring: Scoring) -> str | None:
    """Returns the name of a scoring in the settings, or None if it has none."""
    return next((name for name, named in SCORINGS.items() if named == scoring), None)


def made_words(scoring: Scoring) -> str:
    """Returns what a made bid scores, including the verb.

    >>> made_words(SCORINGS["common"])
    'scores 10 points plus 1 for each trick won'
    """
    return _sum(
        (scoring.exact_bonus, ""),
        (scoring.exact_per_trick, " for each trick won"),
        (scoring.exact_per_trick_sq, f"{_SQUARE} tricks won"),
    )


def missed_words(scoring: Scoring) -> str:
    """Returns what a missed bid scores or loses, including the verb.

    >>> missed_words(SCORINGS["pocha"])
    'loses 5 points for each trick over or under the bid'
    """
    tri = scoring.miss_per_diff_tri
    steps = f" for the first trick over or under the bid, {abs(2 * tri)} for the second and so on"
    return _sum(
        (-scoring.miss_constant, ""),
        (scoring.miss_per_trick, " for each trick won"),
        (-scoring.miss_per_diff, " for each trick over or under the bid"),
        (-scoring.miss_per_diff_sq, f"{_SQUARE} tricks over or under the bid"),
        (-tri, steps),
    )


def nil_words(score: NilScore) -> str:
    """Returns what a nil scores or loses, including the verb.

    >>> nil_words(NilScore(5, 1))
    'scores 5 points plus 1 for each card of the hand'
    """
    return _sum((score.base, ""), (score.per_card, " for each card of the hand"))


_SQUARE = " times the square of the number of"


def _sum(*terms: tuple[int, str]) -> str:
    """Puts a sum of (number, unit) into words; a bid that only costs points "loses" them."""
    used = [(value, unit) for value, unit in terms if value]
    if not used:
        return "scores nothing"
    sign = 1 if any(value > 0 for value, _ in used) else -1
    used.sort(
        key=lambda term: term[0] * sign < 0
    )  # "scores 1 minus 2", not "scores minus 2 plus 1"
    (value, unit), *others = used
    points = "" if unit.startswith(_SQUARE) else " point" if abs(value) == 1 else " points"
    words = [f"{'scores' if sign > 0 else 'loses'} {_term(abs(value), points + unit)}"]
    for value, unit in others:
        words.append(f"{'plus' if value * sign > 0 else 'minus'} {_term(abs(value), unit)}")
    return " ".join(words)


def _term(number: int, unit: str) -> str:
    if number == 1 and unit.startswith(_SQUARE):
        return unit.removeprefix(" times ")
    return f"{number}{unit}"


def changes(rules: Rules, base: Rules) -> dict[str, Any]:
    """Returns the settings in which rules differ from ``base``, by dotted name, as plain data.

    >>> changes(Rules(players=5), Rules())
    {'players': 5}
    """
    found = _changes(rules.to_dict(), base.to_dict(), "")
    found.pop("name", None)
    name = scoring_name(rules.scoring)
    if rules.scoring != base.scoring and name is not None:
        found = {key: value for key, value in found.items() if not key.startswith("scoring.")}
        found["scoring"] = name
    return found


def _changes(values: dict[str, Any], base: dict[str, Any], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        other = base[key]
        if isinstance(value, dict) and isinstance(other, dict):
            parts, other_parts = cast(dict[str, Any], value), cast(dict[str, Any], other)
            found |= _changes(parts, other_parts, f"{prefix}{key}.")
        elif value != other:
            found[prefix + key] = value
    return found
