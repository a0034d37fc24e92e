"""The dtypes of the engine: a table's record and the compiled rules.

A table is one row of ``GAME``. The row holds everything, including the random stream, so a copied
row is a snapshot. The rules are one row of ``RULES``, created by ``compile_rules`` and read-only.
Seats are numbers from 0 to players - 1 clockwise, cards are ``suit * 13 + rank``, and sets of cards
are 64-bit masks. The rules of play are in ``kernel.py``.
"""

from __future__ import annotations

import functools
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ohhell_env import actions
from ohhell_env.cards import NUM_CARD_CODES, RANKS_PER_SUIT, rank_of
from ohhell_env.engine.caching import COMPILED
from ohhell_env.engine.shown_rules import (
    BLOCK,
    POINT_ROWS,
    RULE_FEATURES_WIDTH,
    deals_ahead,
    point_rows,
    rule_features,
)
from ohhell_env.errors import RulesError, shown
from ohhell_env.rules import Rules, schedule
from ohhell_env.rules.schedule import MAX_HAND_SIZE, MAX_SCHEDULE

MAX_SEATS = 8
NO_TRUMP = 4
"""Trump "suit" of a deal without trumps."""
NO_BID = -1
NO_CARD = -1
NOBODY = -1
BID_BASE = actions.BID_BASE
"""The action of a bid b is ``BID_BASE + b``; smaller actions are cards."""
NUM_BIDS = MAX_HAND_SIZE + 1


class Phase(IntEnum):
    """The phase of a table."""

    BID = 0
    PLAY = 1
    SCORED = 2
    """A deal is over and scored; the next one is not dealt yet."""
    OVER = 3
    """The episode (a game, or one deal) is over."""


class Event(IntEnum):
    """The effect of an action; ``kernel.step`` returns ``16 * event + next seat``."""

    NEXT = 0
    TRICK = 1
    DEAL = 2
    OVER = 3


ILLEGAL = -1
"""Result of ``kernel.step`` for an illegal action; the record is unchanged."""

TRUMP_LEADS = ("anytime", "after_first_trick", "after_broken", "when_forced")
VOID_DUTIES = ("any", "must_trump", "must_overtrump_else_trump", "must_overtrump_else_free")
TIE_BREAKS = ("shared", "extra_deals", "most_exact_bids", "largest_bid_total")
SETTLEMENTS = ("none", "differences", "pool")
REWARDS = ("points", "relative", "win", "settlement")
"""The reward settings; see ``ohhell_env.envs``."""
FIRST_DEALERS = {"random": -1, "first_jack": -2, "high_card": -3}
EXTRA_PLAN = MAX_SCHEDULE
"""Index of the plan of an extra deal, after the schedule."""
CHOSEN_PLAN = MAX_SCHEDULE + 1
"""Index of the plan of a chosen hand size that is not in the schedule."""
_PLANS = MAX_SCHEDULE + 2

_U8, _I1, _I2, _I4, _I8, _F8 = np.uint64, np.int8, np.int16, np.int32, np.int64, np.float64

GAME = np.dtype(
    [
        # fields that every decision uses are next to each other
        ("legal", _U8),  # legal bids (bit b) in BID, legal cards in PLAY, else empty
        ("bids", _I1, MAX_SEATS),  # NO_BID before the bid
        ("tricks_won", _I1, MAX_SEATS),
        ("trick", _I1, MAX_SEATS),  # cards of the current trick, in order from the leader
        ("voids", _I1, MAX_SEATS),  # bit s: the seat has shown a void in suit s
        ("phase", _I1),
        ("seat", _I1),  # seat to act; NOBODY when none
        ("dealer", _I1),
        ("hand_size", _I1),  # cards dealt to each = tricks of the deal
        ("trump_source", _I1),  # schedule.TrumpSource of this deal
        ("blind", _I1),  # 1 in a blind one-card deal
        ("turned", _I1),  # turned card, or the dealer's shown card; NO_CARD if none
        ("trump", _I1),  # suit, or NO_TRUMP
        ("broken", _I1),  # 1 once a trump has been played in this deal
        ("num_bids", _I1),  # bids made in this deal
        ("bid_sum", _I2),  # their sum
        ("plays", _I1),  # cards played in this deal
        ("trick_number", _I1),  # tricks finished in this deal
        ("trick_size", _I1),  # cards in the current trick
        ("leader", _I1),  # seat that leads or led the current trick
        ("led_suit", _I1),
        ("best_card", _I1),  # card that is winning the current trick
        ("best_seat", _I1),
        ("fixed", _I1),  # 1 if a caller chose the cards of this deal
        ("deal", _I4),  # deals finished before this one
        ("plan", _I4),  # index of this deal in the schedule
        ("extra", _I4),  # extra deals begun after a tie
        ("scores", _I4, MAX_SEATS),  # of the game, after the last finished deal
        ("hands", _U8, MAX_SEATS),  # cards held
        ("played", _U8, MAX_SEATS),  # cards played in this deal, by seat
        ("place", _I1, 64),  # card -> position in the order of play, 1 = first; 0 = not played
        ("points", _I4, MAX_SEATS),  # of the last finished deal
        ("exact_bids", _I4, MAX_SEATS),  # deals in which the bid was made
        ("bid_totals", _I4, MAX_SEATS),  # sum of a seat's bids over the game
        ("stream", _U8),  # random stream: state
        ("stream_step", _U8),  # random stream: its odd step
    ],
    align=True,
)

