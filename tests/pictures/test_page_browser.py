"""The page that replays a game in a real browser. Needs Chromium; skipped without it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ohhell_agents
from ohhell_env import Game
from ohhell_env.pictures import replay_frame, replay_page, table_svg
from ohhell_env.records.record import Record
from ohhell_env.testing import play_random
from tests.browser import CONTRASTS, chromium, dark, narrow
from tests.helpers import house

pytestmark = pytest.mark.slow
NAMES = ["Ann", "<b>Bartholomew</b> of the very long name " + "x" * 60, "Cy", "Dora"]
RULES = house(4, 1, 2, 3)


def record() -> Record:
    return play_random(Game(RULES, 5), random.Random(5)).record()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of games: all hands with thoughts, one seat's, eight seats, a Spanish pack."""
    here = tmp_path_factory.mktemp("pages")
    pages = {
        "open": replay_page(record(), NAMES, player=ohhell_agents.make("heuristic")),
        "seat": replay_page(record(), NAMES, seat=1),
    }
    for name, variant, players in (("eight", "oh_hell", 8), ("spanish", "pocha", 4)):
        game = play_random(Game(variant, 3, players=players), random.Random(3))
        pages[name] = replay_page(game.record())
    pages["large"] = replay_page(
        play_random(Game("oh_hell", 1, "deal", 17, 3), random.Random(1)).record()
    )
    for name, page in pages.items():
        (here / f"{name}.html").write_text(page, encoding="utf-8")
    return here


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def visit(browser: Any, folder: Path, name: str, place: str = "") -> None:
    browser.get("about:blank")
    browser.get((folder / f"{name}.html").as_uri() + place)


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def words(browser: Any, selector: str) -> str:
    return find(browser, selector).text


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def place(browser: Any) -> tuple[int, int]:
    deal, step = browser.execute_script("return location.hash.slice(1)").split(".")
    return int(deal), int(step)


def expected(game: Record, deal: int) -> list[str]:
    """What is told at each step of a deal, in parts."""
    told, data = [f"Deal {deal + 1}: "], game["deals"][deal]
    told += [f"{NAMES[seat]} bids {bid}." for seat, bid in data["bids"]]
    for trick in data["tricks"]:
        told += [
            f"{NAMES[seat]} {'plays' if order else 'leads'} the "
            for order, (seat, _) in enumerate(trick)
        ]
    return [*told, f"Deal {deal + 1} is over: "]


