"""The rules of play on one table, compiled: bidding, following suit, winning tricks.

In words: from eldest (the dealer's left), each seat bids 0 to the hand size. Under the *hook*, the
last bidder may not make the bids total the hand size: with hand size 5 and bids 2 0 1, the dealer
may not bid 2. Eldest (or the highest bidder) leads any card. A seat must follow suit if it can;
otherwise it plays any card that the rules for voids allow. The highest trump wins the trick, or
without a trump the highest card of the led suit; the winner leads next. Variants are data in the
rules record; ``axes.py`` explains each setting.

Callers use ``step``, which checks an action before anything changes. ``row.legal`` always holds the
legal bids or cards of the seat to act.
"""

from __future__ import annotations

import numpy as np

from ohhell_env.engine.bits import ONE, ZERO, above, bit, has, suit_mask
from ohhell_env.engine.caching import inline
from ohhell_env.engine.layout import (
    BID_BASE,
    ILLEGAL,
    NO_BID,
    NO_CARD,
    NO_TRUMP,
    NOBODY,
    NUM_BIDS,
    TRUMP_LEADS,
    VOID_DUTIES,
    Event,
    Phase,
)
from ohhell_env.engine.scoring import score_deal
from ohhell_env.rules.schedule import TrumpSource

_BID, _PLAY, _SCORED, _OVER = (int(phase) for phase in Phase)
_NEXT = 16 * int(Event.NEXT)
_TRICK = 16 * int(Event.TRICK)
_DEAL = 16 * int(Event.DEAL)
_END = 16 * int(Event.OVER)
_NO_SEAT = 15
_AFTER_FIRST_TRICK = TRUMP_LEADS.index("after_first_trick")
_AFTER_BROKEN = TRUMP_LEADS.index("after_broken")
_MUST_TRUMP = VOID_DUTIES.index("must_trump")
_OVERTRUMP_ELSE_TRUMP = VOID_DUTIES.index("must_overtrump_else_trump")
_TURNED_CARD = int(TrumpSource.TURNED_CARD)
_DEALER_CARD = int(TrumpSource.DEALER_CARD)
_RANDOM_SUIT = int(TrumpSource.RANDOM_SUIT)


@inline
def following(seat, players):
    """Returns the seat to the left of a seat."""
    return seat + 1 if seat + 1 < players else 0


@inline
def start_bidding(row, rules):
    """Opens the bidding of a deal whose hands, trump and dealer are set."""
    row.bids[:] = NO_BID
    row.tricks_won[:] = 0
    row.trick[:] = 0
    row.voids[:] = 0
    row.played[:] = ZERO
    row.place[:] = 0
    row.num_bids = 0
    row.bid_sum = 0
    row.plays = 0
    row.broken = 0
    row.trick_number = 0
    row.phase = _BID
    row.seat = following(np.int64(row.dealer), rules.players)
    _open_trick(row, row.seat)
    row.legal = legal_bids(row, rules)


@inline
def _open_trick(row, leader):
    row.leader = leader
    row.trick_size = 0
    row.led_suit = -1
    row.best_card = NO_CARD
    row.best_seat = NOBODY


@inline
def legal_bids(row, rules):
    """Returns the legal bids of the seat to act, as a mask (bit b: bid b)."""
    hand_size = np.int64(row.hand_size)
    bids = bit(hand_size + 1) - ONE
    if row.num_bids + 1 == rules.players and hand_size >= rules.hook_from:
        barred = hand_size - row.bid_sum
        if barred >= 0:
            bids = bids & ~bit(barred)
    return bids


@inline
def legal_cards(row, rules):
    """Returns the legal cards of the seat to act, as a mask."""
    hand = row.hands[row.seat]
    trump = np.int64(row.trump)
    if row.trick_size == 0:
        return _legal_leads(row, rules, hand, trump)
    led = np.int64(row.led_suit)
    in_suit = hand & suit_mask(led)
    if in_suit != ZERO:
        if rules.head and row.best_card // 13 == led:
            better = in_suit & above(row.best_card)
            if better != ZERO:
                return better
        return in_suit
    if rules.void == 0 or trump == NO_TRUMP or trump == led:
        return hand
    return _void_duty(row, rules, hand, trump)


@inline
def _legal_leads(row, rules, hand, trump):
    if rules.trump_lead == 0 or trump == NO_TRUMP:
        return hand
    if rules.trump_lead == _AFTER_FIRST_TRICK and row.trick_number > 0:
        return hand
    if rules.trump_lead == _AFTER_BROKEN and row.broken:
        return hand
    others = hand & ~suit_mask(trump)
    return others if others != ZERO else hand


@inline
def _void_duty(row, rules, hand, trump):
    """Returns the legal cards of a seat that is void in the led suit and may have to trump."""
    trumps = hand & suit_mask(trump)
    if trumps == ZERO:
        return hand
    if rules.void == _MUST_TRUMP:
        return trumps
    if row.best_card // 13 != trump:  # nobody has ruffed yet: any trump beats the trick
        return trumps
    higher = trumps & above(row.best_card)
    if higher != ZERO:
        return higher
    return trumps if rules.void == _OVERTRUMP_ELSE_TRUMP else hand


