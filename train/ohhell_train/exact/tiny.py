"""Tiny packs: how far a player is from optimal play (NashConv), by OpenSpiel.

The game is that of ``ohhell_env.adapters.open_spiel``. Here it is written out as a plain tree,
which OpenSpiel traverses many times faster, and a player is turned into a policy of that tree.

>>> tiny = Rules(players=2).replace(pack={"suits": ["C"], "ranks": ["2", "3", "4"]})
>>> tree = tree_of(game_of(tiny, hand_size=1))
>>> tree.game.num_players()
2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ohhell_agents.base import Agent
from ohhell_env.adapters.open_spiel import OhHellGame, game_of, pyspiel
from ohhell_env.adapters.open_spiel_moment import Moment
from ohhell_env.asking import Asker
from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules, RulesLike

MOST_NODES = 1_000_000
"""The most nodes of all deals together that ``tree_of`` writes."""


@dataclass(frozen=True)
class Tree:
    """A deal written out as a plain tree, which OpenSpiel traverses alone and far faster."""

    game: pyspiel.Game
    """OpenSpiel's "efg_game"."""
    rules: Rules
    names: dict[str, str]
    """Information states: our game's name -> the tree's name."""
    codes: dict[int, int]
    """Our action code -> the tree's action."""
    questions: dict[str, tuple[int, NDArray[np.int8], NDArray[np.int8]]]
    """Information states by our game's name -> seat, view, action mask."""


def tree_of(game: OhHellGame) -> Tree:
    """Returns one of our games as a plain tree.

    Raises:
        RulesError: The tree would be too large.
    """
    writer = _Writer(game.num_players())
    nodes = [game.root]
    deals = game.setting.deals()
    while nodes:
        if max(deals, len(writer.lines)) > MOST_NODES:
            raise RulesError(
                f"the {deals:,.0f} deals have more than {MOST_NODES:,} nodes; choose a smaller "
                "pack (pack.suits, pack.ranks), fewer players or a smaller hand size"
            )
        node = nodes.pop()
        nodes += reversed(writer.add(node))
    tree = pyspiel.load_efg_game("\n".join(writer.lines) + "\n")
    return Tree(tree, game.setting.rules, writer.names, writer.codes, writer.questions)


class _Writer:
    """Writes nodes in Gambit's format EFG 2, from the root down and from left to right.

    OpenSpiel numbers the actions of such a game in the order in which their labels occur, and
    expects the children of a node in that order. It names an information state by the seat (twice),
    its number and its label.
    """

    def __init__(self, players: int) -> None:
        seats = " ".join(f'"{seat}"' for seat in range(players))
        self.lines = [f'EFG 2 R "deal" {{ {seats} }}']
        self.names: dict[str, str] = {}
        self.codes: dict[int, int] = {}
        self.questions: dict[str, tuple[int, NDArray[np.int8], NDArray[np.int8]]] = {}
        self._known = [0] * players

    def add(self, node: Moment) -> list[Moment]:
        """Writes a node and returns its children, to be written next in this order."""
        number = len(self.lines)
        if node.over:
            points = " ".join(str(points) for points in node.returns)
            self.lines.append(f't "" {number} "" {{ {points} }}')
            return []
        if node.record is None:
            actions, outcomes = node.legal, node.outcomes()
            whole = sum(weight for _, weight in outcomes)
            chances = " ".join(f'"{choice}" {weight}/{whole}' for choice, weight in outcomes)
            self.lines.append(f'c "" {number} "" {{ {chances} }} 0')
        else:
            label = self._label(node)
            actions = sorted(node.legal, key=self.codes.__getitem__)
            named = " ".join(f'"{action}"' for action in actions)
            self.lines.append(f'p "" {node.seat + 1} {label} "{label}" {{ {named} }} 0')
        return [node.after(action) for action in actions]

    def _label(self, node: Moment) -> str:
        """Returns the number of the seat's information state, and records it."""
        seat, knows = node.seat, node.knows(node.seat)
        for action in node.legal:
            self.codes.setdefault(action, len(self.codes))
        if knows not in self.names:
            self._known[seat] += 1
            self.names[knows] = f"{seat}-{seat}-{self._known[seat]}-{self._known[seat]}"
            self.questions[knows] = (seat, *node.question(seat))
        return self.names[knows].rpartition("-")[2]


def policy_of(agent: Agent, tree: Tree, samples: int = 1) -> dict[str, list[tuple[int, float]]]:
    """Returns a player's choices in every situation of a game.

    Args:
        agent: The player.
        tree: From ``tree_of``.
        samples: How often to ask the player in each situation; the shares of its answers are its
            policy. Once is enough for a player without randomness.

    Returns:
        The share of each legal action code, by information state; ``pyspiel.TabularPolicy`` of it
        is a policy of the game behind the tree.
    """
    answers: dict[str, list[tuple[int, float]]] = {}
    asker = Asker(agent)
    for seat in range(tree.game.num_players()):
        asked = {name: rest for name, (who, *rest) in tree.questions.items() if who == seat}
        agent.begin(tree.rules, seat)
        views, masks = (np.stack(parts) for parts in zip(*asked.values(), strict=True))
        counts = np.zeros(masks.shape, np.int64)
        for _ in range(samples):
            counts[np.arange(len(asked)), asker.legal_answers(views, masks)] += 1
        for name, mask, row in zip(asked, masks, counts, strict=True):
            answers[name] = [(int(a), float(row[a] / samples)) for a in np.flatnonzero(mask)]
    return answers


def nash_conv(
    agent: Agent, rules: RulesLike, hand_size: int | None = None, samples: int = 1
) -> float:
    """Returns how far a player is from optimal play in one deal with a tiny pack.

    This is NashConv: the sum over the seats of the expected points that the seat could gain by
    switching to the best reply to the player in all other seats. It is 0 in an equilibrium.
    OpenSpiel goes through every course of every deal.

    Args:
        agent: The player.
        rules: Rules of a tiny pack, the name of a variant, or the path of a YAML file.
        hand_size: The hand size; None uses the first of the schedule.
        samples: See ``policy_of``.

    Raises:
        RulesError: The tree would be too large, or the rules cannot be played.
    """
    tree = tree_of(game_of(rules, hand_size))
    policy = {
        tree.names[knows]: [(tree.codes[action], share) for action, share in shares]
        for knows, shares in policy_of(agent, tree, samples).items()
    }
    return float(pyspiel.nash_conv(tree.game, pyspiel.TabularPolicy(policy)))
