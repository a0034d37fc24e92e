"""Replays a record and checks every entry against the rules.

The cards come from the record; the engine determines everything else. Each deal is laid out, each
bid and card goes through the engine, and the results (dealer, trump, points, scores, winners) must
match the record.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ohhell_env.actions import BID_BASE
from ohhell_env.cards import Card, Pack, card_name, parse_card, plain_name
from ohhell_env.engine import batch
from ohhell_env.engine.layout import ILLEGAL, Phase
from ohhell_env.errors import NotationError, RulesError, nearest, shown
from ohhell_env.first_deal import FirstDeal, lay_out
from ohhell_env.game import Game, check_seed
from ohhell_env.illegal import explain_illegal
from ohhell_env.records.record import Record, check_version, deal_record, is_list, is_object
from ohhell_env.records.thoughts import check_thoughts
from ohhell_env.rules import Rules, schedule
from ohhell_env.rules.settings import field_types

RECORD_KEYS = (
    "format",
    "version",
    "rules",
    "seed",
    "episode",
    "deals",
    "scores",
    "win_shares",
    "settlement",
)
OPTIONAL_KEYS = ("names", "thoughts")
DEAL_KEYS = (
    "deal",
    "dealer",
    "hand_size",
    "blind",
    "hands",
    "turned",
    "trump",
    "bids",
    "tricks",
    "points",
)
_CARDS = ("deal", "dealer", "hand_size", "blind", "hands", "turned", "trump")
"""The entries that are fixed when the bidding opens."""
_SCORED = (Phase.SCORED, Phase.OVER)


class Place(NamedTuple):
    """A place in a record; deals and tricks count from 0."""

    deal: int | None = None
    part: str = ""
    trick: int | None = None
    seat: Any = None

    def __str__(self) -> str:
        """Returns the place in words; deals and tricks count from 1, seats from 0."""
        words = [] if self.deal is None else [f"deal {self.deal + 1}"]
        words += [] if self.trick is None else [f"trick {self.trick + 1}"]
        words += [self.part] if self.part else []
        words += [] if self.seat is None else [f"seat {self.seat}"]
        return ", ".join(words) or "record"


class ReplayError(NotationError):
    """A record that is not a legal game.

    Args:
        place: The place of the error.
        problem: The error, and what was expected.
    """

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place


@dataclass
class Checked:
    """A replayed record."""

    game: Game
    """The game at the end of the record."""
    winners: list[list[int]] = field(default_factory=list)
    """Winner of each finished trick, by deal."""
    scores: list[list[int]] = field(default_factory=list)
    """Scores after each finished deal."""
    from_seed: bool = True
    """Whether the cards are those of the record's seed."""
    before: Callable[[Game], None] | None = None
    """Called with the game before each bid and card."""


def replay(record: Record) -> Game:
    """Returns the game of a record after a check of every entry.

    The engine plays every bid and card; dealers, hand sizes, turned cards, trumps, points and
    scores must follow the rules.

    Raises:
        NotationError: An entry is missing, unknown, of the wrong type or against the rules; the
            message names its place in the game and what was expected.
    """
    return check(record).game


def check(record: Any, before: Callable[[Game], None] | None = None) -> Checked:
    """Replays a record and checks it.

    Args:
        record: The record.
        before: Called with the game before each bid and card; it must not change the game.

    Raises:
        NotationError: See ``replay``.
    """
    _plain(record)
    check_version(record)
    _keys(record, RECORD_KEYS, Place(), OPTIONAL_KEYS)
    rules = _rules(record["rules"])
    if record["episode"] not in ("game", "deal"):
        raise _wrong(Place(part="episode"), "'game' or 'deal'", record["episode"])
    deals = _sequence(record["deals"], None, Place(part="deals"))
    if not deals:
        raise _wrong(Place(part="deals"), "at least one deal", deals)
    for number, deal in enumerate(deals):
        _keys(deal, DEAL_KEYS, Place(number))
    deals = [_as_written_here(deal, rules.pack) for deal in deals]
    record = {**record, "deals": deals}
    checked = Checked(_first_deal(rules, record), before=before)
    for number, deal in enumerate(deals):
        _play_deal(checked, deal, number)
        if len(checked.game.finished_deals) == number and number + 1 < len(deals):
            raise ReplayError(
                Place(number), f"the deal is unfinished, but deal {number + 2} follows"
            )
    _finish(checked, record)
    if "names" in record:
        _check_names(record["names"], rules.players)
    if "thoughts" in record:
        moves = [len(deal["bids"]) + sum(map(len, deal["tricks"])) for deal in deals]
        check_thoughts(record["thoughts"], moves)
    return checked


def _as_written_here(deal: dict[str, Any], pack: Pack) -> dict[str, Any]:
    """Returns a deal with its cards named as ``card_name`` does; people may write 10H for TH."""

    def plain(value: Any) -> Any:
        if is_list(value):
            return [plain(item) for item in value]
        return plain_name(value, pack) if isinstance(value, str) else value

    return deal | {key: plain(deal[key]) for key in ("hands", "turned", "tricks")}


