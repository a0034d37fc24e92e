"""The figures of a tournament against a naive referee, which counts in the records of its tables.

The referee replays every table with ``replay_table`` and counts in plain loops: who won which trick
from the cards, everything else from who bid and won what. It shares no code with the figures.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, defaultdict
from statistics import fmean, stdev
from typing import Any

import pytest

from ohhell_env.rules import Rules
from ohhell_train.tournament import Results, run_tournament
from ohhell_train.tournament.analysis.statistics import student_quantile
from ohhell_train.tournament.tables import replay_table
from tests.helpers import house
from tests.train.players import AskedHeuristic, AskedRandom, Highest, Lowest

MANY: list[Any] = ["random", "heuristic", ("low", Lowest()), ("high", Highest()), "second=random"]
TIED = house(3, 1, 2, tie_break="extra_deals", settlement="pool", bidding__hook="none")
TARGET = Rules.preset("oh_well", players=3).replace(**{"schedule.high": 3, "end.target": 25})
TOGETHER = house(4, 3, 1, 2, bidding__order="simultaneous", bidding__hook="none")
BLIND = house(4, 1, 2, blind_one_card="always", tie_break="most_exact_bids")
TOTALS = house(3, 2, 3, tie_break="largest_bid_total", settlement="differences", hard_score_bonus=7)


def winner_of(trick: list[list[Any]], trump: str | None, ranks: list[str]) -> int:
    """The seat that wins: that of the highest trump, else of the highest card of the suit led."""
    led = trick[0][1][-1]
    strength = []
    for seat, card in trick:
        rank, suit = ranks.index(card[:-1]), card[-1]
        strength.append((suit == trump, suit == led, rank, seat))
    return max(strength)[3]


class Naive:
    """Counts what everybody did; a table at a time."""

    def __init__(self, results: Results, alone: bool) -> None:
        self.results, self.alone = results, alone
        self.rules = results.deals.rules
        self.seats = self.rules.players
        # By entrant: lists of (block, value), and counts.
        self.points: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self.apart: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self.wins: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self.paid: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self.deals: dict[int, list[dict[str, int]]] = defaultdict(list)
        self.met: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
        self.against: dict[tuple[int, int], list[dict[str, float]]] = defaultdict(list)
        self.extra_deals = 0
        self._play()

    def _play(self) -> None:
        for pairing, blocks in self.results.outcomes.items():
            for block in range(len(blocks)):
                lineup = blocks["lineup"][block].tolist()
                if self.alone:
                    assert lineup == [pairing[0]] + [pairing[1]] * (self.seats - 1)
                for rotation in range(self.seats):
                    self._table(pairing, lineup, block, rotation)

    def _table(self, pairing: tuple[int, int], lineup: list[int], block: int, turn: int) -> None:
        results = self.results
        record = replay_table(results.deals, results.entrants, lineup, block, turn)
        seat_of = [(place + turn) % self.seats for place in range(self.seats)]
        scores = [
            sum(deal["points"][seat] for deal in record["deals"]) for seat in range(self.seats)
        ]
        assert scores == record["scores"]
        deals = [self._deal(deal) for deal in record["deals"]]
        shares = self._shares(scores, deals)
        assert shares == pytest.approx(record["win_shares"])
        paid = self._settlement(scores, shares)
        if self.results.deals.episode == "game":
            assert paid == pytest.approx(record["settlement"])
            self.extra_deals += max(0, len(deals) - len(self.rules.schedule.sizes or deals))
        for place in [0] if self.alone else range(self.seats):
            who, seat = lineup[place], seat_of[place]
            others = [scores[other] for other in range(self.seats) if other != seat]
            self.points[who].append((block, scores[seat]))
            self.apart[who].append((block, scores[seat] - fmean(others)))
            self.wins[who].append((block, shares[seat]))
            self.paid[who].append((block, paid[seat]))
            own = [deal[seat] for deal in deals]
            self.deals[who] += own
            if self.alone:
                self.met[pairing].append((block, scores[seat] - fmean(others)))
                self.against[pairing].append(
                    {
                        "points": scores[seat],
                        "made": sum(deal["bid"] == deal["won"] for deal in own),
                        "deals": len(own),
                    }
                )
            else:
                for other in range(self.seats):
                    if other != place:
                        apart = scores[seat] - scores[seat_of[other]]
                        self.met[who, lineup[other]].append((block, apart))

    def _deal(self, deal: dict[str, Any]) -> list[dict[str, int]]:
        """By seat: hand size, place after the dealer, bid and tricks won."""
        won = Counter(
            winner_of(trick, deal["trump"], list(self.rules.pack.ranks)) for trick in deal["tricks"]
        )
        assert sum(won.values()) == deal["hand_size"]
        bids = dict(deal["bids"])
        return [
            {
                "hand_size": deal["hand_size"],
                "seat": (seat - deal["dealer"] - 1) % self.seats + 1,
                "bid": bids[seat],
                "won": won[seat],
            }
            for seat in range(self.seats)
        ]

    def _shares(self, scores: list[int], deals: list[list[dict[str, int]]]) -> list[float]:
        first = [seat for seat in range(self.seats) if scores[seat] == max(scores)]
        decider = {"most_exact_bids": self._exact, "largest_bid_total": self._bid}
        value = decider.get(self.rules.tie_break, lambda seat, deals: 0)
        values = {seat: value(seat, deals) for seat in first}
        winners = [seat for seat in first if values[seat] == max(values.values())]
        return [(seat in winners) / len(winners) for seat in range(self.seats)]

    @staticmethod
    def _exact(seat: int, deals: list[list[dict[str, int]]]) -> int:
        return sum(deal[seat]["bid"] == deal[seat]["won"] for deal in deals)

    @staticmethod
    def _bid(seat: int, deals: list[list[dict[str, int]]]) -> int:
        return sum(deal[seat]["bid"] for deal in deals)

    def _settlement(self, scores: list[int], shares: list[float]) -> list[float]:
        rules = self.rules.settlement
        if rules.kind == "pool":
            return [self.seats * rules.ante * share - rules.ante for share in shares]
        if rules.kind == "differences":
            bonus = self.rules.hard_score_bonus
            hard = [s + bonus * (share > 0) for s, share in zip(scores, shares, strict=True)]
            return [sum(rules.rate * (own - other) for other in hard) for own in hard]
        return [0.0] * self.seats


def by_block(values: list[tuple[int, float]]) -> list[float]:
    """The mean of each block's values, in order."""
    blocks = defaultdict(list)
    for block, value in values:
        blocks[block].append(value)
    return [fmean(blocks[block]) for block in sorted(blocks)]


