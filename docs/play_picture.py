"""Draws docs/images/play.svg: the table of ``ohhell play`` in the middle of a game.

python -m docs.play_picture            # draw it again
python -m docs.play_picture --check    # only say whether it is out of date
"""

from __future__ import annotations

import asyncio
import html
import re
import sys
from functools import partial
from pathlib import Path

from ohhell_env import Rules
from ohhell_train.play.app import PlayApp
from ohhell_train.play.cli import set_up
from ohhell_train.play.session import Session

PICTURE = Path(__file__).parent / "images" / "play.svg"
AGAINST = ["heuristic", "search:worlds=8", "zoo:universal"]
SEED = 45
DEAL, TRICKS = 1, 2
"""The picture shows the second deal after two tricks, at the person's turn."""
SIZE = 84, 24
_FONT = re.compile(r"\s*@font-face \{[^}]*\}")


def picture() -> str:
    """Returns the picture as SVG."""
    begin = partial(set_up, Rules.preset("oh_hell", 4), AGAINST)
    drawn = asyncio.run(_draw(Session(begin, SEED)))
    return _FONT.sub("", drawn)  # the reader's own monospaced font instead of one from the network


async def _draw(session: Session) -> str:
    app = PlayApp(session, pace=0)
    app.animation_level = "none"
    async with app.run_test(size=SIZE) as pilot:
        while True:
            await pilot.pause(0.01)
            if len(app.screen_stack) > 1:  # the score sheet between two deals
                await pilot.press("enter")
            table = app.match.view.table
            if not app.match.mine:
                continue
            if (table.deal, table.trick_number, table.bidding) == (DEAL, TRICKS, False):
                break
            hint = app.match.hint()
            assert hint is not None
            app.action_take(hint.action)
        await pilot.pause()
        return app.export_screenshot(title="ohhell play")


def text_of(svg: str) -> list[str]:
    """Returns the pieces of text in a picture: what it shows, whatever Textual draws around it."""
    return [html.unescape(found) for found in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def main(check: bool) -> int:
    """Draws the picture, or says that it is out of date; returns the exit status."""
    drawn = picture() + "\n"
    if not check:
        PICTURE.write_text(drawn, encoding="utf-8")
    elif text_of(drawn) != text_of(PICTURE.read_text(encoding="utf-8")):
        print(f"{PICTURE.name}: out of date")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
