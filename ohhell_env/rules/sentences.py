"""What each axis of the rules means at the table, in sentences for a card player.

One function for each part of the rules reads the settings; no variant has words of its own. Hand
sizes, trumps and points are asked of ``schedule.py``.
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
"""Hand size of the score table, where the game has so large a hand."""
_MOST_TABLES = 4
"""Score tables shown at most, where the points stand in a custom table."""
_EXAMPLE_HAND = 5
"""Hand size of the example of the hook, where the game has it."""
_EXAMPLE_BIDS = (2, 0, 1)


class Table(NamedTuple):
    """Numbers under a caption."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Part = str | Table
"""What a part of the rules is told with: a sentence, or a table after the sentences."""


def _players(rules: Rules) -> Iterator[Part]:
    variant = VARIANTS.get(rules.name)
    usual = "" if variant is None else f" ({variant.usual[0]} to {variant.usual[1]} are usual)"
    yield f"{rules.players} players{usual}, each for himself; everything goes clockwise."
    pack = rules.pack
    suits = enumerate_words([suit_word(suit, pack) for suit in pack.suits])
    ranks = " ".join(rank for rank in pack.ranks if rank not in ranks_removed(pack))
    yield f"A pack of {pack.size} cards: {suits}; from low to high {ranks}."
    if pack.removed:
        yield f"Taken out before the game, as everybody knows: {removed_words(pack)}."


def _hand_sizes(rules: Rules) -> Iterator[Part]:
    sizes = plan.hand_sizes(rules)
    if rules.end.target is None:
        yield f"{count(len(sizes), 'deal')}. Cards for each player, deal by deal: {compact(sizes)}."
    elif len(sizes) == 1:
        yield f"Every deal has {hand(sizes[0])}."
    else:
        yield f"Cards for each player, deal by deal and then over again: {compact(sizes)}."
    twice = next((pair[0] for pair in pairwise(sizes) if pair[0] == pair[1]), None)
    if twice is not None:
        times = next(len(list(same)) for size, same in groupby(sizes) if size == twice)
        yield f"({twice}x{times} stands for {times} deals of {hand(twice)}.)"
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
                f"The list goes up to {schedule.high} cards; hands of more than {most}, too many "
                f"for {rules.players} players, are cut to {most}."
            )
        else:
            yield (
                f"Hands go up to {schedule.high} cards where the pack serves so many; for "
                f"{rules.players} players {most} is the most."
            )


def _left_over(rules: Rules) -> Iterator[str]:
    plans = plan.deal_plans(rules)
    left = {
        rules.pack.size - one.hand_size * rules.players - (one.trump == TrumpSource.TURNED_CARD)
        for one in plans
    }
    if len(left) > 1:
        yield "Cards that are left over lie face down; nobody sees them."
    elif left != {0}:
        number = left.pop()
        are, them = ("is", "it") if number == 1 else ("are", "them")
        yield f"{count(number, 'card')} {are} set aside face down in each deal; nobody sees {them}."


def _dealer(rules: Rules) -> Iterator[Part]:
    first = rules.first_dealer
    yield {
        "random": "Chance decides who deals first.",
        "first_jack": (
            "Cards are dealt face up one by one; the player who gets the first jack deals first, "
            "after shuffling them all."
        ),
        "high_card": (
            "Everybody draws a card; the highest deals first, and those who tie for it draw again."
        ),
    }.get(str(first), f"Seat {first} deals first (seats count from 0).")
    yield "The deal then passes to the left, one seat a deal."
    yield "Eldest is the player to the dealer's left."


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
        yield "Hands are kept so small that a card is always left to turn."
    hidden = {TrumpSource.TURNED_CARD, TrumpSource.DEALER_CARD, TrumpSource.RANDOM_SUIT}
    if rules.trump.revealed == "after_bidding" and any(one.trump in hidden for one in plans):
        yield "Trumps are made known only after the bidding; nobody knows them when bidding."


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
        "after the deal the next card is turned and its suit is trump; it lies in nobody's hand "
        "and is not played"
    ),
    TrumpSource.DEALER_CARD: (
        "the dealer's own last card is shown and its suit is trump; it stays in his hand and is "
        "played like any other"
    ),
    TrumpSource.ROTATION: "trumps go by a list; no card is turned",
    TrumpSource.RANDOM_SUIT: "chance names the trump suit; only the suit is known",
}