RULES = np.dtype(
    [
        ("players", _I8),
        ("num_cards", _I8),  # size of the pack
        ("pack", _U8),  # the pack as a mask
        ("jacks", _U8),  # cards that decide the first dealer under first_jack
        ("num_suits", _I8),
        ("num_plans", _I8),  # length of the schedule
        ("plan_size", _I1, _PLANS),  # hand size of each deal
        ("plan_trump", _I1, _PLANS),  # TrumpSource of each deal
        ("plan_blind", _I1, _PLANS),
        ("blind_once", _I8),  # 1: blind deals only in the first pass through the schedule
        ("one_deal", _I8),  # 1: an episode is one deal
        ("num_choices", _I8),  # number of deals that such an episode draws from
        ("choices", _I2, _PLANS),  # their indices in the schedule
        ("max_deals", _I8),  # most deals of a game, without extra deals
        ("target", _I8),  # score that ends the game; 0: none
        ("rotation", _I1, 16),  # trump suits in rotation
        ("num_rotation", _I8),
        ("fixed_suit", _I8),
        ("trump_late", _I8),  # 1: trump is revealed after the bidding
        ("hook_from", _I8),  # smallest hand size with the hook; huge: never
        ("simultaneous", _I8),
        ("announce", _I8),
        ("first_dealer", _I8),  # seat, or a value of FIRST_DEALERS
        ("highest_bidder_leads", _I8),
        ("trump_lead", _I8),  # index in TRUMP_LEADS
        ("head", _I8),
        ("void", _I8),  # index in VOID_DUTIES
        ("tie_break", _I8),  # index in TIE_BREAKS
        ("settlement", _I8),  # index in SETTLEMENTS
        ("rate", _F8),
        ("ante", _F8),
        ("hard_score_bonus", _I8),
        ("points", _I4, (NUM_BIDS, NUM_BIDS, NUM_BIDS)),  # by hand size, bid, tricks won
        # the rules in the universal layout, see shown_rules.py
        ("features", _I1, RULE_FEATURES_WIDTH),
        ("deals_ahead", _I1, _PLANS * BLOCK),  # by index in the schedule
        ("point_rows", _I1, NUM_BIDS * POINT_ROWS * BLOCK),  # by hand size and bid
    ],
    align=True,
)

Rows = NDArray[np.void]
"""A structured array of ``GAME`` or ``RULES`` rows."""


def engine_rows(rows: Rows) -> Rows:
    """Returns rows in the form that the engine needs.

    Compiled code uses plain structured arrays; interpreted code needs rows with attributes.
    """
    return rows if COMPILED else rows.view(np.recarray)


def new_games(count: int) -> Rows:
    """Returns records for ``count`` tables, all zero."""
    return engine_rows(np.zeros(count, GAME))


@functools.lru_cache(maxsize=256)
def compile_rules(rules: Rules, episode: str = "game", hand_size: int | None = None) -> Rows:
    """Returns the rules as the one-row array that the engine reads; it is read-only.

    Args:
        rules: The rules.
        episode: "game" or "deal".
        hand_size: With episode "deal", the only hand size; None: those of the schedule.

    Raises:
        RulesError: Unknown episode, or a hand size that cannot be dealt.
    """
    if episode not in ("game", "deal"):
        raise RulesError(f"episode must be 'game' or 'deal', got {shown(episode)}")
    if hand_size is not None and episode != "deal":
        raise RulesError(
            f"hand_size={shown(hand_size)} needs episode='deal'; for the first deal of a game, use "
            "reset(options={'hand_size': ...})"
        )
    compiled = engine_rows(np.zeros(1, RULES))
    record = compiled[0]
    _write_pack(record, rules)
    _write_schedule(record, rules)
    _write_episode(record, rules, episode, hand_size)
    _write_axes(record, rules)
    _write_points(record, rules, hand_size)
    record["features"] = rule_features(rules)
    ahead = deals_ahead(rules).ravel()
    record["deals_ahead"][: len(ahead)] = ahead
    record["point_rows"] = point_rows(record["points"]).ravel()
    compiled.flags.writeable = False
    return compiled


