"""Instructive tables of a tournament, chosen by rules.

A block plays the same cards in every seat, so the luck of the cards cancels in its mean. The sample
blocks are those in which the leader gained most over the second, lost most, and gained the median.
From each block comes the table that shows this best.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ohhell_env.errors import OhHellError
from ohhell_env.records.record import Record
from ohhell_train.tournament.analysis.figures import Floats, Pairing, by_line, less_others
from ohhell_train.tournament.analysis.results import Results
from ohhell_train.tournament.pages.content import labels, ranking
from ohhell_train.tournament.tables import Blocks, replay_table

MOST = 4
"""The number of rules for sample tables."""
_DECIMALS = 9
"""Gains that agree to this many decimals are equal."""


@dataclass(frozen=True)
class Sample:
    """A table of a tournament."""

    slug: str
    """Short name for a file."""
    title: str
    caption: str
    """The table, and the rule that chose it."""
    seating: list[str]
    """Names by seat."""
    record: Record | None
    """The game; None if playing it again did not give the same game."""


@dataclass(frozen=True)
class _Choice:
    """A table that was chosen."""

    slug: str
    title: str
    why: str
    row: int
    rotation: int


def sample_games(results: Results, count: int = MOST) -> list[Sample]:
    """Returns instructive tables of a tournament, the same for equal results.

    Among the blocks in which the leader of the standings met the second (or the next one that it
    met and did not tie in every block), these are the largest gain of the leader, the largest loss,
    and the median. The fourth is the table of these blocks at which bids and tricks were furthest
    apart. The first of equals is taken, and no table is shown twice.

    Args:
        results: The tournament. Its entrants are asked again; their counts do not change.
        count: The most tables; there are rules for `MOST`.
    """
    order = [results.names.index(name) for name in ranking(results.to_dict())]
    leader, second, blocks, gains = _rivals(results, order)
    short = labels(results.names)
    called = short[results.names[leader]], short[results.names[second]]
    seen: set[tuple[int, int]] = set()
    samples: list[Sample] = []
    for choice in _choices(blocks, gains, *called):
        if len(samples) < count and (choice.row, choice.rotation) not in seen:
            seen.add((choice.row, choice.rotation))
            samples.append(_sample(results, blocks, gains, choice))
    return samples


def _rivals(results: Results, order: list[int]) -> tuple[int, int, Blocks, Floats]:
    """Returns the leader and its rival, their blocks and the leader's gains."""
    leader = order[0]
    rivals = [second for second in order[1:] if _could_meet(results, leader, second)]
    for second in rivals:
        blocks = _meetings(results, leader, second)
        gains = _gains(blocks, leader, second)
        if gains.mean(axis=1).round(_DECIMALS).any():
            return leader, second, blocks, gains
    blocks = _meetings(results, leader, rivals[0])
    return leader, rivals[0], blocks, _gains(blocks, leader, rivals[0])


def _could_meet(results: Results, leader: int, second: int) -> bool:
    """Returns whether two can sit at one table; with a challenger, two others never do."""
    either = {(leader, second), (second, leader)}
    return not results.alone or not either.isdisjoint(results.outcomes)


def _meetings(results: Results, leader: int, second: int) -> Blocks:
    """Returns the blocks in which the two met, or all of the leader's if they never did.

    In a field the leader sits alone, unless only the other one does, as its challenger.
    """
    if results.alone:
        met: Pairing = (leader, second)
        return results.outcomes[met if met in results.outcomes else (second, leader)]
    blocks = next(iter(results.outcomes.values()))
    sat = (blocks["lineup"] == leader).any(axis=1)
    both = sat & (blocks["lineup"] == second).any(axis=1)
    return blocks[both] if both.any() else blocks[sat]


def _gains(blocks: Blocks, leader: int, second: int) -> Floats:
    """Returns the leader's points less the second's, (blocks, rotations), as means of their seats.

    At a table without the second, it is less the mean of the others.
    """
    scores = by_line(blocks["scores"]).astype(np.float64)
    mine = blocks["lineup"] == leader
    theirs = blocks["lineup"] == second
    own = (scores * mine[:, np.newaxis]).sum(axis=2) / mine.sum(axis=1)[:, np.newaxis]
    if not theirs.any():
        return (less_others(scores) * mine[:, np.newaxis]).sum(axis=2)
    others = (scores * theirs[:, np.newaxis]).sum(axis=2) / theirs.sum(axis=1)[:, np.newaxis]
    return own - others


