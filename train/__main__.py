"""The command line: ``python -m train COMMAND``.

A run that is stopped with Ctrl-C ends with status 130 and can be resumed.
"""

from __future__ import annotations

from ohhell_env import __version__
from ohhell_env.cli import Command, Program

PROGRAM = Program(
    "python -m train",
    "Training by self-play, and tournaments on duplicate deals.",
    __version__,
    {
        "quick": Command("train.cli:quick", "Train for minutes, then play a tournament."),
        "fit": Command("train.cli:fit", "Train a player by self-play."),
        "resume": Command("train.cli:resume", "Go on with a run that was interrupted."),
        "tournament": Command("train.tournament.cli:tournament", "Play players on the same deals."),
        "bidding": Command(
            "train.bidding.cli:bidding", "See what a player bids, makes and foretells."
        ),
        "card": Command("train.card:card", "Write a player's card: training, strength."),
        "heuristic": Command("train.heuristic:heuristic", "Fit the heuristic player's models."),
        "play": Command("train.play.cli:play", "Play against the players, in the terminal."),
        "exact": Command("train.exact.cli:exact", "Measure players against exact solutions."),
        "bench": Command("train.bench:bench", "Measure how fast training and tournaments are."),
    },
)
main = PROGRAM.run

if __name__ == "__main__":
    PROGRAM.end()
