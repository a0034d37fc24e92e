"""Cards as people write them: one reader for every door."""

from __future__ import annotations

import doctest

import pytest

from ohhell_env import actions, cards, oh_hell_v0
from ohhell_env.cards import (
    SPANISH_RANKS,
    SPANISH_SUITS,
    STANDARD_PACK,
    Pack,
    card_name,
    parse_card,
    plain_name,
)
from ohhell_env.errors import NotationError, RulesError
from ohhell_env.game import Game
from ohhell_env.rules import Rules

SPANISH = Pack(SPANISH_SUITS, SPANISH_RANKS)
SYMBOLS = {"C": "♣♧", "D": "♦♢", "H": "♥♡", "S": "♠♤"}


def spellings(name: str) -> list[str]:
    """Every way to write a card of the standard pack."""
    rank, suit = name
    ranks = [rank, rank.lower(), *(["10"] if rank == "T" else [])]
    suits = [
        suit,
        suit.lower(),
        *SYMBOLS[suit],
        *(s + "\N{VARIATION SELECTOR-16}" for s in SYMBOLS[suit]),
    ]
    written = [r + s for r in ranks for s in suits]
    return [*written, *(f" {each}\n" for each in written)]


@pytest.mark.parametrize("card", STANDARD_PACK.cards)
def test_every_spelling_of_every_card_is_read(card: int) -> None:
    name = card_name(card)
    for text in spellings(name):
        assert parse_card(text) == card, text
        assert oh_hell_v0.card_action(text) == card, text
        assert plain_name(text) == name, text


NO_CARDS = [
    *(
        "",
        "10",
        "H10",
        "HT",
        "♥T",
        "♥",
        "1H",
        "0H",
        "11H",
        "100H",
        "10HH",
        "T H",
        "10 H",
        "TX",
        "TH.",
    ),
    *(
        "t\N{LATIN SMALL LETTER LONG S}",
        "\N{FULLWIDTH DIGIT TWO}H",
        "T🂡",
        "ten of hearts",
        None,
        34,
    ),
]


@pytest.mark.parametrize("text", NO_CARDS)
def test_what_is_no_card_is_refused_with_what_is_allowed(text: object) -> None:
    with pytest.raises(NotationError, match=r"write a rank \(23456789TJQKA\) and a suit \(CDHS\)"):
        parse_card(text)  # type: ignore[arg-type]


def test_a_pack_that_has_no_such_card_refuses_it() -> None:
    """The Spanish C is a suit of cups, and its sota is written S, although it bears a 10."""
    for text in ("2♣", "A♥", "10O", "TO", "10C"):
        with pytest.raises(NotationError, match=r"\(OCEB\)"):
            parse_card(text, SPANISH)
    assert card_name(parse_card("co", SPANISH), SPANISH) == "CO"
    hearts = Pack(("H", "S"), ("Q", "K", "A"))
    assert parse_card("q♠", hearts) == parse_card("QS", hearts)
    for text in ("10H", "2♥", "Q♣"):
        with pytest.raises(NotationError, match=r"\(QKA\) and a suit \(HS\)"):
            parse_card(text, hearts)


def test_the_first_deal_may_be_given_in_any_spelling() -> None:
    rules = Rules(players=2).replace(schedule={"shape": "explicit", "sizes": [2]})
    game = Game(rules)
    game.reset(hands=[["10H", "2♣"], ["t♦", "as"]], turned="10♠")
    assert [[card_name(card) for card in hand] for hand in game.dealt] == [
        ["2C", "TH"],
        ["TD", "AS"],
    ]
    assert game.turned == parse_card("TS")


def test_cards_taken_out_are_kept_by_their_own_names() -> None:
    assert Pack(removed=("10h", "2♣")) == Pack(removed=("2C", "TH"))
    with pytest.raises(RulesError, match=r"pack\.removed lists TH twice"):
        Pack(removed=("TH", "10♥"))


@pytest.mark.parametrize("module", [cards, actions])
def test_examples_in_docstrings(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried > 0 and failed == 0
