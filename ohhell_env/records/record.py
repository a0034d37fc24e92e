"""A game as plain data for JSON: created, saved, loaded.

A record holds the rules, every card dealt, every bid and every card played, and the points::

    format, version     "ohhell-record", 1
    rules               every setting, as returned by ``Rules.to_dict``
    seed                the seed of the table's random stream, or null
    episode             "game" or "deal"
    deals               a list, one entry for each deal:
        deal            its number in the game, from 0
        dealer          seat
        hand_size, blind
        hands           the cards dealt, by seat
        turned          the turned card (or the dealer's shown last card), or null
        trump           the suit's letter; null is no-trump
        bids            [seat, bid] in the order of bidding
        tricks          [[seat, card], ...] in the order of play, also of an unfinished trick
        points          by seat; null while the deal is unfinished
    scores              by seat, after the last finished deal
    win_shares, settlement    by seat; null while the episode is unfinished
    names               optional: the name of the player in each seat
    thoughts            optional: a player's thoughts at each decision; see ``thoughts.py``

The record is the authority on the cards, and the rules on everything else. ``replay.py`` checks
records, and ``notation.py`` has their readable form.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from ohhell_env import files
from ohhell_env.cards import Card, card_name
from ohhell_env.display import ShownInNotebooks
from ohhell_env.engine.layout import NO_TRUMP
from ohhell_env.errors import NotationError, OhHellError, shown, shown_path

if TYPE_CHECKING:
    from ohhell_env.game import Game

FORMAT = "ohhell-record"
VERSION = 1
MARK = "\ufeff"
"""A byte-order mark, which remains in a text that was read as plain UTF-8."""

Record = dict[str, Any]
"""A game as plain data, with the keys in this module's docstring."""


class ShownRecord(Record, ShownInNotebooks):
    """A record that notebooks show as a score sheet; otherwise a dict."""


def deal_record(game: Game) -> dict[str, Any]:
    """Returns the current deal of a game, finished or not, as plain data."""
    pack = game.rules.pack
    return {
        "deal": game.deal,
        "dealer": game.dealer,
        "hand_size": game.hand_size,
        "blind": game.blind,
        "hands": [_names(game, hand) for hand in game.dealt],
        "turned": None if game.turned is None else card_name(game.turned, pack),
        "trump": None if game.trump == NO_TRUMP else pack.suits[game.trump],
        "bids": _bids(game),
        "tricks": [_trick(game, trick) for trick in [*game.tricks, game.trick] if trick],
        "points": game.points,
    }


def _names(game: Game, cards: list[Card]) -> list[str]:
    return [card_name(card, game.rules.pack) for card in cards]


def _bids(game: Game) -> list[list[int]]:
    order = [(game.dealer + 1 + place) % game.players for place in range(game.players)]
    made = game.bids
    return [[seat, bid] for seat in order if (bid := made[seat]) is not None]


def _trick(game: Game, trick: list[tuple[int, Card]]) -> list[list[Any]]:
    return [[seat, card_name(card, game.rules.pack)] for seat, card in trick]


def game_record(game: Game) -> Record:
    """Returns an episode so far as new plain data.

    Raises:
        NotationError: Earlier deals are unknown, because the game came from a batch.
    """
    deals = copy.deepcopy(game.finished_deals)
    played = game.deal + game.over if game.episode == "game" else int(game.over)
    if len(deals) != played:
        raise NotationError(
            f"no record: {played} deals of this game are over, but only the last {len(deals)} are "
            "known, because the copy was made in the middle of the game (by BatchedOhHell.game, "
            "for example); copy it in its first deal, or use episode='deal'"
        )
    if not game.over:
        deals.append({**deal_record(game), "points": None})
    return ShownRecord(
        format=FORMAT,
        version=VERSION,
        rules=game.rules.to_dict(),
        seed=game.seed,
        episode=game.episode,
        deals=deals,
        scores=game.scores,
        win_shares=game.win_shares() if game.over else None,
        settlement=game.settlement() if game.over else None,
    )


def to_json(record: Record) -> str:
    """Returns a record as JSON text, one line for each deal."""
    lines: list[str] = []
    for key, value in record.items():
        if key == "deals":
            deals = ",\n".join("    " + json.dumps(deal, allow_nan=False) for deal in value)
            lines.append(f'  "deals": [\n{deals}\n  ]')
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_json(text: str) -> Record:
    """Reads a record from JSON text; ``replay`` checks its game.

    Raises:
        NotationError: The text is not JSON, or not a record of this version.
    """
    try:
        data = read_json(text)
    except NotationError as error:
        raise NotationError(f"not a record: {error}") from None
    check_version(data)
    return ShownRecord(data)


def read_json(text: str) -> Any:
    """Returns the content of a JSON text; raises NotationError if it is wrong or ambiguous."""
    try:
        return json.loads(
            text.removeprefix(MARK), object_pairs_hook=_unique, parse_constant=_refuse
        )
    except json.JSONDecodeError as error:
        raise NotationError(
            f"the JSON is wrong or incomplete at line {error.lineno}, column {error.colno}: "
            f"{error.msg}"
        ) from None
    except RecursionError:
        raise NotationError("the JSON is nested too deeply") from None
    except NotationError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise NotationError(str(error)) from None


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Returns whether plain data is an object (a dict)."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Returns whether plain data is a list."""
    return isinstance(value, list)


def check_version(data: Any) -> None:
    """Raises NotationError unless the data is marked as a record of this version."""
    if not is_object(data) or "format" not in data:
        raise NotationError(f'not a record: it must be an object with "format": "{FORMAT}"')
    if data["format"] != FORMAT:
        raise NotationError(f"format must be {FORMAT!r}, got {shown(data['format'])}")
    version = data.get("version")
    if type(version) is not int or version != VERSION:
        raise NotationError(
            f"version must be {VERSION}, the version that this program reads; got {shown(version)}"
        )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotationError(f"duplicate key {shown(twice)} in one object")
    return plain


def _refuse(constant: str) -> NoReturn:
    raise NotationError(f"{constant} is not a number")


def load_record(path: str | Path) -> Record:
    """Reads a record from a JSON file.

    Raises:
        NotationError: The file cannot be read, or is not a record.
    """
    try:
        return from_json(read_record_text(path))
    except NotationError as error:
        raise NotationError(f"{shown_path(path)}: {error}") from None


def read_record_text(path: str | Path) -> str:
    """Reads a text file like ``files.read_text``; raises NotationError if that fails."""
    try:
        return files.read_text(path)
    except OhHellError as error:
        raise NotationError(f"cannot read it: {error}") from None


def save_record(record: Record, path: str | Path) -> None:
    """Writes a record to a JSON file, whole or not at all."""
    write_text(to_json(record), path)


def write_text(text: str, path: str | Path) -> None:
    """Writes a text file whole or not at all, into an existing folder.

    Raises:
        NotationError: The path is not a file name, or its folder does not exist.
        OSError: The file cannot be written.
    """
    target = Path(path)
    if not target.name or "\0" in str(path):
        raise NotationError(f"{shown_path(path)!r} is not a file name")
    if not target.parent.is_dir():
        raise NotationError(
            f"{shown_path(path)!r} cannot be written: there is no folder "
            f"{shown_path(target.parent)}"
        )
    files.write_whole(target, text)
