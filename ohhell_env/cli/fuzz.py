"""``ohhell fuzz``: random games over random rules, with every step checked.

All games run in compiled code, where a watcher checks the engine (``testing/fuzz.py``). A sample is
played again through ``Game``, where everything is checked from outside, recorded, read back and
replayed. In a clone, the naive referee of the tests follows too.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from ohhell_env.engine import batch
from ohhell_env.engine.layout import compile_rules, new_games
from ohhell_env.game import Game
from ohhell_env.records.record import save_record, write_text
from ohhell_env.rules import Rules
from ohhell_env.testing import (
    Refereed,
    check_game,
    check_records,
    load_referee,
    play_random,
    random_rules,
)
from ohhell_env.testing import fuzz as watcher

GAMES_PER_RULES = 200
"""Games played under each draw of rules."""
BROKEN = 1
"""Exit status after a failure."""


class Draw(NamedTuple):
    """One draw: rules, the kind of episode, and the seed of its first game."""

    rules: Rules
    episode: str
    seed: int


class Failure(NamedTuple):
    """A game that went wrong."""

    draw: Draw
    seed: int
    problem: str
    game: Game | None
    """The game at the point of failure; None if it could not even begin."""


def fuzz(
    games: Annotated[int, typer.Option(help="Number of games.", min=1)] = 100_000,
    seed: Annotated[int, typer.Option(help="Decides rules, cards and actions.", min=0)] = 0,
    minutes: Annotated[float | None, typer.Option(help="Stop after this time.", min=0)] = None,
    sample: Annotated[int, typer.Option(help="Check one in this many games twice.", min=1)] = 500,
    out: Annotated[Path, typer.Option(help="File for a game that fails.")] = Path(
        "fuzz-failure.json"
    ),
) -> None:
    """Plays random games over random rules with every check on."""
    run = Fuzzer(seed, sample)
    failure = None
    start = time.monotonic()
    with typer.progressbar(
        length=games, label="games", file=typer.get_text_stream("stderr")
    ) as bar:
        while run.games < games and failure is None:
            number = min(GAMES_PER_RULES, games - run.games)
            failure = run.play(number)
            bar.update(number)
            if minutes is not None and time.monotonic() - start > 60 * minutes:
                break
    if failure is not None:
        _report(failure, out)
        raise typer.Exit(BROKEN)
    print(run.summary(time.monotonic() - start))


class Fuzzer:
    """Plays random games, one draw of rules after another.

    Args:
        seed: Decides everything.
        sample: One in this many games is checked twice.
    """

    def __init__(self, seed: int, sample: int) -> None:
        self.seed = seed
        self.sample = sample
        self.games = self.draws = self.decisions = self.sampled = 0
        self.referee = load_referee()
        self._table, self._chooser = new_games(1), new_games(1)
        self._watch = watcher.new_watch()

    def draw(self, index: int) -> Draw:
        """Returns the rules and seeds of a draw, the same for the same seed and index."""
        rng = random.Random(f"{self.seed}/{index}")
        rules = random_rules(rng)
        return Draw(rules, rng.choice(["game", "game", "deal"]), rng.getrandbits(62))

    def play(self, number: int) -> Failure | None:
        """Plays games under the next draw of rules; returns the first failure."""
        draw = self.draw(self.draws)
        self.draws += 1
        try:
            rules = compile_rules(draw.rules, draw.episode)
        except Exception as error:  # rules that can be made must be playable
            return Failure(draw, draw.seed, f"{type(error).__name__}: {error}", None)
        fault, game, decisions = watcher.watched_games(
            self._table, self._chooser, rules, self._watch, np.uint64(draw.seed), number
        )
        self.decisions += int(decisions)
        if fault != watcher.Fault.NONE:
            name = watcher.Fault(fault).name.lower()
            return self._reproduce(draw, draw.seed + int(game), f"the watcher found: {name}")
        first = -self.games % self.sample
        self.games += number
        for place in range(first, number, self.sample):
            failure = self._check_twice(draw, draw.seed + place)
            if failure is not None:
                return failure
        return None

    def _reproduce(self, draw: Draw, seed: int, problem: str) -> Failure:
        """Replays a game of the compiled run, up to the step that went wrong."""
        game = Game(draw.rules, seed, draw.episode)
        batch.seed_tables(self._chooser, np.uint64(seed), np.uint64(1))
        for _ in range(int(self._watch["step"][0])):
            action = int(watcher.choose_one(game.state, self._chooser))
            if game.over or action not in game.legal_actions():
                break
            game.apply(action)
        return Failure(draw, seed, problem, game)

    def _check_twice(self, draw: Draw, seed: int) -> Failure | None:
        """Plays one game through ``Game``, with all checks from outside."""
        self.sampled += 1
        game = Game(draw.rules, seed, draw.episode)
        rng = random.Random(seed)
        try:
            referee = None
            if self.referee is not None and draw.episode == "game":
                referee = Refereed(game, self.referee)
            actions = rng.choice([None, None, rng.randrange(100)])
            play_random(game, rng, lambda game: _check(game, referee), actions)
            check_records(game)
        except Exception as error:  # whatever it is, keep its game
            return Failure(draw, seed, f"{type(error).__name__}: {error}", game)
        return None

    def summary(self, seconds: float) -> str:
        """Returns one line on a run without failures."""
        referee = "with" if self.referee is not None else "without"
        return (
            f"{self.games:,} games over {self.draws:,} draws of rules, {self.decisions:,} "
            f"decisions; {self.sampled:,} games checked twice, {referee} the referee: no break, "
            f"in {seconds:.0f} s ({self.games / seconds:,.0f} games/s)"
        )


def _check(game: Game, referee: Any) -> None:
    check_game(game)
    if referee is not None:
        referee(game)


def _report(failure: Failure, out: Path) -> None:
    """Writes the record of a failed game, or its rules, and reports the file."""
    if failure.game is not None:
        save_record(failure.game.record(), out)
        what = "the game so far is"
    else:
        out = out.with_suffix(".yaml")
        write_text(failure.draw.rules.to_yaml(), out)
        what = "no game can begin; the rules are"
    typer.echo(
        f"broken: {' '.join(failure.problem.split())[:300]}; {what} in {out} (seed "
        f"{failure.seed}, episode {failure.draw.episode!r})",
        err=True,
    )
