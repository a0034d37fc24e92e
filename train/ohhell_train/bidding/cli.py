"""``ohhell bidding``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ohhell_env.errors import RulesError
from ohhell_env.players import named_player
from ohhell_env.rules import as_rules
from ohhell_train.bidding.bids import play_bids
from ohhell_train.bidding.files import check_free, write_files
from ohhell_train.bidding.report import Report
from ohhell_train.tournament.config import TournamentConfig
from ohhell_train.tournament.entrants import make_entrants
from ohhell_train.tournament.executors import watch
from ohhell_train.tournament.executors.processes import use_one_thread
from ohhell_train.tournament.tables import Deals

SELF = "self"
USUAL = {name: field.default for name, field in TournamentConfig.model_fields.items()}
"""The defaults of a tournament's settings."""

PlayerArgument = Annotated[
    str,
    typer.Argument(
        metavar="PLAYER",
        show_default=False,
        help="heuristic, search (search:worlds=100), zoo:NAME, the folder of a checkpoint, "
        "parts:bids=PLAYER,cards=PLAYER, module:Class, or process: and a command line in quotes.",
    ),
]
RulesOption = Annotated[
    str, typer.Option(metavar="NAME|FILE.yaml", help="The rules: a variant, or a YAML file.")
]
PlayersOption = Annotated[
    int | None, typer.Option(help="Number of players, 2 to 8; if left out: the variant's usual.")
]
DealsOption = Annotated[int, typer.Option(help="Number of deals.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the deals and all random choices.")]


def bidding(
    player: PlayerArgument,
    rules: RulesOption = USUAL["rules"],
    players: PlayersOption = None,
    hand_size: Annotated[
        int | None, typer.Option(help="The only hand size; if left out: those of the schedule.")
    ] = None,
    deals: DealsOption = USUAL["deals"],
    seed: SeedOption = USUAL["seed"],
    field: Annotated[
        str,
        typer.Option(
            metavar="self|PLAYER",
            help="The player in the other seats. self: the player sits in every seat, and each "
            "deal is played once. A player: each deal is played once for every seat of the "
            "measured player.",
        ),
    ] = SELF,
    least: Annotated[
        int, typer.Option(help="Fewest hands of a row in hands.csv; rarer hands share a row.")
    ] = 5,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the report; an older report is replaced.")
    ] = Path("bidding"),
) -> None:
    """Reports a player's bidding: what it bids with which hands, what it makes, what it forecasts.

    Writes bids.csv (by hand size, place in the bidding and bid), hands.csv (the bidding table),
    made_rates.png and tricks.png. For players that give forecasts it also writes calibration.csv
    and calibration.png. The same options give the same tables. See docs/bidding.md.
    """
    if watch.is_wanted([named_player(player).spec, field]):
        raise typer.Exit(watch.run_again("look at the bidding"))
    checked(rules=rules, players=players, hand_size=hand_size, deals=deals, seed=seed)
    if least < 1:
        raise RulesError(f"--least: must be at least 1, got {least}")
    table = Deals(as_rules(rules, players), seed, hand_size)
    check_free(out)
    use_one_thread()
    report = bidding_report(player, field, table, deals, least)
    files = report.files()
    write_files(out, files)
    console = Console()
    report.show(console)
    names = ", ".join(files)
    console.print(f"written: {out}: {names}", markup=False, highlight=False, soft_wrap=True)


def checked(**values: Any) -> TournamentConfig:
    """Returns settings checked as for a tournament.

    Raises:
        RulesError: A setting is not allowed.
    """
    given = {name: value for name, value in values.items() if value is not None}
    return TournamentConfig.load(None, given)


def bidding_report(player: Any, field: Any, deals: Deals, count: int, least: int = 5) -> Report:
    """Plays deals and returns a player's bids with everything that the report shows.

    Args:
        player: The player, or its name.
        field: The player in the other seats, or "self".
        deals: The deals.
        count: Number of deals.
        least: Fewest hands of a row in the bidding table.
    """
    alone = field != SELF
    named = named_player(player)
    given = [("player", named.player), ("field", field if alone else "random")]
    one, others = make_entrants(given, deals.rules, deals.seed)
    with contextlib.closing(one), contextlib.closing(others):
        bids = play_bids(deals, one, others if alone else None, count)
    name = named.name if isinstance(player, str) else player.kind
    opponents = field if isinstance(field, str) else field.kind
    options = deals.hand_size, count, deals.seed, least, one.faults
    return Report(bids, deals.rules, name, opponents, *options)
