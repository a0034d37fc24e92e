"""Docstrings as Markdown, for the reference of the API: an extension of Griffe, which reads them.

Docstrings are written for readers of the code: they contain doctests, and the literal blocks and
small tables of reStructuredText.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

from docs.blocks.markdown import escaped

_DOCTEST = re.compile(r"(?:^ *>>> .*\n(?:^ *\S.*\n)*(?:^ *\n(?=^ *>>> ))?)+", re.MULTILINE)
_LITERAL = re.compile(r"^( *)(\S.*)?::\n\n((?:\1 +\S.*\n|\n)+)", re.MULTILINE)
_TABLE = re.compile(r"^( *)=+(?: +=+)+\n(?:.*\n)*?\1=+(?: +=+)+\n", re.MULTILINE)

_RULER = re.compile(r"^ *=+(?: +=+)+\n", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Puts doctests, literal blocks and tables of docstrings into fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Changes the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """Returns a docstring in which a fence is around doctests, literal blocks and tables."""
    text = docstring.rstrip() + "\n"
    text = _TABLE.sub(lambda found: _fenced(_RULER.sub("", found[0]), "text"), text)
    text = _DOCTEST.sub(lambda found: _fenced(found[0], "pycon"), text)
    text = _LITERAL.sub(_literal, text)
    return escaped(text).rstrip()


def _literal(found: re.Match[str]) -> str:
    opening = f"{found[1]}{found[2]}:\n\n" if found[2] else ""
    language = "python" if re.search(r"\w\(", found[3]) else "text"
    return f"{opening}{_fenced(found[3], language, len(found[1]))}\n"


def _fenced(block: str, language: str, indent: int | None = None) -> str:
    lines = block.rstrip().split("\n")
    first = len(lines[0]) - len(lines[0].lstrip())
    space = " " * (first if indent is None else indent)
    body = textwrap.indent(textwrap.dedent("\n".join(lines)), space)
    return f"{space}```{language}\n{body}\n{space}```\n"
