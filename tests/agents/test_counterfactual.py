"""The counterfactual player: its arithmetic, its decisions, its files, and what it may not see."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import ohhell_agents
from ohhell_agents.checkpoint_io import METADATA, WEIGHTS
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.value.advantage_nets import MOST_CHOICES, bid_advantages, card_advantages, price
from ohhell_agents.value.policy import heuristic_action
from ohhell_agents.value.trick_model import (
    BID_CHOICE,
    BID_SITUATION,
    BIT_WORDS,
    CARD_CHOICE,
    CARD_SITUATION,
    MODELS,
    fitted,
)
from ohhell_env import Rules
from ohhell_env.cards import card_name
from ohhell_env.engine.layout import Phase, Rows, compile_rules, engine_rows
from ohhell_env.errors import CheckpointError, OhHellError
from ohhell_env.game import Game
from tests.agents.test_checkpoint import replace_weights
from tests.agents.test_heuristic import ALL_RULES, hidden_changed
from tests.agents.views import states, view

SOME_RULES = ALL_RULES[::4]


def corrected(seed: int = 1, size: float = 0.1) -> Rows:
    """Returns models with corrections by chance, which move many decisions."""
    models = engine_rows(fitted().view(np.ndarray).copy())
    drawn = np.random.default_rng(seed)
    for name in MODELS.names or ():
        if name.startswith(("card_", "bid_")):
            models[name][0] = drawn.normal(0.0, size, MODELS[name].shape)
    models["has_advantages"] = 1
    return models


@pytest.mark.parametrize("name", ["card", "bid"])
def test_a_correction_is_the_network_that_it_says(name: str) -> None:
    models, drawn = corrected(), np.random.default_rng(2)
    sizes = {"card": (CARD_SITUATION, CARD_CHOICE), "bid": (BID_SITUATION, BID_CHOICE)}[name]
    situation = drawn.normal(size=sizes[0]).astype(np.float32)
    words = drawn.integers(2**63, size=BIT_WORDS, dtype=np.uint64)
    choices = drawn.normal(size=(MOST_CHOICES, sizes[1])).astype(np.float32)
    numbers = drawn.integers(27, size=MOST_CHOICES)
    worth = np.zeros(MOST_CHOICES, np.float32)
    correct = {"card": card_advantages, "bid": bid_advantages}[name]
    correct(models[0], situation, words, choices, numbers, 5, worth)

    def of(part: str) -> np.ndarray:
        return models[f"{name}_{part}"][0].astype(np.float64)

    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    base = of("bias") + situation @ of("situation") + bits @ of("table")
    wide = np.maximum(base + choices[:5] @ of("choice") + of("number")[numbers[:5]], 0)
    narrow = np.maximum(wide @ of("middle") + of("middle_bias"), 0)
    assert worth[:5] == pytest.approx(narrow @ of("out"), rel=1e-4, abs=1e-4)
    assert (worth[5:] == 0).all()


@pytest.mark.parametrize(
    ("scoring", "hand_size", "expected"), [("simple", 4, 11), ("simple", 1, 10)]
)
def test_the_price_is_what_a_usual_bid_loses(scoring: str, hand_size: int, expected: int) -> None:
    rules = Rules.preset("oh_hell", 4).replace(scoring=scoring)
    points = compile_rules(rules)["points"][0][hand_size]
    usual = round(hand_size / 4)
    near = [points[usual, won] for won in (usual - 1, usual + 1) if 0 <= won <= hand_size]
    assert price(compile_rules(rules)[0], hand_size) == points[usual, usual] - np.mean(near)
    assert price(compile_rules(rules)[0], hand_size) == expected


@pytest.mark.parametrize("rules", SOME_RULES, ids=lambda rules: f"{rules.name}-{rules.players}")
def test_legal_equal_through_every_door_and_blind_to_hidden_cards(
    rules: Rules, rng: random.Random
) -> None:
    models = corrected()
    agent = CounterfactualAgent(models, seed=1)
    agent.begin(rules)
    for layout in ("default", "universal"):
        for tables in states(rules, agent, steps=12, tables=4, layout=layout):
            chosen = agent.act_batch(tables.observations, tables.action_masks)
            assert tables.action_masks[np.arange(4), chosen].all()
            compiled = tables.game(0).compiled
            changed = hidden_changed(tables, rng)
            for row, other, action in zip(tables.games, changed, chosen, strict=True):
                assert heuristic_action(row, compiled[0], models[0]) == action
                assert heuristic_action(other, compiled[0], models[0]) == action


def dealt(seed: int, exchange: dict[str, str]) -> Game:
    """Returns a deal of six cards, with suits exchanged."""
    rules = Rules.preset("oh_hell", 4)
    game = Game(rules, seed=seed, episode="deal", hand_size=6)

    def renamed(card: int) -> str:
        name = card_name(card)
        return name[0] + exchange.get(name[1], name[1])

    hands = [[renamed(card) for card in hand] for hand in game.dealt]
    assert game.turned is not None
    other = Game(rules, seed=seed, episode="deal", hand_size=6)
    other.reset(hands=hands, turned=renamed(game.turned), dealer=game.dealer)
    return other


def test_names_of_suits_mean_nothing() -> None:
    """Hearts and spades exchanged: the same bids, and the same cards with their suits exchanged."""
    exchange, agent = {"H": "S", "S": "H"}, CounterfactualAgent(corrected(size=0.3))
    agent.begin("oh_hell")
    other_suits = 0
    for seed in range(40):
        games = [dealt(seed, {}), dealt(seed, exchange)]
        for _ in range(5):
            actions = [agent.act(view(game)) for game in games]
            if games[0].phase is Phase.PLAY:
                names = [card_name(action) for action in actions]
                assert names[1] == names[0][0] + exchange.get(names[0][1], names[0][1])
                other_suits += names[0] != names[1]
            else:
                assert actions[0] == actions[1]
            for game, action in zip(games, actions, strict=True):
                game.apply(action)
    assert other_suits > 5


def test_corrections_change_decisions_and_zero_ones_hardly_any() -> None:
    rules, zero = Rules.preset("oh_hell", 4), engine_rows(fitted().view(np.ndarray).copy())
    zero["has_advantages"] = 1
    counts = {"zero": 0, "wild": 0, "all": 0}
    heuristic = ohhell_agents.make("heuristic")
    for tables in states(rules, heuristic, steps=60, tables=16):
        compiled = tables.game(0).compiled
        for row in tables.games:
            plain = heuristic_action(row, compiled[0], fitted()[0])
            counts["all"] += 1
            counts["zero"] += heuristic_action(row, compiled[0], zero[0]) != plain
            counts["wild"] += heuristic_action(row, compiled[0], corrected()[0]) != plain
    assert counts["wild"] > 0.1 * counts["all"]
    assert counts["zero"] < 0.02 * counts["all"]  # which trump is drawn with is left open


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    CounterfactualAgent(corrected(), {"rules": ["oh_hell"]}).save(tmp_path / "player")
    return tmp_path / "player"


def test_round_trip_is_exact(saved: Path) -> None:
    agent = ohhell_agents.load(saved)
    assert isinstance(agent, CounterfactualAgent) and agent.kind == "counterfactual"
    assert agent.models.tobytes() == corrected().tobytes()
    assert agent.about == {"rules": ["oh_hell"]}
    assert agent.fingerprint == CounterfactualAgent(corrected()).fingerprint
    assert ohhell_agents.make(saved).fingerprint == agent.fingerprint
    assert sorted(file.name for file in saved.iterdir()) == [METADATA, WEIGHTS]


def edit(saved: Path, **changes: Any) -> None:
    card = json.loads((saved / METADATA).read_text(encoding="utf-8"))
    (saved / METADATA).write_text(json.dumps(card | changes), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kind": "learned"}, "incomplete or broken"),
        ({"kind": "oracle"}, "kind 'oracle'; allowed: 'counterfactual', 'learned', 'two_parts'"),
        ({"kind": ["counterfactual"]}, "of kind"),
        ({"inputs": "reckoning-0"}, "train the player again"),
        ({"inputs": None}, "train the player again"),
        ({"version": 99}, "version 99"),
        ({"weights_sha256": "0" * 64}, "damaged"),
        ({"weights_sha256": None}, "damaged"),
    ],
)
def test_a_card_that_does_not_fit_is_refused(
    saved: Path, changes: dict[str, Any], expected: str
) -> None:
    edit(saved, **changes)
    with pytest.raises(CheckpointError, match=expected):
        ohhell_agents.load(saved)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda weights: weights.pop("now_end"), "does not fit the network|is missing"),
        (lambda weights: weights.update(card_out=weights["card_out"] * np.nan), "not finite"),
        (
            lambda weights: weights.update(card_out=weights["card_out"].astype(int)),
            "another size|float32",
        ),
        (lambda weights: weights.update(extra=np.zeros(1, np.float32)), "does not belong there"),
    ],
)
def test_weights_that_do_not_fit_are_refused(saved: Path, change: Any, expected: str) -> None:
    weights = load_file(saved / WEIGHTS)
    change(weights)
    save_file(weights, saved / WEIGHTS)
    replace_weights(saved, (saved / WEIGHTS).read_bytes())
    with pytest.raises(OhHellError, match=expected):
        ohhell_agents.load(saved)


def test_huge_weights_still_answer_legally() -> None:
    models = corrected()
    for name in ("card_out", "bid_out"):
        models[name] = np.float32(3e38)
    agent = CounterfactualAgent(models)
    for tables in states(Rules.preset("oh_hell", 4), agent, steps=30, tables=8):
        chosen = agent.act_batch(tables.observations, tables.action_masks)
        assert tables.action_masks[np.arange(8), chosen].all()


def test_a_pickled_player_is_of_the_same_compiled_type() -> None:
    player = ohhell_agents.make("zoo:universal")
    assert isinstance(player, CounterfactualAgent)
    again = pickle.loads(pickle.dumps(player))
    assert again.fingerprint == player.fingerprint
    assert not again.models.flags.writeable and not player.models.flags.writeable


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("card_out", 3e38, "advantage net of cards"),
        ("bid_out", 3e38, "advantage net of bids"),
        ("bid_out", -3e38, "advantage net of bids"),
        ("bid_middle", 1e36, "advantage net of bids"),
        ("card_table", 3e38, "advantage net of cards"),
        ("bid_number", 3e38, "advantage net of bids"),
        ("later_out", 1e30, "chances of cards"),
        ("now_situation", 1e30, "chances of cards"),
        ("now_end", 3e38, "chances of cards"),
    ],
)
def test_weights_whose_sums_overflow_are_refused(
    saved: Path, name: str, value: float, expected: str
) -> None:
    """They are finite; what the network makes of them is not, and bids 0 whatever it holds."""
    weights = load_file(saved / WEIGHTS)
    weights[name] = np.full_like(weights[name], value)
    save_file(weights, saved / WEIGHTS)
    replace_weights(saved, (saved / WEIGHTS).read_bytes())
    for open_it in (ohhell_agents.load, lambda path: ohhell_agents.make(f"search:policy={path}")):
        with pytest.raises(CheckpointError, match=f"so large that its {expected}.*train .* again"):
            open_it(saved)


@pytest.mark.parametrize("value", [1e-45, -1e-42, 0.0, 1e4])
def test_small_and_large_weights_play_on(saved: Path, value: float) -> None:
    """Denormal numbers are numbers, and weights in the thousands are no reason to refuse."""
    weights = load_file(saved / WEIGHTS)
    for name in ("card_out", "bid_out", "bid_middle"):
        weights[name] = np.full_like(weights[name], value)
    save_file(weights, saved / WEIGHTS)
    replace_weights(saved, (saved / WEIGHTS).read_bytes())
    agent = ohhell_agents.load(saved)
    for tables in states(Rules.preset("oh_hell", 4), agent, steps=10, tables=4):
        chosen = agent.act_batch(tables.observations, tables.action_masks)
        assert tables.action_masks[np.arange(4), chosen].all()


@pytest.mark.parametrize(
    "dtype",
    [np.float64, np.float16, np.int32, np.uint8, np.bool_],
    ids=lambda dtype: dtype.__name__,
)
def test_weights_of_another_type_are_refused(saved: Path, dtype: Any) -> None:
    weights = load_file(saved / WEIGHTS)
    weights["bid_out"] = weights["bid_out"].astype(dtype)
    save_file(weights, saved / WEIGHTS)
    replace_weights(saved, (saved / WEIGHTS).read_bytes())
    with pytest.raises(CheckpointError, match=r"another size|float32 of shape"):
        ohhell_agents.load(saved)


@pytest.mark.parametrize("shape", [(0,), (0, 32), ()], ids=str)
def test_weights_of_no_size_are_refused(saved: Path, shape: tuple[int, ...]) -> None:
    weights = load_file(saved / WEIGHTS)
    weights["bid_out"] = np.zeros(shape, np.float32)
    save_file(weights, saved / WEIGHTS)
    replace_weights(saved, (saved / WEIGHTS).read_bytes())
    with pytest.raises(CheckpointError, match=r"another size|of shape"):
        ohhell_agents.load(saved)
