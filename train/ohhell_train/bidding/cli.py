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
"""The settings of a tournament that are left out."""

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
DealsOption = Annotated[int, typer.Option(help="Deals that are played.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the deals and of all chance.")]


def bidding(
    player: PlayerArgument,
    rules: RulesOption = USUAL["rules"],
    players: PlayersOption = None,
    hand_size: Annotated[
        int | None, typer.Option(help="The only hand size; if left out: as the schedule has them.")
    ] = None,
    deals: DealsOption = USUAL["deals"],
    seed: SeedOption = USUAL["seed"],
    field: Annotated[
        str,
        typer.Option(
            metavar="self|PLAYER",
            help="Who sits in the other seats. self: the player sits in every seat, and each deal "
            "is played once. A player: each deal is played once for every seat that the one sits "
            "in.",
        ),
    ] = SELF,
    least: Annotated[
        int, typer.Option(help="Hands that a row of hands.csv needs; rarer ones share a row.")
    ] = 5,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the files; an older report is replaced.")
    ] = Path("bidding"),
) -> None:
    """Looks at a player's bidding: what it bids with which hands, what it makes, what it forecasts.

    Writes bids.csv (by hand size, place in the bidding and bid), hands.csv (the bidding table),
    made_rates.png and tricks.png; of players that say what they expect of a bid also
    calibration.csv and calibration.png. Same options, same tables. docs/bidding.md tells more.
    """
    if watch.is_wanted([named_player(player).spec, field]):
        raise typer.Exit(watch.run_again("look at the bidding"))
    checked(rules=rules, players=players, hand_size=hand_size, deals=deals, seed=seed)
    if least < 1:
        raise RulesError(f"--least: one hand or more are wanted, got {least}")
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
    """Returns settings as a tournament checks them.

    Raises:
        RulesError: One is not allowed.
    """
    given = {name: value for name, value in values.items() if value is not None}
    return TournamentConfig.load(None, given)


def bidding_report(player: Any, field: Any, deals: Deals, count: int, least: int = 5) -> Report:
    """Plays deals and returns a player's bids, with all that the report shows of them.

    Args:
        player: The player, or its name.
        field: Who sits in the other seats, or "self".
        deals: The deals.
        count: How many.
        least: Hands that a row of the bidding table needs.
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
