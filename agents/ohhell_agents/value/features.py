"""The features for the advantage nets: of a situation, and of each choice in it.

All come from one seat's view, as in ``trick_probs.py``. Counts and probabilities are scaled to
about 1, and points are in prices (the cost of missing a usual bid by one trick). So one network
serves every scoring, number of players and hand size. Compiled.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.slots import (
    BID_CHOICE_SLOTS,
    BID_SITUATION_SLOTS,
    CARD_CHOICE_SLOTS,
    CARD_SITUATION_SLOTS,
)
from ohhell_agents.value.trick_probs import bid_known, higher_unseen, sure_tricks
from ohhell_env.engine.bits import ONE, ZERO, above, bit, count, has, lowest, suit_mask
from ohhell_env.engine.caching import inline, inner
from ohhell_env.engine.layout import NO_TRUMP


@inline
def _within(value, most):
    return min(max(value, -most), most)


@inline
def _truth(condition):
    return 1.0 if condition else 0.0


@inline
def _below(cards):
    """Returns all cards below the lowest of a set that is not empty."""
    return bit(lowest(cards)) - ONE


@inline
def _filled(cards):
    """Returns a set of one suit's cards, with all cards below its highest added."""
    for shift in (1, 2, 4, 8):
        cards = cards | (cards >> np.uint64(shift))
    return cards


@inline
def _bosses(sight):
    """Returns the held cards that no unseen card of their suit beats."""
    boss = ZERO
    for suit in range(4):
        own, out = sight.hand & suit_mask(suit), sight.unseen & suit_mask(suit)
        boss = boss | (own & ~_filled(out))
    return boss


@inline
def _suit_facts(sight, hand):
    """Returns the numbers of suits in a hand with no card, one card, and three or more cards."""
    empty, single, long = 0, 0, 0
    for suit in range(4):
        size = count(hand & suit_mask(suit))
        empty += size == 0
        single += size == 1
        long += size >= 3
    return empty, single, long


@inner
def write_card_situation(sight, row, rules, price, points, totals, inputs):
    """Writes the features that the cards to choose from share.

    Args:
        sight: What the seat sees.
        row: A table in play.
        rules: Its rules record.
        price: See ``advantage_nets.price``.
        points: int32, the points of the deal by tricks won, for the seat's bid.
        totals: Expected tricks of the whole hand after losing this trick, and after winning it.
        inputs: float32 (CARD_SITUATION,), written in place.
    """
    slots = CARD_SITUATION_SLOTS
    seat, left, players = sight.seat, sight.left, sight.players
    won, bid = np.int64(row.tricks_won[seat]), np.int64(row.bids[seat])
    wants, size = bid - won, np.int64(row.hand_size)
    inputs[slots.inverse_others] = 1.0 / (players - 1)
    inputs[slots.players] = (players - 4) / 4
    inputs[slots.cards_left] = left / 8
    inputs[slots.inverse_cards_left] = 1.0 / left
    inputs[slots.share_left] = left / size
    inputs[slots.hand_size] = size / 10
    inputs[slots.unseen_held] = sight.share * (players - 1)
    inputs[slots.wants] = _within(wants / 4, 1.5)
    inputs[slots.wants_share] = _within(wants / left, 1.5)
    inputs[slots.wants_none] = _truth(wants == 0)
    inputs[slots.overshot] = _truth(wants < 0)
    inputs[slots.wants_one] = _truth(wants == 1)
    inputs[slots.wants_all] = _truth(wants == left)
    inputs[slots.out_of_reach] = _truth(wants > left)
    inputs[slots.demand_share] = _within((sight.wanted + max(wants, 0)) / left - 1.0, 2.0)
    inputs[slots.demand] = _within((sight.wanted + max(wants, 0) - left) / 2, 2.0)
    inputs[slots.others_want] = sight.wanted / left
    inputs[slots.bid_share] = bid / size
    inputs[slots.no_trump] = _truth(sight.trump == NO_TRUMP)
    own = 0 if sight.trump == NO_TRUMP else count(sight.hand & suit_mask(sight.trump))
    out = 0 if sight.trump == NO_TRUMP else count(sight.unseen & suit_mask(sight.trump))
    inputs[slots.own_trumps] = own / left
    inputs[slots.unseen_trumps] = out * sight.share * (players - 1) / 3
    inputs[slots.sure_tricks] = sure_tricks(sight) / left
    empty, single, long = _suit_facts(sight, sight.hand)
    inputs[slots.voids] = empty / 3
    inputs[slots.singletons] = single / 2
    inputs[slots.long_suits] = long / 2
    inputs[slots.tricks_if_lost] = totals[0] / left
    inputs[slots.surplus_if_lost] = _within(totals[0] - wants, 3.0) / 2
    inputs[slots.tricks_if_won] = totals[1] / left
    inputs[slots.surplus_if_won] = _within(totals[1] + 1.0 - wants, 3.0) / 2
    inputs[slots.void_duty] = _truth(rules.void != 0)
    inputs[slots.head_duty] = _truth(rules.head != 0)
    _write_scoring(points, won, bid, left, price, inputs)
    _write_trick(sight, row, inputs)


