"""Runs the notebooks from top to bottom in fresh kernels, and saves their outputs.

    python notebooks/run.py                # all of them; `make notebooks` does the same
    python notebooks/run.py 01 04          # those whose names begin with these

A notebook that fails stays unchanged.
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

# Keeps the notice of a cold compile cache out of the outputs.
os.environ.setdefault("OHHELL_QUIET", "1")

FOLDER = Path(__file__).resolve().parent
SECONDS = 600
"""The time limit of a cell."""
_FAILURES = (CellExecutionError, CellTimeoutError, DeadKernelError, ValueError)
"""Failures of a cell or its kernel; ValueError: the file is not a notebook."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""The metadata of every notebook, which must not depend on the machine."""
FIRST_CELL = """\
# Installs the project from a clone on a hosted notebook server; elsewhere this cell does nothing.
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
            "The project is not installed, and this notebook is not in a clone. Put a clone on "
            "this machine and set the environment variable OHHELL_ENV_CLONE to its folder."
        )
    install = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, f"{clone}[train,plots]"], check=True)"""


def notebooks(beginnings: Sequence[str] = ()) -> list[Path]:
    """Returns the notebooks in order, all or those with certain beginnings.

    Raises:
        SystemExit: A beginning fits no notebook.
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
        CellTimeoutError: A cell took too long.
        DeadKernelError: A cell ended its kernel.
        ValueError: The notebook has no code cell.
    """
    fresh = cleaned(notebook)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            fresh,
            timeout=SECONDS,
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR"],  # hides the warning that others could listen
            record_timing=False,
            coalesce_streams=True,  # otherwise the number of outputs depends on the clock
            resources={"metadata": {"path": folder}},
        ).execute()
    for cell in fresh.cells:
        cell.metadata = nbformat.NotebookNode()
        for output in cell.get("outputs", ()):
            _tidy(output)
    fresh.metadata = nbformat.from_dict(METADATA)
    return fresh


def _tidy(output: Any) -> None:
    """Drops the plain text of an output with a picture, which may hold a memory address."""
    data = output.get("data", {})
    if len(data) > 1:
        data.pop("text/plain", None)
    if "execution_count" in output:
        output.metadata = nbformat.NotebookNode()


def cleaned(notebook: Any) -> Any:
    """Returns a copy of a notebook without outputs, with the common first cell."""
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
    """Writes a notebook completely or not at all."""
    write_whole(path, nbformat.writes(notebook) + "\n")


def main(beginnings: Sequence[str]) -> int:
    """Runs and saves notebooks; returns the exit status."""
    failed = 0
    for path in notebooks(beginnings):
        try:
            write(executed(nbformat.read(path, as_version=4)), path)
            print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")
        except _FAILURES as error:
            failed += 1
            print(f"{path.name}: not changed: {error}", file=sys.stderr)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