def test_every_step_forward_and_back_by_keys(browser: Any, folder: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    narrow(browser, 1280)
    visit(browser, folder, "open")
    assert browser.get_log("browser") == []
    game = record()
    steps = [(deal, told) for deal in range(3) for told in expected(game, deal)]
    for number, (deal, told) in enumerate(steps):
        assert words(browser, "#said").startswith(told)
        assert place(browser)[0] == deal + 1
        assert len(browser.find_elements("css selector", ".seat")) == 4
        if number < len(steps) - 1:
            press(browser, Keys.ARROW_RIGHT)
    last = place(browser)
    press(browser, Keys.ARROW_RIGHT)
    assert place(browser) == last, "there is nothing after the end"
    assert "win" in words(browser, "#said")
    for deal, told in reversed(steps[:-1]):
        press(browser, Keys.ARROW_LEFT)
        assert words(browser, "#said").startswith(told) and place(browser)[0] == deal + 1
    for keys, at in (
        ([Keys.PAGE_DOWN], (2, 0)),
        ([Keys.ARROW_RIGHT, Keys.PAGE_UP], (2, 0)),
        ([Keys.PAGE_UP], (1, 0)),
        ([Keys.END], last),
        ([Keys.HOME], (1, 0)),
    ):
        press(browser, *keys)
        assert place(browser) == at
    assert browser.get_log("browser") == []
    loaded = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert browser.execute_script(loaded) == []


def test_what_is_shown_is_the_game(browser: Any, folder: Path) -> None:
    game = record()
    deal = game["deals"][2]
    visit(browser, folder, "open", f"#3.{4 + 12 + 1}")
    for seat, shown in enumerate(browser.find_elements("css selector", ".seat")):
        bid = dict(deal["bids"])[seat]
        points = str(deal["points"][seat]).replace("-", "−")
        assert f"bid {bid}, won " in shown.text and f", {points}" in shown.text
        assert str(game["scores"][seat]) in shown.find_element("css selector", ".score").text
        assert len(shown.find_elements("css selector", ".hand .card.gone")) == 3
    visit(browser, folder, "open", "#3.6")
    assert len(browser.find_elements("css selector", "#trick li")) == 2
    assert len(browser.find_elements("css selector", ".seat.acts")) == 1
    assert len(browser.find_elements("css selector", ".hand .card.gone")) == 2
    assert "led" in words(browser, "#trick li:first-child")
    rows = browser.find_elements("css selector", "#sheet tbody tr")
    assert len(rows) == 3 and "now" in rows[2].get_attribute("class")


def test_buttons_slider_and_choices(browser: Any, folder: Path) -> None:
    from selenium.webdriver.support.select import Select

    visit(browser, folder, "open")
    for button, at in (("forward", 1), ("forward", 2), ("back", 1)):
        find(browser, f"#{button}").click()
        assert place(browser) == (1, at)
    find(browser, "#deal-forward").click()
    assert place(browser) == (2, 0)
    find(browser, "#deal-back").click()
    assert place(browser) == (1, 0)
    back = find(browser, "#back")
    assert back.get_attribute("aria-disabled") == "true"
    back.click()
    assert place(browser) == (1, 0)
    browser.execute_script(
        "const s = document.getElementById('slider'); s.value = 3;"
        "s.dispatchEvent(new Event('input'))"
    )
    assert place(browser) == (1, 3)
    Select(find(browser, "#deal")).select_by_index(2)
    assert place(browser) == (3, 0)
    assert browser.find_elements("css selector", ".card.back") == []
    Select(find(browser, "#looker")).select_by_visible_text("Cy")
    assert len(browser.find_elements("css selector", ".card.back")) == 9
    colour = "return getComputedStyle(document.querySelector('.hand .card')).color"
    before = {browser.execute_script(colour)}
    hues = "return [1,2,3,4].map(n => getComputedStyle(document.documentElement)"
    hues += ".getPropertyValue(`--hue-${n}`))"
    assert len(set(browser.execute_script(hues))) == 2
    find(browser, "#four").click()
    assert len(set(browser.execute_script(hues))) == 4 and before


def test_where_the_game_stands(browser: Any, folder: Path) -> None:
    visit(browser, folder, "open", "#2.3")
    assert words(browser, "#where") == "Deal 2 of 3, step 3 of 13"
    visit(browser, folder, "large")
    assert words(browser, "#where") == "One deal, step 0 of 55"


def test_a_changed_address_goes_there(browser: Any, folder: Path) -> None:
    narrow(browser, 1280)
    visit(browser, folder, "open", "#1.0")

    def address(fragment: str) -> tuple[int, int]:
        browser.execute_async_script(
            "const [to, done] = arguments; const was = location.hash;"
            "location.hash = to; setTimeout(done, was === to ? 0 : 50)",
            fragment,
        )
        return place(browser)

    assert address("#3.6") == (3, 6)
    assert words(browser, "#where") == "Deal 3 of 3, step 6 of 17"
    assert address("#2") == (2, 0) and words(browser, "#where").startswith("Deal 2 of 3, step 0")
    assert address("#2.999") == (2, 13), "as far as the deal goes"
    for bad in ("#", "#x", "#0.3", "#1.", "#1.2.3", "#-1.2", "#1.5e0", "#NaN.1", "#1.-2"):
        assert address(bad) == (2, 13), bad
    browser.find_element("css selector", "#back").click()
    assert place(browser) == (2, 12)
    visit(browser, folder, "open", "#1.2")
    assert address("#3.4") == (3, 4)
    for move, at in (("back", (1, 2)), ("forward", (3, 4))):
        getattr(browser, move)()
        browser.execute_async_script("setTimeout(arguments[0], 50)")
        assert place(browser) == at and words(browser, "#where").startswith(f"Deal {at[0]} of 3")
    assert browser.get_log("browser") == []


def test_hidden_hands_stay_hidden(browser: Any, folder: Path) -> None:
    visit(browser, folder, "seat", "#3.0")
    assert len(browser.find_elements("css selector", ".card.back")) == 9
    own = browser.find_elements("css selector", ".seat:nth-child(2) .card")
    assert len(own) == 3 and all(card.get_attribute("aria-label") for card in own)
    assert not find(browser, "#looker-label").find_elements("css selector", "select")
    assert not find(browser, "#thought").is_displayed()


def test_what_the_player_thinks_is_shown(browser: Any, folder: Path) -> None:
    visit(browser, folder, "open", "#3.0")
    assert find(browser, "#thought").is_displayed()
    assert words(browser, "#thought-head") == "What heuristic thinks"
    rows = browser.find_elements("css selector", "#thought tbody tr")
    assert len(rows) >= 3 and len([row for row in rows if "chosen" in row.text]) == 1
    assert "it would choose bid " in words(browser, "#thought-said")
    assert words(browser, "#thought caption") == "In points: the best choice has 0.00."
    cells = browser.find_elements("css selector", "#thought tbody td")
    numbers = [cell.text for cell in cells if cell.text != "–"]
    assert numbers[0] == "0.00" and "−0.00" not in numbers
    assert all(number.startswith("−") or number == "0.00" for number in numbers)
    visit(browser, folder, "open", "#3.17")
    assert not find(browser, "#thought").is_displayed(), "there is nothing to decide"


@pytest.mark.parametrize("name", ["open", "seat", "eight", "spanish", "large"])
@pytest.mark.parametrize("width", [320, 360, 820, 1280])
def test_page_is_never_wider_than_the_screen(
    browser: Any, folder: Path, width: int, name: str
) -> None:
    narrow(browser, width)
    for at in ("#1.0", "#1.9", "#1.99"):
        visit(browser, folder, name, at)
        page = "document.documentElement"
        client, scrolled = browser.execute_script(
            f"return [{page}.clientWidth, {page}.scrollWidth]"
        )
        assert scrolled == client <= width
        for button in browser.find_elements("css selector", ".controls button"):
            box = button.rect
            assert box["height"] >= 44 and box["width"] >= 44, "large enough for a thumb"
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
            assert browser.execute_script(
                "return arguments[0].scrollWidth <= arguments[0].clientWidth", button
            ), "its words fit"


@pytest.mark.parametrize("name", ["eight", "large"])
@pytest.mark.parametrize("width", [360, 1280])
def test_cards_do_not_overlap(browser: Any, folder: Path, width: int, name: str) -> None:
    narrow(browser, width)
    visit(browser, folder, name, "#1.12")
    overlaps = browser.execute_script("""
      const boxes = [...document.querySelectorAll(".hand .card, .trick .card")]
        .map(card => card.getBoundingClientRect());
      let found = 0;
      boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
        if (a.left < b.right - .5 && b.left < a.right - .5 &&
            a.top < b.bottom - .5 && b.top < a.bottom - .5) found += 1;
      }));
      return [boxes.length, found];
    """)
    assert overlaps[0] > 40 and overlaps[1] == 0


def test_names_are_only_text(browser: Any, folder: Path) -> None:
    visit(browser, folder, "open")
    assert browser.find_elements("css selector", "main b") == []
    assert words(browser, ".seat:nth-child(2) .name").startswith("<b>Bartholomew</b>")


def test_text_is_readable_in_light_and_dark(browser: Any, folder: Path) -> None:
    """WCAG's contrast of 4.5 for all text, by the colours that the browser reckons."""
    narrow(browser, 1280)
    backgrounds = set()
    for scheme in ("light", "dark"):
        dark(browser, scheme)
        for name, at in (
            ("open", "#3.6"),
            ("open", "#1.99"),
            ("seat", "#2.0"),
            ("spanish", "#5.9"),
        ):
            visit(browser, folder, name, at)
            found = browser.execute_script(CONTRASTS)
            assert len(found) > 40
            assert [each for each in found if each[0] < 4.5] == []
        backgrounds.add(found[0][2])
    assert len(backgrounds) == 2
    dark(browser, "light")


def test_screen_readers_and_the_order_of_focus(browser: Any, folder: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    narrow(browser, 1280)
    visit(browser, folder, "open", "#3.0")
    said = find(browser, "#said")
    assert said.get_attribute("aria-live") == "polite" and said.get_attribute("role") == "status"
    visited = []
    for _ in range(9):
        press(browser, Keys.TAB)
        visited.append(browser.switch_to.active_element.get_attribute("id"))
    assert visited[:8] == [
        *("deal-back", "back", "slider", "forward", "deal-forward"),
        *("thought-scroll", "deal", "looker"),
    ]
    browser.execute_script("document.getElementById('forward').focus()")
    press(browser, Keys.ENTER)
    assert place(browser) == (3, 1)
    assert browser.switch_to.active_element.get_attribute("id") == "forward", "the focus stays"
    browser.execute_script("document.getElementById('slider').focus()")
    press(browser, Keys.ARROW_RIGHT)
    assert place(browser) == (3, 2), "an arrow on the slider is one step, not two"
    unnamed = browser.execute_script("""
      return [...document.querySelectorAll("button, select, input, [role=img], [role=region]")]
        .filter(one => !(one.ariaLabel || one.textContent.trim() || one.labels?.length ||
                         one.getAttribute("aria-labelledby")))
        .map(one => one.outerHTML);
    """)
    assert unnamed == []
    heads = [each.tag_name for each in browser.find_elements("css selector", "h1, h2, h3")]
    assert heads[0] == "h1" and heads.count("h1") == 1


def test_it_works_inside_a_notebooks_frame(browser: Any, tmp_path: Path) -> None:
    narrow(browser, 1280)
    file = tmp_path / "notebook.html"
    shown: Any = replay_frame(record(), NAMES)
    file.write_text(f"<!doctype html><meta charset=utf-8>{shown._repr_html_()}", encoding="utf-8")
    browser.get(file.as_uri())
    browser.switch_to.frame(0)
    assert words(browser, "#said").startswith("Deal 1: ")
    find(browser, "#forward").click()
    assert " bids " in words(browser, "#said")
    browser.switch_to.default_content()
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [320, 600, 1280])
def test_a_table_is_no_wider_than_a_notebook(browser: Any, tmp_path: Path, width: int) -> None:
    narrow(browser, width)
    file = tmp_path / "cell.html"
    head = '<!doctype html><meta name="viewport" content="width=device-width">'
    file.write_text(head + Game("oh_hell", seed=1)._repr_html_(), encoding="utf-8")
    browser.get(file.as_uri())
    box = find(browser, "svg").rect
    assert box["width"] == pytest.approx(min(760, width - 16), abs=1)
    wide, high = map(float, find(browser, "svg").get_dom_attribute("viewBox").split()[2:])
    assert box["height"] == pytest.approx(box["width"] * high / wide, abs=2)


def test_pictures_of_notebooks_are_drawn(browser: Any, tmp_path: Path) -> None:
    """A table's picture in the browser: its words stay inside its plates."""
    narrow(browser, 1280)
    game = Game("oh_hell", 3, players=8)
    file = tmp_path / "table.html"
    svg = table_svg(game, None, ["W" * 40, *["a name of some length"] * 7])
    file.write_text(f"<!doctype html><meta charset=utf-8>{svg}", encoding="utf-8")
    browser.get(file.as_uri())
    outside = browser.execute_script("""
      const plates = [...document.querySelectorAll("rect[width='168']")]
        .map(plate => plate.getBoundingClientRect());
      return [...document.querySelectorAll("text")].map(text => text.getBoundingClientRect())
        .filter(box => plates.some(p => box.top > p.top && box.bottom < p.bottom + 2 &&
                                        box.left > p.left && box.left < p.right))
        .filter(box => plates.every(p => box.right > p.right || box.left < p.left ||
                                         box.top < p.top || box.bottom > p.bottom + 2)).length;
    """)
    assert outside == 0
    assert len(browser.find_elements("css selector", "svg rect[width='36']")) == 48
