"""The shipped checks: that they cover the rules, find every kind of break, and find none."""

from __future__ import annotations

import dataclasses
import random
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ohhell_env.cli import fuzz as cli_fuzz
from ohhell_env.cli.commands import main
from ohhell_env.engine import batch
from ohhell_env.engine.layout import NO_TRUMP, Rows, compile_rules, new_games
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.records.record import load_record
from ohhell_env.records.replay import replay
from ohhell_env.rules import Rules, schedule
from ohhell_env.rules.settings import field_types
from ohhell_env.testing import (
    BrokenGameError,
    Refereed,
    check_game,
    check_records,
    fuzz,
    load_referee,
    play_random,
    random_rules,
)
from ohhell_env.testing import checks as testing
from ohhell_env.testing.fuzz import Fault
from tests.helpers import Table

# ------------------------------------------------------------------------------- random rules


@pytest.fixture(scope="module")
def drawn() -> list[Rules]:
    rng = random.Random(1)
    return [random_rules(rng) for _ in range(600)]


def literals(cls: type) -> dict[str, set[Any]]:
    """The values that each setting of an axis may have, where they can be listed."""
    found: dict[str, set[Any]] = {}
    for name, annotation in field_types(cls).items():
        options = typing.get_args(annotation)
        if annotation is bool:
            found[name] = {False, True}
        elif typing.get_origin(annotation) is typing.Literal:
            found[name] = set(options)
        elif isinstance(annotation, types.UnionType):
            parts = [typing.get_args(o) for o in options if typing.get_origin(o) is typing.Literal]
            found[name] = {value for part in parts for value in part}
    return {name: values for name, values in found.items() if values}


AXES = [name for name, kind in field_types(Rules).items() if dataclasses.is_dataclass(kind)]


@pytest.mark.parametrize("axis", ["", *AXES])
def test_random_rules_cover_every_listed_value(drawn: list[Rules], axis: str) -> None:
    cls = field_types(Rules)[axis] if axis else Rules
    for name, values in literals(cls).items():
        seen = {getattr(getattr(rules, axis) if axis else rules, name) for rules in drawn}
        assert values <= seen, name


def test_random_rules_reach_the_ends_of_the_numbers(drawn: list[Rules]) -> None:
    assert {rules.players for rules in drawn} == set(range(2, 9))
    sizes = [size for rules in drawn for size in schedule.hand_sizes(rules)]
    assert (min(sizes), max(sizes)) == (1, schedule.MAX_HAND_SIZE)
    packs = {rules.pack.size for rules in drawn}
    assert min(packs) <= 3 and max(packs) == 52
    assert {len(rules.pack.suits) for rules in drawn} == {1, 2, 3, 4}
    assert {len(rules.pack.ranks) for rules in drawn} == set(range(1, 14))
    assert any(rules.scoring.table is not None for rules in drawn)
    assert any(rules.end.target is not None and rules.end.target > 5000 for rules in drawn)
    assert any(schedule.num_deals(rules) > 60 for rules in drawn)
    assert any(isinstance(rules.first_dealer, int) for rules in drawn)
    sources = {plan.trump for rules in drawn for plan in schedule.deal_plans(rules)}
    assert sources == set(schedule.TrumpSource)
    assert any(rules.trump.rotation and "NT" in rules.trump.rotation for rules in drawn)


def test_random_rules_are_decided_by_the_random_numbers() -> None:
    first, again = ([random_rules(random.Random(5)) for _ in range(3)] for _ in range(2))
    assert first == again


# ------------------------------------------------------------------------------ checks outside


THREE_DEALS = Rules.from_dict(
    {"players": 3, "schedule": {"shape": "constant", "high": 4, "deals": 3}}
)


def middle(seed: int = 3, actions: int = 23) -> Game:
    """A game with a deal behind it and a trick begun."""
    return play_random(Game(THREE_DEALS, seed), random.Random(seed), None, actions)


def field(name: str, seat: int, value: Any) -> Callable[[Game], None]:
    def change(game: Game) -> None:
        game.state[name][0][seat] = value

    return change


def scalar(name: str, value: Any) -> Callable[[Game], None]:
    def change(game: Game) -> None:
        game.state[name][0] = value

    return change


