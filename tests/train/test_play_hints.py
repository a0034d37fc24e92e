"""``ohhell_train.play.hints``: what an adviser thinks, in a few sentences."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ohhell_env import Game, Rules
from ohhell_env.cards import SPANISH_RANKS, SPANISH_SUITS, Pack
from ohhell_train.play.advice import Adviser
from ohhell_train.play.hints import card_words, hint_words

PACK = Pack()
PRICE = 10.0


def words(
    chosen: str, *rows: list[Any], unit: str = "points", notes: list[str] | None = None
) -> str:
    thought = {"chosen": chosen, "unit": unit, "rows": list(rows), "notes": notes or []}
    return hint_words(thought, PACK, PRICE)


def row(
    name: str, behind: float | None, error: float | None = None, same: str | None = None
) -> Any:
    return [name, None if behind is None else -behind, error, 0, same]


def test_a_clear_best_bid() -> None:
    assert words("bid 2", row("bid 2", 0.0), row("bid 3", 0.71), row("bid 1", 1.93)) == (
        "Bid 2: about 0.7 points better than 3. A bid of 1 costs about 1.9 points."
    )
    rows = [row("bid 2", 0.0), row("bid 3", 1.0), row("bid 0", 16.3), row("bid 1", 1.9)]
    assert words("bid 2", *rows) == (
        "Bid 2: about 1 point better than 3. All other bids cost at least 1.9 points."
    )


def test_a_clear_best_card() -> None:
    rows = [row("QS", 0.0), row("7D", 0.3), row("2C", 0.9), row("TC", 4.0)]
    assert words("QS", *rows) == (
        "Play the queen of spades (QS): about 0.3 points better than the 7 of diamonds. "
        "All other cards cost at least 0.9 points."
    )
    assert words("QS", row("QS", 0.0)) == ("Play the queen of spades (QS): it is your only choice.")


def test_choices_within_the_noise_are_level() -> None:
    rows = [row("bid 2", 0.0), row("bid 3", 0.4, 0.3), row("bid 1", 1.9, 0.5)]
    assert words("bid 2", *rows) == (
        "Bid 2. A bid of 3 is level with it: the difference is within the noise. "
        "A bid of 1 costs about 1.9 points."
    )
    rows = [row("QS", 0.0), row("7D", 0.0), row("2C", 0.08), row("3C", 0.5), row("4C", 0.6)]
    assert words("QS", *rows) == (
        "Play the queen of spades (QS). The 7 of diamonds and the 2 of clubs are level with it: "
        "the differences are at most 0.1 points. All other cards cost at least 0.5 points."
    )
    many = [row(name, 0.01) for name in ("7D", "8D", "9D", "TD")]
    assert "4 cards (7D, 8D, 9D, TD) are level with it" in words("QS", row("QS", 0.0), *many)


def test_equal_skipped_and_unsafe_cards() -> None:
    rows = [row("QS", 0.0), row("KS", 0.0, None, "QS"), row("7D", 2.0), row("8D", None)]
    assert words("QS", *rows) == (
        "Play the queen of spades (QS): about 2 points better than the 7 of diamonds. "
        "The king of spades is exactly as good. Not compared: 8D."
    )
    rows = [row("QS", 0.0), row("KS", None, None, "QS")]
    assert words("QS", *rows, notes=["there is no other choice"]) == (
        "Play the queen of spades (QS). The king of spades is exactly as good."
    )
    assert words("QS", row("QS", 0.0), row("7D", 2e-9), row("8D", 3.0)) == (
        "Play the queen of spades (QS): about 3 points better than the 8 of diamonds. "
        "The 7 of diamonds is less safe for your bid."
    )


def test_what_is_certain_and_what_cannot_be_explained() -> None:
    certain = "at least 2 tricks for certain: no lower bid"
    rows = [row("bid 2", 0.0), row("bid 3", 4.0), row("bid 1", None)]
    assert words("bid 2", *rows, notes=[certain, "points expected: 3"]) == (
        "Bid 2: about 4 points better than 3. Not compared: 1. "
        "At least 2 tricks for certain: no lower bid."
    )
    rows = [row("bid 2", None), row("bid 3", None)]
    assert words("bid 2", *rows, notes=["random bids, and cannot say what it thinks"]) == (
        "Bid 2. Random bids, and cannot say what it thinks."
    )


def test_other_units() -> None:
    rows = [row("QS", 0.0), row("7D", 40.0), row("8D", 61.0), row("9D", 90.0)]
    assert words("QS", *rows, unit="tries") == (
        "Play the queen of spades (QS): the search gave it 40 more tries than the 7 of diamonds. "
        "All other cards are at least 61 tries behind."
    )
    rows = [row("bid 1", 0.0), row("bid 2", 0.03), row("bid 0", 0.104)]
    assert words("bid 1", *rows, unit="share of the win") == (
        "Bid 1: about 3% of the win better than 2. A bid of 0 costs about 10% of the win."
    )
    unit = "points less 0.25 of the others' mean"
    assert words("bid 1", *rows, unit=unit).endswith(f" Differences are in {unit}.")


def test_cards_in_words() -> None:
    assert card_words("TH", PACK) == "the 10 of hearts"
    spanish = Pack(SPANISH_SUITS, SPANISH_RANKS)
    assert card_words("SO", spanish) == "the jack of coins"
    assert card_words("3B", spanish) == "the 3 of clubs"
    assert card_words("AX", Pack(("X", "Y"), ("K", "A"))) == "AX"


@pytest.mark.parametrize("adviser", ["heuristic", "zoo:universal", "search:worlds=4"])
@pytest.mark.parametrize("name", ["oh_hell", "pocha"])
def test_hints_of_real_players_name_the_action_and_true_numbers(adviser: str, name: str) -> None:
    rules, chance = Rules.preset(name, 3), random.Random(name)
    game = Game(rules, 5, "deal", 5)
    advisers = [Adviser(adviser, rules, seat, 1, 5) for seat in range(3)]
    while not game.over:
        hints = advisers[game.seat]
        advice = hints.advise(hints.observation(game))
        chosen = advice.thought["chosen"]
        start = chosen.capitalize() if chosen.startswith("bid") else "Play the "
        assert advice.words.startswith(start) and advice.words.endswith(".")
        assert chosen.startswith("bid") or f"({chosen})" in advice.words
        assert "\n" not in advice.words and len(advice.words) < 500
        assert advice.text == f"{advice.words}\n\n{advice.numbers}"
        game.apply(chance.choice(game.legal_actions()))
