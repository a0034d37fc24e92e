"""The reward settings that every environment shares.

======================  =======================================================================
"points"                what the rules give, at the end of each deal
"relative"              own points minus the mean of the others', at the end of each deal; sums to 0
"win"                   share of the win, at the end of a game
"settlement"            what is paid, at the end of a game; sums to 0
======================  =======================================================================
"""

# Reads what users hand over: types are checked here, not believed.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from ohhell_env.engine.layout import REWARDS
from ohhell_env.errors import RulesError, nearest
from ohhell_env.rules import Rules


def check_reward(reward: str, episode: str, rules: Rules) -> int:
    """Returns the engine's number of a reward setting.

    Raises:
        RulesError: Unknown reward, or one that the episode or the rules never pay.
    """
    if not isinstance(reward, str) or reward not in REWARDS:
        raise RulesError(f"reward {reward!r}: {nearest(reward, REWARDS)}")
    if reward in ("win", "settlement") and episode == "deal":
        raise RulesError(
            f"reward={reward!r} is paid at the end of a game, so it clashes with episode='deal'; "
            "use reward='points' or 'relative', or episode='game'"
        )
    if reward == "settlement" and rules.settlement.kind == "none":
        raise RulesError(
            "reward='settlement', but these rules settle nothing; use "
            "rules.replace(settlement='differences') or 'pool'"
        )
    return REWARDS.index(reward)
