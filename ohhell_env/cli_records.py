"""``python -m ohhell_env deal`` and ``replay``: games dealt and played, or recorded and checked."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated, Any

import typer

from ohhell_env.errors import NotationError, RulesError
from ohhell_env.game import MAX_SEED, Game
from ohhell_env.notation import format_checked, parse_game
from ohhell_env.players import resolve
from ohhell_env.record import from_json, read_text, to_json, write_whole
from ohhell_env.replay import check
from ohhell_env.rules import Rules, as_rules
from ohhell_env.testing import play_random

AsJson = Annotated[bool, typer.Option("--json", help="Show the record as JSON.")]
AsText = Annotated[bool, typer.Option("--text", help="Show it as text (the default).")]


def deal(
    rules: Annotated[
        str, typer.Argument(metavar="NAME|FILE.yaml", help="A variant or a file of rules.")
    ] = "oh_hell",
    players: Annotated[int | None, typer.Option(help="Number of players, 2 to 8.")] = None,
    seed: Annotated[int | None, typer.Option(help="Decides cards and random players.")] = None,
    hand_size: Annotated[int | None, typer.Option(help="Cards for each in a single deal.")] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(help="Who plays: one name for all, or one for each seat; else at random."),
    ] = None,
    whole_game: Annotated[bool, typer.Option("--game", help="Play a whole game.")] = False,
    as_json: AsJson = False,
    as_text: AsText = False,
    out: Annotated[Path | None, typer.Option(help="Write to a file (JSON if .json).")] = None,
) -> None:
    """Deals and plays one deal, or a whole game, and shows it."""
    if whole_game and hand_size is not None:
        raise RulesError("--hand-size is for a single deal; leave out --game")
    episode = "game" if whole_game else "deal"
    game = _played(as_rules(rules, players), seed, episode, hand_size, player or [])
    wants_json = _wants_json(as_json, as_text, out is not None and out.suffix == ".json")
    record = game.record()
    text = to_json(record) if wants_json else format_checked(check(record))
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(text, out)


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A record, JSON or text.")],
    as_json: AsJson = False,
    as_text: AsText = False,
) -> None:
    """Checks every move of a recorded game and shows it."""
    wants_json = _wants_json(as_json, as_text, False)
    try:
        text = read_text(file)
        checked = check(from_json(text) if text.lstrip().startswith("{") else parse_game(text))
    except NotationError as error:
        raise NotationError(f"{file}: {error}") from None
    record = checked.game.record()
    typer.echo(to_json(record) if wants_json else format_checked(checked), nl=False)
    moves = sum(len(d["bids"]) + sum(map(len, d["tricks"])) for d in record["deals"])
    typer.echo(f"checked: {moves} bids and cards; {_origin(checked.from_seed, record)}", err=True)


def _origin(from_seed: bool, record: dict[str, Any]) -> str:
    if record["seed"] is None:
        return "the seed is not recorded"
    verb = "deals" if from_seed else "does not deal"
    return f"seed {record['seed']} {verb} these cards"


def _wants_json(as_json: bool, as_text: bool, default: bool) -> bool:
    if as_json and as_text:
        raise RulesError("--json and --text: choose one of them")
    return as_json or (default and not as_text)


def _played(
    rules: Rules, seed: int | None, episode: str, size: int | None, names: list[str]
) -> Game:
    """Returns a game played to its end, at random where nobody is named."""
    if not names:
        game = Game(rules, seed, episode, size)
        return play_random(game, random.Random(game.seed))
    if len(names) not in (1, rules.players):
        raise RulesError(
            f"--player: give 1 name or {rules.players}, one for each seat; got {names}"
        )
    from ohhell_env.envs.aec import RawOhHell

    env = RawOhHell(rules, episode=episode, hand_size=size)
    env.reset(seed)
    own = env.game.seed
    assert own is not None, "a table has a seed"
    players = [
        resolve(name, (own + seat) & MAX_SEED)
        for seat, name in enumerate(names * (rules.players // len(names)))
    ]
    for seat, player in enumerate(players):
        player.begin(rules, seat)
    while env.playing:
        observation, *_, info = env.last()
        env.step(players[env.game.seat].act(observation, info))
    return env.game
