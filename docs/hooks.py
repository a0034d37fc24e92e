"""Hooks of MkDocs: pages that have their home elsewhere, and links that lead out of this folder.

Pages are written for readers of the repository, so a link is relative to the file that it stands in.
Here such links are turned into what the site has in their place: a page, or else the repository's view
of the file, or, as long as ``mkdocs.yml`` knows no ``repo_url``, its path as plain code.
"""

from __future__ import annotations

import os
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
INCLUDED = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
}
"""Pages of the site whose text has its home outside of this folder."""


class Links(Treeprocessor, Extension):
    """Turns the links of a page, as its file has them, into links of the site."""

    def __init__(self) -> None:
        """Knows no pages yet."""
        Treeprocessor.__init__(self)
        Extension.__init__(self)
        self.sources: dict[str, Path] = {}
        """Where the text of each page, and every other file of the site, comes from."""
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
        for page, source in self.sources.items():
            if source == wanted:
                place = os.path.relpath(page, Path(self.page).parent)
                element.set(name, urlunsplit(url._replace(path=place)))
                return
        if wanted.exists() and wanted.is_relative_to(ROOT):
            self._lead_out(element, wanted.relative_to(ROOT).as_posix())

    def _lead_out(self, element: Element, path: str) -> None:
        """Links to a place of the repository, or names it where there is no public one."""
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


_links = Links()


def on_config(config: MkDocsConfig) -> None:
    """Lets the links of all pages be turned."""
    _links.repository = config.repo_url
    config.markdown_extensions.append(_links)  # type: ignore[arg-type]  # instances are right, too


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the pages whose text has its home elsewhere."""
    for page, source in INCLUDED.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    _links.sources = {
        file.src_uri: Path(file.abs_src_path).resolve() for file in files if file.abs_src_path
    }


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Notes which page comes next."""
    _links.page = page.file.src_uri