def students(values: list[float]) -> list[float] | None:
    if len(values) < 2:
        return None
    half = student_quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return [fmean(values) - half, fmean(values) + half]


def close(value: Any) -> Any:
    return None if value is None else pytest.approx(value, abs=1.01e-6)


def check_entrant(naive: Naive, place: int, row: dict[str, Any]) -> None:
    settles = naive.results.deals.episode == "game" and naive.rules.settlement.kind != "none"
    assert ("settlement" in row) == settles
    measured = [("mean_points", "ci95", naive.points), ("win_share", "win_share_ci95", naive.wins)]
    measured.append(("difference", "difference_ci95", naive.apart))
    if settles:
        measured.append(("settlement", "settlement_ci95", naive.paid))
    for name, ci95, values in measured:
        assert row[name] == close(fmean(value for _, value in values[place])), name
        assert row[ci95] == close(students(by_block(values[place]))), ci95
    assert row["tables"] == len(naive.points[place])
    check_deals(naive.deals[place], row)


def check_deals(deals: list[dict[str, int]], row: dict[str, Any]) -> None:
    assert row["deals"] == len(deals)
    off = [deal["won"] - deal["bid"] for deal in deals]
    assert row["made_rate"] == close(off.count(0) / len(off))
    low, high = row["made_rate_ci95"] or (-math.inf, math.inf)
    assert low <= row["made_rate"] <= high
    assert row["over_tricks"] == close(sum(n for n in off if n > 0) / len(off))
    assert row["under_tricks"] == close(-sum(n for n in off if n < 0) / len(off))
    assert row["off_by"] == {str(n): close(off.count(n) / len(off)) for n in set(off)}
    for what in ("hand_size", "seat", "bid"):
        wanted = {}
        for key in {deal[what] for deal in deals}:
            made = [deal["won"] == deal["bid"] for deal in deals if deal[what] == key]
            wanted[str(key)] = {"made_rate": close(sum(made) / len(made)), "deals": len(made)}
        assert row[f"made_by_{what}"] == wanted


def check_pairs(naive: Naive, data: dict[str, Any]) -> None:
    names = naive.results.names
    pairs = {f"{names[one]}|{names[other]}": values for (one, other), values in naive.met.items()}
    assert set(data["pairs"]) == set(pairs)
    for key, values in pairs.items():
        row, blocks = data["pairs"][key], by_block(values)
        assert (row["difference"], row["blocks"]) == (close(fmean(blocks)), len(blocks))
        assert row["ci95"] == close(students(blocks))
    for (one, other), met in naive.against.items():
        row = data["pairs"][f"{names[one]}|{names[other]}"]
        assert row["mean_points"] == close(fmean(table["points"] for table in met))
        made, deals = (sum(table[key] for table in met) for key in ("made", "deals"))
        assert row["made_rate"] == close(made / deals)


def check_comparisons(naive: Naive, data: dict[str, Any]) -> None:
    names = naive.results.names
    others = len(names) if data["design"] == "field" else data["players"]
    share = (others - 1) / others
    mean = {names[who]: share * fmean(v for _, v in values) for who, values in naive.apart.items()}
    wanted = {frozenset(pair) for pair in itertools.combinations(names, 2)}
    assert {frozenset((row["better"], row["worse"])) for row in data["comparisons"]} == wanted
    for row in data["comparisons"]:
        assert row["difference"] == close(mean[row["better"]] - mean[row["worse"]])
        assert row["difference"] >= 0.0
        low, high = row["ci95"] or (-math.inf, math.inf)
        assert low <= row["difference"] <= high
        assert row["inside_noise"] == (low <= 0.0)
        assert 0.0 <= row["p"] <= row["p_holm"] <= 1.0


