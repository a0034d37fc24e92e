"""Learning curves of training runs."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ohhell_agents.checkpoint_io import is_there
from ohhell_env.errors import OhHellError, nearest, shown
from ohhell_train import charts
from ohhell_train.charts import COLOURS, MARKS, Point
from ohhell_train.methods import method_of
from ohhell_train.plots import sources
from ohhell_train.runs.base import CONFIG
from ohhell_train.runs.metrics import METRICS
from ohhell_train.settings import read_settings_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVER = {"decisions": "decisions trained on", "minutes": "minutes of training"}
"""What a run can be plotted over, and label."""

Runs = str | Path | Sequence[str | Path] | Mapping[str, str | Path]
"""The folder of a run, several of them, or several by name."""


def learning_curves(
    runs: Runs, against: str = "heuristic", over: str = "decisions", *, ax: Axes | None = None
) -> Axes:
    """Draws the strength of training runs at each measurement, with 95 % intervals.

    Args:
        runs: Folders of runs of any training method; without names, the folders' names are used.
        against: The field of the measurements, one of the run's ``report.fields``.
        over: "decisions" (a distillation goes through the same decisions in every epoch, and each
            pass counts) or "minutes".
        ax: The axes; None makes a new figure.

    Raises:
        OhHellError: A folder holds no such run, or the run has no such measurements.
    """
    if over not in OVER:
        raise OhHellError(f"over: {nearest(over, OVER)}, got {shown(over)}")
    named = _named(runs)
    if not 1 <= len(named) <= len(COLOURS):
        raise OhHellError(
            f"runs: a plot has colours for 1 to {len(COLOURS)} runs, got {len(named)}"
        )
    lines = {name: measurements(path, against, over) for name, path in named.items()}
    axes = charts.axes_or_new(ax)
    axes.axhline(0.0, color=charts.SOFT, linewidth=0.8, zorder=1)
    for place, (name, points) in enumerate(lines.items()):
        said = f"{name}, n ≤ {points[-1].cases:,} deals a point"
        charts.draw_line(axes, points, COLOURS[place], MARKS[place], label=said)
    charts.thousands(axes, whole=over == "decisions")
    axes.set_xlabel(OVER[over])
    axes.set_ylabel(f"points a deal over {against}")
    charts.as_written([axes.yaxis.label])
    charts.tidy(axes)
    charts.legend(axes)
    return axes


def _named(runs: Runs) -> dict[str, Path]:
    if isinstance(runs, Mapping):
        return dict(zip(map(str, runs), _paths(list(runs.values())), strict=True))
    paths = _paths(runs)
    short = [path.absolute().name for path in paths]
    twice = len(set(short)) < len(short)
    return {str(path) if twice else name: path for name, path in zip(short, paths, strict=True)}


def _paths(runs: str | Path | Sequence[str | Path]) -> list[Path]:
    listed = [runs] if isinstance(runs, str | Path) else runs
    if not isinstance(listed, Sequence) or not all(isinstance(one, str | Path) for one in listed):
        raise OhHellError(f"runs: must be folders of runs, got {reprlib.repr(runs)}")
    return [Path(path) for path in listed]


def measurements(run: str | Path, against: str, over: str = "decisions") -> list[Point]:
    """Returns the measurements of a run, in order, with the number of deals of each.

    Args:
        run: Folder of the run.
        against: The field.
        over: The x value of a point, "decisions" or "minutes".

    Raises:
        OhHellError: There is no run, or it has no such measurements.
    """
    path = Path(run)
    file = path / METRICS
    if not is_there(path / CONFIG):
        raise OhHellError(f"{path}: no training run here ({CONFIG} is missing)")
    settings = read_settings_file(path / CONFIG)
    deals, rows = _deals(path / CONFIG, settings), sources.read_table(file)
    column = _column(path, rows, against)
    points: list[Point] = []
    for row, decisions in zip(rows, _decisions(rows, settings, file), strict=True):
        if row.get(column) == "":
            continue
        minutes = sources.number_of(row, "seconds", file) / 60 if over == "minutes" else 0.0
        mean, low, high = (
            sources.number_of(row, column + end, file) for end in ("", "_low", "_high")
        )
        points.append(
            Point(decisions if over == "decisions" else minutes, mean, deals, (low, high))
        )
    return points


def _column(path: Path, rows: Sequence[dict[str, str]], against: str) -> str:
    """Returns the column of the measurements against a field."""
    measured = sorted(
        name.removesuffix("_low").removeprefix("over_")
        for name in (rows[0] if rows else ())
        if name
        and name.startswith("over_")
        and name.endswith("_low")
        and any(row[name] for row in rows)
    )
    for name in (against, str(against).replace(",", ";")):  # commas as PPO writes them
        if name in measured:
            return f"over_{name}"
    names = " and ".join(measured) or "nothing"
    raise OhHellError(
        f"against: {path} has none against {shown(against)}; its measurements: {names}"
    )


def _deals(file: Path, settings: Mapping[str, Any]) -> int:
    """Returns the deals of a measurement; slow fields play fewer."""
    report, players = settings.get("report"), settings.get("players")
    deals = report.get("deals") if isinstance(report, dict) else None
    if type(deals) is not int:
        raise OhHellError(f"{file}: report.deals is missing, so these are not a run's settings")
    method = method_of(settings)
    each = method is not None and method.deals_repeat and isinstance(players, list)
    return deals * len(players) if each and players else deals


def _decisions(
    rows: Sequence[dict[str, str]], settings: Mapping[str, Any], file: Path
) -> list[int]:
    """Returns the decisions of the whole run after each row of its metrics; see ``Method``."""
    method, each = method_of(settings), settings.get("decisions")
    if method is not None and method.steps_repeat and type(each) is int:
        return [each * int(sources.number_of(row, "epoch", file)) for row in rows]
    found = [int(sources.number_of(row, "decisions", file)) for row in rows]
    return list(accumulate(found)) if rows and "round" in rows[0] else found
