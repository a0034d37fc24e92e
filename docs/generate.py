"""Writes the generated parts of CONTRIBUTING.md and of the pages in this folder.

    python -m docs.generate            # rewrite them
    python -m docs.generate --check    # only say which page is out of date

A page marks such a part by comments: ``<!-- generated: NAME -->`` and ``<!-- end -->``. What stands
between them comes from the function ``BLOCKS[NAME]``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from docs.blocks import commands, contributing, environment, modules, play, rules, settings

DOCS = Path(__file__).parent
_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def regenerate(page: str) -> str:
    """Returns the text of a page with its generated parts up to date.

    Raises:
        KeyError: The page asks for a part that is not in ``BLOCKS``.
    """
    return _BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}{found[3]}", page)


BLOCKS: dict[str, Callable[[], str]] = {
    "variants": rules.variants_table,
    "hand-sizes": rules.hand_sizes_table,
    "scorings": rules.scorings_table,
    "axes": rules.axes_table,
    "example": rules.example,
    "process-example": play.process_example,
    "training-settings": settings.training_settings,
    "tournament-settings": settings.tournament_settings,
    "commands": commands.commands,
    "manual": environment.manual,
    "action-codes": environment.action_codes,
    "default-layout": environment.default_layout,
    "universal-layout": environment.universal_layout,
    "rule-features": environment.rule_features,
    "default-state": environment.default_state,
    "packages": modules.packages,
    "layers": partial(contributing.section, "Map of layers"),
    "set-up": partial(contributing.section, "Set-up"),
    "style": partial(contributing.section, "Words and style"),
    "add-a-variant": partial(contributing.section, "Add a variant"),
    "add-a-scoring-rule": partial(contributing.section, "Add a scoring rule"),
    "stronger-or-weaker": partial(
        contributing.section, "Changes that can make agents better or worse"
    ),
    "commits": partial(contributing.section, "Commits"),
}


def main(check: bool) -> int:
    """Rewrites the pages, or names those that are out of date; returns the exit status."""
    stale = 0
    # CONTRIBUTING.md first: pages of the site repeat its sections.
    for path in (DOCS.parent / "CONTRIBUTING.md", *sorted(DOCS.glob("**/*.md"))):
        page = path.read_text(encoding="utf-8")
        made = regenerate(page)
        if made != page:
            stale += 1
            print(f"{path.name}: {'out of date' if check else 'rewritten'}")
            if not check:
                path.write_text(made, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
