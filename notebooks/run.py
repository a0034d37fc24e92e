"""Runs the notebooks from top to bottom in fresh kernels, and writes their outputs back.

    python notebooks/run.py                # all of them; `make notebooks` does the same
    python notebooks/run.py 01 04          # those whose names begin so

A notebook is written whole or not at all: one that fails stays as it was.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from ohhell_env.files import write_whole

# A notebook shows what it computes, not whether this machine's compile cache was cold.
os.environ.setdefault("OHHELL_QUIET", "1")

FOLDER = Path(__file__).resolve().parent
SECONDS = 600
"""Longest time for a cell."""
_FAILURES = (CellExecutionError, CellTimeoutError, DeadKernelError, ValueError)
"""Of a cell, of its kernel, and (a ValueError) of a file that is no notebook."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""All that a notebook says of where it ran."""
FIRST_CELL = """\
# On a hosted notebook server: installs the project from a clone. Elsewhere this cell does nothing.
from importlib.util import find_spec

if not (find_spec("ohhell_env") and find_spec("ohhell_train")):
    import os
    import subprocess
    import sys
    from pathlib import Path

    places = [Path(os.environ.get("OHHELL_ENV_CLONE", ".")), Path.cwd(), *Path.cwd().parents]
    clone = next((place for place in places if (place / "ohhell_env" / "engine").is_dir()), None)
    if clone is None:
        raise SystemExit(
            "The project is not installed and no clone of it is around this notebook. Put one on "
            "this machine and set the environment variable OHHELL_ENV_CLONE to its folder."
        )
    install = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, f"{clone}[train,plots]"], check=True)"""


def notebooks(beginnings: Sequence[str] = ()) -> list[Path]:
    """Returns the notebooks in order, those whose names begin as wanted.

    Raises:
        SystemExit: A wish fits none.
    """
    files = sorted(FOLDER.glob("*.ipynb"))
    for wish in beginnings:
        if not any(file.name.startswith(wish) for file in files):
            raise SystemExit(
                f"no notebook begins with {wish!r}: {', '.join(f.name for f in files)}"
            )
    return [file for file in files if not beginnings or file.name.startswith(tuple(beginnings))]


def executed(notebook: Any) -> Any:
    """Returns a copy of a notebook with the outputs of a run, in a fresh kernel and folder.

    Raises:
        CellExecutionError: A cell failed.
        CellTimeoutError: It took too long.
        DeadKernelError: It ended its kernel.
        ValueError: There is no cell with code.
    """
    fresh = cleaned(notebook)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            fresh,
            timeout=SECONDS,
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR"],  # not that others might listen on this machine
            record_timing=False,
            coalesce_streams=True,  # else the number of outputs depends on the clock
            resources={"metadata": {"path": folder}},
        ).execute()
    for cell in fresh.cells:
        cell.metadata = nbformat.NotebookNode()
        for output in cell.get("outputs", ()):
            _tidy(output)
    fresh.metadata = nbformat.from_dict(METADATA)
    return fresh


def _tidy(output: Any) -> None:
    """Drops the plain text of what is also shown as a picture: it may hold an address in memory."""
    data = output.get("data", {})
    if len(data) > 1:
        data.pop("text/plain", None)
    if "execution_count" in output:
        output.metadata = nbformat.NotebookNode()


def cleaned(notebook: Any) -> Any:
    """Returns a copy of a notebook without outputs, with the first cell that all have."""
    fresh = nbformat.from_dict({**notebook, "metadata": METADATA})
    codes = [cell for cell in fresh.cells if cell.cell_type == "code"]
    if not codes:
        raise ValueError("has no cell with code")
    codes[0].source = FIRST_CELL
    for number, cell in enumerate(fresh.cells):
        cell["id"] = f"cell-{number:02d}"
        cell.metadata = nbformat.NotebookNode()
    for cell in codes:
        cell.outputs, cell.execution_count = [], None
    return fresh


def write(notebook: Any, path: Path) -> None:
    """Writes a notebook, whole or not at all."""
    write_whole(path, nbformat.writes(notebook) + "\n")


def main(beginnings: Sequence[str]) -> int:
    """Runs notebooks and writes them; returns the exit status."""
    failed = 0
    for path in notebooks(beginnings):
        try:
            write(executed(nbformat.read(path, as_version=4)), path)
            print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")
        except _FAILURES as error:
            failed += 1
            print(f"{path.name}: left as it was: {error}", file=sys.stderr)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
