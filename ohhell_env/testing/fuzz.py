"""Random games with a second opinion on every step; compiled, for ``ohhell_env.testing``.

The watcher keeps its own account of the table, from the dealt cards and the actions. It decides
everything again in the plainest way: card by card, adding up from the start. It reads nothing of
the engine's working state. After every step the two must agree.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from ohhell_env.engine import batch
from ohhell_env.engine.bits import ONE, ZERO, bit, count, has
from ohhell_env.engine.caching import entry
from ohhell_env.engine.layout import (
    BID_BASE,
    EXTRA_PLAN,
    NO_BID,
    NO_CARD,
    NO_TRUMP,
    NOBODY,
    TIE_BREAKS,
    TRUMP_LEADS,
    VOID_DUTIES,
    Phase,
    Rows,
    engine_rows,
)
from ohhell_env.rules.schedule import MAX_EXTRA_DEALS, TrumpSource


class Fault(IntEnum):
    """A fault that the watcher can find."""

    NONE = 0
    DEALER = 1
    PLAN = 2
    CARDS = 3
    TURNED = 4
    TRUMP = 5
    OPENING = 6
    LEGAL = 7
    REFUSED = 8
    SEAT = 9
    HANDS = 10
    BIDS = 11
    TRICKS = 12
    POINTS = 13
    SCORES = 14
    END = 15
    WINNERS = 16
    PAYMENT = 17
    HISTORY = 18


_U8, _I8 = np.uint64, np.int64
WATCH = np.dtype(
    [
        ("hands", _U8, 8),  # cards held
        ("dealt", _U8, 8),  # cards dealt
        ("bids", _I8, 8),
        ("won", _I8, 8),
        ("trick", _I8, 8),  # card played to the trick by each seat, NO_CARD before
        ("scores", _I8, 8),
        ("exact", _I8, 8),
        ("bid_totals", _I8, 8),
        ("hand_size", _I8),
        ("dealer", _I8),
        ("trump", _I8),
        ("blind", _I8),
        ("seat", _I8),
        ("leader", _I8),
        ("num_bids", _I8),
        ("in_trick", _I8),
        ("tricks", _I8),
        ("plays", _I8),
        ("broken", _I8),
        ("deals", _I8),
        ("extra", _I8),
        ("last_regular", _I8),  # 1 after the last deal that is not an extra deal
        ("over", _I8),
        ("step", _I8),
    ],
    align=True,
)
_BID, _PLAY, _SCORED, _OVER = (int(phase) for phase in Phase)
_TURNED_CARD = int(TrumpSource.TURNED_CARD)
_DEALER_CARD = int(TrumpSource.DEALER_CARD)
_FIXED_SUIT = int(TrumpSource.FIXED_SUIT)
_ROTATION = int(TrumpSource.ROTATION)
_RANDOM_SUIT = int(TrumpSource.RANDOM_SUIT)
_ANY_LEAD, _AFTER_FIRST, _AFTER_BROKEN, _WHEN_FORCED = range(len(TRUMP_LEADS))
_FREE, _MUST_TRUMP, _OVER_ELSE_TRUMP, _OVER_ELSE_FREE = range(len(VOID_DUTIES))
_EXTRA_DEALS = TIE_BREAKS.index("extra_deals")
_MOST_EXACT = TIE_BREAKS.index("most_exact_bids")
_BID_TOTAL = TIE_BREAKS.index("largest_bid_total")

_OK = int(Fault.NONE)
_F_DEALER, _F_PLAN, _F_CARDS = int(Fault.DEALER), int(Fault.PLAN), int(Fault.CARDS)
_F_TURNED, _F_TRUMP, _F_OPENING = int(Fault.TURNED), int(Fault.TRUMP), int(Fault.OPENING)
_F_LEGAL, _F_REFUSED, _F_SEAT = int(Fault.LEGAL), int(Fault.REFUSED), int(Fault.SEAT)
_F_HANDS, _F_BIDS, _F_TRICKS = int(Fault.HANDS), int(Fault.BIDS), int(Fault.TRICKS)
_F_POINTS, _F_SCORES, _F_END = int(Fault.POINTS), int(Fault.SCORES), int(Fault.END)
_F_WINNERS, _F_PAYMENT = int(Fault.WINNERS), int(Fault.PAYMENT)
_F_HISTORY = int(Fault.HISTORY)


def new_watch() -> Rows:
    """Returns the watcher's account of one table, all zero."""
    return engine_rows(np.zeros(1, WATCH))


