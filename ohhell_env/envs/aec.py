"""The PettingZoo environment: one table of Oh Hell whose seats act in turn.

``oh_hell_v0.env(...)`` creates the environment, and ``oh_hell_v0.raw_env(...)`` creates it without
wrappers::

    from ohhell_env import oh_hell_v0

    env = oh_hell_v0.env(rules="oh_hell", players=4)
    env.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        if termination or truncation:
            action = None  # the game is over; every seat has this one last turn
        else:
            action = int(env.action_space(agent).sample(observation["action_mask"]))
        env.step(action)
    print(env.unwrapped.scores)

Description:
    Oh Hell is a trick-taking game. After the deal, players bid how many tricks they will win, and
    only those who win exactly that many make their bid. ``ohhell rules NAME`` prints the rules of
    any variant in plain words. Agents are ``player_0`` to ``player_{n-1}``, clockwise. One step is
    one bid or one card. Under simultaneous bids the seats still act one after another, but all bids
    stay hidden until the last. In a blind one-card deal the cards are played automatically after
    the last bid.

Observation:
    A dict with "observation", the seat's view as int8 (L,), and "action_mask". The view is relative
    to the observing seat (itself first, then clockwise). It holds everything that the seat may know
    and nothing else. ``ohhell_env.observation.sections(rules)`` lists the sections of the vector,
    ``docs/observation.md`` explains them, and ``decode(vector, rules)`` returns the view as named
    fields. ``observe(agent)`` works for any seat at any time, even after the end of the game. Every
    returned array belongs to the caller.

State:
    ``state()`` returns full information as int8 (S,), in ``state_space``: all hands, the stock, a
    trump that is decided but not yet public, secret bids, and everything public. It is hidden from
    agents: no observation or info contains it. Use it for a critic in training. Its seats are
    numbered clockwise from the dealer's left. To read it, use ``state_sections`` and
    ``decode_state`` of ``ohhell_env.state``; ``docs/observation.md`` explains it.

Action:
    ``Discrete(61 + largest hand size)``, with the same codes under all rules. A card is its number,
    0 to 59 (``oh_hell_v0.card_action("TH")``), and a bid of b is ``60 + b`` (``bid_action(b)``);
    ``action_name(a)`` returns the name of an action. NumPy and torch integers work too. In the
    universal layout the space is ``Discrete(92)``: 87 to 91 are reserved for naming trumps
    (``trump_action("H")``), which no rules use yet.

Action mask:
    int8 (A,), 1 for each legal action; all 0 if it is not the seat's turn, and after the end.
    ``infos[agent]["action_mask"]`` holds the same values. An illegal action raises
    ``IllegalActionError`` and leaves the game unchanged. With ``illegal="terminate"`` it ends the
    game for everyone, as in PettingZoo's ``TerminateIllegalWrapper``: the offender gets the worst
    reward that a legal game could have given (``rewards.worst_honest``), and the others get 0.
    Anything outside the action space (a float, a string, None, a number out of range) raises in
    either case.

Rewards:
    ``reward="points"``: the points of a deal, paid to all seats when the deal ends; over a game,
    they sum to the score. "relative": a seat's points minus the mean of the other seats'. "win":
    the share of the win. "settlement": the payment. These last two are paid when the game ends.

Episode end:
    After the last card every agent's termination is True. Each agent takes one last turn, which
    accepts only ``None``; then ``agents`` is empty. From the last card on,
    ``env.unwrapped.scores`` holds the final scores, and each info holds "score", "points" (of the
    last deal) and "win_share". ``step`` then raises, and ``reset`` begins the next episode. If an
    illegal action ended the game, truncations are True too, the infos hold "score", and the
    offender's "fault" describes the action.

Arguments:
    rules            Rules, the name of a variant, or the path of a YAML file
    players          overrides the number of players in the rules
    episode          "game" (the whole schedule) or "deal" (one deal, its hand size drawn from the
                     schedule)
    reward           "points", "relative", "win" or "settlement"
    illegal          "raise" or "terminate" (``raw_env`` only raises)
    render_mode      None, "ansi" (``render()`` returns text), "human" (prints the text, in colour
                     on a terminal) or "rgb_array" (returns a picture)
    hand_size        the only hand size, with episode "deal"
    layout           "default", as small as the rules allow, or "universal", one for all rules

Reset options:
    ``reset(seed=s)`` restarts the random stream and deals the same cards as row 0 of
    ``BatchedOhHell(seed=s)``; without a seed the stream continues. These ``options`` fix the first
    deal, in any combination: "dealer" (seat), "hand_size", "hands" (the cards of all seats by name
    or number, equally many each), "turned" (the turned card), "trump" (a suit's letter, if the
    rules turn no card). Impossible options raise ``RulesError``, and the previous game continues.

Version history:
    v0: first version.
"""

