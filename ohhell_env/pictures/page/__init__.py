"""The page that replays a game: one self-contained HTML file.

``page.html`` is its structure, ``page.css`` its style and ``page.js`` its behaviour. This module
combines them with the game as data. Text from the game (names, players' notes) is only ever data:
it reaches the page as JSON and is written as text. A content security policy allows only the page's
own script and style, and no network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ohhell_env.cards import Pack
from ohhell_env.errors import RulesError, shown
from ohhell_env.pictures.explained import explained
from ohhell_env.pictures.faces import as_held, colours, shape, symbol
from ohhell_env.pictures.names import seat_names
from ohhell_env.records.notation import format_checked
from ohhell_env.records.record import Record
from ohhell_env.records.replay import Checked, check
from ohhell_env.records.thoughts import shown_thought
from ohhell_env.rules import Rules
from ohhell_env.rules.explain import title as title_of
from ohhell_env.rules.phrases import suit_word
from ohhell_env.rules.schedule import num_deals

_HERE = Path(__file__).parent
_LONE = re.compile("[\ud800-\udfff]")


def replay_page(
    record: Record,
    names: Sequence[str] | None = None,
    seat: int | None = None,
    player: Any = None,
) -> str:
    """Returns the page of a game.

    Args:
        record: The game.
        names: Names by seat; None: the record's, else "seat 0", "seat 1" and so on.
        seat: Show only what this seat may know. None: the page contains all hands, and its reader
            chooses the view.
        player: An object with ``begin`` and ``explain``. The page shows what it thinks at each
            decision (with ``seat``, at that seat's). None: the thoughts in the record, if any.

    Raises:
        NotationError: The record is not a game under its rules.
        RulesError: The seat does not exist, or the number of names is not the number of seats.
        OhHellError: The player cannot explain itself.
    """
    checked = check(record)
    players = checked.game.players
    called = seat_names(players, names, record)
    if seat is not None and not 0 <= seat < players:
        raise RulesError(f"seat: 0 to {players - 1} at this table, got {shown(seat)}")
    data = _data(checked, record, called, seat)
    if player is not None:
        told = {
            "player": getattr(player, "kind", type(player).__name__),
            "deals": explained(record, player, seat),
        }
        _add_thoughts(data, told)
    elif "thoughts" in record:
        _add_thoughts(data, record["thoughts"])
    return _page(data, "" if seat is not None else format_checked(checked))


def _add_thoughts(data: dict[str, Any], told: dict[str, Any]) -> None:
    """Adds what a player thought; a page for one seat gets only the thoughts for that seat."""
    data["player"] = told["player"]
    for deal, thoughts in zip(data["deals"], told["deals"], strict=True):
        actors = [seat for seat, _ in (*deal["bids"], *deal["cards"])]
        deal["thoughts"] = [
            shown_thought(thought) if thought and data["seat"] in (None, actor) else None
            for actor, thought in zip(actors, thoughts, strict=False)
        ]


def _data(checked: Checked, record: Record, names: list[str], seat: int | None) -> dict[str, Any]:
    rules = checked.game.rules
    deals = [_deal(checked, rules, record, number, seat) for number in range(len(record["deals"]))]
    return {
        "player": None,
        "title": title_of(rules),
        "names": names,
        "seat": seat,
        "total": num_deals(rules) if record["episode"] == "game" else None,
        "simultaneous": rules.bidding.order == "simultaneous",
        "late": rules.trump.revealed == "after_bidding",
        "suits": _suits(rules.pack),
        "deals": deals,
        "shares": record["win_shares"],
    }


def _suits(pack: Pack) -> dict[str, dict[str, Any]]:
    """Returns the drawing and the name of each suit, by its letter."""
    two, four = colours(pack, False), colours(pack, True)
    return {
        suit: {
            "symbol": symbol(suit, pack),
            "word": suit_word(suit, pack),
            "shape": shape(suit, pack),
            "colours": [two[place], four[place]],
        }
        for place, suit in enumerate(pack.suits)
    }


def _deal(
    checked: Checked, rules: Rules, record: Record, number: int, seat: int | None
) -> dict[str, Any]:
    deal: dict[str, Any] = record["deals"][number]
    bidding = seat is not None and len(deal["bids"]) < rules.players
    if bidding and rules.trump.revealed == "after_bidding":
        deal = deal | {"turned": None, "trump": "?"}
    if bidding and rules.bidding.order == "simultaneous":
        deal = deal | {"bids": [[who, bid if who == seat else None] for who, bid in deal["bids"]]}
    seen = [_sees(seat, other, deal["blind"], bidding) for other in range(rules.players)]
    return {
        "number": deal["deal"] + 1,
        "size": deal["hand_size"],
        "blind": deal["blind"],
        "dealer": deal["dealer"],
        "turned": deal["turned"],
        "trump": deal["trump"],
        "hands": [
            as_held(hand, deal["trump"], rules.pack) if open_hand else None
            for hand, open_hand in zip(deal["hands"], seen, strict=True)
        ],
        "bids": deal["bids"],
        "cards": [play for trick in deal["tricks"] for play in trick],
        "winners": checked.winners[number],
        "points": deal["points"],
        "scores": None if deal["points"] is None else checked.scores[number],
    }


def _sees(seat: int | None, other: int, blind: bool, bidding: bool) -> bool:
    """Returns whether a seat may see another's dealt hand; in a blind deal, all but its own."""
    if seat is None or (blind and not bidding):
        return True
    return (other != seat) if blind else (other == seat)


def _page(data: dict[str, Any], text: str) -> str:
    css, script = (_read(f"page.{kind}") for kind in ("css", "js"))
    title = f"{data['title']}: a game"
    parts: dict[str, str] = {
        "POLICY": f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(script)}",
        "TITLE": escape(_plain(title)),
        "CSS": css,
        "TEXT": escape(_plain(text or "This page needs JavaScript.")),
        "DATA": _json(data),
        "SCRIPT": script,
    }
    # In one pass, so that nothing in the data is mistaken for a placeholder.
    return re.sub("@@([A-Z]+)@@", _part_of(parts), _read("page.html"))


def _part_of(parts: dict[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda found: parts[found[1]]


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _json(data: dict[str, Any]) -> str:
    """Returns data as JSON that is safe in a script element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _plain(text: str) -> str:
    """Returns text that UTF-8 can encode."""
    return _LONE.sub("�", text)
