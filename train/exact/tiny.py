"""Tiny packs: our game for OpenSpiel, and how far a player is from optimal there (NashConv).

One deal of our game is a game of OpenSpiel, named ``ohhell_env`` there. Chance deals a whole hand
at a time (and the dealer first, if the rules leave him to chance), then the trump; actions are our
action codes, what a seat knows is our observation. Rules of play and points are our engine's.

>>> game = game_of("oh_hell", players=3, hand_size=1)
>>> game.num_players(), game.new_initial_state().is_chance_node()
(3, True)
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent
from ohhell_env import schedule
from ohhell_env.actions import NUM_ACTIONS, action_name
from ohhell_env.cards import Card, card_name, suit_of
from ohhell_env.engine import batch
from ohhell_env.engine.encode import MARGIN, new_buffer
from ohhell_env.engine.layout import ILLEGAL, Phase, Rows, new_games
from ohhell_env.errors import OhHellError, RulesError
from ohhell_env.game import Game
from ohhell_env.illegal import explain_illegal
from ohhell_env.observation import Layout, layout_of
from ohhell_env.rules import Rules, RulesLike, as_rules
from ohhell_env.schedule import TrumpSource

try:
    import pyspiel
except ModuleNotFoundError:
    raise OhHellError(
        "the export to OpenSpiel needs the package open-spiel; install ohhell-env[bench]"
    ) from None

Hands = tuple[tuple[Card, ...], ...]

NAME = "ohhell_env"
_BY_CHANCE = (TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD, TrumpSource.RANDOM_SUIT)
MOST_OUTCOMES = 100_000
"""Most different hands that chance may deal."""
MOST_NODES = 1_000_000
"""Most moments of all deals together that ``tree_of`` writes out."""
_TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Oh Hell, one deal, by ohhell_env",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.GENERAL_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=8,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={"rules": "oh_hell", "players": 0, "hand_size": 1},
)


@dataclass(frozen=True)
class _Setting:
    """What all states of one game share."""

    rules: Rules
    hand_size: int
    table: Game
    """A table at which nothing has happened yet; not to be played at."""
    source: TrumpSource
    layout: Layout
    rows: Rows
    """One ``GAME`` row to work on."""
    texts: dict[str, str]
    """What seats know, each once."""

    @classmethod
    def of(cls, rules: Rules, hand_size: int) -> Self:
        table = Game(rules, seed=0, episode="deal", hand_size=hand_size)
        layout = layout_of(rules, "default", hand_size)
        return cls(rules, hand_size, table, table.trump_source, layout, new_games(1), {})

    def lay(self, record: bytes) -> Rows:
        """Returns a record laid out to work on, until the next one is."""
        self.rows.view(np.uint8)[:] = np.frombuffer(record, np.uint8)
        return self.rows

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # OpenSpiel copies states deeply

    @property
    def dealers(self) -> list[int]:
        """Seats that may deal."""
        free = isinstance(self.rules.first_dealer, str)
        return list(range(self.rules.players)) if free else [self.table.dealer]

    def hands(self) -> int:
        """Returns how many hands chance chooses from."""
        return math.comb(self.rules.pack.size, self.hand_size)

    def deals(self) -> float:
        """Returns how many different deals there are."""
        ways, left = float(len(self.dealers)), self.rules.pack.size
        for _ in range(self.rules.players):
            ways *= math.comb(left, self.hand_size)
            left -= self.hand_size
        trumps = {TrumpSource.TURNED_CARD: left, TrumpSource.DEALER_CARD: self.hand_size}
        return ways * trumps.get(self.source, 1)


class OhHellGame(pyspiel.Game):
    """One deal of our game, as OpenSpiel sees it.

    Args:
        params: OpenSpiel's parameters: "rules" (the name of a variant or a YAML file), "players"
            (0: the usual number) and "hand_size".
        rules: Takes the place of "rules" and "players".

    Raises:
        RulesError: Rules or a hand size that cannot be played, or too many hands to choose from.
    """

    def __init__(self, params: dict[str, Any] | None = None, rules: Rules | None = None) -> None:
        params = {"rules": "oh_hell", "players": 0, "hand_size": 1} | (params or {})
        if rules is None:
            rules = as_rules(params["rules"], params["players"] or None)
        setting = _Setting.of(rules, params["hand_size"])
        if setting.hands() > MOST_OUTCOMES:
            raise RulesError(
                f"OpenSpiel: a pack of {rules.pack.size} cards has {setting.hands():,} hands of "
                f"{setting.hand_size}; at most {MOST_OUTCOMES:,} are allowed: take a smaller pack "
                "(pack.suits, pack.ranks) or hand size"
            )
        super().__init__(_TYPE, _info(setting), params)
        self.setting = setting
        dealers = setting.dealers
        self.root = _Node(setting, dealers[0] if len(dealers) == 1 else None)

    def new_initial_state(self) -> OhHellState:
        """Returns a state before the deal."""
        return OhHellState(self)

    def make_py_observer(
        self, iig_obs_type: Any = None, params: dict[str, Any] | None = None
    ) -> OhHellObserver:
        """Returns what reads a seat's view."""
        return OhHellObserver(self.setting)


