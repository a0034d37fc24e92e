"""The published report in a real browser. Needs Chromium and its driver; skipped without them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ohhell_env.records.record import load_record
from ohhell_env.records.replay import replay
from ohhell_train.tournament import run_tournament
from ohhell_train.tournament.pages import write_pages
from tests.browser import CONTRASTS, PHONE, chromium, dark, narrow

pytestmark = pytest.mark.slow
SCROLL_BAR = 16


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of whole games: with a settlement, long names, many deals."""
    entrants = ["heuristic", "random", ("<b>" + "long" * 30, "random"), "second=heuristic"]
    results = run_tournament(entrants, "oh_well", 20, 1, design="mixed", episode="game")
    return write_pages(results, tmp_path_factory.mktemp("report"))[0]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium with a profile of its own, that keeps what it saves in it."""
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def test_everything_is_seen_and_nothing_goes_wrong(browser: Any, report: Path) -> None:
    narrow(browser, 1280)
    browser.get(report.as_uri())
    assert browser.get_log("browser") == []
    sections = browser.find_elements("css selector", "header, section, figure, svg.plot, article")
    assert len(sections) >= 8 + 5 + 5 + 3
    for section in sections:
        assert section.is_displayed()
        assert section.size["height"] > 20
    assert browser.find_elements("css selector", "main b") == []
    loaded = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert browser.execute_script(loaded) == []


@pytest.mark.parametrize("width", [320, PHONE, 820, 1280])
def test_page_is_never_wider_than_the_screen(browser: Any, report: Path, width: int) -> None:
    narrow(browser, width)
    browser.get(report.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    page = "document.documentElement"
    widths = f"return [{page}.clientWidth, {page}.scrollWidth, document.body.scrollWidth]"
    client, *scrolled = browser.execute_script(widths)
    bar = 0 if width <= PHONE else SCROLL_BAR
    assert width - bar <= client <= width
    assert scrolled == [client, client]


def test_details_open_by_keyboard(browser: Any, report: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    narrow(browser, 1280)
    browser.get(report.as_uri())
    for summary in browser.find_elements("css selector", "summary")[:4]:
        details = summary.find_element("xpath", "..")
        assert details.get_attribute("open") is None
        browser.execute_script("arguments[0].focus()", summary)
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        assert details.get_attribute("open") is not None
    first = browser.find_element("css selector", "nav a")
    browser.execute_script("arguments[0].focus()", first)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.current_url.endswith("#standings")


def test_text_is_readable_in_light_and_dark(browser: Any, report: Path) -> None:
    """WCAG's contrast of 4.5 for all text, by the colours that the browser reckons."""
    narrow(browser, 1280)
    found: dict[str, list[Any]] = {}
    for scheme in ("light", "dark"):
        dark(browser, scheme)
        browser.get(report.as_uri())
        found[scheme] = browser.execute_script(CONTRASTS)
        assert len(found[scheme]) > 500
        assert [each for each in found[scheme] if each[0] < 4.5] == []
    backgrounds = [found[scheme][0][2] for scheme in ("light", "dark")]
    assert backgrounds[0] != backgrounds[1]
    dark(browser, "light")


def test_link_saves_a_record_that_can_be_replayed(
    browser: Any, report: Path, tmp_path: Path
) -> None:
    narrow(browser, 1280)
    kept = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", kept)
    browser.get(report.as_uri())
    link = browser.find_element("css selector", "a[download]")
    browser.execute_script("arguments[0].click()", link)
    path = tmp_path / "largest-gain.json"
    deadline = time.monotonic() + 20.0
    while not path.is_file() and time.monotonic() < deadline:
        time.sleep(0.1)
    record = load_record(path)
    assert replay(record).scores == record["scores"]
    assert record == load_record(report.parent / "games" / path.name)
