"""OpenSpiel: one deal of our game, under any rules, as an OpenSpiel game.

Importing this module registers the game as ``ohhell_env``. Chance deals card by card. Actions are
our action codes. What a seat knows is our observation, which contains the whole public history of
the deal and the seat's own cards. Rules of play and points are our engine's. If bids are
simultaneous, the seats bid one after the other, and no information state shows another seat's bid
before all have bid.

>>> import pyspiel
>>> game = pyspiel.load_game("ohhell_env(rules=oh_hell,players=3,hand_size=1)")
>>> game.num_players(), game.new_initial_state().is_chance_node()
(3, True)
"""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

from ohhell_env.adapters.open_spiel_moment import Moment, Setting
from ohhell_env.adapters.open_spiel_worlds import Unseen
from ohhell_env.errors import OhHellError, RulesError, shown
from ohhell_env.first_deal import check_hand_size
from ohhell_env.rules import Rules, RulesLike, as_rules, schedule
from ohhell_env.rules.variants import VARIANTS
from ohhell_env.rules.yaml_text import read_yaml

try:
    import pyspiel
except ModuleNotFoundError:
    raise OhHellError(
        "the OpenSpiel adapter needs the package open-spiel: pip install open_spiel"
    ) from None

NAME = "ohhell_env"
_DEFAULTS: dict[str, Any] = {
    "rules": "oh_hell",
    "players": 0,
    "hand_size": 0,
    "settings": "",
    "reward": "points",
}


def _type(utility: Any) -> pyspiel.GameType:
    return pyspiel.GameType(
        short_name=NAME,
        long_name="Oh Hell, one deal, by ohhell_env",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=8,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_DEFAULTS,
    )


_TYPES = {
    "points": _type(pyspiel.GameType.Utility.GENERAL_SUM),
    "relative": _type(pyspiel.GameType.Utility.ZERO_SUM),
}


def settings_of_parameters(text: str) -> dict[str, Any]:
    """Returns the changes of the rules in a parameter "settings".

    >>> settings_of_parameters("pack: {suits: [C; D]; ranks: ['2'; '3']}; bidding.hook: none")
    {'pack': {'suits': ['C', 'D'], 'ranks': ['2', '3']}, 'bidding.hook': 'none'}

    Args:
        text: A YAML mapping; its outer braces may be left out. ";" stands for ",", which separates
            OpenSpiel's parameters.

    Raises:
        RulesError: The text is not of this form.
    """
    body = text.strip()
    braced = body.startswith("{") and body.endswith("}")
    try:
        changes = read_yaml((body if braced else f"{{{body}}}").replace(";", ","))
    except RulesError as error:
        raise RulesError(f"settings={shown(text)}: not valid YAML: {error}") from None
    if not isinstance(changes, dict) or not all(isinstance(key, str) for key in changes):
        raise RulesError(f"settings={shown(text)}: write name: value; name: value")
    return changes


def parameters_of(rules: Rules, hand_size: int, reward: str = "points") -> dict[str, Any]:
    """Returns the parameters for which ``pyspiel.load_game(NAME, ...)`` gives the same game."""
    name = rules.name if rules.name in VARIANTS else "oh_hell"
    try:
        usual = Rules.preset(name, rules.players).to_dict()
    except RulesError:  # the rules allow more players than the preset does
        name, usual = "oh_hell", Rules.preset("oh_hell", rules.players).to_dict()
    plain = rules.to_dict()
    changes = {key: plain[key] for key in plain if key != "name" and plain[key] != usual[key]}
    params = {"rules": name, "players": rules.players, "hand_size": hand_size, "reward": reward}
    if changes:
        params["settings"] = json.dumps(changes).replace(",", ";")
    return params


class OhHellGame(pyspiel.Game):
    """One deal of our game, as a game of OpenSpiel.

    Args:
        params: OpenSpiel's parameters: "rules" (the name of a variant or a YAML file), "players"
            (0: the usual number), "hand_size" (0: the first of the schedule), "settings" (changes
            to these rules, see ``settings_of_parameters``) and "reward" ("points" or "relative").
        rules: Replaces "rules", "players" and "settings".

    Raises:
        RulesError: The rules, the hand size or the reward cannot be used.
    """

    def __init__(self, params: dict[str, Any] | None = None, rules: Rules | None = None) -> None:
        wanted = _DEFAULTS | (params or {})
        if rules is None:
            rules = as_rules(wanted["rules"], wanted["players"] or None)
            rules = rules.replace(**settings_of_parameters(wanted["settings"]))
        size = wanted["hand_size"] or schedule.hand_sizes(rules)[0]
        self.setting = Setting(rules, size, wanted["reward"])
        whole = parameters_of(rules, size, self.setting.reward)
        super().__init__(_TYPES[self.setting.reward], _info(self.setting), whole)
        self.root = Moment.first(self.setting)
        self._looked: tuple[Moment, Unseen] | None = None

    def unseen(self, state: OhHellState, seat: int) -> Unseen:
        """Returns what a seat does not know in a state; keeps the last answer."""
        if self._looked is not None:
            moment, unseen = self._looked
            if moment is state.moment and unseen.seat == seat:
                return unseen
        self._looked = state.moment, Unseen(state, seat)
        return self._looked[1]

    def new_initial_state(self) -> OhHellState:
        """Returns a state before the deal."""
        return OhHellState(self)

    def make_py_observer(
        self, iig_obs_type: Any = None, params: dict[str, Any] | None = None
    ) -> OhHellObserver:
        """Returns a reader of seats' views."""
        return OhHellObserver(self.setting)