def _no_trump_words(rules: Rules, deal: int, one: DealPlan) -> str:
    trump, sizes = rules.trump, plan.hand_sizes(rules)
    if trump.no_trump_deals == "final" and deal == len(sizes) - 1:
        reason = "it is the last, so there are no trumps and no card is turned"
    elif trump.no_trump_deals == "largest" and one.hand_size == max(sizes):
        reason = "the hands are the largest, so there are no trumps and no card is turned"
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
    yield f"The list, from deal 1 on and over again: {enumerate_words(names, last=', ')}."
    if rules.end.target is None:
        for name in dict.fromkeys(names):
            deals = [deal for deal in by_list if names[deal % len(names)] == name]
            if deals:
                yield f"{_deals(rules, deals)}: {name}."


def _bidding(rules: Rules) -> Iterator[Part]:
    if rules.bidding.order == "simultaneous":
        yield "After the deal all bid at once: nobody sees a bid before everybody has made one."
    else:
        yield "After the deal the bids go round once, from eldest; the dealer bids last."
    yield "A bid is the number of tricks a player means to win, from nil (none) to all of them."
    yield "Everybody must bid; a bid is seen by all and cannot be changed."
    yield from _hook(rules)
    if rules.bidding.announce:
        yield (
            "The scorekeeper then announces whether the bids together are over, under or even: "
            "more than the tricks of the deal, fewer, or as many. Everybody could count that for "
            "themselves, so it changes nothing in the play."
        )
    blind = [deal for deal, one in enumerate(plan.deal_plans(rules)) if one.blind]
    if blind:
        once = rules.blind_one_card == "first" and rules.end.target is not None
        which = "blind, the first time through the list" if once else "blind"
        verb = "is" if len(blind) == 1 else "are"
        yield (
            f"{_deals(rules, blind)} {verb} {which}: every player sees "
            "the others' cards but not his own, bids, and the cards then play themselves."
        )


def _hook(rules: Rules) -> Iterator[str]:
    bidding = rules.bidding
    if bidding.hook == "none":
        yield "There is no hook: the bids may total anything, so that everybody may succeed."
        return
    hooked = [size for size in plan.hand_sizes(rules) if size >= bidding.hook_min_hand]
    if not hooked:
        yield "The hook applies to no hand as small as those of this game."
        return
    where = "" if bidding.hook_min_hand == 1 else f", from {hand(bidding.hook_min_hand)} on"
    yield (
        f"The hook{where}: the dealer may not make the bids total the tricks of the deal, so that "
        "not everybody can succeed."
    )
    size = min(hooked, key=lambda size: (abs(size - _EXAMPLE_HAND), size))
    bids, barred = example_bids(size, rules.players)
    made = enumerate_words([_bid(bid) for bid in bids])
    yield (
        f"Example: with {hand(size)} and {'bids' if len(bids) > 1 else 'a bid'} of {made} before "
        f"him, the dealer may not bid {_bid(barred)}."
    )


