"""A complete player in one file, with the standard library only: the line protocol by example.

It bids one for each ace and for each king or queen of trumps, and plays the lowest legal card.

    ohhell tournament heuristic "process:python examples/bots/tiny_bot.py"

Any language will do: read a line, answer a line, end at "quit" or at the end of the input. See
docs/external-players.md.
"""

import json
import sys
from typing import Any


def bid(request: dict[str, Any]) -> int:
    """Returns the legal bid next to the number of high cards."""
    hand = request.get("hand", [])  # in a blind deal there are "hands", all but our own
    aces = sum(card[0] == "A" for card in hand)
    trumps = sum(card[0] in "KQ" and card[1] == request["trump"] for card in hand)
    return min(request["legal"], key=lambda number: abs(number - aces - trumps))


def play(request: dict[str, Any]) -> str:
    """Returns the lowest legal card."""
    ranks = request["rules"]["pack"]["ranks"]  # from low to high
    return min(request["legal"], key=lambda card: ranks.index(card[0]))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request; everything that it needs stands in the request."""
    if request["type"] == "hello":
        return {"name": "tiny_bot", "version": "1.0"}
    action = bid(request) if request["phase"] == "bid" else play(request)
    return {"id": request["id"], "action": action}


def main() -> None:
    """Answers until the tournament is over."""
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "quit":
            break
        print(json.dumps(answer(request)), flush=True)  # without flush the answer never arrives


if __name__ == "__main__":
    main()
