"""Checks that ship with the library: random rules, random games, and their invariants.

``ohhell fuzz`` runs them by the million. Tests of other engines, agents and variants can use them
too. A violation raises ``BrokenGameError``.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ohhell_env.actions import BID_BASE
from ohhell_env.cards import (
    SPANISH_RANKS,
    SPANISH_SUITS,
    STANDARD_RANKS,
    STANDARD_SUITS,
    card_name,
    rank_of,
    suit_of,
)
from ohhell_env.engine.layout import NO_TRUMP, Phase
from ohhell_env.errors import RulesError
from ohhell_env.game import Game
from ohhell_env.records.notation import format_game, parse_game
from ohhell_env.records.record import deal_record, from_json, to_json
from ohhell_env.records.replay import replay
from ohhell_env.rules import Rules, schedule
from ohhell_env.rules.axes import SCORINGS
from ohhell_env.rules.schedule import TrumpSource
from ohhell_env.rules.settings import field_types

Settings = dict[str, Any]


class BrokenGameError(AssertionError):
    """The engine has broken the rules; never a user's mistake."""


# ----------------------------------------------------------------------------- random rules


def random_rules(rng: random.Random) -> Rules:
    """Draws rules over every axis: odd and tiny packs, 2 to 8 players, all duties and scorings.

    Every legal combination of settings can occur. Numbers without a natural bound mostly stay
    small, so games stay short.
    """
    while True:
        try:
            return Rules(**_random_settings(rng))
        except RulesError:  # the settings conflict: draw again
            continue


