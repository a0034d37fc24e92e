"""The table of all commands: for each its name, its help and its function.

Functions of players and training are named as text, and loaded only on request. This is one of the
two places where the library reaches up a layer.
"""

from __future__ import annotations

from ohhell_env import __version__
from ohhell_env.cli.program import Command, Program

_ENV = "ohhell_env.cli"
_TRAIN = "ohhell_train"

OHHELL = Program(
    "ohhell",
    "Oh Hell, in all its variants: an environment for reinforcement learning.",
    __version__,
    {
        "Environment": {
            "rules": Command(f"{_ENV}.rules:rules", "Explain a variant, or list all variants."),
            "deal": Command(f"{_ENV}.records:deal", "Play a deal or a whole game, and show it."),
            "replay": Command(
                f"{_ENV}.records:replay", "Check a recorded game; show it or write it as a page."
            ),
            "fuzz": Command(f"{_ENV}.fuzz:fuzz", "Play random games, with every check on."),
        },
        "Players": {
            "play": Command(f"{_TRAIN}.play.cli:play", "Play against the players in the terminal."),
            "bidding": Command(
                f"{_TRAIN}.bidding.cli:bidding", "Show what a player bids, makes and forecasts."
            ),
            "exact": Command(
                f"{_TRAIN}.exact.cli:exact", "Measure players against exact solutions."
            ),
            "model-card": Command(
                f"{_TRAIN}.model_card:model_card", "Describe a player's training and strength."
            ),
        },
        "Training": {
            "quick": Command(f"{_TRAIN}.cli:quick", "Train for minutes, then play a tournament."),
            "fit": Command(f"{_TRAIN}.cli:fit", "Train a player."),
            "resume": Command(f"{_TRAIN}.cli:resume", "Resume an interrupted run."),
        },
        "Comparing": {
            "tournament": Command(
                f"{_TRAIN}.tournament.cli:tournament", "Compare players on the same deals."
            ),
        },
    },
)
main = OHHELL.run
end = OHHELL.end
"""The function behind the console script."""