def _check_names(names: Any, players: int) -> None:
    where = Place(part="names")
    for name in _sequence(names, players, where):
        if not isinstance(name, str):
            raise _wrong(where, "a text for each seat", names)


def _plain(record: Any) -> None:
    try:
        json.dumps(record, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ReplayError(Place(), f"JSON cannot represent it: {error}") from None


def _rules(data: Any) -> Rules:
    _keys(data, tuple(field_types(Rules)), Place(part="rules"))
    try:
        rules = Rules.from_dict(data)
    except RulesError as error:
        raise ReplayError(Place(part="rules"), str(error)) from None
    _same(data, rules.to_dict(), Place(part="rules"))
    return rules


def _first_deal(rules: Rules, record: Record) -> Game:
    """Returns the game before its first bid, dealt by the record's seed if possible."""
    seed, first = record["seed"], record["deals"][0]
    size = _whole(first["hand_size"], 1, schedule.MAX_HAND_SIZE, Place(0, "hand_size"))
    try:
        number = 0 if seed is None else check_seed(seed)
        game = Game(rules, number, record["episode"])
        if seed is not None and game.episode == "deal" and not _as_dealt(game, first):
            alone = Game(rules, number, "deal", size)
            game = alone if _as_dealt(alone, first) else game
    except RulesError as error:
        part = "seed" if str(error).startswith("seed") else "hand_size"
        raise ReplayError(Place(0 if part == "hand_size" else None, part), str(error)) from None
    if seed is None:
        game.seed = None
    return game


def _as_dealt(game: Game, deal: dict[str, Any]) -> bool:
    """Returns whether the cards on the table match a deal of the record."""
    present = deal_record(game)
    return all(_differ(deal[key], present[key]) is None for key in _CARDS)


def _play_deal(checked: Checked, deal: dict[str, Any], number: int) -> None:
    game = checked.game
    if game.over:
        raise ReplayError(Place(number), f"the game was over after deal {number}")
    if not _as_dealt(game, deal):
        checked.from_seed = False
        _lay(game, deal, number)
    _make_bids(checked, deal, number)
    played_by_itself = game.blind and game.phase is not Phase.BID
    play = _compare_blind_trick if played_by_itself else _play_tricks
    checked.winners.append(play(checked, deal, number))
    if game.phase in _SCORED:
        _same(deal["points"], game.points, Place(number, "points"))
        checked.scores.append(game.scores)
        game.close_deal()
    elif deal["points"] is not None:
        raise _wrong(
            Place(number, "points"), "null, because the deal is unfinished", deal["points"]
        )


def _lay(game: Game, deal: dict[str, Any], number: int) -> None:
    """Replaces the cards on the table with those of the record."""
    for seat, hand in enumerate(_sequence(deal["hands"], game.players, Place(number, "hands"))):
        for card in _sequence(hand, None, Place(number, "hands", None, seat)):
            _card(game, card, Place(number, "hands", None, seat))
    if number == 0:
        _place_first(game, deal)
    else:
        _same(deal["dealer"], game.dealer, Place(number, "dealer"))
        _same(deal["hand_size"], game.hand_size, Place(number, "hand_size"))
    try:
        lay_out(game.state, game.compiled, game.rules, _wishes(game, deal, number))
    except RulesError as error:
        raise ReplayError(Place(number), str(error)) from None
    present = deal_record(game)
    for key in _CARDS:
        if key != "hands":
            _same(deal[key], present[key], Place(number, key))


def _place_first(game: Game, deal: dict[str, Any]) -> None:
    """Sets the schedule position of the first deal; any is possible in single-deal episodes."""
    plans = schedule.deal_plans(game.rules)
    last = len(plans) - 1 if game.episode == "deal" else 0
    number = _whole(deal["deal"], 0, last, Place(0, "deal"))
    plan, row = plans[number], game.state[0]
    row["deal"] = row["plan"] = number
    row["hand_size"], row["trump_source"], row["blind"] = plan.hand_size, plan.trump, plan.blind


def _wishes(game: Game, deal: dict[str, Any], number: int) -> FirstDeal:
    turned, trump = deal["turned"], deal["trump"]
    if turned is not None:
        _card(game, turned, Place(number, "turned"))
    return FirstDeal(
        dealer=deal["dealer"],
        hand_size=deal["hand_size"],
        hands=deal["hands"],
        turned=turned,
        trump=None if turned is not None else "NT" if trump is None else trump,
    )


def _make_bids(checked: Checked, deal: dict[str, Any], number: int) -> None:
    game = checked.game
    for place, item in enumerate(_sequence(deal["bids"], None, Place(number, "bids"))):
        where = Place(number, f"bid {place + 1}")
        seat, bid = _sequence(item, 2, where)
        if game.phase is not Phase.BID:
            raise ReplayError(where, f"all {game.players} seats have bid already")
        _turn(game, seat, where)
        where = where._replace(seat=seat)
        _act(checked, BID_BASE + _whole(bid, 0, game.hand_size, where), where)


def _play_tricks(checked: Checked, deal: dict[str, Any], number: int) -> list[int]:
    """Plays the tricks of a deal; returns the winners of the complete ones."""
    game = checked.game
    tricks = _sequence(deal["tricks"], None, Place(number, "tricks"))
    winners: list[int] = []
    for trick, plays in enumerate(tricks):
        where = Place(number, "", trick)
        if len(winners) < trick:
            raise ReplayError(where, f"the previous trick {trick} is not complete")
        if game.phase in _SCORED:
            raise ReplayError(where, f"the deal was over after trick {trick}")
        if not _sequence(plays, None, where) or len(plays) > game.players:
            raise _wrong(where, f"1 to {game.players} cards", plays)
        for item in plays:
            seat, card = _sequence(item, 2, where)
            _turn(game, seat, where)
            spot = where._replace(seat=seat)
            _act(checked, _card(game, card, spot), spot)
        if len(plays) == game.players:
            winners.append(game.leader)
    return winners


def _compare_blind_trick(checked: Checked, deal: dict[str, Any], number: int) -> list[int]:
    """Compares the trick of a blind deal, which was played automatically after the last bid."""
    game = checked.game
    _same(deal["tricks"], deal_record(game)["tricks"], Place(number, "tricks"))
    return [game.leader]


def _turn(game: Game, seat: Any, where: Place) -> None:
    if type(seat) is not int or seat != game.seat:
        raise _wrong(where, f"seat {game.seat} to act", seat)


def _act(checked: Checked, action: int, where: Place) -> None:
    """Plays an action, without dealing again when the deal is over."""
    game = checked.game
    if checked.before is not None:
        checked.before(game)
    if batch.step_one(game.state, game.compiled, action) == ILLEGAL:
        raise ReplayError(where, f"{explain_illegal(game, action)}".partition("; seat ")[0])


def _finish(checked: Checked, record: Record) -> None:
    """Checks the final entries of the record against the game."""
    game, deals = checked.game, record["deals"]
    if len(game.finished_deals) == len(deals) and not game.over:
        raise ReplayError(Place(len(deals)), "the deal is missing: the game is not over")
    _same(record["scores"], game.scores, Place(part="scores"))
    for key, value in (("win_shares", game.win_shares()), ("settlement", game.settlement())):
        _same(record[key], value if game.over else None, Place(part=key))


# ------------------------------------------------------------------------------- plain data


def _wrong(place: Place, wanted: str, value: Any) -> ReplayError:
    return ReplayError(place, f"expected {wanted}, got {_show(value)}")


def _show(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _keys(value: Any, names: tuple[str, ...], place: Place, optional: tuple[str, ...] = ()) -> None:
    if not is_object(value):
        raise _wrong(place, "an object", value)
    for key in value:
        if key not in (*names, *optional):
            raise ReplayError(place, f"unknown key {shown(key)}: {nearest(key, names)}")
    for name in names:
        if name not in value:
            raise ReplayError(place, f"the key {name!r} is missing")


def _sequence(value: Any, length: int | None, place: Place) -> list[Any]:
    if not is_list(value) or length not in (None, len(value)):
        raise _wrong(place, "a list" if length is None else f"a list of {length}", value)
    return value


def _whole(value: Any, low: int, high: int, place: Place) -> int:
    if type(value) is not int or not low <= value <= high:
        raise _wrong(place, f"a whole number from {low} to {high}", value)
    return value


def _card(game: Game, value: Any, place: Place) -> Card:
    if not isinstance(value, str):
        raise _wrong(place, "the name of a card", value)
    try:
        card = parse_card(value, game.rules.pack)
    except NotationError as error:
        raise ReplayError(place, str(error)) from None
    if not int(game.compiled["pack"][0]) >> card & 1:
        raise ReplayError(place, f"{card_name(card, game.rules.pack)} is not in the pack")
    return card


def _same(value: Any, wanted: Any, place: Place) -> None:
    difference = _differ(value, wanted)
    if difference is not None:
        raise ReplayError(place, difference)


def _differ(value: Any, wanted: Any, path: str = "") -> str | None:
    """Describes the first difference between plain data and ``wanted``; None if equal."""
    if is_object(wanted) and is_object(value):
        for key in sorted({*wanted, *value}, key=str):
            where = f"{path}.{key}" if path else str(key)
            if key not in value:
                return f"{where} is missing, expected {_show(wanted[key])}"
            if key not in wanted:
                return f"{where[:80]} is unknown: {nearest(key, map(str, wanted))}"
            if difference := _differ(value[key], wanted[key], where):
                return difference
        return None
    if is_list(wanted) and is_list(value) and len(value) == len(wanted):
        pairs = enumerate(zip(value, wanted, strict=True))
        found = (_differ(*pair, f"{path}[{index}]") for index, pair in pairs)
        return next((difference for difference in found if difference), None)
    if value == wanted and _kind(value, wanted):
        return None
    said = f"{path}: " if path else ""
    return f"{said}expected {_show(wanted)}, got {_show(value)}"


def _kind(value: Any, wanted: Any) -> bool:
    """Returns whether two equal values have the same kind; JSON may write 30.0 as 30."""
    return type(value) is type(wanted) or (type(wanted) is float and type(value) is int)