def example_bids(hand_size: int, players: int) -> tuple[list[int], int]:
    """Returns bids of the players before the dealer, and the bid that the hook then bars.

    Args:
        hand_size: Cards in each hand.
        players: Number of players, the dealer with them.
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
        yield "The highest bidder leads to the first trick; of several, the first from eldest on."
    yield "The winner of a trick leads to the next; whoever holds the suit led must follow it."
    if play.head_led_suit:
        yield (
            "Who follows must beat the best card of the suit led if he can, unless a trump has "
            "been played to another suit."
        )
    if all(one.trump == TrumpSource.NO_TRUMP for one in plan.deal_plans(rules)):
        yield "Who cannot follow may discard any card; the highest card of the suit led wins."
        return
    yield _VOID[play.void]
    yield _TRUMP_LEAD[play.trump_lead]
    yield "The highest trump wins the trick; without one, the highest card of the suit led."


_VOID = {
    "any": "Who cannot follow may play any card, a trump (a ruff) or not (a discard).",
    "must_trump": (
        "Who cannot follow must play a trump if he holds one; it need not beat those in the trick."
    ),
    "must_overtrump_else_trump": (
        "Who cannot follow must play a trump if he holds one, and beat the trumps in the trick "
        "if he can."
    ),
    "must_overtrump_else_free": (
        "Who cannot follow must play a trump that beats those in the trick; if he has none such, "
        "he may play any card."
    ),
}
_TRUMP_LEAD = {
    "anytime": "Trumps may be led at any time.",
    "after_first_trick": (
        "Trumps may not be led to the first trick, except from a hand of nothing else."
    ),
    "after_broken": (
        "Trumps may not be led until one has been played in the deal, except from a hand of "
        "nothing else."
    ),
    "when_forced": "Trumps may be led only from a hand of nothing else.",
}


def _scoring(rules: Rules) -> Iterator[Part]:
    scoring = rules.scoring
    yield "A bid is made by winning exactly so many tricks; one more or one less misses it."
    if scoring.table is None:
        yield f"A made bid {made_words(scoring)}."
        yield f"A missed bid {missed_words(scoring)}."
        if scoring.nil_made is not None:
            yield f"A made nil {nil_words(scoring.nil_made)} instead."
        if scoring.nil_missed is not None:
            yield f"A missed nil {nil_words(scoring.nil_missed)} instead."
        name = scoring_name(scoring)
        if name is not None:
            yield f"(In the settings this scoring is called {name!r}.)"
    else:
        yield "The points stand in a table of their own."
    for size in _table_sizes(rules):
        yield score_table(scoring, size, size in plan.hand_sizes(rules))
    yield from _nil_table(rules)


def _table_sizes(rules: Rules) -> list[int]:
    """Hand sizes whose points are shown; one is enough to see a formula at work."""
    sizes = sorted(set(plan.hand_sizes(rules)))
    if rules.scoring.table is not None:
        return sizes[:_MOST_TABLES]
    return [min(_SMALL_HAND, sizes[-1])]


def score_table(scoring: Scoring, hand_size: int, is_dealt: bool = True) -> Table:
    """Returns the points of every bid (columns) with every number of tricks won (rows)."""
    numbers = range(hand_size + 1)
    example = "" if is_dealt else ", as an example"
    return Table(
        f"Points with {hand(hand_size)}, by bid{example}:",
        ("tricks won", *(_bid(bid) for bid in numbers)),
        tuple(
            (str(won), *(str(plan.points(scoring, bid, won, hand_size)) for bid in numbers))
            for won in numbers
        ),
    )


def _nil_table(rules: Rules) -> Iterator[Table]:
    """The points of a nil, where they depend on the hand size."""
    sizes = sorted(set(plan.hand_sizes(rules)))
    rows: list[tuple[str, ...]] = []
    for won, label in ((0, "made"), (1, "missed by one")):
        points = [plan.points(rules.scoring, 0, won, size) for size in sizes]
        if len(set(points)) > 1:
            rows.append((label, *map(str, points)))
    if rows:
        yield Table("Points of a nil, by hand size:", ("nil", *map(str, sizes)), tuple(rows))


def _end(rules: Rules) -> Iterator[Part]:
    target, deals = rules.end.target, plan.num_deals(rules)
    if target is None:
        yield f"The game ends with deal {deals}."
    else:
        yield f"The game ends with the deal in which a score reaches {target}, played to its end."
        yield (
            f"It ends with deal {deals} in any case."
            if rules.end.max_deals is not None
            else f"That takes {count(deals, 'deal')} at most."
        )
    yield "The highest score wins."
    yield {
        "shared": "Players who tie for it share the win.",
        "extra_deals": (
            f"If players tie for it, further deals of {hand(max(plan.hand_sizes(rules)))} follow "
            f"until one is ahead; after {plan.MAX_EXTRA_DEALS} of them the win is shared."
        ),
        "most_exact_bids": (
            "Of players who tie for it, the one with more made bids wins; if those are equal too, "
            "they share the win."
        ),
        "largest_bid_total": (
            "Of players who tie for it, the one whose bids total more wins; if those are equal "
            "too, they share the win."
        ),
    }[rules.tie_break]


def _settlement(rules: Rules) -> Iterator[Part]:
    settlement, bonus = rules.settlement, rules.hard_score_bonus
    if settlement.kind == "differences":
        if bonus:
            more = "more" if bonus > 0 else "fewer"
            points = "point" if abs(bonus) == 1 else "points"
            yield f"Before settling, each winner's score gets {abs(bonus)} {more} {points}."
        yield (
            "Every two players settle the difference of their scores, at "
            f"{settlement.rate:g} a point."
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
"""The parts of the rules in the order in which they are told, each with its heading."""


def _bid(bid: int) -> str:
    return "nil" if bid == 0 else str(bid)


def _deals(rules: Rules, deals: list[int]) -> str:
    names = deal_list([deal + 1 for deal in deals])
    return names if rules.end.target is None else f"{names} of the list"
