"""What the corrections of ``corrections.py`` are told about a situation and about each choice.

All of it from one seat's view, as in ``chances.py``: counts and chances scaled to about 1, points
in prices (what missing a usual bid by one trick costs), so that one network serves every scoring,
number of players and hand size. Compiled.
"""

# pyright: basic
from __future__ import annotations

import numpy as np

from ohhell_agents.value.trick_probs import bid_known, higher_unseen, sure_tricks
from ohhell_env.engine.bits import ONE, ZERO, above, bit, count, has, lowest, suit_mask
from ohhell_env.engine.caching import entry, inline
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
    """Returns a set of one suit's cards with all cards below its highest filled in."""
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
    """Returns how many suits a hand lacks, has one card of, and has three or more of."""
    empty, single, long = 0, 0, 0
    for suit in range(4):
        size = count(hand & suit_mask(suit))
        empty += size == 0
        single += size == 1
        long += size >= 3
    return empty, single, long


@entry
def write_card_situation(sight, row, rules, price, points, totals, inputs):
    """Writes what the cards to choose from share.

    Args:
        sight: What the seat sees.
        row: A table in play.
        rules: Its rules record.
        price: See ``corrections.price``.
        points: int32, the points of the deal by tricks won, for the seat's bid.
        totals: Expected tricks of the whole hand after losing this trick, and after winning it.
        inputs: float32 (CARD_SITUATION,), written in place.
    """
    seat, left, players = sight.seat, sight.left, sight.players
    won, bid_made = np.int64(row.tricks_won[seat]), np.int64(row.bids[seat])
    wants, size = bid_made - won, np.int64(row.hand_size)
    inputs[0] = 1.0 / (players - 1)
    inputs[1] = (players - 4) / 4
    inputs[2] = left / 8
    inputs[3] = 1.0 / left
    inputs[4] = left / size
    inputs[5] = size / 10
    inputs[6] = sight.share * (players - 1)
    inputs[7] = _within(wants / 4, 1.5)
    inputs[8] = _within(wants / left, 1.5)
    inputs[9] = _truth(wants == 0)
    inputs[10] = _truth(wants < 0)
    inputs[11] = _truth(wants == 1)
    inputs[12] = _truth(wants == left)
    inputs[13] = _truth(wants > left)
    inputs[14] = _within((sight.wanted + max(wants, 0)) / left - 1.0, 2.0)
    inputs[15] = _within((sight.wanted + max(wants, 0) - left) / 2, 2.0)
    inputs[16] = sight.wanted / left
    inputs[17] = bid_made / size
    inputs[18] = _truth(sight.trump == NO_TRUMP)
    own = 0 if sight.trump == NO_TRUMP else count(sight.hand & suit_mask(sight.trump))
    out = 0 if sight.trump == NO_TRUMP else count(sight.unseen & suit_mask(sight.trump))
    inputs[19] = own / left
    inputs[20] = out * sight.share * (players - 1) / 3
    inputs[21] = sure_tricks(sight) / left
    empty, single, long = _suit_facts(sight, sight.hand)
    inputs[22] = empty / 3
    inputs[23] = single / 2
    inputs[24] = long / 2
    inputs[25] = totals[0] / left
    inputs[26] = _within(totals[0] - wants, 3.0) / 2
    inputs[27] = totals[1] / left
    inputs[28] = _within(totals[1] + 1.0 - wants, 3.0) / 2
    inputs[29] = _truth(rules.void != 0)
    inputs[30] = _truth(rules.head != 0)
    _write_scoring(points, won, bid_made, left, price, inputs[31:38])
    _write_trick(sight, row, inputs[38:52])


@inline
def _write_scoring(points, won, bid_made, left, price, inputs):
    """Writes what one trick more or less is worth, in prices, by tricks still to be won."""
    most = won + left
    inputs[0] = _within((points[won + 1] - points[won]) / price, 3.0)
    inputs[1] = _within((points[most] - points[most - 1]) / price, 3.0)
    inputs[2] = _within((points[most] - points[won]) / price, 5.0) / 2
    below, over = max(bid_made - 1, 0), min(bid_made + 1, most)
    inputs[3] = _within((points[bid_made] - points[below]) / price, 3.0)
    inputs[4] = _within((points[bid_made] - points[over]) / price, 3.0)
    inputs[5] = _truth(won <= bid_made <= most)
    inputs[6] = _truth(bid_made == 0)