def _info(setting: Setting) -> pyspiel.GameInfo:
    players, size = setting.rules.players, setting.hand_size
    counts = range(size + 1)
    values = [
        schedule.points(setting.rules.scoring, bid, won, size) for bid in counts for won in counts
    ]
    low, high = float(min(values)), float(max(values))
    relative = setting.reward == "relative"
    return pyspiel.GameInfo(
        num_distinct_actions=setting.layout.num_actions,
        max_chance_outcomes=max(setting.rules.pack.size, players),
        num_players=players,
        min_utility=low - high if relative else low,
        max_utility=high - low if relative else high,
        utility_sum=0.0 if relative else None,
        max_game_length=players * (size + 1),
    )


class OhHellState(pyspiel.State):
    """A deal in progress: dealt by chance, then bid and played at a table of ours."""

    def __init__(self, game: OhHellGame) -> None:
        super().__init__(game)
        self.moment: Moment = game.root

    # OpenSpiel sets these names and arguments.

    def current_player(self) -> int:
        """Returns the seat to act, or OpenSpiel's number for chance or the end."""
        return self.moment.seat

    def is_terminal(self) -> bool:
        """Returns whether the deal is over."""
        return self.moment.over

    def returns(self) -> list[float]:
        """Returns the rewards by seat; zeros before the end."""
        return self.moment.returns

    def _legal_actions(self, player: int) -> list[int]:
        return list(self.moment.legal)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns the possible outcomes of chance now, each with its probability."""
        outcomes = self.moment.outcomes()
        whole = sum(weight for _, weight in outcomes)
        return [(choice, weight / whole) for choice, weight in outcomes]

    def _apply_action(self, action: int) -> None:
        self.moment = self.moment.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return self.moment.name(action)

    def __str__(self) -> str:
        return self.history_str()

    def information_state_string(self, player: int | None = None) -> str:
        """Returns what a seat knows, as text; None: the seat to act."""
        return self.moment.knows(self.moment.seat if player is None else player)

    def resample_from_infostate(self, player: int, probability_sampler: Any) -> OhHellState:
        """Returns a state that a seat cannot distinguish from this one, as IS-MCTS needs it.

        Args:
            player: The seat.
            probability_sampler: Returns random numbers from 0 to 1.

        Raises:
            OhHellError: The cards are not dealt yet, or no such state was found.
        """
        return self.get_game().unseen(self, player).draw(random.Random(probability_sampler()))


class OhHellObserver:
    """Reads a seat's view in OpenSpiel's form; it does not separate public from private."""

    def __init__(self, setting: Setting) -> None:
        self.tensor = np.zeros(setting.layout.length, np.float32)
        self.dict = {"view": self.tensor}

    def set_from(self, state: OhHellState, player: int) -> None:
        """Writes the view into ``tensor``."""
        self.tensor[:] = state.moment.question(player)[0]

    def string_from(self, state: OhHellState, player: int) -> str:
        """Returns what the seat knows, as text."""
        return state.moment.knows(player)


def game_of(
    rules: RulesLike,
    hand_size: int | None = None,
    players: int | None = None,
    reward: str = "points",
) -> OhHellGame:
    """Returns one deal of some rules as a game of OpenSpiel.

    Args:
        rules: Rules, the name of a variant, or the path of a YAML file.
        hand_size: Cards for each seat; None: the first hand size of the schedule.
        players: Overrides the number of players.
        reward: "points", or "relative", which sums to zero.

    Raises:
        RulesError: As ``OhHellGame``.
    """
    size = check_hand_size(hand_size) or 0
    return OhHellGame({"hand_size": size, "reward": reward}, rules=as_rules(rules, players))


pyspiel.register_game(_TYPES["points"], OhHellGame)
