"""``ohhell model-card``: a trained player's training and strength, as Markdown.

The card has no date and nothing else that changes: the same command writes the same text again.
"""

from __future__ import annotations

import contextlib
import itertools
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import ohhell_agents
import ohhell_env
from ohhell_agents.base import Agent
from ohhell_agents.counterfactual import CounterfactualAgent
from ohhell_agents.two_part import TwoPartAgent
from ohhell_agents.zoo import PREFIX
from ohhell_env.errors import OhHellError, RulesError
from ohhell_env.files import write_whole
from ohhell_env.players import named_player
from ohhell_env.rules import Rules, RulesLike, as_rules
from ohhell_env.rules.explain import title
from ohhell_env.rules.schedule import hand_sizes
from ohhell_train.bidding.bids import play_bids
from ohhell_train.bidding.cli import USUAL, PlayerArgument, SeedOption, checked
from ohhell_train.bidding.report import by_deal
from ohhell_train.evaluate import measure
from ohhell_train.tournament.analysis.results import check_writable, unwritable
from ohhell_train.tournament.analysis.statistics import interval
from ohhell_train.tournament.entrants import begin_entrant, make_entrants
from ohhell_train.tournament.executors import watch
from ohhell_train.tournament.executors.processes import use_one_thread
from ohhell_train.tournament.tables import Deals

FIELDS = ("heuristic", "random")
"""The players whose fields it is measured against."""
SIZES = (1, 3, 5, 8, 10)
"""Hand sizes with figures of their own, if they are dealt."""
SEATS = (3, 4, 5, 6)
"""Numbers of players with figures of their own, if the player can play them."""
_CHOSEN_BY_RUN = ("best", "last")

Columns = tuple[int | None, ...]
"""Hand sizes; None: those of the schedule."""


def model_card(
    player: PlayerArgument,
    rules: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE.yaml",
            help="Rules to measure it under; repeat for several. Default: the rules that it was "
            "trained for.",
        ),
    ] = None,
    players: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            help="Number of players; repeat for several. Default: 3 to 6, or the one number that a "
            "network was trained for.",
        ),
    ] = None,
    deals: Annotated[int, typer.Option(help="Duplicate deals per figure.")] = USUAL["deals"],
    seed: SeedOption = USUAL["seed"],
    recipe: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Training command; the card quotes it."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Headline. Default: the name of the player's folder.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE.md", help="File of the card; replaces an older card.")
    ] = Path("CARD.md"),
) -> None:
    """Writes a trained player's model card: what it is, its training, and its strength.

    Strength is points per deal over a field of heuristic and of random, with 95 % intervals, by
    number of players and hand size. The card also has the share of bids that the player makes among
    copies of itself. It takes about a minute per variant, and a few for a torch network.
    """
    if watch.is_wanted([named_player(player).spec]):
        raise typer.Exit(watch.run_again("measuring"))
    if deals < 2:
        raise RulesError(f"--deals must be 2 or more, got {deals}")
    checked(deals=deals, seed=seed)
    _check_free(out)
    command = _command(player, rules, players, deals, seed, recipe, name, out)
    use_one_thread()
    called, spec = named_player(player)
    name = name or (called if called != spec else None)
    with contextlib.closing(ohhell_agents.make(spec, seed=seed)) as agent:
        tables = _tables(agent, rules, players)
        for each in itertools.chain(*tables):
            # Report what it cannot play before playing anything.
            begin_entrant(player, agent, each)
        text = written(agent, name or _name(spec), tables, Measuring(deals, seed), recipe)
    text += f"\nCommand that wrote this card:\n\n```\n{command}\n```\n"
    try:
        write_whole(out, text)
    except OSError as error:
        raise unwritable(out, error) from None
    print(f"written: {out}")


def _check_free(out: Path) -> None:
    check_writable(out.absolute().parent)
    if out.is_dir():
        raise OhHellError(f"--out {out}: this is a folder; give the name of a file")