def give_to_both(game: Game) -> None:
    game.state["hands"][0][0] |= game.state["hands"][0][1]


def take_away(game: Game) -> None:
    game.state["hands"][0][0] = 0


def legal_anything(game: Game) -> None:
    game.state["legal"][0] = game.compiled["pack"][0]


def legal_revoke(game: Game) -> None:
    game.state["legal"][0] = game.state["hands"][0][game.seat]


def turn_a_held_card(game: Game) -> None:
    game.state["turned"][0] = game.hands[game.seat][0]


def file_other_points(game: Game) -> None:
    game.finished_deals[0]["points"][0] += 1


DAMAGE = {
    "a card in two hands": give_to_both,
    "a hand lost": take_away,
    "the turned card held": turn_a_held_card,
    "another trump": scalar("trump", NO_TRUMP),
    "a bid too large": field("bids", 0, 9),
    "a bid missing": field("bids", 1, -1),
    "bids that total the hand size": scalar("bids", [2, 1, 1, 0, 0, 0, 0, 0]),
    "a trick too many": field("tricks_won", 2, 4),
    "nothing legal": scalar("legal", 0),
    "any card legal": legal_anything,
    "a revoke legal": legal_revoke,
    "nobody to act": scalar("seat", -1),
    "a score changed": field("scores", 0, 999),
    "points changed": field("points", 1, 999),
    "points filed wrongly": file_other_points,
}


def revoking_position() -> Game:
    """A game in which the seat to act must follow and holds other suits too."""
    for seed in range(50):
        game = middle(seed)
        if game.trick and len(game.legal_actions()) < len(game.hands[game.seat]):
            return game
    raise AssertionError("no such position among 50")


@pytest.mark.parametrize("damage", DAMAGE)
def test_check_game_finds_damage(damage: str) -> None:
    game = revoking_position()
    assert len(game.finished_deals) == 1 and game.tricks
    check_game(game)
    DAMAGE[damage](game)
    with pytest.raises(BrokenGameError, match=r"seed \d+, rules"):
        check_game(game)


def test_check_records_finds_a_record_of_another_game(monkeypatch: pytest.MonkeyPatch) -> None:
    game = middle()
    check_records(game)
    monkeypatch.setattr(testing, "parse_game", lambda text: middle(4).record())
    with pytest.raises(BrokenGameError, match="the text is of another game"):
        check_records(game)


def test_the_referee_is_found_in_a_clone_and_objects() -> None:
    referee = load_referee()
    assert referee is not None
    game = middle(actions=0)
    follow = Refereed(game, referee)
    play_random(game, random.Random(1), follow, 10)
    field("scores", 0, 5)(game)
    with pytest.raises(BrokenGameError, match="other scores"):
        follow(game)


def test_random_games_pass_all_checks(drawn: list[Rules]) -> None:
    referee = load_referee()
    rng = random.Random(8)
    for number, rules in enumerate(drawn[:40]):
        game = Game(rules, number)
        follow = Refereed(game, referee)
        play_random(game, rng, lambda game, follow=follow: (check_game(game), follow(game))[0], 120)
        check_records(game)


# ------------------------------------------------------------------------- the compiled watcher


class Watched:
    """One table with the watcher beside it, step by step."""

    def __init__(self, rules: Rules, seed: int = 1) -> None:
        self.rules = compile_rules(rules).copy()
        self.games, self.chooser, self.watch = new_games(1), new_games(1), fuzz.new_watch()
        batch.seed_tables(self.games, np.uint64(seed), np.uint64(0))
        batch.seed_tables(self.chooser, np.uint64(seed), np.uint64(1))
        batch.begin_all(self.games, self.rules)

    def start(self) -> int:
        return fuzz.watch_start(self.games, self.rules, self.watch)

    def step(self) -> int:
        action = fuzz.choose_one(self.games, self.chooser)
        return fuzz.watch_step(self.games, self.rules, self.watch, action)


def row(name: str, index: Any, value: Any) -> Callable[[Rows], None]:
    def change(games: Rows) -> None:
        games[name][(0, *index) if isinstance(index, tuple) else 0] = value

    return change


def swap_hands(games: Rows) -> None:
    games["hands"][0][:2] = games["hands"][0][1::-1]


