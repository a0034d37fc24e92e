"""Oh Hell, in all its variants, as an environment for reinforcement learning."""

from __future__ import annotations

from ohhell_env.rules import Rules
from ohhell_env.variants import variants

__version__ = "0.1.0"
__all__ = ["Rules", "variants"]
