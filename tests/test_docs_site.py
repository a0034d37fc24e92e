"""The documentation as a site: complete, strict, and nothing loaded from elsewhere."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from docs.blocks.contributing import section
from tests.browser import PHONE, chromium, dark, narrow
from tests.doc_pages import DOCS, PAGES, ROOT, text_of

pytest.importorskip("mkdocs", reason="the extra docs is not installed")

MODULES = (
    "ohhell_env",
    "ohhell_env.oh_hell_v0",
    "ohhell_env.pictures",
    "ohhell_agents",
    "ohhell_train.tournament",
    "ohhell_train.exact",
    "ohhell_train.bidding",
)
"""Modules whose public names stand in the reference."""
LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}
CONFIG: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))


def in_nav(entry: str | list[Any] | dict[str, Any]) -> Iterator[str]:
    """Yields the pages of a part of the navigation."""
    if isinstance(entry, str):
        yield entry
        return
    for part in entry.values() if isinstance(entry, dict) else entry:
        yield from in_nav(part)


# ---------------------------------------------------------------- without building it


def test_every_page_is_in_the_navigation() -> None:
    from docs.hooks import INCLUDED

    listed = list(in_nav(CONFIG["nav"]))
    pages = [page.removeprefix("docs/") for page in PAGES if page.startswith("docs/")]
    assert sorted(listed) == sorted([*pages, *INCLUDED])


def test_it_asks_for_nothing_from_elsewhere() -> None:
    assert CONFIG["theme"]["font"] is False
    assert {"repo_url", "site_url", "extra_javascript"} & CONFIG.keys() == set()
    assert "analytics" not in CONFIG["extra"]


def test_the_drawing_shows_the_layers() -> None:
    paths = re.findall(r"^\| (`[^|]+?) \|", section("Map of layers"), re.MULTILINE)
    layers = [re.findall(r"`([\w./]+)`", path) for path in paths]
    drawn = re.findall(r'class="path"[^>]*>([^<]+)<', text_of("docs/images/architecture.svg"))
    assert drawn[::-1] == [", ".join(names) for names in layers]


@pytest.mark.parametrize("page", PAGES)
def test_pictures_have_words(page: str) -> None:
    words = re.findall(r"!\[([^\]]*)\]\(", text_of(page))
    tags = re.findall(r'<img(?: alt="([^"]*)")?', text_of(page))
    assert all(len(alt) > 10 for alt in (*words, *tags)), (words, tags)


def test_docstrings_become_markdown() -> None:
    from docs.blocks.docstrings import as_markdown

    docstring = (
        "One::\n\n    f(1)\n\nTwo [a][b] ``x[1][2]``.\n\n>>> f(1)\n'a'\n>>> f(2)\n'b'\n\n"
        "===  ====\na    b c\n===  ====\n\nArgs:\n    x: It.\n"
    )
    assert as_markdown(docstring) == (
        "One:\n\n```python\nf(1)\n```\n\nTwo [a]\\[b] ``x[1][2]``.\n\n"
        "```pycon\n>>> f(1)\n'a'\n>>> f(2)\n'b'\n```\n\n"
        "```text\na    b c\n```\n\nArgs:\n    x: It."
    )


def turned(page: str, text: str, repository: str | None = None) -> str:
    """Returns a line of a page as the site has it, MkDocs' own part left out."""
    from markdown import Markdown

    from docs.hooks import Links

    links = Links()
    links.pages = {ROOT / "README.md": "index.md", DOCS / "rules.md": "rules.md"}
    links.page = "index.md" if page == "README.md" else page.removeprefix("docs/")
    links.sources, links.repository = {links.page: ROOT / page}, repository
    return Markdown(extensions=[links]).convert(text).removeprefix("<p>").removesuffix("</p>")