@dataclass(frozen=True)
class Measuring:
    """How a player is measured."""

    deals: int
    """Duplicate deals per figure."""
    seed: int
    """Seed of the deals and of all randomness."""

    def over(self, agent: Agent, field: str, rules: Rules, hand_size: int | None) -> str:
        """Returns the points per deal over a field, with the 95 % interval."""
        other = ohhell_agents.make(field, seed=self.seed)
        found = measure(agent, other, rules, self.deals, self.seed, hand_size)
        if found.fault:  # random actions in its place would not measure the player
            raise OhHellError(f"the player committed a fault under {rules.name}: {found.fault}")
        return str(found)

    def made(self, agent: Agent, rules: Rules, hand_size: int | None) -> str:
        """Returns the share of bids made among copies of itself, with the 95 % interval."""
        one, _ = make_entrants([("player", agent), ("field", "random")], rules, self.seed)
        deals = Deals(rules, self.seed, hand_size)
        bids = play_bids(deals, one, None, self.deals, with_forecasts=False)
        mean, ends = interval(by_deal(bids, bids["bid"] == bids["tricks"]))
        assert ends is not None, "two deals or more have an interval"
        return f"{mean:.1%} ±{(ends[1] - ends[0]) / 2:.1%}"


def written(
    agent: Agent,
    name: str,
    tables: Sequence[Sequence[Rules]],
    measuring: Measuring,
    recipe: str | None,
) -> str:
    """Returns a player's model card as Markdown, without the command that wrote it.

    Args:
        agent: The player.
        name: The headline.
        tables: Rules to measure it under: for each variant, one for each number of players.
        measuring: How to measure.
        recipe: The training command; None: left out.
    """
    parts = [f"# {name}", "\n".join(f"- {line}" for line in facts(agent))]
    if recipe is not None:
        parts.append(f"Training command:\n\n```\n{recipe}\n```")
    deals = f"{measuring.deals:,} duplicate deals, seed {measuring.seed}"
    parts.append(
        f"The figures come from {deals} (ohhell-env {ohhell_env.__version__}), with 95 % "
        "intervals. In the column *all*, hand sizes are drawn from the schedule."
    )
    for own in tables:
        parts.append(f"## {title(own[0]).rpartition(';')[0]} (`{own[0].name}`)")
        parts += _sections(agent, own, measuring)
    return "\n\n".join(parts) + "\n"


def facts(agent: Agent) -> list[str]:
    """Returns the facts about a player and its training, one per line."""
    lines = [f"Kind: {agent.kind}"]
    if agent.fingerprint:
        lines.append(f"Weights: `{agent.fingerprint}`")
    if isinstance(agent, TwoPartAgent):
        return lines[:1] + list(_of_parts(agent))
    if isinstance(agent, CounterfactualAgent):
        return lines + list(_of_training(_training_notes(agent)))
    checkpoint: Any = getattr(agent, "checkpoint", None)
    if checkpoint is not None:
        hidden = "x".join(str(width) for width in checkpoint.network.hidden)
        size = checkpoint.hand_size
        lines.append(f"Trained for: `{checkpoint.rules.name}`, {checkpoint.rules.players} players")
        lines += [] if size is None else [f"Hand size in training: {size}"]
        lines.append(f"Network: {hidden}, layout `{checkpoint.layout_name}`")
    return lines


def _of_parts(agent: TwoPartAgent) -> Iterator[str]:
    """Yields the facts about each part, labelled with what the part does."""
    for name, part in agent.parts.items():
        yield f"The {name}: {f'`{agent.names[name]}`, ' if agent.names[name] else ''}{part.kind}"
        yield from (f"The {name}, {line[0].lower()}{line[1:]}" for line in facts(part)[1:])


def _trained(agent: Agent) -> Agent:
    """Returns the player, or the first of two parts that knows what it was trained for."""
    if not isinstance(agent, TwoPartAgent):
        return agent
    networks = [part for part in agent.parts.values() if hasattr(part, "checkpoint")]
    trained = [part for part in agent.parts.values() if isinstance(part, CounterfactualAgent)]
    return next(iter([*networks, *trained]), agent)