@entry
def watched_games(games, chooser, rules, watch, seed, number):
    """Plays random games one after another, game g with seed ``seed + g``, and watches each.

    Args:
        games: One ``GAME`` row.
        chooser: One ``GAME`` row whose random stream chooses the actions.
        rules: ``RULES`` row.
        watch: ``WATCH`` row.
        seed: uint64.
        number: Number of games.

    Returns:
        (fault, game, decisions): a ``Fault``; the game in which it occurred (``number`` if none;
        the rows keep their state from then); and the total number of decisions.
    """
    decisions = 0
    for game in range(number):
        fault = _watched_game(games, chooser, rules, watch, np.uint64(seed + np.uint64(game)))
        decisions += watch[0].step
        if fault != _OK:
            return fault, game, decisions
    return np.int64(_OK), number, decisions


@entry
def choose_one(games, chooser):
    """Returns the random action that ``watched_games`` makes at this point."""
    row = games[0]
    place = batch.draw_one(chooser, row.legal, count(row.legal))
    return BID_BASE + place if row.phase == _BID else np.int64(place)


@entry
def _watched_game(games, chooser, rules, watch, seed):
    batch.seed_tables(games, seed, ZERO)
    batch.seed_tables(chooser, seed, ONE)
    batch.begin_all(games, rules)
    fault = watch_start(games, rules, watch)
    while fault == _OK and not watch[0].over:
        fault = watch_step(games, rules, watch, choose_one(games, chooser))
    return fault


@entry
def watch_start(games, rules, watch):
    """Starts watching a new episode; returns a ``Fault`` if it began wrongly."""
    _begin(watch[0])
    return np.int64(_take_deal(games[0], rules[0], watch[0]))


@entry
def watch_step(games, rules, watch, action):
    """Applies an action, deals again after a deal, and checks everything; returns a ``Fault``."""
    row, account = games[0], watch[0]
    legal = _expected_legal(rules[0], account)
    if row.legal != legal or legal == ZERO:
        return np.int64(_F_LEGAL)
    account.step += 1
    if batch.step_one(games, rules, action) < 0:
        return np.int64(_F_REFUSED)
    _note(rules[0], account, action)
    fault = _compare(row, rules[0], account)
    if fault == _OK and account.tricks == account.hand_size:
        fault = _end_deal(row, rules[0], account)
        if fault == _OK and account.over:
            fault = _check_result(games, rules, account)
        elif fault == _OK:
            batch.next_deal_one(games, rules)
            fault = _take_deal(row, rules[0], account)
    return np.int64(fault)


@entry
def _begin(watch):
    watch.scores[:] = 0
    watch.exact[:] = 0
    watch.bid_totals[:] = 0
    watch.deals = 0
    watch.extra = 0
    watch.last_regular = 0
    watch.over = 0
    watch.step = 0


@entry
def _take_deal(row, rules, watch):
    """Checks a new deal and stores its cards."""
    players = rules.players
    if not 0 <= row.dealer < players:
        return _F_DEALER
    if watch.deals > 0 and row.dealer != (watch.dealer + 1) % players:
        return _F_DEALER
    place = np.int64(row.plan)
    if not rules.one_deal:
        expected = EXTRA_PLAN if watch.last_regular else watch.deals % rules.num_plans
        if row.deal != watch.deals or place != expected:
            return _F_PLAN
    blind = rules.plan_blind[place] != 0
    if rules.blind_once and (watch.last_regular or row.deal >= rules.num_plans):
        blind = False
    if row.hand_size != rules.plan_size[place] or (row.blind != 0) != blind:
        return _F_PLAN
    watch.hand_size = row.hand_size
    watch.dealer = row.dealer
    watch.blind = row.blind
    seen = ZERO
    for seat in range(8):
        hand = row.hands[seat]
        cards = watch.hand_size if seat < players else 0
        if count(hand) != cards or hand & seen != ZERO or hand & ~rules.pack != ZERO:
            return _F_CARDS
        seen = seen | hand
        watch.hands[seat] = hand
        watch.dealt[seat] = hand
    fault = _check_trump(row, rules, seen, rules.plan_trump[place])
    if fault != _OK:
        return fault
    watch.trump = row.trump
    return _open_bidding(row, rules, watch)


@entry
def _check_trump(row, rules, seen, source):
    turned, trump = np.int64(row.turned), np.int64(row.trump)
    if source == _TURNED_CARD:
        if turned < 0 or has(seen, turned) or not has(rules.pack, turned):
            return _F_TURNED
        return _OK if trump == turned // 13 else _F_TRUMP
    if source == _DEALER_CARD:
        if turned < 0 or not has(row.hands[row.dealer], turned):
            return _F_TURNED
        return _OK if trump == turned // 13 else _F_TRUMP
    if turned != NO_CARD:
        return _F_TURNED
    right = trump == NO_TRUMP
    if source == _FIXED_SUIT:
        right = trump == rules.fixed_suit
    elif source == _ROTATION:
        right = trump == rules.rotation[row.deal % rules.num_rotation]
    elif source == _RANDOM_SUIT:
        right = 0 <= trump < rules.num_suits
    return _OK if right else _F_TRUMP


