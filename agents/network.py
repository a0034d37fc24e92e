"""The network of a learned player: separate actor and critic over a sorted view.

The suits are alike but for the trump, so the network never sees them by name: each view is
rearranged so that trumps come first, then the led suit, then the others from the longest to the
shortest in the own hand; the action probabilities are put back in place. One deal then teaches
about all deals that differ only in the names of the suits.

Needs torch, so nothing imports this module unless a network is really wanted.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import skip_init

from ohhell_env.actions import BID_BASE
from ohhell_env.cards import NUM_CARD_CODES, RANKS_PER_SUIT
from ohhell_env.engine.encode import CARD_SECTIONS
from ohhell_env.observation import Layout
from ohhell_env.rules import Rules

INPUTS = "sorted-suits-2"
"""Name of the arrangement of the inputs, for checkpoints; a new arrangement needs a new name."""

_COUNTS = ("bids", "tricks_won", "needed", "hand_size", "trick_number", "bid_balance")
"""Sections that count tricks."""
_NOT_READ = ("scores", "deal", "deals_left")
"""Sections that the points of a deal do not depend on."""
_NEVER = NUM_CARD_CODES
"""A hand size that no deal has."""
_MASKED = -1e8
"""Logit of an illegal action: its probability is exactly 0, and 0 * log 0 stays finite."""


def input_scale(layout: Layout) -> NDArray[np.float32]:
    """Returns what each value of an observation is multiplied by before the first layer.

    Zeros and ones stay as they are, numbers are brought near them. The standing of the game is
    left out: a player that maximises the points of a deal decides the same whatever the scores,
    so what it learned on single deals holds in whole games.

    Returns:
        float32 (L,).
    """
    largest_hand = layout.num_actions - BID_BASE - 1
    scales = dict.fromkeys(_COUNTS, 1 / math.sqrt(largest_hand)) | dict.fromkeys(_NOT_READ, 0.0)
    scales |= {
        "trick": 1 / layout.seats,
        "place": 1 / NUM_CARD_CODES,
        "open_cards": 1 / layout.seats,
        "rules": 1 / 16,
    }
    values = [np.full(length, scales.get(name, 1.0)) for name, _, length in layout.sections]
    return np.concatenate(values).astype(np.float32)


class SuitOrder(nn.Module):
    """Rearranges views and actions by suit; see the module's docstring.

    Every order of the suits has a row in two tables: where each value of the sorted view comes
    from (L stands for a value that is always 0), and where each action stands among the sorted
    ones.
    """

    sources: Tensor  # int64 (orders, inputs)
    targets: Tensor  # int64 (orders, A)
    number: Tensor  # int64 (suits ** suits,): row of an order in the tables, by its digits
    digits: Tensor  # int64 (suits,)
    weights: Tensor  # float32 (L, suits): what makes a suit come early

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        suits = layout.suits
        orders = list(itertools.permutations(range(suits)))
        digits = suits ** np.arange(suits)
        number = np.zeros(suits**suits, np.int64)
        number[np.array(orders) @ digits] = np.arange(len(orders))
        tables = {
            "sources": np.array([_sources(layout, order) for order in orders]),
            "targets": np.array([_targets(layout, order) for order in orders]),
            "number": number,
            "digits": digits,
            "weights": _weights(layout),
        }
        for name, table in tables.items():
            self.register_buffer(name, torch.from_numpy(table), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """Returns the row of each view's suit order in the tables: int64 (B,)."""
        order = (values @ self.weights).argsort(dim=-1, descending=True, stable=True)
        return self.number[(order * self.digits).sum(dim=-1)]


