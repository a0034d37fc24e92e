"""``python -m ohhell_env``: the command ``ohhell``."""

from __future__ import annotations

from ohhell_env.cli.commands import end

if __name__ == "__main__":
    end()
