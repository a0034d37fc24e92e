"""The reward settings that every environment shares.

======================  =======================================================================
"points"                the points of a deal, at its end
"relative"              points minus the mean of the others', at the end of each deal; sums to 0
"win"                   the share of the win, at the end of a game
"settlement"            the payment, at the end of a game; sums to 0
======================  =======================================================================
"""

# Reads input from users: the code checks types at run time.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from ohhell_env.engine.layout import REWARDS
from ohhell_env.errors import RulesError, nearest, shown
from ohhell_env.game import Game
from ohhell_env.rules import Rules


def check_reward(reward: str, episode: str, rules: Rules) -> int:
    """Returns the engine's number for a reward setting.

    Raises:
        RulesError: Unknown reward, or one that the episode or the rules never pay.
    """
    if not isinstance(reward, str) or reward not in REWARDS:
        raise RulesError(f"reward {shown(reward)}: {nearest(reward, REWARDS)}")
    if reward in ("win", "settlement") and episode == "deal":
        raise RulesError(
            f"reward={reward!r} is paid at the end of a game, so it clashes with episode='deal'; "
            "use reward='points' or 'relative', or episode='game'"
        )
    if reward == "settlement" and rules.settlement.kind == "none":
        raise RulesError(
            "reward='settlement' needs rules with a settlement; use "
            "rules.replace(settlement='differences') or 'pool'"
        )
    return REWARDS.index(reward)


def worst_honest(game: Game, reward: str) -> float:
    """Returns the worst reward that a legal game could give now: the reward of an offender.

    ============  ==============================================================================
    "points"      the lowest points in the table for this hand size
    "relative"    the lowest points minus the highest
    "win"         0, no share of the win
    "settlement"  the payment if the game ended with this deal, the offender was last before it
                  and got the lowest points, and all others got the highest
    ============  ==============================================================================

    Args:
        game: The table; the seat to act is the offender.
        reward: The reward setting.
    """
    if reward == "win":
        return 0.0
    size = game.hand_size
    table = game.compiled["points"][0, size, : size + 1, : size + 1]
    lowest, highest = int(table.min()), int(table.max())
    if reward == "points":
        return float(lowest)
    if reward == "relative":
        return float(lowest - highest)
    ended = game.copy()
    scores = ended.state["scores"][0]
    last = min(game.scores)
    scores += highest
    scores[game.seat] = last + lowest
    return ended.settlement()[game.seat]
