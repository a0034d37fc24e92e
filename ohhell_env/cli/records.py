"""``ohhell deal`` and ``replay``: deal and play a game, or check a recorded one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated, Any

import typer

from ohhell_env.cards import card_name
from ohhell_env.engine.layout import NO_TRUMP, Phase
from ohhell_env.errors import NotationError, OhHellError, RulesError, shown, shown_path
from ohhell_env.game import MAX_SEED, Game
from ohhell_env.pictures.page import replay_page
from ohhell_env.players import resolve
from ohhell_env.records.notation import format_checked, parse_game
from ohhell_env.records.record import Record, from_json, read_record_text, to_json, write_text
from ohhell_env.records.replay import OPTIONAL_KEYS, check
from ohhell_env.records.thoughts import Thought, plain_thought
from ohhell_env.rules import Rules, as_rules
from ohhell_env.testing import play_random

AsJson = Annotated[bool, typer.Option("--json", help="Show the record as JSON.")]
AsText = Annotated[bool, typer.Option("--text", help="Show the record as text (the default).")]


def deal(
    rules: Annotated[
        str, typer.Argument(metavar="NAME|FILE.yaml", help="A variant, or a file of rules.")
    ] = "oh_hell",
    players: Annotated[int | None, typer.Option(help="Number of players, 2 to 8.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of cards and random players.")] = None,
    hand_size: Annotated[int | None, typer.Option(help="Cards per seat in a single deal.")] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(help="The players: one name for all, or one per seat. Default: random play."),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Also show what this player thinks at each decision; it plays if no --player is "
            "named. heuristic, search and zoo players can explain themselves. A JSON record keeps "
            "it for `replay --html`.",
        ),
    ] = None,
    whole_game: Annotated[bool, typer.Option("--game", help="Play a whole game.")] = False,
    as_json: AsJson = False,
    as_text: AsText = False,
    out: Annotated[Path | None, typer.Option(help="Write to this file (.json: JSON).")] = None,
) -> None:
    """Deals and plays one deal or a whole game, and shows it."""
    if whole_game and hand_size is not None:
        raise RulesError("--hand-size applies to a single deal; leave out --game")
    episode = "game" if whole_game else "deal"
    wants_json = _wants_json(as_json, as_text, out is not None and out.suffix == ".json")
    thoughts = None if explain is None else Thoughts(explain)
    game = _played(as_rules(rules, players), seed, episode, hand_size, player or [], thoughts)
    record = game.record()
    if wants_json:
        text = to_json(record if thoughts is None else record | {"thoughts": thoughts.told(record)})
    else:
        said = "" if thoughts is None else thoughts.text()
        text = said + format_checked(check(record))
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(text, out)


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A record, as JSON or text.")],
    as_json: AsJson = False,
    as_text: AsText = False,
    html: Annotated[
        Path | None,
        typer.Option(metavar="PAGE.html", help="Write a page that replays the game in steps."),
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="On the page: a name per seat, in order.")
    ] = None,
    seat: Annotated[
        int | None, typer.Option(help="On the page: show only what this seat may know.")
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="On the page: what this player thinks at each decision."),
    ] = None,
) -> None:
    """Checks every action of a recorded game, and shows the game or writes it as a page."""
    wants_json = _wants_json(as_json, as_text, False)
    if html is not None and (as_json or as_text):
        raise RulesError("--html writes a page; leave out --json and --text")
    for option, value in (("--name", name), ("--seat", seat), ("--explain", explain)):
        if html is None and value not in (None, []):
            raise RulesError(f"{option} applies to a page: add --html PAGE.html")
    if html is not None and html.resolve() == file.resolve():
        raise RulesError(f"--html: {shown_path(html)!r} is the record itself; choose another file")
    try:
        text = read_record_text(file)
        given = from_json(text) if text.lstrip().startswith("{") else parse_game(text)
        checked = check(given)
    except NotationError as error:
        raise NotationError(f"{shown_path(file)}: {error}") from None
    record = checked.game.record()
    record |= {key: given[key] for key in OPTIONAL_KEYS if key in given}
    if html is not None:
        player = None if explain is None else _thinker(explain, record["seed"] or 0)
        write_text(replay_page(record, name or None, seat, player), html)
    else:
        typer.echo(to_json(record) if wants_json else format_checked(checked), nl=False)
    moves = sum(len(d["bids"]) + sum(map(len, d["tricks"])) for d in record["deals"])
    typer.echo(f"checked: {moves} bids and cards; {_origin(checked.from_seed, record)}", err=True)


def _thinker(name: str, seed: int) -> Any:
    """Returns a player that can explain itself.

    Raises:
        OhHellError: The player does not exist, or cannot explain itself.
    """
    player = resolve(name, seed)
    if not callable(getattr(player, "explain", None)):
        raise OhHellError(f"--explain: player {shown(name)} cannot say what it thinks")
    return player


def _origin(from_seed: bool, record: dict[str, Any]) -> str:
    if record["seed"] is None:
        return "the seed is not recorded"
    verb = "deals" if from_seed else "does not deal"
    return f"seed {record['seed']} {verb} these cards"


def _wants_json(as_json: bool, as_text: bool, default: bool) -> bool:
    if as_json and as_text:
        raise RulesError("--json and --text: choose one of them")
    return as_json or (default and not as_text)


class Thoughts:
    """What a player thinks at each decision of a game, whoever makes it.

    Args:
        name: The player; it must be able to explain itself.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._said: list[str] = []
        self._told: list[tuple[int, Thought]] = []

    def begin(self, rules: Rules, seed: int) -> None:
        """Makes the player.

        Raises:
            OhHellError: The player does not exist, or cannot explain itself.
        """
        self.player: Any = _thinker(self.name, seed)
        self._rules = rules

    def think(self, game: Game, observation: Any, info: Any) -> int:
        """Stores what the player thinks for the seat to act, and returns the player's choice."""
        assert game.seat is not None
        self.player.begin(self._rules, game.seat)
        explanation = self.player.explain(observation, info)
        self._told.append((len(game.finished_deals), plain_thought(explanation)))
        self._said.append(f"{_situation(game)}\n{explanation}\n")
        return explanation.chosen

    def told(self, record: Record) -> dict[str, Any]:
        """Returns all explanations, in the form of a record."""
        deals: list[list[Thought]] = [[] for _ in record["deals"]]
        for deal, thought in self._told:
            deals[deal].append(thought)
        return {"player": self.name, "deals": deals}

    def text(self) -> str:
        """Returns all explanations as text."""
        return "".join(said + "\n" for said in self._said)


