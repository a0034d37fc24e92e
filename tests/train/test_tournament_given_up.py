"""Players that fail all the time: given up by a rule that knows no workers and no interruptions."""

from __future__ import annotations

import dataclasses
import random
import re
from pathlib import Path
from typing import Any

import pytest

from ohhell_train.tournament import Results, run_tournament
from ohhell_train.tournament import runner as runner_module
from ohhell_train.tournament import store as store_module
from ohhell_train.tournament.analysis.standings import Standings
from ohhell_train.tournament.cli import cli_run
from ohhell_train.tournament.config import TournamentConfig
from ohhell_train.tournament.entrants import FAULT_LIMIT
from ohhell_train.tournament.given_up import GIVE_UP, Agenda
from ohhell_train.tournament.units import Contest, plan
from tests.train.players import Lowest

HOPELESS = GIVE_UP * FAULT_LIMIT
"""Faults in a row at which a player is given up."""


class StopError(Exception):
    """Raised where a test stops a tournament."""


class Fails(Lowest):
    """Raises at every decision, or at those that a rule picks by what it sees."""

    asked = 0

    def __init__(self, one_in: int = 1) -> None:
        super().__init__(seed=0)
        self.one_in = one_in

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        if len(observations) == 1:
            self.asked += 1
        if any(int(row.astype(int).sum()) % self.one_in == 0 for row in observations):
            raise RuntimeError("no idea")
        return super().choose(observations, action_masks, random_bits, deterministic)


def entrants(*more: Any) -> list[Any]:
    return [("low", Lowest(seed=0)), "random", ("fails", Fails()), ("moody", Fails(2)), *more]


FIELD: dict[str, Any] = {"design": "field", "deals": 24}
MIXED: dict[str, Any] = {"design": "mixed", "deals": 60}
GAMES: dict[str, Any] = {"design": "mixed", "deals": 24, "episode": "game", "rules": "plump"}
WAYS = {"field": FIELD, "mixed": MIXED, "games": GAMES}


def play(way: dict[str, Any], players: list[Any] | None = None, **changes: Any) -> Results:
    settings: dict[str, Any] = {"rules": "oh_hell", "seed": 3, "players": 3, "unit": 3}
    settings |= way | changes
    return run_tournament(players or entrants(), **settings)


def written(results: Results, folder: Path) -> bytes:
    return results.save(folder).read_bytes()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FLUSH_SECONDS", 0.0)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return {
        name: written(play(way), tmp_path_factory.mktemp("unbroken")) for name, way in WAYS.items()
    }


def test_who_fails_all_the_time_is_asked_no_more_than_a_few_times() -> None:
    player = Fails()
    results = play(FIELD, [("low", Lowest(seed=0)), "random", ("fails", player)], deals=60)
    asked, fails = player.asked, results.entrants[2]
    assert HOPELESS <= asked <= HOPELESS + FAULT_LIMIT
    assert fails.given_up
    assert fails.faults == fails.decisions > 10 * asked
    assert "no idea" in fails.first_fault
    data = results.to_dict()
    assert data["entrants"]["fails"]["given_up"]
    assert not data["entrants"]["low"]["given_up"]
    said = "fails was disqualified and given up for the rest of the tournament"
    assert f"{said}: {fails.faults} faults" in data["warnings"]


@pytest.mark.parametrize("unit", [1, 2])
def test_units_of_a_few_decisions_are_no_way_around(unit: int) -> None:
    """Nobody is disqualified in them, and there are very many."""
    player = Fails()
    changes: dict[str, Any] = {"unit": unit, "hand_size": 1, "deals": 60}
    results = play(FIELD, [("low", Lowest(seed=0)), ("fails", player)], **changes)
    assert player.asked < HOPELESS + FAULT_LIMIT
    assert results.entrants[1].given_up
    assert results.entrants[1].faults > 2 * player.asked


class FailsFirst(Fails):
    """Is disqualified in the first unit, and fails now and then later."""

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        self.one_in = 1 if self.asked < FAULT_LIMIT else 40
        return super().choose(observations, action_masks, random_bits, deterministic)


def test_who_finds_its_feet_is_not_given_up() -> None:
    results = play(FIELD, [("low", Lowest(seed=0)), ("fails", FailsFirst())], deals=30)
    fails = results.entrants[1]
    assert fails.was_disqualified
    assert not fails.given_up
    assert 0 < fails.faults < fails.decisions / 2


