"""A player's thoughts at decisions, for records and replay pages.

A thought is plain data::

    chosen      the action that the player would choose: a card's name, or "bid 2"
    unit        the unit of the differences, for example "points"; missing in older records
    rows        a list of [action, difference, error, deals played out, as good as], the best
                first. The difference to the best choice is 0 for that choice and negative for the
                others; the error is its standard error; "as good as" names an equivalent action.
                Each of the three is null if unknown. Older records have values instead, of which
                only the differences matter
    notes       a list of texts

The "thoughts" of a record name the player ("player"). For each deal ("deals") they have a list with
one thought, or null, for each bid and card in order.
"""

from __future__ import annotations

from typing import Any, NoReturn, cast

from ohhell_env.errors import NotationError, shown

Thought = dict[str, Any]
"""One thought, with the keys in this module's docstring."""
_ROW = (str, float | int | None, float | int | None, int, str | None)
_NAMES = ("action", "difference", "error", "deals played out", "as good as")
_USUAL_UNIT = "points"


def plain_thought(explanation: Any) -> Thought:
    """Returns the result of a player's ``explain`` as a thought.

    Args:
        explanation: An object with ``to_dict``, like ``ohhell_agents.explanation.Explanation``.
    """
    told = explanation.to_dict()
    rows = [
        [row["name"], row["difference"], row["difference_error"], row["visits"], row["same_as"]]
        for row in told["thoughts"]
    ]
    return {
        "chosen": told["chosen_name"],
        "unit": told["unit"],
        "rows": rows,
        "notes": list(told["notes"]),
    }


def shown_thought(thought: Thought) -> Thought:
    """Returns a thought for display: with a unit, and with differences to the best choice.

    Args:
        thought: A thought from a checked record.
    """
    numbers = [row[1] for row in thought["rows"] if row[1] is not None]
    best = max(numbers, default=0.0)
    rows = [
        [name, None if number is None else number - best, *rest]
        for name, number, *rest in thought["rows"]
    ]
    return {"unit": _USUAL_UNIT, **thought, "rows": rows}


def check_thoughts(data: Any, decisions: list[int]) -> None:
    """Checks the thoughts of a record.

    Args:
        data: The "thoughts" of the record.
        decisions: The number of bids and cards in each deal of the record.

    Raises:
        NotationError: The data does not have the form in this module's docstring.
    """
    if not _has_keys(data, "player", "deals") or not isinstance(data["player"], str):
        _refuse("thoughts", 'an object with "player", a name, and "deals"', data)
    deals = _list(data["deals"], "thoughts, deals")
    if len(deals) != len(decisions):
        _refuse("thoughts, deals", f"{len(decisions)} lists, one for each deal", deals)
    for number, most in enumerate(decisions):
        where = f"thoughts, deal {number + 1}"
        told = _list(deals[number], where)
        if len(told) > most:
            _refuse(where, f"at most {most} thoughts, one for each bid and card", told)
        for place, thought in enumerate(told):
            if thought is not None:
                _check_thought(thought, f"{where}, decision {place + 1}")


def _check_thought(thought: Any, where: str) -> None:
    old = _has_keys(thought, "chosen", "rows", "notes")
    if not old and not _has_keys(thought, "chosen", "unit", "rows", "notes"):
        _refuse(where, 'an object with "chosen", "unit", "rows" and "notes", or null', thought)
    if not isinstance(thought["chosen"], str):
        _refuse(f"{where}, chosen", "the name of an action", thought["chosen"])
    if not old and not isinstance(thought["unit"], str):
        _refuse(f"{where}, unit", "a text", thought["unit"])
    if not all(isinstance(note, str) for note in _list(thought["notes"], f"{where}, notes")):
        _refuse(f"{where}, notes", "texts", thought["notes"])
    for row in _list(thought["rows"], f"{where}, rows"):
        fits = isinstance(row, list) and len(cast("list[Any]", row)) == len(_ROW)
        if not fits or not all(map(_fits, cast("list[Any]", row), _ROW)):
            _refuse(f"{where}, rows", f"[{', '.join(_NAMES)}]", row)


def _fits(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _has_keys(data: Any, *keys: str) -> bool:
    return isinstance(data, dict) and set(cast("dict[str, Any]", data)) == set(keys)


def _list(data: Any, where: str) -> list[Any]:
    if not isinstance(data, list):
        _refuse(where, "a list", data)
    return cast("list[Any]", data)


def _refuse(where: str, wanted: str, got: Any) -> NoReturn:
    raise NotationError(f"{where}: expected {wanted}, got {shown(got)}")
