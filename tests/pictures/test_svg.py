"""Pictures of tables: right, readable, without what the seat that looks may not know."""

from __future__ import annotations

import itertools
import random
import re
import sys
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ohhell_env import Game, Rules, oh_hell_v0
from ohhell_env.envs.gymnasium_env import OhHellGymnasiumEnv
from ohhell_env.errors import OhHellError, RulesError
from ohhell_env.pictures import svg as svg_module
from ohhell_env.pictures.faces import as_held, colours, face, shape, suit_name
from ohhell_env.pictures.frame import pixels, png
from ohhell_env.pictures.svg import WIDTH, table_svg
from tests.envs.play import EVERY_TABLE, moments
from tests.envs.test_no_leak import redeal
from tests.helpers import house
from tests.test_layering import ROOT

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ["</text><script>alert(1)</script>", '"><b onload=x', "A&B\x00\x1b\ud800", "W" * 300]


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in parsed(svg).iter(f"{SVG}text")]


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right, bottom of all rectangles but the paper: plates, cards, labels."""
    found = []
    for each in list(parsed(svg).iter(f"{SVG}rect"))[1:]:
        x, y, width, height = (float(each.attrib[key]) for key in ("x", "y", "width", "height"))
        found.append((x, y, x + width, y + height))
    return found


def sized(svg: str, width: float) -> list[tuple[float, float, float, float]]:
    return [box for box in boxes(svg) if abs(box[2] - box[0] - width) < 0.1]


def meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.mark.parametrize("name,players", EVERY_TABLE[::2])
def test_every_variant_can_be_drawn(name: str, players: int) -> None:
    rules = Rules.preset(name, players)
    for number, game in enumerate(moments(rules, seed=players, share=0.04, deals=4)):
        seat = None if number % 3 == 0 else number % players
        svg = table_svg(game, seat, four_colours=number % 2 == 0)
        root = parsed(svg)
        assert "href" not in svg and "url(" not in svg and "<image" not in svg, "needs nothing"
        height = float(root.attrib["height"])
        for left, top, right, bottom in boxes(svg):
            assert 0 <= left < right <= WIDTH and 0 <= top < bottom <= height
        words = texts(svg)
        assert f"trick {len(game.tricks) + 1}" in " ".join(words) or game.phase != 1
        for other in range(players):
            bid = game.bids[other]
            hidden = rules.bidding.order == "simultaneous" and game.phase == 0 and other != seat
            if bid is not None and not (hidden and seat is not None):
                assert f"bid {bid} · won {game.tricks_won[other]}" in words


def luminance(colour: str) -> float:
    """Returns the relative luminance of a colour, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("tone", [svg_module._LIGHT, svg_module._DARK], ids=["light", "dark"])
