"""The meaning of each axis of the rules at the table, in sentences for a card player.

One function for each part of the rules reads the settings; no variant has texts of its own. Hand
sizes, trumps and points come from ``schedule.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from ohhell_env.rules import schedule as plan
from ohhell_env.rules.axes import Scoring
from ohhell_env.rules.phrases import (
    compact,
    count,
    deal_list,
    enumerate_words,
    hand,
    made_words,
    missed_words,
    nil_words,
    ranks_removed,
    removed_words,
    scoring_name,
    suit_word,
)
from ohhell_env.rules.rules import Rules
from ohhell_env.rules.schedule import DealPlan, TrumpSource
from ohhell_env.rules.variants import VARIANTS

_SMALL_HAND = 3
"""Hand size of the score table, unless all hands of the game are smaller."""
_MOST_TABLES = 4
"""The most score tables to show for a custom table of points."""
_EXAMPLE_HAND = 5
"""Preferred hand size in the example of the hook."""
_EXAMPLE_BIDS = (2, 0, 1)


class Table(NamedTuple):
    """Numbers under a caption."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Part = str | Table
"""An item in a part of the rules: a sentence, or a table after the sentences."""


def _players(rules: Rules) -> Iterator[Part]:
    variant = VARIANTS.get(rules.name)
    usual = "" if variant is None else f" (usually {variant.usual[0]} to {variant.usual[1]})"
    yield f"{rules.players} players{usual}, each playing alone. Turns pass clockwise."
    pack = rules.pack
    suits = enumerate_words([suit_word(suit, pack) for suit in pack.suits])
    ranks = " ".join(rank for rank in pack.ranks if rank not in ranks_removed(pack))
    yield f"A pack of {pack.size} cards: {suits}. Each suit ranks from low to high: {ranks}."
    if pack.removed:
        yield f"Cards removed before the game, known to all: {removed_words(pack)}."


def _hand_sizes(rules: Rules) -> Iterator[Part]:
    sizes = plan.hand_sizes(rules)
    if rules.end.target is None:
        yield f"{count(len(sizes), 'deal')}. Cards dealt to each player: {compact(sizes)}."
    elif len(sizes) == 1:
        yield f"Each player gets {count(sizes[0], 'card')} in every deal."
    else:
        yield f"Cards dealt to each player: {compact(sizes)}; then the list starts again."
    twice = next((pair[0] for pair in pairwise(sizes) if pair[0] == pair[1]), None)
    if twice is not None:
        times = next(len(list(same)) for size, same in groupby(sizes) if size == twice)
        yield f"({twice}x{times} means {times} deals of {hand(twice)}.)"
    yield "Each deal has as many tricks as each player has cards."
    yield from _overflow(rules, sizes)
    yield from _left_over(rules)


def _overflow(rules: Rules, sizes: tuple[int, ...]) -> Iterator[str]:
    schedule = rules.schedule
    if schedule.shape in ("constant", "explicit") or schedule.high == "max":
        return
    if max(sizes) < schedule.high and schedule.max_deals is None:
        most = max(sizes)
        if schedule.overflow == "plateau":
            yield (
                f"The list goes up to {schedule.high} cards. The pack allows {rules.players} "
                f"players at most {most} each, so larger hands are cut to {most}."
            )
        else:
            yield (
                f"Hands go up to {schedule.high} cards if the pack is large enough; with "
                f"{rules.players} players they stop at {most}."
            )


def _left_over(rules: Rules) -> Iterator[str]:
    plans = plan.deal_plans(rules)
    left = {
        rules.pack.size - one.hand_size * rules.players - (one.trump == TrumpSource.TURNED_CARD)
        for one in plans
    }
    if len(left) > 1:
        yield "Undealt cards stay face down, unseen."
    elif left != {0}:
        number = left.pop()
        verb = "is" if number == 1 else "are"
        yield f"{count(number, 'card')} {verb} set aside face down in each deal, unseen."


def _dealer(rules: Rules) -> Iterator[Part]:
    first = rules.first_dealer
    yield {
        "random": "The first dealer is chosen at random.",
        "first_jack": (
            "Cards are dealt face up, one at a time. The player who gets the first jack shuffles "
            "all the cards and deals first."
        ),
        "high_card": (
            "Each player draws a card. The highest card deals first; players who tie for it draw "
            "again."
        ),
    }.get(str(first), f"Seat {first} deals first (seats are numbered from 0).")
    yield "The player to the dealer's left is called eldest, and deals next."