def _choices(blocks: Blocks, gains: Floats, leader: str, second: str) -> Iterator[_Choice]:
    by_block = gains.mean(axis=1).round(_DECIMALS)
    ranked = np.argsort(by_block, kind="stable")
    usual = int(ranked[(len(ranked) - 1) // 2])
    best, worst = int(by_block.argmax()), int(by_block.argmin())
    among = f"of the {len(blocks):,} blocks of {leader} and {second}"
    yield _Choice(
        "largest-gain",
        "The largest gain",
        f"{among}, the one in which {leader} gained most; its table with the largest gain",
        best,
        int(gains[best].argmax()),
    )
    yield _Choice(
        "largest-loss",
        "The largest loss",
        f"{among}, the one in which {leader} lost most, or gained least; its table with the "
        "largest loss",
        worst,
        int(gains[worst].argmin()),
    )
    near = np.abs(gains[usual] - by_block[usual])
    yield _Choice(
        "median",
        "An ordinary block",
        f"{among}, the one with the median gain; its table nearest to its mean",
        usual,
        int(near.argmin()),
    )
    off = np.abs(blocks["tricks"].astype(np.int64) - blocks["bids"]).sum(axis=(2, 3))
    row, rotation = divmod(int(off.argmax()), off.shape[1])
    yield _Choice(
        "furthest-off",
        "Furthest from the bids",
        f"{among}, the table at which bids and tricks were furthest apart",
        row,
        rotation,
    )


def _sample(results: Results, blocks: Blocks, gains: Floats, choice: _Choice) -> Sample:
    row, rotation = blocks[choice.row], choice.rotation
    lineup = row["lineup"].tolist()
    number, mean = int(row["block"]), float(gains[choice.row].mean().round(_DECIMALS)) + 0.0
    caption = (
        f"Block {number:,}, rotation {rotation}: {choice.why}. Gain at this table "
        f"{_signed(gains[choice.row, rotation], 1)} points, mean of the block {_signed(mean, 2)}."
    )
    record, problem = _played_again(results, lineup, number, rotation)
    if record is not None and not _same(record, row, rotation):
        record = None
        problem = f"came out differently: {_reason(results, lineup)}"
    if record is None:
        caption = f"{caption} It cannot be shown: played again, it {problem}."
    seating = [results.names[place] for place in np.roll(lineup, rotation)]
    return Sample(choice.slug, choice.title, caption, seating, record)


def _reason(results: Results, lineup: list[int]) -> str:
    """Returns why a table may come out differently when it is played again."""
    out = [results.entrants[place] for place in sorted(set(lineup))]
    if any(entrant.was_disqualified for entrant in out):
        return "a player was disqualified during play"
    return "a player depends on the clock, or on earlier decisions"


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _played_again(
    results: Results, lineup: list[int], block: int, rotation: int
) -> tuple[Record | None, str]:
    """Returns the record of a table, or None and the reason; no entrant's counts change."""
    fresh = {"faults": 0, "first_fault": "", "decisions": 0, "seconds": 0.0}
    sitting = [dataclasses.replace(entrant, **fresh) for entrant in results.entrants]
    try:
        return replay_table(results.deals, sitting, lineup, block, rotation), ""
    except OhHellError as error:
        return None, f"failed ({error})"
    finally:
        for place in sorted(set(lineup)):
            sitting[place].close()


def _same(record: Record, row: Any, rotation: int) -> bool:
    """Returns whether a record agrees with the stored table."""
    deals, kept = record["deals"], int((row["hand_sizes"][rotation] > 0).sum())
    if len(deals) != kept or record["scores"] != row["scores"][rotation].tolist():
        return False
    bids = [[bid for _, bid in sorted(deal["bids"])] for deal in deals]
    return bids == row["bids"][rotation, :kept].tolist()
