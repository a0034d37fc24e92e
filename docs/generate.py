"""Writes the generated parts of the pages in this folder.

    python docs/generate.py            # rewrite them
    python docs/generate.py --check    # only say which page is out of date

A page marks such a part by comments: ``<!-- generated: NAME -->`` and ``<!-- end -->``. What stands
between them comes from the function ``BLOCKS[NAME]``.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import shlex
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from ohhell_env import oh_hell_v0
from ohhell_env import schedule as plan
from ohhell_env.axes import SCORINGS, Bidding, End, Play, Schedule, Scoring, Settlement, Trump
from ohhell_env.cards import Pack
from ohhell_env.checks import MAX_PLAYERS, MIN_PLAYERS
from ohhell_env.errors import RulesError
from ohhell_env.explain import explain
from ohhell_env.phrases import (
    changes,
    compact,
    made_words,
    missed_words,
    nil_words,
    removed_words,
    scoring_name,
)
from ohhell_env.rules import Rules
from ohhell_env.settings import field_types, to_plain
from ohhell_env.variants import VARIANTS

DOCS = Path(__file__).parent
_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_AXES: dict[str, type] = {
    "": Rules,
    "pack": Pack,
    "schedule": Schedule,
    "trump": Trump,
    "bidding": Bidding,
    "play": Play,
    "scoring": Scoring,
    "end": End,
    "settlement": Settlement,
}
_PLAYERS = range(MIN_PLAYERS, MAX_PLAYERS + 1)


def regenerate(page: str) -> str:
    """Returns the text of a page with its generated parts made anew.

    Raises:
        KeyError: The page asks for a part that is not in ``BLOCKS``.
    """
    return _BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}{found[3]}", page)


def _table(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def variants_table() -> str:
    """Every variant: what it is called, who plays it, and what differs from the defaults."""
    return _table(
        ("Name", "At the table", "Players", "Differs from the defaults", "Source"), _rows()
    )


def _rows() -> Iterator[tuple[str, ...]]:
    for name, variant in VARIANTS.items():
        rules = Rules.preset(name)
        differing = _changed(rules) or "nothing"
        low, high = variant.usual
        yield f"`{name}`", variant.title, f"{low} to {high}", differing, variant.source


def _changed(rules: Rules) -> str:
    found = changes(rules, Rules(players=rules.players))
    removed = found.pop("pack.removed", None)
    words = [f"`{key}: {_written(value)}`" for key, value in found.items()]
    if removed is not None:
        words.insert(0, f"taken out: {removed_words(rules.pack)}")
    return ", ".join(words)


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_written(part)}' for key, part in value.items())}}}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def hand_sizes_table() -> str:
    """Hand sizes of every variant by number of players."""
    header = ("Variant", *(f"{players} players" for players in _PLAYERS))
    rows = ((f"`{name}`", *(_sizes(name, players) for players in _PLAYERS)) for name in VARIANTS)
    return _table(header, rows)


def _sizes(name: str, players: int) -> str:
    try:
        rules = Rules.preset(name, players)
    except RulesError:
        return "-"
    sizes = compact(plan.hand_sizes(rules))
    if rules.end.target is not None:
        return f"always {sizes} (at most {plan.num_deals(rules)})"
    return f"{sizes} ({plan.num_deals(rules)})"


def scorings_table() -> str:
    """Every named scoring in words, with the variants that use it."""
    header = ("Name", "A made bid", "A missed bid", "A nil", "Used by")
    return _table(header, (_scoring_row(name, one) for name, one in SCORINGS.items()))


def _scoring_row(name: str, scoring: Scoring) -> tuple[str, ...]:
    nils = [
        f"{label} {nil_words(nil)}"
        for label, nil in (("made:", scoring.nil_made), ("missed:", scoring.nil_missed))
        if nil is not None
    ]
    users = [f"`{v}`" for v in VARIANTS if scoring_name(Rules.preset(v).scoring) == name]
    return (
        f"`{name}`",
        made_words(scoring),
        missed_words(scoring),
        "; ".join(nils) or "as any bid",
        ", ".join(users) or "none of the variants",
    )


def axes_table() -> str:
    """Every setting with what it may be, its default and its meaning, one table for each axis."""
    parts: list[str] = []
    for prefix, cls in _AXES.items():
        if prefix:
            about = (inspect.getdoc(cls) or "").splitlines()[0].replace("``", "`")
            parts.append(f"\n**`{prefix}`**: {about}\n\n")
        parts.append(_table(("Setting", "Allowed", "Default", "Meaning"), _settings(prefix, cls)))
    return "".join(parts)


def _settings(prefix: str, cls: type) -> Iterator[tuple[str, ...]]:
    meanings, defaults = field_docs(cls), to_plain(cls())
    for key, annotation in field_types(cls).items():
        if not dataclasses.is_dataclass(annotation):
            name = f"{prefix}.{key}" if prefix else key
            default = _written(defaults[key])
            meaning = meanings.get(key, "").replace("``", "`")
            yield f"`{name}`", allowed(annotation), f"`{default}`", meaning


def field_docs(cls: type) -> dict[str, str]:
    """Returns the docstring under each field of a dataclass, on one line."""
    source = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(source, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, after in pairwise(source.body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=text)):
                docs[name] = " ".join(str(text).split())
    return docs


def allowed(annotation: Any) -> str:
    """Returns what a setting may be, in words, from its annotation."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(allowed(part) for part in parts)
    if origin is tuple:
        items = allowed(parts[0]).removeprefix("a ")
        return "list of " + (items if "numbers" in items else items.replace("number", "numbers"))
    words = {int: "a whole number", float: "a number", bool: "`true`, `false`", str: "text"}
    if annotation is types.NoneType:
        return "`null`"
    if dataclasses.is_dataclass(annotation):
        return f"`{{{', '.join(field_types(typing.cast(type, annotation)))}}}`"
    return words[annotation]


