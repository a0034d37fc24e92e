"""The line protocol of programs that play: what requests contain, and how answers are read.

A request comes only from the observation of the seat to act and from the rules, so a program can
never see more than its seat may see. Seats are the table's, not relative to the player's own. See
``docs/external-players.md``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ohhell_env.actions import BID_BASE
from ohhell_env.cards import card_name
from ohhell_env.errors import shown
from ohhell_env.observation import decode
from ohhell_env.rules import Rules

PROTOCOL = 1
"""Version of the protocol; the hello contains it."""
HELLO = {"type": "hello", "protocol": PROTOCOL}

Choices = dict[str | int, int]
"""The legal answers, cards or numbers, and the action code of each."""


class AnswerError(ValueError):
    """A line that does not answer the request; the message continues after the program's name."""


class IllegalAnswerError(AnswerError):
    """An answer in the right form with an illegal action."""


def line_of(message: dict[str, Any]) -> bytes:
    """Returns a message as a line of JSON, without the newline."""
    return json.dumps(message, allow_nan=False).encode()


def choices(mask: NDArray[np.int8], rules: Rules) -> Choices:
    """Returns the legal answers of an action mask (A,), in the order of the action codes."""
    legal = np.flatnonzero(mask).tolist()
    return {
        code - BID_BASE if code >= BID_BASE else card_name(code, rules.pack): code for code in legal
    }


def request(
    vector: NDArray[np.int8], legal: Iterable[str | int], rules: Rules, seat: int
) -> dict[str, Any]:
    """Returns the request for one decision, without "id" and "time_limit_ms".

    Args:
        vector: int8 (L,), the observation of the seat to act.
        legal: The legal answers.
        rules: The rules of the game.
        seat: The seat to act.

    Raises:
        NotationError: The observation does not fit the rules.
    """
    view = decode(vector, rules)
    players = rules.players

    def at(relative: int) -> int:
        return (seat + relative) % players

    def by_seat(values: list[Any]) -> list[Any]:
        return [values[(place - seat) % players] for place in range(players)]

    def cards(plays: list[tuple[int, str]]) -> list[list[Any]]:
        return [[at(relative), card] for relative, card in plays]

    plays, done = cards(view["plays"]), view["trick_number"] * players
    order = [(view["dealer"] + 1 + place) % players for place in range(players)]
    return {
        "type": "act",
        "phase": view["phase"],
        "rules": rules.to_dict(),
        "players": players,
        "seat": seat,
        "dealer": at(view["dealer"]),
        "deal": view["deal"],
        "deals_left": view["deals_left"],
        "hand_size": view["hand_size"],
        "turned": view["turned"],
        "trump": None if view["trump"] == "NT" else view["trump"],
        **_hand(view, by_seat),
        "bids": [[at(r), view["bids"][r]] for r in order if view["bids"][r] is not None],
        "tricks": [plays[start : start + players] for start in range(0, done, players)],
        "trick": cards(view["trick"]),
        "tricks_won": by_seat(view["tricks_won"]),
        "scores": by_seat(view["scores"]),
        "legal": list(legal),
    }


def _hand(view: dict[str, Any], by_seat: Any) -> dict[str, Any]:
    if not view["blind"]:
        return {"hand": view["hand"]}
    shown = view["open_cards"]
    return {"hands": by_seat([[shown[r]] if r in shown else None for r in range(view["players"])])}


def read_hello(line: bytes) -> tuple[str, str]:
    """Returns the name and version that a program gives itself.

    Raises:
        AnswerError: The line does not answer the hello.
    """
    answer = _object(line)
    name, version = answer.get("name"), answer.get("version", "")
    if not isinstance(name, str) or not isinstance(version, str):
        raise AnswerError(
            f'answered the hello with {_quoted(line)}; expected {{"name": text, "version": text}}'
        )
    return name, version


def read_action(line: bytes, number: int, legal: Choices) -> int:
    """Returns the action code in a program's line.

    Args:
        line: The program's line.
        number: The "id" of the request.
        legal: The legal answers.

    Raises:
        AnswerError: The line does not answer this request.
        IllegalAnswerError: The line answers it, but the action is not legal.
    """
    answer = _object(line)
    if type(answer.get("id")) is not int or answer["id"] != number:
        raise AnswerError(f"answered with id {shown(answer.get('id'))} to request {number}")
    if "action" not in answer:
        raise AnswerError(f'answered {_quoted(line)}, without an "action"')
    action = answer["action"]
    if type(action) not in (int, str) or action not in legal:
        allowed = ", ".join(map(str, legal))
        raise IllegalAnswerError(f"answered {shown(action)}, which is not legal: {allowed}")
    return legal[action]


def _object(line: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise AnswerError(f"wrote {_quoted(line)}, which is not JSON") from None
    if not isinstance(answer, dict):
        raise AnswerError(f"wrote {_quoted(line)}, which is not a JSON object")
    return answer


def _quoted(line: bytes) -> str:
    return shown(line.decode("utf-8", "replace"))