@entry
def _open_bidding(row, rules, watch):
    watch.num_bids = 0
    watch.tricks = 0
    watch.plays = 0
    watch.broken = 0
    watch.in_trick = 0
    watch.bids[:] = NO_BID
    watch.won[:] = 0
    watch.trick[:] = NO_CARD
    watch.seat = (watch.dealer + 1) % rules.players
    watch.leader = watch.seat
    if row.phase != _BID or row.seat != watch.seat:
        return _F_OPENING
    for seat in range(rules.players):
        if row.bids[seat] != NO_BID or row.tricks_won[seat] != 0 or row.played[seat] != ZERO:
            return _F_OPENING
    return _OK


@entry
def _expected_legal(rules, watch):
    return (
        _legal_bids(rules, watch) if watch.num_bids < rules.players else _legal_cards(rules, watch)
    )


@entry
def _legal_bids(rules, watch):
    total = 0
    for seat in range(rules.players):
        if watch.bids[seat] != NO_BID:
            total += watch.bids[seat]
    hooked = watch.num_bids == rules.players - 1 and watch.hand_size >= rules.hook_from
    legal = ZERO
    for value in range(watch.hand_size + 1):
        if not (hooked and total + value == watch.hand_size):
            legal = legal | bit(value)
    return legal


@entry
def _legal_cards(rules, watch):
    hand, trump = watch.hands[watch.seat], watch.trump
    led = NO_TRUMP
    if watch.in_trick > 0:
        led = watch.trick[watch.leader] // 13
    top, top_trump = -1, -1  # highest card of the led suit, highest trump, in the trick
    for seat in range(rules.players):
        card = watch.trick[seat]
        if card != NO_CARD:
            if card // 13 == led:
                top = max(top, card)
            if card // 13 == trump:
                top_trump = max(top_trump, card)
    follows, heads, trumps, overtrumps, others = 0, 0, 0, 0, 0
    for card in range(52):
        if has(hand, card):
            suit = card // 13
            follows += suit == led
            heads += suit == led and card > top
            trumps += suit == trump
            overtrumps += suit == trump and card > top_trump
            others += suit != trump
    ruffed = trump != led and top_trump >= 0
    legal = ZERO
    for card in range(52):
        if has(hand, card):
            suit = card // 13
            allowed = True
            if watch.in_trick == 0:
                if suit == trump and others > 0:
                    allowed = _may_lead_trump(rules, watch)
            elif follows > 0:
                allowed = suit == led
                if rules.head and heads > 0 and not ruffed and card < top:
                    allowed = False
            elif trumps > 0 and rules.void != _FREE:
                allowed = suit == trump
                if overtrumps > 0 and rules.void != _MUST_TRUMP and card < top_trump:
                    allowed = False
                if overtrumps == 0 and rules.void == _OVER_ELSE_FREE:
                    allowed = True
            if allowed:
                legal = legal | bit(card)
    return legal


@entry
def _may_lead_trump(rules, watch):
    if rules.trump_lead == _AFTER_FIRST:
        return watch.tricks > 0
    if rules.trump_lead == _AFTER_BROKEN:
        return watch.broken != 0
    return rules.trump_lead == _ANY_LEAD


@entry
def _note(rules, watch, action):
    """Applies an action to the watcher's account."""
    if action >= BID_BASE:
        watch.bids[watch.seat] = action - BID_BASE
        watch.num_bids += 1
        watch.seat = (watch.seat + 1) % rules.players
        if watch.num_bids == rules.players:
            _note_first_lead(rules, watch)
    else:
        _note_card(rules, watch, action)


@entry
def _note_first_lead(rules, watch):
    if rules.highest_bidder_leads:
        best = np.int64(-1)
        for place in range(rules.players):
            seat = (watch.dealer + 1 + place) % rules.players
            if watch.bids[seat] > best:
                best = watch.bids[seat]
                watch.seat = seat
    watch.leader = watch.seat
    if watch.blind:
        for _ in range(rules.players):
            for card in range(52):
                if has(watch.dealt[watch.seat], card):
                    _note_card(rules, watch, card)
                    break


@entry
def _note_card(rules, watch, card):
    watch.hands[watch.seat] = watch.hands[watch.seat] & ~bit(card)
    watch.trick[watch.seat] = card
    watch.in_trick += 1
    watch.plays += 1
    if card // 13 == watch.trump:
        watch.broken = 1
    watch.seat = (watch.seat + 1) % rules.players
    if watch.in_trick == rules.players:
        winner = _winner(rules, watch)
        watch.won[winner] += 1
        watch.tricks += 1
        watch.in_trick = 0
        watch.trick[:] = NO_CARD
        watch.leader = winner
        watch.seat = winner