def _situation(game: Game) -> str:
    """Returns the decision to make, on one line."""
    assert game.seat is not None
    pack = game.rules.pack
    tricks = len(game.plays) // game.players
    phase = "bid" if game.phase is Phase.BID else f"play to trick {tricks + 1}"
    hidden = game.blind and game.phase is Phase.BID
    hand = "?" if hidden else " ".join(card_name(card, pack) for card in game.hands[game.seat])
    parts = [f"player_{game.seat} to {phase}", f"hand {hand}", _trump(game)]
    bids = [f"{seat}: {bid}" for seat, bid in enumerate(game.bids) if bid is not None]
    secret = game.rules.bidding.order == "simultaneous" and game.phase is Phase.BID
    if bids and not secret:
        parts.append("bids " + ", ".join(bids))
    if game.phase is Phase.PLAY and game.trick:
        trick = " ".join(card_name(card, pack) for _, card in game.trick)
        parts.append(f"on the table {trick}")
    return "; ".join(parts)


def _trump(game: Game) -> str:
    if not game.trump_known:
        return "trump not known yet"
    suit = "no trump" if game.trump == NO_TRUMP else f"trump {game.rules.pack.suits[game.trump]}"
    return f"{suit}, dealer player_{game.dealer}"


def _played(
    rules: Rules,
    seed: int | None,
    episode: str,
    size: int | None,
    names: list[str],
    thoughts: Thoughts | None,
) -> Game:
    """Returns a game played to its end: by the named players, the explaining one, or randomly."""
    if not names and thoughts is None:
        game = Game(rules, seed, episode, size)
        return play_random(game, random.Random(game.seed))
    if len(names) not in (0, 1, rules.players):
        raise RulesError(
            f"--player: give 1 name or {rules.players}, one for each seat; got {shown(names)}"
        )
    from ohhell_env.envs.aec import RawOhHell

    env = RawOhHell(rules, episode=episode, hand_size=size)
    env.reset(seed)
    own = env.game.seed
    assert own is not None, "a table has a seed"
    players = [
        resolve(name, (own + seat) & MAX_SEED)
        for seat, name in enumerate(names * (rules.players // max(len(names), 1)))
    ]
    for seat, player in enumerate(players):
        player.begin(rules, seat)
    if thoughts is not None:
        thoughts.begin(rules, own)
    while env.playing:
        action = -1
        if thoughts is not None:
            observation, *_, info = env.last()
            action = thoughts.think(env.game, observation, info)
        if players:
            view = env.observe(env.agent_selection)  # a fresh one: explain() may write to its own
            action = players[env.game.seat].act(view, {"action_mask": view["action_mask"].copy()})
        env.step(action)
    return env.game