SHORT = house(2, 2, 3)
OF_SEVEN: list[Any] = [*MANY, "third=random", ("asked", AskedRandom()), ("h", AskedHeuristic())]
DEALS: dict[str, dict[str, Any]] = {
    "field": {"entrants": MANY[:3], "rules": "oh_hell", "deals": 3},
    "field, one size": {"entrants": MANY[:2], "rules": "plump", "deals": 3, "hand_size": 4},
    "field, one block": {"entrants": MANY[:2], "rules": "oh_hell", "deals": 1, "hand_size": 3},
    "mixed": {"entrants": MANY, "rules": "escalating", "deals": 5, "players": 3},
    "mixed, all at a table": {"entrants": MANY[:3], "rules": "oh_hell", "deals": 4, "players": 3},
    "mixed of seven": {"entrants": OF_SEVEN, "rules": house(7, 2, 1), "deals": 3},
}
GAMES: dict[str, dict[str, Any]] = {
    "field, target": {"entrants": MANY[:2], "rules": TARGET, "deals": 3},
    "mixed, target": {"entrants": MANY, "rules": TARGET, "deals": 4},
    "field, extra deals": {"entrants": MANY[:3], "rules": TIED, "deals": 4},
    "mixed, extra deals": {"entrants": MANY, "rules": TIED, "deals": 6},
    "mixed, bids at once": {"entrants": MANY, "rules": TOGETHER, "deals": 4},
    "field, blind": {"entrants": MANY[:3], "rules": BLIND, "deals": 2},
    "mixed, blind": {"entrants": MANY, "rules": BLIND, "deals": 4},
    "mixed, bid totals": {"entrants": MANY, "rules": TOTALS, "deals": 6},
    "field of two": {"entrants": MANY[:3], "rules": SHORT, "deals": 3},
    "mixed of two": {"entrants": MANY, "rules": SHORT, "deals": 7},
    "field of seven": {"entrants": MANY[:2], "rules": house(7, 2, 1), "deals": 2},
    "mixed of seven": {"entrants": OF_SEVEN, "rules": house(7, 2, 1), "deals": 3},
}
CASES = [("deal", case) for case in DEALS] + [("game", case) for case in GAMES]


@pytest.mark.parametrize(("episode", "case"), CASES)
def test_every_figure_is_the_naive_referees(episode: str, case: str) -> None:
    design = "mixed" if case.startswith("mixed") else "field"
    arguments = (DEALS if episode == "deal" else GAMES)[case]
    results = run_tournament(seed=11, design=design, episode=episode, **arguments)
    data = json.loads(json.dumps(results.to_dict()))
    naive = Naive(results, design == "field")
    assert set(data["entrants"]) == set(results.names)
    for place, name in enumerate(results.names):
        check_entrant(naive, place, data["entrants"][name])
    check_pairs(naive, data)
    check_comparisons(naive, data)
    tables = len(results.outcomes) * results.blocks * results.deals.rules.players
    assert results.timings()["tables"] == tables
    if "extra deals" in case:
        assert naive.extra_deals > 0


def test_the_interval_of_the_made_rate_is_the_jackknifes_where_games_are_of_unlike_length() -> None:
    entrants = ["random", "heuristic", ("low", Lowest())]
    results = run_tournament(
        entrants, rules=TARGET, deals=150, seed=2, design="mixed", episode="game"
    )
    row = results.to_dict()["entrants"]["heuristic"]
    blocks = results.outcomes[-1, -1]
    made, deals = [], []
    for block in blocks:
        place = block["lineup"].tolist().index(1)
        count = hits = 0
        for rotation, seat in ((r, (place + r) % 3) for r in range(3)):
            for deal, size in enumerate(block["hand_sizes"][rotation]):
                count += size > 0
                hits += size > 0 and (
                    block["bids"][rotation, deal, seat] == block["tricks"][rotation, deal, seat]
                )
        made.append(hits)
        deals.append(count)
    assert len(set(deals)) > 3
    left = [(sum(made) - m) / (sum(deals) - d) for m, d in zip(made, deals, strict=True)]
    error = math.sqrt((len(left) - 1) / len(left) * sum((x - fmean(left)) ** 2 for x in left))
    half = (row["made_rate_ci95"][1] - row["made_rate_ci95"][0]) / 2.0
    assert half == pytest.approx(student_quantile(len(left) - 1) * error, rel=0.02)


def test_the_interval_of_the_made_rate_is_students_where_games_are_as_long() -> None:
    results = run_tournament(["random", "heuristic"], rules="oh_hell", deals=40, seed=3)
    met = results.outcomes[0, 1]
    alone = [
        [block["bids"][r, 0, r] == block["tricks"][r, 0, r] for r in range(4)] for block in met
    ]
    row = results.to_dict()["entrants"]["random"]
    assert row["made_rate_ci95"] == close(students([fmean(map(float, each)) for each in alone]))