def _training_notes(agent: CounterfactualAgent) -> dict[str, Any]:
    """Returns the training notes of a player's checkpoint, without entries that no run writes."""
    kinds: dict[str, type] = {"rules": str, "players": int}
    about: dict[str, Any] = {}
    for name, value in agent.about.items():
        if name in kinds:
            sound = isinstance(value, list) and all(type(each) is kinds[name] for each in value)
        else:
            sound = type(value) in (int, float)
        if sound:
            about[name] = value
    return about


def _of_training(about: dict[str, Any]) -> Iterator[str]:
    if about.get("rules"):
        yield "Trained for: " + ", ".join(f"`{name}`" for name in about["rules"])
    if about.get("players"):
        yield "Numbers of players: " + ", ".join(str(number) for number in about["players"])
    if "decisions" in about:
        bids = f", {about['bids']:,} of them bids" if "bids" in about else ""
        yield f"Labelled decisions: {about['decisions']:,} in round {about.get('round', 1)}{bids}"
    if "cpu_seconds" in about:
        yield f"Training time up to this round: {about['cpu_seconds'] / 60:.1f} CPU minutes"


def _sections(agent: Agent, tables: Sequence[Rules], measuring: Measuring) -> Iterator[str]:
    """Yields the tables of a variant: points over each field, and the made rate."""
    dealt = {size for rules in tables for size in hand_sizes(rules)}
    columns: Columns = (None, *(sorted(dealt & set(SIZES)) or sorted(dealt)[:1]))
    for field in FIELDS:
        yield f"Points per deal over a field of `{field}`, with each deal played from every seat:"
        yield _grid(
            columns,
            [
                (
                    rules,
                    [measuring.over(agent, field, rules, size) for size in _dealt(columns, rules)],
                )
                for rules in tables
            ],
        )
    yield "Share of bids made among copies of itself:"
    yield _grid(
        columns,
        [
            (rules, [measuring.made(agent, rules, size) for size in _dealt(columns, rules)])
            for rules in tables
        ],
    )


def _dealt(columns: Columns, rules: Rules) -> list[int | None]:
    return [size for size in columns if size is None or size in hand_sizes(rules)]


def _grid(columns: Columns, rows: Sequence[tuple[Rules, Sequence[str]]]) -> str:
    heads = ["all" if size is None else f"{size} card{'s' * (size > 1)}" for size in columns]
    lines = [["players", *heads], ["---:" for _ in range(len(columns) + 1)]]
    for rules, values in rows:
        by_size = dict(zip(_dealt(columns, rules), values, strict=True))
        lines.append([str(rules.players), *(by_size.get(size, "") for size in columns)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _tables(agent: Agent, rules: list[str] | None, players: list[int] | None) -> list[list[Rules]]:
    """Returns the rules to measure a player under: the given ones, else those it was trained for.

    Raises:
        RulesError: No rules are given and the player names none, or the rules cannot be played.
    """
    agent = _trained(agent)
    checkpoint: Any = getattr(agent, "checkpoint", None)
    usual: Sequence[RulesLike]
    if checkpoint is not None:
        usual, numbers = rules or [checkpoint.rules], players or [checkpoint.rules.players]
    else:
        about = _training_notes(agent) if isinstance(agent, CounterfactualAgent) else {}
        usual, numbers = rules or about.get("rules", []), players or SEATS
    if not usual:
        raise RulesError(f"a player of kind {agent.kind!r} names no rules; add --rules")
    return [[as_rules(each, number) for number in numbers] for each in usual]


def _name(player: str) -> str:
    """Returns a player's name: its folder, or that of its run."""
    path = Path(player.removeprefix(PREFIX))
    return path.parent.name if path.name in _CHOSEN_BY_RUN and path.parent.name else path.name


def _command(
    player: str,
    rules: list[str] | None,
    players: list[int] | None,
    deals: int,
    seed: int,
    recipe: str | None,
    name: str | None,
    out: Path,
) -> str:
    """Returns the command line that writes the card, with all options."""
    words = ["ohhell", "model-card", player]
    for each in rules or []:
        words += ["--rules", each]
    for number in players or []:
        words += ["--players", str(number)]
    words += ["--deals", str(deals), "--seed", str(seed)]
    for option, value in (("--recipe", recipe), ("--name", name), ("--out", str(out))):
        words += [] if value is None else [option, value]
    return shlex.join(words)
