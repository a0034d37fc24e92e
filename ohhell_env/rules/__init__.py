"""The rules of one game: the axes, the variants as data, and what follows from them."""

from ohhell_env.rules.rules import Rules, RulesLike, as_rules

__all__ = ["Rules", "RulesLike", "as_rules"]