def _trumps(rules: Rules) -> Iterator[Part]:
    plans = plan.deal_plans(rules)
    deals_of: dict[str, list[int]] = {}
    for deal, one in enumerate(plans):
        deals_of.setdefault(_trump_words(rules, deal, one), []).append(deal)
    for words, deals in deals_of.items():
        if len(deals_of) == 1:
            yield words[0].upper() + words[1:] + "."
        else:
            yield f"{_deals(rules, deals)}: {words}."
    yield from _rotation(rules, plans)
    forbids = rules.trump.method == "turn_up" and rules.trump.exhausted == "forbid"
    if forbids and any(one.trump == TrumpSource.TURNED_CARD for one in plans):
        yield "Hands stay small enough to leave a card to turn."
    hidden = {TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD, TrumpSource.RANDOM_SUIT}
    if rules.trump.revealed == "after_bidding" and any(one.trump in hidden for one in plans):
        yield "The trump suit is revealed only after the bidding; nobody knows it while bidding."


def _trump_words(rules: Rules, deal: int, one: DealPlan) -> str:
    if one.trump == TrumpSource.NO_TRUMP:
        return _no_trump_words(rules, deal, one)
    if one.trump == TrumpSource.FIXED_SUIT and rules.trump.suit is not None:
        return f"{suit_word(rules.trump.suit, rules.pack)} are trumps; no card is turned"
    words = _TRUMP_WORDS[one.trump]
    if rules.trump.method == "turn_up" and one.trump != TrumpSource.TURNED_CARD:
        return f"no card is left to turn, so {words}"
    return words


_TRUMP_WORDS = {
    TrumpSource.TURNED_CARD: (
        "after the deal the next card is turned face up, and its suit is trump; that card belongs "
        "to no hand and is not played"
    ),
    TrumpSource.DEALER_CARD: (
        "the dealer's last card is shown to all, and its suit is trump; the dealer keeps it and "
        "plays it like any other card"
    ),
    TrumpSource.ROTATION: "the trump suit follows a list; no card is turned",
    TrumpSource.RANDOM_SUIT: "the trump suit is drawn at random; no card is shown",
}


def _no_trump_words(rules: Rules, deal: int, one: DealPlan) -> str:
    trump, sizes = rules.trump, plan.hand_sizes(rules)
    if trump.no_trump_deals == "final" and deal == len(sizes) - 1:
        reason = "the last deal has no trumps; no card is turned"
    elif trump.no_trump_deals == "largest" and one.hand_size == max(sizes):
        reason = "the largest hands have no trumps; no card is turned"
    elif trump.method == "none":
        reason = "there are no trumps"
    else:
        reason = "no card is left to turn, so there are no trumps"
    return reason


def _rotation(rules: Rules, plans: tuple[DealPlan, ...]) -> Iterator[str]:
    suits = rules.trump.rotation
    by_list = [deal for deal, one in enumerate(plans) if one.trump == TrumpSource.ROTATION]
    if not by_list:
        return
    names = [suit_word(suit, rules.pack) for suit in suits]
    yield f"The list starts with deal 1 and repeats: {enumerate_words(names, last=', ')}."
    if rules.end.target is None:
        for name in dict.fromkeys(names):
            deals = [deal for deal in by_list if names[deal % len(names)] == name]
            if deals:
                yield f"{_deals(rules, deals)}: {name}."


def _bidding(rules: Rules) -> Iterator[Part]:
    if rules.bidding.order == "simultaneous":
        yield "After the deal all players bid at once; the bids are revealed together."
    else:
        yield "After the deal each player bids once, in turn from eldest; the dealer bids last."
    yield "A bid is the number of tricks a player aims to win, from nil (none) to all of them."
    yield "Everyone must bid. Bids are public and cannot be changed."
    yield from _hook(rules)
    if rules.bidding.announce:
        yield (
            "The scorekeeper then announces whether the bids are over, under or even: whether "
            "they total more than the number of tricks, less, or exactly that number. Bids are "
            "public, so the announcement does not affect the play."
        )
    blind = [deal for deal, one in enumerate(plan.deal_plans(rules)) if one.blind]
    if blind:
        once = rules.blind_one_card == "first" and rules.end.target is not None
        which = "blind the first time through" if once else "blind"
        verb = "is" if len(blind) == 1 else "are"
        yield (
            f"{_deals(rules, blind)} {verb} {which}: players see every card except their own, bid, "
            "and then play the one card they hold."
        )


