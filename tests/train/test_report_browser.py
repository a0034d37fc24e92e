"""The published report in a real browser. Needs Chromium and its driver; skipped without them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ohhell_env.record import load, replay
from train.tournament import run_tournament
from train.tournament.pages import write_pages

pytestmark = pytest.mark.slow
PHONE = 390  # CSS pixels
SCROLL_BAR = 16
SWITCHES = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of whole games: with a settlement, long names, many deals."""
    entrants = ["heuristic", "random", ("<b>" + "long" * 30, "random"), "second=heuristic"]
    results = run_tournament(entrants, "oh_well", 20, 1, design="mixed", episode="game")
    return write_pages(results, tmp_path_factory.mktemp("report"))[0]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium with a profile of its own, that keeps what it saves in it."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if found is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    profile = tmp_path_factory.mktemp("profile")
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for switch in (*SWITCHES, f"user-data-dir={profile}", "window-size=1280,1000"):
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield started
    started.quit()


def narrow(browser: Any, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width <= PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def dark(browser: Any, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


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


CONTRASTS = """
const parts = (color) => color.match(/[\\d.]+/g).map(Number);
const light = (rgb) => {
  const [r, g, b] = rgb.slice(0, 3).map(value => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = parts(getComputedStyle(at).backgroundColor);
    if (color.length < 4 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const found = [];
for (const element of document.querySelectorAll("body *:not(svg *)")) {
  const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  if (!own || element.closest(".hidden")) continue;
  const back = behind(element);
  const pair = [light(parts(getComputedStyle(element).color)), light(back)].sort((a, b) => b - a);
  const words = element.textContent.trim().slice(0, 40);
  found.push([(pair[0] + 0.05) / (pair[1] + 0.05), words, back.join()]);
}
return found;
"""


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
    record = load(path)
    assert replay(record).scores == record["scores"]
    assert record == load(report.parent / "games" / path.name)
