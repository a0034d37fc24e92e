"""``ohhell play``: the keys on the screen are those that work, in every phase and in both modes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from ohhell_env import Rules
from ohhell_train.play.app import PlayApp
from ohhell_train.play.keys import MEANINGS
from ohhell_train.play.match import Match
from ohhell_train.play.screens import DealScreen, EndScreen, TextScreen
from tests.helpers import house
from tests.train.test_play_app import Hesitates, drive, legal, part, press, shown, table, until
from tests.train.test_play_cli import moves_of, talk
from tests.train.test_play_odd import Ponders

CLOSE = "enter/space/esc/q"


def footer(app: PlayApp) -> dict[str, str]:
    """The keys in the last line of the screen, with their meanings."""
    line = shown(app).rstrip("\n").split("\n")[-1]
    found = re.split(rf"(?:^| )({CLOSE}|[a-z]) (?=[a-z])", line.strip())
    return dict(zip(found[1::2], map(str.strip, found[2::2]), strict=True))


def of(keys: str) -> dict[str, str]:
    return {key: MEANINGS[key] for key in MEANINGS if key in keys}


async def check(app: PlayApp, pilot: Pilot[None], keys: str) -> None:
    """The footer shows these keys and no others, and the others do nothing."""
    await pilot.pause()
    assert footer(app) == of(keys)
    before = shown(app), app.match.game.state.tobytes()
    taken = {choice.key for choice in app.match.view.choices}
    for key in MEANINGS:
        if key not in keys and key not in taken:
            await pilot.press(key)
            await pilot.pause()
            assert (shown(app), app.match.game.state.tobytes()) == before, key


def test_in_the_bidding_in_the_play_and_at_the_end() -> None:
    match = table(house(3, 2, 1), practice=True)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await check(app, pilot, "hrq")
        await press(app, pilot, legal(app)[0].key)
        await check(app, pilot, "hurq")
        await press(app, pilot, legal(app)[0].key)
        await check(app, pilot, "hutrq")
        await press(app, pilot, legal(app)[0].key)
        assert isinstance(app.screen, DealScreen)
        assert footer(app) == {CLOSE: "next deal"}
        await press(app, pilot, "enter")
        await check(app, pilot, "hutsrq")
        while not match.over:
            await press(app, pilot, legal(app)[0].key)
        assert isinstance(app.screen, EndScreen)
        assert footer(app) == {"n": "play again", CLOSE: "back"}
        await press(app, pilot, "space")
        await check(app, pilot, "untsrq")
        assert "h hint" not in shown(app)
        for key in "tsr":
            await pilot.press(key)
            await pilot.pause()
            assert footer(app) == {CLOSE: "back"} | ({"n": "play again"} if key == "s" else {})
            await pilot.press("escape")
        await press(app, pilot, "u")
        await check(app, pilot, "hutsrq")

    drive(match, script)


def test_there_is_no_undo_outside_practice() -> None:
    match = table(house(3, 2))

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, legal(app)[0].key)
        await check(app, pilot, "hrq")

    drive(match, script)


def test_while_another_player_thinks() -> None:
    Ponders.release.clear()
    Ponders.asked.clear()
    rules = house(2, 3, first_dealer=1)  # the person bids first
    match = table(rules, "tests.train.test_play_odd:Ponders", practice=True)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        try:
            await pilot.press(legal(app)[0].key)
            await until(pilot, Ponders.asked.is_set)
            await pilot.pause()
            assert "Ida is thinking" in part(app, "message")
            await check(app, pilot, "urq")
        finally:
            Ponders.release.set()

    drive(match, script)


def test_after_a_failure() -> None:
    Hesitates.failures = 1
    match = table(house(2, 3), "tests.train.test_play_app:Hesitates", practice=True)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        moved = match.mine
        if moved:
            await press(app, pilot, legal(app)[0].key)
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await pilot.pause()
        assert footer(app) == {CLOSE: "back"}
        await pilot.press("enter")
        await check(app, pilot, "uxrq" if moved else "xrq")
        await press(app, pilot, "x")
        await check(app, pilot, "hurq" if moved else "hrq")

    drive(match, script)


def test_while_the_adviser_thinks() -> None:
    match = table(house(2, 3))
    adviser: Any = match._adviser
    Ponders.release.clear()
    advise = adviser.advise

    def slowly(observation: Any) -> Any:
        assert Ponders.release.wait(30)
        return advise(observation)

    adviser.advise = slowly

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        try:
            await pilot.press("h")
            await pilot.pause()
            assert "heuristic is thinking about a hint" in part(app, "message")
            await check(app, pilot, "rq")
        finally:
            Ponders.release.set()
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await pilot.press("enter")
        await check(app, pilot, "hrq")

    drive(match, script)


def test_a_long_text_names_the_keys_that_scroll() -> None:
    match = table(house(3, 2))

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("r")
        await until(pilot, lambda: "scroll" in shown(app))
        assert "↑ ↓ page up/down scroll" in shown(app)
        await pilot.press("enter", "h")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await pilot.pause()
        assert "scroll" not in shown(app)

    drive(match, script)


@pytest.mark.parametrize("size", [(80, 24), (60, 20), (100, 30), (200, 50)])
@pytest.mark.parametrize("players", [2, 8])
def test_all_keys_fit(size: tuple[int, int], players: int) -> None:
    match = table(Rules.preset("oh_hell", players), episode="deal", hand_size=1, practice=True)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await check(app, pilot, "hrq")
        for name in match.names:
            assert name in shown(app)
        while not match.over:
            await press(app, pilot, legal(app)[0].key)
        await press(app, pilot, "enter")
        await check(app, pilot, "untsrq")

    drive(match, script, size)


def test_nothing_depends_on_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    screens: list[str] = []

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, legal(app)[0].key)
        assert app.no_color is (len(screens) == 1)
        screens.append(shown(app))

    drive(table(house(3, 4)), script)
    monkeypatch.setenv("NO_COLOR", "1")
    drive(table(house(3, 4)), script)
    assert screens[0] == screens[1] and "Ida (random)" in screens[0]


# ---------------------------------------------------------------- names in the table


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_players_stand_beside_the_names_where_there_is_room(width: int) -> None:
    spec = "tests.train.test_play_match:AlwaysAce"
    match = table(house(4, 3), "heuristic", spec, "zoo:universal", seat=0)

    async def script(app: PlayApp, pilot: Pilot[None]) -> None:
        rows = part(app, "seats").split("\n")
        assert len({row.index(" - ") for row in rows[1:]}) == 1
        for name, player in (("Ida", "heuristic"), ("Mei", "zoo:universal")):
            assert (f"{name} ({player})" in "\n".join(rows)) == (width >= 80)
        assert ("Omar (tes…" in "\n".join(rows)) == (width >= 80)
        upper = shown(app).split("\n")[2:7]
        assert all(len(line) == width for line in upper)

    drive(match, script, (width, 24))


# ---------------------------------------------------------------- line by line


def offered(said: list[str]) -> list[str]:
    """The commands of each line that lists them."""
    lines = [line for line in said if line.startswith("Write ")]
    return ["".join(re.findall(r"([a-z?]): ", line)) for line in lines]


def plainly(rules: Rules, more: list[str], **settings: Any) -> tuple[Match, list[str]]:
    words = moves_of(table(rules, **settings))
    match = table(rules, **settings)
    return match, talk(match, [*words, *more])


def test_commands_are_listed_when_they_change() -> None:
    _, said = plainly(house(3, 2, 1), ["?"])
    assert offered(said) == ["hrv?q", "htrv?q", "htsrv?q", "ntsrv?q", "ntsrv?q"]
    _, said = plainly(house(3, 2, 1), ["u"], practice=True)
    assert offered(said) == ["hrv?q", "hurv?q", "hutrv?q", "hutsrv?q", "untsrv?q", "hutsrv?q"]
    assert "Write a bid (3), a card (TH or 10H), or h: hint, " in "\n".join(said)
    assert "Write n: play again, t: last trick, " in "\n".join(plainly(house(3, 1), [])[1])


def test_commands_after_a_failure() -> None:
    Hesitates.failures = 1
    match = table(house(2, 3), "tests.train.test_play_app:Hesitates", practice=True)
    first = [] if not match.mine else [str(match.view.bids[0].name)]
    said = talk(match, [*first, "v", "h", "x"])
    listed = offered(said)
    assert ("uxrv?q" if first else "xrv?q") in listed
    assert "There is no hint: it is not your turn." in said
    assert "Ida (tests.train.test_play_app:Hesitates): bid" in "\n".join(said)
    assert match.mine


def test_docs_list_the_same_keys() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "play.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w)` \|", page, re.MULTILINE) == list(MEANINGS)
