"""The Gymnasium environment: one seat learns, and ``step`` plays the others.

This is the manual of the environment. ``import ohhell_env`` registers it::

    import gymnasium
    import ohhell_env

    env = gymnasium.make("ohhell/OhHell-v0", rules="oh_hell", players=4, opponents="heuristic")
    observation, info = env.reset(seed=7)
    over = False
    while not over:
        action = env.action_space.sample(info["action_mask"])
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated

Description:
    A step is one decision of the learner's seat: a bid or a card. The other seats then decide until
    it is the learner's turn again or the episode is over. Rules, actions and rewards are those of
    the PettingZoo environment, whose manual is ``envs/aec.py``.

Observation:
    ``Box`` of int8 (L,), the learner's view at its own decision, or at the end. ``layout`` and
    ``ohhell_env.observation`` work as in the PettingZoo environment, with the same bytes.

Action:
    ``Discrete``: a card is its number, a bid of b is ``60 + b``.

Action mask:
    ``info["action_mask"]``, int8 (A,), suits ``Discrete.sample``. ``action_masks()`` returns it as
    bool for sb3-contrib's ``MaskablePPO``; through wrappers, call
    ``env.get_wrapper_attr("action_masks")()``. An illegal action ends the episode with the reward
    ``rewards.worst_honest``, and ``info["fault"]`` describes the mistake. With ``illegal="raise"``
    it raises and changes nothing. Anything outside the action space always raises.

Rewards:
    The learner's own. The points of a deal come with the step that plays the learner's last card.

Episode end:
    ``terminated``; episodes are never truncated. The last info has the learner's "score", "points"
    (of the last deal) and "win_share". ``info["seat"]`` always has the learner's seat.

Arguments:
    rules, players, episode, reward, hand_size, layout
                     as in the PettingZoo environment, but ``episode`` is "deal" by default
    opponents        one player for all other seats, or a list with one for each, clockwise from the
                     learner. A player is a name that ``ohhell_agents.make`` accepts, a function of
                     observation and info, or an object with ``begin`` and ``act``. Players see what
                     agents of the PettingZoo environment see
    seat             the learner's seat; None: drawn at random for each episode
    illegal          "terminate" or "raise"
    deterministic    whether opponents that rate their actions take the best one
    render_mode      None, "human" (every step prints the table, in colour on a terminal), "ansi"
                     (``render()`` returns text) or "rgb_array" (it returns a picture)
    open_hands       whether pictures and text show all hands, instead of the learner's alone

Reset options:
    Those of the PettingZoo environment, which fix the first deal, and "seat" for the learner.

Seeds:
    ``reset(seed=s)`` plays the cards of ``Game(rules, seed=s)``, and of row 0 of the vector
    environment with that seed. Seats and the opponents' random numbers also come from the seed. So
    the whole episode is reproducible, unless an opponent uses random numbers of its own.

Version history:
    v0: first version.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ohhell_env.actions import BID_BASE, whole_number
from ohhell_env.engine import seat_loops
from ohhell_env.engine.layout import Phase
from ohhell_env.envs.aec import RENDER_MODES, RawOhHell
from ohhell_env.envs.arguments import ILLEGAL_POLICIES, check_one_of, check_seat
from ohhell_env.envs.opponents import Opponents, OpponentsLike
from ohhell_env.envs.rewards import worst_honest
from ohhell_env.errors import IllegalActionError, NotResetError
from ohhell_env.game import Game, check_seed
from ohhell_env.pictures.html import game_html
from ohhell_env.rules import Rules, RulesLike

Vector = NDArray[np.int8]
_BID = int(Phase.BID)
_FIRST = np.zeros(1, np.int64)


class OhHellGymnasiumEnv(gymnasium.Env[Vector, Any]):
    """One seat at a table of Oh Hell; see this module's docstring.

    Args:
        rules: Rules, the name of a variant, or the path of a YAML file.
        players: Overrides the number of players of the rules.
        opponents: One player for all other seats, or a list of them.
        seat: The learner's seat; None: drawn at random for each episode.
        episode: "deal" or "game".
        reward: "points", "relative", "win" or "settlement".
        illegal: "terminate" or "raise".
        render_mode: None, "human", "ansi" or "rgb_array".
        hand_size: With episode "deal", the only hand size; None: drawn from the schedule.
        layout: "default" or "universal".
        deterministic: Whether opponents that rate their actions take the best one.
        open_hands: Whether ``render`` shows all hands.

    Raises:
        OhHellError: A setting or a player is not allowed.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: RulesLike = "oh_hell",
        players: int | None = None,
        opponents: OpponentsLike = "heuristic",
        seat: int | None = None,
        episode: str = "deal",
        reward: str = "points",
        illegal: str = "terminate",
        render_mode: str | None = None,
        hand_size: int | None = None,
        layout: str = "default",
        deterministic: bool = True,
        open_hands: bool = False,
    ) -> None:
        self._table = RawOhHell(
            rules,
            players,
            episode,
            reward,
            render_mode=render_mode,
            hand_size=hand_size,
            layout=layout,
        )
        self.rules: Rules = self._table.rules
        """The rules of the game."""
        self.layout = self._table.layout
        """The arrangement of the observation."""
        self.illegal = check_one_of("illegal", illegal, ILLEGAL_POLICIES)
        self.render_mode = render_mode
        self.open_hands = open_hands
        self._fixed_seat = check_seat(seat, self.rules)
        self._opponents = Opponents(opponents, self.rules, hand_size, deterministic)
        self._chance = seat_loops.new_seats(1)
        self._seeded = False
        self._learner: int | None = None
        self._agent = ""
        self.observation_space = spaces.Box(-128, 127, (self.layout.length,), np.int8)
        self.action_space = spaces.Discrete(self.layout.num_actions)

    # ------------------------------------------------------------------ the game

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vector, dict[str, Any]]:
        """Begins an episode and plays up to the learner's first decision.

        Args:
            seed: Restarts all random streams; None: they continue.
            options: Fix the first deal, and the learner's "seat"; see the module's docstring.

        Returns:
            Observation and info.

        Raises:
            RulesError: An impossible seed or option.
        """
        if seed is not None:
            seed = check_seed(seed)
        super().reset(seed=seed)
        wishes = dict(options or {})
        seat = check_seat(wishes.pop("seat", self._fixed_seat), self.rules)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**63))
        self._table.reset(seed, wishes)
        if seed is not None:
            seat_loops.seed_seats(self._chance, np.uint64(seed), np.uint64(0))
            self._seeded = True
        drawn = seat_loops.draw_learner(self._chance, self.rules.players) if seat is None else seat
        self._learner = int(drawn)
        self._agent = self._table.possible_agents[self._learner]
        self._opponents.begin(self._learner)
        self._play_others()
        return self._shown()

    def step(self, action: Any) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Plays the learner's action, and the other seats up to its next decision.

        Args:
            action: A card (0 to 59) or a bid (60 + b) of any integer type.

        Returns:
            Observation, the learner's reward, whether the episode is over, False, and info.

        Raises:
            IllegalActionError: The action is outside the action space; it is illegal and the policy
                is "raise"; there is nothing to decide; or an opponent's answer was illegal.
        """
        table = self._table
        if self._learner is None or not table.playing:
            ended = "the episode is over" if self._learner is not None else "step() before reset()"
            raise IllegalActionError(f"{ended}: call reset() first")
        if int(table.game.state["seat"][0]) != self._learner:
            raise IllegalActionError("an opponent did not finish its turn: call reset() first")
        try:
            table.step(action)
        except IllegalActionError as error:
            self._forgive_nothing(action, error)
        reward = table.rewards[self._agent] + self._play_others()
        view, info = self._shown()
        return view, float(reward), not table.playing, False, info

    def _forgive_nothing(self, action: Any, error: IllegalActionError) -> None:
        """Ends the episode for an illegal action, or raises the error."""
        number = whole_number(action)
        known = number is not None and 0 <= number < self.layout.num_actions
        if self.illegal == "raise" or not known:
            raise error
        reason = str(error).removesuffix("; the game is unchanged")
        self._table.forfeit(worst_honest(self._table.game, self._table.reward), reason)

    def _play_others(self) -> float:
        """Plays the other seats until the learner's turn or the end; returns its reward."""
        table, reward = self._table, 0.0
        state = table.game.state
        while table.playing:
            seat = int(state["seat"][0])
            if seat == self._learner:
                break
            legal = int(state["legal"][0])
            if legal & (legal - 1):
                table.step(self._ask(seat))
            else:
                bids = int(state["phase"][0]) == _BID
                table.step(legal.bit_length() - 1 + (BID_BASE if bids else 0))
            reward += table.rewards[self._agent]
        return reward

    def _ask(self, seat: int) -> int:
        """Returns the action of the opponent in a seat."""
        assert self._learner is not None
        distance = (seat - self._learner - 1) % self.rules.players
        number = int(self._opponents.places[distance])
        game = self._table.game
        random_bits = np.array([seat_loops.draw_bits(self._chance)], np.uint64)
        return int(self._opponents.ask(number, game.state, game.compiled, _FIRST, random_bits)[0])

    def _shown(self) -> tuple[Vector, dict[str, Any]]:
        """Returns the learner's view and info; prints the table first in render mode "human"."""
        view = self._table.observe(self._agent)
        info = dict(self._table.infos[self._agent]) | {"seat": self._learner}
        if self.render_mode == "human":
            self.render()
        return view["observation"], info

    # ------------------------------------------------------------------ queries

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns the learner's legal actions as bool (A,).

        Raises:
            NotResetError: Before the first ``reset``.
        """
        return self._table.observe(self._known())["action_mask"].astype(np.bool_)

    def render(self) -> Any:
        """Returns or prints the table according to ``render_mode``.

        Raises:
            NotResetError: Before the first ``reset``.
        """
        self._known()
        return self._table.render(None if self.open_hands else self._learner)

    def _known(self) -> str:
        if self._learner is None:
            raise NotResetError("no cards are dealt yet: call reset() first")
        return self._agent

    @property
    def seat(self) -> int:
        """The learner's seat in this episode."""
        self._known()
        assert self._learner is not None
        return self._learner

    @property
    def game(self) -> Game:
        """The live table, with all hands; do not change it, but play on with ``game.copy()``."""
        return self._table.game

    def _repr_html_(self) -> str | None:
        """Returns the table as HTML for notebooks; None before ``reset``."""
        if self._learner is None:
            return None
        return game_html(self.game, None if self.open_hands else self._learner)

    def __copy__(self) -> Self:
        """Returns an independent copy; a shallow one would share the table and the opponents."""
        return copy.deepcopy(self)

    def record(self) -> dict[str, Any]:
        """Returns the episode so far as plain data; see ``ohhell_env.records.record``."""
        return self._table.record()

    def close(self) -> None:
        """Releases the resources of opponents given by name, for example a program."""
        self._opponents.close()
