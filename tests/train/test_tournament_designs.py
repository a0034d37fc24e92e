"""Both designs: fair line-ups, exact nothing between equals, the same bytes in every order."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ohhell_agents import Agent, HeuristicAgent
from ohhell_env.errors import OhHellError
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from ohhell_env.rules.variants import variants
from ohhell_train.tournament import Results, run_tournament
from ohhell_train.tournament.analysis.standings import Standings
from ohhell_train.tournament.design import DRAWN, Lineups, pairings
from tests.helpers import house
from tests.train.players import Highest, Lowest, RaisesSometimes

BY_BID = [[[bid for _ in range(size + 1)] for bid in range(size + 1)] for size in range(1, 27)]
"""Points: the bid itself, whatever becomes of it."""
BOTH = [(design, episode) for design in ("field", "mixed") for episode in ("deal", "game")]
SHORT = house(3, 2, 1, bidding__hook="none")


def plain(results: Results) -> dict[str, Any]:
    return json.loads(json.dumps(results.to_dict()))


# ------------------------------------------------------------------- the line-ups


def drawn(entrants: int, players: int, blocks: int, seed: int = 1) -> np.ndarray:
    names = [f"p{number:02}" for number in range(entrants)]
    return Lineups(names, players, seed).of((DRAWN, DRAWN), 0, blocks)


@pytest.mark.parametrize("players", [2, 3, 5, 8])
@pytest.mark.parametrize("more", [0, 1, 2, 7, 42])
def test_everybody_sits_equally_often_and_with_others(players: int, more: int) -> None:
    entrants = players + more
    counts: Counter[int] = Counter(dict.fromkeys(range(entrants), 0))
    for lineup in drawn(entrants, players, 400).tolist():
        assert len(set(lineup)) == players
        counts.update(lineup)
        assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize(("entrants", "players"), [(3, 2), (5, 4), (6, 3), (9, 8), (12, 4)])
def test_every_pair_meets_about_as_often(entrants: int, players: int) -> None:
    blocks = 6000
    met: Counter[tuple[int, int]] = Counter()
    for lineup in drawn(entrants, players, blocks).tolist():
        met.update(itertools.combinations(sorted(lineup), 2))
    share = players * (players - 1) / (entrants * (entrants - 1))
    spread = (blocks * share * (1.0 - share)) ** 0.5
    assert len(met) == entrants * (entrants - 1) // 2
    assert max(abs(count - blocks * share) for count in met.values()) < 5.0 * spread + 1.0


def test_everybody_sits_to_the_left_of_everybody() -> None:
    """The order within a line-up is chance, too: nobody follows the same one all the time."""
    left: Counter[tuple[int, int]] = Counter()
    for lineup in drawn(5, 3, 3000).tolist():
        left.update(zip(lineup, [*lineup[1:], lineup[0]], strict=True))
    assert len(left) == 20
    assert max(left.values()) < 1.3 * min(left.values())


@pytest.mark.parametrize("pieces", [[1] * 30, [7, 11, 12], [30]])
def test_lineups_do_not_depend_on_how_they_are_asked_for(pieces: list[int]) -> None:
    lineups, first, found = Lineups(list("cadbe"), 3, 4), 0, []
    for count in pieces:
        found += lineups.of((DRAWN, DRAWN), first, count).tolist()
        first += count
    late = Lineups(list("cadbe"), 3, 4).of((DRAWN, DRAWN), 20, 10)
    assert found == Lineups(list("cadbe"), 3, 4).of((DRAWN, DRAWN), 0, 30).tolist()
    assert found[20:] == late.tolist()


def test_lineups_know_names_not_places() -> None:
    one, other = list("abcdefg"), list("gcbafde")
    first = Lineups(one, 4, 9).of((DRAWN, DRAWN), 0, 50)
    second = Lineups(other, 4, 9).of((DRAWN, DRAWN), 0, 50)
    assert [[one[p] for p in row] for row in first] == [[other[p] for p in row] for row in second]
    assert (first != Lineups(one, 4, 8).of((DRAWN, DRAWN), 0, 50)).any()


def test_a_field_has_every_ordered_pair() -> None:
    assert sorted(pairings("field", 3)) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert pairings("mixed", 3) == [(DRAWN, DRAWN)]


# ------------------------------------------------------------------------ one challenger


def test_a_challenger_meets_every_field_and_no_more() -> None:
    assert pairings("field", 3, challenger=1) == [(1, 0), (1, 2)]
    entrants = ["random", "heuristic", ("low", Lowest())]
    whole = run_tournament(entrants, rules=SHORT, deals=40, seed=4)
    some = run_tournament(entrants, rules=SHORT, deals=40, seed=4, challenger="heuristic")
    assert set(some.outcomes) == {(1, 0), (1, 2)}
    for pairing, blocks in some.outcomes.items():
        assert (blocks == whole.outcomes[pairing]).all()
    pairs = plain(some)["pairs"]
    assert set(pairs) == {"heuristic|random", "heuristic|low"}
    assert all(plain(whole)["pairs"][name] == pair for name, pair in pairs.items())


def test_what_a_challenger_is_compared_by() -> None:
    """Two entrants: the difference of their pair, exactly; two fields: paired, block by block."""
    entrants = ["random", "heuristic", ("low", Lowest())]
    found = run_tournament(entrants, rules=SHORT, deals=60, seed=4, challenger="heuristic")
    over = {name: found.figures.against(1, place) for name, place in (("random", 0), ("low", 2))}
    data = plain(found)
    assert data["challenger"] == "heuristic"
    assert len(data["comparisons"]) == 3
    for each in data["comparisons"]:
        if "heuristic" in (each["better"], each["worse"]):
            (name,) = {each["better"], each["worse"]} - {"heuristic"}
            assert each["difference"] == pytest.approx(abs(over[name].mean()), abs=1e-6)
        else:
            fewer = abs((over["random"] - over["low"]).mean())
            assert each["difference"] == pytest.approx(fewer, abs=1e-6)
    shares = [data["entrants"][name]["difference"] for name in ("heuristic", "random", "low")]
    assert shares[0] == pytest.approx((over["random"].mean() + over["low"].mean()) / 2, abs=1e-6)
    assert shares[1] == pytest.approx(-over["random"].mean() / 2, abs=1e-6)
    assert shares[2] == pytest.approx(-over["low"].mean() / 2, abs=1e-6)


def test_a_challenge_goes_on_as_a_whole_field(tmp_path: Path) -> None:
    entrants = ["random", "heuristic", ("low", Lowest())]
    told: list[set[str]] = []

    def look(standings: Standings) -> None:
        told.append({standing.name for standing in standings.now()})

    store = tmp_path / "kept.sqlite"
    settings: dict[str, Any] = {"seed": 4, "unit": 20, "store": store}
    run_tournament(entrants, rules=SHORT, deals=40, challenger="low", on_progress=look, **settings)
    assert all(names == {"low"} for names in told)
    seen: list[int] = []
    whole = run_tournament(
        entrants,
        rules=SHORT,
        deals=40,
        on_progress=lambda standings: seen.append(standings.done),
        **settings,
    )
    assert seen[0] == 2 * 40 * 3  # two pairings were there
    assert plain(whole) == plain(run_tournament(entrants, rules=SHORT, deals=40, seed=4, unit=20))


def test_a_challenge_stops_when_every_field_is_settled() -> None:
    entrants = ["random", "heuristic"]
    found = run_tournament(
        entrants, rules=SHORT, deals=5000, seed=4, stop=0.5, challenger="heuristic", unit=100
    )
    assert 200 <= found.blocks < 5000
    assert list(found.outcomes) == [(1, 0)]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"challenger": "heuristc"}, "is not an entrant; did you mean 'heuristic'"),
        ({"challenger": "heuristic", "design": "mixed"}, "needs the design 'field', got 'mixed'"),
    ],
)
def test_a_challenge_that_cannot_be_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(OhHellError) as caught:
        run_tournament(
            ["random", "heuristic", "a=random"], rules=SHORT, deals=4, seed=4, **settings
        )
    assert told in str(caught.value)


def test_more_blocks_leave_the_first_ones_of_a_mixed_tournament_as_they_are() -> None:
    entrants = ["random", "heuristic", "a=random", ("low", Lowest())]
    few = run_tournament(entrants, rules=SHORT, deals=7, seed=4, design="mixed", unit=3).outcomes[
        -1, -1
    ]
    many = run_tournament(entrants, rules=SHORT, deals=20, seed=4, design="mixed", unit=4).outcomes[
        -1, -1
    ]
    assert (few == many[:7]).all()


# ------------------------------------------------------------- the order of the names


@pytest.mark.parametrize(("design", "episode"), BOTH)
def test_the_order_of_the_entrants_changes_no_byte(
    tmp_path: Path, design: str, episode: str
) -> None:
    entrants = ["random", "heuristic", ("low", Lowest()), ("Odd", RaisesSometimes()), "a=heuristic"]
    files = set()
    for number, order in enumerate(([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3])):
        results = run_tournament(
            [entrants[place] for place in order],
            rules=house(4, 3, 1, settlement="differences"),
            deals=32,
            seed=6,
            design=design,
            episode=episode,
        )
        files.add(results.save(tmp_path / str(number)).read_bytes())
    assert len(files) == 1
    data = json.loads(files.pop())
    assert [w for w in data["warnings"] if w.startswith("Odd ")]
    equal = [w for w in data["warnings"] if w == "a and heuristic came out equal"]
    assert len(equal) == (design == "field")


def test_a_store_goes_on_in_another_order(tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def stop(standings: Standings) -> None:
        if standings.done > standings.total / 2:
            raise StopError

    entrants: list[Any] = ["random", "heuristic", ("low", Lowest()), "b=random"]
    files = []
    for design in ("field", "mixed"):
        store = tmp_path / f"{design}.sqlite"
        settings: dict[str, Any] = {"seed": 6, "design": design, "unit": 4}
        with pytest.raises(StopError):
            run_tournament(
                entrants, rules=SHORT, deals=16, store=store, on_progress=stop, **settings
            )
        results = run_tournament(entrants[::-1], rules=SHORT, deals=16, store=store, **settings)
        files.append(results.save(tmp_path / "on").read_bytes())
        whole = run_tournament(entrants, rules=SHORT, deals=16, **settings)
        assert whole.save(tmp_path / "whole").read_bytes() == files[-1]


# --------------------------------------------------------------------- equal players


@pytest.mark.parametrize(("design", "episode"), BOTH)
@pytest.mark.parametrize("kind", [HeuristicAgent, Highest, Lowest])
def test_equal_deterministic_players_differ_by_exactly_nothing(
    design: str, episode: str, kind: type[Agent]
) -> None:
    entrants = [(name, kind()) for name in ("one", "two", "three", "four")]
    blocks = 12
    data = plain(
        run_tournament(entrants, rules=SHORT, deals=blocks, seed=3, design=design, episode=episode)
    )
    for comparison in data["comparisons"]:
        assert (comparison["difference"], comparison["ci95"]) == (0.0, [0.0, 0.0])
        assert (comparison["p"], comparison["blocks_needed"]) == (1.0, None)
    for row in data["entrants"].values():
        assert (row["difference"], row["difference_ci95"]) == (0.0, [0.0, 0.0])
        assert row["win_share"] == pytest.approx(1 / 3, abs=1e-6)
    for pair in data["pairs"].values():
        assert pair["difference"] == 0.0
        assert pair["ci95"] in ([0.0, 0.0], None)
    ratings = [row["rating"] for row in data["entrants"].values()]
    if design == "field":
        assert all(rating == ratings[0] for rating in ratings)
    assert len({rating["mu"] for rating in ratings if rating is not None}) <= 1


# ------------------------------------------------------- one seat in n, and exact margins


class AllAsDealer(Highest):
    """Bids all as dealer, nil in every other seat."""

    def choose(
        self, observations: Any, action_masks: Any, random_bits: Any, deterministic: bool
    ) -> Any:
        assert self.rules is not None
        deals = observations[:, layout_of(self.rules).slices()["dealer"].start] == 1
        high = super().choose(observations, action_masks, random_bits, deterministic)
        return np.where(deals, high, action_masks.argmax(axis=1))


@pytest.mark.parametrize("players", [2, 3, 5])
@pytest.mark.parametrize(("design", "episode"), BOTH)
def test_a_player_that_scores_in_one_seat_gets_one_n_th(
    players: int, design: str, episode: str
) -> None:
    sizes = [4] * players if episode == "game" else [4]
    rules = house(players, *sizes, bidding__hook="none", scoring={"table": BY_BID})
    entrants: list[Any] = [(f"nil{number}", Lowest()) for number in range(players)]
    entrants.append(("dealer", AllAsDealer()))
    data = plain(
        run_tournament(entrants, rules=rules, deals=12, seed=2, design=design, episode=episode)
    )
    # one deal: 4 points in one of n seats; a game: every seat deals once, whoever sits there
    points = 4.0 if episode == "game" else round(4.0 / players, 6)
    row = data["entrants"]["dealer"]
    assert (row["mean_points"], row["ci95"]) == (points, [points, points])
    assert (row["difference"], row["difference_ci95"]) == (points, [points, points])
    assert data["pairs"]["dealer|nil0"]["difference"] == points
    if "nil0|dealer" in data["pairs"]:
        assert data["pairs"]["nil0|dealer"]["difference"] == -points


# -------------------------------------------------------------------- every variant


@pytest.mark.parametrize("name", variants())
def test_every_variant_is_played_in_both_designs(name: str) -> None:
    for design in ("field", "mixed"):
        _run_both(Rules.preset(name), design)


def _run_both(rules: Rules, design: str) -> None:
    for episode in ("deal", "game"):
        entrants = [f"p{n}=random" for n in range(2 if design == "field" else rules.players)]
        entrants[0] = "heuristic"
        results = run_tournament(
            entrants, rules=rules, deals=2, seed=1, design=design, episode=episode
        )
        data = plain(results)
        tables = sum(row["tables"] for row in data["entrants"].values())
        rows = 2 if design == "field" else rules.players
        assert tables == 2 * rows * rules.players
        assert data["rules"] == json.loads(json.dumps(rules.to_dict()))
        settles = episode == "game" and rules.settlement.kind != "none"
        assert all(("settlement" in row) == settles for row in data["entrants"].values())


@pytest.mark.slow
@pytest.mark.parametrize("players", range(2, 9))
@pytest.mark.parametrize("name", variants())
def test_every_variant_is_played_by_every_number(name: str, players: int) -> None:
    try:
        rules = Rules.preset(name, players=players)
    except OhHellError:
        pytest.skip("cannot be dealt")
    for design in ("field", "mixed"):
        _run_both(rules, design)


@pytest.mark.parametrize("players", [2, 3, 8])
def test_fifty_entrants_at_mixed_tables(players: int) -> None:
    entrants = [f"p{number}=random" for number in range(48)] + ["heuristic", "h=heuristic"]
    rules = house(players, 3)
    results = run_tournament(entrants, rules=rules, deals=50, seed=1, design="mixed", unit=16)
    data = plain(results)
    assert len(data["entrants"]) == 50
    assert len(data["comparisons"]) == 50 * 49 // 2
    tables = [row["tables"] for row in data["entrants"].values()]
    assert sum(tables) == 50 * players * players
    assert max(tables) - min(tables) <= players
    for row in data["entrants"].values():
        assert row["deals"] == row["tables"]
        assert row["rating"] is None or row["rating"]["mu"] > 0.0
    if players == 8:  # 64 tables each; the other numbers of players give no more than 9
        points = {name: row["mean_points"] for name, row in data["entrants"].items()}
        middle = sorted(points.values())[25]
        assert min(points["heuristic"], points["h"]) > middle


def test_fewer_blocks_than_seat_everybody_are_refused() -> None:
    entrants = [f"p{number}=random" for number in range(9)]
    with pytest.raises(OhHellError, match="9 entrants at mixed tables of 4 need 3 blocks"):
        run_tournament(entrants, rules="oh_hell", deals=2, seed=1, design="mixed")
    data = plain(run_tournament(entrants, rules="oh_hell", deals=3, seed=1, design="mixed"))
    assert all(row["tables"] in (4, 8) for row in data["entrants"].values())
