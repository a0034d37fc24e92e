"""A naive referee, written from the rules alone: a second opinion on everything that is decided.

It imports nothing of the project and shares no formula with it: cards are names such as "TH", hands
are sets of names, and the rules are the plain dict that ``Rules.to_dict`` gives. It deals nothing
itself: it is told who holds what, complains if that breaks the rules, and then says whose turn it
is, what is legal, who wins what, and what everybody gets. It is slow and meant to be read.
"""

from __future__ import annotations

import itertools
from typing import Any

EXTRA_DEALS = 10
"""Extra deals that break a tie at most."""


class FoulError(Exception):
    """The deal or the action breaks the rules."""


class Referee:
    """Watches one game under the given rules (a plain dict)."""

    def __init__(self, rules: dict) -> None:
        self.rules = rules
        self.n = rules["players"]
        pack = rules["pack"]
        names = [rank + suit for suit in pack["suits"] for rank in pack["ranks"]]
        self.pack = [name for name in names if name not in pack["removed"]]
        self.strength = {rank: i for i, rank in enumerate(pack["ranks"])}
        self.sizes = self.hand_sizes()
        self.scores = [0] * self.n
        self.bid_totals = [0] * self.n
        self.exact_bids = [0] * self.n
        self.deals_played = 0
        self.last_regular: int | None = None
        self.over = False
        self.deal_points: list[int] = []

    # ---------------------------------------------------------------- schedule

    def hand_sizes(self) -> list[int]:
        """Hand sizes of the schedule, played once through."""
        plan = self.rules["schedule"]
        most, high = len(self.pack) // self.n, plan["high"]
        if plan["shape"] in ("explicit", "constant"):
            count = plan["deals"] or 1  # with a target the one size is dealt again and again
            tops = [most, most - 1] if high == "max" else [high]
            listed = [list(plan["sizes"])] if plan["sizes"] else [[top] * count for top in tops]
            choices = [self._finished(sizes) for sizes in listed]
        elif high == "max" or plan["overflow"] == "scale":
            ladder = range(plan["low"], (most if high == "max" else min(high, most)) + 1)
            choices = [self._shaped(top) for top in ladder[:: plan["step"]][::-1]]
        else:
            caps = range(most, 0, -1) if plan["overflow"] == "plateau" else [high]
            choices = [[min(size, cap) for size in self._shaped(high)] for cap in caps]
        for sizes in choices:
            if self._fits(sizes):
                return sizes
        raise FoulError("a deal is too large for the pack")

    def _shaped(self, high: int) -> list[int]:
        plan = self.rules["schedule"]
        rungs = list(range(plan["low"], high + 1, plan["step"]))
        if len(rungs) == 1:
            longest = max(self._times("repeat_low"), self._times("repeat_high"))
            return self._finished(rungs * longest)
        ends = {rungs[0]: self._times("repeat_low"), rungs[-1]: self._times("repeat_high")}
        path = {
            "up": rungs,
            "down": rungs[::-1],
            "up_down": rungs + rungs[-2::-1],
            "down_up": rungs[:0:-1] + rungs,
        }[plan["shape"]]
        return self._finished([size for size in path for _ in range(ends.get(size, 1))])

    def _finished(self, sizes: list[int]) -> list[int]:
        sizes = [size for size in sizes for _ in range(self._times("repeat_each"))]
        return sizes[: self.rules["schedule"]["max_deals"]]

    def _times(self, key: str) -> int:
        value = self.rules["schedule"][key]
        return self.n if value == "players" else value

    def _fits(self, sizes: list[int]) -> bool:
        trump = self.rules["trump"]
        forbids = trump["method"] == "turn_up" and trump["exhausted"] == "forbid"
        for d, size in enumerate(sizes):
            turns_a_card = forbids and not self._declared_no_trump(d, size, sizes)
            if self.n * size + turns_a_card > len(self.pack):
                return False
        return True

    def hand_size_of(self, d: int) -> int:
        """Hand size of deal ``d`` (from 0), the extra deals after a tie among them."""
        return max(self.sizes) if self._is_extra(d) else self.sizes[d % len(self.sizes)]

    def _is_extra(self, d: int) -> bool:
        return self.last_regular is not None and d > self.last_regular

    # ---------------------------------------------------------------- trump

    def _declared_no_trump(self, d: int, size: int, sizes: list[int]) -> bool:
        which = self.rules["trump"]["no_trump_deals"]
        final = which == "final" and d == len(sizes) - 1
        return final or (which == "largest" and size == max(sizes))

    def _method(self, d: int, size: int) -> str:
        """How the trump of deal ``d`` is found."""
        trump = self.rules["trump"]
        if self._declared_no_trump(d, size, self.sizes):
            return "none"
        exhausted = trump["method"] == "turn_up" and self.n * size == len(self.pack)
        return trump["exhausted"] if exhausted else trump["method"]

    def expected_trump(self, d: int, turned: str | None, hands: list, dealer: int) -> set[str]:
        """The trumps that are right for deal ``d``: one, or several where chance decides."""
        trump, method = self.rules["trump"], self._method(d, len(hands[0]))
        if method not in ("turn_up", "dealer_last_card"):
            if turned is not None:
                raise FoulError("no card may be turned")
            return {
                "none": {"NT"},
                "no_trump": {"NT"},
                "forbid": {"NT"},  # an extra deal as large as a last one declared no-trump
                "fixed": {trump["suit"]},
                "rotation": {[*trump["rotation"], "-"][d % max(1, len(trump["rotation"]))]},
                "random_suit": set(self.rules["pack"]["suits"]),
            }[method]
        holders = [seat for seat in range(self.n) if turned in hands[seat]]
        if turned is None or holders != ([dealer] if method == "dealer_last_card" else []):
            raise FoulError(f"turned card {turned}, held by {holders}")
        return {turned[-1]}

    # ---------------------------------------------------------------- a deal

    def start_deal(
        self, deal_index: int, dealer: int, hands: list, turned: str | None, trump: str
    ) -> None:
        """Takes up a deal; raises ``FoulError`` if it is not one that the rules allow."""
        if deal_index != self.deals_played or self.over:
            raise FoulError(f"deal {deal_index} after {self.deals_played} deals, over {self.over}")
        if deal_index and dealer != (self.dealer + 1) % self.n:
            raise FoulError("the deal must pass to the left")
        size = self.hand_size_of(deal_index)
        cards = [card for hand in hands for card in hand] + [turned] * (turned is not None)
        own = turned is not None and turned in hands[dealer]
        if len(hands) != self.n or any(len(hand) != size for hand in hands):
            raise FoulError(f"everybody must get {size} cards")
        if len(set(cards)) != len(cards) - own or not set(cards) <= set(self.pack):
            raise FoulError("a card is dealt twice or is not in the pack")
        if trump not in self.expected_trump(deal_index, turned, hands, dealer):
            raise FoulError(f"{trump} cannot be the trump")
        self.dealer, self.turned, self.trump, self.size = dealer, turned, trump, size
        self.hands = [set(hand) for hand in hands]
        self.bids: list[Any] = [None] * self.n
        self.tricks_won = [0] * self.n
        self.tricks: list[list[tuple[int, str]]] = []
        self.trick: list[tuple[int, str]] = []
        self.leader = self.to_play = (dealer + 1) % self.n
        self.deal_over = False
        self.blind = self._is_blind(deal_index)

    def _is_blind(self, d: int) -> bool:
        mode = self.rules["blind_one_card"]
        if self.size != 1 or mode == "never" or (mode != "always" and self._is_extra(d)):
            return False
        ones = [i for i, size in enumerate(self.sizes) if size == 1]
        return mode == "always" or d == (ones[0] if mode == "first" else ones[-1])

    def actor(self) -> int:
        """The seat that must act, -1 between deals and after the game."""
        return -1 if self.over or self.deal_over else self.to_play

    def bidding(self) -> bool:
        """Whether somebody still has to bid."""
        return None in self.bids

    def visible_bids(self, seat: int) -> list[int | None]:
        """The bids that ``seat`` may know: its own, and the others' once they are public."""
        if self.rules["bidding"]["order"] == "simultaneous" and self.bidding():
            return [bid if i == seat else None for i, bid in enumerate(self.bids)]
        return list(self.bids)

    def trump_visible(self) -> bool:
        """Whether the players know the trump suit."""
        method = self._method(self.deals_played, self.size)
        secret = method in ("turn_up", "dealer_last_card", "random_suit")
        late = self.rules["trump"]["revealed"] == "after_bidding"
        return not (secret and late and self.bidding())

    def legal(self) -> set:
        """The legal bids (numbers) or cards (names) of the acting seat."""
        if self.actor() < 0:
            return set()
        return self._legal_bids() if self.bidding() else self._legal_cards()

    def _legal_bids(self) -> set[int]:
        bidding, made = self.rules["bidding"], [bid for bid in self.bids if bid is not None]
        allowed = set(range(self.size + 1))
        last = len(made) == self.n - 1
        if bidding["hook"] == "last_bidder" and last and self.size >= bidding["hook_min_hand"]:
            allowed -= {self.size - sum(made)}
        return allowed

    def _legal_cards(self) -> set[str]:
        hand = self.hands[self.to_play]
        trumps = {card for card in hand if card[-1] == self.trump}
        if not self.trick:
            return self._legal_leads(hand, trumps)
        led = self.trick[0][1][-1]
        following = {card for card in hand if card[-1] == led}
        laid = [card for _, card in self.trick]
        ruffs = [card for card in laid if card[-1] == self.trump and led != self.trump]
        if following:
            best = [card for card in laid if card[-1] == led]
            heading = {card for card in following if all(self._beats(card, c) for c in best)}
            return (
                heading
                if self.rules["play"]["head_led_suit"] and heading and not ruffs
                else (following)
            )
        over = {card for card in trumps if all(self._beats(card, ruff) for ruff in ruffs)}
        return {
            "any": hand,
            "must_trump": trumps or hand,
            "must_overtrump_else_trump": over or trumps or hand,
            "must_overtrump_else_free": over or hand,
        }[self.rules["play"]["void"]]

    def _legal_leads(self, hand: set[str], trumps: set[str]) -> set[str]:
        broken = any(card[-1] == self.trump for trick in self.tricks for _, card in trick)
        free = {
            "anytime": True,
            "after_first_trick": bool(self.tricks),
            "after_broken": broken,
            "when_forced": False,
        }[self.rules["play"]["trump_lead"]]
        return hand if free or trumps == hand else hand - trumps

    def _beats(self, card: str, other: str) -> bool:
        """Whether ``card`` is the higher of two cards of one suit."""
        return self.strength[card[:-1]] > self.strength[other[:-1]]

    def play(self, action: Any) -> None:
        """Makes a bid (number) or plays a card (name) for the acting seat."""
        if action not in self.legal():
            raise FoulError(f"{action!r} is not legal: {sorted(self.legal())}")
        if not self.bidding():
            self._lay(action)
            return
        self.bids[self.to_play] = action
        self.to_play = (self.to_play + 1) % self.n
        if not self.bidding():
            self._begin_play()

    def _begin_play(self) -> None:
        order = [(self.dealer + 1 + i) % self.n for i in range(self.n)]
        self.leader = order[0]
        if self.rules["play"]["first_lead"] == "highest_bidder":
            self.leader = next(seat for seat in order if self.bids[seat] == max(self.bids))
        self.to_play = self.leader
        if self.blind:
            for _ in range(self.n):
                self._lay(next(iter(self.hands[self.to_play])))

    def _lay(self, card: str) -> None:
        self.hands[self.to_play].remove(card)
        self.trick.append((self.to_play, card))
        self.to_play = (self.to_play + 1) % self.n
        if len(self.trick) == self.n:
            self.leader = self.to_play = self._trick_winner()
            self.tricks_won[self.leader] += 1
            self.tricks.append(self.trick)
            self.trick = []
            if not self.hands[self.leader]:
                self._score_deal()

    def _trick_winner(self) -> int:
        suits = [card[-1] for _, card in self.trick]
        ruling = self.trump if self.trump in suits else suits[0]
        fighting = [(seat, card) for seat, card in self.trick if card[-1] == ruling]
        return max(fighting, key=lambda pair: self.strength[pair[1][:-1]])[0]

    # ---------------------------------------------------------------- points, end, settlement

    def points(self) -> list[int]:
        """The points of the finished deal, by seat."""
        return self.deal_points

    def points_for(self, bid: int, won: int, size: int) -> int:
        """The points for a bid and the tricks won in a deal of ``size`` cards."""
        s = self.rules["scoring"]
        if s["table"] is not None:
            return s["table"][size - 1][bid][won]
        nil = s["nil_made"] if won == bid else s["nil_missed"]
        if bid == 0 and nil is not None:
            return nil["base"] + nil["per_card"] * size
        if won == bid:
            per_trick = s["exact_per_trick"] * won + s["exact_per_trick_sq"] * won**2
            return s["exact_bonus"] + per_trick
        off = max(bid, won) - min(bid, won)
        penalty = s["miss_per_diff"] * off + s["miss_per_diff_sq"] * off**2 + s["miss_constant"]
        return s["miss_per_trick"] * won - penalty - s["miss_per_diff_tri"] * sum(range(off + 1))

    def _score_deal(self) -> None:
        self.deal_points = []
        for seat in range(self.n):
            bid, won = self.bids[seat], self.tricks_won[seat]
            self.deal_points.append(self.points_for(bid, won, self.size))
            self.scores[seat] += self.deal_points[seat]
            self.bid_totals[seat] += bid
            self.exact_bids[seat] += bid == won
        self.deals_played += 1
        self.deal_over = True
        self._look_for_the_end()

    def _look_for_the_end(self) -> None:
        end, done = self.rules["end"], self.deals_played
        if self.last_regular is None:
            if end["target"] is None:
                finished = done == len(self.sizes)
            else:
                finished = max(self.scores) >= end["target"] or done == end["max_deals"]
            if not finished:
                return
            self.last_regular = done - 1
        tied = self.scores.count(max(self.scores)) > 1
        more = done - 1 - self.last_regular < EXTRA_DEALS
        self.over = not (tied and more and self.rules["tie_break"] == "extra_deals")

    def winners(self) -> list[int]:
        """The seats that have won, several if they share."""
        marks = [(score,) for score in self.scores]
        if self.rules["tie_break"] == "most_exact_bids":
            marks = list(zip(self.scores, self.exact_bids, strict=True))
        if self.rules["tie_break"] == "largest_bid_total":
            marks = list(zip(self.scores, self.bid_totals, strict=True))
        return [seat for seat in range(self.n) if marks[seat] == max(marks)]

    def win_shares(self) -> list[float]:
        """One win, divided among the winners."""
        best = self.winners()
        return [1 / len(best) if seat in best else 0.0 for seat in range(self.n)]

    def settlement(self) -> list[float]:
        """What every seat receives (or pays, below zero)."""
        pay, best = self.rules["settlement"], self.winners()
        result = [0.0] * self.n
        if pay["kind"] == "pool":
            for seat in range(self.n):
                result[seat] -= pay["ante"]
                result[seat] += self.n * pay["ante"] / len(best) if seat in best else 0.0
        if pay["kind"] == "differences":
            bonus = self.rules["hard_score_bonus"]
            final = [score + bonus * (i in best) for i, score in enumerate(self.scores)]
            for one, other in itertools.permutations(range(self.n), 2):
                result[one] += pay["rate"] * (final[one] - final[other])
        return result