def example() -> str:
    """What ``rules`` prints of a game with most kinds of trumps and points."""
    return f"```\n{explain(Rules.preset('spruce', 3))}```\n"


def process_example() -> str:
    """What a program is told and answers, from the hello to the first trick of a real deal."""
    sys.path.insert(0, str(DOCS.parent))  # run as a file, Python looks into this folder only
    from agents.process import ProcessAgent

    bot = shlex.join([sys.executable, str(DOCS.parent / "examples/bots/tiny_bot.py")])
    told: list[str] = []
    env = oh_hell_v0.env(rules="oh_hell", players=3, episode="deal", hand_size=2)
    env.reset(seed=4)
    with ProcessAgent(bot, time_limit_ms=5000) as agent:
        agent.listen = lambda sign, line: told.append(_message(sign, line))
        for _ in range(5):  # three bids and two cards
            name = env.agent_selection
            agent.begin(env.unwrapped.rules, env.possible_agents.index(name))
            env.step(agent.act(env.observe(name)))
    return f"```\n{''.join(told[:4] + told[-2:])}```\n"


def _message(sign: str, line: str) -> str:
    message = json.loads(line)
    if "rules" in message:  # all of them would fill the page
        message["rules"] = {"name": message["rules"]["name"], "": 0}
    text = json.dumps(message).replace(', "": 0}', ", ...}")
    wrap = textwrap.TextWrapper(100, f"{sign} ", "    ")
    wrap.break_long_words = wrap.break_on_hyphens = False
    return "".join(f"{line}\n" for line in wrap.wrap(text))


def tournament_settings() -> str:
    """Every setting of a tournament: its name in YAML, what it is if left out, what it means."""
    from train.tournament.config import TournamentConfig

    plain = TournamentConfig().model_dump(mode="json")
    rows = (
        (f"`{name}`", f"`{json.dumps(plain[name])}`", " ".join((field.description or "").split()))
        for name, field in TournamentConfig.model_fields.items()
    )
    return _table(("Setting", "If left out", "Meaning"), rows)


BLOCKS: dict[str, Callable[[], str]] = {
    "variants": variants_table,
    "hand-sizes": hand_sizes_table,
    "scorings": scorings_table,
    "axes": axes_table,
    "example": example,
    "process-example": process_example,
    "tournament-settings": tournament_settings,
}


def main(check: bool) -> int:
    """Rewrites the pages, or names those that are out of date; returns the exit status."""
    stale = 0
    for path in sorted(DOCS.glob("**/*.md")):
        page = path.read_text(encoding="utf-8")
        made = regenerate(page)
        if made != page:
            stale += 1
            print(f"{path.relative_to(DOCS)}: {'out of date' if check else 'rewritten'}")
            if not check:
                path.write_text(made, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