@inline
def _bid(row, rules, bid):
    seat = np.int64(row.seat)
    row.bids[seat] = bid
    row.bid_sum += bid
    row.num_bids += 1
    if row.num_bids < rules.players:
        row.seat = following(seat, rules.players)
        row.legal = legal_bids(row, rules)
        return _NEXT + np.int64(row.seat)
    return _start_play(row, rules)


@inline
def _start_play(row, rules):
    row.phase = _PLAY
    leader = following(np.int64(row.dealer), rules.players)
    if rules.highest_bidder_leads:
        leader = _highest_bidder(row, rules, leader)
    _open_trick(row, leader)
    row.seat = leader
    if row.blind:
        return _play_blind(row, rules)
    row.legal = legal_cards(row, rules)
    return _NEXT + leader


@inline
def _highest_bidder(row, rules, eldest):
    best = seat = np.int64(eldest)
    for _ in range(rules.players):
        if row.bids[seat] > row.bids[best]:
            best = seat
        seat = following(seat, rules.players)
    return best


@inline
def _play_blind(row, rules):
    """Plays the only trick of a blind one-card deal, in which seats do not know their card."""
    code = np.int64(0)
    for _ in range(rules.players):
        seat = np.int64(row.seat)
        card = np.int64(0)
        while not has(row.hands[seat], card):
            card += 1
        code = _play(row, rules, card)
    return code


@inline
def _play(row, rules, card):
    seat = np.int64(row.seat)
    suit = card // 13
    row.plays += 1
    row.place[card] = row.plays
    row.hands[seat] = row.hands[seat] & ~bit(card)
    row.played[seat] = row.played[seat] | bit(card)
    row.trick[row.trick_size] = card
    _take_lead(row, rules, seat, card, suit)
    if suit == row.trump:
        row.broken = 1
    row.trick_size += 1
    if row.trick_size == rules.players:
        return _finish_trick(row, rules)
    row.seat = following(seat, rules.players)
    row.legal = legal_cards(row, rules)
    return _NEXT + np.int64(row.seat)


@inline
def _take_lead(row, rules, seat, card, suit):
    """Updates the led suit, shown voids, and the winning card of the trick."""
    best = np.int64(row.best_card)
    if row.trick_size == 0:
        row.led_suit = suit
        row.best_card = card
        row.best_seat = seat
        return
    if suit != row.led_suit:
        _show_void(row, rules, seat, suit)
    if card > best if suit == best // 13 else suit == row.trump:
        row.best_card = card
        row.best_seat = seat


@inline
def _show_void(row, rules, seat, suit):
    voids = np.int64(row.voids[seat]) | (1 << np.int64(row.led_suit))
    owes_trump = rules.void == _MUST_TRUMP or rules.void == _OVERTRUMP_ELSE_TRUMP
    if owes_trump and row.trump != NO_TRUMP and suit != row.trump:
        voids |= 1 << np.int64(row.trump)
    row.voids[seat] = voids


@inline
def _finish_trick(row, rules):
    winner = np.int64(row.best_seat)
    row.tricks_won[winner] += 1
    row.trick_number += 1
    _open_trick(row, winner)
    row.seat = winner
    if row.trick_number < row.hand_size:
        row.legal = legal_cards(row, rules)
        return _TRICK + winner
    row.seat = NOBODY
    row.legal = ZERO
    if score_deal(row, rules):
        row.phase = _OVER
        return _END + _NO_SEAT
    row.phase = _SCORED
    return _DEAL + _NO_SEAT


@inline
def trump_known(row, rules):
    """Returns whether the players know the trump suit; a late one only after the bidding.

    Only a trump from a card or from chance can be hidden; a fixed suit, a rotation and a deal
    without trumps follow from the rules.
    """
    return not rules.trump_late or row.phase != _BID or not _by_card_or_chance(row)


@inline
def _by_card_or_chance(row):
    source = row.trump_source
    return source == _TURNED_CARD or source == _DEALER_CARD or source == _RANDOM_SUIT


@inline
def is_legal(row, action):
    """Returns whether an action code, any int64, is legal for the seat to act."""
    if row.phase == _BID:
        return BID_BASE <= action < BID_BASE + NUM_BIDS and has(row.legal, action - BID_BASE)
    return 0 <= action < BID_BASE and has(row.legal, action)


@inline
def apply(row, rules, action):
    """Plays a legal action unchecked; returns ``16 * Event + next seat`` (15: nobody)."""
    if row.phase == _BID:
        return _bid(row, rules, action - BID_BASE)
    return _play(row, rules, action)


@inline
def step(row, rules, action):
    """Plays an action if it is legal, else returns ``ILLEGAL`` with the row unchanged."""
    if not is_legal(row, action):
        return np.int64(ILLEGAL)
    return apply(row, rules, action)
