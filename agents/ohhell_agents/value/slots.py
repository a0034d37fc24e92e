"""The features of the players' networks by name; each table lists one kind in order.

Compiled code writes ``inputs[slots.players]``, with ``slots`` one of the constants below. The
number of features is the length of the table. A new feature or a new order changes the input of
trained networks, so ``INPUTS`` of ``counterfactual.py`` must change with it.
"""

from __future__ import annotations

from typing import NamedTuple


class CardSituation(NamedTuple):
    """Features that the cards to choose from share."""

    inverse_others: int  # 1 / number of other players
    players: int  # 0 at a table of four
    cards_left: int
    inverse_cards_left: int
    share_left: int  # cards left, as a share of the hand dealt
    hand_size: int
    unseen_held: int  # share of the unseen cards that other seats hold
    wants: int  # tricks that the seat still wants
    wants_share: int  # ... as a share of the tricks left
    wants_none: int
    overshot: int  # more tricks won than bid
    wants_one: int
    wants_all: int
    out_of_reach: int  # wants more tricks than are left
    demand_share: int  # tricks wanted by all seats beyond those left, as a share of these
    demand: int  # the same as a number
    others_want: int  # as a share of the tricks left
    bid_share: int  # bid, as a share of the hand dealt
    no_trump: int
    own_trumps: int
    unseen_trumps: int
    sure_tricks: int
    voids: int  # suits without a card in hand
    singletons: int
    long_suits: int  # of three cards or more
    tricks_if_lost: int  # expected later tricks after losing this one
    surplus_if_lost: int  # ... less those wanted
    tricks_if_won: int  # expected later tricks after winning this one
    surplus_if_won: int  # expected tricks, this one counted, less those wanted
    void_duty: int  # a seat void in the led suit may owe a trump
    head_duty: int  # a seat may owe a higher card
    next_trick_points: int  # change of points by winning the next trick; points are in prices
    last_trick_points: int
    all_tricks_points: int
    one_fewer_costs: int  # cost of missing the bid by one trick
    one_more_costs: int
    bid_reachable: int
    bid_nil: int
    to_come: int  # seats that play after this one
    leads: int
    plays_last: int
    behind_want: int  # seats to come that want tricks
    behind_enough: int
    behind_overshot: int
    first_behind_wants: int
    second_behind_wants: int
    third_behind_wants: int
    winner_wants: int  # the seat that wins the trick so far wants more
    winner_enough: int
    winner_wants_all: int
    winner_trump: int
    led_trump: int


class CardChoice(NamedTuple):
    """Features that distinguish one card from the others."""

    behind_best: int  # expected value less that of the best card, in prices
    wins_now: int  # probability of winning this trick
    surely_loses: int
    surely_wins: int
    made_if_won: int  # probability of making the bid after winning this trick
    made_if_lost: int
    made: int
    later_if_lost: int  # probability of winning a later trick if kept and this one is lost
    later_if_won: int
    trump: int
    leads: int
    follows: int
    discards: int
    ruffs: int
    higher_out: int  # higher cards of the suit in other hands
    boss: int  # no unseen card of the suit is higher
    one_higher: int
    lower_out: int
    lowest_out: int  # no unseen card of the suit is lower
    own_higher: int
    own_lower: int
    singleton: int
    suit_share: int
    suit_out: int
    rank: int
    shown_voids: int  # seats that have shown void in the suit
    voids_behind: int
    trumps_out: int  # unseen trumps against it
    rest_lowest: int  # no unseen card is below the rest of the suit
    rest_highest: int  # no unseen card is above the rest of the suit
    other_bosses: int
    among_bosses: int


class BidSituation(NamedTuple):
    """Features that the bids to choose from share."""

    inverse_others: int  # 1 / number of other players
    players: int  # 0 at a table of four
    hand_size: int
    inverse_hand_size: int
    unseen_held: int  # share of the unseen cards that other seats hold
    bids_known: int
    all_bids_known: int
    no_bid_known: int
    bid_total: int  # of the known bids, as a share of the hand size
    bid_surplus: int  # known bids less an even share for each
    demand: int  # ... plus the seat's expected tricks
    nils: int
    tricks_share: int  # expected tricks, as a share of the hand size
    tricks: int  # expected
    tricks_variance: int
    tricks_fraction: int
    own_trumps_share: int
    own_trumps: int
    unseen_trumps: int
    no_trump: int
    sure_tricks: int
    voids: int
    singletons: int
    long_suits: int
    hook: int
    simultaneous: int
    highest_bidder_leads: int
    void_duty: int
    one_over_nil: int  # a made bid of one less a made nil; points are in prices
    nil_miss_costs: int
    all_over_nil: int
    all_miss_costs: int


class BidChoice(NamedTuple):
    """Features that distinguish one bid from the others."""

    behind_best: int  # expected value less that of the best bid, in prices
    made: int  # probability of making it
    fewer: int  # probability of winning fewer tricks
    more: int
    bid_share: int
    bid: int
    surplus: int  # less the expected tricks
    nil: int
    one: int
    all: int
    demand: int  # tricks bid by all seats beyond those of the deal; unknown bids count as average
    overbid: int  # all bids are known, and exceed the tricks
    underbid: int
    demand_share: int


class FutureSituation(NamedTuple):
    """Features of the deal, for the model of later tricks."""

    players: int
    cards_left: int
    unseen_held: int  # share of the unseen cards that other seats hold
    bids_known: int
    no_trump: int
    own_trumps: int
    unseen_trumps: int
    bidding: int  # 1 in the bidding
    void_duty: int


class FutureWants(NamedTuple):
    """Features of what the seats want, for the model of later tricks."""

    wants_share: int
    wants_none: int
    overshot: int
    wants_all: int
    wants_one: int
    leads: int  # the seat leads the next trick
    demand: int


class FutureCard(NamedTuple):
    """Features of a held card, for the model of later tricks."""

    trump: int
    higher_out: int
    boss: int
    one_higher: int
    lower_out: int
    own_higher: int
    own_lower: int
    suit_out: int
    shown_voids: int
    trumps_out: int


class CurrentSituation(NamedTuple):
    """Features of the current trick, for its model."""

    to_come: int
    behind_want: int
    behind_enough: int
    behind_wanted: int  # tricks that the seats to come want
    trump_voids: int  # seats to come that have shown a void in trumps
    leads: int
    wants_share: int
    wants_more: int
    cards_left: int
    void_duty: int
    no_trump: int
    head_duty: int


class CurrentCard(NamedTuple):
    """Features of a card that wins the current trick so far, for the trick's model."""

    higher_out: int
    boss: int
    trump: int
    trumps_out: int
    suit_out: int
    led_voids: int  # seats to come that have shown a void in the led suit


CARD_SITUATION_SLOTS = CardSituation(*range(len(CardSituation._fields)))
CARD_CHOICE_SLOTS = CardChoice(*range(len(CardChoice._fields)))
BID_SITUATION_SLOTS = BidSituation(*range(len(BidSituation._fields)))
BID_CHOICE_SLOTS = BidChoice(*range(len(BidChoice._fields)))
FUTURE_SITUATION_SLOTS = FutureSituation(*range(len(FutureSituation._fields)))
FUTURE_WANTS_SLOTS = FutureWants(*range(len(FutureWants._fields)))
FUTURE_CARD_SLOTS = FutureCard(*range(len(FutureCard._fields)))
CURRENT_SITUATION_SLOTS = CurrentSituation(*range(len(CurrentSituation._fields)))
CURRENT_CARD_SLOTS = CurrentCard(*range(len(CurrentCard._fields)))
