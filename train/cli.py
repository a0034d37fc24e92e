"""The commands of ``python -m train``; what they do is in the modules that they call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ohhell_env.cli_rules import parse_changes
from ohhell_env.errors import RulesError
from train.config import Config
from train.run import begin, check_settings, train
from train.run_directory import Counters, RunDirectory, is_free

CONFIGS = Path(__file__).parent.parent / "configs" / "train"

ConfigOption = Annotated[Path, typer.Option("--config", help="Settings, as a YAML file.")]
VariantOption = Annotated[
    str | None, typer.Option(metavar="NAME|FILE.yaml", help="The rules to train for.")
]
PlayersOption = Annotated[int | None, typer.Option(help="Number of players, 2 to 8.")]
SeedOption = Annotated[int | None, typer.Option(help="Seed of the training.")]
ChangesOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting: ppo.epochs=2."),
]
DealsOption = Annotated[int, typer.Option(help="Duplicate deals of the tournament.")]


def fit(
    config: ConfigOption = CONFIGS / "quick.yaml",
    variant: VariantOption = None,
    players: PlayersOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run: runs/NAME-VARIANT.")] = None,
    seed: SeedOption = None,
    changes: ChangesOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Begin anew; an old folder is kept beside it.")
    ] = False,
) -> None:
    """Trains a player by self-play."""
    settings = _settings(config, variant, players, seed, changes)
    run = begin(out or _folder(config.stem, settings), settings, force)
    _report(run, _trained(run))


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the run.")],
) -> None:
    """Goes on with a run that was interrupted, from where its state was last saved."""
    run = RunDirectory.open(folder)
    if run.counters().finished:
        print(f"{folder}: this run is finished")
    _report(run, _trained(run))


def quick(
    variant: VariantOption = "oh_hell",
    players: PlayersOption = None,
    config: ConfigOption = CONFIGS / "quick.yaml",
    out: Annotated[Path | None, typer.Option(help="Folder: runs/quick-VARIANT.")] = None,
    seed: SeedOption = None,
    changes: ChangesOption = None,
    deals: DealsOption = 1000,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew; an old folder is kept beside it.")
    ] = False,
) -> None:
    """Trains for a few minutes, then plays a tournament of the result and the baselines."""
    if deals < 2:
        raise RulesError(f"--deals: two or more are wanted, got {deals}")
    settings = _settings(config, variant, players, seed, changes)
    run = _begin_or_go_on(out or _folder("quick", settings), settings, fresh)
    _report(run, _trained(run))
    entrants = [f"learned={run.path / 'best'}", "heuristic", "random"]
    _compare(entrants, settings, deals, run.path / "tournament")


def _settings(
    config: Path,
    variant: str | None,
    players: int | None,
    seed: int | None,
    changes: list[str] | None,
) -> Config:
    values: dict[str, Any] = {"rules": variant, "players": players, "seed": seed}
    given = {name: value for name, value in values.items() if value is not None}
    return Config.load(config, parse_changes(changes or []) | given)


def _folder(name: str, settings: Config) -> Path:
    rules = settings.rules
    label = Path(rules).stem if isinstance(rules, str) else settings.resolved_rules().name
    return Path("runs") / f"{name}-{label}"


def _begin_or_go_on(path: Path, settings: Config, fresh: bool) -> RunDirectory:
    """Returns the run of a folder if it has the same settings, else begins one there."""
    if not path.exists() or is_free(path):
        return begin(path, settings)
    check_settings(settings)  # before the old run is moved
    run = RunDirectory.open(path)
    if fresh or run.config() != settings.resolved():
        why = "" if fresh else ", which has other settings"
        print(f"The old run{why} is kept in {run.set_aside()}")
        return begin(path, settings)
    done = run.counters()
    if done.finished:
        print(f"{path} is trained already; --fresh trains it anew")
    elif done.decisions:
        print(f"{path}: goes on after {done.decisions:,} decisions")
    return run


def _trained(run: RunDirectory) -> Counters:
    """Trains; says how to go on where it is stopped."""
    try:
        return train(run)
    except KeyboardInterrupt:
        kept = run.counters().decisions
        print(f"stopped; {kept:,} decisions are kept: python -m train resume {run.path}")
        raise


def _report(run: RunDirectory, counters: Counters) -> None:
    speed = counters.decisions / max(counters.seconds, 1e-9)
    print(
        f"Trained on {counters.decisions:,} decisions in {counters.seconds / 60:.1f} minutes "
        f"({speed:,.0f}/s). The player: {run.path / 'best'}"
    )


def _compare(entrants: list[str], settings: Config, deals: int, out: Path) -> None:
    """Plays the tournament of a run; one of other entrants or versions there makes room."""
    from train.tournament import TournamentConfig, cli_run
    from train.tournament.store import OtherTournamentError

    config = TournamentConfig(
        entrants=tuple(entrants),
        rules=settings.resolved_rules().to_dict(),
        hand_size=settings.hand_size,
        deals=deals,
        out=out,
    )
    try:
        cli_run(config)
    except OtherTournamentError:
        cli_run(config, fresh=True)
