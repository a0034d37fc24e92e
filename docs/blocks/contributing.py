"""Sections of CONTRIBUTING.md, where they have their home."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent / "CONTRIBUTING.md"
_SECTION = re.compile(r"^## (.+)\n\n((?:(?!^## ).*\n)+)", re.MULTILINE)


def sections() -> dict[str, str]:
    """Returns the text of every section by its title."""
    return dict(_SECTION.findall(SOURCE.read_text(encoding="utf-8")))


def section(title: str) -> str:
    """Returns the text of one section."""
    return sections()[title].rstrip() + "\n"