def pass_the_trick_on(games: Rows) -> None:
    games["best_seat"][0] = (games["best_seat"][0] + 1) % 3


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (row("dealer", 0, 3), Fault.DEALER),
        (row("hand_size", 0, 5), Fault.PLAN),
        (row("deal", 0, 1), Fault.PLAN),
        (row("hands", (0,), 1), Fault.CARDS),
        (row("hands", (5,), 1), Fault.CARDS),
        (row("turned", 0, -1), Fault.TURNED),
        (row("trump", 0, 4), Fault.TRUMP),
        (row("bids", (1,), 0), Fault.OPENING),
        (row("seat", 0, 7), Fault.OPENING),
        (row("phase", 0, 1), Fault.OPENING),
    ],
)
def test_the_watcher_finds_a_wrong_beginning(damage: Callable[[Rows], None], fault: Fault) -> None:
    table = Watched(THREE_DEALS)
    assert table.start() == Fault.NONE
    damage(table.games)
    assert table.start() == fault


@pytest.mark.parametrize(
    ("damage", "fault", "after"),
    [
        (row("legal", 0, 1), Fault.LEGAL, 1),
        (row("legal", 0, 0), Fault.LEGAL, 7),
        (row("num_bids", 0, 2), Fault.SEAT, 1),
        (row("bids", (2,), 3), Fault.BIDS, 8),
        (row("tricks_won", (2,), 4), Fault.TRICKS, 8),
        (row("trick_number", 0, 2), Fault.TRICKS, 4),
        (row("trick_size", 0, 2), Fault.SEAT, 4),
        (swap_hands, Fault.HANDS, 4),
        (row("played", (1,), 0), Fault.HANDS, 9),
        (pass_the_trick_on, Fault.SEAT, 5),
        (row("place", (), 0), Fault.HISTORY, 12),
        (row("scores", (1,), 77), Fault.SCORES, 14),
        (row("exact_bids", (1,), 7), Fault.SCORES, 14),
        (row("bid_totals", (0,), 7), Fault.SCORES, 14),
    ],
)
def test_the_watcher_finds_damage_in_play(
    damage: Callable[[Rows], None], fault: Fault, after: int
) -> None:
    """A deal has 3 bids and 12 cards; the watcher must notice before it is over."""
    table = Watched(THREE_DEALS)
    assert table.start() == Fault.NONE
    assert [table.step() for _ in range(after)] == [Fault.NONE] * after
    damage(table.games)
    found = [table.step() for _ in range(15 - after)]
    first = next(code for code in found if code != Fault.NONE)
    assert first == fault


def test_the_watcher_finds_a_game_that_ends_too_early_or_late() -> None:
    for max_deals in (1, 9):
        table = Watched(THREE_DEALS)
        assert table.start() == Fault.NONE
        played = [table.step() for _ in range(14)]
        assert played == [Fault.NONE] * 14
        kept = table.rules["max_deals"][0]
        table.rules["max_deals"][0] = max_deals
        fuzz_says = table.step()
        assert fuzz_says == Fault.NONE  # both read the same rules, and agree
        assert bool(table.watch["over"][0]) == (max_deals == 1) and kept == 3
    table = Watched(THREE_DEALS)
    assert table.start() == Fault.NONE
    assert [table.step() for _ in range(14)] == [Fault.NONE] * 14
    table.watch["deals"][0] = 2  # the watcher counts this deal as the last one
    assert table.step() == Fault.END


def test_the_watcher_plays_the_games_of_their_seeds() -> None:
    table = Watched(THREE_DEALS)
    fault, game, decisions = fuzz.watched_games(
        table.games, table.chooser, table.rules, table.watch, np.uint64(40), 3
    )
    assert (fault, game, decisions) == (Fault.NONE, 3, 3 * 3 * 15)
    run = cli_fuzz.Fuzzer(0, 500)
    run._watch["step"][0] = 45
    failure = run._reproduce(cli_fuzz.Draw(THREE_DEALS, "game", 42), 42, "nothing")
    assert failure.game is not None
    assert failure.game.over and failure.game.seed == 42
    assert failure.game.scores == table.games["scores"][0][:3].tolist()


