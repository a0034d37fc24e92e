"""The command line: ``python -m ohhell_env COMMAND``."""

from __future__ import annotations

from ohhell_env import __version__
from ohhell_env.cli import Command, Program

PROGRAM = Program(
    "python -m ohhell_env",
    "Oh Hell, in all its variants.",
    __version__,
    {
        "rules": Command("ohhell_env.cli_rules:rules", "Explain a variant, or list all of them."),
        "deal": Command("ohhell_env.cli_records:deal", "Deal and play one game, and show it."),
        "replay": Command(
            "ohhell_env.cli_records:replay",
            "Check a recorded game, show it, or write it as a page.",
        ),
        "bench": Command("ohhell_env.bench:bench", "Measure speed here and beside other games."),
        "fuzz": Command("ohhell_env.cli_fuzz:fuzz", "Play random games, with every check on."),
    },
)
main = PROGRAM.run

if __name__ == "__main__":
    PROGRAM.end()
