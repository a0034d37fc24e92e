"""The commands that train; what they do is in the modules that they call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from ohhell_env.cli.interrupts import note_said
from ohhell_env.cli.rules import parse_changes
from ohhell_env.errors import RulesError
from ohhell_env.rules import Rules
from ohhell_train.counterfactual.config import CounterfactualConfig
from ohhell_train.distill.config import DistillConfig
from ohhell_train.methods import Method, load_settings, method_of, open_run
from ohhell_train.ppo.config import PpoConfig
from ohhell_train.runs.base import is_free

RECIPES = Path(__file__).parent / "recipes"
QUICK = (RECIPES / "quick.yaml", RECIPES / "quick_ppo.yaml")
"""What ``make train`` trains."""

AnySettings = PpoConfig | CounterfactualConfig | DistillConfig

VariantOption = Annotated[
    str | None, typer.Option(metavar="NAME|FILE.yaml", help="The rules to train for.")
]
PlayersOption = Annotated[int | None, typer.Option(help="Number of players, 2 to 8.")]
SeedOption = Annotated[int | None, typer.Option(help="Seed of the training.")]
ChangesOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting: ppo.n_epochs=2."),
]
DealsOption = Annotated[int, typer.Option(help="Duplicate deals of the tournament.")]


def fit(
    config: Annotated[
        Path | None, typer.Option("--config", help="Settings, as a YAML file; else the defaults.")
    ] = None,
    variant: VariantOption = None,
    players: PlayersOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run: runs/NAME-VARIANT.")] = None,
    seed: SeedOption = None,
    changes: ChangesOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew; an old folder is kept beside it.")
    ] = False,
) -> None:
    """Trains a player by self-play or from a teacher's games, in the way that the settings name."""
    settings = _settings(config, variant, players, seed, changes)
    method = method_of(settings)
    name = settings.method if config is None else config.stem
    run = method.begin(out or Path("runs") / f"{name}-{_label(settings)}", settings, force)
    _train(method, run)


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the run.")],
) -> None:
    """Goes on with a run that was interrupted, from where its state was last saved."""
    method, run = open_run(folder)
    if method.finished(run):
        print(f"{folder}: this run is finished")
    _train(method, run)


def quick(
    variant: VariantOption = "oh_hell",
    players: PlayersOption = None,
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", help="Settings of a player, as a YAML file; several times."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder: runs/quick-VARIANT.")] = None,
    seed: SeedOption = None,
    changes: ChangesOption = None,
    deals: DealsOption = 1000,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew; an old folder is kept beside it.")
    ] = False,
) -> None:
    """Trains for a few minutes, then plays a tournament of the results and the baselines."""
    if deals < 2:
        raise RulesError(f"--deals: two or more are wanted, got {deals}")
    wishes = _wishes(config or list(QUICK), variant, players, seed, changes)
    for settings in wishes:
        method_of(settings).check(settings)
    folder = out or Path("runs") / f"quick-{_label(wishes[0])}"
    entrants: list[str] = []
    for settings in wishes:
        method = method_of(settings)
        run = _begin_or_go_on(method, folder / settings.method, settings, fresh)
        _train(method, run)
        entrants.append(f"{settings.method}={run.path / 'best'}")
    table = method_of(wishes[0]).table(wishes[0])
    _compare([*entrants, "heuristic", "random"], table, deals, folder / "tournament")


def _wishes(
    files: list[Path],
    variant: str | None,
    players: int | None,
    seed: int | None,
    changes: list[str] | None,
) -> list[AnySettings]:
    """Returns the settings of several players.

    A change is made to those that have the setting; one that none has goes to all, to be told.
    """
    plain = [_settings(file, variant, players, seed, None) for file in files]
    known = [method_of(settings).settings.setting_names() for settings in plain]

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
) -> AnySettings:
    values: dict[str, Any] = {"rules": variant, "players": players, "seed": seed}
    given = {name: value for name, value in values.items() if value is not None}
    return load_settings(config, parse_changes(changes or []) | given)


def _label(settings: AnySettings) -> str:
    rules = settings.rules
    if isinstance(rules, str):
        return Path(rules).stem
    return "several" if isinstance(rules, tuple) else method_of(settings).table(settings)[0].name


def _begin_or_go_on(method: Method, path: Path, settings: AnySettings, fresh: bool) -> Any:
    """Returns the run of a folder if it has the same settings, else begins one there."""
    if not path.exists() or is_free(path):
        return method.begin(path, settings)
    other, run = open_run(path)
    if fresh or other is not method or run.config() != settings.resolved():
        why = "" if fresh else ", which has other settings"
        print(f"The old run{why} is kept in {run.set_aside()}")
        return method.begin(path, settings)
    if method.finished(run):
        print(f"{path} is trained already; --fresh trains it anew")
    elif done := method.done(run):
        print(f"{path}: goes on after {done}")
    return run


def _train(method: Method, run: Any) -> None:
    """Trains a run and reports; says how to go on where it is stopped."""
    try:
        method.train(run)
    except KeyboardInterrupt:
        kept = method.done(run) or "nothing"
        print(f"stopped; {kept} kept: ohhell resume {run.path}")
        note_said()
        raise
    print(f"{method.summary(run)}. The player: {run.path / 'best'}")


def _compare(entrants: list[str], table: tuple[Rules, int | None], deals: int, out: Path) -> None:
    """Plays the tournament of a run; one of other entrants or versions there makes room."""
    from ohhell_train.tournament import TournamentConfig, cli_run
    from ohhell_train.tournament.store import OtherTournamentError

    config = TournamentConfig(
        entrants=tuple(entrants),
        rules=table[0].to_dict(),
        hand_size=table[1],
        deals=deals,
        out=out,
    )
    try:
        cli_run(config)
    except OtherTournamentError:
        cli_run(config, fresh=True)