def _hook(rules: Rules) -> Iterator[str]:
    bidding = rules.bidding
    if bidding.hook == "none":
        yield "There is no hook: the bids may total any number, so everyone can make their bid."
        return
    hooked = [size for size in plan.hand_sizes(rules) if size >= bidding.hook_min_hand]
    if not hooked:
        yield f"The hook starts at {hand(bidding.hook_min_hand)}, so it never applies here."
        return
    where = "" if bidding.hook_min_hand == 1 else f", from {hand(bidding.hook_min_hand)} on"
    yield (
        f"The hook{where}: the dealer may not make the bids total the number of tricks, so "
        "somebody must miss."
    )
    size = min(hooked, key=lambda size: (abs(size - _EXAMPLE_HAND), size))
    bids, barred = example_bids(size, rules.players)
    made = enumerate_words([_bid(bid) for bid in bids])
    yield (
        f"Example: with {hand(size)} and {'bids' if len(bids) > 1 else 'a bid'} of {made} so far, "
        f"the dealer may not bid {_bid(barred)}."
    )


def example_bids(hand_size: int, players: int) -> tuple[list[int], int]:
    """Returns example bids of the other players, and the bid that the hook then bars.

    Args:
        hand_size: Cards in each hand.
        players: Number of players, including the dealer.
    """
    bids: list[int] = []
    left = hand_size
    for seat in range(players - 1):
        bids.append(min(_EXAMPLE_BIDS[seat % len(_EXAMPLE_BIDS)], left))
        left -= bids[-1]
    return bids, left


def _play(rules: Rules) -> Iterator[Part]:
    play = rules.play
    if play.first_lead == "eldest":
        yield "Eldest leads to the first trick."
    else:
        yield (
            "The highest bidder leads to the first trick. If several made the highest bid, the one "
            "who comes first from eldest leads."
        )
    yield "The winner of each trick leads to the next. Players must follow suit if they can."
    if play.head_led_suit:
        yield (
            "A player who follows suit must beat the best card of the suit led if they can, unless "
            "a trump has been played to a lead of another suit."
        )
    if all(one.trump == TrumpSource.NO_TRUMP for one in plan.deal_plans(rules)):
        yield "A player who cannot follow may discard any card."
        yield "The highest card of the suit led wins the trick."
        return
    yield _VOID[play.void]
    yield _TRUMP_LEAD[play.trump_lead]
    yield "The highest trump wins the trick; without a trump, the highest card of the suit led."


_VOID = {
    "any": (
        "A player who cannot follow may play any card: a trump (a ruff) or another suit "
        "(a discard)."
    ),
    "must_trump": (
        "A player who cannot follow must play a trump if they hold one. It need not beat a trump "
        "already played."
    ),
    "must_overtrump_else_trump": (
        "A player who cannot follow must play a trump if they hold one, and must beat any trump "
        "already played if they can."
    ),
    "must_overtrump_else_free": (
        "A player who cannot follow must play a trump that beats any trump already played. "
        "Without one, they may play any card."
    ),
}
_TRUMP_LEAD = {
    "anytime": "Trumps may be led at any time.",
    "after_first_trick": (
        "Trumps may not be led to the first trick, except by a player who holds nothing else."
    ),
    "after_broken": (
        "Trumps may not be led until one has been played in the deal, except by a player who "
        "holds nothing else."
    ),
    "when_forced": "Trumps may be led only by a player who holds nothing else.",
}


def _scoring(rules: Rules) -> Iterator[Part]:
    scoring = rules.scoring
    yield "A bid is made by winning exactly that many tricks. One more or one fewer misses it."
    if scoring.table is None:
        yield f"A made bid {made_words(scoring)}."
        yield f"A missed bid {missed_words(scoring)}."
        if scoring.nil_made is not None:
            yield f"A made nil {nil_words(scoring.nil_made)} instead."
        if scoring.nil_missed is not None:
            yield f"A missed nil {nil_words(scoring.nil_missed)} instead."
        name = scoring_name(scoring)
        if name is not None:
            yield f"(The settings call this scoring {name!r}.)"
    else:
        yield "A custom table sets the points."
    for size in _table_sizes(rules):
        yield score_table(scoring, size, size in plan.hand_sizes(rules))
    yield from _nil_table(rules)