def _weights(layout: Layout) -> NDArray[np.float32]:
    """Trump before led suit before length in the own hand before ranks; exact in float32."""
    places = layout.slices()
    weights = np.zeros((layout.length, layout.suits), np.float32)
    for suit in range(layout.suits):
        weights[places["trump"].start + suit, suit] = 2.0**20
        weights[places["led_suit"].start + suit, suit] = 2.0**19
    for card in range(min(layout.card_width, layout.suits * RANKS_PER_SUIT)):
        suit, rank = divmod(card, RANKS_PER_SUIT)
        weights[places["hand"].start + card, suit] = 2.0**14 + 2.0**rank
    return weights


def _sorted_width(layout: Layout) -> int:
    """Returns the length of a sorted card section: whole suits, even where a layout cuts one."""
    return max(layout.card_width, layout.suits * RANKS_PER_SUIT)


def _sorted_cards(layout: Layout, order: tuple[int, ...]) -> NDArray[np.int64]:
    """Returns which card comes to each place of a sorted card section; -1: none."""
    cards = np.arange(_sorted_width(layout))
    for place, suit in enumerate(order):
        first = place * RANKS_PER_SUIT
        cards[first : first + RANKS_PER_SUIT] = suit * RANKS_PER_SUIT + np.arange(RANKS_PER_SUIT)
    cards[cards >= layout.card_width] = -1
    return cards


def _sources(layout: Layout, order: tuple[int, ...]) -> NDArray[np.int64]:
    cards, suits = _sorted_cards(layout, order), np.array(order)
    sources: list[NDArray[np.int64]] = []
    for name, start, length in layout.sections:
        values = np.arange(start, start + length)
        if name in CARD_SECTIONS:
            rows = values.reshape(-1, layout.card_width)
            values = np.where(cards >= 0, rows[:, cards], layout.length)
        elif name in ("trump", "led_suit", "voids"):
            whole = length - length % layout.suits  # no-trump stands behind the suits
            values[:whole] = values[:whole].reshape(-1, layout.suits)[:, suits].ravel()
        sources.append(values.ravel())
    return np.concatenate(sources)


def _targets(layout: Layout, order: tuple[int, ...]) -> NDArray[np.int64]:
    cards = _sorted_cards(layout, order)
    targets = np.arange(layout.num_actions)
    targets[cards[cards >= 0]] = np.flatnonzero(cards >= 0)
    return targets


def dealers_card_from(rules: Rules) -> int:
    """Returns the hand size from which on the shown card is the dealer's last.

    That card is in the dealer's hand until it is played; in smaller deals the shown card was turned
    from the stock, and stays out of play.
    """
    if rules.trump.method == "dealer_last_card":
        return 0
    return math.ceil(rules.pack.size / rules.players)  # nothing is left to turn


