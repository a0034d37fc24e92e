"""The README's promises; that its example runs is tested in ``test_doc_pages.py``."""

from __future__ import annotations

import re

from ohhell_env import __version__, variants
from tests.doc_pages import examples, text_of

README = text_of("README.md")


def test_the_first_example_is_short_and_shows_its_output() -> None:
    code, output = examples(README)[0]
    after_imports = [line for line in code.splitlines() if line and "import" not in line]
    assert len(after_imports) <= 8
    assert output is not None and "to act" in output


def test_the_first_screen_is_short() -> None:
    bullets = re.findall(r"^- (.+)$", README, re.MULTILINE)
    assert len(bullets) == 5 and all(len(bullet.split()) <= 12 for bullet in bullets)
    assert README.count("\n") <= 150


def test_numbers_are_right() -> None:
    assert f"{len(variants())} presets" in README
    assert f"version = {{{__version__}}}" in README