@inline
def _write_scoring(points, won, bid, left, price, inputs):
    """Writes the value of one trick more or less, in prices, by tricks still to win."""
    slots = CARD_SITUATION_SLOTS
    most = won + left
    inputs[slots.next_trick_points] = _within((points[won + 1] - points[won]) / price, 3.0)
    inputs[slots.last_trick_points] = _within((points[most] - points[most - 1]) / price, 3.0)
    inputs[slots.all_tricks_points] = _within((points[most] - points[won]) / price, 5.0) / 2
    below, over = max(bid - 1, 0), min(bid + 1, most)
    inputs[slots.one_fewer_costs] = _within((points[bid] - points[below]) / price, 3.0)
    inputs[slots.one_more_costs] = _within((points[bid] - points[over]) / price, 3.0)
    inputs[slots.bid_reachable] = _truth(won <= bid <= most)
    inputs[slots.bid_nil] = _truth(bid == 0)


@inline
def _write_trick(sight, row, inputs):
    """Writes the seats to come, what they want, and who wins the trick so far."""
    slots = CARD_SITUATION_SLOTS
    for slot in range(slots.first_behind_wants, slots.led_trump + 1):
        inputs[slot] = 0.0  # most describe what may not exist: a third seat, a winner so far
    players, left = sight.players, sight.left
    to_come = players - 1 - np.int64(row.trick_size)
    inputs[slots.to_come] = to_come / 4
    inputs[slots.leads] = _truth(row.trick_size == 0)
    inputs[slots.plays_last] = _truth(to_come == 0)
    more, enough, lost = 0, 0, 0
    other = sight.seat
    for place in range(players - 1):
        other = other + 1 if other + 1 < players else 0
        wants = np.int64(row.bids[other]) - np.int64(row.tricks_won[other])
        if place < to_come:
            more += wants > 0
            enough += wants == 0
            lost += wants < 0
            if place < 3:
                inputs[slots.first_behind_wants + place] = _within(wants / left, 1.5)
    inputs[slots.behind_want] = more / 3
    inputs[slots.behind_enough] = enough / 3
    inputs[slots.behind_overshot] = lost / 3
    if row.trick_size > 0:
        best = np.int64(row.best_seat)
        wants = np.int64(row.bids[best]) - np.int64(row.tricks_won[best])
        inputs[slots.winner_wants] = _truth(wants > 0)
        inputs[slots.winner_enough] = _truth(wants == 0)
        inputs[slots.winner_wants_all] = _truth(wants == left)
        inputs[slots.winner_trump] = _truth(np.int64(row.best_card) // 13 == sight.trump)
        inputs[slots.led_trump] = _truth(np.int64(row.led_suit) == sight.trump)


@inner
def write_card_choice(sight, row, card, estimates, kept, inputs):
    """Writes the features that distinguish one card from the others.

    Args:
        sight: What the seat sees.
        row: A table in play.
        card: The card.
        estimates: Its probability of winning now; of making the bid after winning and after losing;
            its expected value in prices, less that of the best card.
        kept: Its probability of winning a later trick, if this one is lost and if it is won.
        inputs: float32 (CARD_CHOICE,), written in place.
    """
    slots = CARD_CHOICE_SLOTS
    now, made_won, made_lost, behind = estimates
    suit = card // 13
    trump, led = suit == sight.trump, np.int64(row.led_suit)
    leads = row.trick_size == 0
    cards, unseen = sight.hand & suit_mask(suit), sight.unseen & suit_mask(suit)
    higher, low = higher_unseen(sight, card), bit(card) - ONE
    out = sight.share * (sight.players - 1)
    inputs[slots.behind_best] = max(behind, -3.0)
    inputs[slots.wins_now] = now
    inputs[slots.surely_loses] = _truth(now == 0.0)
    inputs[slots.surely_wins] = _truth(now == 1.0)
    inputs[slots.made_if_won] = made_won
    inputs[slots.made_if_lost] = made_lost
    inputs[slots.made] = now * made_won + (1.0 - now) * made_lost
    inputs[slots.later_if_lost] = kept[0]
    inputs[slots.later_if_won] = kept[1]
    inputs[slots.trump] = _truth(trump)
    inputs[slots.leads] = _truth(leads)
    inputs[slots.follows] = _truth(not leads and suit == led)
    inputs[slots.discards] = _truth(not leads and suit != led and not trump)
    inputs[slots.ruffs] = _truth(not leads and suit != led and trump)
    inputs[slots.higher_out] = higher * out / 3
    inputs[slots.boss] = _truth(higher == 0)
    inputs[slots.one_higher] = _truth(higher == 1)
    inputs[slots.lower_out] = (count(unseen) - higher) * out / 4
    inputs[slots.lowest_out] = _truth(count(unseen) == higher)
    inputs[slots.own_higher] = count(cards & above(card)) / 3
    inputs[slots.own_lower] = count(cards & low) / 3
    inputs[slots.singleton] = _truth(count(cards) == 1)
    inputs[slots.suit_share] = count(cards) / sight.left
    inputs[slots.suit_out] = count(unseen) * sight.share / 2
    inputs[slots.rank] = (card - 13 * suit) / 12
    _write_others(sight, row, card, suit, inputs)


@inline
def _write_others(sight, row, card, suit, inputs):
    """Writes what is known of the suit in the hands to come, and of the card's rivals."""
    slots = CARD_CHOICE_SLOTS
    to_come = sight.players - 1 - np.int64(row.trick_size)
    shown, behind, other = 0, 0, sight.seat
    for place in range(sight.players - 1):
        other = other + 1 if other + 1 < sight.players else 0
        void = (np.int64(row.voids[other]) >> suit) & 1
        shown += void
        if place < to_come:
            behind += void
    inputs[slots.shown_voids] = shown / (sight.players - 1)
    inputs[slots.voids_behind] = behind / max(to_come, 1)
    trumps = 0 if sight.trump == NO_TRUMP else count(sight.unseen & suit_mask(sight.trump))
    inputs[slots.trumps_out] = 0.0 if suit == sight.trump else trumps * sight.share / 2
    cards = sight.hand & suit_mask(suit)
    rest, unseen = cards & ~bit(card), sight.unseen & suit_mask(suit)
    inputs[slots.rest_lowest] = _truth(rest != ZERO and unseen & _below(rest) == ZERO)
    inputs[slots.rest_highest] = _truth(rest != ZERO and unseen & ~_filled(rest) == ZERO)
    boss = _bosses(sight)
    inputs[slots.other_bosses] = count(boss & ~bit(card)) / 3
    inputs[slots.among_bosses] = _truth(has(boss, card))


@inner
def write_bid_situation(sight, row, rules, price, expected, variance, inputs):
    """Writes the features that the bids to choose from share.

    Args:
        sight: What the seat sees, with an assumed trump suit.
        row: A table in the bidding.
        rules: Its rules record.
        price: See ``advantage_nets.price``.
        expected: Tricks that the hand is expected to win.
        variance: Variance of that number.
        inputs: float32 (BID_SITUATION,), written in place.
    """
    slots = BID_SITUATION_SLOTS
    players, size = sight.players, sight.left
    known, total, nils = 0, 0, 0
    for other in range(players):
        if other != sight.seat and bid_known(row, rules, other, sight.seat):
            known += 1
            total += np.int64(row.bids[other])
            nils += row.bids[other] == 0
    inputs[slots.inverse_others] = 1.0 / (players - 1)
    inputs[slots.players] = (players - 4) / 4
    inputs[slots.hand_size] = size / 10
    inputs[slots.inverse_hand_size] = 1.0 / size
    inputs[slots.unseen_held] = sight.share * (players - 1)
    inputs[slots.bids_known] = known / (players - 1)
    inputs[slots.all_bids_known] = _truth(known == players - 1)
    inputs[slots.no_bid_known] = _truth(known == 0)
    inputs[slots.bid_total] = total / size
    inputs[slots.bid_surplus] = _within((total - known * size / players) / 2, 2.0)
    inputs[slots.demand] = _within((total + expected - (known + 1) * size / players) / 2, 2.0)
    inputs[slots.nils] = nils / (players - 1)
    inputs[slots.tricks_share] = expected / size
    inputs[slots.tricks] = expected / 3
    inputs[slots.tricks_variance] = variance
    inputs[slots.tricks_fraction] = expected - np.floor(expected)
    own = 0 if sight.trump == NO_TRUMP else count(sight.hand & suit_mask(sight.trump))
    out = 0 if sight.trump == NO_TRUMP else count(sight.unseen & suit_mask(sight.trump))
    inputs[slots.own_trumps_share] = own / size
    inputs[slots.own_trumps] = own / 3
    inputs[slots.unseen_trumps] = out * sight.share
    inputs[slots.no_trump] = _truth(sight.trump == NO_TRUMP)
    inputs[slots.sure_tricks] = sure_tricks(sight) / size
    empty, single, long = _suit_facts(sight, sight.hand)
    inputs[slots.voids] = empty / 3
    inputs[slots.singletons] = single / 2
    inputs[slots.long_suits] = long / 2
    inputs[slots.hook] = _truth(rules.hook_from <= size)
    inputs[slots.simultaneous] = _truth(rules.simultaneous != 0)
    inputs[slots.highest_bidder_leads] = _truth(rules.highest_bidder_leads != 0)
    inputs[slots.void_duty] = _truth(rules.void != 0)
    points = rules.points[size]
    inputs[slots.one_over_nil] = _within((points[1, 1] - points[0, 0]) / price, 3.0)
    inputs[slots.nil_miss_costs] = _within((points[0, 0] - points[0, 1]) / price, 3.0)
    inputs[slots.all_over_nil] = _within((points[size, size] - points[0, 0]) / price, 5.0) / size
    inputs[slots.all_miss_costs] = (
        _within((points[size, 0] - points[size, size - 1]) / price, 5.0) / size
    )


@inner
def write_bid_choice(sight, row, rules, bid, estimates, inputs):
    """Writes the features that distinguish one bid from the others.

    Args:
        sight: What the seat sees.
        row: A table in the bidding.
        rules: Its rules record.
        bid: The bid.
        estimates: Its expected value in prices, less that of the best bid; the probabilities of
            making it and of winning fewer; the expected tricks.
        inputs: float32 (BID_CHOICE,), written in place.
    """
    slots = BID_CHOICE_SLOTS
    behind, made, fewer, expected = estimates
    players, size = sight.players, sight.left
    known, total = 0, 0
    for other in range(players):
        if other != sight.seat and bid_known(row, rules, other, sight.seat):
            known += 1
            total += np.int64(row.bids[other])
    open_seats = players - 1 - known
    inputs[slots.behind_best] = _within(behind, 3.0)
    inputs[slots.made] = made
    inputs[slots.fewer] = fewer
    inputs[slots.more] = 1.0 - made - fewer
    inputs[slots.bid_share] = bid / size
    inputs[slots.bid] = bid / 3
    inputs[slots.surplus] = _within(bid - expected, 3.0)
    inputs[slots.nil] = _truth(bid == 0)
    inputs[slots.one] = _truth(bid == 1)
    inputs[slots.all] = _truth(bid == size)
    demand = total + bid + open_seats * size / players - size
    inputs[slots.demand] = _within(demand / 2, 2.0)
    inputs[slots.overbid] = _truth(open_seats == 0 and total + bid > size)
    inputs[slots.underbid] = _truth(open_seats == 0 and total + bid < size)
    inputs[slots.demand_share] = _within(demand / size, 2.0)
