"""The map of the packages, from the first lines of their modules' docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("ohhell_env", "agents/ohhell_agents", "train/ohhell_train")


def packages() -> str:
    """A list for each folder: what it is for, and every module with its purpose."""
    return "".join(part for package in PACKAGES for part in _folder(ROOT / package))


def _folder(folder: Path) -> Iterator[str]:
    """Yields the lists of a folder and of those in it."""
    yield f"\n**`{folder.relative_to(ROOT).as_posix()}/`** {_purpose(folder / '__init__.py')}\n\n"
    for module in sorted(folder.glob("*.py")):
        if module.stem not in ("__init__", "__main__"):
            yield f"- `{module.stem}`: {_purpose(module)}\n"
    for inner in sorted(folder.glob("*/__init__.py")):
        yield from _folder(inner.parent)


def _purpose(module: Path) -> str:
    """Returns the first sentence of a module's docstring, as Markdown."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("``", "`")
