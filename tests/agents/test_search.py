"""The search player: legal everywhere, never peeks, same seed same decision, and stronger."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import ohhell_agents
from ohhell_agents import SearchAgent, SearchSettings
from ohhell_agents.search.game_value import RestOfGame
from ohhell_agents.search.policy import find_policy
from ohhell_agents.value.advantage_nets import price_for
from ohhell_env import BatchedOhHell
from ohhell_env.cards import parse_card
from ohhell_env.engine import batch
from ohhell_env.engine.encode import new_buffer
from ohhell_env.engine.layout import Phase, compile_rules
from ohhell_env.errors import CheckpointError, IllegalActionError, OhHellError
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from ohhell_env.rules.variants import VARIANTS, variants
from tests.agents.test_heuristic import hidden_changed, table
from tests.agents.views import states, view
from tests.helpers import house, random_rules

FEW = {
    "flat": "search:worlds=6,prior=0",
    "tree": "search:method=tree,iterations=12",
    "trees": "search:method=tree,iterations=12,others=tree,inference=false",
    "plain": "search:worlds=4,inference=false,playout=random,objective=relative,race=0",
    "bids": "search:worlds=4,chains=2,swaps=2,bids=policy",
}


def all_rules() -> list[Rules]:
    presets = [
        Rules.preset(name, players) for name in variants() for players in VARIANTS[name].usual
    ]
    rng = random.Random(5)
    late = {"trump__revealed": "after_bidding"}
    return [
        *presets,
        house(4, 5, bidding__order="simultaneous", bidding__hook="none"),
        house(3, 17, trump__exhausted="dealer_last_card"),
        house(8, 6, trump__method="none", play__void="must_trump"),
        house(5, 4, **late),
        house(3, 3, trump__method="random_suit", **late),
        house(4, 4, trump__method="dealer_last_card", **late),
        *(random_rules(rng) for _ in range(25)),
    ]


ALL_RULES = all_rules()


@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: f"{rules.name}-{rules.players}")
def test_legal_in_every_variant_and_layout(rules: Rules) -> None:
    players = {name: ohhell_agents.make(spec, seed=1) for name, spec in FEW.items()}
    for player in players.values():
        player.begin(rules)
    for layout in ("default", "universal"):
        for step, tables in enumerate(states(rules, ohhell_agents.make("heuristic"), 9, 2, layout)):
            name = list(players)[step % len(players)]
            chosen = players[name].act_batch(tables.observations, tables.action_masks)
            assert tables.action_masks[np.arange(2), chosen].all(), name


@pytest.mark.parametrize("rules", ALL_RULES[::2], ids=lambda rules: f"{rules.name}-{rules.players}")
@pytest.mark.parametrize("name", ["flat", "tree"])
def test_p77_hidden_cards_never_change_a_decision(
    rules: Rules, name: str, rng: random.Random
) -> None:
    player = ohhell_agents.make(FEW[name], seed=1)
    player.begin(rules)
    compiled = Game(rules, seed=0).compiled
    layout = layout_of(rules)
    for step, tables in enumerate(
        states(rules, ohhell_agents.make("heuristic"), steps=10, tables=3)
    ):
        changed = hidden_changed(tables, rng)
        size = layout.length
        views = new_buffer(3, size)
        for place in range(3):
            alone, mask = new_buffer(1, size), new_buffer(1, layout.num_actions)
            seat = int(tables.seats[place])
            row = changed[place : place + 1]
            batch.observe_one(row, compiled, layout.compiled(), seat, alone, mask)
            views[place * size : (place + 1) * size] = alone[:size]
        words = np.arange(3, dtype=np.uint64) + np.uint64(100 * step)
        mine = player.act_batch(tables.observations, tables.action_masks, random_bits=words)
        others = views[: 3 * size].reshape(3, size)
        again = player.act_batch(others, tables.action_masks, random_bits=words)
        assert (mine == again).all()


def test_p77_two_opponents_cards_exchanged() -> None:
    hands = "7H 8D 2C 3C / AH 9D 3S 4C / 5H 7D AS 5C / TH AD 6C 2D"
    swapped = "7H 8D 2C 3C / 5H 7D AS 5C / AH 9D 3S 4C / TH AD 6C 2D"
    for spec in FEW.values():
        player = ohhell_agents.make(spec, seed=1)
        player.begin(table(hands, turned="2S").rules)
        words = np.array([77], np.uint64)
        decided = []
        for dealt in (hands, swapped):
            seen = view(table(dealt, turned="2S"))
            decided.append(
                player.act_batch(
                    seen["observation"][np.newaxis],
                    seen["action_mask"][np.newaxis],
                    random_bits=words,
                )[0]
            )
        assert decided[0] == decided[1]


# ------------------------------------------------------------------------ seeds and processes


@pytest.mark.parametrize("spec", FEW.values())
def test_same_word_same_decision_whatever_was_asked_before(spec: str) -> None:
    rules = Rules.preset("oh_hell", 4)
    one, two = ohhell_agents.make(spec, seed=1), ohhell_agents.make(spec, seed=2)
    two.begin(rules)
    for tables in states(rules, one, steps=10, tables=6):
        words = np.arange(6, dtype=np.uint64)
        views = tables.observations.copy(), tables.action_masks.copy()
        first = one.act_batch(*views, random_bits=words)
        order = np.arange(6)[::-1]
        second = two.act_batch(views[0][order], views[1][order], random_bits=words[order])
        assert (first == second[order]).all()


def test_same_seed_same_decisions_in_another_process() -> None:
    code = (
        "import ohhell_agents; from ohhell_env import BatchedOhHell\n"
        "t = BatchedOhHell(4, 'oh_hell', seed=3); t.reset()\n"
        "a = ohhell_agents.make('search:worlds=8', seed=5); a.begin('oh_hell'); out = []\n"
        "for _ in range(12):\n"
        "    c = a.act_batch(t.observations, t.action_masks); t.step(c); out += c.tolist()\n"
        "print(out)"
    )
    run = [sys.executable, "-c", code]
    told = [subprocess.run(run, capture_output=True, text=True, check=True) for _ in range(2)]
    assert told[0].stdout == told[1].stdout
    assert len(told[0].stdout) > 100


# ------------------------------------------------------------------------- settings and files


def test_settings_are_read_from_text_and_keywords() -> None:
    player = ohhell_agents.make(
        "search:worlds=60,inference=true,objective=points", seed=1, floor=0.1
    )
    assert isinstance(player, SearchAgent)
    assert player.settings == SearchSettings(worlds=60, objective="points", floor=0.1)
    assert player.fingerprint == "worlds=60,objective=points,floor=0.1"
    assert ohhell_agents.make("search:worlds=none,effort=2").fingerprint == "effort=2.0"
    assert ohhell_agents.make("search").fingerprint == ""
    assert ohhell_agents.make("search:ms=2").settings.ms == 2.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("search:world=5", "unknown setting 'search.world': did you mean 'worlds'"),
        ("search:worlds=few", "search.worlds must be a whole number, got 'few'"),
        ("search:worlds=0", "worlds must be 1 to 1e+06, got 0"),
        ("search:worlds=2.5", "search.worlds must be a whole number"),
        ("search:worlds=5,effort=2", "leave one of them out"),
        ("search:effort=0", "effort must be 0.001 to 10000"),
        ("search:inference=yes", "search.inference must be true or false, got 'yes'"),
        ("search:objective=point", "did you mean 'points'"),
        ("search:worlds", "name=value"),
        ("search:worlds=5,worlds=6", "given twice"),
        ("search:ms=nan", "ms must be"),
        ("search:chains=1000", "chains must be 1 to 32"),
        ("searhc:worlds=5", "did you mean 'search'"),
    ],
)
def test_settings_that_are_wrong_are_named(spec: str, told: str) -> None:
    with pytest.raises(OhHellError) as caught:
        ohhell_agents.make(spec)
    assert told in str(caught.value)


def test_a_setting_in_text_and_keywords_is_refused() -> None:
    with pytest.raises(OhHellError, match="given twice"):
        ohhell_agents.make("search:worlds=5", worlds=6)


def test_saved_and_loaded_it_goes_on_alike(tmp_path: Path) -> None:
    rules = Rules.preset("oh_hell", 4)
    player = ohhell_agents.make("search:worlds=5,objective=points", seed=4)
    player.begin(rules)
    player.save(tmp_path / "searcher.json")
    again = ohhell_agents.load(tmp_path / "searcher.json")
    assert isinstance(again, SearchAgent)
    assert again.settings == SearchSettings(worlds=5, objective="points")
    again.begin(rules)
    seen = view(Game(rules, seed=2, episode="deal", hand_size=7))
    assert [player.act(seen) for _ in range(5)] == [again.act(seen) for _ in range(5)]
    other = ohhell_agents.load(tmp_path / "searcher.json", seed=9)
    assert isinstance(other, SearchAgent)
    assert other.settings == again.settings


@pytest.mark.parametrize("change", [('"worlds": 5', '"worlds": 0'), ('"worlds"', '"wordls"')])
def test_a_broken_file_is_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    path = tmp_path / "searcher.json"
    ohhell_agents.make("search:worlds=5", seed=4).save(path)
    path.write_text(path.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"searcher\.json.*w"):
        ohhell_agents.load(path)


def test_it_must_know_the_rules() -> None:
    seen = view(Game("oh_hell", seed=2))
    with pytest.raises(IllegalActionError, match="call begin"):
        ohhell_agents.make("search").act(seen)


def test_a_view_with_too_many_cards_is_decided_without_search() -> None:
    rules = Rules.preset("oh_hell", 4)
    game = Game(rules, seed=2, episode="deal", hand_size=10)
    seen = view(game)
    player = ohhell_agents.make("search:worlds=5", seed=1)
    player.begin(rules)
    assert isinstance(player, SearchAgent)
    played = layout_of(rules).slices()["turned"]
    pack = layout_of(rules).slices()["hand"]
    assert player.explain(seen).worlds == 5
    seen["observation"][pack] = 0
    seen["observation"][pack.start : pack.start + 13] = 1
    seen["observation"][played] = 0
    seen["observation"][layout_of(rules).slices()["hand_size"]] = 13
    told = player.explain(seen)
    assert told.worlds == 5  # 52 cards are just enough for 13 each
    assert seen["action_mask"][told.chosen]


# ----------------------------------------------------------------------------------- budgets


@pytest.mark.compiled_only
@pytest.mark.parametrize("method", ["flat", "tree"])
def test_a_budget_of_time_is_kept(method: str) -> None:
    rules = Rules.preset("oh_hell", 4)
    player = ohhell_agents.make(f"search:ms=20,method={method},race=0", seed=1)
    assert isinstance(player, SearchAgent)
    assert player.depends_on_clock
    player.begin(rules)
    seen = view(Game(rules, seed=3, episode="deal", hand_size=10))
    player.act(seen)
    spent = []
    for _ in range(7):
        started = time.perf_counter()
        player.act(seen)
        spent.append(time.perf_counter() - started)
    assert min(spent) < 0.025
    told = player.explain(seen)
    assert told.worlds >= 2
    assert "20 ms" in told.notes[0]


def test_the_usual_worlds_are_more_where_less_is_to_be_played() -> None:
    usual = SearchSettings()
    for players, bidding in itertools.product((2, 4, 8), (False, True)):
        counts = [usual.worlds_for(cards, players, bidding) for cards in range(1, 27)]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] == 240
        assert counts[-1] == 16
    assert usual.worlds_for(5, 4, True) < usual.worlds_for(5, 4, False)
    assert usual.worlds_for(5, 6, False) < usual.worlds_for(5, 4, False)
    assert SearchSettings(worlds=17).worlds_for(5, 4, False) == 17
    ten_times = SearchSettings(effort=10.0)
    assert ten_times.worlds_for(5, 4, False) == 10 * usual.worlds_for(5, 4, False)


@pytest.mark.parametrize("phase", ["bid", "play"])
def test_an_effort_is_kept(phase: str) -> None:
    rules = Rules.preset("oh_hell", 4)
    game = Game(rules, seed=3, episode="deal", hand_size=6)
    while phase == "play" and game.phase is Phase.BID:
        game.apply(int(np.flatnonzero(view(game)["action_mask"])[0]))
    for effort in (0.5, 1.0, 3.0):
        player = ohhell_agents.make(f"search:effort={effort},race=0", seed=1)
        player.begin(rules)
        assert isinstance(player, SearchAgent)
        wanted = player.settings.worlds_for(6, 4, phase == "bid")
        assert player.explain(view(game)).worlds == wanted


def test_a_budget_of_worlds_is_kept() -> None:
    rules = Rules.preset("oh_hell", 4)
    seen = view(Game(rules, seed=3, episode="deal", hand_size=6))
    for spec, size in (
        ("search:worlds=17,race=0,prior=0", 17),
        (
            "search:method=tree,iterations=33,prior=0",
            33,
        ),
    ):
        player = ohhell_agents.make(spec, seed=1)
        player.begin(rules)
        assert isinstance(player, SearchAgent)
        told = player.explain(seen)
        assert told.worlds == size
        visits = [thought.visits for thought in told.thoughts]
        assert sum(visits) == size if "tree" in spec else set(visits) == {17}


# -------------------------------------------------------------------------------- objectives


def test_the_price_of_a_missed_bid() -> None:
    def price(scoring: str, size: int) -> float:
        return price_for(compile_rules(Rules().replace(scoring=scoring)), size)

    assert price("escalating", 4) == 16.0  # bid 1: 11 made, -5 either way
    assert price("simple", 4) == 11.0
    assert price("bonus_only", 10) == 10.0


def test_what_the_others_points_count() -> None:
    values = {}
    game = table("AS KH 2C / 7S QH 3C / 5S 2H 4C / 4S 3H 5C", turned="2S", bids="0 1 0 0")
    for spec in ("points", "relative,spoil=0", "relative,spoil=0.5", "relative,spoil=1"):
        player = ohhell_agents.make(f"search:worlds=20,race=0,objective={spec}", seed=1)
        player.begin(game.rules)
        assert isinstance(player, SearchAgent)
        told = player.explain(view(game), random_bits=3)
        values[spec] = {thought.action: thought.value for thought in told.thoughts}
    assert values["points"] == values["relative,spoil=0"]
    for action, own in values["points"].items():
        half, whole = (values[f"relative,spoil={spoil}"][action] for spoil in ("0.5", "1"))
        assert own is not None
        assert half is not None
        assert whole is not None
        assert half < own
        assert whole == pytest.approx(2.0 * half - own)


def test_with_the_last_deal_only_the_win_counts() -> None:
    """Nil is the safe bid; but only 11 points or more win the game."""
    rules = house(3, 1, 1, bidding__hook="none", scoring="simple")
    game = Game(rules, seed=1)
    game.reset(hands=[["2C"], ["3C"], ["4C"]], turned="2S", dealer=2)
    for action in (60, 60, 61, parse_card("2C"), parse_card("3C"), parse_card("4C")):
        game.apply(action)
    scores = game.scores
    assert game.deal == 1
    assert scores == [10, 10, 11]
    row = game.state[0]
    for seat, card in enumerate(("KH", "2D", "3D")):
        row["hands"][seat] = 1 << parse_card(card)
    row["turned"], row["trump"] = parse_card("2S"), 3
    bids = {}
    for objective in ("points", "win"):
        player = ohhell_agents.make(
            f"search:worlds=200,objective={objective},inference=false", seed=1
        )
        player.begin(rules)
        assert game.seat == 1
        bids[objective] = player.act(view(game))
    assert bids == {"points": 60, "win": 61}


def test_the_rest_of_a_game_gets_smaller() -> None:
    rules = Rules.preset("escalating", 4)
    rest = RestOfGame(rules, find_policy("heuristic"))
    scores = np.zeros(8, np.int32)
    spread = [rest.deviation(deal, scores) for deal in range(len(rest._means))]
    assert spread[-1] == 0.0
    assert all(a > b for a, b in itertools.pairwise(spread))
    assert 20.0 < spread[0] < 200.0


# ---------------------------------------------------------------------------------- strength


@pytest.mark.slow
@pytest.mark.compiled_only
def test_it_beats_a_field_of_the_heuristic_player() -> None:
    from ohhell_train.tournament.runner import run_tournament

    rules = Rules.preset("oh_hell", 4).replace(scoring="escalating")
    found = run_tournament(["search", "heuristic"], rules=rules, deals=300, seed=3, hand_size=10)
    low, _ = found.to_dict()["pairs"]["search|heuristic"]["ci95"]
    assert low > 0.0


def test_it_takes_a_trick_that_it_needs() -> None:
    hands = "7H 8D 2C / 9S 9D 3C / 5H 7D 4C / TH AH 6C"
    game = table(hands, turned="2S", bids="1 1 0 2", cards="7H")
    player = ohhell_agents.make("search:worlds=60", seed=1)
    player.begin(game.rules)
    assert game.phase is Phase.PLAY
    assert player.act(view(game)) == parse_card("9S")


def test_it_sits_at_many_tables_at_once() -> None:
    tables = BatchedOhHell(5, "oh_hell", seed=1)
    tables.reset()
    player = ohhell_agents.make("search:worlds=3", seed=1)
    player.begin("oh_hell")
    assert player.one_by_one
    chosen = player.act_batch(tables.observations, tables.action_masks)
    assert chosen.shape == (5,)


def test_every_setting_and_its_default_stand_in_the_docs() -> None:
    lines = (
        (Path(__file__).parents[2] / "docs" / "players.md").read_text(encoding="utf-8").splitlines()
    )
    rows = [line.split(" | ") for line in lines if line.startswith("| `")]
    told = {row[0].strip("| `"): row[1].strip("`") for row in rows}
    usual = SearchSettings()
    for name in SearchSettings.__dataclass_fields__:
        value = getattr(usual, name)
        assert told[name] == ("none" if value is None else str(value).lower())


@pytest.mark.compiled_only
def test_other_threads_go_on_while_it_searches() -> None:
    """The interpreter lock is released: the clock of another thread does not stand still."""
    player = ohhell_agents.make("search:worlds=3000,race=0,prior=0", seed=1)
    player.begin("oh_hell")
    seen = view(Game("oh_hell", seed=3, episode="deal", hand_size=8))
    player.act(seen)
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    player.act(seen)
    ended = time.perf_counter()
    stop.set()
    thread.join()
    inside = [moment for moment in ticks if started < moment < ended]
    gaps = np.diff([started, *inside, ended])
    assert gaps.max() < 0.5 * (ended - started)
