"""``search``: plays out every action in worlds that fit what it has seen, and takes the best.

``ohhell_env.engine.worlds`` draws the worlds, and ``beliefs.py`` weights them by the bids. The two
searches are ``flat.py`` and ``tree.py``.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.base import Actions, Bytes, RandomBits, split_observation
from ohhell_agents.checkpoint_io import (
    STATE_FORMAT,
    AgentPath,
    as_path,
    plain_state,
    read_state,
    restore,
)
from ohhell_agents.explanation import (
    POINTS,
    TRIES,
    WINS,
    Ends,
    Explanation,
    explain_search,
    payable,
)
from ohhell_agents.heuristic import HeuristicAgent
from ohhell_agents.search.beliefs import BELIEF, begin_beliefs
from ohhell_agents.search.flat import best_action, gaps_to_best, search_worlds
from ohhell_agents.search.game_value import RestOfGame
from ohhell_agents.search.policy import HEURISTIC_POLICY, SearchPolicy, find_policy
from ohhell_agents.search.settings import SearchSettings, read_search_settings, spelled
from ohhell_agents.search.tree import NODE, most_visited, search_tree
from ohhell_agents.search.workspace import (
    MOST_ACTIONS,
    NUM_ROWS,
    OBJECTIVES,
    ROOT_STATS,
    SEARCH_PARAMS,
    VIEW,
    begin_question,
    expect,
    policy_one,
)
from ohhell_agents.value.advantage_nets import price_for
from ohhell_agents.value.players import HEURISTIC, RANDOM
from ohhell_env.engine.layout import Phase, Rows, engine_rows, new_games
from ohhell_env.engine.worlds import HIDDEN, IMPOSSIBLE, LOOSE
from ohhell_env.errors import CheckpointError, IllegalActionError, OhHellError, shown
from ohhell_env.files import write_whole
from ohhell_env.rules import RulesLike
from ohhell_env.rules.settings import to_plain

_USUAL_PRICE = 16.0
"""Price in points at which ``temperature`` applies unscaled."""
_MOST_NODES = 1 << 18
_BID = int(Phase.BID)


class SearchAgent(HeuristicAgent):
    """Searches: determinized Monte Carlo, or information-set tree search.

    The player must know the rules: call ``begin`` first. With a budget of worlds or iterations, a
    decision depends only on the view and its random number; with ``ms`` it also depends on the
    clock.

    Args:
        seed: Starts the agent's own random numbers; None: taken from the system.
        settings: Settings of the search; None: the defaults.

    Raises:
        CheckpointError: The policy cannot be loaded.

    >>> from ohhell_env import BatchedOhHell
    >>> tables = BatchedOhHell(2, "oh_hell", seed=1)
    >>> tables.reset()
    >>> agent = SearchAgent(seed=1, settings=SearchSettings(worlds=20))
    >>> agent.begin("oh_hell")
    >>> bool((agent.act_batch(tables.observations, tables.action_masks) >= 60).all())
    True
    """

    kind = "search"
    engine_player = None

    def __init__(self, seed: int | None = None, settings: SearchSettings | None = None) -> None:
        super().__init__(seed)
        self.settings = SearchSettings() if settings is None else settings
        self._workspace = SearchWorkspace(
            self.settings, find_policy(self.settings.policy, self.settings.playout)
        )

    @property
    def models(self) -> Rows:
        """The networks of its policy: a ``MODELS`` row."""
        return self._workspace.policy.models[:1]

    @property
    def one_by_one(self) -> bool:
        """True: a batch is answered question by question."""
        return True

    @property
    def fingerprint(self) -> str:
        """The settings that differ from the defaults, and the fingerprint of a trained policy."""
        return f"{spelled(self.settings)} {self._workspace.policy.fingerprint}".strip()

    @property
    def depends_on_clock(self) -> bool:
        """Whether decisions depend on the speed of the machine."""
        return self.settings.ms is not None

    def begin(self, rules: RulesLike, seat: int | None = None) -> None:
        """Takes a seat at a table; see ``Agent.begin``."""
        before = self.rules
        super().begin(rules, seat)
        if self.settings.objective == "win" and self.rules != before:
            assert self.rules is not None
            self._workspace.rest = RestOfGame(self.rules, self._workspace.policy)

    def choose(
        self,
        observations: Bytes,
        action_masks: Bytes,
        random_bits: RandomBits,
        deterministic: bool,
        /,
    ) -> Actions:
        """Returns an action for each row; see ``Agent.choose``."""
        chosen = np.empty(len(observations), np.int64)
        for index, bits in enumerate(random_bits):
            self._ask(observations, action_masks, index, bits)
            chosen[index] = self._workspace.action()
        return chosen

    def explain(
        self,
        observation: Any,
        info: Mapping[str, Any] | None = None,
        random_bits: int | None = None,
    ) -> Explanation:
        """Returns how the legal actions compare, and what ``act`` would do.

        Args:
            observation: As in ``act``.
            info: As in ``act``.
            random_bits: The random number of the decision; None: from the agent's generator, as in
                ``act``.

        Raises:
            IllegalActionError: As in ``act``.
        """
        vector, mask = split_observation(observation, info)
        drawn = self._random.integers(2**64, size=1, dtype=np.uint64)
        bits = drawn if random_bits is None else np.array([random_bits], np.uint64)
        action = int(self.act_batch(vector[np.newaxis], mask[np.newaxis], random_bits=bits)[0])
        assert self.rules is not None
        legal = np.flatnonzero(mask).tolist()
        workspace, settings = self._workspace, self.settings
        method = settings.method if workspace.searched else "none"
        gaps, errors = workspace.gaps()
        return explain_search(
            workspace.stats,
            gaps,
            errors,
            self.rules,
            legal,
            action,
            workspace.ends(legal),
            method,
            settings.objective,
            workspace.unit,
            workspace.notes(),
        )

    def _ask(self, views: Bytes, masks: Bytes, index: int, random_bits: np.uint64) -> None:
        """Searches one question."""
        if self.rules is None:
            raise IllegalActionError(
                "the search player must know the rules: call begin(rules, seat) before act()"
            )
        reader = self._reader(views.shape[1])
        reader.check(views[index : index + 1], self.rules.players)
        size = int(views[index, reader.hand_size])
        self._workspace.ask(
            (views, masks, index, reader.sections), self._rules_for(size), random_bits
        )

    def save(self, path: AgentPath) -> None:
        """Writes the agent to a file, completely or not at all."""
        state = {"type": self.kind, "format": STATE_FORMAT, "random": plain_state(self._random)}
        state["settings"] = to_plain(self.settings)
        state["policy"] = self._workspace.policy.fingerprint
        write_whole(as_path(path), json.dumps(state, indent=1, sort_keys=True) + "\n")

    @classmethod
    def load(cls, path: AgentPath) -> Self:
        """Returns a search player from its file; see ``Agent.load``."""
        state = read_state(path)
        if state.get("type") != cls.kind:
            raise CheckpointError(f"{path}: contains a player of type {shown(state.get('type'))}")
        values = state.get("settings")
        names = {field.name for field in dataclasses.fields(SearchSettings)}
        if not isinstance(values, dict) or set(values) != names:
            raise CheckpointError(f"{path}: search settings are missing or unknown")
        try:
            agent = cls(0, read_search_settings("", values))
        except OhHellError as error:
            raise CheckpointError(f"{path}: {error}") from None
        if state.get("policy") != agent._workspace.policy.fingerprint:
            raise CheckpointError(
                f"{path}: the weights of the policy {shown(agent.settings.policy)} have changed "
                "since the player was saved; save it again"
            )
        restore(agent._random, state.get("random"), path)
        return agent

    def reseeded(self, seed: int) -> SearchAgent:
        """Returns the same player with random numbers from a new seed."""
        return SearchAgent(seed, self.settings)


class SearchWorkspace:
    """The arrays for searching one question after another, with the settings.

    Args:
        settings: Settings of the search.
        policy: The policy behind the search.
    """

    def __init__(self, settings: SearchSettings, policy: SearchPolicy) -> None:
        self.settings, self.policy = settings, policy
        self.rest: RestOfGame | None = None
        self.games: Rows = new_games(NUM_ROWS)
        self.hidden: Rows = engine_rows(np.zeros(1, HIDDEN))
        self.belief: Rows = engine_rows(np.zeros(1, BELIEF))
        self.stats: Rows = engine_rows(np.zeros(1, ROOT_STATS))
        self.params: Rows = engine_rows(np.zeros(1, SEARCH_PARAMS))
        self.nodes: Rows = engine_rows(np.zeros(1, NODE))
        self.searched = False
        self._write_params()

    def _write_params(self) -> None:
        settings, params = self.settings, self.params
        params["player"] = RANDOM if settings.playout == "random" else HEURISTIC
        params["objective"] = OBJECTIVES.index(settings.objective)
        params["others"] = settings.others == "tree"
        for name in ("inference", "chains", "swaps", "floor", "race", "spoil"):
            params[name] = getattr(settings, name)

    @property
    def impossible(self) -> bool:
        """Whether no world has the numbers of cards in the view."""
        return int(self.hidden["state"][0]) == IMPOSSIBLE

    def ask(
        self, question: tuple[Bytes, Bytes, int, Rows], rules: Rows, random_bits: np.uint64
    ) -> None:
        """Searches one question, given as (views, masks, index, sections)."""
        started = time.perf_counter()
        self.rules = rules
        begin_question(*question, rules, self.games, self.hidden, self.stats, random_bits)
        view = self.games[VIEW]
        by_policy = view["phase"] == _BID and self.settings.bids == "policy"
        self.searched = not (self.impossible or by_policy or int(self.stats["count"][0]) == 1)
        if not self.searched:
            return
        begin_beliefs(self.games, rules, self.belief)
        self._weigh(view, rules)
        if self.settings.method == "tree":
            self._grow(started)
        else:
            self._compare(started)

    def action(self) -> int:
        """Returns the action code that the search chose."""
        if self.searched:
            if self.settings.method == "tree":
                return int(most_visited(self.stats))
            return int(best_action(self.stats, self.params))
        if int(self.stats["count"][0]) == 1:
            return int(self.stats["actions"][0, 0])
        return int(policy_one(self.games, self.rules, self.policy.models))

    @property
    def unit(self) -> str:
        """The unit in which the actions of a question are compared."""
        settings = self.settings
        if settings.method == "tree":
            return TRIES
        if settings.objective == "win":
            return WINS
        if settings.objective == "points" or settings.spoil == 0.0:
            return POINTS
        return f"points less {settings.spoil:g} of the others' mean"

    def gaps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns how far each action of the last question is behind the chosen one.

        Returns:
            Gaps and their standard errors, float64 (MOST_ACTIONS,) each, in ``unit`` and by place
            in the stats; NaN if unknown.
        """
        gaps, errors = np.full(MOST_ACTIONS, np.nan), np.full(MOST_ACTIONS, np.nan)
        if self.searched and self.settings.method == "tree":
            count, visits = int(self.stats["count"][0]), self.stats["visits"][0]
            alive = self.stats["alive"][0, :count] != 0
            gaps[:count] = np.where(alive, visits[:count].max() - visits[:count], np.nan)
        elif self.searched:
            gaps_to_best(self.stats, self.params, gaps, errors)
        return gaps, errors

    def ends(self, legal: list[int]) -> dict[int, Ends]:
        """Returns the least and the most that each action can bring, in ``unit``."""
        settings, points = self.settings, self.rules["points"][0]
        if settings.method == "tree":
            return {}
        if settings.objective == "win":
            return dict.fromkeys(legal, (0.0, 1.0))
        own = payable(self.games[VIEW], points, legal)
        if settings.objective == "points":
            return own
        size = int(self.games[VIEW]["hand_size"])
        any_bid = settings.spoil * points[size, : size + 1, : size + 1]
        return {
            action: (least - float(any_bid.max()), most - float(any_bid.min()))
            for action, (least, most) in own.items()
        }

    def notes(self) -> list[str]:
        """Returns remarks on the last question beyond its values."""
        state, notes, policy = int(self.hidden["state"][0]), list[str](), self.policy.name
        if state == IMPOSSIBLE:
            notes.append(f"no deal has the numbers of cards in this view: decided as {policy} does")
        elif not self.searched and int(self.stats["count"][0]) == 1:
            notes.append("there is no other choice")
        elif not self.searched:
            notes.append(f"bid as {policy} does (bids=search would search)")
        elif state == LOOSE:
            notes.append("no deal fits everything played: worlds keep only the numbers of cards")
        return notes + self._notes_of_search() if self.searched else notes

    def _notes_of_search(self) -> list[str]:
        """Returns remarks on the search of the last question."""
        settings, notes = self.settings, list[str]()
        if settings.ms is not None:
            notes.append(f"searched for {settings.ms:g} ms: the next time may differ")
        if settings.policy != HEURISTIC_POLICY:
            notes.append(f"policy: {settings.policy}")
        root, before = self.stats[0], f"what {self.policy.name} expected before the search"
        weight, worlds = float(self.params["prior"][0]), int(root["worlds"])
        visits = root["visits"][: int(root["count"])]
        if settings.method == "tree":
            notes.append("the tree takes what it tried most often, and it tries good choices often")
        elif weight > 0.0:
            notes.append(
                f"each number is a mix: the deals played out after the choice, and {before}, which "
                f"counts as {weight:g} deals"
            )
        if settings.method == "flat" and ((visits > 0) & (visits < worlds)).any():
            notes.append("a choice with fewer deals was dropped: its number is from that moment")
        if weight > 0.0 and not visits.all():
            notes.append(f"a choice that was not tried is far behind by {before}")
        return notes

    def _weigh(self, view: np.void, rules: Rows) -> None:
        """Sets the parameters in points of the current deal or of later ones."""
        price = price_for(rules, int(view["hand_size"]))
        self.params["temperature"] = self.settings.temperature * price / _USUAL_PRICE
        unit = 0.5 if self.settings.objective == "win" else price
        self.params["price"] = unit
        self.params["prior"] = self.settings.prior_for(view["phase"] == _BID)
        if self.params["prior"][0] > 0.0:
            expect(self.games, rules, self.policy.models, self.params, self.stats)
        self.params["exploration"] = self.settings.exploration * unit
        if self.rest is not None:
            self.params["rest_sd"] = self.rest.deviation(int(view["deal"]), view["scores"])

    def _state(self) -> tuple[Rows, ...]:
        return (
            self.games,
            self.rules,
            self.policy.models,
            self.params,
            self.hidden,
            self.belief,
            self.stats,
        )

    def _compare(self, started: float) -> None:
        if self.settings.ms is None:
            search_worlds(*self._state(), self._budget())
            return
        for size in _batches(started, self.settings.ms):
            if search_worlds(*self._state(), size) == 1:
                break

    def _budget(self) -> int:
        view = self.games[VIEW]
        cards = int(view["hand_size"]) - int(view["trick_number"])
        players = int(self.rules["players"][0])
        return self.settings.worlds_for(cards, players, int(view["phase"]) == _BID)

    def _grow(self, started: float) -> None:
        budget = self.settings.iterations
        wanted = _MOST_NODES if self.settings.ms is not None else 64 + 12 * budget
        if len(self.nodes) < min(wanted, _MOST_NODES):
            self.nodes = engine_rows(np.zeros(min(wanted, _MOST_NODES), NODE))
        self.nodes[:1] = np.zeros(1, NODE)
        if self.settings.ms is None:
            search_tree(*self._state(), self.nodes, 1, budget)
            return
        used = 1
        for size in _batches(started, self.settings.ms):
            used = search_tree(*self._state(), self.nodes, used, size)


def _batches(started: float, milliseconds: float) -> Any:
    """Yields the number of worlds to take next, until the time is up; at least one batch."""
    end = started + milliseconds / 1000.0
    size, before = 2, time.perf_counter()
    while True:
        yield size
        now = time.perf_counter()
        left, each = end - now, (now - before) / size
        if left < each:
            return
        size, before = max(1, min(2 * size, int(0.5 * left / max(each, 1e-9)))), now
