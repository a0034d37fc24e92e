"""Hints in words: the best choice, how much better it is, and which choices are level with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ohhell_agents.explanation import POINTS, TRIES, WINS
from ohhell_env.cards import SPANISH_SUITS, STANDARD_SUITS, Pack
from ohhell_env.records.thoughts import Thought
from ohhell_env.rules.phrases import enumerate_words, suit_word

STEP = 0.01
"""Share of the price, or of the win: smaller differences count as level where a player gives no
standard error."""
_ERRORS = 2.0
"""Standard errors up to which a difference is within the noise."""
_TIE, _MARK = 1e-9, 1e-8
"""A difference between the two is a mark, not a tie: ``ohhell_agents.value.cards`` puts a card that
is less safe for the bid just behind the safest one, whatever it is worth on average."""
_MOST_NAMED = 3
"""Cards that a sentence names in words; of more cards it lists the codes."""
_RANKS = {
    STANDARD_SUITS: {"A": "ace", "K": "king", "Q": "queen", "J": "jack", "T": "10"},
    SPANISH_SUITS: {"A": "ace", "K": "king", "C": "knight", "S": "jack"},
}


def card_words(name: str, pack: Pack) -> str:
    """Returns a card in words; a card of an unusual pack keeps its code.

    >>> card_words("QS", Pack()), card_words("TH", Pack())
    ('the queen of spades', 'the 10 of hearts')
    """
    for suits, ranks in _RANKS.items():
        if set(pack.suits) <= set(suits):
            return f"the {ranks.get(name[0], name[0])} of {suit_word(name[1], pack)}"
    return name


@dataclass(frozen=True)
class _Row:
    """A choice that is not the best one."""

    name: str
    behind: float
    """0 or more, in the unit of the hint."""
    error: float | None


def hint_words(thought: Thought, pack: Pack, price: float) -> str:
    """Returns a hint in a few sentences.

    Args:
        thought: The adviser's thought on the decision.
        pack: The pack of the rules.
        price: What missing a usual bid by one trick costs, in points.
    """
    chosen, unit, notes = thought["chosen"], thought["unit"], thought["notes"]
    others = [row for row in thought["rows"] if row[0] != chosen]
    equal = [row[0] for row in others if row[4] == chosen]
    others = [row for row in others if row[0] not in equal]
    rest = [_Row(row[0], -row[1], row[2]) for row in others if row[1] is not None]
    skipped = [row[0] for row in others if row[1] is None]
    words = _Words(chosen, unit, pack, bool(skipped))
    if not others and not equal:
        return f"{words.advice}: it is your only choice."
    said_equal = [f"{words.subject(equal)} exactly as good."] if equal else []
    if skipped and not rest:
        return " ".join([f"{words.advice}.", *said_equal, *map(_sentence, notes)])
    least = {WINS: STEP, TRIES: 0.0}.get(unit, STEP * price)
    risky = [row for row in rest if row.error is None and _TIE < row.behind < _MARK]
    rest = [row for row in rest if row not in risky]
    level = [row for row in rest if row.behind <= max(_ERRORS * (row.error or 0.0), least)]
    worse = sorted((row for row in rest if row not in level), key=lambda row: row.behind)
    said = words.of_level(level, least) if level or not worse else words.of_next(worse.pop(0))
    said += words.of_worse(worse)
    said += said_equal
    said += (
        [f"{words.subject([row.name for row in risky])} less safe for your bid."] if risky else []
    )
    said += [f"Not compared: {', '.join(map(words.short, skipped))}."] if skipped else []
    said += [_sentence(note) for note in notes if "certain" in note]
    said += [] if unit in (POINTS, WINS, TRIES) else [f"Differences are in {unit}."]
    return " ".join(said)


class _Words:
    """Puts the rows of one hint into words.

    Args:
        chosen: The best choice, as the thought names it.
        unit: What differences are counted in.
        pack: The pack of the rules.
        partly: Whether the adviser left choices out of the comparison.
    """

    def __init__(self, chosen: str, unit: str, pack: Pack, partly: bool) -> None:
        self._unit, self._pack = unit, pack
        self._bids = chosen.startswith("bid ")
        self._others = "The other" if partly else "All other"
        self.advice = chosen.capitalize() if self._bids else f"Play {self._named(chosen)}"
        if not self._bids and self._named(chosen) != chosen:
            self.advice += f" ({chosen})"

    def _named(self, name: str) -> str:
        return self.short(name) if self._bids else card_words(name, self._pack)

    def short(self, name: str) -> str:
        """Returns a bid as a number, a card as its code."""
        return name.removeprefix("bid ")

    def subject(self, names: Sequence[str]) -> str:
        """Returns choices as the subject of a sentence, with its verb: "A bid of 3 is"."""
        verb = "is" if len(names) == 1 else "are"
        if self._bids:
            numbers = enumerate_words([self.short(name) for name in names])
            return f"{'A bid' if len(names) == 1 else 'Bids'} of {numbers} {verb}"
        if len(names) > _MOST_NAMED:
            return f"{len(names)} cards ({', '.join(names)}) {verb}"
        named = enumerate_words([self._named(name) for name in names])
        return f"{named[0].upper()}{named[1:]} {verb}"

    def of_level(self, level: Sequence[_Row], least: float) -> list[str]:
        """Returns the advice, and the choices that are level with it.

        Args:
            level: These choices.
            least: Differences up to this one count as level without a standard error.
        """
        said = [f"{self.advice}."]
        if level:
            noisy = any(row.error for row in level)
            limit = "within the noise" if noisy else f"at most {self._amount(least)}"
            differs = "difference is" if len(level) == 1 else "differences are"
            end = "" if self._unit == TRIES else f": the {differs} {limit}"
            said.append(f"{self.subject([row.name for row in level])} level with it{end}.")
        return said

    def of_next(self, row: _Row) -> list[str]:
        """Returns the advice, and how much better it is than the next best choice."""
        if self._unit == TRIES:
            how = f"the search gave it {self._amount(row.behind, 'more ')} than"
        else:
            how = f"about {self._amount(row.behind)} better than"
        return [f"{self.advice}: {how} {self._named(row.name)}."]

    def of_worse(self, worse: Sequence[_Row]) -> list[str]:
        """Returns how much all other choices cost; they are sorted, the best first."""
        if not worse:
            return []
        amount = self._amount(worse[0].behind)
        if len(worse) == 1:
            subject, cost, lag, least = self.subject([worse[0].name])[:-3], "costs about", "is", ""
        else:
            subject = f"{self._others} {'bids' if self._bids else 'cards'}"
            cost, lag, least = "cost at least", "are", "at least "
        if self._unit == TRIES:
            return [f"{subject} {lag} {least}{amount} behind."]
        return [f"{subject} {cost} {amount}."]

    def _amount(self, number: float, more: str = "") -> str:
        """Returns a difference with its unit; ``more`` stands between the two."""
        if self._unit == WINS:
            return f"{_rounded(100 * number)}% of the win"
        if self._unit == TRIES:
            return f"{number:.0f} {more}{'try' if round(number) == 1 else 'tries'}"
        text = _rounded(number)
        return f"{text} {'point' if text == '1' else 'points'}"


def _rounded(number: float) -> str:
    """Returns a number with two digits that matter, no more than people can use."""
    digits = 0 if number >= 9.5 else 1 if number >= 0.095 else 2
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."