def _random_settings(rng: random.Random) -> Settings:
    pack = _random_pack(rng)
    size = len(pack["suits"]) * len(pack["ranks"]) - len(pack["removed"])
    players = rng.randint(2, max(2, min(8, size)))
    target = rng.choice([None, None, None, rng.randint(1, 60), rng.randint(1, 10_000)])
    most = max(1, min(size // players, schedule.MAX_HAND_SIZE))
    dealers: list[Any] = ["random", "high_card", rng.randrange(players)]
    if "J" in pack["ranks"]:
        dealers.append("first_jack")
    return {
        "players": players,
        "pack": pack,
        "schedule": _random_schedule(rng, most, target is not None),
        "first_dealer": rng.choice(dealers),
        "trump": _random_trump(rng, pack["suits"]),
        "bidding": _random_bidding(rng),
        "blind_one_card": _one_of(rng, Rules, "blind_one_card"),
        "play": {name: _one_of(rng, _axis("play"), name) for name in field_types(_axis("play"))},
        "scoring": _random_scoring(rng, most),
        "end": _random_end(rng, target),
        "tie_break": _one_of(rng, Rules, "tie_break"),
        "settlement": _random_settlement(rng),
        "hard_score_bonus": rng.choice([0, 0, 10, -3, 10_000]),
    }


def _axis(name: str) -> type:
    return field_types(Rules)[name]


def _one_of(rng: random.Random, cls: type, field: str) -> Any:
    """Draws one of a setting's possible values."""
    annotation = field_types(cls)[field]
    return rng.random() < 0.5 if annotation is bool else rng.choice(annotation.__args__)


def _random_pack(rng: random.Random) -> Settings:
    kind = rng.random()
    suits, ranks = list(STANDARD_SUITS), list(STANDARD_RANKS)
    if kind < 0.15:
        suits, ranks = list(SPANISH_SUITS), list(SPANISH_RANKS)
    elif kind < 0.5:
        suits = rng.sample("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", rng.randint(1, 4))
        ranks = rng.sample("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", rng.randint(1, 13))
    names = [rank + suit for suit in suits for rank in ranks]
    removed = rng.choice([0, 0, 0, 1, rng.randrange(len(names))])
    return {"suits": suits, "ranks": ranks, "removed": rng.sample(names, removed)}


def _random_schedule(rng: random.Random, most: int, endless: bool) -> Settings:
    plan: Settings = {
        "shape": _one_of(rng, _axis("schedule"), "shape"),
        "overflow": _one_of(rng, _axis("schedule"), "overflow"),
        "repeat_each": rng.choice([1, 1, 1, 2, "players"]),
        "max_deals": rng.choice([None, None, rng.randint(1, 8), rng.randint(1, 30)]),
    }
    if plan["shape"] == "explicit":
        return plan | {"sizes": [rng.randint(1, most) for _ in range(rng.randint(1, 6))]}
    if plan["shape"] == "constant":
        high = rng.choice(["max", rng.randint(1, most)])
        return plan | {"high": high, "deals": None if endless else rng.randint(1, 8)}
    low = rng.choice([1, 1, rng.randint(1, most)])
    step = rng.choice([1, 1, rng.randint(1, most)])
    reach = max(0, most - low) // step
    top = low + step * rng.choice([rng.randint(0, reach), reach + rng.randint(0, 3)])
    plan |= {"low": low, "step": step, "high": rng.choice(["max", min(top, 60), min(top, 60)])}
    for end in ("repeat_low", "repeat_high"):
        plan[end] = rng.choice([1, 1, rng.randint(1, 4), "players"])
    return plan


def _random_trump(rng: random.Random, suits: list[str]) -> Settings:
    cls = _axis("trump")
    plan = {name: _one_of(rng, cls, name) for name in ("exhausted", "no_trump_deals", "revealed")}
    plan["method"] = rng.choice(["turn_up", "turn_up", _one_of(rng, cls, "method")])
    if plan["method"] == "fixed":
        plan["suit"] = rng.choice(suits)
    if plan["method"] == "rotation":
        plan["rotation"] = rng.choices([*suits, "NT"], k=rng.randint(1, 16))
    return plan


def _random_bidding(rng: random.Random) -> Settings:
    order = _one_of(rng, _axis("bidding"), "order")
    return {
        "order": order,
        "hook": "none" if order == "simultaneous" else _one_of(rng, _axis("bidding"), "hook"),
        "hook_min_hand": rng.choice([1, 1, rng.randint(1, 8)]),
        "announce": rng.random() < 0.5,
    }


def _random_scoring(rng: random.Random, most: int) -> Any:
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(list(SCORINGS))
    reach = rng.choice([6, 6, 6, 10_000])
    if kind < 0.6:
        counts = range(2, most + 2)
        draws = range(-reach, reach + 1)
        return {"table": [[rng.choices(draws, k=n) for _ in range(n)] for n in counts]}
    whole = [name for name, kind in field_types(_axis("scoring")).items() if kind is int]
    scoring: Settings = {name: rng.randint(-reach, reach) for name in whole}
    for nil in ("nil_made", "nil_missed"):
        score = {"base": rng.randint(-reach, reach), "per_card": rng.randint(-reach, reach)}
        scoring[nil] = rng.choice([None, score])
    return scoring


def _random_end(rng: random.Random, target: int | None) -> Settings:
    if target is None:
        return {}
    limits = [rng.randint(1, 12), rng.randint(1, 40)]
    return {"target": target, "max_deals": rng.choice([None, *limits] if target < 100 else limits)}


def _random_settlement(rng: random.Random) -> Settings:
    return {
        "kind": _one_of(rng, _axis("settlement"), "kind"),
        "rate": rng.choice([1.0, 0.25, rng.uniform(0.001, 100.0)]),
        "ante": rng.choice([1.0, 5.0, rng.uniform(0.001, 100.0)]),
    }


# ------------------------------------------------------------------- invariants


def play_random(
    game: Game,
    rng: random.Random,
    check: Callable[[Game], None] | None = None,
    actions: int | None = None,
) -> Game:
    """Plays a game with uniformly random legal actions and returns it.

    Args:
        game: The game; play continues from its current state.
        rng: Chooses the actions.
        check: Called before the first action and after each, for example ``check_game``.
        actions: Stop after this number of actions; None: play to the end.
    """
    made = 0
    while True:
        if check is not None:
            check(game)
        if game.over or made == actions:
            return game
        game.apply(rng.choice(game.legal_actions()))
        made += 1


def check_game(game: Game) -> None:
    """Checks all invariants of a game in its current state, whoever plays it.

    Raises:
        BrokenGameError: An invariant is violated; the message says which, and where in the game.
    """
    for check in (_cards, _turned_card, _bids, _tricks, _legal, _scores):
        check(game)


def _demand(game: Game, holds: bool, what: str) -> None:
    if not holds:
        raise BrokenGameError(
            f"{what} (deal {game.deal + 1}, trick {len(game.tricks) + 1}, seat {game.seat}, seed "
            f"{game.seed}, rules {game.rules.to_dict()})"
        )


def _cards(game: Game) -> None:
    dealt = [card for hand in game.dealt for card in hand]
    _demand(game, len(set(dealt)) == len(dealt), "a card is dealt twice")
    _demand(game, set(dealt) <= set(game.rules.pack.cards), "a card is not in the pack")
    played = [card for _, card in game.plays]
    held = [card for hand in game.hands for card in hand]
    _demand(game, len(set(played)) == len(played), "a card is played twice")
    _demand(game, sorted(held + played) == sorted(dealt), "a card was lost or appeared")
    sizes = {len(hand) for hand in game.dealt}
    _demand(game, sizes == {game.hand_size}, "hands differ in size")


def _turned_card(game: Game) -> None:
    turned, source = game.turned, game.trump_source
    holders = [seat for seat, hand in enumerate(game.dealt) if turned in hand]
    if source is TrumpSource.TURNED_CARD:
        _demand(game, turned in game.rules.pack.cards and not holders, "the turned card is wrong")
    elif source is TrumpSource.DEALER_CARD:
        _demand(game, holders == [game.dealer], "the turned card is not the dealer's")
    else:
        _demand(game, turned is None, "a card is turned, but the trump does not come from one")
    if turned is not None:
        _demand(game, game.trump == suit_of(turned), "the trump is not the turned card's suit")


def _bids(game: Game) -> None:
    rules, size = game.rules, game.hand_size
    bids = [bid for bid in game.bids if bid is not None]
    _demand(game, all(0 <= bid <= size for bid in bids), "a bid is out of range")
    order = [(game.dealer + 1 + place) % game.players for place in range(game.players)]
    made = [game.bids[seat] is not None for seat in order]
    _demand(game, made == sorted(made, reverse=True), "seats have bid out of turn")
    _demand(game, all(made) == (game.phase is not Phase.BID), "the bidding ended at a wrong time")
    hooked = rules.bidding.hook == "last_bidder" and size >= rules.bidding.hook_min_hand
    if all(made) and hooked:
        _demand(game, sum(bids) != size, "the bids add up to the hand size despite the hook")


def _tricks(game: Game) -> None:
    tricks, won = game.tricks, [0] * game.players
    for number, trick in enumerate(tricks):
        winner = _winner(game, trick)
        won[winner] += 1
        if number + 1 < len(tricks):
            _demand(game, tricks[number + 1][0][0] == winner, "the winner of a trick does not lead")
        seats = [(trick[0][0] + place) % game.players for place in range(game.players)]
        _demand(game, [seat for seat, _ in trick] == seats, "a trick is out of turn")
    _demand(game, won == game.tricks_won, f"tricks won are {game.tricks_won}, not {won}")
    _demand(game, len(game.trick) < game.players, "a full trick was not taken")
    if game.over:
        _demand(game, sum(won) == game.hand_size, "the tricks don't add up to the hand size")


def _winner(game: Game, trick: list[tuple[int, int]]) -> int:
    suits = [suit_of(card) for _, card in trick]
    ruling = game.trump if game.trump != NO_TRUMP and game.trump in suits else suits[0]
    return max((rank_of(card), seat) for seat, card in trick if suit_of(card) == ruling)[1]


def _legal(game: Game) -> None:
    legal = game.legal_actions()
    _demand(game, bool(legal) != game.over, "no action is legal before the end, or one is after it")
    _demand(game, (game.seat == -1) == game.over, "no seat is to act, or one is after the end")
    if game.phase is Phase.BID:
        allowed = set(range(BID_BASE, BID_BASE + game.hand_size + 1))
        _demand(game, set(legal) <= allowed and len(legal) >= game.hand_size, "bids are missing")
    elif game.phase is Phase.PLAY:
        hand, trick = game.hands[game.seat], game.trick
        _demand(game, set(legal) <= set(hand), "a card is legal that the seat does not hold")
        following = [card for card in hand if trick and suit_of(card) == suit_of(trick[0][1])]
        _demand(game, not following or set(legal) <= set(following), "a revoke is legal")


def _scores(game: Game) -> None:
    columns = zip(*(deal["points"] for deal in game.finished_deals), strict=True)
    totals = [sum(column) for column in columns] or [0] * game.players
    _demand(game, totals == game.scores, f"scores are {game.scores}, not {totals}")
    if game.finished_deals:
        points = _points(game, game.finished_deals[-1])
        _demand(game, points == game.points, f"points are {game.points}, not {points}")
        _demand(game, points == game.finished_deals[-1]["points"], "the deal has other points")
    if game.over:
        _demand(game, abs(sum(game.win_shares()) - 1) < 1e-9, "the win shares don't add up to 1")
        paid = game.settlement()
        _demand(game, abs(sum(paid)) <= 1e-9 * max(1.0, *map(abs, paid)), "payments don't cancel")


def _points(game: Game, deal: dict[str, Any]) -> list[int]:
    """Returns the points of a finished deal; a seat won each trick that it led after."""
    leaders = [trick[0][0] for trick in deal["tricks"]][1:]
    won = [leaders.count(seat) for seat in range(game.players)]
    won[_last_winner(game, deal)] += 1
    bids, size, scoring = dict(deal["bids"]), deal["hand_size"], game.rules.scoring
    return [schedule.points(scoring, bids[seat], tricks, size) for seat, tricks in enumerate(won)]


def _last_winner(game: Game, deal: dict[str, Any]) -> int:
    ranks = game.rules.pack.ranks
    last = deal["tricks"][-1]
    suits = [card[1] for _, card in last]
    ruling = deal["trump"] if deal["trump"] in suits else suits[0]
    return max((ranks.index(card[0]), seat) for seat, card in last if card[1] == ruling)[1]


# ------------------------------------------------------------------------- records and referee


def check_records(game: Game) -> None:
    """Checks that a game survives recording as JSON and as text, and replaying.

    Raises:
        BrokenGameError: It does not survive.
        NotationError: The game's own record is refused.
    """
    record = game.record()
    _demand(game, from_json(to_json(record)) == record, "the JSON is of another game")
    text = format_game(record)
    _demand(game, parse_game(text) == record, "the text is of another game")
    for seed in (record["seed"], None):  # without a seed, the record gives every card
        again = replay({**record, "seed": seed})
        _demand(game, again.record() == {**record, "seed": seed}, "the replay is another game")
        _demand(game, public_state(again) == public_state(game), "the replay ends elsewhere")


def public_state(game: Game) -> dict[str, Any]:
    """Returns all public values of a game in its current state, to compare two games."""
    names = "phase seat dealer leader deal hand_size blind hands dealt turned trump trump_known"
    names += " bids tricks_won plays scores points"
    state = {name: getattr(game, name) for name in names.split()}
    return state | {
        "legal": game.legal_actions(),
        "win_shares": game.win_shares(),
        "settlement": game.settlement(),
    }


def load_referee() -> Any | None:
    """Returns the class of the naive referee; None outside a clone, which has no referee.

    The referee is in ``tests/reference.py``, which imports nothing of the project.
    """
    path = Path(__file__).parents[2] / "tests" / "reference.py"
    spec = importlib.util.spec_from_file_location("ohhell_reference", path)
    if spec is None or spec.loader is None or not path.exists():
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Referee


class Refereed:
    """A check for ``play_random``: the naive referee follows a whole game and must agree.

    Args:
        game: A game of episode "game", before its first action.
        referee: What ``load_referee`` returns.
    """

    def __init__(self, game: Game, referee: Any) -> None:
        self.referee = referee(game.rules.to_dict())
        self.deal = -1
        self.seen = 0

    def __call__(self, game: Game) -> None:
        """Passes the actions since the last call to the referee, and compares."""
        if self.deal >= 0:
            self._tell(game)
        if game.deal != self.deal and not game.over:
            self._take_deal(game)
        referee = self.referee
        legal = {self._said(game, action) for action in game.legal_actions()}
        _demand(game, legal == referee.legal(), f"legal is {legal}, not {referee.legal()}")
        _demand(game, game.seat == referee.actor(), "the referee sees another seat to act")
        _demand(game, game.scores == referee.scores, "the referee has other scores")
        _demand(game, game.over == referee.over, "the referee sees another end")
        if game.over:
            self._compare_end(game)

    def _take_deal(self, game: Game) -> None:
        self.deal, self.seen = game.deal, 0
        pack = game.rules.pack
        hands = [[card_name(card, pack) for card in hand] for hand in game.dealt]
        turned = None if game.turned is None else card_name(game.turned, pack)
        trump = "NT" if game.trump == NO_TRUMP else pack.suits[game.trump]
        self.referee.start_deal(game.deal, game.dealer, hands, turned, trump)

    def _tell(self, game: Game) -> None:
        finished = len(game.finished_deals) > self.deal
        deal = game.finished_deals[self.deal] if finished else deal_record(game)
        moves = [bid for _, bid in deal["bids"]]
        if not deal["blind"]:  # in a blind deal the cards play themselves
            moves += [card for trick in deal["tricks"] for _, card in trick]
        for move in moves[self.seen :]:
            self.referee.play(move)
        self.seen = len(moves)

    def _said(self, game: Game, action: int) -> Any:
        return action - BID_BASE if action >= BID_BASE else card_name(action, game.rules.pack)

    def _compare_end(self, game: Game) -> None:
        pairs = (
            (game.win_shares(), self.referee.win_shares()),
            (game.settlement(), self.referee.settlement()),
        )
        for ours, theirs in pairs:
            same = all(
                abs(a - b) <= 1e-9 * max(1.0, abs(b)) for a, b in zip(ours, theirs, strict=True)
            )
            _demand(game, same, f"the referee pays {theirs}, not {ours}")
