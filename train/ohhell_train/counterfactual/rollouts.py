"""Counterfactual rollouts: every choice of a decision, played out on the true deal.

Given everything a seat has seen, the cards hidden from it are a fair draw. So the result of an
action on the true deal is an unbiased sample of its value. Worlds drawn without regard to the bids
and plays would be biased. Compiled.
"""

# pyright: basic
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ohhell_agents.value.advantage_nets import MOST_CHOICES, Features, price
from ohhell_agents.value.bids import weigh_bids
from ohhell_agents.value.cards import weigh_cards
from ohhell_agents.value.players import HEURISTIC, engine_action
from ohhell_env.engine import kernel
from ohhell_env.engine.bits import ONE, ZERO, has
from ohhell_env.engine.caching import entry, inline, inner
from ohhell_env.engine.kernel import trump_known
from ohhell_env.engine.layout import BID_BASE, NUM_BIDS, Phase
from ohhell_env.engine.rng import next_bits
from ohhell_train.trick_model.samples import explored, happens

_BID, _PLAY = int(Phase.BID), int(Phase.PLAY)
_CARDS, _BIDS = 0, 2
"""Indices of the number of decisions among the counts; the number of choices comes next."""


class RolloutSettings(NamedTuple):
    """The decisions whose choices are played out, and the noise of the learner's own play."""

    card: float
    """Probability of a random card."""
    bid_beside: float
    """Probability of a bid one higher or lower than the player's own."""
    bid: float
    """Probability of a random bid."""
    bids: float
    """Share of the bids whose choices are played out."""
    cards: float
    """Share of the cards whose choices are played out."""
    relative: float
    """Share of the others' mean points that is subtracted from the seat's own."""


@inner
def _move(row, rules, action):
    kernel.apply(row, rules, action)


@inner
def played_out(row, rules, models, players, chooser, action, relative):
    """Returns the points that a seat gets from an action if the deal is then played out.

    Args:
        row: A table in the bidding or in play; it is changed.
        rules: Its rules record.
        models: ``MODELS`` rows.
        players: int16 (seats,), the player that continues in each seat: a number of
            ``value/players.py``.
        chooser: Record with a random stream, for random players.
        action: The first action.
        relative: Share of the others' mean points that is subtracted.
    """
    seat = np.int64(row.seat)
    _move(row, rules, action)
    while row.phase <= _PLAY:
        random_bits = next_bits(chooser)
        _move(row, rules, engine_action(row, rules, models, players[row.seat], random_bits))
    others = 0.0
    for other in range(rules.players):
        if other != seat:
            others += row.points[other]
    return row.points[seat] - relative * others / (rules.players - 1)


@entry
def label_all(tables, rules, models, chooser, settings, cards, bids):
    """Plays one deal at each table; at some of the learner's decisions every choice is played out.

    The learner is player ``HEURISTIC``, whose models come first. Only the learner plays with noise.
    Stops early if another deal's decisions may not fit.

    Args:
        tables: ``GAME`` rows (N,), each dealt, of single deals; one ``GAME`` row of scratch; int16
            (N, seats), the player of each seat.
        rules: ``RULES`` row.
        models: ``MODELS`` rows.
        chooser: ``GAME`` rows; the stream of row 0 makes all random choices.
        settings: ``RolloutSettings``.
        cards: Rows for D decisions and R choices about cards, by name: situations float32 (D,
            CARD_SITUATION), bits uint64 (D, BIT_WORDS), choices float32 (R, CARD_CHOICE), numbers
            int64 (R,), values float32 (R,) in prices, sizes int8 (D,), the number of choices.
        bids: The same for bids.

    Returns:
        Numbers of decisions and of choices written: cards, then bids.
    """
    games, scratch, players = tables
    rng, record = chooser[0], rules[0]
    at = np.zeros(4, np.int64)
    values, codes = np.empty(64), np.empty(64, np.int64)
    for index in range(len(games)):
        row, seated = games[index], players[index]
        if _is_full(cards, at, _CARDS) or _is_full(bids, at, _BIDS):
            break
        while row.phase <= _PLAY:
            player = seated[row.seat]
            if player == HEURISTIC and row.legal & (row.legal - ONE) != ZERO:
                bidding = row.phase == _BID
                if bidding and trump_known(row, record) and not row.blind:
                    if happens(rng, settings.bids):
                        found = _weigh_bids(row, record, models[0], bids, at, values, codes)
                        others = scratch, models, seated, rng
                        _store_values(
                            row, record, others, settings.relative, bids, at, _BIDS, found, codes
                        )
                elif not bidding and happens(rng, settings.cards):
                    found = _weigh_cards(row, record, models[0], cards, at, values, codes)
                    others = scratch, models, seated, rng
                    _store_values(
                        row, record, others, settings.relative, cards, at, _CARDS, found, codes
                    )
            if player == HEURISTIC:
                action = explored(row, record, models[0], rng, settings, np.int64(0))
            else:
                action = engine_action(row, record, models, player, next_bits(rng))
            _move(row, record, action)
    return at


@inline
def _is_full(rows, at, first):
    room = 64  # more than the decisions of all seats in a deal
    many_choices = at[first + 1] + room * MOST_CHOICES > len(rows.choices)
    return at[first] + room > len(rows.situations) or many_choices


@inline
def _next_features(rows, at, first):
    """Returns the position for the features of the next decision."""
    decision, choice = at[first], at[first + 1]
    end = choice + MOST_CHOICES
    return Features(
        rows.situations[decision],
        rows.bits[decision],
        rows.choices[choice:end],
        rows.numbers[choice:end],
    )


@inline
def _weigh_cards(row, rules, models, rows, at, values, codes):
    weigh_cards(row, rules, models, values, _next_features(rows, at, _CARDS), True)
    found = 0
    for card in range(64):
        if not np.isnan(values[card]):
            codes[found] = card
            found += 1
    return found


@inline
def _weigh_bids(row, rules, models, rows, at, values, codes):
    """Records all legal bids; their rows were computed for all bids, so they are moved together."""
    features = _next_features(rows, at, _BIDS)
    weigh_bids(row, rules, models, values[:NUM_BIDS], features, True)
    choices, numbers, found = features.choices, features.numbers, 0
    for bid in range(row.hand_size + 1):
        if has(row.legal, bid):
            choices[found] = choices[bid]
            numbers[found] = bid
            codes[found] = BID_BASE + bid
            found += 1
    return found


@inline
def _store_values(row, rules, others, relative, rows, at, first, found, codes):
    """Records the result of each choice, if there are two or more."""
    if found < 2:
        return
    scratch, models, seated, rng = others
    unit = price(rules, np.int64(row.hand_size))
    for place in range(found):
        scratch[0] = row
        points = played_out(scratch[0], rules, models, seated, rng, codes[place], relative)
        rows.values[at[first + 1] + place] = points / unit
    rows.sizes[at[first]] = found
    at[first] += 1
    at[first + 1] += found