def _table_sizes(rules: Rules) -> list[int]:
    """Hand sizes whose points are shown; one is enough to illustrate a formula."""
    sizes = sorted(set(plan.hand_sizes(rules)))
    if rules.scoring.table is not None:
        return sizes[:_MOST_TABLES]
    return [min(_SMALL_HAND, sizes[-1])]


def score_table(scoring: Scoring, hand_size: int, is_dealt: bool = True) -> Table:
    """Returns the points of every bid (columns) with every number of tricks won (rows)."""
    numbers = range(hand_size + 1)
    dealt = "" if is_dealt else " (an example; no deal has this hand size)"
    return Table(
        f"Points with {hand(hand_size)}{dealt}, by tricks won (rows) and bid (columns):",
        ("tricks won", *(_bid(bid) for bid in numbers)),
        tuple(
            (str(won), *(str(plan.points(scoring, bid, won, hand_size)) for bid in numbers))
            for won in numbers
        ),
    )


def _nil_table(rules: Rules) -> Iterator[Table]:
    """The points of a nil, if they depend on the hand size."""
    sizes = sorted(set(plan.hand_sizes(rules)))
    rows: list[tuple[str, ...]] = []
    for won, label in ((0, "made"), (1, "missed by one")):
        points = [plan.points(rules.scoring, 0, won, size) for size in sizes]
        if len(set(points)) > 1:
            rows.append((label, *map(str, points)))
    if rows:
        yield Table("Points for a nil bid, by hand size:", ("nil", *map(str, sizes)), tuple(rows))


def _end(rules: Rules) -> Iterator[Part]:
    target, deals = rules.end.target, plan.num_deals(rules)
    if target is None:
        yield f"The game ends after deal {deals}."
    else:
        yield (
            f"The game ends when a player's score reaches {target}. That deal is played and scored "
            "in full."
        )
        yield (
            f"It ends after deal {deals} in any case."
            if rules.end.max_deals is not None
            else f"That takes at most {count(deals, 'deal')}."
        )
    yield "The highest score wins."
    yield {
        "shared": "Players who tie for the highest score share the win.",
        "extra_deals": (
            f"After a tie, extra deals of {hand(max(plan.hand_sizes(rules)))} follow until one "
            f"player leads. If {plan.MAX_EXTRA_DEALS} extra deals do not break the tie, the win is "
            "shared."
        ),
        "most_exact_bids": (
            "After a tie, the tied player with the most made bids wins. If those are equal too, "
            "the win is shared."
        ),
        "largest_bid_total": (
            "After a tie, the tied player whose bids add up to the most wins. If those are equal "
            "too, the win is shared."
        ),
    }[rules.tie_break]


def _settlement(rules: Rules) -> Iterator[Part]:
    settlement, bonus = rules.settlement, rules.hard_score_bonus
    if settlement.kind == "differences":
        if bonus:
            change = f"{'gains' if bonus > 0 else 'loses'} {count(abs(bonus), 'point')}"
            yield f"Before the settlement, each winner's score {change}."
        yield (
            "Each pair of players settles the difference between their scores, at "
            f"{settlement.rate:g} per point."
        )
    if settlement.kind == "pool":
        yield f"Each player pays {settlement.ante:g} into a pool, and the winner takes it all."
        yield "Joint winners divide it equally."


BUILDERS = (
    ("Players and pack", _players),
    ("Hand sizes", _hand_sizes),
    ("Dealer", _dealer),
    ("Trumps", _trumps),
    ("Bidding", _bidding),
    ("Play", _play),
    ("Points", _scoring),
    ("End of the game", _end),
    ("Settlement", _settlement),
)
"""The parts of the rules in order, each with its heading."""


def _bid(bid: int) -> str:
    return "nil" if bid == 0 else str(bid)


def _deals(rules: Rules, deals: list[int]) -> str:
    names = deal_list([deal + 1 for deal in deals])
    return names if rules.end.target is None else f"{names} of the list"
