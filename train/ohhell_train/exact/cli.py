"""``ohhell exact``: how far players are from optimal play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

import ohhell_agents
from ohhell_env.cli.rules import parse_changes
from ohhell_env.errors import RulesError
from ohhell_env.players import named_player
from ohhell_env.rules import Rules, as_rules
from ohhell_env.rules.explain import title
from ohhell_train.exact.one_card import solve, value_of


def exact(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PLAYER]...", help="Players to measure, as in a tournament."),
    ] = None,
    rules: Annotated[
        str, typer.Option(metavar="NAME|FILE.yaml", help="The rules of the game.")
    ] = "oh_hell",
    players: Annotated[int | None, typer.Option(help="Number of players, 2 to 8.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change a setting, such as scoring=simple."
        ),
    ] = None,
    tiny: Annotated[
        bool,
        typer.Option(
            "--tiny", help="Measure whole deals with a tiny pack: NashConv, by OpenSpiel."
        ),
    ] = False,
    hand_size: Annotated[
        int | None, typer.Option(help="With --tiny: hand size; if left out: the schedule's.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the players.")] = 1,
) -> None:
    """Measures players against exact solutions of one-card deals, or of deals with a tiny pack."""
    if hand_size is not None and not tiny:
        raise RulesError("--hand-size needs --tiny; without --tiny only one-card deals are solved")
    chosen = as_rules(rules, players).replace(**parse_changes(changes or []))
    if tiny:
        _tiny(names or ["random"], chosen, hand_size, seed)
    else:
        _one_card(names or [], chosen, seed)


def _one_card(names: Sequence[str], rules: Rules, seed: int) -> None:
    print(f"One-card deals of {title(rules)}: points, eldest to dealer")
    print(_line("the best bids", solve(rules).values))
    for name, player in map(named_player, names):
        found = value_of(player, rules, seed=seed)
        print(f"{name} loses {found.loss:.4f} a deal; NashConv {found.nash_conv:.4f}")
        print(_line("  among best bidders", found.among_best))
        print(_line("  among its own kind", found.among_own))
        print(_line("  best reply to its kind", found.best_reply))


def _tiny(names: Sequence[str], rules: Rules, hand_size: int | None, seed: int) -> None:
    from ohhell_train.exact.tiny import nash_conv

    for name, player in map(named_player, names):
        with ohhell_agents.make(player, seed=seed) as agent:
            print(f"{name}: NashConv {nash_conv(agent, rules, hand_size):.4f}")


def _line(what: str, values: Sequence[float]) -> str:
    return f"{what:<24}" + "".join(f"{value:8.3f}" for value in values)