@inline
def _write_trick(sight, row, inputs):
    """Writes who plays behind the seat, what they want, and who wins the trick so far."""
    inputs[6:14] = 0.0  # most describe what may not be there: a third seat behind, a winner so far
    players, left = sight.players, sight.left
    to_come = players - 1 - np.int64(row.trick_size)
    inputs[0] = to_come / 4
    inputs[1] = _truth(row.trick_size == 0)
    inputs[2] = _truth(to_come == 0)
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
                inputs[6 + place] = _within(wants / left, 1.5)
    inputs[3] = more / 3
    inputs[4] = enough / 3
    inputs[5] = lost / 3
    if row.trick_size > 0:
        best = np.int64(row.best_seat)
        wants = np.int64(row.bids[best]) - np.int64(row.tricks_won[best])
        inputs[9] = _truth(wants > 0)
        inputs[10] = _truth(wants == 0)
        inputs[11] = _truth(wants == left)
        inputs[12] = _truth(np.int64(row.best_card) // 13 == sight.trump)
        inputs[13] = _truth(np.int64(row.led_suit) == sight.trump)


@entry
def write_card_choice(sight, row, card, reckoned, kept, inputs):
    """Writes what tells one card from the others.

    Args:
        sight: What the seat sees.
        row: A table in play.
        card: The card.
        reckoned: Its chance to win now; the chance to make the bid after winning and after losing;
            its reckoned worth in prices, less that of the best card.
        kept: Chance of the card to win a later trick, if this one is lost and if it is won.
        inputs: float32 (CARD_CHOICE,), written in place.
    """
    now, made_won, made_lost, behind = reckoned
    suit = card // 13
    trump, led = suit == sight.trump, np.int64(row.led_suit)
    leads = row.trick_size == 0
    cards, unseen = sight.hand & suit_mask(suit), sight.unseen & suit_mask(suit)
    higher, low = higher_unseen(sight, card), bit(card) - ONE
    out = sight.share * (sight.players - 1)
    inputs[0] = max(behind, -3.0)
    inputs[1] = now
    inputs[2] = _truth(now == 0.0)
    inputs[3] = _truth(now == 1.0)
    inputs[4] = made_won
    inputs[5] = made_lost
    inputs[6] = now * made_won + (1.0 - now) * made_lost
    inputs[7] = kept[0]
    inputs[8] = kept[1]
    inputs[9] = _truth(trump)
    inputs[10] = _truth(leads)
    inputs[11] = _truth(not leads and suit == led)
    inputs[12] = _truth(not leads and suit != led and not trump)
    inputs[13] = _truth(not leads and suit != led and trump)
    inputs[14] = higher * out / 3
    inputs[15] = _truth(higher == 0)
    inputs[16] = _truth(higher == 1)
    inputs[17] = (count(unseen) - higher) * out / 4
    inputs[18] = _truth(count(unseen) == higher)
    inputs[19] = count(cards & above(card)) / 3
    inputs[20] = count(cards & low) / 3
    inputs[21] = _truth(count(cards) == 1)
    inputs[22] = count(cards) / sight.left
    inputs[23] = count(unseen) * sight.share / 2
    inputs[24] = (card - 13 * suit) / 12
    _write_others(sight, row, card, suit, inputs[25:32])


@inline
def _write_others(sight, row, card, suit, inputs):
    """Writes what is known of the suit in the hands of those behind, and of the card's rivals."""
    to_come = sight.players - 1 - np.int64(row.trick_size)
    shown, behind, other = 0, 0, sight.seat
    for place in range(sight.players - 1):
        other = other + 1 if other + 1 < sight.players else 0
        void = (np.int64(row.voids[other]) >> suit) & 1
        shown += void
        if place < to_come:
            behind += void
    inputs[0] = shown / (sight.players - 1)
    inputs[1] = behind / max(to_come, 1)
    trumps = 0 if sight.trump == NO_TRUMP else count(sight.unseen & suit_mask(sight.trump))
    inputs[2] = 0.0 if suit == sight.trump else trumps * sight.share / 2
    cards = sight.hand & suit_mask(suit)
    rest, unseen = cards & ~bit(card), sight.unseen & suit_mask(suit)
    inputs[3] = _truth(rest != ZERO and unseen & _below(rest) == ZERO)
    inputs[4] = _truth(rest != ZERO and unseen & ~_filled(rest) == ZERO)
    boss = _bosses(sight)
    inputs[5] = count(boss & ~bit(card)) / 3
    inputs[6] = _truth(has(boss, card))


@entry
def write_bid_situation(sight, row, rules, price, expected, spread, inputs):
    """Writes what the bids to choose from share.

    Args:
        sight: What the seat sees, with a trump suit to reckon with.
        row: A table in the bidding.
        rules: Its rules record.
        price: See ``corrections.price``.
        expected: Tricks that the hand is expected to win.
        spread: Variance of that number.
        inputs: float32 (BID_SITUATION,), written in place.
    """
    players, size = sight.players, sight.left
    known, total, nils = 0, 0, 0
    for other in range(players):
        if other != sight.seat and bid_known(row, rules, other, sight.seat):
            known += 1
            total += np.int64(row.bids[other])
            nils += row.bids[other] == 0
    inputs[0] = 1.0 / (players - 1)
    inputs[1] = (players - 4) / 4
    inputs[2] = size / 10
    inputs[3] = 1.0 / size
    inputs[4] = sight.share * (players - 1)
    inputs[5] = known / (players - 1)
    inputs[6] = _truth(known == players - 1)
    inputs[7] = _truth(known == 0)
    inputs[8] = total / size
    inputs[9] = _within((total - known * size / players) / 2, 2.0)
    inputs[10] = _within((total + expected - (known + 1) * size / players) / 2, 2.0)
    inputs[11] = nils / (players - 1)
    inputs[12] = expected / size
    inputs[13] = expected / 3
    inputs[14] = spread
    inputs[15] = expected - np.floor(expected)
    own = 0 if sight.trump == NO_TRUMP else count(sight.hand & suit_mask(sight.trump))
    out = 0 if sight.trump == NO_TRUMP else count(sight.unseen & suit_mask(sight.trump))
    inputs[16] = own / size
    inputs[17] = own / 3
    inputs[18] = out * sight.share
    inputs[19] = _truth(sight.trump == NO_TRUMP)
    inputs[20] = sure_tricks(sight) / size
    empty, single, long = _suit_facts(sight, sight.hand)
    inputs[21] = empty / 3
    inputs[22] = single / 2
    inputs[23] = long / 2
    inputs[24] = _truth(rules.hook_from <= size)
    inputs[25] = _truth(rules.simultaneous != 0)
    inputs[26] = _truth(rules.highest_bidder_leads != 0)
    inputs[27] = _truth(rules.void != 0)
    points = rules.points[size]
    inputs[28] = _within((points[1, 1] - points[0, 0]) / price, 3.0)
    inputs[29] = _within((points[0, 0] - points[0, 1]) / price, 3.0)
    inputs[30] = _within((points[size, size] - points[0, 0]) / price, 5.0) / size
    inputs[31] = _within((points[size, 0] - points[size, size - 1]) / price, 5.0) / size


@entry
def write_bid_choice(sight, row, rules, bid_made, reckoned, inputs):
    """Writes what tells one bid from the others.

    Args:
        sight: What the seat sees.
        row: A table in the bidding.
        rules: Its rules record.
        bid_made: The bid.
        reckoned: Its reckoned worth in prices, less that of the best bid; the chances to make it
            and to win fewer; the tricks expected.
        inputs: float32 (BID_CHOICE,), written in place.
    """
    behind, made, fewer, expected = reckoned
    players, size = sight.players, sight.left
    known, total = 0, 0
    for other in range(players):
        if other != sight.seat and bid_known(row, rules, other, sight.seat):
            known += 1
            total += np.int64(row.bids[other])
    open_seats = players - 1 - known
    inputs[0] = _within(behind, 3.0)
    inputs[1] = made
    inputs[2] = fewer
    inputs[3] = 1.0 - made - fewer
    inputs[4] = bid_made / size
    inputs[5] = bid_made / 3
    inputs[6] = _within(bid_made - expected, 3.0)
    inputs[7] = _truth(bid_made == 0)
    inputs[8] = _truth(bid_made == 1)
    inputs[9] = _truth(bid_made == size)
    demand = total + bid_made + open_seats * size / players - size
    inputs[10] = _within(demand / 2, 2.0)
    inputs[11] = _truth(open_seats == 0 and total + bid_made > size)
    inputs[12] = _truth(open_seats == 0 and total + bid_made < size)
    inputs[13] = _within(demand / size, 2.0)
