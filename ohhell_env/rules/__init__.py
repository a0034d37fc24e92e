"""The rules of one game: settings by axis, variants as data, and the schedule that follows."""

from ohhell_env.rules.rules import Rules, RulesLike, as_rules

__all__ = ["Rules", "RulesLike", "as_rules"]
