"""Hooks of MkDocs: pages that have their home elsewhere, and links that lead out of this folder.

Pages are written for readers of the repository, so a link is relative to the file it stands in.
Here it is turned into what the site has in its place: a page, or else the repository's view of the
file, or, as long as ``mkdocs.yml`` knows no ``repo_url``, its path as plain code.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_CODE = re.compile(r"(`+).+?\1")
INCLUDED = {
    "changelog.md": "CHANGELOG.md",
    "notebooks/index.md": "notebooks/README.md",
}
"""Pages of the site whose text has its home outside of this folder."""
TOLD_BY = {"README.md": "index.md", "CONTRIBUTING.md": "extending.md"}
"""Files that have no page of their own, by the page with their content."""

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SETUP = "# Installs the project"
"""The beginning of the cell that a notebook needs on a hosted server; its page goes without."""
BOOSTS = {"api/": 0.02, "notebooks/": 0.05, "changelog.md": 0.02, "rules.md": 5.0}
"""What a hit counts in the search, by the beginning of the page's place; elsewhere 1.

Two entries in three are members of classes, and their one-word titles would otherwise come first.
So would a notebook about the hook. The words of the card table belong to the rules.
"""
NO_SEARCH = (
    '<p class="opened-as-file" hidden>Search needs a server: run <code>make docs-serve</code> and '
    "open the address it prints.</p>\n<script>"
    'document.currentScript.previousElementSibling.hidden = location.protocol !== "file:"'
    "</script>\n"
)
"""A line for pages opened as files, in which Material for MkDocs has no search box."""
_ARTICLE = re.compile(r'<article class="md-content__inner[^>]*>\n?')


class Links(Treeprocessor, Extension):
    """Turns the links of a page, into links of the site."""

    def __init__(self) -> None:
        """Knows no pages yet."""
        Treeprocessor.__init__(self)
        Extension.__init__(self)
        self.pages: dict[Path, str] = {}
        """Every page and other file of the site, by the file that it comes from."""
        self.sources: dict[str, Path] = {}
        """The files that pages come from."""
        self.page = ""
        self.repository: str | None = None

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Markdown's name)
        """Comes before MkDocs looks at the links, and after they are made."""
        md.treeprocessors.register(self, "repository_links", 10)

    def run(self, root: Element) -> None:
        """Turns all links and pictures of a page."""
        for parent in list(root.iter()):
            for element in list(parent):
                name = {"a": "href", "img": "src"}.get(element.tag)
                if name is not None:
                    self._turn(element, name)

    def _turn(self, element: Element, name: str) -> None:
        url = urlsplit(element.get(name, ""))
        if url.scheme or url.netloc or not url.path:
            return
        wanted = (self.sources[self.page].parent / url.path).resolve()
        if wanted in self.pages:
            place = os.path.relpath(self.pages[wanted], Path(self.page).parent)
            element.set(name, urlunsplit(url._replace(path=place)))
            if element.text in (url.path, wanted.name) and wanted.suffix == ".md":
                element.text = title(wanted)
        elif wanted.exists() and wanted.is_relative_to(ROOT):
            self._lead_out(element, wanted.relative_to(ROOT).as_posix())

    def _lead_out(self, element: Element, path: str) -> None:
        """Links to a place of the repository, or names it if the repository is not public."""
        if self.repository:
            element.set("href", f"{self.repository.rstrip('/')}/blob/HEAD/{path}")
            return
        text = "".join(element.itertext())
        tail = element.tail
        element.clear()
        element.tail = tail
        element.tag = "span"
        same = path.endswith(text)
        element.text = None if same else f"{text} ("
        code = SubElement(element, "code")
        code.text = AtomicString(path)
        code.tail = None if same else ")"


def title(page: Path) -> str:
    """Returns the headline of a page."""
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else page.stem


_links = Links()


def on_config(config: MkDocsConfig) -> None:
    """Lets the links of all pages be turned, and puts the notebooks into the navigation."""
    for part in config.nav or []:
        if "Notebooks" in part:
            part["Notebooks"] += [notebook_page(notebook) for notebook in NOTEBOOKS]
    _links.repository = config.repo_url
    config.markdown_extensions.append(_links)  # type: ignore[arg-type]  # instances are right, too


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the pages whose text has its home elsewhere, and the notebooks."""
    for page, source in INCLUDED.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    sources = {file.src_uri: Path(file.abs_src_path) for file in files if file.abs_src_path}
    for notebook in NOTEBOOKS:
        sources[notebook_page(notebook)] = notebook
        for place, content in _converted(notebook).items():
            files.append(File.generated(config, place, content=content))
    _links.sources = {page: source.resolve() for page, source in sources.items()}
    _links.pages = {source: page for page, source in _links.sources.items()}
    _links.pages |= {ROOT / source: page for source, page in TOLD_BY.items()}


def notebook_page(notebook: Path) -> str:
    """Returns the place of a notebook's page in the site."""
    return f"notebooks/{notebook.stem}.md"


def _converted(notebook: Path) -> dict[str, str | bytes]:
    """Returns a notebook's page, its figures and itself, by their places in the site."""
    import nbformat
    from nbconvert import MarkdownExporter

    read = nbformat.read(notebook, as_version=4)
    read.cells = [cell for cell in read.cells if not cell.source.startswith(SETUP)]
    figures = f"{notebook.stem}_files"
    text, made = MarkdownExporter().from_notebook_node(
        read, {"unique_key": notebook.stem, "output_files_dir": figures}
    )
    text = text.replace("![png](", "![Figure drawn by the code above it](")
    link = f'<a href="{notebook.name}" download>{notebook.name}</a>'
    found: dict[str, str | bytes] = {notebook_page(notebook): f"{text}\n\nThe notebook: {link}\n"}
    found |= {f"notebooks/{name}": data for name, data in made["outputs"].items()}
    return found | {f"notebooks/{notebook.name}": notebook.read_bytes()}


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Notes which page comes next, sets its boost, and unescapes pipes in the code of tables.

    The repository's view needs a backslash before them, Python-Markdown would show it.
    """
    _links.page = page.file.src_uri
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    for place, boost in BOOSTS.items():
        if page.file.src_uri.startswith(place):
            page.meta["search"] = {"boost": boost}
    return _ROW.sub(lambda row: _CODE.sub(_unescaped, row[0]), markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Adds the line about the search to a page."""
    return _ARTICLE.sub(lambda start: start[0] + NO_SEARCH, output, count=1)


def _unescaped(code: re.Match[str]) -> str:
    return code[0].replace(r"\|", "|")