@pytest.mark.parametrize(
    ("page", "text", "wanted"),
    [
        ("README.md", "[a](docs/rules.md#b)", '<a href="rules.md#b">a</a>'),
        ("README.md", "[docs/rules.md](docs/rules.md)", '<a href="rules.md">The rules and'),
        ("docs/x.md", "[a](rules.md)", '<a href="rules.md">a</a>'),
        ("docs/x.md", "[a](../README.md)", '<a href="index.md">a</a>'),
        ("docs/api/x.md", "[a](../rules.md)", '<a href="../rules.md">a</a>'),
        ("docs/api/x.md", "[rules.md](../rules.md)", '<a href="../rules.md">The rules and'),
        ("docs/x.md", "[a](https://b.org/c)", '<a href="https://b.org/c">a</a>'),
        ("docs/x.md", "[a](#b)", '<a href="#b">a</a>'),
        ("docs/x.md", "[a](none.md)", '<a href="none.md">a</a>'),
        (
            "docs/x.md",
            "see [a](../train/ohhell_train/cli.py).",
            "see <span>a (<code>train/ohhell_train/cli.py</code>)</span>.",
        ),
        (
            "docs/x.md",
            "[`cli.py`](../train/ohhell_train/cli.py)",
            "<span><code>train/ohhell_train/cli.py</code></span>",
        ),
        ("docs/x.md", "[a](../../secret)", '<a href="../../secret">a</a>'),
    ],
)
def test_links_of_pages_become_links_of_the_site(page: str, text: str, wanted: str) -> None:
    assert turned(page, text).startswith(wanted)


def test_links_lead_to_the_repository_where_there_is_one() -> None:
    made = turned("docs/x.md", "[a](../train/ohhell_train/cli.py)", "https://example.org/game/")
    assert made == '<a href="https://example.org/game/blob/HEAD/train/ohhell_train/cli.py">a</a>'


def test_a_notebooks_page_goes_without_its_set_up() -> None:
    from docs.hooks import NOTEBOOKS, SETUP, _converted

    for notebook in NOTEBOOKS[:1]:
        made = _converted(notebook)
        assert SETUP not in str(made[f"notebooks/{notebook.stem}.md"])
        assert SETUP.encode() in made[f"notebooks/{notebook.name}"]  # type: ignore[operator]


def test_every_notebook_has_the_set_up_that_its_page_leaves_out() -> None:
    from docs.hooks import NOTEBOOKS, SETUP

    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        starts = ["".join(cell["source"]).startswith(SETUP) for cell in cells]
        assert sum(starts) == 1, notebook.name


# ---------------------------------------------------------------- the site itself


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


class Seen(HTMLParser):
    """What a page loads, and what it can be asked for by name."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.names: set[str] = set()
        self.without_words: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {given["id"] or ""} if "id" in given else set()
        if tag in LOADED and given.get("rel") not in ("next", "prev", "canonical"):
            self.loaded.append(given.get(LOADED[tag]) or "")
        if tag == "img" and not given.get("alt"):
            self.without_words.append(given.get("src") or "")


def pages_of(site: Path) -> list[Path]:
    return [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    seen = {page: Seen(page) for page in pages_of(site)}
    notebooks = list((ROOT / "notebooks").glob("*.ipynb"))
    assert len(seen) == len([*in_nav(CONFIG["nav"]), *notebooks])
    loaded = {place for one in seen.values() for place in one.loaded}
    assert len(loaded) > 5
    assert [place for place in loaded if re.match(r"(\w+:)?//", place)] == []
    assert [one.without_words for one in seen.values() if one.without_words] == []
    for file in (*site.rglob("*.css"), *site.rglob("*.svg")):
        assert not re.search(r"@import|url\(['\"]?(https?:)?//", file.read_text("utf-8")), file


@pytest.mark.slow
def test_no_source_of_the_site_is_published(site: Path) -> None:
    assert list(site.rglob("*.py")) == []
    assert str(ROOT) not in "".join(page.read_text("utf-8") for page in pages_of(site))


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    known: set[str] = set()
    for page in (site / "api").glob("*.html"):
        known |= Seen(page).names
    for name in MODULES:
        module = importlib.import_module(name)
        for public in module.__all__:
            if not public.startswith("__"):
                home = getattr(getattr(module, public), "__module__", name)
                assert known & {f"{name}.{public}", f"{home}.{public}"}, f"{name}.{public}"


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """Serves the site; gives its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