def test_words_stand_out_from_what_they_stand_on(tone: svg_module._Palette) -> None:
    for words, ground in itertools.product(
        (tone.ink, tone.soft, tone.score), (tone.paper, tone.plate)
    ):
        low, high = sorted((luminance(words), luminance(ground)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (words, ground)


@pytest.mark.parametrize("seat", [None, 1])
@pytest.mark.parametrize("suit", "CDHS")
def test_a_dark_picture_shows_the_same_words(seat: int | None, suit: str) -> None:
    rules = Rules(players=4).replace(**{"trump.method": "fixed", "trump.suit": suit})
    game = Game(rules, seed=3)
    light, dark = table_svg(game, seat), table_svg(game, seat, dark=True)
    assert texts(light) == texts(dark) and light != dark
    assert svg_module._LIGHT.paper not in dark and svg_module._DARK.paper not in light


@pytest.mark.parametrize("players", range(2, 9))
@pytest.mark.parametrize("view", ["open", "seat"])
def test_nothing_lies_on_anything_else(players: int, view: str) -> None:
    rng = random.Random(players)
    largest = 52 // players - (players < 3)
    game = Game("oh_hell", 1, "deal", players=players, hand_size=min(largest, 26))
    while len(game.trick) < players - 1 or len(game.tricks) < 1:
        game.apply(rng.choice(game.legal_actions()))
    svg = table_svg(game, None if view == "open" else 1, names=["W" * 40] * players)
    plates, trick = sized(svg, 168), sized(svg, 54)
    assert len(plates) == players and len(trick) == players - 1
    for one, other in itertools.combinations(plates + trick, 2):
        assert not meet(one, other)
    hands = sized(svg, 36) if view == "open" else sized(svg, 60)
    held = [len(hand) for hand in game.hands]
    assert len(hands) == (sum(held) if view == "open" else held[1])
    assert not any(meet(plate, card) for plate in plates for card in hands)
    rows: dict[float, list[float]] = {}
    for left, top, *_ in hands:
        rows.setdefault(top, []).append(left)
    for lefts in rows.values():
        steps = [b - a for a, b in itertools.pairwise(sorted(lefts))]
        assert min(steps, default=99) >= 24, "rank and suit of each card are seen"
    assert len({float(parsed(svg).attrib["height"])}) == 1


@pytest.mark.parametrize("name,players", [("oh_hell", 4), ("oh_well", 3), ("pocha", 5)])
def test_a_seat_sees_no_more_than_it_may(name: str, players: int) -> None:
    rng = random.Random(1)
    rules = Rules.preset(name, players)
    game = Game(rules, 2)
    for game in moments(rules, seed=2, share=0.05, deals=4):
        for seat in range(players):
            other = redeal(game, seat, rng)
            assert table_svg(game, seat) == table_svg(other, seat)
    assert table_svg(game, None) != table_svg(game, 0)


def test_the_table_as_it_stands() -> None:
    game = Game(house(3, 3, bidding__hook="none"), seed=1)
    hands = [["AS", "2H", "9C"], ["KS", "3H", "TC"], ["QS", "4H", "JC"]]
    game.reset(hands=hands, turned="2C", dealer=2)
    for action in ("1", "0", "3", "AS", "KS"):
        game.apply(60 + int(action) if action.isdigit() else oh_hell_v0.card_action(action))
    words = texts(table_svg(game, 1, names=["Ann", "Bob", "Cy"]))
    for told in ("Ann", "Bob", "Cy", "bid 1 · won 0", "bid 3 · won 0", "clubs", "led", "D"):
        assert told in words
    assert "deal 1 of 1, hand size 3 · trick 1 · bids 4 of 3: over by 1" in words
    ranks = [word for word in words if word in ("A", "K", "Q", "J", "10", "9", "4", "3", "2")]
    assert sorted(ranks) == sorted(["2", "A", "K", "3", "10"]), "turned, trick, own hand"
    svg = table_svg(game, None)
    assert svg.count('stroke="#c98a1b" stroke-width="4"') == 2, "the winning card, the seat to act"


@pytest.mark.parametrize("seat", [None, 1])
def test_programs_that_are_no_browsers_can_read_its_size(seat: int | None) -> None:
    """A style of the root goes before its size there, and a height of "auto" is no height."""
    root = parsed(table_svg(Game("oh_hell", seed=3), seat))
    assert "style" not in root.attrib and "class" not in root.attrib
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {width:g} {height:g}" and width == WIDTH
    for part in root.iter():
        assert "auto" not in part.attrib.values() and part.tag != f"{SVG}style"


def test_pictures_in_the_docs_have_no_size_that_is_no_number() -> None:
    files = sorted((ROOT / "docs" / "images").glob("*.svg"))
    assert len(files) >= 3
    for file in files:
        root = parsed(file.read_text(encoding="utf-8"))
        assert "style" not in root.attrib and "viewBox" in root.attrib, file.name


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_only_text(name: str) -> None:
    game = Game("oh_hell", seed=1)
    svg = table_svg(game, None, [name] * 4)
    tags = {each.tag.removeprefix(SVG) for each in parsed(svg).iter()}
    assert tags <= {"svg", "rect", "text", "path", "circle", "ellipse"}
    assert max(map(len, texts(svg))) < 80
    with pytest.raises(RulesError, match="names: give one for each of the 4"):
        table_svg(game, None, [name] * 3)
    with pytest.raises(RulesError, match="seat: 0 to 3"):
        table_svg(game, 4)


def test_suits_have_shapes_and_colours() -> None:
    standard, spanish = Rules().pack, Rules.preset("pocha").pack
    own = house(2, 1, pack={"suits": ["X", "Y"], "ranks": ["1", "2", "3", "4"]}).pack
    for pack in (standard, spanish):
        outlines = {shape(suit, pack) for suit in pack.suits}
        assert len(outlines) == 4 and None not in outlines
        assert len(set(colours(pack, True))) == 4
    assert len(set(colours(standard, False))) == 2
    assert shape("X", own) is None and suit_name("X", own) == "X"
    assert face("TH", standard).rank == "10"
    assert as_held(["2C", "AS", "3H", "AH"], "H", standard) == ["AH", "3H", "AS", "2C"]


# ---------------------------------------------------------------- pixels


def test_frames_are_pictures_of_one_size() -> None:
    """P32: the frame is not one colour."""
    env = OhHellGymnasiumEnv(
        "oh_hell",
        opponents=lambda _, info: int(info["action_mask"].argmax()),
        render_mode="rgb_array",
        hand_size=1,
    )
    _, info = env.reset(seed=1)
    frames = [env.render()]
    over = False
    while not over:
        _, _, over, _, info = env.step(info["action_mask"].argmax())
        frames.append(env.render())
    assert {(frame.shape, frame.dtype.name) for frame in frames} == {((664, 960, 3), "uint8")}
    assert len({frame.tobytes() for frame in frames}) == len(frames)
    assert min(len(np.unique(frame[..., 0])) for frame in frames) > 50
    assert frames[0][300, 480].tolist() != frames[0][5, 480].tolist(), "cloth and paper"
    frames[0][:] = 0  # the caller's own


def test_frames_of_the_other_doors() -> None:
    env = oh_hell_v0.env(render_mode="rgb_array", players=3)
    env.reset(seed=1)
    assert env.render().shape == (70 + 470 + 3 * 50 + 14, 960, 3)
    assert env.render(seat=1).shape == (664, 960, 3)


def test_pixels_and_files() -> None:
    svg = table_svg(Game("oh_hell", seed=1), 0)
    assert pixels(svg, width=480).shape == (332, 480, 3)
    assert png(svg).startswith(b"\x89PNG")
    plain = table_svg(Game("oh_hell", seed=1), 0, names=["Ann", "Bob", "Cy", "Dé"])
    assert not np.array_equal(pixels(plain), pixels(svg)), "names are written"


@pytest.mark.parametrize("missing", ["resvg_py", "PIL"])
def test_the_extra_is_named_where_it_is_missing(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    env: Any = oh_hell_v0.env(render_mode="rgb_array")  # SB3 asks for it whether it draws or not
    env.reset(seed=1)
    with pytest.raises(OhHellError, match=re.escape('pip install -e ".[pictures]" in the clone')):
        env.render()
