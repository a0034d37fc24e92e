"""A headless Chromium for tests of pages; skips where there is none."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PHONE = 390  # CSS pixels
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


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Starts a headless Chromium that keeps what it saves in a folder of its own."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if found is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for switch in (*SWITCHES, f"user-data-dir={profile}", "window-size=1280,1000"):
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield started
    finally:
        started.quit()


def narrow(browser: Any, width: int) -> None:
    """Gives the page so many CSS pixels of width; a phone's screen up to ``PHONE``."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width <= PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def dark(browser: Any, scheme: str) -> None:
    """Prefers the colour scheme "light" or "dark"."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


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
  if (!own || element.closest(".hidden, .aside, .gone, script, noscript, [hidden]")) continue;
  const back = behind(element);
  const pair = [light(parts(getComputedStyle(element).color)), light(back)].sort((a, b) => b - a);
  const words = element.textContent.trim().slice(0, 40);
  found.push([(pair[0] + 0.05) / (pair[1] + 0.05), words, back.join()]);
}
return found;
"""
"""A script that returns, of all text, its contrast (WCAG), its beginning and its background."""
