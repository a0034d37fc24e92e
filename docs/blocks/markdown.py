"""Markdown from plain data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Returns a table."""
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def written(value: Any) -> str:
    """Returns a value in YAML, on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {written(part)}' for key, part in value.items())}}}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def words(docstring: str) -> str:
    """Returns a docstring as Markdown: plain code spans, and pages that it names as links."""
    named = re.sub(r"(?:``)?\bdocs/([\w-]+\.md)(?:``)?", r"[\1](\1)", docstring)
    return named.replace("``", "`")


def escaped(text: str) -> str:
    """Returns a text in which ``][`` outside of code does not link to a reference."""
    return re.sub(r"(`+)[^`]*\1|\]\[", lambda found: found[0] if found[1] else r"]\[", text)


def prose(docstring: str) -> str:
    """Returns the words of a docstring on one line, for a cell of a table."""
    return words(escaped(" ".join(docstring.split())).replace("|", "\\|"))
