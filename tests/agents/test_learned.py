"""The learned player: its decisions, the tables it may sit at, and what it sees of the suits."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import run

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import ohhell_agents
from ohhell_agents.nn.agent import LearnedAgent
from ohhell_agents.nn.checkpoint import Checkpoint
from ohhell_agents.nn.feature_layout import num_inputs
from ohhell_agents.nn.network import Network, choose, dealers_card_from, tensor_sizes
from ohhell_env import BatchedOhHell
from ohhell_env.cards import card_name, parse_card
from ohhell_env.errors import CheckpointError, IllegalActionError, RulesError
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from ohhell_env.rules.schedule import TrumpSource, deal_plans
from ohhell_env.rules.variants import variants
from tests.agents.views import view

RULES = Rules.preset("oh_hell")


def new_agent(rules: Rules = RULES, layout: str = "default", seed: int = 0) -> LearnedAgent:
    """A player whose network has had no lesson but has clear opinions."""
    torch.manual_seed(seed)
    network = Network(layout_of(rules, layout), (32, 32), rules=rules)
    torch.nn.init.normal_(network.actor[-1].weight, 0.0, 0.5)  # type: ignore[arg-type]
    return LearnedAgent(Checkpoint(network, rules, layout), seed=seed)


def views(rules: Rules, count: int = 500, layout: str = "default"):
    """Observations and masks of a random game, ``count`` of each."""
    tables = BatchedOhHell(20, rules, seed=1, layout=layout)
    tables.reset()
    rng = np.random.default_rng(0)
    found: list[tuple[NDArray[np.int8], NDArray[np.int8]]] = []
    while 20 * len(found) < count:
        found.append((tables.observations.copy(), tables.action_masks.copy()))
        tables.step((tables.action_masks * rng.random(tables.action_masks.shape)).argmax(axis=1))
    return tuple(np.concatenate(part)[:count] for part in zip(*found, strict=True))


@pytest.mark.parametrize("layout", ["default", "universal"])
def test_a_loaded_player_decides_as_the_saved_one(tmp_path: Path, layout: str) -> None:
    agent = new_agent(layout=layout)
    observations, masks = views(RULES, layout=layout)
    agent.save(tmp_path / "player")
    loaded = ohhell_agents.load(tmp_path / "player", seed=0)
    for deterministic in (True, False):
        actions = agent.act_batch(observations, masks, deterministic)
        assert (loaded.act_batch(observations, masks, deterministic) == actions).all()
        assert len(set(actions.tolist())) > 20
        assert masks[np.arange(500), actions].all()
    assert isinstance(ohhell_agents.make(tmp_path / "player"), LearnedAgent)


def test_one_decision_equals_the_batch() -> None:
    agent = new_agent()
    observations, masks = views(RULES, 60)
    actions = agent.act_batch(observations, masks)
    for vector, mask, action in zip(observations, masks, actions, strict=True):
        assert agent.act({"observation": vector, "action_mask": mask}) == action
        assert agent.act(vector, {"action_mask": mask}) == action


def test_draws_with_the_probabilities_of_the_network() -> None:
    log_probs = torch.log(torch.tensor([[0.0, 0.1, 0.0, 0.6, 0.3, 0.0]]).repeat(100_000, 1))
    words = np.random.default_rng(0).integers(2**64, size=100_000, dtype=np.uint64)
    shares = np.bincount(choose(log_probs, words), minlength=6) / 100_000
    assert np.abs(shares - [0, 0.1, 0, 0.6, 0.3, 0]).max() < 0.005
    ends = np.array([0, 2**64 - 1], np.uint64)
    assert choose(log_probs[:2], ends).tolist() == [1, 4], "never one of probability 0"


def test_refuses_an_empty_mask_and_a_missing_one() -> None:
    agent = new_agent()
    observations, masks = views(RULES, 2)
    with pytest.raises(IllegalActionError, match="no legal action"):
        agent.act_batch(observations, masks * 0)
    with pytest.raises(IllegalActionError, match="mask"):
        agent.act(observations[0])


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("place", ["weights", "biases", "first layer"])
def test_huge_weights_answer_legally_or_are_refused(place: str, deterministic: bool) -> None:
    """Finite weights of every size: sums overflow, or legal logits sink below the masked ones."""
    observations, masks = views(RULES, 60)
    outcomes: list[bool] = []
    for exponent in range(0, 39, 2):
        agent = new_agent()
        actor = agent.checkpoint.network.actor
        with torch.no_grad():
            if place == "biases":
                actor[-1].bias.fill_(-(10.0**exponent))  # type: ignore[operator]
            else:
                weight = actor[0 if place == "first layer" else -1].weight
                weight.mul_(10.0**exponent).clamp_(-3e38, 3e38)  # type: ignore[operator]
        try:
            actions = agent.act_batch(observations, masks, deterministic)
        except CheckpointError as error:
            assert "its weights are broken" in str(error)
            outcomes.append(False)
        else:
            assert masks[np.arange(60), actions].all(), exponent
            outcomes.append(True)
    assert outcomes[0]
    assert not outcomes[-1]


def test_the_row_of_a_broken_answer_is_named() -> None:
    agent = new_agent()
    observations, masks = views(RULES, 5)
    only = np.zeros_like(masks)
    only[:, 60] = 1
    only[3, 60:62] = 1
    with torch.no_grad():
        agent.checkpoint.network.actor[-1].bias[61] = 3e38  # type: ignore[index]
        agent.checkpoint.network.actor[-1].bias[60] = -3e38  # type: ignore[index]
    with pytest.raises(CheckpointError, match="observation 0 of the batch"):
        agent.act_batch(observations, only)  # -3e38 is less than what stands for illegal
    only[[0, 1, 2, 4], 61], only[[0, 1, 2, 4], 60] = 1, 0
    with pytest.raises(CheckpointError, match="observation 3 of the batch"):
        agent.act_batch(observations, only)


def test_the_fingerprint_is_that_of_the_saved_weights(tmp_path: Path) -> None:
    agent = new_agent()
    agent.save(tmp_path / "player")
    card = json.loads((tmp_path / "player/agent.json").read_text(encoding="utf-8"))
    assert agent.fingerprint == f"sha256:{card['weights_sha256']}"
    assert ohhell_agents.load(tmp_path / "player").fingerprint == agent.fingerprint
    assert new_agent(seed=1).fingerprint != agent.fingerprint


def test_a_table_of_another_size_is_refused_by_its_players() -> None:
    agent = new_agent()
    with pytest.raises(CheckpointError, match=r"for 4 players \(oh_hell\).*of 3 players"):
        agent.begin(Rules.preset("oh_hell", 3), 0)
    assert agent.rules is None, "nothing has changed"
    observations, masks = views(Rules.preset("oh_hell", 3), 5)
    with pytest.raises(CheckpointError, match="trained for oh_hell with 4 players"):
        agent.act_batch(observations, masks)


def test_another_pack_is_refused_and_named() -> None:
    agent = new_agent(Rules.preset("pocha"))
    with pytest.raises(CheckpointError, match=r"pocha with 4 players.*oh_hell.*suits"):
        agent.begin("oh_hell", 0)


def test_other_rules_of_the_same_look_are_played_with_a_warning() -> None:
    agent = new_agent()
    with pytest.warns(UserWarning, match=r"scoring\.miss_per_trick 0, not 1"):
        agent.begin(RULES.replace(scoring="simple"), 0)
    agent.begin(RULES, 0)


def test_the_universal_layout_sits_at_any_table() -> None:
    agent = new_agent(layout="universal")
    for rules in (Rules.preset("oh_hell", 3), Rules.preset("pocha")):
        with pytest.warns(UserWarning, match="trained for"):
            agent.begin(rules)
        observations, masks = views(rules, 40, "universal")
        actions = agent.act_batch(observations, masks)
        assert masks[np.arange(40), actions].all()


def test_five_different_players_play_a_whole_game(tmp_path: Path) -> None:
    rules = Rules.preset("up_and_down_the_river", 5)
    for seed in range(5):
        new_agent(rules, seed=seed).save(tmp_path / str(seed))
    players = [ohhell_agents.make(tmp_path / str(seed)) for seed in range(5)]
    for seat, player in enumerate(players):
        player.begin(rules, seat)
    tables = BatchedOhHell(1, rules, seed=3, episode="game")
    tables.reset()
    while not tables.dones[0]:
        player = players[int(tables.seats[0])]
        tables.step(player.act_batch(tables.observations, tables.action_masks))
    assert tables.rewards.shape == (1, 5)


def test_importing_agents_loads_no_torch() -> None:
    code = "import ohhell_agents, sys; assert 'torch' not in sys.modules"
    assert run([sys.executable, "-c", code], check=False).returncode == 0


# --- The network's inputs -------------------------------------------------------------------------


@pytest.mark.parametrize("name", variants())
def test_sizes_are_known_without_building(name: str) -> None:
    for rules_layout in ("default", "universal"):
        layout = layout_of(Rules.preset(name), rules_layout)
        network = Network(layout, (8, 4), fresh=False)
        found = {key: tuple(value.shape) for key, value in network.state_dict().items()}
        assert found == tensor_sizes(layout, (8, 4))
        inputs = network.read(torch.zeros(2, layout.length, dtype=torch.int8)).dense()
        assert inputs.shape == (2, num_inputs(layout))


def _order_is_clear(agent: LearnedAgent, vector: NDArray[np.int8]) -> bool:
    """Whether no two suits are equal to the seat: two that it does not hold may come either way."""
    part = {name: vector[place] for name, place in agent.checkpoint.layout.slices().items()}
    suits = [
        (part["trump"][suit], part["led_suit"][suit], *np.flatnonzero(hand))
        for suit, hand in enumerate(np.array_split(part["hand"], [13, 26, 39]))
    ]
    return len(set(suits)) == len(suits)


@pytest.mark.parametrize("name", ["oh_hell", "pocha", "plump"])
def test_the_names_of_the_suits_do_not_matter(name: str) -> None:
    """The same deal with its suits renamed is bid and played the same, card by card."""
    rules = Rules.preset(name)
    suits = rules.pack.suits
    other_suit = [2, 0, 3, 1]
    agent, compared = new_agent(rules), 0

    def renamed(action: int) -> int:
        return action if action >= 60 else 13 * other_suit[action // 13] + action % 13

    for seed in range(8):
        game = Game(rules, seed=seed, hand_size=7, episode="deal")
        other = Game(rules, seed=0, hand_size=7, episode="deal")
        hands = [[card_name(renamed(card), rules.pack) for card in hand] for hand in game.hands]
        turned = None if game.turned is None else renamed(game.turned)
        other.reset(dealer=game.dealer, hands=hands, turned=turned)
        while not game.over:
            vector = view(game)["observation"]
            action = agent.act(view(game))
            if _order_is_clear(agent, vector):
                assert agent.act(view(other)) == renamed(action), f"{suits}: {game.record()}"
                compared += 1
            game.apply(action)
            other.apply(renamed(action))
    assert compared > 100


def test_hints_tell_what_a_card_does() -> None:
    """Spades are trumps; QH is led, so KH and 2S beat it, 3H and AD do not; AH is still out."""
    game = Game(RULES, seed=0, hand_size=4, episode="deal")
    hands = [["4C", "5C", "6C", "7C"], ["QH", "9H", "9D", "8D"], ["KH", "2S", "3H", "AD"]]
    game.reset(dealer=0, hands=[*hands, ["2H", "4D", "5D", "JC"]], turned="TS")
    for bid in (1, 1, 1, 0):
        game.apply(60 + bid)
    game.apply(parse_card("QH"))
    network = new_agent().checkpoint.network
    vector = torch.from_numpy(view(game)["observation"])[None]
    inputs = network.read(vector).dense()
    hints = inputs[0, -(2 * 52 + 4 * 4) :]
    spades, hearts, diamonds = 0, 13, 26  # trumps first, then the led suit, then own diamonds
    beats = np.flatnonzero(hints[:52].numpy()).tolist()
    assert beats == [spades + 0, hearts + 11]
    higher = (4 * hints[52:104]).numpy()
    assert higher[spades + 0] == 11, "3S to AS but the turned TS"
    assert higher[hearts + 11] == 1
    assert higher[hearts + 1] == 9, "4H to AH but the own KH and the led QH"
    assert higher[diamonds + 12] == 0
    wants, enough, too_many, needs_all = hints[104:].reshape(4, 4).bool().tolist()
    assert wants == [True, True, False, True]
    assert enough == [False, False, True, False]
    assert too_many == needs_all == [False] * 4


DEALERS = RULES.replace(trump={"method": "dealer_last_card"})


def _higher(network: Network, game: Game, card: str, rules: Rules | None = None) -> float:
    """The hint how many cards above a spade, the trump suit, may still come."""
    name = "default" if network.num_observed == layout_of(game.rules).length else "universal"
    vector = torch.from_numpy(view(game, layout_name=name)["observation"])[None]
    inputs = network.read(vector, rules).dense()
    layout = layout_of(game.rules, name)
    higher = inputs[0, -(2 * 52 + 4 * layout.seats) :][52:104]
    return float(4 * higher[parse_card(card) % 13])


def _shown(rules: Rules) -> Game:
    """The dealer, seat 0, shows TS; eldest holds 9S, seat 2 holds 2S and JS."""
    game = Game(rules, seed=0, hand_size=4, episode="deal")
    mine = "3C" if rules.trump.method == "turn_up" else "TS"
    hands = [["4C", "5C", "6C", mine], ["9S", "9H", "9D", "8D"], ["JS", "2S", "3H", "AD"]]
    game.reset(dealer=0, hands=[*hands, ["2H", "4D", "5D", "JC"]], turned="TS")
    assert game.turned == parse_card("TS")
    for bid in (1, 1, 1, 0):
        game.apply(60 + bid)
    return game


@pytest.mark.parametrize("layout", ["default", "universal"])
def test_the_dealers_shown_card_may_still_come_and_a_turned_one_may_not(layout: str) -> None:
    for rules, more in ((DEALERS, 1), (RULES, 0)):
        network, game = new_agent(rules, layout).checkpoint.network, _shown(rules)
        assert _higher(network, game, "9S") == 4 + more, "JS to AS, and TS in the dealer's hand"
        game.apply(parse_card("9S"))
        assert _higher(network, game, "2S") == 9 + more, "3S to AS but the played 9S and the own JS"
        assert _higher(network, game, "JS") == 3


def test_the_dealers_shown_card_is_gone_once_it_is_played_and_his_own_to_himself() -> None:
    network, game = new_agent(DEALERS).checkpoint.network, _shown(DEALERS)
    for card in ("9S", "JS", "2H"):
        game.apply(parse_card(card))
    assert _higher(network, game, "TS") == 3, "QS, KS and AS"
    game.apply(parse_card("TS"))
    assert game.seat == 2, "JS has won the trick"
    assert _higher(network, game, "2S") == 9, "3S to AS but JS, TS, 9S, which are played"


def test_the_rules_of_the_table_tell_not_those_trained_for() -> None:
    agent, game = new_agent(RULES), _shown(DEALERS)
    network = agent.checkpoint.network
    assert _higher(network, game, "9S") == 4
    assert _higher(network, game, "9S", DEALERS) == 5
    with pytest.warns(UserWarning, match="trained for"):
        agent.begin(DEALERS)
    observations, masks = views(DEALERS, 300)
    given = torch.from_numpy(observations), torch.from_numpy(masks)
    expected = network.log_probs(*given, DEALERS).argmax(dim=-1)
    assert agent.act_batch(observations, masks).tolist() == expected.tolist()
    assert (network.read(given[0], DEALERS).dense() != network.read(given[0]).dense()).any()


def test_a_network_that_was_told_no_rules_takes_every_shown_card_for_turned(tmp_path: Path) -> None:
    network = Network(layout_of(DEALERS), (8,))
    for rules in (None, DEALERS):
        assert _higher(network, _shown(DEALERS), "9S", rules) == 4
    for told in (None, DEALERS):
        network = Network(layout_of(DEALERS), (8,), rules=told)
        LearnedAgent(Checkpoint(network, DEALERS)).save(tmp_path / "player")
        loaded = LearnedAgent.load(tmp_path / "player").checkpoint.network
        assert loaded.told_rules == (told is not None)
        assert _higher(loaded, _shown(DEALERS), "9S") == 4 + loaded.told_rules


@pytest.mark.parametrize("name", variants())
def test_where_the_shown_card_comes_from_is_what_the_schedule_says(name: str) -> None:
    for players in range(3, 8):
        try:
            rules = Rules.preset(name, players)
            plans = deal_plans(rules)
        except RulesError:
            continue
        for plan in plans:
            if plan.trump in (TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD):
                is_dealers = plan.hand_size >= dealers_card_from(rules)
                assert is_dealers == (plan.trump == TrumpSource.DEALER_CARD), (players, plan)