class Hints(nn.Module):
    """What a player reads off the cards at a glance: inputs worked out from other inputs.

    Of each own card: whether it beats the trick so far, and how many cards that may still come
    are higher in its suit (the dealer's shown last card may, a card turned from the stock may not).
    Of each seat: whether it wants more tricks, has just enough, has too
    many, or needs all that are left.
    """

    ranks: Tensor  # float32 (suits, 13): 1 for each card of the pack, as far as the layout tells

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.suits, self.seats = layout.suits, layout.seats
        width = _sorted_width(layout)
        self.places = layout.slices()
        self.sorted: dict[str, slice] = {}
        start = 0
        for name, _, length in layout.sections:
            rows = length // layout.card_width if name in CARD_SECTIONS else 0
            end = start + (rows * width or length)
            self.sorted[name] = slice(start, end)
            start = end
        self.width = width
        top = layout.card_width - RANKS_PER_SUIT * (layout.suits - 1)
        ranks = (torch.arange(RANKS_PER_SUIT) < top).float().repeat(layout.suits, 1)
        self.register_buffer("ranks", ranks, persistent=False)

    def _cards(self, inputs: Tensor, name: str) -> Tensor:
        """Returns a sorted card section as (B, rows, suits, 13)."""
        cards = inputs[:, self.sorted[name]].unflatten(-1, (-1, self.width))
        return cards[..., : self.suits * RANKS_PER_SUIT].unflatten(-1, (self.suits, -1))

    def forward(self, inputs: Tensor, values: Tensor, dealers_from: int) -> Tensor:
        """Returns the hints, float32 (B, 2 * suits * 13 + 4 * seats).

        Args:
            inputs: The sorted and scaled view, float32 (B, inputs).
            values: The view as it is, float32 (B, L).
            dealers_from: As ``dealers_card_from`` returns it.
        """
        hand = self._cards(inputs, "hand")[:, 0]
        best = self._cards(inputs, "winning_card")[:, 0]
        beats = (hand * self._beats(inputs, best)).flatten(1)
        from_stock = values[:, self.places["hand_size"]] < dealers_from
        higher = (hand * self._higher(inputs, hand, from_stock)).flatten(1) / 4
        return torch.cat([beats, higher, self._wishes(values)], dim=-1)

    def _beats(self, inputs: Tensor, best: Tensor) -> Tensor:
        above = best.cumsum(dim=-1) - best  # 1 above the winning card, in its suit
        has_trump = inputs[:, self.sorted["trump"]][:, : self.suits].sum(dim=-1)
        plain = best[:, 1:].sum(dim=(1, 2)) * has_trump  # a plain card wins so far
        ruffs = F.pad(plain[:, None, None].expand(-1, 1, RANKS_PER_SUIT), (0, 0, 0, self.suits - 1))
        return above + ruffs

    def _higher(self, inputs: Tensor, hand: Tensor, from_stock: Tensor) -> Tensor:
        """Counts the unseen cards above each; a shown card (B, 1) of the stock cannot come."""
        pack = self._cards(inputs, "pack")[:, 0] if "pack" in self.sorted else self.ranks
        gone = hand + self._cards(inputs, "played").sum(dim=1)
        if "turned" in self.sorted:
            gone = gone + self._cards(inputs, "turned")[:, 0] * from_stock[..., None]
        unseen = (pack - gone).clamp(min=0)
        return unseen.flip(-1).cumsum(dim=-1).flip(-1) - unseen

    def _wishes(self, values: Tensor) -> Tensor:
        def part(name: str) -> Tensor:
            return values[:, self.places[name]]

        known, needed = part("has_bid"), part("needed")
        left = part("hand_size") - part("trick_number")
        kinds = (needed > 0, needed == 0, needed < 0, needed == left)
        return torch.cat([kind * known for kind in kinds], dim=-1)


class Network(nn.Module):
    """Actor and critic, two multilayer perceptrons with ReLU that share nothing.

    Args:
        layout: The observations that it reads.
        hidden: Widths of the hidden layers, the same for actor and critic.
        fresh: Whether to set first weights; without, they are to be loaded.
        rules: The rules of the tables that it is trained at. They tell whether the shown card is
            the dealer's last, and may still come; None: it always counts as one of the stock.
    """

    scale: Tensor

    def __init__(
        self,
        layout: Layout,
        hidden: tuple[int, ...],
        fresh: bool = True,
        rules: Rules | None = None,
    ) -> None:
        super().__init__()
        self.rules = rules
        self.hidden = hidden
        self.num_actions = layout.num_actions
        self.num_observed = layout.length
        self.suits = _suit_order(layout)
        self.hints = Hints(layout)
        inputs = num_inputs(layout)
        self.register_buffer("scale", torch.from_numpy(input_scale(layout)), persistent=False)
        self.actor = _perceptron(inputs, hidden, layout.num_actions)
        self.critic = _perceptron(inputs, hidden, 1)
        if fresh:
            _set_orthogonal(self.actor, last_gain=0.01)  # at first, every action is as likely
            _set_orthogonal(self.critic, last_gain=1.0)

    @property
    def told_rules(self) -> bool:
        """Whether it has been told the rules that it is trained for."""
        return self.rules is not None

    def read(self, observations: Tensor, rules: Rules | None = None) -> tuple[Tensor, Tensor]:
        """Returns what the layers read.

        Args:
            observations: int8 (B, L).
            rules: The rules of the table, where they are others than those trained for. A network
                that was never told any does not use them.

        Returns:
            Inputs float32 (B, inputs) and suit orders (B,).
        """
        dealers_from = _NEVER if self.rules is None else dealers_card_from(rules or self.rules)
        values = observations.float()
        order = self.suits(values)
        padded = F.pad(values * self.scale, (0, 1))
        inputs = padded.gather(-1, self.suits.sources[order])
        return torch.cat([inputs, self.hints(inputs, values, dealers_from)], dim=-1), order

    def log_probs(
        self, observations: Tensor, action_masks: Tensor, rules: Rules | None = None
    ) -> Tensor:
        """Returns the logarithm of each action's probability; illegal ones have probability 0.

        Args:
            observations: int8 (B, L).
            action_masks: int8, bool or float (B, A), with at least one legal action in each row.
            rules: As in ``read``.

        Returns:
            float32 (B, A).
        """
        return self.act(*self.read(observations, rules), action_masks)

    def act(self, inputs: Tensor, order: Tensor, action_masks: Tensor) -> Tensor:
        """As ``log_probs``, from what ``read`` returned."""
        logits = self.actor(inputs).gather(-1, self.suits.targets[order])
        return F.log_softmax(logits.masked_fill(action_masks == 0, _MASKED), dim=-1)

    def judge(self, inputs: Tensor) -> Tensor:
        """Returns the value for the seat (B,), from the inputs that ``read`` returned."""
        return self.critic(inputs).squeeze(-1)


