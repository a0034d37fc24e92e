"""The training commands; the modules that they call do the work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from ohhell_env.cli.interrupts import note_said
from ohhell_env.cli.rules import parse_changes
from ohhell_env.errors import RulesError
from ohhell_train.methods import (
    Run,
    begin_run,
    check_run,
    load_settings,
    open_run,
    train_run,
)
from ohhell_train.runs.base import is_free
from ohhell_train.settings import RunSettings, TableKind, TableSettings

RECIPES = Path(__file__).parent / "recipes"
QUICK = (RECIPES / "quick.yaml", RECIPES / "quick_ppo.yaml")
"""The recipes of ``make train``."""

VariantOption = Annotated[
    str | None, typer.Option(metavar="NAME|FILE.yaml", help="The rules to train for.")
]
PlayersOption = Annotated[int | None, typer.Option(help="Number of players, 2 to 8.")]
SeedOption = Annotated[int | None, typer.Option(help="Seed of the training.")]
ChangesOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, such as ppo.n_epochs=2."),
]
DealsOption = Annotated[int, typer.Option(help="Duplicate deals of the tournament.")]


def fit(
    config: Annotated[
        Path | None,
        typer.Option("--config", help="YAML file with settings; if left out: the defaults."),
    ] = None,
    variant: VariantOption = None,
    players: PlayersOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; if left out: runs/NAME-VARIANT.")
    ] = None,
    seed: SeedOption = None,
    changes: ChangesOption = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Start again; the old folder is kept under another name."),
    ] = False,
) -> None:
    """Trains a player with the method that the settings choose."""
    settings = _settings(config, variant, players, seed, changes)
    name = settings.method if config is None else config.stem
    if isinstance(settings, TableSettings):
        name = f"{name}-{_label(settings)}"
    _train(begin_run(out or Path("runs") / name, settings, force))


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the run.")],
) -> None:
    """Continues an interrupted run from its last saved state."""
    run = open_run(folder)
    if run.finished():
        print(f"{folder}: the run is finished")
    _train(run)


def quick(
    variant: VariantOption = "oh_hell",
    players: PlayersOption = None,
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", help="YAML file with settings; repeat for each player."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder; if left out: runs/quick-VARIANT.")
    ] = None,
    seed: SeedOption = None,
    changes: ChangesOption = None,
    deals: DealsOption = 1000,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Start again; the old folder is kept under another name."),
    ] = False,
) -> None:
    """Trains for a few minutes, then plays a tournament of the new players and the baselines."""
    if deals < 2:
        raise RulesError(f"--deals: must be at least 2, got {deals}")
    players_settings = _all_settings(config or list(QUICK), variant, players, seed, changes)
    for settings in players_settings:
        check_run(settings)
    folder = out or Path("runs") / f"quick-{_label(players_settings[0])}"
    entrants: list[str] = []
    for settings in players_settings:
        run = _begin_or_go_on(folder / settings.method, settings, fresh)
        _train(run)
        entrants.append(f"{settings.method}={run.result()}")
    kind = players_settings[0].table_kinds()[0]
    _compare([*entrants, "heuristic", "random"], kind, deals, folder / "tournament")
    best = entrants[0].partition("=")[2]
    game = (f" --variant {variant}" if variant else "") + (
        f" --players {players}" if players else ""
    )
    print(
        f"Next:\n"
        f"  play against it    ohhell play --against {best}\n"
        f"  read the report    {folder / 'tournament' / 'report.html'}\n"
        f"  train longer       ohhell fit{game} --set decisions=6000000"
    )


def _all_settings(
    files: list[Path],
    variant: str | None,
    players: int | None,
    seed: int | None,
    changes: list[str] | None,
) -> list[RunSettings]:
    """Returns the settings of several players.

    A change applies to the players that have the setting. A change that fits none goes to all, so
    that it is reported.
    """
    plain = [_settings(file, variant, players, seed, None) for file in files]
    known = [settings.setting_names() for settings in plain]

    def concerns(change: str, names: set[str]) -> bool:
        name = re.split(r"[.=]", change)[0]
        return name in names or not any(name in others for others in known)

    return [
        _settings(
            file, variant, players, seed, [each for each in changes or [] if concerns(each, names)]
        )
        for file, names in zip(files, known, strict=True)
    ]


def _settings(
    config: Path | None,
    variant: str | None,
    players: int | None,
    seed: int | None,
    changes: list[str] | None,
) -> RunSettings:
    values: dict[str, Any] = {"rules": variant, "players": players, "seed": seed}
    given = {name: value for name, value in values.items() if value is not None}
    return load_settings(config, parse_changes(changes or []) | given)


def _label(settings: RunSettings) -> str:
    rules = settings.rules if isinstance(settings, TableSettings) else None
    if isinstance(rules, str):
        return Path(rules).stem
    return "several" if isinstance(rules, tuple) else settings.table_kinds()[0].rules.name


def _begin_or_go_on(path: Path, settings: RunSettings, fresh: bool) -> Run:
    """Returns the run of a folder if it has the same settings; otherwise begins a new one there."""
    if not path.exists() or is_free(path):
        return begin_run(path, settings)
    run = open_run(path)
    if fresh or run.config() != settings.resolved():
        why = "" if fresh else ", which has other settings,"
        print(f"The old run{why} is kept in {run.set_aside()}")
        return begin_run(path, settings)
    if run.finished():
        print(f"{path} is already trained; use --fresh to train it again")
    elif done := run.done():
        print(f"{path}: continues after {done}")
    return run


def _train(run: Run) -> None:
    """Trains a run and reports it; if the run is stopped, prints how to continue."""
    try:
        train_run(run)
    except KeyboardInterrupt:
        print(f"stopped; {run.done() or 'nothing'} kept; to continue: ohhell resume {run.path}")
        note_said()
        raise
    print(f"{run.summary()}. The player: {run.result()}")


def _compare(entrants: list[str], kind: TableKind, deals: int, out: Path) -> None:
    """Plays the tournament of a run; a stored one of other entrants or versions is set aside."""
    from ohhell_train.tournament import TournamentConfig, cli_run
    from ohhell_train.tournament.store import OtherTournamentError

    config = TournamentConfig(
        entrants=entrants,
        rules=kind.rules,
        hand_size=kind.hand_size,
        deals=deals,
        out=out,
    )
    try:
        cli_run(config)
    except OtherTournamentError:
        cli_run(config, fresh=True)