def _write_pack(record: np.void, rules: Rules) -> None:
    cards = rules.pack.cards
    record["players"] = rules.players
    record["num_cards"] = len(cards)
    record["pack"] = sum(1 << card for card in cards)
    record["jacks"] = sum(1 << card for card in cards if rules.pack.ranks[rank_of(card)] == "J")
    record["num_suits"] = len(rules.pack.suits)


def _write_plan(record: np.void, place: int, plan: schedule.DealPlan) -> None:
    record["plan_size"][place] = plan.hand_size
    record["plan_trump"][place] = plan.trump
    record["plan_blind"][place] = plan.blind


def _write_schedule(record: np.void, rules: Rules) -> None:
    plans = schedule.deal_plans(rules)
    record["num_plans"] = len(plans)
    for place, plan in enumerate(plans):
        _write_plan(record, place, plan)
    largest = max(plan.hand_size for plan in plans)
    _write_plan(record, EXTRA_PLAN, schedule.plan_of_size(rules, largest, first=False))
    record["blind_once"] = rules.blind_one_card == "first"
    record["max_deals"] = schedule.num_deals(rules)


def _write_episode(record: np.void, rules: Rules, episode: str, hand_size: int | None) -> None:
    sizes = schedule.hand_sizes(rules)
    choices = [place for place, size in enumerate(sizes) if hand_size in (None, size)]
    if not choices:
        assert hand_size is not None, "a schedule is never empty"
        _write_plan(record, CHOSEN_PLAN, schedule.plan_of_size(rules, hand_size, first=True))
        choices = [CHOSEN_PLAN]
    record["one_deal"] = episode == "deal"
    record["num_choices"] = len(choices)
    record["choices"][: len(choices)] = choices


def _write_axes(record: np.void, rules: Rules) -> None:
    suits = {letter: suit for suit, letter in enumerate(rules.pack.suits)} | {"NT": NO_TRUMP}
    trump, bidding, play = rules.trump, rules.bidding, rules.play
    rotation = [suits[letter] for letter in trump.rotation]
    record["rotation"][: len(rotation)] = rotation
    record["num_rotation"] = len(rotation)
    record["fixed_suit"] = NO_TRUMP if trump.suit is None else suits[trump.suit]
    record["trump_late"] = trump.revealed == "after_bidding"
    record["hook_from"] = 1 << 20 if bidding.hook == "none" else bidding.hook_min_hand
    record["simultaneous"] = bidding.order == "simultaneous"
    record["announce"] = bidding.announce
    dealer = rules.first_dealer
    record["first_dealer"] = FIRST_DEALERS[dealer] if isinstance(dealer, str) else dealer
    record["highest_bidder_leads"] = play.first_lead == "highest_bidder"
    record["trump_lead"] = TRUMP_LEADS.index(play.trump_lead)
    record["head"] = play.head_led_suit
    record["void"] = VOID_DUTIES.index(play.void)
    record["target"] = rules.end.target or 0
    record["tie_break"] = TIE_BREAKS.index(rules.tie_break)
    record["settlement"] = SETTLEMENTS.index(rules.settlement.kind)
    record["rate"], record["ante"] = rules.settlement.rate, rules.settlement.ante
    record["hard_score_bonus"] = rules.hard_score_bonus


def _write_points(record: np.void, rules: Rules, hand_size: int | None) -> None:
    scoring = rules.scoring
    most = min(schedule.largest_hand(rules, False), MAX_HAND_SIZE)
    if scoring.table is not None:
        most = min(most, len(scoring.table))
        if hand_size is not None and hand_size > most:
            raise RulesError(f"hand_size={hand_size}: scoring.table ends at hand size {most}")
    for size in range(1, most + 1):
        counts = range(size + 1)
        block = [[schedule.points(scoring, bid, won, size) for won in counts] for bid in counts]
        record["points"][size, : size + 1, : size + 1] = block


assert max(RANKS_PER_SUIT * 4, NUM_CARD_CODES) <= 64, "a set of cards fits into one word"
assert sum(GAME[name].itemsize for name in GAME.names or ()) == GAME.itemsize, (
    "no gaps between the fields: the bytes of a row are its fingerprint"
)
