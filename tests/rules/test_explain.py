"""The rules in words say what the settings say, for every variant and every number of players."""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Collection
from pathlib import Path

import pytest

from docs.generate import regenerate
from ohhell_env.actions import bid_action
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from ohhell_env.records.record import deal_record
from ohhell_env.rules import Rules
from ohhell_env.rules.axes import Bidding, Scoring, Trump
from ohhell_env.rules.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.rules.explain import explain, explain_sections
from ohhell_env.rules.phrases import compact, made_words, missed_words
from ohhell_env.rules.schedule import TrumpSource, deal_plans, hand_sizes, num_deals, points
from ohhell_env.rules.variants import VARIANTS
from ohhell_train.play.view import observe

ROOT = Path(__file__).parents[2]


def _playable() -> list[tuple[str, int]]:
    found = []
    for name in VARIANTS:
        for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
            try:
                Rules.preset(name, players)
            except RulesError:
                continue
            found.append((name, players))
    return found


PLAYABLE = _playable()
every_variant = pytest.mark.parametrize(("name", "players"), PLAYABLE)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _section(rules: Rules, heading: str) -> str:
    return " ".join(
        sentence
        for section in explain_sections(rules)
        if section.heading == heading
        for sentence in section.sentences
    )


def _expand(text: str) -> list[int]:
    """Hand sizes from their short form: an own reader of "10 9 8 ... 1 2x4"."""
    sizes: list[list[int]] = []
    words = text.split()
    while words:
        word = words.pop(0)
        if word == "...":
            last, _, times = words.pop(0).partition("x")
            step = sizes[-1][0] - sizes[-2][0]
            assert int(times or 1) == sizes[-1][1]
            while sizes[-1][0] != int(last):
                sizes.append([sizes[-1][0] + step, sizes[-1][1]])
        else:
            size, _, times = word.partition("x")
            sizes.append([int(size), int(times or 1)])
    return [size for size, times in sizes for _ in range(times)]


def _numbers(names: str) -> list[int]:
    """Deal numbers from "Deals 1 to 12 and 14"."""
    found: list[int] = []
    for low, high in re.findall(r"(\d+)(?: to (\d+))?", names):
        found.extend(range(int(low), int(high or low) + 1))
    return found


def _score_tables(text: str, sizes: Collection[int]) -> dict[int, list[list[int]]]:
    """Score tables by hand size, each [tricks won][bid], read from the text."""
    tables: dict[int, list[list[int]]] = {}
    lines = text.splitlines()
    for at, line in enumerate(lines):
        words = r"  Points with (\d+) cards? each( \(an example.*\))?, by tricks won .*:"
        caption = re.fullmatch(words, line)
        if caption:
            size = int(caption[1])
            header = lines[at + 1].split()
            assert header == ["tricks", "won", "nil", *map(str, range(1, size + 1))]
            assert bool(caption[2]) == (size not in sizes)
            rows = [list(map(int, row.split())) for row in lines[at + 2 : at + 3 + size]]
            assert [row[0] for row in rows] == list(range(size + 1))
            tables[size] = [row[1:] for row in rows]
    return tables


def test_the_usual_numbers_of_players_are_playable() -> None:
    for name, variant in VARIANTS.items():
        low, high = variant.usual
        assert {(name, players) for players in range(low, high + 1)} <= set(PLAYABLE)


