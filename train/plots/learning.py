"""Learning curves of training runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ohhell_env.errors import OhHellError, nearest
from train.plots import look, sources
from train.plots.look import COLOURS, MARKS, Point
from train.run_folder import CONFIG
from train.settings import read_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRICS = "metrics.csv"  # of both kinds of runs
OVER = {"decisions": "decisions trained on", "minutes": "minutes of training"}
"""What a run can be measured over, and label."""

Runs = str | Path | Sequence[str | Path] | Mapping[str, str | Path]
"""The folder of a run, several of them, or several by name."""


def learning_curves(
    runs: Runs, against: str = "heuristic", over: str = "decisions", *, ax: Axes | None = None
) -> Axes:
    """Draws how strong training runs were when they measured it, with 95 % intervals.

    Args:
        runs: Folders of either kind of training; their names are those of the folders, if none are
            given.
        against: The field that they were measured against, one of the run's ``report.against``.
        over: "decisions" or "minutes".
        ax: Where to draw; None: a new figure.

    Raises:
        OhHellError: A folder holds no such run, or it was not measured so.
    """
    if over not in OVER:
        raise OhHellError(f"over: {nearest(over, OVER)}, got {over!r}")
    named = _named(runs)
    if not 1 <= len(named) <= len(COLOURS):
        raise OhHellError(f"runs: 1 to {len(COLOURS)} can be told apart, got {len(named)}")
    lines = {name: measurements(path, against, over) for name, path in named.items()}
    axes = look.axes_or_new(ax)
    axes.axhline(0.0, color=look.SOFT, linewidth=0.8, zorder=1)
    for place, (name, points) in enumerate(lines.items()):
        said = f"{name}, n ≤ {points[-1].cases:,} deals a point"
        look.draw_line(axes, points, COLOURS[place], MARKS[place], label=said)
    look.thousands(axes)
    axes.set_xlabel(OVER[over])
    axes.set_ylabel(f"points a deal over {against}")
    look.as_written([axes.yaxis.label])
    look.tidy(axes)
    look.legend(axes)
    return axes


def _named(runs: Runs) -> dict[str, Path]:
    if isinstance(runs, Mapping):
        return {name: Path(path) for name, path in runs.items()}
    paths = [Path(path) for path in ([runs] if isinstance(runs, str | Path) else runs)]
    short = [path.absolute().name for path in paths]
    twice = len(set(short)) < len(short)
    return {str(path) if twice else name: path for name, path in zip(short, paths, strict=True)}


def measurements(run: str | Path, against: str, over: str = "decisions") -> list[Point]:
    """Returns the measurements of a run, in order, with the number of deals of each.

    Args:
        run: Folder of the run.
        against: The field.
        over: What the place of a point is, "decisions" or "minutes".

    Raises:
        OhHellError: There is no run, or it was not measured so.
    """
    path, column = Path(run), f"over_{against.replace(',', ';')}"
    if not (path / CONFIG).is_file():
        raise OhHellError(f"{path}: no training run here ({CONFIG} is missing)")
    settings = read_settings(path / CONFIG)
    rows = sources.read_table(path / METRICS)
    measured = [row for row in with_decisions(rows) if row.get(column) not in (None, "")]
    if not measured:
        fields = sorted({name[5:] for row in rows for name in row if name.endswith("_low")})
        names = " and ".join(name.removesuffix("_low") for name in fields) or "nothing"
        raise OhHellError(f"against: {against!r} was not measured in {path}, but {names}")
    # Runs for several numbers of players play as many at each; fields that think long play fewer.
    deals = settings["report"]["deals"] * (1 + len(settings.get("more_players") or ()))
    return [
        Point(
            row["decisions"] if over == "decisions" else float(row["seconds"]) / 60,
            float(row[column]),
            deals,
            (float(row[f"{column}_low"]), float(row[f"{column}_high"])),
        )
        for row in measured
    ]


def with_decisions(rows: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    """Returns rows of metrics whose decisions are those of the whole run.

    Rounds of counterfactual self-play count their own, rollouts of PPO all that there were.
    """
    found, total = [], 0
    for row in rows:
        total = int(row["decisions"]) + (total if "round" in row else 0)
        found.append({**row, "decisions": total})
    return found
