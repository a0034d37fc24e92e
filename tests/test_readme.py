"""The README's promises; that its examples run is tested in ``test_doc_pages.py``."""

from __future__ import annotations

import re
from pathlib import Path

from ohhell_env import variants

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_the_first_example_is_about_fifteen_lines() -> None:
    lines = [line for line in EXAMPLES[0].splitlines() if line.strip()]
    assert len(lines) <= 15


def test_the_number_of_presets_is_right() -> None:
    assert f"{len(variants())} presets" in README.read_text(encoding="utf-8")