@every_variant
def test_names_variant_players_and_number_of_deals(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    text = _flat(explain(rules))
    assert text.startswith(f"{VARIANTS[name].title}; {players} players ")
    assert VARIANTS[name].source in text
    assert "Changed here" not in text
    deals = num_deals(rules)
    if rules.end.target is None:
        assert f"The game ends after deal {deals}." in text
        assert f"- {deals} deal{'' if deals == 1 else 's'}. Cards" in text
    else:
        assert f"a player's score reaches {rules.end.target}." in text
        assert f"That takes at most {deals} deals." in text


@every_variant
def test_schedule_reads_back(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    sizes = hand_sizes(rules)
    assert _expand(compact(sizes)) == list(sizes)
    if rules.end.target is None:
        found = re.search(
            r"to each player: ([^.]+(?:\.\.\.[^.]+)*)\. ", _section(rules, "Hand sizes")
        )
        assert found is not None
        assert _expand(found[1]) == list(sizes)


@pytest.mark.parametrize(
    ("sizes", "short"),
    [
        ([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "10 9 8 ... 1 2 3 4 ... 10"),
        ([1, 2, 3, 4, 5], "1 2 3 4 5"),
        ([1, 2, 3, 4, 5, 6], "1 2 3 ... 6"),
        ([6, 6, 6, 5, 5, 2], "6x3 5x2 2"),
        ([2, 4, 6, 8, 10, 12, 11], "2 4 6 ... 12 11"),
        ([5], "5"),
    ],
)
def test_compact_schedules(sizes: list[int], short: str) -> None:
    assert compact(sizes) == short
    assert _expand(short) == sizes


@every_variant
def test_score_table_holds_the_points(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    tables = _score_tables(explain(rules), hand_sizes(rules))
    assert list(tables) == [min(3, max(hand_sizes(rules)))]
    for size, table in tables.items():
        for won, row in enumerate(table):
            assert row == [points(rules.scoring, bid, won, size) for bid in range(size + 1)]


def test_score_tables_of_a_custom_table() -> None:
    rules = Rules.from_yaml(ROOT / "configs/rules/custom_table.yaml")
    assert rules.scoring.table is not None
    shown = _score_tables(explain(rules), hand_sizes(rules))
    assert {1, 2, 3} == set(shown)
    for size, table in shown.items():
        assert [list(column) for column in zip(*table, strict=True)] == [
            list(row) for row in rules.scoring.table[size - 1]
        ]


def test_nil_table_by_hand_size() -> None:
    rules = Rules.preset("oh_pshaw", 5).replace(scoring={"nil_made": {"base": 5, "per_card": 1}})
    lines = [line.split() for line in explain(rules).splitlines()]
    assert ["nil", *map(str, range(1, 11))] in lines
    assert ["made", *map(str, range(6, 16))] in lines
    assert "Points for a nil" not in explain(Rules.preset("oh_pshaw", 5))
    both = explain(Rules.preset("oh_pshaw", 5).replace(scoring="skull_king"))
    assert re.search(r"missed by one +-10 +-20 +-30", both)


TRUMP_WORDS = {
    TrumpSource.NO_TRUMP: "no trumps",
    TrumpSource.TURNED_CARD: "the next card is turned face up, and its suit is trump",
    TrumpSource.DEALER_CARD: "the dealer's last card is shown",
    TrumpSource.FIXED_SUIT: "are trumps; no card is turned",
    TrumpSource.ROTATION: "the trump suit follows a list",
    TrumpSource.RANDOM_SUIT: "the trump suit is drawn at random",
}


@every_variant
def test_every_deal_has_its_trumps(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    plans = deal_plans(rules)
    told = _section(rules, "Trumps")
    sources = {one.trump for one in plans}
    if len(sources) == 1:
        assert TRUMP_WORDS[sources.pop()] in told[0].lower() + told[1:]
        return
    by_deal: dict[int, str] = {}
    for names, words in re.findall(r"(Deals?[ \d,toand]+): ([^.]+)\.", told):
        for deal in _numbers(names):
            assert deal not in by_deal
            by_deal[deal] = words
    assert sorted(by_deal) == list(range(1, len(plans) + 1))
    for deal, one in enumerate(plans, start=1):
        assert TRUMP_WORDS[one.trump] in by_deal[deal]


def test_rotation_is_told_deal_by_deal() -> None:
    told = _section(Rules.preset("kachuful", 6), "Trumps")
    assert "Deals 1 and 5: spades." in told
    assert "Deals 4 and 8: hearts." in told
    no_trump = Rules.preset("kachuful", 6).replace(**{"trump.rotation": ["S", "NT"]})
    assert "Deals 2, 4, 6 and 8: no trumps." in _section(no_trump, "Trumps")


def test_why_a_deal_has_no_trumps() -> None:
    assert "Deal 13: no card is left to turn" in _section(Rules.preset("oh_pshaw", 4), "Trumps")
    assert "Deal 15: the last deal has no trumps" in _section(Rules.preset("spruce", 3), "Trumps")
    largest = Rules(trump=Trump(no_trump_deals="largest"))
    assert "Deals 1 and 19: the largest hands have no trumps" in _section(largest, "Trumps")
    assert _section(Rules.preset("plump"), "Trumps") == "There are no trumps."


@every_variant
def test_example_of_the_hook_is_true(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    example = re.search(
        r"with (\d+) cards? each and (?:bids|a bid) of ([\w, ]+) so far, the dealer may not "
        r"bid (\w+)",
        _section(rules, "Bidding"),
    )
    assert (example is None) == (rules.bidding.hook == "none")
    if example is None:
        return
    bids = [0 if bid == "nil" else int(bid) for bid in re.split(r", | and ", example[2])]
    barred = 0 if example[3] == "nil" else int(example[3])
    game = Game(rules, seed=1, episode="deal", hand_size=int(example[1]))
    assert len(bids) == players - 1
    for bid in bids:
        game.apply(bid_action(bid))
    assert game.seat == game.dealer
    free = set(range(int(example[1]) + 1)) - {barred}
    assert game.legal_actions() == [bid_action(bid) for bid in sorted(free)]


@pytest.mark.parametrize(
    ("scoring", "made", "missed"),
    [
        (
            Scoring(miss_per_diff_tri=-2),
            "scores 10 points plus 1 for each trick won",
            "scores 1 point for each trick won plus 2 for the first trick over or under the bid, "
            "4 for the second and so on",
        ),
        (
            Scoring(exact_bonus=1, miss_per_trick=0, miss_per_diff_tri=2, miss_constant=-1),
            "scores 1 point plus 1 for each trick won",
            "scores 1 point minus 2 for the first trick over or under the bid, 4 for the second "
            "and so on",
        ),
        (
            Scoring(exact_bonus=-1, exact_per_trick=0, miss_per_trick=0, miss_constant=1),
            "loses 1 point",
            "loses 1 point",
        ),
    ],
)
def test_odd_scorings_in_words(scoring: Scoring, made: str, missed: str) -> None:
    assert (made_words(scoring), missed_words(scoring)) == (made, missed)


@pytest.mark.parametrize(
    ("bonus", "words"),
    [(7, "gains 7 points."), (1, "gains 1 point."), (-3, "loses 3 points.")],
)
def test_the_winners_bonus_in_words(bonus: int, words: str) -> None:
    rules = Rules().replace(hard_score_bonus=bonus, settlement={"kind": "differences"})
    assert words in explain(rules)


def test_hook_only_from_some_hand_on() -> None:
    told = _section(Rules.preset("boerenbridge", 4), "Bidding")
    assert "The hook, from 4 cards each on:" in told
    never = Rules(bidding=Bidding(hook_min_hand=11))
    assert "The hook starts at 11 cards each, so it never applies here." in _section(
        never, "Bidding"
    )
    assert "Example" not in _section(never, "Bidding")


def test_blind_deals_are_named() -> None:
    rules = Rules.preset("boerenbridge", 6)
    assert "Deal 1 is blind" in _section(rules, "Bidding")
    assert "Deals 1 and 15 are blind" in _section(rules.replace(blind_one_card="always"), "Bidding")
    assert "Deal 15 is blind" in _section(rules.replace(blind_one_card="last"), "Bidding")
    assert "blind" not in _section(rules.replace(blind_one_card="never"), "Bidding")


def test_changes_of_a_variant_are_named() -> None:
    rules = Rules.preset("oh_hell").replace(scoring="simple", **{"bidding.hook": "none"})
    assert "Changed here: bidding.hook = none; scoring = simple." in explain(rules)
    table = tuple(tuple((1,) * (size + 1) for _ in range(size + 1)) for size in range(1, 11))
    assert len(max(explain(rules.replace(**{"scoring.table": table})).splitlines(), key=len)) < 100


def test_pack_in_words() -> None:
    assert "Cards removed before the game, known to all: 2C." in explain(Rules.preset("rikiki", 3))
    told = _section(Rules.preset("romanian_whist", 3), "Players and pack")
    assert "A pack of 24 cards" in told
    assert "from low to high: 9 T J Q K A." in told
    assert "coins, cups, swords and clubs" in explain(Rules.preset("pocha"))


TARGET: dict[str, object] = {"end.target": 50, "end.max_deals": 30}
FREE: dict[str, object] = {"bidding.hook": "none"}
CHANGES: dict[str, tuple[dict[str, object], str]] = {
    "players": ({"players": 5}, "5 players"),
    "pack.suits": ({"pack.suits": ["A", "B", "C", "D"]}, "A, B, C and D"),
    "pack.ranks": ({"pack.ranks": list("3456789TJQKA")}, "A pack of 48 cards"),
    "pack.removed": ({"pack.removed": ["2C", "2D"]}, "known to all: 2C and 2D"),
    "schedule.shape": ({"schedule.shape": "up"}, "10 deals. Cards"),
    "schedule.sizes": ({"schedule": {"shape": "explicit", "sizes": [4, 2]}}, "each player: 4 2."),
    "schedule.deals": ({"schedule": {"shape": "constant", "deals": 3}}, "each player: 10x3."),
    "schedule.low": ({"schedule.low": 6}, "each player: 10 9 8 7 6 7 8 9 10."),
    "schedule.high": ({"schedule.high": 3}, "each player: 3 2 1 2 3."),
    "schedule.step": ({"schedule.step": 3}, "each player: 10 7 4 1 4 7 10."),
    "schedule.repeat_low": ({"schedule.repeat_low": 3}, " 1x3 "),
    "schedule.repeat_high": ({"schedule.repeat_high": "players"}, "each player: 10x4 "),
    "schedule.repeat_each": ({"schedule.repeat_each": 2}, "38 deals."),
    "schedule.overflow": ({"schedule": {"high": 15, "overflow": "plateau"}}, "are cut to 13"),
    "schedule.max_deals": ({"schedule.max_deals": 4}, "each player: 10 9 8 7."),
    "first_dealer": ({"first_dealer": 2}, "Seat 2 deals first"),
    "trump.method": ({"trump.method": "none"}, "There are no trumps."),
    "trump.suit": ({"trump": {"method": "fixed", "suit": "S"}}, "Spades are trumps"),
    "trump.rotation": ({"trump": {"method": "rotation", "rotation": ["H", "D"]}}, "hearts, diam"),
    "trump.exhausted": (
        {"schedule.high": 13, "trump.exhausted": "random_suit"},
        "no card is left to turn, so the trump suit is drawn at random",
    ),
    "trump.no_trump_deals": (
        {"trump.no_trump_deals": "final"},
        "Deal 19: the last deal has no trumps",
    ),
    "trump.revealed": ({"trump.revealed": "after_bidding"}, "only after the bidding"),
    "bidding.order": ({"bidding.order": "simultaneous", **FREE}, "all players bid at once"),
    "bidding.hook": (FREE, "There is no hook"),
    "bidding.hook_min_hand": ({"bidding.hook_min_hand": 2}, "from 2 cards each on"),
    "bidding.announce": ({"bidding.announce": True}, "over, under or even"),
    "blind_one_card": ({"blind_one_card": "always"}, "Deal 10 is blind"),
    "play.first_lead": ({"play.first_lead": "highest_bidder"}, "The highest bidder leads"),
    "play.trump_lead": ({"play.trump_lead": "after_broken"}, "until one has been played"),
    "play.head_led_suit": ({"play.head_led_suit": True}, "must beat the best card"),
    "play.void": ({"play.void": "must_trump"}, "must play a trump if they hold one"),
    "scoring.exact_bonus": ({"scoring.exact_bonus": 7}, "A made bid scores 7 points plus 1"),
    "scoring.exact_per_trick": ({"scoring.exact_per_trick": 4}, "10 points plus 4 for each"),
    "scoring.exact_per_trick_sq": ({"scoring.exact_per_trick_sq": 2}, "plus 2 times the square"),
    "scoring.miss_per_trick": ({"scoring.miss_per_trick": 0}, "A missed bid scores nothing"),
    "scoring.miss_per_diff": (
        {"scoring.miss_per_diff": 2},
        "scores 1 point for each trick won minus 2",
    ),
    "scoring.miss_per_diff_sq": ({"scoring.miss_per_diff_sq": 3}, "minus 3 times the square"),
    "scoring.miss_per_diff_tri": ({"scoring.miss_per_diff_tri": 5}, "10 for the second"),
    "scoring.miss_constant": ({"scoring.miss_constant": 6}, "minus 6."),
    "scoring.nil_made": ({"scoring.nil_made": [5, 1]}, "A made nil scores 5 points plus 1"),
    "scoring.nil_missed": (
        {"scoring.nil_missed": [0, -10]},
        "A missed nil loses 10 points for each card",
    ),
    "scoring.table": (
        {"schedule.high": 1, "scoring.table": [[[4, 0], [0, 9]]]},
        "A custom table sets the points",
    ),
    "end.target": (TARGET, "when a player's score reaches 50"),
    "end.max_deals": (TARGET, "It ends after deal 30 in any case"),
    "tie_break": ({"tie_break": "extra_deals"}, "extra deals of 10 cards each"),
    "settlement.kind": ({"settlement.kind": "pool"}, "into a pool"),
    "settlement.rate": ({"settlement": {"kind": "differences", "rate": 0.5}}, "at 0.5 per point"),
    "settlement.ante": ({"settlement": {"kind": "pool", "ante": 5}}, "pays 5 into a pool"),
    "hard_score_bonus": (
        {"settlement.kind": "differences", "hard_score_bonus": 10},
        "each winner's score gains 10 points",
    ),
}


def _dotted(settings: dict[str, object], prefix: str = "") -> list[str]:
    names: list[str] = []
    for key, value in settings.items():
        names += _dotted(value, f"{prefix}{key}.") if isinstance(value, dict) else [prefix + key]
    return names


def test_every_setting_has_a_case_here() -> None:
    without_meaning = {"name", "pack.specials"}
    assert set(_dotted(Rules().to_dict())) - without_meaning == set(CHANGES)


@pytest.mark.parametrize("setting", CHANGES)
def test_every_setting_shows_in_the_words(setting: str) -> None:
    changes, words = CHANGES[setting]
    base, changed = _flat(explain(Rules())), _flat(explain(Rules().replace(**changes)))
    assert words in changed
    assert words not in base


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        (
            "play.void",
            ["any", "must_trump", "must_overtrump_else_trump", "must_overtrump_else_free"],
        ),
        ("play.trump_lead", ["anytime", "after_first_trick", "after_broken", "when_forced"]),
        ("trump.method", ["turn_up", "dealer_last_card", "random_suit", "none"]),
        ("first_dealer", ["random", "first_jack", "high_card", 0, 3]),
        ("tie_break", ["shared", "extra_deals", "most_exact_bids", "largest_bid_total"]),
        ("settlement", ["none", "differences", "pool"]),
        ("schedule.shape", ["up", "down", "up_down", "down_up"]),
    ],
)
def test_values_of_one_setting_read_differently(axis: str, values: list[object]) -> None:
    assert len({explain(Rules().replace(**{axis: value})) for value in values}) == len(values)


@pytest.mark.parametrize("module_name", ["cli.rules", "rules.explain", "rules.phrases"])
def test_examples_in_docstrings(module_name: str) -> None:
    module = importlib.import_module(f"ohhell_env.{module_name}")
    failed, tried = doctest.testmod(module)
    assert tried > 0
    assert failed == 0


def test_the_tables_of_the_page_are_generated() -> None:
    page = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    for part in ("variants", "hand-sizes", "scorings", "axes", "example"):
        assert f"<!-- generated: {part} -->" in page


def test_the_page_names_every_variant_setting_and_existing_files() -> None:
    page = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    for setting in _dotted(Rules().to_dict()):
        assert f"| `{setting}` |" in page
    for name in VARIANTS:
        assert f"| `{name}` |" in page
    files = set(re.findall(r"`([\w*]+\.yaml)`", page))
    assert len(files) > 10
    for file in files:
        assert list((ROOT / "configs/rules").glob(file)), file


def test_a_stale_page_is_noticed() -> None:
    page = "<!-- generated: scorings -->\nold\n<!-- end -->\n"
    made = regenerate(page)
    assert "old" not in made
    assert "| `common` | scores 10 points plus 1 for each trick won |" in made
    assert regenerate(made) == made


# Largest hands as the sources name them (docs/rules.md): where 52 cards do not serve what a variant
# begins with, and where its source says so itself.
LARGEST = {
    "oh_hell": {3: 10, 4: 10, 5: 10, 6: 8, 7: 7},
    "blackout": {3: 10, 4: 10, 5: 10, 6: 8, 7: 7},
    "oh_pshaw": {3: 15, 4: 13, 5: 10, 6: 8, 7: 7},
    "spruce": {3: 15, 4: 13, 5: 10, 6: 8, 7: 7},
    "la_podrida": {3: 15, 4: 13, 5: 10, 6: 8, 7: 7},
    "up_and_down_the_river": {4: 10, 5: 10, 6: 8, 7: 7, 8: 6},
    "nomination_whist": {3: 7, 4: 7, 5: 7, 6: 7, 7: 7},
    "escalating": {3: 10, 4: 10, 5: 10, 6: 8},
    "plump": {2: 10, 3: 10, 4: 10, 5: 10},
}


@pytest.mark.parametrize(("name", "players"), PLAYABLE)
def test_a_lower_peak_is_told_as_the_sources_have_it(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    said, most = _section(rules, "Hand sizes"), max(hand_sizes(rules))
    assert "too many" not in said and "takes its place" not in said
    named = rules.schedule.high
    lowered = f"Hands go up to {named} cards if the pack is large enough; with {players} players "
    if rules.schedule.shape in ("constant", "explicit") or named in ("max", most):
        assert "if the pack is large enough" not in said
    else:
        assert f"{lowered}they stop at {most}." in said
    if name in LARGEST and players in LARGEST[name]:
        assert most == LARGEST[name][players]


@pytest.mark.parametrize(("name", "players"), PLAYABLE)
def test_cards_left_over_are_told(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    said = _section(rules, "Hand sizes")
    left = {
        rules.pack.size - players * one.hand_size - (one.trump is TrumpSource.TURNED_CARD)
        for one in deal_plans(rules)
    }
    if left == {0}:
        assert "unseen" not in said
    elif len(left) == 1:
        number = left.pop()
        cards = "1 card is" if number == 1 else f"{number} cards are"
        assert f"{cards} set aside face down in each deal, unseen." in said
    else:
        assert "Undealt cards stay face down, unseen." in said


@pytest.mark.parametrize(("players", "aside"), [(3, 1), (4, 0), (5, 2), (6, 4), (7, 3)])
def test_oh_well_sets_aside_what_its_source_says(players: int, aside: int) -> None:
    said = _section(Rules.preset("oh_well", players), "Hand sizes")
    assert ("set aside" in said) == bool(aside)
    assert f"{aside} card" in said or not aside


def test_the_announcement_is_a_matter_of_the_text() -> None:
    """Both ways the game looks and is recorded alike, and the rules say so."""
    said = _section(Rules.preset("oh_pshaw"), "Bidding")
    assert "the announcement does not affect the play" in said
    games = []
    for announce in (False, True):
        rules = Rules.preset("oh_pshaw").replace(**{"bidding.announce": announce})
        game = Game(rules, seed=3, episode="deal", hand_size=2)
        for bid in (0, 1, 2, 0):
            game.apply(bid_action(bid))
        games.append(game)
    assert "over by 1" in str(games[0])
    assert str(games[0]) == str(games[1])
    assert deal_record(games[0]) == deal_record(games[1])
    layouts = [layout_of(game.rules, "default", 2) for game in games]
    views = [observe(game, layout, 0)[0] for game, layout in zip(games, layouts, strict=True)]
    assert (views[0] == views[1]).all()
