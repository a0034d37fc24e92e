"""The search on top of a player that learned: found, told apart, kept, and no peeking."""

from __future__ import annotations

import pickle
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

import ohhell_agents
from ohhell_agents import CounterfactualAgent, SearchAgent, SearchSettings
from ohhell_agents.checkpoint_io import write_folder
from ohhell_agents.explanation import Explanation
from ohhell_agents.search.game_value import RestOfGame
from ohhell_agents.search.policy import find_policy
from ohhell_env.engine import batch
from ohhell_env.engine.encode import new_buffer
from ohhell_env.engine.layout import Phase
from ohhell_env.errors import CheckpointError, OhHellError
from ohhell_env.game import Game
from ohhell_env.observation import layout_of
from ohhell_env.rules import Rules
from tests.agents.test_counterfactual import corrected
from tests.agents.test_heuristic import hidden_changed, table
from tests.agents.views import states, view
from tests.helpers import house

SEVEN = Rules.preset("oh_hell", 4)
SOME_RULES = [
    SEVEN,
    Rules.preset("nomination_whist", 3),
    house(4, 5, bidding__order="simultaneous", bidding__hook="none"),
    house(3, 3, trump__method="random_suit", trump__revealed="after_bidding"),
    house(5, 1, blind_one_card="always"),
]
WAYS = ("worlds=6", "worlds=6,card_prior=20,prior=20", "method=tree,iterations=12,others=tree")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose corrections were made by chance."""
    path = tmp_path_factory.mktemp("checkpoints") / "learned"
    CounterfactualAgent(corrected(1, 0.05)).save(path)
    return path


def told_of(spec: str, game: Game, **settings: object) -> Explanation:
    player = ohhell_agents.make(spec, seed=1, **settings)
    assert isinstance(player, SearchAgent)
    player.begin(game.rules)
    return player.explain(view(game), random_bits=7)


# -------------------------------------------------------------------------------- what it does


def test_its_reckoning_is_the_bid_that_is_not_searched(folder: Path) -> None:
    alone, heuristic = ohhell_agents.load(folder), ohhell_agents.make("heuristic")
    searcher = ohhell_agents.make(f"search:policy={folder},bids=policy", seed=1)
    apart = 0
    for player in (alone, heuristic, searcher):
        player.begin(SEVEN)
    for seed in range(30):
        seen = view(Game(SEVEN, seed=seed, episode="deal", hand_size=7))
        bid = searcher.act(seen)
        assert bid == alone.act(seen)
        apart += bid != heuristic.act(seen)
    assert apart > 0


def test_it_plays_the_deals_out(folder: Path) -> None:
    game = Game(SEVEN, seed=3, episode="deal", hand_size=6)
    spec = "search:worlds=40,race=0,inference=false,prior=0"
    values = [
        [thought.value for thought in told_of(f"{spec}{more}", game).thoughts]
        for more in ("", f",policy={folder}", f",policy={folder},playout=random")
    ]
    assert values[0] != values[1]
    random_alone = told_of(f"{spec},playout=random", game)
    assert values[2] == [thought.value for thought in random_alone.thoughts]


def test_it_weighs_the_bids_in_the_worlds(folder: Path) -> None:
    game = Game(SEVEN, seed=3, episode="deal", hand_size=6)
    while game.phase is Phase.BID:
        game.apply(game.legal_actions()[1])
    spec = "search:worlds=40,race=0,playout=random,card_prior=0"
    one, two = told_of(spec, game), told_of(f"{spec},policy={folder}", game)
    assert [thought.value for thought in one.thoughts] != [t.value for t in two.thoughts]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rules", SOME_RULES, ids=lambda rules: f"{rules.name}-{rules.players}")
def test_p77_hidden_cards_never_change_a_decision(
    rules: Rules, way: str, folder: Path, rng: random.Random
) -> None:
    player = ohhell_agents.make(f"search:policy={folder},{way}", seed=1)
    player.begin(rules)
    compiled, layout = Game(rules, seed=0).compiled, layout_of(rules)
    for step, tables in enumerate(
        states(rules, ohhell_agents.make("heuristic"), steps=10, tables=2)
    ):
        changed = hidden_changed(tables, rng)
        words = np.arange(2, dtype=np.uint64) + np.uint64(100 * step)
        mine = player.act_batch(tables.observations, tables.action_masks, random_bits=words)
        assert tables.action_masks[np.arange(2), mine].all()
        views, mask = new_buffer(2, layout.length), new_buffer(1, layout.num_actions)
        for place in range(2):
            alone, row = new_buffer(1, layout.length), changed[place : place + 1]
            seat = int(tables.seats[place])
            batch.observe_one(row, compiled, layout.compiled(), seat, alone, mask)
            views[place * layout.length : (place + 1) * layout.length] = alone[: layout.length]
        others = views[: 2 * layout.length].reshape(2, layout.length)
        assert (mine == player.act_batch(others, tables.action_masks, random_bits=words)).all()


def test_what_it_expects_of_cards_counts(folder: Path) -> None:
    """With a prior of a million worlds the search does what the player alone would do.

    Where that is a matter of billionths (the better kept of two cards that do the same now), a few
    worlds may still decide.
    """
    alone = ohhell_agents.load(folder)
    assert isinstance(alone, CounterfactualAgent)
    alone.begin(SEVEN)
    kinds = {"card_prior": 1e6, "prior": 1e6}
    searcher = ohhell_agents.make(f"search:policy={folder},worlds=8,race=0", seed=1, **kinds)
    plain = ohhell_agents.make(
        f"search:policy={folder},worlds=8,race=0,card_prior=0,prior=0", seed=1
    )
    searcher.begin(SEVEN)
    plain.begin(SEVEN)
    apart = 0
    for tables in states(SEVEN, ohhell_agents.make("heuristic"), steps=40, tables=2):
        seen = tables.observations, tables.action_masks
        own, searched = alone.act_batch(*seen), searcher.act_batch(*seen)
        for place in np.flatnonzero(own != searched).tolist():
            view = {"observation": seen[0][place], "action_mask": seen[1][place]}
            thoughts = {each.action: each for each in alone.explain(view).thoughts}
            difference = thoughts[int(searched[place])].difference
            assert difference is not None
            assert -1e-6 < difference < 0
        apart += int((plain.act_batch(*seen) != own).sum())
    assert apart > 0


def test_a_plain_choice_of_the_heuristic_player_has_no_prior() -> None:
    """Who needs all tricks leads the top trump: no other card is weighed, and all are searched."""
    game = table("AS KH / 7S QH / 5S 2H / 4S 3H", turned="2S", bids="2 0 0 0")
    told = told_of("search:worlds=12,race=0,card_prior=50", game)
    assert [thought.visits for thought in told.thoughts] == [12, 12]


def test_the_rest_of_the_game_is_that_of_its_games(folder: Path) -> None:
    scores = np.zeros(8, np.int32)
    spread = [
        RestOfGame(SEVEN, find_policy(name)).deviation(0, scores)
        for name in ("heuristic", str(folder), "heuristic")
    ]
    assert spread[0] == spread[2] != spread[1]


def test_a_slower_policy_has_fewer_worlds(folder: Path) -> None:
    usual, learned = SearchSettings(), SearchSettings(policy=str(folder))
    assert 2 * learned.worlds_for(5, 4, False) < usual.worlds_for(5, 4, False)
    random_deals = SearchSettings(policy=str(folder), playout="random")
    assert random_deals.worlds_for(5, 4, False) == usual.worlds_for(5, 4, False)


def test_the_explanation_names_it(folder: Path) -> None:
    game = Game(SEVEN, seed=3, episode="deal", hand_size=6)
    notes = told_of(f"search:policy={folder},worlds=6,prior=30", game).notes
    assert f"policy: {folder}" in notes
    assert any("counts as 30 deals" in note for note in notes)
    assert str(folder) in told_of(f"search:policy={folder},bids=policy", game).notes[0]
    assert not any("policy" in note for note in told_of("search:worlds=6", game).notes)


# ------------------------------------------------------------------------------ where it is from


def test_same_word_same_decision_in_a_worker(folder: Path) -> None:
    one = ohhell_agents.make(f"search:policy={folder},worlds=8", seed=1)
    one.begin(SEVEN)
    two = pickle.loads(pickle.dumps(one))
    assert not two.models.flags.writeable
    for tables in states(SEVEN, ohhell_agents.make("heuristic"), steps=6, tables=3):
        words = np.arange(3, dtype=np.uint64)
        seen = tables.observations, tables.action_masks
        assert (
            one.act_batch(*seen, random_bits=words) == two.act_batch(*seen, random_bits=words)
        ).all()


def test_its_weights_tell_it_from_others(folder: Path, tmp_path: Path) -> None:
    CounterfactualAgent(corrected(2, 0.05)).save(tmp_path / "other")
    one, two = (
        ohhell_agents.make(f"search:policy={path}") for path in (folder, tmp_path / "other")
    )
    digest = ohhell_agents.load(folder).fingerprint
    assert one.fingerprint == f"policy={folder} {digest}"
    assert one.fingerprint.split()[-1] != two.fingerprint.split()[-1]
    assert find_policy(str(folder)) == find_policy(str(folder)) != find_policy("heuristic")


@pytest.mark.parametrize("name", ["Some=Where", "with a space", "Über"])
def test_any_path_without_a_comma_stands_in_the_text(
    name: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / name)
    player = ohhell_agents.make(f"search:policy={tmp_path / name},worlds=9")
    assert isinstance(player, SearchAgent)
    assert player.settings == SearchSettings(policy=str(tmp_path / name), worlds=9)
    assert f"policy={tmp_path / name}," in player.fingerprint


def test_a_path_with_a_comma_is_a_keyword(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "one,two")
    with pytest.raises(OhHellError, match="got 'two'; pass a path with a comma as a keyword"):
        ohhell_agents.make(f"search:policy={tmp_path / 'one,two'}")
    player = ohhell_agents.make("search", policy=tmp_path / "one,two")
    assert player.fingerprint.startswith(f"policy={tmp_path / 'one,two'} sha256:")


def test_saved_it_knows_its_policy_again(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "learned")
    player = ohhell_agents.make(f"search:policy={tmp_path / 'learned'},worlds=5", seed=4)
    player.begin(SEVEN)
    player.save(tmp_path / "searcher.json")
    again = ohhell_agents.load(tmp_path / "searcher.json")
    again.begin(SEVEN)
    assert again.fingerprint == player.fingerprint
    seen = view(Game(SEVEN, seed=2, episode="deal", hand_size=7))
    assert [player.act(seen) for _ in range(5)] == [again.act(seen) for _ in range(5)]
    CounterfactualAgent(corrected(2, 0.05)).save(tmp_path / "learned")
    with pytest.raises(CheckpointError, match=r"searcher\.json.*have changed"):
        ohhell_agents.load(tmp_path / "searcher.json")
    shutil.rmtree(tmp_path / "learned")
    with pytest.raises(CheckpointError, match=r"searcher\.json.*learned.*agent\.json.*No such"):
        ohhell_agents.load(tmp_path / "searcher.json")


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("no/where", r"policy=no/where: no/where/agent\.json: cannot be read"),
        ("zoo:nobody", "policy=zoo:nobody: "),
        ("random", "policy=random: "),
        ("process:./bot", "cannot be read"),
        ("json:loads", "cannot be read"),
    ],
)
def test_a_policy_that_is_not_there_is_named(policy: str, told: str) -> None:
    with pytest.raises(CheckpointError, match=told):
        ohhell_agents.make(f"search:policy={policy}")


def test_a_slow_network_is_refused_in_plain_words(tmp_path: Path) -> None:
    write_folder(tmp_path / "net", "learned", {}, {"weights": np.zeros(3, np.float32)})
    with pytest.raises(
        CheckpointError, match=r"'learned' is too slow to play deals out; .*counter"
    ):
        ohhell_agents.make(f"search:policy={tmp_path / 'net'}")