CODE = """
return [...document.querySelectorAll('.md-typeset pre > code')]
  .filter(code => code.scrollWidth > code.clientWidth)
  .map(code => [getComputedStyle(code).overflowX, getComputedStyle(code).backgroundAttachment,
    [...Array(5).keys()].every(up => {
      let at = code; for (; up > 0 && at; up--) at = at.parentElement;
      return !at || at.getBoundingClientRect().right <= innerWidth + 1;
    })]);
"""
"""A script that returns how each block of code wider than its room shows the rest."""
GUIDES = {
    "simultaneous bids": "rules.html",
    "nil": "rules.html",
    "hook": "rules.html",
    "dealer": "rules.html",
    "turned card": "rules.html",
    "checkpoint": "training.html",
    "scoring": "rules.html",
    "trump": "rules.html",
    "action mask": "environment.html",
    "observation": "observation.html",
    "tournament": "tournament.html",
}
"""Words to search for, and the guide that is found before the reference."""


def search(browser: Any, words: str) -> list[str]:
    """Returns where the first results of a search lead, waiting for them."""
    field = browser.find_element("css selector", "input.md-search__input")
    browser.execute_script(
        "document.querySelector('#__search').checked = true;"
        "arguments[0].focus(); arguments[0].value = arguments[1];"
        "arguments[0].dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}))",
        field,
        words,
    )
    for _ in range(100):
        found = browser.find_elements("css selector", "a.md-search-result__link")
        if found:
            return [link.get_attribute("href") for link in found]
        time.sleep(0.1)
    return []


@pytest.mark.slow
def test_pages_fit_a_phone_and_complain_of_nothing(site: Path, tmp_path: Path) -> None:
    with served(site) as address, chromium(tmp_path) as browser:
        narrow(browser, PHONE)
        wide = 0
        for page in pages_of(site):
            dark(browser, "dark" if page.parent == site else "light")
            browser.get(f"{address}/{page.relative_to(site).as_posix()}")
            width = browser.execute_script("return document.documentElement.scrollWidth")
            assert width <= PHONE, page
            for overflow, layers, inside in browser.execute_script(CODE):
                assert overflow == "auto" and "local" in layers and inside, page
                wide += 1
        assert wide > 0
        assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.mark.slow
def test_search_finds_guides_before_the_reference(site: Path, tmp_path: Path) -> None:
    with served(site) as address, chromium(tmp_path) as browser:
        for words, guide in GUIDES.items():
            browser.get(f"{address}/index.html")
            found = [urlsplit(link).path.lstrip("/") for link in search(browser, words)]
            pages = list(dict.fromkeys(found))[:3]
            assert guide in pages and not any("api/" in page for page in pages), (words, pages)
            assert found.index(guide) < 8, "on the first screen"
            assert not pages[0].startswith("notebooks/"), (words, pages)
        browser.get(f"{address}/index.html")
        assert any("/rules.html" in link for link in search(browser, "romanian whist"))
        browser.get(f"{address}/index.html")
        assert "/api/games.html" in search(browser, "legal_actions")[0], "names are still found"
        assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.mark.slow
def test_pages_opened_as_files_say_why_they_have_no_search(site: Path, tmp_path: Path) -> None:
    with served(site) as address, chromium(tmp_path) as browser:
        for start, shown in ((site.as_uri(), True), (address, False)):
            for page in ("index.html", "rules.html", "api/games.html"):
                browser.get(f"{start}/{page}")
                line = browser.find_element("css selector", ".opened-as-file")
                assert line.is_displayed() is shown
                field = browser.find_element("css selector", ".md-search__form")
                assert field.is_displayed() is not shown
        assert "make docs-serve" in line.get_attribute("textContent")