@entry
def _winner(rules, watch):
    led = watch.trick[watch.leader] // 13
    best, winner = np.int64(-1), np.int64(0)
    for seat in range(rules.players):
        card = watch.trick[seat]
        strength = card % 13
        if card // 13 == watch.trump:
            strength += 200
        elif card // 13 == led:
            strength += 100
        if strength > best:
            best, winner = strength, np.int64(seat)
    return winner


@entry
def _compare(row, rules, watch):
    """Compares the table with the watcher's account after a step."""
    finished = watch.tricks == watch.hand_size
    if row.seat != (NOBODY if finished else watch.seat):
        return _F_SEAT
    if not finished and row.phase != (_BID if watch.num_bids < rules.players else _PLAY):
        return _F_SEAT
    if row.trick_number != watch.tricks or row.trick_size != watch.in_trick:
        return _F_TRICKS
    for seat in range(rules.players):
        if row.hands[seat] != watch.hands[seat]:
            return _F_HANDS
        if row.hands[seat] | row.played[seat] != watch.dealt[seat]:
            return _F_HANDS
        if row.hands[seat] & row.played[seat] != ZERO:
            return _F_HANDS
        if row.bids[seat] != watch.bids[seat]:
            return _F_BIDS
        if row.tricks_won[seat] != watch.won[seat]:
            return _F_TRICKS
    return _OK


@entry
def _check_history(row, rules, watch):
    """Checks that every card played has its own place in the order of play, and others none."""
    places = ZERO
    played = 0
    for card in range(64):
        place = np.int64(row.place[card])
        if place != 0:
            if not 1 <= place <= watch.plays or has(places, place):
                return _F_HISTORY
            places = places | bit(place)
            played += 1
    if played != watch.plays or played != rules.players * watch.hand_size:
        return _F_HISTORY
    return _OK


@entry
def _end_deal(row, rules, watch):
    """Scores the deal and compares the points."""
    fault = _check_history(row, rules, watch)
    total = 0
    for seat in range(rules.players):
        bid, won = watch.bids[seat], watch.won[seat]
        points = np.int64(rules.points[watch.hand_size, bid, won])
        total += won
        watch.scores[seat] += points
        watch.exact[seat] += bid == won
        watch.bid_totals[seat] += bid
        if row.points[seat] != points:
            fault = _F_POINTS
        if row.scores[seat] != watch.scores[seat]:
            fault = _F_SCORES
        if row.exact_bids[seat] != watch.exact[seat]:
            fault = _F_SCORES
        if row.bid_totals[seat] != watch.bid_totals[seat]:
            fault = _F_SCORES
    if total != watch.hand_size:
        fault = _F_TRICKS
    _note_end(rules, watch)
    if row.phase != (_OVER if watch.over else _SCORED) or row.legal != ZERO:
        fault = _F_END
    return fault


@entry
def _note_end(rules, watch):
    watch.deals += 1
    best = watch.scores[0]
    for seat in range(rules.players):
        best = max(best, watch.scores[seat])
    leaders = 0
    for seat in range(rules.players):
        leaders += watch.scores[seat] == best
    if watch.last_regular:
        watch.extra += 1
    elif watch.deals >= rules.max_deals or (rules.target > 0 and best >= rules.target):
        watch.last_regular = 1
    tied = rules.tie_break == _EXTRA_DEALS and leaders > 1 and watch.extra < MAX_EXTRA_DEALS
    if rules.one_deal or (watch.last_regular and not tied):
        watch.over = 1


@entry
def _check_result(games, compiled, watch):
    """Checks win shares and payments at the end of the game."""
    rules = compiled[0]
    players = rules.players
    shares, paid = np.zeros(players), np.zeros(players)
    batch.results_one(games, compiled, shares, paid)
    winners = 0
    for seat in range(players):
        wins = True
        for other in range(players):
            if _better(rules, watch, other, seat):
                wins = False
        if wins != (shares[seat] > 0.0):
            return _F_WINNERS
        winners += wins
    total, largest = 0.0, 0.0
    for seat in range(players):
        if shares[seat] > 0.0 and abs(shares[seat] * winners - 1.0) > 1e-12:
            return _F_WINNERS
        total += paid[seat]
        largest = max(largest, abs(paid[seat]))
    return _OK if abs(total) <= 1e-12 * players * largest else _F_PAYMENT


@entry
def _better(rules, watch, one, other):
    """Returns whether one seat ranks above another at the end."""
    if watch.scores[one] != watch.scores[other]:
        return watch.scores[one] > watch.scores[other]
    if rules.tie_break == _MOST_EXACT:
        return watch.exact[one] > watch.exact[other]
    if rules.tie_break == _BID_TOTAL:
        return watch.bid_totals[one] > watch.bid_totals[other]
    return False