@pytest.mark.parametrize("way", WAYS)
def test_a_player_that_fails_all_the_time_plays_as_one_that_is_asked_for_ever(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each move is a random legal one, the same whether it was asked first or not."""
    players = [("low", Lowest(seed=0)), "random", ("fails", Fails())]
    short = play(WAYS[way], players)
    monkeypatch.setattr("ohhell_train.tournament.given_up.GIVE_UP", 10**6)
    long = play(WAYS[way], players)
    assert short.entrants[2].given_up and not long.entrants[2].given_up
    for pairing, blocks in long.outcomes.items():
        assert (short.outcomes[pairing] == blocks).all()


@pytest.mark.parametrize("way", WAYS)
def test_any_order_of_the_units_gives_the_same_file(
    way: str, tmp_path: Path, unbroken: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    inline = runner_module.play_inline
    for seed in range(3):
        chance = random.Random(seed)

        def shuffled(contest: Any, units: Agenda, chance: random.Random = chance) -> Any:
            order = list(units)
            chance.shuffle(order)
            yield from inline(contest, order)

        monkeypatch.setattr(runner_module, "play_inline", shuffled)
        assert written(play(WAYS[way]), tmp_path) == unbroken[way]


@pytest.mark.parametrize("way", ["field", "mixed"])
def test_two_workers_give_the_same_file(
    way: str, tmp_path: Path, unbroken: dict[str, bytes]
) -> None:
    store = tmp_path / "t.sqlite"
    assert written(play(WAYS[way], workers=2, store=store), tmp_path) == unbroken[way]
    assert written(play(WAYS[way], store=store), tmp_path) == unbroken[way], "from the store"


@pytest.mark.parametrize("way", WAYS)
def test_interruptions_give_the_same_file(
    way: str, tmp_path: Path, unbroken: dict[str, bytes]
) -> None:
    chance, stops, store = random.Random(1), 0, tmp_path / "t.sqlite"
    while True:
        left = [chance.randint(1, 6)]

        def stop(standings: Standings, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise StopError

        try:
            results = play(WAYS[way], store=store, on_progress=stop)
            break
        except StopError:
            stops += 1
    assert stops >= 1
    assert written(results, tmp_path) == unbroken[way]


def test_more_blocks_and_more_entrants_give_the_same_file(tmp_path: Path) -> None:
    """The newcomer stands first by name, so that others come earlier in the order now."""
    newcomers = [("a", Lowest(seed=0))], [("zz", Fails())], [("a", Fails(3)), ("b", Fails())]
    for number, more in enumerate(newcomers):
        store = tmp_path / f"{number}.sqlite"
        play(FIELD, store=store, deals=13)
        play(FIELD, store=store)
        grown = written(play(FIELD, entrants(*more), store=store), tmp_path)
        assert grown == written(play(FIELD, entrants(*more)), tmp_path)


def test_the_order_of_the_names_plays_no_part(tmp_path: Path, unbroken: dict[str, bytes]) -> None:
    assert written(play(FIELD, entrants()[::-1]), tmp_path) == unbroken["field"]


def test_what_is_stored_of_a_tournament_without_the_rule_is_mended(
    tmp_path: Path, unbroken: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ohhell_train.tournament.given_up.GIVE_UP", 10**6)
        before = written(play(FIELD, store=tmp_path / "t.sqlite"), tmp_path)
    assert before != unbroken["field"]
    assert written(play(FIELD, store=tmp_path / "t.sqlite"), tmp_path) == unbroken["field"]


@pytest.mark.parametrize("way", ["field", "mixed"])
def test_a_stop_that_depends_on_it_comes_at_the_same_block(way: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"stop": 1.0, "deals": 500, "unit": 50, "hand_size": 2}
    one = play(WAYS[way], **settings)
    assert one.blocks < 500
    store = tmp_path / "t.sqlite"
    many = play(WAYS[way], workers=2, store=store, **settings)
    assert written(many, tmp_path / "many") == written(one, tmp_path / "one")


def test_the_progress_counts_every_table_once() -> None:
    seen: list[tuple[int, int]] = []
    play(FIELD, on_progress=lambda standings: seen.append((standings.done, standings.total)))
    assert seen[-1][0] == seen[-1][1]
    assert all(done <= total for done, total in seen)


def test_who_fails_and_who_is_given_up_is_said_while_it_plays() -> None:
    found: dict[tuple[str, bool], Any] = {}

    def look(standings: Standings) -> None:
        for name, failing in standings.failing.items():
            found.setdefault((name, failing.given_up), (standings.done, failing))

    play(FIELD, on_progress=look)
    done, first = found["fails", False]
    assert first.counts.first_fault == "RuntimeError: no idea"
    assert first.counts.faults > 0
    assert done < found["fails", True][0]
    assert ("low", False) not in found


def test_the_time_left_counts_each_pairing_at_its_own_pace() -> None:
    players = [("low", Lowest(seed=0)), "random", ("fails", Fails())]
    config = TournamentConfig(entrants=players, players=3, deals=12, unit=3, seed=3).resolved()
    contest, units = Contest.of(config), plan("field", 3, 12, 3)
    standings, first = Standings(contest, units), units[:6]
    assert standings.seconds_left is None
    slow, result = first[0].pairing, contest.play(first[0])
    for unit in first:
        result = dataclasses.replace(
            contest.play(unit), seconds=300.0 if unit.pairing == slow else 1.0
        )
        standings.add(unit, result)
    assert standings.seconds == 305.0
    assert standings.seconds_left == 3 * 305.0, "not by the last units, which were quick"
    standings.add(units[6], dataclasses.replace(result, seconds=30.0))
    assert standings.seconds_left == 2 * 30.0 + 3 * 5 * 1.0, "the first one waited for a compiler"
    standings.give_up({2})
    pace = {unit.pairing: 30.0 if unit.pairing == slow else 1.0 for unit in first}
    known = [pace[pair] for pair in pace if 2 not in pair]
    assert standings.seconds_left == pytest.approx(
        sum(
            (2 if pair == slow else 3) * (pace[pair] if 2 not in pair else sum(known) / len(known))
            for pair in pace
        )
    )


def test_the_command_says_it_in_two_lines_with_the_time_that_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entrants = [("low", Lowest(seed=0)), ("fails", Fails())]
    settings = TournamentConfig(
        entrants=entrants, players=3, deals=40, unit=3, out=tmp_path, report=False
    )
    for _ in range(2):  # as it is played, and from the store
        cli_run(settings)
        lines = capsys.readouterr().out.splitlines()
        first = [
            line for line in lines if line.startswith("fails: ") and " decisions of 3 " in line
        ]
        given_up = [line for line in lines if "fails all the time and is given up" in line]
        assert len(first) <= len(given_up) == 1
        for line in (*first, *given_up):
            assert "RuntimeError: no idea" in line
            assert re.search(r"(about \d+ \w+ left|time left not known yet)$", line)
    settings = settings.model_copy(update={"out": tmp_path / "silent"})
    cli_run(settings, show_progress=False)
    assert "given up: it" not in capsys.readouterr().out