@functools.lru_cache(maxsize=16)
def _suit_order(layout: Layout) -> SuitOrder:
    return SuitOrder(layout)


def num_inputs(layout: Layout) -> int:
    """Returns how many inputs a network has for the observations of a layout."""
    rows = sum(
        name in CARD_SECTIONS and length // layout.card_width for name, _, length in layout.sections
    )
    hints = 2 * layout.suits * RANKS_PER_SUIT + 4 * layout.seats
    return layout.length + rows * (_sorted_width(layout) - layout.card_width) + hints


def tensor_sizes(layout: Layout, hidden: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Returns name and size of every weight tensor of a network, without building it."""
    sizes: dict[str, tuple[int, ...]] = {}
    for part, outputs in (("actor", layout.num_actions), ("critic", 1)):
        inputs = num_inputs(layout)
        for layer, width in enumerate((*hidden, outputs)):
            sizes[f"{part}.{2 * layer}.weight"] = (width, inputs)
            sizes[f"{part}.{2 * layer}.bias"] = (width,)
            inputs = width
    return sizes


def _perceptron(inputs: int, hidden: tuple[int, ...], outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [skip_init(nn.Linear, inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, skip_init(nn.Linear, inputs, outputs))


def _set_orthogonal(perceptron: nn.Sequential, last_gain: float) -> None:
    """Sets first weights: orthogonal, as is usual for PPO."""
    linear = [layer for layer in perceptron if isinstance(layer, nn.Linear)]
    for layer in linear:
        gain = last_gain if layer is linear[-1] else math.sqrt(2)
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)


def choose(log_probs: Tensor, words: NDArray[np.uint64] | None) -> NDArray[np.int64]:
    """Returns an action for each row; one of probability 0 is never chosen.

    Args:
        log_probs: float32 (B, A), as ``Network.log_probs`` gives them.
        words: uint64 (B,), the chance of each decision, to draw with the given probabilities;
            None: the likeliest action, of several the first.

    Returns:
        int64 (B,).
    """
    if words is None:
        return log_probs.argmax(dim=-1).numpy()
    up_to = log_probs.double().exp().cumsum(dim=-1)
    chance = torch.from_numpy((words >> np.uint64(24)) * 2.0**-40)  # in [0, 1), exact
    return (up_to <= chance.unsqueeze(-1) * up_to[:, -1:]).sum(dim=-1).numpy()
