"""The features of the players' networks by name: each table lists one kind in its order.

Compiled code writes ``inputs[slots.players]``, with ``slots`` one of the constants below, and the
number of features is the length of its table. A change of order, or a new feature, is a change of
what trained networks read: ``INPUTS`` of ``counterfactual.py`` must change with it.
"""

from __future__ import annotations

from typing import NamedTuple


class CardSituation(NamedTuple):
    """What the cards to choose from share."""

    inverse_others: int  # 1 / number of other players
    players: int  # 0 at a table of four
    cards_left: int
    inverse_cards_left: int
    share_left: int  # cards left, share of the hand dealt
    hand_size: int
    unseen_held: int  # share of the unseen cards that other seats hold
    wants: int  # tricks that the own bid still wants
    wants_share: int  # ... of the tricks left
    wants_none: int
    overshot: int  # more tricks won than bid
    wants_one: int
    wants_all: int
    out_of_reach: int  # wants more tricks than are left
    demand_share: int  # tricks wanted by all seats beyond those left, share of these
    demand: int  # the same as a number
    others_want: int  # share of the tricks left
    bid_share: int  # bid, share of the hand dealt
    no_trump: int
    own_trumps: int
    unseen_trumps: int
    sure_tricks: int
    voids: int  # suits of which the hand has no card
    singletons: int
    long_suits: int  # of three cards or more
    tricks_if_lost: int  # expected later tricks after losing this one
    surplus_if_lost: int  # ... less those wanted
    tricks_if_won: int  # expected later tricks after winning this one
    surplus_if_won: int  # expected tricks, this one counted, less those wanted
    void_duty: int  # a seat void in the led suit may owe a trump
    head_duty: int  # a seat may owe a higher card
    next_trick_points: int  # what the next trick won changes; points are in prices
    last_trick_points: int
    all_tricks_points: int
    one_fewer_costs: int  # what missing the bid by one trick costs
    one_more_costs: int
    bid_reachable: int
    bid_nil: int
    to_come: int  # seats that play behind
    leads: int
    plays_last: int
    behind_want: int  # seats behind that want tricks
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
    """What tells one card from the others."""

    behind_best: int  # expected value less that of the best card, in prices
    wins_now: int  # probability to win this trick
    surely_loses: int
    surely_wins: int
    made_if_won: int  # probability to make the bid after winning this trick
    made_if_lost: int
    made: int
    later_if_lost: int  # probability to win a later trick if kept and this one is lost
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
    """What the bids to choose from share."""

    inverse_others: int  # 1 / number of other players
    players: int  # 0 at a table of four
    hand_size: int
    inverse_hand_size: int
    unseen_held: int  # share of the unseen cards that other seats hold
    bids_known: int
    all_bids_known: int
    no_bid_known: int
    bid_total: int  # of the known bids, share of the hand size
    bid_surplus: int  # known bids less an even share for each
    demand: int  # ... with the own expected tricks
    nils: int
    tricks_share: int  # expected tricks, share of the hand size
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
    """What tells one bid from the others."""

    behind_best: int  # expected value less that of the best bid, in prices
    made: int  # probability to make it
    fewer: int  # probability to win fewer tricks
    more: int
    bid_share: int
    bid: int
    surplus: int  # less the expected tricks
    nil: int
    one: int
    all: int
    demand: int  # tricks bid by all seats beyond those of the deal, open bids taken as average
    overbid: int  # all bids are known and more than the tricks
    underbid: int
    demand_share: int


class FutureSituation(NamedTuple):
    """The deal, for the model of later tricks."""

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
    """What the seats want, for the model of later tricks."""

    wants_share: int
    wants_none: int
    overshot: int
    wants_all: int
    wants_one: int
    leads: int  # the seat leads the next trick
    demand: int


class FutureCard(NamedTuple):
    """A held card, for the model of later tricks."""

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
    """The present trick, for the model of it."""

    to_come: int
    behind_want: int
    behind_enough: int
    behind_wanted: int  # tricks that the seats behind want
    trump_voids: int  # seats behind that have shown void in trumps
    leads: int
    wants_share: int
    wants_more: int
    cards_left: int
    void_duty: int
    no_trump: int
    head_duty: int


class CurrentCard(NamedTuple):
    """A card that wins the present trick so far, for the model of it."""

    higher_out: int
    boss: int
    trump: int
    trumps_out: int
    suit_out: int
    led_voids: int  # seats behind that have shown void in the led suit


CARD_SITUATION_SLOTS = CardSituation(*range(len(CardSituation._fields)))
CARD_CHOICE_SLOTS = CardChoice(*range(len(CardChoice._fields)))
BID_SITUATION_SLOTS = BidSituation(*range(len(BidSituation._fields)))
BID_CHOICE_SLOTS = BidChoice(*range(len(BidChoice._fields)))
FUTURE_SITUATION_SLOTS = FutureSituation(*range(len(FutureSituation._fields)))
FUTURE_WANTS_SLOTS = FutureWants(*range(len(FutureWants._fields)))
FUTURE_CARD_SLOTS = FutureCard(*range(len(FutureCard._fields)))
CURRENT_SITUATION_SLOTS = CurrentSituation(*range(len(CurrentSituation._fields)))
CURRENT_CARD_SLOTS = CurrentCard(*range(len(CurrentCard._fields)))