# Reads input from users: the code checks types at run time.
# pyright: reportMissingTypeStubs=false, reportUnnecessaryIsInstance=false
from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv

from ohhell_env.actions import whole_number
from ohhell_env.engine import batch
from ohhell_env.engine.encode import new_buffer
from ohhell_env.engine.layout import ILLEGAL, NOBODY, Event, Rows
from ohhell_env.envs import render
from ohhell_env.envs.rewards import check_reward
from ohhell_env.errors import (
    IllegalActionError,
    NotResetError,
    OhHellError,
    RulesError,
    nearest,
    shown,
)
from ohhell_env.first_deal import FirstDeal
from ohhell_env.game import Game
from ohhell_env.illegal import explain_illegal
from ohhell_env.observation import Layout, decode, layout_of
from ohhell_env.pictures.html import game_html
from ohhell_env.pictures.view import TableView, referee_view, seat_view
from ohhell_env.rules import Rules, RulesLike, as_rules
from ohhell_env.state import state_layout_of

View = dict[str, NDArray[np.int8]]
"""The observation of an agent: "observation" (L,) and "action_mask" (A,)."""

Turn = tuple[Any, float, bool, bool, dict[str, Any]]
"""The result of ``last``: view (None if left out), reward, termination, truncation, info."""

RENDER_MODES = ("human", "ansi", "rgb_array")
ILLEGAL_POLICIES = ("raise", "terminate")

_DEAL, _OVER = 16 * int(Event.DEAL), 16 * int(Event.OVER)
_API_TEST_OPTION = "options"
"""PettingZoo's ``api_test`` resets every environment with an option of this name."""