def _info(setting: _Setting) -> pyspiel.GameInfo:
    players, size = setting.rules.players, setting.hand_size
    counts = range(size + 1)
    values = [
        schedule.points(setting.rules.scoring, bid, won, size) for bid in counts for won in counts
    ]
    return pyspiel.GameInfo(
        num_distinct_actions=NUM_ACTIONS,
        max_chance_outcomes=max(setting.hands(), setting.rules.pack.size, players),
        num_players=players,
        min_utility=float(min(values)),
        max_utility=float(max(values)),
        max_game_length=players * (size + 1),
    )


class _Node:
    """A moment of a deal; OpenSpiel comes back to it many times, so what follows is kept.

    A deal that is dealt is the bytes of its ``GAME`` record: there are very many of them.
    """

    __slots__ = (
        "_knows",
        "_legal",
        "_next",
        "dealer",
        "hands",
        "over",
        "record",
        "seat",
        "setting",
    )

    def __init__(
        self,
        setting: _Setting,
        dealer: int | None,
        hands: Hands = (),
        record: bytes | None = None,
    ) -> None:
        self.setting, self.dealer, self.hands, self.record = setting, dealer, hands, record
        self.over = False
        self.seat: int = pyspiel.PlayerId.CHANCE
        if record is not None:
            row = setting.lay(record)[0]
            self.over = bool(row["phase"] == Phase.OVER)
            self.seat = pyspiel.PlayerId.TERMINAL if self.over else int(row["seat"])
        self._next: dict[int, _Node] | None = None
        self._legal: list[int] | None = None
        self._knows: str | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # nothing that can be seen of it ever changes

    @property
    def table(self) -> Game | None:
        """A table of ours at this moment; None while chance deals."""
        if self.record is None:
            return None
        table = self.setting.table.copy()
        table.state.view(np.uint8)[:] = np.frombuffer(self.record, np.uint8)
        return table

    @property
    def points(self) -> list[float]:
        """Points by seat; zeros before the end."""
        if self.record is None or not self.over:
            return [0.0] * self.setting.rules.players
        row = self.setting.lay(self.record)[0]
        return [float(points) for points in row["points"][: self.setting.rules.players]]

    @property
    def legal(self) -> list[int]:
        """Action codes, or the numbers of what chance may do."""
        if self._legal is None:
            table = self.table
            self._legal = (
                [place for place, (_, weight) in enumerate(self.options()) if weight]
                if table is None
                else table.legal_actions()
            )
        return self._legal

    def options(self) -> Sequence[tuple[Any, int]]:
        """Returns what chance chooses from, each with its weight."""
        setting = self.setting
        rules, source = setting.rules, setting.source
        if self.dealer is None:
            return [(seat, 1) for seat in setting.dealers]
        stock = tuple(card for card in rules.pack.cards if card not in sum(self.hands, ()))
        if len(self.hands) < rules.players:
            return _hands(stock, setting.hand_size)
        if source is TrumpSource.RANDOM_SUIT:
            suits = [suit_of(card) for card in rules.pack.cards]
            return [(letter, suits.count(suit)) for suit, letter in enumerate(rules.pack.suits)]
        turned = self.hands[self.dealer] if source is TrumpSource.DEALER_CARD else stock
        return [(card, 1) for card in turned]

    def after(self, action: int) -> _Node:
        """Returns the moment after an action."""
        if self._next is None:
            self._next = {}
        if action not in self._next:
            self._next[action] = self._deal(action) if self.record is None else self._play(action)
        return self._next[action]

    def _play(self, action: int) -> _Node:
        setting = self.setting
        assert self.record is not None
        rows = setting.lay(self.record)
        if batch.step_one(rows, setting.table.compiled, action) == ILLEGAL:
            table = self.table
            assert table is not None
            raise explain_illegal(table, action)
        return _Node(setting, self.dealer, self.hands, rows.tobytes())

    def _deal(self, action: int) -> _Node:
        setting, (choice, _) = self.setting, self.options()[action]
        if self.dealer is None:
            return _Node(setting, choice)
        if len(self.hands) == setting.rules.players:
            return self._opened(self.hands, choice)
        hands = (*self.hands, choice)
        if len(hands) < setting.rules.players or setting.source in _BY_CHANCE:
            return _Node(setting, self.dealer, hands)
        return self._opened(hands, None)

    def _opened(self, hands: Hands, choice: Any) -> _Node:
        table = self.setting.table.copy()
        wish = "trump" if self.setting.source is TrumpSource.RANDOM_SUIT else "turned"
        # the same seed every time: of several deals of this size in the schedule the same one
        table.reset(0, dealer=self.dealer, hands=hands, **{wish: choice})
        return _Node(self.setting, self.dealer, hands, table.state.tobytes())

    def name(self, action: int) -> str:
        """Returns an action, or what chance does, in words."""
        pack = self.setting.rules.pack
        if self.record is not None:
            return action_name(action, pack)
        choice, _ = self.options()[action]
        if self.dealer is None:
            return f"seat {choice} deals"
        if len(self.hands) < self.setting.rules.players:
            return f"seat {len(self.hands)}: " + " ".join(card_name(card, pack) for card in choice)
        return f"trump {choice if isinstance(choice, str) else card_name(choice, pack)}"

    def question(self, seat: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Returns a seat's view and action mask, int8 (L,) and (A,); zeros while chance deals."""
        setting, layout = self.setting, self.setting.layout
        view, mask = new_buffer(1, layout.length), new_buffer(1, layout.num_actions)
        if self.record is not None:
            rows = setting.lay(self.record)
            batch.observe_one(rows, setting.table.compiled, layout.compiled(), seat, view, mask)
        return view[:-MARGIN], mask[:-MARGIN]

    def knows(self, seat: int) -> str:
        """Returns what a seat knows as text: seat and view, the whole public history in it."""
        if seat == self.seat and self._knows is not None:
            return self._knows
        text = f"{seat}:{self.question(seat)[0].tobytes().hex()}"
        if seat == self.seat:
            self._knows = text = self.setting.texts.setdefault(text, text)
        return text


class OhHellState(pyspiel.State):
    """A deal under way: dealt by chance, then bid and played at a table of ours."""

    def __init__(self, game: OhHellGame) -> None:
        super().__init__(game)
        self.node: _Node = game.root

    # names and arguments are OpenSpiel's

    def current_player(self) -> int:
        """Returns the seat to act, or OpenSpiel's number for chance or the end."""
        return self.node.seat

    def is_terminal(self) -> bool:
        """Returns whether the deal is over."""
        return self.node.over

    def returns(self) -> list[float]:
        """Returns the points by seat; zeros before the end."""
        return self.node.points

    def _legal_actions(self, player: int) -> list[int]:
        return self.node.legal

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns what chance may do now, with the chance of each."""
        options = self.node.options()
        whole = sum(weight for _, weight in options)
        return [(place, weight / whole) for place, (_, weight) in enumerate(options) if weight]

    def _apply_action(self, action: int) -> None:
        self.node = self.node.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return self.node.name(action)

    def __str__(self) -> str:
        return self.history_str()

    def information_state_string(self, player: int | None = None) -> str:
        """Returns what a seat (None: the one to act) knows, as text."""
        return self.node.knows(self.node.seat if player is None else player)


class OhHellObserver:
    """Reads a seat's view, in the form that OpenSpiel wants; public and private are not parted."""

    def __init__(self, setting: _Setting) -> None:
        self.tensor = np.zeros(setting.layout.length, np.float32)
        self.dict = {"view": self.tensor}

    def set_from(self, state: OhHellState, player: int) -> None:
        """Writes the view into ``tensor``."""
        self.tensor[:] = state.node.question(player)[0]

    def string_from(self, state: OhHellState, player: int) -> str:
        """Returns what the seat knows as text."""
        return state.node.knows(player)


@functools.lru_cache(maxsize=4096)
def _hands(stock: tuple[Card, ...], size: int) -> list[tuple[tuple[Card, ...], int]]:
    return [(hand, 1) for hand in itertools.combinations(stock, size)]


def game_of(rules: RulesLike, hand_size: int = 1, players: int | None = None) -> OhHellGame:
    """Returns one deal of some rules as a game of OpenSpiel.

    Rules that have a name can be had from OpenSpiel, too, once this module is imported:
    ``pyspiel.load_game("ohhell_env", {"rules": "oh_hell", "players": 3, "hand_size": 1})``.

    Args:
        rules: Rules, the name of a variant, or the path of a YAML file.
        hand_size: Cards for each seat.
        players: Overrides the number of players.

    Raises:
        RulesError: As ``OhHellGame``.
    """
    return OhHellGame({"hand_size": hand_size}, rules=as_rules(rules, players))


@dataclass(frozen=True)
class Tree:
    """A deal written out as a plain tree, which OpenSpiel goes through by itself, far faster."""

    game: pyspiel.Game
    """OpenSpiel's "efg_game"."""
    rules: Rules
    names: dict[str, str]
    """What a seat knows, as our game says it -> as this one does."""
    codes: dict[int, int]
    """Our action code -> its action."""
    questions: dict[str, tuple[int, NDArray[np.int8], NDArray[np.int8]]]
    """What a seat knows, as our game says it -> seat, view, action mask."""


def tree_of(game: OhHellGame) -> Tree:
    """Returns one of our games as a plain tree.

    Raises:
        RulesError: It would be too large.
    """
    writer = _Writer(game.num_players())
    nodes = [game.root]
    deals = game.setting.deals()
    while nodes:
        if max(deals, len(writer.lines)) > MOST_NODES:
            raise RulesError(
                f"{deals:,.0f} deals have too many courses: more than {MOST_NODES:,} moments; take "
                "a smaller pack (pack.suits, pack.ranks), fewer players or a smaller hand size"
            )
        node = nodes.pop()
        nodes += reversed(writer.add(node))
    tree = pyspiel.load_efg_game("\n".join(writer.lines) + "\n")
    return Tree(tree, game.setting.rules, writer.names, writer.codes, writer.questions)


class _Writer:
    """Writes nodes, from the root down and from left to right, in Gambit's format EFG 2.

    OpenSpiel numbers the actions of such a game as their labels come up and takes the children of a
    node to stand in the order of these numbers. It names what a seat knows by the seat (twice), its
    number and its label.
    """

    def __init__(self, players: int) -> None:
        seats = " ".join(f'"{seat}"' for seat in range(players))
        self.lines = [f'EFG 2 R "deal" {{ {seats} }}']
        self.names: dict[str, str] = {}
        self.codes: dict[int, int] = {}
        self.questions: dict[str, tuple[int, NDArray[np.int8], NDArray[np.int8]]] = {}
        self._known = [0] * players

    def add(self, node: _Node) -> list[_Node]:
        """Writes a node and returns its children, which are to be written next in this order."""
        number = len(self.lines)
        if node.over:
            points = " ".join(str(points) for points in node.points)
            self.lines.append(f't "" {number} "" {{ {points} }}')
            return []
        if node.record is None:
            actions, options = node.legal, node.options()
            whole = sum(weight for _, weight in options)
            chances = " ".join(f'"{place}" {options[place][1]}/{whole}' for place in actions)
            self.lines.append(f'c "" {number} "" {{ {chances} }} 0')
        else:
            label = self._label(node)
            actions = sorted(node.legal, key=self.codes.__getitem__)
            named = " ".join(f'"{action}"' for action in actions)
            self.lines.append(f'p "" {node.seat + 1} {label} "{label}" {{ {named} }} 0')
        return [node.after(action) for action in actions]

    def _label(self, node: _Node) -> str:
        """Returns the number of what the seat knows, and takes note of it."""
        seat, knows = node.seat, node.knows(node.seat)
        for action in node.legal:
            self.codes.setdefault(action, len(self.codes))
        if knows not in self.names:
            self._known[seat] += 1
            self.names[knows] = f"{seat}-{seat}-{self._known[seat]}-{self._known[seat]}"
            self.questions[knows] = (seat, *node.question(seat))
        return self.names[knows].rpartition("-")[2]


def policy_of(agent: Agent, tree: Tree, samples: int = 1) -> dict[str, list[tuple[int, float]]]:
    """Returns what a player does in every situation of a game.

    Args:
        agent: The player.
        tree: From ``tree_of``.
        samples: How often it is asked in each situation; the shares of its answers are its policy.
            Once is right for a player without chance.

    Returns:
        By what a seat knows, the share of each legal action code; ``pyspiel.TabularPolicy`` of it
        is a policy of the game that the tree was made of.
    """
    answers: dict[str, list[tuple[int, float]]] = {}
    for seat in range(tree.game.num_players()):
        asked = {name: rest for name, (who, *rest) in tree.questions.items() if who == seat}
        agent.begin(tree.rules, seat)
        views, masks = (np.stack(parts) for parts in zip(*asked.values(), strict=True))
        counts = np.zeros(masks.shape, np.int64)
        for _ in range(samples):
            counts[np.arange(len(asked)), agent.act_batch(views, masks)] += 1
        for name, mask, row in zip(asked, masks, counts, strict=True):
            answers[name] = [(int(a), float(row[a] / samples)) for a in np.flatnonzero(mask)]
    return answers


def nash_conv(
    agent: Agent, rules: RulesLike, hand_size: int | None = None, samples: int = 1
) -> float:
    """Returns how far a player is from optimal in one deal of a tiny pack.

    That is the sum, over the seats, of the expected points that a seat could gain against the
    player in all other seats if it alone played the best reply to it; 0 in an equilibrium. Every
    course of every deal is gone through, by OpenSpiel.

    Args:
        agent: The player.
        rules: Rules of a tiny pack, the name of a variant, or the path of a YAML file.
        hand_size: Cards for each seat; None: the first of the schedule.
        samples: As in ``policy_of``.

    Raises:
        RulesError: A tree that would be too large, or rules that cannot be played.
    """
    rules = as_rules(rules)
    size = schedule.hand_sizes(rules)[0] if hand_size is None else hand_size
    tree = tree_of(game_of(rules, size))
    policy = {
        tree.names[knows]: [(tree.codes[action], share) for action, share in shares]
        for knows, shares in policy_of(agent, tree, samples).items()
    }
    return float(pyspiel.nash_conv(tree.game, pyspiel.TabularPolicy(policy)))


pyspiel.register_game(_TYPE, OhHellGame)