def test_random_games_under_random_rules_are_never_broken(drawn: list[Rules]) -> None:
    games, chooser, watch = new_games(1), new_games(1), fuzz.new_watch()
    decisions = 0
    for number, rules in enumerate(drawn[:150]):
        for episode in ("game", "deal"):
            compiled = compile_rules(rules, episode)
            seed = np.uint64(1000 * number)
            fault, game, made = fuzz.watched_games(games, chooser, compiled, watch, seed, 20)
            assert fault == Fault.NONE, (Fault(fault), game, rules)
            decisions += made
    assert decisions > 200_000


# -------------------------------------------------------------------------------- regressions


def test_an_extra_deal_ends_the_game_below_the_target_too() -> None:
    """After a tie at the target, extra deals go on until one leads, whatever the scores are."""
    rules = Rules.from_dict(
        {
            "players": 2,
            "schedule": {"shape": "constant", "high": 1},
            "bidding": {"hook": "none"},
            "scoring": {"table": [[[5, -20], [-30, 5]]]},
            "end": {"target": 5, "max_deals": 50},
            "tie_break": "extra_deals",
        }
    )
    table = Table(rules)
    below = 0
    for seed in range(60):
        table = Table(rules, seed=seed)
        table.play_on(random.Random(seed))
        points = [deal["points"] for deal in table.game.finished_deals]
        totals = [sum(column) for column in zip(*points, strict=True)]
        below += len(points) > 1 and points[0] == [5, 5] and max(totals) < 5
    assert below > 0


# ------------------------------------------------------------------------------- command line


def test_fuzz_on_the_command_line(capsys: Any, tmp_path: Path) -> None:
    out = tmp_path / "failure.json"
    words = ["fuzz", "--games", "900", "--seed", "1", "--sample", "300", "--out", str(out)]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("900 games over 5 draws of rules")
    assert "3 games checked twice, with the referee: no break" in said
    assert not out.exists()


def test_fuzz_stops_in_time(capsys: Any) -> None:
    assert main(["fuzz", "--games", "1000000", "--minutes", "0"]) == 0
    assert capsys.readouterr().out.startswith("200 games over 1 draws")


def test_a_failure_of_the_watcher_is_recorded_and_can_be_replayed(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(
        games: Rows, chooser: Rows, rules: Rows, watch: Rows, seed: np.uint64, number: int
    ) -> tuple[int, int, int]:
        watch["step"][0] = 2
        return int(Fault.TRICKS), 7, 99

    monkeypatch.setattr(cli_fuzz.watcher, "watched_games", broken)
    out = tmp_path / "failure.json"
    assert main(["fuzz", "--out", str(out)]) == 1
    shown = capsys.readouterr()
    assert shown.err.strip().splitlines()[-1].startswith("broken: the watcher found: tricks;")
    record = load_record(out)
    assert sum(len(deal["bids"]) for deal in record["deals"]) == 2
    assert replay(record).record() == record
    assert f"seed {record['seed']}" in shown.err


def test_a_failure_outside_is_recorded(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(game: Game) -> None:
        if sum(bid is not None for bid in game.bids) == 2:
            raise BrokenGameError("two\nbids")

    monkeypatch.setattr(cli_fuzz, "check_game", check)
    out = tmp_path / "failure.json"
    assert main(["fuzz", "--out", str(out), "--sample", "1"]) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("broken: BrokenGameError: two bids; the game so far is in ")
    assert sum(len(deal["bids"]) for deal in load_record(out)["deals"]) == 2


def test_rules_that_cannot_be_played_are_kept(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(rules: Rules, episode: str) -> Rows:
        raise RulesError("no card to turn")

    monkeypatch.setattr(cli_fuzz, "compile_rules", refuse)
    assert main(["fuzz", "--out", str(tmp_path / "failure.json")]) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("broken: RulesError: no card to turn; no game can begin")
    rules = Rules.from_yaml(tmp_path / "failure.yaml")
    assert rules == cli_fuzz.Fuzzer(0, 500).draw(0).rules


@pytest.mark.parametrize("words", [["--games", "0"], ["--sample", "0"], ["--seed", "-1"]])
def test_wrong_numbers_are_one_line(words: list[str], capsys: Any) -> None:
    assert main(["fuzz", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_fuzz_for_longer(capsys: Any) -> None:
    assert main(["fuzz", "--games", "100000", "--seed", "99"]) == 0
    assert "no break" in capsys.readouterr().out