class _AfterReset:
    """A placeholder that raises NotResetError until ``reset`` sets the attribute.

    A ``__getattr__`` of the environment would do the same, but doubles the cost of every step.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        raise NotResetError(f"{self._name} before reset(): call reset() first")


class RawOhHell(AECEnv[str, Any, Any]):
    """One table of Oh Hell as a PettingZoo AEC environment; see this module's docstring.

    It only keeps the books: the engine decides legality, turns and points.

    Args:
        rules: Rules, the name of a variant, or the path of a YAML file.
        players: Overrides the number of players of the rules.
        episode: "game" or "deal".
        reward: "points", "relative", "win" or "settlement".
        illegal: "raise"; for "terminate" use ``oh_hell_v0.env``.
        render_mode: None, "ansi", "human" or "rgb_array".
        hand_size: With episode "deal", the only hand size; None: drawn from the schedule.
        layout: "default" or "universal".

    Raises:
        RulesError: An argument is not allowed.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "name": "oh_hell_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
        "is_parallelizable": False,
    }
    agents: Any = _AfterReset()
    agent_selection: Any = _AfterReset()
    rewards: Any = _AfterReset()
    terminations: Any = _AfterReset()
    truncations: Any = _AfterReset()
    infos: Any = _AfterReset()
    _cumulative_rewards: Any = _AfterReset()

    def __init__(
        self,
        rules: RulesLike = "oh_hell",
        players: int | None = None,
        episode: str = "game",
        reward: str = "points",
        illegal: str = "raise",
        render_mode: str | None = None,
        hand_size: int | None = None,
        layout: str = "default",
    ) -> None:
        super().__init__()
        if check_illegal(illegal) != "raise":
            raise RulesError("illegal='terminate' needs oh_hell_v0.env(); raw_env() only raises")
        self.rules: Rules = as_rules(rules, players)
        """The rules of the game."""
        self.reward = reward
        """The reward setting."""
        self.render_mode = check_render_mode(render_mode)
        self._game = Game(self.rules, episode=episode, hand_size=hand_size)
        self._reward = check_reward(reward, episode, self.rules)
        self.layout: Layout = layout_of(self.rules, layout, self._game.chosen_size)
        """The arrangement of the observation."""
        self.state_layout: Layout = state_layout_of(self.rules, layout, self._game.chosen_size)
        """The arrangement of the state."""
        self.state_space: spaces.Box = spaces.Box(-128, 127, (self.state_layout.length,), np.int8)
        """The space that ``state`` is in."""
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._observation_spaces = {agent: self._new_space() for agent in self.possible_agents}
        actions = self.layout.num_actions
        self._action_spaces = {agent: spaces.Discrete(actions) for agent in self.possible_agents}
        self._started = self._playing = False
        self._bind()

    def _new_space(self) -> spaces.Dict:
        length, actions = self.layout.length, self.layout.num_actions
        return spaces.Dict(
            {
                "observation": spaces.Box(-128, 127, (length,), np.int8),
                "action_mask": spaces.Box(0, 1, (actions,), np.int8),
            }
        )

    def _bind(self) -> None:
        """Allocates the buffers and caches everything that a step needs."""
        self._state: Rows = self._game.state
        self._compiled: Rows = self._game.compiled
        self._sections: Rows = self.layout.compiled()
        self._num_actions = self.layout.num_actions
        self._buffer = new_buffer(1, self.layout.length)
        self._mask_buffer = new_buffer(1, self._num_actions)
        self._view = self._buffer[: self.layout.length]
        self._mask = self._mask_buffer[: self._num_actions]
        self._no_mask = np.zeros(self._num_actions, np.int8)
        self._paid = np.zeros(self.rules.players)
        self._play: Any = batch.direct(
            batch.play_one,
            self._state,
            self._compiled,
            self._sections,
            0,
            self._buffer,
            self._mask_buffer,
        )

    # ------------------------------------------------------------------ the game

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins an episode and deals.

        Args:
            seed: Restarts the random stream; None: the stream continues.
            options: Fix the first deal; see the module's docstring.

        Raises:
            RulesError: An impossible seed or option; the previous game continues.
        """
        game = self._game
        if options is not None:
            options = _wishes(options)
            game = game.copy() if options else game
        if seed is not None or options or self._started:
            game.begin(seed, FirstDeal.from_options(options) if options else _FREE)
        # else the table was dealt on creation, with the seed in the game's record
        if game is not self._game:
            self._check_room(game.hand_size)
            self._game = game
            self._bind()
        self._started = self._playing = True
        self._start_books()

    def _check_room(self, hand_size: int) -> None:
        largest = self.layout.largest_hand
        if hand_size > largest:
            raise RulesError(
                f"a first deal of {hand_size} cards is too large: the action space of this "
                f"environment allows hands of up to {largest}; create it with episode='deal', "
                f"hand_size={hand_size}, or with layout='universal'"
            )

    def _start_books(self) -> None:
        self.agents = agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self.terminations = dict.fromkeys(agents, False)
        self.truncations = dict.fromkeys(agents, False)
        self.infos = {agent: self._idle_info() for agent in agents}
        self._has_rewards = False
        self._skip_agent_selection: str | None = None
        self._turn_to_actor()

    def _idle_info(self) -> dict[str, Any]:
        """Returns a new info for a seat that is not to act."""
        return {"action_mask": self._no_mask.copy()}

    def _turn_to_actor(self) -> None:
        """Selects the agent that the engine has to act, and writes its view."""
        seat = int(self._state["seat"][0])
        self._write_view(seat)
        self.agent_selection = agent = self.possible_agents[seat]
        self.infos[agent] = {"action_mask": self._mask.copy()}

    def _write_view(self, seat: int) -> None:
        batch.observe_one(
            self._state, self._compiled, self._sections, seat, self._buffer, self._mask_buffer
        )

    def step(self, action: Any) -> None:
        """Plays an action for the selected agent and selects the next agent.

        Args:
            action: A card (0 to 59) or a bid (60 + b) of any integer type; None after the end.

        Raises:
            IllegalActionError: The action is not legal now, or no turn is left; nothing changes.
        """
        if not self._playing:
            self._step_ended(action)
            return
        number = action if type(action) is int else _number(action)
        code = ILLEGAL
        if 0 <= number < self._num_actions:
            code = self._play(
                self._state,
                self._compiled,
                self._sections,
                number,
                self._buffer,
                self._mask_buffer,
            )
        if code < 0:
            raise explain_illegal(self._game, action)
        agent = self.agent_selection
        # A call would cost time in every step.
        self.infos[agent] = {"action_mask": self._no_mask.copy()}
        self._cumulative_rewards[agent] = 0.0
        if self._has_rewards:
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._has_rewards = False
        if code < _DEAL:
            self.agent_selection = agent = self.possible_agents[code & 15]
            self.infos[agent] = {"action_mask": self._mask.copy()}
        else:
            self._end_deal(code >= _OVER)

    def _end_deal(self, over: bool) -> None:
        self._paid[:] = 0
        batch.rewards_one(self._state, self._compiled, self._reward, self._paid)
        self._pay(self._paid.tolist())
        self._game.close_deal()
        if over:
            self._end_episode()
            self._report()
        else:
            self._turn_to_actor()

    def _pay(self, rewards: list[float]) -> None:
        self.rewards = dict(zip(self.agents, rewards, strict=True))
        self._accumulate_rewards()
        self._has_rewards = True

    def _end_episode(self) -> None:
        """Terminates all agents; one last turn remains for each."""
        self._playing = False
        self.terminations = dict.fromkeys(self.agents, True)
        for agent, score in zip(self.agents, self._game.scores, strict=True):
            self.infos[agent] = self._idle_info() | {"score": score}
        self._deads_step_first()

    def _report(self) -> None:
        """Adds the results of a finished game to all infos."""
        game = self._game
        for agent, points, share in zip(self.agents, game.points, game.win_shares(), strict=True):
            self.infos[agent] |= {"points": points, "win_share": share}

    def forfeit(self, reward: float, reason: str) -> None:
        """Ends the game for all because the selected agent broke the rules.

        As with PettingZoo's ``TerminateIllegalWrapper``, all terminations and truncations are True
        afterwards.

        Args:
            reward: The offender's reward; the others get 0.
            reason: The offence, for the offender's info ("fault").
        """
        offender = self.agent_selection
        self._cumulative_rewards[offender] = 0.0
        self._pay([reward if agent == offender else 0.0 for agent in self.agents])
        self.truncations = dict.fromkeys(self.agents, True)
        self._end_episode()
        self.infos[offender]["fault"] = reason

    def _step_ended(self, action: Any) -> None:
        if not self._started:
            raise IllegalActionError("step() before reset(): call reset() first")
        if not self.agents:
            raise IllegalActionError(
                f"step({shown(action)}): the game is over and every agent has had its last turn; "
                "call reset() to play again"
            )
        if action is not None:
            raise IllegalActionError(
                f"action {shown(action)}: the game is over; the last turn of "
                f"{self.agent_selection} accepts only None"
            )
        self._was_dead_step(None)

    # ------------------------------------------------------------------ the agents' view

    def observation_space(self, agent: str) -> spaces.Dict:
        """Returns the observation space of an agent, the same object every time."""
        return self._observation_spaces[self._known(agent)]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Returns the action space of an agent, the same object every time."""
        return self._action_spaces[self._known(agent)]

    def _known(self, agent: str) -> str:
        if not isinstance(agent, str) or agent not in self._seats:
            raise RulesError(f"unknown agent {shown(agent)}: {nearest(agent, self._seats)}")
        return agent

    def last(self, observe: bool = True) -> Turn:
        """Returns the selected agent's view, reward, termination, truncation and info.

        The reward is the sum since the agent's last turn.

        Args:
            observe: False leaves out the view.
        """
        if not self._playing:
            return self._last_ended(observe)
        agent = self.agent_selection
        view = None
        if observe:
            view = {"observation": self._view.copy(), "action_mask": self._mask.copy()}
        return view, self._cumulative_rewards[agent], False, False, self.infos[agent]

    def _last_ended(self, observe: bool) -> Turn:
        if not self._started:
            raise NotResetError("last() before reset(): call reset() first")
        if not self.agents:
            raise OhHellError(
                "last(): the game is over and every agent has had its last turn; call reset() to "
                "play again"
            )
        return super().last(observe)  # type: ignore[return-value]

    def observe(self, agent: str) -> View:
        """Returns the view of an agent at any time after ``reset``, without changing anything.

        Args:
            agent: Any of ``possible_agents``.

        Raises:
            NotResetError: Before the first ``reset``.
        """
        if not self._started:
            raise NotResetError("observe() before reset(): call reset() first")
        seat = self._seats[self._known(agent)]
        actor = self._seats[self.agent_selection] if self._playing else NOBODY
        self._write_view(seat)
        mask = self._mask.copy() if seat == actor else np.zeros_like(self._mask)
        view = {"observation": self._view.copy(), "action_mask": mask}
        if actor not in (seat, NOBODY):
            self._write_view(actor)  # the buffers belong to the selected agent
        return view

    def state(self) -> NDArray[np.int8]:
        """Returns full information about the table in a new array, int8 (S,).

        It includes all hands, the stock and a trump that is not yet public, so agents must not see
        it: it is for a critic in training, or a referee. It works at any time after ``reset``, also
        after the end, and changes nothing. ``ohhell_env.state`` describes its content.

        Raises:
            NotResetError: Before the first ``reset``.
        """
        if not self._started:
            raise NotResetError("state() before reset(): call reset() first")
        buffer = new_buffer(1, self.state_layout.length)
        batch.write_states(self._state, self._compiled, self.state_layout.compiled(), buffer)
        return buffer[: self.state_layout.length].copy()

    def render(self, seat: int | None = None) -> Any:  # type: ignore[override]
        """Returns the table as text ("ansi") or pixels ("rgb_array"), or prints it ("human").

        Args:
            seat: Shows only what this seat may know; None: the referee's view, with all hands.

        Returns:
            Text, pixels as uint8 (height, width, 3), or None. All pictures of an environment have
            the same size.

        Raises:
            NotResetError: Before the first ``reset``.
            RulesError: The seat does not exist.
            OhHellError: Pixels need the extra ``pictures``, which is not installed.
        """
        if not self._started:
            raise NotResetError("render() before reset(): call reset() first")
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: create it with render_mode='ansi'")
            return None
        table = self._shown(seat)
        if self.render_mode == "human":
            print(render.printed(table))
            return None
        return render.drawn(table, self.render_mode)

    def _shown(self, seat: Any) -> TableView:
        actor = self._game.seat if self._playing else NOBODY
        if seat is None:
            return referee_view(self._game, actor)
        number = whole_number(seat)
        if number is None or not 0 <= number < self.rules.players:
            raise RulesError(
                f"render: seat must be 0 to {self.rules.players - 1}, got {shown(seat)}"
            )
        view = decode(self.observe(self.possible_agents[number])["observation"], self.rules)
        return seat_view(view, self.rules, number, actor)

    def _repr_html_(self) -> str | None:
        """Returns the table with all hands as HTML for notebooks; None before ``reset``."""
        return game_html(self._game) if self._started else None

    def close(self) -> None:
        """Does nothing: the environment holds no resources."""

    # ------------------------------------------------------------------ the referee's view

    @property
    def playing(self) -> bool:
        """Whether a seat is to act: after ``reset`` and before the end."""
        return self._playing

    @property
    def game(self) -> Game:
        """The live table, with all hands; do not change it, but play on with ``game.copy()``."""
        return self._game

    @property
    def scores(self) -> list[int]:
        """The scores by seat, after the last finished deal."""
        if not self._started:
            raise NotResetError("scores before reset(): call reset() first")
        return self._game.scores

    def record(self) -> dict[str, Any]:
        """Returns the episode so far as plain data; see ``ohhell_env.records.record``."""
        if not self._started:
            raise NotResetError("record() before reset(): call reset() first")
        return self.game.record()

    # ------------------------------------------------------------------ copies

    def __copy__(self) -> Self:
        """Returns an independent copy; a shallow one would share the table."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        left_out = {"_state", "_compiled", "_sections", "_buffer", "_mask_buffer", "_view"}
        left_out |= {"_mask", "_no_mask", "_paid", "_play"}
        return {key: value for key, value in self.__dict__.items() if key not in left_out}

    def __setstate__(self, plain: dict[str, Any]) -> None:
        self.__dict__.update(plain)
        self._bind()
        if self._playing:
            self._write_view(self._game.seat)


_FREE = FirstDeal()


def _wishes(options: Any) -> dict[str, Any]:
    if not isinstance(options, Mapping):
        raise RulesError(f"reset: options must be settings by name, got {shown(options)}")
    named = cast("Mapping[str, Any]", options)
    return {key: named[key] for key in named if key != _API_TEST_OPTION}


def _number(action: Any) -> int:
    """Returns an action as a whole number, or -1 if it is none."""
    if isinstance(action, np.integer):
        return int(cast("int", action))
    number = whole_number(action)
    return -1 if number is None else number


def check_illegal(illegal: str) -> str:
    """Returns the policy for illegal actions, or raises RulesError."""
    if not isinstance(illegal, str) or illegal not in ILLEGAL_POLICIES:
        raise RulesError(f"illegal={shown(illegal)}: {nearest(illegal, ILLEGAL_POLICIES)}")
    return illegal


def check_render_mode(mode: str | None, allowed: tuple[str, ...] = RENDER_MODES) -> str | None:
    """Returns the render mode, or raises RulesError."""
    if mode is not None and (not isinstance(mode, str) or mode not in allowed):
        raise RulesError(f"render_mode={shown(mode)}: {nearest(mode, allowed)}")
    return mode
